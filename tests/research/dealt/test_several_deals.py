"""A deal combined with plain randomised response: newcomers without a share, and contributors with a silent peer."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable import Aggregate, Attribute, Collection, Estimate, Schema, SimulationRandomness
from deniable.core.checks import Target
from deniable.errors import EmptyAggregateError, MismatchError
from deniable.oracles.grr import GRR
from deniable.oracles.unary import OUE
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.kary_jrr import KaryJRR
from deniable.research.dealt.quota.batches import QuotaBatches
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.unary import QuotaUnary
from deniable.research.dealt.several_deals import _largest_variance, _quadratic, combine_deals, estimate_deals
from tests.research.dealt.jrr_laws import truth_law

Floats = NDArray[np.float64]

P, RHO = Fraction(4, 5), Fraction(-1, 4)
"""The end of rho's range: at most one of two peers lies."""

PLAIN = Fraction(2, 3)
"""P(truth) of randomised response with epsilon ln 2."""


def _combined(jrr: JRR, other: GRR | JRR, ones: tuple[int, int], sizes: tuple[int, int]) -> Estimate:
    counts = zip((jrr, other), ones, sizes, strict=True)
    return combine_deals([Aggregate(mechanism, np.array([n - i, i]), n) for mechanism, i, n in counts])["1"]


def _ones(answers: tuple[int, ...], coins: tuple[int, ...]) -> int:
    return sum(x if coin else 1 - x for x, coin in zip(answers, coins, strict=True))


@pytest.mark.parametrize("reporting", [4, 3])
@pytest.mark.parametrize(("dealt", "new"), [((1, 0, 1, 1), (0, 1)), ((0, 0, 0, 1), (1, 1)), ((1, 1, 1, 1), (0, 0))])
def test_the_estimate_by_enumeration(dealt: tuple[int, ...], new: tuple[int, ...], reporting: int) -> None:
    """All groupings, truths and reports of four contributors with shares and two without; one may drop out."""
    jrr, grr = JRR(P, RHO, 4), GRR(2, math.log(2))
    sizes, q = (reporting, 2), 1 - P
    law: dict[tuple[int, int], Fraction] = {}
    for coins, weight in truth_law(4, P, RHO).items():
        for lone in itertools.product((1, 0), repeat=2):
            chance = weight * math.prod(PLAIN if coin else 1 - PLAIN for coin in lone)
            key = _ones(dealt[:reporting], coins[:reporting]), _ones(new, lone)
            law[key] = law.get(key, Fraction(0)) + chance
    assert sum(law.values()) == 1
    estimates = {key: _combined(jrr, grr, key, sizes) for key in law}
    mean = sum(float(weight) * estimates[key].frequencies[0] for key, weight in law.items())
    assert mean == pytest.approx((sum(dealt[:reporting]) + sum(new)) / (reporting + 2), abs=1e-12)

    def noise(held: float) -> float:
        """Return the variances of counts, which add: Theorem 3 with drop-outs, and (3) of the paper."""
        pairs = float(RHO) * ((2 * held - reporting) ** 2 - reporting) / 3
        coupled = float(P * q / (P - q) ** 2) * (reporting + pairs)
        return (coupled + 2 * float(PLAIN * (1 - PLAIN) / (2 * PLAIN - 1) ** 2)) / (reporting + 2) ** 2

    second = sum(float(weight) * estimates[key].frequencies[0] ** 2 for key, weight in law.items())
    assert second - mean**2 == pytest.approx(noise(sum(dealt[:reporting])), rel=1e-9)
    for (ones, _), estimate in ((key, estimates[key]) for key in law):
        held = (ones - reporting * float(q)) / float(P - q)
        expected = math.sqrt(noise(min(max(held, 0.0), reporting)))
        assert estimate.standard_errors[0] == pytest.approx(expected, rel=1e-9)
        assert estimate.n == reporting + 2


def _coupled_law(jrr: JRR, held: int) -> Floats:
    """Return P(0..n ones): some of the `held` contributors have the sign +, and true reports with chance p + s."""
    n, p = jrr.n, float(jrr.p)
    s = math.sqrt(-float(jrr.rho) * p * (1 - p))
    law = np.zeros(n + 1)
    for plus in range(max(0, held - n // 2), min(held, n // 2) + 1):
        parts = ((plus, p + s), (held - plus, p - s), (n // 2 - plus, 1 - p - s), (n // 2 - held + plus, 1 - p + s))
        one = np.ones(1)
        for size, chance in parts:
            one = np.convolve(one, stats.binom.pmf(np.arange(size + 1), size, min(max(chance, 0.0), 1.0)))
        law += stats.hypergeom.pmf(plus, n, n // 2, held) * one
    return law


def _plain_law(grr: GRR, n: int, held: int) -> Floats:
    p = 1 / (1 + math.exp(-float(grr.epsilon)))
    told, forced = (stats.binom.pmf(np.arange(m + 1), m, chance) for m, chance in ((held, p), (n - held, 1 - p)))
    law: Floats = np.convolve(told, forced)
    return law


def _drawn(laws: list[Floats], f: float) -> Floats:
    """Return the distribution if the number of holders was drawn from a population."""
    n = len(laws) - 1
    found: Floats = stats.binom.pmf(np.arange(n + 1), n, f) @ np.array(laws)
    return found


Case = tuple[Floats, Floats, float]


def _missed(jrr: JRR, other: GRR | JRR, new: int, cases: list[Case], target: Target, scarce: bool) -> list[float]:
    """Return the probability that the 95% interval misses the truth, for each pair of distributions of the ones."""

    @cache
    def ends(i: int, j: int) -> tuple[float, float]:
        both = _combined(jrr, other, (i, j), (jrr.n, new))
        lower, upper = both.interval(0.95, target=target)
        assert both.scarce is scarce
        return float(lower[0]), float(upper[0])

    found = []
    for first, second, truth in cases:
        held = 0.0
        for i, j in zip(*np.nonzero(np.outer(first, second) > 1e-6), strict=True):
            lower, upper = ends(int(i), int(j))
            held += float(first[i] * second[j]) * (lower - 1e-12 <= truth <= upper + 1e-12)
        found.append(1 - held)
    return found


def _held(jrr: JRR, grr: GRR, new: int, shares: list[tuple[float, float]]) -> list[Case]:
    counts = [(round(share * jrr.n), round(other * new)) for share, other in shares]
    return [
        (_coupled_law(jrr, one), _plain_law(grr, new, other), (one + other) / (jrr.n + new)) for one, other in counts
    ]


def _population(jrr: JRR, grr: GRR, new: int, shares: list[float]) -> list[Case]:
    coupled = [_coupled_law(jrr, held) for held in range(jrr.n + 1)]
    plain = [_plain_law(grr, new, held) for held in range(new + 1)]
    return [(_drawn(coupled, f), _drawn(plain, f), f) for f in shares]


def test_intervals_of_few_mistakes_by_the_exact_law() -> None:
    """Both distributions are inverted, each at half of the tail: coverage is never below .95."""
    jrr, grr, new = JRR.optimal(30, 6.0, 0, 0), GRR(2, 6.0), 20
    cases = _held(jrr, grr, new, [(0.0, 0.0), (0.1, 0.3), (0.5, 0.0), (1.0, 0.8)])
    assert max(_missed(jrr, grr, new, cases, "contributors", True)) <= 0.05
    assert max(_missed(jrr, grr, new, _population(jrr, grr, new, [0.1, 0.5]), "population", True)) <= 0.05


@pytest.mark.long
def test_intervals_of_many_mistakes_by_the_exact_law() -> None:
    """.935 is the bound for all intervals of this library; newcomers may differ from those who were dealt."""
    jrr, grr, new = JRR.optimal(200, 0.5, 0, 0), GRR(2, 0.8), 100
    cases = _held(jrr, grr, new, [(0.5, 0.5), (0.0, 0.0), (0.1, 0.8)])
    missed = _missed(jrr, grr, new, cases, "contributors", False)
    assert max(missed) <= 0.065
    assert missed[0] >= 0.03, "wider than stated"
    (drawn,) = _missed(jrr, grr, new, _population(jrr, grr, new, [0.3]), "population", False)
    assert 0.03 <= drawn <= 0.065


@pytest.mark.long
def test_intervals_hold_however_the_parts_differ() -> None:
    """Half of a deal hold 1, none of the others: a variance at one common frequency gives .918, also for two deals."""
    jrr, grr, new = JRR.optimal(280, 0.5, 0, 0), GRR(2, 2.5), 600
    other = JRR(1 / (1 + math.exp(-2.5)), 0, new)
    cases = _held(jrr, grr, new, [(0.5, 0.0)])
    for plain in (grr, other):
        (missed,) = _missed(jrr, plain, new, cases, "contributors", False)
        assert 0.03 <= missed <= 0.065, plain


def test_the_largest_variance_is_that_of_the_worst_split() -> None:
    """All splits of the holders among a deal of 40 and 60 newcomers, for three answers with unequal variances."""
    deal, grr = KaryJRR.optimal(3, 40, 1.0, 0), GRR(3, 1.0)
    among, largest = _largest_variance([_quadratic(deal, 40, 100), _quadratic(grr, 60, 100)])
    assert (among[0], among[-1]) == (0.0, pytest.approx(1.0))
    assert (np.diff(among) >= 0).all()
    for held in range(101):
        splits = ((one, held - one) for one in range(max(0, held - 60), min(held, 40) + 1))
        found = [deal.variance(a / 40) * 0.16 + grr.variance(b / 60, 60) * 0.36 for a, b in splits]
        highest = float(np.interp(held / 100, among, largest))
        assert max(found) <= highest * (1 + 1e-5)
        # Splits of whole contributors come within one per cent of the best.
        assert highest <= max(found) * 1.01


@pytest.mark.parametrize(
    ("deal", "plain"),
    [
        (KaryJRR(3, 0.5, -0.5, 10), GRR(3, 1.0)),
        (QuotaRR(1.0, 10, k=3), GRR(3, 2.0)),
        (QuotaUnary(3, 1.0, 10), OUE(3, 1.0)),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_other_deals_and_other_oracles(deal: Any, plain: Any) -> None:
    rng = SimulationRandomness(4)
    parts = [deal.simulate_aggregate([5, 3, 2], rng), plain.simulate_aggregate([10, 6, 4], rng)]
    for order in (parts, parts[::-1]):
        both = combine_deals(order)
        alone = [part.mechanism.estimate(part) for part in parts]
        np.testing.assert_allclose(both.frequencies, (alone[0].frequencies + 2 * alone[1].frequencies) / 3, rtol=1e-12)
        errors = np.hypot(10 * alone[0].standard_errors, 20 * alone[1].standard_errors) / 30
        np.testing.assert_allclose(both.standard_errors, errors, rtol=1e-12)
        assert both.n == 30


def test_what_cannot_be_combined_is_named() -> None:
    rng = SimulationRandomness(1)
    deal = JRR(P, RHO, 4).simulate_aggregate([3, 1], rng)
    new = GRR(2, 1.0).simulate_aggregate([3, 1], rng)
    with pytest.raises(MismatchError, match=r"at least one aggregate must come from .* dealer, got GRR"):
        combine_deals([new, GRR(2, 2.0).simulate_aggregate([3, 1], rng)])
    with pytest.raises(MismatchError, match=r"two aggregates belong to the same deal \(GRR"):
        combine_deals([deal, new, new])
    with pytest.raises(MismatchError, match="the same number of categories, got k=2 and k=3"):
        combine_deals([deal, GRR(3, 1.0).simulate_aggregate([3, 1, 0], rng)])
    batches = QuotaBatches(1.0, 10, 1)
    with pytest.raises(MismatchError, match="frequency oracle such as GRR, got QuotaBatches"):
        combine_deals([new, batches.simulate_aggregate([[6, 4]], rng)])
    with pytest.raises(EmptyAggregateError):
        combine_deals([deal, Aggregate.empty(GRR(2, 1.0))])


def test_newcomers_of_a_survey() -> None:
    schema, rng = Schema((Attribute("smoker", ("yes", "no")),)), SimulationRandomness(1)
    survey = Collection(schema, QuotaRR(1.0, 1000, deal_id="monday"), title="Work")
    grr = GRR(2, 0.5)
    late = replace(survey, mechanism=grr)
    assert late.id != survey.id
    deal = QuotaRR(1.0, 1000, deal_id="monday").simulate_aggregate([250, 750], rng)
    new = grr.simulate_aggregate([100, 300], rng)
    parts = [replace(deal, collection=survey.id), replace(new, collection=late.id)]
    found = estimate_deals(survey, parts)["smoker"]
    assert found.labels == ("yes", "no")
    assert found.frequencies.tolist() == combine_deals(parts).frequencies.tolist()
    other = replace(late, title="Leisure")
    with pytest.raises(MismatchError, match="must belong to the same survey"):
        estimate_deals(survey, [parts[0], replace(parts[1], collection=other.id)])
