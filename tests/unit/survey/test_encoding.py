"""From answers to codes and back: the category of each answer, and answers without a category."""

from __future__ import annotations

import datetime
import decimal
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from deniable import SimulationRandomness
from deniable.errors import AmbiguousNumbersError, InvalidInputError, UnknownCategoryError
from deniable.survey.encoding import canonical_decimal
from deniable.survey.schema import Attribute, Schema
from tests.unit.survey.test_schema import SCHEMAS

YES_NO = Attribute("a", ("yes", "no"))


def _codes(attribute: Attribute, column: Any) -> list[int]:
    codes = Schema((attribute,)).encode({attribute.name: column})
    assert codes.dtype == np.int64
    assert codes.shape == (len(column), 1)
    result: list[int] = codes[:, 0].tolist()
    return result


def _message(attribute: Attribute, column: Any, error: type[Exception] = InvalidInputError) -> str:
    with pytest.raises(error) as caught:
        _codes(attribute, column)
    assert type(caught.value) is error
    return str(caught.value)


# -------------------------------------------------------------------- round trips


@given(SCHEMAS, st.data())
def test_decode_then_encode_is_the_identity_on_listed_categories(schema: Schema, data: st.DataObject) -> None:
    """For any label: commas, quotes, line ends, the empty text. Intervals are read as numbers, not by their labels."""
    listed = [attribute for attribute in schema.attributes if attribute.edges is None]
    if listed:
        schema = Schema(tuple(listed))
        rows = data.draw(st.lists(st.tuples(*[st.integers(0, size - 1) for size in schema.sizes]), max_size=20))
        codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(listed))
        assert schema.encode(schema.decode(codes)).tolist() == codes.tolist()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30), st.booleans())
def test_binning_against_the_definition(values: list[float], as_text: bool) -> None:
    edges = (-1.5, 0.0, 0.1, 7.0, 1e6)
    expected = [sum(value >= edge for edge in edges) for value in values]
    column = pa.array(
        [repr(value) for value in values] if as_text else values, pa.string() if as_text else pa.float64()
    )
    assert _codes(Attribute("x", edges=edges), column) == expected


@given(st.lists(st.lists(st.sampled_from(["yes", "no", "maybe", ""]), max_size=5), max_size=5))
def test_chunks_do_not_matter(chunks: list[list[str]]) -> None:
    schema = Schema((Attribute("a", ("yes", "no"), missing="none", other="else"),))
    table = pa.table({"a": pa.chunked_array(chunks, pa.string())})
    expected = [{"yes": 0, "no": 1, "": 2, "maybe": 3}[answer] for chunk in chunks for answer in chunk]
    assert schema.encode(table)[:, 0].tolist() == expected


# -------------------------------------------------------------------- answers and categories


def test_text_is_matched_exactly() -> None:
    assert _codes(YES_NO, ["no", "yes", "no"]) == [1, 0, 1]
    assert "unknown category of" in _message(YES_NO, ["No"], UnknownCategoryError)
    assert "unknown category of" in _message(YES_NO, [" no"], UnknownCategoryError)


def test_missing_is_null_or_empty_unless_empty_is_a_category() -> None:
    missing = Attribute("a", ("yes", "no"), missing="n/a")
    assert _codes(missing, ["no", None, "", "n/a"]) == [1, 2, 2, 2]
    assert _codes(missing, pa.nulls(2)) == [2, 2]
    assert _codes(Attribute("a", ("", "no"), missing="n/a"), ["", None]) == [0, 2]
    assert _codes(Attribute("a", ("yes", "no"), missing=""), ["", None]) == [2, 2]


def test_unknown_is_other_where_there_is_one() -> None:
    other = Attribute("a", ("yes", "no"), other="else")
    assert _codes(other, ["maybe", "else", "no", "3"]) == [2, 2, 1, 2]


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        (pa.array([3, 10, -1], pa.int8()), [0, 1, 2]),
        (pa.array([3, 10], pa.uint64()), [0, 1]),
        (pa.array([3.0, 10.0, -1.0], pa.float64()), [0, 1, 2]),
        (pa.array([3.0, 2.5], pa.float32()), [0, 3]),
        (pa.array([decimal.Decimal("3.00"), decimal.Decimal("2.50")]), [0, 3]),
        (pa.array(["3", "3.0", "10.00", "2.50"]), [0, 0, 1, 3]),
        (pa.array(["3"], pa.large_string()), [0]),
        (pa.array(["3"], pa.string_view()), [0]),
        (pa.array([b"3"], pa.binary()), [0]),
        (pa.array(["10", "3", "10"]).dictionary_encode(), [1, 0, 1]),
        (pa.array([10, None, 3]).dictionary_encode(), [1, 4, 0]),
    ],
)
def test_numbers_match_labels_by_their_shortest_text(column: pa.Array, codes: list[int]) -> None:
    assert _codes(Attribute("a", ("3", "10", "-1", "2.5"), missing="m"), column) == codes


def test_a_large_float_and_a_small_one_are_written_without_exponent() -> None:
    attribute = Attribute("a", ("123456789012345", "0.0000001", "0"))
    assert _codes(attribute, pa.array([123456789012345.0, 1e-7, -0.0])) == [0, 1, 2]


def test_exact_text_goes_before_equal_number() -> None:
    assert _codes(Attribute("a", ("3", "3.0")), ["3", "3.0"]) == [0, 1]
    assert "row 1" in _message(Attribute("a", ("3", "3.0")), ["3.00"], UnknownCategoryError)
    assert _codes(Attribute("a", ("3.0", "4.0")), pa.array([3, 4])) == [0, 1]


@pytest.mark.parametrize("text", ["01234", "1.234e3", "+1234", "1234.", "1 2 3 4", "١٢٣٤", "0x4d2"])
def test_only_plain_decimals_are_read_as_numbers(text: str) -> None:
    """A postcode with a leading zero differs from the number without it."""
    message = _message(Attribute("postcode", ("1234", "5678")), ["5678", text], UnknownCategoryError)
    assert "in row 2: the schema has “1234”, “5678”; " in message


def test_a_number_of_two_meanings_is_asked_about_and_space_around_one_is_not() -> None:
    postcode = Attribute("postcode", ("1234", "5678"))
    assert _codes(postcode, ["5678", " 1234"]) == [1, 0]
    assert 'pass decimal="point"' in _message(postcode, ["5678", "1,234"], AmbiguousNumbersError)


def test_booleans_and_dates_match_their_iso_text() -> None:
    assert _codes(Attribute("a", ("true", "false")), pa.array([False, True])) == [1, 0]
    assert _codes(Attribute("a", ("2020-01-02", "x")), pa.array([datetime.date(2020, 1, 2)])) == [0]


def test_a_dictionary_column_may_be_full_have_nulls_and_unused_values() -> None:
    labels = tuple(f"c{i}" for i in range(128))
    values = pa.array([*labels])
    indices = pa.array([127, None, 0], pa.int8())
    column = pa.DictionaryArray.from_arrays(indices, values)
    assert _codes(Attribute("a", labels, missing="m"), column) == [127, 128, 0]
    unused = pa.DictionaryArray.from_arrays(pa.array([1], pa.int8()), pa.array(["unknown", "c5", None]))
    assert _codes(Attribute("a", labels), unused) == [5]
    null_value = pa.DictionaryArray.from_arrays(pa.array([2], pa.int8()), pa.array(["unknown", "c5", None]))
    assert _codes(Attribute("a", labels, missing="m"), null_value) == [128]


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3))
def test_canonical_decimal_keeps_the_number(number: decimal.Decimal) -> None:
    shortest = canonical_decimal(format(number, "f"))
    assert shortest is not None
    assert decimal.Decimal(shortest) == number
    assert canonical_decimal(shortest) == shortest
    assert not shortest.endswith(".")


# -------------------------------------------------------------------- binned attributes


def test_bins_are_closed_on_the_left() -> None:
    age = Attribute("age", edges=(20, 40))
    assert _codes(age, ["19.999", "20", "39", "40", "4e1", "-5", "+20.", ".5", "007"]) == [0, 1, 1, 2, 2, 0, 1, 0, 0]
    assert _codes(age, pa.array([19, 20, 40], pa.uint8())) == [0, 1, 2]
    assert _codes(age, pa.array([19, 40, 19]).dictionary_encode()) == [0, 2, 0]


def test_missing_and_other_of_a_binned_attribute() -> None:
    age = Attribute("age", edges=(20, 40), missing="99", other="refused")
    assert _codes(age, ["99", "99.0", "", None, "98", "refused", "don't know"]) == [3, 3, 3, 3, 2, 4, 4]
    assert _codes(age, pa.array([99, None, 98])) == [3, 3, 2]
    assert _codes(age, pa.array([99.0, 20.0])) == [3, 1]


@pytest.mark.parametrize("column", [["1", "NaN"], ["1", "-inf"], ["1", "1e999"], pa.array([1.0, float("nan")])])
@pytest.mark.parametrize("other", [None, "else"])
def test_a_number_that_is_not_finite_is_never_other(column: Any, other: str | None) -> None:
    binned = Attribute("x", edges=(0,), other=other)
    assert _message(binned, column) == "answers of attribute “x” in row 2 must be finite numbers"
    if isinstance(column, pa.Array):
        listed = Attribute("x", ("1", "2"), other=other)
        assert _message(listed, column) == "answers of attribute “x” in row 2 must be finite numbers"
        assert _codes(Attribute("x", ("1", "nan")), column) == [0, 1]


def test_an_answer_that_is_no_number_is_unknown() -> None:
    assert _message(Attribute("age", edges=(20,)), ["20", "old"], UnknownCategoryError) == (
        "unknown answer of attribute “age” in row 2: it must be a number like 1500.5, with a decimal point and nothing "
        "between thousands; write all numbers in this way"
    )


@pytest.mark.parametrize("unit", ["s", "ns"])
@pytest.mark.parametrize(
    "attribute",
    [
        Attribute("x", edges=(20,)),
        Attribute("x", edges=(20,), other="else", missing="none"),
        Attribute("x", kind="numeric", range=(0, 1e10), grid=11),
        Attribute("x", ("1", "60")),
        Attribute("x", text=True),
    ],
    ids=["edges", "edges and other", "numeric", "categories", "text"],
)
def test_a_duration_is_no_number(attribute: Attribute, unit: str) -> None:
    """One minute is 60 or 60000000000, by the column's type; the question does not say which."""
    minutes = pa.array([60, 1], pa.duration("s")).cast(pa.duration(unit))
    with pytest.raises(InvalidInputError) as caught:
        Schema((attribute,)).encode({"x": minutes}, SimulationRandomness(1))
    assert str(caught.value) == f"column “x” must hold text or numbers, got the type duration[{unit}]"


DESTROYED = [
    (Attribute("x", edges=(20,)), ["20", "20 EUR"], "write all numbers in this way"),
    (Attribute("x", kind="numeric", range=(0, 100), grid=11), ["20", "20 EUR"], "write all numbers in this way"),
    (Attribute("x", kind="numeric", range=(0, 100), grid=11), [20, 1500], 'or declare a wider "range" in the schema'),
    (Attribute("x", edges=("2026-05-01",)), ["2026-05-01", "01.05.2026"], "write all dates in this way"),
    (Attribute("x", ("yes", "no")), ["yes", "Yes"], "correct the answer, or declare the category in the schema"),
    (
        Attribute("x", ("a", "b"), kind="ordered"),
        ["a", "A"],
        "correct the answer, or declare the category in the schema",
    ),
    (
        Attribute("x", ("a", "b"), kind="multiple"),
        ["a;b", "a,b"],
        'declare the option or another "separator" in the schema',
    ),
    (
        Attribute("x", ("a", "b"), kind="multiple"),
        [["a"], ["A"]],
        'declare the option or another "separator" in the schema',
    ),
]


@pytest.mark.parametrize(("attribute", "answers", "advice"), DESTROYED)
def test_no_advice_destroys_answers(attribute: Attribute, answers: list[Any], advice: str) -> None:
    """Accepting all unknown answers makes one word of a column of European numbers, or of another spelling."""
    with pytest.raises(InvalidInputError) as caught:
        Schema((attribute,)).encode({"x": answers}, SimulationRandomness(1))
    assert advice in str(caught.value)
    assert not re.search(r"\bother\b|clip|accept|nearer|\bmissing\b|remove|leave out", str(caught.value))


# -------------------------------------------------------------------- errors


def test_an_unknown_category_is_named_with_attribute_and_record() -> None:
    answers = {"a": ["yes"] * 20, "b": ["x"] * 16 + ["z", "z", "x", "x"]}
    schema = Schema((YES_NO, Attribute("b", ("x", "y"))))
    with pytest.raises(UnknownCategoryError) as caught:
        schema.encode(answers)
    assert str(caught.value) == (
        "unknown category of attribute “b” in row 17: the schema has “x”, “y”; "
        "correct the answer, or declare the category in the schema"
    )
    with pytest.raises(UnknownCategoryError, match="in row 1017:"):
        schema.encode(answers, first_row=1001)
    chunks = pa.concat_tables([pa.table(answers).slice(0, 7), pa.table(answers).slice(7)])
    with pytest.raises(UnknownCategoryError, match="in row 17:"):
        schema.encode(chunks)


def test_long_messages_are_cut() -> None:
    many = Attribute("a", tuple(f"label {i}" for i in range(1000)))
    message = _message(many, ["x" * 10_000], UnknownCategoryError)
    assert len(message) < 400
    assert "“label 7” and 992 more" in message


def test_a_missing_answer_without_a_category_for_it() -> None:
    expected = (
        "missing answer of attribute “a” in row 2; to accept missing answers, "
        'declare a category "missing" in the schema'
    )
    assert _message(YES_NO, ["yes", None]) == expected
    assert _message(YES_NO, ["yes", ""]) == expected
    assert _message(Attribute("a", ("yes", "no"), other="else"), ["yes", ""]) == expected
    assert _message(Attribute("a", edges=(3,)), [3, None]) == expected


def test_a_missing_column_is_named_with_those_present() -> None:
    schema = Schema((YES_NO, Attribute("b", ("x", "y"))))
    with pytest.raises(InvalidInputError) as caught:
        schema.encode({"a": ["yes"], "c": ["x"]})
    assert str(caught.value) == "the answers must have the column “b”, got “a” and 1 other column"
    with pytest.raises(InvalidInputError, match=r"must have the columns “a”, “b”, got 0 other columns$"):
        schema.encode({})
    with pytest.raises(
        InvalidInputError, match=r"must have columns with different names, but columns 1 and 3 have the same name$"
    ):
        schema.encode(pa.table([["yes"], ["x"], ["no"]], names=["a", "b", "a"]))


@pytest.mark.parametrize("column", [pa.array([["yes"]]), pa.array([{"x": 1}]), pa.array([b"\xff"])])
def test_a_column_without_text_is_refused(column: pa.Array) -> None:
    assert "column “a” must hold text or numbers, got the type" in _message(YES_NO, column)


@pytest.mark.parametrize("answers", [np.array([[1]]), ["yes"], "yes", {"a": "yes"}, {"a": [1], "b": [1, 2]}, None])
def test_something_that_is_no_table(answers: Any) -> None:
    with pytest.raises(InvalidInputError, match="answers must be a table of named columns, got"):
        Schema((YES_NO,)).encode(answers)


# -------------------------------------------------------------------- kinds of tables


def test_every_kind_of_table() -> None:
    schema = Schema((YES_NO, Attribute("b", ("x", "y"), missing="m")))
    answers: dict[str, Any] = {"ignored": [1.5, 2.5], "b": ["y", None], "a": ["no", "yes"]}
    table = pa.table(answers)
    for same in (answers, table, table.to_batches()[0], pd.DataFrame(answers), pl.DataFrame(answers)):
        assert schema.encode(same).tolist() == [[1, 1], [0, 2]]
    frame = pd.DataFrame(answers)
    frame["a"] = frame["a"].astype("category")
    assert schema.encode(frame).tolist() == [[1, 1], [0, 2]]


def test_no_rows() -> None:
    assert Schema((YES_NO,)).encode({"a": []}).shape == (0, 1)
    assert Schema((YES_NO,)).encode(pa.table({"a": pa.chunked_array([], pa.string())})).shape == (0, 1)
