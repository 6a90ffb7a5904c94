"""Corr-RR over a common domain, in three steps: align, run and expand (Seeam, Zheng, Hu, 3.3.4, as printed).

The mechanism is from the paper on Corr-RR, section 3.3.4, as printed: Seeam, Zheng, Hu, *Frequency estimation of
correlated multi-attribute data under local differential privacy* (PoPETs). It has three steps. First, a public map
replaces every code by its group. Second, Corr-RR runs on the groups. Third, every reported group is expanded to a
uniform code inside the group. The expansion carries no information, so *only the frequencies of groups can be
estimated*. The estimate of a group is divided equally among its codes, and the output says so. The class `CorrRR` keeps
all codes of the pivot apart, so it can estimate all frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.card import Card
from deniable.core.checks import Codes, checked_report_records, settle
from deniable.core.estimate import RecordEstimate
from deniable.core.randomness import Randomness, SimulationRandomness, uniform_below
from deniable.core.state import Counts
from deniable.errors import InvalidParameterError, TooLargeError, quoted
from deniable.oracles.grr import GRR
from deniable.records.layout import CodeLayout, grr_oracles, row_blocks
from deniable.records.pivot.alignment import Map, checked_map, contiguous_map
from deniable.records.pivot.corr_rr import CorrRR
from deniable.records.pivot.pivot_law import every_report
from deniable.records.record import FullRecords, SimulatedByRecord
from deniable.records.sampled_attribute import SAMPLED_ROWS

SPREAD = "uniform expansion (biased: frequencies within a group are not identifiable)"

MAX_MAPPED = 1 << 18
"""Largest number of codes, over all attributes, whose groups are listed."""


@final
@dataclass(frozen=True)
class AlignedCorrRR(FullRecords, SimulatedByRecord[NDArray[Any]]):
    """Aligned Corr-RR gives all attributes the same number of groups of codes, and runs Corr-RR on the groups.

    In Corr-RR, each contributor reports one uniformly drawn attribute, the *pivot*, and noisy copies of this report for
    all other attributes. Here the codes of every attribute are divided into m groups, where m is the smallest of the
    numbers k_j of possible answers. A public map gives the group of each code. The device replaces a reported group by
    a code that it draws uniformly from the group.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of possible answers (k_1, ..., k_d) of the d attributes, each from 2 to 2^32.
    epsilon : float, Fraction, Decimal or str
        Privacy budget of the whole record in nats, from 1e-6 to 32. The pivot spends the whole budget.
    copy_probabilities : float[d, d]
        Matrix P of the probabilities that a target attribute (row) copies the reported group of the pivot (column). The
        diagonal entries are one.
    maps : sequence of d sequences of k_j groups, optional
        Public map of each attribute. The map lists the group of each code, and groups are numbered from 0 to
        min(sizes)-1. By default, each group holds consecutive codes.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.records.corr_rr_aligned import AlignedCorrRR
    >>> import numpy as np
    >>> aligned = AlignedCorrRR(sizes=(2, 5), epsilon=1.0, copy_probabilities=((1, 0.8), (0.8, 1)))
    >>> aligned.maps
    ((0, 1), (0, 0, 0, 1, 1))
    >>> reports = aligned.randomize(np.array([[0, 2], [1, 4]]), SimulationRandomness(1))
    >>> [estimate.k for estimate in aligned.estimate(aligned.aggregate(reports)).values()]
    [2, 5]
    """

    copy_probabilities: tuple[tuple[float | Fraction, ...], ...]
    maps: tuple[Map, ...] = ()

    reveals = "copies"
    name = "Corr-RR aligned"
    card = Card(
        group="baselines",
        when="only for comparison with Corr-RR; Corr-RR aligned merges codes into groups, as in the paper on Corr-RR, "
        "so it cannot tell the codes of a group apart",
        aliases=("AlignedCorrRR",),
        planned=False,
        instead="Corr-RR aligned cannot tell the codes of a group apart; use Corr-RR instead",
        wire="a code for every attribute",
    )

    def _check_parameters(self) -> None:
        if sum(self.sizes) > MAX_MAPPED:
            raise TooLargeError(f"the maps must have at most {MAX_MAPPED} codes together, got {sum(self.sizes)}")
        if not hasattr(self.maps, "__len__") or len(self.maps) not in (0, len(self.sizes)):
            raise InvalidParameterError(
                f"maps must have one map for each of the {len(self.sizes)} attributes, got {quoted(self.maps)}"
            )
        given = self.maps or [contiguous_map(size, self.groups) for size in self.sizes]
        maps = [
            checked_map(f"maps[{j}]", codes, size, self.groups)
            for j, (codes, size) in enumerate(zip(given, self.sizes, strict=True))
        ]
        settle(self, maps=tuple(maps))
        settle(self, copy_probabilities=self.inner.copy_probabilities)

    @property
    def groups(self) -> int:
        """Number of groups, which is the same for all attributes."""
        return min(self.sizes)

    @cached_property
    def inner(self) -> CorrRR:
        """The mechanism Corr-RR over the groups."""
        return CorrRR((self.groups,) * len(self.sizes), self.epsilon, self.copy_probabilities)

    @cached_property
    def _members(self) -> tuple[NDArray[np.int64], ...]:
        """Number of codes in each group, per attribute."""
        return tuple(np.bincount(codes, minlength=self.groups).astype(np.int64) for codes in self.maps)

    @property
    def oracles(self) -> tuple[GRR, ...]:
        """GRR over the groups of each attribute, for reports with this attribute as the pivot."""
        return self.inner.oracles

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes of Corr-RR over the groups, and that reports do not distinguish codes of one group."""
        return self.inner.remarks

    @cached_property
    def layout(self) -> CodeLayout:
        """A column of codes for each attribute."""
        return CodeLayout(grr_oracles(self.sizes, self.epsilon))

    # ---------------------------------------------------------------- three steps

    def _randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        reports = self.layout.empty(len(codes))
        for rows in row_blocks(len(codes), SAMPLED_ROWS):
            reported = self.inner.randomize(self._mapped(codes[rows]), rng)
            for j, (codes_of, members) in enumerate(zip(self.maps, self._members, strict=True)):
                reports[rows, j] = _expand(reported[:, j], codes_of, members, rng)
        return reports

    def _mapped(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        return np.stack([np.array(own, dtype=np.int64)[codes[:, j]] for j, own in enumerate(self.maps)], axis=1)

    def _tally(self, reports: Any) -> tuple[NDArray[np.int64], int]:
        found = self.inner.aggregate(self._mapped(checked_report_records(reports, self.sizes)))
        return found.counts, found.n

    def reported_attribute(self, reports: Any) -> None:  # noqa: ARG002
        return None

    def about(self, reports: Any, attribute: int) -> NDArray[np.int64]:
        return self._mapped(np.asarray(reports))[:, attribute]

    def estimate(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return each group's estimate, spread uniformly over its codes; biased, and without intervals."""
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
                support=None,  # the counts are those of the group
                joint=None,
                processing=group.processing if (size == 1).all() else (*group.processing, SPREAD),
            )
        return RecordEstimate(spread)

    def estimate_groups(self, aggregate: Aggregate) -> RecordEstimate:
        """Analyst: return the estimates of every attribute's groups, made by Corr-RR."""
        self.check(aggregate)
        return self.inner.estimate(replace(aggregate, mechanism=self.inner))

    # ---------------------------------------------------------------- guarantee and exact distribution

    def implemented_ratio(self) -> Fraction:
        """Exact largest likelihood ratio between two records."""
        return self.inner.implemented_ratio()

    def _attribute_ratio(self, attribute: int) -> Fraction:
        return self.inner.implemented_attribute_ratio(attribute)

    def outputs(self) -> NDArray[Any]:
        self._check_channel(1, prod(self.sizes))
        reports = every_report(self.sizes)
        possible = {tuple(row) for row in self.inner.outputs().tolist()}
        keep = [tuple(row) in possible for row in self._mapped(reports).tolist()]
        return reports[keep].astype(self.layout.field.dtype)

    def _channel(self) -> NDArray[Any]:
        self._check_channel(prod(self.sizes), prod(self.sizes))
        column = {tuple(row): o for o, row in enumerate(self.inner.outputs().tolist())}
        reported = self._mapped(self.outputs())
        columns = [column[tuple(row)] for row in reported.tolist()]
        rows = np.ravel_multi_index(tuple(self._mapped(every_report(self.sizes)).T), self.inner.sizes)
        choices = np.prod([own[reported[:, j]] for j, own in enumerate(self._members)], axis=0)
        shares = np.array([Fraction(1, int(choice)) for choice in choices], dtype=object)
        matrix: NDArray[Any] = self.inner.channel(exact=True)[np.ix_(rows, columns)] * shares
        return matrix

    def _simulate(self, records: Codes, held: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        return self.inner.simulate_aggregate(self._mapped(records), held, rng).counts

    @property
    def state_size(self) -> int:
        """One counter for each group of every attribute."""
        return self.groups * len(self.sizes)

    def check_state(self, counts: Counts, n: int) -> None:
        self.inner.check_state(counts, n)


def _expand(
    groups: NDArray[Any], codes_of: Sequence[int], members: NDArray[np.int64], rng: Randomness
) -> NDArray[np.int64]:
    """Return an exactly uniform code from the group of every row."""
    codes = np.argsort(np.array(codes_of), kind="stable")
    result = np.concatenate(([0], members.cumsum()[:-1]))[groups]
    size = members[groups]
    for bound in np.unique(size).tolist():
        if bound > 1:
            rows = np.flatnonzero(size == bound)
            result[rows] += uniform_below(rng, bound, len(rows))
    expanded: NDArray[np.int64] = codes[result]
    return expanded
