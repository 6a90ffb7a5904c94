from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import deniable as dn
from deniable import SimulationRandomness
from deniable.errors import DamagedStateError, InvalidParameterError, InvalidReportError
from deniable.research.baselines import recursive_hadamard as module
from deniable.research.baselines.hadamard import HadamardEncoding
from deniable.research.baselines.recursive_hadamard import RecursiveHadamard, recursive_hadamard_bits
from deniable.testing import laws
from tests.contract.cases import Case
from tests.research.baselines.baseline_laws import moments

CASE = Case("RHR", lambda sizes, epsilon: RecursiveHadamard(sizes[0], epsilon))


def test_default_bits() -> None:
    # For 1..5, epsilon/ln 2 is 1.44, 2.89, 4.33, 5.77, 7.21, which is rounded up. Then comes the cap of ceil(log2 k).
    assert [recursive_hadamard_bits(10**5, epsilon) for epsilon in (1, 2, 3, 4, 5)] == [2, 3, 5, 6, 8]
    assert [RecursiveHadamard(k, 5.0).bits for k in (2, 3, 4, 5, 100, 10**6)] == [1, 2, 2, 3, 7, 8]


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_collisions_are_uneven(bits: int) -> None:
    """The likeliest cells of two values are equal in half of the rows for companions, and never for others."""
    k = 11
    response = RecursiveHadamard(k, 1.0, bits)
    likely = response.channel().reshape(k, response.rows, -1).argmax(axis=2)
    for v in range(k):
        for w in range(k):
            companions = v != w and v % 2 ** (bits - 1) == w % 2 ** (bits - 1)
            assert (likely[v] == likely[w]).mean() == (1.0 if v == w else 0.5 if companions else 0.0)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 70), st.integers(1, 5), st.data())
def test_decode_is_the_brute_force_count(k: int, bits: int, data: st.DataObject) -> None:
    response = RecursiveHadamard(k, 1.0, min(bits, (k - 1).bit_length() + 1))
    assert response.bits is not None
    shift = response.bits - 1
    reports = data.draw(st.lists(st.integers(0, response.state_size - 1), min_size=1, max_size=60))
    differences, per_class = response.differences(response.aggregate(np.array(reports)))
    for v in range(k):
        total = 0
        for report in reports:
            row, cell = divmod(report, 2**response.bits)
            if cell >> 1 == v % 2**shift:
                total += 1 if (row & ((v >> shift) + 1)).bit_count() % 2 == cell & 1 else -1
        assert differences[v] == total
    lows = [report % 2**response.bits >> 1 for report in reports]
    assert per_class.tolist() == [lows.count(low) for low in range(2**shift)]


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_every_number_of_bits_is_private_and_unbiased(bits: int, epsilon: float) -> None:
    response = RecursiveHadamard(5, epsilon, bits)
    laws.rows_sum_to_one(response)
    laws.ratio_keeps_the_budget(response, epsilon)
    laws.unbiased(response)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_variance_is_the_second_moment_of_the_channel(bits: int) -> None:
    k, f = 6, np.array([0.3, 0.05, 0.1, 0.25, 0.2, 0.1])
    response = RecursiveHadamard(k, 1.5, bits)
    _, variance = moments(response)
    exact = f @ variance
    low = np.arange(k) % 2 ** (bits - 1)
    formula = [response.variance(f[v], 1, f[low == low[v]].sum() - f[v]) for v in range(k)]
    assert exact == pytest.approx(formula, rel=1e-10)


def test_default_companions_are_the_mean_over_numberings() -> None:
    """Mean over numberings in which each other value in turn holds the rest."""
    k, bits, f = 6, 3, 0.25
    response = RecursiveHadamard(k, 1.0, bits)
    pairs = [(v, w) for v in range(k) for w in range(k) if v != w]
    mean = np.mean([response.variance(f, 1, 0.75 * (v % 4 == w % 4)) for v, w in pairs])
    assert response.variance(f, 1) == pytest.approx(float(mean), rel=1e-12)
    with pytest.raises(InvalidParameterError, match=r"companions must be in \[0, 1 - f\]"):
        response.variance(0.5, 1, companions=0.6)


def test_worst_case_is_worse_than_hadamard_encoding() -> None:
    # The variance is (e^4+1)(e^4+63)/(e^4-1)^2 with e^4 = 54.598150033144236. Hadamard encoding has 1.0760 there.
    response = RecursiveHadamard(100_000, 4.0)
    assert response.worst_variance(1) == pytest.approx(2.275942212264284, rel=1e-12)
    assert HadamardEncoding(100_000, 4.0).worst_variance(1) == pytest.approx(1.0760, rel=1e-4)
    # On average it is better: 2(E+m-1)^2/(m (E-1)^2) for k >> m = 2^b, with the same E and m = 64.
    assert response.variance(0.0, 1) == pytest.approx(0.15047, rel=1e-3)


def test_worst_case_without_companions() -> None:
    response = RecursiveHadamard(4, 1.0, 3)
    assert response.classes == 4
    assert response.worst_variance(1) == max(response.variance(0.0, 1), response.variance(1.0, 1))


def test_one_bit_is_hadamard_encoding() -> None:
    one, encoding = RecursiveHadamard(37, 1.3, 1), HadamardEncoding(37, 1.3)
    values = np.arange(500) % 37
    reports = one.randomize(values, SimulationRandomness(5))
    assert (reports == encoding.randomize(values, SimulationRandomness(5))).all()
    mine, theirs = one.estimate(one.aggregate(reports)), encoding.estimate(encoding.aggregate(reports))
    assert mine.frequencies == pytest.approx(theirs.frequencies, rel=1e-9, abs=1e-12)
    assert one.variance(0.2, 10) == pytest.approx(encoding.variance(0.2, 10), rel=1e-12)
    assert one.worst_variance(10) == pytest.approx(encoding.worst_variance(10), rel=1e-12)


def _covered(response: RecursiveHadamard, draws: int = 2000) -> tuple[int, int]:
    """Return how often the 95% interval of value 0, without holders, covers it when all hold its companion 4."""
    counts = np.zeros(8, dtype=np.int64)
    counts[4] = 3000
    rng, hits = SimulationRandomness(8), 0
    for _ in range(draws):
        lower, upper = response.estimate(response.simulate_aggregate(counts, rng)).interval(0.95)
        hits += bool(lower[0] <= 0 <= upper[0])
    return hits, draws


def test_intervals_cover_in_the_worst_case(monkeypatch: pytest.MonkeyPatch) -> None:
    response = RecursiveHadamard(8, 2.0, 3)
    hits, draws = _covered(response)
    # These are exact binomial bounds of the simulation, at .5e-6 on each side. .005 is the score interval's own
    # discreteness.
    assert stats.binom.ppf(5e-7, draws, 0.945) <= hits <= stats.binom.isf(5e-7, draws, 0.955)

    def mutant(frequencies: Any, n: int, noise_absent: Any, noise_present: Any) -> dn.Estimate:
        """Mutant: companions are taken as evenly spread, whatever the reports are."""
        return dn.Estimate(frequencies, n, 0 * noise_absent + response.variance(0.0, 1), noise_present)

    monkeypatch.setattr(module, "Estimate", mutant)
    hits, draws = _covered(response, 500)
    assert hits < stats.binom.ppf(5e-7, draws, 0.945)


def test_noise_is_never_outside_its_range() -> None:
    """The same is tested for one report, and if one value has all holders."""
    response = RecursiveHadamard(8, 3.0, 3)
    p, q = map(float, response.response.support_probabilities)
    low, high = 2 * q / (p - q) ** 2, (p + q) / (p - q) ** 2
    for reports in (response.outputs()[5:6], response.randomize(np.full(4000, 6), SimulationRandomness(1))):
        estimate = response.estimate(response.aggregate(reports))
        assert (low * (1 - 1e-12) <= estimate.noise_absent).all()
        assert (estimate.noise_absent <= high * (1 + 1e-12)).all()
        assert np.isfinite(estimate.standard_errors).all()
        assert (estimate.standard_errors > 0).all()


@pytest.mark.parametrize("bits", [0, 4, -1, 2.0, True])
def test_bits_bounds(bits: int) -> None:
    with pytest.raises(InvalidParameterError, match="bits must be"):
        RecursiveHadamard(4, 1.0, bits)


@pytest.mark.parametrize(("k", "bits"), [(2**30, 1), (2**30, 31), (2**30 - 3, 16), (2**29 + 1, 30)])
def test_every_report_fits_32_bits(k: int, bits: int) -> None:
    response = RecursiveHadamard(k, 1.0, bits)
    assert response.state_size <= 2**32
    reports = response.randomize(np.array([0, k - 1]), SimulationRandomness(1))
    assert reports.dtype == np.uint32


def test_hostile_reports_and_damaged_counters_are_refused() -> None:
    response = RecursiveHadamard(5, 1.0, 2)
    with pytest.raises(InvalidReportError, match=r"report must be in 0\.\.15, got report=16 in row 1"):
        response.aggregate(np.array([16]))
    counters = np.zeros(response.state_size, dtype=np.int64)
    with pytest.raises(DamagedStateError, match=r"counts\[0\.\.15\] must sum to 1, got 0"):
        response.estimate(dn.Aggregate(response, counters, 1))
    counters[:2] = 2, -1
    with pytest.raises(DamagedStateError, match=r"counts\[1\] must be in 0\.\.\d+, got -1"):
        response.estimate(dn.Aggregate(response, counters, 1))
