"""The public port: accepted and refused requests and their messages; refused data are not queued."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from starlette.applications import Starlette

from deniable import GRR
from deniable.errors import StoreError
from deniable.files.wire import BINARY_TYPE, Body
from deniable.service import collector as collecting_module, ingest, middleware, receiving
from deniable.service.connections import Joined
from deniable.service.ingest import MAX_QUEUE, Ingest, Outcome
from deniable.service.limits import Allowance, Limits, client_address, networks
from deniable.service.problems import PROBLEMS
from deniable.service.public import Access, public_app
from deniable.service.server import Running
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema
from tests.service.asking import (
    ASKED,
    PATIENCE,
    TOKEN,
    Caller,
    bodies,
    body,
    collecting,
    open_survey,
    page,
    sqlite,
    until,
)

API = f"/api/v1/collections/{ASKED.id}"
OTHER = Collection(Schema((Attribute("drinks", ("yes", "no")),)), GRR(k=2, epsilon=1.0))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with collecting(sqlite(tmp_path_factory.mktemp("public"))) as running:
        open_survey(running.collector.surveys)
        open_survey(running.collector.surveys, "drinks", OTHER)
        running.collector.refresh()
        yield running


@pytest.fixture
def call(here: Running) -> Caller:
    """A caller who may send batches."""
    return Caller(here.public, {"authorization": f"Bearer {TOKEN}"})


def waiting(here: Running) -> int:
    return here.collector.store.waiting(ASKED.id)


# -------------------------------------------------------------------- accepted reports


def test_reports_are_counted_once_in_either_form(here: Running, call: Caller) -> None:
    before = waiting(here)
    (one,) = bodies(1, 10)
    answers = [call.post(one), call.post(one)]
    assert [(a.status, a.json) for a in answers] == [
        (201, {"counted": 1, "already": 0, "invalid": 0}),
        (200, {"counted": 0, "already": 1, "invalid": 0}),
    ]
    many = body(300, 10)
    answer = call("POST", f"{API}/reports", many.to_binary(), content_type=BINARY_TYPE)
    assert (answer.status, answer.json) == (200, {"counted": 299, "already": 1, "invalid": 0})
    assert waiting(here) == before + 300
    # For the same id with another content, the first report counts. Later content is not read.
    (changed,) = bodies(1, 10, seed=2)
    assert call.post(changed).json == {"counted": 0, "already": 1, "invalid": 0}
    assert waiting(here) == before + 300
    # This is so whatever the content is, even if no client can have made it.
    answer = call.post(Body(ASKED.id, one.ids, np.array([[3]], np.uint8)))
    assert (answer.status, answer.json) == (200, {"counted": 0, "already": 1, "invalid": 0})


def test_an_impossible_report_is_refused_alone_and_counted_out_of_many(here: Running, call: Caller) -> None:
    before, seen = waiting(here), here.collector.store.rejections(ASKED.id).get("invalid-report", 0)
    three = body(3, 1000)
    impossible = Body(ASKED.id, three.ids, np.array([[0], [3], [2]], np.uint8))
    answer = call.post(Body(ASKED.id, impossible.ids[1:2], impossible.rows[1:2]))
    assert (answer.status, answer.problem) == (422, "invalid-report")
    answer = call.post(impossible)
    assert (answer.status, answer.json) == (200, {"counted": 2, "already": 0, "invalid": 1})
    assert waiting(here) == before + 2
    here.collector.ingest.write_rejections()
    assert here.collector.store.rejections(ASKED.id)["invalid-report"] == seen + 2
    # A refused report was not counted, so an honest report of that id is counted.
    assert call.post(Body(ASKED.id, three.ids[1:2], three.rows[1:2])).status == 201


def test_a_receipt_says_whether_an_id_was_counted(call: Caller) -> None:
    (one,) = bodies(1, 2000)
    said = {"id": json.loads(one.to_json())["reports"][0]["id"]}
    assert call("POST", f"{API}/receipts", said).problem == "not-counted"
    call.post(one)
    answer = call("POST", f"{API}/receipts", said)
    assert (answer.status, answer.content) == (204, b"")
    # In another survey the report was not counted.
    assert call("POST", f"/api/v1/collections/{OTHER.id}/receipts", said).problem == "not-counted"
    for bad in [{"id": "short"}, {"id": said["id"], "more": 1}, {}, {"id": 7}]:
        assert call("POST", f"{API}/receipts", bad).problem == "malformed"
    assert call("POST", f"{API}/receipts", {"id": "A" * 5000}).problem == "too-large"
    assert call("POST", f"{API}/receipts", b"{}", content_type="text/plain").problem == "unsupported"
    assert call("POST", "/api/v1/collections/none/receipts", said).problem == "unknown-collection"


def test_documents_are_byte_for_byte_what_was_given(call: Caller) -> None:
    answer = call("GET", API)
    assert answer.content.decode() == ASKED.to_json()
    assert answer.headers["etag"] == f'"{ASKED.id}"'
    assert "immutable" in answer.headers["cache-control"]
    assert call("GET", API, if_none_match=answer.headers["etag"]).status == 304
    answer = call("GET", f"{API}/page")
    assert answer.content.decode() == page()
    assert call("GET", f"{API}/page", if_none_match=answer.headers["etag"]).status == 304
    state = call("GET", f"{API}/state").json
    assert set(state) == {"state", "closes_at", "accepts_until", "now"}
    assert state["state"] == "open"


def test_the_words_of_a_dictionary_are_served(here: Running, call: Caller, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("apple\npear\nplum\n")
    asked = Collection(Schema((Attribute.from_dictionary("fruit", words),)), GRR(k=3, epsilon=1.0))
    here.collector.surveys.new("fruit", asked.to_json(), None, str(tmp_path))
    here.collector.refresh()
    answer = call("GET", f"/api/v1/collections/{asked.id}/dictionary/fruit")
    assert answer.content == words.read_bytes()
    assert call("GET", f"/api/v1/collections/{asked.id}/dictionary/pear").problem == "not-found"
    assert call("GET", f"/api/v1/collections/{asked.id}/state").json["state"] == "draft"
    assert call("POST", f"/api/v1/collections/{asked.id}/reports", {}).problem == "not-open"


def test_head_and_body_of_an_answer_go_out_together_and_a_head_alone_at_once(call: Caller, here: Running) -> None:
    class Sent(asyncio.Transport):
        def __init__(self) -> None:
            super().__init__()
            self.pieces, self.closed = list[bytes](), False

        def write(self, data: Any) -> None:
            assert not self.closed
            self.pieces.append(bytes(data))

        def close(self) -> None:
            self.closed = True

        def is_closing(self) -> bool:
            return self.closed

    async def write() -> None:
        sent = Sent()
        joined = Joined(sent)
        joined.write(b"HTTP/1.1 201 Created\r\n\r\n")
        joined.write(b"{}")
        assert sent.pieces == [b"HTTP/1.1 201 Created\r\n\r\n{}"]
        joined.write(b"more")
        joined.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        assert sent.pieces[1:] == [b"more"]
        await asyncio.sleep(0)
        assert sent.pieces[2:] == [b"HTTP/1.1 204 No Content\r\n\r\n"]
        joined.write(b"HTTP/1.1 304 Not Modified\r\n\r\n")
        joined.close()
        assert (len(sent.pieces), sent.closed) == (4, True)
        # A sender that has hung up is sent nothing.
        lost = Sent()
        Joined(lost).write(b"HTTP/1.1 201 Created\r\n\r\n")
        lost.close()
        await asyncio.sleep(0)
        assert lost.pieces == []

    asyncio.run(write())
    answer = call("HEAD", API)
    assert (answer.status, answer.content) == (200, b"")
    # A sender that first asks whether a body is wanted gets an answer.
    content = bodies(1, 8700)[0].to_json()
    host, _, port = here.public.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        head = f"POST {API}/reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n"
        connection.sendall(f"{head}content-length: {len(content)}\r\n\r\n".encode())
        assert connection.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(content)
        assert connection.recv(4096).startswith(b"HTTP/1.1 201 Created")


def test_health(here: Running, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("GET", "/health/live").content == b"alive\n"
    assert call("GET", "/health/ready").content == b"ready\n"

    asked = []

    def broken() -> None:
        asked.append(1)
        raise StoreError("gone")

    monkeypatch.setattr(here.collector.store, "ready", broken)
    # The clock stands still while all of them ask.
    monkeypatch.setattr(collecting_module, "_READY_SECONDS", 1e9)
    monkeypatch.setattr(here.collector, "_looked", -2e9)
    for _ in range(20):
        answer = call("GET", "/health/ready")
        assert (answer.status, answer.problem) == (503, "store")
        assert int(answer.headers["retry-after"]) > 0
    # Anybody may ask, and a check writes to the disk. So the check runs once a second.
    assert len(asked) == 1
    monkeypatch.undo()
    monkeypatch.setattr(here.collector, "_looked", -1e9)
    assert call("GET", "/health/ready").status == 200
    # While one check waits for a database that hangs, other requests get the last result.
    looking, gate = threading.Event(), threading.Event()

    def hangs() -> None:
        looking.set()
        gate.wait(PATIENCE)

    monkeypatch.setattr(here.collector.store, "ready", hangs)
    monkeypatch.setattr(here.collector, "_looked", -1e9)
    first = threading.Thread(target=call, args=("GET", "/health/ready"))
    first.start()
    assert looking.wait(PATIENCE)
    assert call("GET", "/health/ready").status == 200
    assert first.is_alive()
    gate.set()
    first.join()


# -------------------------------------------------------------------- refused requests

ONE = bodies(1, 5000)[0]
GOOD = ONE.to_json()
HOSTILE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "malformed"),
    "depth": (b"[" * 100_000, "malformed"),
    "objects in objects": (b'{"a":' * 50_000, "malformed"),
    "an unknown key": (GOOD.replace(b'"reports"', b'"x":1,"reports"'), "malformed"),
    "a leaf": (GOOD.replace(b'"report":', b'"leaf":"AAAA","report":'), "malformed"),
    "bad base64": (GOOD.replace(b'"id":"', b'"id":"!', 1)[:-1] + b"}", "malformed"),
    "a long report": (GOOD.replace(b'"}]', b'AAAA"}]'), "malformed"),
    "bytes": (bytes(range(256)), "malformed"),
    "another collection": (bodies(1, 5000, OTHER)[0].to_json(), "wrong-collection"),
    "no reports": (GOOD.split(b"[")[0] + b"[]}", "malformed"),
    "too many": (body(10_001).to_json(), "too-large"),
    "many that are none": (b'{"collection":"%s","reports":[{}%s]}' % (GOOD[15:79], b",{}" * 300_000), "too-large"),
    "many keys": (b"{%s}" % b",".join(b'"my answer %d":1' % i for i in range(50_000)), "malformed"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_bodies_meet_the_problem_that_is_named_and_queue_nothing(
    here: Running, call: Caller, kind: str
) -> None:
    content, problem = HOSTILE[kind]
    before = waiting(here)
    answer = call("POST", f"{API}/reports", content, content_type="application/json")
    assert answer.problem == problem
    assert waiting(here) == before
    assert b"Traceback" not in answer.content
    assert b"my answer" not in answer.content
    assert len(answer.content) < 500


def test_hostile_binary_bodies(here: Running, call: Caller) -> None:
    before = waiting(here)
    good = ONE.to_binary()
    expected = {good[:-1]: "malformed", good[:31]: "malformed", good[:32]: "malformed", b"": "malformed"}
    expected |= {bodies(1, 0, OTHER)[0].to_binary(): "wrong-collection", body(10_001).to_binary(): "too-large"}
    for content, problem in expected.items():
        assert call("POST", f"{API}/reports", content, content_type=BINARY_TYPE).problem == problem
    assert waiting(here) == before


def test_formats_methods_and_addresses_that_there_are_not(call: Caller) -> None:
    for headers in (
        {},
        {"content-type": "text/html"},
        {"content-type": "application/json", "content-encoding": "gzip"},
    ):
        assert call("POST", f"{API}/reports", GOOD, **headers).problem == "unsupported"
    assert call("GET", f"{API}/reports").problem == "wrong-method"
    assert call("DELETE", API).problem == "wrong-method"
    for path in (
        "/api/v1",
        "/api/v1/collections/",
        f"{API}/",
        "/static/../public.py",
        "/static/public.py",
        "/%00",
        "/api/v1/collections/%2e%2e%2f",
    ):
        assert call("GET", path).status == 404
        assert call("GET", path).problem in ("not-found", "unknown-collection")


def test_a_slow_body_and_a_slow_header_do_not_stay(here: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving.read_body, "__defaults__", (0.3,))
    host, port = urlsplit(here.public).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        head = (
            f"POST {API}/reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{{"
        )
        connection.sendall(head.encode())
        answer = b""
        while part := connection.recv(4096):
            answer += part
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"urn:deniable:problem:slow" in answer
    # A request that announces a body that is too large is refused before the body is sent.
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        head = head.replace("content-length: 500", "content-length: 9999999").removesuffix("{")
        connection.sendall(head.encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 401")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(head.replace("host: x", f"host: x\r\nauthorization: Bearer {TOKEN}").encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")
    # A sender that hangs up in the middle gets no answer.
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(head.replace("9999999", "500").encode() + b"{")
    assert Caller(here.public)("GET", "/health/live").status == 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def like(description: dict[str, Any], schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values for a schema of the description, or nearly fitting values."""
    if "$ref" in schema:
        return like(description, description["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if schema.get("type") == "object":
        exact = st.fixed_dictionaries({k: like(description, v) for k, v in schema["properties"].items()})
        return exact | st.dictionaries(st.sampled_from([*schema["properties"], "leaf"]), JSON, max_size=3)
    if schema.get("type") == "array":
        return st.lists(like(description, schema["items"]), max_size=3)
    if "pattern" in schema:
        return st.from_regex(schema["pattern"].replace("^", r"\A").replace("$", r"\Z")) | st.just(ASKED.id)
    return JSON


def fits(description: dict[str, Any], schema: dict[str, Any], value: Any) -> bool:
    """Return whether an answer has the keys of the description."""
    if "$ref" in schema:
        return fits(description, description["components"]["schemas"][schema["$ref"].rpartition("/")[2]], value)
    if schema.get("type") != "object" or "properties" not in schema:
        return True
    needed, known = set(schema["required"]), schema["properties"]
    return needed <= set(value) <= set(known) and all(
        value[key] in known[key].get("enum", [value[key]]) for key in value
    )


def test_whatever_is_asked_of_the_description_meets_an_answer_of_the_description(here: Running, call: Caller) -> None:
    """All operations, with all kinds of parameters and bodies; refused data are not queued."""
    description = call("GET", "/api/v1/openapi.json").json
    assert description["openapi"].startswith("3.1")
    described = [one for found in description["paths"].values() for one in found.values()]
    required = [one["requestBody"]["required"] for one in described if "requestBody" in one]
    assert required
    assert set(required) == {True}
    operations = [(path, method) for path, found in description["paths"].items() for method in found]
    assert sorted(operations) == sorted(
        [
            (f"/collections/{{id}}{part}", "get")
            for part in (
                *("", "/page", "/state", "/dictionary/{attribute}", "/aggregate", "/batches"),
                *("/batches/{number}/leaves", "/batches/{number}/reports"),
            )
        ]
        + [(f"/collections/{{id}}{part}", "post") for part in ("/receipts", "/reports")]
    )
    # Everything that is served under this address is described, and nothing else is.
    app: Any = public_app(here.collector, Access())
    while not isinstance(app, Starlette):
        app = app._app
    routes: list[Any] = app.routes
    served = {one.path for one in routes if one.path.startswith("/api/v1/collections")}
    assert served == {f"/api/v1{path}" for path in description["paths"]}
    names = st.sampled_from([ASKED.id, OTHER.id, "0" * 64]) | st.text(max_size=12)
    kinds = st.sampled_from(["application/json", BINARY_TYPE, "text/plain", "application/json; charset=utf-8", ""])
    asked = set()

    @settings(max_examples=int(os.environ.get("DENIABLE_EXAMPLES", "90")), suppress_health_check=list(HealthCheck))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        path, method = data.draw(st.sampled_from(operations))
        operation = description["paths"][path][method]
        assert {one["name"] for one in operation["parameters"]} == set(re.findall(r"{(\w+)}", path))
        for one in operation["parameters"]:
            path = path.replace(f"{{{one['name']}}}", quote(data.draw(names), safe=""))
        content, headers = None, {}
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            form = like(description, schema) | JSON
            content = data.draw(form.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=80))
            headers = {"content-type": data.draw(kinds)}
        elif data.draw(st.booleans()):
            headers = {"if-none-match": f'"{ASKED.id}"'}
        before = waiting(here)
        answer = call(method.upper(), "/api/v1" + path, content, **headers)
        stated = operation["responses"][str(answer.status)]
        asked.add((method, answer.status))
        if answer.status >= 400:
            assert answer.problem in PROBLEMS
            assert waiting(here) == before
        (media, described) = next(iter(stated.get("content", {"": {}}).items()))
        assert answer.headers.get("content-type", "").partition(";")[0] == media
        assert bool(answer.content) == bool(media)
        if "json" in media:
            assert fits(description, described["schema"], answer.json)

    check()
    assert {("get", 200), ("get", 404), ("post", 400), ("post", 404), ("post", 415)} <= asked


TYPE = {"content-type": "application/json"}


# -------------------------------------------------------------------- limits


def test_limits_are_by_network_minute_and_hour() -> None:
    now = [0.0]
    limits = Limits(Allowance(3, 5), now=lambda: now[0])
    assert [limits.wait("192.0.2.7") for _ in range(3)] == [0, 0, 0]
    assert limits.wait("192.0.2.200") == 61
    assert limits.wait("192.0.3.7") == 0
    assert limits.wait("::ffff:192.0.2.9") == 61
    now[0] = 60.5
    assert [limits.wait("192.0.2.7") for _ in range(2)] == [0, 0]
    assert limits.wait("192.0.2.7") == 3540
    now[0] = 3600.0
    assert limits.wait("192.0.2.7") == 0
    assert limits.wait("2001:db8:1:200::1") == 0
    assert limits.wait("2001:db8:1:2ff::9") == 0
    assert limits.wait("2001:db8:1:201::5") == 0
    assert limits.wait("2001:db8:1:2aa::5") > 0
    assert limits.wait("2001:db8:1:301::5") == 0
    assert not any("192" in repr(value) or "2001" in repr(value) for value in vars(limits).values())


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], "10.0.0.1"),
        ([("x-forwarded-for", "1.1.1.1, 2.2.2.2")], "2.2.2.2"),
        ([("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "2.2.2.2, 10.9.9.9")], "2.2.2.2"),
        ([("forwarded", 'for=1.1.1.1, for="[2001:db8::7]:4711";proto=https')], "2001:db8::7"),
        # A proxy writes one of the headers and hands on the other, in which a sender can write anything.
        ([("forwarded", "for=6.6.6.6"), ("x-forwarded-for", "2.2.2.2")], "10.0.0.1"),
        ([("forwarded", "for=2.2.2.2"), ("x-forwarded-for", "1.1.1.1, 2.2.2.2")], "2.2.2.2"),
        ([("forwarded", "for=_hidden")], "_hidden"),
        ([("forwarded", "nothing")], "10.0.0.1"),
        ([("x-forwarded-for", "2.2.2.2:80")], "2.2.2.2"),
    ],
)
def test_a_trusted_proxys_right_most_untrusted_hop_counts(headers: list[tuple[str, str]], expected: str) -> None:
    from starlette.datastructures import Headers

    raw = Headers(raw=[(name.encode(), value.encode()) for name, value in headers])
    trusted = networks(["10.0.0.0/8"], "trusted_proxies")
    assert client_address("10.0.0.1", raw, trusted) == expected
    # Nobody else's word is trusted.
    assert client_address("9.9.9.9", raw, trusted) == "9.9.9.9"


def test_too_many_requests_of_a_network_are_turned_away(tmp_path: Path) -> None:
    from deniable.service.config import LimitsShape

    with collecting(sqlite(tmp_path), trusted_proxies=["127.0.0.0/8"]) as here:
        assert here.collector.surveys.list() == []
    from deniable.service.config import Configuration
    from deniable.service.server import running

    settings_ = Configuration(
        database=sqlite(tmp_path),
        public="127.0.0.1:0",
        admin="127.0.0.1:0",
        limits=LimitsShape(per_minute=3, per_hour=5),
        trusted_proxies=["127.0.0.0/8"],
    )
    with running(settings_) as here:
        open_survey(here.collector.surveys)
        here.collector.refresh()
        call = Caller(here.public, {"x-forwarded-for": "192.0.2.1"})
        statuses = [call.post(one).status for one in bodies(3)]
        answer = call.post(bodies(1, 50)[0])
        assert statuses == [201] * 3
        assert (answer.status, answer.problem) == (429, "too-many")
        assert 0 < int(answer.headers["retry-after"]) <= 61
        assert Caller(here.public, {"x-forwarded-for": "198.51.100.1"}).post(bodies(1, 50)[0]).status == 201
        assert call("GET", f"{API}/state").status == 200


# -------------------------------------------------------------------- the queue


def test_a_full_queue_and_a_broken_store_are_said_at_once(
    here: Running, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ingest, "MAX_BATCHES", 5)
        answer = call.post(body(6, 7000))
        assert (answer.status, answer.problem) == (503, "busy")
        assert answer.headers["retry-after"] == "1"
    with monkeypatch.context() as patched:
        patched.setattr(ingest, "MAX_QUEUE_BYTES", 5)
        assert call.post(body(6, 7000)).problem == "busy"
        assert call.post(body(5, 7100)).status == 201

    def broken(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(here.collector.store, "take", broken)
        answer = call.post(body(6, 7000))
        assert (answer.status, answer.problem) == (503, "store")

    def mad(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(here.collector.store, "take", mad)
        assert call.post(body(6, 7000)).problem == "broken"
    assert call.post(body(6, 7000)).status == 201
    assert MAX_QUEUE == 20_000


def test_what_waits_is_committed_together_and_answered_after_the_commit(
    here: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During one commit the next one gathers reports; each answer comes after its own commit."""

    collector = here.collector
    gate, sizes, committed = threading.Event(), list[int](), list[int]()
    take = collector.store.take

    def slow(posted: Any) -> Any:
        sizes.append(sum(len(one.ids) for one in posted.values()))
        gate.wait(PATIENCE)
        found = take(posted)
        committed.append(sizes[-1])
        return found

    monkeypatch.setattr(collector.store, "take", slow)
    queue = Ingest(collector.store, collector.metrics, collector.clock)
    queue.start()
    held = collector.held(ASKED.id)
    assert held is not None

    async def send() -> list[Outcome]:
        waiting = [asyncio.create_task(queue.submit(held.survey, one)) for one in bodies(50, 8000)]
        # Some reports are in the first commit, which is under way. The others wait for the second commit.
        await asyncio.to_thread(until, lambda: bool(sizes) and sizes[0] + queue.waiting == 50)
        assert not any(task.done() for task in waiting)
        assert not committed
        gate.set()
        return await asyncio.gather(*waiting)

    outcomes = asyncio.run(send())
    queue.stop()
    assert outcomes == [Outcome(1, 0, 0)] * 50
    assert sum(sizes) == 50
    assert len(sizes) <= 3


def test_a_commit_waits_for_those_who_were_answered_last_and_for_nobody_else(
    here: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector, sizes = here.collector, list[int]()
    held = collector.held(ASKED.id)
    assert held is not None
    take = collector.store.take

    def noted(posted: Any) -> Any:
        sizes.append(sum(len(one.ids) for one in posted.values()))
        return take(posted)

    monkeypatch.setattr(collector.store, "take", noted)
    paused, over = threading.Event(), threading.Event()

    def pause(_: float) -> None:
        paused.set()
        assert over.wait(PATIENCE)

    monkeypatch.setattr(
        ingest, "time", SimpleNamespace(sleep=pause, monotonic=time.monotonic, perf_counter=lambda: 0.0)
    )
    queue = Ingest(collector.store, collector.metrics, collector.clock)
    sent = iter(bodies(8, 8300))

    async def send(n: int) -> None:
        waiting = [asyncio.create_task(queue.submit(held.survey, next(sent))) for _ in range(n)]
        await asyncio.sleep(0)
        if not queue._thread.is_alive():
            queue.start()
        await asyncio.gather(*waiting)

    # A single sender waits for nobody.
    asyncio.run(send(1))
    asyncio.run(send(1))
    assert (sizes, paused.is_set()) == ([1, 1], False)
    # Three senders were answered, and one comes first. A commit waits until all are there, or nobody comes.
    queue._last = 3

    async def one_by_one() -> None:
        first = asyncio.create_task(send(1))
        await asyncio.to_thread(paused.wait, PATIENCE)
        others = asyncio.create_task(send(2))
        await asyncio.to_thread(until, lambda: queue.waiting == 3)
        over.set()
        await asyncio.gather(first, others)

    asyncio.run(one_by_one())
    # Here the pause is over before anybody came.
    asyncio.run(send(1))
    assert sizes == [1, 1, 3, 1]
    queue.stop()


def test_what_a_port_that_was_shut_sent_keeps_nobody_else_from_being_written(here: Running) -> None:
    """A closed loop cannot be notified; the writing thread continues."""

    collector = here.collector
    queue = Ingest(collector.store, collector.metrics, collector.clock)
    held = collector.held(ASKED.id)
    assert held is not None
    gone = asyncio.new_event_loop()
    lost = gone.create_task(queue.submit(held.survey, bodies(1, 8200)[0]))
    gone.run_until_complete(asyncio.sleep(0))
    lost.cancel()
    gone.run_until_complete(asyncio.gather(lost, return_exceptions=True))
    gone.close()
    queue.start()
    waited = asyncio.wait_for(queue.submit(held.survey, bodies(1, 8201)[0]), PATIENCE)
    assert asyncio.run(waited) == Outcome(1, 0, 0)
    queue.stop()
    assert queue.waiting == 0


# -------------------------------------------------------------------- headers, origins and logs


def test_headers_that_nothing_can_be_slipped_through(call: Caller) -> None:
    for path in (API, "/health/live", "/nowhere", "/s/smoking"):
        headers = call("GET", path).headers
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "set-cookie" not in headers
        assert "server" not in headers
        assert "strict-transport-security" not in headers
        policy = headers["content-security-policy"]
        for rule in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'none'"):
            assert rule in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["cross-origin-opener-policy"] == "same-origin"
        # The header is a kilobyte, and only pages need it.
        assert ("permissions-policy" in headers) == (path == "/s/smoking")
    assert {"geolocation=()", "ch-ua=()", "browsing-topics=()", "storage-access=()"} <= set(
        headers["permissions-policy"].split(", ")
    )


def test_pages_elsewhere_may_upload_if_they_are_named(tmp_path: Path) -> None:
    with collecting(sqlite(tmp_path), page_origin=["https://pages.example"], trusted_proxies=["127.0.0.1/32"]) as here:
        open_survey(here.collector.surveys)
        here.collector.refresh()
        named, stranger = (
            Caller(here.public, {"origin": o}) for o in ("https://pages.example", "https://evil.example")
        )
        answer = named.post(bodies(1)[0])
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (201, "https://pages.example")
        assert "access-control-allow-credentials" not in answer.headers
        # Pages on other origins can also read how long to wait.
        assert answer.headers["access-control-expose-headers"] == "retry-after"
        preflight = {"access_control_request_method": "POST", "access_control_request_headers": "content-type"}
        assert named("OPTIONS", f"{API}/reports", **preflight).status == 200
        assert "access-control-allow-origin" not in stranger("GET", API).headers
        assert stranger("OPTIONS", f"{API}/reports", **preflight).status == 400
        # The header is sent nowhere else.
        assert "access-control-allow-origin" not in named("GET", "/health/live").headers
        # Behind a trusted proxy, TLS is remembered.
        secure = named("GET", API, x_forwarded_proto="https")
        assert secure.headers["strict-transport-security"] == "max-age=31536000"


def test_the_log_has_templates_and_nobody(
    here: Running, call: Caller, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = middleware.Requests()
    monkeypatch.setattr(middleware, "_SECONDS", 1e9)
    # The time of each request does not matter.
    monkeypatch.setattr(middleware, "_BUCKETS", (1e9,))
    monkeypatch.setattr(middleware, "requests", counted)
    with caplog.at_level(logging.INFO, "deniable.service.access"):
        (one,) = bodies(1, 9000)
        name = json.loads(one.to_json())["reports"][0]["id"]
        call.post(one, **{"user-agent": "Somebody/1.0", "x-forwarded-for": "203.0.113.9"})
        call("POST", f"{API}/receipts?secret=1", {"id": name})
        call("GET", "/nowhere/at-all?who=me")
        call("GET", f"{API}/dictionary/smoker")
        call("GET", "/another/at-all?who=me")
        # A request is counted after its answer, and is logged together with others that came in the meantime.
        until(lambda: sum(counted._counts.values()) == 5)
        assert not caplog.records
        counted.say()
    lines = [record.getMessage() for record in caplog.records]
    # Lines are in alphabetical order, not in the order of requests.
    assert [line.rpartition(" <")[0] for line in lines] == [
        "GET (unknown) 404",
        "GET /api/v1/collections/{id}/dictionary/{attribute} 404",
        "POST /api/v1/collections/{id}/receipts 204",
        "POST /api/v1/collections/{id}/reports 201",
    ]
    assert lines[0].endswith("s, 2 times")
    for secret in (name, "Somebody", "203.0.113", "127.0.0.1", "secret", "who", ASKED.id, "nowhere"):
        assert secret not in "\n".join(lines)


def test_a_bug_is_logged_without_what_it_was_about(
    here: Running, call: Caller, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Any:
        raise ValueError("a secret of somebody's")

    monkeypatch.setattr(here.collector, "held", broken)
    answer = call("GET", API)
    assert (answer.status, answer.problem) == (500, "broken")
    assert b"secret" not in answer.content
    assert "secret" not in caplog.text
