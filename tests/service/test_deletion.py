"""Deletion of a survey: what is deleted, what remains, who may delete, and that no file keeps the data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deniable import GRR
from deniable.cli import app
from deniable.errors import InvalidParameterError
from deniable.service.auth import hash_password
from deniable.service.control import ask, perform
from deniable.service.stores import open_store, sqlite_path
from deniable.service.stores.store import Posted
from deniable.service.surveys import Surveys
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema
from tests.service import postgres
from tests.service.asking import ASKED, PASSWORD, SCHEMA, Caller, Clock, body, collecting, open_survey, page, sqlite

KEPT = Collection(Schema((Attribute("colour", ("red", "green")),)), GRR(k=2, epsilon=1.0), title="Colours")
TABLES = ("collections", "dictionaries", "receipts", "inbox", "batches", "releases", "rejections")


def filled(surveys: Surveys, slug: str, collection: Collection, marks: int) -> list[bytes]:
    """Return a closed survey with data of all kinds, and the data that its files must contain."""
    open_survey(surveys, slug, collection, retention="reports")
    ids = []
    for start in range(0, 400, 40):
        sent = body(40, start, collection)
        # The ids can be searched for: they contain 8 bytes that occur nowhere else.
        sent.ids[:, :8] = marks
        surveys.store.take({collection.id: Posted(sent.ids, sent.rows)})
        surveys.drain(surveys.row(slug), surveys.load(collection.id))
        ids += [name.tobytes() for name in sent.ids]
    surveys.store.reject({(collection.id, "2026-05-01", "invalid-report"): 2})
    surveys.close(slug, now=True)
    documents = surveys.store.documents(collection.id)
    files = [surveys.store.batch_file(collection.id, number) for number in range(1, 11)]
    leaves = [surveys.store.released_leaves(collection.id, number) or b"" for number in range(1, 11)]
    known = [collection.id.encode(), documents[0][:60].encode(), documents[1][-60:].encode()]
    return [*known, *ids[::40], *files, *leaves]


def parts(pieces: list[bytes]) -> set[bytes]:
    """Return the searched data in parts of at most 64 bytes, because long data are spread over several pages."""
    return {piece[at : at + 64] for piece in pieces for at in range(0, len(piece), 64) if len(piece[at:]) >= 16}


def rows(surveys: Surveys) -> dict[str, int]:
    with surveys.store._reading() as run:
        return {table: run(f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}


def files_of(database: str, request: pytest.FixtureRequest) -> bytes:
    """Return the bytes of a database on the disk: SQLite's file and log, or PostgreSQL's tables."""
    if path := sqlite_path(database):
        return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*") if file.is_file())
    server: postgres.Server = request.getfixturevalue("postgres_server")
    store = open_store(database)
    with store._reading() as run:
        ((number,),) = run("SELECT oid FROM pg_database WHERE datname = current_database()")
    store.close()
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    folder = server.folder / "data" / "base" / str(number)
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file())


def test_nothing_of_a_deleted_survey_is_in_the_files(database: str, request: pytest.FixtureRequest) -> None:
    """Another survey stays complete; the files are read while the collector runs on them."""
    surveys = Surveys(open_store(database, migrate=True), Clock(), while_open=1)
    kept = parts(filled(surveys, "colours", KEPT, 0x5A))
    before, without = rows(surveys), files_of(database, request)
    gone = parts(filled(surveys, "smoking", ASKED, 0xA5))
    # PostgreSQL compresses long values. Of other values everything is found, and of the files at least a part.
    content = files_of(database, request)
    found, others = (
        {part for part in gone if part in content and part not in without},
        {part for part in kept if part in content},
    )
    assert len([part for part in found if len(part) == 16]) == 10
    assert ASKED.id.encode() in found
    assert len(found) > (20 if database.startswith("postgresql") else 60)
    perform(surveys, {"command": "delete", "slug": "smoking"}, "ann")
    content = files_of(database, request)
    assert not [part for part in found if part in content]
    assert all(part in content for part in others)
    assert rows(surveys) == before
    assert surveys.export("colours")
    assert [row["slug"] for row in surveys.list()] == ["colours"]
    # The audit says that the survey was deleted, by whom and when.
    assert [(e.who, e.act, e.survey) for e in surveys.store.noted()] == [("ann", "delete", "smoking")]
    surveys.store.close()


def test_only_drafts_and_closed_surveys_are_deleted(database: str) -> None:
    surveys = Surveys(open_store(database, migrate=True), Clock(), while_open=1)
    surveys.new("smoking", ASKED.to_json(), page(), ".")
    assert surveys.delete("smoking") == {"slug": "smoking", "state": "deleted"}
    assert set(rows(surveys).values()) == {0}
    open_survey(surveys)
    sent = body(30)
    for state, act in (
        ("open", surveys.open),
        ("paused", surveys.pause),
        ("closing", surveys.close),
    ):
        if state != "open":
            act("smoking")
        with pytest.raises(
            InvalidParameterError, match=f"only a draft or a closed survey can be deleted, but “smoking” is {state}"
        ):
            surveys.delete("smoking")
        if state == "open":
            surveys.store.take({ASKED.id: Posted(sent.ids, sent.rows)})
    surveys.close("smoking", now=True)
    surveys.delete("smoking")
    assert set(rows(surveys).values()) == {0}
    with pytest.raises(InvalidParameterError, match="must be the name of a survey"):
        surveys.delete("smoking")
    # A late count is not kept for a deleted survey.
    surveys.store.reject({(ASKED.id, "2026-05-01", "closed"): 1})
    assert set(rows(surveys).values()) == {0}
    # The name is free for another collection or the same one.
    other = Collection(SCHEMA, GRR(k=3, epsilon=1.0))
    open_survey(surveys, "smoking", other)
    assert surveys.status("smoking")["n"] == 0
    surveys.close("smoking", now=True)
    surveys.delete("smoking")
    open_survey(surveys)
    assert not surveys.store.counted(ASKED.id, sent.ids[0].tobytes())
    surveys.store.close()


def test_the_command_line_asks_for_the_name(tmp_path: Path) -> None:
    """It also does so through the collector that serves the database."""
    arguments = ["survey", "delete", "smoking", "--database", sqlite(tmp_path)]
    with collecting(sqlite(tmp_path)) as here:
        surveys, call = here.collector.surveys, Caller(here.public)
        open_survey(surveys)
        here.collector.refresh()
        refused = CliRunner().invoke(app, [*arguments, "--yes"])
        assert refused.exit_code != 0
        assert "only a draft or a closed survey can be deleted, but “smoking” is open" in refused.output.replace(
            "\n", " "
        )
        surveys.close("smoking", now=True)
        wrong = CliRunner().invoke(app, arguments, input="smokers\n")
        assert wrong.exit_code != 0
        assert "nothing was deleted" in wrong.output
        assert surveys.status("smoking")["state"] == "closed"
        done = CliRunner().invoke(app, arguments, input="smoking\n")
        assert done.exit_code == 0
        assert "earlier backups and exports still contain this survey" in done.output
        assert surveys.list() == []
        assert call("GET", f"/api/v1/collections/{ASKED.id}").problem == "unknown-collection"
        assert [(e.who, e.act, e.survey) for e in surveys.store.noted()] == [("command line", "delete", "smoking")]
    ask(
        sqlite(tmp_path),
        {"command": "new", "slug": "smoking", "document": ASKED.to_json(), "page": page(), "folder": "."},
    )
    assert CliRunner().invoke(app, [*arguments, "--yes"]).exit_code == 0


def test_owners_delete_from_the_dashboard_with_the_name_typed_again(tmp_path: Path) -> None:
    with collecting(sqlite(tmp_path)) as here:
        collector = here.collector
        for who, role in (("ann", "owner"), ("bob", "analyst")):
            collector.store.add_analyst(who, role, hash_password(PASSWORD))
        open_survey(collector.surveys)
        collector.refresh()

        def logged_in(who: str) -> Caller:
            call = Caller(here.admin, {"origin": here.admin})
            cookie = call("POST", "/session", {"name": who, "password": PASSWORD}).headers["set-cookie"]
            return Caller(here.admin, {"origin": here.admin, "cookie": cookie.partition(";")[0]})

        ann, bob = logged_in("ann"), logged_in("bob")
        path, named = "/surveys/smoking/delete", {"name": "smoking"}
        assert "is open" in ann("POST", path, named).json["detail"]
        assert 'data-act="delete"' not in ann("GET", "/surveys/smoking").content.decode()
        collector.surveys.close("smoking", now=True)
        collector.refresh()
        assert re.findall(r'data-act="(\w+)"', ann("GET", "/surveys/smoking").content.decode()) == ["delete"]
        assert "data-act" not in bob("GET", "/surveys/smoking").content.decode()
        assert bob("POST", path, named).problem == "not-allowed"
        assert ann("POST", path).problem == "malformed"
        assert ann("POST", path, {"name": "Smoking"}).problem == "malformed"
        assert collector.surveys.status("smoking")["state"] == "closed"
        assert ann("POST", path, named).json == {"slug": "smoking", "state": "deleted"}
        gone = ann("GET", "/surveys/smoking")
        assert gone.status == 404
        assert "There is no survey with this name" in gone.content.decode()
