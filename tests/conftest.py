"""Settings of all tests: property tests are reproducible, and a busy machine fails none of them; no user's state."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from deniable.core.randomness import WordStream

collect_ignore = ["toy_package"]  # a package of its own: only its tests put it on the path

settings.register_profile(
    "deniable", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deniable")

WordStream.overwrites = True  # a kernel that reads words of an earlier take reads a constant


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which this test's ledger of answers lies, instead of the user's."""
    home = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    return home / "deniable"
