"""Privacy rules of the collector, each with a test that fails without the rule."""

from __future__ import annotations

import json
import logging
import re
import secrets
from pathlib import Path

import numpy as np
import pytest

from deniable import GRR
from deniable.files.wire import Body
from deniable.service.stores import open_store
from deniable.service.stores.migrations import STEPS
from deniable.service.surveys import Surveys
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema
from tests.service.asking import ASKED, Caller, Clock, body, collecting, open_survey, sqlite, summed
from tests.service.test_store import take

# Reports have five bytes, so that one report can be found among others.
WORDS = Schema(tuple(Attribute(f"a{j}", tuple(f"{j}-{v}" for v in range(200))) for j in range(5)))


def test_nothing_of_a_person_is_in_the_database_its_log_or_the_servers_after_a_thousand_uploads(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """No address, program, token or time of a report; after the drain, no report beside an id."""
    from deniable import SPL

    asked = Collection(WORDS, SPL(sizes=WORDS.sizes, epsilon=20.0))
    from deniable.service.server import begin_log

    begin_log()
    logging.getLogger("deniable.service").setLevel(logging.DEBUG)
    generator = np.random.default_rng(1)
    ids = np.frombuffer(secrets.token_bytes(16 * 1000), np.uint8).reshape(1000, 16)
    rows = generator.integers(0, 200, (1000, 5), dtype=np.uint8)
    marks = {"user-agent": "MarkedBrowser/77", "cookie": "marked=1", "x-forwarded-for": "203.0.113.77"}
    try:
        with collecting(sqlite(tmp_path), trusted_proxies=["127.0.0.0/8"], limits=False) as here:
            open_survey(here.collector.surveys, "marked", asked)
            here.collector.refresh()
            call = Caller(here.public, marks)
            for i in range(0, 1000, 10):
                sent = Body(asked.id, ids[i : i + 10], rows[i : i + 10])
                assert call.post(sent).status == 201
                name = json.loads(sent.to_json())["reports"][0]["id"]
                call("POST", f"/api/v1/collections/{asked.id}/receipts?token=MarkedToken", {"id": name})
            assert here.collector.drain() == 1000
            stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    finally:
        for name in ("deniable.service", "deniable.service.access", "uvicorn.error"):
            logging.getLogger(name).handlers, logging.getLogger(name).propagate = [], True
    logged = capfd.readouterr().err
    # There is no time beside a line of an upload either.
    uploads = [line.partition(", ") for line in logged.splitlines() if "/reports 201 " in line]
    assert sum(int(times.removesuffix(" times") or "1") for _, _, times in uploads) == 100
    assert {line.rpartition(" ")[0] for line, _, _ in uploads} == {"INFO POST /api/v1/collections/{id}/reports 201"}
    for secret in (b"MarkedBrowser", b"marked=", b"203.0.113", b"127.0.0.1", b"MarkedToken"):
        assert secret not in stored
        assert secret.decode() not in logged
    names = [
        re.escape(json.loads(Body(asked.id, ids[i : i + 1], rows[i : i + 1]).to_json())["reports"][0]["id"])
        for i in range(0, 1000, 10)
    ]
    assert not re.search("|".join(names), logged)
    assert asked.id not in logged
    # The ids are there, as receipts. Nothing is left of the reports, in the file or its log.
    assert sum(one.tobytes() in stored for one in ids) == 1000
    assert sum(one.tobytes() in stored for one in rows) == 0
    # No time of a report is stored: seconds since the epoch, or dates with a time, occur only for the owners' acts.
    times = re.findall(rb"20\d\d-\d\d-\d\dT[0-9:.+]+", stored)
    assert len(times) <= 2


def test_receipts_and_inbox_share_no_column_but_the_collection_and_neither_has_a_time() -> None:
    statements = " ".join(STEPS[0])
    for table, columns in (("receipts", "collection nullifier"), ("inbox", "collection report")):
        found = re.search(rf"CREATE TABLE {table} \((.*?)(?:, PRIMARY KEY \([^)]*\))?\)(?:\{{| |$)", statements)
        assert found is not None
        names = [part.split()[0] for part in re.sub(r", PRIMARY.*", "", found[1]).split(",")]
        assert " ".join(names) == columns


def test_two_looks_differ_by_a_batch_of_reports_until_the_last(tmp_path: Path) -> None:
    store = open_store(sqlite(tmp_path), migrate=True)
    surveys = Surveys(store, Clock())
    open_survey(surveys, min_batch=50)
    survey, seen = surveys.load(ASKED.id), [0]
    generator = np.random.default_rng(3)
    start = 0
    for size in generator.integers(1, 40, 60):
        take(store, (int(size), start, 1))
        start += int(size)
        surveys.drain(surveys.row("smoking"), survey)
        seen.append(summed(store, ASKED.id)[1])
    steps = np.diff(seen)
    assert set(steps[steps > 0] >= 50) == {True}
    assert (steps == 0).any()
    rest = start - seen[-1]
    surveys.close("smoking", now=True)
    assert summed(store, ASKED.id)[1] == start
    assert rest < 50 + 40
    store.close()


def test_a_batch_is_in_random_order(tmp_path: Path) -> None:
    """Stored reports do not show the order of arrival: 400 arrive as 0, 1, 2, 0, ..., and the order is lost."""
    import pyarrow.parquet as pq

    store = open_store(sqlite(tmp_path), migrate=True)
    surveys = Surveys(store, Clock())
    ranks = Collection(Schema((Attribute("rank", tuple(map(str, range(400)))),)), GRR(k=400, epsilon=1.0))
    open_survey(surveys, "ranks", ranks, retention="reports")
    from deniable.files.wire import to_wire
    from deniable.service.stores.store import Posted

    ids = body(400).ids
    for start in range(0, 400, 4):
        rows = to_wire(ranks.mechanism, np.arange(start, start + 4, dtype=np.uint16))
        store.take({ranks.id: Posted(ids[start : start + 4], rows)})
    assert surveys.drain(surveys.row("ranks"), surveys.load(ranks.id)) == 400
    (content,) = surveys.export_reports("ranks").values()
    (tmp_path / "x.parquet").write_bytes(content)
    found = pq.read_table(tmp_path / "x.parquet").column("value").to_numpy()
    assert sorted(found.tolist()) == list(range(400))
    # Spearman's correlation with the order of arrival must be within 5 standard deviations of a random order.
    assert abs(np.corrcoef(found, np.arange(400))[0, 1]) < 5 / np.sqrt(399)
    store.close()


def test_answers_are_the_same_for_everybody(tmp_path: Path) -> None:
    """No cookies, no state of a visitor: two people get equal answers except for the date."""
    with collecting(sqlite(tmp_path)) as here:
        open_survey(here.collector.surveys)
        here.collector.refresh()
        for path in (f"/api/v1/collections/{ASKED.id}", f"/api/v1/collections/{ASKED.id}/page", "/s/smoking"):
            first, second = (Caller(here.public, {"user-agent": name})("GET", path) for name in ("one", "two"))
            assert "set-cookie" not in first.headers
            assert first.content == second.content
            assert {k: v for k, v in first.headers.items() if k != "date"} == {
                k: v for k, v in second.headers.items() if k != "date"
            }
