"""Functions that split batches of reports into columns and check that a family can have produced them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import checked_report_codes
from deniable.errors import InvalidReportError

Bounds = Sequence[tuple[int, int]]
"""Smallest and largest value of every column."""


def columns_of(reports: Any) -> tuple[Any, ...]:
    """Return the columns of a batch of reports; a batch of integers is one column."""
    return reports if isinstance(reports, tuple) else (reports,)


def checked_columns(reports: Any, report_type: Any, bounds: Bounds) -> Any:
    """Return received, perhaps hostile, reports as contiguous arrays, with column j within both bounds[j] inclusive.

    It raises InvalidReportError for other reports. The fields of the NamedTuple `report_type` name the columns.
    """
    _check_shape(reports, report_type)
    columns = []
    for column, (low, high), name in zip(reports, bounds, report_type._fields, strict=True):
        checked = checked_report_codes(column, high + 1, name)
        if low > 0 and len(checked) and int(checked.min()) < low:
            row = int((checked < low).argmax())
            raise InvalidReportError(
                f"{name} must be in {low}..{high}, got {name}={int(checked[row])} in row {row + 1}"
            )
        columns.append(checked)
    _check_lengths(columns, report_type)
    return report_type(*columns)


def valid_column_rows(reports: Any, report_type: Any, bounds: Bounds) -> NDArray[np.bool_]:
    """Return bool[n], true for rows in which every column is within its bounds; raise if the batch is malformed."""
    _check_shape(reports, report_type)
    arrays = [np.asarray(column) for column in reports]
    # These are the ordinary checks of dtype and shape, on no rows.
    checked_columns(tuple(array[:0] for array in arrays), report_type, bounds)
    _check_lengths(arrays, report_type)
    valid = np.ones(len(arrays[0]), dtype=np.bool_)
    for array, (low, high) in zip(arrays, bounds, strict=True):
        valid &= (array >= low) & (array <= high)
    return valid


def _check_shape(reports: Any, report_type: Any) -> None:
    fields = report_type._fields
    if not isinstance(reports, tuple) or len(reports) != len(fields):
        expected = f"{report_type.__name__}({', '.join(fields)})"
        raise InvalidReportError(f"reports must be {expected}, got an object of the type {type(reports).__name__}")


def _check_lengths(columns: Sequence[NDArray[Any]], report_type: Any) -> None:
    if len({len(column) for column in columns}) != 1:
        names = report_type._fields
        lengths = ", ".join(str(len(column)) for column in columns)
        raise InvalidReportError(
            f"{', '.join(names[:-1])} and {names[-1]} must have the same length, got the lengths {lengths}"
        )
