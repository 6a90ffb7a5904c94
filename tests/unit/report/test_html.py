"""HTML pages: well formed, self-contained, and safe against all labels."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from deniable import Estimate
from deniable.report import (
    draw,
    estimate_page,
    render_html,
    save_html,
)
from deniable.report.page import axis_limits
from tests.unit.report.drawn import written
from tests.unit.report.summaries import charts, estimate, hostile, summary_of


def test_labels_cannot_inject_markup() -> None:
    page = render_html(estimate_page(hostile(), method=["<script>x</script>"]))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_page_is_self_contained() -> None:
    page = render_html(estimate_page(hostile()))
    assert not re.search(r"(src|href)=|url\(|@import|https?://", page)
    assert "Content-Security-Policy" in page


def test_page_is_well_formed_and_every_chart_has_a_text() -> None:
    page = render_html(estimate_page(hostile()))
    body = page[page.index("<body>") : page.index("</html>")]
    tree = ElementTree.fromstring(body.strip())
    for svg in tree.iter("td"):
        for strip in svg.findall("svg"):
            assert strip.get("role") == "img"
            assert "interval" in (strip.get("aria-label") or "")
    assert len(tree.findall(".//tbody/tr")) == 8


def test_a_promise_in_a_title_is_quoted() -> None:
    lie, truth = "epsilon = 0.1 for the whole contributor", "epsilon = 1 for the whole contributor"
    page = estimate_page(summary_of(estimate([0.6, 0.4]), title=lie))
    html = render_html(page)
    body = html[html.index("<body>") :]
    assert f"<h1>“{lie}”</h1>" in body
    assert html.count(lie) == html.count(f"“{lie}”")
    assert truth in body[body.index("What contributors were promised") :]
    # The picture has the same order from top to bottom.
    figure = draw(page)
    figure.draw_without_rendering()
    from_above = sorted(written(figure), key=lambda text: -text.get_window_extent().y1)
    seen = [text.get_text() for text in from_above]
    assert seen[1].startswith(truth)
    assert [text for text in seen if lie in text] == [f"“{lie}”"]
    assert from_above[0].get_fontweight() == "bold"


def test_positions_on_the_page_are_the_numbers() -> None:
    summary = summary_of(estimate([0.6, 0.4]))
    low, high = axis_limits(charts(summary)[0].marks)
    expected = 100 * (0.6 - low) / (high - low)
    found = re.search(r'cx="([0-9.]+)%"', render_html(estimate_page(summary)))
    assert found is not None
    assert float(found[1]) == pytest.approx(expected, abs=0.01)


def test_page_of_no_reports_says_so_and_draws_nothing(tmp_path: Path) -> None:
    nothing = Estimate(np.full(2, np.nan), 0, np.array(4.0), np.array(4.0), contributors=10, attribute="b")
    save_html(estimate_page(summary_of(nothing)), tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "no reports" in page
    assert "<line" not in page[page.index('id="section-1"') :]
