"""Pictures: one panel per attribute, a dot for each estimate and a whisker for its interval.

Panels are laid out in inches, so that text has one size and nothing overlaps, however many categories there are.
matplotlib is imported when something is drawn: no other command waits for it.
"""

from __future__ import annotations

import os
import textwrap
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.files import atomic_path
from deniable.report.axis import axis_limits, axis_ticks, tick_text
from deniable.report.summary import AttributeSummary, Summary
from deniable.report.tables import NOTHING_FOUND
from deniable.report.text import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_ROWS = 40
"""Categories of one attribute that a panel shows."""

# Okabe and Ito's palette; every mark is told apart by its shape as well.
BLUE, VERMILLION, INK, GREY = "#0072B2", "#D55E00", "#1a1a1a", "#5f5f5f"
_ESTIMATE: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 5.0}
_TRUTH: dict[str, Any] = {
    "color": VERMILLION,
    "marker": "D",
    "markersize": 6.5,
    "markerfacecolor": "none",
    "markeredgewidth": 1.4,
}
_PROCESSED: dict[str, Any] = {"color": INK, "marker": "|", "markersize": 9.0, "markeredgewidth": 1.4}

# Inches, and characters for the longest label.
_ROW, _PANEL_WIDTH, _TITLE, _AXIS, _MARGIN, _HEADER, _LINE = 0.27, 4.0, 0.4, 0.45, 0.3, 1.05, 0.17
_ONLY_PANEL_WIDTH = 6.0
_LABELS = 28
_DPI = 150


def draw(summary: Summary) -> Figure:
    """Return a figure of all attributes: estimates, intervals, and the truth where it is known.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.report import draw, summarize
    >>> import numpy as np
    >>> grr = GRR(k=2, epsilon=3.0)
    >>> estimate = grr.estimate(grr.aggregate(np.array([0, 0, 0, 1])))
    >>> len(draw(summarize(estimate, mechanism=grr, n=4)).axes)
    1
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    attributes = summary.attributes
    columns = min(2, len(attributes))
    panel = _PANEL_WIDTH if columns == 2 else _ONLY_PANEL_WIDTH
    lefts, x = [], _MARGIN
    for column in range(columns):
        lefts.append((x, x + _label_width(attributes[column::columns])))
        x = lefts[-1][1] + panel + _MARGIN
    width = x
    lines = [attributes[start : start + columns] for start in range(0, len(attributes), columns)]
    heights = [_TITLE + max(map(_panel_height, line)) + _AXIS for line in lines]
    footer = _footer(summary, width)
    height = _HEADER + sum(heights) + _LINE * len(footer) + _MARGIN
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    _header(figure, summary, width, height)
    top = height - _HEADER
    for line, line_height in zip(lines, heights, strict=True):
        for (label_left, left), row in zip(lefts, line, strict=False):
            own = _panel_height(row)
            box = (left / width, (top - _TITLE - own) / height, panel / width, own / height)
            _panel(figure.add_axes(box), row)
            figure.text(
                label_left / width,
                (top - _TITLE + 0.1) / height,
                _panel_title(summary, row),
                size=10.5,
                weight="bold",
                color=INK,
                parse_math=False,
            )
        top -= line_height
    for number, sentence in enumerate(footer):
        figure.text(_MARGIN / width, (top - _LINE * number) / height, sentence, size=8, color=GREY, va="top")
    return figure


def save_png(summary: Summary, path: str | os.PathLike[str]) -> None:
    """Write `draw` as a PNG file, atomically.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    figure = draw(summary)
    with atomic_path(path) as temporary, warnings.catch_warnings():
        # The font shipped with matplotlib lacks some scripts: a box in a picture is no reason to fail.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(temporary, format="png", dpi=_DPI)


def _panel_height(row: AttributeSummary) -> float:
    return _ROW * (min(max(len(row.categories), 1), MAX_ROWS) if row.reports else 1)


def _panel_title(summary: Summary, row: AttributeSummary) -> str:
    title = shorten(row.attribute, 40)
    if row.reports and row.reports != summary.n:
        title += f"  ({row.reports:,} reports)"
    listed, total = min(len(row.categories), MAX_ROWS), row.total or len(row.categories)
    if row.reports and listed < total:
        title += f"  {'these' if summary.selection == 'queries' else 'largest'} {listed} of {total:,}"
    return title


def _label_width(rows: Sequence[AttributeSummary]) -> float:
    """Inches that the longest category label takes at 9 points, measured."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    widest = 0.6
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        for row in rows:
            for i in row.largest(MAX_ROWS):
                text = figure.text(0, 0, shorten(row.categories[i], _LABELS), size=9, parse_math=False)
                widest = max(widest, text.get_window_extent(renderer).width / figure.dpi)
    return widest + 0.12


def _footer(summary: Summary, width: float) -> list[str]:
    characters = int((width - 2 * _MARGIN) * 16)
    sentences = [
        summary.interval_text,
        summary.selection_text,
        summary.cut_text(MAX_ROWS),
        summary.processing_text,
        summary.coverage_text,
    ]
    return [line for sentence in sentences for line in textwrap.wrap(sentence, characters)]


def _header(figure: Figure, summary: Summary, width: float, height: float) -> None:
    from matplotlib.lines import Line2D

    left = _MARGIN / width
    title = shorten(summary.title or "Estimated frequencies", int(7.5 * width))
    facts = shorten(
        f"{summary.budget_text}, n = {summary.n:,}, {summary.mechanism_text}", int(11 * (width - 2 * _MARGIN))
    )
    figure.text(left, 1 - 0.2 / height, title, size=14, weight="bold", color=INK, va="top", parse_math=False)
    figure.text(left, 1 - 0.5 / height, facts, size=10, color=GREY, va="top", parse_math=False)
    shown = f"estimate, {summary.level_text} interval" if summary.has_intervals else "estimate"
    handles = [Line2D([], [], linewidth=1.6, label=shown, **_ESTIMATE)]
    if summary.truth_n is not None:
        handles.append(Line2D([], [], linestyle="none", label="truth", **_TRUTH))
    if summary.processing:
        handles.append(Line2D([], [], linestyle="none", label=f"{summary.processing_name} (no interval)", **_PROCESSED))
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(left, 1 - 0.77 / height),
        ncols=len(handles),
        frameon=False,
        fontsize=9,
        borderpad=0,
        borderaxespad=0,
        handletextpad=0.5,
        columnspacing=1.8,
    )


def _panel(axes: Axes, row: AttributeSummary) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#b0b0b0")
    axes.tick_params(axis="both", length=0, labelsize=9, labelcolor=INK)
    if row.reports == 0 or not row.categories:
        axes.set_axis_off()
        nothing = "no reports" if row.reports == 0 else NOTHING_FOUND
        axes.text(
            0.0,
            0.5,
            nothing,
            transform=axes.transAxes,
            size=9,
            color=GREY,
            va="center",
        )
        return
    shown = row.largest(MAX_ROWS)
    y = np.arange(len(shown))
    axes.axvline(0.0, color="#8a8a8a", linewidth=1.0, zorder=1)
    axes.grid(axis="x", color="#e3e3e3", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.hlines(y, row.lower[shown], row.upper[shown], color=BLUE, linewidth=1.6, zorder=2)
    axes.plot(row.estimate[shown], y, linestyle="none", zorder=3, **_ESTIMATE)
    if row.processed is not None:
        axes.plot(row.processed[shown], y, linestyle="none", zorder=4, **_PROCESSED)
    if row.truth is not None:
        axes.plot(row.truth[shown], y, linestyle="none", zorder=5, **_TRUTH)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_yticks(y, [shorten(row.categories[i], _LABELS) for i in shown])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    limits = axis_limits([row])
    ticks = axis_ticks(limits)
    axes.set_xticks(ticks, [tick_text(tick) for tick in ticks])
    axes.set_xlim(*limits)
