"""Aggregate: the sum of the reports, which is the collector's whole state.

An aggregate is stored in Arrow files without compression, so reading a file needs no more memory than its size. 64 KB
of compressed buffers can become gigabytes, so a file with compressed buffers is refused before anything is unpacked.
pyarrow does not say which messages are compressed, but the headers of the messages do (flatbuffers, ``Message.fbs`` of
the Arrow format).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import checked_integer
from deniable.core.outputs import atomic_path
from deniable.core.spec import canonical_json, from_spec, to_spec
from deniable.core.state import LIMIT
from deniable.errors import (
    DamagedStateError,
    DuplicateReportsError,
    FileFormatError,
    InvalidParameterError,
    MismatchError,
    TooLargeError,
    quoted,
)

_START = 8
"""Bytes before the first message of a file: "ARROW1" and padding."""


_HEADER_TYPE, _HEADER, _CUSTOM_METADATA = 1, 2, 4
"""Fields of a message. Early writers announced compression in the last of them."""


_COMPRESSION = 3
"""Field of the header of a record batch, which exists only if its buffers are compressed."""


_SCHEMA_TYPE, _BATCH_TYPE = 1, 3


def read_integers(content: Any, name: str) -> Any:
    """Return the table of an Arrow file that is held in memory and has one column of integers.

    Parameters
    ----------
    content : pyarrow.Buffer
        Content of the whole file.
    name : str
        Name of the column.

    Raises
    ------
    CompressedError
        If a buffer is compressed.
    ValueError, pyarrow.ArrowException
        If the file is damaged, or holds anything but one column of integers with this name.
    """
    import pyarrow as pa

    # Opening a file reads its end, which a file that was cut off lacks.
    schema = pa.ipc.open_file(content).schema
    if schema.names != [name] or not pa.types.is_integer(schema.field(0).type):
        raise ValueError(f"the file must have only the column {name}, and this column must contain integers")
    stream = content.slice(_START)
    for header in _headers(pa.ipc.MessageReader.open_stream(stream)):
        kind = header.byte(_HEADER_TYPE)
        if kind not in (_SCHEMA_TYPE, _BATCH_TYPE):
            raise ValueError("the file must contain only a schema and record batches")
        if header.has(_CUSTOM_METADATA) or (kind == _BATCH_TYPE and header.table(_HEADER).has(_COMPRESSION)):
            raise CompressedError
    table = pa.ipc.open_stream(stream).read_all()
    if table.schema != schema:
        raise ValueError("the file must have exactly one schema")
    # A length beyond its buffer would be read from memory outside of the file.
    table.validate()
    return table


class CompressedError(ValueError):
    """A file has a compressed buffer."""


def _headers(messages: Any) -> Iterator[_Table]:
    for message in messages:
        content = message.metadata.to_pybytes()
        yield _Table(content, int.from_bytes(content[:4], "little"))


class _Table:
    """Table of a flatbuffer. Its methods raise ValueError if the table points beyond the end of the flatbuffer."""

    def __init__(self, content: bytes, start: int) -> None:
        self._content, self._start = content, start
        self._fields = start - self._read("<i", start)
        self._count = (self._read("<H", self._fields) - 4) // 2

    def has(self, field: int) -> bool:
        """Return whether the table has a field."""
        return self._place(field) > self._start

    def byte(self, field: int) -> int:
        """Return the value of a field of one byte, or 0 if the table does not have the field."""
        return self._read("<B", self._place(field)) if self.has(field) else 0

    def table(self, field: int) -> _Table:
        """Return the table that a field points to."""
        place = self._place(field)
        return _Table(self._content, place + self._read("<I", place))

    def _place(self, field: int) -> int:
        return self._start + (self._read("<H", self._fields + 4 + 2 * field) if field < self._count else 0)

    def _read(self, kind: str, place: int) -> int:
        if place < 0:
            raise ValueError("the header of an Arrow message is damaged")
        try:
            return int(struct.unpack_from(kind, self._content, place)[0])
        except struct.error as error:
            raise ValueError("the header of an Arrow message is damaged") from error


FORMAT = "deniable aggregate"
FORMAT_VERSION = 1

COMPACT_STATE = 1 << 10
"""Histograms with at least this many counters are kept in int32 while every counter fits."""

MAX_EMPTY = 1 << 31
"""Most counters of an aggregate that is set up without reports (16 GiB)."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """An aggregate holds integer counts, the number of reports, and the mechanism that made the reports.

    Collectors get an aggregate from ``mechanism.aggregate(reports)``. ``a + b`` merges two aggregates of one mechanism,
    in any order, and ``Aggregate.empty(mechanism)`` changes nothing when it is added. The size of an aggregate does not
    depend on the number of reports.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism that made the reports.
    counts : int64[mechanism.state_size]
        The mechanism's counters. A large histogram (`COMPACT_STATE` counters or more) is kept in int32 while every
        counter fits, which halves its memory and its file. A counter of such a histogram comes near 2^31 only after
        10^13 reports.
    n : int
        Number of reports, 0 <= n < 2^62.
    collection : str
        Id of the `Collection` to which the reports belong, or "" outside a collection.
    batches : frozenset of str
        Digests of the report batches that were counted, so that no batch is counted twice. Empty for reports from
        memory.

    Raises
    ------
    InvalidParameterError
        If the counts have another dtype or shape than the mechanism's, or n is not an integer in 0..2^62-1.
    DamagedStateError
        If no n reports of the mechanism can have these counts (`Mechanism.check_state`). The message names the cell.

    Examples
    --------
    >>> from deniable import GRR
    >>> import numpy as np
    >>> grr = GRR(k=3, epsilon=1.0)
    >>> monday, tuesday = grr.aggregate(np.array([0, 2])), grr.aggregate(np.array([2]))
    >>> (monday + tuesday).counts, (monday + tuesday).n
    (array([1, 0, 2]), 3)
    >>> monday + Aggregate.empty(grr) == monday
    True
    """

    mechanism: Any  # It is a Mechanism, whose module imports this one.
    counts: NDArray[Any]
    n: int
    collection: str = ""
    batches: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        counts = np.asarray(self.counts)
        if counts.dtype.kind not in "iu" or counts.shape != (self.mechanism.state_size,):
            raise InvalidParameterError(
                f"counts must be integers of shape ({self.mechanism.state_size},) for {self.mechanism.name}, "
                f"got dtype={counts.dtype}, shape={counts.shape}"
            )
        n = checked_integer("n", self.n, 0, LIMIT - 1)
        if counts.dtype == np.uint64 and int(counts.max()) >= LIMIT:
            cell = int(counts.argmax())
            raise InvalidParameterError(f"counts must be < 2^62, got counts[{cell}]={int(counts[cell])}")
        # An array that nobody can write to need not be copied.
        stored = _stored_dtype(counts)
        counts = counts.astype(stored, copy=counts.flags.writeable or counts.base is not None)
        try:
            self.mechanism.check_state(counts, n)
        except DamagedStateError as error:
            raise DamagedStateError(
                f"{n} reports of {quoted(self.mechanism)} cannot have these counts: {error}"
            ) from error
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "batches", frozenset(self.batches))

    @property
    def source(self) -> frozenset[str]:
        """Return the ids of the aggregate's collection and report batches; empty for reports from memory."""
        collection = {f"collection {self.collection}"} if self.collection else set()
        return frozenset({*collection, *(f"batch {digest}" for digest in self.batches)})

    @classmethod
    def empty(cls, mechanism: Any, collection: str = "") -> Aggregate:
        """Return the aggregate of no reports; adding it to another aggregate changes nothing.

        Raises
        ------
        TooLargeError
            If the mechanism's state has more than 2^31 counters.
        """
        if mechanism.state_size > MAX_EMPTY:
            raise TooLargeError(
                f"an aggregate must have at most {MAX_EMPTY:,} counters, got {mechanism.state_size:,} for "
                f"{quoted(mechanism)}; use fewer values or cells"
            )
        return cls(mechanism, np.zeros(mechanism.state_size, dtype=np.int64), 0, collection)

    def __add__(self, other: Aggregate) -> Aggregate:
        """Return the sum of two aggregates of one mechanism and collection.

        Raises
        ------
        MismatchError
            If the mechanisms or the collections differ.
        DuplicateReportsError
            If both contain the same batch of reports.
        TooLargeError
            If the sum would have 2^62 reports or more.
        DamagedStateError
            If no set of reports has this sum, for instance because it has more reports than a dealer dealt to.
        """
        if not isinstance(other, Aggregate):
            return NotImplemented
        if self.mechanism != other.mechanism:
            raise MismatchError(
                f"cannot merge aggregates of different mechanisms: {quoted(self.mechanism)} and "
                f"{quoted(other.mechanism)}"
            )
        if self.collection != other.collection:
            raise MismatchError(
                f"cannot merge aggregates of different collections: {short_id(self.collection)} and "
                f"{short_id(other.collection)}"
            )
        common = self.batches & other.batches
        if common:
            others = f" and {len(common) - 1} more batches" if len(common) > 1 else ""
            raise DuplicateReportsError(
                f"both aggregates contain the report batch {short_id(min(common))}{others}; a merged aggregate would "
                "count the same contributors twice"
            )
        n = self.n + other.n
        if n >= LIMIT:
            raise TooLargeError(f"aggregates must have fewer than 2^62 reports in total, got {self.n} + {other.n}")
        # No counter reaches 2^62 (`deniable.core.state`), so sums do not wrap.
        counts = np.add(self.counts, other.counts, dtype=np.int64)
        counts.setflags(write=False)
        return replace(self, counts=counts, n=n, batches=self.batches | other.batches)

    def __radd__(self, other: object) -> Aggregate:
        """Return the aggregate itself for 0 + aggregate, so that ``sum`` can add aggregates."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Aggregate)
            and self.mechanism == other.mechanism
            and self.n == other.n
            and self.collection == other.collection
            and self.batches == other.batches
            and bool(np.array_equal(self.counts, other.counts))
        )

    def __hash__(self) -> int:
        return hash((self.mechanism, self.n, self.collection, self.counts.tobytes()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the aggregate to one file, atomically (an Arrow file with the specification in its metadata)."""
        with atomic_path(path) as temporary:
            self.write(temporary)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the aggregate to a path from `atomic_path`, with the same content as a file from `save`."""
        self._write(str(path))

    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes, for instance to send it to another machine.

        Examples
        --------
        >>> from deniable import GRR
        >>> aggregate = GRR(k=3, epsilon=1.0).aggregate([0, 2, 2])
        >>> Aggregate.from_bytes(aggregate.to_bytes()) == aggregate
        True
        """
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        self._write(sink)
        content: bytes = sink.getvalue().to_pybytes()
        return content

    def _write(self, sink: Any) -> None:
        import pyarrow as pa

        header = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "mechanism": to_spec(self.mechanism),
            "n": self.n,
            "collection": self.collection,
            "batches": sorted(self.batches),
        }
        table = pa.table({"counts": self.counts}).replace_schema_metadata({"deniable": canonical_json(header)})
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Aggregate:
        """Read an aggregate that `save` wrote.

        Raises
        ------
        FileFormatError
            If the file is missing or damaged, is not an aggregate or has another format version, or if no reports can
            have its counts.
        """
        hint = ", but a Parquet file. If it contains reports, add them up first with `deniable aggregate`"
        return cls._read(Path(path).read_bytes, str(path), hint if _is_parquet(path) else "")

    @classmethod
    def from_bytes(cls, content: bytes) -> Aggregate:
        """Return the aggregate from bytes that `to_bytes` returned, or from the content of a file that `save` wrote.

        Raises
        ------
        FileFormatError
            If the bytes are damaged, are not an aggregate or have another format version, or if no reports can have
            these counts.
        """
        return cls._read(lambda: content, "the content", "")

    @classmethod
    def _read(cls, content: Callable[[], bytes], name: str, hint: str) -> Aggregate:
        import pyarrow as pa

        from deniable.core.documents import loads

        try:
            table = read_integers(pa.py_buffer(content()), "counts")
            header = loads((table.schema.metadata or {})[b"deniable"])
            found = header["format"], header["version"]
            counts = table.column("counts").to_numpy()
        except FileNotFoundError as error:
            raise FileFormatError(f"there is no file {name}") from error
        except CompressedError:
            raise FileFormatError(
                f"{name} must not contain compressed data, because unpacked data could fill the memory. deniable "
                "writes no compressed aggregates: ask for the original file"
            ) from None
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{name} is not an aggregate file{hint or ', or the file is damaged'}") from error
        if found != (FORMAT, FORMAT_VERSION) or isinstance(found[1], (bool, float)):
            raise FileFormatError(
                f"{name} must be a {FORMAT} of version {FORMAT_VERSION}, got {quoted(found[0])} of version "
                f"{quoted(found[1])}; upgrade deniable if a newer release wrote this file"
            )
        try:
            mechanism, batches = from_spec(header["mechanism"]), header["batches"]
            if not isinstance(batches, list) or not all(
                isinstance(text, str) for text in (header["collection"], *batches)
            ):
                raise ValueError("collection must be a string, and batches must be a list of strings")
            return cls(mechanism, counts, header["n"], header["collection"], frozenset(batches))
        except DamagedStateError as error:
            raise FileFormatError(f"{name}: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{name} has a damaged header: {error}") from error


def _is_parquet(path: str | os.PathLike[str]) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def _stored_dtype(counts: NDArray[Any]) -> type[np.int32 | np.int64]:
    """Return the dtype of kept counters, which depends only on their values, so that equal aggregates are equal."""
    if len(counts) < COMPACT_STATE:
        return np.int64
    bounds = np.iinfo(np.int32)
    fits = counts.dtype == np.int32 or bounds.min <= int(counts.min()) <= int(counts.max()) <= bounds.max
    return np.int32 if fits else np.int64


def short_id(identifier: str) -> str:
    """Return the first digits of the id of a collection or batch, as messages show them."""
    return identifier[:12] if identifier else "(none)"
