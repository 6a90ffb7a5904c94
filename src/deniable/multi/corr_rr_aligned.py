"""Corr-RR over a common domain: align, run, expand (Seam, Zheng, Hu, 3.3.4, as printed).

Every attribute is mapped onto one common domain, Corr-RR runs on the mapped values, and a reported group is expanded to
a uniform code inside it. The expansion carries no information: *only the groups' frequencies can be estimated*. Within
a group the estimate is spread uniformly, and says so. `CorrRR` itself perturbs a pivot in its own domain instead, from
which all frequencies follow.
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
from deniable.checks import checked_counts, checked_records, checked_report_records, checked_sizes, code_dtype
from deniable.errors import InvalidParameterError, TooLargeError
from deniable.estimate import RecordEstimate
from deniable.mechanism import ReportField, check_channel_size, float_channel
from deniable.multi._pivot_law import every_report
from deniable.multi._sampled import SAMPLED_ROWS
from deniable.multi.alignment import Map, checked_map, contiguous_map
from deniable.multi.corr_rr import CorrRR
from deniable.privacy import Guarantee
from deniable.randomness import Randomness, SimulationRandomness, uniform_below
from deniable.spec import register
from deniable.state import Counts

SPREAD = "uniform expansion (biased: frequencies within a group are not identifiable)"


MAX_MAPPED = 1 << 18
"""Largest number of codes, over all attributes, whose groups are listed."""


@register("Corr-RR aligned")
@dataclass(frozen=True)
class AlignedCorrRR:
    """Corr-RR on values that are mapped onto the smallest domain; reports are expanded uniformly inside their group.

    Parameters
    ----------
    sizes : sequence of int
        Domain sizes (k_1, ..., k_d), each in 2..2^32.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, in [1e-6, 32], spent on the mapped pivot.
    copy_probabilities : float[d, d]
        P on the common domain, rows = target, columns = pivot, diagonal one.
    maps : sequence of d sequences of k_j groups, optional
        Public maps onto the common domain 0..min(sizes)-1; contiguous groups if not given.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.multi.corr_rr_aligned import AlignedCorrRR
    >>> import numpy as np
    >>> aligned = AlignedCorrRR(sizes=(2, 5), epsilon=1.0, copy_probabilities=((1, 0.8), (0.8, 1)))
    >>> aligned.maps
    ((0, 1), (0, 0, 0, 1, 1))
    >>> reports = aligned.randomize(np.array([[0, 2], [1, 4]]), SimulationRandomness(1))
    >>> [estimate.k for estimate in aligned.estimate(aligned.aggregate(reports)).values()]
    [2, 5]
    """

    sizes: tuple[int, ...]
    epsilon: float | Fraction
    copy_probabilities: tuple[tuple[float | Fraction, ...], ...]
    maps: tuple[Map, ...] = ()

    name = "Corr-RR aligned"
    report_type = staticmethod(np.asarray)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", checked_sizes(self.sizes))
        if sum(self.sizes) > MAX_MAPPED:
            raise TooLargeError(f"the maps must be of at most {MAX_MAPPED} codes, got {sum(self.sizes)}")
        if not hasattr(self.maps, "__len__") or len(self.maps) not in (0, len(self.sizes)):
            raise InvalidParameterError(f"maps must have one map per attribute ({len(self.sizes)}), got {self.maps!r}")
        given = self.maps or [contiguous_map(size, self.groups) for size in self.sizes]
        maps = [
            checked_map(f"maps[{j}]", codes, size, self.groups)
            for j, (codes, size) in enumerate(zip(given, self.sizes, strict=True))
        ]
        object.__setattr__(self, "maps", tuple(maps))
        object.__setattr__(self, "epsilon", self.inner.epsilon)
        object.__setattr__(self, "copy_probabilities", self.inner.copy_probabilities)

    @property
    def groups(self) -> int:
        """Size of the common domain."""
        return min(self.sizes)

    @cached_property
    def inner(self) -> CorrRR:
        """Corr-RR over the common domain."""
        return CorrRR((self.groups,) * len(self.sizes), self.epsilon, self.copy_probabilities)

    @cached_property
    def _members(self) -> tuple[NDArray[np.int64], ...]:
        """Number of codes in each group, per attribute."""
        return tuple(np.bincount(codes, minlength=self.groups).astype(np.int64) for codes in self.maps)

    # ---------------------------------------------------------------- three verbs

    def randomize(self, inputs: ArrayLike, rng: Randomness) -> NDArray[Any]:
        """Contributor: report every attribute as a uniform code of a reported group.

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
        reports = np.empty(codes.shape, dtype=code_dtype(max(self.sizes)))
        for start in range(0, len(codes), SAMPLED_ROWS):
            rows = slice(start, start + SAMPLED_ROWS)
            reported = self.inner.randomize(self._mapped(codes[rows]), rng)
            for j, (codes_of, members) in enumerate(zip(self.maps, self._members, strict=True)):
                reports[rows, j] = _expand(reported[:, j], codes_of, members, rng)
        return reports

    def _mapped(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        return np.stack([np.array(own, dtype=np.int64)[codes[:, j]] for j, own in enumerate(self.maps)], axis=1)

    def aggregate(self, reports: ArrayLike) -> Aggregate:
        """Collector: count how often each group was reported, one attribute after the other.

        Raises
        ------
        InvalidReportError
            If a code is out of range, naming its row and attribute.
        """
        mapped = self._mapped(checked_report_records(reports, self.sizes))
        return replace(self.inner.aggregate(mapped), mechanism=self)

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: the estimate of each group, spread uniformly over its codes; biased, without intervals.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        """
        found = self.estimate_groups(aggregate)
        spread = {}
        for j, (codes, members) in enumerate(zip(self.maps, self._members, strict=True)):
            group, place = found[j], list(codes)
            size = members[place]
            spread[j] = replace(
                group,
                frequencies=group.frequencies[place] / size,
                noise_absent=group.noise_absent[place] / size**2,
                noise_present=group.noise_present[place] / size**2,
                labels=(),
                support=None,  # of the group's counts
                processing=group.processing if (size == 1).all() else (*group.processing, SPREAD),
            )
        return RecordEstimate(spread)

    def estimate_groups(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: the estimate of every attribute's groups, as Corr-RR gives it."""
        check_aggregate(aggregate, self)
        return self.inner.estimate(replace(aggregate, mechanism=self.inner))

    # ---------------------------------------------------------------- guarantee and exact law

    def privacy(self) -> Guarantee:
        """Return the guarantee of Corr-RR over the common domain: codes of one group are not told apart at all."""
        return self.inner.privacy()

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio between two records, exact."""
        return self.inner.implemented_ratio()

    def implemented_attribute_ratio(self, attribute: int) -> Fraction:
        """Largest likelihood ratio between two records that differ in one attribute only."""
        return self.inner.implemented_attribute_ratio(attribute)

    def implemented_epsilon(self) -> float:
        """Natural logarithm of `implemented_ratio`, rounded up."""
        return self.inner.implemented_epsilon()

    def outputs(self) -> NDArray[Any]:
        """Every possible report once, in the order of the columns of `channel`: the last attribute changes fastest."""
        check_channel_size(1, prod(self.sizes), repr(self))
        reports = every_report(self.sizes)
        possible = {tuple(row) for row in self.inner.outputs().tolist()}
        keep = [tuple(row) in possible for row in self._mapped(reports).tolist()]
        return reports[keep].astype(code_dtype(max(self.sizes)))

    def channel(self, *, exact: bool = False) -> NDArray[Any]:
        """Return P(report | record), shape (k_1 ... k_d, outputs): float64, or exact Fractions if `exact`."""
        check_channel_size(prod(self.sizes), prod(self.sizes), repr(self))
        column = {tuple(row): o for o, row in enumerate(self.inner.outputs().tolist())}
        reported = self._mapped(self.outputs())
        columns = [column[tuple(row)] for row in reported.tolist()]
        rows = np.ravel_multi_index(tuple(self._mapped(every_report(self.sizes)).T), self.inner.sizes)
        choices = np.prod([own[reported[:, j]] for j, own in enumerate(self._members)], axis=0)
        shares = np.array([Fraction(1, int(choice)) for choice in choices], dtype=object)
        matrix: NDArray[Any] = self.inner.channel(exact=True)[np.ix_(rows, columns)] * shares
        return matrix if exact else float_channel(matrix)

    # ---------------------------------------------------------------- simulation and files

    def simulate_aggregate(self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness) -> Aggregate:
        """Draw the aggregate of contributors with these records, exactly in distribution; as for `CorrRR`."""
        codes = checked_records(records, self.sizes)
        held = checked_counts(counts, len(codes))
        return replace(self.inner.simulate_aggregate(self._mapped(codes), held, rng), mechanism=self)

    @property
    def state_size(self) -> int:
        """One counter per group of every attribute."""
        return self.groups * len(self.sizes)

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse all but histograms of n groups for every attribute."""
        self.inner.check_state(counts, n)

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """One row of codes per report."""
        return (ReportField("values", code_dtype(max(self.sizes)).name, len(self.sizes)),)

    @property
    def report_bits(self) -> float:
        """Bits per report, the sum over the attributes."""
        return float(sum(np.log2(size) for size in self.sizes))


def _expand(
    groups: NDArray[Any], codes_of: Sequence[int], members: NDArray[np.int64], rng: Randomness
) -> NDArray[np.int64]:
    """Return an exactly uniform code of every row's group."""
    codes = np.argsort(np.array(codes_of), kind="stable")
    result = np.concatenate(([0], members.cumsum()[:-1]))[groups]
    size = members[groups]
    for bound in np.unique(size).tolist():
        if bound > 1:
            rows = np.flatnonzero(size == bound)
            result[rows] += uniform_below(rng, bound, len(rows))
    expanded: NDArray[np.int64] = codes[result]
    return expanded
