"""Pages as self-contained HTML: embedded SVG, no scripts, no network, every label escaped; read on phones, too."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import jinja2
from rich.cells import cell_len

from deniable.core.outputs import write_text
from deniable.report.colours import MAX_NUMBERS, OWN, STOPS, shade, text_on
from deniable.report.maps import MapLayout, map_layout
from deniable.report.page import (
    CoefficientChart,
    HeatMap,
    IntervalChart,
    Limits,
    MarkKind,
    Page,
    Part,
    Section,
    Table,
    Text,
    axis_limits,
    axis_ticks,
    visible,
)

MAX_ROWS = 200
"""Rows of one chart that a page lists."""

_COLUMN = 1050.0
"""Pixels of the column that a map fills on a desk."""

_LONG_LABEL = 40  # characters of a label that needs more than two lines beside a chart
_EM = 0.55  # width of a letter in units of its height, on the safe side


def render_html(page: Page) -> str:
    """Return the page as HTML.

    Examples
    --------
    >>> from deniable.report.page import Section, Table
    >>> budgets = Table.of(["attribute", "epsilon"], [["<b>bald", "male"], ["1.25", "0.5"]])
    >>> html = render_html(Page("Budgets", (), (Section("By attribute", (budgets,)),)))
    >>> "&lt;b&gt;bald" in html, "<b>bald" in html, "<script" in html, "http://" in html
    (True, False, False, False)
    """
    return _environment().get_template("page.html").render(**_shown(page))


def render_fragment(page: Page) -> str:
    """Return what a page says, without the page around it: for a page that has the sheet (`sheet`) and a heading.

    It has no scripts and, but for heat maps, no style attributes: the strictest policy lets it be shown.

    Examples
    --------
    >>> from deniable.report.page import Section, Table
    >>> html = render_fragment(Page("Shares", (), (Section("One", (Table.of(["a"], [["1%"]]),)),)))
    >>> "<table" in html, "<html" in html, "<style" in html
    (True, False, False)
    """
    return _environment().get_template("fragment.html").render(**_shown(page))


def sheet() -> str:
    """Return the style sheet that every page carries.

    Examples
    --------
    >>> "prefers-color-scheme: dark" in sheet()
    True
    """
    return _environment().get_template("page.css").render()


def _shown(page: Page) -> dict[str, Any]:
    """Return what templates read: the page, its notes, and its sections with their axes and new keys."""
    keys = [tuple(dict.fromkeys(entry for chart in section.charts for entry in chart.key)) for section in page.sections]
    sections = [
        (section, _Axis.of(section), () if i and keys[i] == keys[i - 1] else keys[i])
        for i, section in enumerate(page.sections)
    ]
    return {"page": page, "notes": page.all_notes(MAX_ROWS), "sections": sections}


def save_html(page: Page, path: str | os.PathLike[str]) -> None:
    """Write `render_html` to a file, atomically.

    Raises
    ------
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save_html(Page("Shares", (), ()), f"{folder}/page.html")
    ...     "Shares" in Path(folder, "page.html").read_text()
    True
    """
    write_text(path, render_html(page), private=page.private)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deniable.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # What templates add themselves is markup already, a subclass.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.globals |= {"stops": STOPS, "own": OWN, "drawn": lambda part, axis: RENDERERS[type(part)](part, axis)}
    return environment


def _macro(name: str, *values: object) -> str:
    """Return what a macro of `parts.html` writes: markup, which is not escaped again."""
    written: str = getattr(_environment().get_template("parts.html").module, name)(*values)
    return written


@final
@dataclass(frozen=True)
class _Axis:
    """The common axis of a section's charts: positions are percentages of the width.

    The columns of numbers beside it are as wide in all of them, so that the same percentage lies below itself.
    """

    limits: Limits
    ticks: tuple[tuple[str, str], ...]
    zero: str
    columns: tuple[float, ...] = ()

    @classmethod
    def of(cls, section: Section) -> _Axis:
        charts = section.charts
        limits = axis_limits(charts)
        ticks = tuple((_position(tick, limits), charts[0].axis(tick)) for tick in axis_ticks(limits)) if charts else ()
        widths = list(map(_widths, charts))
        alike = len(set(map(len, widths))) == 1
        columns = tuple(max(column) for column in zip(*widths, strict=True)) if alike else ()
        return cls(limits, ticks, _position(0.0, limits), columns)


def _widths(chart: IntervalChart) -> list[float]:
    """Return the widths of a chart's columns of numbers, in units of the font's height."""
    rows = [tuple(map(visible, chart.table.cells(i))) for i in chart.shown(MAX_ROWS)]
    columns = zip(chart.table.header, *rows, strict=True)
    return [1 + max(0.55 * max(map(cell_len, cells)), min(0.6 * len(name), 8)) for name, *cells in columns][1:]


@final
@dataclass(frozen=True)
class _Row:
    """One row of a chart: its texts, its marks with where they are from and to, and what it says in words."""

    cells: tuple[str, ...]
    marks: tuple[tuple[MarkKind, str, str], ...]
    spoken: str


@final
@dataclass(frozen=True)
class _ChartView:
    header: tuple[str, ...]
    rows: tuple[_Row, ...]
    caption: str
    widths: tuple[float, ...]
    wide: bool


def _text(part: Text, _: _Axis) -> str:
    return _macro("lines", part)


def _table(part: Table, _: _Axis) -> str:
    return _macro("plain", part)


def _chart(part: IntervalChart, axis: _Axis) -> str:
    return _macro("chart", _chart_view(part, axis), axis, part.fold)


def _map(part: HeatMap, _: _Axis) -> str:
    return _macro("heat", part, _map_view(part))


@final
@dataclass(frozen=True)
class _Whisker:
    """One coefficient: its texts, where it is drawn in percent of the width, and the directions without an end."""

    cells: tuple[str, ...]
    start: str
    width: str
    value: str
    arrows: str


def _coefficients(part: CoefficientChart, _: _Axis) -> str:
    limits, rows = part.limits, []
    for i in range(part.table.rows):
        own = float(part.values[i])
        low, high = (own if math.isnan(end[i]) else float(end[i]) for end in (part.lower, part.upper))
        low, high = (0.0 if math.isnan(end) else end for end in (low, high))
        start, stop = (float(_position(end, limits).removesuffix("%")) for end in (low, high))
        value = "" if math.isnan(own) else _position(own, limits)
        arrows = "←" * math.isinf(part.lower[i]) + "→" * math.isinf(part.upper[i])
        cells = tuple(map(visible, part.table.cells(i)))
        rows.append(_Whisker(cells, f"{start:.2f}%", f"{stop - start:.2f}%", value, arrows))
    return _macro("coefficients", part.table.header, rows, _position(0.0, limits))


RENDERERS: dict[type[Part], Callable[[Any, _Axis], str]] = {
    CoefficientChart: _coefficients,
    Text: _text,
    Table: _table,
    IntervalChart: _chart,
    HeatMap: _map,
}
"""Writers of each kind of part, on the axis of its section."""


def _chart_view(chart: IntervalChart, axis: _Axis) -> _ChartView:
    shown = chart.shown(MAX_ROWS)
    rows = []
    for i in shown:
        cells = tuple(map(visible, chart.table.cells(i)))
        marks = []
        for mark in chart.marks:
            ends = mark.values[i].tolist() if mark.kind == "interval" else [0.0, float(mark.values[i])]
            if not any(map(math.isnan, ends)):
                marks.append((mark.kind, _position(ends[0], axis.limits), _position(ends[1], axis.limits)))
        spoken = ", ".join(f"{name} {cell}" for name, cell in zip(chart.table.header[1:], cells[1:], strict=True))
        rows.append(_Row(cells, tuple(marks), f"{cells[0]}: {spoken}"))
    hidden = chart.table.rows - len(shown) + chart.hidden
    largest = f"the {len(shown)} largest, {hidden:,} {chart.rest} are not listed" if hidden else ""
    widths = axis.columns or tuple(_widths(chart))
    caption = "; ".join(filter(None, [chart.caption, largest]))
    wide = max((cell_len(row.cells[0]) for row in rows), default=0) > _LONG_LABEL
    return _ChartView(chart.table.header, tuple(rows), caption, widths, wide)


def _position(value: float, limits: Limits) -> str:
    """Return where a value lies on the axis; what is beyond its ends, at the end."""
    low, high = limits
    return f"{100 * (min(max(value, low), high) - low) / (high - low):.2f}%"


@final
@dataclass(frozen=True)
class _Cell:
    x: float
    y: float
    fill: str
    number: str
    ink: str
    spoken: str


@final
@dataclass(frozen=True)
class _MapLabel:
    """One label: its lines, each with where it begins."""

    lines: tuple[tuple[float, float, str], ...]


@final
@dataclass(frozen=True)
class _MapView:
    """A drawing in pixels: cells, and labels with their positions."""

    width: float
    height: float
    layout: MapLayout
    cells: tuple[_Cell, ...]
    rows: tuple[_MapLabel, ...]
    columns: tuple[_MapLabel, ...]


def _map_view(chart: HeatMap) -> _MapView:
    """Return a map as wide as its column, with whole labels."""
    count = max(chart.values.shape)
    side = 46.0 if count <= 8 else 36.0 if count <= MAX_NUMBERS else 20.0
    layout = map_layout(chart, _COLUMN - 2, side, _EM)
    rows, columns, line, left, top = layout.rows, layout.columns, layout.line, layout.left, layout.top
    across, down, upright = layout.across, layout.down, layout.upright
    cells = []
    for y in range(len(rows)):
        for x in range(len(columns)):
            value = float(chart.values[y, x])
            fraction, empty = value / chart.scale, math.isnan(value)
            number = "" if empty or count > MAX_NUMBERS else chart.number(value)
            place, fill = (left + x * across, top + y * down), OWN if empty else shade(fraction)
            cells.append(_Cell(*place, fill, number, text_on(fraction), chart.spoken(y, x)))

    def beside(y: int, lines: list[str]) -> _MapLabel:
        first = top + (y + 0.5) * down + 4 - line * (len(lines) - 1) / 2
        return _MapLabel(tuple((left - 6, first + line * i, text) for i, text in enumerate(lines)))

    def above(x: int, lines: list[str]) -> _MapLabel:
        middle = left + (x + 0.5) * across
        if upright:
            first = top - 8 - line * (len(lines) - 1)
            return _MapLabel(tuple((middle, first + line * i, text) for i, text in enumerate(lines)))
        first = middle + 4 - line * (len(lines) - 1) / 2
        return _MapLabel(tuple((first + line * i, top - 6, text) for i, text in enumerate(lines)))

    return _MapView(
        width=left + across * len(columns) + 2,
        height=top + down * len(rows) + 2,
        layout=layout,
        cells=tuple(cells),
        rows=tuple(beside(y, lines) for y, lines in enumerate(rows)),
        columns=tuple(above(x, lines) for x, lines in enumerate(columns)),
    )
