"""Lines of pages that Markdown would not read as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BEGINS = re.compile(r" {0,3}(>|\+ |1[.)] |#{1,6} |=+$|-+$)")
"""Beginnings that end a paragraph without a blank line, for example a formula that was broken before its sign."""


def misread(text: str) -> Iterator[str]:
    """Yield lines inside paragraphs that would begin a quotation, a list or a heading."""
    code, before = False, ""
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and before.strip() and BEGINS.match(line) and not re.match(r"\s*(#|\||>|\d+\. |```)", before):
            yield line
        before = line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_of_a_paragraph_begins_something_else(page: Path) -> None:
    assert list(misread(page.read_text(encoding="utf-8"))) == []


def test_lines_that_begin_something_else_are_found() -> None:
    text = "The ratio is\n>= 2 and\n\nand 1\n+ 3.\n\n> Quoted.\n\n1. one\n2. two\n\n# Title\n```\na\n> b\n```\n"
    assert list(misread(text)) == [">= 2 and", "+ 3."]
