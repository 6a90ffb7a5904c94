"""Texts that are looked up in long columns have the codes that they have in short ones, or none at all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import Attribute
from deniable.errors import InvalidInputError, UnknownCategoryError
from deniable.survey import encoding, texts
from deniable.survey.texts import TextCodes

SHORT = st.text("ab\0é", max_size=26)


@given(st.lists(SHORT, min_size=1, max_size=40, unique=True), st.data(), st.integers(0, 3))
def test_only_texts_that_are_equal_are_found(known: list[str], data: st.DataObject, offset: int) -> None:
    table = TextCodes({text: 2 * code for code, text in enumerate(known)})
    asked = data.draw(st.lists(st.sampled_from(known) | SHORT, min_size=17, max_size=40))
    column = pa.array(asked, pa.string()).slice(offset)
    expected = [2 * known.index(text) if text in known else None for text in asked[offset:]]
    found = table.codes(column)
    if None in expected:
        assert found is None
    else:
        assert found is not None
        assert found.tolist() == expected
    few = table.codes(column.slice(0, 3))  # interpreted
    assert (None if None in expected[:3] else expected[:3]) == (None if few is None else few.tolist())


def test_long_texts_are_compared_as_a_whole() -> None:
    labels = [f"{'x' * 8}{middle}{'y' * 12}" for middle in ("a", "b", "abcdefgh", "abcdefgi", "")]
    table = TextCodes({label: code for code, label in enumerate(labels)})
    found = table.codes(pa.array(labels * 5))
    assert found is not None
    assert found.tolist() == [0, 1, 2, 3, 4] * 5
    assert table.codes(pa.array([*labels * 5, labels[2].replace("d", "D")])) is None
    assert table.codes(pa.array([*labels, None])) is None
    assert table.codes(pa.array([], pa.string())) is not None
    assert table.codes(pa.array([""] * 20)) is None


@pytest.mark.parametrize(
    "attribute",
    [
        Attribute("a", ("yes", "no", "3", "3.5")),
        Attribute("a", ("yes", "no", "3"), missing="none given"),
        Attribute("a", ("yes", "no", "3"), missing="none given", other="something else"),
        Attribute("a", edges=(1, 3), missing="yes", other="no"),
    ],
)
def test_long_columns_are_encoded_as_short_ones(attribute: Attribute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "LEAST_ROWS", 20)
    asked = ["yes", "no", "3", "3.0", "03", "", "none given", "something else", "NO", "3.5"]
    for given_texts in (asked, asked[:3], [text for text in asked if text != "3.0"]):
        column = [given_texts[i % len(given_texts)] for i in range(60)]

        def outcome(column: list[str], row: int) -> object:
            try:
                return encoding.encode_column(attribute, pa.array(column), row).tolist()
            except (InvalidInputError, UnknownCategoryError) as error:
                return type(error), str(error)

        parts = [outcome(column[start : start + 10], start + 1) for start in range(0, 60, 10)]
        wrong = next((part for part in parts if isinstance(part, tuple)), None)
        whole = outcome(column, 1)
        assert whole == (wrong or list(np.concatenate([part for part in parts if isinstance(part, list)])))


def test_what_a_text_alone_does_not_tell_is_not_looked_up() -> None:
    assert Attribute("a", ("yes", "no")).text_codes is not None
    assert Attribute("a", edges=(1, 3)).text_codes is None
    assert Attribute("a", tuple(map(str, range(texts.MOST_TEXTS + 1)))).text_codes is None
