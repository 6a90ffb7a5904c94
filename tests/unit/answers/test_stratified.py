"""Strata, weighted to a population."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable import GRR, SubsetSelection, answers
from deniable.errors import DuplicateReportsError, InvalidParameterError, MismatchError
from deniable.postprocess import simplex
from tests.unit.answers.independents import _at


def test_strata_by_hand() -> None:
    mechanism = SubsetSelection(k=4, epsilon=1.0)
    parts = {"north": _at(mechanism, [400, 300, 200, 100]), "south": _at(mechanism, [100, 100, 700, 600], 6)}
    both = answers.strata(parts, {"north": Fraction(1, 4), "south": "0.75"})
    north, south = parts.values()
    assert both.frequencies == pytest.approx(0.25 * north.frequencies + 0.75 * south.frequencies)
    total, one, other = both.total("2"), north.total("2"), south.total("2")
    assert total.value == pytest.approx(both.frequencies[2])
    (a, b), (c, d) = one.interval(0.9), other.interval(0.9)
    down = math.hypot(0.25 * (one.value - a), 0.75 * (other.value - c))
    up = math.hypot(0.25 * (b - one.value), 0.75 * (d - other.value))
    assert total.interval(0.9) == pytest.approx((total.value - down, total.value + up))
    variance = (0.25 * one.standard_error) ** 2 + (0.75 * other.standard_error) ** 2
    assert total.standard_error == pytest.approx(math.sqrt(variance))
    assert both.n == 2500
    mean = both.mean([1, 2, 3, 4])
    assert mean.value == pytest.approx(both.frequencies @ [1, 2, 3, 4])
    assert both.cdf().values[:-1] == pytest.approx(np.cumsum(both.frequencies)[:-1])
    assert [one.label for one in both.quantiles([0.01, 0.99])] == ["0", "3"]


def test_a_mean_in_strata_among_those_who_answered() -> None:
    """A quotient of weighted sums, not a weighted sum of quotients; Fieller with the sum of strata's covariances."""
    mechanism, scores = GRR(k=3, epsilon=2.0), np.array([1.0, 5.0, math.nan])
    parts = {
        name: replace(_at(mechanism, counts), scores=scores)
        for name, counts in (("a", [500, 300, 200]), ("b", [100, 200, 900]))
    }
    found = answers.strata(parts, {"a": 0.5, "b": 0.5}).mean()
    above, below = np.array([1.0, 5.0, 0.0]), np.array([1.0, 1.0, 0.0])
    f = 0.5 * (parts["a"].frequencies + parts["b"].frequencies)
    assert found.value == pytest.approx((f @ above) / (f @ below))
    matrix = sum(0.25 * mechanism.covariance(simplex(part).frequencies, part.n) for part in parts.values())
    w = above - found.value * below
    assert found.standard_error == pytest.approx(math.sqrt(w @ matrix @ w) / (f @ below), rel=1e-9)
    assert found.interval()[0] < found.value < found.interval()[1]


def test_strata_that_are_none_are_refused() -> None:
    mechanism = GRR(k=2, epsilon=1.0)
    part = _at(mechanism, [60, 40])
    empty = mechanism.from_support(np.zeros(2, dtype=np.int64), 0)
    with pytest.raises(InvalidParameterError, match="“south” has no reports"):
        answers.strata({"north": part, "south": empty}, {"north": 0.5, "south": 0.5})
    with pytest.raises(InvalidParameterError, match="sum to 1, got a sum of"):
        answers.strata({"north": part, "south": part}, {"north": 0.5, "south": 0.4})
    with pytest.raises(InvalidParameterError, match=r"weights must be >= 0, got -0\.5 for the stratum “south”"):
        answers.strata({"north": part, "south": part}, {"north": 1.5, "south": -0.5})
    for wrong in ("x", float("nan"), None):
        with pytest.raises(InvalidParameterError, match=r"weights\[north\] must be a finite number"):
            answers.strata({"north": part}, {"north": wrong})  # type: ignore[dict-item]
    with pytest.raises(InvalidParameterError, match="weights must give a number for each stratum"):
        answers.strata({"north": part}, {"south": 1})
    with pytest.raises(MismatchError, match="the categories of “south” differ from the categories of “north”"):
        answers.strata({"north": part, "south": part.named("", ["a", "b"])}, {"north": 0.5, "south": 0.5})
    same = part.of(frozenset({"batch abc"}))
    with pytest.raises(DuplicateReportsError, match="“north” and “south” both contain the reports of batch abc"):
        answers.strata({"north": same, "south": same}, {"north": 0.5, "south": 0.5})


def test_strata_with_different_scores_are_refused() -> None:
    one = _at(GRR(k=2, epsilon=1.0), [60, 40]).named("x", ["no", "yes"], [0, 1])
    other = _at(GRR(k=2, epsilon=1.0), [50, 50]).named("x", ["no", "yes"], [1, 2])
    with pytest.raises(MismatchError, match="the same scores"):
        answers.strata({"east": one, "west": other}, {"east": "1/2", "west": "1/2"})
    shared = answers.strata(
        {"east": one, "west": one.named("x", ["no", "yes"], [0, 1])}, {"east": "1/2", "west": "1/2"}
    )
    lower, upper = shared.mean().interval()
    bounds = answers.worst_case(shared.mean(), 0.2).interval()
    assert bounds == pytest.approx((0.8 * lower, 0.8 * upper + 0.2))
