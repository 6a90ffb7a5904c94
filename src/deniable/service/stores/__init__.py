"""Stores of a collector: one database, either SQLite in a file on the same machine or PostgreSQL."""

from __future__ import annotations

import logging
from pathlib import Path

from deniable.errors import FileFormatError, InvalidParameterError, StoreError
from deniable.service.stores.migrations import VERSION
from deniable.service.stores.store import Store, Upgrade

log = logging.getLogger("deniable.service")


def open_store(url: str, *, create: bool = False, migrate: bool = False) -> Store:
    """Open a database, which belongs to this process until `close`.

    Parameters
    ----------
    url : str
        ``sqlite:PATH`` or ``postgresql://...``.
    create : bool
        True to make the tables of a new database.
    migrate : bool
        True to do the same, and also to bring an older SQLite database up to date after a backup beside it. An older
        PostgreSQL database is refused; see `migrate_store`.

    Raises
    ------
    InvalidParameterError
        If the address is of neither kind.
    StoreInUseError
        If another process serves the database (SQLite).
    StoreError
        If the database cannot be opened, is of a newer release, needs migrating, or is not a collector's.
    """
    return _opened(url, create or migrate, _back_up_beside if migrate else _refuse)


def migrate_store(url: str, output: Path | None = None, *, backup: bool = True) -> Path | None:
    """Bring a database that nobody serves up to date, after a backup, and return the backup's path.

    Parameters
    ----------
    url : str
        Address of the database, as in `open_store`.
    output : Path, optional
        Path of the backup; SQLite's default is a dated name beside the database.
    backup : bool
        True to make a backup at all.

    Returns
    -------
    Path or None
        Path of the backup; None if there was nothing to do, or no backup was wanted.

    Raises
    ------
    StoreError
        If there is no such database, or it cannot be backed up or changed. The database then stays as it was.
    """
    made: list[Path] = []

    def upgrade(store: Store, version: int) -> None:
        if backup:
            made.append(output or store.beside(f"version-{version}"))
            store.backup(made[0])

    _opened(url, False, upgrade).close()
    return made[0] if made else None


def _opened(url: str, create: bool, upgrade: Upgrade) -> Store:
    if path := sqlite_path(url):
        from deniable.service.stores.sqlite import SqliteStore

        return SqliteStore(path, create=create, upgrade=upgrade)
    if url.startswith(("postgresql://", "postgres://")):
        from deniable.service.stores.postgres import PostgresStore

        return PostgresStore(url, create=create, upgrade=upgrade)
    # An address may contain a password, so only its beginning is quoted.
    raise InvalidParameterError(
        f"database must be sqlite:PATH or an address that begins with postgresql://, got {url.partition(':')[0]}:..."
    )


def _refuse(_: Store, version: int) -> None:
    raise StoreError(
        f"the tables of the database have version {version}, but this release needs version {VERSION}: stop the "
        "collectors of this database, and run `deniable survey migrate`, which makes a backup first"
    )


def _back_up_beside(store: Store, version: int) -> None:
    output = store.beside(f"version-{version}")
    store.backup(output)
    log.warning(
        "the database had tables of version %d; it was backed up to %s and is brought up to date", version, output
    )


def restore_store(url: str, source: Path) -> Path | None:
    """Put a backup in the place of a database that nobody serves (SQLite), or into an empty database (PostgreSQL).

    Returns
    -------
    Path or None
        Path under which the earlier SQLite database is kept.

    Raises
    ------
    FileFormatError
        If there is no such file.
    StoreInUseError
        If a collector serves the database.
    StoreError
        If the backup is damaged, not a collector's or of a newer release, or the PostgreSQL database is not empty.
        Nothing was touched then.
    """
    if not source.is_file():
        raise FileFormatError(f"there is no file {source}")
    if path := sqlite_path(url):
        from deniable.service.stores import sqlite_files

        return sqlite_files.restore(source, path)
    from deniable.service.stores import postgres

    postgres.restore(source, url)
    return None


def check_backup(path: Path) -> None:
    """Raise StoreError unless a file is a whole backup of a collector."""
    with path.open("rb") as file:
        start = file.read(16)
    if start.startswith(b"SQLite format 3"):
        from deniable.service.stores import sqlite_files

        sqlite_files.check(path)
    else:
        from deniable.service.stores import postgres_programs

        postgres_programs.check_dump(path)


def sqlite_path(url: str) -> Path | None:
    """Return the file that an address of an SQLite database names, or None for another kind of database.

    Examples
    --------
    >>> str(sqlite_path("sqlite:survey.db")), sqlite_path("postgresql://localhost/survey")
    ('survey.db', None)
    """
    path = url.removeprefix("sqlite:")
    return Path(path) if path and path != url else None
