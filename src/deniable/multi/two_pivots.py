"""Corr-RR with two pivots: dependence on two attributes at once.

Seeam, Zheng, Hu (Corr-RR), 3.3.5. Phase one is SPL, counted by pairs (`SPLPairs`). Every contributor of phase two
draws two pivots s < t, uniformly among the pairs, reports each through GRR with epsilon/2, and of every other attribute
a code drawn from the published table Pr(y_j | y_s, y_t): post-processing, whatever the tables are. Domains may differ.

The collector counts *pairs* of reported codes. Their expectations are linear in the true joint frequencies of pairs,
with as many equations as unknowns: `unmixed` solves them, and `joint` returns the tables. With one pivot no number of
reports shows any dependence; this is what the second one buys, at half the budget per pivot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import checked_integer, checked_records, checked_report_records, checked_sizes
from deniable.estimate import Estimate, RecordEstimate
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.mechanisms.grr import GRR
from deniable.multi._oracles import affine_estimates, checked_share, empty_reports, record_field
from deniable.multi._pairs import (
    Pair,
    attribute_pairs,
    check_pairs,
    check_tables,
    marginal_counts,
    pair_cells,
    tally_pairs,
)
from deniable.multi._transfers import Table, check_table_cells, checked_distribution, checked_rows
from deniable.multi._two_pivot_law import TwoPivotLaw
from deniable.multi._two_pivot_system import TwoPivotSystem
from deniable.multi.pair_tables import pair_tables
from deniable.multi.split_pairs import SPLPairs
from deniable.multi.two_pivot_tables import TwoPivotTables, learn_two_pivot_tables
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts
from deniable.thresholds import EpsilonLike, checked_epsilon, log_up

BIASED = "Corr-RR two pivots (biased: drawn codes are counted as if they were the attribute's own)"
SINGULAR = "Corr-RR two pivots unmixed (biased: the tables leave some frequencies undetermined)"
REMARKS = (
    "the tables are public and cost nothing here; the contributors of phase one, from whose reports they were learned, "
    "spent their own budget",
    "per attribute: between records that differ in that attribute only; no larger budget may be spent for its sake",
    "the pivots are not sent, but drawn codes may show which attributes they were",
)


@register("Corr-RR two pivots")
@dataclass(frozen=True)
class TwoPivotRR:
    """Two uniformly drawn pivots by GRR with half the budget each; the others drawn from tables given both reports.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 2, each in 2..2^32; they may differ. The tables have at most 2^18 cells.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [2e-6, 32]; each pivot spends the exact fraction epsilon/2.
    tables : sequence of d(d-1)/2 sequences of d tables
        tables[pair][j][y_s k_t + y_t] is the distribution of target j given the reports of pivots s < t, pairs in
        lexicographic order; each sums to 1 within 1e-9. Empty for the pivots themselves. For instance from `learn`; any
        distributions keep epsilon.

    Raises
    ------
    InvalidParameterError, TooLargeError
        If a parameter is out of bounds, or the tables are too large.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.multi.two_pivots import TwoPivotRR
    >>> import numpy as np
    >>> rng, records = SimulationRandomness(1), np.tile([[0, 0, 1], [1, 1, 0], [1, 1, 1]], (200, 1))
    >>> pairs = TwoPivotRR.phase_one(sizes=(2, 2, 2), epsilon=6.0)
    >>> mechanism = TwoPivotRR.learn(pairs.aggregate(pairs.randomize(records, rng)), n2=600)
    >>> aggregate = mechanism.aggregate(mechanism.randomize(records, rng))
    >>> mechanism.estimate(aggregate)[0].frequencies.round(1)
    array([0.3, 0.7])
    >>> mechanism.joint(aggregate)[0, 1].frequencies.reshape(2, 2).round(1)
    array([[0.3, 0. ],
           [0. , 0.6]])
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    tables: TwoPivotTables

    name = "Corr-RR two pivots"
    estimators = ("debiased", "unmixed")
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checked_sizes(self.sizes))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        check_pairs(self.sizes)
        checked_share(self.epsilon, 2)
        check_table_cells(table_cells(self.sizes))
        object.__setattr__(self, "tables", _checked(self.tables, self.sizes))

    # ---------------------------------------------------------------- two phases

    @staticmethod
    def phase_one(sizes: Sequence[int], epsilon: EpsilonLike) -> SPLPairs:
        """Return the mechanism of phase one: every attribute by GRR with epsilon/d, counted by pairs."""
        return SPLPairs(tuple(sizes), checked_epsilon(epsilon))

    @classmethod
    def learn(cls, aggregate: Aggregate, n2: int, method: str = "least-norm") -> TwoPivotRR:
        """Collector: learn the tables from phase one; a pure function.

        Parameters
        ----------
        aggregate : Aggregate
            Of `SPLPairs`.
        n2 : int
            Number of contributors who are expected in phase two, >= 2.
        method : {"least-norm", "conditional"}
            How the tables are found; see `deniable.multi.two_pivot_tables`.

        Raises
        ------
        InvalidParameterError
            If n2 or the method is out of bounds.
        MismatchError, EmptyAggregateError
            If the aggregate is not of `SPLPairs`, or contains no reports.
        TooLargeError
            If the tables would have more than 2^18 cells.
        """
        found = pair_tables(aggregate)
        check_table_cells(table_cells(found.sizes))
        epsilon = aggregate.mechanism.epsilon
        oracles = _half_oracles(found.sizes, epsilon)
        return cls(found.sizes, epsilon, learn_two_pivot_tables(found, oracles, n2, method))

    @cached_property
    def oracles(self) -> tuple[GRR, ...]:
        """GRR of each attribute as a pivot, with epsilon/2."""
        return _half_oracles(self.sizes, self.epsilon)

    @cached_property
    def law(self) -> TwoPivotLaw:
        """How the targets are drawn, with their exact probabilities."""
        return TwoPivotLaw(self.oracles, self.tables)

    @cached_property
    def system(self) -> TwoPivotSystem:
        """The linear system of pair counts, and its solution."""
        return TwoPivotSystem(self.law)

    # ---------------------------------------------------------------- contributor and collector

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> NDArray[Any]:
        """Contributor: draw two pivots, exactly uniformly, report both through GRR, and codes drawn given both.

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
        self.law.randomize(codes, rng, reports)
        return reports

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count the reported codes of every pair of attributes, one table after the other.

        Raises
        ------
        InvalidReportError
            If `reports` is not int[n, d], or a code is out of range, naming its row and attribute.
        """
        codes = checked_report_records(reports, self.sizes)
        return Aggregate(self, tally_pairs(codes, self.sizes), len(codes))

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: `unmixed`, unbiased and with intervals.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        DamagedStateError
            If two tables disagree about an attribute.
        TooLargeError
            If the tables of all pairs have more than 1024 cells together.
        """
        return self.unmixed(aggregate)

    def unmixed(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: frequencies that solve the linear system of pair counts; standard errors up to 8192 reports."""
        return self._solved(aggregate)[0]

    def joint(self, aggregate: Aggregate) -> dict[Pair, Estimate]:
        """Analyst: joint frequencies of every pair (i, j), i < j: an Estimate of k_i k_j cells, row by row.

        Unbiased, with intervals; errors as for `estimate`.
        """
        return self._solved(aggregate)[1]

    def _solved(self, aggregate: Aggregate) -> tuple[RecordEstimate, dict[Pair, Estimate]]:
        check_aggregate(aggregate, self)
        return self.system.estimates(aggregate.counts, aggregate.n, SINGULAR)

    def debiased(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: Corr-RR's (count/n - q)/(p - q) with the pivots' p and q; biased, no standard errors."""
        check_aggregate(aggregate, self)
        counts = np.concatenate(marginal_counts(aggregate.counts, self.sizes))
        pairs = [(float(p), float(q)) for p, q in self.support_probabilities]
        steps = (BIASED,) if len(self.sizes) > 2 else ()
        found = affine_estimates(counts, self.sizes, aggregate.n, pairs)
        return RecordEstimate({j: replace(estimate, processing=steps) for j, estimate in found.items()})

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def support_probabilities(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Implemented (p, q) of each attribute as a pivot."""
        return tuple(oracle.support_probabilities for oracle in self.oracles)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon for the whole record, at most epsilon/2 for one attribute."""
        half = float(checked_share(self.epsilon, 2))
        per_attribute = [min(half, log_up(self.implemented_attribute_ratio(j))) for j in range(len(self.sizes))]
        return local_guarantee(float(self.epsilon), self.implemented_epsilon(), tuple(per_attribute), REMARKS)

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, exact: (p/q)^2 over equal domains.

        Over others, between the products of two oracles' ratios; beyond 8192 reports the largest of those is returned,
        an upper bound.
        """
        if len(set(self.sizes)) > 1 and self.law.enumerable:
            return self.law.whole_record_ratio()
        ratios = sorted(oracle.implemented_ratio() for oracle in self.oracles)
        return ratios[-1] * ratios[-2]

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only.

        Exact for few reports (5 attributes of 4 codes, 6 of 3, 7 of 2); beyond, its oracle's ratio, an upper bound.
        """
        j = checked_integer("attribute", attribute, 0, len(self.sizes) - 1)
        if not self.law.attribute_enumerable:
            return self.oracles[j].implemented_ratio()
        return self.law.one_attribute_ratio(j)

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

    def outputs(self) -> NDArray[Any]:
        """Every possible report once, in the order of the columns of `channel`: the last attribute changes fastest."""
        check_channel_size(1, prod(self.sizes), repr(self))
        return self.law.possible_reports[0].astype(record_field(self.oracles).dtype)

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | record), shape (k_1 ... k_d, outputs): float64, or exact Fractions if `exact`.

        Rows are all records in lexicographic order, the last attribute fastest; each sums to one.
        """
        check_channel_size(prod(self.sizes), prod(self.sizes), repr(self))
        matrix = self.law.channel()
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these records, exactly in distribution.

        Cost: O(C (r + m) d), C pairs of pivots and m the number of different reports that occur.
        """
        total, n = self.law.simulate(records, counts, rng)
        return Aggregate(self, total, n)

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
        return (record_field(self.oracles),)

    @property
    def report_bits(self) -> float:
        """Bits per report, the sum over the attributes."""
        return sum(oracle.report_bits for oracle in self.oracles)


def table_cells(sizes: Sequence[int]) -> int:
    """Return the number of published probabilities over these domains."""
    return sum(sizes[s] * sizes[t] * (sum(sizes) - sizes[s] - sizes[t]) for s, t in attribute_pairs(len(sizes)))


def _half_oracles(sizes: Sequence[int], epsilon: float | Fraction) -> tuple[GRR, ...]:
    half = checked_share(epsilon, 2)
    return tuple(GRR(k=size, epsilon=half) for size in sizes)


def _checked(tables: Any, sizes: tuple[int, ...]) -> TwoPivotTables:
    d, result = len(sizes), []
    pairs = attribute_pairs(d)
    for place, ((s, t), row) in enumerate(zip(pairs, checked_rows("tables", tables, len(pairs)), strict=True)):
        found: list[Table] = []
        for j, table in enumerate(checked_rows(f"tables[{place}]", row, d)):
            name = f"tables[{place}][{j}]"
            laws = checked_rows(name, table, 0 if j in (s, t) else sizes[s] * sizes[t])
            found.append(tuple(checked_distribution(f"{name}[{y}]", law, sizes[j]) for y, law in enumerate(laws)))
        result.append(tuple(found))
    return tuple(result)
