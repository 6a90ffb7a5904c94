"""The alarm if arrivals differ from the plan: in the log, in the metrics and on the dashboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable.service.arrivals import off_plan
from deniable.service.auth import hash_password
from deniable.service.collector import Collector
from deniable.service.stores import open_store
from deniable.service.stores.store import Posted
from tests.service.asking import ASKED, PASSWORD, Caller, Clock, body, collecting, open_survey, sqlite

NAME = '{survey="smoking"}'


def take(collector: Collector, n: int, start: int) -> None:
    """Accept reports and drain them, three times as often as needed."""
    sent = body(n, start)
    collector.store.take({ASKED.id: Posted(sent.ids, sent.rows)})
    for _ in range(3):
        collector.drain()
        collector.refresh()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "planned" in record.getMessage()]


def test_300015_reports_of_500_planned_raise_the_alarm(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log has it once; metrics and dashboard show it while it lasts, also after a restart."""
    clock = Clock()
    with collecting(sqlite(tmp_path), clock=clock) as here:
        collector = here.collector
        for who, role in (("ann", "owner"), ("bob", "analyst")):
            collector.store.add_analyst(who, role, hash_password(PASSWORD))
        open_survey(collector.surveys)
        collector.refresh()
        gauges = collector.gauges()
        assert gauges[f"deniable_planned_reports{NAME}"] == 500
        assert gauges[f"deniable_counted_reports{NAME}"] == 0
        assert gauges[f"deniable_arrivals_off_plan{NAME}"] == 0
        take(collector, 35, 0)
        assert collector.gauges()[f"deniable_arrivals_off_plan{NAME}"] == 0
        assert warnings(caplog) == []
        take(collector, 299_980, 1000)
        gauges = collector.gauges()
        assert gauges[f"deniable_counted_reports{NAME}"] == 300_015
        assert gauges[f"deniable_arrivals_off_plan{NAME}"] == 1
        assert warnings(caplog) == [
            "survey smoking: reports are more than planned: 300015 counted, 500 planned; "
            "pause it if you did not expect them"
        ]
        for who, advice in (("ann", "If you did not expect this, pause the survey"), ("bob", "Tell an owner")):
            call = Caller(here.admin, {"origin": here.admin})
            session = call("POST", "/session", {"name": who, "password": PASSWORD}).headers["set-cookie"]
            me = Caller(here.admin, {"cookie": session.partition(";")[0]})
            text = me("GET", "/surveys/smoking").content.decode()
            assert "300,015 reports counted, 500 planned" in text
            assert text.index("More reports than planned") < text.index('<section class="card')
            assert advice in text
            assert me("GET", "/surveys/smoking/results.json").json["off_plan"] == "more"
    with collecting(sqlite(tmp_path), clock=clock) as here:
        assert here.collector.gauges()[f"deniable_arrivals_off_plan{NAME}"] == 1
        # A closed survey takes no reports, so there is nothing to pause.
        here.collector.surveys.close("smoking", now=True)
        here.collector.refresh()
        assert f"deniable_arrivals_off_plan{NAME}" not in here.collector.gauges()


def test_a_day_of_reports_that_come_at_once_is_off_the_plan_until_the_next_has_ended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Owners see it at once; analysts see only released reports, which do not fill the plan."""
    clock = Clock()
    store = open_store(sqlite(tmp_path), migrate=True)
    collector = Collector(store, clock)
    open_survey(collector.surveys)
    collector.refresh()
    # Batches have 20 reports. With 500 planned, 71 more than a batch within one drain are still chance.
    take(collector, 91, 0)
    assert collector.gauges()[f"deniable_arrivals_off_plan{NAME}"] == 0
    take(collector, 92, 100)
    assert collector.gauges()[f"deniable_arrivals_off_plan{NAME}"] == 1
    assert warnings(caplog) == [
        "survey smoking: reports are arriving faster than planned: 183 counted, 500 planned; "
        "pause it if you did not expect them"
    ]
    for days, off in ((1, 1), (1, 0)):
        clock.move(days=days)
        assert Collector(store, clock).arrivals.look(collector.all_held()[0].row, collector.all_held()[0].survey) == (
            "faster" if off else None
        )
    # When the alarm is over, it can begin again, and is announced again.
    take(collector, 30, 300)
    take(collector, 92, 400)
    assert len(warnings(caplog)) == 2
    store.close()


def test_what_is_off_the_plan() -> None:
    """1.1 times the plan and 3 sqrt(plan): 500 gives 617.08. At once, a tenth and 3 sqrt of it: 50 gives 71.2."""
    assert [off_plan(500, n) for n in (0, 500, 617, 618)] == [None, None, None, "more"]
    assert [off_plan(500, 100, n) for n in (71, 72)] == [None, "faster"]
    assert [off_plan(10_000, n) for n in (11_300, 11_301)] == [None, "more"]
    assert [off_plan(10_000, 0, n) for n in (1_094, 1_095)] == [None, "faster"]
    # Without a plan, or with too few reports, there is no alarm.
    assert off_plan(None, 10**9, 10**9) is None
    assert off_plan(500, 1) is None
