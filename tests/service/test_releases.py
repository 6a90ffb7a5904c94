"""Releases for analysts: the difference of two looks is always a whole release step."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb, prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import GRR
from deniable.core.aggregate import Aggregate
from deniable.errors import DuplicateReportsError
from deniable.files import ReportReader, aggregate_files
from deniable.files.wire import Body, from_wire, to_wire
from deniable.service.auth import hash_password
from deniable.service.metrics import machine_gauges
from deniable.service.server import Running
from deniable.service.stores import migrate_store, open_store
from deniable.service.stores.migrations import STEPS
from deniable.service.stores.releases import Release, is_due
from deniable.service.stores.store import Posted
from deniable.service.surveys import Surveys
from tests.service.asking import ASKED, PASSWORD, Caller, Clock, bodies, body, collecting, open_survey, page, summed

DAY = "2026-05-01"


def logged_in(here: Running) -> Caller:
    """An analyst with read access only."""
    call = Caller(here.admin, {"origin": here.admin})
    cookie = call("POST", "/session", {"name": "bob", "password": PASSWORD}).headers["set-cookie"].partition(";")[0]
    return Caller(here.admin, {"origin": here.admin, "cookie": cookie})


def look(here: Running, me: Caller) -> dict[str, Any]:
    """Return all data that an analyst can read, except the time of a download."""
    here.collector.refresh()
    surveys = here.collector.surveys
    found: dict[str, Any] = {
        path: me("GET", f"/surveys/smoking/{path}").content for path in ("results.json", "results.csv", "aggregate")
    }
    found |= {path: me("GET", path).content for path in ("/", "/surveys/smoking")}
    found["report"] = me("GET", "/surveys/smoking/report.html").content
    found["status"], found["list"] = surveys.status("smoking"), surveys.list()
    found["export"], found["files"] = surveys.export("smoking"), surveys.export_reports("smoking")
    return found


def counts(seen: dict[str, Any], folder: Path) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the counts that an analyst has downloaded, in any format."""
    downloaded, exported = Aggregate.from_bytes(seen["aggregate"]), Aggregate.from_bytes(seen["export"])
    assert seen["aggregate"] == seen["export"]
    stated = json.loads(seen["results.json"])
    assert downloaded.n == exported.n == stated["n"] == seen["status"]["n"] == seen["list"][0]["n"]
    rows = list(csv.DictReader(io.StringIO(seen["results.csv"].decode())))
    estimated = [float(row["estimate"]) for row in rows]
    assert estimated == pytest.approx(ASKED.estimate(downloaded)["smoker"].frequencies.tolist(), abs=1e-6)
    paths = [folder / name for name in seen["files"]]
    for path in paths:
        path.write_bytes(seen["files"][path.name])
    added = aggregate_files(ASKED, paths, folder / f"sum-{downloaded.n}")
    assert np.array_equal(added.counts, downloaded.counts)
    return downloaded.counts


@pytest.fixture
def here(database: str) -> Iterator[tuple[Running, Clock]]:
    """A collector with default settings and a survey whose first batch has arrived."""
    clock = Clock()
    with collecting(database, clock=clock, while_open="day") as running:
        running.collector.store.add_analyst("bob", "analyst", hash_password(PASSWORD))
        open_survey(running.collector.surveys, retention="reports")
        running.collector.refresh()
        assert Caller(running.public).post(body(100)).status == 201
        assert running.collector.drain() == 100
        yield running, clock


def test_a_forger_cannot_take_one_person_out_of_two_looks(here: tuple[Running, Clock], tmp_path: Path) -> None:
    """An analyst fills a batch of 20 with 19 own reports, so that the difference without them is one person's report.

    For all requests, the difference must contain all reports of the release step.
    """
    running, clock = here
    me, call, mechanism = logged_in(running), Caller(running.public), ASKED.mechanism
    before = look(running, me)
    first = counts(before, tmp_path)
    assert first.sum() == 100
    forged, person = body(19, 1000, seed=2), body(1, 2000, seed=3)
    for sent in (forged, person):
        assert call.post(sent).status == 201
    assert running.collector.drain() == 20
    # Nothing that the analyst reads has changed.
    assert look(running, me) == before
    # Others come on the same day. Then the day ends.
    others = body(40, 3000, seed=4)
    assert call.post(others).status == 201
    assert running.collector.drain() == 40
    assert look(running, me) == before
    clock.move(days=1)
    running.collector.surveys.tick({})
    me = logged_in(running)
    after = look(running, me)
    gained = counts(after, tmp_path) - first
    assert gained.sum() == 60
    # Without the forged reports, only the sum of the step's other 41 reports is left.
    rest = Body(ASKED.id, np.concatenate([person.ids, others.ids]), np.concatenate([person.rows, others.rows]))
    known = mechanism.aggregate(from_wire(mechanism, forged.rows)).counts
    assert np.array_equal(gained - known, mechanism.aggregate(from_wire(mechanism, rest.rows)).counts)
    assert look(running, me) == after
    # The files of reports are those of the steps, sorted, not those of the batches in them.
    assert sorted(after["files"]) == ["batch-000001.parquet", "batch-000002.parquet"]
    (tmp_path / "step.parquet").write_bytes(after["files"]["batch-000002.parquet"])
    step = np.concatenate([to_wire(mechanism, reports) for reports in ReportReader(tmp_path / "step.parquet", ASKED)])
    assert step.tolist() == sorted(np.concatenate([forged.rows, rest.rows]).tolist())
    # A step has one file in every export, so two files of one step do not add up.
    (tmp_path / "again.parquet").write_bytes(
        running.collector.surveys.export_reports("smoking")["batch-000002.parquet"]
    )
    with pytest.raises(DuplicateReportsError):
        aggregate_files(ASKED, [tmp_path / "step.parquet", tmp_path / "again.parquet"], tmp_path / "sum")


def test_how_many_wait_is_told_to_nobody(here: tuple[Running, Clock]) -> None:
    """Otherwise an analyst would know when 19 own reports and one more have arrived."""
    running, _ = here
    me, call = logged_in(running), Caller(running.public)
    before, metrics = look(running, me), running.collector.gauges()
    assert call.post(body(19, 5000)).status == 201
    assert look(running, me) == before
    assert running.collector.gauges() == metrics
    assert metrics['deniable_batch_waiting{survey="smoking"}'] == 0
    assert not any("inbox" in name for name in metrics)
    # From a whole batch on, operators see that a drain is due.
    assert call.post(body(1, 6000)).status == 201
    assert running.collector.gauges()['deniable_batch_waiting{survey="smoking"}'] == 1
    assert running.collector.drain() == 20
    assert running.collector.gauges()['deniable_batch_waiting{survey="smoking"}'] == 0


def watched(running: Running) -> list[str]:
    """Return a monitor's readings that do not change with its own requests or with the machine."""
    text = running.collector.metrics.text(
        {**running.collector.gauges(), **machine_gauges(running.collector.store.file)}
    )
    own = re.compile(
        r'^#|route="(GET|POST|DELETE) /(metrics|surveys|session|assets)|memory|open_files|last_watch|up_time'
    )
    return [line for line in text.splitlines() if not own.search(line)]


def test_metrics_move_with_drains_only(here: tuple[Running, Clock]) -> None:
    """Otherwise a monitor could subtract the summed reports from the counted ones, and know how many wait."""
    running, _ = here
    call, collector = Caller(running.public), running.collector
    open_survey(collector.surveys, "other", replace(ASKED, title="Other"))
    collector.refresh()
    before = watched(running)
    for one in bodies(7, 5000):
        assert call.post(one).status == 201
    assert call.post(bodies(7, 5000)[0]).status == 200
    assert call.post(body(5, 5003)).status == 200
    collector.refresh()
    assert watched(running) == before
    # A drain of another survey says nothing about this survey.
    other = body(20, 0, replace(ASKED, title="Other"))
    assert call.post(other).status == 201
    assert collector.drain() == 20
    shown = watched(running)
    assert 'deniable_reports_total{outcome="counted"} 120' in shown
    assert not any("already" in line for line in shown)
    assert "deniable_commit_reports_sum 120" in shown
    # After its own drain everything is there.
    assert call.post(body(18, 6000)).status == 201
    assert collector.drain() == 26
    shown = watched(running)
    assert 'deniable_reports_total{outcome="counted"} 146' in shown
    assert 'deniable_reports_total{outcome="already"} 5' in shown
    assert "deniable_commit_reports_sum 151" in shown


def taken(surveys: Surveys, n: int, start: int) -> None:
    """Accept reports and drain them."""
    sent = body(n, start)
    surveys.store.take({ASKED.id: Posted(sent.ids, sent.rows)})
    assert surveys.drain(surveys.row("smoking"), surveys.load(ASKED.id)) == n


def test_a_release_outlives_its_collector_and_is_everybodys(database: str) -> None:
    """After a restart, on the command line and on a second collector (PostgreSQL) the sum is the same."""
    store = open_store(database, migrate=True)
    surveys = Surveys(store, clock := Clock())
    open_survey(surveys)
    taken(surveys, 30, 0)
    taken(surveys, 30, 100)
    released, content = store.released(ASKED.id)
    assert (released, np.frombuffer(content, "<i8").sum()) == (Release(DAY, 1, 30), 30)
    assert summed(store, ASKED.id)[1] == 60
    if database.startswith("postgresql"):
        other = Surveys(open_store(database), clock)
        assert other.status("smoking")["n"] == 30
        taken(other, 30, 200)
        assert surveys.status("smoking")["n"] == 30
        clock.move(days=1)
        # The day ends once, for both.
        for one in (other, surveys, other):
            one.tick({})
        assert store.releases(ASKED.id) == [Release(DAY, 1, 30), Release("2026-05-02", 3, 90)]
        other.store.close()
    else:
        taken(surveys, 30, 200)
        clock.move(days=1)
        surveys.tick({})
    exported = surveys.export("smoking")
    store.close()
    surveys = Surveys(open_store(database), clock)
    assert surveys.export("smoking") == exported
    assert surveys.status("smoking")["n"] == 90
    sent = body(3, 300)
    surveys.store.take({ASKED.id: Posted(sent.ids, sent.rows)})
    found = surveys.close("smoking", now=True)
    assert (found["n"], found["batches"], found["released"]) == (93, 4, "2026-05-02")
    # The sums of earlier releases are deleted.
    with surveys.store._reading() as run:
        assert [len(row[0]) for row in run("SELECT counts FROM releases ORDER BY batches")] == [0, 0, 24]
    surveys.store.close()


def test_after_so_many_batches_or_at_the_close(tmp_path: Path) -> None:
    surveys = Surveys(open_store(f"sqlite:{tmp_path / 'x.db'}", migrate=True), clock := Clock(), while_open=3)
    open_survey(surveys)
    seen = []
    for i in range(8):
        taken(surveys, 20, 100 * i)
        clock.move(days=1)
        surveys.tick({})
        seen.append(surveys.status("smoking")["n"])
    assert seen == [20, 20, 20, 80, 80, 80, 140, 140]
    # A new start with a smaller step releases what is due under that step.
    replace(surveys, while_open=1).tick({})
    assert surveys.status("smoking")["n"] == 160
    surveys.store.close()


def test_a_day_of_a_drain_is_released_whole_on_the_next(tmp_path: Path) -> None:
    """Even if the collector was off at midnight, the next day's drain releases earlier reports, but not its own."""
    surveys = Surveys(open_store(f"sqlite:{tmp_path / 'x.db'}", migrate=True), clock := Clock())
    open_survey(surveys)
    taken(surveys, 20, 0)
    taken(surveys, 25, 100)
    clock.move(days=1)
    taken(surveys, 30, 200)
    assert surveys.status("smoking")["n"] == 45
    taken(surveys, 35, 300)
    surveys.tick({})
    assert surveys.status("smoking")["n"] == 45
    # A quiet day releases nothing. The first batch after it also waits for the end of its day.
    clock.move(days=1)
    surveys.tick({})
    assert surveys.status("smoking")["n"] == 110
    clock.move(days=1)
    taken(surveys, 20, 400)
    surveys.tick({})
    assert surveys.status("smoking")["n"] == 110
    assert [release.n for release in surveys.store.releases(ASKED.id)] == [20, 45, 110]
    surveys.store.close()


def test_clocks_that_differ_make_no_small_steps() -> None:
    """One of two collectors is a second ahead at midnight; a clock that was days ahead does not stop releases."""
    released = Release("2026-05-02", 5, 100)
    assert not is_due(6, "2026-05-01", released, "day", "2026-05-02")
    assert is_due(6, "2026-05-01", released, "day", "2026-05-03")
    assert not is_due(6, "2026-05-02", Release("2026-05-03", 5, 100), "day", "2026-05-02")
    ahead = Release("2026-06-11", 5, 100)
    assert not is_due(6, "2026-05-02", ahead, "day", "2026-05-02")
    assert is_due(6, "2026-05-02", ahead, "day", "2026-05-03")
    assert not is_due(5, "2026-05-02", ahead, "day", "2026-05-03")


def test_tables_of_before_keep_what_analysts_had_seen(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch was visible, so that each is a release; the survey continues with the new steps."""
    steps = next(i for i, step in enumerate(STEPS) if "CREATE TABLE releases" in step[0])
    with monkeypatch.context() as before:
        before.setattr("deniable.service.stores.store.STEPS", STEPS[:steps])
        before.setattr("deniable.service.stores.store.VERSION", steps)
        store = open_store(database, migrate=True)
    content = np.array([30, 20, 10], "<i8").tobytes()
    with store._working() as run:
        run(
            "INSERT INTO collections VALUES (?, 'smoking', 1, ?, ?, 'open', NULL, NULL, 'collector:x', ?, 60, 2, 1)",
            *(ASKED.id, ASKED.to_json(), page(), content),
        )
        for number, (day, n) in enumerate((("2026-04-29", 25), ("2026-04-30", 35)), 1):
            run("INSERT INTO batches VALUES (?, ?, ?, ?, NULL)", ASKED.id, number, day, n)
    store.close()
    migrate_store(database, backup=False)
    store = open_store(database)
    assert store.releases(ASKED.id) == [Release("2026-04-29", 1, 25), Release("2026-04-30", 2, 60)]
    assert store.released(ASKED.id) == (Release("2026-04-30", 2, 60), content)
    surveys = Surveys(store, Clock())
    taken(surveys, 20, 0)
    assert surveys.status("smoking")["n"] == 60
    store.close()


# -------------------------------------------------------------------- remaining knowledge


def right_about_a_report(others: int) -> Fraction:
    """Return how often the best guess at one of several equally likely bits is right, given their sum."""
    n = others + 1
    return Fraction(sum(comb(n, ones) * max(ones, n - ones) for ones in range(n + 1)), n * 2**n)


def test_what_remains_of_a_difference_is_what_the_page_says() -> None:
    """By enumeration of all answers and reports for few others, by the same distribution for many."""
    page = (Path(__file__).parents[2] / "docs" / "collecting.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([\d.]+)% \| ([\d.]+)% \| ([\d.]+)% \|$", page, re.M)
    assert [int(row[0]) for row in rows] == [0, 1, 4, 19, 99, 999]
    for others, report, *answers in rows:
        known = right_about_a_report(int(others))
        assert f"{float(100 * known):.1f}" == report
        for epsilon, said in zip((1.0, 4.0), answers, strict=True):
            truth = GRR(k=2, epsilon=epsilon).channel(exact=True)[0][0]
            right = known * truth + (1 - known) * (1 - truth)
            assert f"{float(100 * right):.1f}" == said
            # The sum never tells more than the report itself.
            assert right <= truth
    truth = GRR(k=2, epsilon=1.0).channel(exact=True)[0][0]
    for others in range(4):
        # These are weights of (answer, sum) of the first person, over all answers and reports of everybody in the step.
        seen: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
        for held in product((0, 1), repeat=others + 1):
            for sent in product((0, 1), repeat=others + 1):
                law = prod(truth if a == b else 1 - truth for a, b in zip(held, sent, strict=True))
                seen[held[0], sum(sent)] += law / 2 ** (others + 1)
        best = sum(max(seen[0, total], seen[1, total]) for total in range(others + 2))
        known = right_about_a_report(others)
        assert best == known * truth + (1 - known) * (1 - truth)
