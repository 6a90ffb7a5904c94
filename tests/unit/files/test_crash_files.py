"""After kills at random moments, all writing commands leave valid files; `make crash-files` has 30 kills of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash_files import COMMANDS, crash


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "randomize" else [pytest.mark.long]) for name in COMMANDS]
)
def test_killed_at_random_moments(name: str, tmp_path: Path) -> None:
    result = crash(name, 2, 1, tmp_path)
    assert sum(result["outcomes"].values()) == 2
    assert result["killed_while_running"] >= 1
