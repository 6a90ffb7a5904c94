"""Unpacked sizes of the pages of a Parquet file, determined before any page is unpacked.

A page states its unpacked length, and pyarrow allocates that many bytes. 30 KB of zeros can become a gigabyte. The
file's footer may differ from the pages in what it says about a column. So the code reads the pages' own headers
(Thrift's compact protocol, ``parquet.thrift`` of the format).

Encodings can also expand data, without any codec. Examples are one long text that every row refers to, texts that begin
like the previous text, and a list of a million equal elements. So texts are read as dictionaries, and the other
encodings are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import FileFormatError, quoted
from deniable.survey.encoding import is_list_type, unreadable

MOST_UNPACKED, MOST_OF_MANY, _COLUMN = 1 << 28, 1 << 30, 1 << 22
"""Limit of the bytes of the largest pages of all columns together, because one page per column is unpacked at a time.
The limit is the first number plus the last number for every column, and never above the second. A page usually has 1
MiB."""

MOST_ELEMENTS = 1 << 25
"""Most elements of a column of lists in one row group. A single row may contain all of them."""

BATCH_BYTES = 1 << 26
"""Most bytes of the rows of one batch after reading."""

_HEADER_BYTES, _MOST_HEADER_BYTES = 1 << 10, 1 << 24
_DEEPEST = 8

# These are the kinds of values of the compact protocol.
_INTEGERS, _BINARY, _STRUCT = (4, 5, 6), 8, 12
_SIZES = {1: 0, 2: 0, 3: 1, 7: 8}
"""Bytes of a truth value (its kind tells the value), of a byte and of a float."""

# These are fields of a page's header, and of the header of a data page or a dictionary.
_UNPACKED, _PACKED, _DATA, _DATA_2 = 2, 3, 5, 8
_VALUES, _ENCODING, _ENCODING_2 = 1, 2, 4
_DELTAS = {6: "DELTA_LENGTH_BYTE_ARRAY", 7: "DELTA_BYTE_ARRAY"}
"""Encodings of texts that cannot be read as dictionaries."""


def check_pages(file: pq.ParquetFile, path: Path, columns: Sequence[str], most: int | None = None) -> None:
    """Raise an error if the pages of some columns must not be unpacked, as their headers show.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
        File of which only the end has been read.
    path : Path
        Where it is.
    columns : sequence of str
        Columns that will be read.
    most : int, optional
        Maximum number of bytes that the unpacked pages may have at a time; by default as described at `MOST_UNPACKED`.

    Raises
    ------
    FileFormatError
        If the pages become larger, if a row of lists can have more than `MOST_ELEMENTS` elements, or if texts are
        encoded by their lengths or by common parts.
    IndexError, ValueError
        If a header is damaged.
    """
    leaves, metadata, largest = _leaves(file, columns), file.metadata, Counter[int]()
    with path.open("rb") as source:
        for i, j in product(range(metadata.num_row_groups), leaves):
            chunk, leaf = metadata.row_group(i).column(j), metadata.schema.column(j)
            if leaf.max_repetition_level and chunk.num_values > MOST_ELEMENTS:
                raise FileFormatError(
                    f"{path} must have at most {MOST_ELEMENTS:,} list elements in each row group, got "
                    f"{chunk.num_values:,}; write the file again with smaller row groups"
                )
            for page in _pages(source, chunk):
                if page.encoding in _DELTAS:
                    raise FileFormatError(
                        f"{path} must have texts in the encoding PLAIN or RLE_DICTIONARY, got "
                        f"{_DELTAS[page.encoding]} in column {quoted(leaf.path)}; write the file again in one of "
                        "these encodings"
                    )
                largest[j] = max(largest[j], page.unpacked)
    limit = min(MOST_OF_MANY, MOST_UNPACKED + _COLUMN * len(leaves)) if most is None else most
    if largest.total() > limit:
        raise FileFormatError(
            f"{path} has pages that are too large: one page of each column may need at most {limit >> 20:,} MiB in "
            f"total when unpacked, but the largest pages need {largest.total() >> 20:,} MiB; write the file again with "
            "pages of 1 MiB"
        )


def rows_at_a_time(file: pq.ParquetFile, columns: Sequence[str], most: int) -> int:
    """Return how many rows of some columns are read at a time, at most `most`: fewer of long rows of bytes."""
    schema = file.metadata.schema
    longest = max((schema.column(j).length for j in _leaves(file, columns)), default=0)
    return max(1, min(most, BATCH_BYTES // max(longest, 1)))


def read_as_dictionaries(file: pq.ParquetFile, columns: Sequence[str]) -> list[str]:
    """Return the paths of the texts among some columns, elements of lists included.

    If a text is read as a dictionary, it is held once, however many rows refer to it.

    Raises
    ------
    InvalidInputError
        If a column is of structs, maps or lists of lists, which cannot be answers, or of views of texts.
    """
    arrow, schema = file.schema_arrow, file.metadata.schema
    kinds = {name: arrow.field(arrow.get_field_index(name)).type for name in columns}
    for name, kind in kinds.items():
        element = kind.value_type if is_list_type(kind) else kind
        # Such a column would be refused when it is read. But nothing limits a text in a struct, or long rows of bytes
        # in a list.
        if pa.types.is_nested(element) or (element is not kind and pa.types.is_fixed_size_binary(element)):
            raise unreadable(name, kind)
        # Arrow reads a view as one text for every row, even if dictionaries are requested.
        if pa.types.is_string_view(element) or pa.types.is_binary_view(element):
            raise unreadable(name, kind)
    texts = {name for name, kind in kinds.items() if is_text_type(kind.value_type if is_list_type(kind) else kind)}
    return [schema.column(j).path for j in _leaves(file, sorted(texts))]


def is_text_type(kind: pa.DataType) -> bool:
    """Tell whether a column type is of texts of any length."""
    found = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(one(kind) for one in found)


def _leaves(file: pq.ParquetFile, columns: Sequence[str]) -> list[int]:
    """Return the numbers of the columns as Parquet counts them: the first part of a path is the name that we know."""
    schema, wanted = file.metadata.schema, set(columns)
    return [j for j in range(len(schema)) if _belongs(schema.column(j).path, wanted)]


def _belongs(path: str, columns: set[str]) -> bool:
    return path in columns or any(path.startswith(f"{name}.") for name in columns)


class _Page(NamedTuple):
    """Header of a page."""

    unpacked: int
    encoding: int


def _pages(source: BinaryIO, chunk: pq.ColumnChunkMetaData) -> Iterator[_Page]:
    """Yield the pages of one column in one row group, as far as its reader reads."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    end, missing = at + chunk.total_compressed_size, chunk.num_values
    while at < end and missing > 0:
        header, size = _header(source, at)
        unpacked, packed = header.integers.get(_UNPACKED, 0), header.integers.get(_PACKED, 0)
        first, second = (header.structs.get(number, _NO_FIELDS).integers for number in (_DATA, _DATA_2))
        values = first.get(_VALUES, 0) + second.get(_VALUES, 0)
        if min(unpacked, packed, values) < 0 or values > missing:
            raise ValueError("the header of a page is damaged")
        yield _Page(unpacked, first.get(_ENCODING, second.get(_ENCODING_2, 0)))
        at, missing = at + size + packed, missing - values


def _header(source: BinaryIO, at: int) -> tuple[_Fields, int]:
    """Return the header of a page and its length; IndexError if the file ends before it does."""
    length = _HEADER_BYTES
    while True:
        source.seek(at)
        content = source.read(length)
        try:
            return _struct(content, 0, 0)
        except IndexError:
            # Statistics may contain long texts.
            if len(content) < length or length >= _MOST_HEADER_BYTES:
                raise
            length *= 16


# -------------------------------------------------------------------- Thrift's compact protocol


class _Fields(NamedTuple):
    """The integers and the structs among the fields of a struct, by their numbers."""

    integers: dict[int, int]
    structs: dict[int, _Fields]


_NO_FIELDS = _Fields({}, {})


def _struct(content: bytes, at: int, depth: int) -> tuple[_Fields, int]:
    """Return a struct and where it ends."""
    if depth > _DEEPEST:
        raise ValueError("the header of a page is nested too deep")
    fields = _Fields({}, {})
    number = 0
    while lead := content[at]:
        at += 1
        kind = lead & 15
        if lead >> 4:
            number += lead >> 4
        else:
            number, at = _integer(content, at)
        if kind in _INTEGERS:
            fields.integers[number], at = _integer(content, at)
        elif kind == _STRUCT:
            fields.structs[number], at = _struct(content, at, depth + 1)
        elif kind == _BINARY:
            length, at = _natural(content, at)
            at += length
        elif kind in _SIZES:
            at += _SIZES[kind]
        else:
            raise ValueError("the header of a page has a value of an unknown kind")
    return fields, at + 1


def _integer(content: bytes, at: int) -> tuple[int, int]:
    value, at = _natural(content, at)
    return (value >> 1) ^ -(value & 1), at


def _natural(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a page of the Parquet file is damaged: its header has a number of more than 64 bits")
