"""Reports on paper, where everything is unfolded and charts have room; charts in a right-to-left language."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from deniable import GRR, Estimate
from deniable.answers import summarize
from deniable.report import estimate_page, save_html
from deniable.report.html import sheet
from deniable.service.findings import Bar, Finding, axis_ticks, drawn
from deniable.service.phrases import phrases
from deniable.service.rendering import TEMPLATES, _environment

if TYPE_CHECKING:
    from playwright.sync_api import Page

A4 = 680
"""Width of a line on A4 paper in pixels, with margins of 15 mm."""


def test_print_unfolds_everything_and_leaves_room_for_charts(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    labels = ("not in the last twelve months, but earlier in my life", "never")
    found = Estimate(np.array([0.6, 0.4]), 1000, np.array(4.0), np.array(4.0), labels=labels, attribute="drinks")
    both = {"drinks": found.processed(found.frequencies, "clip-normalize")}
    summary = summarize(both, mechanism=GRR(k=2, epsilon=1.0), n=1000, truth={"drinks": [6, 4]})
    save_html(estimate_page(summary, folded=["drinks"]), tmp_path / "report.html")
    page = open_page((tmp_path / "report.html").as_uri(), width=A4)
    numbers, chart = page.locator("td.strong").first, page.locator("td.chart").first
    assert not numbers.is_visible()
    page.emulate_media(media="print")
    assert numbers.is_visible()
    assert chart.evaluate("one => one.getBoundingClientRect().width") >= 100
    assert page.evaluate("document.documentElement.scrollWidth") <= A4


CHART = """<!doctype html><html dir="rtl" lang="ar"><meta charset="utf-8"><title>chart</title><style>{{ style }}</style>
{% from "chart.html" import chart %}{{ chart(finding, ticks, drawn, 1.0, "ar", said) }}"""

PLACES = """(cell) => [...cell.querySelectorAll("span")].flatMap((one) => {
    const text = one.firstChild, places = [];
    for (const { index, 0: number } of text.data.matchAll(/\\d+/g)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + number.length);
        places.push([Number(number), range.getBoundingClientRect().x]);
    }
    return places;
})"""
"""The numbers of a range, and the position of each."""


@pytest.mark.parametrize("width", [390, 1200])
def test_ranges_and_labels_are_on_the_side_where_arabic_begins(
    tmp_path: Path, open_page: Callable[..., Page], width: int
) -> None:
    arabic = phrases("ar")
    bars = (Bar("\u0646\u0639\u0645", 0.77, 0.74, 0.8, arabic), Bar("no", 0.23, 0.2, 0.26, arabic))
    said = {
        "finding": Finding("a", "b", "c", bars=bars),
        "ticks": axis_ticks(1.0, arabic),
        "drawn": drawn,
        "said": arabic,
    }
    style = sheet() + (TEMPLATES / "dashboard.css").read_text()
    (tmp_path / "chart.html").write_text(_environment().from_string(CHART).render(style=style, **said))
    page = open_page((tmp_path / "chart.html").as_uri(), width=width)
    for row, (low, high) in zip(page.locator("tbody tr").all(), [(74, 80), (20, 26)], strict=True):
        (first, right), (second, left) = row.locator(".said").evaluate(PLACES)
        assert (first, second) == (low, high)
        assert left < right
        label, cell = row.locator("th bdi").bounding_box(), row.locator("th").bounding_box()
        assert label is not None
        assert cell is not None
        assert label["x"] + label["width"] == pytest.approx(cell["x"] + cell["width"], abs=1)
        assert label["x"] > left
