"""Apple's Hadamard sketch: bias, variances and state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import SimulationRandomness
from deniable.errors import (
    DamagedStateError,
    InvalidParameterError,
)
from deniable.research.baselines.apple import AppleCMS
from deniable.research.baselines.apple_hadamard import AppleHCMS
from deniable.research.baselines.hadamard import HadamardEncoding
from deniable.testing import laws
from tests.contract.cases import Case

BOTH = pytest.mark.parametrize("sketch", [AppleCMS, AppleHCMS])


def test_simulated_hadamard_aggregates_follow_the_law() -> None:
    case = Case("AppleHCMS", lambda sizes, epsilon: AppleHCMS(sizes[0], epsilon, m=4, hashes=3, seed=1))
    laws.simulated_aggregates_follow_the_law(case.build((3,), 1.0))


@BOTH
def test_bias_stays_however_many_contribute(sketch: Any) -> None:
    n = 2_000_000 if sketch is AppleHCMS else 10**9
    truth = np.array([5, 3, 1, 1, 0]) / 10
    mechanism = sketch(5, 5.0, m=4, hashes=2, seed=3)
    estimate = mechanism.estimate(mechanism.simulate_aggregate((truth * n).astype(int), SimulationRandomness(1)))
    noise = np.sqrt(mechanism.worst_variance(n))
    bias = mechanism.conditional_bias(truth)
    assert np.abs(bias).max() > 50 * noise
    assert (np.abs(estimate.frequencies - truth - bias) < 5.5 * noise).all()


def test_variances() -> None:
    # s = e^2, p = s/(s+1), q = 1 - p, p0 = p/16 + 15q/16. The variances are p0(1-p0)/(p-p0)^2 and p(1-p)/(p-p0)^2.
    apple = AppleCMS(100, 4.0, m=16, hashes=8)
    assert apple.variance(0.0, 1) == pytest.approx(0.2726219835637505, rel=1e-12)
    assert apple.variance(1.0, 1) == pytest.approx(0.20595531689708388, rel=1e-12)
    assert apple.worst_variance(10) == apple.variance(0.0, 10)
    # This is eq. (10) with c = 17/32 and randomised response over 2 cells: p1 = e/(e+1), p0 = (1 + c(e-1))/(e+1).
    hadamard = AppleHCMS(100, 1.0, m=16, hashes=8)
    assert hadamard.variance(0.0, 1) == pytest.approx(5.32342115763902, rel=1e-12)
    assert hadamard.variance(1.0, 1) == pytest.approx(4.190087824305686, rel=1e-12)
    assert AppleHCMS(100, 1.0, m=2**20, hashes=1).worst_variance(1) == pytest.approx(
        HadamardEncoding(100, 1.0).worst_variance(1), rel=1e-5
    )


def test_bits_and_state() -> None:
    assert AppleCMS(100, 1.0, m=12, hashes=8).report_bits == 15
    assert AppleHCMS(100, 1.0, m=16, hashes=8).report_bits == 8
    assert AppleCMS(100, 1.0).state_size == AppleHCMS(100, 1.0).state_size == 2**20


def test_hadamard_cells_are_a_power_of_two() -> None:
    with pytest.raises(InvalidParameterError, match="m must be a power of two, got m=12"):
        AppleHCMS(5, 1.0, m=12)


def test_damaged_sums_are_refused() -> None:
    hadamard = AppleHCMS(5, 1.0, m=4, hashes=2)
    with pytest.raises(DamagedStateError, match="absolute values of 1 signs must sum to an odd number <= 1, got 0"):
        hadamard.estimate(dn.Aggregate(hadamard, np.zeros(8, dtype=np.int64), 1))
    with pytest.raises(DamagedStateError, match=r"counts\[0\] must be in -2\.\.2, got 5"):
        hadamard.estimate(dn.Aggregate(hadamard, np.full(8, 5), 2))
