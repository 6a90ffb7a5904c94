"""Corr-RR in groups: attributes that depend on each other share a budget, and the groups split the budget.

The mechanism is from the paper on Corr-RR, section 3.3.3: Seeam, Zheng, Hu, *Frequency estimation of correlated
multi-attribute data under local differential privacy* (PoPETs). The attributes are partitioned into t groups by their
estimated dependence. Each group runs Corr-RR on its own with the exact fraction epsilon/t of the budget. A group of one
attribute is reported through GRR. With one group the mechanism is Corr-RR, and with one group per attribute it is SPL.
By sequential composition over the groups, the whole record spends epsilon.

More groups mean less bias, because fewer attributes are reported as copies of another attribute. More groups also mean
more noise, because the variance of a GRR report at epsilon/t is about t^2 times the variance at epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes, checked_entries, checked_integer, settle
from deniable.core.estimate import RecordEstimate
from deniable.core.randomness import Randomness, SimulationRandomness
from deniable.errors import InvalidParameterError, quoted
from deniable.oracles.grr import GRR
from deniable.records.layout import CodeLayout, checked_share, independent, product_rows, stretches
from deniable.records.phases.second_phase import SecondPhase
from deniable.records.phases.two_phase import phase_one_marginals
from deniable.records.pivot.alignment import Alignment, checked_alignment
from deniable.records.pivot.copy_probabilities import (
    CopyProbabilities,
    joint_copy_probabilities,
    learn_copy_probabilities,
)
from deniable.records.pivot.corr_rr import REMARKS, CorrRR
from deniable.records.pivot.corr_rr_error import expected_error
from deniable.records.pivot.pivot_law import every_report
from deniable.records.record import CountedRecords, SimulatedByRecord
from deniable.records.split import SPLPairs
from deniable.research.records.association import dependence_matrix
from deniable.research.records.joint_tables import pair_tables

Groups = tuple[tuple[int, ...], ...]


def checked_groups(groups: Any, d: int) -> Groups:
    """Return a partition of d attributes as tuples, with each attribute once and in ascending order inside a group."""
    if isinstance(groups, (str, bytes)) or not hasattr(groups, "__len__"):
        raise InvalidParameterError(
            f"groups must be lists of attributes, with every attribute in exactly one list, got groups={quoted(groups)}"
        )
    result = []
    for place, group in enumerate(groups):
        if isinstance(group, (str, bytes)) or not hasattr(group, "__len__") or len(group) == 0:
            raise InvalidParameterError(f"groups[{place}] must contain at least one attribute, got {quoted(group)}")
        own = tuple(checked_integer(f"groups[{place}][{i}]", j, 0, d - 1) for i, j in enumerate(group))
        if list(own) != sorted(set(own)):
            raise InvalidParameterError(
                f"groups[{place}] must list its attributes in ascending order, got {quoted(own)}"
            )
        result.append(own)
    listed = sorted(j for group in result for j in group)
    if listed != list(range(d)):
        raise InvalidParameterError(
            f"groups must contain each of the attributes 0..{d - 1} exactly once, got {quoted(result)}"
        )
    return tuple(result)


def group_alignment(alignment: Alignment, group: tuple[int, ...]) -> Alignment:
    """Return the maps between attributes of one group, with the attributes numbered inside the group."""
    place = {j: i for i, j in enumerate(group)}
    return tuple(
        (place[larger], place[smaller], codes)
        for larger, smaller, codes in alignment
        if larger in place and smaller in place
    )


def dependence_groups(dependence: NDArray[np.float64]) -> list[Groups]:
    """Return the partitions into 1, 2, ..., d groups that average linkage finds.

    The search starts from single attributes. The two groups with the largest mean dependence between their attributes
    are merged. Among equals, the first two groups are merged.

    Parameters
    ----------
    dependence : float64[d, d]
        Symmetric matrix of dependence, whose diagonal is not read.
    """
    groups: list[tuple[int, ...]] = [(j,) for j in range(len(dependence))]
    means = np.array(dependence, dtype=np.float64)
    found = [tuple(groups)]
    while len(groups) > 1:
        above = np.triu(np.ones(means.shape, dtype=np.bool_), 1)
        a, b = divmod(int(np.where(above, means, -np.inf).argmax()), len(groups))
        sizes = len(groups[a]), len(groups[b])
        merged = (sizes[0] * means[a] + sizes[1] * means[b]) / sum(sizes)
        means[a], means[:, a] = merged, merged
        means = np.delete(np.delete(means, b, axis=0), b, axis=1)
        groups[a] = tuple(sorted(groups[a] + groups[b]))
        del groups[b]
        found.append(tuple(groups))
    return found[::-1]


@final
@dataclass(frozen=True)
class GroupedCorrRR(CountedRecords, SecondPhase[NDArray[Any]], SimulatedByRecord[NDArray[Any]]):
    """Grouped Corr-RR runs Corr-RR inside each group of attributes, with an equal share of the budget per group.

    In each group, a contributor reports one uniformly drawn attribute, the *pivot*, through GRR. For every other
    attribute of the group, the device repeats the reported code with a public probability, and reports another code
    otherwise.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, each from 2 to 2^32, as for `CorrRR`.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32. Each of t groups spends the exact fraction
        epsilon/t.
    groups : sequence of sequences of int
        Partition of the attributes into t groups. The indices of the attributes ascend inside each group.
    copy_probabilities : sequence of float[m, m]
        One matrix of copy probabilities for every group. Here m is the number of attributes of the group. Entry [i, j]
        is the probability that attribute i copies the report of attribute j, if attribute j is the pivot. For a group
        of one attribute, the matrix is ((1,),). The class method `learn` makes the groups and matrices from the reports
        of the first phase. Its argument n2 is the expected number of contributors in the second phase.
    alignment : sequence of (larger, smaller, map), optional
        Public maps between attributes of one group that have different numbers of possible answers. Without a map, each
        code of the attribute with fewer codes is matched with consecutive codes of the other attribute.

    Raises
    ------
    InvalidParameterError, TooLargeError
        If a parameter is out of bounds, or domains that differ are too large.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.records.grouping import GroupedCorrRR
    >>> import numpy as np
    >>> rng, records = SimulationRandomness(1), np.tile([[0, 0, 1], [1, 1, 0], [1, 1, 1]], (200, 1))
    >>> pairs = GroupedCorrRR.phase_one(sizes=(2, 2, 2), epsilon=6.0)
    >>> grouped = GroupedCorrRR.learn(pairs.aggregate(pairs.randomize(records, rng)), n2=600, groups=2)
    >>> grouped.groups, [float(part.epsilon) for part in grouped.parts]
    (((0, 1), (2,)), [3.0, 3.0])
    >>> estimates = grouped.estimate(grouped.aggregate(grouped.randomize(records, rng)))
    >>> [estimate.k for estimate in estimates.values()]
    [2, 2, 2]
    """

    groups: Groups
    copy_probabilities: tuple[CopyProbabilities, ...]
    alignment: Alignment = ()

    reveals = "copies"
    first = SPLPairs
    estimators = ("debiased", "unmixed")
    remarks = REMARKS
    untold = "one report mixes several attributes; fit the reports of phase one"
    name = "Corr-RR groups"
    card = Card(
        group="two phases",
        when="only for comparison with Corr-RR; attributes that depend on each other form groups, and the groups split "
        "the budget",
        aliases=("GroupedCorrRR",),
        planned=False,
        instead="the error of Corr-RR groups depends on probabilities that are learned in a first phase, so no formula "
        "gives the error in advance; for a rough idea, look at the error tables of two extreme cases: Corr-RR has one "
        "group of all attributes, and SPL[GRR] has d groups of one attribute each",
        wire="a code for every attribute",
    )

    def _check_parameters(self) -> None:
        settle(
            self,
            groups=checked_groups(self.groups, len(self.sizes)),
            alignment=checked_alignment(self.alignment, self.sizes),
        )
        rule = f"copy_probabilities must have one matrix per group ({len(self.groups)})"
        checked_entries(self.copy_probabilities, len(self.groups), rule)
        settle(self, copy_probabilities=tuple(part.copy_probabilities for part in self.parts))

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

        It starts with single attributes, and repeatedly merges the two groups with the largest mean corrected Cramer's
        V.

        Parameters
        ----------
        method : {"pairwise", "joint"}
            Method for computing P; see `deniable.records.pivot.copy_probabilities`.
        groups : int, optional
            Number of groups, in 1..d. The default has the smallest expected error at the frequencies of phase one. The
            squared bias in this error is corrected for the noise of these frequencies.
        alignment : sequence of (larger, smaller, map)
            Maps between domains of different size.
        """
        tables = pair_tables(aggregate)
        first, marginals = phase_one_marginals(aggregate)
        maps = checked_alignment(alignment, first.sizes)
        partitions = dependence_groups(dependence_matrix(tables))
        # The pairwise rule looks only at two attributes. So P is a part of the same matrix, whatever the groups are.
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
        return tuple(self.parts[place].oracles[i] for place, i in self._places)

    @cached_property
    def _columns(self) -> list[int]:
        """Attributes, group by group."""
        return [j for group in self.groups for j in group]

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """Group of every attribute, and the attribute's number inside the group."""
        own = [(place, i) for place, group in enumerate(self.groups) for i in range(len(group))]
        return [own[column] for column in np.argsort(self._columns)]

    @cached_property
    def layout(self) -> CodeLayout:
        """A column of codes for each attribute."""
        return CodeLayout(self.oracles)

    def expected_error(self, marginals: Sequence[ArrayLike], n2: int) -> float:
        """Analyst: return the mean expected squared error of `estimate` at given marginals; see `corr_rr_error`."""
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
            if part.law.gains is not None:
                # The bias of target j is linear in the marginals: it is -(1 - 1/m) g_j + sum_s a_js g_s/m.
                weights = (part.law.gains / m - np.eye(m)) ** 2
                added = weights @ [noise[j] for j in group]
                total += sum(
                    max(float((bias**2).mean() - own), 0.0) for bias, own in zip(error.bias, added, strict=True)
                )
        return total

    # ---------------------------------------------------------------- three steps

    def _randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        reports = self.layout.empty(len(codes))
        for group, part in zip(self.groups, self.parts, strict=True):
            reports[:, group] = part.randomize(codes[:, group], rng)
        return reports

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return Corr-RR's estimates for every group; biased for groups of attributes of the same size."""
        return self._by_group(aggregate, CorrRR.estimate)

    def debiased(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return `CorrRR.debiased` for every group."""
        return self._by_group(aggregate, CorrRR.debiased)

    def unmixed(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return `CorrRR.unmixed` for every group."""
        return self._by_group(aggregate, CorrRR.unmixed)

    def _by_group(
        self, aggregate: Aggregate, estimator: Callable[[CorrRR, Aggregate], RecordEstimate]
    ) -> RecordEstimate:
        self.check(aggregate)
        columns = [aggregate.counts[place] for place in stretches(self.sizes)]
        counts = [np.concatenate([columns[j] for j in group]) for group in self.groups]
        parts = [
            estimator(part, Aggregate(part, own, aggregate.n)) for part, own in zip(self.parts, counts, strict=True)
        ]
        return RecordEstimate({j: parts[place][i] for j, (place, i) in enumerate(self._places)})

    # ---------------------------------------------------------------- exact distribution

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, the product over the groups; see `CorrRR.implemented_ratio`."""
        return prod((part.implemented_ratio() for part in self.parts), start=Fraction(1))

    def _attribute_ratio(self, attribute: int) -> Fraction:
        place, i = self._places[attribute]
        return self.parts[place].implemented_attribute_ratio(i)

    def _ordered_outputs(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return every possible report, with its place among the combinations of the parts' reports.

        The last attribute varies fastest.
        """
        together = product_rows([part.outputs() for part in self.parts], np.int64)
        rows = together[:, np.argsort(self._columns)]
        order = np.lexsort(rows.T[::-1])
        return rows[order].astype(self.layout.field.dtype), order

    def outputs(self) -> NDArray[Any]:
        self._check_channel(1, prod(self.sizes))
        return self._ordered_outputs()[0]

    def _channel(self) -> NDArray[Any]:
        self._check_channel(prod(self.sizes), prod(self.sizes))
        together = independent([part.channel(exact=True) for part in self.parts])
        records = every_report(self.sizes)[:, self._columns]
        rows = np.ravel_multi_index(tuple(records.T), tuple(self.sizes[j] for j in self._columns))
        matrix: NDArray[Any] = together[np.ix_(rows, self._ordered_outputs()[1])]
        return matrix

    def _simulate(self, records: Codes, held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # Groups are randomised separately, so their counts are independent given the records.
        places, total = stretches(self.sizes), np.zeros(self.state_size, dtype=np.int64)
        for group, part in zip(self.groups, self.parts, strict=True):
            drawn = part.simulate_aggregate(records[:, group], held, rng).counts
            for j, place in zip(group, stretches(part.sizes), strict=True):
                total[places[j]] = drawn[place]
        return total
