"""Several quota deals side by side: contributors are in groups, and each group has an independent deal.

A group is an attribute (`QuotaRecords`) or a batch of contributors (`QuotaBatches`). Each report names its group. Sums
are kept per group, because each deal has its own coefficients.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Codes, checked_codes, checked_report_codes, code_dtype
from deniable.core.mechanism import ReportField, Reports
from deniable.core.randomness import Randomness
from deniable.core.state import Counts, counts_sum_to, stretches_sum_to
from deniable.errors import InvalidInputError, InvalidReportError
from deniable.records.layout import stretches
from deniable.research.dealt.dealt import DealtMechanism
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.shares import Columns
from deniable.research.states import dealt_to


def _members(group: Codes) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield every group that occurs in the reports, with the rows of its members."""
    order = np.argsort(group, kind="stable")
    found, starts, counts = np.unique(group[order], return_index=True, return_counts=True)
    for g, start, count in zip(found.tolist(), starts, counts, strict=True):
        yield g, order[start : start + count]


class QuotaGroups(DealtMechanism[Reports]):
    """Base of mechanisms with quota deals side by side, whose reports are (group, value).

    Attributes
    ----------
    group : str
        Name of a group in reports.
    """

    group: ClassVar[str]

    @property
    @abstractmethod
    def group_sizes(self) -> tuple[int, ...]:
        """Domain size of every group."""

    @property
    @abstractmethod
    def parts(self) -> tuple[QuotaRR, ...]:
        """Deal within every group."""

    # ---------------------------------------------------------------- dealer and contributor

    @property
    def share_fields(self) -> tuple[ReportField, ...]:
        """Fields of a share: the group, and the type as in the group's QuotaRR.

        The report repeats the group, so the group is soon public.
        """
        types = code_dtype(max(self.group_sizes) + 1)
        return ReportField("group", code_dtype(len(self.group_sizes)).name), ReportField("types", types.name)

    def _deal_within(self, group: NDArray[Any], rng: Randomness) -> Columns:
        """Return the shares dealt within every group, where contributor i is in group[i]."""
        kinds, told = self.share_fields
        types = np.empty(len(group), dtype=told.dtype)
        for g, rows in _members(group):
            types[rows] = self.parts[g]._deal(self.parts[g].n, rng)[0]
        return group.astype(kinds.dtype), types

    def _check_types(self, columns: Columns) -> None:
        group, types = columns
        sizes = np.array(self.group_sizes)
        checked_codes(group, len(sizes))
        # The check is here, where rows are the caller's rows. A group would name a row among its members.
        wrong = types > sizes[group]
        if wrong.any():
            row = int(wrong.argmax())
            raise InvalidInputError(f"value must be in 0..{sizes[group[row]]}, got something else in row {row + 1}")

    def _randomize(self, codes: Codes, columns: Columns, rng: Randomness) -> Reports:
        group, types = columns
        values = np.empty(len(group), dtype=self.report_fields[1].dtype)
        for g, rows in _members(group):
            own, told = codes[rows, g] if self.records else codes[rows], (types[rows],)
            self.parts[g]._check_types(told)
            values[rows] = self.parts[g]._randomize(np.ascontiguousarray(own), told, rng)
        reports: Reports = self.report_type(group.copy(), values)
        return reports

    # ---------------------------------------------------------------- collector

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """Fields of a report: the group and the code."""
        group = ReportField(self.group, code_dtype(len(self.group_sizes)).name)
        return group, ReportField("value", code_dtype(max(self.group_sizes)).name)

    def outputs(self) -> Reports:
        """Return every possible report once, sorted by group, then by value."""
        sizes = self.group_sizes
        columns = np.repeat(np.arange(len(sizes)), sizes), np.concatenate([np.arange(k) for k in sizes])
        fields = zip(columns, self.report_fields, strict=True)
        reports: Reports = self.report_type(*(column.astype(field.dtype) for column, field in fields))
        return reports

    def _tally(self, reports: tuple[ArrayLike, ArrayLike]) -> tuple[NDArray[np.int64], int]:
        groups, values = reports
        sizes = np.array(self.group_sizes)
        group = checked_report_codes(groups, len(sizes), self.group)
        value = checked_report_codes(values, int(sizes.max()))
        if len(group) != len(value):
            raise InvalidReportError(
                f"every report must have one {self.group} and one value, got the lengths {len(group)} and {len(value)}"
            )
        wrong = value >= sizes[group]
        if wrong.any():
            row = int(wrong.argmax())
            allowed = f"0..{sizes[group[row]] - 1} for {self.group} {group[row]}"
            raise InvalidReportError(f"report must be in {allowed}, got {value[row]} in row {row + 1}")
        starts = np.append(0, np.cumsum(sizes))
        counts = np.bincount(starts[group] + value, minlength=int(starts[-1]))
        return np.concatenate([counts, np.bincount(group, minlength=len(sizes))]).astype(np.int64), len(group)

    @property
    def state_size(self) -> int:
        """Number of counters: one per value of every group, then one per group for the number of its reports."""
        return sum(self.group_sizes) + len(self.group_sizes)

    def _check_counts(self, counts: Counts, n: int) -> None:
        groups = len(self.group_sizes)
        counts, reported = counts[:-groups], counts[-groups:]
        counts_sum_to(reported, n, len(counts))
        dealt = np.array([part.n for part in self.parts])
        worst = int((reported - dealt).argmax())
        dealt_to(int(reported[worst]), int(dealt[worst]))
        stretches_sum_to(counts, self.group_sizes, reported)

    # ---------------------------------------------------------------- analyst

    def _part_aggregates(self, aggregate: Aggregate) -> list[Aggregate]:
        """Return the aggregate of every group's own deal, which is empty for a group without reports.

        The errors are those of `estimate`.
        """
        self.check(aggregate)
        numbers = aggregate.counts[-len(self.parts) :].tolist()
        parts = zip(self.parts, stretches(self.group_sizes), numbers, strict=True)
        return [Aggregate(part, aggregate.counts[place], n) for part, place, n in parts]
