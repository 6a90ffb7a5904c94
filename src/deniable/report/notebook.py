"""Display of an estimate in a notebook, as a page without a guarantee, because only a mechanism knows it."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from deniable.core.estimate import Estimate
from deniable.report.html import render_html
from deniable.report.page import Mark, Page, Section
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.report.png import draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW, _HEAD = 26, 260  # pixels


def frequencies_page(estimates: Mapping[int | str, Estimate]) -> Page:
    """Return the page of estimates by attribute: the frequencies, with 95% intervals where they have any.

    Examples
    --------
    >>> from deniable import GRR
    >>> grr = GRR(k=2, epsilon=3.0)
    >>> estimate = grr.estimate(grr.aggregate(np.array([0, 0, 0, 1]))).named("smokes", ["no", "yes"])
    >>> page = frequencies_page({"smokes": estimate})
    >>> page.sections[0].heading, page.sections[0].parts[0].table.cells(0)[:2]
    ('smokes', ['no', '0.7762'])
    """
    sections = tuple(Section(str(name), (_chart(estimate),)) for name, estimate in estimates.items())
    steps = {step for estimate in estimates.values() for step in estimate.processing}
    notes = [f"After {', '.join(sorted(steps))} there is no interval."] if steps else []
    covered = (
        "Intervals have 95% confidence. They are about these contributors, and allow for the mechanism's noise only."
    )
    return Page("Estimated frequencies", (), sections, notes=(*notes, covered) if not steps else tuple(notes))


def _chart(estimate: Estimate) -> IntervalChart:
    bounds = estimate.interval() if estimate.is_raw else (np.full(estimate.k, np.nan),) * 2
    lower, upper = bounds
    errors, frequencies = estimate.standard_errors, estimate.frequencies

    def cells(i: int) -> list[str]:
        interval = f"{lower[i]:.4f} to {upper[i]:.4f}" if np.isfinite(lower[i]) else "-"
        return [estimate.labels[i], f"{frequencies[i]:.4f}", f"{errors[i]:.4f}", interval]

    marks = (Mark("interval", "95% interval", np.column_stack(bounds)), Mark("estimate", "estimate", frequencies))
    return IntervalChart(
        Table(("category", "estimate", "std. error", "95% interval"), estimate.k, cells),
        tuple(mark for mark in marks if np.isfinite(mark.values).any()),
        lambda frequency: f"{100 * frequency:.10g}%",
        caption=f"{estimate.n:,} reports",
        rank=frequencies,
    )


def figure(estimates: Mapping[int | str, Estimate]) -> Figure:
    """Return the picture of estimates by attribute."""
    return draw(frequencies_page(estimates))


def framed(estimates: Mapping[int | str, Estimate]) -> str:
    """Return the HTML page of estimates by attribute, in a frame of its own: its styles are not the notebook's."""
    height = _HEAD + _ROW * sum(min(estimate.k, 30) + 3 for estimate in estimates.values())
    page = html.escape(render_html(frequencies_page(estimates)))
    return f'<iframe srcdoc="{page}" style="width: 100%; height: {height}px; border: 0"></iframe>'
