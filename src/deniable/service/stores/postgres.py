"""Store for PostgreSQL, in which several collectors share one database.

There are three connections, one for each lane. A connection is made again when it is lost, and given up when the server
does not answer. Receipts are written in the order of their ids; otherwise two collectors that are sent the same ids
would lock each other out. A transaction that takes reports holds the key of its collection's row, so that a close waits
for it. Drains hold an advisory lock.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from deniable.errors import MissingExtraError, StoreError
from deniable.files.wire import LEAF_BYTES, Rows
from deniable.service.stores.accounts import Run
from deniable.service.stores.invited import VALID
from deniable.service.stores.migrations import AFTER_RESTORE, restored
from deniable.service.stores.store import AT_A_TIME, Store, Upgrade

try:
    import psycopg
    from psycopg.abc import PQGen
    from psycopg.conninfo import conninfo_to_dict

    from deniable.service.stores.postgres_programs import check_dump, restore_dump, write_dump
except ImportError as missing:
    raise MissingExtraError('PostgreSQL needs psycopg: pip install "deniable[postgres]"') from missing

_SOME = (
    "WITH taken AS (DELETE FROM inbox WHERE ctid = ANY(ARRAY(SELECT ctid FROM inbox WHERE collection = ? LIMIT ?))"
    " RETURNING report || coalesce(leaf, decode(repeat('00', 32), 'hex')) AS whole)"
    " SELECT string_agg(whole, ''), count(*) FROM taken"
)
"""Statement that takes some reports out in one row. One row for each report would take a hundred times their bytes."""

_OF_SURVEYS = (
    "collections",
    "dictionaries",
    "receipts",
    "invitations",
    "inbox",
    "batches",
    "releases",
    "rejections",
)
"""Tables with rows of a survey."""

_CONNECT_SECONDS = 3
"""Seconds to wait for a connection."""

_TAKING_SECONDS, _WORKING_SECONDS, _READING_SECONDS = 4.0, 60.0, 20.0
"""Seconds after which a transaction of each lane is given up. Uploads wait for the first lane."""

_LOCK_SECONDS = 2
"""Seconds to wait for a lock of another transaction."""

_SETTLE_LOCK = "200ms"

_NETWORK = {
    "connect_timeout": _CONNECT_SECONDS,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""Options of libpq for a server that is gone. The address of the database overrides them."""

_CLOSE_SECONDS = 0.5

_STRONGEST = "remote_apply"
"""Strongest accepted setting of synchronous_commit. "on" is enough, and weaker settings are raised to "on"."""


class _Connection(psycopg.Connection[Any]):
    """Connection that does not wait for ever, because a server that is stopped or cut off sends no error."""

    until = math.inf

    def wait(self, gen: PQGen[Any], *rest: Any, **more: Any) -> Any:
        """Wait for the server, and close the connection when it has taken too long."""
        return super().wait(self._bounded(gen), *rest, **more)

    def _bounded(self, gen: PQGen[Any]) -> PQGen[Any]:
        try:
            waits = next(gen)
            while True:
                ready = yield waits
                if not ready and time.monotonic() > self.until:
                    # The connection is closed, so that nobody waits for it again, not even to roll back.
                    self.pgconn.finish()
                    raise psycopg.OperationalError("the database did not answer in time")
                waits = gen.send(ready)
        except StopIteration as done:
            return done.value


class _Lane:
    """Connection that one thread uses at a time.

    Parameters
    ----------
    url : str
        Address of the database.
    seconds : float
        Largest number of seconds that a transaction may take.
    """

    def __init__(self, url: str, seconds: float) -> None:
        self.lock = threading.RLock()
        self._url, self._seconds = url, seconds
        self._connection: _Connection | None = None

    @contextlib.contextmanager
    def transaction(self, seconds: float | None = None) -> Iterator[Run]:
        with self.lock, _errors():
            connection = self.connected()
            connection.until = time.monotonic() + (seconds or self._seconds)
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    yield _runner(cursor)
            except psycopg.OperationalError:
                self.close()
                raise

    @contextlib.contextmanager
    def alone(self) -> Iterator[Run]:
        """Run statements, each of which is a transaction by itself."""
        with self.lock, _errors():
            connection = self.connected()
            connection.until = time.monotonic() + self._seconds
            try:
                with connection.cursor() as cursor:
                    yield _runner(cursor)
            except psycopg.OperationalError:
                self.close()
                raise

    def connected(self) -> _Connection:
        if self._connection is None or self._connection.closed:
            given = conninfo_to_dict(self._url)
            network: dict[str, Any] = {name: value for name, value in _NETWORK.items() if name not in given}
            self._connection = _Connection.connect(self._url, autocommit=True, **network)
            self._connection.until = time.monotonic() + self._seconds
            try:
                self._configure(self._connection)
            except BaseException:
                self.close()
                raise
        return self._connection

    def _configure(self, connection: _Connection) -> None:
        """Make every commit wait for the disk before it is answered, whatever the database or the role says.

        A server whose commits also wait for its standbys to apply them keeps this setting.
        """
        with connection.cursor() as cursor:
            run = _runner(cursor)
            ((fsync, commit),) = run("SELECT current_setting('fsync'), current_setting('synchronous_commit')")
            if fsync != "on":
                raise StoreError(
                    "the database must write data to the disk before it confirms a change, but its setting fsync is "
                    f"{fsync}; set fsync to on"
                )
            for name, value in (
                ("synchronous_commit", commit if commit == _STRONGEST else "on"),
                ("statement_timeout", f"{self._seconds:g}s"),
                ("lock_timeout", f"{_LOCK_SECONDS}s"),
            ):
                run("SELECT set_config(?, ?, false)", name, value)

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
        self._connection = None


@final
class PostgresStore(Store):
    """Store in a database of a PostgreSQL server.

    Parameters
    ----------
    url : str
        Address as libpq takes it: ``postgresql://user@host/name``.
    create : bool
        True to make the tables if there are none.
    upgrade : callable
        Function that is called before older tables are changed, as in `Store.prepare`.

    Raises
    ------
    StoreError
        If the server does not wait for its disk (fsync).
    """

    bytes_type: ClassVar[str] = "BYTEA"
    clustered: ClassVar[str] = ""
    _reads_key: ClassVar[str] = " FOR KEY SHARE"
    _changes: ClassVar[str] = " FOR UPDATE"

    def __init__(self, url: str, *, create: bool, upgrade: Upgrade) -> None:
        self.url = url
        self._lanes = [_Lane(url, seconds) for seconds in (_TAKING_SECONDS, _WORKING_SECONDS, _READING_SECONDS)]
        try:
            self.prepare(create, upgrade)
        except BaseException:
            self.close()
            raise

    def _taking(self) -> AbstractContextManager[Run]:
        return self._lanes[0].transaction()

    def _working(self) -> AbstractContextManager[Run]:
        return self._lanes[1].transaction()

    def _reading(self) -> AbstractContextManager[Run]:
        return self._lanes[2].transaction()

    def _tables(self, run: Run) -> int:
        # The lock makes two collectors that start at once create the tables one after the other.
        run("SELECT pg_advisory_xact_lock(hashtext('deniable tables'))")
        return int(
            run("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'meta'")[0][0]
        )

    def _record(self, run: Run, collection: int, ids: Rows) -> NDArray[np.bool_]:
        names = [name.tobytes() for name in ids]
        found = run(
            "INSERT INTO receipts SELECT ?, given FROM unnest(?::bytea[]) WITH ORDINALITY AS sorted (given, rank)"
            " ORDER BY rank ON CONFLICT DO NOTHING RETURNING nullifier",
            *(collection, names),
        )
        if len(found) == len(names):
            return np.ones(len(names), dtype=np.bool_)
        new = {bytes(name) for (name,) in found}
        return np.fromiter((name in new for name in names), dtype=np.bool_, count=len(names))

    def _invited(self, run: Run, collection: int, ids: Rows) -> NDArray[np.bool_]:
        names = [name.tobytes() for name in ids]
        found = run(
            f"SELECT nullifier FROM invitations WHERE collection = ? AND nullifier = ANY(?::bytea[]) AND {VALID}",
            *(collection, names),
        )
        known = {bytes(name) for (name,) in found}
        return np.fromiter((name in known for name in names), dtype=np.bool_, count=len(names))

    def _put(self, run: Run, collection: int, rows: Rows) -> None:
        reports, leaves = ([row.tobytes() for row in part] for part in np.split(rows, [-LEAF_BYTES], axis=1))
        run("INSERT INTO inbox SELECT ?, unnest(?::bytea[]), unnest(?::bytea[])", collection, reports, leaves)

    def _emptied(self, run: Run, collection: int) -> tuple[bytes, int]:
        content, reports = bytearray(), 0
        ((width,),) = run("SELECT max(length(report)) FROM inbox WHERE collection = ?", collection)
        at_a_time = max(1, AT_A_TIME // (width or 1))
        while True:
            # Reports that arrive meanwhile may be taken along. There are never fewer than were counted, because only
            # this collector takes any out.
            ((part, some),) = run(_SOME, collection, at_a_time)
            content += part or b""
            reports += some
            if some < at_a_time:
                return bytes(content), reports

    def _claim(self, run: Run, collection: str, *, wait: bool) -> bool:
        if wait:
            run("SELECT pg_advisory_xact_lock(hashtext(?))", collection)
            return True
        return bool(run("SELECT pg_try_advisory_xact_lock(hashtext(?))", collection)[0][0])

    def _settle(self) -> bool:
        # A plain vacuum leaves the bytes of deleted rows on their pages, and freezing leaves the transaction's number
        # in the rows that stay. Only a new file has neither. The vacuum does not wait for its lock, because uploads
        # would wait behind it.
        with contextlib.suppress(StoreError), self._lanes[1].alone() as run:
            run("SELECT set_config('lock_timeout', ?, false)", _SETTLE_LOCK)
            try:
                run("VACUUM FULL inbox")
            finally:
                run("SELECT set_config('lock_timeout', ?, false)", f"{_LOCK_SECONDS}s")
            return True
        return False

    def _erase(self) -> None:
        # Only a rewritten table has no dead rows. The survey is deleted either way, and autovacuum does what fails
        # here.
        with (
            contextlib.suppress(psycopg.Error),
            psycopg.connect(self.url, autocommit=True, connect_timeout=_CONNECT_SECONDS) as connection,
        ):
            connection.execute(f"SET lock_timeout = '{_CONNECT_SECONDS}s'".encode())
            connection.execute(b"SET statement_timeout = 0")
            for table in _OF_SURVEYS:
                try:
                    connection.execute(f"VACUUM (FULL) {table}".encode())
                except psycopg.errors.LockNotAvailable:  # a backup reads the table
                    connection.execute(f"VACUUM {table}".encode())

    def backup(self, output: Path) -> None:
        write_dump(self.url, output)

    def beside(self, what: str) -> Path:  # noqa: ARG002
        raise StoreError(
            "the backup of a PostgreSQL database needs the name of a file: run `deniable survey migrate -o FILE`"
        )

    @contextlib.contextmanager
    def _migrating(self) -> Iterator[Run]:
        with self._lanes[1].transaction(math.inf) as run:
            run("SET LOCAL statement_timeout = 0")
            yield run

    def close(self) -> None:
        for lane in self._lanes:
            # A thread that still waits for a server that does not answer ends with the process.
            if lane.lock.acquire(timeout=_CLOSE_SECONDS):
                lane.close()
                lane.lock.release()


def restore(source: Path, url: str) -> None:
    """Put a backup into an empty database; a database that has tables stays as it is.

    Raises
    ------
    StoreError
        If the database has tables, the backup is not a collector's, or pg_restore fails.
    """
    lane = _Lane(url, _WORKING_SECONDS)
    try:
        with lane.transaction() as run:
            if run("SELECT 1 FROM pg_tables WHERE schemaname = current_schema() LIMIT 1"):
                raise StoreError(
                    "a backup can be restored only into an empty database, but this database has tables. Nothing was "
                    "changed; make a new database with `createdb`"
                )
    finally:
        lane.close()
    check_dump(source)
    restore_dump(source, url)
    try:
        with lane.transaction() as run:
            ended, marked = AFTER_RESTORE
            run(ended)
            run(marked, *restored(source.name))
    finally:
        lane.close()


def _runner(cursor: psycopg.Cursor[Any]) -> Run:
    def run(statement: str, *values: Any) -> list[Any]:
        cursor.execute(statement.replace("?", "%s").encode(), values)
        return cursor.fetchall() if cursor.description else []

    return run


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        # Only the server's first sentence is quoted, because its details can quote rows.
        first = (error.diag.message_primary or str(error)).strip().splitlines()
        raise StoreError(f"the database refused: {first[0] if first else type(error).__name__}") from error
