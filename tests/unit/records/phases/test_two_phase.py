from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import SMP, SPL, RecordEstimate, SimulationRandomness
from deniable.core.estimate import affine_estimate
from deniable.errors import InvalidParameterError, MismatchError, NoIntervalError
from deniable.postprocess import simplex
from deniable.records.phases.two_phase import combine, precision_at_uniform
from deniable.records.pivot.corr_rr import CorrRR
from deniable.research.dealt import QuotaRecords
from tests.unit.records.pivot.corr_rr_laws import constant, some_matrix
from tests.unit.records.record_laws import records


def _half(counts: list[int], p: float, q: float, contributors: int | None = None) -> RecordEstimate:
    return RecordEstimate({0: affine_estimate(counts, sum(counts), p, q, contributors)})


def test_weights_by_counts_by_hand() -> None:
    """f^ = .7 of 100 at (3/4, 1/4) and .4 of 300 at (.9, .1): (100 x .7 + 300 x .5)/400."""
    first, second = _half([60, 40], 0.75, 0.25), _half([150, 150], 0.9, 0.1)
    both = combine(first, second)[0]
    assert both.frequencies == pytest.approx([(70 + 150) / 400, (30 + 150) / 400], abs=1e-12)
    assert (both.n, both.contributors, both.processing) == (400, 400, ())
    # The noise of one report is .1875/.25 = .75 and .09/.64.
    noise = (1 / 16) * 0.75 / 100 + (9 / 16) * (0.09 / 0.64) / 300
    assert both.standard_errors == pytest.approx([math.sqrt(noise)] * 2, rel=1e-12)
    f = both.frequencies
    population = both.standard_errors_for("population")
    assert population == pytest.approx(np.sqrt(noise + f * (1 - f) / 400), rel=1e-12)


def test_fixed_inverse_variance_weights_are_n_delta_squared() -> None:
    """100 x .25 = 25 and 300 x .64 = 192: the contract of fixed weights, whatever the counts say."""
    for counts in ([60, 40], [99, 1]):
        first, second = _half(counts, 0.75, 0.25), _half([150, 150], 0.9, 0.1)
        both = combine(first, second, weights="inverse-variance", learned=False)[0]
        share = 25 / 217
        expected = share * first[0].frequencies + (1 - share) * second[0].frequencies
        assert both.frequencies == pytest.approx(expected, abs=1e-12)
        drawn = 1 / (share**2 / 100 + (1 - share) ** 2 / 300)
        assert both.n == int(drawn)
        assert both.contributors == 400
        noise = share**2 * 0.75 / 100 + (1 - share) ** 2 * (0.09 / 0.64) / 300
        f = np.clip(expected, 0, 1)
        extra = f * (1 - f) * (1 / both.n - 1 / 400)
        assert both.standard_errors == pytest.approx(np.sqrt(noise + extra), rel=1e-12)
    ratio = precision_at_uniform(first[0]) / precision_at_uniform(second[0])
    assert ratio == pytest.approx(25 / 192, rel=1e-12)


def test_numbers_as_weights_rounds_and_absent_parts() -> None:
    parts = [_half([60, 40], 0.75, 0.25), _half([150, 150], 0.9, 0.1), _half([5, 5], 0.75, 0.25)]
    assert combine(*parts, weights=[0, 2, 2])[0].frequencies == pytest.approx([0.5, 0.5])
    assert combine(*parts)[0].n == 410
    nothing = RecordEstimate({0: affine_estimate([0, 0], 0, 0.75, 0.25, 50)})
    assert combine(parts[0], nothing)[0].frequencies == pytest.approx([0.7, 0.3])
    assert combine(parts[0], nothing)[0].contributors == 150
    assert np.isnan(combine(nothing, nothing)[0].frequencies).all()
    assert combine(parts[0])[0].frequencies == pytest.approx([0.7, 0.3])


def test_the_papers_combination_says_that_it_is_biased() -> None:
    """Phase one alone has intervals; combined with the papers' phase two, with any weights, there are none."""
    rng = SimulationRandomness(1)
    spl = CorrRR.phase_one((4, 4), 0.5)
    first = spl.simulate_aggregate([[400, 300, 200, 100]] * 2, rng)
    corr_rr = CorrRR.learn(first, 9000)
    second = corr_rr.simulate_aggregate([[0, 0], [1, 2], [3, 3]], [4000, 3000, 2000], rng)
    one, two = spl.estimate(first), corr_rr.estimate(second)
    for weights in ("counts", "inverse-variance"):
        both = combine(one, two, weights=weights)
        with pytest.raises(NoIntervalError, match=r"Corr-RR \(biased"):
            both[0].interval()
    expected = (1000 * one[1].frequencies + 9000 * two[1].frequencies) / 10_000
    assert combine(one, two)[1].frequencies == pytest.approx(expected, abs=1e-12)
    # Unmixed, phase two is unbiased given P. Weighted by counts the combination is unbiased, too. Weighted by P it is
    # not.
    unmixed = corr_rr.unmixed(second)
    assert combine(one, unmixed)[0].is_raw
    with pytest.raises(NoIntervalError, match="combination by learned weights"):
        combine(one, unmixed, weights="inverse-variance")[0].interval()
    assert combine(one, unmixed, weights="inverse-variance", learned=False)[0].is_raw


@pytest.mark.parametrize("weights", ["counts", "inverse-variance"])
def test_intervals_of_a_combination_cover_all_contributors(weights: str) -> None:
    """P given: SPL on a random tenth of the contributors and Corr-RR, unmixed, on the others; 95% at 1200 splits."""
    rng, sizes, draws, n = SimulationRandomness(3), (3, 2), 1200, 4000
    spl, corr_rr = SPL(sizes, 3.0), CorrRR(sizes, 3.0, constant(2, 0.7))
    every = np.array(records(sizes))
    held = np.array([1000, 200, 40, 1760, 0, 1000])
    assert held.sum() == n
    truth = [np.bincount(every[:, j], weights=held) / n for j in range(2)]
    hits = np.zeros(5)
    for _ in range(draws):
        early = rng.generator.multivariate_hypergeometric(held, n // 10)
        marginals = [np.bincount(every[:, j], weights=early).astype(np.int64) for j in range(2)]
        one = spl.estimate(spl.simulate_aggregate(marginals, rng))
        two = corr_rr.estimate(corr_rr.simulate_aggregate(every, held - early, rng))
        both = combine(one, two, weights=weights, learned=False)
        bounds = [both[j].interval() for j in range(2)]
        hits += np.concatenate([(low <= t) & (t <= high) for (low, high), t in zip(bounds, truth, strict=True)])
    low, high = stats.binom.ppf(2e-7, draws, 0.94), stats.binom.isf(2e-7, draws, 0.96)
    assert ((hits >= low) & (hits <= high)).all(), hits / draws


def test_the_unmixed_combination_with_learned_copies_is_unbiased() -> None:
    """Means over 700 whole collections, P learned anew in each, within 5 standard errors."""
    rng, every = SimulationRandomness(5), np.array(records((3, 3)))
    held = np.array([300, 20, 10, 30, 200, 40, 10, 40, 350])
    truth = np.array([330, 270, 400]) / 1000
    spl, found = SPL((3, 3), 4.0), []
    for _ in range(700):
        first = spl.simulate_aggregate([_true_counts(every, held, j) for j in range(2)], rng)
        learned = CorrRR.learn(first, 1000)
        damped = tuple(
            tuple(float(p) if j == s else 0.7 * float(p) for s, p in enumerate(row))
            for j, row in enumerate(learned.copy_probabilities)
        )
        corr_rr = CorrRR((3, 3), 4.0, damped)
        second = corr_rr.simulate_aggregate(every, held, rng)
        found.append(combine(spl.estimate(first), corr_rr.unmixed(second))[0].frequencies)
    error = np.std(found, axis=0) / math.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - truth) < 5 * error).all()


def _true_counts(every: Any, held: Any, j: int) -> Any:
    return np.bincount(every[:, j], weights=held, minlength=3).astype(np.int64)


def test_the_interval_of_a_part_is_not_that_of_the_combination() -> None:
    """Dealt mechanisms have an interval of their own; for a combination it would be about one part alone."""
    rng, table = SimulationRandomness(1), np.array([[0, 1], [1, 1], [0, 0], [0, 1]] * 250)
    quota, smp = QuotaRecords((2, 2), 1.0, 1000, deal_id="one"), SMP((2, 2), 1.0)
    first = quota.estimate(quota.aggregate(quota.randomize(table, quota.deal(1000, rng), rng)))
    second = smp.estimate(smp.aggregate(smp.randomize(table, rng)))
    assert first[0].intervals is not second[0].intervals
    for parts in ((first, second), (second, first)):
        both = combine(*parts, learned=False)
        for j in range(2):
            lower, upper = both[j].interval()
            half = 1.96 * both[j].standard_errors
            # Score and Wald intervals of 2,000 reports near one half differ by a few percent of their width.
            np.testing.assert_allclose(upper - lower, 2 * half, rtol=0.05)
            assert ((lower < both[j].frequencies) & (both[j].frequencies < upper)).all()


def test_refuses() -> None:
    part = _half([60, 40], 0.75, 0.25)
    with pytest.raises(InvalidParameterError, match="estimates must list at least one estimate, got none"):
        combine()
    with pytest.raises(
        InvalidParameterError, match="weights must be one of counts, inverse-variance, or a list of numbers"
    ):
        combine(part, part, weights="best")
    for weights in ([1.0], [0.0, 0.0], [1.0, -1.0], [math.nan, 1.0]):
        with pytest.raises(InvalidParameterError, match="weights must be 2 numbers >= 0"):
            combine(part, part, weights=weights)
    with pytest.raises(MismatchError, match="same attributes"):
        combine(part, _half([1, 2, 3], 0.75, 0.25))
    with pytest.raises(
        InvalidParameterError,
        match=r"estimates must be raw \(not post-processed\), got an estimate that was processed by “simplex”",
    ):
        combine(part, simplex(part))
    smp, corr_rr = SMP((2, 2), 1.0), CorrRR((2, 2), 1.0, some_matrix(2))
    assert (
        combine(
            smp.estimate(smp.aggregate((np.array([0, 1]), np.array([0, 1])))),
            corr_rr.estimate(corr_rr.aggregate([[0, 1]])),
        )[0].contributors
        == 3
    )
