"""Files of shares, which the dealer keeps until they are handed out and which contributors receive.

A deal is a directory that only the dealer can read. It contains Parquet files of up to 65,536 contributors each.
Handing out copies rows to a file for those contributors and removes the rows from the directory. So the dealer keeps no
share that somebody else holds. A file that was handed out looks like any other file of shares, and `randomize_file`
takes either. The metadata of every file contain the collection, the deal, and the random number of the dealing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from deniable.core.mechanism import ReportField
from deniable.core.outputs import Commit, atomic_path
from deniable.errors import (
    AlreadyRandomizedError,
    FileFormatError,
    InvalidInputError,
    InvalidParameterError,
    MismatchError,
    quoted,
)
from deniable.files.formats.columns import arrow_type, check_column, to_arrow, to_numpy
from deniable.files.formats.parquet_metadata import SHARES
from deniable.files.formats.reports import most_unpacked
from deniable.files.formats.tables import open_parquet, parquet_batches, parquet_errors
from deniable.files.jobs.ledger import Entries, Entry, Ledger
from deniable.research.dealt.dealt import DealtMechanism
from deniable.research.dealt.shares import Shares
from deniable.survey.collection import Collection

SHARES_FORMAT = "deniable share ledger"
SHARES_FILE_NAME = ".deniable-shares.json"


def share_ledger(directory: str | os.PathLike[str]) -> Ledger:
    """Return the ledger of the shares in a directory, or of the deals in it."""
    return Ledger(Path(directory) / SHARES_FILE_NAME, SHARES_FORMAT)


def dealt_before(entries: Entries, collection: str) -> Entry | None:
    """Return the first dealing for a collection, or None if there was none."""
    return next((e for e in entries if (e.event, e.collection) == ("dealt", collection)), None)


def used_before(
    entries: Entries, collection: str, dealing: str, contributors: NDArray[np.int64]
) -> tuple[int, str] | None:
    """Return the first of these contributors (ascending) whose share was used, and for what.

    The result is None if no share was used.
    """
    found = []
    for entry in entries:
        if (entry.event, entry.collection, entry.dealing) == ("used", collection, dealing):
            at = int(np.searchsorted(contributors, entry.first))
            if at < len(contributors) and contributors[at] <= entry.last:
                found.append((int(contributors[at]), entry.into))
    return min(found, default=None)


CONTRIBUTOR = "contributor"
CHUNK_ROWS = 1 << 16

PathLike = str | os.PathLike[str]


def dealer_of(collection: Collection) -> DealtMechanism[Any]:
    """Return a collection's mechanism if it deals shares, or raise InvalidParameterError if it does not."""
    if not collection.dealt:
        raise InvalidParameterError(
            f"the collection must have a mechanism with a dealer, got {collection.mechanism.name}"
        )
    return cast("DealtMechanism[Any]", collection.mechanism)


def write_shares(
    path: Path,
    collection: Collection,
    dealing: str,
    contributors: NDArray[np.int64],
    shares: Shares,
    commit: Commit | None = None,
) -> None:
    """Write one file of shares, atomically and readable by its owner only.

    `commit` has the same meaning as for `atomic_path`.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    fields = dealer_of(collection).share_fields
    stored = zip(shares.columns, fields, strict=True)
    columns = [pa.array(contributors), *(to_arrow(np.ascontiguousarray(column), f) for column, f in stored)]
    schema = pa.schema(
        [pa.field(CONTRIBUTOR, pa.int64(), False), *(pa.field(f.name, arrow_type(f), False) for f in fields)],
        metadata=SHARES.metadata(collection, deal=shares.deal_id, dealing=dealing),
    )
    with atomic_path(path, private=True, commit=commit) as temporary:
        pq.write_table(
            pa.table(columns, schema=schema),
            temporary,
            compression="zstd",
            use_dictionary=False,
            column_encoding={CONTRIBUTOR: "DELTA_BINARY_PACKED"},
            write_page_checksum=True,
        )


class ShareReader:
    """Shares in a file or a directory, in the order of their contributors.

    Parameters
    ----------
    path : path
        A file of shares, or a directory of such files.
    collection : Collection
        Collection that the shares must belong to.

    Attributes
    ----------
    n : int
        Number of shares.
    dealing : str
        Random number of their dealing.

    Raises
    ------
    FileFormatError
        If there is no such file, or a file is damaged or foreign.
    MismatchError
        If the shares belong to another collection or deal, or to two dealings.
    """

    def __init__(self, path: PathLike, collection: Collection) -> None:
        self.path, self.collection = Path(path), collection
        self._mechanism = dealer_of(collection)
        self._files = _share_files(self.path)
        self._ranges: dict[Path, tuple[int, int]] = {}
        self.n, self.dealing = 0, ""
        for file in self._files:
            self.n += self._checked(file)

    @property
    def directory(self) -> Path:
        """Return the directory in which the ledger of these shares is kept."""
        return self.path if self.path.is_dir() else self.path.absolute().parent

    def _checked(self, path: Path) -> int:
        with open_parquet(path) as file, parquet_errors(path):
            schema, rows = file.schema_arrow, int(file.metadata.num_rows)
            self._ranges[path] = _contributors(file)
            stated = SHARES.stated(file.metadata.metadata, path, self.collection)
        if stated["deal"] != self._mechanism.deal_id:
            raise MismatchError(
                f"{path} contains shares of deal {quoted(stated['deal'])}, not of deal "
                f"{quoted(self._mechanism.deal_id)}"
            )
        self.dealing = self.dealing or stated["dealing"]
        if stated["dealing"] != self.dealing:
            raise MismatchError(
                f"{path} and {self._files[0]} contain shares of different runs of `deniable deal`: use the files of "
                "one run"
            )
        check_column(schema, ReportField(CONTRIBUTOR, "int64"), str(path))
        for field in self._mechanism.share_fields:
            check_column(schema, field, str(path))
        return rows

    def restrict(self, first: int, last: int) -> list[Path]:
        """Return the files that hold shares of contributors first..last, and read only these files from now on."""
        self._files = [path for path, (low, high) in self._ranges.items() if low <= last and high >= first]
        return self._files

    def batches(self, rows: int = CHUNK_ROWS) -> Iterator[tuple[NDArray[np.int64], Shares]]:
        """Yield (contributors, shares) of at most this many rows.

        Raises
        ------
        FileFormatError
            If a file is damaged.
        InvalidInputError
            If a contributor has two shares, or the files are out of order. The error names the contributor.
        """
        fields = self._mechanism.share_fields
        last = 0
        for path in self._files:
            names, most = [CONTRIBUTOR, *(field.name for field in fields)], most_unpacked(fields)
            with open_parquet(path) as file:
                for batch in parquet_batches(file, path, rows, names, most):
                    with parquet_errors(path):
                        numbers = np.array(batch.column(CONTRIBUTOR).to_numpy(zero_copy_only=False))
                        arrays = [to_numpy(batch.column(f.name), f, str(path), 0) for f in fields]
                    steps = np.diff(numbers, prepend=last)
                    if (steps <= 0).any():
                        number = int(numbers[int((steps <= 0).argmax())])
                        raise InvalidInputError(
                            f"{path} must list every contributor once, in ascending order, but contributor {number:,} "
                            "is listed twice or out of order; use the file as it was dealt"
                        )
                    if len(numbers):
                        last = int(numbers[-1])
                        yield numbers, Shares(self._mechanism.deal_id, tuple(arrays))


class ShareStream:
    """Shares that are taken in pieces for answers in the same order, each share once.

    The stream remembers which shares were taken.

    Parameters
    ----------
    reader : ShareReader
        Reader of the shares.
    ledger : Ledger
        Record of the shares that were used before.

    Attributes
    ----------
    total : int
        Number of all shares.
    """

    def __init__(self, reader: ShareReader, ledger: Ledger) -> None:
        self._reader, self._ledger = reader, ledger
        self._known = ledger.entries()
        self._batches = reader.batches()
        self._numbers, self._at = np.empty(0, np.int64), 0
        self._shares: Shares
        self.total = reader.n
        self._ranges: list[tuple[int, int]] = []

    def take(self, count: int) -> Shares:
        """Return the next `count` shares.

        Raises
        ------
        InvalidInputError
            If fewer shares are left.
        AlreadyRandomizedError
            If a share was used before. The error names its contributor.
        """
        parts: list[Shares] = []
        missing = count
        while missing:
            if self._at == len(self._numbers):
                self._numbers, self._shares = self._next()
                self._at = 0
            rows = slice(self._at, min(self._at + missing, len(self._numbers)))
            self._note(self._numbers[rows])
            parts.append(self._shares[rows])
            missing -= rows.stop - rows.start
            self._at = rows.stop
        return Shares.joined(parts)

    def _next(self) -> tuple[NDArray[np.int64], Shares]:
        found = next(self._batches, None)
        if found is None:
            raise InvalidInputError(
                f"every contributor needs one share, but {self._reader.path} contains only {self._reader.n:,} shares: "
                f"row {self._reader.n + 1:,} of the answers has no share"
            )
        return found

    def _refuse_used(self, entries: Entries, numbers: NDArray[np.int64]) -> None:
        clash = used_before(entries, self._reader.collection.id, self._reader.dealing, numbers)
        if clash is not None:
            raise AlreadyRandomizedError(
                f"the share of contributor {clash[0]:,} in {self._reader.path} was already used (for "
                f"{clash[1]}): a second answer would be randomised by the same random draws"
            )

    def _note(self, numbers: NDArray[np.int64]) -> None:
        self._refuse_used(self._known, numbers)
        breaks = np.flatnonzero(np.diff(numbers) != 1)
        for first, last in zip(np.append(0, breaks + 1), np.append(breaks, len(numbers) - 1), strict=True):
            low, high = int(numbers[first]), int(numbers[last])
            if self._ranges and self._ranges[-1][1] == low - 1:
                low = self._ranges.pop()[0]
            self._ranges.append((low, high))

    def recording(self, into: str) -> Commit:
        """Return a context that records the taken shares as used while their reports appear, after a last check.

        Entering the context raises AlreadyRandomizedError if another run used one of the shares in the meantime; the
        error names the contributor. It raises OutputError if the ledger cannot be written.
        """
        used = [
            Entry(
                event="used",
                collection=self._reader.collection.id,
                dealing=self._reader.dealing,
                first=first,
                last=last,
                into=into,
            )
            for first, last in self._ranges
        ]

        def refuse(entries: Entries) -> None:
            for first, last in self._ranges:
                self._refuse_used(entries, np.arange(first, last + 1))

        return self._ledger.recording(used, refuse)


def _share_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.parquet"))
    if not files:
        raise FileFormatError(f"{path} contains no shares: all shares were handed out, or this directory is not a deal")
    return files


def _contributors(file: pq.ParquetFile) -> tuple[int, int]:
    """Return the first and the last contributor of a file from its statistics, or (1, 0) if the file is empty."""
    column = file.schema_arrow.get_field_index(CONTRIBUTOR)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    bounds = [group.column(column).statistics for group in groups if group.num_rows and column >= 0]
    if not bounds or not all(bound is not None and bound.has_min_max for bound in bounds):
        return 1, 0
    return min(bound.min for bound in bounds), max(bound.max for bound in bounds)


def open_stream(path: PathLike, collection: Collection) -> ShareStream:
    """Return a stream of the shares in a file or a directory, to be taken in the order of the answers.

    The ledger is kept beside the shares. The errors are those of `ShareReader`.
    """
    reader = ShareReader(path, collection)
    return ShareStream(reader, share_ledger(reader.directory))
