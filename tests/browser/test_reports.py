"""Reports on paper: everything is unfolded, and charts have room beside their numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deniable import GRR, Estimate
from deniable.answers import summarize
from deniable.report import estimate_page, save_html

if TYPE_CHECKING:
    from playwright.sync_api import Page

A4 = 680
"""Pixels of a line on A4 paper, with margins of 15 mm."""


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
