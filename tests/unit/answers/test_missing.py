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


def test_worst_cases_of_means_use_the_least_and_largest_score() -> None:
    x = _at(OUE(k=3, epsilon=1.0), [500, 300, 200]).named("x", ["low", "mid", "high"], [1, 2, 3])
    mean = x.mean()
    for answer, least, most in (
        (mean, 1, 3),
        (x.difference("low", "high"), -1, 1),
        (x.linear([2, 5, 4]), 2, 5),
        (x.linear({"mid": 2}), 0, 2),
        (x["mid"].total("mid"), 0, 1),
    ):
        lower, upper = answer.interval(0.9)
        found = answers.worst_case(answer, 0.3).interval(0.9)
        assert found == pytest.approx((0.7 * lower + 0.3 * least, 0.7 * upper + 0.3 * most))


def test_worst_cases_refuse_what_is_not_about_everyone() -> None:
    labels = ["low", "high", "no answer"]
    x, y = (_at(OUE(k=3, epsilon=1.0), [500, 300, 200]).named("x", labels, [1, 3, float("nan")]) for _ in range(2))
    for answer in (x.mean(), answers.difference(x.total("low"), y.total("low"), independent=True)):
        with pytest.raises(InvalidParameterError, match="answer must be a frequency, mean"):
            answers.worst_case(answer, 0.3)
    with pytest.raises(InvalidParameterError, match="a must be a frequency"):
        answers.odds(x.mean(), y.mean(), independent=True)
    assert answers.odds(x.total("low"), y.total("low"), independent=True).interval()[0] > 0
