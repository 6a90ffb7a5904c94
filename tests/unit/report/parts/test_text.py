"""Sentences in each output: complete, escaped, and in a list if they are items."""

from __future__ import annotations

import pytest

from deniable.report import draw
from deniable.report.parts.text import Text
from tests.unit.report.drawn import html_of, page_of, printed, texts


@pytest.mark.parametrize("items", [False, True])
def test_sentences_are_paragraphs_or_items(items: bool) -> None:
    part = Text(("a <b> sentence", "another one " * 20), items)
    before, after = ("<li>", "</li>") if items else ("<p>", "</p>")
    assert f"{before}a &lt;b&gt; sentence{after}" in html_of(part)
    lines = printed(part, width=60).splitlines()[3:]
    assert lines[0] == "  a <b> sentence" * items or lines[0] == "a <b> sentence"
    assert lines[0].startswith("  ") == items
    assert " ".join(" ".join(lines).split()) == " ".join("".join([part.lines[0], " ", part.lines[1]]).split())
    assert max(map(len, lines)) <= 60


def test_a_picture_has_every_word() -> None:
    words = " ".join(f"word{i}" for i in range(60))
    assert [text.split() for text in texts(draw(page_of(Text((words,)))))][-1] == words.split()
