"""A collector that is killed under load loses no report and counts none twice; `make crash` has many more kills."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash_collector import crash
from tests.service import postgres


def test_a_killed_collector_loses_nothing(tmp_path: Path) -> None:
    found = crash("sqlite", f"sqlite:{tmp_path / 'a.db'}", tmp_path, kills=1, pause=0.2)
    assert found.held, found
    assert found.unanswered > 0
    assert found.duplicates > 0


def test_a_killed_collector_counts_every_invitation_once(tmp_path: Path) -> None:
    """Some links are used on two devices, and some ids have no invitation."""
    found = crash("sqlite", f"sqlite:{tmp_path / 'a.db'}", tmp_path, kills=1, pause=0.1, invited=240)
    assert found.held, found
    assert (found.counted, found.acknowledged, found.tokens) == (240, 240, 0)
    assert found.duplicates > 0
    assert found.strangers > 0


@pytest.mark.long
def test_two_killed_collectors_and_a_stopped_database_lose_nothing(
    tmp_path: Path, postgres_server: postgres.Server
) -> None:
    def stop() -> None:
        postgres_server.stop("immediate")
        postgres_server.start()

    database = postgres_server.database()
    found = crash("postgresql", database, tmp_path, kills=1, collectors=2, stop=stop, stops=1, pause=0.2)
    assert found.held, found
    assert found.unanswered > 0
