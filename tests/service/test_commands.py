"""Commands on the database or through its collector; sending once; a process that ends without losses."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from deniable import GRR, SecureRandomness
from deniable.cli import app
from deniable.core.aggregate import Aggregate
from deniable.errors import (
    AlreadyRandomizedError,
    InvalidParameterError,
    MismatchError,
    PrivacyLimitError,
    StoreInUseError,
    UploadError,
)
from deniable.files import ReportReader, randomize_file
from deniable.files.jobs.ledger import answers_ledger
from deniable.files.wire import to_wire
from deniable.service.control import ask
from deniable.service.demo import MIN_BATCH
from deniable.service.sending import TRIES, Remote, bulk_ids, send_file
from deniable.service.server import GRACE_SECONDS
from deniable.service.stores import open_store
from deniable.service.survey_page import link_digits, page_hash
from deniable.survey.collection import Collection
from tests.service.asking import (
    ASKED,
    PASSWORD,
    SCHEMA,
    TOKEN,
    Caller,
    bodies,
    body,
    collecting,
    open_survey,
    page,
    sqlite,
    summed,
    until,
)


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "survey.json").write_text(ASKED.to_json())
    (tmp_path / "page.json").write_text(page())
    (tmp_path / "answers.csv").write_text("smoker\n" + "yes\nno\nonce\nno\n" * 10)
    return tmp_path


@pytest.fixture(params=["file", "collector"])
def database(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """A database without a collector, or one with a collector, whose socket the commands use."""
    url = sqlite(folder)
    if request.param == "file":
        yield url
    else:
        with collecting(url):
            yield url


def survey(database: str, *arguments: object) -> Any:
    result = run("survey", *arguments, "--database", database, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_survey_from_draft_to_export(database: str, folder: Path) -> None:
    made = survey(database, "new", "smoking", folder / "survey.json", folder / "page.json", "--contributors", 900)
    assert set(made) == {"slug", "collection", "link", "state", "page"}
    assert json.loads(made["page"])["contributors"] == 900
    assert survey(database, "list")["surveys"] == [
        {"slug": "smoking", "collection": ASKED.id, "state": "draft", "n": 0}
    ]
    assert survey(database, "open", "smoking")["state"] == "open"
    assert survey(database, "pause", "smoking")["state"] == "paused"
    status = survey(database, "status", "smoking")
    keys = "slug collection link state n batches released contributors opens_at closes_at accepts_until rejections"
    assert " ".join(status) == keys
    result = run("survey", "pause", "smoking", "--database", database)
    assert result.exit_code == 2
    assert result.output == "error: the survey “smoking” must be open before it can become paused, but it is paused\n"
    assert survey(database, "close", "smoking")["state"] == "closing"
    assert survey(database, "close", "smoking", "--now")["state"] == "closed"
    assert survey(database, "export", "smoking", "-o", folder / "x.aggregate") == {
        "files": [str(folder / "x.aggregate")]
    }
    assert Aggregate.load(folder / "x.aggregate").collection == ASKED.id
    assert run("survey", "backup", "-o", folder / "copy.db", "--database", database).exit_code == 0
    assert stat.S_IMODE(os.stat(folder / "copy.db").st_mode) == 0o600
    again = f"sqlite:{folder / 'again.db'}"
    assert run("survey", "restore", folder / "copy.db", "--database", again).exit_code == 0
    assert survey(again, "status", "smoking")["state"] == "closed"


def test_a_page_is_drafted_beside_the_survey_and_never_over_one(database: str, folder: Path) -> None:
    result = run("survey", "new", "smoking", folder / "survey.json", "--database", database)
    assert result.exit_code == 2
    assert "page.json exists: give this file as PAGE" in result.output
    (folder / "page.json").unlink()
    result = run("survey", "new", "smoking", folder / "survey.json", "--database", database)
    assert result.exit_code == 0, result.output
    assert '"format": "deniable survey page"' in (folder / "page.json").read_text()
    (folder / "page.json").unlink()
    languages = ("--language", "de", "--language", "en")
    result = run("survey", "new", "smoking", folder / "survey.json", *languages, "--database", database)
    assert list(json.loads((folder / "page.json").read_text())["languages"]) == ["de", "en"]
    assert "Vielen Dank" in (folder / "page.json").read_text()
    files = (folder / "survey.json", folder / "page.json")
    result = run("survey", "new", "smoking", *files, *languages, "--database", database)
    assert "languages must be left out when a page is given" in result.output
    (folder / "page.json").unlink()
    run("survey", "new", "smoking", folder / "survey.json", "--database", database)
    result = run("survey", "open", "smoking", "--database", database)
    assert "languages.en.intro is empty or still a draft" in result.output
    (folder / "page.json").write_text(page())
    assert survey(database, "new", "smoking", folder / "survey.json", folder / "page.json")["state"] == "draft"
    assert survey(database, "open", "smoking")["state"] == "open"


def test_what_is_left_out_is_asked_for(database: str) -> None:
    for arguments, said in (
        (("open",), "SLUG must be given"),
        (("new", "smoking"), "SURVEY must be given"),
        (("export", "smoking"), "--output must be given"),
    ):
        result = run("survey", *arguments, "--database", database)
        assert result.exit_code == 2
        assert said in result.output


def test_an_analyst_is_added_with_a_password_from_a_file(database: str, folder: Path) -> None:
    (folder / "password").write_text(PASSWORD + "\n")
    arguments = (
        "analyst",
        "add",
        "ann",
        "--role",
        "owner",
        "--password-file",
        folder / "password",
        "--token",
        "--json",
    )
    result = run(*arguments, "--database", database)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert set(said) == {"name", "role", "surveys", "token"}
    result = run("survey", "list", "--database", database, "--json")
    assert PASSWORD not in result.output


def test_the_socket_is_its_owners_and_goes_with_the_collector(folder: Path) -> None:
    deep = folder / ("d" * 100)
    deep.mkdir()
    url = sqlite(deep)
    path = deep / "survey.db.socket"
    with collecting(url) as here:
        open_survey(here.collector.surveys)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        # The collector notices at once.
        assert ask(url, {"command": "pause", "slug": "smoking"})["state"] == "paused"
        held = here.collector.of_slug("smoking")
        assert held is not None
        assert held.row.state == "paused"
        for request, said in (
            ({"command": "burn"}, "command must be one of"),
            ({"command": "open"}, "its program has a fault"),
            ({"command": "open", "slug": "none"}, "must be the name of a survey"),
        ):
            with pytest.raises(Exception, match=said):
                ask(url, request)
        (entry, *_) = here.collector.store.noted()
        assert (entry.who, entry.act, entry.survey) == ("command line", "pause", "smoking")
    assert not path.exists()
    # A database that no collector holds is in use, and nobody answers.
    store = open_store(url)
    with pytest.raises(StoreInUseError, match="belongs to a collector that does not answer its socket"):
        ask(url, {"command": "list"})
    store.close()


# -------------------------------------------------------------------- send


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with collecting(sqlite(tmp_path_factory.mktemp("send"))) as here:
        open_survey(here.collector.surveys)
        here.collector.refresh()
        yield here.public, here.collector


def test_send_draws_once_keeps_and_sends_what_it_kept(url: tuple[str, Any], folder: Path, state: Path) -> None:
    public, collector = url
    before = collector.store.waiting(ASKED.id)
    link = f"{public}{collector.surveys.status('smoking')['link']}"
    result = run("send", folder / "survey.json", folder / "answers.csv", link, "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout[result.stdout.index("{") :])
    assert (said["n"], said["counted"], said["already"], said["invalid"], said["drawn"]) == (40, 40, 0, 0, True)
    kept = Path(said["kept"])
    assert kept.parent == state / "sent"
    assert stat.S_IMODE(os.stat(kept.parent).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600
    content = kept.read_bytes()
    # Sending again sends the same bytes: nothing is drawn, and nothing counts twice.
    result = run("send", folder / "survey.json", folder / "answers.csv", public)
    assert result.exit_code == 0
    assert "stored by an earlier run, so no new reports were made" in result.output
    assert "0 are counted now, 40 were before, 0 are invalid" in result.output
    assert kept.read_bytes() == content
    assert collector.store.waiting(ASKED.id) == before + 40
    # Nothing depends on an answer: the name comes from the path.
    assert "yes" not in kept.name
    # Without the kept file, the ledger remembers.
    kept.unlink()
    with pytest.raises(AlreadyRandomizedError):
        send_file(ASKED, folder / "answers.csv", public, token=TOKEN)


@pytest.mark.parametrize(("n", "others"), [(40, 40), (40, 60), (1200, 1200), (1200, 40)])
def test_other_peoples_answers_under_one_name_are_not_taken_for_sent(
    url: tuple[str, Any], folder: Path, state: Path, n: int, others: int
) -> None:
    """The first group is not sent in place of the second, and the second is not added to the first one's file."""
    public, collector = url
    answers = folder / "answers.csv"
    answers.write_text("smoker\n" + "yes\nno\n" * (n // 2))
    first = send_file(ASKED, answers, public, token=TOKEN)
    content, before = first.kept.read_bytes(), collector.store.waiting(ASKED.id)
    answers.write_text("smoker\n" + "once\nno\n" * (others // 2))
    os.utime(answers, ns=(1, answers.stat().st_mtime_ns + 10**9))
    with pytest.raises(MismatchError) as caught:
        send_file(ASKED, answers, public, token=TOKEN)
    said = str(caught.value)
    assert "This run made and sent no reports; for the answers of other people, use a file with another n" in said
    assert f"to send the reports that were kept, give {first.kept} in place of the answers" in said
    # Few answers leave nothing behind that distinguishes them from others. So the message says only that the file was
    # changed.
    assert ("was changed after its reports were made and kept" in said) == (n == others == 40)
    assert ("differ from the answers of an earlier run" in said) == (not n == others == 40)
    assert first.kept.read_bytes() == content
    assert collector.store.waiting(ASKED.id) == before
    # Both remedies work: the second group's reports are sent, and so are the rest of the first group's.
    answers.rename(folder / "second.csv")
    assert send_file(ASKED, folder / "second.csv", public, token=TOKEN).counted == others
    assert send_file(ASKED, first.kept, public, token=TOKEN).already == n


def test_send_refuses_what_a_budget_does_not_allow(url: tuple[str, Any], folder: Path) -> None:
    """Exactly the budget is allowed, a thousandth less is not; a stored draw is also checked."""
    public, collector = url
    answers, limit = folder / "answers.csv", "3.499"
    earlier = Collection(SCHEMA, GRR(k=3, epsilon=1.5), version=7)
    assert ASKED.mechanism.epsilon == 2
    randomize_file(earlier, answers, folder / "earlier.parquet", SecureRandomness())
    before, spent = collector.store.waiting(ASKED.id), answers_ledger().entries()
    refused = run("send", folder / "survey.json", answers, public, "--budget", limit)
    assert refused.exit_code == 2
    said = " ".join(refused.output.split())
    assert f"must be <= --max-epsilon={limit}, got epsilon = 3.5, which is 0.001 too much; spent before" in said
    assert answers_ledger().entries() == spent
    assert collector.store.waiting(ASKED.id) == before
    sent = send_file(ASKED, answers, public, max_epsilon="3.5")
    assert (sent.counted, sent.spending and sent.spending.total) == (40, Fraction(7, 2))
    # With kept reports, the same command works, and a smaller budget is refused.
    assert send_file(ASKED, answers, public, max_epsilon="3.5").already == 40
    waiting = collector.store.waiting(ASKED.id)
    with pytest.raises(
        PrivacyLimitError, match=r"which is 0\.001 too much; .*\. Nothing was sent, and the reports stay in"
    ):
        send_file(ASKED, answers, public, max_epsilon=limit)
    assert collector.store.waiting(ASKED.id) == waiting == before + 40
    # The collection alone is too much, so the collector is not even asked.
    with pytest.raises(PrivacyLimitError, match=r"epsilon must be <= max_epsilon=1\.999"):
        send_file(ASKED, answers, "http://127.0.0.1:9", max_epsilon="1.999")
    with pytest.raises(InvalidParameterError, match="max_epsilon must be left out for a file of reports such as"):
        send_file(ASKED, sent.kept, public, max_epsilon="3.5")


@pytest.mark.parametrize("n", [40, 1200])
def test_a_touched_file_of_the_same_answers_can_be_sent_to_the_end(url: tuple[str, Any], folder: Path, n: int) -> None:
    public, _ = url
    answers = folder / "answers.csv"
    answers.write_text("smoker\n" + "yes\nno\n" * (n // 2))
    first = send_file(ASKED, answers, public, token=TOKEN)
    os.utime(answers)
    if n >= 1000:
        # The answers are recognised by their content, however they are written.
        answers.write_text('"smoker"\n' + '"yes"\nno\n' * (n // 2))
        assert send_file(ASKED, answers, public, token=TOKEN).already == n
    else:
        with pytest.raises(MismatchError, match="also if the answers are the same"):
            send_file(ASKED, answers, public, token=TOKEN)
        assert send_file(ASKED, first.kept, public, token=TOKEN).already == n


def test_what_send_remembers_of_few_answers_does_not_depend_on_them(
    url: tuple[str, Any], folder: Path, state: Path
) -> None:
    """Two files with different answers and lengths, changed at the same moment: the ledgers differ only in the key."""
    public, _ = url
    answers, entries = folder / "answers.csv", []
    for answer in ("yes", "no"):
        answers.write_text(f"smoker\n{answer}\n")
        os.utime(answers, ns=(1, 5_000_000_000))
        kept = send_file(ASKED, answers, public, token=TOKEN).kept
        entries.append(json.loads((state / "ledger.json").read_text())["entries"])
        kept.unlink()
        (state / "ledger.json").unlink()
    assert entries[0] == entries[1]
    assert entries[0][0]["modified"] == 5_000_000_000


def test_what_was_spent_before_is_said_where_reports_are_sent(url: tuple[str, Any], folder: Path) -> None:
    public, _ = url
    other = Collection(SCHEMA, GRR(k=3, epsilon=0.3), title="Smoking, once more")
    randomize_file(other, folder / "answers.csv", folder / "r.parquet", SecureRandomness())
    result = run("send", folder / "survey.json", folder / "answers.csv", public)
    assert f"epsilon = 0.3 in collection {other.id[:12]} (into {folder / 'r.parquet'})" in result.output
    assert "with this collection their contributors spend epsilon = 2.3 in all" in result.output
    assert "each spent epsilon = 2, and epsilon = 2.3 in all 2 collections of these answers" in result.output
    said = json.loads(run("send", folder / "survey.json", folder / "answers.csv", public, "--json").stdout)
    assert (said["drawn"], said["spent"]["epsilon"], said["guarantee"]["epsilon"]) == (False, 2.3, 2.0)
    assert [one["collection"] for one in said["spent"]["earlier"]] == [other.id]


def test_reports_are_sent_in_bulk_with_ids_that_follow_from_them(url: tuple[str, Any], folder: Path) -> None:
    public, collector = url
    randomize_file(ASKED, folder / "answers.csv", folder / "reports.parquet", SecureRandomness())
    sent = send_file(ASKED, folder / "reports.parquet", public)
    assert (sent.n, sent.counted, sent.drawn, sent.kept) == (40, 40, False, folder / "reports.parquet")
    assert send_file(ASKED, folder / "reports.parquet", public).already == 40
    reader = ReportReader(folder / "reports.parquet", ASKED)
    import hashlib

    for row in (0, 39):
        said = b"deniable bulk" + bytes.fromhex(reader.digest) + row.to_bytes(8, "little")
        expected = hashlib.sha256(said).digest()[:16]
        assert bulk_ids(reader.digest, row, 1).tobytes() == expected
        assert collector.store.counted(ASKED.id, expected)
    assert to_wire(ASKED.mechanism, next(iter(reader))).shape == (40, 1)


def test_nothing_is_drawn_for_a_survey_that_takes_nothing(tmp_path: Path, folder: Path, state: Path) -> None:
    with collecting(sqlite(tmp_path)) as here:
        collector = here.collector
        with pytest.raises(UploadError, match="This collector does not have that collection"):
            send_file(ASKED, folder / "answers.csv", here.public)
        open_survey(collector.surveys)
        collector.surveys.pause("smoking")
        collector.refresh()
        with pytest.raises(UploadError, match=r"it is paused\. No report was made; try again later"):
            send_file(ASKED, folder / "answers.csv", here.public)
        assert not list(state.rglob("*.parquet"))
        collector.surveys.open("smoking")
        collector.refresh()
        assert send_file(ASKED, folder / "answers.csv", here.public).counted == 40
    waits: list[float] = []
    with pytest.raises(UploadError, match=r"did not answer in 12 tries .*; run the same command again later"):
        send_file(ASKED, folder / "answers.csv", here.public, sleep=waits.append)
    # The delay is random up to a limit that doubles each time, and is never more than a minute.
    assert len(waits) == 12
    assert all(wait <= min(60, 0.5 * 2**i) for i, wait in enumerate(waits))
    assert len(set(waits)) == 12


def test_only_a_collectors_own_word_is_believed(folder: Path) -> None:
    """A network's login page, which answers 200 to everything, and answers that are not HTTP do not count."""
    answers = [b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>", b"nonsense\r\n\r\n", b""]
    answers += [b'HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{"state":"open"}', b"HTTP/1.1 200 OK\r\n\r\n[1]"]
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            for number in range(TRIES):
                with listening.accept()[0] as connection:
                    connection.recv(65536)
                    connection.sendall(answers[number % len(answers)])

        thread = threading.Thread(target=answer)
        thread.start()
        remote = Remote(f"http://127.0.0.1:{listening.getsockname()[1]}", ASKED, lambda _: None)
        with pytest.raises(UploadError, match=r"did not answer in 12 tries \(the server that answered is not"):
            remote.post(body(2))
        thread.join()


def test_a_collector_that_is_busy_is_asked_again_until_it_counts(
    url: tuple[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public, collector = url
    answers = folder / "others.csv"
    answers.write_text("smoker\nyes\nno\n")
    failures = iter([StoreInUseError("later")] * 3)
    take = collector.store.take

    def sometimes(posted: Any) -> Any:
        for error in failures:
            raise error
        return take(posted)

    monkeypatch.setattr(collector.store, "take", sometimes)
    waits: list[float] = []
    assert send_file(ASKED, answers, public, sleep=waits.append).counted == 2
    # The wait is at least what the collector asks for.
    assert len(waits) == 3
    assert min(waits) >= 2


def test_links_and_addresses_are_checked_first() -> None:
    for address_ in ("survey.example", "ftp://x", ""):
        with pytest.raises(InvalidParameterError, match="url must be an address"):
            Remote(address_, ASKED)
    for digits in (ASKED.id[:16], ASKED.id[:31], "g" * 32):
        with pytest.raises(InvalidParameterError, match="must end with # and 32 digits"):
            Remote(f"https://x.example/s/smoking#{digits}", ASKED)


def test_a_link_for_another_survey_or_other_texts_draws_nothing(url: tuple[str, Any], folder: Path) -> None:
    public, _ = url
    answers = folder / "linked.csv"
    answers.write_text("smoker\nyes\nno\n")
    digits = link_digits(ASKED.id, page_hash(page()))
    other = Collection(SCHEMA, GRR(k=3, epsilon=1.0))
    changed = page_hash(page().replace("Smoking", "Coffee"))
    assert changed != page_hash(page())
    halves = f"{ASKED.id[:16]}{page_hash(page())[:16]}"
    for wrong in (link_digits(ASKED.id, changed), link_digits(other.id, page_hash(page())), halves):
        with pytest.raises(MismatchError, match="the link is for another collection than"):
            send_file(ASKED, answers, f"{public}/s/smoking#{wrong}")
    sent = send_file(ASKED, answers, f"{public}/s/smoking#{digits}")
    # The reports are drawn only now.
    assert (sent.drawn, sent.counted) == (True, 2)


# -------------------------------------------------------------------- the process


PATIENCE = 60
"""Time limit in seconds for events that take one second on an idle machine."""


@contextlib.contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A collector in its own process, with its public address."""
    command = [sys.executable, "-m", "deniable.cli", "serve", "--database", sqlite(folder), "--migrate", "--json"]
    environment = {**os.environ, "DENIABLE_PUBLIC": "127.0.0.1:0", "DENIABLE_ADMIN": "127.0.0.1:0"}
    environment |= {"DENIABLE_LIMITS_OFF": "1"}
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        said = json.loads(process.stdout.readline())
        assert set(said) == {"public", "admin", "bundles", "surveys"}
        digits = link_digits(ASKED.id, page_hash(page()))
        link = f"{said['public']}/s/smoking#{digits}"
        assert said["surveys"] == [{"slug": "smoking", "state": "open", "link": link}]
        yield process, said["public"]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_sigterm_ends_it_and_what_was_acknowledged_is_there(folder: Path) -> None:
    ask(
        sqlite(folder),
        {"command": "new", "slug": "smoking", "document": ASKED.to_json(), "page": page(), "folder": "."},
    )
    ask(sqlite(folder), {"command": "open", "slug": "smoking"})
    with served(folder) as (process, public):
        call = Caller(public)
        assert [call.post(one).status for one in bodies(30)] == [201] * 30
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    store = open_store(sqlite(folder))
    assert store.waiting(ASKED.id) + summed(store, ASKED.id)[1] == 30
    store.close()
    assert not (folder / "survey.db.socket").exists()
    assert GRACE_SECONDS < 10


def test_the_demonstration_runs_with_one_command(tmp_path: Path) -> None:
    pytest.importorskip("statsmodels")
    command = [sys.executable, "-m", "deniable.cli", "serve", "--demo", "--rehearse", "60"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        survey_line, login_line, done = (process.stdout.readline() for _ in range(3))
        assert done.startswith("60 simulated contributors have answered")
        link, login = survey_line.split()[1], login_line.split()[1]
        public, admin = link.partition("/s/")[0], login.partition("/login")[0]
        answer = Caller(public)("GET", "/s/demo")
        assert answer.status == 200
        (shown,) = re.findall(r'data-collection="([0-9a-f]{64})"', answer.content.decode())
        text = Caller(public)("GET", f"/api/v1/collections/{shown}/page").content.decode()
        assert link.partition("#")[2] == link_digits(shown, page_hash(text))
        call = Caller(admin, {"origin": admin})
        secret = login.partition("#")[2]
        cookie = call("POST", "/session", {"link": secret}).headers["set-cookie"].partition(";")[0]
        assert call("POST", "/session", {"link": secret}).problem == "wrong-login"
        me = Caller(admin, {"cookie": cookie})
        # On a slow machine reports come in several batches, and fewer reports than a batch wait for more.
        until(lambda: me("GET", "/surveys/demo/results.json").json["n"] > 60 - MIN_BATCH, PATIENCE)
        assert me("GET", "/surveys/demo").status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_two_surveys_in_one_folder_have_a_page_each_and_open_refuses_what_cannot_work(tmp_path: Path) -> None:
    database = f"sqlite:{tmp_path / 'survey.db'}"
    runner = CliRunner()
    other = Collection(ASKED.schema, ASKED.mechanism, title="Drinking")
    for name, collection in (("smoking", ASKED), ("drinking", other)):
        (tmp_path / f"{name}.json").write_text(collection.to_json())
        command = ["survey", "new", name, str(tmp_path / f"{name}.json"), "--database", database]
        made = runner.invoke(app, [*command, "--contributors", "20"])
        assert made.exit_code == 0, made.output
        # The warning that `open` would refuse the survey comes now.
        assert "warning: this survey cannot work: 20 contributors" in made.stderr.replace("\n", " ")
    names = ("page.json", "drinking.page.json")
    pages = {name: json.loads((tmp_path / name).read_text())["collection"] for name in names}
    assert pages == {"page.json": ASKED.id, "drinking.page.json": other.id}
    # The same survey again does not overwrite its own page.
    again = runner.invoke(app, ["survey", "new", "smoking", str(tmp_path / "smoking.json"), "--database", database])
    assert again.exit_code == 2
    assert "page.json exists" in again.stderr.replace("\n", "")
    (tmp_path / "page.json").write_text(page(ASKED, contributors=20))
    files = [str(tmp_path / name) for name in ("smoking.json", "page.json")]
    assert runner.invoke(app, ["survey", "new", "smoking", *files, "--database", database]).exit_code == 0
    command = ["survey", "open", "smoking", "--database", database]
    for anyway in ([], ["--anyway", "because"]):
        refused = runner.invoke(app, [*command, *anyway])
        assert refused.exit_code == 2
        assert "cannot work: " in refused.stderr.replace("\n", " ")
    opened = runner.invoke(app, [*command, "--anyway", "only to try it"])
    assert opened.exit_code == 0, opened.output


def test_the_name_of_a_survey_is_checked_before_its_files_and_its_state_before_a_question(folder: Path) -> None:
    url = sqlite(folder)
    refused = run("survey", "new", "Bad Slug", folder / "survey.json", "--database", url)
    assert refused.exit_code == 2
    assert "got SLUG=“Bad Slug”" in refused.output or "got slug=“Bad Slug”" in refused.output
    assert "page.json" not in refused.output
    survey(url, "new", "smoking", folder / "survey.json", folder / "page.json")
    survey(url, "open", "smoking")
    refused = run("survey", "delete", "smoking", "--database", url)
    assert refused.exit_code == 2
    assert refused.output.startswith("error: only a draft or a closed survey can be deleted, but “smoking” is open")
    refused = run("survey", "delete", "other", "--database", url)
    assert refused.exit_code == 2
    assert "got slug=“other”" in refused.output or "got SLUG=“other”" in refused.output
    assert "Type its name" not in refused.output


def test_a_backup_does_not_overwrite_a_file_without_force(folder: Path) -> None:
    url, copy = sqlite(folder), folder / "copy.db"
    survey(url, "new", "smoking", folder / "survey.json", folder / "page.json")
    copy.write_text("mine")
    refused = run("survey", "backup", "-o", copy, "--database", url)
    assert refused.exit_code != 0
    assert (
        "exists: it may be the only backup; choose another name, or overwrite the file with --force" in refused.output
    )
    assert copy.read_text() == "mine"
    assert run("survey", "backup", "-o", copy, "--force", "--database", url).exit_code == 0
    assert copy.read_bytes().startswith(b"SQLite format 3")
    refused = run("survey", "backup", "-o", folder / "kept", "--keep", 2, "--force", "--database", url)
    assert refused.exit_code == 2
    assert "--force must be left out with --keep" in refused.output


def test_the_text_of_a_status_has_words_for_people(folder: Path) -> None:
    url = sqlite(folder)
    survey(url, "new", "smoking", folder / "survey.json", folder / "page.json")
    said = run("survey", "status", "smoking", "--database", url).output
    assert "None" not in said
    assert "{" not in said
    assert "opens_at" not in said
    assert "rejections    none\n" in said
    store = open_store(url)
    store.reject({(ASKED.id, "2026-05-01", "invalid-report"): 2, (ASKED.id, "2026-05-01", "too-large"): 1})
    store.close()
    said = run("survey", "status", "smoking", "--database", url).output
    assert "rejections    invalid-report: 2, too-large: 1\n" in said
