"""Tables of a collector, as numbered steps: the steps after i bring a database of step i to the last step.

``{bytes}`` is the type of octets, and ``{clustered}`` is the clause that keeps a table in the order of its key. The
rest is the same in both databases. Receipts and reports have no common key and no time: which report came with which id
is written nowhere. In both tables, `collection` is the number of a collection, because its id of 64 characters would be
three quarters of either table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from deniable.errors import StoreError, quoted

ROLE = "collector"
"""Owner of this database. A dealer's database is never opened as a collector's."""

STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
        "CREATE TABLE collections (id TEXT PRIMARY KEY, slug TEXT NOT NULL, position INTEGER NOT NULL,"
        " document TEXT NOT NULL, page TEXT NOT NULL, state TEXT NOT NULL, accepts_until TEXT, closed_day TEXT,"
        " source TEXT NOT NULL, counts {bytes} NOT NULL, n BIGINT NOT NULL, batches BIGINT NOT NULL,"
        " UNIQUE (slug, position))",
        "CREATE TABLE dictionaries (collection TEXT NOT NULL, attribute TEXT NOT NULL, file TEXT NOT NULL,"
        " words {bytes} NOT NULL, PRIMARY KEY (collection, attribute))",
        "CREATE TABLE receipts (collection TEXT NOT NULL, nullifier {bytes} NOT NULL,"
        " PRIMARY KEY (collection, nullifier)){clustered}",
        "CREATE TABLE inbox (collection TEXT NOT NULL, report {bytes} NOT NULL)",
        "CREATE TABLE batches (collection TEXT NOT NULL, number BIGINT NOT NULL, day TEXT NOT NULL, n BIGINT NOT NULL,"
        " content {bytes}, PRIMARY KEY (collection, number))",
        "CREATE TABLE rejections (collection TEXT NOT NULL, day TEXT NOT NULL, reason TEXT NOT NULL,"
        " count BIGINT NOT NULL, PRIMARY KEY (collection, day, reason))",
        "CREATE TABLE analysts (name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT NOT NULL)",
        "CREATE TABLE sessions (digest TEXT PRIMARY KEY, analyst TEXT NOT NULL, kind TEXT NOT NULL, expires TEXT)",
        "CREATE TABLE audit (at TEXT NOT NULL, analyst TEXT NOT NULL, act TEXT NOT NULL, about TEXT NOT NULL)",
    ),
    (
        "ALTER TABLE collections ADD COLUMN number BIGINT NOT NULL DEFAULT 0",
        "UPDATE collections SET number = (SELECT count(*) FROM collections AS one WHERE one.id <= collections.id)",
        "CREATE UNIQUE INDEX collections_by_number ON collections (number)",
        "ALTER TABLE receipts RENAME TO receipts_of_before",
        "CREATE TABLE receipts (collection BIGINT NOT NULL, nullifier {bytes} NOT NULL,"
        " PRIMARY KEY (collection, nullifier)){clustered}",
        "INSERT INTO receipts SELECT number, nullifier FROM receipts_of_before JOIN collections ON id = collection",
        "DROP TABLE receipts_of_before",
        "ALTER TABLE inbox RENAME TO inbox_of_before",
        "CREATE TABLE inbox (collection BIGINT NOT NULL, report {bytes} NOT NULL)",
        "INSERT INTO inbox SELECT number, report FROM inbox_of_before JOIN collections ON id = collection",
        "DROP TABLE inbox_of_before",
    ),
    (
        # Every release keeps its numbers, and the last release its sum, which analysts see.
        "CREATE TABLE releases (collection TEXT NOT NULL, batches BIGINT NOT NULL, day TEXT NOT NULL,"
        " n BIGINT NOT NULL, counts {bytes} NOT NULL, PRIMARY KEY (collection, batches))",
        # Analysts had already seen, batch for batch, what was drained before.
        "INSERT INTO releases SELECT b.collection, b.number, b.day, (SELECT sum(e.n) FROM batches e WHERE"
        " e.collection = b.collection AND e.number <= b.number), c.counts FROM batches b JOIN collections c"
        " ON c.id = b.collection AND c.batches = b.number",
        "INSERT INTO releases SELECT b.collection, b.number, b.day, (SELECT sum(e.n) FROM batches e WHERE"
        " e.collection = b.collection AND e.number <= b.number), substr(c.counts, 1, 0) FROM batches b"
        " JOIN collections c ON c.id = b.collection AND c.batches > b.number",
    ),
    (
        # Names of surveys are between blanks. NULL means all surveys.
        "ALTER TABLE analysts ADD COLUMN surveys TEXT",
        "ALTER TABLE sessions ADD COLUMN label TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE sessions ADD COLUMN created TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE sessions ADD COLUMN used TEXT NOT NULL DEFAULT ''",
        "UPDATE sessions SET label = substr(digest, 1, 8) WHERE kind = 'token'",
        "CREATE UNIQUE INDEX tokens_by_label ON sessions (analyst, label) WHERE kind = 'token'",
        "ALTER TABLE audit RENAME TO audit_of_before",
        "CREATE TABLE audit (number BIGINT NOT NULL, at TEXT NOT NULL, until TEXT NOT NULL, who TEXT NOT NULL,"
        " act TEXT NOT NULL, survey TEXT NOT NULL, about TEXT NOT NULL, times BIGINT NOT NULL)",
        "INSERT INTO audit SELECT 0, at, at, analyst, CASE act WHEN 'analyst' THEN 'add-analyst' ELSE act END,"
        " CASE act WHEN 'analyst' THEN '' ELSE about END, CASE act WHEN 'analyst' THEN about ELSE '' END, 1"
        " FROM audit_of_before",
        "DROP TABLE audit_of_before",
        "CREATE INDEX audit_by_time ON audit (at)",
    ),
    (
        # An invitation has the id that the link's holder sends, the channel, and the group for reminders.
        "CREATE TABLE invitations (collection BIGINT NOT NULL, nullifier {bytes} NOT NULL, tag TEXT NOT NULL,"
        " part BIGINT NOT NULL, PRIMARY KEY (collection, nullifier)){clustered}",
    ),
    (
        # These are surveys that are being made in a browser, and results that were put on the public port.
        "CREATE TABLE drafts (slug TEXT PRIMARY KEY, draft TEXT NOT NULL)",
        "CREATE TABLE published (collection TEXT NOT NULL, name TEXT NOT NULL, page TEXT NOT NULL,"
        " PRIMARY KEY (collection, name))",
    ),
    (
        # A device finds its report by the leaf. It is in no table with an id, and apart from the reports once they are
        # drained.
        "ALTER TABLE inbox ADD COLUMN leaf {bytes}",
        "ALTER TABLE batches ADD COLUMN leaves {bytes}",
        "ALTER TABLE releases ADD COLUMN leaves {bytes}",
        "ALTER TABLE releases ADD COLUMN root {bytes}",
        "ALTER TABLE releases ADD COLUMN digest {bytes}",
        "ALTER TABLE releases ADD COLUMN opening {bytes}",
    ),
)

RESTORED = "restored"
"""Key in `meta` for a restore: its time, and the file. It stays until a store is opened that can write the restore into
the audit."""

AFTER_RESTORE = (
    "DELETE FROM sessions WHERE kind <> 'token'",
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
)
"""Statements for a backup of any version that replaces a database. The second statement takes `RESTORED` and the
time."""

VERSION = len(STEPS)
"""Version of the tables that this release reads and writes."""


def restored(name: str) -> tuple[str, str]:
    """Return the key and the value that a restore of a file with this name writes into `meta`."""
    return RESTORED, f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {name}"


TABLES = frozenset(re.findall(r"CREATE TABLE (\w+)", " ".join(statement for step in STEPS for statement in step)))
"""Tables of all versions."""

_ALWAYS = ("batches", "collections", "inbox", "meta", "receipts")


def checked_version(meta: Mapping[str, str], what: str = "the database") -> int:
    """Return the version of the tables of a collector's database, read from its table `meta`.

    Raises
    ------
    StoreError
        If the database is not a collector's, is of a newer release, or states no version.

    Examples
    --------
    >>> checked_version({"role": "collector", "version": "1"})
    1
    """
    if meta.get("role") != ROLE:
        raise StoreError(f"{what} must belong to a {ROLE}, but it belongs to a {meta.get('role', 'different program')}")
    text = meta.get("version", "")
    version = int(text) if text.isdecimal() and text.isascii() and len(text) < 9 else 0
    if version < 1:
        raise StoreError(
            f"{what} must state that its tables have a version from 1 to {VERSION}, but it states {quoted(text[:20])}"
        )
    if version > VERSION:
        raise StoreError(
            f"{what} was written by a newer release: its tables have version {version}, but this release can read at "
            f"most version {VERSION}"
        )
    return version


def checked_tables(found: set[str], what: str) -> None:
    """Check that tables are those of a collector, of any version.

    Raises
    ------
    StoreError
        If a table is absent, or is another program's.
    """
    if missing := sorted({*_ALWAYS} - found):
        raise StoreError(f"{what} must belong to a {ROLE}, but it has no table {missing[0]}")
    if others := sorted(found - TABLES):
        raise StoreError(f"{what} must belong to a {ROLE}, but its table {others[0]} does not come from a {ROLE}")
