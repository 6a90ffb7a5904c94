"""Batches of a deal: each batch is its own deal, and their estimates are pooled."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable import SimulationRandomness as Simulation
from deniable.errors import (
    DamagedStateError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
)
from deniable.research.dealt.quota.batches import QuotaBatches
from deniable.research.dealt.quota.quota_rr import QuotaRR


def test_batches_are_deals_of_their_own() -> None:
    quota = QuotaBatches(1.0, 20, 5, deal_id="a")
    shares = quota.deal(100, Simulation(1))
    assert shares.columns[0].tolist() == [b for b in range(5) for _ in range(20)]
    for b in range(5):
        forced = np.bincount(shares.columns[1][shares.columns[0] == b], minlength=3)
        assert forced[0] >= quota.parts[b].a0
        assert forced[1] >= quota.parts[b].a0
    assert len(quota.deal(47, Simulation(1))) == 47
    assert quota.parts[0] == QuotaRR(1.0, 20, quota.minimum, deal_id="a/0")


def test_estimates_of_batches_are_the_pooled_estimates_of_their_deals() -> None:
    quota, rng = QuotaBatches(1.0, 50, 4, k=3), Simulation(2)
    truth = np.repeat([0, 1, 2], [90, 60, 20])
    reports = quota.randomize(truth, quota.deal(200, rng)[:170], Simulation(1))
    estimate = quota.estimate(quota.aggregate(reports))
    pooled = np.zeros(3)
    for b, part in enumerate(quota.parts):
        own = reports.value[reports.batch == b]
        pooled += len(own) * part.estimate(part.aggregate(own)).frequencies
    assert estimate.frequencies == pytest.approx(pooled / 170, abs=1e-12)
    variance = sum(quota.parts[b].variance(0.2, reporters=r) * r**2 for b, r in enumerate([50, 50, 50, 20]))
    assert quota.variance(0.2, 170) == pytest.approx(variance / 170**2, rel=1e-12)


def test_batches_in_simulation() -> None:
    quota, rng = QuotaBatches(1.0, 30, 20), Simulation(3)
    truth = np.tile(np.repeat([0, 1], [27, 3]), 20)
    dealt = [
        quota.estimate(quota.aggregate(quota.randomize(truth, quota.deal(600, rng), Simulation(1)))) for _ in range(300)
    ]
    drawn = [quota.estimate(quota.simulate_aggregate([[27, 3]] * 20, rng)) for _ in range(300)]
    for estimates in (dealt, drawn):
        found = np.array([estimate.frequencies[1] for estimate in estimates])
        variance = quota.variance(0.1)
        assert abs(found.mean() - 0.1) < 5.5 * math.sqrt(variance / 300)
        assert abs(found.var() / variance - 1) < 6 * math.sqrt(2 / 300)
    inside = sum(bool(e.interval(0.9)[0][1] <= 0.1 <= e.interval(0.9)[1][1]) for e in dealt)
    # P(Binomial(300, .9) <= 243) is below 4e-7.
    assert inside > 243


def test_what_a_small_batch_costs() -> None:
    """Variance relative to no dealer at f = .05, epsilon = .5, by batch size; measured once."""
    ratios = {10: 0.68, 50: 0.37, 200: 0.21, 1000: 0.12, 10_000: 0.07}
    for size, ratio in ratios.items():
        plain = QuotaBatches(0.5, size, 1, minimum=0)
        assert QuotaBatches(0.5, size, 1).variance(0.05) / plain.variance(0.05) == pytest.approx(ratio, abs=0.006)


def test_bad_batches_are_named() -> None:
    with pytest.raises(InvalidParameterError, match=r"a quota helps only in batches of at least 6 contributors"):
        QuotaBatches(1.0, 5, 10)
    with pytest.raises(InvalidParameterError, match="batches must be >= 1"):
        QuotaBatches(1.0, 50, 0)
    quota = QuotaBatches(1.0, 10, 3)
    with pytest.raises(InvalidParameterError, match="n must be <= 30"):
        quota.deal(31, Simulation(1))
    with pytest.raises(InvalidReportError, match="batch must be in"):
        quota.aggregate((np.array([3]), np.array([0])))
    with pytest.raises(DamagedStateError, match="a deal to n=10 contributors has at most as many reports, got 11"):
        quota.aggregate((np.zeros(11, dtype=int), np.zeros(11, dtype=int)))
    with pytest.raises(InvalidInputError, match=r"counts must have shape \(3, 2\)"):
        quota.simulate_aggregate([5, 5], Simulation(1))
