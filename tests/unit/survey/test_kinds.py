"""Kinds of questions: an attribute of each kind, its JSON, and its columns in the record."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from deniable import (
    AdaptiveSMP,
    Attribute,
    Schema,
    SimulationRandomness,
    collection,
)
from deniable.answers import summarize
from deniable.oracles.square_wave import SquareWave
from deniable.records.oracle_choice import oracles_for
from deniable.report.estimates import estimate_page
from deniable.survey.inspection import inspect_collection, question_text
from tests.unit.survey.attributes import DEVICES

# ---------------------------------------------------------------------- wrong keys


def test_what_is_asked_decides_the_mechanism() -> None:
    stars = Attribute("stars", ("1", "2", "3", "4", "5"), kind="ordered")
    assert not isinstance(collection(Schema((stars,)), 1.0).mechanism, SquareWave)
    asked = Attribute("stars", ("1", "2", "3", "4", "5"), kind="ordered", ask="mean")
    survey = collection(Schema((asked,)), 1.0)
    assert survey.mechanism == SquareWave(5, 1.0)
    assert survey.reason.startswith("the schema asks for a mean")
    income = Attribute("income", kind="numeric", range=(0, 1000), grid=21)
    assert collection(Schema((income,)), 2.0).mechanism == SquareWave(21, 2.0)
    shares = Attribute("income", kind="numeric", range=(0, 1000), grid=21, ask="shares")
    assert not isinstance(collection(Schema((shares,)), 2.0).mechanism, SquareWave)
    # In records, square waves are used if one attribute is sampled, which is so except for the largest budgets.
    both: Any = collection(Schema((stars, DEVICES, income)), 1.0)
    assert both.mechanism == AdaptiveSMP((5, 2, 2, 2, 21), 1.0, oracles_for((5, 2, 2, 2, 21), 1.0, [4]))
    assert both.mechanism.oracles[4] == SquareWave(21, 1.0)
    assert both.reason.endswith("; square waves for “income”, whose mean is asked, the others by size")
    split = collection(Schema((stars, asked_of("b"))), 32.0)
    assert split.mechanism.name.startswith("SPL")
    assert split.reason.endswith("; means of “b” are read from its codes")
    hidden = collection(Schema((stars, asked_of("b"))), 1.0, hide_sampled_attribute=True)
    assert hidden.mechanism.name in ("RS+FD", "SPL")


def test_titles_stand_above_what_was_learned() -> None:
    """In JSON beside the name, on pages before it; boxes have the title of their question."""
    schema = Schema(
        (
            Attribute("sex", ("f", "m")),
            Attribute("stars", ("1", "2"), kind="ordered", title="Stars of two"),
            Attribute("own", ("phone", "tv"), kind="multiple", title="What is at home"),
        )
    )
    survey = collection(schema, 1.0)
    total = survey.aggregate(survey.randomize(np.zeros((50, 4), dtype=np.int64), SimulationRandomness(1)))
    summary = summarize(survey.estimate(total), mechanism=survey.mechanism, n=50)
    headings = [section.heading for section in estimate_page(summary).sections]
    assert headings == [
        "sex",
        "Stars of two (stars)",
        "What is at home: phone (own: phone)",
        "What is at home: tv (own: tv)",
    ]
    rows = json.loads("".join(summary.json_parts()))["attributes"]
    assert [row.get("title") for row in rows] == [None, "Stars of two", "What is at home: phone", "What is at home: tv"]


def asked_of(name: str) -> Attribute:
    return Attribute(name, ("1", "2", "3", "4", "5"), kind="ordered", ask="mean")


def test_means_of_numbers_through_the_whole_house() -> None:
    """Rounding, square waves and sampling are unbiased one after the other: the mean lies within five errors."""
    schema = Schema((Attribute("income", kind="numeric", range=(0, 1000), grid=21), asked_of("stars")))
    survey = collection(schema, 2.0)
    n = 40_000
    answers = {"income": np.linspace(100.5, 420.25, n), "stars": ["4"] * (n // 2) + ["2"] * (n // 2)}
    reports = survey.randomize(answers, SimulationRandomness(3))
    estimates = survey.estimate(survey.aggregate(reports))
    for name, truth in (("income", 260.375), ("stars", 3.0)):
        mean = estimates[name].mean()
        assert abs(mean.value - truth) < 5 * mean.standard_error
        assert mean.standard_error < (15 if name == "income" else 0.06)


def test_questions_in_words() -> None:
    income = Attribute("income", kind="numeric", range=(0, 2.5), grid=6, missing="no answer")
    assert question_text(income) == "“income” (number): 0 to 2.5, rounded at random to one of 6 points, “no answer”"
    assert question_text(DEVICES) == "“devices” (any of them, 3 answers): “phone”, “radio”, “tv”"
    stars = Attribute("stars", ("1", "2"), kind="ordered", title="Stars")
    assert question_text(stars) == "“stars”, “Stars” (ordered, 2 answers): “1”, “2”"
    found = inspect_collection(
        collection(Schema((income, DEVICES, stars, Attribute("age", edges=(9,)))), 1.0)
    ).to_dict()
    assert [item["kind"] for item in found["attributes"]] == ["numeric", "multiple", "ordered", "intervals"]
    assert found["attributes"][0]["range"] == [0, 2.5]
