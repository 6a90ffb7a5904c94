"""The pivot code: one attribute with the whole budget, inside a message that is a full record.

Where a client must send a code for every attribute, as with `SPL` and Corr-RR, it can still report one attribute only:
the others are filled so that the collector can tell which one is true. Corr-RR's copies are drawn from the pivot's
report by a public law, so revealing the pivot costs no privacy; what is given up is that it stays hidden, which is a
policy and no part of local differential privacy. What is gained is that nothing is mixed: every estimate is unbiased,
with the variance of `SMP` over GRR.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import check_counters, checked_integer, checked_records, checked_report_records, checked_sizes
from deniable.errors import InvalidReportError
from deniable.estimate import RecordEstimate, affine_estimate
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.mechanisms.grr import GRR
from deniable.multi._oracles import empty_reports, record_field, stretches
from deniable.multi._pivot_code import code_weights, decoded_pivots, randomize_coded, tally_coded
from deniable.multi._pivot_law import every_report
from deniable.multi._sampled import simulate_sampling
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, counts_sum_to
from deniable.thresholds import checked_epsilon, log_up

REMARKS = (
    "the sampled attribute is visible to the collector: the record tells which one it is; the choice is uniform and "
    "does not depend on the record",
    "the codes of all other attributes are made up from the sampled one's noisy report and tell nothing else",
)


@register("PivotCoded")
@dataclass(frozen=True)
class PivotCoded:
    """One uniformly sampled attribute by GRR with the whole budget, in the format of a full record.

    The collector reads off the record which attribute was sampled: the only s >= 1 whose code equals attribute 0's, and
    attribute 0 if there is none. Over domains that differ, codes are compared through public maps onto the smallest
    domain (contiguous groups of nearly equal size); any sizes have such a code.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 1, each in 2..2^32; they may differ.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32].

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.multi.pivot_coded import PivotCoded
    >>> import numpy as np
    >>> coded = PivotCoded(sizes=(4, 4, 4), epsilon=1.0)
    >>> reports = coded.randomize(np.array([[0, 3, 1]] * 4), SimulationRandomness(1))
    >>> reports.dtype, coded.pivots(reports).shape
    (dtype('uint8'), (4,))
    >>> coded.pivots(np.array([[2, 2, 0], [2, 1, 2], [2, 0, 1]]))
    array([1, 2, 0])
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction

    name = "PivotCoded"
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checked_sizes(self.sizes))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        for size in set(self.sizes):
            GRR(size, self.epsilon)  # refuses what GRR refuses

    @cached_property
    def oracles(self) -> tuple[GRR, ...]:
        """GRR of each attribute, with the whole epsilon."""
        return tuple(GRR(k=size, epsilon=self.epsilon) for size in self.sizes)

    # ---------------------------------------------------------------- contributor

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> NDArray[Any]:
        """Contributor: draw an attribute, exactly uniformly, report it through GRR, and code it into a record.

        Parameters
        ----------
        inputs : int[n, d]
            Records of true codes, column j in 0..k_j-1.
        rng : Randomness
            `SecureRandomness` for contributors, `SimulationRandomness` for simulation.

        Returns
        -------
        uint8, uint16 or uint32 [n, d]
            Reported codes, in the dtype of the largest domain.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row and attribute.
        """
        codes = checked_records(inputs, self.sizes)
        reports = empty_reports(self.oracles, len(codes))
        randomize_coded(self.oracles, codes, rng, reports)
        return reports

    # ---------------------------------------------------------------- collector

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count how often each code was reported of the sampled attribute; the others are dropped.

        Raises
        ------
        InvalidReportError
            If `reports` is not int[n, d], a code is out of range, or two attributes claim to be the sampled one, naming
            the row and the attributes.
        TooLargeError
            If the domains have more than 2^28 values together.
        """
        codes = checked_report_records(reports, self.sizes)
        check_counters(sum(self.sizes))
        counts = np.zeros(sum(self.sizes), dtype=np.int64)
        starts = np.array([place.start for place in stretches(self.sizes)], dtype=np.int64)
        wrong = tally_coded(codes, np.array(self.sizes, dtype=np.uint64), starts, counts)
        if wrong >= 0:
            raise self._ambiguous(codes[wrong].tolist(), wrong + 1)
        return Aggregate(self, counts, len(codes))

    def pivots(self, reports: ArrayLike) -> NDArray[np.int64]:
        """Collector: read off which attribute each report is about, int64[n] in 0..d-1.

        Raises
        ------
        InvalidReportError
            As `aggregate`.
        """
        codes = checked_report_records(reports, self.sizes).astype(np.int64)
        found = decoded_pivots(self.sizes, codes)
        if (found < 0).any():
            row = int((found < 0).argmax())
            raise self._ambiguous(codes[row].tolist(), row + 1)
        return found

    def _ambiguous(self, report: list[int], row: int) -> InvalidReportError:
        groups = [code * min(self.sizes) // size for code, size in zip(report, self.sizes, strict=True)]
        claimed = [j for j, group in enumerate(groups) if j and group == groups[0]]
        return InvalidReportError(
            f"a report must be of one sampled attribute, got one of attributes {' and '.join(map(str, claimed))} "
            f"in row {row}"
        )

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: unbiased frequencies of every attribute from its own n_j reports.

        f^ = (count/n_j - q)/(p - q). Unbiased given n_j >= 1; where n_j = 0 frequencies are NaN, standard errors
        infinite, and there is no interval. Intervals for these contributors include the sampling of n_j among n.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        check_aggregate(aggregate, self)
        parts = [aggregate.counts[place] for place in stretches(self.sizes)]
        return RecordEstimate(
            {
                j: affine_estimate(part, int(part.sum()), float(p), float(q), aggregate.n)
                for j, (part, (p, q)) in enumerate(zip(parts, self.support_probabilities, strict=True))
            }
        )

    def variance(self, f: float, n: int, attribute: int) -> float:
        """Variance of an estimated frequency of one attribute whose true value is f among n contributors.

        With the expected n/d reports: GRR's noise, and f (1-f) (d-1)/n for sampling the reports among these
        contributors without replacement.
        """
        d = len(self.sizes)
        oracle = self.oracles[checked_integer("attribute", attribute, 0, d - 1)]
        return oracle.variance(f, n) * d + f * (1 - f) * (d - 1) / n

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def support_probabilities(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Implemented (p, q) of each attribute when sampled."""
        return tuple(oracle.support_probabilities for oracle in self.oracles)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon for the whole record, and for one attribute: it may be the sampled one."""
        epsilon = float(self.epsilon)
        return local_guarantee(epsilon, self.implemented_epsilon(), (epsilon,) * len(self.sizes), REMARKS)

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, exact: that of the attribute whose oracle has the largest."""
        return max(oracle.implemented_ratio() for oracle in self.oracles)

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only, exact."""
        return self.oracles[checked_integer("attribute", attribute, 0, len(self.sizes) - 1)].implemented_ratio()

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

    def outputs(self) -> NDArray[Any]:
        """Every possible report once, in the order of the columns of `channel`: the last attribute changes fastest."""
        return self._outputs()[0].astype(record_field(self.oracles).dtype)

    def _outputs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return every possible report, and the pivot that it tells."""
        check_channel_size(1, prod(self.sizes), repr(self))
        reports = every_report(self.sizes)
        pivots = decoded_pivots(self.sizes, reports)
        return reports[pivots >= 0], pivots[pivots >= 0]

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | record), shape (k_1 ... k_d, outputs): float64, or exact Fractions if `exact`.

        Rows are all records in lexicographic order, the last attribute fastest; each sums to one.
        """
        check_channel_size(prod(self.sizes), prod(self.sizes), repr(self))
        reports, pivots = self._outputs()
        records, told = every_report(self.sizes), np.arange(len(reports))
        weights = np.array(code_weights(self.sizes, pivots, reports), dtype=object) * Fraction(1, len(self.sizes))
        present, absent = (
            np.array([pair[i] for pair in self.support_probabilities], dtype=object)[pivots] * weights for i in (0, 1)
        )
        held = records[:, pivots] == reports[told, pivots]
        matrix: NDArray[Any] = np.where(held, present, absent)
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these records, exactly in distribution, without reports.

        Parameters
        ----------
        records, counts : int[r, d], int[r]
            Records, and the number of contributors who hold each of them.
        rng : SimulationRandomness
            Source of the draw.

        Raises
        ------
        InvalidInputError
            If a record or a count is out of range.
        """
        sampled, n = simulate_sampling(records, counts, self.sizes, rng)
        drawn = [oracle.simulate_aggregate(held, rng) for oracle, held in zip(self.oracles, sampled, strict=True)]
        return Aggregate(self, np.concatenate([part.counts for part in drawn]), n)

    @property
    def state_size(self) -> int:
        """One counter per value of every attribute; those of an attribute sum to the number of its reports."""
        return sum(self.sizes)

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but histograms of n pivots."""
        counts_sum_to(counts, n)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One row of codes per report."""
        return (record_field(self.oracles),)

    @property
    def report_bits(self) -> float:
        """Bits per report, the sum over the attributes."""
        return sum(oracle.report_bits for oracle in self.oracles)
