"""Reports of different oracles in one column of codes, or of bytes of one fixed width if not all are codes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Codes, check_counters, checked_report_codes, code_dtype
from deniable.core.kernels import kernel
from deniable.core.mechanism import Mechanism, ReportField, Reports
from deniable.core.randomness import Words
from deniable.core.state import Counts, check_parts, counts_sum_to
from deniable.errors import InvalidReportError
from deniable.oracles.grr import count_codes
from deniable.oracles.linear import LinearOracle
from deniable.oracles.sketch.families._columns import columns_of
from deniable.records.layout import checked_rows_of_bytes, row_blocks, starts_of, stretches
from deniable.records.record import RecordMechanism

GROUPED_BYTES = 1 << 23
"""Bytes of reports that are grouped by sampled attribute at a time. The number is larger if the oracles' states are
larger."""

FOUR_TABLES = 1 << 16
"""Most counters, over all attributes, that are counted in four tables."""

FOLDED = 64
"""Rows of bytes that are combined as one."""

Bytes = NDArray[np.uint8]


def field_bytes(field: ReportField) -> int:
    """Return the number of bytes that one report takes in a field."""
    return np.dtype(field.dtype).itemsize * (1 if field.width is None else field.width)


@lru_cache(maxsize=256)
def row_of(fields: tuple[ReportField, ...], width: int) -> np.dtype[Any]:
    """Return the dtype of a row of `width` bytes: each field is moved as a whole, and ignored bytes follow."""
    items = [(field.name, f"V{field_bytes(field)}") for field in fields]
    return np.dtype([*items, ("", f"V{width - sum(map(field_bytes, fields))}")])


def packed(mechanism: Mechanism[Any], reports: Any, width: int) -> Bytes:
    """Return reports of one mechanism as rows of bytes uint8[n, width]: its fields, little-endian, then zeros."""
    fields = zip(columns_of(reports), mechanism.report_fields, strict=True)
    little = [np.ascontiguousarray(column, dtype=np.dtype(field.dtype).newbyteorder("<")) for column, field in fields]
    if len(little) == 1 and field_bytes(mechanism.report_fields[0]) == width:
        return little[0].view(np.uint8).reshape(len(little[0]), width)  # the bytes stay as they are
    rows = np.zeros(len(little[0]), dtype=row_of(mechanism.report_fields, width))
    for field, column in zip(mechanism.report_fields, little, strict=True):
        rows[field.name] = column.view(f"V{field_bytes(field)}").reshape(-1)
    return rows.view(np.uint8).reshape(len(rows), width)


def unpacked(mechanism: Mechanism[Any], payload: Bytes) -> Any:
    """Return one mechanism's batch of reports from rows of bytes; bytes after the fields are ignored."""
    rows = np.ascontiguousarray(payload).view(row_of(mechanism.report_fields, payload.shape[1]))[:, 0]
    columns: list[NDArray[Any]] = []
    for field in mechanism.report_fields:
        little = np.ascontiguousarray(rows[field.name]).view(np.dtype(field.dtype).newbyteorder("<"))
        column = little.astype(field.dtype, copy=False)
        columns.append(column if field.width is None else column.reshape(-1, field.width))
    return mechanism.report_type(*columns)


def as_items(payload: Bytes) -> NDArray[Any]:
    """Return a view of rows of bytes as one item each, so that a row is moved as a whole."""
    return payload.view(f"V{payload.shape[1]}")[:, 0]


def as_cells(payload: Bytes) -> NDArray[Any]:
    """Return a view of contiguous rows of bytes as rows of the widest integers that divide the rows."""
    width = payload.shape[1]
    return payload.view(np.dtype(f"u{math.gcd(width, 8)}"))


def set_bits(rows: Bytes) -> Bytes:
    """Return the bits uint8[width] that are set in any of these rows uint8[n, width]."""
    # Many rows are combined as one long row, because numpy combines many of its bytes at once.
    whole = len(rows) // FOLDED * FOLDED
    folded = np.bitwise_or.reduce(rows[:whole].reshape(-1, FOLDED * rows.shape[1]), axis=0).reshape(FOLDED, -1)
    found: Bytes = np.bitwise_or.reduce(np.concatenate([folded, rows[whole:]]), axis=0)
    return found


@dataclass(frozen=True)
class Column(ABC):
    """Column that holds the report of each contributor's sampled attribute.

    Parameters
    ----------
    oracles : tuple of LinearOracle
        Oracle of each attribute.
    """

    oracles: tuple[LinearOracle[Any], ...]

    @property
    @abstractmethod
    def field(self) -> ReportField:
        """Storage of the column."""

    @abstractmethod
    def rows(self, attribute: int, reports: Any) -> NDArray[Any]:
        """Return reports of an attribute's oracle as items of the column that `items` returns."""

    @abstractmethod
    def items(self, body: NDArray[Any]) -> NDArray[Any]:
        """Return a view of the column with one item per report."""

    @abstractmethod
    def reports(self, attribute: int, body: NDArray[Any]) -> Any:
        """Return rows that are about an attribute as reports of its oracle."""

    @abstractmethod
    def _checked(self, body: ArrayLike) -> NDArray[Any]: ...

    @abstractmethod
    def _states(self, attributes: Codes, body: NDArray[Any]) -> NDArray[np.int64]:
        """Return the states of all oracles in order, followed by each oracle's number of reports."""

    def empty(self, n: int) -> NDArray[Any]:
        """Return n uninitialised rows."""
        return np.empty(n if self.field.width is None else (n, self.field.width), dtype=self.field.dtype)

    def attributes(self, reports: Any) -> Codes:
        """Return the checked sampled attributes from a pair (attributes, column)."""
        if not isinstance(reports, tuple) or len(reports) != 2:
            raise InvalidReportError(
                f"reports must be a pair (attribute, {self.field.name}), got an object of the type "
                f"{type(reports).__name__}"
            )
        return checked_report_codes(reports[0], len(self.oracles), "attribute")

    def tally(self, reports: Any) -> tuple[NDArray[np.int64], int]:
        """Return the states of all oracles followed by each oracle's number of reports, and the number of all reports.

        Parameters
        ----------
        reports : (int[n], column)
            Sampled attributes and their reports.

        Raises
        ------
        InvalidReportError
            If a report cannot have come from these oracles. The message names its row and attribute.
        """
        attributes = self.attributes(reports)
        body = self._checked(reports[1])
        if len(attributes) != len(body):
            raise InvalidReportError(
                f"attributes and {self.field.name} must have one entry for each report, but attributes has "
                f"{len(attributes)} entries and {self.field.name} has {len(body)} entries"
            )
        check_counters(sum(oracle.state_size for oracle in self.oracles))
        return self._states(attributes, body), len(body)

    @property
    def state_size(self) -> int:
        """Number of counters: the states of all oracles, then one counter per oracle for its reports."""
        return sum(oracle.state_size for oracle in self.oracles) + len(self.oracles)

    def check_state(self, counts: Counts, n: int) -> None:
        """Raise DamagedStateError unless n reports can have this state."""
        states, reported = counts[: -len(self.oracles)], counts[-len(self.oracles) :]
        counts_sum_to(reported, n, len(states))
        check_parts(self.oracles, states, reported)

    def parts(self, counts: Counts) -> list[tuple[Counts, int]]:
        """Return the state of every oracle, and the number of its reports."""
        places = stretches([oracle.state_size for oracle in self.oracles])
        numbers = counts[-len(self.oracles) :].tolist()
        return [(counts[place], n) for place, n in zip(places, numbers, strict=True)]

    def joined(self, parts: Sequence[Aggregate]) -> NDArray[np.int64]:
        """Return the joined state, which `parts` separates again."""
        return np.concatenate([*(part.counts for part in parts), [part.n for part in parts]]).astype(np.int64)

    def outputs(self) -> tuple[Codes, NDArray[Any]]:
        """Return every possible report once, ordered by oracle, as the oracle's number and the column's item."""
        bodies = []
        for j, oracle in enumerate(self.oracles):
            rows = self.rows(j, oracle.outputs())
            bodies.append(self.empty(len(rows)))
            self.items(bodies[-1])[:] = rows
        attributes = np.repeat(np.arange(len(bodies)), [len(body) for body in bodies])
        return attributes.astype(code_dtype(len(bodies))), np.concatenate(bodies)


@final
class CodeColumn(Column):
    """Column of codes in the dtype of the largest domain, for oracles that each report one code."""

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        return np.array([oracle.k for oracle in self.oracles], dtype=np.int64)

    @cached_property
    def field(self) -> ReportField:
        return ReportField("value", code_dtype(int(self._sizes.max())).name)

    def rows(self, attribute: int, reports: Any) -> NDArray[Any]:  # noqa: ARG002
        found: NDArray[Any] = reports
        return found

    def items(self, body: NDArray[Any]) -> NDArray[Any]:
        return body

    def reports(self, attribute: int, body: NDArray[Any]) -> NDArray[Any]:  # noqa: ARG002
        return body

    def _checked(self, body: ArrayLike) -> Codes:
        return checked_report_codes(body, int(self._sizes.max()))

    def _states(self, attributes: Codes, body: NDArray[Any]) -> NDArray[np.int64]:
        counts, wrong = histograms(attributes, body, self._sizes)
        if wrong >= 0:
            j = int(attributes[wrong])
            raise InvalidReportError(
                f"report must be in 0..{self._sizes[j] - 1}, got report={int(body[wrong])} in row {wrong + 1}, "
                f"attribute {j}"
            )
        return np.concatenate([counts, np.add.reduceat(counts, starts_of(self._sizes.tolist()))])


@final
@dataclass(frozen=True)
class ByteColumn(Column):
    """Column of bytes with the width of the longest report: the fields, little-endian, then zeros."""

    name: str

    @cached_property
    def field(self) -> ReportField:
        return ReportField(self.name, "uint8", max(sum(map(field_bytes, one.report_fields)) for one in self.oracles))

    @property
    def _width(self) -> int:
        return self.field.width or 1

    def rows(self, attribute: int, reports: Any) -> NDArray[Any]:
        whole = self._whole[attribute]
        if whole is None:
            return as_items(packed(self.oracles[attribute], reports, self._width))
        return np.ascontiguousarray(reports, dtype=whole).reshape(-1).view(self._item)  # the bytes stay as they are

    @cached_property
    def _item(self) -> np.dtype[Any]:
        return np.dtype(f"V{self._width}")

    @cached_property
    def _whole(self) -> tuple[np.dtype[Any] | None, ...]:
        """Return each oracle's dtype if it has one field as wide as the column, else None."""
        fields = [one.report_fields[0] for one in self.oracles]
        return tuple(
            np.dtype(field.dtype).newbyteorder("<") if field_bytes(field) == self._width else None for field in fields
        )

    def items(self, body: NDArray[Any]) -> NDArray[Any]:
        return as_items(body)

    def reports(self, attribute: int, body: NDArray[Any]) -> Any:
        return unpacked(self.oracles[attribute], body)

    def _checked(self, body: ArrayLike) -> Bytes:
        return np.ascontiguousarray(
            checked_rows_of_bytes(body, self._width, f"the field {self.name} must be an array of bytes")
        )

    def _states(self, attributes: Codes, body: NDArray[Any]) -> NDArray[np.int64]:
        cells = as_cells(body)
        if cells.shape[1] == 1 and cells.itemsize <= 4 and all(one.uncounted is not None for one in self.oracles):
            return self._counted(attributes, cells[:, 0], body)
        return self._grouped(attributes, body)

    def _counted(self, attributes: Codes, cells: NDArray[Any], body: Bytes) -> NDArray[np.int64]:
        """Return the result of `_grouped` if each report is one code and each state the histogram of its codes."""
        sizes, impossible = self._counters
        counts, wrong = histograms(attributes, cells, sizes)
        # A set byte that must be zero makes a cell too large, because the state has a counter for every code of its own
        # bytes.
        if wrong >= 0 or counts[impossible].any():
            raise self._first_error(attributes, body, 0)
        return np.concatenate([counts, np.add.reduceat(counts, starts_of(sizes.tolist()))])

    @cached_property
    def _counters(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of counters of each oracle, and the positions of counters that no report uses."""
        sizes = [oracle.state_size for oracle in self.oracles]
        pairs = zip(stretches(sizes), self.oracles, strict=True)
        never = [np.arange(place.start, place.stop)[oracle.uncounted] for place, oracle in pairs]
        return np.array(sizes, dtype=np.int64), np.concatenate(never)

    def _grouped(self, attributes: Codes, body: Bytes) -> NDArray[np.int64]:
        """Return the states of all oracles, then their numbers of reports, after sorting reports by attribute."""
        d = len(self.oracles)
        states = [np.zeros(oracle.state_size, dtype=np.int64) for oracle in self.oracles]
        # An oracle returns a fresh state per call, which should not be longer than the reports that go into it.
        step = max(GROUPED_BYTES // self._width, d * max(oracle.state_size for oracle in self.oracles))
        grouped = np.empty((min(step, len(body)), self._width), dtype=np.uint8)
        reported = np.zeros(d, dtype=np.int64)
        for part in row_blocks(len(body), step):
            sizes = count_codes(attributes[part], d)
            places = stretches(sizes.tolist())
            cells, sorted_cells = as_cells(body[part]), as_cells(grouped)
            if cells.shape[1] == 1:
                _group_cells(attributes[part], cells[:, 0], starts_of(sizes.tolist()), sorted_cells[:, 0])
            else:
                _group(attributes[part], cells, starts_of(sizes.tolist()), sorted_cells)
            reported += sizes
            for j in np.flatnonzero(sizes).tolist():
                try:
                    states[j] += self._state(j, grouped[places[j]])
                except InvalidReportError:
                    raise self._first_error(attributes[part], body[part], part.start) from None
        return np.concatenate([*states, reported])

    def _state(self, attribute: int, group: Bytes) -> NDArray[Any]:
        oracle = self.oracles[attribute]
        used = sum(map(field_bytes, oracle.report_fields))
        if set_bits(group)[used:].any():
            last = group.shape[1] - 1
            unused = f"byte {used}" if used == last else f"the bytes {used}..{last}"
            raise InvalidReportError(f"{unused} of {self.name} must be zero, got another value in row 1")
        # The sum of all parts is checked once, as the state that it is.
        return oracle._tally(unpacked(oracle, group))[0]

    def _first_error(self, attributes: Codes, body: Bytes, start: int) -> InvalidReportError:
        """Return the error of the first row that its oracle refuses; `start` rows were counted before these rows."""
        found: list[tuple[int, int, str]] = []
        for j in range(len(self.oracles)):
            rows = np.flatnonzero(attributes == j)
            if len(rows) and self._refusal(j, body[rows]):
                # All rows before `good` are valid, and one of those before `bad` is not.
                good, bad = 0, len(rows)
                while bad - good > 1:
                    middle = (good + bad) // 2
                    good, bad = (good, middle) if self._refusal(j, body[rows[good:middle]]) else (middle, bad)
                found.append((int(rows[good]), j, self._refusal(j, body[rows[good : good + 1]])))
        row, j, message = min(found)
        return InvalidReportError(message.replace("in row 1", f"in row {start + row + 1}, attribute {j}"))

    def _refusal(self, attribute: int, group: Bytes) -> str:
        try:
            self._state(attribute, group)
        except InvalidReportError as error:
            return str(error)
        return ""


class ColumnRecords(RecordMechanism[Reports]):
    """A mechanism whose report names the drawn oracle, out of several, and contains this oracle's report.

    Attributes
    ----------
    drawn : str
        Name in reports of the field for the drawn oracle.
    """

    drawn: ClassVar[str]

    @property
    @abstractmethod
    def column(self) -> Column:
        """Column with the oracles and the places of their reports."""

    def _tally(self, reports: Any) -> tuple[NDArray[np.int64], int]:
        return self.column.tally(reports)

    @property
    def state_size(self) -> int:
        """Number of counters: the states of all oracles, then one counter per oracle for its reports."""
        return self.column.state_size

    def check_state(self, counts: Counts, n: int) -> None:
        self.column.check_state(counts, n)

    def outputs(self) -> Reports:
        self._check_channel(1, sum(oracle.k for oracle in self.column.oracles))
        found: Reports = self.report_type(*self.column.outputs())
        return found

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        """Fields for the drawn oracle and for its report."""
        return ReportField(self.drawn, code_dtype(len(self.column.oracles)).name), self.column.field


def histograms(attributes: Codes, codes: Codes, sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the count of each code of each attribute, and the first row that is out of range, or -1."""
    total = int(sizes.sum())
    tables = np.zeros((4 if total <= FOUR_TABLES else 1, total), dtype=np.int64)
    starts = starts_of(sizes.tolist()).astype(np.uint64)
    wrong = _tally_codes(attributes, codes, starts, sizes.astype(np.uint64), tables)
    counts: NDArray[np.int64] = tables.sum(axis=0)
    return counts, wrong


@kernel
def _tally_codes(attributes: Codes, values: Codes, starts: Words, sizes: Words, tables: NDArray[np.int64]) -> int:
    # This adds values[n] to the counts of their attributes. Several tables take turns, so that equal neighbours do not
    # wait for each other's increment. It returns the first row whose value is out of range, or -1. Unsigned indices
    # need no check for negative values.
    last = np.uint64(tables.shape[0] - 1)
    for i in range(attributes.shape[0]):
        row = np.uint64(i)
        j, value = np.uint64(attributes[row]), np.uint64(values[row])
        if value >= sizes[j]:
            return i
        tables[row & last, starts[j] + value] += 1
    return -1


@kernel
def _group(attributes: Codes, rows: NDArray[Any], free: NDArray[np.int64], grouped: NDArray[Any]) -> None:
    # This is a stable counting sort by attribute. free[j] is where the next row of attribute j goes. Unsigned indices
    # need no check for negative values.
    for i in range(attributes.shape[0]):
        row, j = np.uint64(i), np.uint64(attributes[i])
        place = np.uint64(free[j])
        free[j] += 1
        for number in range(rows.shape[1]):
            cell = np.uint64(number)
            grouped[place, cell] = rows[row, cell]


@kernel
def _group_cells(attributes: Codes, cells: NDArray[Any], free: NDArray[np.int64], grouped: NDArray[Any]) -> None:
    # This does the same as `_group` if a row is one cell.
    for i in range(attributes.shape[0]):
        row, j = np.uint64(i), np.uint64(attributes[i])
        place = np.uint64(free[j])
        free[j] += 1
        grouped[place] = cells[row]
