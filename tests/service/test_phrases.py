"""Phrases of published results in every language."""

from __future__ import annotations

import json
from string import Formatter

from deniable.service.phrases import FOLDER, phrases, shipped
from deniable.service.survey_page import LANGUAGES


def test_every_language_has_every_sentence_with_the_same_places() -> None:
    assert shipped() == set(LANGUAGES)
    english = phrases("en").words
    for path in FOLDER.glob("*.json"):
        words = json.loads(path.read_text(encoding="utf-8"))
        assert list(words) == list(english)
        for key, sentence in words.items():
            assert places(sentence) == places(english[key]), (path.name, key)


def places(sentence: str) -> set[str]:
    """Return the names in braces."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}
