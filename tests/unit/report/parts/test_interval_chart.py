"""Rows of a chart in each output; charts of a section share one axis."""

from __future__ import annotations

import re

import numpy as np
import pytest

from deniable.report import draw, render_html
from deniable.report.page import NO_HINTS, Hints, Mark, Page, Section
from deniable.report.parts.interval_chart import FOLDED_ROWS, IntervalChart
from deniable.report.parts.table import Table
from tests.unit.report.drawn import panels

VALUES = np.array([0.1, 0.4, 0.2, 0.3])


def chart(values: np.ndarray = VALUES, **keys: object) -> IntervalChart:
    table = Table.of(["letter", "share"], [list(map("row{}".format, range(len(values)))), [f"{v:.0%}" for v in values]])
    mark = Mark("estimate", "estimate", values)
    return IntervalChart(table, (mark,), lambda value: f"{value:.0%}", **keys)  # type: ignore[arg-type]


def test_the_largest_rows_are_kept_in_their_own_order() -> None:
    assert chart().shown(2) == [0, 1]
    assert chart(rank=VALUES).shown(2) == [1, 3]
    assert chart(rank=VALUES).shown(4) == [0, 1, 2, 3]
    assert chart(rank=VALUES).columns(2) == (("share", "40%", "30%"),)
    cut = chart(rank=VALUES, cut="they were chosen")
    assert (cut.note(3), cut.note(4)) == ("they were chosen", "")


def test_a_terminal_says_how_many_rows_are_left_out_and_where_they_are() -> None:
    part = chart(rest="smaller ones", hidden=1)
    assert part.lines(80)[-1] == "and 1 smaller ones"
    assert part.lines(80, most=2, hints=Hints(rows="--html"))[-1] == "and 3 smaller ones (--html)"
    assert part.lines(80, most=2, hints=NO_HINTS)[-1] == "and 3 smaller ones"


@pytest.mark.parametrize("rows", [3, FOLDED_ROWS, 100])
def test_of_a_folded_chart_rows_from_the_beginning_to_the_end_are_listed(rows: int) -> None:
    part = chart(np.linspace(0, 1, rows), fold="a distribution", rank=np.arange(float(rows)))
    listed = [int(line.split()[0][3:]) for line in part.lines(80) if line.startswith("row")]
    assert len(listed) <= FOLDED_ROWS
    assert listed[0] == 0
    assert len({*np.diff(listed).tolist()}) <= 1
    assert part.label_width(50) == len(f"row{listed[-1]}")
    assert ("<details>" in render_html(Page("p", (), (Section("s", (part,)),)))) is True


def test_charts_of_a_section_share_their_axis_in_a_page() -> None:
    page = Page("p", (), (Section("s", (chart(), chart(10 * VALUES))),))
    found = re.findall(r'cx="([0-9.]+)%"', render_html(page))
    small, large = (np.array(found[part], dtype=float) for part in (slice(0, 4), slice(4, 8)))
    zero = small[0] - (small[1] - small[0]) / 3
    np.testing.assert_allclose(large - zero, 10 * (small - zero), atol=0.1)
    alone = render_html(Page("p", (), (Section("s", (chart(),)), Section("t", (chart(10 * VALUES),)))))
    assert re.findall(r'cx="([0-9.]+)%"', alone)[:4] == re.findall(r'cx="([0-9.]+)%"', alone)[4:]


def test_bars_have_their_numbers_beside_them() -> None:
    table = Table.of(["letter", "share"], [["a", "b"], ["25%", "75%"]])
    part = IntervalChart(table, (Mark("bar", "", np.array([0.25, 0.75])),), lambda value: f"{value:.0%}")
    (axes,) = panels(draw(Page("p", (), (Section("s", (part,)),))))
    assert [text.get_text() for text in axes.texts] == ["share", "25%", "75%"]
    assert [bar.get_width() for bar in axes.patches] == [0.25, 0.75]  # type: ignore[attr-defined]
