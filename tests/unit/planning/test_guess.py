"""Guesses of answers: from rows, from shares, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deniable import Attribute, Schema
from deniable.errors import InvalidInputError
from deniable.planning import Guess
from tests.unit.planning.rehearsed import SHARES, SMOKER, SURVEY


def test_shares_that_were_rounded_by_hand_are_made_to_fit() -> None:
    records, held = Guess.from_shares(SMOKER, {"smoker": {"yes": 0.505, "no": 0.505}}).people(1000)
    assert (records.ravel().tolist(), held.tolist()) == ([0, 1], [500, 500])


def test_shares_whose_sum_is_rounded_down_leave_nobody_beyond_the_last_category() -> None:
    """Ten times .1 ends at 1 - 2^-53, and so does the other question's first share: the piece above it is at 1."""
    ten = Schema((Attribute("ten", tuple("abcdefghij")), Attribute("two", ("x", "y"))))
    guess = Guess.from_shares(ten, {"ten": dict.fromkeys("abcdefghij", 0.1), "two": {"x": 1 - 2**-53, "y": 2**-53}})
    assert guess.records[-1].tolist() == [9, 1]


def test_people_are_as_guessed() -> None:
    guess = Guess.from_shares(SURVEY, SHARES)
    records, held = guess.people(1000)
    assert held.sum() == 1000
    assert len(records) <= 1 + sum(column.k - 1 for column in SURVEY.columns)
    for j, (column, shares) in enumerate(
        zip(SURVEY.columns, ([0.2, 0.2, 0.4, 0.2], [0.1, 0.9], [0.7, 0.3], [0.5, 0, 0.5, 0, 0]), strict=True)
    ):
        counts = np.bincount(records[:, j], weights=held, minlength=column.k)
        assert np.abs(counts - 1000 * np.array(shares)).max() <= 2
    # Rows of answers are scaled to another number, and records stay together.
    codes = np.array([[0, 1, 0, 2]] * 30 + [[3, 0, 1, 4]] * 10)
    records, held = Guess.from_codes(SURVEY, codes).people(101)
    assert records.tolist() == [[0, 1, 0, 2], [3, 0, 1, 4]]
    assert sorted(held.tolist()) in ([25, 76], [26, 75])


def test_files_of_answers_and_of_shares(tmp_path: Path) -> None:
    answers = tmp_path / "answers.csv"
    answers.write_text("stars,devices,income\n3,phone;radio,0\n,phone,50\n3,,50\n1,phone,0\n")
    records, held = Guess.read(answers, SURVEY).people(8)
    assert held.tolist() == [2, 2, 2, 2]
    assert sorted(map(tuple, records.tolist())) == [(0, 1, 0, 0), (2, 0, 0, 2), (2, 1, 1, 0), (3, 1, 0, 2)]
    shares = tmp_path / "shares.csv"
    rows = [f"{name},{label},{share}" for name, own in SHARES.items() for label, share in own.items()]
    shares.write_text("\n".join(["attribute,category,share", *rows]) + "\n")
    read, given = Guess.read(shares, SURVEY), Guess.from_shares(SURVEY, SHARES)
    assert (read.records.tolist(), read.weights.tolist()) == (given.records.tolist(), given.weights.tolist())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attribute,category,share\nsmoker,yes,half\n", "a number in the share column of every row, but row 1"),
        ("attribute,category,share\nsmoker,yes,.5\nsmoker,yes,.5\n", "row 2 repeats a category"),
        ("attribute,category,share\nsmoker,yes,.5\n", "must sum to 1, got 0.5"),
        ("attribute,category,share\nsmoker,yes,-1\nsmoker,no,2\n", "shares between 0 and 1"),
        (
            "attribute,category,share\nsmoker,maybe,1\n",
            "must use only categories of the question; “maybe” is not a category of the question",
        ),
        ("attribute,category,share\nage,old,1\n", "must name only questions of the schema; “age” is not in the schema"),
        ("other\nyes\n", "smoker"),
        ("smoker\nnobody-must-read-this\n", "smoker"),
    ],
)
def test_guesses_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "guess.csv"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=message) as error:
        Guess.read(path, SMOKER)
    assert "nobody-must" not in str(error.value)
