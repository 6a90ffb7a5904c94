"""The collector's clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deniable.service.collector import Collector
from deniable.service.stores import open_store
from tests.service.asking import (
    ASKED,
    Clock,
    body,
    open_survey,
    sqlite,
    summed,
)


def test_the_clock_opens_closes_and_ends_grace_and_nothing_else(tmp_path: Path) -> None:
    """If the clock is set back, a closed survey stays closed; reports do not use the time."""
    clock = Clock()
    store = open_store(sqlite(tmp_path), migrate=True)
    collector = Collector(store, clock)
    surveys = collector.surveys
    terms: dict[str, Any] = {
        "opens_at": "2026-05-01T13:00:00Z",
        "closes_at": "2026-05-02T12:00:00Z",
        "grace_hours": 2.0,
    }
    open_survey(surveys, **terms)

    def state() -> tuple[str, str]:
        collector.refresh()
        surveys.tick({held.row.id: held.survey for held in collector.all_held()})
        collector.refresh()
        held = collector.held(ASKED.id)
        assert held is not None
        return held.row.state, held.state(clock)

    assert state() == ("open", "draft")
    clock.move(hours=1)
    assert state() == ("open", "open")
    clock.move(days=-400)
    assert state() == ("open", "draft")
    clock.move(days=400, hours=22.99)
    assert state() == ("open", "open")
    clock.move(minutes=1)
    # Devices are told so before anybody has written it down.
    held = collector.held(ASKED.id)
    assert held is not None
    assert held.state(clock) == "closing"
    assert held.accepts_until == "2026-05-02T14:00:00+00:00"
    assert state() == ("closing", "closing")
    one = body(5)
    from deniable.service.stores.store import Posted

    assert not isinstance(store.take({ASKED.id: Posted(one.ids, one.rows)})[ASKED.id], str)
    clock.move(hours=1, minutes=59)
    assert state() == ("closing", "closing")
    clock.move(days=-1)
    assert state() == ("closing", "closing")
    clock.move(days=1, minutes=1)
    assert state() == ("closed", "closed")
    assert summed(store, ASKED.id)[1] == 5
    assert store.take({ASKED.id: Posted(one.ids, one.rows)})[ASKED.id] == "closed"
    clock.move(days=-10)
    assert state()[0] == "closed"
    # Receipts are deleted thirty days after the close.
    clock.move(days=39)
    state()
    assert store.counted(ASKED.id, bytes(16))
    clock.move(days=2)
    state()
    assert not store.counted(ASKED.id, bytes(16))
    store.close()
