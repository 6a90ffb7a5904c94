"""Differences, ratios, strata and worst cases of independent answers: by hand, and by full enumeration."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deniable import GRR, Attribute, Collection, Estimate, Schema, answers
from deniable.answers.independent import weighted_sum
from deniable.core.aggregate import Aggregate
from deniable.core.answer import Answer, ComputedIntervals
from deniable.core.checks import Target
from deniable.errors import InvalidParameterError, MismatchError, NoIntervalError
from deniable.postprocess import simplex
from tests.unit.answers.independents import _at


def _answer(value: float, lower: float, upper: float, error: float = 0.1, *, few: bool = False) -> Answer:
    """Return an answer with the same interval for all tails."""
    errors: dict[Target, float] = {"contributors": error, "population": 2 * error}
    return Answer(value, errors, "it", 10, ComputedIntervals(lambda *_: (lower, upper), lambda _: few))


def test_the_difference_is_mover_by_hand() -> None:
    """Lower = d - sqrt((a - l_a)^2 + (u_b - b)^2), upper = d + sqrt((u_a - a)^2 + (b - l_b)^2)."""
    found = answers.difference(_answer(0.5, 0.2, 0.6), _answer(0.3, 0.25, 0.7, 0.2), independent=True)
    assert found.value == pytest.approx(0.2)
    assert found.interval() == pytest.approx((0.2 - math.hypot(0.3, 0.4), 0.2 + math.hypot(0.1, 0.05)))
    assert found.standard_error == pytest.approx(math.hypot(0.1, 0.2))
    assert found.standard_error_for("population") == pytest.approx(2 * math.hypot(0.1, 0.2))
    assert found.n == 20
    # If mistakes are few, the ends of simultaneous intervals are added up.
    few = answers.difference(_answer(0.5, 0.2, 0.6), _answer(0.3, 0.25, 0.7, few=True), independent=True)
    assert few.interval() == pytest.approx((0.2 - 0.7, 0.6 - 0.25))
    assert few.is_few("contributors")


def test_sums_of_many_mistakes_are_made_from_score_intervals() -> None:
    """Five steps of 1 - 3 * .119 * .881: two collections of 200 make 42/.685 expected mistakes, two of 60 12.6/.685."""
    mechanism = GRR(k=2, epsilon=2.0)
    for n in (200, 60):
        one, other = (_at(mechanism, [share * n // 4, n - share * n // 4]) for share in (3, 1))
        found = answers.difference(one["0"], other["0"], independent=True)
        (low, high), (below, above) = (np.ravel(e["0"]._score(0.025, "contributors")) for e in (one, other))
        a, b = one.frequencies[0], other.frequencies[0]
        mover = pytest.approx((a - b - math.hypot(a - low, above - b), a - b + math.hypot(high - a, b - below)))
        assert found.is_few("contributors") == (n == 60)
        assert (found.interval() == mover) == (n == 200)


def test_sums_of_few_mistakes_hold_by_the_bound_of_the_sum_and_by_the_ends_of_both() -> None:
    """No report of 20 and of 10 has a high score: single bounds, and a bound of the sum, limit the change."""
    mechanism, scores = GRR(k=5, epsilon=6.0), [0, 1, 2, 3, 50]
    one, other = (mechanism.estimate(Aggregate(mechanism, np.array([n, 0, 0, 0, 0]), n)).mean(scores) for n in (20, 10))
    found = answers.difference(one, other, independent=True)
    lower, upper = found.interval()
    # Each end has a quarter of one side's error probability. Half of it is for the bound of the sum.
    assert lower == pytest.approx(-other.at_tail(0.00625, "contributors")[1])
    assert upper == pytest.approx(one.at_tail(0.00625, "contributors")[1])
    # Each of them is far from its ends, so here the bound of the sum is narrower.
    middle = [
        mechanism.estimate(Aggregate(mechanism, np.array([n, 0, n, 0, n]), 3 * n)).mean(range(5)) for n in (10, 10)
    ]
    change = answers.difference(*middle, independent=True).interval(target="population")
    ends = [answer.at_tail(0.00625, "population") for answer in middle]
    assert change[1] < 0.8 * (ends[0][1] - ends[1][0])


def test_the_ratio_is_what_differences_do_not_reject() -> None:
    a, b = _answer(0.5, 0.4, 0.7), _answer(0.25, 0.2, 0.35)
    lower, upper = answers.ratio(a, b, independent=True).interval()

    def zero_is_inside(t: float) -> bool:
        middle = 0.5 - t * 0.25
        return middle - math.hypot(0.1, t * 0.1) <= 0 <= middle + math.hypot(0.2, t * 0.05)

    grid = np.linspace(0, 10, 100_001)
    inside = grid[[zero_is_inside(t) for t in grid]]
    assert (lower, upper) == pytest.approx((inside[0], inside[-1]), abs=1e-4)
    assert answers.ratio(a, b, independent=True).standard_error == pytest.approx(math.hypot(0.1, 0.2) / 0.25)
    # These cases have a denominator that may be 0, or a numerator that may be 0.
    assert answers.ratio(a, _answer(0.1, -0.1, 0.2), independent=True).interval()[1] == math.inf
    assert answers.ratio(_answer(0.1, -0.1, 0.2), b, independent=True).interval()[0] == 0.0
    assert not answers.ratio(a, _answer(0.1, -0.1, 0.2), independent=True).determined()
    few = answers.ratio(a, _answer(0.25, 0.2, 0.35, few=True), independent=True)
    assert few.interval() == pytest.approx((0.4 / 0.35, 0.7 / 0.2))


def test_the_odds_ratio_by_hand() -> None:
    a, b = _answer(0.5, 0.4, 0.7), _answer(0.25, 0.2, 0.35)
    found = answers.odds(a, b, independent=True)
    assert found.value == pytest.approx(3.0)

    def logit(f: float) -> float:
        return math.log(f / (1 - f))

    down = math.hypot(logit(0.5) - logit(0.4), logit(0.35) - logit(0.25))
    up = math.hypot(logit(0.7) - logit(0.5), logit(0.25) - logit(0.2))
    assert found.interval() == pytest.approx((3 * math.exp(-down), 3 * math.exp(up)))
    # The error uses d log odds = df/(f (1 - f)).
    assert found.standard_error == pytest.approx(3 * math.hypot(0.1 / 0.25, 0.1 / 0.1875))
    assert answers.odds(a, _answer(0.1, -0.1, 0.2), independent=True).interval()[1] == math.inf
    assert answers.odds(_answer(1.1, 0.8, 1.0), b, independent=True).interval() == (0.0, math.inf)
    few = answers.odds(a, _answer(0.25, 0.2, 0.35, few=True), independent=True)
    assert few.interval() == pytest.approx((0.4 / 0.6 / (0.35 / 0.65), 0.7 / 0.3 / (0.2 / 0.8)))
    assert answers.odds(_answer(0.0, 0.0, 0.2, few=True), b, independent=True).interval()[0] == 0.0
    assert math.isnan(answers.odds(_answer(1.1, 0.8, 1.0), b, independent=True).value)


@pytest.mark.parametrize(("epsilon", "n"), [(1.5, 8), (4.0, 20), (1.0, 40)])
def test_differences_cover_over_all_outcomes(epsilon: float, n: int) -> None:
    """Exact coverage of 95% intervals for true counts among n and n - 2 contributors, by enumeration of both counts."""
    mechanism = GRR(k=2, epsilon=epsilon)
    p, q = map(float, mechanism.support_probabilities)

    def law(holders: int, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        chances = np.array([1.0])
        for i in range(n):
            one = p if i < holders else q
            chances = np.append(chances * (1 - one), 0.0) + np.append(0.0, chances * one)
        return chances

    def each(n: int) -> list[Answer]:
        return [mechanism.estimate(Aggregate(mechanism, np.array([c, n - c]), n)).total("0") for c in range(n + 1)]

    first, second = each(n), each(n - 2)
    bounds = np.array(
        [[answers.difference(one, other, independent=True).interval() for other in second] for one in first]
    )
    for h, g in itertools.product(range(0, n + 1, max(1, n // 5)), range(0, n - 1, max(1, n // 5))):
        truth = h / n - g / (n - 2)
        holds = (bounds[..., 0] - 1e-12 <= truth) & (truth <= bounds[..., 1] + 1e-12)
        assert (np.outer(law(h, n), law(g, n - 2)) * holds).sum() >= 0.93, (h, g)


def test_what_may_depend_on_each_other_is_refused() -> None:
    schema = Schema((Attribute("vote", ("yes", "no")),))
    may = Collection(schema, GRR(k=2, epsilon=1.0), title="May")
    june = Collection(schema, GRR(k=2, epsilon=1.0), title="June")

    def estimate(collection: Collection, *batches: str) -> Estimate:
        aggregate = Aggregate(collection.mechanism, np.array([60, 40]), 100, collection.id, frozenset(batches))
        return collection.estimate(aggregate)["vote"]

    one, other = estimate(may, "aa"), estimate(june, "bb")
    assert answers.difference(one["yes"], other["yes"], independent=True).value == 0
    assert set(answers.differences(one, other, independent=True)) == {"yes", "no"}
    for said in (False, None, 1):
        with pytest.raises(InvalidParameterError, match="independent=True must be given"):
            answers.difference(one["yes"], other["yes"], independent=said)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        answers.difference(one["yes"], other["yes"])  # type: ignore[call-arg]
    with pytest.raises(MismatchError, match=f"these two answers share collection {may.id[:12]}"):
        answers.difference(one.mean([1, 0]), estimate(may, "cc").mean([1, 0]), independent=True)
    with pytest.raises(MismatchError, match="these two answers share batch aa"):
        answers.ratio(one["yes"], estimate(june, "aa")["yes"], independent=True)
    later = replace(june, learned_from=_learned(may))
    with pytest.raises(MismatchError, match=f"collection {may.id[:12]}"):
        answers.odds(one["yes"], estimate(later)["yes"], independent=True)
    with pytest.raises(InvalidParameterError, match="a must be an Answer, or an estimate of a single category"):
        answers.difference(one, other["yes"], independent=True)
    with pytest.raises(MismatchError, match="the same categories"):
        answers.differences(one, other["yes"], independent=True)
    step = simplex(one)
    with pytest.raises(NoIntervalError, match="after the step “simplex”"):
        answers.difference(step["yes"], other["yes"], independent=True).interval()


def _learned(collection: Collection) -> Any:
    from deniable.survey.collection import LearnedFrom

    return LearnedFrom(collection.id, "d" * 64, 100)


def test_a_weighted_sum_turns_the_ends_of_what_it_takes_off() -> None:
    one = _answer(0.5, 0.4, 0.9)
    assert weighted_sum([(-2.0, one)], "").interval() == pytest.approx((-1.8, -0.8))
