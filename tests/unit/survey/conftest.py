"""A dictionary in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

WORDS = ("red", "green", "3", "3.0", " blue ", "naïve")


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words.txt"
    path.write_bytes("\n".join(WORDS).encode() + b"\n")
    return path
