"""Corr-RR in groups: attributes that depend on each other share a budget, groups split it.

Seeam, Zheng, Hu (Corr-RR), 3.3.3. The attributes are partitioned into t groups by estimated dependence. Each group
runs Corr-RR on its own with epsilon/t, an exact fraction; a group of one attribute is GRR. With one group it is
Corr-RR, with as many groups as attributes SPL. Sequential composition over the groups gives epsilon.

Groups trade bias for noise: copies come from fewer pivots, but a GRR report at epsilon/t is about t^2 times as noisy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import checked_counts, checked_integer, checked_records, checked_sizes
from deniable.errors import InvalidParameterError
from deniable.estimate import Estimate, RecordEstimate
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.mechanisms.grr import GRR
from deniable.multi._exact import independent, product_rows
from deniable.multi._groups import Groups, checked_groups, dependence_groups, group_alignment
from deniable.multi._oracles import checked_share, empty_reports, record_field, stretches
from deniable.multi._pivot_law import every_report
from deniable.multi._tally import tally_columns
from deniable.multi.alignment import Alignment, checked_alignment
from deniable.multi.copy_probabilities import CopyProbabilities, joint_copy_probabilities, learn_copy_probabilities
from deniable.multi.corr_rr import REMARKS, CorrRR
from deniable.multi.corr_rr_error import expected_error
from deniable.multi.dependence import dependence_matrix
from deniable.multi.pair_tables import pair_tables
from deniable.multi.split_pairs import SPLPairs
from deniable.multi.two_phase import phase_one_marginals
from deniable.privacy import Guarantee, local_guarantee
from deniable.randomness import Randomness, SimulationRandomness
from deniable.spec import register
from deniable.state import Counts, stretches_sum_to
from deniable.thresholds import EpsilonLike, checked_epsilon, log_up


@register("Corr-RR groups")
@dataclass(frozen=True)
class GroupedCorrRR:
    """Corr-RR inside each group of attributes, with an equal share of the budget per group.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), d >= 1, each in 2..2^32; as for `CorrRR`.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32]; each of t groups spends the exact fraction epsilon/t.
    groups : sequence of sequences of int
        A partition of the attributes; indices ascend inside a group.
    copy_probabilities : sequence of float[m, m]
        P of every group, rows = target, columns = pivot, in the group's order; ((1,),) for a group of one.
    alignment : sequence of (larger, smaller, map), optional
        Public maps between attributes of one group whose domains differ, contiguous where not given.

    Raises
    ------
    InvalidParameterError, TooLargeError
        If a parameter is out of bounds, or domains that differ are too large.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.multi.grouping import GroupedCorrRR
    >>> import numpy as np
    >>> rng, records = SimulationRandomness(1), np.tile([[0, 0, 1], [1, 1, 0], [1, 1, 1]], (200, 1))
    >>> pairs = GroupedCorrRR.phase_one(sizes=(2, 2, 2), epsilon=6.0)
    >>> grouped = GroupedCorrRR.learn(pairs.aggregate(pairs.randomize(records, rng)), n2=600, groups=2)
    >>> grouped.groups, [part.epsilon for part in grouped.parts]
    (((0, 1), (2,)), [3.0, 3.0])
    >>> estimates = grouped.estimate(grouped.aggregate(grouped.randomize(records, rng)))
    >>> [estimate.k for estimate in estimates.values()]
    [2, 2, 2]
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    groups: Groups
    copy_probabilities: tuple[CopyProbabilities, ...]
    alignment: Alignment = ()

    name = "Corr-RR groups"
    estimators = ("debiased", "unmixed")
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checked_sizes(self.sizes))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "groups", checked_groups(self.groups, len(self.sizes)))
        object.__setattr__(self, "alignment", checked_alignment(self.alignment, self.sizes))
        given = self.copy_probabilities
        if not hasattr(given, "__len__") or len(given) != len(self.groups):
            raise InvalidParameterError(
                f"copy_probabilities must have one matrix per group ({len(self.groups)}), got {given!r}"
            )
        object.__setattr__(self, "copy_probabilities", tuple(part.copy_probabilities for part in self.parts))

    # ---------------------------------------------------------------- two phases

    @staticmethod
    def phase_one(sizes: Sequence[int], epsilon: EpsilonLike) -> SPLPairs:
        """Return the mechanism of phase one: every attribute by GRR with epsilon/d, counted by pairs."""
        return SPLPairs(tuple(sizes), checked_epsilon(epsilon))

    @classmethod
    def learn(
        cls,
        aggregate: Aggregate,
        n2: int,
        method: str = "pairwise",
        *,
        groups: int | None = None,
        alignment: Sequence[Any] = (),
    ) -> GroupedCorrRR:
        """Collector: group the attributes by estimated dependence, and learn P inside each group; a pure function.

        Groups are merged from single attributes, always the two with the largest mean corrected Cramer's V.

        Parameters
        ----------
        aggregate : Aggregate
            Of `SPLPairs`.
        n2 : int
            Number of contributors who are expected in phase two, >= 2.
        method : {"pairwise", "joint"}
            How P is found; see `deniable.multi.copy_probabilities`.
        groups : int, optional
            Number of groups, in 1..d. By default that with the smallest expected error at phase one's frequencies, the
            squared bias less what their noise adds to it.
        alignment : sequence of (larger, smaller, map)
            Maps between domains that differ.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of bounds.
        MismatchError, EmptyAggregateError
            If the aggregate is not of `SPLPairs`, or contains no reports.
        """
        tables = pair_tables(aggregate)
        first, marginals = phase_one_marginals(aggregate)
        maps = checked_alignment(alignment, first.sizes)
        partitions = dependence_groups(dependence_matrix(tables))
        # The pairwise rule looks at two attributes only: whatever the groups, P is a part of the same matrix.
        every = learn_copy_probabilities(marginals, n2, method, alignment=maps) if method != "joint" else None

        def learned(partition: Groups) -> GroupedCorrRR:
            matrices = []
            for group in partition:
                own, inside = [marginals[j] for j in group], group_alignment(maps, group)
                found = joint_copy_probabilities(own, n2, alignment=inside) if every is None else every
                matrices.append((found if every is None else found[np.ix_(group, group)]).tolist())
            kept = tuple(entry for entry in maps if any({*entry[:2]} <= {*group} for group in partition))
            return cls(first.sizes, first.epsilon, partition, tuple(matrices), kept)

        if groups is not None:
            return learned(partitions[checked_integer("groups", groups, 1, len(first.sizes)) - 1])
        noise = [first.variance(1 / size, aggregate.n, j) for j, size in enumerate(first.sizes)]
        return min(map(learned, partitions), key=lambda one: one._apparent_error(marginals, n2, noise))

    @cached_property
    def parts(self) -> tuple[CorrRR, ...]:
        """Corr-RR of every group, with epsilon/t."""
        share = checked_share(self.epsilon, len(self.groups))
        return tuple(
            CorrRR(tuple(self.sizes[j] for j in group), share, matrix, group_alignment(self.alignment, group))
            for group, matrix in zip(self.groups, self.copy_probabilities, strict=True)
        )

    @cached_property
    def oracles(self) -> tuple[GRR, ...]:
        """GRR of each attribute as its group's pivot, with epsilon/t."""
        found = {
            j: oracle
            for group, part in zip(self.groups, self.parts, strict=True)
            for j, oracle in zip(group, part.oracles, strict=True)
        }
        return tuple(found[j] for j in range(len(self.sizes)))

    def expected_error(self, marginals: Sequence[ArrayLike], n2: int) -> float:
        """Analyst: mean expected squared error of `estimate` at these marginals; see `deniable.multi.corr_rr_error`."""
        errors = [
            expected_error(part, [marginals[j] for j in group], n2).mean * len(group)
            for group, part in zip(self.groups, self.parts, strict=True)
        ]
        return sum(errors) / len(self.sizes)

    def _apparent_error(self, marginals: Sequence[ArrayLike], n2: int, noise: Sequence[float]) -> float:
        """Return the summed expected error at noisy marginals whose variances are known."""
        total = 0.0
        for group, part in zip(self.groups, self.parts, strict=True):
            error, m = expected_error(part, [marginals[j] for j in group], n2), len(group)
            total += sum(float(variance.mean()) for variance in error.variance)
            if part.law.alike:
                # The bias of target j is linear in the marginals: -(1 - 1/m) g_j + sum_s a_js g_s/m.
                weights = (part.law.gains / m - np.eye(m)) ** 2
                added = weights @ [noise[j] for j in group]
                total += sum(
                    max(float((bias**2).mean() - own), 0.0) for bias, own in zip(error.bias, added, strict=True)
                )
        return total

    # ---------------------------------------------------------------- three verbs

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> NDArray[Any]:
        """Contributor: in every group draw a pivot, report it through GRR with epsilon/t, and copies of that report.

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
        for group, part in zip(self.groups, self.parts, strict=True):
            reports[:, group] = part.randomize(codes[:, group], rng)
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

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: every group as Corr-RR estimates it, biased and marked so where its domains are alike.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """
        return self._by_group(aggregate, "estimate")

    def debiased(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: as `CorrRR.debiased`, group by group."""
        return self._by_group(aggregate, "debiased")

    def unmixed(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: as `CorrRR.unmixed`, group by group."""
        return self._by_group(aggregate, "unmixed")

    def _by_group(self, aggregate: Aggregate, estimator: str) -> RecordEstimate:
        check_aggregate(aggregate, self)
        columns = [aggregate.counts[place] for place in stretches(self.sizes)]
        found: dict[int, Estimate] = {}
        for group, part in zip(self.groups, self.parts, strict=True):
            own = Aggregate(part, np.concatenate([columns[j] for j in group]), aggregate.n)
            found.update(zip(group, getattr(part, estimator)(own).values(), strict=True))
        return RecordEstimate({j: found[j] for j in range(len(self.sizes))})

    # ---------------------------------------------------------------- guarantee and exact law

    def privacy(self) -> Guarantee:
        """Return the guarantee: epsilon for the whole record, at most epsilon/t for one attribute."""
        share = float(checked_share(self.epsilon, len(self.groups)))
        per_attribute = [min(share, log_up(self.implemented_attribute_ratio(j))) for j in range(len(self.sizes))]
        return local_guarantee(float(self.epsilon), self.implemented_epsilon(), tuple(per_attribute), REMARKS)

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records: the product over the groups; as `CorrRR.implemented_ratio`."""
        return prod((part.implemented_ratio() for part in self.parts), start=Fraction(1))

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only: that of its group."""
        j = checked_integer("attribute", attribute, 0, len(self.sizes) - 1)
        place = next(place for place, group in enumerate(self.groups) if j in group)
        return self.parts[place].implemented_attribute_ratio(self.groups[place].index(j))

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return log_up(self.implemented_ratio())

    def _ordered_outputs(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return every possible report, the last attribute fastest, and its place among the parts' combinations."""
        together = product_rows([part.outputs() for part in self.parts], np.int64)
        columns = [j for group in self.groups for j in group]
        rows = together[:, np.argsort(columns)]
        order = np.lexsort(rows.T[::-1])
        return rows[order].astype(record_field(self.oracles).dtype), order

    def outputs(self) -> NDArray[Any]:
        """Every possible report once, in the order of the columns of `channel`: the last attribute changes fastest."""
        check_channel_size(1, prod(self.sizes), repr(self))
        return self._ordered_outputs()[0]

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | record), shape (k_1 ... k_d, outputs): float64, or exact Fractions if `exact`.

        Rows are all records in lexicographic order, the last attribute fastest; each sums to one.
        """
        check_channel_size(prod(self.sizes), prod(self.sizes), repr(self))
        together = independent([part.channel(exact=True) for part in self.parts])
        columns = [j for group in self.groups for j in group]
        records = every_report(self.sizes)[:, columns]
        rows = np.ravel_multi_index(tuple(records.T), tuple(self.sizes[j] for j in columns))
        matrix: NDArray[Any] = together[np.ix_(rows, self._ordered_outputs()[1])]
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these records, exactly in distribution; as for `CorrRR`.

        Groups are randomised on their own, so their counts are independent given the records.
        """
        rows = checked_records(records, self.sizes)
        held = checked_counts(counts, len(rows))
        places, total = stretches(self.sizes), np.zeros(self.state_size, dtype=np.int64)
        for group, part in zip(self.groups, self.parts, strict=True):
            drawn = part.simulate_aggregate(rows[:, group], held, rng).counts
            for j, place in zip(group, stretches(part.sizes), strict=True):
                total[places[j]] = drawn[place]
        return Aggregate(self, total, int(held.sum()))

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
