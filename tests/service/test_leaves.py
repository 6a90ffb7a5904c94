"""Receipts: each report has a leaf in its batch, and no leaf reveals its owner."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest

from deniable.errors import InvalidParameterError
from deniable.files.receipts import InclusionProof, find_leaf, leaf_of, merkle_root, sum_digest
from deniable.files.wire import LEAVES_TYPE, Body, Rows
from deniable.service.server import Running
from deniable.service.stores import open_store
from deniable.service.stores.migrations import STEPS
from deniable.service.stores.store import Posted, Store
from deniable.service.surveys import Surveys
from tests.service.asking import ASKED, TOKEN, Caller, Clock, body, collecting, open_survey, sqlite

API = f"/api/v1/collections/{ASKED.id}"


def with_leaves(one: Body, seed: int = 1) -> tuple[Body, list[bytes]]:
    """Return a body whose reports have leaves, and these leaves."""
    secrets = np.random.default_rng(seed).integers(0, 256, (one.n, 16), dtype=np.uint8)
    made = [leaf_of(secret.tobytes(), row.tobytes()) for secret, row in zip(secrets, one.rows, strict=True)]
    leaves = np.frombuffer(b"".join(made), np.uint8).reshape(-1, 32)
    return Body(one.collection, one.ids, one.rows, leaves), made


def rows_of(content: bytes) -> Rows:
    return np.frombuffer(content, np.uint8).reshape(-1, 32)


@pytest.fixture
def surveys(database: str) -> Iterator[Surveys]:
    store = open_store(database, migrate=True)
    yield Surveys(store, Clock(), while_open=2)
    store.close()


def taken(surveys: Surveys, one: Body) -> None:
    surveys.store.take({ASKED.id: Posted(one.ids, one.rows, leaves=one.leaves)})
    surveys.drain(surveys.row("smoking"), surveys.load(ASKED.id))


def test_every_report_has_a_leaf_in_the_step_that_released_it(surveys: Surveys) -> None:
    """With or without its own leaf, stirred or not, in a first batch, in two batches of one step, and at the end."""
    open_survey(surveys)
    store = surveys.store
    groups = [with_leaves(body(n, start), start) for n, start in ((25, 0), (7, 100), (18, 200), (21, 300), (3, 400))]
    taken(surveys, groups[0][0])
    assert [one.n for one in store.released_batches(ASKED.id)] == [25]
    # Too few reports came, so they are put back in another order, with their leaves. Then comes a batch that is not
    # released, and so stays hidden.
    taken(surveys, groups[1][0])
    taken(surveys, groups[2][0])
    assert [one.n for one in store.released_batches(ASKED.id)] == [25]
    assert store.released_leaves(ASKED.id, 2) is None
    taken(surveys, groups[3][0])
    # Some reports came without a leaf.
    taken(surveys, body(4, 500))
    taken(surveys, groups[4][0])
    surveys.close("smoking", now=True)
    found = store.released_batches(ASKED.id)
    assert [(one.number, one.n) for one in found] == [(1, 25), (2, 46), (3, 7)]
    mine = [groups[0][1], groups[1][1] + groups[2][1] + groups[3][1], groups[4][1]]
    total = 0
    for one, leaves in zip(found, mine, strict=True):
        content = store.released_leaves(ASKED.id, one.number)
        assert content is not None
        published = rows_of(content)
        assert len(published) == one.n
        assert one.root == merkle_root(published)
        assert all(InclusionProof.of(published, leaf).holds(leaf, one.root) for leaf in leaves)
        total += one.n
    release, counts = store.released(ASKED.id)
    assert found[-1].digest == sum_digest(found[-1].opening, ASKED.id, total, counts)
    assert release.n == total
    # The batches inside of a step have no leaves any more.
    with store._reading() as run:
        assert run("SELECT count(*) FROM batches WHERE leaves IS NOT NULL") == [(0,)]


def test_the_first_leaf_counts_and_a_second_is_dropped_with_its_report(surveys: Surveys) -> None:
    open_survey(surveys)
    first, kept = with_leaves(body(25), 1)
    again, dropped = with_leaves(body(25), 2)
    surveys.store.take({ASKED.id: Posted(first.ids, first.rows, leaves=first.leaves)})
    taken(surveys, again)
    published = rows_of(surveys.store.released_leaves(ASKED.id, 1) or b"")
    assert all(find_leaf(published, leaf) is not None for leaf in kept)
    assert all(find_leaf(published, leaf) is None for leaf in dropped)


def test_tables_of_before_are_brought_forward_with_what_waits_in_them(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting reports get a leaf without an owner; a step that was released before has no root, and says so."""
    with monkeypatch.context() as before:
        before.setattr("deniable.service.stores.store.STEPS", STEPS[:6])
        before.setattr("deniable.service.stores.store.VERSION", 6)
        store = open_store(database, migrate=True)
    open_survey(Surveys(store, Clock()))
    with store._working() as run:
        ((number,),) = run("SELECT number FROM collections")
        for row in body(5).rows:
            run("INSERT INTO inbox VALUES (?, ?)", number, row.tobytes())
        run("INSERT INTO batches VALUES (?, 1, '2026-04-30', 20, NULL)", ASKED.id)
        run("INSERT INTO releases SELECT id, 1, '2026-04-30', 20, counts FROM collections")
        run("UPDATE collections SET n = 20, batches = 1")
    store.close()
    store = open_store(database, migrate=True) if database.startswith("sqlite") else _migrated(database)
    surveys = Surveys(store, Clock(), while_open=1)
    assert [(one.n, one.root, one.opening) for one in store.released_batches(ASKED.id)] == [(20, b"", b"")]
    mine, leaves = with_leaves(body(16, 100))
    taken(surveys, mine)
    assert [one.n for one in store.released_batches(ASKED.id)] == [20, 21]
    published = rows_of(store.released_leaves(ASKED.id, 2) or b"")
    assert len(published) == 21
    assert all(find_leaf(published, leaf) is not None for leaf in leaves)
    assert published.any(axis=1).all()
    assert store.released_leaves(ASKED.id, 1) is None
    store.close()


def _migrated(database: str) -> Store:
    from deniable.service.stores import migrate_store

    migrate_store(database, backup=False)
    return open_store(database)


# -------------------------------------------------------------------- privacy


def test_no_column_holds_a_leaf_beside_an_id(surveys: Surveys, tmp_path: Path, database: str) -> None:
    """All rows of all tables, read from the database; leaves are stored in their own order only.

    An adversary with the whole database and all published leaves has ids and leaves, but cannot pair them.
    """
    open_survey(surveys, retention="reports")
    sent, leaves = with_leaves(body(40))
    names = [name.tobytes() for name in sent.ids]
    taken(surveys, sent)
    surveys.close("smoking", now=True)
    seen_ids, seen_leaves = 0, 0
    for table, rows in _everything(database, tmp_path).items():
        joined = [b"\n".join(part if isinstance(part, bytes) else str(part).encode() for part in row) for row in rows]
        for content in joined:
            ids = sum(name in content for name in names)
            held = sum(leaf in content for leaf in leaves)
            assert not (ids and held), table
            seen_ids, seen_leaves = seen_ids + ids, seen_leaves + held
    assert (seen_ids, seen_leaves) == (40, 40)
    published = rows_of(surveys.store.released_leaves(ASKED.id, 1) or b"")
    assert [leaf.tobytes() for leaf in published] == sorted(leaves)


def test_an_inbox_does_not_tell_which_reports_came_without_a_leaf(surveys: Surveys) -> None:
    open_survey(surveys)
    sent, _ = with_leaves(body(10))
    for one in (sent, body(10, 100)):
        surveys.store.take({ASKED.id: Posted(one.ids, one.rows, leaves=one.leaves)})
    with surveys.store._reading() as run:
        held = [bytes(leaf) for (leaf,) in run("SELECT leaf FROM inbox")]
    assert len(set(held)) == 20
    assert {len(leaf) for leaf in held} == {32}
    assert bytes(32) not in held


def _everything(database: str, folder: Path) -> dict[str, list[tuple[object, ...]]]:
    if database.startswith("sqlite"):
        with sqlite3.connect(f"file:{folder / 'survey.db'}?mode=ro", uri=True) as reader:
            tables = [name for (name,) in reader.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {table: reader.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
    with psycopg.connect(database) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        tables = [name for (name,) in connection.execute(query)]
        return {table: connection.execute(f"SELECT * FROM {table}".encode()).fetchall() for table in tables}


# -------------------------------------------------------------------- the public port


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with collecting(sqlite(tmp_path_factory.mktemp("receipts"))) as running:
        open_survey(running.collector.surveys, retention="reports")
        running.collector.refresh()
        yield running


def test_the_public_port_shows_batches_and_leaves_and_more_only_where_it_is_published(here: Running) -> None:
    call, surveys = Caller(here.public), here.collector.surveys
    assert call("GET", f"{API}/batches").json == {
        "collection": ASKED.id,
        "batches": [],
        "aggregate": False,
        "reports": False,
    }
    single, leaves = with_leaves(body(1))
    assert call.post(single).status == 201
    many, more = with_leaves(body(29, 100))
    binary = {"content-type": LEAVES_TYPE, "authorization": f"Bearer {TOKEN}"}
    assert call("POST", f"{API}/reports", many.to_binary(), **binary).status == 201
    here.collector.drain()
    (batch,) = call("GET", f"{API}/batches").json["batches"]
    assert (batch["number"], batch["n"], batch["opening"]) == (1, 30, None)
    answer = call("GET", f"{API}/batches/1/leaves")
    assert "immutable" in answer.headers["cache-control"]
    assert merkle_root(rows_of(answer.content)).hex() == batch["root"]
    assert [leaf.tobytes() for leaf in rows_of(answer.content)] == sorted(leaves + more)
    for number in ("2", "0", "-1", "x", "99999999999"):
        assert call("GET", f"{API}/batches/{number}/leaves").problem == "not-found"
    assert call("GET", f"/api/v1/collections/{'0' * 64}/batches").problem == "unknown-collection"
    shown = [f"{API}/aggregate", f"{API}/batches/1/reports"]
    assert {call("GET", path).problem for path in shown} == {"not-found"}
    surveys.close("smoking", now=True)
    here.collector.refresh()
    assert {call("GET", path).problem for path in shown} == {"not-found"}
    from deniable.service.publishing import publish

    publish(surveys, "smoking")
    assert [call("GET", path).status for path in shown] == [200, 404]
    assert call("GET", f"{API}/batches").json["batches"][0]["opening"] is not None
    publish(surveys, "smoking", reports=True)
    assert [call("GET", path).status for path in shown] == [200, 200]
    assert call("GET", f"{API}/batches/2/reports").problem == "not-found"
    # The mark in the database that says so is not a page.
    assert call("GET", "/r/smoking/.reports").status == 404
    assert ".reports" not in here.collector.store.published(ASKED.id)
    surveys.withdraw("smoking")
    assert {call("GET", path).problem for path in shown} == {"not-found"}
    assert call("GET", f"{API}/batches").json["batches"][0]["opening"] is None


def test_reports_are_published_only_where_they_are_kept(surveys: Surveys) -> None:
    from deniable.service.publishing import publish

    open_survey(surveys)
    with pytest.raises(InvalidParameterError, match="because this survey keeps no reports"):
        publish(surveys, "smoking", reports=True)
