"""Attributes: their documents, all keys, and refusals."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from deniable import (
    GRR,
    SMP,
    Attribute,
    Collection,
    HeavyHitters,
    Schema,
)
from deniable.errors import FileFormatError, InvalidParameterError
from deniable.survey.attribute import VERSION_2
from deniable.survey.dictionary_file import DictionaryFile
from deniable.survey.kinds import KINDS
from tests.unit.survey.attributes import DEVICES, attributes
from tests.vectors import kinds

VECTORS = Path(kinds.__file__).parent


@given(st.lists(attributes(), min_size=1, max_size=3))
def test_every_schema_comes_back_from_its_document(drawn: list[Attribute]) -> None:
    try:
        schema = Schema(tuple(drawn))
    except InvalidParameterError:
        return  # two columns have the same name
    document = json.loads(schema.to_json())
    new = any(set(VERSION_2) & attribute.keys() for attribute in document["attributes"])
    assert document["format_version"] == (2 if new else 1)
    back = Schema.from_json(schema.to_json())
    assert back == schema
    assert back.to_json() == schema.to_json()
    assert schema.sizes == tuple(column.k for column in schema.columns)
    survey = Collection(schema, SMP(schema.sizes, 1.0) if len(schema.sizes) > 1 else GRR(schema.sizes[0], 1.0))
    again = Collection.from_json(survey.to_json())
    assert (again, again.id) == (survey, survey.id)
    if new:
        with pytest.raises(FileFormatError, match="do not exist in format_version=1: set format_version=2"):
            Schema.from_json(json.dumps(document | {"format_version": 1}))


def test_ids_of_documents_without_the_new_keys_are_what_they_were(tmp_path: Path) -> None:
    """The ids were recorded before there were kinds."""

    def of(*attributes: Attribute, mechanism: Any = None) -> str:
        schema = Schema(attributes)
        return Collection(schema, mechanism or SMP(schema.sizes, 1.0), 2, "t").id

    smoker, age = Attribute("smoker", ("yes", "no"), missing="no answer"), Attribute("age", edges=(20, 40.5))
    listed = of(smoker, age, Attribute("b", ("x", "y"), other="else"))
    assert listed == "7c4371ce8a07913a9dd08b7d1c4978ce6fc57ffe2d6f0b50b4013d5a6576c064"
    text = of(Attribute("url", kind="text", missing="none"), mechanism=HeavyHitters(epsilon=2.0))
    assert text == "9a31b3a1bfffeb15d2aef7eb4c0cc291c951152d36592ae36a0e39047043af2a"
    (tmp_path / "w.txt").write_text("a\nb\nc\n")
    word = Attribute.from_dictionary("word", tmp_path / "w.txt", other="else")
    assert of(word, mechanism=GRR(4, 1.0)) == "5e34a2b0a597c0590614afe7799b5cf05217f688cf9b45c4a8b667d95ca18a05"


def test_defaults_that_are_written_out_change_nothing() -> None:
    plain = Attribute("a", ("1", "2"), kind="ordered")
    assert Attribute("a", ("1", "2"), kind="ordered", ask="shares", clip=False, separator=";", title="") == plain
    numeric = Attribute("a", kind="numeric", range=(0, 1), grid=3)
    assert Attribute("a", ("0", "0.5", "1"), kind="numeric", range=(0.0, 1.0), grid=3, ask="mean") == numeric
    assert Attribute("a", kind="numeric", range=[np.int64(0), np.float64(1)], grid=np.int16(3)) == numeric  # type: ignore[arg-type]
    assert "ask" not in numeric.to_dict()
    assert (plain.ask, numeric.ask, DEVICES.ask, Attribute("a", ("x", "y")).ask) == (
        "shares",
        "mean",
        "shares",
        "shares",
    )
    assert Attribute("url", kind="text") == Attribute("url", text=True)


def test_the_vectors_are_what_this_release_writes() -> None:
    assert Schema.load(VECTORS / "schema.json") == kinds.SCHEMA
    assert (VECTORS / "schema.json").read_text() == kinds.SCHEMA.to_json()
    found = Collection.load(VECTORS / "survey.json")
    assert (VECTORS / "survey.json").read_text() == found.to_json() == kinds.survey().to_json()
    assert found.id == "5d174a5efa96b5c31f8d831b4bb668e31c3535d28092220e93a6288ca26cb95b"
    written = {key for attribute in json.loads(kinds.SCHEMA.to_json())["attributes"] for key in attribute}
    # Conditions have their own vectors, in tests/vectors/wire.
    assert written == {"name", "categories", "missing", "other", "edges", *VERSION_2} - {"ask_if"}


DOCS = Path(__file__).parents[3] / "docs" / "schema.md"


def test_the_reference_has_every_key_and_its_examples_are_attributes() -> None:
    text = DOCS.read_text()
    # These rows have four cells. Rows of three cells are keys of the document and of a dictionary.
    rows = re.findall(r"^\| `(\w+)` \|(?:[^|\n]+\|){3}$", text, flags=re.MULTILINE)
    assert sorted(rows) == sorted(entry.name for entry in dataclasses.fields(Attribute))
    examples = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, flags=re.DOTALL)]
    kinds_shown = set()
    for example in examples:
        document = {"format": "deniable schema", "format_version": 2, "attributes": [example]}
        (attribute,) = Schema.from_json(json.dumps(document)).attributes
        assert attribute.to_dict() == example
        kinds_shown.add(attribute.kind)
    # A dictionary's example would need its file.
    assert kinds_shown == KINDS.keys() - {"dictionary"}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"kind": "number"}, f"kind of attribute “a” must be one of {', '.join(KINDS)}, got kind=“number”"),
    (
        {"kind": "ordered", "text": True},
        "attribute “a” has both text and kind=“ordered”: leave out text, or leave out kind",
    ),
    (
        {"scores": (1, 2)},
        "scores must be left out of attribute “a”, because this question is of kind “categories”; scores is for",
    ),
    (
        {"kind": "multiple", "edges": (1,)},
        "edges must be left out of attribute “a”, because this question is of kind “multiple”",
    ),
    ({"grid": 3}, "grid must be left out of attribute “a”"),
    ({"range": (0, 1)}, "range must be left out of attribute “a”"),
    ({"clip": True}, "clip must be left out of attribute “a”"),
    (
        {"kind": "numeric", "clip": 1, "range": (0, 1), "grid": 2, "categories": ()},
        "clip of attribute “a” must be true",
    ),
    ({"separator": ","}, "separator must be left out of attribute “a”, because this question is of kind “categories”"),
    ({"kind": "text", "range": (0, 1), "categories": ()}, "range must be left out of attribute “a”"),
    (
        {"kind": "ordered", "scores": (1,)},
        "scores of attribute “a” must be finite numbers, one for each of the 2 categories, got scores",
    ),
    (
        {"kind": "ordered", "scores": (1, float("inf"))},
        "scores of attribute “a” must be finite numbers, one for each of the 2 categories",
    ),
    ({"kind": "ordered", "scores": "ab"}, "scores of attribute “a” must be numbers, got scores=“ab”"),
    ({"kind": "ordered", "ask": "mean"}, "scores of attribute “a” must give one number for each category"),
    ({"ask": "mean"}, 'ask of attribute “a” must be "shares", because this question is of kind “categories”'),
    ({"ask": "median"}, 'ask of attribute “a” must be "shares" or "mean", got ask=“median”'),
    ({"kind": "multiple", "separator": ""}, "separator of attribute “a” must be non-empty text"),
    ({"kind": "multiple", "separator": "x"}, "categories of attribute “a” must not contain the separator “x”"),
    (
        {"kind": "multiple", "categories": ("x ", "y")},
        "categories of attribute “a” must not contain the separator “;”, and must not",
    ),
    ({"kind": "multiple", "categories": ("x",)}, "attribute “a” must have at least two labels"),
    ({"title": 3}, "title of attribute “a” must be Unicode text, got title=3"),
    (
        {"kind": "numeric"},
        "range of attribute “a” must be given, because this question is numeric; for example, write range=(0, 100)",
    ),
    ({"kind": "numeric", "range": (0, 1)}, "grid of attribute “a” must be given, because this question is numeric"),
    (
        {"kind": "numeric", "range": (0, 1), "grid": 2},
        "categories of attribute “a” must be left out, because the points of the grid",
    ),
    (
        {"kind": "numeric", "range": (0, 1), "grid": 1},
        "grid of attribute “a” must be an integer in [2, 1024], got grid=1",
    ),
    ({"kind": "numeric", "range": (0, 1), "grid": 1025}, "grid of attribute “a” must be an integer in [2, 1024]"),
    ({"kind": "numeric", "range": (0, 1), "grid": True}, "grid of attribute “a” must be an integer in [2, 1024]"),
    (
        {"kind": "numeric", "range": (1, 1), "grid": 2},
        "range of attribute “a” must go from a smaller to a larger number within [-1e15, 1e15]",
    ),
    (
        {"kind": "numeric", "range": (0, 1e16), "grid": 2},
        "range of attribute “a” must go from a smaller to a larger number within [-1e15, 1e15]",
    ),
    (
        {"kind": "numeric", "range": (0, float("nan")), "grid": 2},
        "range of attribute “a” must go from a smaller to a larger number",
    ),
    ({"kind": "numeric", "range": (0, 1, 2), "grid": 2}, "range of attribute “a” must be two numbers"),
    ({"kind": "numeric", "range": "01", "grid": 2}, "range of attribute “a” must be two numbers"),
    ({"kind": "numeric", "range": (0, "1"), "grid": 2}, "range of attribute “a” must be two numbers"),
    (
        {"kind": "numeric", "range": (1, 1 + 1e-14), "grid": 900},
        "grid of attribute “a” must have points that differ in their first 15 digits",
    ),
    (
        {"kind": "numeric", "range": (0, 1), "grid": 2, "missing": "1", "categories": ()},
        "must be distinct, got “1” twice",
    ),
]


@pytest.mark.parametrize(("keys", "message"), WRONG, ids=str)
def test_a_key_that_does_not_fit_is_named(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        Attribute("a", **{"categories": ("x", "y"), **keys})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"kind": "number"},
            "s: kind of attribute “a” must be one of ",
        ),
        ({"range": [0, "1"]}, "s: attributes[0].range[1] must be a valid number"),
        ({"range": [0, 1, 2]}, "s: attributes[0].range: "),
        ({"grid": 2.5}, "s: attributes[0].grid must be a valid integer"),
        ({"grid": True}, "s: attributes[0].grid must be a valid integer"),
        ({"clip": 1}, "s: attributes[0].clip must be a valid boolean"),
        ({"scores": [None]}, "s: attributes[0].scores[0] must be a valid number"),
        ({"score": 1}, "s: attributes[0].score must be left out, because there is no such key"),
        ({"kind": "numeric", "range": [0, 1], "grid": 1}, "s: grid of attribute “a” must be an integer in [2, 1024]"),
    ],
    ids=str,
)
def test_a_wrong_document_is_refused_with_the_place(keys: dict[str, Any], message: str) -> None:
    document = {"format": "deniable schema", "format_version": 2, "attributes": [{"name": "a", **keys}]}
    with pytest.raises(FileFormatError) as caught:
        Schema.from_json(json.dumps(document), "s")
    assert str(caught.value).startswith(message)


def test_attributes_that_contradict_themselves(words: Path) -> None:
    dictionary = DictionaryFile.read(words)
    wrong: Any
    for wrong, message in (
        ({"dictionary": dictionary, "missing": "red"}, "must be distinct, got “red” twice"),
        ({"dictionary": dictionary, "missing": "x", "other": "x"}, "must be distinct, got “x” twice"),
        ({"dictionary": dictionary, "categories": ("a", "b")}, "because the dictionary contains the categories"),
        ({"text": True, "categories": ("a", "b")}, "open text"),
        ({"text": True, "other": "x"}, "open text"),
        ({"text": True, "dictionary": dictionary}, "open text"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            Attribute("word", **wrong)
    with pytest.raises(
        InvalidParameterError, match="an attribute of open text must be the only attribute, got “a”, “b”"
    ):
        Schema((Attribute("a", text=True), Attribute("b", ("yes", "no"))))
