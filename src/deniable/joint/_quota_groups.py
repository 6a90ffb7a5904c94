"""Several quota deals side by side: contributors in groups, an independent deal within each.

A group is an attribute (`QuotaRecords`) or a batch of contributors (`QuotaBatches`). Reports say which group they are
of; sums are kept per group, because the coefficients belong to a deal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.aggregate import Aggregate
from deniable.checks import Codes, checked_codes, checked_report_codes, code_dtype
from deniable.errors import InvalidInputError, InvalidReportError, MismatchError
from deniable.joint.quota import QuotaRR
from deniable.joint.quota_shares import QuotaShares
from deniable.mechanism import ReportField
from deniable.randomness import Randomness


@dataclass(frozen=True, eq=False)
class GroupShares:
    """The dealer's shares: row i goes to contributor i and to nobody else, least of all to the collector.

    Parameters
    ----------
    deal_id : str
        The deal they belong to.
    group : uint8, uint16 or uint32 [n]
        The attribute to report, or the batch; the report repeats it, so it is no secret for long.
    types : uint8 or uint16 [n]
        v < k: report v. k: report the truth. k is the group's own domain size.
    """

    deal_id: str
    group: Codes
    types: NDArray[Any]

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, rows: int | slice) -> GroupShares:
        """Return the share of one contributor, or of a slice of them."""
        return GroupShares(self.deal_id, np.atleast_1d(self.group[rows]), np.atleast_1d(self.types[rows]))


def share_fields(parts: Sequence[QuotaRR]) -> tuple[ReportField, ...]:
    """Return how group shares are stored."""
    types = code_dtype(max(part.k for part in parts) + 1)
    return ReportField("group", code_dtype(len(parts)).name), ReportField("types", types.name)


def deal_groups(deal_id: str, parts: Sequence[QuotaRR], group: Codes, rng: Randomness) -> GroupShares:
    """Dealer: deal within every group; contributor i is of group[i]."""
    types = np.empty(len(group), dtype=share_fields(parts)[1].dtype)
    for g, rows in _members(group):
        types[rows] = parts[g].deal(parts[g].n, rng).types
    return GroupShares(deal_id, group, types)


def _members(group: Codes) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield every group that occurs, with the rows of its members."""
    order = np.argsort(group, kind="stable")
    found, starts, counts = np.unique(group[order], return_index=True, return_counts=True)
    for g, start, count in zip(found.tolist(), starts, counts, strict=True):
        yield g, order[start : start + count]


def check_group_shares(shares: GroupShares, deal_id: str, groups: int, rows: int) -> None:
    """Raise unless there is one share of this deal per row: InvalidInputError or MismatchError."""
    if not isinstance(shares, GroupShares):
        raise InvalidInputError(f"shares must be GroupShares from the dealer, got {type(shares).__name__}")
    if shares.deal_id != deal_id:
        raise MismatchError(f"the shares belong to deal {shares.deal_id!r}, not to deal {deal_id!r}")
    if not len(shares.group) == len(shares) == rows:
        raise InvalidInputError(f"every contributor needs one share, got {rows} inputs and {len(shares)} shares")
    checked_codes(shares.group, groups)


def randomize_groups(
    parts: Sequence[QuotaRR], held: Sequence[Codes] | Codes, shares: GroupShares, rng: Randomness | None
) -> Codes:
    """Contributor: report one's group's value; held[g] are the true codes of all contributors for group g.

    One array serves all groups if it is the same question.

    Raises
    ------
    InvalidInputError
        If a type is none of its group's, naming the row.
    """
    sizes = np.array([part.k for part in parts])
    # Here, where rows are those of the caller: a group would name a row among its members.
    types = checked_codes(shares.types, int(sizes.max()) + 1)
    wrong = types > sizes[shares.group]
    if wrong.any():
        row = int(wrong.argmax())
        largest = sizes[shares.group[row]]
        raise InvalidInputError(f"value must be in 0..{largest}, got another in row {row + 1}")
    reports = np.empty(len(shares), dtype=code_dtype(int(sizes.max())))
    for g, rows in _members(shares.group):
        codes = held[rows] if isinstance(held, np.ndarray) else held[g][rows]
        part = parts[g]
        reports[rows] = part.randomize(codes, QuotaShares(part.deal_id, types[rows]), rng)
    return reports


def tally_groups(parts: Sequence[QuotaRR], groups: ArrayLike, values: ArrayLike, what: str) -> NDArray[np.int64]:
    """Collector: return the counts of every group's values, one after another, then the number of reports per group.

    Raises
    ------
    InvalidReportError
        If a report cannot have come from these groups, naming its row.
    """
    group = checked_report_codes(groups, len(parts), what)
    value = checked_report_codes(values, max(part.k for part in parts))
    if len(group) != len(value):
        raise InvalidReportError(f"reports must have one {what} per value, got {len(group)} and {len(value)}")
    sizes = np.array([part.k for part in parts])
    wrong = value >= sizes[group]
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidReportError(
            f"report must be in 0..{sizes[group[row]] - 1} for {what} {group[row]}, got {value[row]} in row {row + 1}"
        )
    starts = np.append(0, np.cumsum(sizes))
    counts = np.bincount(starts[group] + value, minlength=int(starts[-1]))
    return np.concatenate([counts, np.bincount(group, minlength=len(parts))]).astype(np.int64)


def group_aggregates(parts: Sequence[QuotaRR], counts: NDArray[Any]) -> list[Aggregate]:
    """Return the aggregate of every group's own deal; empty where it has no report."""
    result, start = [], 0
    for part, reported in zip(parts, counts[-len(parts) :].tolist(), strict=True):
        source: Any = part
        result.append(Aggregate(source, counts[start : start + part.k], reported))
        start += part.k
    return result
