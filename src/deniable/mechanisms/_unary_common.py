"""What unary encodings share: the law of k independent bits of which one is the contributor's own.

A report is k bits. The contributor's own bit is set with probability p, each other bit with q < p, independently.
SUE, OUE, THE and RAPPOR differ only in how they choose p and q.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.checks import checked_counts
from deniable.errors import InvalidParameterError, TooLargeError
from deniable.mechanism import MAX_CHANNEL_CELLS, ReportField
from deniable.mechanisms._bits import Bits, check_padding, checked_bits, count_bits, packed_width
from deniable.randomness import SimulationRandomness
from deniable.thresholds import SCALE, EpsilonLike, exact


def checked_decimal(name: str, value: EpsilonLike, low: Fraction, high: Fraction, bounds: str) -> float | Fraction:
    """Return a number in (low, high], or (low, high) if `bounds` ends so, as a float where one is written the same.

    Raises
    ------
    InvalidParameterError
        Naming the parameter and `bounds`, for instance "(0, 1)".
    """
    number = exact(value, name)
    if not (low < number < high or (number == high and bounds.endswith("]"))):
        shown = value if isinstance(value, (float, int, str)) else str(value)
        raise InvalidParameterError(f"{name} must be in {bounds}, got {name}={shown}")
    return float(number) if exact(float(number)) == number else number


def probabilities(thresholds: tuple[int, int]) -> tuple[Fraction, Fraction]:
    """Return (p, q) of a pair of 64-bit thresholds."""
    p, q = thresholds
    return Fraction(p, SCALE), Fraction(q, SCALE)


def likelihood_ratio(p: Fraction, q: Fraction) -> Fraction:
    """Return p(1-q)/(q(1-p)): two contributors differ in two bits, each at its worst in the same report."""
    return p * (1 - q) / (q * (1 - p))


def variance(p: Fraction, q: Fraction, f: float, n: int) -> float:
    """Return the variance of (count/n - q)/(p - q) at true frequency f, noise only, n contributors."""
    present, absent, gain = float(p * (1 - p)), float(q * (1 - q)), float(p - q)
    return (f * present + (1 - f) * absent) / (n * gain**2)


def support_counts(reports: ArrayLike, k: int) -> tuple[NDArray[np.int64], int]:
    """Return (int64[k], n): how many of n reports have each bit set.

    Raises
    ------
    InvalidReportError
        If the dtype or the shape is wrong, or a padding bit is set, naming its row.
    """
    bits = checked_bits(reports, k)
    counts = count_bits(bits)
    if counts[k:].any():
        check_padding(bits, k)
    return counts[:k], len(bits)


def simulate_support_counts(
    counts: ArrayLike, k: int, p: Fraction, q: Fraction, rng: SimulationRandomness
) -> tuple[NDArray[np.int64], int]:
    """Draw (int64[k], n) of `support_counts` for contributors with these true counts: two binomials per value.

    Bits are independent, so the number of own bits set is Binomial(c, p) and of others' Binomial(n - c, q).
    """
    held = checked_counts(counts, k)
    n = int(held.sum())
    drawn: NDArray[np.int64] = rng.generator.binomial(held, float(p)) + rng.generator.binomial(n - held, float(q))
    return drawn, n


def report_fields(k: int) -> tuple[ReportField, ...]:
    """Return how reports of k packed bits are stored."""
    return (ReportField("bits", "uint8", packed_width(k)),)


def check_outputs(k: int, what: str) -> None:
    """Raise TooLargeError if the channel of 2^k outputs is too large to enumerate."""
    if k >= MAX_CHANNEL_CELLS.bit_length() or k << k > MAX_CHANNEL_CELLS:
        raise TooLargeError(
            f"the channel of {what} must have at most {MAX_CHANNEL_CELLS} cells, got {k} x 2^{k} outputs"
        )


def outputs(k: int, what: str) -> Bits:
    """Return all 2^k reports as packed bits; report y has the bits of the integer y."""
    check_outputs(k, what)
    numbers = np.arange(1 << k, dtype="<u4")
    return np.ascontiguousarray(numbers.view(np.uint8).reshape(-1, 4)[:, : packed_width(k)])


def channel(k: int, p: Fraction, q: Fraction, what: str, *, exact: bool) -> NDArray[Any]:
    """Return P(report | code), shape (k, 2^k), columns in the order of `outputs`."""
    check_outputs(k, what)
    # Only 2k different cells: own bit clear or set, and how many of the k-1 other bits are set.
    others = [q**w * (1 - q) ** (k - 1 - w) for w in range(k)]
    cells = np.array([[(1 - p) * other for other in others], [p * other for other in others]], dtype=object)
    numbers = np.arange(1 << k)
    own = numbers[None, :] >> np.arange(k)[:, None] & 1
    matrix: NDArray[Any] = (cells if exact else cells.astype(np.float64))[own, own.sum(axis=0) - own]
    return matrix
