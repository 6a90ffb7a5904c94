"""Sixty of the demonstration's women answer, two of them in a browser; all 6,366 in `make e2e`."""

from __future__ import annotations

import pytest

from deniable.service.demo import SLUG, answer, demo_collection, demonstration
from tests.end_to_end import answer_in_browser, run


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_no_more_categories_are_missed_than_chance_allows(epsilon: str) -> None:
    pytest.importorskip("statsmodels")
    found = run(epsilon, contributors=60, browsers=0)
    assert found.categories == 31
    assert found.missed <= found.most < 11


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
