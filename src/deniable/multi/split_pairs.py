"""SPL whose aggregate counts pairs of attributes: phase one of everything that learns from dependence.

Contributors report exactly as in `SPL`: every attribute through GRR with epsilon/d. Only the collector differs. `SPL`
keeps how often each code was reported; here every pair of attributes keeps its table of reported codes, from which the
marginals follow as well. Seeam, Zheng, Hu (Corr-RR), 3.3.5 and 3.3.6, whose phase one estimates joint distributions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import checked_counts, checked_records, checked_report_records, code_dtype
from deniable.estimate import RecordEstimate
from deniable.mechanism import ReportField
from deniable.mechanisms.grr import GRR
from deniable.multi._oracles import affine_estimates
from deniable.multi._pairs import branch, check_pairs, check_tables, marginal_counts, pair_cells, tally_pairs
from deniable.multi.split import SPL
from deniable.privacy import Guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts

SIMULATED_RECORDS = 1 << 12
"""Records that are simulated at a time."""


@register("SPL pairs")
@dataclass(frozen=True)
class SPLPairs:
    """Every attribute by GRR with an equal share of the budget, counted by pairs of attributes.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 2, each in 2..2^32; the tables of all pairs have at most 2^22 cells.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32]; each attribute spends the exact fraction epsilon/d,
        which must be at least 1e-6.

    Raises
    ------
    InvalidParameterError, TooLargeError
        If a parameter is out of bounds, or the tables are too large.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.multi.split_pairs import SPLPairs
    >>> import numpy as np
    >>> pairs = SPLPairs(sizes=(2, 3), epsilon=8.0)
    >>> reports = pairs.randomize(np.array([[0, 2], [1, 1], [1, 1]]), SimulationRandomness(1))
    >>> aggregate = pairs.aggregate(reports)
    >>> aggregate.counts.reshape(2, 3)
    array([[0, 0, 1],
           [0, 2, 0]])
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction

    name = "SPL pairs"
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        spl = SPL(self.sizes, self.epsilon)
        object.__setattr__(self, "sizes", spl.sizes)
        object.__setattr__(self, "epsilon", spl.epsilon)
        check_pairs(self.sizes)

    @cached_property
    def spl(self) -> SPL:
        """The same contributors' side, counted attribute by attribute."""
        return SPL(self.sizes, self.epsilon)

    @cached_property
    def oracles(self) -> tuple[GRR, ...]:
        """GRR of each attribute, with its share epsilon/d."""
        return tuple(oracle for oracle in self.spl.oracles if isinstance(oracle, GRR))

    # ---------------------------------------------------------------- three verbs

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> NDArray[Any]:
        """Contributor: report every attribute through GRR; as `SPL.randomize`.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming its row and attribute.
        """
        return self.spl.randomize(inputs, rng)

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count the reported codes of every pair of attributes, one table after the other.

        Parameters
        ----------
        reports : int[n, d]
            Reported codes, of this mechanism or of the `SPL` with the same parameters.

        Raises
        ------
        InvalidReportError
            If a code is out of range, naming its row and attribute.
        """
        codes = checked_report_records(reports, self.sizes)
        return Aggregate(self, tally_pairs(codes, self.sizes), len(codes))

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: unbiased frequencies of every attribute; the tables' are in `deniable.multi.pair_tables`.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """
        check_aggregate(aggregate, self)
        counts = np.concatenate(marginal_counts(aggregate.counts, self.sizes))
        return affine_estimates(counts, self.sizes, aggregate.n, self.spl.support_probabilities)

    def marginals(self, aggregate: Aggregate) -> Aggregate:
        """Return what `SPL` would have counted: an aggregate of `self.spl`, of the same reports."""
        check_aggregate(aggregate, self)
        counts = np.concatenate(marginal_counts(aggregate.counts, self.sizes))
        return Aggregate(self.spl, counts, aggregate.n, aggregate.collection, aggregate.batches)

    def variance(self, f: float, n: int, attribute: int) -> float:
        """Variance of an estimated frequency of one attribute whose true value is f, noise only, n contributors."""
        return self.spl.variance(f, n, attribute)

    # ---------------------------------------------------------------- guarantee and exact law

    def privacy(self) -> Guarantee:
        """Return the guarantee of `SPL`: epsilon for the whole record, epsilon/d for one attribute."""
        return self.spl.privacy()

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, exact: the product over the attributes."""
        return self.spl.implemented_ratio()

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only, exact."""
        return self.spl.implemented_attribute_ratio(attribute)

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return self.spl.implemented_epsilon()

    def outputs(self) -> NDArray[Any]:
        """Every possible report once, in the order of the columns of `channel`."""
        return self.spl.outputs()

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | record), shape (k_1 ... k_d, outputs): float64, or exact Fractions if `exact`."""
        return self.spl.channel(exact=exact)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these records, exactly in distribution.

        The tables of overlapping pairs depend on each other, so whole reported records are drawn: attribute by
        attribute, groups of contributors who agree so far split by one multinomial each. Cost: O(m d) with m the number
        of different (record, report) that occur, at most the number of contributors.

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
        rows = checked_records(records, self.sizes)
        held = checked_counts(counts, len(rows))
        total = np.zeros(self.state_size, dtype=np.int64)
        for start in range(0, len(rows), SIMULATED_RECORDS):
            block = slice(start, start + SIMULATED_RECORDS)
            total += self._simulate(rows[block], held[block], rng)
        return Aggregate(self, total, int(held.sum()))

    def _simulate(self, records: NDArray[Any], held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        reports = np.empty((len(records), 0), dtype=code_dtype(max(self.sizes)))
        for j, oracle in enumerate(self.oracles):
            groups, codes, held = branch(held, oracle.channel()[records[:, j]], rng)
            records = records[groups]
            reports = np.concatenate([reports[groups], codes[:, None].astype(reports.dtype)], axis=1)
        return tally_pairs(reports, self.sizes, held)

    @property
    def state_size(self) -> int:
        """One counter per cell of every pair's table."""
        return sum(pair_cells(self.sizes))

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but tables of n records, one margin for every attribute."""
        check_tables(counts, self.sizes, n)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One row of codes per report."""
        return self.spl.report_fields

    @property
    def report_bits(self) -> float:
        """Bits per report, the sum over the attributes."""
        return self.spl.report_bits
