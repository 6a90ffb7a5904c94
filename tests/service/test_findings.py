"""Sentences on a dashboard: both ends of a range allow their claims, and bars agree with numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deniable import Attribute, Schema, SimulationRandomness, collection
from deniable.answers import summarize
from deniable.answers.asked import QuestionSet
from deniable.service.findings import (
    ABOVE,
    BELOW,
    EARLY,
    MEAN_LATER,
    NOT_DETERMINED,
    OUTSIDE,
    RANGE_LATER,
    Bar,
    Finding,
    axis_top,
    claim,
    drawn,
    findings,
    means_of,
    range_text,
)
from deniable.service.survey_page import draft_page


@pytest.mark.parametrize(
    ("lower", "upper", "said"),
    [
        (0.51, 0.9, "More than half answered “x”"),
        (0.504, 0.75, "Between 50% and 75% answered “x”"),  # "50 to 75%" would contradict "more than half"
        (0.26, 0.6, "More than a quarter answered “x”"),
        (0.26, 0.4, "More than a quarter answered “x”"),
        (0.0, 0.239, "Fewer than a quarter answered “x”"),
        (0.0, 0.241, "Fewer than half answered “x”"),
        (0.2, 0.55, "Between 20% and 55% answered “x”"),
        (0.2, 0.71, EARLY),
        (math.nan, math.nan, EARLY),
        (-math.inf, math.inf, EARLY),
    ],
)
def test_a_headline_claims_what_both_ends_allow(lower: float, upper: float, said: str) -> None:
    assert claim("x", lower, upper) == said


def test_ranges_are_rounded_outwards() -> None:
    assert range_text(0.2, 0.3) == "20 to 30%"
    assert range_text(0.2999, 0.3001) == "29 to 31%"
    assert range_text(-0.2, 1.2) == "0 to 100%"


def test_an_estimate_outside_its_range_is_marked_and_not_determined_prints_no_number() -> None:
    assert (Bar("x", -0.014, 0, 0.03).number, Bar("x", -0.014, 0, 0.03).note) == ("\N{MINUS SIGN}1%*", BELOW)
    assert Bar("x", 1.02, 0.9, 1.0).note == ABOVE
    assert Bar("x", 0.5, 0.6, 0.7).note == OUTSIDE
    wide = Bar("x", 1.71, 0.0, 1.0)
    assert (wide.number, wide.range_text) == ("not determined", "")
    assert drawn(wide, 1.0).line is None


def test_a_bar_is_solid_up_to_its_lower_end_and_open_from_there() -> None:
    one = drawn(Bar("x", 0.3, 0.25, 0.4), 0.5)
    assert (one.sure, one.open_start, one.open_width, one.line) == ("46.50%", "53.50%", "27.90%", "62.80%")
    assert axis_top((Finding("a", "A?", "", bars=(Bar("x", 0.3, 0.25, 0.51),)),)) == 0.8


def test_each_question_is_one_finding_and_numbers_have_a_mean() -> None:
    """With 40,000 contributors at epsilon 3, each claim below is ten standard errors from its bound."""
    schema = Schema(
        (
            Attribute("quiet", ("never", "once"), title="Quiet?"),
            Attribute("seen", ("staffing", "bullying"), kind="multiple"),
            Attribute("hours", kind="numeric", range=(0, 24), grid=25),
        )
    )
    asked = collection(schema, 3.0)
    rng, n = np.random.default_rng(1), 40_000
    seen = rng.random((n, 2)) < [0.7, 0.1]
    hours = np.clip(np.round(rng.normal(7, 1.5, n)), 0, 24)
    codes = np.column_stack([rng.random(n) < 0.2, seen, hours]).astype(np.int64)
    aggregate = asked.aggregate(asked.randomize(codes, SimulationRandomness(2)))
    page = draft_page(asked, contributors=n)
    about: dict[str, Any] = {"mechanism": asked.mechanism, "n": n, "several": schema.several}
    estimates = asked.estimate(aggregate)
    closed = summarize(estimates, **about)
    together = summarize(estimates, **about, simultaneous=True, asked=QuestionSet(means=means_of(asked)))
    quiet, boxes, mean = findings(asked, page, aggregate, closed, together)
    assert quiet.headline == "More than half answered “never”"
    assert [bar.label for bar in boxes.bars] == ["staffing", "bullying"]
    assert boxes.headline == "More than half chose “staffing”"
    # The headline's range is the simultaneous one, which is wider than the bar's.
    assert together.attributes[0].lower[0] < closed.attributes[0].lower[0]
    assert quiet.range_text == range_text(together.attributes[0].lower[0], together.attributes[0].upper[0])
    # Headlines are read together: 2 answers, 2 options of yes and no, 25 points and the mean.
    low, high = estimates["hours"].mean().interval(0.95, simultaneous=32)
    assert mean.headline.startswith(f"The mean is between {low:.3f} and {high:.3f}")
    # 25 points become 8 bars of the smoothed shape, which sums to one and has no ranges.
    assert len(mean.bars) == 8
    assert sum(bar.estimate for bar in mean.bars) == pytest.approx(1)
    assert not any(bar.ranged for bar in mean.bars)
    assert sum(bar.estimate for bar in mean.bars[1:4]) == pytest.approx(np.mean((hours > 3) & (hours < 13)), abs=0.1)

    opened = summarize(estimates, **about, target="population", anytime=True, planned=n)
    quiet, _, mean = findings(asked, page, aggregate, opened, None)
    assert quiet.headline == EARLY
    assert (mean.range_text, MEAN_LATER in mean.notes) == ("", True)
    assert "hold each time you look" in quiet.caption


def test_few_reports_are_not_determined_and_points_without_ranges_are_not_drawn() -> None:
    asked = collection(Schema((Attribute("a", ("x", "y")),)), 0.1)
    aggregate = asked.aggregate(asked.randomize(np.array([[0], [1], [0]]), SimulationRandomness(1)))
    summary = summarize(asked.estimate(aggregate), mechanism=asked.mechanism, n=3)
    page = draft_page(asked)
    (one,) = findings(asked, page, aggregate, summary, summary)
    assert one.headline == EARLY
    assert NOT_DETERMINED in one.notes
    assert {bar.number for bar in one.bars} == {"not determined"}
    none = np.full(2, np.nan)
    bare = replace(summary, attributes=(replace(summary.attributes[0], lower=none, upper=none),))
    (one,) = findings(asked, page, aggregate, bare, None)
    assert (one.bars, RANGE_LATER in one.notes) == ((), True)
