"""Demonstration as a running survey: the page, the dashboard, and contributors whose answers are real.

The survey is Fair's (1978), as in `deniable.survey.example`. Everything lies in a folder that goes away with the
process. Simulated contributors send their reports to the public port as any device would, one each.
"""

from __future__ import annotations

import contextlib
import http.client
import secrets
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.randomness import SecureRandomness, uniform_below
from deniable.errors import UploadError
from deniable.files.wire import ID_BYTES, JSON_TYPE, Body, to_wire
from deniable.planning import recommend
from deniable.service.auth import LINK, Logins, hash_password
from deniable.service.collector import Collector
from deniable.service.config import Configuration, LimitsShape, ResultsShape
from deniable.service.server import Running, running
from deniable.service.survey_page import draft_page
from deniable.survey.collection import Collection
from deniable.survey.example import TITLE, demo_answers, demo_schema

SLUG = "demo"
EPSILON = "4"
MIN_BATCH = 20
DRAIN_SECONDS = 2.0
_SENDERS = 8

Progress = Callable[[int, int | None], None]


def demo_collection(epsilon: str = EPSILON) -> Collection:
    """Return the collection of the demonstration: its questions, and how answers are randomised."""
    schema = demo_schema()
    return Collection(schema, recommend(schema.sizes, epsilon), title=TITLE)


@contextlib.contextmanager
def demonstration(
    public: str = "127.0.0.1:0", admin: str = "127.0.0.1:0", epsilon: str = EPSILON
) -> Iterator[tuple[Running, str, str]]:
    """Run the demonstration inside the block.

    Yields
    ------
    (Running, str, str)
        The collector, the survey's link, and a link that logs in once.

    Raises
    ------
    MissingExtraError
        If the demonstration's data are not installed.
    OutputError
        If a port is taken.
    """
    with tempfile.TemporaryDirectory(prefix="deniable-demo-") as folder:
        configuration = Configuration(
            database=f"sqlite:{Path(folder) / 'demo.db'}",
            public=public,
            admin=admin,
            limits=LimitsShape(off=True),
            results=ResultsShape(while_open=1),
        )
        with running(configuration, migrate=True, drain_seconds=DRAIN_SECONDS) as here:
            collection = demo_collection(epsilon)
            make_survey(here.collector, collection)
            link = f"{here.public}/s/{SLUG}#{here.collector.surveys.load(collection.id).link_digits}"
            here.collector.store.add_analyst("demo", "owner", hash_password(secrets.token_urlsafe(24)))
            login = Logins(here.collector.store, here.collector.clock).issue("demo", "link", LINK)
            yield here, link, f"{here.admin}/login#{login}"


def make_survey(collector: Collector, collection: Collection) -> None:
    """Add the demonstration's survey with its page, and open it."""
    page = draft_page(collection, contributors=6366)
    words = page.languages["en"].model_copy(
        update={
            "title": TITLE,
            "intro": "This is a demonstration. In 1978, readers of Redbook were asked these questions. "
            "Answer as one of them, or as you like.",
            "consent": "This is only a demonstration: your report stays on this machine, and is deleted when the "
            "demonstration ends.",
            "questions": {one.name: one.title for one in demo_schema().attributes},
        }
    )
    contact = "the person who started this demonstration"
    changed = {"languages": {"en": words}, "min_batch": MIN_BATCH, "contact": contact}
    text = page.model_copy(update=changed).to_json()
    collector.surveys.new(SLUG, collection.to_json(), text, ".")
    collector.surveys.open(SLUG)
    collector.refresh()


def rehearse(public: str, collection: Collection, contributors: int, progress: Progress | None = None) -> int:
    """Let this many of the demonstration's women, chosen at random, answer through the public port.

    Parameters
    ----------
    public : str
        Address of the public port.
    collection : Collection
        Collection of the demonstration.
    contributors : int
        Number of women. None answers twice, so there are at most as many as in the data.
    progress : callable, optional
        Function that is called with (answered, all).

    Returns
    -------
    int
        Number of reports that were counted.

    Raises
    ------
    UploadError
        If the collector does not take a report.
    """
    codes = collection.schema.encode(demo_answers())
    # The women are put in a random order, and the first of them are chosen.
    chosen = np.argsort(uniform_below(SecureRandomness(), 1 << 62, len(codes)), kind="stable")[:contributors]
    return answer(public, collection, codes[chosen], progress)


def answer(
    public: str,
    collection: Collection,
    codes: Codes,
    progress: Progress | None = None,
    ids: NDArray[np.uint8] | None = None,
) -> int:
    """Let contributors answer through the public port, one report each, and return how many were counted.

    Parameters
    ----------
    public : str
        Address of the public port.
    collection : Collection
        Collection that they are asked.
    codes : int[n, d]
        Answers of the contributors.
    progress : callable, optional
        Function that is called with (answered, all).
    ids : uint8[n, 16], optional
        Ids of the reports, if contributors were invited; random ids by default.

    Raises
    ------
    UploadError
        If the collector does not take a report.
    """
    rows = to_wire(collection.mechanism, collection.randomize(codes, SecureRandomness()))
    if ids is None:
        ids = np.frombuffer(secrets.token_bytes(ID_BYTES * len(rows)), np.uint8).reshape(len(rows), ID_BYTES)
    parts = [range(start, len(rows), _SENDERS) for start in range(_SENDERS)]
    done = [0] * _SENDERS

    def send(sender: int) -> None:
        host = urlsplit(public).netloc
        connection = http.client.HTTPConnection(host, timeout=30)
        with contextlib.closing(connection):
            for i in parts[sender]:
                body = Body(collection.id, ids[i : i + 1], rows[i : i + 1])
                path = f"/api/v1/collections/{collection.id}/reports"
                connection.request("POST", path, body.to_json(), {"Content-Type": JSON_TYPE})
                found = connection.getresponse()
                found.read()
                if found.status != 201:
                    raise UploadError(f"the collector refused a report with the status {found.status}")
                done[sender] += 1
                if progress is not None:
                    progress(sum(done), len(rows))

    with ThreadPoolExecutor(_SENDERS) as pool:
        list(pool.map(send, range(_SENDERS)))
    return sum(done)
