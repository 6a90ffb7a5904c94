"""Steps of post-processing: their names, the raw estimate that they keep, and records."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from deniable import GRR, Estimate, RecordEstimate, SimulationRandomness
from deniable.errors import (
    InvalidInputError,
    InvalidParameterError,
    NoIntervalError,
)
from deniable.postprocess import (
    base_cut,
    clip_normalize,
    iterative_bayes,
    norm_sub,
    postprocess,
    simplex,
)
from deniable.postprocess.steps import POSTPROCESS_NAMES, POSTPROCESSORS
from deniable.records.split import SPL
from tests.unit.postprocess.test_consistency import an_estimate
from tests.unit.postprocess.test_em import raw_of


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (norm_sub, "norm-sub"),
        (simplex, "simplex"),
        (base_cut, "base-cut (95%)"),
        (clip_normalize, "clip-normalize"),
    ],
)
def test_steps_are_named_keep_the_raw_estimate_and_have_no_intervals(step: Any, name: str) -> None:
    raw = an_estimate([0.9, 0.4, -0.3]).named("colour", ["red", "green", "blue"])
    result = step(raw)
    assert result.processing == (name,)
    assert result.raw is raw
    assert (result.attribute, result.labels, result.n) == ("colour", ("red", "green", "blue"), 100)
    assert np.isnan(result.standard_errors).all()
    with pytest.raises(NoIntervalError, match=re.escape(name)):
        result.interval(0.95)
    np.testing.assert_array_equal(raw.frequencies, [0.9, 0.4, -0.3])


def test_steps_accumulate() -> None:
    raw = an_estimate([0.9, 0.4, -0.3])
    result = norm_sub(base_cut(raw))
    assert result.processing == ("base-cut (95%)", "norm-sub")
    assert result.raw is raw


@pytest.mark.parametrize("step", POSTPROCESSORS.values(), ids=POSTPROCESSORS)
def test_records_are_processed_attribute_by_attribute_and_nothing_is_invented(step: Any) -> None:
    nothing = Estimate(np.full(3, np.nan), 0, np.array(1.0), np.array(1.0), contributors=7)
    records = RecordEstimate({"a": an_estimate([0.9, 0.4]), "b": nothing})
    result = step(records)
    assert list(result) == ["a", "b"]
    np.testing.assert_array_equal(result["a"].frequencies, step(records["a"]).frequencies)
    assert np.isnan(result["b"].frequencies).all()


@pytest.mark.parametrize("step", POSTPROCESSORS.values(), ids=POSTPROCESSORS)
def test_other_things_are_refused(step: Any) -> None:
    with pytest.raises(
        InvalidInputError, match="must be an Estimate or a RecordEstimate, got an object of the type ndarray"
    ):
        step(np.array([0.5, 0.5]))


def test_every_name_is_offered() -> None:
    assert list(POSTPROCESSORS) == ["norm-sub", "simplex", "base-cut", "clip-normalize", "hierarchical"]
    assert POSTPROCESS_NAMES == ("norm-sub", "simplex", "base-cut", "clip-normalize", "hierarchical", "em", "smooth")


@pytest.mark.parametrize("name", [name for name in POSTPROCESS_NAMES if name != "smooth"])
def test_by_name_records_keep_their_names(name: str) -> None:
    spl, rng = SPL(sizes=(2, 3), epsilon=3.0), SimulationRandomness(1)
    aggregate = spl.aggregate(spl.randomize(np.array([[0, 2], [1, 1], [1, 0]] * 50), rng))
    raw = spl.estimate(aggregate)
    named = RecordEstimate({"x": raw[0].named("x", ["no", "yes"]), "y": raw[1].named("y", ["a", "b", "c"])})
    result = postprocess(name, named, aggregate)
    assert isinstance(result, RecordEstimate)
    assert [(key, one.attribute, one.labels) for key, one in result.items()] == [
        ("x", "x", ("no", "yes")),
        ("y", "y", ("a", "b", "c")),
    ]
    assert all(one.processing[0].startswith(name) for one in result.values())
    assert all(raw_of(one).labels == one.labels for one in result.values())


def test_by_name_a_named_single_attribute() -> None:
    grr = GRR(3, 1.0)
    aggregate = grr.aggregate(np.array([0, 0, 1, 2]))
    named = RecordEstimate({"colour": grr.estimate(aggregate).named("colour", ["red", "green", "blue"])})
    result = postprocess("em", named, aggregate)
    assert isinstance(result, RecordEstimate)
    assert result["colour"].labels == ("red", "green", "blue")
    np.testing.assert_array_equal(result["colour"].frequencies, iterative_bayes(grr, aggregate).frequencies)


def test_by_name_errors() -> None:
    raw = an_estimate([0.5, 0.5])
    with pytest.raises(InvalidParameterError, match="must be one of norm-sub, simplex, base-cut, clip-normalize, h"):
        postprocess("normsub", raw)
    with pytest.raises(
        InvalidParameterError,
        match="or choose one of norm-sub, simplex",
    ):
        postprocess("em", raw)
