"""A self-contained HTML page about leakage: embedded SVG, no scripts, no network, every label escaped."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass

import jinja2
from rich.cells import cell_len

from deniable.files import write_text
from deniable.leakage.total import ADDITIVE_LABEL
from deniable.report.leakage_colours import OWN, STOPS, shade, text_on
from deniable.report.leakage_plot import HOW_TO_READ
from deniable.report.leakage_summary import LeakageSummary
from deniable.report.text import attribute_epsilons, shorten, status_text, visible

MAX_NUMBERS = 15
"""Attributes up to which cells carry their numbers."""

_LABELS = 30
_CHARACTER = 6.6  # pixels of one character of 12 pixels height, on the safe side


@dataclass(frozen=True)
class Cell:
    """One square of the heat map, its number if there is room, and what it says in words."""

    x: float
    y: float
    fill: str
    number: str
    ink: str
    spoken: str


@dataclass(frozen=True)
class HeatMap:
    """A drawing in pixels: cells, and labels with their positions."""

    width: float
    height: float
    left: float
    top: float
    side: float
    cells: tuple[Cell, ...]
    rows: tuple[tuple[float, str], ...]
    columns: tuple[tuple[float, str], ...]
    font: float


@dataclass(frozen=True)
class Row:
    """One row of a table with a bar: positions are percentages of the scale."""

    name: str
    bar: str
    own: str
    numbers: tuple[str, ...]
    spoken: str


def render_leakage_html(summary: LeakageSummary) -> str:
    """Return the page: what figures are relative to, who leaks about whom, and totals.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable.report.leakage_from_records import summarize_leakage
    >>> from deniable.schema import Attribute, Schema
    >>> schema = Schema((Attribute("<b>bald", ("no", "yes")), Attribute("male", ("no", "yes"))))
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [500, 400, 10, 90], axis=0)
    >>> page = render_leakage_html(summarize_leakage(records, schema, 1.0, source="a.csv", release="by GRR"))
    >>> "&lt;b&gt;bald" in page, "<b>bald" in page, "<script" in page, "http://" in page
    (True, False, False, False)
    """
    return page_template("leakage.html").render(
        summary=summary,
        title=visible(summary.heading),
        how=HOW_TO_READ,
        map=_heat_map(summary) if summary.target is None else None,
        sources=[] if summary.target is None else _sources(summary),
        legend=[summary.number(summary.scale * part / 4) for part in range(5)],
        stops=STOPS,
        own=OWN,
        totals=_totals(summary),
        total_columns=_total_columns(summary),
        each="" if summary.promise is None else attribute_epsilons(summary.promise, summary.names),
    )


def save_leakage_html(summary: LeakageSummary, path: str | os.PathLike[str]) -> None:
    """Write `render_leakage_html` to a file, atomically.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    write_text(path, render_leakage_html(summary))


@functools.cache
def page_template(name: str) -> jinja2.Template:
    """Return one of the page templates; everything that is filled in is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deniable.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, "status": status_text}
    return environment.get_template(name)


def _heat_map(summary: LeakageSummary) -> HeatMap:
    rows, columns = summary.about, summary.columns
    count = max(len(rows), len(columns))
    side, font = (46.0, 13.0) if count <= 8 else (36.0, 12.0) if count <= MAX_NUMBERS else (20.0, 11.0)
    labels = [shorten(name, _LABELS) for name in summary.names]
    left = 26 + _CHARACTER * font / 12 * max(cell_len(labels[i]) for i in rows)
    top = 26 + _CHARACTER * font / 12 * max(cell_len(labels[j]) for j in columns)
    cells = []
    for y, i in enumerate(rows):
        for x, j in enumerate(columns):
            value = float(summary.matrix[i, j])
            spoken = f"{visible(summary.names[i])}: its own release"
            if i != j:
                spoken = (
                    f"releasing {visible(summary.names[j])} reveals up to {summary.number(value)} of a possible "
                    f"{summary.number(float(summary.direct[j]))} about {visible(summary.names[i])}"
                )
            fraction = value / summary.scale
            number = "" if i == j or count > MAX_NUMBERS else summary.number(value)
            place = left + x * side, top + y * side
            cells.append(Cell(*place, OWN if i == j else shade(fraction), number, text_on(fraction), spoken))
    return HeatMap(
        width=left + side * len(columns) + 2,
        height=top + side * len(rows) + 2,
        left=left,
        top=top,
        side=side,
        cells=tuple(cells),
        rows=tuple((top + (y + 0.5) * side, labels[i]) for y, i in enumerate(rows)),
        columns=tuple((left + (x + 0.5) * side, labels[j]) for x, j in enumerate(columns)),
        font=font,
    )


def _sources(summary: LeakageSummary) -> list[Row]:
    (i,) = summary.about
    rows = []
    for j in summary.sources(i):
        value, possible = float(summary.matrix[i, j]), float(summary.direct[j])
        numbers = (summary.number(value), summary.number(possible))
        name = visible(summary.names[j])
        spoken = f"{name}: {numbers[0]} of a possible {numbers[1]}"
        rows.append(Row(name, _part(value, summary.scale), _part(possible, summary.scale), numbers, spoken))
    return rows


def _total_columns(summary: LeakageSummary) -> list[str]:
    columns = ["own epsilon", summary.total_name]
    if summary.tree:
        columns.append("tree (assumed)")
    if summary.additive_figure_not_a_bound is not None:
        columns.append(ADDITIVE_LABEL)
    return columns


def _totals(summary: LeakageSummary) -> list[Row]:
    rows = []
    for i in summary.about:
        total, own = summary.totals[i].epsilon, float(summary.direct[i])
        numbers = [summary.number(own), summary.number(total)]
        if summary.tree:
            numbers.append(summary.number(summary.tree[i].epsilon))
        if summary.additive_figure_not_a_bound is not None:
            numbers.append(summary.number(float(summary.additive_figure_not_a_bound[i])))
        name = visible(summary.names[i])
        spoken = f"{name}: own epsilon {numbers[0]}, {summary.total_name} {numbers[1]}"
        rows.append(Row(name, _part(total, summary.prior_free), _part(own, summary.prior_free), tuple(numbers), spoken))
    return rows


def _part(value: float, whole: float) -> str:
    """Return a bar's length."""
    return f"{100 * min(value / whole, 1.0):.2f}%" if math.isfinite(value) and whole > 0 else "100%"
