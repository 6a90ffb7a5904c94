"""Statements about a question before people answer it."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable import Attribute, HeavyHitters, Schema
from deniable.planning.default import collection
from deniable.survey.collection import Collection
from deniable.survey.inspection import inspect_collection, question_text


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        (Attribute("word", text=True), "“word” (open text)"),
        (
            Attribute("income", kind="numeric", range=(0, 5000), grid=51, missing="no answer"),
            "“income” (number): 0 to 5000, rounded at random to one of 51 points, “no answer”",
        ),
        (Attribute("mood", ("bad", "good"), kind="ordered"), "“mood” (ordered, 2 answers): “bad”, “good”"),
    ],
)
def test_a_question_says_what_may_be_answered(attribute: Attribute, text: str) -> None:
    assert question_text(attribute) == text


def test_a_dictionary_is_referred_to_and_not_listed(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("".join(f"word{i}\n" for i in range(300)))
    attribute = Attribute.from_dictionary("word", words, "nothing", "something else")
    said = "“word” (dictionary): the 300 words of “words.txt”, “nothing”, “something else”"
    assert question_text(attribute) == said
    (question,) = inspect_collection(collection(Schema((attribute,)), 1.0)).to_dict()["attributes"]
    assert question["kind"] == "dictionary"
    assert "word1" not in str(question)
    assert {"missing": "nothing", "other": "something else"}.items() <= question.items()


def test_open_text_has_no_answers_to_list() -> None:
    found = inspect_collection(Collection(Schema((Attribute("word", text=True),)), HeavyHitters(epsilon=4.0)))
    assert found.to_dict()["attributes"][0]["kind"] == "text"
