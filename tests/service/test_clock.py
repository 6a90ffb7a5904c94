"""A jump of the clock is followed only if it lasts; until then nothing irreversible is done."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from deniable.errors import InvalidParameterError
from deniable.service.clock import PATIENCE, JudgedClock
from deniable.service.collector import Collector
from deniable.service.stores import open_store
from deniable.service.stores.store import Posted
from tests.service.asking import ASKED, Caller, Clock, body, collecting, open_survey, sqlite, until

TERMS: dict[str, Any] = {"closes_at": "2026-06-01T00:00:00Z", "grace_hours": 24.0}


class Machine:
    """Two clocks that run together until the first is set."""

    def __init__(self) -> None:
        self.wall, self.elapsed = Clock(), 1000.0
        self.judged = JudgedClock(self.wall, lambda: self.elapsed)

    def wait(self, seconds: float) -> None:
        """Let time pass for a collector, which reads the clock every second."""
        for _ in range(int(seconds // 20)):
            self.wall.move(seconds=20)
            self.elapsed += 20
            self.judged()

    @property
    def away(self) -> timedelta:
        """Return the difference between the believed time and the machine's clock."""
        return self.judged() - self.wall()


@pytest.mark.parametrize("days", [40, -40])
def test_a_jump_is_followed_when_it_has_lasted(days: int, caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine()
    assert not machine.judged.steady()
    machine.wait(PATIENCE)
    assert machine.judged.steady()
    machine.wall.move(days=days)
    assert machine.away == timedelta(days=-days)
    machine.wait(PATIENCE - 20)
    assert machine.away == timedelta(days=-days)
    # When the clock is back at the right time, everything is as before.
    machine.wall.move(days=-days)
    assert (machine.away, machine.judged.steady()) == (timedelta(0), True)
    said = f"jumped by {'+' if days > 0 else '-'}960 hours"
    assert [said in caplog.records[0].getMessage(), caplog.records[0].levelno] == [True, logging.ERROR]
    assert len(caplog.records) == 2
    machine.wall.move(days=days)
    machine.wait(PATIENCE + 20)
    assert machine.away == timedelta(0)
    # From now on irreversible acts wait, even when the clock is put right again.
    machine.wall.move(days=-days)
    machine.wait(3 * PATIENCE)
    assert machine.away == timedelta(0)
    assert not machine.judged.steady()


def test_a_clock_that_is_set_by_less_than_an_hour_is_followed_at_once() -> None:
    machine = Machine()
    machine.wait(PATIENCE)
    for minutes in (59, -59, 59, 59, 59):
        machine.wall.move(minutes=minutes)
        assert machine.away == timedelta(0)
    assert machine.judged.steady()
    # A jump to another time begins anew.
    for days in (10, 20, -50):
        machine.wall.move(days=days)
        machine.wait(PATIENCE - 20)
        assert machine.away != timedelta(0)


def test_a_clock_that_jumps_closes_nothing_for_ever(tmp_path: Path) -> None:
    machine = Machine()
    store = open_store(sqlite(tmp_path), create=True)
    collector = Collector(store, machine.judged, steady=machine.judged.steady)
    surveys = collector.surveys
    open_survey(surveys, **TERMS)
    machine.wait(PATIENCE)
    sent = body(5)
    store.take({ASKED.id: Posted(sent.ids, sent.rows)})

    def state() -> tuple[str, str]:
        collector.refresh()
        collector._tick()
        collector.refresh()
        held = collector.held(ASKED.id)
        assert held is not None
        return held.row.state, held.state(collector.clock)

    machine.wall.move(days=40)
    assert state() == ("open", "open")
    machine.wait(PATIENCE + 20)
    # The jump lasted. Devices are told so, but nothing final happens, however long it takes.
    assert state() == ("closing", "closing")
    machine.wait(10 * PATIENCE)
    assert state() == ("closing", "closing")
    assert store.waiting(ASKED.id) == 5
    with pytest.raises(
        InvalidParameterError, match="must be draft or paused before it can become open, but it is closing"
    ):
        surveys.open("smoking")
    machine.wall.move(days=-40)
    machine.wait(PATIENCE + 20)
    assert state() == ("closing", "closing")
    assert surveys.open("smoking")["state"] == "open"
    assert surveys.status("smoking")["accepts_until"] == "2026-06-02T00:00:00+00:00"
    assert state() == ("open", "open")
    # A survey that an owner closed stays closed, and a person can end it whatever the clock says.
    surveys.close("smoking")
    with pytest.raises(InvalidParameterError, match="but it is closing"):
        surveys.open("smoking")
    assert surveys.close("smoking", now=True)["state"] == "closed"
    # A clock that cannot be trusted does not drop receipts either.
    machine.wall.move(days=400)
    machine.wait(PATIENCE + 20)
    assert state() == ("closed", "closed")
    assert store.counted(ASKED.id, sent.ids[0].tobytes())
    store.close()


def test_devices_are_told_the_time_that_is_believed(tmp_path: Path) -> None:
    clock = Clock()
    with collecting(sqlite(tmp_path), clock=clock, patience=PATIENCE) as here:
        open_survey(here.collector.surveys, **TERMS)
        here.collector.refresh()
        call, path = Caller(here.public), f"/api/v1/collections/{ASKED.id}/state"
        clock.move(days=40)
        said = call("GET", path).json
        assert (said["state"], said["now"][:10]) == ("open", "2026-05-01")
        assert call.post(body(3)).status == 201
        # The watch has read the clock, too.
        until(lambda: here.collector.clock() != clock())
        assert here.collector.surveys.row("smoking").state == "open"
