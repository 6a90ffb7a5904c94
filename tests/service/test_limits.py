"""Limits of the public port: people behind one address, strangers, senders with a token, heads and connections."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from deniable.core.randomness import SimulationRandomness
from deniable.errors import InvalidParameterError, UploadError
from deniable.files import write_reports
from deniable.files.wire import BINARY_TYPE, Body, from_wire
from deniable.service import config, ingest, public, server
from deniable.service.auth import Logins, digest, hash_password
from deniable.service.connections import MAX_HEAD
from deniable.service.limits import Allowance, Limits, networks
from deniable.service.sending import MAX_SINGLES, Remote, send_file
from deniable.service.server import Running
from deniable.service.stores.store import Posted
from tests.service.asking import (
    ASKED,
    PASSWORD,
    PATIENCE,
    TOKEN,
    Caller,
    bodies,
    body,
    collecting,
    open_survey,
    sqlite,
    until,
)
from tests.service.talking import CHUNKED, LIVE, REPORTS, counted, talk


def all_at_once(acts: list[Callable[[], object]]) -> list[threading.Thread]:
    threads = [threading.Thread(target=act) for act in acts]
    for thread in threads:
        thread.start()
    return threads


# -------------------------------------------------------------------- people and strangers


def test_forty_people_behind_one_address_are_all_counted_in_a_minute(here: Running) -> None:
    """Once, 25 of a school's forty people were refused."""
    call = Caller(here.public)
    assert [call.post(one).status for one in bodies(40)] == [201] * 40
    # Each of them also asks once whether it was counted.
    receipts = REPORTS.replace("reports", "receipts")
    assert [call("POST", receipts, {"id": "_" * 21 + "Q"}).status for _ in range(40)] == [404] * 40
    assert counted(here) == 40


@pytest.mark.parametrize("kind", ["json", "binary"])
def test_none_of_a_strangers_batches_is_counted(here: Running, kind: str) -> None:
    """Once, thirty requests of 10,000 added 300,000 forged reports in two seconds."""
    call = Caller(here.public)
    for number in range(3):
        forged = body(10_000, 10_000 * number)
        content, media_type = forged.to_json(), "application/json"
        if kind == "binary":
            content, media_type = forged.to_binary(), BINARY_TYPE
        answer = call("POST", REPORTS, content, content_type=media_type)
        assert (answer.status, answer.problem) == (401, "token")
    # Two headers in one request are refused, too, and so is a word that is not a token.
    for header in ({}, {"authorization": "Bearer guessed"}, {"authorization": f"Basic {TOKEN}"}):
        answer = call("POST", REPORTS, body(2).to_binary(), content_type=BINARY_TYPE, **header)
        assert (answer.status, answer.problem) == (401, "token")
    assert counted(here) == 0
    # Each attempt used at most one report of the network's allowance.
    assert call.post(bodies(1)[0]).status == 201


def test_a_senders_token_sends_batches_and_opens_nothing_else(here: Running) -> None:
    assert Caller(here.public).post(body(10_000)).json == {"counted": 10_000, "already": 0, "invalid": 0}
    me = Caller(here.admin, {"authorization": f"Bearer {TOKEN}"})
    for path in ("surveys/smoking/results.json", "surveys/smoking/aggregate", "metrics", "surveys/smoking/report.html"):
        answer = me("GET", f"/{path}")
        assert (answer.status, answer.problem) == (403, "not-allowed")
    for path in ("/", "/surveys/smoking"):
        assert me("GET", path).status == 303
    assert me("POST", "/surveys/smoking/close").status == 403


@pytest.mark.parametrize(("role", "status"), [("owner", 201), ("sender", 201), ("analyst", 401)])
def test_owners_and_senders_send_batches_and_analysts_read(here: Running, role: str, status: int) -> None:
    store = here.collector.store
    store.add_analyst("ann", role, "scrypt$0$0$0$00$00")
    token = Logins(store, here.collector.clock).issue("ann", "token", None)
    assert Caller(here.public).post(body(20), authorization=f"Bearer {token}").status == status


def test_a_token_that_was_revoked_ends_within_seconds(here: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "_TOKEN_SECONDS", 0.1)
    call = Caller(here.public)
    assert call.post(body(20)).status == 201
    here.collector.store.end_session(digest(TOKEN))
    time.sleep(0.2)
    assert call.post(body(20, 100)).problem == "token"


def test_named_networks_share_an_allowance_of_their_own() -> None:
    of = networks(["10.1.0.0/16", "10.1.7.0/24", "2001:db8::/32"], "x")
    limits = Limits(Allowance(1, 9), dict(zip(of, map(Allowance, (4, 2, 3)), strict=True)), now=lambda: 0.0)
    assert [limits.wait(f"10.1.{n}.5") > 0 for n in range(6)] == [False] * 4 + [True] * 2
    # Only the smallest network that contains an address counts.
    assert [limits.wait("10.1.7.9") > 0 for _ in range(3)] == [False, False, True]
    assert [limits.wait(f"2001:db8:{n}::1") > 0 for n in range(4)] == [False] * 3 + [True]
    assert [limits.wait("::ffff:10.1.7.9") > 0, limits.wait("192.0.2.1") > 0] == [True, False]


def test_a_site_of_ipv6_sends_no_more_than_eight_networks() -> None:
    """One customer has 256 networks, and could send as much as 256 customers."""
    limits = Limits(Allowance(5, 1000), now=lambda: 0.0)
    through = [
        (site, limits.wait(f"2001:db8:{site}:{network:x}00::1") == 0)
        for site in (1, 2)
        for network in range(256)
        for _ in range(6)
    ]
    assert [sum(let for of, let in through if of == site) for site in (1, 2)] == [40, 40]


def test_tokens_are_not_guessed_faster_than_reports_may_be_sent_and_a_right_one_has_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports or wrong tokens of a sender's neighbours do not stop its batches."""
    # All requests come in one minute, however slow the machine is.
    monkeypatch.setattr(config, "Limits", partial(Limits, now=lambda: 0.0))
    with collecting(sqlite(tmp_path), limits=True) as here:
        open_survey(here.collector.surveys)
        here.collector.refresh()
        looked, who = list[str](), Logins.who

        def counting(self: Logins, secret: str, kind: Any) -> Any:
            looked.append(secret)
            return who(self, secret, kind)

        monkeypatch.setattr(Logins, "who", counting)
        monkeypatch.setattr(public, "_TOKEN_SECONDS", 0.0)
        call = Caller(here.public)
        assert call.post(body(2)).status == 201
        problems = [call.post(body(2), authorization=f"Bearer {guess}").problem for guess in range(305)]
        # Until the sender's own token was known to be right, it was a guess, too.
        assert (problems[0], problems[-1], len(looked)) == ("token", "too-many", 300)
        monkeypatch.setattr(public, "_TOKEN_SECONDS", 1e9)
        statuses = [call.post(one).status for one in bodies(301, 100)]
        assert (statuses[:300], statuses[300]) == ([201] * 300, 429), "guesses are not reports"
        for start in (10, 20):
            assert call.post(body(2, start)).status == 201
        assert looked[300:] == [TOKEN]


def test_a_wrong_token_that_is_remembered_is_counted_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "Limits", partial(Limits, now=lambda: 0.0))
    monkeypatch.setattr(public, "_TOKEN_SECONDS", 1e9)
    with collecting(sqlite(tmp_path), limits=True) as here:
        open_survey(here.collector.surveys)
        here.collector.refresh()
        call = Caller(here.public)
        problems = [call.post(body(2), authorization="Bearer wrong").problem for _ in range(305)]
        assert problems == ["token"] * 300 + ["too-many"] * 5


# -------------------------------------------------------------------- the queue


class SlowTake:
    """Delays commits until it is released, and records their sizes."""

    def __init__(self, here: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes, self.release, self.take = list[int](), threading.Event(), here.collector.store.take
        monkeypatch.setattr(here.collector.store, "take", self)

    def __call__(self, posted: Mapping[str, Posted]) -> Any:
        self.sizes.append(sum(len(one.ids) for one in posted.values()))
        self.release.wait(PATIENCE)
        return self.take(posted)


def test_batches_take_no_place_of_single_reports(here: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, 316 of 320 single reports were refused beside batches."""
    slow = SlowTake(here, monkeypatch)
    monkeypatch.setattr(ingest, "MAX_BATCHES", 20_000)
    call, batches, singles = Caller(here.public), list[int](), list[int]()

    def post(into: list[int], what: Body) -> None:
        into.append(call.post(what).status)

    senders = all_at_once([partial(post, batches, body(10_000, 20_000 * n)) for n in range(4)])
    until(lambda: bool(slow.sizes) and here.collector.ingest.waiting >= 10_000)
    people = all_at_once([partial(post, singles, one) for one in bodies(50, 90_000)])
    until(lambda: here.collector.ingest._singles.reports == 50)
    slow.release.set()
    for thread in (*senders, *people):
        thread.join()
    assert singles == [201] * 50
    assert batches.count(201) >= 2


def test_single_reports_go_first_and_a_batch_in_pieces(here: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, call = SlowTake(here, monkeypatch), Caller(here.public)
    batch = all_at_once([partial(call.post, body(10_000))])
    until(lambda: bool(slow.sizes))
    people = all_at_once([partial(call.post, one) for one in bodies(5, 20_000)])
    until(lambda: here.collector.ingest.waiting == 10_000 - slow.sizes[0] + 5)
    slow.release.set()
    for thread in (*batch, *people):
        thread.join()
    # The commit under way had none of them. The next commit has all of them, with one piece of the batch.
    assert slow.sizes[0] <= ingest.MAX_COMMIT
    assert slow.sizes[1] == 5 + ingest.PIECE
    assert counted(here) == 10_005


def batches_at_once(here: Running, number: int, size: int, token: str = TOKEN) -> Counter[bytes]:
    """Send batches at once, each on its own connection, and count the statuses of the answers."""
    host, _, port = urlsplit(here.public).netloc.partition(":")

    async def one(index: int) -> bytes:
        reader, writer = await asyncio.open_connection(host, int(port))
        content = body(size, size * index).to_binary()
        head = f"POST {REPORTS} HTTP/1.1\r\nhost: x\r\ncontent-type: {BINARY_TYPE}\r\nconnection: close\r\n"
        head += f"authorization: Bearer {token}\r\ncontent-length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content)
        answer = await reader.read()
        writer.close()
        return answer[9:12]

    async def many() -> Counter[bytes]:
        return Counter(await asyncio.gather(*map(one, range(number))))

    return asyncio.run(many())


def test_batches_wait_for_their_turn_and_are_not_refused(here: Running) -> None:
    """With 512 connections, 96% of the batches once got 503."""
    assert batches_at_once(here, 512, 100) == {b"201": 512}
    assert counted(here) == 51_200


@pytest.mark.parametrize(("token", "statuses"), [(TOKEN, {b"201": 310}), ("wrong", {b"401": 300, b"429": 10})])
def test_requests_that_bring_one_token_wait_for_one_look_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str, statuses: dict[bytes, int]
) -> None:
    """On a slow machine, each of 512 requests looked up its token, counted as a guess, and many were refused."""
    monkeypatch.setattr(config, "Limits", partial(Limits, now=lambda: 0.0))
    monkeypatch.setattr(public, "_TOKEN_SECONDS", 1e9)
    looked, who = list[str](), Logins.who

    def slow(self: Logins, secret: str, kind: Any) -> Any:
        looked.append(secret)
        time.sleep(0.5)
        return who(self, secret, kind)

    monkeypatch.setattr(Logins, "who", slow)
    with collecting(sqlite(tmp_path), limits=True) as here:
        open_survey(here.collector.surveys)
        here.collector.refresh()
        assert batches_at_once(here, 310, 2, token) == statuses
    assert looked == [token]


# -------------------------------------------------------------------- heads, connections, names


def test_a_head_of_many_lines_is_answered_431(here: Running) -> None:
    answer = talk(here, LIVE, *[b"x-%d: y\r\n" % number for number in range(MAX_HEAD // 10 + 50)])
    assert answer.startswith(b"HTTP/1.1 431 ") or answer == b""
    # If nothing is left to be read, the answer arrives.
    exact = LIVE + b"cookie: " + b"x" * MAX_HEAD
    assert talk(here, exact).startswith(b"HTTP/1.1 431 ")
    # A head in one read is counted as well. In the past it was answered.
    for size in (MAX_HEAD + 9000, 60_000, 120_000):
        answer = talk(here, LIVE + b"connection: close\r\ncookie: " + b"x" * size + b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 431 ") or answer == b""
    fine = LIVE + b"connection: close\r\ncookie: " + b"x" * (MAX_HEAD - 200)
    assert talk(here, fine, b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")


def test_long_bodies_and_many_requests_on_one_connection_are_no_heads(here: Running) -> None:
    answer = talk(here, *[LIVE + b"\r\n"] * 2000, LIVE + b"connection: close\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 ") == 2001
    # Batches come one after the other, in pieces that contain the end of one and the start of the next.
    content = body(10_000).to_binary()
    head = f"POST {REPORTS} HTTP/1.1\r\nhost: x\r\ncontent-type: {BINARY_TYPE}\r\nauthorization: Bearer {TOKEN}\r\n"
    batch = f"{head}content-length: {len(content)}\r\n\r\n".encode() + content
    both = batch + batch + LIVE + b"connection: close\r\n\r\n"
    assert talk(here, both).count(b"HTTP/1.1 20") == 3
    # This body comes in chunks of one byte each.
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in bodies(1, 50_000)[0].to_json()) + b"0\r\n\r\n"
    assert talk(here, CHUNKED, chunks).startswith(b"HTTP/1.1 201 ")


def test_a_head_that_never_ends_holds_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty connections send one byte each, where forty are allowed: all others get answers."""
    monkeypatch.setattr(server, "MAX_CONNECTIONS", server.ADMIN_CONNECTIONS + 40)
    held = []
    with collecting(sqlite(tmp_path)) as here:
        host, _, port = urlsplit(here.public).netloc.partition(":")
        try:
            for _ in range(60):
                held.append(socket.create_connection((host, int(port)), timeout=PATIENCE))
                held[-1].sendall(b"G")
            assert Caller(here.public)("GET", "/health/live").status == 200
        finally:
            for one in held:
                one.close()


SMALL = """
import resource, sys
from deniable.service.config import Configuration, LimitsShape
from deniable.service.ending import Ending
from deniable.service.server import begin_log, running
resource.setrlimit(resource.RLIMIT_NOFILE, (96, 160))
begin_log()
limits = LimitsShape(off=True)
configuration = Configuration(database=sys.argv[1], public="127.0.0.1:0", admin="127.0.0.1:0", limits=limits)
with Ending() as ending, running(configuration, migrate=True) as here:
    print(here.public, flush=True)
    ending.wait()
"""


def test_more_connections_than_files_keep_nobody_out(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SMALL, sqlite(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    held = []
    try:
        address = process.stdout.readline().strip()
        host, _, port = urlsplit(address).netloc.partition(":")
        for _ in range(300):
            held.append(socket.create_connection((host, int(port)), timeout=PATIENCE))
        assert Caller(address)("GET", "/health/ready").status == 200
        assert len(os.listdir(f"/proc/{process.pid}/fd")) < 160
    finally:
        for connection in held:
            connection.close()
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "up to 160 files may be open (96 before)" in said
    assert said.count("there may be no more: idle ones are closed") == 1


def test_the_admin_port_answers_only_to_its_own_names(tmp_path: Path) -> None:
    """Another site whose name leads here could log in with its visitor's valid password."""
    with collecting(sqlite(tmp_path), hosts=["Results.example"]) as here:
        here.collector.store.add_analyst("ann", "owner", hash_password(PASSWORD))
        login = {"name": "ann", "password": PASSWORD}
        port = here.admin.rpartition(":")[2]
        for host, status in (
            (f"rebound.example:{port}", 421),
            (f"127.0.0.1.rebound.example:{port}", 421),
            (f"127.0.0.1:{port}", 204),
            (f"localhost:{port}", 204),
            ("results.example", 204),
        ):
            answer = Caller(here.admin)("POST", "/session", login, host=host, origin=f"http://{host}")
            assert answer.status == status, host
            assert ("set-cookie" in answer.headers) == (status == 204)
        assert Caller(here.admin)("GET", "/login", host="rebound.example").problem == "wrong-host"
        assert Caller(here.public)("GET", "/health/live", host="survey.example").status == 200


# -------------------------------------------------------------------- deniable send


def test_a_file_is_sent_in_batches_with_a_token_and_one_by_one_without(here: Running, tmp_path: Path) -> None:
    def written(n: int, seed: int) -> Path:
        path = tmp_path / f"{n}.parquet"
        reports = from_wire(ASKED.mechanism, body(n, seed=seed).rows)
        write_reports(path, ASKED, [reports], SimulationRandomness(seed))
        return path

    many = written(MAX_SINGLES + 1, 1)
    with pytest.raises(UploadError, match="without a token, at most 50 reports can be sent, but the file has 51"):
        send_file(ASKED, many, here.public)
    assert counted(here) == 0
    assert send_file(ASKED, many, here.public, token=TOKEN).counted == MAX_SINGLES + 1
    assert send_file(ASKED, written(7, 2), here.public).counted == 7
    with pytest.raises(UploadError, match="the token is not known"):
        send_file(ASKED, written(9, 3), here.public, token="another")
    with pytest.raises(InvalidParameterError, match="must begin with https://, got"):
        Remote("http://survey.example", ASKED, token=TOKEN)
