"""CSV answers in batches of text; a file that ends in the middle of a cell is an error.

Spreadsheets also save UTF-16 and, in Western Europe, Windows-1252. Both are recognised (`Transcoder`) and become UTF-8
before they are parsed.

The parser is pyarrow's. It accepts a quote that is never closed, which would put the rest of a survey into one cell. So
the code appends a record that no file contains to the stream. If it does not arrive as a record of its own, the file
ended inside quotes.

The parser reads ahead on threads of its own, which call `_Lent.read` here. A thread may do so, or may drop its last
reference to one of our objects, while the interpreter exits. Python then ends that thread in the middle of a C++
function that must not be left: "terminate called without an active exception". So code that leaves the parser,
especially by an error, waits until the threads hold none of our objects (`_Parser.close`).
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import os
import re
import secrets
import time
import weakref
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from deniable.errors import FileFormatError, InvalidInputError, InvalidParameterError, quoted

BLOCK_BYTES = 1 << 20
"""Bytes of text that are parsed at a time, and the longest record. The parser reads up to 32 blocks ahead."""

PATIENCE = 10.0
"""Seconds to wait for the parser's threads. A disk that does not answer must not hold up an error for ever."""


DELIMITERS = (",", ";", "\t", "|")
"""Delimiters that are tried."""

MOST_COLUMNS = 1 << 14
"""Most columns of a file, which is the number in a spreadsheet. A parser needs kilobytes for each column."""

_HEAD_BYTES = 1 << 16
_HEAD_RECORDS = 20


UTF_8, UTF_16, WINDOWS_1252 = "UTF-8", "UTF-16", "Windows-1252"
"""Encodings that are recognised."""

SPELLED = {WINDOWS_1252: "Windows-1252 (cp1252)"}
"""Other names of encodings."""

_UTF_16_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_SEPARATOR_LINE = re.compile(rb"(?:\xef\xbb\xbf)?sep=[^\r\n]\r?\n", re.IGNORECASE)
"""A line of spreadsheets in front of the column names, which names the delimiter."""


class Transcoder:
    r"""Converter of a text file's bytes to UTF-8, a block at a time, that recognises the encoding.

    The first bytes that differ between encodings decide. UTF-16 has a mark at its start, or a zero in every other byte.
    A text is Windows-1252 if its first bytes beyond ASCII are not UTF-8 and contain no character of UTF-8 either. So a
    damaged UTF-8 file is not read as Windows-1252.

    Attributes
    ----------
    name : str
        Encoding as far as it is known; UTF-8 until another one is recognised.

    Examples
    --------
    >>> transcoder = Transcoder()
    >>> transcoder.utf8(b"K\xf6ln", final=True).decode(), transcoder.name
    ('Köln', 'Windows-1252')
    """

    def __init__(self) -> None:
        self.name = UTF_8
        self._begun, self._known = False, False
        self._pending = b""
        self._decoder: codecs.IncrementalDecoder | None = None

    def utf8(self, data: bytes, *, final: bool = False) -> bytes:
        """Return the next bytes as UTF-8; some may be held back until more bytes are known.

        Raises
        ------
        UnicodeDecodeError
            If bytes are invalid in the encoding that was recognised. Damaged UTF-8 is returned as it is.
        """
        data, self._pending = self._pending + data, b""
        if not self._begun and data:
            if len(data) < 2 and not final:
                self._pending = data
                return b""
            self._begun = True
            data = self._start(data)
        if self._decoder is not None:
            return self._decoder.decode(data, final).encode()
        if self._known or data.isascii():
            return data
        with contextlib.suppress(UnicodeDecodeError):
            _, used = codecs.utf_8_decode(data, "strict", final)
            if used < len(data) and data[:used].isascii():
                data, self._pending = data[:used], data[used:]  # the data ends in its first non-ASCII character
                return data
            self._known = True
            return data
        self._known = True
        if data.decode("utf-8", "ignore").isascii():
            self.name = WINDOWS_1252
            self._decoder = codecs.getincrementaldecoder("cp1252")()
            return self._decoder.decode(data, final).encode()
        return data

    def _start(self, data: bytes) -> bytes:
        codec = _UTF_16_MARKS.get(data[:2])
        if codec is None and b"\0" in data[:2]:
            start = data[:_HEAD_BYTES]
            for codec_, zeros, letters in (
                ("utf-16-le", start[1::2], start[::2]),
                ("utf-16-be", start[::2], start[1::2]),
            ):
                if 2 * zeros.count(0) > len(zeros) and not letters.count(0):
                    codec = codec_
        elif codec is not None:
            data = data[2:]
        if codec is not None:
            self.name, self._decoder = UTF_16, codecs.getincrementaldecoder(codec)()
        return data


def checked_delimiter(delimiter: str) -> str:
    """Return what divides cells, or raise InvalidParameterError if it cannot."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise InvalidParameterError(
            "delimiter must be one ASCII character, but not a quotation mark or the end of a line, got "
            f"delimiter={quoted(delimiter)}"
        )
    return delimiter


def found_delimiter(path: Path, usual: str, compressed: bool) -> str:
    """Return what divides the cells of a file: what is usual, unless the first records fall apart by another only."""
    try:
        with _Stream(path, compressed, "") as stream:
            content = stream.read(_HEAD_BYTES)
    except OSError:
        return usual  # reading the file raises the error
    head = content.decode("utf-8-sig", errors="replace")
    whole = len(content) < _HEAD_BYTES
    for delimiter in (usual, *DELIMITERS):
        cells: list[int] = []
        with contextlib.suppress(csv.Error):
            records = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
            cells = [len(record) for record in islice(filter(None, records), _HEAD_RECORDS)]
        if not whole and len(cells) < _HEAD_RECORDS:
            cells = cells[:-1]  # the last record may be cut off
        if cells and min(cells) == max(cells) > 1:
            return delimiter
    return usual


class CsvFile:
    """CSV file with a header line that is read once from front to back.

    Parameters
    ----------
    path : path
        The file.
    delimiter : str
        Delimiter between cells.
    compressed : bool
        True if the file is gzipped.

    Attributes
    ----------
    columns : tuple of str
        Names in the header.
    total : int
        Size of the file in bytes, the unit of `position`.
    delimiter : str
        Delimiter between cells.
    """

    unit = "bytes"
    records: int | None = None

    def __init__(self, path: str | os.PathLike[str], delimiter: str, compressed: bool) -> None:
        self.path = Path(path)
        self.total = self.path.stat().st_size
        self.delimiter, self._compressed = delimiter, compressed
        self._stream: _Stream | None = None
        self._parser: _Parser | None = None
        self.columns = self._header()

    def position(self) -> int:
        """Return the number of bytes read so far."""
        if self._stream is None:
            return 0
        return self.total if self._stream.closed else self._stream.position()

    @property
    def encoding(self) -> str:
        """The encoding of the text, as far as it was read."""
        return UTF_8 if self._stream is None else self._stream.encoding

    def head(self) -> list[list[str]]:
        """Return the first records, without the header; what is wrong with them is said when they are read."""
        try:
            with _Stream(self.path, self._compressed, "") as stream:
                content = stream.read(_HEAD_BYTES)
        except OSError:
            return []
        records: list[list[str]] = []
        with contextlib.suppress(csv.Error):
            text = io.StringIO(content.decode("utf-8-sig", errors="replace"), newline="")
            records.extend(filter(None, csv.reader(text, delimiter=self.delimiter)))
        # The last record may be cut off.
        return records[1:] if len(content) < _HEAD_BYTES else records[1:-1]

    def close(self) -> None:
        """Close the file."""
        if self._parser is not None:
            self._parser.close()
        if self._stream is not None:
            self._stream.close()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield record batches of text columns."""
        end = secrets.token_hex(16)
        self._stream = stream = _Stream(self.path, self._compressed, self.delimiter.join([end] * len(self.columns)))
        rows, closed = 0, False
        try:
            with contextlib.closing(self._open(stream, columns)) as self._parser:
                while (batch := self._parser.next()) is not None:
                    found = batch.num_rows > 0 and batch.column(0)[batch.num_rows - 1].as_py() == end.encode()
                    batch = batch.slice(0, batch.num_rows - 1) if found else batch
                    closed = closed or found
                    yield pa.record_batch([self._text(batch, name, rows) for name in columns], names=list(columns))
                    rows += batch.num_rows
        except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            self._explain(error, rows, stream, end)
        if not closed:
            raise self._unclosed(rows)

    def _header(self) -> tuple[str, ...]:
        self._check_width()
        with _Stream(self.path, self._compressed, "") as stream:
            try:
                with contextlib.closing(self._open(stream, None)) as parser:
                    return tuple(parser.names)
            except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
                self._explain(error, 0, stream, "")

    def _check_width(self) -> None:
        """Refuse a line of column names that costs too much, before it is parsed; what else is wrong is said later."""
        try:
            with _Stream(self.path, self._compressed, "") as stream:
                head = stream.read(BLOCK_BYTES).decode("utf-8-sig", errors="replace")
            width = len(next(csv.reader(io.StringIO(head, newline=""), delimiter=self.delimiter), ()))
        except OSError:
            return
        except csv.Error:
            raise FileFormatError(
                f"{self.path} must have column names of at most {csv.field_size_limit():,} characters, but one name "
                "is longer"
            ) from None
        if width > MOST_COLUMNS:
            raise FileFormatError(f"{self.path} must have at most {MOST_COLUMNS:,} columns, got {width:,}")

    def _open(self, stream: _Stream, columns: Sequence[str] | None) -> _Parser:
        # In a file with a single column, an empty line is a missing answer. Between records of several cells, an empty
        # line means nothing.
        several = columns is None or len(self.columns) > 1
        convert = pacsv.ConvertOptions(
            column_types={name: pa.binary() for name in columns or ()},
            include_columns=None if columns is None else list(columns),
            strings_can_be_null=False,
        )
        # Without columns only the column names are read. Other errors in the first block are raised when it is read.
        return _Parser(stream, self.delimiter, several, "skip" if columns is None else "error", convert)

    def _text(self, batch: pa.RecordBatch, name: str, rows: int) -> pa.Array:
        column = batch.column(batch.schema.get_field_index(name))
        content = np.frombuffer(column.buffers()[2] or b"", np.uint8)
        if content.max(initial=0) < 0x80:
            return column.view(pa.string())  # ASCII is UTF-8, and a view takes a quarter of a cast's time
        try:
            return column.cast(pa.string())
        except pa.ArrowException:
            for row, cell in enumerate(column.to_pylist()):
                try:
                    cell.decode()
                except UnicodeDecodeError:
                    raise FileFormatError(
                        f"{self.path} must be UTF-8 text, but row {rows + row + 1} of column {quoted(name)} is not "
                        "UTF-8; save the file as UTF-8"
                    ) from None
            raise

    def _explain(self, error: Exception, rows: int, stream: _Stream, end: str) -> NoReturn:
        """Raise the error that says what is wrong with the file, without quoting its content.

        The parser's errors quote rows, and gzip's errors print a check sum of the content. So neither is chained.
        """
        error = stream.error or error
        where = f"after row {rows}" if rows else "near the start of the file"
        if stream.refused is not None:
            row = stream.refused
            if end in row.text:
                raise self._unclosed(row.number - 1) from None
            raise InvalidInputError(
                f"{self.path} must have {row.expected_columns} cells in every record, "
                f"got {row.actual_columns} in row {row.number - 1}"
            ) from None
        if isinstance(error, (EOFError, zlib.error, gzip.BadGzipFile)):
            raise FileFormatError(f"cannot read {self.path}: its gzip data are damaged or cut off") from None
        if isinstance(error, OSError) and not isinstance(error, pa.ArrowException):
            raise FileFormatError(f"cannot read {self.path}: {error.strerror or type(error).__name__}") from None
        if isinstance(error, UnicodeDecodeError):
            if stream.encoding != UTF_8:
                raise FileFormatError(
                    f"{self.path} must be UTF-8, UTF-16 or Windows-1252 text, but its text {where} is in another "
                    "encoding; save the file as UTF-8"
                ) from None
            raise FileFormatError(
                f"{self.path} must be UTF-8 text, but its header is not UTF-8; save the file as UTF-8"
            ) from None
        if "straddl" in str(error):
            raise InvalidInputError(
                f"{self.path} has a record longer than {BLOCK_BYTES} bytes {where}: look for a quotation "
                "mark that is opened and not closed"
            ) from None
        if "Empty CSV" in str(error):
            raise InvalidInputError(
                f"{self.path} has no line of column names: the file is empty, or a quotation mark in that line is "
                "opened and not closed"
            ) from None
        raise FileFormatError(
            f"{self.path} cannot be read as CSV {where}; open the file in a spreadsheet, and save it as CSV"
        ) from None

    def _unclosed(self, rows: int) -> InvalidInputError:
        return InvalidInputError(f"{self.path} ends inside quotes: a quote in row {rows}, or before, is never closed")


class _Parser:
    """pyarrow's parser of a stream, which ends only when no thread of pyarrow's holds anything of ours."""

    def __init__(
        self, stream: _Stream, delimiter: str, several: bool, invalid: str, convert: pacsv.ConvertOptions
    ) -> None:
        self._stream = stream
        self._reader: pacsv.CSVStreamingReader | None = None
        lent = _Lent(stream, invalid)
        self._lent = weakref.ref(lent)
        try:
            self._reader = pacsv.open_csv(
                pa.PythonFile(lent, mode="r"),
                read_options=pacsv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
                parse_options=pacsv.ParseOptions(
                    delimiter=delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=several,
                    invalid_row_handler=lent.refuse,
                ),
                convert_options=convert,
            )
        except BaseException:
            del lent
            self.close()
            raise

    @property
    def names(self) -> list[str]:
        """Names in the header."""
        names: list[str] = cast(pacsv.CSVStreamingReader, self._reader).schema.names
        return names

    def next(self) -> pa.RecordBatch | None:
        """Return the next records, None after the last; raise what reading the file raised."""
        batch = next(cast(pacsv.CSVStreamingReader, self._reader), None)
        # The file is read ahead. An error of the file is raised before the record that the end of the file cut off.
        if self._stream.error is not None:
            raise self._stream.error
        return batch

    def close(self) -> None:
        """Stop reading, and wait until the threads have let go."""
        self._reader = None
        deadline = time.monotonic() + PATIENCE
        # This loop polls. A callback of the weak reference would run on such a thread, which could end within the
        # callback.
        while self._lent() is not None and time.monotonic() < deadline:
            time.sleep(0.0005)


class _Lent:
    """Object of ours that pyarrow holds; it has no other references, so when it is gone, pyarrow holds nothing."""

    closed = False

    def __init__(self, stream: _Stream, invalid: str) -> None:
        self._stream, self._invalid = stream, invalid

    def read(self, size: int) -> _Block:
        return _Block(self._stream.read(size), self)

    def refuse(self, row: pacsv.InvalidRow) -> str:
        if self._invalid == "error":
            self._stream.refused = row
        return self._invalid

    def close(self) -> None:
        """Leave the stream open: the opener closes it."""


class _Block(bytearray):
    """Bytes for pyarrow, which are part of what is lent."""

    def __init__(self, content: bytes, lent: _Lent) -> None:
        super().__init__(content)
        self._lent = lent


class _Stream(io.RawIOBase):
    """Bytes of a file from its first line on, then a line end if there was none, then one more record.

    A failure is stored as `error`, and the stream ends there, because an exception in pyarrow's threads would keep
    their frames alive. `refused` is the first record that pyarrow called invalid.
    """

    def __init__(self, path: Path, compressed: bool, last_record: str) -> None:
        self._file = path.open("rb")
        # GzipFile is what gzip.open returns; it reads members one after the other and checks their sums.
        self._content = cast(BinaryIO, gzip.GzipFile(fileobj=self._file)) if compressed else self._file
        self._last_record = last_record.encode() + (b"\n" if last_record else b"")
        self._last_byte = b""
        self._pending = b""
        self._transcoder = Transcoder()
        self._position = 0
        self._ended = False
        self.error: Exception | None = None
        self.refused: pacsv.InvalidRow | None = None

    @property
    def encoding(self) -> str:
        """The encoding of the text, as far as it was read."""
        return self._transcoder.name

    def position(self) -> int:
        """Return how many bytes of the file have been read; the file itself must not be asked while a thread reads."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, none at the end."""
        try:
            return self._read(size)
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            self.error = error.with_traceback(None)
            self._pending, self._ended = b"", True
            return b""

    def _read(self, size: int) -> bytes:
        # Before the end of the file, a read never returns less than `size`: pyarrow takes a short read for a block of
        # whole records.
        while not self._ended and len(self._pending) < size:
            # Only the missing bytes are asked for, so that a whole read is handed on as it is.
            data = self._content.read(size - len(self._pending))
            self._position = self._file.tell()
            self._ended = not data
            data = self._transcoder.utf8(data, final=self._ended)
            if data and not self._last_byte:
                data = _SEPARATOR_LINE.sub(b"", data.lstrip(b"\r\n"), count=1)
            self._last_byte = data[-1:] or self._last_byte
            self._pending += data
            if self._ended:
                self._pending += b"" if self._last_byte in (b"\n", b"\r") else b"\n"
                self._pending += self._last_record
        result, self._pending = self._pending[:size], self._pending[size:]
        return result

    def close(self) -> None:
        self._file.close()
        super().close()
