"""Recursive Hadamard response (RHR), which is Hadamard encoding that also sends some low bits of the value.

The mechanism is from Chen, Kairouz, Ozgur, *Breaking the communication-privacy-accuracy trilemma* (2020). Pan,
*Improving Count-Mean Sketch as the Leading Locally Differentially Private Frequency Estimator for Large Dictionaries*,
section 4.3, describes recursive Hadamard response as a sketch with 2^b cells. The *low bits* of a value are the last b
- 1 binary digits of its code. Values with different low bits never have the same cell. Values with the same low bits
are called *companions*, and have the same cell in half of the rows. So a frequent value raises the error of its
companions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes, checked_integer, code_dtype, settle
from deniable.core.estimate import Estimate
from deniable.core.privacy import Guarantee
from deniable.core.state import Counts, counts_sum_to
from deniable.core.thresholds import EpsilonLike, checked_epsilon, exp_bounds, spent
from deniable.errors import InvalidParameterError
from deniable.oracles.grr import GRR
from deniable.oracles.sketch.families._walsh import walsh_rows
from deniable.research.baselines.hadamard import MAX_HADAMARD_DOMAIN
from deniable.research.baselines.public_rows import PublicRows, histogram_of, parity


def recursive_hadamard_bits(k: int, epsilon: EpsilonLike) -> int:
    """Return the b of Chen et al., which is ceil(epsilon log2 e), but at most ceil(log2 k).

    Examples
    --------
    >>> [recursive_hadamard_bits(100_000, epsilon) for epsilon in (0.5, 1, 4, 32)]
    [1, 2, 6, 17]
    """
    odds, _ = exp_bounds(spent(epsilon))
    return min(math.floor(odds).bit_length(), (k - 1).bit_length())


@final
@dataclass(frozen=True)
class RecursiveHadamard(PublicRows):
    """Recursive Hadamard response reports a random row of a Hadamard matrix and the randomised number of a cell.

    Let b be the parameter `bits`. The device splits the true code x into two numbers: x = high * 2^(b-1) + low, where
    `low` is less than 2^(b-1). The device also draws a public row r of a Hadamard matrix with R rows. The number R is
    the smallest power of two that is greater than h + 1, where h is the largest possible value of `high`. Let s be 1 if
    entry (r, high + 1) of the matrix is -1, and 0 otherwise. There are 2^b cells. The device randomises the number of
    the cell, which is 2 * low + s, through GRR, and sends the row and the result. With b = 1 this is
    `HadamardEncoding`.

    Parameters
    ----------
    k : int
        Number of possible answers k, from 2 to 2^30. The collector keeps 2^b R counters, which is more than 2k.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 32. A float is read as the decimal that Python prints for it, so 0.1 is
        read as 1/10.
    bits : int, optional
        Number b of bits with which a cell is numbered, from 1 to ceil(log2 k) + 1. The default is ceil(epsilon log2 e),
        but at most ceil(log2 k). The object stores b in `bits`.

    Raises
    ------
    InvalidParameterError
        If k, epsilon or bits is out of bounds.

    Examples
    --------
    >>> from deniable.research.baselines.recursive_hadamard import RecursiveHadamard
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> response = RecursiveHadamard(k=1000, epsilon=2.0)
    >>> response
    RecursiveHadamard(k=1000, epsilon=2.0, bits=3)
    >>> reports = response.randomize(np.array([0, 999, 17]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape, response.report_bits
    (dtype('uint16'), (3,), 11.0)
    >>> response.estimate(response.aggregate(reports)).k
    1000
    """

    bits: int | None = None

    support_law = None
    state_is_histogram = True
    name = "RHR"
    card = Card(
        group="baselines",
        when="only for comparison; its error is larger than the error of Hadamard encoding if the codes of frequent "
        "values end in the same binary digits",
        aliases=("recursive Hadamard response",),
        planned=False,
        instead="the mechanism is only for comparison; use CMS[spread] instead, which is the count-mean sketch with "
        'the hash family "spread"',
        decoding="transform",
        wire="one integer that holds a row and a cell",
        page="theory/sketches.md",
    )

    def __post_init__(self) -> None:
        settle(self, k=checked_integer("k", self.k, 2, MAX_HADAMARD_DOMAIN), epsilon=checked_epsilon(self.epsilon))
        bits = recursive_hadamard_bits(self.k, self.epsilon) if self.bits is None else self.bits
        settle(self, bits=checked_integer("bits", bits, 1, (self.k - 1).bit_length() + 1))

    @property
    def classes(self) -> int:
        """Number 2^(b-1) of classes of values with equal low bits."""
        assert self.bits is not None
        return 1 << (self.bits - 1)

    @property
    def rows(self) -> int:
        """Size R of the Hadamard matrix."""
        return 1 << (-(-self.k // self.classes)).bit_length()

    @cached_property
    def response(self) -> GRR:
        """Randomised response through which cells go: GRR over 2^b values."""
        return GRR(2 * self.classes, self.epsilon)

    def _cell(self, codes: Codes, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the cell 2 low + s of each code in its row."""
        wide = codes.astype(np.int64)
        shift = self.classes.bit_length() - 1
        low, sign = wide & (self.classes - 1), parity(rows & ((wide >> shift) + 1))
        return (2 * low + sign).astype(code_dtype(2 * self.classes))

    def _tally(self, reports: ArrayLike) -> tuple[NDArray[np.int64], int]:
        return histogram_of(reports, self.state_size)

    # ---------------------------------------------------------------- analyst

    def differences(self, aggregate: Aggregate) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Analyst: return (agreements minus disagreements int64[k], reports per class int64[2^(b-1)]).

        A report agrees with v if it has v's low bits and the sign of v's row entry. It disagrees with v if it has v's
        low bits and the other sign. The computation takes one Walsh-Hadamard transform per class.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """
        self.check(aggregate)
        histogram = aggregate.counts.reshape(self.rows, self.classes, 2)
        signed = np.ascontiguousarray((histogram[:, :, 0] - histogram[:, :, 1]).T).reshape(-1)
        walsh_rows(signed, self.rows)
        by_class = signed.reshape(self.classes, self.rows)
        return by_class[:, 1:].T.reshape(-1)[: self.k], histogram.sum(axis=(0, 2))

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: return unbiased frequencies f^ = (agreements - disagreements)/(n (p - q)).

        Here p and q are the implemented probabilities. A contributor who does not hold v adds to the variance. How much
        depends on whether they hold a companion of v. The share of such contributors is estimated from the number of
        reports with v's low bits, and it is never taken to be outside its possible range.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If the aggregate contains no reports.
        """
        differences, per_class = self.differences(aggregate)
        p, q = map(float, self.response.support_probabilities)
        frequencies = differences / (aggregate.n * (p - q))
        # A report carries v's low bits with probability p+q if its contributor does, else 2q. So v's own holders are
        # taken out.
        held = np.clip(frequencies, 0.0, 1.0)
        carried = np.resize(per_class / aggregate.n, self.k)
        others = np.divide(carried - held * (p + q), 1 - held, out=np.full(self.k, p + q), where=held < 1)
        return Estimate(
            frequencies,
            aggregate.n,
            noise_absent=np.clip(others, 2 * q, p + q) / (p - q) ** 2,
            noise_present=np.array((p + q) / (p - q) ** 2 - 1),
        )

    def variance(self, f: float, n: int, companions: float | None = None) -> float:
        """Variance of an estimated frequency from n contributors whose true value is f, noise only.

        It is [(f + g)(p + q) + (1 - f - g) 2q]/(n (p-q)^2) - f/n, where g is the frequency of all companions together.

        Parameters
        ----------
        f : float
            True frequency of the value.
        n : int
            Number of contributors.
        companions : float, optional
            Frequency g, in [0, 1 - f]. By default, the other contributors are taken to be spread evenly over the other
            values. This is the mean over a random numbering of the values.

        Raises
        ------
        InvalidParameterError
            If companions is outside [0, 1 - f].
        """
        p, q = map(float, self.response.support_probabilities)
        if companions is None:
            companions = (1 - f) * self._mean_companions / (self.k - 1)
        elif not 0 <= companions <= 1 - f + 1e-12:
            raise InvalidParameterError(f"companions must be in [0, 1 - f], got companions={companions}, f={f}")
        same = f + companions
        return (same * (p + q) + (1 - same) * 2 * q) / (n * (p - q) ** 2) - f / n

    def worst_variance(self, n: int) -> float:
        """Largest variance of an estimated frequency over all data of n contributors.

        It is reached if everybody holds a companion: (e^epsilon + 1)(e^epsilon + 2^b - 1)/(n (e^epsilon - 1)^2). It is
        not less than the largest variance of Hadamard encoding. Without companions (2^(b-1) >= k), it is the larger of
        the variances at f = 0 and f = 1.
        """
        if self._mean_companions > 0:
            return self.variance(0.0, n, companions=1.0)
        return max(self.variance(0.0, n), self.variance(1.0, n))

    @property
    def _mean_companions(self) -> float:
        """Number of other values with the same low bits, averaged over the values."""
        full, rest = divmod(self.k, self.classes)
        return (rest * (full + 1) * full + (self.classes - rest) * full * (full - 1)) / self.k

    # ---------------------------------------------------------------- guarantee and exact distribution

    def privacy(self) -> Guarantee:
        return self._local_guarantee("the row in a report is public and independent of the answer")

    @property
    def state_size(self) -> int:
        """Number of counters: one per possible report."""
        return 2 * self.classes * self.rows

    def check_state(self, counts: Counts, n: int) -> None:
        counts_sum_to(counts, n)

    @property
    def report_bits(self) -> float:
        """Number of bits per report, log2 R + b."""
        return math.log2(self.state_size)
