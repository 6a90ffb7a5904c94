"""Small surveys, reports for them, and functions that talk to a collector."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from deniable import GRR, SimulationRandomness
from deniable.files.wire import Body, to_wire
from deniable.service import collector as collecting_module, ingest
from deniable.service.auth import digest
from deniable.service.config import Configuration, LimitsShape, ResultsShape
from deniable.service.server import Running, running
from deniable.service.stores.releases import Step
from deniable.service.stores.store import Store
from deniable.service.survey_page import draft_page
from deniable.service.surveys import Surveys
from deniable.survey.collection import Collection
from deniable.survey.schema import Attribute, Schema

SCHEMA = Schema((Attribute("smoker", ("yes", "no", "once")),))
ASKED = Collection(SCHEMA, GRR(k=3, epsilon=2.0), title="Smoking")
PASSWORD = "correct horse battery"
TOKEN = "a sender's token, which is no secret here"
PATIENCE = 60.0
"""Seconds to wait for an expected event; only a failing test waits so long, however busy the machine is."""


def unhurried() -> pytest.MonkeyPatch:
    """Let a collector wait `PATIENCE` for its database on a slow machine; undo this afterwards."""
    patched = pytest.MonkeyPatch()
    patched.setattr(ingest, "GIVE_UP", PATIENCE)
    patched.setattr(collecting_module, "READY_TIMEOUT", PATIENCE)
    return patched


def page(collection: Collection = ASKED, **changes: Any) -> str:
    """A finished page."""
    drafted = draft_page(collection, contributors=500)
    words = drafted.languages["en"].model_copy(update={"intro": "We ask.", "consent": "You may."})
    terms = {"languages": {"en": words}, "contact": "us@example.org", "min_batch": 20, **changes}
    return drafted.model_copy(update=terms).to_json()  # the reader of the text checks it


def summed(store: Store, collection: str) -> tuple[bytes, int, int]:
    """Return what was drained, released or not: the sum, its number of reports, and its number of batches."""
    with store._reading() as run:
        ((counts, n, batches),) = run("SELECT counts, n, batches FROM collections WHERE id = ?", collection)
    return bytes(counts), n, batches


def bodies(n: int, start: int = 0, collection: Collection = ASKED, seed: int = 1) -> list[Body]:
    """Return n bodies of one report each; their ids count from `start`."""
    whole = body(n, start, collection, seed)
    return [Body(whole.collection, whole.ids[i : i + 1], whole.rows[i : i + 1]) for i in range(n)]


def body(n: int, start: int = 0, collection: Collection = ASKED, seed: int = 1) -> Body:
    """Return one body of n reports."""
    codes = np.stack([(np.arange(n) + seed) % size for size in collection.schema.sizes], axis=1)
    rows = to_wire(collection.mechanism, collection.randomize(codes, SimulationRandomness(seed)))
    ids = np.zeros((n, 16), np.uint8)
    ids[:, 8:] = np.arange(start, start + n).astype(">u8").view(np.uint8).reshape(n, 8)
    return Body(collection.id, ids, rows)


def open_survey(surveys: Surveys, slug: str = "smoking", collection: Collection = ASKED, **changes: Any) -> Collection:
    """Enter a survey and open it."""
    surveys.new(slug, collection.to_json(), page(collection, **changes), ".")
    surveys.open(slug, anyway="only to test it")
    return collection


class Clock:
    """A clock that moves only on command."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        """Move forwards, or backwards."""
        self.now += timedelta(**by)


@dataclass
class Answer:
    """Answer of a collector."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def problem(self) -> str:
        """Return the name of the problem; check that the status fits, and that the body is a problem document."""
        said = self.json
        assert self.headers["content-type"] == "application/problem+json"
        assert said["status"] == self.status
        assert set(said) <= {"type", "title", "status", "detail"}
        return str(said["type"]).removeprefix("urn:deniable:problem:")


@dataclass
class Caller:
    """Client of one port; each request has a new connection unless kept."""

    origin: str
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, method: str, path: str, content: Any = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self.origin).netloc, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(content, (dict, list)):
            content, named = json.dumps(content).encode(), {"content-type": "application/json", **named}
        with contextlib.closing(connection):
            connection.request(method, path, content, {**self.headers, **named})
            found = connection.getresponse()
            return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())

    def post(self, body: Body, **headers: str) -> Answer:
        """Post reports as JSON; post batches with the sender's token."""
        path = f"/api/v1/collections/{body.collection}/reports"
        if body.n > 1:
            headers = {"authorization": f"Bearer {TOKEN}", **headers}
        return self("POST", path, body.to_json(), **{"content-type": "application/json", **headers})


@contextlib.contextmanager
def collecting(
    database: str,
    *,
    limits: bool = False,
    drain_seconds: float = 3600.0,
    clock: Callable[[], datetime] | None = None,
    while_open: Step = 1,
    patience: float = 0.0,
    **settings: Any,
) -> Iterator[Running]:
    """Run a collector on free ports: it drains on request only, releases each batch, and trusts its clock."""
    configuration = Configuration(
        database=database,
        public="127.0.0.1:0",
        admin="127.0.0.1:0",
        limits=LimitsShape(off=not limits),
        results=ResultsShape(while_open=while_open),
        **settings,
    )
    more = {} if clock is None else {"clock": clock}
    with running(configuration, migrate=True, drain_seconds=drain_seconds, patience=patience, **more) as here:
        add_sender(here.collector.store)
        yield here


def add_sender(store: Store) -> None:
    """Add a sender with the token `TOKEN` who may send batches."""
    store.add_analyst("robot", "sender", f"scrypt$0$0$0${'00' * 16}${'00' * 64}")
    store.add_session(digest(TOKEN), "robot", "token", None)


def sqlite(folder: Path) -> str:
    """Return the address of a database in a folder."""
    return f"sqlite:{folder / 'survey.db'}"


def until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
