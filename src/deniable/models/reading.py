"""Rows of a model, which join reports, plain columns and weights."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.checks import code_dtype
from deniable.core.mechanism import Mechanism
from deniable.errors import InvalidInputError, InvalidParameterError, MismatchError, NotIdentifiedError, quoted
from deniable.files import ReportReader, open_answers
from deniable.models.formulas import formulaic
from deniable.models.row_laws import Floats
from deniable.records.pairs import pair_counts
from deniable.survey.collection import Collection
from deniable.survey.decimals import NumberColumns
from deniable.survey.encoding import DECIMAL

if TYPE_CHECKING:
    import pandas


Missing = Literal["category", "drop", "refuse"]
"""Treatment of missing values."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Reports and the plain columns of the same rows.

    Parameters
    ----------
    reports : reports
        Reports in the mechanism's report type.
    table : pandas.DataFrame
        Plain columns, one row for each report.
    frequency : float64[n] or None
        Number of equal rows that each row stands for.
    blank : bool[n] or None
        True for rows of a table whose report is missing; another row's report is in its place.
    """

    reports: Any
    table: pandas.DataFrame
    frequency: Floats | None = None
    blank: NDArray[np.bool_] | None = None


def frame_of(people: Any) -> pandas.DataFrame:
    """Return a table from pandas, polars or pyarrow, a dict of columns, or a file, as a pandas DataFrame.

    In text files a column becomes numeric if all its cells are plain decimals or empty. Empty cells are missing.

    Raises
    ------
    InvalidParameterError
        If the table has another type.
    MissingExtraError
        If pandas is not installed.
    """
    formulaic()
    import pandas

    if isinstance(people, pandas.DataFrame):
        return people
    if isinstance(people, (str, os.PathLike)):
        with open_answers(people, numbers=NumberColumns()) as reader:
            table = pa.Table.from_batches(list(reader))
        return pandas.DataFrame({name: _typed(table.column(name)) for name in table.column_names})
    if isinstance(people, dict):
        # Columns are not copied, because a million rows of many columns would be held twice.
        return pandas.DataFrame(people, copy=False)
    try:
        found: pandas.DataFrame = people.to_pandas()
    except AttributeError:
        raise InvalidParameterError(
            f"people must be a data frame, a table or a path, got {type(people).__name__}"
        ) from None
    return found


def _typed(column: Any) -> Any:
    """Return a column of a file as numbers where it is numbers, else as texts with None for what is missing."""
    values = column.to_pylist()
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return values
    filled = [value for value in values if value not in (None, "")]
    if filled and all(DECIMAL.fullmatch(value) for value in filled):
        return [float(value) if value not in (None, "") else None for value in values]
    return [value if value not in (None, "") else None for value in values]


def reports_of(collection: Collection, reports: Any) -> tuple[Any, pandas.DataFrame | None]:
    """Return reports in the mechanism's type, and the table that contained them, if there was one.

    Parameters
    ----------
    collection : Collection
        Collection that the reports belong to.
    reports : reports, path, or table
        Reports as the mechanism returns them, a report file, a pandas column of codes or of reported labels, or a table
        with a column for each of the report's fields.
    """
    if isinstance(reports, (str, os.PathLike)):
        reader = ReportReader(reports, collection)
        batches = list(reader)
        fields = collection.mechanism.report_fields
        if not batches:
            raise InvalidInputError(f"{reports} must contain at least one report, got none")
        columns = [
            np.concatenate(
                [batch if len(fields) == 1 and not isinstance(batch, tuple) else batch[i] for batch in batches]
            )
            for i in range(len(fields))
        ]
        return collection.mechanism.report_type(*columns), None
    if isinstance(reports, (np.ndarray, tuple, list)):
        return reports, None
    formulaic()
    import pandas

    if isinstance(reports, pandas.Series):
        return _from_column(collection, reports), None
    table = frame_of(reports)
    return _from_table(collection.mechanism, table), table


def _from_column(collection: Collection, column: pandas.Series) -> Any:
    """Return one column as reports: codes, or for one question whose reports are answers also their labels."""
    if column.dtype.kind in "iu":
        return column.to_numpy()
    attributes, fields = collection.schema.columns, collection.mechanism.report_fields
    if len(attributes) > 1 or len(fields) > 1 or fields[0].width is not None:
        raise InvalidInputError(f"reports must be a table with the columns {', '.join(one.name for one in fields)}")
    return attributes[0].codes(column.astype(str)).astype(fields[0].dtype)


def _from_table(mechanism: Mechanism[Any], table: pandas.DataFrame) -> Any:
    columns = []
    for field in mechanism.report_fields:
        if field.name not in table.columns:
            raise InvalidInputError(
                f"reports must have the column {quoted(field.name)}, got {', '.join(table.columns)}"
            )
        column = table[field.name]
        array = np.stack(column.to_list()) if field.width is not None else column.to_numpy()
        columns.append(array.astype(field.dtype))
    return mechanism.report_type(*columns)


def report_count(reports: Any) -> int:
    """Return the number of reports."""
    return len(np.asarray(reports[0] if isinstance(reports, tuple) else reports))


def some_reports(reports: Any, rows: NDArray[Any], mechanism: Mechanism[Any]) -> Any:
    """Return some of the reports, in the order of these rows."""
    columns = reports if isinstance(reports, tuple) else (reports,)
    return mechanism.report_type(*(np.asarray(column)[rows] for column in columns))


def rows_of(collection: Collection, reports: Any, people: Any, key: str | None) -> Rows:
    """Return reports and plain columns, matched row by row.

    Raises
    ------
    MismatchError
        If the numbers of rows differ, or a key is not unique or not in both.
    """
    if isinstance(reports, Aggregate):
        raise InvalidParameterError(
            "people cannot be given together with an aggregate: give reports row by row, or leave out people to fit "
            "a ~ b to the aggregate"
        )
    path = Path(reports) if isinstance(reports, (str, os.PathLike)) else None
    reports, blank = _filled(collection, reports)
    found, own = reports_of(collection, reports)
    n = report_count(found)
    if people is None:
        import pandas

        return Rows(found, pandas.DataFrame(index=range(n)), blank=blank)
    table = frame_of(people).reset_index(drop=True)
    if key is not None:
        keys = own[key].tolist() if own is not None and key in own.columns else _keys(path, key)
        return _matched(collection, found, keys, table, key, blank)
    if len(table) != n:
        raise MismatchError(
            f"there are {n:,} reports, but the table has {len(table):,} rows; give one row for each report, in the "
            "same order, or give as key the name of the column that matches reports with rows"
        )
    return Rows(found, table, blank=blank)


def _filled(collection: Collection, reports: Any) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return columns of reports with the row before in place of what is missing, and which rows these are."""
    if isinstance(reports, (str, os.PathLike, np.ndarray, tuple, list)):
        return reports, None
    formulaic()
    import pandas

    if not isinstance(reports, pandas.Series):
        reports = frame_of(reports)
        own = [field.name for field in collection.mechanism.report_fields if field.name in reports.columns]
        blank = reports[own].isna().any(axis=1).to_numpy(dtype=np.bool_)
    else:
        blank = reports.isna().to_numpy(dtype=np.bool_)
    if not blank.any():
        return reports, None
    if blank.all():
        raise InvalidInputError(
            "at least one row must have a report, but all reports are missing; check the column of reports"
        )
    filled = reports.ffill().bfill()
    return filled.astype(np.int64) if isinstance(filled, pandas.Series) and filled.dtype.kind == "f" else filled, blank


def _keys(path: Path | None, key: str) -> list[Any]:
    if path is None:
        raise InvalidParameterError(
            f"key must name a column of the reports, got key={quoted(key)}: these reports have no columns. Give the "
            "reports as a table or a path"
        )
    import pyarrow.parquet as pq

    if key not in pq.read_schema(path).names:
        raise MismatchError(
            f"{path} must have the column {quoted(key)}, because rows are matched by this column; add the column, or "
            "leave out key to match rows by their order"
        )
    keys: list[Any] = pq.read_table(path, columns=[key]).column(key).to_pylist()
    return keys


def _matched(
    collection: Collection, reports: Any, keys: Sequence[Any], table: Any, key: str, blank: NDArray[np.bool_] | None
) -> Rows:
    if key not in table.columns:
        raise MismatchError(
            f"the table must have the column {quoted(key)} to match its rows with the reports, got "
            f"{', '.join(map(str, table.columns))}"
        )
    theirs = table[key].tolist()
    for which, own in (("reports", keys), ("the table", theirs)):
        if len(set(own)) < len(own):
            raise MismatchError(
                f"{key} must be unique in {which}, but two rows have the same value and cannot be told apart; keep one "
                "of the two rows"
            )
    places = {value: place for place, value in enumerate(theirs)}
    kept = np.array([place for place, value in enumerate(keys) if value in places], dtype=np.int64)
    if not len(kept):
        raise MismatchError(f"the reports and the table must share some values of {key}, but they share no value")
    order = [places[keys[place]] for place in kept]
    own = some_reports(reports, kept, collection.mechanism)
    return Rows(own, table.iloc[order].reset_index(drop=True), blank=None if blank is None else blank[kept])


def complete(rows: Rows, columns: Sequence[str], missing: Missing, *extra: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Return which rows have a report and all their columns; raise if others exist and `missing` is "refuse".

    Raises
    ------
    InvalidInputError
        If rows are incomplete and `missing` is "refuse", or if no row is complete.
    """
    import pandas

    blank: dict[str, NDArray[np.bool_]] = {name: rows.table[name].isna().to_numpy() for name in columns}
    if rows.blank is not None:
        blank["the reports"] = rows.blank
    given = [np.asarray(pandas.isna(one)) for one in extra if one is not None]
    if given:
        blank["weights or clusters"] = np.logical_or.reduce(given)
    lost = np.zeros(len(rows.table), dtype=np.bool_)
    for own in blank.values():
        lost |= own
    if lost.all() and len(lost):
        raise InvalidInputError(
            "at least one row of the table must be complete in the columns of the formula, but every row has a "
            "missing value; check these columns"
        )
    if missing == "refuse" and lost.any():
        where = ", ".join(f"{int(own.sum()):,} in {name}" for name, own in blank.items() if own.any())
        raise InvalidInputError(
            f"every row must be complete, but {int(lost.sum()):,} of {len(lost):,} rows have missing values "
            f'({where}); pass missing="category" to leave these rows out',
            parameters=('missing="category"',),
        )
    return ~lost


def pairs_of(collection: Collection, aggregate: Aggregate, outcome: str, predictor: str) -> Rows:
    """Return the reported pairs of an aggregate as rows with frequency weights.

    Raises
    ------
    NotIdentifiedError
        If the aggregate does not count reported pairs.
    """
    import pandas

    collection.check(aggregate)
    mechanism: Any = collection.mechanism
    if not mechanism.counts_pairs:
        raise NotIdentifiedError(
            f"an aggregate of {mechanism.name} does not determine the likelihood of its reports; fit the reports "
            "themselves, or read the odds ratio of a cross table"
        )
    names = collection.schema.names
    i, j = names.index(outcome), names.index(predictor)
    counts = pair_counts(aggregate.counts, mechanism.sizes)
    table = counts[i, j] if i < j else counts[j, i].T
    a, b = np.nonzero(table)
    reports = np.zeros((len(a), len(names)), dtype=code_dtype(max(mechanism.sizes)))
    reports[:, i], reports[:, j] = a, b
    return Rows(reports, pandas.DataFrame(index=range(len(a))), table[a, b].astype(np.float64))
