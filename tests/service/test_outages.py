"""A full, locked or hung database: all requests get timely answers, the cause is logged, and nothing is lost."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deniable.errors import StoreError
from deniable.files.wire import Body
from deniable.service import collector as collecting_module, ingest, public
from deniable.service.control import ask
from deniable.service.outages import QUIET_SECONDS, SUMMARY_SECONDS, Outages
from deniable.service.server import Running
from deniable.service.stores import open_store
from deniable.service.surveys import Surveys
from tests.service import postgres
from tests.service.asking import (
    ASKED,
    PATIENCE,
    Answer,
    Caller,
    Clock,
    bodies,
    body,
    collecting,
    open_survey,
    page,
    sqlite,
)
from tests.service.test_store import take

IN_TIME = 7.0
"""Time limit in seconds for the answer to an upload, whatever the database does; an idle machine takes 5."""

GIVE_UP, READY_TIMEOUT = ingest.GIVE_UP, collecting_module.READY_TIMEOUT


@pytest.fixture
def in_earnest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the collector's real time limits for contributors."""
    monkeypatch.setattr(ingest, "GIVE_UP", GIVE_UP)
    monkeypatch.setattr(collecting_module, "READY_TIMEOUT", READY_TIMEOUT)


def timed(act: Callable[[], Any]) -> tuple[Any, float]:
    began = time.monotonic()
    return act(), time.monotonic() - began


@contextlib.contextmanager
def asked(database: str, **settings: Any) -> Iterator[tuple[Running, Caller]]:
    """A collector with an open survey."""
    with collecting(database, **settings) as here:
        open_survey(here.collector.surveys)
        here.collector.refresh()
        yield here, Caller(here.public)


def ready(here: Running) -> Answer:
    """Ask whether the collector is ready, as a client that may see the answer."""
    here.collector._looked = -1e9
    return Caller(here.public)("GET", "/health/ready")


def answered(call: Caller, sent: Body) -> Answer:
    """Post repeatedly while the answer is a temporary refusal, as devices do."""
    deadline = time.monotonic() + PATIENCE
    while (found := call.post(sent)).status == 503:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


# -------------------------------------------------------------------- the log


def test_a_burst_is_logged_at_once_and_then_in_sum(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    outages = Outages(lambda: now[0])
    said: list[list[str]] = []

    def look(seconds: float, **how: bool) -> None:
        now[0] += seconds
        outages.look(**how)
        said.append([record.getMessage() for record in caplog.records])
        caplog.clear()

    outages.refused("the disk is full")
    for _ in range(16):
        outages.refused("the disk is full")
        now[0] += 2
    look(0)
    look(QUIET_SECONDS)
    assert said == [
        ["503 for 1 request: the disk is full"],
        ["503 for 16 requests more in 30 s: the disk is full"],
    ]
    assert outages.current() == []
    said.clear()
    # A lasting burst is logged again, another cause is logged separately, and the end of the process ends all bursts.
    outages.refused("the disk is full", 1000)
    outages.refused("too many reports are waiting")
    for _ in range(round(SUMMARY_SECONDS)):
        outages.refused("the disk is full")
        now[0] += 1
    look(0)
    outages.refused("the disk is full")
    look(1, ending=True)
    look(100, ending=True)
    assert said == [
        [
            "503 for 1,000 requests: the disk is full",
            "503 for 1 request: too many reports are waiting",
            "503 for 60 requests more in 59 s: the disk is full",
        ],
        ["503 for 1 request more in 1 s: the disk is full"],
        [],
    ]


def test_every_cause_of_a_503_is_logged_once_and_without_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with asked(sqlite(tmp_path)) as (here, call):
        sent = bodies(8)
        monkeypatch.setattr(here.collector.outages, "_elapsed", lambda: 0.0)

        def fails(*_: object) -> None:
            raise StoreError("the database refused: database or disk is full")

        def breaks(*_: object) -> None:
            raise ValueError("a report of somebody's")

        with monkeypatch.context() as patched:
            patched.setattr(here.collector.store, "take", fails)
            assert [call.post(one).problem for one in sent[:5]] == ["store"] * 5
            patched.setattr(here.collector.store, "take", breaks)
            assert call.post(sent[0]).problem == "broken"
            patched.setattr(ingest, "MAX_QUEUE", 0)
            assert call.post(sent[0]).problem == "busy"
            patched.setattr(here.collector.store, "counted", fails)
            path, name = f"/api/v1/collections/{ASKED.id}/receipts", {"id": "A" * 22}
            assert call("POST", path, name).problem == "store"
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("503 for")]
    assert lines == [
        "503 for 1 request: the database refused: database or disk is full",
        "503 for 1 request: the collector could not store reports: ValueError",
        "503 for 1 request: too many reports are waiting",
        "503 for 5 requests more in 1 s: the database refused: database or disk is full",
    ]
    assert "somebody" not in caplog.text


# -------------------------------------------------------------------- a full disk


def test_ready_is_what_uploads_are_on_a_disk_that_fills(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A limit of the file size stands for the disk: the write to the log fails at the commit."""
    with asked(sqlite(tmp_path)) as (here, call):
        sent = iter(bodies(200))
        assert call.post(next(sent)).status == 201
        assert ready(here).status == 200
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        log = tmp_path / "survey.db-wal"
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 60_000, before[1]))
        try:
            answers = [call.post(next(sent)) for _ in range(15)]
            assert {answer.status for answer in answers} == {201, 503}
            assert [answer.status for answer in answers[-3:]] == [503] * 3
            found = ready(here)
            assert (found.status, found.problem) == (503, "store")
            # Writing nothing would not be a test, so this writes something.
            with here.collector.store._working() as run:
                run("UPDATE meta SET value = value WHERE key = 'role'")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert ready(here).status == 200
        assert call.post(next(sent)).status == 201
        waiting = here.collector.store.waiting(ASKED.id)
        assert waiting == 2 + [answer.status for answer in answers].count(201)
    assert "503 for 1 request: the database refused: disk I/O error" in caplog.text.replace(
        "database or disk is full", "disk I/O error"
    )


def test_looking_whether_it_is_ready_leaves_nothing(database: str) -> None:
    store = open_store(database, migrate=True)
    open_survey(Surveys(store, Clock()))
    take(store, (30, 0, 1))
    store.ready()

    def size() -> tuple[int, int]:
        with store._working() as run:
            ((rows,),) = run("SELECT count(*) FROM inbox")
            if database.startswith("sqlite"):
                return rows, run("PRAGMA page_count")[0][0]
        return rows, 0

    before = size()
    for _ in range(100):
        store.ready()
    assert size() == before
    assert store.waiting(ASKED.id) == before[0] == 30
    store.close()


# -------------------------------------------------------------------- a database without an answer


def test_whoever_waits_for_a_commit_that_hangs_is_answered_and_the_receipt_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Requests in the commit, behind it, and after it; then each report is counted once."""
    monkeypatch.setattr(ingest, "GIVE_UP", 0.5)
    monkeypatch.setattr(collecting_module, "READY_TIMEOUT", 0.5)
    gate, taking = threading.Event(), threading.Event()
    with asked(sqlite(tmp_path)) as (here, call):
        take_ = here.collector.store.take

        def hangs(posted: Any) -> Any:
            taking.set()
            gate.wait(2 * PATIENCE)
            return take_(posted)

        monkeypatch.setattr(here.collector.store, "take", hangs)
        answers: dict[int, Answer] = {}

        def post(i: int) -> None:
            answers[i] = call.post(bodies(1, i)[0])

        threads = [threading.Thread(target=post, args=(i,)) for i in range(6)]
        threads[0].start()
        assert taking.wait(PATIENCE)
        for thread in threads[1:]:
            thread.start()
        for thread in threads:
            thread.join()
        assert {answer.problem for answer in answers.values()} == {"store"}
        assert len(answers) == 6
        # Later requests are refused at once, because a wait would not end before the gate is open.
        monkeypatch.setattr(ingest, "GIVE_UP", 1e9)
        assert call.post(bodies(1, 6)[0]).problem == "store"
        gate.set()
        monkeypatch.undo()
        # The first request was in the commit, which went through. The others were not.
        again = [answered(call, bodies(1, i)[0]).json for i in range(7)]
        assert [one["already"] for one in again] == [1, 0, 0, 0, 0, 0, 0]
        assert sum(one["counted"] for one in again) == 6
        assert here.collector.store.waiting(ASKED.id) == 7
        assert here.collector.ingest.waiting == 0
    assert "the database does not answer" in caplog.text


def test_receipts_and_tokens_that_hang_are_refused_in_time_and_keep_nobody_else_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More receipts than threads wait for a database that reads nothing: all get answers, and so do other requests."""
    monkeypatch.setattr(ingest, "GIVE_UP", 1.0)
    gate = threading.Event()
    with asked(sqlite(tmp_path)) as (here, call):
        for name in ("counted", "session"):
            found = getattr(here.collector.store, name)

            def hangs(*given: Any, found: Any = found) -> Any:
                # The gate stays shut longer than anybody below waits, so that each answer comes before it opens.
                gate.wait(2 * PATIENCE)
                return found(*given)

            monkeypatch.setattr(here.collector.store, name, hangs)
        receipt = {"id": "A" * 22}
        path = f"/api/v1/collections/{ASKED.id}/receipts"
        answers = list[Answer]()

        def ask_receipt() -> None:
            answers.append(call("POST", path, receipt))

        threads = [threading.Thread(target=ask_receipt) for _ in range(45)]
        try:
            for thread in threads:
                thread.start()
            assert ready(here).status == 200
            # The token is looked up for the first time.
            assert call.post(body(3)).problem == "store"
            for thread in threads:
                thread.join()
            assert [answer.problem for answer in answers] == ["store"] * 45
            # With no room for waiting, nobody waits at all.
            monkeypatch.setattr(public, "MAX_LOOKUPS", 0)
            monkeypatch.setattr(ingest, "GIVE_UP", 1e9)
            assert call("POST", path, receipt).problem == "busy"
        finally:
            gate.set()
        monkeypatch.undo()
        assert call("POST", path, receipt).problem == "not-counted"
        assert call.post(body(3)).status == 201


@pytest.mark.long
@pytest.mark.usefixtures("in_earnest")
def test_a_database_that_another_program_locks_is_said_in_time(tmp_path: Path) -> None:
    with asked(sqlite(tmp_path)) as (here, call):
        other = sqlite3.connect(tmp_path / "survey.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            answer, seconds = timed(lambda: ready(here))
            assert (answer.status, answer.problem) == (503, "store")
            assert seconds < 2
            answer, seconds = timed(lambda: call.post(body(3)))
            assert (answer.status, answer.problem) == (503, "store")
            assert seconds < IN_TIME
        finally:
            other.close()
        # The report was counted then, or is counted now.
        assert answered(call, body(3)).status in (200, 201)
        assert here.collector.store.waiting(ASKED.id) == 3
        assert ready(here).status == 200


class Proxy:
    """Forward a TCP port to a PostgreSQL server's socket, until it is frozen: then no data pass."""

    def __init__(self, folder: Path) -> None:
        self._target, self.flows = str(folder / ".s.PGSQL.5432"), threading.Event()
        self.flows.set()
        self._listening, self._ends = socket.create_server(("127.0.0.1", 0)), list[socket.socket]()
        self.port = self._listening.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            self._ends += [client, server]
            for one, other in ((client, server), (server, client)):
                self._threads.append(threading.Thread(target=self._forward, args=(one, other)))
                self._threads[-1].start()

    def _forward(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while content := one.recv(65536):
                self.flows.wait()
                other.sendall(content)
        _shut(other)

    def close(self) -> None:
        self.flows.set()
        for end in (self._listening, *self._ends):
            _shut(end)
        for thread in self._threads:
            thread.join(10)
        for end in (self._listening, *self._ends):
            end.close()

    def database(self, url: str) -> str:
        """Return the address of a database through this proxy."""
        return f"{url.partition('?')[0].replace('@', f'@127.0.0.1:{self.port}')}"


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxy(postgres_server: postgres.Server) -> Iterator[Proxy]:
    found = Proxy(postgres_server.folder)
    yield found
    found.close()


@pytest.mark.long
@pytest.mark.usefixtures("in_earnest")
@pytest.mark.parametrize("how", ["cut off", "stopped"])
def test_a_hung_postgresql_is_said_in_time_and_loses_nothing(
    postgres_server: postgres.Server, proxy: Proxy, how: str
) -> None:
    with asked(proxy.database(postgres_server.database())) as (here, call):
        assert call.post(body(3)).status == 201
        backends = []
        for lane in (here.collector.store._taking, here.collector.store._working, here.collector.store._reading):
            with lane() as run:
                backends.append(run("SELECT pg_backend_pid()")[0][0])

        def hang(now: bool) -> None:
            if how == "cut off":
                (proxy.flows.clear if now else proxy.flows.set)()
            else:
                for pid in backends:
                    os.kill(pid, signal.SIGSTOP if now else signal.SIGCONT)

        hang(True)
        try:
            (answer, seconds), (found, looked) = timed(lambda: call.post(body(5))), timed(lambda: ready(here))
            assert (answer.status, answer.problem) == (503, "store")
            assert seconds < IN_TIME
            if how == "cut off":
                assert (found.status, found.problem) == (503, "store")
            assert looked < 2
        finally:
            hang(False)
        again = answered(call, body(5))
        assert again.json["counted"] + again.json["already"] == 5
        assert again.json["already"] >= 3
        assert here.collector.store.waiting(ASKED.id) == 5
        assert ready(here).status == 200


# -------------------------------------------------------------------- the end of the process


@contextlib.contextmanager
def process(database: str, *, started: bool = True) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A collector in its own process, with its public address; without a start there is no address."""
    command = [sys.executable, "-m", "deniable.cli", "serve", "--database", database, "--migrate"]
    environment = {**os.environ, "DENIABLE_PUBLIC": "127.0.0.1:0", "DENIABLE_ADMIN": "127.0.0.1:0"}
    environment |= {"DENIABLE_LIMITS_OFF": "1"}
    found = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert found.stderr is not None
    try:
        public = ""
        while started and not public:
            line = found.stderr.readline()
            assert line, "it ended"
            public = line.partition("collecting at ")[2].partition(",")[0]
        yield found, public
    finally:
        found.kill()
        found.wait()
        found.stderr.close()


def opened(database: str) -> str:
    for request in (
        {"command": "new", "slug": "smoking", "document": ASKED.to_json(), "page": page(), "folder": "."},
        {"command": "open", "slug": "smoking"},
    ):
        ask(database, request)
    return database


def ended(running: subprocess.Popen[str]) -> float:
    """Ask a process to end, and return the seconds until its end."""
    running.send_signal(signal.SIGTERM)
    code, seconds = timed(lambda: running.wait(30))
    assert code == 0
    return float(seconds)


def posting(call: Caller, start: int) -> threading.Thread:
    def post() -> None:
        with contextlib.suppress(OSError):
            call.post(body(2, start))

    thread = threading.Thread(target=post, daemon=True)
    thread.start()
    return thread


def test_sigterm_while_the_program_is_read_is_an_orderly_end() -> None:
    program = """
import sys, time
class Slow:
    def find_spec(self, name, *_):
        if name == "deniable.cli._app":
            print("reading", flush=True)
            time.sleep(30)
sys.meta_path.insert(0, Slow())
sys.argv = ["deniable", "serve"]
import deniable.cli
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as starting:
        assert starting.stdout is not None
        assert starting.stdout.readline() == "reading\n"
        starting.send_signal(signal.SIGTERM)
        assert starting.wait(20) == 0


@pytest.mark.long
def test_sigterm_ends_it_in_time_though_another_program_locks_the_database(tmp_path: Path) -> None:
    with process(opened(sqlite(tmp_path))) as (running, public):
        assert Caller(public).post(body(4)).status == 201
        other = sqlite3.connect(tmp_path / "survey.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        sender = posting(Caller(public), 100)
        time.sleep(0.5)
        assert ended(running) < 10
        sender.join()
        other.close()
    assert ask(sqlite(tmp_path), {"command": "status", "slug": "smoking"})["waiting"] == 4


@pytest.mark.long
def test_sigterm_ends_it_in_time_though_postgresql_hangs(postgres_server: postgres.Server, proxy: Proxy) -> None:
    database = opened(postgres_server.database())
    with process(proxy.database(database)) as (running, public):
        assert Caller(public).post(body(4)).status == 201
        proxy.flows.clear()
        sender = posting(Caller(public), 100)
        Caller(public)("GET", "/health/ready")
        assert ended(running) < 10
        sender.join()
    proxy.flows.set()
    assert ask(database, {"command": "status", "slug": "smoking"})["waiting"] in (4, 6)


def test_sigterm_just_after_the_start_is_an_orderly_end(tmp_path: Path) -> None:
    """The database is being opened, and waits for another program."""
    opened(sqlite(tmp_path))
    other = sqlite3.connect(tmp_path / "survey.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with process(sqlite(tmp_path), started=False) as (running, _):
        lock, deadline = tmp_path / "survey.db-wal", time.monotonic() + 30
        # The handler is there as soon as the command runs. The database is opened later.
        while not _opens(running.pid, lock):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert ended(running) < 10
    other.close()


def _opens(pid: int, path: Path) -> bool:
    with contextlib.suppress(OSError):
        return str(path) in {os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir()}
    return False
