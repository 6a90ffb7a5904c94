"""Both databases keep the store's promises: each report once, in batches, without order, never half."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from deniable.core.aggregate import Aggregate
from deniable.errors import FileFormatError, InvalidParameterError, StoreError, StoreInUseError
from deniable.files.wire import Body, from_wire
from deniable.service.stores import migrate_store, open_store, restore_store
from deniable.service.stores.migrations import STEPS
from deniable.service.stores.store import Posted, Store
from deniable.service.surveys import Surveys
from tests.service import postgres
from tests.service.asking import ASKED, Clock, body, open_survey, page, summed


@pytest.fixture
def surveys(database: str) -> Iterator[Surveys]:
    store = open_store(database, migrate=True)
    yield Surveys(store, Clock())
    store.close()


def take(store: Store, *groups: tuple[int, int, int]) -> list[bool]:
    """Accept reports given as (number, first id, seed), in one commit."""
    parts = [body(n, start, seed=seed) for n, start, seed in groups]
    posted = Posted(np.concatenate([p.ids for p in parts]), np.concatenate([p.rows for p in parts]))
    new = store.take({ASKED.id: posted})[ASKED.id]
    assert not isinstance(new, str)
    return list(new)


def counts(store: Store) -> tuple[list[int], int, int]:
    content, n, batches = summed(store, ASKED.id)
    return np.frombuffer(content, "<i8").tolist(), n, batches


def test_an_id_counts_once_and_the_first_counts(surveys: Surveys) -> None:
    open_survey(surveys)
    store = surveys.store
    assert take(store, (3, 0, 1)) == [True] * 3
    # Reports come again with other content, beside a new one. One comes twice in one commit, where the first counts.
    assert take(store, (3, 0, 2), (1, 7, 1), (1, 7, 2)) == [False, False, False, True, False]
    assert store.waiting(ASKED.id) == 4
    assert [store.counted(ASKED.id, bytes(8) + i.to_bytes(8, "big")) for i in (0, 7, 8)] == [True, True, False]
    survey = surveys.load(ASKED.id)
    assert store.drain(ASKED.id, 5, survey.fold, "2026-05-01") == 0
    assert counts(store) == ([0, 0, 0], 0, 0)
    assert store.drain(ASKED.id, 4, survey.fold, "2026-05-01") == 4
    expected = sum(
        (ASKED.mechanism.aggregate(from_wire(ASKED.mechanism, b.rows)).counts for b in (body(3), body(1, 7))),
        np.zeros(3, np.int64),
    )
    assert counts(store) == (expected.tolist(), 4, 1)
    assert store.waiting(ASKED.id) == 0
    assert store.counted(ASKED.id, bytes(16))
    assert store.batches(ASKED.id) == [(1, "2026-05-01", 4)]


def test_of_many_with_one_id_in_a_commit_the_first_counts(surveys: Surveys) -> None:
    open_survey(surveys)
    ids = np.tile(body(20).ids, (50, 1))
    rows = np.ones((1000, 1), np.uint8)
    rows[:20] = 0
    new = surveys.store.take({ASKED.id: Posted(ids, rows)})[ASKED.id]
    assert not isinstance(new, str)
    assert np.flatnonzero(new).tolist() == list(range(20))
    surveys.store.drain(ASKED.id, 20, surveys.load(ASKED.id).fold, "2026-05-01")
    assert counts(surveys.store) == ([20, 0, 0], 20, 1)


@pytest.mark.parametrize("state", ["draft", "paused", "closed"])
def test_a_survey_that_takes_nothing_takes_nothing(surveys: Surveys, state: str) -> None:
    surveys.new("smoking", ASKED.to_json(), page(), ".")
    if state != "draft":
        surveys.open("smoking")
    if state == "paused":
        surveys.pause("smoking")
    if state == "closed":
        surveys.close("smoking", now=True)
    one = body(1)
    assert surveys.store.take({ASKED.id: Posted(one.ids, one.rows)}) == {ASKED.id: state}
    assert not surveys.store.counted(ASKED.id, bytes(16))
    assert surveys.store.waiting(ASKED.id) == 0


def test_a_drain_that_fails_leaves_everything(surveys: Surveys) -> None:
    open_survey(surveys)
    take(surveys.store, (25, 0, 1))

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        surveys.store.drain(ASKED.id, 20, fails, "2026-05-01")  # type: ignore[arg-type]
    assert surveys.store.waiting(ASKED.id) == 25
    assert counts(surveys.store) == ([0, 0, 0], 0, 0)
    survey = surveys.load(ASKED.id)
    assert surveys.store.drain(ASKED.id, 20, survey.fold, "2026-05-01") == 25


def test_inbox_and_receipts_are_in_different_orders_that_nobody_chose(surveys: Surveys) -> None:
    """300 numbered rows are stored in another order than that of arrival, and drained in a new order each time."""
    open_survey(surveys)
    seen: list[bytes] = []
    survey = surveys.load(ASKED.id)
    sent = body(300)
    # These rows state their rank. Nobody checks whether they are reports.
    ranks = np.arange(300).astype(">u2").view(np.uint8).reshape(300, 2)
    surveys.store.take({ASKED.id: Posted(sent.ids, ranks)})

    def look(rows: object, held: bytes) -> object:
        seen.append(np.asarray(rows).tobytes())
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            surveys.store.drain(ASKED.id, 20, look, "2026-05-01")  # type: ignore[arg-type]
    with surveys.store._reading() as run:
        stored = b"".join(bytes(report) for (report,) in run("SELECT report FROM inbox"))
    orders = [np.frombuffer(content, ">u2") for content in (*seen, stored)]
    for order in orders:
        assert sorted(order.tolist()) == list(range(300))
        # In a random order about one row in 300 is in its own place.
        assert (order == np.arange(300)).sum() < 20
    assert not np.array_equal(orders[0], orders[1])
    assert survey.width == 1


def test_tables_are_those_of_this_release_and_of_a_collector(database: str) -> None:
    if database.startswith("postgresql"):
        with pytest.raises(StoreError, match="no tables yet: make the tables with `deniable serve --migrate`"):
            open_store(database)
    store = open_store(database, migrate=True)
    with store._working() as run:
        run("UPDATE meta SET value = '99' WHERE key = 'version'")
    store.close()
    with pytest.raises(StoreError, match="newer release: its tables have version 99"):
        open_store(database, migrate=True)


def old_tables(database: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Body, str]:
    """Make a database of the first version with two surveys; return the waiting reports of one of them."""
    with monkeypatch.context() as before:
        before.setattr("deniable.service.stores.store.STEPS", STEPS[:1])
        before.setattr("deniable.service.stores.store.VERSION", 1)
        store = open_store(database, migrate=True)
    sent, other = body(3), "f" * 64
    with store._working() as run:
        for position, collection in enumerate((other, ASKED.id)):
            state = ("smoking", position, ASKED.to_json(), page(), "open", f"collector:{position}")
            run(
                "INSERT INTO collections VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, ?, ?, 0, 0)",
                *(collection, *state, bytes(24)),
            )
        for name, row in zip(sent.ids, sent.rows, strict=True):
            run("INSERT INTO receipts VALUES (?, ?)", ASKED.id, name.tobytes())
            run("INSERT INTO inbox VALUES (?, ?)", ASKED.id, row.tobytes())
        run("INSERT INTO receipts VALUES (?, ?)", other, b"o" * 16)
    store.close()
    return sent, other


def test_a_database_of_the_first_tables_is_brought_forward_after_a_backup(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are two surveys, to notice a mixed-up number; receipts and reports stay with their survey."""
    _, other = old_tables(database, monkeypatch)
    with pytest.raises(
        StoreError,
        match="tables of the database have version 1, but this release needs",
    ):
        open_store(database)
    with pytest.raises(StoreError, match="run `deniable survey migrate`"):
        open_store(database, create=True)
    if database.startswith("sqlite"):
        kept = migrate_store(database)
        assert kept is not None
        assert re.fullmatch(r"survey\.db\.version-1-\d{8}T\d{6}Z", kept.name)
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        before = sqlite3.connect(kept)
        found = (before.execute("SELECT value FROM meta WHERE key = 'version'"), before.execute("SELECT * FROM inbox"))
        assert [len(one.fetchall()[0][0]) for one in found] == [1, 64]
        before.close()
    else:
        for act in (lambda: open_store(database, migrate=True), lambda: migrate_store(database)):
            with pytest.raises(StoreError, match="needs the name of a file: run `deniable survey migrate -o FILE`"):
                act()
        kept = migrate_store(database, tmp_path / "before")
        assert kept is not None
        assert kept.read_bytes().startswith(b"PGDMP")
    assert migrate_store(database) is None
    store = open_store(database)
    assert (store.waiting(ASKED.id), store.waiting(other)) == (3, 0)
    assert store.counted(other, b"o" * 16)
    assert not store.counted(ASKED.id, b"o" * 16)
    assert take(store, (4, 0, 9)) == [False, False, False, True]
    assert store.drain(ASKED.id, 4, Surveys(store, Clock()).load(ASKED.id).fold, "2026-05-01") == 4
    assert counts(store)[1:] == (4, 1)
    store.close()


def test_a_dealers_database_is_no_collectors(database: str) -> None:
    store = open_store(database, migrate=True)
    with store._working() as run:
        run("UPDATE meta SET value = 'dealer' WHERE key = 'role'")
    store.close()
    for migrate in (False, True):
        with pytest.raises(StoreError, match="must belong to a collector, but it belongs to a dealer"):
            open_store(database, migrate=migrate)


def test_a_backup_is_of_one_moment_and_a_restore_counts_nothing_twice(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = open_store(database, migrate=True)
    surveys = Surveys(store, Clock())
    open_survey(surveys)
    survey = surveys.load(ASKED.id)
    stop = threading.Event()
    taken: list[int] = []

    def load() -> None:
        while not stop.is_set():
            taken.extend(i for i, new in enumerate(take(store, (10, len(taken), 1))) if new)
            store.drain(ASKED.id, 20, survey.fold, "2026-05-01")

    thread = threading.Thread(target=load)
    thread.start()
    while len(taken) < 100:
        pass
    try:
        store.backup(tmp_path / "copy")
    finally:
        stop.set()
        thread.join()
    while store.drain(ASKED.id, 1, survey.fold, "2026-05-01"):
        pass
    total = counts(store)[1]
    assert total == len(taken)
    assert stat.S_IMODE(os.stat(tmp_path / "copy").st_mode) == 0o600
    if database.startswith("sqlite"):
        with pytest.raises(StoreInUseError):
            restore_store(database, tmp_path / "copy")
        store.close()
        target = database
    else:
        with pytest.raises(StoreError, match="can be restored only into an empty database"):
            restore_store(database, tmp_path / "copy")
        store.close()
        server: postgres.Server = request.getfixturevalue("postgres_server")
        target = server.database()
    restore_store(target, tmp_path / "copy")
    again = open_store(target)
    drained, waiting = counts(again)[1], again.waiting(ASKED.id)
    with again._reading() as run:
        ((receipts,),) = run("SELECT count(*) FROM receipts")
    assert 100 <= drained + waiting == receipts <= total
    # All of them are sent again, and every report counts once.
    for start in range(0, total, 10):
        take(again, (10, start, 1))
    while again.drain(ASKED.id, 1, survey.fold, "2026-05-02"):
        pass
    assert counts(again)[1] == total
    # The exports before and after are from one collector, so they do not merge.
    (source,) = {row.source for row in again.collections()}
    one = Aggregate(ASKED.mechanism, np.array([1, 0, 0]), 1, ASKED.id, frozenset({source}))
    with pytest.raises(Exception, match="contain the report batch"):
        one + one
    again.close()


def test_sqlite_is_one_process_one_file_and_its_owners(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'a?b#c.db'}"
    with pytest.raises(StoreError, match="there is no database"):
        open_store(url)
    store = open_store(url, migrate=True)
    assert stat.S_IMODE(os.stat(tmp_path / "a?b#c.db").st_mode) == 0o600
    with pytest.raises(StoreInUseError, match="served by another process"):
        open_store(url)
    with store._working() as run:
        found = [run(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous", "secure_delete")]
    assert found == ["wal", 2, 1]
    assert store.collections() == []
    assert sorted(path.name[:7] for path in tmp_path.iterdir()) == ["a?b#c.d"] * 4  # the database, its log and its lock
    store.close()
    open_store(url).close()
    (tmp_path / "other.db").write_bytes(b"no database, and long enough to be looked at" * 40)
    with pytest.raises(StoreError, match="the database refused"):
        open_store(f"sqlite:{tmp_path / 'other.db'}")
    with pytest.raises(
        InvalidParameterError, match=r"sqlite:PATH or an address that begins with postgresql://, got mysql:"
    ):
        open_store("mysql:secret@host")
    with pytest.raises(FileFormatError):
        restore_store(url, tmp_path / "absent")


def test_a_restore_that_is_killed_leaves_the_database_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports that are only in the log are also acknowledged."""
    url, copy = f"sqlite:{tmp_path / 'survey.db'}", tmp_path / "copy"
    store = open_store(url, migrate=True)
    open_survey(Surveys(store, Clock()))
    store.backup(copy)
    take(store, (20, 0, 1))
    # A killed process leaves the files like this. Closing the last connection would empty the log.
    kept = {path.name: path.read_bytes() for path in tmp_path.glob("survey.db*") if path.name[-4:] != "lock"}
    store.close()
    for name, content in kept.items():
        (tmp_path / name).write_bytes(content)
    assert len(kept["survey.db-wal"]) > 0

    replace = Path.replace

    def killed(path: Path, target: Path) -> Path:
        if target == tmp_path / "survey.db":
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            restore_store(url, copy)
    again = open_store(url)
    assert again.waiting(ASKED.id) == 20
    again.close()
    restore_store(url, copy)
    again = open_store(url)
    assert again.waiting(ASKED.id) == 0
    again.close()


def test_no_page_of_the_tables_is_written_outside_the_database(tmp_path: Path) -> None:
    """Data to undo a statement would be in the system's temporary folder, where they are not overwritten."""
    store = open_store(f"sqlite:{tmp_path / 'survey.db'}", migrate=True)
    open_survey(Surveys(store, Clock()))
    ids = np.random.default_rng(1).integers(0, 256, (10_500, 16), dtype=np.uint8)
    store.take({ASKED.id: Posted(ids[500:], body(10_000).rows)})
    with store._taking() as run:
        ((number,),) = run("SELECT number FROM collections")
        # These statements change more pages than SQLite keeps in memory by default.
        store._record(run, number, ids[:500])
        files = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
        assert not [name for name in files if "etilqs" in name]
    store.close()


def test_a_full_disk_is_an_error_that_leaves_everything_and_passes(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path / 'survey.db'}", migrate=True)
    open_survey(Surveys(store, Clock()))
    take(store, (20, 0, 1))
    with store._working() as run:
        pages = run("PRAGMA page_count")[0][0]
    writer: sqlite3.Connection = store._writer  # type: ignore[attr-defined]
    writer.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(StoreError, match="full"):
        take(store, (4000, 100, 1))
    assert store.waiting(ASKED.id) == 20
    assert not store.counted(ASKED.id, bytes(8) + (100).to_bytes(8, "big"))
    writer.execute("PRAGMA max_page_count = 1073741823")
    assert sum(take(store, (4000, 100, 1))) == 4000
    store.close()


def test_two_collectors_on_one_postgresql_count_each_id_once_and_never_deadlock(
    postgres_server: postgres.Server,
) -> None:
    url = postgres_server.database()
    stores = [open_store(url, migrate=True), open_store(url, migrate=True)]
    open_survey(Surveys(stores[0], Clock()))
    survey = Surveys(stores[0]).load(ASKED.id)
    counted = [0, 0]
    failures: list[Exception] = []

    def send(which: int) -> None:
        order = np.random.default_rng(which).permutation(200)
        try:
            for k, start in enumerate(order):
                # Each collector gets the ids of a body in another order. Unsorted, the collectors would lock each other
                # out.
                whole = body(10, 10 * int(start))
                turned = Posted(whole.ids[:: 1 - 2 * which], whole.rows[:: 1 - 2 * which])
                new = stores[which].take({ASKED.id: turned})[ASKED.id]
                assert not isinstance(new, str)
                counted[which] += int(new.sum())
                if k % 20 == 0:
                    stores[which].drain(ASKED.id, 20, survey.fold, "2026-05-01")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=send, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sum(counted) == 2000
    stores[1].drain(ASKED.id, 1, survey.fold, "2026-05-01", close=True)
    assert counts(stores[0])[1] == 2000
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    ("said", "found"), [("off", "on"), ("local", "on"), ("remote_write", "on"), ("remote_apply", "remote_apply")]
)
def test_postgresql_writes_before_it_acknowledges_whatever_it_is_set_to(
    postgres_server: postgres.Server, said: str, found: str
) -> None:
    """The setting is tested in the address, and in the database for later connections."""
    url = postgres_server.database()
    store = open_store(f"{url}&options=-c%20synchronous_commit%3D{said}", migrate=True)
    for lane in (store._taking, store._working, store._reading):
        with lane() as run:
            assert run("SHOW synchronous_commit") == [(found,)]
    store.close()
    store = open_store(url)
    with store._working() as run:
        ((name,),) = run("SELECT current_database()")
        run(f"ALTER DATABASE {name} SET synchronous_commit = off")
    # This lane connects now.
    with store._taking() as run:
        assert run("SHOW synchronous_commit") == [("on",)]
    store.close()


@pytest.mark.long
def test_a_lost_connection_is_an_error_once_and_then_made_again(postgres_server: postgres.Server) -> None:
    store = open_store(postgres_server.database(), migrate=True)
    open_survey(Surveys(store, Clock()))
    take(store, (5, 0, 1))
    postgres_server.stop()
    try:
        with pytest.raises(StoreError):
            take(store, (5, 5, 1))
        with pytest.raises(StoreError):
            store.ready()
    finally:
        postgres_server.start()
    store.ready()
    assert take(store, (10, 0, 1)) == [False] * 5 + [True] * 5
    store.close()
