"""Hadamard encoding (HE), also called Hadamard response: report one noisy bit of a random row of a Hadamard matrix.

Bassily, Smith, *Local, private, efficient protocols for succinct histograms* (2015); Acharya, Sun, *Communication
complexity in locally private distribution estimation and heavy hitters* (2019). Pan, *Improving Count-Mean Sketch as
the Leading Locally Differentially Private Frequency Estimator for Large Dictionaries*, section 4.1 and appendix J: it
is the count-mean sketch with m = 2 cells, its hash functions being the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import Codes, checked_integer, checked_report_codes, code_dtype
from deniable.estimate import Estimate, affine_estimate
from deniable.mechanism import ReportField
from deniable.mechanisms import _public_rows as public_rows
from deniable.mechanisms.grr import GRR
from deniable.mechanisms.hash_families._walsh import walsh_hadamard
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, signs_of
from deniable.thresholds import checked_epsilon

MAX_HADAMARD_DOMAIN = 1 << 30
"""Largest k, so that a report fits 32 bits."""


@register("HE")
@dataclass(frozen=True)
class HadamardEncoding:
    """Hadamard encoding over {0, ..., k-1}: a uniform row r of 0..K-1 and one noisy bit, K = 2^ceil(log2(k + 1)).

    The bit says whether entry (r, x + 1) of the K x K Hadamard matrix is -1, that is whether r and x + 1 share an odd
    number of set bits; it is kept with probability e^epsilon/(e^epsilon + 1). Column 0, all ones, belongs to no value.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^30. The collector keeps K counters.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32]; a float means its shortest decimal.

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds.

    Examples
    --------
    >>> from deniable.mechanisms.hadamard import HadamardEncoding
    >>> from deniable import SimulationRandomness
    >>> import numpy as np
    >>> encoding = HadamardEncoding(k=1000, epsilon=1.0)
    >>> reports = encoding.randomize(np.array([0, 999, 17]), SimulationRandomness(1))
    >>> reports.dtype, reports.shape, encoding.report_bits
    (dtype('uint16'), (3,), 11.0)
    >>> encoding.estimate(encoding.aggregate(reports)).k
    1000
    """

    k: int
    epsilon: float | Fraction

    name = "HE"
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_integer("k", self.k, 2, MAX_HADAMARD_DOMAIN))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))

    @property
    def rows(self) -> int:
        """K, the size of the Hadamard matrix: the smallest power of two above k."""
        return 1 << self.k.bit_length()

    @cached_property
    def response(self) -> GRR:
        """The randomised response that bits go through: GRR over 2 values."""
        return GRR(2, self.epsilon)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> Codes:
        """Contributor: draw a public row, and report it with the noisy bit of the true code.

        Parameters
        ----------
        inputs : int[n]
            True codes in 0..k-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        uint8, uint16 or uint32 [n]
            Reports 2 row + bit.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row.
        """
        return public_rows.randomize(inputs, self.k, self.rows, self.response, _bit, rng)

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: sum the signs (bit 0: +1, bit 1: -1) of the reports of each row.

        Parameters
        ----------
        reports : int[n]
            Reported integers in 0..2K-1.

        Raises
        ------
        InvalidReportError
            If a report is out of range, naming its row.
        """
        checked = checked_report_codes(reports, 2 * self.rows)
        sums = np.zeros(self.rows, dtype=np.int64)
        public_rows.add_signs(checked, sums)
        return Aggregate(self, sums, len(checked))

    # ---------------------------------------------------------------- analyst

    def support_counts(self, aggregate: Aggregate) -> NDArray[np.int64]:
        """Analyst: return int64[k], how many reports carry the true bit of each value: one Walsh-Hadamard transform.

        Reports that agree with v minus those that do not are the transform of the sums at v + 1.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """
        check_aggregate(aggregate, self)
        sums = aggregate.counts.copy()
        walsh_hadamard(sums)
        twice = aggregate.n + sums[1 : self.k + 1]
        return twice // 2

    def estimate(self, aggregate: Aggregate) -> Estimate:
        """Analyst: unbiased frequencies f^ = (C/n - p0)/(p1 - p0) with the implemented p1 and p0.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        p1, p0 = self.support_probabilities
        return affine_estimate(self.support_counts(aggregate), aggregate.n, float(p1), float(p0))

    def variance(self, f: float, n: int) -> float:
        """Variance of an estimated frequency whose true value is f, noise only, n contributors.

        ((e^epsilon + 1)/(e^epsilon - 1))^2/n - f/n: that of the count-mean sketch with m = 2.
        """
        p1, p0 = map(float, self.support_probabilities)
        return (f * p1 * (1 - p1) + (1 - f) * p0 * (1 - p0)) / (n * (p1 - p0) ** 2)

    def worst_variance(self, n: int) -> float:
        """Largest variance of an estimated frequency over all data of n contributors: that at f = 0."""
        return max(self.variance(0.0, n), self.variance(1.0, n))

    # ---------------------------------------------------------------- guarantee and exact law

    @property
    def collision_probability(self) -> Fraction:
        """Probability that v and v' have the same bit in a random row, exactly 1/2 for every v != v'."""
        return Fraction(1, 2)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p1, p0): probability that a report carries v's bit if the contributor holds v, and if not."""
        p, q = self.response.support_probabilities
        return p, (p + q) / 2

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon against everybody, for one report."""
        remark = "the row in a report is public and independent of the answer"
        return local_guarantee(float(self.epsilon), self.implemented_epsilon(), remarks=(remark,))

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio p/q of the implemented thresholds, exact."""
        return self.response.implemented_ratio()

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return self.response.implemented_epsilon()

    def outputs(self) -> Codes:
        """Every possible report once, in the order of the columns of `channel`."""
        return public_rows.outputs(self.k, self.rows, 2, repr(self))

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | code), shape (k, 2K); Fractions that sum to exactly one per row if `exact`."""
        return public_rows.channel(self.k, self.rows, self.response, _bit, repr(self), exact=exact)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these true counts int[k], exactly in distribution, in O(n) time.

        Sums of different rows share the contributors, so no product law replaces the reports: they are made and summed
        a block at a time, in memory that does not grow with n.
        """
        sums, n = np.zeros(self.rows, dtype=np.int64), 0
        for codes in public_rows.code_blocks(counts, self.k):
            public_rows.add_signs(self.randomize(codes, rng), sums)
            n += len(codes)
        return Aggregate(self, sums, n)

    @property
    def state_size(self) -> int:
        """One sum of signs per row."""
        return self.rows

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but sums of n signs."""
        signs_of(counts, n)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """Row and bit in one integer."""
        return (ReportField("report", code_dtype(2 * self.rows).name),)

    @property
    def report_bits(self) -> float:
        """Bits per report, log2 K + 1."""
        return float(self.rows.bit_length())


def _bit(codes: Codes, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the bit of each code in its row: 0 where entry (row, code + 1) of the Hadamard matrix is +1."""
    return public_rows.parity(rows & (codes.astype(np.int64) + 1))
