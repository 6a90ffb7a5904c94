"""Texts stay readable: confusing patterns may only become rarer, and contributors' texts stay easy.

A bad sentence does not pass with an added word: patterns run over whole sentences, and ease is measured together with
length and long words.
"""

from __future__ import annotations

import re

import pytest

from tests.unit.house import prose

LIMITS = {
    "negated noun": 2,
    "fronted of": 62,
    "headless who": 5,
    "number of nothing": 11,
    "idiom": 4,
    "house word": 6,
    "must be of": 0,
    "space before …": 0,
    "clause as a title": 0,
}
"""Occurrences of each pattern of `prose.PATTERNS`. Lower a number when you mend sentences; never raise one."""

SLACK = 3
"""Largest lag of a limit behind its count, so that two branches that both mend sentences do not conflict."""


@pytest.fixture(scope="module")
def counts() -> dict[str, list[str]]:
    return {name: [f"{unit.place}: {words}" for unit, words in prose.hits(name)] for name in LIMITS}


@pytest.mark.parametrize("name", LIMITS)
def test_no_pattern_becomes_more_frequent(name: str, counts: dict[str, list[str]]) -> None:
    found, limit = counts[name], LIMITS[name]
    listed = f"list them: python -m tests.unit.house.prose {name}"
    assert len(found) <= limit, f"{name!r} occurs {len(found)} times, at most {limit} may: reword yours; {listed}"
    assert len(found) >= limit - SLACK, f"well done: lower the limit of {name!r} to {len(found)}"


def test_every_pattern_has_a_limit() -> None:
    assert LIMITS.keys() == prose.PATTERNS.keys()


def test_headings_of_docstrings_have_lines_of_their_own() -> None:
    filled = re.compile(r"\b(?:Parameters|Attributes|Returns|Raises|Notes|Examples) -{5,}")
    sources = sorted((prose.ROOT / "src" / "deniable").rglob("*.py"))
    assert sources
    assert not [str(path) for path in sources if filled.search(path.read_text(encoding="utf-8"))]


BAD = {
    "negated noun": "This is no list that was saved.",
    "fronted of": "Of one attribute, more can be asked.",
    "headless who": "It is kept by who ran it.",
    "number of nothing": "List at most so many strings.",
    "idiom": "Two answers hang together.",
    "house word": "The lever of one report.",
    "must be of": "sizes must be those of two attributes",
    "space before …": "Sending …",
    "clause as a title": "What a file states about its rows.",
}


@pytest.mark.parametrize("name", BAD)
def test_a_pattern_finds_its_example_even_across_lines(name: str) -> None:
    assert re.search(prose.PATTERNS[name], BAD[name])
    broken = prose._plain(BAD[name].replace(" ", "\n    "))
    assert re.search(prose.PATTERNS[name], broken)


# ------------------------------------------------------------------ contributors' texts

LONG_WORDS = {"everybody", "somebody", "randomised", "indexeddb", "webcrypto"}
"""Words of more than three syllables in contributors' texts, because no shorter word is true."""


@pytest.mark.parametrize(("key", "said"), prose.contributor_texts().items())
def test_a_contributor_reads_each_sentence_once(key: str, said: str) -> None:
    for words in prose.sentences(said):
        assert len(words) <= 25, f"{key}: a sentence has {len(words)} words, at most 25 may be"
        long = {word for word in words if prose.english_syllables(word) > 3} - {*LONG_WORDS}
        assert {word.lower() for word in long} <= LONG_WORDS, f"{key}: {long}"
    if len(said.split()) >= 6:
        assert prose.reading_ease([said]) >= 50, f"{key}: {said}"


def test_contributors_texts_are_easy_and_short() -> None:
    texts = list(prose.contributor_texts().values())
    lengths = [len(words) for text in texts for words in prose.sentences(text) if len(words) > 3]
    assert prose.reading_ease(texts) >= 60
    assert sum(lengths) / len(lengths) <= 15
