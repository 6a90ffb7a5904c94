"""CSV answers in batches: everything is text, and a file that ends in the middle of a cell is an error.

The parser is pyarrow's. It forgives a quote that is never closed, which would swallow the rest of a survey into one
cell. So a record that no file contains is appended to the stream: if it does not arrive as a record of its own, the
file ended inside quotes.
"""

from __future__ import annotations

import gzip
import io
import os
import secrets
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

import pyarrow as pa
import pyarrow.csv as pacsv

from deniable.errors import FileFormatError, InvalidInputError

BLOCK_BYTES = 1 << 18
"""Bytes of text parsed at a time; also the longest record. The parser reads up to 32 blocks ahead."""


class CsvFile:
    """One CSV file of UTF-8 text with a header line, read once from front to back.

    Parameters
    ----------
    path : path
        The file.
    delimiter : str
        Between cells: "," or a tab.
    compressed : bool
        Whether it is gzipped.

    Attributes
    ----------
    columns : tuple of str
        The header.
    total : int
        Size of the file in bytes, the unit of `position`.
    """

    unit = "bytes"

    def __init__(self, path: str | os.PathLike[str], delimiter: str, compressed: bool) -> None:
        self.path = Path(path)
        self.total = self.path.stat().st_size
        self._delimiter, self._compressed = delimiter, compressed
        self._stream: _Stream | None = None
        self._skipped: pacsv.InvalidRow | None = None
        self.columns = self._header()

    def position(self) -> int:
        """Return the number of bytes read so far."""
        if self._stream is None:
            return 0
        return self.total if self._stream.closed else self._stream.position()

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield record batches of text columns."""
        end = secrets.token_hex(16)
        self._stream = _Stream(self.path, self._compressed, self._delimiter.join([end] * len(self.columns)))
        rows, closed = 0, False
        try:
            for batch in self._open(self._stream, columns, self._refuse):
                found = batch.num_rows > 0 and batch.column(0)[batch.num_rows - 1].as_py() == end.encode()
                batch = batch.slice(0, batch.num_rows - 1) if found else batch
                closed = closed or found
                yield pa.record_batch([self._text(batch, name, rows) for name in columns], names=list(columns))
                rows += batch.num_rows
        except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            self._explain(error, rows, end)
        if not closed:
            raise self._unclosed(rows)

    def _header(self) -> tuple[str, ...]:
        with _Stream(self.path, self._compressed, "") as stream:
            try:
                # Column names only; whatever else is wrong with the first block is said when it is read.
                names = self._open(stream, None, lambda _: "skip").schema.names
            except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
                self._explain(error, 0, "")
        return tuple(names)

    def _open(self, stream: _Stream, columns: Sequence[str] | None, invalid: object) -> pacsv.CSVStreamingReader:
        # Of a single column, an empty line is a missing answer; between records of several cells it is nothing.
        several = columns is None or len(self.columns) > 1
        return pacsv.open_csv(
            pa.PythonFile(stream, mode="r"),
            read_options=pacsv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
            parse_options=pacsv.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=True,
                ignore_empty_lines=several,
                invalid_row_handler=invalid,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types={name: pa.binary() for name in columns or ()},
                include_columns=None if columns is None else list(columns),
                strings_can_be_null=False,
            ),
        )

    def _refuse(self, row: pacsv.InvalidRow) -> str:
        self._skipped = row
        return "error"

    def _text(self, batch: pa.RecordBatch, name: str, rows: int) -> pa.Array:
        column = batch.column(batch.schema.get_field_index(name))
        try:
            return column.cast(pa.string())
        except pa.ArrowException:
            for row, cell in enumerate(column.to_pylist()):
                try:
                    cell.decode()
                except UnicodeDecodeError:
                    raise FileFormatError(
                        f"{self.path} must be UTF-8 text, got {cell!r} in column {name!r}, row {rows + row + 1}"
                    ) from None
            raise

    def _explain(self, error: Exception, rows: int, end: str) -> NoReturn:
        """Raise the error that says what is wrong with the file."""
        if self._skipped is not None:
            row = self._skipped
            if end in row.text:
                raise self._unclosed(row.number - 1) from error
            raise InvalidInputError(
                f"{self.path} must have {row.expected_columns} cells in every record, "
                f"got {row.actual_columns} in row {row.number - 1}"
            ) from error
        if isinstance(error, (OSError, EOFError, zlib.error)):
            reason = getattr(error, "strerror", None) or error
            raise FileFormatError(f"cannot read {self.path}: {reason}") from error
        if isinstance(error, UnicodeDecodeError):
            raise FileFormatError(f"{self.path} must be UTF-8 text, got {error.object!r} in its header") from error
        if "straddl" in str(error):
            raise InvalidInputError(
                f"{self.path} has a record longer than {BLOCK_BYTES} bytes after row {rows}; is a quote never closed?"
            ) from error
        if "Empty CSV" in str(error):
            raise InvalidInputError(
                f"{self.path} holds no line of column names: it is empty, or a quote in that line is never closed"
            ) from error
        raise FileFormatError(f"{self.path} is not a CSV file: {error}") from error

    def _unclosed(self, rows: int) -> InvalidInputError:
        return InvalidInputError(f"{self.path} ends inside quotes: a quote in row {rows}, or before, is never closed")


class _Stream(io.RawIOBase):
    """The bytes of a file from its first line on, then a line end if there was none, then one more record."""

    def __init__(self, path: Path, compressed: bool, last_record: str) -> None:
        self._file = path.open("rb")
        # GzipFile is what gzip.open returns; it reads members one after the other and checks their sums.
        self._content = cast(BinaryIO, gzip.GzipFile(fileobj=self._file)) if compressed else self._file
        self._last_record = last_record.encode() + (b"\n" if last_record else b"")
        self._last_byte = b""
        self._pending = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def position(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        # Never less than asked for before the end: pyarrow takes a short read for a block of whole records.
        while not self._ended and len(self._pending) < size:
            data = self._content.read(size)
            self._ended = not data
            if self._ended:
                self._pending += b"" if self._last_byte in (b"\n", b"\r") else b"\n"
                self._pending += self._last_record
            elif not self._last_byte:
                data = data.lstrip(b"\r\n")
            self._last_byte = data[-1:] or self._last_byte
            self._pending += data
        result, self._pending = self._pending[:size], self._pending[size:]
        return result

    def close(self) -> None:
        self._file.close()
        super().close()
