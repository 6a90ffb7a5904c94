"""f* from a pilot: the exact distribution of the bound, and the cost of a bound that fails."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import GRR, OCMS, OUE, SMP, Attribute, Collection, CountMeanSketch, Schema, SimulationRandomness
from deniable.core.aggregate import Aggregate
from deniable.errors import EmptyAggregateError, InvalidParameterError, MismatchError
from deniable.oracles.sketch.pilot import (
    bound_price,
    learn_sketch,
    least_bound,
    max_frequency_bound,
    upper_frequency,
)
from deniable.planning import plan
from deniable.records.phases.phases import Phases, learner_names, next_phase
from deniable.research.baselines.apple import AppleCMS

SMALL = [
    GRR(3, 1.0),
    GRR(3, 4.0),
    OUE(3, 2.0),
    CountMeanSketch(3, 2.0, 2, "spread"),
    CountMeanSketch(4, 1.0, 2, "spread"),
]


def _pilots(mechanism: Any, n: int, shares: list[Fraction]) -> Iterator[tuple[Fraction, Aggregate]]:
    """Yield all multisets of n reports with their exact probabilities; contributors are drawn with these shares."""
    outputs = mechanism.outputs()
    columns = outputs if isinstance(outputs, tuple) else (outputs,)
    channel = mechanism.channel(exact=True)
    law = [
        sum((share * row[z] for share, row in zip(shares, channel, strict=True)), Fraction(0))
        for z in range(len(columns[0]))
    ]
    for chosen in combinations_with_replacement([z for z, chance in enumerate(law) if chance], n):
        ways, left = 1, n
        for z in set(chosen):
            ways *= math.comb(left, chosen.count(z))
            left -= chosen.count(z)
        reports = mechanism.report_type(*(column[list(chosen)] for column in columns))
        yield ways * math.prod((law[z] for z in chosen), start=Fraction(1)), mechanism.aggregate(reports)


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
@pytest.mark.parametrize("commonest", [Fraction(1, 2), Fraction(9, 10)])
def test_the_bound_holds_with_its_confidence_over_all_pilots(mechanism: Any, commonest: Fraction) -> None:
    """All samples and all reports of four contributors, in exact arithmetic but for the limit itself."""
    k, n, confidence = mechanism.k, 4, 0.7
    shares = [commonest, *[(1 - commonest) / (k - 1)] * (k - 1)]
    holds = everything = own = Fraction(0)
    p1, p0 = mechanism.support_probabilities
    counts: dict[int, Fraction] = {}
    for chance, aggregate in _pilots(mechanism, n, shares):
        everything += chance
        bound = max_frequency_bound(aggregate, confidence)
        holds += chance * (bound.max_frequency >= float(commonest))
        count = int(mechanism.support_counts(aggregate)[0])
        own += chance * (upper_frequency(mechanism, count, n, confidence) >= float(commonest))
        counts[count] = counts.get(count, Fraction(0)) + chance
    assert everything == 1
    # The commonest value's own count is exactly binomial, whatever the hash functions do to other values.
    s = p0 + commonest * (p1 - p0)
    assert counts == {c: math.comb(n, c) * s**c * (1 - s) ** (n - c) for c in counts}
    assert float(holds) >= float(own) >= confidence
    # The bound is not wider than necessary: the limit of the largest count that is allowed to fail is too low.
    failing = [c for c in range(n + 1) if upper_frequency(mechanism, c, n, confidence) < float(commonest)]
    assert own == 1 - sum((counts.get(c, Fraction(0)) for c in failing), Fraction(0))
    next_one = sum((counts.get(c, Fraction(0)) for c in range(len(failing) + 1)), Fraction(0))
    assert float(next_one) > 1 - confidence


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("n", "count"), [(50, 8), (10_000, 900), (10**6, 70_000)])
def test_the_limit_is_where_so_small_a_count_has_the_failure_probability(n: int, count: int, confidence: float) -> None:
    mechanism = OCMS(1000, 3.0)
    p1, p0 = map(float, mechanism.support_probabilities)
    f = upper_frequency(mechanism, count, n, confidence)
    assert 0 < f < 1
    assert stats.binom.cdf(count, n, p0 + f * (p1 - p0)) == pytest.approx(1 - confidence, rel=1e-6)
    assert upper_frequency(mechanism, n, n, confidence) == 1
    assert upper_frequency(mechanism, 0, n, 0.5) == 0


def test_the_bound_is_that_of_the_largest_count() -> None:
    mechanism = OUE(4, 1.0)
    aggregate = mechanism.aggregate(np.repeat(np.array([[1], [5], [8]], dtype=np.uint8), [30, 10, 20], axis=0))
    bound = max_frequency_bound(aggregate, 0.9)
    assert (bound.value, bound.n, bound.confidence) == (0, 60, 0.9)  # the value is supported 40 of 60 times
    assert bound.max_frequency == upper_frequency(mechanism, 40, 60, 0.9)
    assert bound.estimate == pytest.approx((40 / 60 - 1 / (1 + math.e)) / (0.5 - 1 / (1 + math.e)), rel=1e-9)
    assert bound.to_dict()["max_frequency"] == bound.max_frequency


def test_least_bound_is_the_median_of_bounds_on_rare_values() -> None:
    """The median of 100 draws lies between ranks 25 and 75: five standard deviations of 5 either way."""
    mechanism, n = OCMS(500, 2.0), 2000
    rng = SimulationRandomness(5)
    drawn = []
    for _ in range(100):
        answers = rng.generator.integers(0, 500, n)
        drawn.append(max_frequency_bound(mechanism.aggregate(mechanism.randomize(answers, rng))).max_frequency)
    p1, p0 = map(float, mechanism.support_probabilities)
    # One contributor in 500 holds each value, unlike under noise alone. Also, counts are whole numbers.
    shift, step = 1 / 500, 1 / (n * (p1 - p0))
    assert np.sort(drawn)[25] - shift - step < least_bound(mechanism, n) < np.sort(drawn)[75] - shift + step


def test_the_price_of_a_bound_is_theorem_3_7() -> None:
    price = bound_price(10**5, 3.0, 100_000, 0.05)
    e = math.exp(3)

    def largest(m: int, f: float) -> float:  # this is eq. (20) at f and at 0, with collisions 1/m
        lines = (((1 - g) * (e + m - 1) ** 2 + g * m * m * e) / ((m - 1) * (e - 1) ** 2) for g in (0.0, f))
        return math.sqrt(max(lines) / 100_000)

    assert (price.m, price.unbounded_m) == (16, 6)
    assert [one.frequency for one in price.errors] == [0.05, 0.1, 0.2, 0.3, 0.5, 1.0]
    for one in price.errors:
        assert one.bounded == pytest.approx(largest(16, one.frequency), rel=1e-3)
        assert one.unbounded == pytest.approx(largest(6, one.frequency), rel=2e-3)
    # The lines cross at (.3455 - .2253)/(.7158 - .0515) = .181.
    assert price.break_even == pytest.approx(0.181, abs=2e-3)
    assert largest(16, 0.175) < largest(6, 0.175)
    assert largest(16, 0.187) > largest(6, 0.187)
    assert price.sentences[-1] == "the bound pays while no value has more than 18.2%"


def test_a_bound_that_gains_nothing_says_so() -> None:
    price = bound_price(10**5, 3.0, 1000, 1.0)
    assert (price.m, price.break_even) == (price.unbounded_m, 0.0)
    assert price.sentences[-1] == "this bound gains nothing: plan for any frequency"


def test_the_second_phase_has_the_sketch_for_the_bound() -> None:
    pilot = OCMS(5000, 3.0)
    answers = np.repeat(np.arange(2000), np.where(np.arange(2000) == 7, 500, 1))
    aggregate = pilot.aggregate(pilot.randomize(answers, SimulationRandomness(1)))
    bound = max_frequency_bound(aggregate, 0.99)
    assert bound.value == 7
    assert learn_sketch(aggregate, 10, confidence=0.99) == OCMS(5000, 3.0, "mse", bound.max_frequency)
    assert learn_sketch(aggregate, 10, confidence=0.99) != OCMS(5000, 3.0, "mse")


def test_phases_learn_the_sketch_and_combine() -> None:
    assert "OCMS" in learner_names()
    rng = SimulationRandomness(2)
    names = tuple(map(str, range(2000)))
    first = Collection(Schema((Attribute("word", names),)), OCMS(2000, 3.0))
    one = first.aggregate(first.randomize(np.arange(2000)[:, None], rng))
    second = next_phase(first, one, 8000, "OCMS", confidence=0.9)
    assert second.mechanism == learn_sketch(one, 8000, 0.9)
    assert second.learned_from is not None
    assert second.learned_from.collection == first.id
    two = second.aggregate(second.randomize(np.tile(np.arange(2000), 4)[:, None], rng))
    estimate = Phases(((first, one), (second, two))).estimate()["word"]
    assert estimate.contributors == 10_000
    # Each part is unbiased, and parts are weighted by counts. So the standard error is that of the two variances.
    variance = (first.mechanism.variance(0, 1) * 2000 + second.mechanism.variance(0, 1) * 8000) / 10_000**2  # type: ignore[attr-defined]
    assert np.median(estimate.standard_errors) == pytest.approx(math.sqrt(variance), rel=0.02)
    with pytest.raises(
        InvalidParameterError,
        match="settings for OCMS must be among confidence, got “method”; leave this setting out",
    ):
        next_phase(first, one, 8000, "OCMS", method="joint")


def test_what_cannot_bound_is_refused() -> None:
    with pytest.raises(EmptyAggregateError, match="at least one report"):
        max_frequency_bound(_empty())
    rng = SimulationRandomness(1)
    records = SMP((2, 2), 1.0)
    apple = AppleCMS(10, 1.0, 8, 4)
    for other in (
        records.aggregate(records.randomize(np.zeros((3, 2), int), rng)),
        apple.aggregate(apple.randomize(np.zeros(3, int), rng)),
    ):
        with pytest.raises(
            MismatchError, match="needs a pure frequency oracle for one attribute, such as OCMS, GRR or OUE"
        ):
            max_frequency_bound(other)
    grr = GRR(3, 1.0)
    aggregate = grr.aggregate(grr.randomize(np.zeros(3, int), rng))
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(InvalidParameterError, match="confidence must be"):
            max_frequency_bound(aggregate, confidence)
    with pytest.raises(InvalidParameterError, match="n2 must be"):
        learn_sketch(aggregate, 0)
    with pytest.raises(InvalidParameterError, match="max_frequency must be in"):
        bound_price(10, 1.0, 100, 1.5)


def _empty() -> Aggregate:
    mechanism = GRR(3, 1.0)
    return mechanism.aggregate(np.zeros(0, dtype=np.uint8))


def test_a_plan_has_the_price() -> None:
    plain = plan([5000], 3.0, contributors=20_000, mechanisms=["OCMS"])
    assert plain.bound is None
    assert "bound" not in plain.to_dict()
    priced = plan([5000], 3.0, contributors=20_000, mechanisms=["OCMS"], max_frequency=0.05)
    assert priced.bound == bound_price(5000, 3.0, 20_000, 0.05)
    assert priced.to_dict()["bound"]["break_even"] == priced.bound.break_even
    assert [row.standard_error for row in priced.rows] == [row.standard_error for row in plain.rows]
    piloted = plan([5000], 3.0, contributors=20_000, mechanisms=["OCMS"], pilot=2000)
    assert piloted.bound == bound_price(5000, 3.0, 18_000, least_bound(OCMS(5000, 3.0), 2000, 0.95))
    assert (piloted.pilot, piloted.expected_bound) == (2000, True)
    both = plan([5000], 3.0, contributors=20_000, mechanisms=["OCMS"], pilot=2000, max_frequency=0.05)
    assert both.bound == bound_price(5000, 3.0, 18_000, 0.05)
    assert not both.expected_bound
    with pytest.raises(InvalidParameterError, match="max_frequency works only with one attribute, but sizes lists 2"):
        plan([5, 4], 1.0, contributors=100, max_frequency=0.1)
    with pytest.raises(InvalidParameterError, match="contributors must be given together with pilot"):
        plan([5], 1.0, target_error=0.1, pilot=10)
    with pytest.raises(InvalidParameterError, match="pilot must be"):
        plan([5], 1.0, contributors=100, pilot=100)
