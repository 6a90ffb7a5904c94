"""Bounds of the columns of reports, at and next to each bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from deniable.errors import InvalidReportError
from deniable.oracles.sketch.families._columns import checked_columns, columns_of, valid_column_rows


class Pair(NamedTuple):
    w: object
    value: object


BOUNDS = [(1, 5), (0, 2)]


def test_both_bounds_are_inside() -> None:
    found = checked_columns(Pair([1, 5, 3], [0, 2, 1]), Pair, BOUNDS)
    assert isinstance(found, Pair)
    assert [np.asarray(column).tolist() for column in found] == [[1, 5, 3], [0, 2, 1]]
    assert valid_column_rows(Pair([1, 5, 3], [0, 2, 1]), Pair, BOUNDS).tolist() == [True] * 3


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (Pair([1, 0, 0], [0, 0, 0]), r"^w must be in 1\.\.5, got w=0 in row 2$"),
        (Pair([1, 6, 3], [0, 0, 0]), r"^w must be in 0\.\.5, got w=6 in row 2$"),
        (Pair([1, 1], [0, 3]), r"^value must be in 0\.\.2, got value=3 in row 2$"),
        (Pair([1, 1], [0]), "^w and value must have the same length, got the lengths 2, 1$"),
        (Pair([], [0]), "^w and value must have the same length, got the lengths 0, 1$"),
        (([1], [0], [0]), r"^reports must be Pair\(w, value\), got an object of the type tuple$"),
        ([[1], [0]], r"^reports must be Pair\(w, value\), got an object of the type list$"),
    ],
)
def test_beside_them_a_report_is_refused(reports: object, message: str) -> None:
    with pytest.raises(InvalidReportError, match=message):
        checked_columns(reports, Pair, BOUNDS)


def test_a_batch_without_reports_is_valid() -> None:
    empty = Pair(np.empty(0, np.int64), np.empty(0, np.int64))
    assert [len(np.asarray(column)) for column in checked_columns(empty, Pair, BOUNDS)] == [0, 0]
    assert valid_column_rows(empty, Pair, BOUNDS).tolist() == []


def test_every_row_is_judged_by_both_columns() -> None:
    reports = Pair(np.array([0, 1, 5, 6, 1, 1, 0]), np.array([0, 0, 2, 2, -1, 3, 3]))
    assert valid_column_rows(reports, Pair, BOUNDS).tolist() == [False, True, True, False, False, False, False]


@pytest.mark.parametrize("reports", [Pair([1, 1], [0]), ([1], [0], [0]), [[1], [0]]])
def test_a_malformed_batch_has_no_rows(reports: object) -> None:
    with pytest.raises(InvalidReportError, match=r"must be Pair|the same length"):
        valid_column_rows(reports, Pair, BOUNDS)


def test_columns_of_anything_but_integers_are_malformed() -> None:
    """This is so even if all rows are within the bounds."""
    with pytest.raises(InvalidReportError, match="must have an integer dtype, got dtype=float64"):
        valid_column_rows(Pair(np.array([1, 2]), np.array([0.5, 1.0])), Pair, BOUNDS)
    with pytest.raises(InvalidReportError, match=r"must (be|have)"):
        valid_column_rows(Pair(np.array([[1], [2]]), np.array([0, 1])), Pair, BOUNDS)


def test_one_integer_is_one_column() -> None:
    reports = np.array([3, 4])
    assert columns_of(reports) == (reports,)
    assert columns_of(Pair(1, 2)) == Pair(1, 2)
