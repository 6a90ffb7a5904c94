"""Files of SQLite databases: backups, checks of them, and the replacement of a database by one.

A file that takes a database's place is checked before anything is touched. SQLite must be able to read all of it. It
must be a collector's, of this release or an earlier one, and contain nothing else. The earlier database is kept beside
it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from deniable.core.outputs import atomic_path
from deniable.errors import StoreError, StoreInUseError
from deniable.service.stores.migrations import AFTER_RESTORE, STEPS, checked_tables, checked_version, restored

LOCK = ".lock"
"""Ending of the name of the lock file, which is beside the database."""

TIMEOUT = 3
"""Seconds to wait for another program that reads or writes."""

_WITH_RELEASES = 3
_COUNTER = 8

_LOG = "-wal"
_MAGIC = b"SQLite format 3\0"


def dated(path: Path, what: str) -> Path:
    """Return an unused name beside a file that says what the new file is and when it was made."""
    stem = f"{path.name}.{what}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    names = (path.with_name(stem + (f"-{i}" if i else "")) for i in range(1000))
    return next(name for name in names if not name.exists())


def write_backup(source: Path, output: Path) -> None:
    """Write a copy of a database as of one moment, which only its owner can read.

    A separate reader makes the copy, which stops nobody. The copy is a new database with the rows of the first, and
    without the traces of deleted rows that the first keeps.
    """
    with atomic_path(output, private=True) as temporary, errors(), contextlib.closing(read_only(source)) as reader:
        reader.execute("VACUUM INTO ?", (str(temporary),))


def restore(source: Path, path: Path) -> Path | None:
    """Put a backup in the place of a database that nobody serves, and return the path of the earlier database.

    Returns
    -------
    Path or None
        Path under which the earlier database is kept.

    Raises
    ------
    StoreInUseError
        If a collector runs on the database, or another program writes it.
    StoreError
        If the backup is not a whole database of a collector, or is of a newer release.
    OutputError
        If the disk has no room for both.
    """
    descriptor = hold_lock(path)
    try:
        if path.exists() and path.samefile(source):
            raise StoreError(f"the backup and the database must be different files, got {path} for both")
        with errors():
            check(source)
            kept = None
            if path.exists():
                _end_log(path)
                kept = _keep(path)
            with atomic_path(path, private=True) as temporary:
                with contextlib.closing(read_only(source)) as reader:
                    reader.execute("VACUUM INTO ?", (str(temporary),))
                _mark(temporary, source.name)
                # A log that stays would be applied to the database that takes this one's place.
                for ending in (_LOG, "-shm"):
                    path.with_name(path.name + ending).unlink(missing_ok=True)
        return kept
    finally:
        os.close(descriptor)


def _mark(path: Path, name: str) -> None:
    """End the sessions in a backup before it takes a place, and write a note of the restore for the audit."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as copy:
        copy.execute("PRAGMA journal_mode = MEMORY")
        copy.execute("PRAGMA secure_delete = ON")
        copy.execute("BEGIN")
        ended, marked = AFTER_RESTORE
        copy.execute(ended)
        copy.execute(marked, restored(name))
        copy.execute("COMMIT")


def check(source: Path) -> None:
    """Check that a file is a whole database of a collector.

    Raises
    ------
    StoreError
        If the file is not one; the message says what it is instead.
    """
    with source.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise StoreError(f"the backup {source} must be an SQLite database, but it is something else")
    with errors(), contextlib.closing(read_only(source)) as copy:
        if copy.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise StoreError(
                f"the backup {source} is damaged, because SQLite finds errors in it; restore another backup"
            )
        found = copy.execute(
            "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        ).fetchall()
        checked_tables({str(name) for kind, name in found if kind == "table"}, f"the backup {source}")
        if others := sorted({str(kind) for kind, _ in found} - {"table", "index"}):
            raise StoreError(f"the backup {source} must contain only tables, but it contains a {others[0]}")
        version = checked_version(dict(copy.execute("SELECT key, value FROM meta")), f"the backup {source}")
        _check_shape(copy, version, f"the backup {source}")


def _check_shape(copy: sqlite3.Connection, version: int, what: str) -> None:
    """Check that every table and index is the one that a collector of this version makes, and that sums can be sums."""
    with contextlib.closing(sqlite3.connect(":memory:")) as scratch:
        for statement in (statement for step in STEPS[:version] for statement in step):
            scratch.execute(statement.format(bytes="BLOB", clustered=" WITHOUT ROWID"))
        if others := sorted({name for name, _ in _shapes(copy) ^ _shapes(scratch)}):
            raise StoreError(f"{what} must have the tables of version {version}, but its table {others[0]} differs")
    if copy.execute(f"SELECT 1 FROM collections WHERE length(counts) % {_COUNTER}").fetchone() or (
        version >= _WITH_RELEASES
        and copy.execute(
            "SELECT 1 FROM releases r JOIN collections c ON c.id = r.collection"
            " WHERE length(r.counts) NOT IN (0, length(c.counts))"
        ).fetchone()
    ):
        raise StoreError(f"{what} must contain whole counters in its sums, but one counter is cut off")


def _shapes(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Return names and definitions in one form: SQLite quotes a renamed table, and blanks mean nothing in ours."""
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    )
    return {(str(name), re.sub(r'["\s]', "", str(sql))) for name, sql in found}


def _end_log(path: Path) -> None:
    """Move the contents of a database's log into its file, so that nothing is missed if the process is killed next."""
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=TIMEOUT)) as old:
            old.execute("PRAGMA synchronous = FULL")
            old.execute("BEGIN IMMEDIATE")
            old.execute("ROLLBACK")
            old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise StoreInUseError(
                f"the database {path} is being written by another program; try again when that program is done"
            ) from error
    except sqlite3.Error:
        # Backups exist because a database may be unreadable.
        pass


def _keep(path: Path) -> Path:
    """Copy a database as it is, together with the contents of its log, to a dated name beside it."""
    kept = dated(path, "replaced")
    log = path.with_name(path.name + _LOG)
    for one, name in ((log, kept.with_name(kept.name + _LOG)), (path, kept)):
        if one == path or (one.exists() and one.stat().st_size):
            with atomic_path(name, private=True) as temporary:
                shutil.copyfile(one, temporary)
    return kept


def read_only(path: Path) -> sqlite3.Connection:
    """Return a connection that only reads."""
    address = f"file:{quote(path.absolute().as_posix())}?mode=ro"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=TIMEOUT)
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def hold_lock(path: Path) -> int:
    """Hold the lock file of a database; the file stays, and its lock ends with the process."""
    try:
        descriptor = os.open(path.with_name(path.name + LOCK), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise StoreError(f"cannot write into the folder of {path}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise StoreInUseError(f"the database {path} is served by another process; stop that process first") from error
    return descriptor


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Turn errors of SQLite and of files into StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"the database refused: {error}") from error
    except OSError as error:
        raise StoreError(f"the database cannot be opened: {error.strerror or error}") from error
