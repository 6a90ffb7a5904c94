"""Reports of different oracles in one fixed-width column of bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.checks import Codes, check_counters, checked_report_codes
from deniable.errors import InvalidReportError
from deniable.mechanism import ReportField
from deniable.mechanisms.hash_families._columns import columns_of
from deniable.multi.best_oracle import Oracle

GROUPED_ROWS = 1 << 16
"""Reports that are grouped by sampled attribute at a time; more where an oracle's state is larger than that."""

Bytes = NDArray[np.uint8]


def field_bytes(field: ReportField) -> int:
    """Return how many bytes one report takes in a field."""
    return np.dtype(field.dtype).itemsize * (1 if field.width is None else field.width)


def report_bytes(oracle: Oracle) -> int:
    """Return how many bytes one report of an oracle takes: its fields one after the other."""
    return sum(map(field_bytes, oracle.report_fields))


def packed(oracle: Oracle, reports: Any, width: int) -> Bytes:
    """Return reports of one oracle as rows of bytes uint8[n, width]: its fields, little-endian, then zeros."""
    columns = columns_of(reports)
    result = np.zeros((len(columns[0]), width), dtype=np.uint8)
    start = 0
    for field, column in zip(oracle.report_fields, columns, strict=True):
        size = field_bytes(field)
        little = np.ascontiguousarray(column, dtype=np.dtype(field.dtype).newbyteorder("<"))
        result[:, start : start + size] = little.view(np.uint8).reshape(len(little), size)
        start += size
    return result


def unpacked(oracle: Oracle, payload: Bytes) -> Any:
    """Return the batch of one oracle's reports in rows of bytes; what follows them is not looked at."""
    columns: list[NDArray[Any]] = []
    start = 0
    for field in oracle.report_fields:
        size = field_bytes(field)
        little = np.ascontiguousarray(payload[:, start : start + size]).view(np.dtype(field.dtype).newbyteorder("<"))
        column = little.astype(field.dtype, copy=False)
        columns.append(column[:, 0] if field.width is None else column)
        start += size
    build: Callable[..., Any] = oracle.report_type
    return build(*columns)


def as_items(payload: Bytes) -> NDArray[Any]:
    """Return rows of bytes as one item each, which are moved as a whole; a view."""
    return payload.view(f"V{payload.shape[1]}")[:, 0]


def tally_payloads(
    oracles: Sequence[Oracle], reports: tuple[ArrayLike, ArrayLike], width: int
) -> tuple[NDArray[np.int64], int]:
    """Return the states of all oracles followed by the number of reports of each, and the number of reports.

    Parameters
    ----------
    oracles : sequence of Oracle
        One per attribute.
    reports : (int[n], uint8[n, width])
        The sampled attributes, and their payloads.
    width : int
        Bytes of a payload.

    Raises
    ------
    InvalidReportError
        If a report cannot have come from these oracles, naming its row and attribute.
    """
    if not isinstance(reports, tuple) or len(reports) != 2:
        raise InvalidReportError(f"reports must be a pair (attribute, payload), got {type(reports).__name__}")
    d = len(oracles)
    attributes = checked_report_codes(reports[0], d, "attribute")
    payload = _checked_payload(reports[1], width)
    if len(attributes) != len(payload):
        raise InvalidReportError(
            f"reports must have one payload per attribute, got {len(attributes)} and {len(payload)}"
        )
    check_counters(sum(oracle.state_size for oracle in oracles))
    states = [np.zeros(oracle.state_size, dtype=np.int64) for oracle in oracles]
    # An oracle returns a fresh state per call: it should not be longer than the reports that go into it.
    step = max(GROUPED_ROWS, d * max(oracle.state_size for oracle in oracles))
    for start in range(0, len(payload), step):
        part = slice(start, start + step)
        order = np.argsort(attributes[part], kind="stable")
        stops = np.bincount(attributes[part], minlength=d).cumsum()
        items = as_items(payload[part])
        for j, rows in enumerate(np.split(order, stops[:-1])):
            if len(rows):
                group = items[rows].view(np.uint8).reshape(len(rows), width)
                try:
                    states[j] += _state(oracles[j], group)
                except InvalidReportError:
                    raise _first_error(oracles, attributes[part], payload[part], start) from None
    reported = np.bincount(attributes, minlength=d).astype(np.int64)
    return np.concatenate([*states, reported]), len(payload)


def _checked_payload(payload: ArrayLike, width: int) -> Bytes:
    rows = np.asarray(payload)
    if rows.size == 0 and not isinstance(payload, np.ndarray):
        rows = np.empty((0, width), dtype=np.uint8)
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != width:
        raise InvalidReportError(
            f"payloads must be bytes, uint8 of shape (n, {width}), got dtype={rows.dtype}, shape={rows.shape}"
        )
    return np.ascontiguousarray(rows)


def _state(oracle: Oracle, group: Bytes) -> NDArray[Any]:
    used = report_bytes(oracle)
    if group[:, used:].any():
        raise InvalidReportError(f"payload bytes {used}..{group.shape[1] - 1} must be zero, got another in row 1")
    return oracle.aggregate(unpacked(oracle, group)).counts


def _first_error(oracles: Sequence[Oracle], attributes: Codes, payload: Bytes, start: int) -> InvalidReportError:
    """Return the error of the first row that its attribute's oracle refuses; `start` rows came before these."""
    found: list[tuple[int, int, str]] = []
    for j, oracle in enumerate(oracles):
        rows = np.flatnonzero(attributes == j)
        if len(rows) and _refusal(oracle, payload[rows]):
            # All rows before `good` are fine, one of those before `bad` is not.
            good, bad = 0, len(rows)
            while bad - good > 1:
                middle = (good + bad) // 2
                good, bad = (good, middle) if _refusal(oracle, payload[rows[good:middle]]) else (middle, bad)
            found.append((int(rows[good]), j, _refusal(oracle, payload[rows[good : good + 1]])))
    row, j, message = min(found)
    return InvalidReportError(message.replace("in row 1", f"in row {start + row + 1}, attribute {j}"))


def _refusal(oracle: Oracle, group: Bytes) -> str:
    try:
        _state(oracle, group)
    except InvalidReportError as error:
        return str(error)
    return ""
