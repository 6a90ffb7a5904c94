"""Coefficients in each output: their places, infinite ends, and coefficients that are not determined."""

from __future__ import annotations

import re

import numpy as np

from deniable.report import draw
from deniable.report.parts.coefficient_chart import CoefficientChart
from deniable.report.parts.table import Table
from tests.unit.report.drawn import html_of, page_of, panels, printed

INF, NAN = np.inf, np.nan
CHART = CoefficientChart(
    Table.of(["term", "coefficient"], [["age", "bald", "steep", "unknown"], ["0.5", "-1", "2", "-"]]),
    np.array([0.5, -1.0, 2.0, NAN]),
    np.array([0.0, -2.0, 1.0, NAN]),
    np.array([1.0, 0.0, INF, NAN]),
)


def test_the_axis_holds_zero_and_every_finite_number() -> None:
    low, high = CHART.limits
    assert (low, high) == (-2 - 0.08 * 4, 2 + 0.08 * 4)
    nothing = CoefficientChart(CHART.table, *[np.full(4, NAN)] * 3)
    assert nothing.limits == (-1, 1)


def test_a_picture_draws_what_is_determined_with_an_arrow_for_an_infinite_end() -> None:
    (axes,) = panels(draw(page_of(CHART)))
    dots, left, right = axes.lines[1:]
    np.testing.assert_array_equal(dots.get_xdata(), CHART.values)
    assert (left.get_marker(), len(left.get_xdata())) == ("<", 0)  # type: ignore[arg-type]
    assert (right.get_marker(), list(right.get_xdata())) == (">", [CHART.limits[1]])  # type: ignore[arg-type]
    segments = axes.collections[0].get_segments()[:3]  # type: ignore[attr-defined]
    assert [list(segment[:, 0]) for segment in segments] == [[0, 1], [-2, 0], [1, CHART.limits[1]]]


def test_a_page_draws_the_same() -> None:
    markup, (low, high) = html_of(CHART), CHART.limits
    circles = [float(at) for at in re.findall(r'cx="([0-9.]+)%"', markup)]
    np.testing.assert_allclose(circles, 100 * (CHART.values[:3] - low) / (high - low), atol=0.01)
    assert markup.count("→") == 1
    assert "←" not in markup


def test_a_terminal_has_the_table() -> None:
    assert printed(CHART).splitlines()[-4:] == CHART.table.lines(80)[-4:]
