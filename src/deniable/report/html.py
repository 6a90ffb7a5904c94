"""A self-contained HTML page: embedded SVG, no scripts, no network, every label escaped."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

import jinja2

from deniable.errors import InvalidParameterError
from deniable.files import write_text
from deniable.privacy import odds_text
from deniable.report.axis import axis_limits, axis_ticks, tick_text
from deniable.report.summary import AttributeSummary, Summary
from deniable.report.tables import NOTHING_FOUND
from deniable.report.text import attribute_epsilons, status_text, visible

MAX_ROWS = 200
"""Categories of one attribute that a page lists."""


@dataclass(frozen=True)
class Row:
    """One category of one table: its numbers as text, and its positions on the axis in percent of the width."""

    category: str
    estimate: str
    standard_error: str
    interval: str
    truth: str
    processed: str
    missed: bool
    estimate_at: str
    lower_at: str
    upper_at: str
    truth_at: str
    processed_at: str
    spoken: str


@dataclass(frozen=True)
class TableView:
    """One table of one attribute; `hidden` counts the categories that are left out."""

    summary: Summary
    reports: int
    rows: tuple[Row, ...]
    hidden: int


@dataclass(frozen=True)
class Section:
    """One attribute: a common axis, and one table per summary."""

    name: str
    ticks: tuple[tuple[str, str], ...]
    zero_at: str
    tables: tuple[TableView, ...]


def render_html(summaries: Summary | Sequence[Summary], *, title: str = "", introduction: Sequence[str] = ()) -> str:
    """Return the page: what was promised, how to read it, and every attribute's chart and table.

    Parameters
    ----------
    summaries : Summary or sequence of Summary
        What to show. Several summaries of the same attributes, for instance at different epsilon, are shown below each
        other on a common axis.
    title : str
        Heading; the first summary's by default.
    introduction : sequence of str
        Paragraphs below the heading.

    Raises
    ------
    InvalidParameterError
        If there is no summary, or the summaries describe different attributes.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.report import render_html, summarize
    >>> import numpy as np
    >>> grr = GRR(k=2, epsilon=3.0)
    >>> estimate = grr.estimate(grr.aggregate(np.array([0, 0, 0, 1]))).named("smokes", ["no", "<b>yes"])
    >>> page = render_html(summarize(estimate, mechanism=grr, n=4))
    >>> "&lt;b&gt;yes" in page, "<script" in page, "http://" in page
    (True, False, False)
    """
    shown = (summaries,) if isinstance(summaries, Summary) else tuple(summaries)
    if not shown:
        raise InvalidParameterError("summaries must hold at least one summary, got none")
    names = [row.attribute for row in shown[0].attributes]
    if any([row.attribute for row in summary.attributes] != names for summary in shown):
        raise InvalidParameterError("summaries must describe the same attributes in the same order")
    sections = [_section(shown, j) for j in range(len(names))]
    return _template().render(
        title=visible(title or shown[0].title or "Estimated frequencies"),
        introduction=introduction,
        summaries=shown,
        several=len(shown) > 1,
        sections=sections,
        any_truth=any(summary.truth_n is not None for summary in shown),
        cuts=[text for text in dict.fromkeys(summary.cut_text(MAX_ROWS) for summary in shown) if text],
        processing_names=sorted({summary.processing_name for summary in shown if summary.processing}),
    )


def save_html(
    summaries: Summary | Sequence[Summary],
    path: str | os.PathLike[str],
    *,
    title: str = "",
    introduction: Sequence[str] = (),
) -> None:
    """Write `render_html` to a file, atomically.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    write_text(path, render_html(summaries, title=title, introduction=introduction))


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deniable.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, "status": status_text, "odds": odds_text}
    environment.tests["finite"] = math.isfinite
    environment.globals |= {"attribute_epsilons": attribute_epsilons, "nothing_found": NOTHING_FOUND}
    return environment.get_template("report.html")


def _section(summaries: Sequence[Summary], j: int) -> Section:
    limits = axis_limits([summary.attributes[j] for summary in summaries])
    ticks = tuple((_position(tick, limits), tick_text(tick)) for tick in axis_ticks(limits))
    tables = tuple(_table(summary, summary.attributes[j], limits) for summary in summaries)
    return Section(visible(summaries[0].attributes[j].attribute), ticks, _position(0.0, limits), tables)


def _table(summary: Summary, row: AttributeSummary, limits: tuple[float, float]) -> TableView:
    shown = row.largest(MAX_ROWS) if row.reports else ()
    rows = tuple(_row(summary, row, int(i), limits) for i in shown)
    total = row.total or len(row.categories)
    return TableView(summary, row.reports, rows, total - len(rows) if row.reports else 0)


def _row(summary: Summary, row: AttributeSummary, i: int, limits: tuple[float, float]) -> Row:
    percent = summary.percent
    truth = math.nan if row.truth is None else float(row.truth[i])
    processed = math.nan if row.processed is None else float(row.processed[i])
    interval = f"{percent(row.lower[i])} to {percent(row.upper[i])}" if math.isfinite(row.lower[i]) else "-"
    category = visible(row.categories[i])
    spoken = f"{category}: estimate {percent(row.estimate[i])}, {summary.level_text} interval {interval}"
    if math.isfinite(truth):
        spoken += f", truth {percent(truth)}"
    return Row(
        category=category,
        estimate=percent(row.estimate[i]),
        standard_error=percent(row.standard_error[i]),
        interval=interval,
        truth=percent(truth),
        processed=percent(processed),
        missed=row.truth is not None and not bool(row.covered[i]),
        estimate_at=_position(row.estimate[i], limits),
        lower_at=_position(row.lower[i], limits),
        upper_at=_position(row.upper[i], limits),
        truth_at=_position(truth, limits),
        processed_at=_position(processed, limits),
        spoken=spoken,
    )


def _position(frequency: float, limits: tuple[float, float]) -> str:
    """Return where a frequency lies on the axis, "" if it does not exist."""
    if not math.isfinite(frequency):
        return ""
    low, high = limits
    return f"{100 * (frequency - low) / (high - low):.2f}%"
