"""SUE, OUE and THE: exact and sampled distributions, textbook formulas, hostile reports, memory."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.errors import InvalidReportError, TooLargeError
from deniable.oracles.bits import Bits, randomize_bits
from deniable.oracles.oracle import FrequencyOracle
from deniable.oracles.unary import OUE, SUE, optimised_thresholds, symmetric_thresholds
from deniable.research.baselines.histogram_threshold import THE
from tests.unit.oracles.unary_laws import FAMILY_WISE_ERROR, KERNELS, integers, kernel_path, p_value

DIGITS = Context(prec=80)


EPSILONS = (0.01, 0.5, 1.0, 2.0, 5.0)
DOMAINS = (2, 3, 4, 5, 8)
FAMILIES: tuple[Callable[..., FrequencyOracle[Bits]], ...] = (SUE, OUE, THE)


def _exp(value: float) -> Decimal:
    return DIGITS.exp(Decimal(repr(value)))


# -------------------------------------------------------------------- thresholds and exact distribution


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 8.0, 32.0])
def test_thresholds_are_the_smallest_private_ones(epsilon: float) -> None:
    """The ratio of the implemented thresholds keeps e^epsilon, and no smaller Q would, by 80-digit arithmetic."""
    bound = _exp(epsilon)

    def ratio(p: int, q: int) -> Decimal:
        return DIGITS.divide(Decimal(p * (2**64 - q)), Decimal(q * (2**64 - p)))

    p, q = optimised_thresholds(epsilon)
    assert p == 2**63
    assert ratio(p, q) <= bound < ratio(p, q - 1)
    p, q = symmetric_thresholds(epsilon)
    assert p == 2**64 - q
    assert ratio(p, q) <= bound < ratio(p + 1, q - 1)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", DOMAINS)
@pytest.mark.parametrize("family", FAMILIES)
def test_exact_ratio_and_rows(family: Any, k: int, epsilon: float) -> None:
    mechanism = family(k, epsilon)
    channel = mechanism.channel(exact=True)
    assert channel.shape == (k, 2**k)
    assert all(sum(row) == 1 for row in channel)
    ratio = max(max(column) / min(column) for column in channel.T)
    assert ratio == mechanism.implemented_ratio()
    logarithm = DIGITS.ln(DIGITS.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    assert logarithm <= Decimal(repr(epsilon))
    # The bound from below is tested, too. THE has a tight epsilon in its own closed form.
    half, theta = epsilon / 2, getattr(mechanism, "theta", None)
    tight = epsilon
    if theta is not None:
        false, missed = math.exp(-theta * half) / 2, math.exp((theta - 1) * half) / 2
        tight = math.log((1 - missed) / missed * (1 - false) / false)
        assert tight < epsilon
        assert mechanism.privacy().epsilon == pytest.approx(tight, rel=1e-12)
        assert "tight epsilon" in mechanism.privacy().remarks[0]
    assert float(logarithm) == pytest.approx(tight, rel=1e-12)
    assert logarithm <= Decimal(mechanism.implemented_epsilon()) <= logarithm + Decimal("1e-14")


@pytest.mark.parametrize("family", FAMILIES)
def test_channel_is_the_product_of_its_bits(family: Any) -> None:
    mechanism = family(3, 1.0)
    p, q = mechanism.support_probabilities
    outputs = mechanism.outputs()
    assert integers(outputs).tolist() == list(range(8))
    for x, y in itertools.product(range(3), range(8)):
        expected = Fraction(1)
        for v in range(3):
            chance = p if v == x else q
            expected *= chance if y >> v & 1 else 1 - chance
        assert mechanism.channel(exact=True)[x, y] == expected
    assert np.abs(mechanism.channel() - mechanism.channel(exact=True).astype(float)).max() <= 1e-16


def test_outputs_of_several_bytes() -> None:
    assert integers(OUE(11, 1.0).outputs()).tolist() == list(range(2**11))


@pytest.mark.long
@pytest.mark.parametrize("k", [18, 10**6, 2**32])
def test_channel_too_large_to_enumerate(k: int) -> None:
    for call in (OUE(k, 1.0).channel, OUE(k, 1.0).outputs):
        with pytest.raises(TooLargeError, match=rf"OUE\(k={k}, epsilon=1.0\) .* got {k} x 2\^{k} outputs"):
            call()
    assert SUE(17, 1.0).channel().shape == (17, 2**17)


# -------------------------------------------------------------------- sampled distribution and its mutants


def true_bit_not_cleared(mechanism: Any, codes: NDArray[np.int64], rng: SimulationRandomness) -> Bits:
    """Mutant: the noisy own bit is OR-ed onto existing noise instead of replacing it."""
    own = np.packbits(np.eye(mechanism.k, dtype=np.uint8)[codes], axis=1, bitorder="little")
    noise = randomize_bits(np.zeros_like(own), mechanism.k, mechanism.thresholds, rng)
    result: Bits = noise | (mechanism.randomize(codes, rng) & own)
    return result


@pytest.mark.parametrize("path", KERNELS)
@pytest.mark.parametrize("family", FAMILIES)
def test_reports_follow_the_channel_and_the_mutant_does_not(family: Any, path: str) -> None:
    mechanism, n = family(4, 1.0), 40_000
    bound = FAMILY_WISE_ERROR / 4
    rng = SimulationRandomness(20)
    with kernel_path(path):
        for x, row in enumerate(mechanism.channel()):
            codes = np.full(n, x)
            assert p_value(mechanism.randomize(codes, rng), row) >= bound
            assert p_value(true_bit_not_cleared(mechanism, codes, rng), row) < bound


@pytest.mark.parametrize("family", FAMILIES)
def test_bits_of_a_row_are_independent(family: Any) -> None:
    """Also where one row spans several words and several rows share one: all pairs of bits, by z-tests."""
    mechanism, n = family(70, 1.0), 20_000
    p, q = map(float, mechanism.support_probabilities)
    held = np.eye(70)[np.arange(n) % 70]
    spread = held * p * (1 - p) + (1 - held) * q * (1 - q)

    def largest_z(reports: Bits) -> float:
        bits = np.unpackbits(reports, axis=1, bitorder="little", count=70)
        centred = bits - (held * p + (1 - held) * q)
        z = (centred.T @ centred) / np.sqrt(spread.T @ spread)
        return float(np.abs(z[np.triu_indices(70, 1)]).max())

    reports = mechanism.randomize(np.arange(n) % 70, SimulationRandomness(2))
    # The two-sided normal bound at 1e-6 over 2,415 pairs is 6.3.
    assert largest_z(reports) < 6.3
    # In this mutant, one byte's words serve another byte, too.
    reports[:, 5] = reports[:, 2]
    assert largest_z(reports) > 6.3


@pytest.mark.parametrize("k", [2, 3, 5, 7, 8, 9, 12, 15, 16, 17, 63, 64, 65, 100, 129, 1000])
@pytest.mark.parametrize("path", KERNELS)
def test_padding_is_zero_and_refused(k: int, path: str) -> None:
    oue = OUE(k, 1.0)
    with kernel_path(path):
        reports = oue.randomize(np.arange(21) % k, SimulationRandomness(k))
    assert reports.shape == (21, -(-k // 8)) == (21, oue.report_fields[0].width)
    bits = np.unpackbits(reports, axis=1, bitorder="little")
    assert not bits[:, k:].any()
    assert oue.aggregate(reports).counts.tolist() == bits[:, :k].sum(axis=0).tolist()
    if k % 8:
        reports[16, -1] |= 128
        with pytest.raises(InvalidReportError, match="must be zero, got a 1 in row 17"):
            oue.aggregate(reports)


@pytest.mark.parametrize("family", FAMILIES)
def test_foreign_reports_are_refused(family: Any) -> None:
    mechanism = family(12, 1.0)
    for wrong in (np.zeros((3, 2), dtype=np.int64), np.zeros((3, 3), dtype=np.uint8), np.zeros(2, dtype=np.uint8)):
        with pytest.raises(InvalidReportError, match=r"dtype uint8|shape \(n, 2\)"):
            mechanism.aggregate(wrong)
    assert mechanism.aggregate(np.empty((0, 2), dtype=np.uint8)).n == 0


# -------------------------------------------------------------------- textbook formulas


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 5.0, 16.0])
def test_variances_at_zero_are_the_textbook_ones(epsilon: float) -> None:
    e, s = math.exp(epsilon), math.exp(epsilon / 2)
    assert OUE(7, epsilon).variance(0.0, 10) == pytest.approx(4 * e / (10 * (e - 1) ** 2), rel=1e-11)
    assert SUE(7, epsilon).variance(0.0, 10) == pytest.approx(s / (10 * (s - 1) ** 2), rel=1e-11)
    for theta in (0.55, 0.7, 1.0):
        # This is the variance of THE by Wang et al. (2017).
        a, b = math.exp(epsilon * theta / 2), math.exp(epsilon * (theta - 0.5))
        expected = (2 * a - 1) / (10 * (1 + b - 2 * a) ** 2)
        assert THE(7, epsilon, theta).variance(0.0, 10) == pytest.approx(expected, rel=1e-9)


def test_variance_of_a_held_value() -> None:
    # p(1-p)/(p-q)^2 at p = 1/2 and q = 1/(e+1) = 0.2689414213699951 is 0.25/0.2310585786300049^2.
    assert OUE(3, 1.0).variance(1.0, 1) == pytest.approx(0.25 / 0.2310585786300049**2, rel=1e-13)


@pytest.mark.parametrize(("epsilon", "contributors"), [(1.0, 141_469), (4.0, 2_920)])
def test_contributors_for_one_point(epsilon: float, contributors: int) -> None:
    """Half width 0.01 at 95%: n = (1.959964/0.01)^2 4 e^eps/(e^eps - 1)^2."""
    needed = (1.959963984540054 / 0.01) ** 2 * OUE(100, epsilon).variance(0.0, 1)
    assert round(needed) == contributors


def test_oue_beats_sue_and_the() -> None:
    for epsilon in EPSILONS:
        best = OUE(9, epsilon).variance(0.0, 1)
        assert best < SUE(9, epsilon).variance(0.0, 1)
        assert best < THE(9, epsilon).variance(0.0, 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_estimates_from_reports_and_from_simulation_meet_the_truth(family: Any) -> None:
    mechanism = family(20, 1.0)
    counts = np.zeros(20, dtype=np.int64)
    counts[[0, 3, 19]] = 30_000, 15_000, 5_000
    rng = SimulationRandomness(4)
    reported = mechanism.aggregate(mechanism.randomize(np.repeat(np.arange(20), counts), rng))
    billion = mechanism.simulate_aggregate(counts * 20_000, rng)
    assert billion.n == 10**9
    for aggregate in (reported, billion):
        estimate = mechanism.estimate(aggregate)
        # The two-sided normal bound at 1e-6 over 40 values is 5.6.
        assert np.abs((estimate.frequencies - counts / 50_000) / estimate.standard_errors).max() < 5.6


# -------------------------------------------------------------------- size


def test_memory_of_a_million_wide_reports() -> None:
    """OUE, k = 1024, n = 10^6: randomize and aggregate add under 200 MB, of which the reports are 128 MB."""
    oue = OUE(1024, 1.0)
    codes = np.arange(1_000_000) % 1024
    oue.aggregate(oue.randomize(np.zeros(100_000, dtype=np.int64), SimulationRandomness(0)))  # this compiles first
    tracemalloc.start()
    aggregate = oue.aggregate(oue.randomize(codes, SimulationRandomness(1)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert aggregate.n == 1_000_000
    assert 128e6 < peak < 200e6


def test_a_domain_of_a_million() -> None:
    """One report, made singly as on a device, and in bulk."""
    oue = OUE(1_000_000, 1.0)
    for path in KERNELS:
        with kernel_path(path):
            report = oue.randomize([999_999], SimulationRandomness(1))
        # The other bits have the mean q k = 268,941.4 and the standard deviation 443.4. Five standard deviations are
        # exceeded with 6e-7.
        assert abs(int(oue.aggregate(report).counts.sum()) - 268_941) < 5 * 444
