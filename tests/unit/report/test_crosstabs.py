"""A page about two questions: its sentences follow from the numbers, also if there are no numbers."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from rich.console import Console

from deniable import Attribute, Schema, SimulationRandomness
from deniable.answers import crosstab_error, crosstabs, summarize_crosstab
from deniable.errors import InvalidParameterError
from deniable.planning import records_default
from deniable.planning.default import collection
from deniable.records.pair_sample import PairSample
from deniable.report import crosstab_page, draw, print_page, render_html
from tests.unit.report.cross_tables import summary


def test_the_page_says_everything_in_every_form() -> None:
    found = summary(20_000, 0.8)
    page = crosstab_page(found)
    console = Console(width=80, record=True, file=io.StringIO())
    print_page(console, page)
    text = console.export_text()
    assert text.startswith("“<b>Staff”: “team” and “content”\n")
    assert text.rstrip().endswith("Guarantee: epsilon = 3 for the whole contributor; odds change at most 20.1-fold")
    assert "The shares of “no” are what is left to 100%." in text
    html = render_html(page)
    assert "&lt;b&gt;Staff" in html
    assert "<b>Staff" not in html
    texts = [one.get_text() for one in draw(page).findobj() if hasattr(one, "get_text")]
    assert any("team" in one for one in texts)
    assert any(one.endswith("%") for one in texts)


@pytest.mark.parametrize(
    ("target", "of"),
    [
        ("contributors", "these 20,000 contributors: noise only. Each"),
        ("population", "the population that these 20,000 contributors were drawn from. Each"),
    ],
)
def test_the_note_says_whom_the_intervals_are_about(target: Literal["contributors", "population"], of: str) -> None:
    assert f"intervals are about {of}" in crosstab_page(replace(summary(20_000, 0.8), target=target)).notes[0]


def test_the_note_names_the_groups_that_are_not_determined() -> None:
    found = summary(20_000, 0.8)
    assert not any("not determined" in note for note in crosstab_page(found).notes)
    nothing = np.array([[np.nan, np.nan], found.share_lower[1]])
    some = replace(found, share_lower=nothing, share_upper=nothing)
    assert crosstab_page(some).notes[-1].startswith("Shares within “sales” of “team” are not determined: ")


def test_a_pair_without_reports_has_a_page_too() -> None:
    mechanism = PairSample((2, 2, 2), 1.0)
    reports = mechanism.randomize(np.zeros((300, 3), dtype=int), SimulationRandomness(1))
    some = type(reports)(reports.choice[reports.choice == 0], reports.payload[reports.choice == 0])
    table = crosstabs(mechanism, mechanism.aggregate(some))[1, 2]
    found = summarize_crosstab(table, mechanism.privacy())
    assert found.difference is None
    assert [section.heading for section in crosstab_page(found).sections][-1].startswith("Shares of")
    assert "there is no table" in render_html(crosstab_page(found))
    draw(crosstab_page(found))
    assert found.to_dict()["raw"] == [[None, None], [None, None]]


def test_tables_are_the_default_where_they_are_asked() -> None:
    assert records_default([3, 4, 2], 1.0, pairs=True).mechanism == PairSample((3, 4, 2), 1.0)
    schema = Schema(
        (Attribute("a", ("x", "y")), Attribute("stars", ("1", "2", "3", "4", "5"), kind="ordered", ask="mean"))
    )
    survey = collection(schema, 1, pairs=True)
    mechanism: Any = survey.mechanism
    assert float(mechanism.singles) == 0.25
    assert [oracle.name for oracle in mechanism.oracles] == ["SubsetSelection", "SquareWave"]
    assert "square waves for means" in survey.reason
    with pytest.raises(InvalidParameterError, match="pairs and hide_sampled_attribute=True cannot be used together"):
        records_default([3, 4], 1.0, hide_sampled_attribute=True, pairs=True)
    with pytest.raises(InvalidParameterError, match="pairs=True works only for collections with several"):
        collection(Schema((Attribute("a", ("x", "y")),)), 1, pairs=True)


def test_planned_errors_are_those_of_the_reports_that_come() -> None:
    """At the assumed table: the interval's half-width that a collection finds, to a tenth; and refusals agree."""
    found = summary(20_000, 0.8)
    pair = np.array([[0.45, 0.05], [0.05, 0.45]])

    def truth(attributes: tuple[int, ...]) -> Any:
        return pair if attributes == (0, 1) else np.full((2,) * len(attributes), 0.5 ** len(attributes))

    planned = crosstab_error(PairSample((2, 2, 2), 3.0), 20_000, (0, 1), truth=truth)
    assert planned.cell == pytest.approx(float((found.upper - found.lower).max() / 2), rel=0.1)
    assert found.difference is not None
    assert planned.difference == pytest.approx((found.difference.upper - found.difference.lower) / 2, rel=0.1)
    assert planned.reports == pytest.approx(20_000 / 3)
    tight = crosstab_error(PairSample((4, 4, 4), 1.0), 300, (0, 1))
    assert not tight.tested
    again = crosstab_error(PairSample((4, 4, 4), 1.0), tight.contributors_for_test, (0, 1))
    assert again.tested
    assert crosstab_error(PairSample((4, 4, 4), 1.0), 300, (2, 0)).cell == pytest.approx(tight.cell)
