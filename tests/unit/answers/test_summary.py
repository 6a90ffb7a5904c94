"""Lists of a few categories out of many: choice, order, and width of the intervals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import GRR, Estimate
from deniable.answers import QuestionSet, Summary, summarize
from deniable.errors import InvalidParameterError
from deniable.report import estimate_page, render_html, save_png
from deniable.report.parts.text import Text
from tests.unit.report.drawn import charts

GRR6 = GRR(k=6, epsilon=1.0)
FREQUENCIES = [0.1, 0.4, -0.05, 0.3, 0.2, 0.05]


def estimate_of(frequencies: list[float], labels: str, attribute: str = "letter") -> Estimate:
    noise = np.full(len(frequencies), 0.5)
    return Estimate(np.array(frequencies), 1000, noise, noise).named(attribute, tuple(labels))


def listed(summary: Summary) -> list[str]:
    """Return the lines about the first attribute."""
    (part,) = charts(estimate_page(summary).sections[0])
    return part.lines(80)


ESTIMATE = estimate_of(FREQUENCIES, "abcdef")


def test_the_largest_come_first_and_their_intervals_hold_for_all() -> None:
    summary = summarize(ESTIMATE, mechanism=GRR6, n=1000, top=2, truth={"letter": [1, 5, 0, 2, 2, 0]})
    (row,) = summary.attributes
    assert row.categories == ("b", "d")
    assert row.total == 6
    lower, upper = ESTIMATE.interval(0.95, simultaneous=6)
    assert row.lower.tolist() == lower[[1, 3]].tolist()
    assert row.upper.tolist() == upper[[1, 3]].tolist()
    assert row.truth is not None
    assert row.truth.tolist() == [0.5, 0.2]
    assert "all 6 hold together" in summary.interval_text
    assert any("selected by their estimates" in note for note in estimate_page(summary).notes)
    assert listed(summary)[-1] == "and 4 categories with smaller estimates"
    assert "the 2 largest, 4 categories with smaller estimates are not listed" in render_html(estimate_page(summary))


def test_without_reports_no_question_has_an_answer() -> None:
    nothing = Estimate(np.full(3, np.nan), 0, np.array(4.0), np.array(4.0), contributors=1000)
    named = nothing.named("stars", ("1", "2", "3"), [1, 2, 3])
    asked = QuestionSet(means=("stars",), totals=(("stars", ("1",)),), quantiles=(("stars", (0.5,)),))
    summary = summarize(named, mechanism=GRR(3, 1.0), n=1000, asked=asked)
    assert [one.value_text for one in summary.answers] == ["-", "-", "-"]
    assert all(one.sentence.endswith("is not determined: there are no reports.") for one in summary.answers)
    assert [(one["value"], one["lower"]) for one in summary.to_dict()["answers"]] == [(None, None)] * 3
    assert summary.curves == ()
    assert "nan" not in render_html(estimate_page(summary))


def test_a_list_that_is_cut_says_that_it_was_selected() -> None:
    every = Estimate(np.linspace(0, 0.02, 300), 1000, np.full(300, 0.5), np.full(300, 0.5))
    named = every.named("letter", tuple(map(str, range(300))))
    plain, wide = (summarize(named, mechanism=GRR(300, 1.0), n=1000, simultaneous=both) for both in (False, True))
    said = "does not allow for this selection"
    assert said in " ".join(estimate_page(plain).all_notes(299))
    assert said in render_html(estimate_page(plain))
    assert said not in " ".join([*estimate_page(plain).all_notes(300), *estimate_page(wide).all_notes(299)])
    top = summarize(named, mechanism=GRR(300, 1.0), n=1000, top=10)
    assert said not in " ".join(estimate_page(top).all_notes(5))
    folded = estimate_page(plain, folded=("letter",))
    assert said not in " ".join(folded.all_notes(50, spaced=True))
    assert said in " ".join(folded.all_notes(50))


def test_what_was_asked_for_is_no_selection() -> None:
    asked = {"letter": [5, 0]}
    plain = summarize(ESTIMATE, mechanism=GRR6, n=1000, queries=asked)
    wide = summarize(ESTIMATE, mechanism=GRR6, n=1000, queries=asked, simultaneous=True)
    assert plain.attributes[0].categories == wide.attributes[0].categories == ("f", "a")
    assert plain.attributes[0].lower.tolist() == ESTIMATE.interval(0.95)[0][[5, 0]].tolist()
    assert wide.attributes[0].lower.tolist() == ESTIMATE.interval(0.95, simultaneous=2)[0][[5, 0]].tolist()
    assert not any("selected" in note for note in estimate_page(plain).notes)
    assert "these 2 of 6 were asked for" in listed(plain)[0]
    assert "smaller estimates" not in "".join(listed(plain))


def test_what_a_search_found_holds_for_everything_it_looked_at() -> None:
    found = replace(ESTIMATE, looked_at=10**6)
    summary = summarize(found, mechanism=GRR6, n=1000, top=10)
    assert summary.attributes[0].upper.tolist() == ESTIMATE.interval(0.95, simultaneous=10**6)[1].tolist()
    assert "all 1,000,000 hold together" in summary.interval_text
    assert any("used to find the strings" in note for note in estimate_page(summary).notes)
    assert summarize(found, mechanism=GRR6, n=1000, top=2).attributes[0].categories == ("b", "d")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queries": {}}, r"attribute of the estimates \(letter\), and for no other attribute, got none"),
        ({"queries": {"letter": [0], "number": [0]}}, "and for no other attribute, got letter, number"),
        ({"queries": {"letter": [6]}}, r"different codes in 0\.\.5 for “letter”, got 6"),
        ({"queries": {"letter": [-1]}}, "different codes in"),
        ({"queries": {"letter": [1, 1]}}, "different codes in"),
        ({"queries": {"letter": ["a"]}}, "different codes in"),
        ({"queries": {"letter": [0]}, "top": 1}, "top and queries cannot be used together"),
        ({"planned": 10}, "planned works only with anytime=True"),
        ({"anytime": True, "target": "population"}, "planned must be given with anytime=True"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        summarize(ESTIMATE, mechanism=GRR6, n=1000, **options)


def test_nothing_found_is_an_answer(tmp_path: Path) -> None:
    nothing = replace(estimate_of([], ""), looked_at=100)
    summary = summarize(nothing, mechanism=GRR6, n=1000, top=5)
    (section,) = estimate_page(summary).sections
    assert section.heading == "letter"
    assert section.parts == (Text(("nothing found: no answer stands out from the noise",)),)
    assert "nothing found" in render_html(estimate_page(summary))
    save_png(estimate_page(summary), tmp_path / "nothing.png")
    assert (tmp_path / "nothing.png").stat().st_size > 1000
    assert json.loads("".join(summary.json_parts())) == summary.to_dict()


def test_json_in_pieces_is_the_same_document() -> None:
    odd = estimate_of([0.1, np.nan], '"\n', '"a]}')
    for summary in (
        summarize({"x": ESTIMATE, "y": odd}, mechanism=GRR6, n=1000, title="t\n}"),
        summarize(ESTIMATE, mechanism=GRR6, n=1000, top=3, truth={"letter": [1] * 6}),
    ):
        assert json.loads("".join(summary.json_parts())) == summary.to_dict()


def test_bad_selections_are_named() -> None:
    with pytest.raises(InvalidParameterError, match="top must be >= 1, got top=0"):
        summarize(ESTIMATE, mechanism=GRR6, n=1000, top=0)
