"""Statements of packages: `benchmarks.size`."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest
from benchmarks import size


def test_statements_are_counted_whatever_the_lines() -> None:
    assert size.statements('"""Says what it is."""\nif (\n    1\n): x = 1; y = 2\n') == 4


def test_a_revision_is_counted_as_the_working_tree_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "src" / "deniable"
    (source / "core").mkdir(parents=True)
    (source / "core" / "one.py").write_text("x = 1\ny = 2\n")
    (source / "top.py").write_text("x = 1\n")
    (source / "core" / "notes.md").write_text("x = 1\n")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path))
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run([*git, *command], check=True)
    monkeypatch.setattr(size, "ROOT", tmp_path)
    assert size.sizes("HEAD") == size.sizes() == Counter({"core": 2, "deniable": 1})
    assert dict(size.modules())[PurePosixPath("top.py")] == "x = 1\n"


def test_the_main_house_is_what_is_not_apart() -> None:
    assert size.main_house(Counter({"core": 5, "deniable": 1, "research": 7, "service": 3, "testing": 2})) == 6


def test_both_revisions_are_drawn(tmp_path: Path) -> None:
    size.draw(Counter({"core": 5}), Counter({"core": 4, "dealt": 1}), "before", tmp_path / "bars.png")
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_states_todays_sizes() -> None:
    """The limit is 2%, so that small changes need no new count, but the page cannot mislead."""
    counted, page = size.sizes(), (size.ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    now = {"main house": size.main_house(counted), "all": counted.total()}
    now |= {f"`{package}`": counted[package] for package in size.APART}
    for name, count in now.items():
        stated = re.findall(rf"^\| {re.escape(name)} \|[^|]*\| ([\d,]+) \|$", page, re.M)
        assert [int(one.replace(",", "")) for one in stated] == [pytest.approx(count, rel=0.02)], name


def test_the_page_states_what_was_added_since_the_goals_were_set() -> None:
    """Every place that is counted exists, and the page's numbers are within 2%."""
    places = {place for feature in size.ADDED.values() for place in feature}
    there = {str(path.with_suffix("")) for path, _ in size.modules()} | {path.parts[0] for path, _ in size.modules()}
    assert places <= there
    page = (size.ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    _, table = page.split("| added to the main house since 2b5ad7ea | statements |\n")
    stated = [int(one.replace(",", "")) for one in re.findall(r"\| ([\d,]+) \|$", table.split("\n\n")[0], re.M)]
    counted, total = [count for _, count in size.added().most_common()], size.added().total()
    known = [*counted, total, size.main_house(size.sizes()) - total]
    assert stated == [pytest.approx(count, rel=0.02) for count in known]


def test_the_ten_files_to_read_first_are_there() -> None:
    page = (size.ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = re.findall(r"^\| `([\w/]+\.py)` \| [^|]+ \|$", page, re.M)
    assert len(files) == 10
    assert all((size.ROOT / "src" / "deniable" / file).exists() for file in files)
