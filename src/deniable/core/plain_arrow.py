"""Arrow files whose buffers are stored as they are: reading one costs no more memory than the file has bytes.

A compressed buffer states how long it becomes, and 64 KB of them can become gigabytes. Files of ours have none, so a
file that has is refused before anything is unpacked. pyarrow does not tell which messages are compressed; their headers
do (flatbuffers, ``Message.fbs`` of the Arrow format).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

_START = 8
"""Bytes before the first message of a file: "ARROW1" and padding."""

_HEADER_TYPE, _HEADER, _CUSTOM_METADATA = 1, 2, 4
"""Fields of a message. Early writers announced compression in the last of them."""

_COMPRESSION = 3
"""Field of the header of a record batch, there only if its buffers are compressed."""

_SCHEMA_TYPE, _BATCH_TYPE = 1, 3


def read_integers(content: Any, name: str) -> Any:
    """Return the table of an Arrow file in memory that has one column of integers.

    Parameters
    ----------
    content : pyarrow.Buffer
        The whole file.
    name : str
        Name of the column.

    Raises
    ------
    CompressedError
        If a buffer is compressed.
    ValueError, pyarrow.ArrowException
        If the file is damaged, or holds anything else.
    """
    import pyarrow as pa

    # Opening a file reads its end, which is what a file that was cut off lacks.
    schema = pa.ipc.open_file(content).schema
    if schema.names != [name] or not pa.types.is_integer(schema.field(0).type):
        raise ValueError(f"the file must have one column of integers, {name}")
    stream = content.slice(_START)
    for header in _headers(pa.ipc.MessageReader.open_stream(stream)):
        kind = header.byte(_HEADER_TYPE)
        if kind not in (_SCHEMA_TYPE, _BATCH_TYPE):
            raise ValueError("the file must hold a schema and record batches only")
        if header.has(_CUSTOM_METADATA) or (kind == _BATCH_TYPE and header.table(_HEADER).has(_COMPRESSION)):
            raise CompressedError
    table = pa.ipc.open_stream(stream).read_all()
    if table.schema != schema:
        raise ValueError("the file must have exactly one schema")
    # A length beyond its buffer would be read from memory that is not the file's.
    table.validate()
    return table


class CompressedError(ValueError):
    """Raised for a file with a compressed buffer."""


def _headers(messages: Any) -> Iterator[_Table]:
    for message in messages:
        content = message.metadata.to_pybytes()
        yield _Table(content, int.from_bytes(content[:4], "little"))


class _Table:
    """A table of a flatbuffer; ValueError if it points beyond its end."""

    def __init__(self, content: bytes, start: int) -> None:
        self._content, self._start = content, start
        self._fields = start - self._read("<i", start)
        self._count = (self._read("<H", self._fields) - 4) // 2

    def has(self, field: int) -> bool:
        """Tell whether a field is there."""
        return self._place(field) > self._start

    def byte(self, field: int) -> int:
        """Return a field of one byte; 0 if it is not there."""
        return self._read("<B", self._place(field)) if self.has(field) else 0

    def table(self, field: int) -> _Table:
        """Return a field that is a table."""
        place = self._place(field)
        return _Table(self._content, place + self._read("<I", place))

    def _place(self, field: int) -> int:
        return self._start + (self._read("<H", self._fields + 4 + 2 * field) if field < self._count else 0)

    def _read(self, kind: str, place: int) -> int:
        if place < 0:
            raise ValueError("the header of a message is damaged")
        try:
            return int(struct.unpack_from(kind, self._content, place)[0])
        except struct.error as error:
            raise ValueError("the header of a message is damaged") from error
