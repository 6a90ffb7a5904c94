"""Add up report files in DuckDB by a ``GROUP BY``; each file must have a single column of codes.

If a report is one code, and the collector's state counts how often each code was reported, the state is a histogram in
the sense of every database. DuckDB reads the report files itself, from any place where it reads Parquet, with all its
threads. DuckDB is never imported here, because the user provides the connection.

Ids of rows are checked, and no batch is added twice. Digests of files are trusted here, but `deniable aggregate`
computes them again. Use `deniable aggregate` for files that other people could have changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.core.aggregate import Aggregate
from deniable.errors import (
    DuplicateReportsError,
    EmptyAggregateError,
    FileFormatError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
    not_available,
    quoted,
)
from deniable.files.formats.parquet_metadata import KEY, REPORTS
from deniable.files.formats.reports import ID_COLUMN
from deniable.oracles.oracle import is_oracle
from deniable.survey.collection import Collection, short_id

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FILES = "SELECT file_name FROM parquet_file_metadata($1)"
_STATED = "SELECT file_name, value FROM parquet_kv_metadata($1) WHERE key = $2"
_COUNTED = f'SELECT {ID_COLUMN}, "{{}}", count(*) FROM read_parquet($1) GROUP BY ALL'


def aggregate(connection: DuckDBPyConnection, files: str | Sequence[str], collection: Collection) -> Aggregate:
    """Collector: add up report files whose reports are single codes, in DuckDB.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Connection from ``duckdb.connect()``. Nothing is written to its database.
    files : str or sequence of str
        Report files in DuckDB's notation: paths, patterns, or URLs of a loaded extension. At least one.
    collection : Collection
        Collection to which the reports must belong. Its mechanism must count every possible report, as GRR and
        SquareWave do.

    Returns
    -------
    Aggregate
        The same aggregate as from `deniable aggregate` with the same files.

    Raises
    ------
    InvalidParameterError
        If the mechanism's state is not a histogram of its reports, or no file is given.
    FileFormatError
        If a file is not a report file, or DuckDB cannot read the files. DuckDB's own message is not shown, because it
        may quote reports.
    MismatchError
        If a file or a row belongs to another collection.
    DuplicateReportsError
        If two files hold the same batch of reports.
    InvalidReportError
        If the mechanism cannot have produced a report.
    EmptyAggregateError
        If there are no reports.
    """
    mechanism: Any = collection.mechanism
    if not (is_oracle(mechanism) and mechanism.state_is_histogram):
        raise not_available(
            "adding up in DuckDB", mechanism.name, "use `deniable aggregate`, which works with every mechanism"
        )
    names = [files] if isinstance(files, str) else list(files)
    if not names:
        raise InvalidParameterError("files must name at least one file, got none")
    (field,) = mechanism.report_fields
    batches = _batches(connection, names, collection)
    counts = np.zeros(mechanism.state_size, dtype=np.int64)
    for stated, value, count in _asked(connection, _COUNTED.format(field.name), names):
        if stated != collection.id:
            raise MismatchError(
                f"{count} rows of the files belong to collection {short_id(str(stated or ''))}, not to "
                f"{short_id(collection.id)}"
            )
        if not isinstance(value, int) or not 0 <= value < len(counts):
            raise InvalidReportError(
                f"report field {quoted(field.name)} must be in 0..{len(counts) - 1} in every row, but {count} rows "
                "have another value"
            )
        counts[value] = count
    if not counts.any():
        raise EmptyAggregateError("the files must contain at least one report, but they contain none")
    return Aggregate(mechanism, counts, int(counts.sum()), collection.id, batches)


def _batches(connection: DuckDBPyConnection, names: list[str], collection: Collection) -> frozenset[str]:
    """Return the digests of all files, each once, as they state them."""
    stated = dict(_asked(connection, _STATED, names, KEY))
    digests: dict[str, str] = {}
    for (file,) in _asked(connection, _FILES, names):
        digest = REPORTS.stated({KEY: stated[file]} if file in stated else None, file, collection)["digest"]
        if digest in digests:
            raise DuplicateReportsError(
                f"{file} and {digests[digest]} contain the same batch of reports ({short_id(digest)}); leave out one "
                "of the two files"
            )
        digests[digest] = file
    return frozenset(digests)


def _asked(connection: DuckDBPyConnection, query: str, names: list[str], *further: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a query about these files."""
    try:
        rows: list[tuple[Any, ...]] = connection.execute(query, [names, *further]).fetchall()
    except Exception as error:  # DuckDB is not imported here, so its errors have no name
        kind = type(error).__name__
        raise FileFormatError(f"DuckDB cannot read {', '.join(names[:3])} as report files ({kind})") from None
    return rows
