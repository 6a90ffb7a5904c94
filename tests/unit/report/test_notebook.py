"""Objects shown without a page: short texts, a picture, labels in and out, tables of any library."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deniable
from deniable import (
    GRR,
    SPL,
    Aggregate,
    Attribute,
    CountMeanSketch,
    Estimate,
    Schema,
    SecureRandomness,
    SimulationRandomness,
)
from deniable.errors import InvalidParameterError, UnknownCategoryError
from deniable.postprocess import norm_sub

GRR4 = GRR(4, 2.0)
COLOURS = GRR4.estimate(GRR4.aggregate(np.repeat([0, 1, 2, 3], [60, 5, 30, 5]))).named("colour", list("wxyz"))


def test_a_million_categories_are_a_few_lines() -> None:
    sketch = CountMeanSketch(10**6, 2.0, family="spread")
    estimate = sketch.estimate(sketch.simulate_aggregate(np.ones(10**6, np.int64), SimulationRandomness(1)))
    lines = repr(estimate).splitlines()
    assert len(lines) == 12
    assert len(repr(estimate)) < 700
    assert lines[-1] == "  and 999,990 categories with smaller estimates"
    listed = {int(line.split("'")[1]) for line in lines[1:-1]}
    assert listed == set(np.argsort(-estimate.frequencies, kind="stable")[:10].tolist())
    assert len(estimate._repr_html_()) < 60_000


def test_small_ones_are_shown_in_their_order() -> None:
    assert [line.split("'")[1] for line in repr(COLOURS).splitlines()[1:]] == list("wxyz")
    assert "±" in repr(COLOURS)
    assert "±" not in repr(norm_sub(COLOURS))
    assert "after" in repr(norm_sub(COLOURS))


def test_one_category_by_its_label() -> None:
    one = COLOURS["y"]
    assert isinstance(one, Estimate)
    assert one.labels == ("y",)
    assert one.frequencies[0] == COLOURS.frequencies[2]
    for own, all_of_them in zip(one.interval(0.9), COLOURS.interval(0.9), strict=True):
        assert own[0] == all_of_them[2]
    assert COLOURS[["z", "w"]].frequencies.tolist() == COLOURS.frequencies[[3, 0]].tolist()
    with pytest.raises(UnknownCategoryError, match="has no category “red”"):
        COLOURS["red"]


def test_top_keeps_raw_labels_and_laws() -> None:
    top = norm_sub(COLOURS).top(2)
    assert top.labels == ("w", "y")
    assert top.raw is not None
    assert top.raw.interval()[0].tolist() == COLOURS.interval()[0][[0, 2]].tolist()
    assert COLOURS.top(9).k == 4
    with pytest.raises(InvalidParameterError, match="n must be >= 1"):
        COLOURS.top(0)


def test_pictures_are_drawn_from_the_page() -> None:
    spl = SPL((2, 3), 4.0)
    estimates = spl.estimate(spl.aggregate(spl.randomize(np.array([[0, 2], [1, 1]] * 50), SimulationRandomness(1))))
    assert repr(estimates).startswith("RecordEstimate\n0: Estimate: k = 2, n = 100\n")
    for shown in (COLOURS, norm_sub(COLOURS), estimates):
        assert shown.plot().get_axes()
        assert shown._repr_html_().startswith("<iframe srcdoc=")
    assert "&lt;b&gt;" not in COLOURS.named("<b>", list("abcd"))._repr_html_().replace("&amp;lt;b&amp;gt;", "")


def test_aggregates_are_summed() -> None:
    parts = [GRR4.aggregate([code]) for code in range(4)]
    assert sum(parts) == GRR4.aggregate([0, 1, 2, 3])
    assert sum(parts, Aggregate.empty(GRR4)) == sum(parts)
    with pytest.raises(TypeError):
        sum(parts, 1)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_tables_of_any_library_go_in_everywhere(table: type) -> None:
    answers = table({"smoker": ["yes", "no", "no"], "packs": [1, 0, 0]})
    draft = deniable.draft_schema(answers)
    assert draft.schema.names == ("smoker", "packs")
    assert draft.schema.encode(answers).tolist() == [[1, 1], [0, 0], [0, 0]]
    survey = deniable.collection(draft.schema, epsilon=1.0)
    assert survey.aggregate(survey.randomize(answers, SecureRandomness())).n == 3


def test_the_default_collection_says_which_and_why() -> None:
    schema = Schema((Attribute("a", ("x", "y")), Attribute("b", ("x", "y", "z"))))
    survey = deniable.collection(schema, 1.0, title="two")
    assert survey.mechanism == deniable.recommend(schema.sizes, 1.0)
    assert survey.reason.startswith("one sampled attribute has ")
    named = deniable.collection(schema, 1.0, mechanism="SPL", oracle="OUE")
    assert named.mechanism == SPL((2, 3), 1.0, "OUE")
    assert named.reason == ""
    assert survey == deniable.Collection(schema, survey.mechanism, title="two")
    text = deniable.collection(Schema((Attribute("url", text=True),)), 1.0)
    assert text.mechanism.takes_text
    with pytest.raises(InvalidParameterError, match="mechanism must be named before oracle can be set"):
        deniable.collection(schema, 1.0, oracle="OUE")
    with pytest.raises(InvalidParameterError, match="full_record chooses the mechanism"):
        deniable.collection(schema, 1.0, mechanism="SPL", full_record=True)
    with pytest.raises(InvalidParameterError, match="full_record=True works only for collections with several"):
        deniable.collection(Schema(schema.attributes[:1]), 1.0, full_record=True)
