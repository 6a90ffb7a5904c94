"""Where a collector keeps what it has: one database, SQLite in a file beside it or PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from deniable.errors import FileFormatError, InvalidParameterError
from deniable.service.stores.store import Store


def open_store(url: str, *, migrate: bool = False) -> Store:
    """Open a database; it is ours until `close`.

    Parameters
    ----------
    url : str
        ``sqlite:PATH`` or ``postgresql://...``.
    migrate : bool
        Make the tables of a new database, and bring an older one up to date.

    Raises
    ------
    InvalidParameterError
        If it is neither.
    StoreInUseError
        If another process serves it (SQLite).
    StoreError
        If it cannot be opened, is of a newer release, needs migrating, or is not a collector's.
    """
    if path := sqlite_path(url):
        from deniable.service.stores.sqlite import SqliteStore

        return SqliteStore(path, migrate=migrate)
    if url.startswith(("postgresql://", "postgres://")):
        from deniable.service.stores.postgres import PostgresStore

        return PostgresStore(url, migrate=migrate)
    # An address may hold a password.
    raise InvalidParameterError(f"database must be sqlite:PATH or postgresql://..., got {url.partition(':')[0]}:...")


def restore_store(url: str, source: Path) -> None:
    """Put a backup in the place of a database that nobody serves (SQLite), or into an empty one (PostgreSQL).

    Raises
    ------
    StoreInUseError
        If a collector serves it.
    StoreError
        If the backup is damaged, or the database is not empty.
    """
    if not source.exists():
        raise FileFormatError(f"there is no file {source}")
    if path := sqlite_path(url):
        from deniable.service.stores import sqlite

        sqlite.restore(source, path)
        return
    from deniable.service.stores import postgres

    postgres.restore(source, url)


def check_backup(path: Path) -> None:
    """Raise StoreError unless a file is a whole backup of a collector."""
    with path.open("rb") as file:
        start = file.read(16)
    if start.startswith(b"SQLite format 3"):
        from deniable.service.stores import sqlite

        sqlite.check_backup(path)
    else:
        from deniable.service.stores import postgres

        postgres.check_backup(path)


def sqlite_path(url: str) -> Path | None:
    """Return the file that an address of an SQLite database names, None for another kind of database.

    Examples
    --------
    >>> str(sqlite_path("sqlite:survey.db")), sqlite_path("postgresql://localhost/survey")
    ('survey.db', None)
    """
    path = url.removeprefix("sqlite:")
    return Path(path) if path and path != url else None
