"""UnaryEncoding: base of mechanisms that send k noisy bits, one of which is the contributor's own.

A report is k bits. The contributor's own bit is set with probability p, each other bit with q < p, independently.
SUE, OUE, RAPPOR and thresholded histograms differ only in how they choose p and q.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import worth_compiling
from deniable.core.mechanism import ChecksRows, Mechanism, ReportField
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.core.state import Counts, counts_between
from deniable.core.thresholds import EpsilonLike, exact
from deniable.errors import out_of_range
from deniable.oracles.bits import (
    Bits,
    bit_fields,
    bit_outputs,
    check_bit_outputs,
    check_padding,
    checked_bits,
    support_counts,
)
from deniable.oracles.pure import CountingOracle
from deniable.oracles.support import Independent
from deniable.oracles.unary_bulk import one_hot_in_bulk


def checked_decimal(name: str, value: EpsilonLike, low: Fraction, high: Fraction, bounds: str) -> float | Fraction:
    """Return a number in (low, high], or (low, high) if `bounds` says so, as a float if a float is written the same.

    Raises
    ------
    InvalidParameterError
        If the number is out of bounds. The message names the parameter and `bounds`, for instance "(0, 1)".
    """
    number = exact(value, name)
    if not (low < number < high or (number == high and bounds.endswith("]"))):
        shown = value if isinstance(value, (float, int, str)) else str(value)
        raise out_of_range(name, f"in {bounds}", shown)
    return float(number) if exact(float(number)) == number else number


def likelihood_ratio(p: Fraction, q: Fraction) -> Fraction:
    """Return p(1-q)/(q(1-p)): two contributors differ in two bits, and one report can be the worst for both bits."""
    return p * (1 - q) / (q * (1 - p))


class BitReports(Mechanism[Bits]):
    """Base of mechanisms whose report is one packed bit for each of k values."""

    k: int

    def _tally(self, reports: ArrayLike) -> tuple[NDArray[np.int64], int]:
        return support_counts(reports, self.k)

    def outputs(self) -> Bits:
        """Return every report once; report y has the bits of the integer y."""
        return bit_outputs(self.k, repr(self))

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        """The packed bits."""
        return bit_fields(self.k)

    @property
    def report_bits(self) -> float:
        """Number of bits per report, k."""
        return float(self.k)


@dataclass(frozen=True)
class UnaryEncoding(BitReports, CountingOracle[Bits], ChecksRows):
    """Base of oracles that report k noisy packed bits, uint8[n, ceil(k/8)].

    Value v is bit v % 8 of byte v // 8, and the padding is zero. The contributor's own bit is reported as set with
    probability P/2^64, every other bit with Q/2^64, each independently of all others.
    """

    k: int

    @cached_property
    def support_law(self) -> Independent:
        """Every bit is set independently of the others."""
        return Independent(self.k, *self.support_probabilities)

    @property
    @abstractmethod
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probabilities that bit v is set if the contributor holds v, and otherwise."""

    def _randomize(self, codes: Codes, rng: Randomness) -> Bits:
        # For many contributors each bit is drawn by the combined probability of all stages, which gives the same
        # distribution.
        if worth_compiling(len(codes)):
            return one_hot_in_bulk(codes, self.k, self.support_probabilities, rng)
        return self._randomize_few(codes, rng)

    @abstractmethod
    def _randomize_few(self, codes: Codes, rng: Randomness) -> Bits:
        """Return reports of a few checked codes, made bit by bit and stage by stage from the words that clients use."""

    def _check_rows(self, reports: ArrayLike) -> Bits:
        bits = checked_bits(reports, self.k)
        check_padding(bits, self.k)
        return bits

    def supports(self, reports: Bits, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        bits = self._check_rows(reports)
        return (bits[:, values >> 3] >> (values & 7).astype(np.uint8) & 1).astype(np.bool_)

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio p(1-q)/(q(1-p)) of one report, computed exactly from the implemented thresholds."""
        return likelihood_ratio(*self.support_probabilities)

    def _channel(self) -> NDArray[Any]:
        return self._bit_channel(*self.support_probabilities)

    def _bit_channel(self, p: Fraction, q: Fraction) -> NDArray[Any]:
        """Return Fractions P(bits | code), where the own bit is set with probability p and every other bit with q."""
        k = self.k
        check_bit_outputs(k, repr(self))
        # There are only 2k different cells: the own bit is clear or set, and w of the k-1 other bits are set.
        others = [q**w * (1 - q) ** (k - 1 - w) for w in range(k)]
        cells = np.array([[(1 - p) * other for other in others], [p * other for other in others]], dtype=object)
        own = np.arange(1 << k)[None, :] >> np.arange(k)[:, None] & 1
        matrix: NDArray[Any] = cells[own, own.sum(axis=0) - own]
        return matrix

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # Bits are independent: the own bits that are set are Binomial(c, p), and those of others Binomial(n - c, q).
        p, q = map(float, self.support_probabilities)
        drawn: NDArray[np.int64] = rng.generator.binomial(counts, p) + rng.generator.binomial(counts.sum() - counts, q)
        return drawn

    def check_state(self, counts: Counts, n: int) -> None:
        counts_between(counts, 0, n)
