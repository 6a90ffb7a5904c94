"""The picture of leakage: a heat map, rows about whom and columns released, or the bars of one target.

Laid out in inches like the pictures of estimates, so that text has one size and nothing overlaps, whatever the number
of attributes. matplotlib is imported when something is drawn.
"""

from __future__ import annotations

import os
import textwrap
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.files import atomic_path
from deniable.report.leakage_colours import INK, LINE, OWN, STOPS, text_on
from deniable.report.leakage_summary import LeakageSummary
from deniable.report.text import shorten, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_NUMBERS = 15
"""Attributes up to which cells carry their numbers."""

MAX_BARS = 40

_GREY = "#5f5f5f"
# Inches; characters for the longest label; points.
_MARGIN, _LINE, _GAP, _LEAST_WIDTH, _BAR = 0.3, 0.17, 0.12, 7.2, 0.27
_LABELS = 26
_DPI = 150


def draw_leakage(summary: LeakageSummary) -> Figure:
    """Return a figure of the matrix, or, with a target, of what every attribute alone says about it.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable.report.leakage_from_records import summarize_leakage
    >>> from deniable.schema import Attribute, Schema
    >>> schema = Schema((Attribute("bald", ("no", "yes")), Attribute("male", ("no", "yes"))))
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [500, 400, 10, 90], axis=0)
    >>> summary = summarize_leakage(records, schema, 1.0, source="faces.csv", release="by GRR with epsilon = 1")
    >>> [axes.get_xlabel() for axes in draw_leakage(summary).axes]
    ['released', '']
    """
    return _heat_map(summary) if summary.target is None else _bars(summary)


def save_leakage_png(summary: LeakageSummary, path: str | os.PathLike[str]) -> None:
    """Write `draw_leakage` as a PNG file, atomically.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    figure = draw_leakage(summary)
    with atomic_path(path) as temporary, warnings.catch_warnings():
        # The font shipped with matplotlib lacks some scripts: a box in a picture is no reason to fail.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(temporary, format="png", dpi=_DPI)


def _heat_map(summary: LeakageSummary) -> Figure:
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = summary.about, summary.columns
    cell, size = _cell(max(len(rows), len(columns)))
    labels = [shorten(name, _LABELS) for name in summary.names]
    left = _MARGIN + 0.25 + _text_width(labels, size) + _GAP
    over = _text_width([labels[j] for j in columns], size) + 0.45
    side = 0.75  # the column of totals
    scale_width = 0.95
    map_width, map_height = cell * len(columns), cell * len(rows)
    width = max(_LEAST_WIDTH, left + map_width + side + scale_width + _MARGIN)
    head, foot = _head(summary, width), _foot(summary, width)
    above = _MARGIN + 0.35 + _LINE * len(head) + 0.1
    height = above + over + map_height + 0.3 + _LINE * len(foot) + _MARGIN
    figure = _figure(width, height)
    _write_head(figure, summary, head, width, height)
    bottom = height - above - over - map_height
    axes = figure.add_axes((left / width, bottom / height, map_width / width, map_height / height))
    values = summary.matrix[np.ix_(rows, columns)]
    colours = LinearSegmentedColormap.from_list("leakage", STOPS)
    mesh = axes.pcolormesh(values, cmap=colours, vmin=0, vmax=summary.scale, edgecolors=LINE, linewidth=0.5)
    _own_cells(axes, rows, columns)
    axes.set_xlim(0, len(columns))
    axes.set_ylim(len(rows), 0)
    axes.tick_params(axis="both", length=0, labelsize=size, labelcolor=INK, pad=3)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.set_xticks(np.arange(len(columns)) + 0.5, [labels[j] for j in columns], rotation=90)
    axes.set_yticks(np.arange(len(rows)) + 0.5, [labels[i] for i in rows])
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_parse_math(False)
    axes.set_xlabel("released", size=size + 1, color=_GREY)
    axes.set_ylabel("about", size=size + 1, color=_GREY)
    for spine in axes.spines.values():
        spine.set_color("#8a8a8a")
    if max(len(rows), len(columns)) <= MAX_NUMBERS:
        _numbers(axes, summary, rows, columns)
    _totals(figure, summary, rows, (left + map_width + 0.12, bottom, cell), size, width, height)
    tall = min(map_height, 2.6)
    box = (left + map_width + side + 0.18, bottom + map_height - tall, 0.16, tall)
    bar = figure.colorbar(mesh, cax=figure.add_axes((box[0] / width, box[1] / height, box[2] / width, tall / height)))
    ticks = np.linspace(0, summary.scale, 5)
    bar.set_ticks(ticks.tolist(), labels=[summary.number(float(tick)) for tick in ticks])
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=INK)
    bar.outline.set_visible(False)
    _write_foot(figure, foot, bottom - 0.3, width, height)
    return figure


def _bars(summary: LeakageSummary) -> Figure:
    (i,) = summary.about
    sources = summary.sources(i)
    shown = sources[:MAX_BARS]
    labels = [shorten(summary.names[j], _LABELS) for j in shown]
    left = _MARGIN + _text_width(labels, 9) + _GAP
    width = max(_LEAST_WIDTH, left + 4.5 + _MARGIN)
    head, foot = _head(summary, width), _foot(summary, width)
    above, tall = _MARGIN + 0.35 + _LINE * len(head) + 0.2, _BAR * max(len(shown), 1)
    height = above + tall + 0.65 + _LINE * len(foot) + _MARGIN
    figure = _figure(width, height)
    _write_head(figure, summary, head, width, height)
    bottom = height - above - tall
    axes = figure.add_axes((left / width, bottom / height, (width - left - 0.75) / width, tall / height))
    y = np.arange(len(shown))
    values = [float(summary.matrix[i, j]) for j in shown]
    axes.barh(y, [float(summary.direct[j]) for j in shown], height=0.62, color="#eeeeee")
    axes.barh(y, values, height=0.62, color=STOPS[4])
    for place, value in enumerate(values):
        axes.text(summary.scale * 1.01, place, summary.number(value), size=9, color=INK, va="center")
    axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    axes.set_xlim(0, summary.scale)
    axes.set_yticks(y, labels)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.tick_params(axis="both", length=0, labelsize=9, labelcolor=INK)
    hidden = f"; {len(sources) - len(shown)} weaker ones are not shown" if len(sources) > len(shown) else ""
    axes.set_xlabel(f"leakage by releasing this attribute alone; grey: what is possible{hidden}", size=9, color=_GREY)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#b0b0b0")
    _write_foot(figure, foot, bottom - 0.6, width, height)
    return figure


# ---------------------------------------------------------------- parts


def _cell(attributes: int) -> tuple[float, float]:
    """Return the size of a cell in inches and of labels in points."""
    if attributes <= 8:
        return 0.52, 9.5
    return (0.4, 8.5) if attributes <= MAX_NUMBERS else (max(0.16, min(0.3, 8.0 / attributes)), 7.5)


def _own_cells(axes: Axes, rows: Sequence[int], columns: Sequence[int]) -> None:
    from matplotlib.patches import Rectangle

    for y, i in enumerate(rows):
        if i in columns:
            axes.add_patch(Rectangle((columns.index(i), y), 1, 1, facecolor=OWN, edgecolor=LINE, linewidth=0.5))


def _numbers(axes: Axes, summary: LeakageSummary, rows: Sequence[int], columns: Sequence[int]) -> None:
    for y, i in enumerate(rows):
        for x, j in enumerate(columns):
            if i != j:
                value = float(summary.matrix[i, j])
                colour = text_on(value / summary.scale)
                text = summary.number(value).removeprefix("0")
                axes.text(x + 0.5, y + 0.5, text, size=8, color=colour, ha="center", va="center")


def _totals(
    figure: Figure,
    summary: LeakageSummary,
    rows: Sequence[int],
    corner: tuple[float, float, float],
    size: float,
    width: float,
    height: float,
) -> None:
    x, bottom, cell = corner
    style: dict[str, Any] = {"size": size, "color": INK, "ha": "right"}
    right = (x + 0.55) / width
    top = bottom + cell * len(rows)
    figure.text(right, (top + 0.08) / height, summary.total_name, weight="bold", va="bottom", **style)
    for y, i in enumerate(rows):
        text = summary.number(summary.totals[i].epsilon)
        figure.text(right, (top - cell * (y + 0.5)) / height, text, va="center", **style)


def _head(summary: LeakageSummary, width: float) -> list[str]:
    top = summary.number(summary.scale)
    how = [] if summary.target else [f"{HOW_TO_READ} 0: nothing. {top}: all that its release may say."]
    return _wrapped([summary.release_text, *how], width, 15)


HOW_TO_READ = "A row shows what is said about its attribute by releasing the attribute of a column alone."


def _foot(summary: LeakageSummary, width: float) -> list[str]:
    """Return the lines below the picture; paragraphs are set apart by empty lines."""
    pairs = [summary.pair_text(pair) for pair in summary.spoken[:5] if summary.target is None or pair.plausible]
    spoken = [f"{pair[0].upper()}{pair[1:]}." for pair in pairs]
    together = [summary.total_text, summary.any_prior_text]
    if summary.target is not None:
        together.insert(0, _target_text(summary))
    warned = [f"Warning: {text}." for text in summary.warnings]
    paragraphs = [_wrapped(part, width, 16) for part in (spoken, together, [summary.prior_text], warned) if part]
    return [line for paragraph in paragraphs for line in (*paragraph, "")][:-1]


def _target_text(summary: LeakageSummary) -> str:
    (i,) = summary.about
    how = "exactly" if summary.totals[i].status == "exact" else "at most"
    return f"Everything together reveals {how} {summary.number(summary.totals[i].epsilon)} about {summary.target}."


def _wrapped(sentences: Sequence[str], width: float, per_inch: float) -> list[str]:
    characters = int((width - 2 * _MARGIN) * per_inch)
    return [line for sentence in sentences for line in textwrap.wrap(visible(sentence), characters)]


def _write_head(figure: Figure, summary: LeakageSummary, lines: Sequence[str], width: float, height: float) -> None:
    left = _MARGIN / width
    title = shorten(summary.heading, int(7.5 * width))
    figure.text(left, 1 - 0.2 / height, title, size=14, weight="bold", color=INK, va="top", parse_math=False)
    for number, line in enumerate(lines):
        top = 1 - (_MARGIN + 0.25 + _LINE * number) / height
        figure.text(left, top, line, size=9, color=_GREY, va="top", parse_math=False)


def _write_foot(figure: Figure, lines: Sequence[str], top: float, width: float, height: float) -> None:
    for number, line in enumerate(lines):
        place = (top - _LINE * number) / height
        figure.text(_MARGIN / width, place, line, size=8, color=_GREY, va="top", parse_math=False)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def _text_width(labels: Sequence[str], size: float) -> float:
    """Inches that the longest label takes, measured."""
    figure = _figure(1, 1)
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        texts = [figure.text(0, 0, label, size=size, parse_math=False) for label in labels]
        return max((text.get_window_extent(renderer).width / figure.dpi for text in texts), default=0.0)
