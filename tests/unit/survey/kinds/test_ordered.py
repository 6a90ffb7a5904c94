"""Ordered answers: scores that are given or that are the labels, and dates that are divided by days."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from deniable import (
    Attribute,
    Schema,
)
from deniable.errors import FileFormatError, InvalidParameterError, UnknownCategoryError
from deniable.survey.inspection import question_text


def test_scores_are_stated_or_are_the_labels_that_are_numbers() -> None:
    def scores(*categories: str, **keys: Any) -> Any:
        found = Attribute("a", categories, kind="ordered", **keys).code_scores
        return None if found is None else found.tolist()

    assert scores("1", "2.5", "10") == [1, 2.5, 10]
    assert scores("bad", "good") is None
    assert scores("1", "2", "many") is None
    assert scores("bad", "good", scores=(-1, 3)) == [-1, 3]
    assert scores("1", "2", scores=(5, 7)) == [5, 7]
    assert scores(edges=(1, 2)) is None
    assert scores(edges=(1, 2), scores=(0.5, 1.5, 3)) == [0.5, 1.5, 3]
    assert Attribute("a", ("1", "2")).code_scores is None
    values = Attribute("a", ("1", "2"), missing="0", kind="ordered").code_scores
    assert values is not None
    assert values[:2].tolist() == [1, 2]
    assert np.isnan(values[2])
    assert not values.flags.writeable


# ---------------------------------------------------------------------- dates

VISIT = Attribute("visit", edges=("2026-01-01", "2026-07-01"), missing="never", kind="ordered")


@pytest.mark.parametrize(
    "column",
    [
        ["2025-12-31", "2026-01-01", "2026-06-30", "2026-07-01", ""],
        ["2025-12-31T23:59:59Z", "2026-01-01 00:00", "2026-06-30 12:00:00.5", "2026-07-01", "never"],
        pa.array([20453, 20454, 20634, 20635, None], pa.date32()),
        pa.array(["2025-12-31 23:59", "2026-01-01", "2026-06-30", "2026-07-01", None]).cast(pa.timestamp("s")),
        pd.to_datetime(["2025-12-31", "2026-01-01", "2026-06-30", "2026-07-01", "NaT"]),
    ],
    ids=lambda column: type(column).__name__,
)
def test_dates_are_cut_by_days(column: Any) -> None:
    schema = Schema((VISIT,))
    assert schema.encode({"visit": column})[:, 0].tolist() == [0, 1, 1, 2, 3]


def test_documents_of_dates_are_of_version_2() -> None:
    document = json.loads(Schema((VISIT,)).to_json())
    assert document["format_version"] == 2
    assert document["attributes"][0]["edges"] == ["2026-01-01", "2026-07-01"]
    assert Schema.from_json(json.dumps(document)) == Schema((VISIT,))
    plain = {"name": "visit", "categories": ["before", "after"], "edges": ["2026-01-01"]}
    with pytest.raises(FileFormatError, match="set format_version=2"):
        Schema.from_json(json.dumps(document | {"format_version": 1, "attributes": [plain]}))
    assert question_text(VISIT).startswith("“visit” (date, ordered, 4 answers): “< 2026-01-01”, ")
    wrong: Any
    for wrong in (("2026-01-01", 3), ("2026-02-30",), ("2026-02-01", "2026-01-01"), ("20260101",), ("2026-1-1",)):
        with pytest.raises(InvalidParameterError, match=r"^edges of attribute “a” must be increasing numbers, or incr"):
            Attribute("a", edges=wrong)


@pytest.mark.parametrize("answer", ["2026-02-30", "01/02/2026", "2026-01-01x", "soon", "20260101", 20260101])
def test_what_is_no_date(answer: Any) -> None:
    with pytest.raises(UnknownCategoryError, match=r"^unknown answer of attribute “visit” in row 1: it must be a date"):
        Schema((VISIT,)).encode({"visit": [answer]})
