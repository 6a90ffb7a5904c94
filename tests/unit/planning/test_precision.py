"""Numbers of contributors and mean variances, by the textbook."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import pytest

from deniable import GRR
from deniable.oracles.unary import OUE
from deniable.planning.precision import contributors_needed, mean_variance, quantile
from deniable.records.fake_data import RSFD
from deniable.records.sample import SMP
from deniable.records.split import SPL


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("target", [0.003, 0.02])
def test_contributors_needed_by_the_textbook(epsilon: float, target: float) -> None:
    e, z = math.exp(epsilon), NormalDist().inv_cdf(0.975)
    grr, oue = (e + 30 - 2) / (e - 1) ** 2, 4 * e / (e - 1) ** 2
    for mechanism, variance in ((GRR(30, epsilon), grr), (OUE(30, epsilon), oue)):
        exact = z**2 * variance / target**2
        # The number holds to four digits of the target: n may be 2e-4 smaller than exact, and is a whole number.
        n = contributors_needed(mechanism, target)
        assert n is not None
        assert exact * (1 - 2.1e-4) <= n < exact * (1 - 1.9e-4) + 1


def test_contributors_needed_is_the_smallest() -> None:
    for mechanism in (GRR(7, 1.3), SMP((5, 4), 2.0), RSFD((5, 4), 2.0, "OUE")):
        for target in (0.4, 0.05, 0.007):
            n = contributors_needed(mechanism, target, confidence=0.9, frequency=0.3)
            assert n is not None
            noise: Any = mechanism.variance
            attributes: list[tuple[int, ...]] = [()] if isinstance(mechanism, GRR) else [(0,), (1,)]
            sd = [max(math.sqrt(noise(0.3, size, *j)) for j in attributes) for size in (n, max(n - 1, 1))]
            z = NormalDist().inv_cdf(0.95)
            assert z * sd[0] <= target * 1.0001
            assert n == 1 or z * sd[1] > target * 1.0001


def test_mean_variance_weighs_attributes_alike() -> None:
    spl = SPL((2, 50), 2.0)
    expected = (GRR(2, 1).variance(1 / 2, 100) + GRR(50, 1).variance(1 / 50, 100)) / 2
    assert mean_variance(spl, 100) == pytest.approx(expected, rel=1e-12)


def test_quantile() -> None:
    assert quantile(0.95) == pytest.approx(1.959963984540054, abs=1e-14)
    assert quantile(0.5) == pytest.approx(NormalDist().inv_cdf(0.75), abs=1e-14)
