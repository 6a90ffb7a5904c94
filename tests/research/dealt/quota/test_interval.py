"""Tails of a deal's counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable import SimulationRandomness
from deniable.research.dealt.quota.interval import QuotaSupports
from deniable.research.dealt.quota.quota_rr import QuotaRR
from tests.research.dealt.quota_laws import count_law


def test_tails_are_the_enumerated_ones() -> None:
    quota = QuotaRR(1.0, 7, 2)
    for holders in range(8):
        law = np.array(count_law(quota, (1,) * holders + (0,) * (7 - holders), 1, 7))
        for count in range(8):
            below = QuotaSupports(((quota.law, 7, 1),), 1.0, 0.0, 7).at_most(count, holders)
            assert below == pytest.approx(law[: count + 1].sum(), abs=1e-11)


@pytest.mark.parametrize(("n", "holders"), [(20_000, 0), (20_000, 200), (20_000, 10_000)])
def test_tails_of_many_are_the_simulated_ones(n: int, holders: int) -> None:
    quota = QuotaRR(0.5, n)
    rng = SimulationRandomness(holders)
    counts = np.array([quota.simulate_aggregate([n - holders, holders], rng).counts[1] for _ in range(4000)])
    for quantile in (0.025, 0.3, 0.975):
        count = int(np.quantile(counts, quantile))
        below = QuotaSupports(((quota.law, n, 1),), 1.0, 0.0, n).at_most(count, holders)
        # A z of 5.5 has a family-wise error below 1e-6 over the nine comparisons. The approximation may cost 1e-3.
        assert abs((counts <= count).mean() - below) < 5.5 * math.sqrt(below * (1 - below) / 4000) + 1e-3
