"""Accounts: rights for surveys, tokens, passwords, and audit entries for all of them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from typer.testing import CliRunner

from deniable import GRR
from deniable.cli import app
from deniable.errors import InvalidParameterError, StoreError
from deniable.service import auth
from deniable.service.auth import NO_PASSWORD, Logins, digest
from deniable.service.control import ask
from deniable.service.server import Running
from deniable.service.stores import migrate_store, open_store
from deniable.service.stores.accounts import AUDIT_DAYS
from deniable.service.stores.migrations import STEPS
from deniable.service.stores.store import Store
from deniable.service.surveys import Surveys
from deniable.survey.collection import Collection
from tests.service.asking import (
    ASKED,
    PASSWORD,
    SCHEMA,
    Answer,
    Caller,
    Clock,
    body,
    collecting,
    open_survey,
    page,
    sqlite,
)

SLEEP = Collection(SCHEMA, GRR(k=3, epsilon=1.0), title="Sleep")
OTHER = "another long password"


def quick(password: str, salt: bytes) -> bytes:
    """A fast substitute for scrypt here; tests/service/test_admin.py tests its cost."""
    return hashlib.sha512(salt + password.encode()).digest()


STORED = f"scrypt$0$0$0${bytes(16).hex()}${quick(PASSWORD, bytes(16)).hex()}"


@pytest.fixture(autouse=True)
def digested(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Passwords that were digested."""
    seen: list[str] = []

    def counted(password: str, salt: bytes) -> bytes:
        seen.append(password)
        return quick(password, salt)

    monkeypatch.setattr(auth, "_scrypt", counted)
    return seen


def run(*arguments: Any, fails: bool = False, typed: str | None = None) -> str:
    """Run a command; return its whole output."""
    result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False, input=typed)
    assert result.exit_code == (2 if fails else 0), result.output
    return result.output


def log_in(here: Running, name: str, password: str = PASSWORD, **headers: str) -> Answer:
    return Caller(here.admin, {"origin": here.admin})(
        "POST", "/session", {"name": name, "password": password}, **headers
    )


def session(here: Running, name: str, password: str = PASSWORD) -> Caller:
    answer = log_in(here, name, password)
    assert answer.status == 204, answer.content
    return Caller(here.admin, {"origin": here.admin, "cookie": answer.headers["set-cookie"].partition(";")[0]})


def bearer(here: Running, name: str) -> Caller:
    token = Logins(here.collector.store, here.collector.clock).issue(name, "token", None)
    return Caller(here.admin, {"authorization": f"Bearer {token}"})


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Running]:
    """Two surveys of twenty reports, and an account of each kind; ann owns both, the others have rights for one."""
    with collecting(sqlite(tmp_path)) as running:
        collector = running.collector
        open_survey(collector.surveys)
        open_survey(collector.surveys, "sleep", SLEEP)
        collector.refresh()
        for one in (ASKED, SLEEP):
            assert Caller(running.public).post(body(20, collection=one)).status == 201
        collector.drain()
        collector.refresh()
        store, some = collector.store, frozenset({"sleep"})
        assert store.add_analyst("ann", "owner", STORED)
        assert store.add_analyst("own", "owner", STORED, some)
        assert store.add_analyst("bob", "analyst", STORED, some)
        assert store.add_analyst("send", "sender", NO_PASSWORD, some)
        assert store.add_analyst("prometheus", "monitor", NO_PASSWORD)
        yield running


# -------------------------------------------------------------------- rights


@pytest.mark.parametrize("name", ["own", "bob"])
@pytest.mark.parametrize("token", [False, True])
def test_rights_are_for_surveys_and_others_are_not_there(here: Running, name: str, token: bool) -> None:
    me = bearer(here, name) if token else session(here, name)
    paths = ("", "/results.json", "/results.csv", "/report.html", "/aggregate")
    assert [me("GET", f"/surveys/sleep{path}").status for path in paths] == [200] * len(paths)
    hidden, absent = ([me("GET", f"/surveys/{slug}{path}") for path in paths] for slug in ("smoking", "none"))
    assert [answer.status for answer in hidden] == [404] * len(paths)
    # The first answer is a page for people.
    assert [answer.problem for answer in hidden[1:]] == ["not-found"] * len(paths[1:])
    # The answer does not tell that the survey exists.
    assert [answer.content for answer in hidden] == [answer.content for answer in absent]
    home = me("GET", "/").content.decode()
    assert "/surveys/sleep" in home
    assert "smoking" not in home.lower()
    assert [me("POST", f"/surveys/smoking/{act}").status for act in ("open", "pause", "close")] == (
        [404 if name == "own" else 403] * 3
    )
    assert me("POST", "/surveys/sleep/pause").status == (200 if name == "own" else 403)
    assert me("GET", "/metrics").problem == "not-allowed"
    states = {row.slug: row.state for row in here.collector.store.collections()}
    assert states == {"smoking": "open", "sleep": "paused" if name == "own" else "open"}
    # Changed rights apply at once.
    here.collector.store.set_rights(name, "analyst", frozenset({"smoking"}))
    assert me("GET", "/surveys/sleep/aggregate").problem == "not-found"
    assert me("GET", "/surveys/smoking/aggregate").status == 200
    here.collector.store.set_rights(name, "analyst", frozenset())
    assert me("GET", "/surveys/smoking/aggregate").problem == "not-found"
    assert "no survey that you have rights for" in me("GET", "/").content.decode()


def test_rights_for_a_deleted_survey_are_no_rights_for_the_next_of_its_name(database: str) -> None:
    store = open_store(database, migrate=True)
    surveys = Surveys(store)
    for slug, one in (("smoking", ASKED), ("sleep", SLEEP)):
        surveys.new(slug, one.to_json(), page(one), ".")
    store.add_analyst("all", "analyst", STORED)
    store.add_analyst("one", "analyst", STORED, frozenset({"smoking"}))
    store.add_analyst("two", "analyst", STORED, frozenset({"smoking", "sleep"}))
    store.add_analyst("third", "analyst", STORED, frozenset({"sleep"}))
    surveys.delete("smoking")
    found = {account.name: account.surveys for account in store.analysts()}
    # None would mean all surveys.
    assert found == {"all": None, "one": frozenset(), "two": {"sleep"}, "third": {"sleep"}}
    store.close()


def test_a_sender_sends_to_its_surveys_only(here: Running) -> None:
    token = bearer(here, "send").headers["authorization"]
    more = {one: body(20, 100, collection=one) for one in (ASKED, SLEEP)}
    call = Caller(here.public)
    assert call.post(more[SLEEP], authorization=token).status == 201
    assert call.post(more[ASKED], authorization=token).problem == "token"
    assert here.collector.store.waiting(ASKED.id) == 0
    owner = bearer(here, "own").headers["authorization"]
    assert call.post(more[ASKED], authorization=owner).problem == "token"


def test_a_monitor_reads_metrics_and_nothing_else(here: Running) -> None:
    me = bearer(here, "prometheus")
    assert me("GET", "/metrics").status == 200
    for path in ("/surveys/sleep/results.json", "/surveys/sleep/aggregate", "/audit.json"):
        assert me("GET", path).problem == "not-allowed"
    for path in ("/", "/surveys/sleep", "/account", "/audit"):
        assert me("GET", path).status == 303
    assert me("POST", "/surveys/sleep/pause").problem == "not-allowed"
    assert Caller(here.public).post(body(20, 900), authorization=me.headers["authorization"]).problem == "token"
    assert session(here, "ann")("GET", "/metrics").status == 200
    # No password is valid for a program.
    for password in ("", NO_PASSWORD, "0" * 128):
        assert log_in(here, "prometheus", password).problem == "wrong-login"


# -------------------------------------------------------------------- the command line


def test_accounts_are_managed_on_the_command_line(database: str, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD + "\n")
    (tmp_path / "other").write_text(OTHER + "\n")
    common = ("--database", database)
    store = open_store(database, migrate=True)
    open_survey(Surveys(store))
    store.close()

    def password(name: str) -> tuple[Any, ...]:
        return ("--password-file", tmp_path / name, *common)

    run("analyst", "add", "ann", "--role", "owner", *password("password"))
    token = run("analyst", "add", "robot", "--role", "sender", "--survey", "smoking", "--token", *common).split()[-1]
    # Adding twice changes nothing. In the past it gave the name another role and password.
    for role in ("analyst", "owner"):
        said = run("analyst", "add", "ann", "--role", role, *password("other"), fails=True)
        assert "name must be new, but there is an account “ann”" in said
    store = open_store(database)
    logins = Logins(store, Clock())
    held = logins.log_in("ann", PASSWORD)
    assert held is not None
    assert logins.log_in("ann", OTHER) is None
    robot = logins.who(token, "token")
    assert robot is not None
    assert (robot.role, robot.surveys, robot.may("smoking"), robot.may("sleep")) == (
        "sender",
        frozenset({"smoking"}),
        True,
        False,
    )
    store.close()

    nightly = run("analyst", "token", "ann", "nightly", "--valid-days", 30, *common).split()[-1]
    assert "but there is a token “nightly” already" in run("analyst", "token", "ann", "nightly", *common, fails=True)
    run("analyst", "add", "bob", "--survey", "smoking", *password("password"))
    said = json.loads(run("analyst", "list", "--json", *common))
    ann, bob, listed = said["accounts"]
    assert (ann["name"], ann["role"], ann["surveys"]) == ("ann", "owner", None)
    assert (bob["name"], bob["role"], bob["surveys"], bob["tokens"]) == ("bob", "analyst", ["smoking"], [])
    (one,) = ann["tokens"]
    assert (one["name"], one["used"]) == ("nightly", None)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", one[key]) for key in ("created", "expires"))
    assert [(t["name"], t["used"], t["expires"]) for t in listed["tokens"]] == [("first", "2026-05-01", None)]
    for text in (json.dumps(said), run("analyst", "list", *common)):
        assert "nightly" in text
        assert not any(secret in text for secret in (nightly, token, digest(token), "scrypt"))

    # A new password ends sessions, while tokens stay.
    run("analyst", "password", "ann", *password("other"))
    store = open_store(database)
    logins = Logins(store, Clock())
    assert logins.who(held, "session") is None
    assert (logins.log_in("ann", PASSWORD), logins.log_in("ann", OTHER) is None) == (None, False)
    assert logins.who(nightly, "token") is not None
    store.close()
    run("analyst", "revoke", "ann", "nightly", *common)
    assert "must be the name of a token of the account “ann”, got “nightly”" in run(
        "analyst", "revoke", "ann", "nightly", *common, fails=True
    )
    assert "its sessions have ended" in run("analyst", "role", "bob", "--role", "sender", *common)
    assert "it needs a password: deniable analyst password bob" in run(
        "analyst", "role", "bob", "--role", "owner", *common
    )
    run("analyst", "password", "bob", *password("password"))
    run("analyst", "remove", "robot", *common)
    store = open_store(database)
    logins = Logins(store, Clock())
    assert [(a.name, a.role, a.surveys) for a in store.analysts()] == [("ann", "owner", None), ("bob", "owner", None)]
    assert (logins.who(nightly, "token"), logins.who(token, "token")) == (None, None)
    # A later account with the same name is another account.
    store.add_analyst("robot", "sender", NO_PASSWORD)
    assert logins.who(token, "token") is None
    kept, all_gone = logins.log_in("bob", PASSWORD), logins.issue("bob", "token", None, "x")
    store.close()
    run("analyst", "revoke", "bob", *common)
    store = open_store(database)
    assert kept is not None
    assert Logins(store, Clock()).who(kept, "session") is None
    assert Logins(store, Clock()).who(all_gone, "token") is None
    store.close()


def test_a_token_that_expires_ends_on_its_day(database: str) -> None:
    clock = Clock()
    store = open_store(database, migrate=True)
    surveys = Surveys(store, clock)
    store.add_analyst("ann", "owner", STORED)
    from deniable.service.control import perform

    secret = perform(surveys, {"command": "add-token", "name": "ann", "label": "month", "days": 30})["token"]
    logins = Logins(store, clock)
    clock.move(days=29)
    assert logins.who(secret, "token") is not None
    # The day of its last use is known.
    assert [(t.created, t.used, t.expires) for t in store.tokens()] == [
        ("2026-05-01", "2026-05-30", "2026-05-31T12:00:00+00:00")
    ]
    clock.move(days=1)
    assert logins.who(secret, "token") is None
    store.end_expired(clock().isoformat())
    clock.move(seconds=1)
    store.end_expired(clock().isoformat())
    assert store.tokens() == []
    store.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "bob", "--survey", "smokng"), "there is no survey “smokng”"),
        (("role", "ann", "--role", "owner", "--survey", "none"), "there is no survey “none”"),
        (("add", "m", "--role", "monitor", "--survey", "smoking"), "survey must be left out for a monitor"),
        (("add", "Command Line"), "because the audit uses this name for itself"),
        (("add", "unknown name"), "because the audit uses this name for itself"),
        (("add", "a\nb"), "printable characters"),
        (("add", "a:b"), "printable characters"),
        (("add", "a" * 65), "1 to 64"),
        (("remove", "zed"), "there is no account “zed”"),
        (("password", "zed"), "there is no account"),
        (("password", "robot"), "“robot” is a sender, which has tokens and no password"),
        (("token", "zed", "x"), "there is no account"),
        (("token", "ann"), "TOKEN must be given"),
        (("role", "ann"), "--role must be given"),
        (("add",), "NAME must be given"),
    ],
)
def test_what_cannot_be_done_to_accounts_is_said(
    tmp_path: Path, arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.service.auth.hash_password", lambda _: STORED)
    store = open_store(sqlite(tmp_path), migrate=True)
    open_survey(Surveys(store))
    store.add_analyst("ann", "analyst", STORED)
    store.add_analyst("robot", "sender", NO_PASSWORD)
    store.close()
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    has_password = arguments[0] == "password" or (arguments[0] == "add" and "monitor" not in arguments)
    more = ("--password-file", file) if has_password else ()
    output = run("analyst", *arguments, *more, "--database", sqlite(tmp_path), fails=True)
    assert said in " ".join(output.split())
    store = open_store(sqlite(tmp_path))
    assert [(a.name, a.role) for a in store.analysts()] == [("ann", "analyst"), ("robot", "sender")]
    assert store.noted(who="ann") == []
    store.close()


def test_programs_have_no_password_and_people_have_one(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    for role, password in (("sender", STORED), ("monitor", STORED), ("owner", None), ("analyst", None)):
        with pytest.raises(InvalidParameterError, match="password must be given for an owner, an analyst or"):
            ask(url, {"command": "add-analyst", "name": "x", "role": role, "password": password})
    with pytest.raises(InvalidParameterError, match="role must be one of"):
        ask(url, {"command": "add-analyst", "name": "x", "role": "king", "password": STORED})
    # An account that becomes a program loses its password.
    ask(url, {"command": "add-analyst", "name": "ann", "role": "owner", "password": STORED})
    ask(url, {"command": "set-rights", "name": "ann", "role": "sender"})
    store = open_store(url)
    assert Logins(store, Clock()).log_in("ann", PASSWORD) is None
    store.close()


def test_no_session_outlives_the_password_it_was_opened_with(database: str) -> None:
    """No session outlives its account either: sessions opened during a change are refused."""
    store = open_store(database, migrate=True)
    store.add_analyst("ann", "owner", STORED)
    assert store.add_session("a", "ann", "session", None, password=STORED)
    assert store.set_password("ann", "another", before=STORED)
    assert not store.add_session("b", "ann", "session", None, password=STORED)
    assert not store.set_password("ann", "third", before=STORED)
    store.remove_analyst("ann")
    assert not store.add_session("c", "ann", "session", None)
    with store._reading() as tables:
        assert tables("SELECT * FROM sessions") == []
    store.close()


# -------------------------------------------------------------------- passwords


def test_a_stranger_locks_nobody_out_from_another_network(tmp_path: Path) -> None:
    """Five wrong passwords once locked everyone out."""
    with collecting(sqlite(tmp_path), admin_proxies=["127.0.0.0/8"]) as here:
        here.collector.store.add_analyst("ann", "owner", STORED)
        answers = {}
        for name in ("ann", "zed"):
            tries = [log_in(here, name, "wrong", x_forwarded_for="203.0.113.7") for _ in range(6)]
            assert [one.problem for one in tries] == ["wrong-login"] * 5 + ["wait"]
            answers[name] = [one.content for one in tries]
            assert tries[-1].headers["retry-after"] == "1"
            assert tries[-1].json["detail"] == "Try again in 1 second."
        # Existing and missing names get the same answers.
        assert answers["ann"] == answers["zed"]
        assert log_in(here, "ann", x_forwarded_for="198.51.100.7").status == 204


def test_a_proxy_of_the_public_port_says_nothing_about_who_logs_in(tmp_path: Path) -> None:
    """The proxy is on this machine, and so is everyone who comes through a tunnel with any header."""
    with collecting(sqlite(tmp_path), trusted_proxies=["127.0.0.0/8"]) as here:
        here.collector.store.add_analyst("ann", "owner", STORED)
        tries = [log_in(here, "ann", "wrong", x_forwarded_for=f"1.2.{i}.4") for i in range(6)]
        assert [one.problem for one in tries] == ["wrong-login"] * 5 + ["wait"]


def test_a_name_that_no_database_takes_is_malformed(here: Running) -> None:
    """PostgreSQL refuses NUL: strangers could trigger its alarm."""
    assert log_in(here, "a\0b", "wrong").problem == "malformed"
    assert log_in(here, "ann", "a\0b").problem == "malformed"


@pytest.mark.parametrize("name", ["ann", "send", "nobody"])
def test_every_name_costs_the_same(here: Running, name: str, digested: list[str]) -> None:
    """The time does not reveal whether an account exists: one digest, and the same statements."""
    statements: list[str] = []
    store = here.collector.store
    with store._working(), store._reading():
        for connection in (store._writer, store._reader):  # type: ignore[attr-defined]
            connection.set_trace_callback(statements.append)
    digested.clear()
    assert log_in(here, name, "wrong").problem == "wrong-login"
    assert digested == ["wrong"]
    ours = [text.split(" (")[0] for text in statements if re.match("SELECT role|UPDATE audit|INSERT INTO audit", text)]
    assert [text.partition(" WHERE")[0].partition(" SET")[0] for text in dict.fromkeys(ours)] == [
        "SELECT role, password FROM analysts",
        "UPDATE audit",
        "INSERT INTO audit",
    ]
    assert len([text for text in statements if text.startswith("SELECT role")]) == 2


def test_the_own_password_is_changed_with_the_old_one_and_ends_other_sessions(here: Running) -> None:
    me, elsewhere = session(here, "ann"), session(here, "ann")
    token = bearer(here, "ann")
    change = {"old": PASSWORD, "new": OTHER}
    assert me("POST", "/password", {**change, "old": "wrong"}).problem == "wrong-login"
    answer = me("POST", "/password", {**change, "new": "short"})
    assert (answer.problem, "at least 12 characters" in answer.json["detail"]) == ("malformed", True)
    # A token is not a session, and a page of another origin is not ours.
    assert token("POST", "/password", change).problem == "login"
    crossed = Caller(here.admin, {**me.headers, "origin": "https://evil.example"})
    assert crossed("POST", "/password", change).problem == "not-allowed"
    assert elsewhere("GET", "/").status == 200
    assert me("POST", "/password", change).status == 204
    assert (me("GET", "/").status, elsewhere("GET", "/").status) == (200, 303)
    assert token("GET", "/surveys/sleep/aggregate").status == 200
    assert log_in(here, "ann").problem == "wrong-login"
    assert log_in(here, "ann", OTHER).status == 204
    # A person who finds an open session cannot try passwords for ever.
    for _ in range(5):
        problem = me("POST", "/password", {**change, "old": "guess"}).problem
    assert problem == "wait" or me("POST", "/password", change).problem == "wait"


def test_logging_out_everywhere_ends_every_session(here: Running) -> None:
    me, elsewhere, other = session(here, "ann"), session(here, "ann"), session(here, "own")
    assert "logged in 2 times" in me("GET", "/account").content.decode()
    assert me("DELETE", "/sessions").status == 204
    assert [one("GET", "/").status for one in (me, elsewhere, other)] == [303, 303, 200]
    assert me("DELETE", "/sessions").problem == "login"


# -------------------------------------------------------------------- audit


def acts(store: Store, **asked: str) -> list[tuple[str, str, str, str, int]]:
    return [(e.who, e.act, e.survey, e.about, e.times) for e in store.noted(**asked)]  # type: ignore[arg-type]


def test_the_audit_says_who_did_what(here: Running, tmp_path: Path) -> None:
    store = here.collector.store
    before = len(store.noted())
    me, typed = session(here, "ann"), "my password instead of a name"
    for name in ("ann", "ann", "ann", typed, "zed"):
        assert log_in(here, name, "wrong").problem == "wrong-login"
    for path in ("aggregate", "aggregate", "results.csv", "report.html", "results.json", "results.json?download"):
        assert me("GET", f"/surveys/sleep/{path}").status == 200
    assert bearer(here, "bob")("GET", "/surveys/sleep/results.json").status == 200
    me("POST", "/surveys/smoking/pause")
    ask(sqlite(tmp_path), {"command": "backup", "output": str(tmp_path / "copy.db")})
    ask(sqlite(tmp_path), {"command": "add-analyst", "name": "cid", "role": "monitor", "token": True})
    ask(sqlite(tmp_path), {"command": "set-rights", "name": "cid", "role": "analyst", "surveys": ["sleep"]})
    ask(sqlite(tmp_path), {"command": "add-token", "name": "cid", "label": "x"})
    ask(sqlite(tmp_path), {"command": "revoke-token", "name": "cid", "label": "x"})
    ask(sqlite(tmp_path), {"command": "remove-analyst", "name": "cid"})
    me("POST", "/password", {"old": PASSWORD, "new": OTHER})
    me("DELETE", "/session")
    assert acts(store)[before:] == [
        ("ann", "log-in", "", "", 1),
        ("ann", "log-in failed", "", "", 3),
        ("unknown name", "log-in failed", "", "", 2),
        ("ann", "download", "sleep", "aggregate", 2),
        ("ann", "download", "sleep", "results.csv", 1),
        ("ann", "download", "sleep", "report.html", 1),
        ("ann", "look", "sleep", "", 1),
        ("ann", "download", "sleep", "results.json", 1),
        ("bob", "download", "sleep", "results.json", 1),
        ("ann", "pause", "smoking", "", 1),
        ("command line", "backup", "", "copy.db", 1),
        ("command line", "add-analyst", "", "cid: monitor, token", 1),
        ("command line", "set-rights", "", "cid: analyst, sleep", 1),
        ("command line", "add-token", "", "cid: x", 1),
        ("command line", "revoke-token", "", "cid: x", 1),
        ("command line", "remove-analyst", "", "cid", 1),
        ("ann", "set-password", "", "ann", 1),
        ("ann", "log-out", "", "", 1),
    ]
    # The typed text is nowhere.
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert b"cid: monitor" in kept
    assert not any(text.encode() in kept for text in (typed, "zed", "wrong", OTHER, PASSWORD))


def test_the_audit_is_filtered_and_shown_to_owners_of_what_it_is_about(here: Running) -> None:
    ann, own, bob = (session(here, name) for name in ("ann", "own", "bob"))
    ann("GET", "/surveys/smoking/aggregate")
    bob("GET", "/surveys/sleep/aggregate")

    def seen(me: Caller, query: str = "") -> set[tuple[str, str, str]]:
        entries = me("GET", f"/audit.json{query}").json["entries"]
        return {(e["who"], e["act"], e["survey"]) for e in entries if e["who"] != "command line"}

    everything = {
        ("ann", "log-in", ""),
        ("own", "log-in", ""),
        ("bob", "log-in", ""),
        ("ann", "download", "smoking"),
        ("bob", "download", "sleep"),
    }
    assert seen(ann) == everything
    assert seen(own) == {("own", "log-in", ""), ("bob", "download", "sleep")}
    assert seen(own, "?survey=smoking") == set()
    assert seen(ann, "?survey=smoking") == {("ann", "download", "smoking")}
    assert seen(ann, "?name=bob") == {("bob", "log-in", ""), ("bob", "download", "sleep")}
    assert seen(ann, "?day=2020-01-01") == set()
    today = here.collector.clock().date().isoformat()
    assert seen(ann, f"?day={today}&name=own&survey=") == {("own", "log-in", "")}
    assert ann("GET", "/audit.json?day=yesterday").problem == "malformed"
    assert bob("GET", "/audit.json").problem == "not-allowed"
    assert bob("GET", "/audit").problem == "not-allowed"
    assert Caller(here.admin)("GET", "/audit.json").problem == "login"
    assert Caller(here.admin)("GET", "/audit").status == 303
    text = ann("GET", "/audit").content.decode()
    assert f"{AUDIT_DAYS} days" in text
    assert text.count("<tr>") == 1 + len(everything)
    assert 'href="/audit"' in ann("GET", "/").content.decode()
    assert 'href="/audit"' not in bob("GET", "/").content.decode()


def test_a_burst_of_wrong_passwords_is_one_entry_an_hour(database: str) -> None:
    store, clock = open_store(database, migrate=True), Clock()
    for _ in range(200):
        store.note(clock(), "ann", "log-in failed", together=True)
        clock.move(seconds=36)
    entries = store.noted()
    assert [entry.times for entry in entries] == [100, 100]
    assert (entries[0].at[:19], entries[0].until[:19]) == ("2026-05-01T12:00:00", "2026-05-01T12:59:24")
    # Other names and other acts have entries of their own. For a survey, every act has one.
    store.note(clock(), "bob", "log-in failed", together=True)
    store.note(clock(), "ann", "download", "smoking", "aggregate", together=True)
    for _ in range(2):
        store.note(clock(), "ann", "pause", "smoking")
    assert [entry.times for entry in store.noted()] == [100, 100, 1, 1, 1, 1]
    assert [entry.act for entry in store.noted(most=3)] == ["download", "pause", "pause"]
    # Entries are dropped when their last moment is older than the time for which they are kept.
    clock.move(days=AUDIT_DAYS, hours=-1)
    store.end_expired(clock().isoformat())
    assert [entry.times for entry in store.noted()] == [100, 1, 1, 1, 1]
    clock.move(hours=2)
    store.end_expired(clock().isoformat())
    assert store.noted() == []
    store.close()


def test_the_command_line_prints_the_audit(database: str) -> None:
    store, clock = open_store(database, migrate=True), Clock()
    open_survey(Surveys(store, clock))
    store.add_analyst("ann", "owner", STORED)
    store.note(clock(), "ann", "log-in")
    store.note(clock(), "ann", "log-in failed", together=True)
    clock.move(minutes=7)
    store.note(clock(), "ann", "log-in failed", together=True)
    clock.move(days=1)
    store.note(clock(), "\x1b[31mred", "pause", "smoking")
    store.note(clock(), "command line", "set-rights", "", "ann: owner")
    store.close()
    common = ("--database", database)
    assert run("analyst", "audit", *common).splitlines() == [
        "when (UTC)           who           act            survey   about",
        "2026-05-01 12:00:00  ann           log-in",
        "2026-05-01 12:00:00  ann           log-in failed                       2 times, until 12:07:00",
        "2026-05-02 12:07:00  \\x1b[31mred   pause          smoking",
        "2026-05-02 12:07:00  command line  set-rights              ann: owner",
    ]

    def found(*options: str) -> list[str]:
        return [e["act"] for e in json.loads(run("analyst", "audit", *options, "--json", *common))["entries"]]

    assert found() == ["log-in", "log-in failed", "pause", "set-rights"]
    assert found("--survey", "smoking") == ["pause"]
    assert found("ann") == ["log-in", "log-in failed", "set-rights"]
    assert found("an") == []
    assert found("--day", "2026-05-01") == ["log-in", "log-in failed"]
    assert "day must be a date such as 2026-05-01, got something else" in run(
        "analyst", "audit", "--day", "May", *common, fails=True
    )


def test_a_restore_is_in_the_audit_and_ends_the_sessions_of_the_backup(tmp_path: Path) -> None:
    url, copy = sqlite(tmp_path), tmp_path / "copy.db"
    store = open_store(url, migrate=True)
    store.add_analyst("ann", "owner", STORED)
    logins = Logins(store, Clock())
    kept, token = logins.log_in("ann", PASSWORD), logins.issue("ann", "token", None)
    store.close()
    run("survey", "backup", "-o", copy, "--database", url)
    said = run("survey", "restore", copy, "--database", url)
    assert "accounts, passwords and tokens are now those of the backup" in said
    store = open_store(url)
    assert acts(store)[-1] == ("command line", "restore", "", "copy.db", 1)
    logins = Logins(store, Clock())
    assert kept is not None
    assert logins.who(kept, "session") is None
    assert logins.who(token, "token") is not None
    store.close()


def test_what_cannot_be_written_down_is_not_done_and_what_is_refused_is_not_written_down(
    here: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    me, store = session(here, "ann"), here.collector.store
    before = acts(store)
    # The survey is open, and only a closed survey or a draft can be deleted.
    assert me("POST", "/surveys/smoking/delete", {"name": "smoking"}).problem == "malformed"
    assert acts(store) == before

    def full(*_: Any, **__: Any) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(type(store), "note", full)
        assert me("POST", "/surveys/smoking/pause").problem == "store"
        assert me("POST", "/password", {"old": PASSWORD, "new": OTHER}).problem == "store"
        assert me("DELETE", "/sessions").problem == "store"
    assert [row.state for row in store.collections("smoking")] == ["open"]
    assert Logins(store, here.collector.clock).log_in("ann", PASSWORD) is not None
    assert me("POST", "/surveys/smoking/pause").status == 200
    assert acts(store)[len(before) :] == [("ann", "pause", "smoking", "", 1)]


def test_a_download_that_cannot_be_written_down_is_refused(here: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    me, monitor = session(here, "ann"), bearer(here, "prometheus")

    def full(*_: Any, **__: Any) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(type(here.collector.store), "note", full)
    monkeypatch.setattr(type(here.collector.store), "use_session", full)
    assert me("GET", "/surveys/sleep/aggregate").problem == "store"
    # Operators see what is wrong.
    assert monitor("GET", "/metrics").status == 200
    assert me("GET", "/surveys/sleep").problem == "store"
    assert me("GET", "/").status == 200


def test_a_look_at_results_is_in_the_audit_once_an_hour(tmp_path: Path) -> None:
    clock = Clock()
    with collecting(sqlite(tmp_path), clock=clock) as here:
        store = here.collector.store
        store.add_analyst("ann", "owner", STORED)
        open_survey(here.collector.surveys)
        here.collector.refresh()
        me = session(here, "ann")
        for _ in range(3):
            assert me("GET", "/surveys/smoking/results.json").status == 200
            assert me("GET", "/surveys/smoking").status == 200
        look = ("ann", "look", "smoking", "", 1)
        assert acts(store)[1:] == [look]
        clock.move(minutes=61)
        assert me("GET", "/surveys/smoking").status == 200
        assert acts(store)[1:] == [look, look]


def test_accounts_and_audit_of_before_are_kept(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = next(i for i, step in enumerate(STEPS) if "ADD COLUMN surveys" in step[0])
    with monkeypatch.context() as before:
        before.setattr("deniable.service.stores.store.STEPS", STEPS[:steps])
        before.setattr("deniable.service.stores.store.VERSION", steps)
        store = open_store(database, migrate=True)
        with store._working() as tables:
            tables("INSERT INTO analysts VALUES ('ann', 'owner', ?)", STORED)
            for n in range(2):
                tables("INSERT INTO sessions VALUES (?, 'ann', 'token', NULL)", digest(f"secret {n}"))
            tables("INSERT INTO audit VALUES ('2026-01-01T00:00:00+00:00', 'ann', 'pause', 'smoking')")
            tables("INSERT INTO audit VALUES ('2026-01-02T00:00:00+00:00', 'command line', 'analyst', 'ann')")
        store.close()
    migrate_store(database, backup=False)
    store = open_store(database)
    logins = Logins(store, Clock())
    for n in range(2):
        found = logins.who(f"secret {n}", "token")
        assert found is not None
        assert (found.name, found.role, found.surveys) == ("ann", "owner", None)
    assert {token.label for token in store.tokens()} == {digest(f"secret {n}")[:8] for n in range(2)}
    assert logins.log_in("ann", PASSWORD) is not None
    assert acts(store) == [
        ("ann", "pause", "smoking", "", 1),
        ("command line", "add-analyst", "", "ann", 1),
        ("command line", "migrate", "", f"from version {steps} to {len(STEPS)}", 1),
    ]
    store.close()


def test_the_audit_page_says_the_result_first_and_is_paged(here: Running) -> None:
    store, now = here.collector.store, here.collector.clock()
    for number in range(120):
        store.note(now, "bob" if number % 2 else "ann", "download", "sleep", f"file {number}")
    store.note(now, "bob", "log-in failed")
    me = bearer(here, "ann")
    found = [me("GET", f"/audit?name=bob&page={page}").content.decode() for page in (1, 2, 3)]
    assert "<strong>61 entries.</strong> 1 log-in failed." in found[0]
    assert [text.count('<th scope="row">bob') for text in found] == [50, 11, 11]
    assert "Page 1 of 2" in found[0]
    assert 'href="/audit?name=bob&amp;page=2" rel="next"' in found[0]
    assert 'rel="prev"' not in found[0]
    # A page beyond the last leads to the last page. A text that is not a number leads to the first page.
    assert "Page 2 of 2" in found[2]
    assert 'rel="next"' not in found[2]
    for text in ("0", "-1", "x", "9" * 40, "\u0663"):
        assert "Page 1 of 2" in me("GET", f"/audit?name=bob&page={quote(text)}").content.decode()
    assert "file 119" in found[0]
    assert "file 1<" in found[1]
    # All entries stay in the file for programs.
    assert len(me("GET", "/audit.json?name=bob").json["entries"]) == 61
