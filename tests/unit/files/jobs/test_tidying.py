"""Tidied answers."""

from __future__ import annotations

from pathlib import Path

from deniable.files import tidy_file
from tests.unit.core.spreadsheet_cells import cells


def test_answers_that_are_read_again_are_not_changed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('smoker\n"=yes "\n"=yes"\n-no\n')
    assert tidy_file(tmp_path / "a.csv", tmp_path / "tidy.csv", {"smoker": {"=yes ": "=yes"}}) == 1
    assert cells((tmp_path / "tidy.csv").read_text()) == [["smoker"], ["=yes"], ["=yes"], ["-no"]]
