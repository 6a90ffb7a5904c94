"""Pages of surveys: drafts, languages, times, and their host."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deniable import GRR
from deniable.errors import FileFormatError, InvalidParameterError, MismatchError
from deniable.service.survey_page import DRAFT, SurveyPage, draft_page, moment, read_page, unfinished
from deniable.service.surveys import Surveys
from deniable.survey.collection import Collection
from tests.service.asking import (
    ASKED,
    SCHEMA,
    page,
)


def test_a_drafted_page_is_to_be_written_before_people_read_it(surveys: Surveys) -> None:
    drafted = surveys.new("smoking", ASKED.to_json(), None, ".", contributors=300)["page"]
    found = read_page(drafted, "page", ASKED)
    assert (found.contributors, found.min_batch, found.retention, found.access) == (300, 100, "aggregate", "open")
    assert found.languages["en"].labels == {"smoker": ["yes", "no", "once"]}
    assert unfinished(found) == "languages.en.intro"
    with pytest.raises(InvalidParameterError, match=r"languages.en.intro is empty or still a draft"):
        surveys.open("smoking")
    for key, place in (("intro", "languages.en.intro"), ("consent", "languages.en.consent"), ("contact", "contact")):
        for text in ("", "  ", DRAFT + "x"):
            changed = page().replace(
                {"intro": "We ask.", "consent": "You may.", "contact": "us@example.org"}[key], text
            )
            assert unfinished(read_page(changed, "page", ASKED)) == place


def changed(**changes: Any) -> str:
    return page(**changes)


def test_a_language_has_a_tag_that_browsers_know(surveys: Surveys) -> None:
    """For other tags, a browser raises an out-of-range error and shows no page."""
    data = json.loads(page())
    for tag, known in {"pt-BR": True, "zh-Hant-TW": True, "de-1996": True, "english_x": False, "a": False}.items():
        text = json.dumps({**data, "languages": {tag: data["languages"]["en"]}})
        if known:
            assert list(read_page(text, "page.json", ASKED).languages) == [tag]
        else:
            with pytest.raises(InvalidParameterError, match=f"must be tags such as en or pt-BR .*, got “{tag}”"):
                read_page(text, "page.json", ASKED)


def test_a_page_is_that_of_its_collection_word_for_word(surveys: Surveys) -> None:
    other = Collection(SCHEMA, GRR(k=3, epsilon=1.0))
    with pytest.raises(MismatchError, match=r"must be the page of collection .*, but it is the page of collection"):
        surveys.new("smoking", other.to_json(), page(), ".")
    words = draft_page(ASKED).languages["en"]
    for change, said in (
        ({"labels": {"smoker": ["yes", "no"]}}, "must be 3 different texts"),
        ({"labels": {"smoker": ["yes", "no", "no"]}}, "must be 3 different texts"),
        ({"labels": {}}, "labels must be given for exactly these questions: smoker"),
        ({"questions": {"drinks": "?"}}, "questions must list the questions of the schema in their order \\(smoker"),
    ):
        bad = draft_page(ASKED).model_copy(update={"languages": {"de": words.model_copy(update=change)}})
        with pytest.raises(MismatchError, match=said):
            read_page(bad.to_json(), "page", ASKED)
    with pytest.raises(FileFormatError, match="must be left out, because there is no such key"):
        read_page(page().replace('"contact"', '"dealer": null, "contact"'), "page", ASKED)
    with pytest.raises(InvalidParameterError, match="languages must have 1 or more entries, got 0"):
        read_page(draft_page(ASKED).model_copy(update={"languages": {}}).to_json(), "page", ASKED)


def test_a_time_says_its_zone() -> None:
    assert moment("2026-05-01T02:00:00+02:00", "x") == moment("2026-05-01T00:00:00Z", "x")


def test_pages_compare_by_what_they_say() -> None:
    assert SurveyPage.model_validate(draft_page(ASKED).model_dump()) == draft_page(ASKED)
