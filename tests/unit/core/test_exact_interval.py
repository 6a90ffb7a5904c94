"""Intervals of small counts: against the distribution in rationals, and their coverage for all numbers of holders."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import GRR, RSFD, SMP, SPL, SimulationRandomness
from deniable.core.estimate import Estimate, affine_estimate
from deniable.oracles.unary import OUE
from deniable.records.fake_data import RSRFD
from deniable.records.phases.two_phase import combine

Floats = NDArray[np.float64]
LAWS = [
    (Fraction(9, 10), Fraction(1, 10)),
    (Fraction(1, 2), Fraction(1, 50)),
    (Fraction(99, 100), Fraction(3, 5)),  # a holder's mistake is rarer here
    (Fraction(999, 1000), Fraction(1, 500)),
    (Fraction(11, 20), Fraction(9, 20)),
    (Fraction(1), Fraction(0)),
]


def _binomial(n: int, p: Fraction) -> list[Fraction]:
    return [math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]


def _law(m: int, n: int, p: Fraction, q: Fraction) -> list[Fraction]:
    """Return P(C = c) for m holders among n."""
    law = [Fraction(0)] * (n + 1)
    for x, first in enumerate(_binomial(m, p)):
        for y, second in enumerate(_binomial(n - m, q)):
            law[x + y] += first * second
    return law


def _interval(count: int, n: int, p: float, q: float, **options: Any) -> tuple[float, float]:
    lower, upper = affine_estimate([count], n, p, q).interval(**options)
    return float(lower[0]), float(upper[0])


@pytest.mark.parametrize("tail", [Fraction(1, 41), Fraction(3, 37), Fraction(1, 1009)])
@pytest.mark.parametrize("n", [1, 2, 3, 12])
@pytest.mark.parametrize(("p", "q"), LAWS)
def test_the_interval_is_of_all_numbers_of_holders_that_neither_tail_rejects(
    p: Fraction, q: Fraction, n: int, tail: Fraction
) -> None:
    laws = [_law(m, n, p, q) for m in range(n + 1)]
    assert all(sum(law) == 1 for law in laws)
    for count in range(n + 1):
        kept = [m for m in range(n + 1) if min(sum(laws[m][: count + 1]), sum(laws[m][count:])) > tail]
        found = _interval(count, n, float(p), float(q), confidence=float(1 - 2 * tail))
        if kept:
            assert kept == list(range(kept[0], kept[-1] + 1))
            assert found == (kept[0] / n, kept[-1] / n)
        else:  # these are beside the numbers at which rejection changes sides
            below = [m for m in range(n + 1) if sum(laws[m][count:]) <= tail]
            above = [m for m in range(n + 1) if sum(laws[m][: count + 1]) <= tail]
            sides = ([below[-1] / n] if below else []) + ([above[0] / n] if above else [])
            assert found == (min(sides), max(sides))


@lru_cache
def _pmf(n: int, p: float) -> Floats:
    """Return binomial probabilities in doubles, by logarithms of factorials, without the tested code."""
    if p in (0.0, 1.0):
        return np.asarray(np.eye(n + 1)[round(n * p)])
    log = [math.log(math.comb(n, x)) + x * math.log(p) + (n - x) * math.log1p(-p) for x in range(n + 1)]
    return np.array([math.exp(one) for one in log])


def _coverage(n: int, p: float, q: float, share: float = 0.95) -> Floats:
    """Return the probability that the interval contains m/n, for all m = 0..n."""
    lower, upper = affine_estimate(np.arange(n + 1), n, p, q).interval(share)
    found = []
    for m in range(n + 1):
        law = np.convolve(_pmf(m, p), _pmf(n - m, q))
        found.append(law[(lower <= m / n) & (m / n <= upper)].sum())
    return np.array(found)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("k", [2, 4, *(pytest.param(k, marks=pytest.mark.long) for k in (16, 128))])
@pytest.mark.parametrize("oracle", [GRR, OUE])
def test_coverage_is_at_least_what_is_said_for_every_number_of_holders(oracle: Any, k: int, epsilon: float) -> None:
    """Score intervals alone would cover .79 at n = 2, and .80 at n = 300, k = 16, epsilon = 8."""
    p, q = map(float, oracle(k=k, epsilon=epsilon).support_probabilities)
    for n in (1, 2, 3, 10, 40, 100, 300):
        if n * min(q, 1 - p) < 25:
            assert _coverage(n, p, q).min() >= 0.95 - 1e-12, n
        elif n >= 100:
            assert _coverage(n, p, q).min() >= 0.925, n


@pytest.mark.parametrize("n", [3, 30, 300])
@pytest.mark.parametrize("share", [0.8, 0.99, 1 - 0.05 / 128])
def test_coverage_at_other_levels(n: int, share: float) -> None:
    p, q = map(float, GRR(k=16, epsilon=5.0).support_probabilities)
    coverage = _coverage(n, p, q, share)
    assert coverage.min() >= share - 1e-12
    if n >= 30:  # the interval is not wider than necessary: for some number of holders the tails are nearly used up
        assert coverage.min() <= share + (1 - share) * 0.75


def test_the_exact_interval_ends_where_the_score_interval_begins() -> None:
    """The limit is 25 expected mistakes, by holders or by others, whichever are fewer."""
    for n, p, q in ((99, 0.75, 0.25), (199, 0.5, 0.125), (199, 0.875, 0.5)):
        fewer, enough = (affine_estimate([n // 2], size, p, q) for size in (n, n + 1))
        lower, upper = fewer.interval()
        assert [bound * n == np.round(bound * n) for bound in (lower, upper)] == [[True], [True]]
        lower, upper = enough.interval()
        # The ends solve |f^ - f| = z sd(f).
        for bound in (lower, upper):
            noise = enough.noise_absent + (enough.noise_present - enough.noise_absent) * bound
            assert np.abs(enough.frequencies - bound) == pytest.approx(1.959963984540054 * np.sqrt(noise / enough.n))


def test_every_category_by_its_own_law() -> None:
    """One of two categories has few mistakes: each gets the interval that it gets alone."""
    p, q = np.array([0.75, 0.97, 0.5]), np.array([0.25, 0.01, 0.02])
    together = affine_estimate([60, 4, 9], 200, p, q)
    for j in range(3):
        alone = affine_estimate([[60, 4, 9][j]], 200, p[j], q[j])
        targets: tuple[Any, ...] = ("contributors", "population")
        for target in targets:
            expected = [bound[0] for bound in alone.interval(target=target)]
            assert [bound[j] for bound in together.interval(target=target)] == pytest.approx(expected, abs=1e-12)
    assert float(together.interval()[0][0] * 200) % 1 != 0  # 50 mistakes are expected, so this is a score interval
    # Categories with the same count and distribution have the same interval, in the order of the categories.
    counts = np.random.default_rng(1).integers(0, 9, 500)
    lower, upper = affine_estimate(counts, 60, 0.9, 0.01).interval()
    for count in range(9):
        found = set(zip(lower[counts == count], upper[counts == count], strict=True))
        assert found == {_interval(count, 60, 0.9, 0.01)}


def test_simultaneous_intervals_have_smaller_tails() -> None:
    estimate = affine_estimate([3, 0, 20], 40, 0.9, 0.05)
    together = estimate.interval(0.95, simultaneous=4)
    alone = estimate.interval(1 - 0.05 / 4)
    assert np.array_equal(together, alone)
    assert (together[1] >= estimate.interval()[1]).all()
    assert (together[1] > estimate.interval()[1]).any()


def test_large_n_and_rare_mistakes() -> None:
    """A million contributors, ten mistakes expected, none by holders: P(Poisson(10) <= 4) = .029, P(<= 3) = .010.

    So of 12 supports 8 can be holders', not 9; of 30 at least 13 are: P(Poisson(10) >= 18) = .014, P(>= 17) = .027.
    """
    assert _interval(12, 10**6, 1 - 1e-12, 1e-5) == (0, 8e-6)
    assert _interval(30, 10**6, 1 - 1e-12, 1e-5) == (13e-6, 26e-6)
    # This is the other side: nearly everybody holds the value, and holders forget to say so.
    lower, upper = _interval(10**6 - 12, 10**6, 1 - 1e-5, 1e-12)
    assert (lower, upper) == (1 - 8e-6, 1)


# ---------------------------------------------------------------- the population


def test_for_the_population_it_is_clopper_and_pearsons() -> None:
    """Their table: 0 of 10 (.0000, .3085), 3 of 10 (.0667, .6525), 10 of 10 (.6915, 1)."""
    for count, bounds in ((0, (0, 0.3085)), (3, (0.0667, 0.6525)), (10, (0.6915, 1))):
        assert _interval(count, 10, 1.0, 0.0, target="population") == pytest.approx(bounds, abs=5e-5)
        mapped = [min(max((bound - 0.2) / 0.7, 0), 1) for bound in bounds]
        assert _interval(count, 10, 0.9, 0.2, target="population") == pytest.approx(mapped, abs=1e-4)


@pytest.mark.parametrize(("n", "p", "q"), [(1, 0.9, 0.1), (20, 0.5, 0.02), (100, 0.99, 0.2), (300, 0.99, 0.01)])
def test_coverage_for_the_population(n: int, p: float, q: float) -> None:
    lower, upper = affine_estimate(np.arange(n + 1), n, p, q).interval(target="population")
    for f in np.linspace(0, 1, 101).tolist():
        law = _pmf(n, q + (p - q) * f)
        assert law[(lower <= f) & (f <= upper)].sum() >= 0.95 - 1e-12


# ---------------------------------------------------------------- counts with this distribution


def _in_whole_holders(estimate: Estimate, contributors: int) -> bool:
    held = np.array(estimate.interval()) * contributors
    return bool(np.allclose(held, np.round(held), atol=1e-9))


def test_records_whose_every_report_counts_have_exact_intervals() -> None:
    records = np.random.default_rng(1).integers(0, 2, (40, 2))
    priors = ((0.75, 0.25), (0.5, 0.5))
    for mechanism in (SPL((2, 2), 5.0), RSFD((2, 2), 5.0), RSRFD((2, 2), 5.0, priors=priors)):
        found = mechanism.estimate(mechanism.aggregate(mechanism.randomize(records, SimulationRandomness(1))))
        assert all(_in_whole_holders(one, 40) for one in found.values())


@pytest.mark.parametrize("mechanism", [RSFD((2, 3), 3.0), RSFD((2, 3), 3.0, oracle="OUE"), SPL((2, 3), 3.0)])
def test_a_report_supports_with_p_or_q_whatever_the_rest_of_the_record(mechanism: Any) -> None:
    """The reports of m holders are m random bits with P and n - m with Q, also if a fake may be the support."""
    outputs, channel = mechanism.outputs(), mechanism.channel(exact=True)
    records = [(a, b) for a in range(2) for b in range(3)]
    supports = np.array([mechanism.aggregate(outputs[[i]]).counts for i in range(len(outputs))], dtype=object)
    for record, row in zip(records, channel, strict=True):
        start = 0
        for j, (p, q) in enumerate(mechanism.support_probabilities):
            for v in range(mechanism.sizes[j]):
                assert (row * supports[:, start + v]).sum() == (p if record[j] == v else q)
            start += mechanism.sizes[j]


def test_of_reports_from_a_random_part_nothing_exact_is_claimed_about_all() -> None:
    """n_j of n contributors report attribute j, so that the number of holders among them is random."""
    smp = SMP((2, 2), 5.0)
    records = np.random.default_rng(1).integers(0, 2, (40, 2))
    found = smp.estimate(smp.aggregate(smp.randomize(records, SimulationRandomness(1))))
    for one in found.values():
        assert not _in_whole_holders(one, 40)
        assert not _in_whole_holders(one, one.n)
        # For the population, reports are still drawn with this distribution.
        p, q = map(float, smp.support_probabilities[0])
        alone = affine_estimate(np.round(one.n * (q + (p - q) * one.frequencies)).astype(int), one.n, p, q)
        assert np.array_equal(one.interval(target="population"), alone.interval(target="population"))


def test_a_combination_has_no_count_of_its_own() -> None:
    spl = SPL((2, 2), 5.0)
    rng = SimulationRandomness(1)
    parts = [spl.estimate(spl.aggregate(spl.randomize(np.zeros((n, 2), dtype=int), rng))) for n in (20, 30)]
    both = combine(*parts)
    assert both[0].n == 50
    assert both[0].support is None
    assert np.array(both[0].interval()).min() == 0  # the bound of a sum of few reports is within the possible range
