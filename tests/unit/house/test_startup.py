"""Modules that a fresh process does not load; `benchmarks.startup` measures times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.startup import SMALL_FILE, STARTS

HEAVY = {"numba", "scipy", "pyarrow", "pydantic", "matplotlib", "jinja2", "cryptography"}


def loaded(code: str, folder: Path) -> set[str]:
    """Run code in a fresh process, and return the packages that it loads."""
    code += "\nprint('loaded:', *{name.partition('.')[0] for name in sys.modules})"
    result = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}"], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(result.stdout.rpartition("loaded:")[2].split())


@pytest.mark.parametrize(
    ("start", "not_loaded"),
    [
        ("import deniable", HEAVY | {"numpy"}),
        ("one GRR report", HEAVY),
        ("deniable --help", HEAVY | {"numpy", "rich"}),
        ("randomize of a small file", {"numba", "scipy", "matplotlib"}),
    ],
)
def test_what_is_not_loaded(start: str, not_loaded: set[str], tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SMALL_FILE], cwd=tmp_path, check=True)
    assert not loaded(STARTS[start], tmp_path) & not_loaded


def test_a_collector_does_not_load_what_only_analysts_need(tmp_path: Path) -> None:
    """These packages need 65 MiB of memory and most of the start time."""
    assert not loaded("import deniable.service.server", tmp_path) & {"scipy", "matplotlib"}
