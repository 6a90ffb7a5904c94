from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.linalg import hadamard

import deniable as dn
from deniable import SimulationRandomness
from deniable.errors import DamagedStateError, InvalidParameterError, InvalidReportError
from deniable.research.baselines import public_rows as public_rows
from deniable.research.baselines.hadamard import HadamardEncoding
from deniable.testing import laws
from tests.contract.cases import Case
from tests.research.baselines.baseline_laws import moments
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, p_value

CASE = Case("HE", lambda sizes, epsilon: HadamardEncoding(sizes[0], epsilon))


@pytest.mark.parametrize(("k", "size"), [(2, 4), (3, 4), (4, 8), (7, 8), (8, 16), (1000, 1024), (1024, 2048)])
def test_matrix_is_the_smallest_above_the_domain(k: int, size: int) -> None:
    encoding = HadamardEncoding(k, 1.0)
    assert (encoding.rows, encoding.state_size) == (size, size)
    assert 2**encoding.report_bits == 2 * size


@pytest.mark.parametrize("k", [3, 5, 15])
def test_channel_is_column_x_plus_1_of_the_hadamard_matrix(k: int) -> None:
    """Against scipy's Sylvester matrix: bit 0 is likelier exactly if the entry is +1."""
    encoding = HadamardEncoding(k, 1.0)
    matrix = hadamard(encoding.rows)
    for x, row in enumerate(encoding.channel()):
        pairs = row.reshape(-1, 2)
        assert (np.sign(pairs[:, 0] - pairs[:, 1]) == matrix[:, x + 1]).all()


def _agreements(reports: list[int], k: int) -> list[int]:
    """Count by the definition, one report and one value at a time."""
    return [sum((r >> 1 & (v + 1)).bit_count() % 2 == r & 1 for r in reports) for v in range(k)]


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 70), st.data())
def test_decode_is_the_brute_force_count(k: int, data: st.DataObject) -> None:
    encoding = HadamardEncoding(k, 1.0)
    reports = data.draw(st.lists(st.integers(0, 2 * encoding.rows - 1), min_size=1, max_size=60))
    assert encoding.support_counts(encoding.aggregate(np.array(reports))).tolist() == _agreements(reports, k)


@pytest.mark.parametrize("k", [2, 5, 8])
def test_any_two_values_collide_in_half_of_the_rows(k: int) -> None:
    encoding = HadamardEncoding(k, 1.0)
    likely = np.array(encoding.channel()).reshape(k, -1, 2).argmax(axis=2)
    shared = (likely[:, None] == likely[None]).mean(axis=2)
    assert (shared == np.where(np.eye(k, dtype=bool), 1.0, 0.5)).all()
    assert encoding.collision_probability == Fraction(1, 2)


def test_variance_is_that_of_a_sketch_of_two_cells() -> None:
    # The variances are ((e+1)/(e-1))^2 and 4e/(e-1)^2 with e = 2.718281828459045.
    encoding = HadamardEncoding(k=100, epsilon=1.0)
    assert encoding.variance(0.0, 1) == pytest.approx(4.6826943768311695, rel=1e-13)
    assert encoding.variance(1.0, 1) == pytest.approx(3.6826943768311695, rel=1e-13)
    assert encoding.worst_variance(10) == pytest.approx(0.46826943768311695, rel=1e-13)


@pytest.mark.parametrize(("k", "epsilon"), [(3, 0.5), (6, 3.0)])
def test_variance_is_the_second_moment_of_the_channel(k: int, epsilon: float) -> None:
    encoding = HadamardEncoding(k, epsilon)
    _, spread = moments(encoding)
    expected = np.where(np.eye(k, dtype=bool), encoding.variance(1.0, 1), encoding.variance(0.0, 1))
    assert spread == pytest.approx(expected, rel=1e-10)


def test_mutant_that_forgets_collisions_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: p0 = q, as if different values never shared a bit."""
    laws.unbiased(HadamardEncoding(5, 1.0))
    forgotten = property(lambda self: self.response.support_probabilities)
    monkeypatch.setattr(HadamardEncoding, "support_probabilities", forgotten)
    with pytest.raises(AssertionError):
        laws.unbiased(HadamardEncoding(5, 1.0))


def test_mutant_that_decodes_column_x_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = HadamardEncoding._support
    monkeypatch.setattr(HadamardEncoding, "_support", lambda self, *state: np.roll(honest(self, *state), 1))
    with pytest.raises(AssertionError):
        laws.unbiased(HadamardEncoding(5, 1.0))


@pytest.mark.parametrize("interpreted", [False, True])
def test_reports_follow_the_channel(interpreted: bool) -> None:
    encoding = HadamardEncoding(k=6, epsilon=1.0)
    law = dict(enumerate(encoding.channel()[4]))
    inputs = np.full(1500 if interpreted else 100_000, 4)
    if interpreted:
        with always_interpreted():
            reports = encoding.randomize(inputs, SimulationRandomness(1))
    else:
        reports = encoding.randomize(inputs, SimulationRandomness(1))
    assert p_value(reports.tolist(), law) >= FAMILY_WISE_ERROR


def test_hostile_reports_and_damaged_sums_are_refused() -> None:
    encoding = HadamardEncoding(k=5, epsilon=1.0)
    with pytest.raises(InvalidReportError, match=r"report must be in 0\.\.15, got report=16 in row 2"):
        encoding.aggregate(np.array([0, 16]))
    with pytest.raises(InvalidReportError, match="report=-1 in row 1"):
        encoding.aggregate(np.array([-1]))
    sums = np.zeros(8, dtype=np.int64)
    with pytest.raises(DamagedStateError, match="absolute values of 1 signs must sum to an odd number <= 1, got 0"):
        encoding.estimate(dn.Aggregate(encoding, sums, 1))
    sums[3] = 5
    with pytest.raises(DamagedStateError, match=r"counts\[3\] must be in -3\.\.3, got 5"):
        encoding.estimate(dn.Aggregate(encoding, sums, 3))


@pytest.mark.parametrize("k", [1, 2**30 + 1])
def test_domain_bounds(k: int) -> None:
    with pytest.raises(InvalidParameterError, match="k must be"):
        HadamardEncoding(k, 1.0)


def test_the_largest_domain_fits_32_bits() -> None:
    encoding = HadamardEncoding(2**30, 1.0)
    reports = encoding.randomize(np.array([0, 2**30 - 1]), SimulationRandomness(1))
    assert reports.dtype == np.uint32
    assert encoding.report_bits == 32


def test_a_million_contributors_over_a_large_domain() -> None:
    """Mean squared error over 2^15 values against the formula; its relative spread is sqrt(2/2^15) = .8%, z = 5."""
    encoding = HadamardEncoding(k=2**15, epsilon=1.0)
    counts = np.full(encoding.k, 30)
    counts[7] += 10**5
    estimate = encoding.estimate(encoding.simulate_aggregate(counts, SimulationRandomness(3)))
    n = int(counts.sum())
    error = estimate.frequencies - counts / n
    assert float((error**2).mean()) == pytest.approx(encoding.variance(1 / encoding.k, n), rel=0.04)
    assert abs(error[7]) < 5 * estimate.standard_errors[7]
