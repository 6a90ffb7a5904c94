"""Texts in long columns get the same codes as in short columns, or no code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from deniable import Attribute, Schema
from deniable.errors import InvalidInputError, UnknownCategoryError
from deniable.survey import encoding, texts
from deniable.survey.texts import TextCodes


def looked_up(table: TextCodes, column: pa.Array) -> list[int] | None:
    found = np.full((len(column), 3), -7)
    known = table.write_codes(column, found, 1)
    assert (found[:, [0, 2]] == -7).all()
    return found[:, 1].tolist() if known else None


SHORT = st.text("ab\0é", max_size=26)


@given(st.lists(SHORT, min_size=1, max_size=40, unique=True), st.data(), st.integers(0, 3))
def test_only_texts_that_are_equal_are_found(known: list[str], data: st.DataObject, offset: int) -> None:
    table = TextCodes({text: 2 * code for code, text in enumerate(known)})
    asked = data.draw(st.lists(st.sampled_from(known) | SHORT, min_size=17, max_size=40))
    column = pa.array(asked, pa.string()).slice(offset)
    expected = [2 * known.index(text) if text in known else None for text in asked[offset:]]
    assert looked_up(table, column) == (None if None in expected else expected)
    few = looked_up(table, column.slice(0, 3))  # this run is interpreted
    assert few == (None if None in expected[:3] else expected[:3])


def test_long_texts_are_compared_as_a_whole() -> None:
    labels = [f"{'x' * 8}{middle}{'y' * 12}" for middle in ("a", "b", "abcdefgh", "abcdefgi", "")]
    table = TextCodes({label: code for code, label in enumerate(labels)})
    assert looked_up(table, pa.array(labels * 5)) == [0, 1, 2, 3, 4] * 5
    assert looked_up(table, pa.array([*labels * 5, labels[2].replace("d", "D")])) is None
    assert looked_up(table, pa.array([*labels, None])) is None
    assert looked_up(table, pa.array([], pa.string())) == []
    assert looked_up(table, pa.array([""] * 20)) is None


def test_nothing_is_read_behind_the_last_text() -> None:
    table = TextCodes({"": 0, "a": 1, "abcdefgh": 2, "abcdefghi": 3})
    for length in range(30):
        for last in ("", "a", "abcdefgh", "abcdefghi"):
            content = np.frombuffer(b"a" * length + last.encode(), np.uint8)
            offsets = np.array([*range(length + 1), len(content)], dtype=np.int32)
            # The column in memory ends where its texts end, as columns of other programs may.
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content.copy())]
            column = pa.Array.from_buffers(pa.string(), length + 1, buffers)
            assert looked_up(table, column) == [1] * length + [("", "a", "abcdefgh", "abcdefghi").index(last)]


def test_more_texts_than_the_first_places_are_found() -> None:
    labels = [f"{i * i}" for i in range(texts.MOST_TEXTS)]
    assert looked_up(TextCodes({label: i for i, label in enumerate(labels)}), pa.array(labels)) == list(range(4096))


def dictionary(texts: list[str | None]) -> pa.Array:
    return pa.array(texts).dictionary_encode()


@pytest.mark.parametrize("make", [pa.array, dictionary])
@pytest.mark.parametrize(
    "attribute",
    [
        Attribute("a", ("yes", "no", "3", "3.5")),
        Attribute("a", ("yes", "no", "3"), missing="none given"),
        Attribute("a", ("yes", "no", "3"), missing="none given", other="something else"),
        Attribute("a", edges=(1, 3), missing="yes", other="no"),
    ],
)
def test_long_columns_are_encoded_as_short_ones(
    attribute: Attribute, make: Callable[[list[str | None]], pa.Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "LEAST_ROWS", 20)
    asked = ["yes", "no", "3", "3.0", "03", "", "none given", "something else", "NO", "3.5"]
    given: list[list[str | None]] = [
        [*asked],
        [*asked[:3]],
        [text for text in asked if text != "3.0"],
        [*asked[:3], None],
    ]
    for given_texts in given:
        column = [given_texts[i % len(given_texts)] for i in range(60)]

        def outcome(column: list[str | None], row: int) -> object:
            try:
                codes = np.full((len(column), 2), -7)
                attribute.question_kind.encode(attribute, make(column), row, codes, 1)
                return codes[:, 1].tolist()
            except (InvalidInputError, UnknownCategoryError) as error:
                return type(error), str(error)

        parts = [outcome(column[start : start + 10], start + 1) for start in range(0, 60, 10)]
        wrong = next((part for part in parts if isinstance(part, tuple)), None)
        whole = outcome(column, 1)
        assert whole == (wrong or list(np.concatenate([part for part in parts if isinstance(part, list)])))


def test_what_a_text_alone_does_not_tell_is_not_looked_up() -> None:
    assert Attribute("a", ("yes", "no")).text_codes is not None
    assert Attribute("a", edges=(1, 3)).text_codes is None
    assert Attribute("a", text=True, missing="none").text_codes is None
    assert Attribute("a", tuple(map(str, range(texts.MOST_TEXTS + 1)))).text_codes is None


def test_an_index_behind_the_dictionary_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "LEAST_ROWS", 20)
    for index in (2, -1):
        indices = pa.array(np.full(30, index, dtype=np.int32))
        column = pa.DictionaryArray.from_arrays(indices, pa.array(["yes", "no"]), safe=False)
        with pytest.raises(InvalidInputError, match="must hold text or numbers"):
            Schema((Attribute("a", ("yes", "no")),)).read({"a": column})
