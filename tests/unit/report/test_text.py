"""Text on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from deniable.report.text import print_line


def test_long_sentences_wrap_at_words() -> None:
    text = io.StringIO()
    print_line(Console(file=text, width=30), "  note: " + "word " * 12)
    lines = text.getvalue().splitlines()
    assert all(len(line) <= 30 for line in lines)
    assert lines[1].startswith("      word")
