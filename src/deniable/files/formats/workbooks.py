"""Answers from the first sheet of a spreadsheet (.xlsx), with every cell as the text that CSV would have.

The reader is openpyxl's (extra ``excel``). Its messages about a damaged file may quote cells, so they are never passed
on.
"""

from __future__ import annotations

import contextlib
import datetime
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from deniable.errors import DeniableError, FileFormatError, InvalidInputError, MissingExtraError
from deniable.survey.decimals import HEAD_RECORDS

BATCH_ROWS = 1 << 14

SUFFIXES = (".xlsx", ".xlsm")

MOST_UNPACKED, MOST_TIMES = 1 << 27, 100
"""Most bytes of an unpacked workbook, which is a zip archive, and the largest multiple of its packed size. The larger
limit applies. Sheets become about ten times as long."""

MOST_STYLES = 1 << 21
"""Most bytes of styles, which are read as a whole and become about 150 times as long."""


class Workbook:
    """First sheet of a workbook, with column names in its first line, that is read once from front to back.

    A line without any entry is not a record. A formula counts as the value that the spreadsheet stored with it. Whole
    numbers are written without a point, dates as 2026-05-01, and truth values as true and false.

    Parameters
    ----------
    path : path
        The file.

    Attributes
    ----------
    columns : tuple of str
        Names in the header.
    total : int
        Number of lines that the sheet claims to have, the unit of `position`.

    Raises
    ------
    MissingExtraError
        If openpyxl is not installed.
    FileFormatError
        If the file cannot be read.
    InvalidInputError
        If the sheet is empty.
    """

    unit = "rows"
    records: int | None = None
    encoding = "UTF-8"

    def __init__(self, path: Path) -> None:
        try:
            import openpyxl
        except ImportError as error:
            raise MissingExtraError(
                f'openpyxl must be installed to read {path}: pip install "deniable[excel]"; or save the sheet as CSV'
            ) from error
        self.path = path
        self._rows = 0
        self._ahead: list[list[str]] = []
        with contextlib.ExitStack() as opened:
            self._file = opened.enter_context(path.open("rb"))
            with self._readable():
                check_workbook_size(path, self._file)
                sheet = openpyxl.load_workbook(self._file, read_only=True, data_only=True).worksheets[0]
                # The file's statement about its size may be wrong. If the size is too small, lines would be cut off.
                self.total = int(sheet.max_row or 0)
                sheet.reset_dimensions()
                self._lines: Iterator[tuple[Any, ...]] = sheet.iter_rows(values_only=True)
            self.columns = tuple(next(self._records(), ()))
            if not self.columns:
                raise InvalidInputError(f"{path} has no line of column names: its first sheet is empty")
            opened.pop_all()

    def head(self) -> list[list[str]]:
        """Return the first records, which are given again by `batches`."""
        self._ahead += islice(self._records(), HEAD_RECORDS - len(self._ahead))
        return self._ahead

    def position(self) -> int:
        """Return the number of records read so far."""
        return self._rows

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield record batches of text columns."""
        places = [self.columns.index(name) for name in columns]
        pending: list[list[str]] = []
        for record in chain(self._ahead, self._records()):
            if len(record) > len(self.columns):
                raise InvalidInputError(
                    f"{self.path} must have {len(self.columns)} cells in every record, got {len(record)} in row "
                    f"{self._rows + len(pending) + 1}"
                )
            record += [""] * (len(self.columns) - len(record))
            pending.append([record[place] for place in places])
            if len(pending) == BATCH_ROWS:
                yield self._batch(columns, pending)
                pending = []
        if pending:
            yield self._batch(columns, pending)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _batch(self, columns: Sequence[str], records: list[list[str]]) -> pa.RecordBatch:
        self._rows += len(records)
        texts = zip(*records, strict=True)
        return pa.record_batch([pa.array(column, pa.string()) for column in texts], names=list(columns))

    def _records(self) -> Iterator[list[str]]:
        """Yield lines with an entry, without the empty cells at their ends."""
        while True:
            with self._readable():
                line = next(self._lines, None)
                if line is None:
                    return
                record = [cell_text(cell) for cell in line]
            while record and not record[-1]:
                record.pop()
            if record:
                yield record

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            with warnings.catch_warnings():
                # openpyxl warns about other parts of the file: styles, rules, pictures.
                warnings.simplefilter("ignore")
                yield
        except DeniableError:
            raise
        except Exception:
            # A foreign parser of an XML archive may raise anything, and its message may quote the content.
            raise FileFormatError(f"{self.path} is not a workbook (.xlsx), or the file is damaged or locked") from None


def check_workbook_size(path: Path, file: BinaryIO) -> None:
    """Raise FileFormatError if an archive becomes too large; no part becomes longer than the archive says.

    Raises
    ------
    FileFormatError
        If the archive would become larger than `MOST_UNPACKED` and `MOST_STYLES` allow.
    """
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
        styles = sum(part.file_size for part in archive.infolist() if part.filename.endswith("styles.xml"))
    most = max(MOST_UNPACKED, MOST_TIMES * path.stat().st_size)
    if unpacked > most:
        raise FileFormatError(
            f"{path} needs {unpacked >> 20:,} MiB when unpacked, but at most {most >> 20:,} MiB are allowed; save the "
            "sheet as CSV"
        )
    if styles > MOST_STYLES:
        raise FileFormatError(
            f"{path} must have at most {MOST_STYLES:,} bytes of styles, got {styles:,}; save the sheet as CSV"
        )


def cell_text(cell: Any) -> str:
    """Return a cell as the text that CSV would have."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        midnight = cell.time() == datetime.time()
        return cell.date().isoformat() if midnight else cell.isoformat(sep=" ")
    if isinstance(cell, (datetime.date, datetime.time)):
        return cell.isoformat()
    return str(cell)
