"""An adversary with a database's files who tries to find which id came with which report."""

from __future__ import annotations

import re
import secrets
import shutil
import sqlite3
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from deniable import SPL
from deniable.files.wire import Rows
from deniable.service.stores import open_store
from deniable.service.stores.store import Posted, Store
from deniable.service.surveys import Surveys
from deniable.survey.collection import Collection
from tests.service import postgres
from tests.service.asking import Clock, open_survey, summed
from tests.service.test_privacy import WORDS

# These reports have five bytes, and all are different.
MARKED = Collection(WORDS, SPL(sizes=WORDS.sizes, epsilon=20.0))

Pairs = set[tuple[bytes, bytes]]


class People:
    """Contributors who send one report each, in separate commits."""

    def __init__(self, store: Store, least: int) -> None:
        self.store, self.surveys = store, Surveys(store, Clock())
        open_survey(self.surveys, "marked", MARKED, min_batch=least)
        self.pairs: Pairs = set()
        self.arrived: list[bytes] = []
        self._generator = np.random.default_rng(1)

    def send(self, n: int) -> None:
        for _ in range(n):
            one = np.frombuffer(secrets.token_bytes(16), np.uint8).reshape(1, 16)
            row: Rows = self._generator.integers(0, 200, (1, 5), dtype=np.uint8)
            leaf = np.frombuffer(secrets.token_bytes(32), np.uint8).reshape(1, 32)
            self.store.take({MARKED.id: Posted(one, row, leaves=leaf)})
            self.pairs.add((one.tobytes(), row.tobytes()))
            self.pairs.add((one.tobytes(), leaf.tobytes()))
            self.arrived.append(row.tobytes())

    def drain(self) -> int:
        """Process the inbox, as a collector does every ten seconds."""
        added = self.surveys.drain(self.surveys.row("marked"), self.surveys.load(MARKED.id))
        self.store.settle()
        return added


def linked_by_the_log(database: Path, folder: Path) -> Pairs:
    """Replay SQLite's log commit by commit, and pair the additions of each commit."""
    copy, log = folder / "copy.db", database.with_name(database.name + "-wal").read_bytes()
    (size,) = struct.unpack(">I", log[8:12]) if log else (4096,)
    ends = [
        start + 24 + size
        for start in range(32, len(log) - 23 - size, 24 + size)
        if struct.unpack(">I", log[start + 4 : start + 8]) != (0,)
    ]
    found: Pairs = set()
    seen: list[set[bytes]] = []
    for end in (0, *ends):
        shutil.copy(database, copy)
        copy.with_name("copy.db-wal").write_bytes(log[:end])
        copy.with_name("copy.db-shm").unlink(missing_ok=True)
        reader = sqlite3.connect(f"file:{copy}?mode=ro", uri=True)
        tables = [name for (name,) in reader.execute("SELECT name FROM sqlite_master")]
        held = [
            {bytes(value) for (value,) in reader.execute(f"SELECT {column} FROM {table}")} if table in tables else set()
            for table, column in (("receipts", "nullifier"), ("inbox", "report"), ("inbox", "leaf"))
        ]
        reader.close()
        if seen:
            names, *rest = (now - before for now, before in zip(held, seen, strict=True))
            found |= {(next(iter(names)), part.pop()) for part in rest if len(names) == len(part) == 1}
        seen = held
    return found


def linked_by_transaction(server: postgres.Server, url: str) -> Pairs:
    """Look for rows of both tables in all files of PostgreSQL, deleted or not, and pair them by transaction."""
    with psycopg.connect(url, autocommit=True) as connection:
        # A base backup begins like this.
        connection.execute("CHECKPOINT")
        row = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()
    assert row is not None
    content = b"".join(path.read_bytes() for path in (server.folder / "data" / "base" / str(row[0])).iterdir())
    # The row's header ends with its length, 24. Then come the number of the collection, and the value behind its
    # length.
    names, reports, leaves = (
        _by_transaction(content, rb"(?s)(?=\x18.\x01\0{7}" + pattern + b")")
        for pattern in (_value(16), _value(5), re.escape(bytes([13])) + b".{5}" + _value(32))
    )
    return {
        (names[number].copy().pop(), held[number].copy().pop())
        for held in (reports, leaves)
        for number in names.keys() & held.keys()
        if len(names[number]) == len(held[number]) == 1
    }


def _value(n: int) -> bytes:
    return re.escape(bytes([2 * n + 3])) + b"(.{%d})" % n


def _by_transaction(content: bytes, pattern: bytes) -> dict[int, set[bytes]]:
    found: dict[int, set[bytes]] = {}
    for match in re.finditer(pattern, content):
        start = match.start() - 22
        found.setdefault(struct.unpack("<I", content[start : start + 4])[0], set()).add(match[1])
    return found


@pytest.fixture
def adversary(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[], Pairs]:
    """Return the claims of an adversary who copies the database's files now."""
    if database.startswith("sqlite"):
        (tmp_path / "adversary").mkdir()
        return lambda: linked_by_the_log(tmp_path / "survey.db", tmp_path / "adversary")
    server: postgres.Server = request.getfixturevalue("postgres_server")
    return lambda: linked_by_transaction(server, database)


def test_the_files_link_no_report_to_its_id_once_it_was_looked_at(
    database: str, adversary: Callable[[], Pairs]
) -> None:
    """Before and after a drain; only reports since the last processing of an inbox can be linked."""
    store = open_store(database, migrate=True)
    people = People(store, least=100)
    people.send(60)
    # This shows that the adversary is able to do it.
    assert adversary() & people.pairs == people.pairs
    # There are too few of them for a batch. Still, the files say nothing.
    assert people.drain() == 0
    assert not adversary() & people.pairs
    assert store.waiting(MARKED.id) == 60
    before = set(people.pairs)
    people.send(7)
    assert adversary() & people.pairs == people.pairs - before
    people.send(133)
    assert people.drain() == 200
    assert not adversary() & people.pairs
    assert summed(store, MARKED.id)[1] == 200
    store.close()


@pytest.mark.long
def test_reports_that_wait_lie_in_no_order_of_arrival(database: str) -> None:
    store = open_store(database, migrate=True)
    people = People(store, least=1000)
    place = "rowid" if database.startswith("sqlite") else "ctid"
    for _ in range(4):
        people.send(100)
        people.drain()
    with store._reading() as run:
        stored = [bytes(report) for (report,) in run(f"SELECT report FROM inbox ORDER BY {place}")]
    ranks = [people.arrived.index(report) for report in stored]
    assert sorted(ranks) == list(range(400))
    # Spearman's correlation must be within 5 standard deviations of a random order. In the order of arrival it is 1.
    assert abs(np.corrcoef(ranks, np.arange(400))[0, 1]) < 5 / np.sqrt(399)
    store.close()


def test_reports_are_stirred_after_another_collector_has_drained_as_many(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(database, migrate=True)
    people = People(store, least=90)
    fold, stirred, put = people.surveys.load(MARKED.id).fold, list[int](), type(store)._put

    def counting(self: Store, run: Any, collection: int, rows: Rows) -> None:
        stirred.append(len(rows))
        put(self, run, collection, rows)

    def drained(least: int) -> list[int]:
        stirred.clear()
        with monkeypatch.context() as watched:
            watched.setattr(type(store), "_put", counting)
            store.drain(MARKED.id, least, fold, "2026-05-01")
        return stirred

    def taken(start: int) -> None:
        names = np.zeros((5, 16), np.uint8)
        names[:, 0] = np.arange(start, start + 5)
        store.take({MARKED.id: Posted(names, np.zeros((5, 5), np.uint8))})

    taken(0)
    assert [drained(90)[:], drained(90)[:]] == [[5], []]
    # Another collector drains these reports, about which this one knows nothing.
    mine = dict(store._stirred)
    assert drained(5) == []
    store._stirred.clear()
    store._stirred.update(mine)
    taken(5)
    assert [drained(90)[:], drained(90)[:]] == [[5], []]
    store.close()


def test_nothing_is_lost_or_twice_while_reports_that_wait_are_stirred(database: str) -> None:
    """Two processes accept reports and one drains; on PostgreSQL two collectors do so."""
    stores = [open_store(database, migrate=True)]
    people = People(stores[0], least=90)
    if database.startswith("postgresql"):
        stores.append(open_store(database))
    survey, failures = people.surveys.load(MARKED.id), list[Exception]()
    stop = threading.Event()

    def send(which: int) -> None:
        generator = np.random.default_rng(which)
        for i in range(150):
            name = np.zeros((1, 16), np.uint8)
            name[0, :2] = which, i
            row: Rows = generator.integers(0, 200, (1, 5), dtype=np.uint8)
            stores[which % len(stores)].take({MARKED.id: Posted(name, row)})

    def drain(store: Store) -> None:
        try:
            while not stop.is_set():
                store.drain(MARKED.id, 90, survey.fold, "2026-05-01")
                store.settle()
        except Exception as error:
            failures.append(error)

    senders = [threading.Thread(target=send, args=(which,)) for which in (0, 1)]
    drains = [threading.Thread(target=drain, args=(store,)) for store in stores]
    for thread in (*senders, *drains):
        thread.start()
    for thread in senders:
        thread.join()
    stop.set()
    for thread in drains:
        thread.join()
    assert not failures
    stores[0].drain(MARKED.id, 1, survey.fold, "2026-05-01", close=True)
    assert summed(stores[0], MARKED.id)[1] == 300
    assert stores[0].waiting(MARKED.id) == 0
    for store in stores:
        store.close()
