"""Answers from CSV files, Parquet files and workbooks, in batches, so that memory does not grow with the rows."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import DeniableError, FileFormatError, InvalidInputError
from deniable.files.formats.csv_files import SPELLED, UTF_8, CsvFile, checked_delimiter, found_delimiter
from deniable.files.formats.pages import check_pages, read_as_dictionaries, rows_at_a_time
from deniable.files.formats.workbooks import SUFFIXES, Workbook
from deniable.survey.decimals import HEAD_RECORDS, Decimals, NumberColumns
from deniable.survey.encoding import check_columns

Progress = Callable[[int, int | None], None]
"""Function that is called with (done, total) after every batch, in rows or bytes. total is None if it is not known."""

BATCH_ROWS = 1 << 16

_SUFFIXES = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t", ".txt": "\t"}
_FOREIGN = {
    b"PK\x03\x04": "a zip archive, or a spreadsheet with another name; unpack the archive, or save the sheet as CSV",
    b"ARROW1": "an Arrow file; save the table as Parquet or CSV",
}


class AnswerFile(Protocol):
    """Reader of a kind of file for `AnswerReader`."""

    columns: tuple[str, ...]
    total: int
    unit: str
    records: int | None

    @property
    def encoding(self) -> str:
        """The encoding of its text."""

    def head(self) -> list[list[str]]:
        """Return the first records as texts, as many as are needed to see how numbers are written."""

    def position(self) -> int:
        """Return how much has been read, in `unit`, of `total`."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield record batches of these columns, once."""

    def close(self) -> None:
        """Close the file."""


class AnswerReader:
    """An open file of answers, which is a context manager and an iterator over record batches.

    `open_answers` returns it.

    Attributes
    ----------
    columns : tuple of str
        All column names of the file.
    rows : int
        Number of records read so far.
    total : int
        Size of the file in `unit`.
    unit : {"rows", "bytes"}
        Unit of `done` and `total`: records for Parquet, bytes for CSV.
    records : int or None
        Number of records, if it is known before they are read.
    """

    def __init__(
        self, path: Path, file: AnswerFile, columns: Sequence[str] | None, decimals: Decimals | None = None
    ) -> None:
        self.path = path
        self.columns, self.total, self.unit, self.records = file.columns, file.total, file.unit, file.records
        self.rows = 0
        self._file = file
        self._wanted = tuple(self.columns if columns is None else columns)
        self._decimals = decimals
        try:
            check_columns(list(self.columns), self._wanted, str(path))
            if decimals is not None:
                cells = zip_longest(*file.head()[:HEAD_RECORDS])
                decimals.look(dict(zip(self.columns, cells, strict=False)))
        except DeniableError:
            file.close()
            raise

    @property
    def done(self) -> int:
        """Return how much has been read, in `unit`; for CSV up to 32 MiB more than the records so far."""
        return self._file.position()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Unusual properties of the file: its encoding, and decimal commas; known after the last row."""
        encoded = (
            []
            if self._file.encoding == UTF_8
            else [f"{self.path} is {SPELLED.get(self._file.encoding, self._file.encoding)} text"]
        )
        found = () if self._decimals is None else self._decimals.remarks
        return (*encoded, *(f"{self.path}: {remark}" for remark in found))

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield record batches.

        Raises
        ------
        InvalidInputError
            If a record is ragged, which the message names, or the file contains no record.
        InvalidParameterError
            If a number can be read in two ways and no option decides; the message names its row.
        FileFormatError
            If the file is damaged or its encoding is not recognised; the message names the place.
        """
        for batch in self._file.batches(self._wanted):
            if batch.num_rows:
                self.rows += batch.num_rows
                yield batch if self._decimals is None else self._decimals.convert(batch, self.rows - batch.num_rows + 1)
        if self.rows == 0:
            raise InvalidInputError(f"{self.path} must contain at least one record, but it contains no answers")

    def __enter__(self) -> AnswerReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()


def with_progress(reader: AnswerReader, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """Yield a reader's batches, reporting each before it is used."""
    for batch in reader:
        if progress is not None:
            progress(reader.done, reader.total)
        yield batch


def open_answers(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    numbers: NumberColumns | None = None,
) -> AnswerReader:
    r"""Open a CSV or Parquet file or a workbook of answers, with one row for each contributor.

    CSV (``.csv``, ``.tsv`` or ``.txt``, also with gzip) is text with a header. Every cell is text. Line ends inside
    quotes belong to the cell, and a byte-order mark is ignored. UTF-8, UTF-16 and Windows-1252 are detected. In a file
    with one column, an empty line is a missing answer. Parquet and gzip are recognised by their content, whatever the
    name of the file. The delimiter of CSV is also detected. A delimiter fits if it divides each of the first records
    into the same number of cells, at least two. The comma (for ``.tsv`` the tab) is tried first, then the others of
    comma, semicolon, tab and bar. From a workbook (``.xlsx``, extra ``excel``) the first sheet is read.

    Parameters
    ----------
    path : path
        The file.
    columns : sequence of str, optional
        Columns to read, which must exist. By default all.
    delimiter : str, optional
        Delimiter of the cells of CSV, if it cannot be detected.
    decimal : {"point", "comma"}, optional
        Decimal mark, if the file leaves it open. Only with `numbers`.
    numbers : NumberColumns, optional
        Columns of numbers. Their cells are returned with a decimal point and without thousands separators, however the
        file writes them (`deniable.survey.decimals`). Cells of white space become empty. By default all cells are
        returned unchanged.

    Returns
    -------
    AnswerReader
        Reader to use in a ``with`` block and to iterate over once.

    Raises
    ------
    FileFormatError
        If the file does not exist, or files of its kind cannot be read.
    InvalidInputError
        If the file is empty, a column is missing, or a column name occurs twice.
    InvalidParameterError
        If the delimiter is not a single character, or not allowed in CSV. Also if numbers can be read in two ways and
        `decimal` is not given.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "answers.csv"
    >>> _ = path.write_text("smoker,age\nyes,31\nno,\n")
    >>> with open_answers(path, columns=["age"]) as reader:
    ...     [batch.to_pydict() for batch in reader]
    [{'age': ['31', '']}]
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except FileNotFoundError as error:
        raise FileFormatError(f"there is no file {path}") from error
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error.strerror or error}") from error
    if head.startswith(b"PAR1"):
        return AnswerReader(path, ParquetFile(path), columns, _decimals(path, numbers, decimal))
    if path.name.lower().endswith(SUFFIXES):
        return AnswerReader(path, Workbook(path), columns, _decimals(path, numbers, decimal))
    for magic, kind in _FOREIGN.items():
        if head.startswith(magic):
            raise FileFormatError(
                f"{path} must be a CSV file, a Parquet file or a workbook named *.xlsx, but this file is {kind}"
            )
    name = path.name.lower()
    usual = next((_SUFFIXES[suffix] for suffix in _SUFFIXES if name.endswith(suffix)), None)
    if name.endswith(".parquet"):
        raise FileFormatError(f"{path} is not a Parquet file, or the file is damaged")
    if usual is None:
        kinds = ", ".join((*_SUFFIXES, ".parquet", ".xlsx"))
        raise FileFormatError(f"cannot tell what kind of file {path} is: its name must end in one of {kinds}")
    compressed = head.startswith(b"\x1f\x8b")
    chosen = found_delimiter(path, usual, compressed) if delimiter is None else checked_delimiter(delimiter)
    return AnswerReader(
        path, CsvFile(path, chosen, compressed), columns, _decimals(path, numbers, decimal, points=chosen == ",")
    )


def _decimals(path: Path, numbers: NumberColumns | None, decimal: str | None, points: bool = True) -> Decimals | None:
    return None if numbers is None else Decimals(path, numbers, decimal, points)


class ParquetFile:
    """Parquet file that is read once from front to back.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns.
    total : int
        Number of records, the unit of `position`.
    """

    unit = "rows"
    encoding = UTF_8

    def __init__(self, path: Path) -> None:
        self.path = path
        with parquet_errors(path):
            self._file = open_parquet(path)
            self.columns = tuple(self._file.schema_arrow.names)
            self.total = int(self._file.metadata.num_rows)
        self.records: int | None = self.total
        self._rows = 0

    def head(self) -> list[list[str]]:
        """Return nothing: programs write these files, and say what is a number."""
        return []

    def position(self) -> int:
        """Return the number of records read so far."""
        return self._rows

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield record batches of these columns."""
        # Texts are read as they are in the file: each text once, with a number for every record. No text is made for
        # every record.
        with open_parquet(self.path, dictionaries=read_as_dictionaries(self._file, columns)) as file:
            for batch in parquet_batches(file, self.path, BATCH_ROWS, columns):
                self._rows += batch.num_rows
                yield batch

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def open_parquet(path: Path, dictionaries: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a Parquet file to be streamed, some columns as dictionaries; FileFormatError if it is not such a file."""
    with parquet_errors(path):
        # Without a buffer the reader loads whole row groups, and with pre_buffer the whole file.
        return pq.ParquetFile(
            path,
            buffer_size=1 << 18,
            pre_buffer=False,
            page_checksum_verification=True,
            read_dictionary=list(dictionaries),
        )


def parquet_batches(
    file: pq.ParquetFile, path: Path, rows: int, columns: Sequence[str], most: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield batches with these columns and at most this many rows.

    Raises
    ------
    FileFormatError
        If the file is damaged, or its pages would become too large (`check_pages`). Nothing is unpacked before this
        check.
    """
    if not file.metadata.num_row_groups:
        return  # older readers look for the last row group
    with parquet_errors(path):
        check_pages(file, path, columns, most)
    batches = file.iter_batches(rows_at_a_time(file, columns, rows), columns=list(columns))
    while True:
        with parquet_errors(path):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch.select(list(columns))


@contextlib.contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turn what pyarrow says about an unreadable Parquet file into a FileFormatError."""
    try:
        yield
    except DeniableError:
        raise
    except FileNotFoundError as error:
        raise FileFormatError(f"there is no file {path}") from error
    except (pa.ArrowException, OSError, LookupError, ValueError, OverflowError):
        # The cause is not chained, because its message may quote the content.
        raise FileFormatError(f"{path} is not a Parquet file, or the file is damaged") from None
