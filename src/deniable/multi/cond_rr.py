"""Cond-RR: one privatised pivot, and the other attributes drawn from their learned conditional distributions.

Seeam, Zheng, Hu (Corr-RR), 3.3.6. Phase one is SPL on some of the contributors, counted by pairs (`SPLPairs`); from its
pair tables the collector learns P(X_j | X_s) and publishes it. Every contributor of phase two draws a pivot s
uniformly, reports y_s = GRR(x_s) with the whole budget, and of every other attribute a code drawn from
P(X_j | X_s = y_s): post-processing, whatever the tables are. Domains may differ.

The paper prints no estimator. Two biased ones and an unbiased one are offered:

* `debiased`, that of Corr-RR: (count/n - q)/(p - q);
* `levelled`: a pivot's lies are uniform codes, and what the tables make of those is known. Taken out,

      f^_j = (count_j/n - 1/d sum_s k_s q_s W_sj' u_s)/mean(p - q),      u_s uniform, W the tables;

  exact if the tables are the population's own, W_sj' f_s = f_j;
* `unmixed`: the solution of the linear system that the tables define; unbiased, whatever they are.
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
from deniable.checks import checked_integer, checked_records, checked_sizes
from deniable.estimate import RecordEstimate
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.mechanisms.grr import GRR
from deniable.multi._oracles import affine_estimates, empty_reports, record_field
from deniable.multi._pivot_law import one_attribute_ratio, pivot_channel, possible_reports, whole_record_ratio
from deniable.multi._tally import tally_columns
from deniable.multi._transfers import Table, TransferLaw, check_table_cells, checked_distribution, checked_rows
from deniable.multi.pair_tables import PairTables, pair_tables
from deniable.multi.split_pairs import SPLPairs
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, stretches_sum_to
from deniable.thresholds import EpsilonLike, checked_epsilon, log_up

BIASED = "Cond-RR (biased: drawn codes are counted as if they were the attribute's own)"
LEVELLED = "Cond-RR levelled (biased unless the conditional distributions are the population's own)"
SINGULAR = "Cond-RR unmixed (biased: the tables leave some difference between attributes undetermined)"
REMARKS = (
    "the conditional distributions are public and cost nothing here; the contributors of phase one, from whose reports "
    "they were learned, spent their own budget",
    "per attribute: between records that differ in that attribute only; no larger budget may be spent for its sake",
    "the pivot is not sent, but drawn codes may show which attribute it was",
)

Conditionals = tuple[tuple[Table, ...], ...]


@register("Cond-RR")
@dataclass(frozen=True)
class CondRR:
    """One uniformly drawn pivot by GRR with the whole budget; the others drawn from tables given its report.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 1, each in 2..2^32; they may differ. The tables have at most 2^18 cells.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32], spent on the pivot.
    conditionals : sequence of d sequences of d tables
        conditionals[s][j][y] is the distribution of target j given pivot s reported as y; each sums to 1 within 1e-9.
        conditionals[s][s] is empty. For instance from `learn`; any distributions keep epsilon.

    Raises
    ------
    InvalidParameterError, TooLargeError
        If a parameter is out of bounds, or the tables are too large.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.multi.cond_rr import CondRR
    >>> import numpy as np
    >>> rng, records = SimulationRandomness(1), np.tile([[0, 0], [0, 1], [1, 2]], (100, 1))
    >>> pairs = CondRR.phase_one(sizes=(2, 3), epsilon=4.0)
    >>> first = pairs.aggregate(pairs.randomize(records, rng))
    >>> cond_rr = CondRR.learn(first, n2=300)
    >>> [[round(share, 2) for share in row] for row in cond_rr.conditionals[0][1]]
    [[0.48, 0.52, 0.0], [0.0, 0.0, 1.0]]
    >>> estimates = cond_rr.estimate(cond_rr.aggregate(cond_rr.randomize(records, rng)))
    >>> [estimate.k for estimate in estimates.values()]
    [2, 3]
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    conditionals: Conditionals

    name = "Cond-RR"
    estimators = ("debiased", "unmixed", "levelled")
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checked_sizes(self.sizes))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        check_table_cells(sum(self.sizes) ** 2 - sum(size**2 for size in self.sizes))
        object.__setattr__(self, "conditionals", _checked(self.conditionals, self.sizes))

    # ---------------------------------------------------------------- two phases

    @staticmethod
    def phase_one(sizes: Sequence[int], epsilon: EpsilonLike) -> SPLPairs:
        """Return the mechanism of phase one: every attribute by GRR with epsilon/d, counted by pairs."""
        return SPLPairs(tuple(sizes), checked_epsilon(epsilon))

    @classmethod
    def learn(cls, aggregate: Aggregate, n2: int) -> CondRR:
        """Collector: learn the conditional distributions from phase one; a pure function.

        Every pair's unbiased table is projected onto the simplex and divided by its row sums. Where a row sum is zero,
        the target's projected frequencies stand in.

        Parameters
        ----------
        aggregate : Aggregate
            Of `SPLPairs`.
        n2 : int
            Number of contributors who are expected in phase two, >= 1; the tables do not depend on it.

        Raises
        ------
        InvalidParameterError
            If n2 is out of bounds.
        MismatchError, EmptyAggregateError
            If the aggregate is not of `SPLPairs`, or contains no reports.
        """
        checked_integer("n2", n2, 1)
        tables = pair_tables(aggregate)
        return cls(tables.sizes, aggregate.mechanism.epsilon, learned_conditionals(tables))

    @cached_property
    def oracles(self) -> tuple[GRR, ...]:
        """GRR of each attribute as the pivot, with the whole epsilon."""
        return tuple(GRR(k=size, epsilon=self.epsilon) for size in self.sizes)

    @cached_property
    def law(self) -> TransferLaw:
        """How the targets are drawn, with their exact probabilities and the induced channel."""
        return TransferLaw(self.oracles, self.conditionals)

    # ---------------------------------------------------------------- contributor and collector

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> NDArray[Any]:
        """Contributor: draw a pivot, exactly uniformly, report it through GRR, and codes drawn given that report.

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
        """Collector: count how often each code was reported, one attribute after the other.

        Raises
        ------
        InvalidReportError
            If `reports` is not int[n, d], or a code is out of range, naming its row and attribute.
        """
        counts, n = tally_columns(self.oracles, reports)
        return Aggregate(self, counts, n)

    # ---------------------------------------------------------------- analyst

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: `unmixed`, unbiased and with intervals for every attribute that the counts determine.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        TooLargeError
            If the attributes have more than 4096 values together.
        """
        return self.unmixed(aggregate)

    def unmixed(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: frequencies that solve the induced linear channel; as `CorrRR.unmixed`."""
        check_aggregate(aggregate, self)
        return self.law.induced.estimate(aggregate.counts, aggregate.n, SINGULAR)

    def debiased(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: Corr-RR's (count/n - q)/(p - q); biased, no standard errors, no intervals."""
        check_aggregate(aggregate, self)
        return self._marked(aggregate, [(float(p), float(q)) for p, q in self.support_probabilities], BIASED)

    def levelled(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: counts less what the tables make of uniform lies; biased unless the tables are true, no intervals.

        It keeps all n reports of every attribute, which is why its noise is small, and trusts the tables for that.
        """
        check_aggregate(aggregate, self)
        gain = float(np.mean([float(p - q) for p, q in self.support_probabilities]))
        pairs = [(level + gain, level) for level in self._levels]
        return self._marked(aggregate, pairs, LEVELLED)

    @cached_property
    def _levels(self) -> list[NDArray[np.float64]]:
        """Share of the reports of every code that comes from lies, float64[k_j]."""
        d = len(self.sizes)
        lies = [float(q) for _, q in self.support_probabilities]
        transfers = self.law.float_transfers
        return [np.sum([lie * transfers[s][j].sum(axis=0) for s, lie in enumerate(lies)], axis=0) / d for j in range(d)]

    def _marked(self, aggregate: Aggregate, pairs: Sequence[tuple[Any, Any]], step: str) -> RecordEstimate:
        estimates = affine_estimates(aggregate.counts, self.sizes, aggregate.n, pairs)
        steps = (step,) if len(self.sizes) > 1 else ()
        return RecordEstimate({j: replace(estimate, processing=steps) for j, estimate in estimates.items()})

    # ---------------------------------------------------------------- guarantee and exact law

    @cached_property
    def support_probabilities(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Implemented (p, q) of each attribute as the pivot."""
        return tuple(oracle.support_probabilities for oracle in self.oracles)

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon for the whole record; at most that between records that differ in one."""
        epsilon, d = float(self.epsilon), len(self.sizes)
        per_attribute = tuple(min(epsilon, log_up(self.implemented_attribute_ratio(j))) for j in range(d))
        return local_guarantee(epsilon, self.implemented_epsilon(), per_attribute, REMARKS)

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, exact: p/q over equal domains.

        Over others, between the oracles' ratios, which differ by the rounding of thresholds; beyond 8192 reports the
        largest of those is returned, an upper bound.
        """
        if len(set(self.sizes)) > 1 and self.law.weights is not None:
            return whole_record_ratio(self.oracles, self.law.weights)
        return max(oracle.implemented_ratio() for oracle in self.oracles)

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only.

        Exact up to 8192 reports; beyond, its oracle's ratio, an upper bound.
        """
        j = checked_integer("attribute", attribute, 0, len(self.sizes) - 1)
        if self.law.weights is None:
            return self.oracles[j].implemented_ratio()
        return one_attribute_ratio(self.oracles, self.law.weights, j)

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

    def outputs(self) -> NDArray[Any]:
        """Every possible report once, in the order of the columns of `channel`: the last attribute changes fastest."""
        check_channel_size(1, prod(self.sizes), repr(self))
        reports, _ = possible_reports(self.law.transfers, self.sizes)
        return reports.astype(record_field(self.oracles).dtype)

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | record), shape (k_1 ... k_d, outputs): float64, or exact Fractions if `exact`.

        Rows are all records in lexicographic order, the last attribute fastest; each sums to one.
        """
        check_channel_size(prod(self.sizes), prod(self.sizes), repr(self))
        matrix = pivot_channel(self.oracles, self.law.transfers)
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these records, exactly in distribution; as for `CorrRR`."""
        total, n = self.law.simulate(records, counts, rng)
        return Aggregate(self, total, n)

    @property
    def state_size(self) -> int:
        """One counter per value of every attribute."""
        return sum(self.sizes)

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but histograms of n codes for every attribute."""
        stretches_sum_to(counts, self.sizes, n)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One row of codes per report."""
        return (record_field(self.oracles),)

    @property
    def report_bits(self) -> float:
        """Bits per report, the sum over the attributes."""
        return sum(oracle.report_bits for oracle in self.oracles)


def learned_conditionals(tables: PairTables) -> Conditionals:
    """Analyst: P(X_j | X_s) of every ordered pair from projected tables: [s][j][code of s][code of j]; [s][s] empty."""
    d = len(tables.sizes)
    found: list[list[Table]] = [[()] * d for _ in range(d)]
    for (i, j), table in tables.items():
        joint = table.projected.frequencies
        found[i][j], found[j][i] = _conditional(joint), _conditional(joint.T)
    return tuple(map(tuple, found))


def _conditional(joint: NDArray[np.float64]) -> Table:
    given = joint.sum(axis=1, keepdims=True)
    rows = np.where(given > 0, joint / np.where(given > 0, given, 1.0), joint.sum(axis=0))
    rows /= rows.sum(axis=1, keepdims=True)
    return tuple(map(tuple, rows.tolist()))


def _checked(conditionals: Any, sizes: tuple[int, ...]) -> Conditionals:
    name, d = "conditionals", len(sizes)
    result = []
    for s, row in enumerate(checked_rows(name, conditionals, d)):
        tables: list[Table] = []
        for j, table in enumerate(checked_rows(f"{name}[{s}]", row, d)):
            place = f"{name}[{s}][{j}]"
            laws = checked_rows(place, table, 0 if s == j else sizes[s])
            tables.append(tuple(checked_distribution(f"{place}[{y}]", law, sizes[j]) for y, law in enumerate(laws)))
        result.append(tuple(tables))
    return tuple(result)
