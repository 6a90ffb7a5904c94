"""Errors carry the parameters that they name, so that a command can write them as options."""

from __future__ import annotations

import datetime
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from deniable import GRR
from deniable.errors import InvalidParameterError, OutputError, out_of_range, quoted, unknown_name

OPTIONS = {"max_epsilon": "--max-epsilon", "anytime": "--anytime", "k": "--k"}


def test_only_parameters_that_the_error_names_are_spelled_as_options() -> None:
    error = InvalidParameterError(
        "max_epsilon must be > 0, for anytime=True", parameters=("max_epsilon", "anytime=True")
    )
    assert str(error) == "max_epsilon must be > 0, for anytime=True"
    assert error.spelled(OPTIONS) == "--max-epsilon must be > 0, for --anytime"
    assert error.spelled({}) == str(error)
    assert OutputError("max_epsilon=1.csv exists").spelled(OPTIONS) == "max_epsilon=1.csv exists"


def test_single_words_stay() -> None:
    assert (
        InvalidParameterError("k must be >= 2, thanks", parameters=("k",)).spelled(OPTIONS) == "k must be >= 2, thanks"
    )


def test_values_and_options_with_another_name_are_spelled_as_they_are_typed() -> None:
    error = InvalidParameterError(
        'clusters must be few with clusters, got clusters=9; use model="logit"',
        parameters=("clusters", 'model="logit"'),
    )
    options = {"clusters": "--cluster", "model": "--model"}
    assert error.spelled(options) == "--cluster must be few with clusters, got --cluster=9; use --model logit"
    assert error.spelled({}) == str(error)


def test_parameters_survive_a_process() -> None:
    error = pickle.loads(pickle.dumps(InvalidParameterError("max_epsilon must be > 0", parameters=("max_epsilon",))))
    assert error.spelled(OPTIONS) == "--max-epsilon must be > 0"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("it's", "“it's”"),
        ("\x1b[31m", r"“\x1b[31m”"),
        (None, "none"),
        (True, "true"),
        (np.bool_(False), "false"),
        (0.1, "0.1"),
        (np.float64(0.1), "0.1"),
        (np.float32(0.5), "0.5"),
        (np.int64(3), "3"),
        (np.array(4), "4"),
        (Fraction(1, 2), "1/2"),
        (["a", "b"], "“a”, “b”"),
        ((2, 3), "2, 3"),
        ([("a", 1), []], "(“a”, 1), (an empty list)"),
        ({"a": None}, "“a”: none"),
        ((), "an empty list"),
        (np.arange(3), "0, 1, 2"),
        (np.arange(1000), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 990 more"),
        (range(11), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 1 more"),
        (Path("a") / "b.csv", "“a/b.csv”"),
        (GRR(k=2, epsilon=1.0), "GRR(k=2, epsilon=1.0)"),
        (datetime.date(2026, 5, 1), "2026-05-01"),
    ],
)
def test_values_are_shown_as_people_write_them(value: object, shown: str) -> None:
    assert quoted(value) == shown


def test_the_shared_messages_show_values_so() -> None:
    assert str(unknown_name("rule", None, ["a"])) == "rule must be one of a, got rule=none"
    assert str(out_of_range("epsilon", "> 0", np.float64(-1))) == "epsilon must be > 0, got epsilon=-1.0"
    assert str(out_of_range("k", ">= 2", "1 (of 3)")) == "k must be >= 2, got k=1 (of 3)"
