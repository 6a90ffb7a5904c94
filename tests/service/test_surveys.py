"""Surveys from draft to closed, by hand and by the clock; refusals on the way, and the export."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import GRR, CountMeanSketch, HeavyHitters
from deniable.core.aggregate import Aggregate
from deniable.errors import DuplicateReportsError, InvalidParameterError, StoreError
from deniable.files import aggregate_files
from deniable.files.wire import from_wire
from deniable.research.dealt import QuotaRR
from deniable.service.stores import open_store
from deniable.service.surveys import Survey, Surveys
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema
from tests.service.asking import (
    ASKED,
    SCHEMA,
    Caller,
    Clock,
    bodies,
    body,
    collecting,
    open_survey,
    page,
    sqlite,
    summed,
    until,
)

API = f"/api/v1/collections/{ASKED.id}"


# -------------------------------------------------------------------- the page


BAD_PAGES: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "few in a batch": ({"min_batch": 19}, InvalidParameterError, "min_batch must be >= 20, got min_batch=19"),
    "no people": ({"contributors": 0}, InvalidParameterError, "contributors must be >= 1"),
    "no zone": ({"closes_at": "2026-05-01T00:00:00"}, InvalidParameterError, "closes_at must be a time with its zone"),
    "no time": ({"opens_at": "tomorrow"}, InvalidParameterError, "opens_at must be a time"),
    "closed before": (
        {"opens_at": "2026-05-02T00:00:00Z", "closes_at": "2026-05-01T00:00:00Z"},
        InvalidParameterError,
        "closes_at must be after opens_at",
    ),
    "grace": ({"grace_hours": -1.0}, InvalidParameterError, "grace_hours must be >= 0, got grace_hours=-1.0"),
    "long grace": (
        {"grace_hours": 8784.5},
        InvalidParameterError,
        "grace_hours must be <= 8784, got grace_hours=8784.5",
    ),
}


@pytest.mark.parametrize("kind", BAD_PAGES)
def test_terms_out_of_bounds_are_refused(surveys: Surveys, kind: str) -> None:
    changes, error, said = BAD_PAGES[kind]
    with pytest.raises(error, match=said):
        surveys.new("smoking", ASKED.to_json(), page(**changes), ".")
    assert surveys.list() == []


def test_a_survey_that_would_close_at_once_is_not_opened(tmp_path: Path) -> None:
    clock = Clock()
    surveys = Surveys(open_store(sqlite(tmp_path), migrate=True), clock=clock)
    for closes in ("2026-05-01T12:00:00Z", "2026-05-01T13:59:00+02:00"):
        surveys.new("smoking", ASKED.to_json(), page(closes_at=closes), ".")
        with pytest.raises(InvalidParameterError, match="closes_at of “smoking” must be later than now"):
            surveys.open("smoking")
    assert surveys.status("smoking")["state"] == "draft"
    surveys.new("smoking", ASKED.to_json(), page(closes_at="2026-05-01T12:00:01Z"), ".")
    assert surveys.open("smoking")["state"] == "open"


def test_what_a_page_cannot_ask_is_refused(surveys: Surveys, tmp_path: Path) -> None:
    for slug in ("", "-a", "A", "a/b", "a" * 65, "ä"):
        with pytest.raises(InvalidParameterError, match="slug must be"):
            surveys.new(slug, ASKED.to_json(), page(), ".")
    with pytest.raises(InvalidParameterError, match="languages must be left out when a page is given"):
        surveys.new("smoking", ASKED.to_json(), page(), ".", languages=["de"])
    assert surveys.new("a" * 64, ASKED.to_json(), page(), ".")["slug"] == "a" * 64
    dealt = Collection(SCHEMA, QuotaRR(n=10, k=3, epsilon=1.0, deal_id="deal"))
    with pytest.raises(InvalidParameterError, match="a survey on a collector is not available for QuotaRR"):
        surveys.new("dealt", dealt.to_json(), None, ".")
    text = Collection(Schema((Attribute("word", text=True),)), HeavyHitters(epsilon=4.0))
    with pytest.raises(
        InvalidParameterError, match="a collector can ask only questions with categories, got open text"
    ):
        surveys.new("text", text.to_json(), None, ".")
    words = tmp_path / "words.txt"
    words.write_text("".join(f"{'w' * 40}{i}\n" for i in range(50_000)))
    large = Collection(Schema((Attribute.from_dictionary("word", words),)), CountMeanSketch(50_000, 1.0, 16, "spread"))
    with pytest.raises(InvalidParameterError, match="must have at most 2097152 bytes"):
        surveys.new("large", large.to_json(), None, str(tmp_path))


# -------------------------------------------------------------------- states


def test_states_go_forward_and_a_survey_that_was_opened_is_fixed(surveys: Surveys) -> None:
    open_survey(surveys)
    assert surveys.pause("smoking")["state"] == "paused"
    with pytest.raises(
        InvalidParameterError,
        match="the survey “smoking” must be open before it can become paused, but it is paused",
    ):
        surveys.pause("smoking")
    assert surveys.open("smoking")["state"] == "open"
    with pytest.raises(StoreError, match="the survey “smoking” is open, so its questions cannot be changed"):
        surveys.new("smoking", ASKED.to_json(), page(min_batch=50), ".")
    with pytest.raises(StoreError, match="this collection already belongs to the survey “smoking”"):
        surveys.new("again", ASKED.to_json(), page(), ".")
    assert surveys.close("smoking")["state"] == "closing"
    with pytest.raises(
        InvalidParameterError, match="only an open or paused survey can be closed, but “smoking” is closing"
    ):
        surveys.close("smoking")
    for act in (surveys.open, surveys.pause):
        with pytest.raises(InvalidParameterError, match="but it is closing"):
            act("smoking")
    assert surveys.close("smoking", now=True)["state"] == "closed"
    for act in (surveys.open, surveys.pause):
        with pytest.raises(InvalidParameterError, match="but it is closed"):
            act("smoking")
    with pytest.raises(
        InvalidParameterError, match="must be the name of a survey, got slug=“other”; the surveys are: smoking"
    ):
        surveys.status("other")


def test_what_is_wrong_with_one_survey_keeps_no_other_from_its_drain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The watch continues after any error: a full disk for temporary files is not an error of the store."""
    other = Collection(Schema((Attribute("a", ("x", "y")),)), GRR(k=2, epsilon=1.0))
    with collecting(sqlite(tmp_path), drain_seconds=0.05) as here:
        surveys, call = here.collector.surveys, Caller(here.public)
        fold = Survey.fold

        def folded(survey: Survey, rows: Any, counts: bytes) -> Any:
            if survey.collection.id == other.id:
                raise ValueError("a report of somebody's")
            return fold(survey, rows, counts)

        monkeypatch.setattr(Survey, "fold", folded)
        # The survey that fails comes first by name.
        open_survey(surveys, "a-broken-one", other)
        open_survey(surveys)
        here.collector.refresh()
        for collection in (other, ASKED):
            assert call.post(body(30, collection=collection)).status == 201
        until(lambda: surveys.status("smoking")["n"] == 30)
        assert call.post(body(30, start=30)).status == 201
        until(lambda: surveys.status("smoking")["n"] == 60)
        assert here.collector.store.waiting(other.id) == 30
        monkeypatch.undo()
        until(lambda: surveys.status("a-broken-one")["n"] == 30)
    assert "the watch failed: ValueError" in caplog.text
    assert "somebody" not in caplog.text


def test_a_full_disk_is_said_and_what_comes_again_counts_once(tmp_path: Path) -> None:
    """Through the public port, as for devices: 503, then the same bytes again, without loss or double counts."""
    with collecting(sqlite(tmp_path)) as here:
        surveys, call, store = here.collector.surveys, Caller(here.public), here.collector.store
        open_survey(surveys)
        here.collector.refresh()
        assert call.post(body(20)).status == 201
        writer: sqlite3.Connection = store._writer  # type: ignore[attr-defined]
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages + 15}")
        answers = [call.post(body(500, start)) for start in range(20, 4020, 500)]
        assert {answer.status for answer in answers} == {201, 503}
        refused = [answer for answer in answers if answer.status == 503]
        assert {answer.problem for answer in refused} == {"store"}
        assert all(int(answer.headers["retry-after"]) > 0 for answer in refused)
        # Stored data can be read in the meantime.
        assert call("GET", f"/api/v1/collections/{ASKED.id}/state").json["state"] == "open"
        assert store.waiting(ASKED.id) == 20 + 500 * (len(answers) - len(refused))
        writer.execute("PRAGMA max_page_count = 1073741823")
        again = [call.post(body(500, start)).json for start in range(20, 4020, 500)]
        assert [found["already"] for found in again] == [500 * (answer.status == 201) for answer in answers]
        assert sum(found["counted"] for found in again) == 500 * len(refused)
        surveys.close("smoking", now=True)
        assert surveys.status("smoking")["n"] == 4020


def test_a_clock_that_jumps_loses_nothing_and_counts_nothing_twice(tmp_path: Path) -> None:
    """Through the public port: only the effect of `closes_at` moves with the clock."""
    clock = Clock()
    with collecting(sqlite(tmp_path), clock=clock) as here:
        surveys, call = here.collector.surveys, Caller(here.public)
        open_survey(surveys, closes_at="2026-06-01T00:00:00Z", grace_hours=1.0)
        here.collector.refresh()
        for i, days in enumerate((0, -3000, 3010, -15, 10)):
            clock.move(days=days)
            assert call.post(body(30, start=20 * i)).json["counted"] == (30 if not i else 20)
            assert here.collector.drain() > 0
        assert surveys.status("smoking")["n"] == 110
        clock.move(days=60)
        until(lambda: surveys.row("smoking").state == "closed")
        here.collector.refresh()
        assert call.post(body(1)).problem == "closed"
        clock.move(days=-60)
        assert call.post(body(1)).problem == "closed"
        assert surveys.status("smoking")["n"] == 110
        assert Aggregate.from_bytes(surveys.export("smoking")).n == 110


def test_devices_draw_only_while_open_and_what_was_drawn_is_taken_until_grace_ends(tmp_path: Path) -> None:
    with collecting(sqlite(tmp_path)) as here:
        surveys, call = here.collector.surveys, Caller(here.public)
        surveys.new("smoking", ASKED.to_json(), page(), ".")

        def posted(start: int) -> str:
            here.collector.refresh()
            answer = call.post(bodies(1, start)[0])
            return "" if answer.status == 201 else answer.problem

        def state() -> str:
            return str(call("GET", f"{API}/state").json["state"])

        assert (posted(0), state()) == ("not-open", "draft")
        surveys.open("smoking")
        assert (posted(1), state()) == ("", "open")
        surveys.pause("smoking")
        assert (posted(2), state()) == ("not-open", "paused")
        surveys.open("smoking")
        surveys.close("smoking")
        assert (posted(3), state()) == ("", "closing")
        # This comes between the check of the state and the commit. The commit's own check counts, and a paused survey
        # goes on later.
        store = here.collector.store
        with store._working() as run:
            run("UPDATE collections SET state = 'paused'")
        answer = call.post(bodies(1, 4)[0])
        assert (answer.status, answer.problem) == (425, "not-open")
        with store._working() as run:
            run("UPDATE collections SET state = 'closing'")
        store.drain(ASKED.id, 1, surveys.load(ASKED.id).fold, "2026-05-01", close=True)
        answer = call.post(bodies(1, 4)[0])
        assert (answer.status, answer.problem) == (410, "closed")
        assert (posted(5), state()) == ("closed", "closed")
        assert summed(store, ASKED.id)[1] == 2
        here.collector.ingest.write_rejections()
        assert store.rejections(ASKED.id)["not-open"] == 3


# -------------------------------------------------------------------- exports


def test_the_export_is_what_aggregate_makes_of_what_was_acknowledged(tmp_path: Path) -> None:
    with collecting(sqlite(tmp_path)) as here:
        open_survey(here.collector.surveys)
        here.collector.refresh()
        sent = bodies(60)
        assert [Caller(here.public).post(one).status for one in (*sent[:60], *sent[:6])] == [201] * 60 + [200] * 6
        assert here.collector.drain() == 60
        exported = here.collector.surveys.export("smoking")
        again = here.collector.surveys.export("smoking")
    (tmp_path / "posted.jsonl").write_bytes(b"\n".join(one.to_json() for one in sent))
    expected = aggregate_files(ASKED, [tmp_path / "posted.jsonl"], tmp_path / "posted.aggregate")
    (tmp_path / "exported.aggregate").write_bytes(exported)
    found = Aggregate.load(tmp_path / "exported.aggregate")
    assert (found.n, found.mechanism, found.collection) == (60, expected.mechanism, expected.collection)
    assert np.array_equal(found.counts, expected.counts)
    (source,) = found.batches
    assert source.startswith("collector:")
    assert again == exported
    with pytest.raises(DuplicateReportsError):
        found + found
    ASKED.estimate(found)


def test_kept_reports_are_shuffled_batches_that_add_up_to_the_sum(surveys: Surveys, tmp_path: Path) -> None:
    open_survey(surveys, retention="reports")
    store, survey = surveys.store, surveys.load(ASKED.id)
    from deniable.service.stores.store import Posted

    for start in (0, 40):
        one = body(40, start)
        store.take({ASKED.id: Posted(one.ids, one.rows)})
        assert surveys.drain(surveys.row("smoking"), survey) == 40
    files = surveys.export_reports("smoking")
    assert sorted(files) == ["batch-000001.parquet", "batch-000002.parquet"]
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    found = aggregate_files(ASKED, [tmp_path / name for name in files], tmp_path / "sum")
    (tmp_path / "exported").write_bytes(surveys.export("smoking"))
    assert np.array_equal(found.counts, Aggregate.load(tmp_path / "exported").counts)
    assert found.n == 80


def test_of_more_counters_than_a_collector_keeps_it_keeps_reports(
    surveys: Surveys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("deniable.service.surveys.MAX_COUNTERS", 2)
    with pytest.raises(
        InvalidParameterError, match="retention must be “reports”, got “aggregate”: the sum would have 3 counters"
    ):
        surveys.new("smoking", ASKED.to_json(), page(), ".")
    open_survey(surveys, retention="reports")
    one = body(40)
    from deniable.service.stores.store import Posted

    surveys.store.take({ASKED.id: Posted(one.ids, one.rows)})
    assert surveys.drain(surveys.row("smoking"), surveys.load(ASKED.id)) == 40
    with pytest.raises(InvalidParameterError, match="Export the reports with"):
        surveys.export("smoking")
    ((name, content),) = surveys.export_reports("smoking").items()
    (tmp_path / name).write_bytes(content)
    found = aggregate_files(ASKED, [tmp_path / name], tmp_path / "sum")
    assert np.array_equal(found.counts, ASKED.mechanism.aggregate(from_wire(ASKED.mechanism, one.rows)).counts)


def test_a_survey_that_keeps_no_reports_exports_none(surveys: Surveys) -> None:
    open_survey(surveys)
    with pytest.raises(InvalidParameterError, match="keeps no reports"):
        surveys.export_reports("smoking")
