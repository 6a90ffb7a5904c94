"""Schema and Attribute: the public part of a record, also as JSON."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from deniable.errors import FileFormatError, InvalidInputError, InvalidParameterError, OutputError
from deniable.survey.schema import Attribute, Schema

TEXTS = st.text(max_size=8)


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    name = draw(st.text(min_size=1, max_size=8))
    edges = draw(
        st.none() | st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4, unique=True)
    )
    missing, other = draw(st.booleans()), draw(st.booleans())
    least = 2 if edges is None else len(edges) + 1
    count = (missing + other) + (draw(st.integers(least, 6)) if edges is None else least)
    labels = draw(st.lists(TEXTS, min_size=count, max_size=count, unique=True))
    return Attribute(
        name,
        tuple(labels[missing + other :]),
        missing=labels[0] if missing else None,
        other=labels[missing] if other else None,
        edges=None if edges is None else tuple(sorted(edges)),
    )


SCHEMAS = st.lists(attributes(), min_size=1, max_size=4, unique_by=lambda attribute: attribute.name).map(
    lambda drawn: Schema(tuple(drawn))
)


def test_labels_are_categories_then_missing_then_other() -> None:
    attribute = Attribute("smoker", ("yes", "no"), other="else", missing="")
    assert attribute.labels == ("yes", "no", "", "else")
    assert (attribute.k, attribute.missing_code, attribute.other_code) == (4, 2, 3)
    plain = Attribute("smoker", ("yes", "no"))
    assert (plain.k, plain.missing_code, plain.other_code) == (2, None, None)


def test_missing_counts_towards_the_two_labels_that_are_needed() -> None:
    assert Attribute("only", ("yes",), missing="no answer").k == 2


def test_labels_of_intervals() -> None:
    assert Attribute("x", edges=(0.5,)).labels == ("< 0.5", ">= 0.5")
    assert Attribute("x", edges=(-1, 0.1, 1e20)).labels == ("< -1", "-1 to < 0.1", "0.1 to < 1e+20", ">= 1e+20")
    assert Attribute("x", ("low", "high"), edges=[3]).labels == ("low", "high")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "name of an attribute must be non-empty text, got name=“”"),
        ({"name": 3}, "name of an attribute must be non-empty text, got name=3"),
        ({"categories": ()}, "attribute “a” must have at least two labels (missing and other count as labels), got 0"),
        (
            {"categories": ("x",)},
            "attribute “a” must have at least two labels (missing and other count as labels), got 1",
        ),
        ({"categories": "xy"}, "categories of attribute “a” must be a sequence of strings, got “xy”"),
        ({"categories": ("x", 3)}, "labels of attribute “a” must be Unicode text, got 3"),
        ({"categories": ("x", "\ud800")}, "labels of attribute “a” must be Unicode text, got “\\ud800”"),
        ({"categories": ("x", "y", "x")}, "labels of attribute “a” must be distinct, got “x” twice"),
        ({"categories": ("x", "y"), "missing": "y"}, "labels of attribute “a” must be distinct, got “y” twice"),
        ({"missing": "m", "other": "m"}, "labels of attribute “a” must be distinct, got “m” twice"),
        ({"edges": ()}, "edges of attribute “a” must be finite, increasing numbers, got edges=an empty list"),
        ({"edges": (1, 1)}, "edges of attribute “a” must be finite, increasing numbers, got edges=1.0, 1.0"),
        (
            {"edges": (0, float("nan"))},
            "edges of attribute “a” must be finite, increasing numbers, got edges=0.0, nan",
        ),
        (
            {"edges": (0, float("inf"))},
            "edges of attribute “a” must be finite, increasing numbers, got edges=0.0, inf",
        ),
        (
            {"edges": ("x",)},
            "edges of attribute “a” must be increasing numbers, or increasing dates such as 2026-05-01, got edges=“x”",
        ),
        (
            {"categories": ("x", "y"), "edges": (1, 2)},
            "categories of attribute “a” must have a name for each of the 3 intervals that the edges make, got 2",
        ),
    ],
)
def test_an_attribute_out_of_bounds_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        Attribute(**({"name": "a"} | arguments))
    assert str(caught.value) == message


def test_a_schema_needs_distinct_attributes() -> None:
    yes_no = Attribute("a", ("yes", "no"))
    with pytest.raises(
        InvalidParameterError, match=r"^attributes must be a non-empty sequence of Attribute, got an empty list$"
    ):
        Schema(())
    with pytest.raises(InvalidParameterError, match=r"^attributes must be a non-empty sequence of Attribute"):
        Schema(("a",))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"^all attributes must have different names, got “a” twice$"):
        Schema((yes_no, Attribute("b", ("yes", "no")), yes_no))


def test_names_sizes_equality_and_pickle() -> None:
    schema = Schema(
        (
            Attribute("a", ("x", "y"), missing="m"),
            Attribute("b", edges=(1, 2, 3)),
        )
    )
    assert schema.names == ("a", "b")
    assert schema.sizes == (3, 4)
    schema.encode({"a": ["x"], "b": [1]})
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert hash(schema) == hash(Schema(schema.attributes))
    listed: Any = list(schema.attributes)
    assert Schema(listed) == schema
    assert hash(Schema(listed)) == hash(schema)


def test_decode_names_what_is_out_of_range() -> None:
    schema = Schema(
        (
            Attribute("a", ("x", "y")),
            Attribute("b", ("x", "y", "z")),
        )
    )
    assert schema.decode(np.array([[1, 2], [0, 0]])).to_pydict() == {"a": ["y", "x"], "b": ["z", "x"]}
    with pytest.raises(InvalidInputError, match=r"value must be in 0..1, got something else in row 2, attribute 0"):
        schema.decode(np.array([[1, 2], [2, 0]]))


# -------------------------------------------------------------------- JSON


@given(SCHEMAS)
def test_json_round_trip(schema: Schema) -> None:
    assert Schema.from_json(schema.to_json()) == schema


def test_json_is_what_a_person_would_write() -> None:
    schema = Schema(
        (
            Attribute("Beruf", ("Ärztin", "1,5"), missing="—"),
            Attribute("age", edges=(20, 32.5)),
        )
    )
    assert json.loads(schema.to_json()) == {
        "format": "deniable schema",
        "format_version": 1,
        "attributes": [
            {"name": "Beruf", "categories": ["Ärztin", "1,5"], "missing": "—"},
            {"name": "age", "categories": ["< 20", "20 to < 32.5", ">= 32.5"], "edges": [20, 32.5]},
        ],
    }
    assert "Ärztin" in schema.to_json()


def test_save_and_load(tmp_path: Path) -> None:
    schema = Schema((Attribute("a", ("x", "\u2028\n,")),))
    schema.save(tmp_path / "schema.json")
    assert Schema.load(tmp_path / "schema.json") == schema
    (tmp_path / "bom.json").write_text("\ufeff" + schema.to_json(), encoding="utf-8")
    assert Schema.load(tmp_path / "bom.json") == schema
    with pytest.raises(OutputError, match="cannot write"):
        schema.save(tmp_path / "nowhere" / "schema.json")


def _document(**changes: Any) -> str:
    document = {
        "format": "deniable schema",
        "format_version": 1,
        "attributes": [{"name": "a", "categories": ["x", "y"]}, {"name": "b", "categories": ["x", "y"]}],
    }
    return json.dumps(document | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "s.json is not JSON: Expecting value in line 1, column 1"),
        (
            '{\n "format": "deniable schema",,',
            "s.json is not JSON: Expecting property name enclosed in double quotes in line 2, column 30",
        ),
        ("[1]", "s.json is not a deniable schema: expected format=“deniable schema”, got list"),
        ("{}", "s.json is not a deniable schema: expected format=“deniable schema”, got format=none"),
        (
            '{"format": "x", "format": "y"}',
            "s.json is not a deniable schema: the key “format” occurs twice in one object",
        ),
        ("[NaN]", "s.json is not a deniable schema: NaN is not a JSON number"),
        (
            _document(format="deniable collection"),
            "s.json is not a deniable schema: expected format=“deniable schema”, got format=“deniable collection”",
        ),
        (
            _document(format_version=3),
            "s.json has format_version=3; this release can read format_version=1 and 2 of a deniable schema. "
            "Upgrade deniable if a newer release wrote this file",
        ),
        (
            _document(format_version=True),
            "s.json has format_version=true; this release can read format_version=1 and 2 of a deniable schema. "
            "Upgrade deniable if a newer release wrote this file",
        ),
        (_document(atributes=[]), "s.json: atributes must be left out, because there is no such key"),
        (_document(attributes={}), "s.json: attributes must be a valid array"),
        (_document(attributes=[{"categories": ["x"]}]), "s.json: attributes[0].name must be given"),
        (
            _document(attributes=[{"name": "a", "categories": ["x", 1]}]),
            "s.json: attributes[0].categories[1] must be a valid string",
        ),
        (
            _document(attributes=[{"name": "a", "edges": [None]}]),
            "s.json: attributes[0].edges[0].float must be a valid number",
        ),
        (
            _document(attributes=[{"name": "a", "categories": ["x", "x"]}]),
            "s.json: labels of attribute “a” must be distinct, got “x” twice",
        ),
        (_document(attributes=[]), "s.json: attributes must be a non-empty sequence of Attribute, got an empty list"),
    ],
)
def test_a_damaged_document_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        Schema.from_json(text, "s.json")
    assert str(caught.value) == message


def test_a_deeply_nested_document_is_refused() -> None:
    with pytest.raises(FileFormatError, match="is not a deniable schema"):
        Schema.from_json("[" * 200_000)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"^there is no file .*schema.json$"):
        Schema.load(tmp_path / "schema.json")
    with pytest.raises(FileFormatError, match=r"^cannot read "):
        Schema.load(tmp_path)
    (tmp_path / "latin.json").write_bytes(b'{"format": "\xe9"}')
    with pytest.raises(FileFormatError, match=r"latin.json must be the JSON file of a schema, but byte 13 is 0xe9"):
        Schema.load(tmp_path / "latin.json")
