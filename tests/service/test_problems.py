"""Problem documents that a collector sends."""

from __future__ import annotations

import re
from pathlib import Path

from deniable.service.problems import PROBLEMS

DOCS = Path(__file__).parents[2] / "docs"

COLLECTING = (DOCS / "collecting.md").read_text(encoding="utf-8")


def test_the_problems_are_those_that_there_are() -> None:
    (listed,) = re.findall(r"urn:deniable:problem:` followed by one of these\s+names: (.*?)After a", COLLECTING, re.S)
    named = re.findall(r"`([a-z-]+)`(?: \((\d+))?", listed)
    assert {name for name, _ in named} <= set(PROBLEMS)
    assert all(PROBLEMS[name][0] == int(status) for name, status in named if status)
