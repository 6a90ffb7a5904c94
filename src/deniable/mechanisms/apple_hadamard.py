"""Apple's Hadamard count-mean sketch (HCMS) as published, bias included: one bit per report, and a public row.

Differential Privacy Team, Apple, *Learning with privacy at scale* (2017), algorithms 5 and 6. Pan, *Improving
Count-Mean Sketch as the Leading Locally Differentially Private Frequency Estimator for Large Dictionaries*, section
4.5: a count-mean sketch whose cells are reported by Hadamard encoding ("CMS+HE").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import Codes, checked_report_codes, code_dtype
from deniable.errors import InvalidParameterError
from deniable.estimate import Estimate
from deniable.mechanism import ReportField
from deniable.mechanisms import _public_rows as public_rows
from deniable.mechanisms._apple_hashes import FixedHashes, biased_estimate
from deniable.mechanisms.grr import GRR
from deniable.mechanisms.hash_families._walsh import walsh_rows
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, signs_of
from deniable.thresholds import checked_epsilon


@register("AppleHCMS")
@dataclass(frozen=True)
class AppleHCMS:
    """Apple's Hadamard count-mean sketch over {0, ..., k-1}: a hash function, a Hadamard row, and one noisy bit.

    The bit says whether entry (row, h_j(x)) of the m x m Hadamard matrix is -1, that is whether they share an odd
    number of set bits; it is kept with probability e^epsilon/(e^epsilon + 1). Values in different cells have the same
    bit in half of the rows: with uniform hash functions any two collide with probability (m + 1)/(2m).

    **Biased** like `AppleCMS`, and by as much: the hash functions are the same in every collection.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^31 - 1.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32]; a float means its shortest decimal.
    m : int
        Number of cells, a power of two, m >= 2.
    hashes : int
        Number of hash functions; the collector keeps hashes * m <= 2^31 sums.
    seed : int
        Public seed of the hash functions, 0 <= seed < 2^64.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.mechanisms.apple_hadamard import AppleHCMS
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> sketch = AppleHCMS(k=100, epsilon=4.0, m=16, hashes=8)
    >>> reports = sketch.randomize(np.array([3, 3, 99]), SimulationRandomness(1))
    >>> reports.dtype, sketch.report_bits
    (dtype('uint8'), 8.0)
    >>> sketch.estimate(sketch.aggregate(reports)).processing
    ('Apple HCMS (biased: collisions are fixed)',)
    """

    k: int
    epsilon: float | Fraction
    m: int = 1024
    hashes: int = 1024
    seed: int = 0

    name = "AppleHCMS"
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        FixedHashes(self.k, self.m, self.hashes, self.seed)
        for parameter in ("k", "m", "hashes", "seed"):
            object.__setattr__(self, parameter, int(getattr(self, parameter)))
        if self.m & (self.m - 1):
            raise InvalidParameterError(f"m must be a power of two, got m={self.m}")

    @cached_property
    def functions(self) -> FixedHashes:
        """The public hash functions."""
        return FixedHashes(self.k, self.m, self.hashes, self.seed)

    @cached_property
    def response(self) -> GRR:
        """The randomised response that bits go through: GRR over 2 values."""
        return GRR(2, self.epsilon)

    def _bit(self, codes: Codes, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the bit of each code, row = m * index of the hash function + row of the Hadamard matrix."""
        shift = self.m.bit_length() - 1
        return public_rows.parity(rows & (self.m - 1) & self.functions.cells(codes, rows >> shift))

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> Codes:
        """Contributor: draw a hash function and a row, and report them with the noisy bit of the true code's cell.

        Parameters
        ----------
        inputs : int[n]
            True codes in 0..k-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        uint8, uint16 or uint32 [n]
            Reports 2 (m index + row) + bit.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row.
        """
        return public_rows.randomize(inputs, self.k, self.state_size, self.response, self._bit, rng)

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: sum the signs (bit 0: +1, bit 1: -1) of the reports of each function and row.

        Parameters
        ----------
        reports : int[n]
            Reported integers in 0..2 hashes m - 1.

        Raises
        ------
        InvalidReportError
            If a report is out of range, naming its row.
        """
        checked = checked_report_codes(reports, 2 * self.state_size)
        sums = np.zeros(self.state_size, dtype=np.int64)
        public_rows.add_signs(checked, sums)
        return Aggregate(self, sums, len(checked))

    # ---------------------------------------------------------------- analyst

    def support_counts(self, aggregate: Aggregate) -> NDArray[np.int64]:
        """Analyst: return int64[k], how many reports carry the true bit of each value; O(hashes (k + m log m)) time.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """
        check_aggregate(aggregate, self)
        sums = aggregate.counts.copy()
        walsh_rows(sums, self.m)
        twice = aggregate.n + self.functions.gather(sums.reshape(self.hashes, self.m))
        return twice // 2

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: Apple's estimate (C/n - p0)/(p1 - p0), **biased**, and therefore without intervals.

        It equals m/(m-1) ((e^epsilon + 1)/(e^epsilon - 1) (2C/n - 1) - 1/m).

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        p1, p0 = map(float, self.support_probabilities)
        return biased_estimate(self.support_counts(aggregate), aggregate.n, p1, p0, "Apple HCMS")

    def conditional_bias(self, frequencies: ArrayLike) -> NDArray[np.float64]:
        """Return the estimate's expectation minus the truth, float64[k], exact for this seed (Pan, eq. (3)).

        Parameters
        ----------
        frequencies : float[k]
            True frequencies; they sum to one.
        """
        return self.functions.conditional_bias(frequencies)

    def expected_squared_bias(self, frequencies: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the squared bias over random seeds, float64[k] (Pan, eq. (18))."""
        return self.functions.expected_squared_bias(frequencies)

    def variance(self, f: float, n: int) -> float:
        """Variance of an estimated frequency were all collisions of probability 1/m, n contributors; not its error.

        Pan, eq. (10), with c = (m + 1)/(2m) and randomised response over 2 cells; the bias comes on top. Erratum: that
        is not the sketch with m' = 2m/(m + 1) cells of section 4.5 (7% more at epsilon = 1, m = 16), only m -> infinity
        makes them agree.
        """
        p1, p0 = map(float, self.support_probabilities)
        return (f * p1 * (1 - p1) + (1 - f) * p0 * (1 - p0)) / (n * (p1 - p0) ** 2)

    def worst_variance(self, n: int) -> float:
        """Return the larger of the variances at f = 0 and f = 1; the bias comes on top."""
        return max(self.variance(0.0, n), self.variance(1.0, n))

    # ---------------------------------------------------------------- guarantee and exact law

    @property
    def collision_probability(self) -> Fraction:
        """Probability (m + 1)/(2m) that the estimator assumes for a bit that two values share."""
        return Fraction(self.m + 1, 2 * self.m)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """(p1, p0) that the estimator uses: p, and c p + (1 - c) q with c = `collision_probability`."""
        p, q = self.response.support_probabilities
        return p, self.collision_probability * (p - q) + q

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against everybody, for one report."""
        remark = "the hash function and the row in a report are public and independent of the answer"
        return local_guarantee(float(self.epsilon), self.implemented_epsilon(), remarks=(remark,))

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio p/q of the implemented thresholds, exact wherever a function separates values.

        A list of functions that all map every value to one cell tells nothing, and its ratio is 1.
        """
        return self.response.implemented_ratio()

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return self.response.implemented_epsilon()

    def outputs(self) -> Codes:
        """Every possible report once, in the order of the columns of `channel`."""
        return public_rows.outputs(self.k, self.state_size, 2, repr(self))

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | code), shape (k, 2 hashes m); Fractions that sum to exactly one per row if `exact`."""
        return public_rows.channel(self.k, self.state_size, self.response, self._bit, repr(self), exact=exact)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these true counts int[k], exactly in distribution, in O(n) time.

        Reports are made and summed a block at a time, in memory that does not grow with n.
        """
        sums, n = np.zeros(self.state_size, dtype=np.int64), 0
        for codes in public_rows.code_blocks(counts, self.k):
            public_rows.add_signs(self.randomize(codes, rng), sums)
            n += len(codes)
        return Aggregate(self, sums, n)

    @property
    def state_size(self) -> int:
        """One sum of signs per row of every hash function."""
        return self.hashes * self.m

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but sums of n signs."""
        signs_of(counts, n)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """Hash function, row and bit in one integer."""
        return (ReportField("report", code_dtype(2 * self.state_size).name),)

    @property
    def report_bits(self) -> float:
        """Bits per report, log2 hashes + log2 m + 1: the functions themselves are published once, as a seed."""
        return math.log2(self.state_size) + 1
