"""Sixty of the demonstration's women answer, two of them in a browser; `make e2e` runs all 6,366."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable.service.demo import SLUG, answer, demo_collection, demonstration
from tests.end_to_end import answer_in_browser, run
from tests.end_to_end_rounds import run as run_rounds


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_no_more_categories_are_missed_than_chance_allows(epsilon: str) -> None:
    pytest.importorskip("statsmodels")
    found = run(epsilon, contributors=60, browsers=0)
    assert found.categories == 31
    assert found.missed <= found.most < 11


@pytest.mark.long
@pytest.mark.parametrize("mechanism", ["Corr-RR", "RS+RFD"])
def test_two_rounds_of_invited_women_are_those_of_the_files(tmp_path: Path, mechanism: str) -> None:
    pytest.importorskip("statsmodels")
    found = run_rounds("4", mechanism, 400, 0, tmp_path)
    assert (found.first, found.second, found.refused) == (200, 200, 50)
    assert found.held


@pytest.mark.long
def test_a_woman_in_a_browser_counts_like_any_other(browser: object) -> None:
    pytest.importorskip("statsmodels")
    with demonstration() as (here, link, _):
        for codes in ([0, 1, 2, 3, 4, 5], [3, 4, 3, 5, 5, 0]):
            answer_in_browser(browser, link, codes)  # type: ignore[arg-type]
        assert answer(here.public, demo_collection(), demo_collection().schema.encode(ONE)) == 1
        here.collector.surveys.close(SLUG, now=True)
        assert here.collector.surveys.status(SLUG)["n"] == 3


ONE = {
    "affairs": [0.0],
    "rate_marriage": ["good"],
    "religious": ["not"],
    "age": [22.0],
    "educ": ["high school"],
    "occupation": ["student"],
}
