"""Invitations: counts, refusals, and the joint knowledge of inviter and collector, rule by rule."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import logging
import re
import secrets
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from deniable import GRR, SimulationRandomness
from deniable.cli import app
from deniable.errors import FileFormatError, InvalidParameterError, MismatchError, UploadError
from deniable.files import ReportReader
from deniable.files.wire import Body, from_base64url, to_base64url, to_wire
from deniable.service.auth import Logins, hash_password
from deniable.service.config import Configuration, LimitsShape
from deniable.service.control import perform
from deniable.service.invitations import (
    Link,
    draw_links,
    invitations,
    nullifier,
    read_links,
    response_of,
    select_rows,
    sheet,
)
from deniable.service.sending import send_file
from deniable.service.server import Running, begin_log, running
from deniable.service.stores import open_store
from deniable.service.stores.invited import Invitation, Used
from deniable.service.stores.store import ALREADY, NEW, UNINVITED, Posted
from deniable.service.survey_page import link_digits, page_hash, read_page
from deniable.service.surveys import Surveys
from deniable.survey.collection import Collection
from tests.service.asking import (
    ASKED,
    PASSWORD,
    SCHEMA,
    Caller,
    Clock,
    collecting,
    open_survey,
    page,
    sqlite,
    summed,
)

SECOND = Collection(SCHEMA, GRR(k=3, epsilon=2.0), title="Smoking, later")


def command(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def surveys(database: str) -> Iterator[Surveys]:
    store = open_store(database, migrate=True)
    yield Surveys(store, Clock())
    store.close()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Running]:
    """A collector with one survey for invited people."""
    with collecting(sqlite(tmp_path)) as running:
        open_survey(running.collector.surveys, access="invited")
        running.collector.refresh()
        yield running


def names(count: int, tag: str = "", part: int = 1) -> list[Invitation]:
    return [Invitation(secrets.token_bytes(16), tag, part) for _ in range(count)]


def sent(name: bytes, code: int = 0, collection: Collection = ASKED) -> Body:
    """Return a report with this code, without random draws."""
    row = np.full((1, 1), code, np.uint8)
    return Body(collection.id, np.frombuffer(name, np.uint8).reshape(1, 16), row)


def invite(store: Surveys, links: list[Link], least: int = 20, collection: Collection = ASKED) -> None:
    store.store.invite(collection.id, invitations(collection.id, links, least))


# ---------------------------------------------------------------- the store


def test_only_what_was_invited_counts_and_counts_once(surveys: Surveys) -> None:
    open_survey(surveys, access="invited")
    store, invited = surveys.store, [one.nullifier for one in names(2)]
    with pytest.raises(InvalidParameterError, match="links must be new to this survey"):
        store.invite(ASKED.id, [Invitation(invited[0], "", 1), Invitation(invited[0], "", 2)])
    assert store.used(ASKED.id) == []  # either all invitations are stored or none
    store.invite(ASKED.id, [Invitation(name, "", 1) for name in invited])
    stranger = bytes(16)
    ids = np.frombuffer(b"".join([stranger, invited[0], invited[0], stranger, invited[1]]), np.uint8).reshape(5, 16)
    rows = np.arange(5, dtype=np.uint8).reshape(5, 1) % 3
    fate = store.take({ASKED.id: Posted(ids, rows, invited=True)})[ASKED.id]
    assert list(fate) == [UNINVITED, NEW, ALREADY, UNINVITED, NEW]
    assert list(store.take({ASKED.id: Posted(ids, rows, invited=True)})[ASKED.id]) == [-1, 0, 0, -1, 0]
    assert store.waiting(ASKED.id) == 2
    assert [store.counted(ASKED.id, name) for name in (*invited, stranger)] == [True, True, False]
    assert [store.invited(ASKED.id, name) for name in (*invited, stranger)] == [True, True, False]
    assert store.used(ASKED.id) == [Used("", 1, 2, 2)]


def test_a_withdrawn_invitation_counts_no_more_and_a_used_one_stays(surveys: Surveys) -> None:
    open_survey(surveys, access="invited")
    store, invited = surveys.store, [one.nullifier for one in names(3)]
    store.invite(ASKED.id, [Invitation(name, "", 1) for name in invited])
    ids = np.frombuffer(b"".join(invited), np.uint8).reshape(3, 16)
    row = np.zeros((1, 1), np.uint8)
    store.take({ASKED.id: Posted(ids[:1], row, invited=True)})
    store.withdraw(ASKED.id, invited[:2])
    fate = store.take({ASKED.id: Posted(ids, row.repeat(3, axis=0), invited=True)})[ASKED.id]
    assert list(fate) == [ALREADY, UNINVITED, NEW]
    assert store.used(ASKED.id) == [Used("", 1, 3, 2)]
    assert [store.invited(ASKED.id, name) for name in invited] == [True, False, True]


def test_no_answer_of_the_collector_tells_which_of_the_revoked_links_were_used(surveys: Surveys) -> None:
    """Neither the response rate nor the reminders depend on it, and a revoked link cannot be entered again."""
    open_survey(surveys, access="invited")
    store, invited = surveys.store, [one.nullifier for one in names(40)]
    store.invite(ASKED.id, [Invitation(name, "", 1) for name in invited])
    ids = np.frombuffer(b"".join(invited[:2]), np.uint8).reshape(2, 16)
    store.take({ASKED.id: Posted(ids, np.zeros((2, 1), np.uint8), invited=True)})
    before = store.used(ASKED.id)
    store.withdraw(ASKED.id, invited[1:3])
    assert store.used(ASKED.id) == before == [Used("", 1, 40, 2)]
    assert set(store.behind(ASKED.id, 20)) == {invited[0], *invited[3:]}
    store.withdraw(ASKED.id, invited)
    assert store.behind(ASKED.id, 20) == []
    assert "0 of 40 invitations used" in surveys.status("smoking")["invitations"]
    for name in invited[1:3]:
        with pytest.raises(InvalidParameterError, match="links must be new to this survey"):
            store.invite(ASKED.id, [Invitation(name, "", 1)])
    # A new group does not join a group whose links were all revoked.
    fresh = [one.nullifier for one in names(60)[40:]]
    store.invite(ASKED.id, [Invitation(name, "", 1) for name in fresh])
    assert store.used(ASKED.id) == [Used("", 1, 40, 2), Used("", 2, 20, 0)]


def test_two_collectors_on_one_database_count_a_link_once(database: str) -> None:
    if database.startswith("sqlite"):
        pytest.skip("SQLite is served by one collector")
    with collecting(database) as one, collecting(database) as other:
        open_survey(one.collector.surveys, access="invited")
        invited = [a.nullifier for a in names(30)]
        one.collector.store.invite(ASKED.id, [Invitation(name, "", 1) for name in invited])
        for each in (one, other):
            each.collector.refresh()
        statuses = Counter(Caller(port.public).post(sent(name)).status for name in invited for port in (one, other))
        assert statuses == {201: 30, 200: 30}
        assert one.collector.store.waiting(ASKED.id) == 30


def test_invitations_are_entered_while_a_survey_can_still_be_answered(surveys: Surveys) -> None:
    surveys.new("smoking", ASKED.to_json(), page(access="invited"), ".")
    with pytest.raises(
        InvalidParameterError, match="must be open or paused when people are invited, got state=“draft”"
    ):
        surveys.store.invite(ASKED.id, names(1))
    surveys.open("smoking")
    surveys.store.invite(ASKED.id, names(1))
    surveys.close("smoking", now=True)
    with pytest.raises(InvalidParameterError, match="got state=“closed”"):
        surveys.store.invite(ASKED.id, names(1))
    surveys.delete("smoking")
    assert surveys.store.used(ASKED.id) == []


def test_invitations_go_with_the_receipts(surveys: Surveys) -> None:
    open_survey(surveys, access="invited")
    surveys.store.invite(ASKED.id, names(3))
    surveys.close("smoking", now=True)
    surveys.store.forget_receipts("2026-05-01")
    assert surveys.store.used(ASKED.id) == [Used("", 1, 3, 0)]
    surveys.store.forget_receipts("2026-05-02")
    assert surveys.store.used(ASKED.id) == []


# ---------------------------------------------------------------- the inviter's files


def test_rounds_are_drawn_in_advance_and_are_equally_large() -> None:
    links = draw_links(1001, rounds=2, tag="mail")
    assert sorted(Counter(one.position for one in links).values()) == [500, 501]
    assert [one.number for one in links] == list(range(1, 1002))
    assert len({one.token for one in links}) == 1001
    # In the order of the people, a link would say who is asked when. A fair order has about half as many runs as
    # people.
    changes = sum(a.position != b.position for a, b in itertools.pairwise(links))
    assert abs(changes - 500) < 5 * np.sqrt(250)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"count": 1, "rounds": 2}, "count must be from 2 to"),
        ({"count": 10, "rounds": 13}, "rounds must be from 1 to 12"),
        ({"count": 199, "rounds": 2, "tag": "mail"}, "count must be at least 100 for each round"),
        ({"count": 200, "tag": "by mail"}, "tag must have at most 64 letters"),
    ],
)
def test_links_are_refused(arguments: dict[str, object], match: str) -> None:
    with pytest.raises(InvalidParameterError, match=match):
        draw_links(**arguments)  # type: ignore[arg-type]


def test_groups_have_the_least_size_and_fewer_links_have_none() -> None:
    links = draw_links(105)
    groups = Counter(one.part for one in invitations(ASKED.id, links, 20))
    assert groups == {1: 21, 2: 21, 3: 21, 4: 21, 5: 21}
    assert {one.part for one in invitations(ASKED.id, links[:19], 20)} == {0}


def test_a_file_of_links_that_was_damaged_is_refused_without_its_tokens(tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    token = to_base64url(secrets.token_bytes(16))
    for text, match in (
        (f"number,round,tag\n1,1,{token}\n", "but “token” is missing"),
        (f"number,round,tag,token\n1,1,,{token}x\n", "row 2: number, round and token must be"),
        (f"number,round,tag,token\n1,one,,{token}\n", "row 2: number, round and token must be"),
    ):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=match) as refused:
            read_links(path)
        assert token not in str(refused.value)


def test_the_sheet_has_a_code_and_a_link_for_every_person_of_the_round() -> None:
    links = [Link(1, 1, "", bytes(16)), Link(2, 2, "", b"1" * 16), Link(3, 1, "", b"2" * 16)]
    drawn = sheet(links, 1, "https://survey.example.org", "/s/smoking#0123", "Smoking & more")
    assert drawn.count("<svg") == drawn.count("counts once") == 2
    assert "https://survey.example.org/s/smoking#0123.AAAAAAAAAAAAAAAAAAAAAA</code>" in drawn
    assert "Smoking &amp; more" in drawn
    assert to_base64url(b"1" * 16) not in drawn


def test_the_commands_write_links_once_and_remind_whole_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    database = sqlite(tmp_path)
    Path("survey.json").write_text(ASKED.to_json())
    Path("page.json").write_text(page(access="invited"))
    base = ("--database", database)
    assert command("survey", "new", "smoking", "survey.json", "page.json", *base).exit_code == 0
    link = ("--url", "https://survey.example.org", "-o", "links.csv")
    refused = command("survey", "invite", "smoking", "--count", 100, *link, *base)
    assert "must be open or paused" in refused.stderr
    assert not Path("links.csv").exists()  # nobody gets a link without an invitation
    command("survey", "open", "smoking", *base)
    made = command(
        "survey", "invite", "smoking", "--count", 200, "--rounds", 2, "--tag", "mail", *link, *base, "--json"
    )
    assert json.loads(made.stdout) == {"slug": "smoking", "invited": 100, "round": 1, "file": "links.csv"}
    assert Path("links.csv").stat().st_mode & 0o077 == 0
    again = command("survey", "invite", "smoking", "--count", 200, *link, *base)
    assert "links that were written must not be lost" in again.stderr
    ignored = ("--links", "links.csv", "--tag", "post", "--url", "https://survey.example.org", "-o", "later.csv")
    refused = command("survey", "invite", "smoking", *ignored, *base)
    assert "--rounds and --tag must be left out with --links" in refused.stderr
    rows = list(csv.DictReader(io.StringIO(Path("links.csv").read_text())))
    assert Counter(bool(row["link"]) for row in rows) == {True: 100, False: 100}
    store = open_store(database)
    first = [row for row in rows if row["link"]]
    assert all(row["link"].endswith(f".{row['token']}") for row in first)
    # All people of three groups answer, and nobody of the two other groups.
    known = {nullifier(ASKED.id, from_base64url([row["token"]], 16, "t").tobytes()): row for row in first}
    with store._reading() as run:
        parts = dict(run("SELECT nullifier, part FROM invitations"))
    answered = [name for name, part in parts.items() if part <= 3]
    ids = np.frombuffer(b"".join(map(bytes, answered)), np.uint8).reshape(-1, 16)
    store.take({ASKED.id: Posted(ids, np.zeros((len(ids), 1), np.uint8), invited=True)})
    store.close()
    assert "100 of 100" not in (told := command("survey", "status", "smoking", *base).stdout)
    assert "60 of 100 invitations used (60%), counted in steps of 20" in told
    assert "channels      mail: 60 of 100\n" in told
    command("survey", "remind", "smoking", "--links", "links.csv", "-o", "late.csv", *base)
    late = {row["token"] for row in csv.DictReader(io.StringIO(Path("late.csv").read_text()))}
    assert late == {known[name]["token"] for name, part in parts.items() if part > 3}
    # The links of the reminder are withdrawn, and the rest stays.
    command("survey", "revoke", "smoking", "--links", "late.csv", *base)
    store = open_store(database)
    assert sum(one.invited for one in store.used(ASKED.id)) == 100
    assert [(entry.act, entry.about) for entry in store.noted() if entry.act in ("invite", "revoke")] == [
        ("invite", "100 links"),
        ("revoke", "40 links"),
    ]
    store.close()


def test_reminders_keep_the_columns_that_were_added(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("number,round,tag,token,link,name\n1,1,,a,b,Ann\n2,1,,c,d,Bob\n")
    assert select_rows(tmp_path / "links.csv", [False, True]) == "number,round,tag,token,link,name\n2,1,,c,d,Bob\n"


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_spreadsheet_may_save_links_with_another_delimiter(tmp_path: Path, delimiter: str) -> None:
    (link,) = draw_links(1)
    path = tmp_path / "links.csv"
    rows = [
        ("number", "round", "tag", "token", "link", "name"),
        ("1", "1", "", to_base64url(link.token), "x", "O, Neil"),
    ]
    path.write_text("".join(f"{delimiter.join(row)}\r\n" for row in rows), encoding="utf-8-sig", newline="")
    assert [(one.number, one.token) for one in read_links(path)] == [(1, link.token)]
    assert select_rows(path, [True]) == "".join(f"{delimiter.join(row)}\n" for row in rows)


def test_a_survey_for_everybody_invites_nobody(surveys: Surveys) -> None:
    open_survey(surveys)
    asked: list[tuple[str, dict[str, Any]]] = [("terms", {}), ("invite", {"invited": []}), ("remind", {})]
    for act, values in [*asked, ("revoke", {"names": []})]:
        with pytest.raises(
            InvalidParameterError, match="people can be invited only if access is “invited” in the page of “smoking”"
        ):
            perform(surveys, {"command": act, "slug": "smoking", **values})
    assert [entry.act for entry in surveys.store.noted()] == []


def test_a_page_lets_no_second_person_use_an_invitation() -> None:
    with pytest.raises(InvalidParameterError, match="second_person must be false if access is “invited”"):
        read_page(page(access="invited", second_person=True), "page.json", ASKED)


# ---------------------------------------------------------------- knowledge of collector and inviter together


def test_rule_1_what_both_know_is_a_report_whose_odds_the_collection_bounds(here: Running) -> None:
    """A collector that logs every request, and an inviter with all links, learn one report of each person."""
    links = draw_links(3)
    invite(here.collector.surveys, links)
    recorded: dict[bytes, int] = {}
    for code, link in enumerate(links):
        posted = sent(nullifier(ASKED.id, link.token), code)
        assert Caller(here.public).post(posted).status == 201
        recorded[posted.ids.tobytes()] = int(posted.rows[0, 0])
    joined = {link.number: recorded[nullifier(ASKED.id, link.token)] for link in links}
    assert joined == {1: 0, 2: 1, 3: 2}
    # If a report is known to be a certain person's, every answer is still nearly as likely as any other.
    channel = np.asarray(ASKED.mechanism.channel())
    assert np.log(channel.max(axis=0) / channel.min(axis=0)).max() <= 2.0 + 1e-12


def test_rules_2_and_8_a_link_draws_once_and_asks_before_it_draws(here: Running, tmp_path: Path) -> None:
    (link,) = draw_links(1)
    invite(here.collector.surveys, [link])
    address = f"{here.public}/s/smoking#{here.collector.held(ASKED.id).survey.link_digits}"  # type: ignore[union-attr]
    url = f"{address}.{to_base64url(link.token)}"
    answers = tmp_path / "answers.csv"
    answers.write_text("smoker\nyes\n")
    first = send_file(ASKED, answers, url)
    assert (first.counted, first.drawn) == (1, True)
    kept = first.kept.read_bytes()
    again = send_file(ASKED, answers, url)
    assert (again.already, again.drawn, again.kept.read_bytes()) == (1, False, kept)
    # Another device keeps nothing, so nothing is drawn there.
    elsewhere = tmp_path / "elsewhere.csv"
    elsewhere.write_text("smoker\nno\n")
    with pytest.raises(
        UploadError, match="this link was used before, and a link can be used only once: no report was made"
    ):
        send_file(ASKED, elsewhere, url)
    for bare in (address, here.public):
        with pytest.raises(UploadError, match="the address has no invitation: no report was made"):
            send_file(ASKED, elsewhere, bare)
    assert list(first.kept.parent.glob("*.parquet")) == [first.kept]
    strange = f"{address}.{to_base64url(secrets.token_bytes(16))}"
    with pytest.raises(UploadError, match=r"this link is not one of their links\. No report was made"):
        send_file(ASKED, elsewhere, strange)
    with pytest.raises(UploadError, match="this link is not one of their links"):
        send_file(ASKED, first.kept, strange)
    assert here.collector.store.waiting(ASKED.id) == 1


def test_a_link_is_for_one_person_and_its_token_is_in_no_message(here: Running, tmp_path: Path) -> None:
    (link,) = draw_links(1)
    invite(here.collector.surveys, [link])
    token = to_base64url(link.token)
    digits = here.collector.held(ASKED.id).survey.link_digits  # type: ignore[union-attr]
    two = tmp_path / "two.csv"
    two.write_text("smoker\nyes\nno\n")
    for url, kind, match in (
        (f"{here.public}/s/smoking#{digits}.{token}", UploadError, "the link is for one person"),
        (f"{here.public}/s/smoking#{digits[:-1]}.{token}", InvalidParameterError, "must end with # and 32 digits"),
        (f"{here.public}/s/smoking#{'0' * 32}.{token}", MismatchError, "the link is for another collection than"),
    ):
        with pytest.raises(kind, match=match) as refused:
            send_file(ASKED, two, url)
        assert token not in str(refused.value)
    assert here.collector.store.waiting(ASKED.id) == 0


def test_rule_3_the_first_report_of_a_link_counts_whoever_sends_the_second(here: Running) -> None:
    """An inviter who uses a person's link before or after them changes one report, and gets no second one."""
    (link,) = draw_links(1)
    invite(here.collector.surveys, [link])
    name = nullifier(ASKED.id, link.token)
    assert Caller(here.public).post(sent(name, 0)).json == {"counted": 1, "already": 0, "invalid": 0}
    assert Caller(here.public).post(sent(name, 2)).json == {"counted": 0, "already": 1, "invalid": 0}
    here.collector.surveys.close("smoking", now=True)
    assert np.frombuffer(summed(here.collector.store, ASKED.id)[0], "<i8").tolist() == [1, 0, 0]


def test_rule_4_ids_of_one_token_are_unrelated_and_depend_on_no_answer() -> None:
    link = Link(1, 1, "", bytes(range(16)))
    one, other = nullifier(ASKED.id, link.token), nullifier(SECOND.id, link.token)
    assert one != other
    # By hand, with the standard library's hash: the text, the id and the token, one after the other.
    assert one == hashlib.sha256(b"deniable nullifier" + bytes.fromhex(ASKED.id) + bytes(range(16))).digest()[:16]


def test_rules_5_and_6_after_the_drain_nobody_can_say_whose_report_is_whose(tmp_path: Path) -> None:
    """The inviter's file and the whole database of a collector that keeps reports show only who answered."""
    with collecting(sqlite(tmp_path)) as here:
        open_survey(here.collector.surveys, access="invited", retention="reports")
        here.collector.refresh()
        links = draw_links(40)
        invite(here.collector.surveys, links)
        for i, link in enumerate(links[:20]):
            assert Caller(here.public).post(sent(nullifier(ASKED.id, link.token), i % 3)).status == 201
        assert here.collector.drain() == 20
        with here.collector.store._reading() as run:
            tables = [name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table'")]
            rows = {table: run(f"SELECT * FROM {table}") for table in tables}
        content = here.collector.store.batch_file(ASKED.id, 1)
    receipts = {bytes(name) for _, name in rows["receipts"]}
    assert receipts == {nullifier(ASKED.id, link.token) for link in links[:20]}  # they learn who answered
    assert rows["inbox"] == []
    # An id is in no table except for those two, and in no file of reports.
    for table, found in rows.items():
        if table not in ("receipts", "invitations"):
            assert not any(
                name in str(row).encode() or name in bytes(str(row), "utf-8") for row in found for name in receipts
            )
    assert not any(name in content for name in receipts)
    (tmp_path / "batch.parquet").write_bytes(content)
    (reports,) = ReportReader(tmp_path / "batch.parquet", ASKED)
    assert Counter(to_wire(ASKED.mechanism, reports)[:, 0].tolist()) == {0: 7, 1: 7, 2: 6}


def test_rule_7_who_has_a_link_can_ask_whether_it_was_used_and_nobody_else(here: Running) -> None:
    link, other = draw_links(2)
    invite(here.collector.surveys, [link, other])
    call, path = Caller(here.public), f"/api/v1/collections/{ASKED.id}/receipts"
    asked = [{"id": to_base64url(nullifier(ASKED.id, one.token))} for one in (link, other, draw_links(1)[0])]
    assert [call("POST", path, one).status for one in asked] == [404, 404, 403]
    call.post(sent(nullifier(ASKED.id, link.token)))
    assert [call("POST", path, one).status for one in asked] == [204, 404, 403]
    assert call("POST", path, asked[2]).problem == "not-invited"


def test_rule_9_nobody_who_was_invited_to_one_round_counts_in_the_other(tmp_path: Path) -> None:
    with collecting(sqlite(tmp_path)) as here:
        surveys, links = here.collector.surveys, draw_links(40, rounds=2)
        rounds = {position: [one for one in links if one.position == position] for position in (1, 2)}
        for collection, slug, position in ((ASKED, "smoking", 1), (SECOND, "later", 2)):
            open_survey(surveys, slug, collection, access="invited")
            invite(surveys, rounds[position], collection=collection)
        here.collector.refresh()
        statuses = Counter(
            (
                collection.title,
                position,
                Caller(here.public).post(sent(nullifier(collection.id, one.token), 0, collection)).status,
            )
            for collection in (ASKED, SECOND)
            for position in (1, 2)
            for one in rounds[position]
        )
    assert statuses == {
        ("Smoking", 1, 201): 20,
        ("Smoking", 2, 403): 20,
        ("Smoking, later", 1, 403): 20,
        ("Smoking, later", 2, 201): 20,
    }


def test_rule_10_the_address_is_the_same_for_everybody_and_channels_are_large(surveys: Surveys) -> None:
    open_survey(surveys, access="invited")
    store = surveys.store
    link = surveys.status("smoking")["link"]
    one, other = (urlsplit(f"https://s.example{link}.{to_base64url(secrets.token_bytes(16))}") for _ in range(2))
    assert (one.path, one.query) == (other.path, other.query) == ("/s/smoking", "")
    with pytest.raises(InvalidParameterError, match="a channel must have at least 100 invitations, got 99"):
        store.invite(ASKED.id, names(99, "mail"))
    assert store.used(ASKED.id) == []
    store.invite(ASKED.id, names(100, "mail"))
    store.invite(ASKED.id, names(1, "mail"))
    assert store.used(ASKED.id) == [Used("mail", 1, 100, 0), Used("mail", 2, 1, 0)]


def test_rule_11_neither_database_nor_log_holds_a_token(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The collector has default limits: invited people share one address, and none is refused."""
    database = sqlite(tmp_path / "data")
    (tmp_path / "data").mkdir()
    begin_log()
    logging.getLogger("deniable.service").setLevel(logging.DEBUG)
    try:
        settings = Configuration(database=database, public="127.0.0.1:0", admin="127.0.0.1:0", limits=LimitsShape())
        with running(settings, migrate=True, drain_seconds=3600.0, patience=0.0) as here:
            open_survey(here.collector.surveys, access="invited")
            here.collector.refresh()
            made = command(
                *("survey", "invite", "smoking", "--count", 400, "--url", here.public, "--database", database),
                *("-o", tmp_path / "links.csv", "--sheet", tmp_path / "sheet.html"),
            )
            assert made.exit_code == 0, made.output
            links = read_links(tmp_path / "links.csv")
            call = Caller(here.public)
            for link in links:
                assert call("GET", "/s/smoking").status == 200
                name = nullifier(ASKED.id, link.token)
                assert (
                    call("POST", f"/api/v1/collections/{ASKED.id}/receipts", {"id": to_base64url(name)}).status == 404
                )
                assert call.post(sent(name)).status == 201
            assert call.post(sent(bytes(16))).problem == "not-invited"
            here.collector.drain()
            here.collector.store.backup(tmp_path / "data" / "backup.db")
            stored = b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir() if path.is_file())
    finally:
        for logger in map(logging.getLogger, ("deniable.service", "deniable.service.access", "uvicorn.error")):
            logger.handlers, logger.propagate = [], True
    logged = capfd.readouterr()
    printed = (logged.err + logged.out + made.output).encode()
    assert sum(nullifier(ASKED.id, one.token) in stored for one in links) == 400  # the hashes are stored
    for link in links:
        for form in (link.token, to_base64url(link.token).encode(), b64encode(link.token), link.token.hex().encode()):
            assert form not in stored
            assert form not in printed
        assert to_base64url(nullifier(ASKED.id, link.token)).encode() not in printed


def test_rule_12_all_bodies_of_invited_people_are_equally_long() -> None:
    reports = ASKED.randomize(np.arange(30).reshape(-1, 1) % 3, SimulationRandomness(1))
    rows = to_wire(ASKED.mechanism, reports)
    lengths = {
        len(Body(ASKED.id, np.frombuffer(nullifier(ASKED.id, one.token), np.uint8).reshape(1, 16), row[None]).to_json())
        for one, row in zip(draw_links(30), rows, strict=True)
    }
    assert len(lengths) == 1


def test_rule_13_a_link_binds_the_texts_that_its_person_is_shown(here: Running) -> None:
    """A collector cannot show one person other texts or questions: the digits cover both documents."""
    held = here.collector.held(ASKED.id)
    assert held is not None
    other = read_page(page(access="invited", contact="them@example.org"), "page.json", ASKED)
    assert held.survey.link_digits == link_digits(ASKED.id, page_hash(held.survey.page_text))
    assert held.survey.link_digits != link_digits(ASKED.id, page_hash(other.to_json()))


def test_response_rates_change_by_whole_steps_while_people_can_answer(surveys: Surveys) -> None:
    open_survey(surveys, access="invited")
    store, invited = surveys.store, [one.nullifier for one in names(50)]
    store.invite(ASKED.id, [Invitation(name, "", 1) for name in invited])
    seen = []
    for name in invited[:45]:
        ids = np.frombuffer(name, np.uint8).reshape(1, 16)
        store.take({ASKED.id: Posted(ids, np.zeros((1, 1), np.uint8), invited=True)})
        seen.append(response_of(store, ASKED.id, 20, closed=False).used)
    assert seen == [0] * 19 + [20] * 20 + [40] * 6
    assert response_of(store, ASKED.id, 20, closed=True).used == 45
    surveys.close("smoking", now=True)
    assert surveys.status("smoking")["invitations"] == "45 of 50 invitations used (90%)"


def test_a_senders_batch_counts_no_id_that_was_not_invited(here: Running) -> None:
    links = draw_links(3)
    invite(here.collector.surveys, links)
    ids = np.stack([np.frombuffer(nullifier(ASKED.id, one.token), np.uint8) for one in (*links, *draw_links(254))])
    answer = Caller(here.public).post(Body(ASKED.id, ids, np.zeros((257, 1), np.uint8)))
    assert answer.json == {"counted": 3, "already": 0, "invalid": 254}
    here.collector.drain()
    assert here.collector.store.rejections(ASKED.id) == {"not-invited": 254}
    assert not re.search("not-invited", json.dumps(answer.json))


# -------------------------------------------------------------------- inviters with an account


@pytest.fixture
def asked(here: Running, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the admin port's address, with the token of an inviter in the environment."""
    store = here.collector.store
    store.add_analyst("eve", "inviter", hash_password(PASSWORD), frozenset({"smoking"}))
    monkeypatch.setenv("DENIABLE_TOKEN", Logins(store, here.collector.clock).issue("eve", "token", None))
    return here.admin


def test_an_inviter_invites_from_another_machine_and_sees_no_result(here: Running, asked: str, tmp_path: Path) -> None:
    """Through the admin port: links, reminders, revocation and response rate; all other requests are refused."""
    store, links = here.collector.store, tmp_path / "links.csv"
    made = command("survey", "invite", "smoking", "--database", asked, "--count", 40, "--url", here.public, "-o", links)
    assert made.exit_code == 0, made.output
    found = read_links(links)
    assert [store.invited(ASKED.id, nullifier(ASKED.id, one.token)) for one in found] == [True] * 40
    for one in found[:20]:
        assert Caller(here.public).post(sent(nullifier(ASKED.id, one.token))).status == 201
    here.collector.drain()
    said = command("survey", "status", "smoking", "--database", asked)
    assert "20 of 40 invitations used (50%), counted in steps of 20" in said.output
    # The output has no number of reports or batches, and no rejections, because these are for the owner.
    assert not re.search(r"^(n|batches|rejections|contributors)\b", said.output, re.M)
    late = command("survey", "remind", "smoking", "--database", asked, "--links", links, "-o", tmp_path / "late.csv")
    assert late.exit_code == 0, late.output
    lost = tmp_path / "lost.csv"
    head, *rest = links.read_text().splitlines(keepends=True)
    lost.write_text(head + rest[-1])
    assert command("survey", "revoke", "smoking", "--database", asked, "--links", lost).exit_code == 0
    assert not store.invited(ASKED.id, nullifier(ASKED.id, found[-1].token))
    # The audit names the inviter, but no link.
    acts = [(entry.who, entry.act, entry.about) for entry in store.noted() if entry.who == "eve"]
    assert acts == [("eve", "invite", "40 links"), ("eve", "remind", ""), ("eve", "revoke", "1 links")]
    refused = command("survey", "close", "smoking", "--database", asked)
    assert refused.exit_code == 2
    assert "this command needs the database of the collector" in refused.output
    assert "`survey terms`" not in refused.output


def test_an_inviters_session_and_token_open_nothing_else(here: Running, asked: str) -> None:
    assert asked == here.admin
    collector = here.collector
    open_survey(collector.surveys, "later", SECOND, access="invited")
    collector.refresh()
    token = Logins(collector.store, collector.clock).issue("eve", "token", None, "second")
    me = Caller(here.admin, {"authorization": f"Bearer {token}"})
    reads = ("results.json", "results.csv", "report.html", "aggregate", "published/index.html", "link.svg")
    assert {me("GET", f"/surveys/smoking/{path}").problem for path in reads} == {"not-allowed"}
    for path in ("/audit.json", "/metrics"):
        assert me("GET", path).problem == "not-allowed"
    for act in ("open", "pause", "close", "delete", "publish"):
        assert me("POST", f"/surveys/smoking/{act}", {"name": "smoking"}).problem == "not-allowed"
    # A survey without rights looks as if it did not exist.
    assert me("POST", "/surveys/later/invitations", {"command": "terms"}).problem == "not-found"
    assert me("GET", "/surveys/later").status == 404
    page = me("GET", "/surveys/smoking").content.decode()
    assert "0 of 0 invitations used" in page
    assert "It sees how many have answered, and no results" in page
    home = me("GET", "/").content.decode()
    assert "/surveys/smoking" in home
    assert "No reports yet" not in home
    assert "<progress" not in home
    assert "Make a survey" not in home
    wrong: list[dict[str, Any]] = [
        {"command": "delete"},
        {"command": "invite", "invited": [["short", "", 0]]},
        {"command": "invite", "invited": [["A" * 22 + "==", "", -1]]},
        {"command": "revoke", "names": [7]},
        {"command": "invite", "invited": [[b64encode(bytes(16)).decode(), "mail", 0]]},
    ]
    for one in wrong:
        assert me("POST", "/surveys/smoking/invitations", one).problem == "malformed"
    assert collector.store.used(ASKED.id) == []
    # Analysts read, and do not invite. Nobody without an account can ask.
    collector.store.add_analyst("bob", "analyst", hash_password(PASSWORD))
    token = Logins(collector.store, collector.clock).issue("bob", "token", None)
    bob = Caller(here.admin, {"authorization": f"Bearer {token}"})
    assert bob("POST", "/surveys/smoking/invitations", {"command": "status"}).problem == "not-allowed"
    stranger = Caller(here.admin, {"origin": here.admin})
    assert stranger("POST", "/surveys/smoking/invitations", {"command": "status"}).problem == "login"


def test_a_token_goes_to_no_address_in_the_clear_and_none_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DENIABLE_TOKEN", raising=False)
    made = command("survey", "status", "smoking", "--database", "https://admin.example.org")
    assert (made.exit_code, "$DENIABLE_TOKEN must hold the token" in made.output) == (2, True)
    monkeypatch.setenv("DENIABLE_TOKEN", "secret-token")
    made = command("survey", "status", "smoking", "--database", "http://admin.example.org")
    assert "must begin with https://" in made.output
    links = tmp_path / "links.csv"
    made = command(
        *("survey", "invite", "smoking", "--database", "http://127.0.0.1:9", "--count", 3),
        *("--url", "https://survey.example.org", "-o", links),
    )
    assert "no collector answers at http://127.0.0.1:9" in made.output
    assert "secret-token" not in made.output
    assert not links.exists()
