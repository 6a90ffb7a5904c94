"""Worst cases for missing answers."""

from __future__ import annotations

import pytest

from deniable import OUE, answers
from deniable.errors import InvalidParameterError, NoIntervalError
from deniable.postprocess import simplex
from tests.unit.answers.independents import _at


def test_missing_answers_have_worst_cases() -> None:
    estimate = _at(OUE(k=3, epsilon=1.0), [500, 300, 200]).named("x", ["yes", "no", "none"])
    yes = estimate.total("yes")
    silent = answers.worst_case(yes, 0.25)
    assert (silent.lower.value, silent.upper.value) == pytest.approx((0.75 * yes.value, 0.75 * yes.value + 0.25))
    lower, upper = yes.interval(0.9)
    assert silent.interval(0.9) == pytest.approx((0.75 * lower, 0.75 * upper + 0.25))
    among = answers.worst_case_total(estimate, "yes", "none")
    assert among.interval(0.9) == (lower, estimate.total(["yes", "none"]).interval(0.9)[1])
    with pytest.raises(InvalidParameterError, match="missing must"):
        answers.worst_case(yes, 1.1)
    with pytest.raises(InvalidParameterError, match="missing must not name a category"):
        answers.worst_case_total(estimate, ["yes", "none"], "none")
    with pytest.raises(NoIntervalError):
        answers.worst_case(simplex(estimate).total("yes"), 0.1).interval()
