"""Distributions of supports that intervals of dealt mechanisms invert, against enumerations of whole deals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core.checks import TARGETS
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.kary_jrr import KaryJRR
from deniable.research.dealt.coupling.report_coupling import ReportCoupledRR
from deniable.research.dealt.interval import SupportLaw, few, wide_score_bounds
from deniable.research.dealt.quota.interval import QuotaSupports
from deniable.research.dealt.quota.quota_rr import QuotaRR
from tests.research.dealt.coupling_laws import kary_reports, reports, signs, tilted, type_law
from tests.research.dealt.quota_laws import count_law

Floats = NDArray[np.float64]


def _drawn(given: Callable[[int], Floats], reporters: int, f: float) -> Floats:
    """Mix distributions given m holders over a binomial m."""
    law: Floats = np.sum(
        [math.comb(reporters, m) * f**m * (1 - f) ** (reporters - m) * given(m) for m in range(reporters + 1)], axis=0
    )
    return law


def _agrees(law: SupportLaw, given: Callable[[int], Floats], reporters: int) -> None:
    for m in range(reporters + 1):
        found = [law.at_most(count, m) for count in range(-1, reporters + 1)]
        assert found == pytest.approx([0.0, *np.cumsum(given(m))], abs=1e-12)
    for f in (0.0, 0.003, 0.4, 1.0):
        found = [law.at_most_drawn(count, f) for count in range(-1, reporters + 1)]
        assert found == pytest.approx([0.0, *np.cumsum(_drawn(given, reporters, f))], abs=1e-12)


def _supporters(law: dict[tuple[int, ...], Any], reporters: int, value: int) -> Floats:
    found = np.zeros(reporters + 1)
    for said, probability in law.items():
        found[said[:reporters].count(value)] += float(probability)
    return found


def _data(holders: int, reporters: int, n: int, others: Sequence[int], value: int) -> tuple[int, ...]:
    rest = [others[i % len(others)] for i in range(n - holders)]
    return (value,) * holders + tuple(rest[: reporters - holders]) + tuple(rest[reporters - holders :])


@pytest.mark.parametrize(("n", "reporters"), [(2, 2), (4, 4), (5, 5), (6, 6), (6, 4), (5, 3), (5, 4), (4, 1)])
@pytest.mark.parametrize("weight", [Fraction(1), Fraction(1, 4)])
def test_coupled_reports(n: int, reporters: int, weight: Fraction) -> None:
    mechanism = ReportCoupledRR(Fraction(5, 8), n, weight)
    p, q = mechanism.support_probabilities
    types = type_law(n, Fraction(q), Fraction(p), weight)

    def given(holders: int) -> Floats:
        return _supporters(reports(types, _data(holders, reporters, n, [0], 1)), reporters, 1)

    _agrees(mechanism._support_law(reporters, reporters), given, reporters)


@pytest.mark.parametrize(("n", "reporters"), [(2, 2), (4, 4), (5, 5), (6, 6), (6, 4), (5, 3), (4, 1)])
@pytest.mark.parametrize("rho", [-0.5, -0.02])
def test_jrr(n: int, reporters: int, rho: float) -> None:
    mechanism = JRR(0.6, rho, n)
    law = mechanism._support_law(reporters, reporters)
    # At rho = -.5, a holder with the sign -1 reports 1 less often than others do.
    assert law.ordered == (rho == -0.02)
    coins = tilted(signs(n), 1 - mechanism.coin.q, mechanism.coin.s)

    def given(holders: int) -> Floats:
        return _supporters(kary_reports(2, coins, _data(holders, reporters, n, [0], 1)), reporters, 1)

    _agrees(law, given, reporters)


@pytest.mark.parametrize(("n", "reporters"), [(4, 4), (5, 5), (5, 3)])
def test_kary_jrr(n: int, reporters: int) -> None:
    mechanism = KaryJRR(3, 0.6, -0.9, n)
    coins = tilted(signs(n), 1 - mechanism.coin.q, mechanism.coin.s)

    def given(holders: int) -> Floats:
        return _supporters(kary_reports(3, coins, _data(holders, reporters, n, [0, 2], 1)), reporters, 1)

    _agrees(mechanism._support_law(reporters, reporters), given, reporters)


@pytest.mark.parametrize(("n", "reporters"), [(6, 6), (6, 5), (6, 2), (7, 4)])
@pytest.mark.parametrize("epsilon_aux", [None, 2.5])
@pytest.mark.parametrize("k", [2, 3])
def test_quotas_with_drop_outs_and_a_cap(n: int, reporters: int, epsilon_aux: float | None, k: int) -> None:
    if k == 3:
        n, reporters = 5, min(reporters, 5)
    quota = QuotaRR(1.0, n, 1, k, epsilon_aux=epsilon_aux)

    def given(holders: int) -> Floats:
        return np.array(count_law(quota, _data(holders, reporters, n, [0, k - 1][: k - 1], 1), 1, reporters))

    _agrees(quota._support_law(reporters, reporters), given, reporters)


def test_reporters_drawn_from_more_people() -> None:
    quota = QuotaRR(1.0, 5, 1)
    law, alone = quota._support_law(5, 12), quota._support_law(5, 5)
    for m in range(13):
        held = [math.comb(m, h) * math.comb(12 - m, 5 - h) / math.comb(12, 5) for h in range(6)]
        for count in range(6):
            expected = math.fsum(weight * alone.at_most(count, h) for h, weight in enumerate(held))
            assert law.at_most(count, m) == pytest.approx(expected, abs=1e-12)


def test_several_deals_together() -> None:
    """Holders are spread at random over deals of 5 and 5 and a deal of 5 with 3 reports."""
    quota = QuotaRR(1.0, 5, 1)
    law = QuotaSupports(((quota.law, 5, 2), (quota.law, 3, 1)), 1.0, 0.0, 13)

    def part(reporters: int, holders: int) -> Floats:
        data = (1,) * holders + (0,) * (5 - holders)
        return np.array(count_law(quota, data, 1, reporters))

    parts = {(r, h): part(r, h) for r in (3, 5) for h in range(r + 1)}

    def given(holders: int) -> Floats:
        found = np.zeros(14)
        for one in range(6):
            for two in range(6):
                three = holders - one - two
                if 0 <= three <= 3:
                    ways = math.comb(5, one) * math.comb(5, two) * math.comb(3, three) / math.comb(13, holders)
                    both = np.convolve(parts[5, one], parts[5, two])
                    found += ways * np.convolve(both, parts[3, three])
        return found

    _agrees(law, given, 13)


@pytest.mark.parametrize(("reporters", "epsilon_aux"), [(19_999, None), (14_000, None), (20_000, 2.0), (14_000, 2.0)])
def test_noise_that_is_taken_for_normal(reporters: int, epsilon_aux: float | None) -> None:
    """Too many drop-outs or random answers to add to the types: compared with simulated deals."""
    n, runs = 20_000, 4000
    quota, rng = QuotaRR(0.5, n, epsilon_aux=epsilon_aux), SimulationRandomness(reporters)
    truth, lie = quota.truthfulness
    for holders in (0, reporters // 10):
        law = quota._support_law(reporters, reporters)
        found = np.empty(runs)
        for run in range(runs):
            told = quota.tables.draw_counts(rng)
            zero, one, true = rng.generator.multivariate_hypergeometric(told, reporters, method="marginals")
            assert zero + one + true == reporters
            held = rng.generator.hypergeometric(holders, reporters - holders, true)
            found[run] = one + rng.generator.binomial(held, truth) + rng.generator.binomial(true - held, lie)
        for quantile in (0.025, 0.3, 0.975):
            count = int(np.quantile(found, quantile))
            below = law.at_most(count, holders)
            # A z of 5.5 has a family-wise error below 1e-6 over all comparisons. The approximation may cost 1e-3.
            assert abs((found <= count).mean() - below) < 5.5 * math.sqrt(below * (1 - below) / runs) + 1e-3


@pytest.mark.parametrize("bends", [(1.0, 1.0, 0.0), (2.0, -1.0, 0.0), (2.0, -4.0, 4.0), (1.0, 4.0, -4.0)])
def test_the_rule_asks_for_mistakes_without_any_holders(bends: tuple[float, float, float]) -> None:
    """A variance of 25 supports suffices, wherever it is least (1 here): at f = 0, at 1, or between."""
    level, slope, curvature = bends

    def variance(least: float) -> Callable[[float], float]:
        return lambda f: least / 100**2 * (level + slope * f + curvature * f * f)

    assert few(variance(24.99), 1 / 100)
    assert not few(variance(25.01), 1 / 100)
    assert few(variance(1e6), 1 / 100, cut_off=True)


def test_score_bounds_of_the_population_count_sampling() -> None:
    """Each end is z deviations from the estimate, by the variance of the listed distribution at that end."""
    jrr, tail = JRR.optimal(3_000, 1.0, colluders=0, count=900), 0.025
    law, step = jrr._support_law(3_000, 3_000), jrr.support_step / 3_000
    found, variance = np.array([0.3]), partial(jrr.variance, reporters=3_000)
    supports = np.arange(3_001)
    for target in TARGETS:
        ends = wide_score_bounds(found, 3_000, variance, step, tail, target)
        for end, half in zip(ends, (step / 2, -step / 2), strict=True):
            f = float(end[0]) + half
            if target == "population":
                chances = np.diff([law.at_most_drawn(int(count), f) for count in supports], prepend=0.0)
            else:
                chances = np.diff([law.at_most(int(count), round(3_000 * f)) for count in supports], prepend=0.0)
            deviation = math.sqrt(chances @ (supports - chances @ supports) ** 2) * step
            assert abs(found[0] - f) == pytest.approx(1.959964 * deviation, rel=2e-3)
