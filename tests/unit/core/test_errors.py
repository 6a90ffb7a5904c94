"""Errors carry the parameters that they name, so that a command can spell them as its options."""

from __future__ import annotations

import pickle

from deniable.errors import InvalidParameterError, OutputError

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


def test_parameters_survive_a_process() -> None:
    error = pickle.loads(pickle.dumps(InvalidParameterError("max_epsilon must be > 0", parameters=("max_epsilon",))))
    assert error.spelled(OPTIONS) == "--max-epsilon must be > 0"
