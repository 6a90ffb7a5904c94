"""Store for SQLite: one file, one process, and one connection that writes.

SQLite before 3.51.3 can damage a write-ahead log that two connections write or checkpoint. One connection therefore
does both, and others only read. A lock file keeps a second process out. Deleted rows are overwritten (`secure_delete`).
The log is cut whenever reports were drained or stirred, as far as no reader needs it, because the log contains every
single commit.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from deniable.errors import StoreError
from deniable.files.wire import LEAF_BYTES, Rows
from deniable.service.stores.accounts import Run
from deniable.service.stores.invited import VALID
from deniable.service.stores.sqlite_files import TIMEOUT, dated, errors, hold_lock, read_only, write_backup
from deniable.service.stores.store import AT_A_TIME, Store, Upgrade

# There is one statement for all rows, with at most one row as its answer. Each statement and each row of an answer lets
# go of the interpreter once, and waits for it again while requests are read.
_PIECES = (
    "WITH RECURSIVE places (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM places WHERE i + 1 < ?3),"
    " pieces (i, piece) AS (SELECT i, substr(?1, 1 + ?2 * i, ?2) FROM places)"
)
"""SQL that turns the result of `_pieces`, ?1 to ?3, into rows again."""

_SOME = (
    "SELECT group_concat(hex(report) || hex(coalesce(leaf, zeroblob(32))), ''), count(*), max(place) FROM"
    " (SELECT rowid AS place, report, leaf FROM inbox WHERE collection = ? AND rowid > ? ORDER BY rowid LIMIT ?)"
)
_PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    # Deleted rows are overwritten before they are forgotten.
    "secure_delete = ON",
    "mmap_size = 0",
    # Data to undo a statement stays in memory, not in a file elsewhere that nobody overwrites.
    "temp_store = MEMORY",
)
MOST_REWRITTEN = 1 << 28
"""Largest database, in bytes, that is rewritten after a deletion. This takes as much memory and keeps uploads
waiting."""

_CLOSE_SECONDS = 0.5


@final
class SqliteStore(Store):
    """Store in one file.

    Parameters
    ----------
    path : Path
        File of the database, readable by its owner only; made if absent.
    create : bool
        True to make the file and its tables if there are none.
    upgrade : callable
        Function that is called before older tables are changed, as in `Store.prepare`.
    """

    bytes_type: ClassVar[str] = "BLOB"
    clustered: ClassVar[str] = " WITHOUT ROWID"

    def __init__(self, path: Path, *, create: bool, upgrade: Upgrade) -> None:
        self.path = self.file = path
        self._write_lock, self._read_lock = threading.RLock(), threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        if not path.exists() and not create:
            raise StoreError(f"there is no database {path}: make this database with `deniable serve --migrate`")
        self._lock: int | None = hold_lock(path)
        try:
            with errors():
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
                self._writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=TIMEOUT)
                for pragma in _PRAGMAS:
                    self._writer.execute(f"PRAGMA {pragma}")
                self.prepare(create, upgrade)
                self._reader = read_only(path)
        except BaseException:
            self.close()
            raise

    def _taking(self) -> AbstractContextManager[Run]:
        return self._writing()

    def _working(self) -> AbstractContextManager[Run]:
        return self._writing()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Run]:
        with self._write_lock, errors():
            connection = self._open(self._writer)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield _runner(connection)
                connection.execute("COMMIT")
            except BaseException:
                # SQLite has already rolled back by itself if the disk is full.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Run]:
        with self._read_lock, errors():
            connection = self._open(self._reader)
            connection.execute("BEGIN")
            try:
                yield _runner(connection)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _open(self, connection: sqlite3.Connection | None) -> sqlite3.Connection:
        if connection is None:
            raise StoreError(f"the database {self.path} is closed")
        return connection

    def _tables(self, run: Run) -> int:
        return int(run("SELECT count(*) FROM sqlite_master WHERE name = 'meta'")[0][0])

    def _record(self, run: Run, collection: int, ids: Rows) -> NDArray[np.bool_]:
        ((known,),) = run(
            f"{_PIECES} SELECT group_concat(i) FROM pieces CROSS JOIN receipts"
            " ON collection = ?4 AND nullifier = piece",
            *(*_pieces(ids), collection),
        )
        new = np.ones(len(ids), dtype=np.bool_)
        if known is not None:
            new[[int(i) for i in str(known).split(",")]] = False
        # Nobody else writes between the query and this statement.
        if new.any():
            run(f"{_PIECES} INSERT INTO receipts SELECT ?4, piece FROM pieces", *_pieces(ids[new]), collection)
        return new

    def _invited(self, run: Run, collection: int, ids: Rows) -> NDArray[np.bool_]:
        ((known,),) = run(
            f"{_PIECES} SELECT group_concat(i) FROM pieces CROSS JOIN invitations"
            f" ON collection = ?4 AND nullifier = piece AND {VALID}",
            *(*_pieces(ids), collection),
        )
        return np.isin(np.arange(len(ids)), [int(i) for i in str(known or "").split(",") if i])

    def _put(self, run: Run, collection: int, rows: Rows) -> None:
        if len(rows):
            run(
                f"{_PIECES} INSERT INTO inbox SELECT ?4, substr(piece, 1, ?5), substr(piece, ?5 + 1) FROM pieces",
                *(*_pieces(rows), collection, rows.shape[1] - LEAF_BYTES),
            )

    def _emptied(self, run: Run, collection: int) -> tuple[bytes, int]:
        content, reports, last = bytearray(), 0, 0
        ((width,),) = run("SELECT max(length(report)) FROM inbox WHERE collection = ?", collection)
        while True:
            ((part, some, last),) = run(_SOME, collection, last, max(1, AT_A_TIME // (width or 1)))
            if part is None:
                break
            content += bytes.fromhex(part)
            reports += some
        run("DELETE FROM inbox WHERE collection = ?", collection)
        return bytes(content), reports

    def _claim(self, run: Run, collection: str, *, wait: bool) -> bool:  # noqa: ARG002
        return True  # a SQLite database has only one collector

    def _settle(self) -> bool:
        with self._write_lock, contextlib.suppress(sqlite3.Error):
            connection = self._open(self._writer)
            # This does not wait for a backup that is being read: the log is cut the next time.
            connection.execute("PRAGMA busy_timeout = 0")
            try:
                ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.execute(f"PRAGMA busy_timeout = {1000 * TIMEOUT}")
            return not busy
        return False

    def _erase(self) -> None:
        # Deleted rows were overwritten in the file. A rewritten file is smaller as well. A reader would keep the log.
        with self._write_lock, self._read_lock, contextlib.suppress(sqlite3.Error):
            connection = self._open(self._writer)
            pages, free, size = (
                int(connection.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "freelist_count", "page_size")
            )
            try:
                if (pages - free) * size <= MOST_REWRITTEN:
                    connection.execute("VACUUM")
            finally:
                self._settle()

    def backup(self, output: Path) -> None:
        write_backup(self.path, output)

    def beside(self, what: str) -> Path:
        return dated(self.path, what)

    def close(self) -> None:
        # A thread that still works on a disk that does not answer ends with the process.
        with _held(self._write_lock) as mine, _held(self._read_lock) as reading:
            if not (mine and reading):
                return
            for connection in (self._reader, self._writer):
                if connection is not None:
                    connection.close()
            self._reader = self._writer = None
            if self._lock is not None:
                os.close(self._lock)
            self._lock = None


@contextlib.contextmanager
def _held(lock: Any) -> Iterator[bool]:
    """Hold a lock inside the block if it can be had in time, and yield whether it could."""
    found = lock.acquire(timeout=_CLOSE_SECONDS)
    try:
        yield found
    finally:
        if found:
            lock.release()


def _pieces(rows: Rows) -> tuple[bytes, int, int]:
    """Return rows as bytes, their width and their number."""
    return np.ascontiguousarray(rows).tobytes(), rows.shape[1], len(rows)


def _runner(connection: sqlite3.Connection) -> Run:
    def run(statement: str, *values: Any) -> list[Any]:
        return connection.execute(statement, values).fetchall()

    return run
