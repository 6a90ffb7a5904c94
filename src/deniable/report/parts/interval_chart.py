"""Chart of intervals: a table whose rows are also drawn on a common axis."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.console import Console

from deniable.report import html, png
from deniable.report.colours import INK, STOPS
from deniable.report.html import column_widths, filled, position
from deniable.report.page import (
    NO_HINTS,
    Axis,
    Drawing,
    Floats,
    Hints,
    Mark,
    MarkKind,
    Part,
    Room,
    Scale,
    axis_limits,
    axis_ticks,
    visible,
    wrap_label,
)
from deniable.report.parts.table import Table
from deniable.report.png import AXIS, BLUE, LINE_HEIGHT, ROW, VERMILLION, points, rows_of, whiskers
from deniable.report.text import MAX_ROWS, print_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDED_ROWS = 8
"""Rows of a folded chart that a terminal lists."""

_LONG_LABEL = 40  # characters of a label that needs more than two lines beside a chart


@final
@dataclass(frozen=True, eq=False)
class IntervalChart(Part):
    """A table whose rows are also drawn on a common axis.

    Parameters
    ----------
    table : Table
        Rows of the chart.
    marks : tuple of Mark
        Marks to draw, from back to front.
    axis : callable
        Function from a value to the text of its tick.
    caption : str
        Short text above the chart, for instance the number of reports.
    flags : bool[rows] or None
        True for rows with an asterisk. A column of the table also shows the asterisk.
    rank : float64[rows] or None
        Rank of each row. Renderers that list fewer rows keep the rows with the largest ranks.
    hidden : int
        Number of rows that were left out in advance.
    rest : str
        Words for the rows that are left out.
    cut : str
        Note for the reader if a renderer leaves out more rows.
    fold : str
        Words for all rows together, if single rows say little, otherwise "". An HTML page shows these words and folds
        the rows. A terminal lists a few rows.
    """

    table: Table
    marks: tuple[Mark, ...]
    axis: Callable[[float], str]
    caption: str = ""
    flags: NDArray[np.bool_] | None = None
    rank: Floats | None = None
    hidden: int = 0
    rest: str = ""
    cut: str = ""
    fold: str = ""
    is_narrow = True

    def shown(self, most: int) -> list[int]:
        """Return the rows to list if at most `most` fit: those with the largest ranks, in the order of the table."""
        if self.table.rows <= most:
            return list(range(self.table.rows))
        if self.rank is None:
            return list(range(most))
        return sorted(int(i) for i in np.argsort(-self.rank, kind="stable")[:most])

    @property
    def key(self) -> tuple[tuple[MarkKind, str], ...]:
        return tuple((mark.kind, mark.name) for mark in self.marks if mark.name)

    def note(self, most: int, *, spaced: bool = False) -> str:
        return self.cut if self.table.rows > most and not (spaced and self.fold) else ""

    def columns(self, most: int) -> tuple[tuple[str, ...], ...]:
        """Return the columns of numbers for the rows that are shown.

        Each column begins with its header.
        """
        rows = [tuple(map(visible, self.table.cells(i))) for i in self.shown(most)]
        return tuple(zip(self.table.header, *rows, strict=True))[1:]

    def on_axis(self, most: int) -> Scale:
        return Scale(self.marks, self.axis, self.columns(most))

    # ---------------------------------------------------------------- terminal

    def _listed(self, most: int) -> list[int]:
        """Return the rows that a terminal lists.

        For a folded chart, these are evenly spaced rows, whatever their numbers.
        """
        if not self.fold:
            return self.shown(most)
        return list(range(0, self.table.rows, -(-self.table.rows // FOLDED_ROWS)))

    def label_width(self, most: int) -> int:
        return max((cell_len(visible(self.table.cells(i)[0])) for i in self._listed(most)), default=0)

    def lines(self, width: int, label_width: int = 0, most: int = MAX_ROWS, hints: Hints = NO_HINTS) -> list[str]:
        """Return the table and the number of rows left out, as lines of at most `width` terminal cells."""
        shown = self._listed(most)
        cut = self.table.rows - len(shown)
        lines = wrap_label(self.caption, width) if self.caption else []
        lines += self.table.lines(width, rows=shown, label_width=label_width)
        if self.fold and cut:
            lines.append(f"these are {len(shown)} of {self.fold}" + (f" ({hints.folded})" if hints.folded else ""))
        elif cut + self.hidden:
            lines.append(f"and {cut + self.hidden:,} {self.rest}" + (f" ({hints.rows})" if cut and hints.rows else ""))
        return lines

    def print_on(self, console: Console, room: Room) -> None:
        print_lines(console, self.lines(console.width, *room))

    # ---------------------------------------------------------------- HTML

    def markup(self, axis: Axis) -> str:
        shown = self.shown(html.MAX_ROWS)
        rows = []
        for i in shown:
            cells = tuple(map(visible, self.table.cells(i)))
            marks = []
            for mark in self.marks:
                ends = mark.values[i].tolist() if mark.kind == "interval" else [0.0, float(mark.values[i])]
                if not any(map(math.isnan, ends)):
                    marks.append((mark.kind, position(ends[0], axis.limits), position(ends[1], axis.limits)))
            spoken = ", ".join(f"{name} {cell}" for name, cell in zip(self.table.header[1:], cells[1:], strict=True))
            rows.append(_Row(cells, tuple(marks), f"{cells[0]}: {spoken}"))
        hidden = self.table.rows - len(shown) + self.hidden
        largest = f"the {len(shown)} largest, {hidden:,} {self.rest} are not listed" if hidden else ""
        widths = axis.columns or tuple(column_widths(self.columns(html.MAX_ROWS)))
        caption = "; ".join(filter(None, [self.caption, largest]))
        wide = max((cell_len(row.cells[0]) for row in rows), default=0) > _LONG_LABEL
        view = _ChartView(self.table.header, tuple(rows), caption, widths, wide)
        return filled("interval_chart", view=view, axis=axis, fold=self.fold)

    # ---------------------------------------------------------------- picture

    def drawing(self, width: float) -> Drawing:
        shown, limits, total = self.shown(png.MAX_ROWS), axis_limits(self.marks), self.table.rows + self.hidden
        rows = [self.table.cells(i) for i in shown]
        flags = [" *" * (self.flags is not None and bool(self.flags[i])) for i in shown]
        labels, y, tall = rows_of([row[0] for row in rows], width)
        labels = [label + flag for label, flag in zip(labels, flags, strict=True)]
        largest = f"largest {len(shown)} of {total:,}" if len(shown) < total else ""
        caption = "; ".join(filter(None, [self.caption, largest]))
        # Bars are read by their numbers, which are printed beside them.
        numbers = list(zip(*rows, strict=True))[1:] if any(mark.kind == "bar" for mark in self.marks) else []
        headers = [textwrap.fill(name, 15) for name in self.table.header[1 : len(numbers) + 1]]

        def paint(axes: Axes) -> None:
            axes.axvline(0.0, color="#8a8a8a", linewidth=1.0, zorder=1)
            axes.grid(axis="x")
            for order, mark in enumerate(self.marks, start=2):
                values = np.clip(mark.values[shown], *limits)
                _MARKS[mark.kind](axes, y, values, label=mark.name or None, zorder=order)
            right, beside = 0.0, partial(axes.annotate, textcoords="offset points", ha="right", size=8.5)
            for header, cells in zip(headers, numbers, strict=True):
                right += 18 + 5.4 * max(cell_len(line) for text in (header, *cells) for line in text.split("\n"))
                beside(header, (1, 1), xycoords="axes fraction", xytext=(right, 2), va="bottom", weight="bold")
                for place, cell in zip(y, cells, strict=True):
                    beside(cell, (1, place), xycoords=axes.get_yaxis_transform(), xytext=(right, 0), va="center")
            axes.set_ylim(tall, 0.0)
            axes.set_xlim(*limits)
            axes.set_yticks(y, labels)
            axes.set_xticks(ticks := axis_ticks(limits), [self.axis(tick) for tick in ticks])
            axes.set_xlabel(caption, loc="left")

        over = LINE_HEIGHT * max((name.count("\n") + 1 for name in headers), default=0)
        return Drawing(paint, ROW * tall, AXIS + over + LINE_HEIGHT * bool(caption))


@final
@dataclass(frozen=True)
class _Row:
    """One row of a chart: its texts, its marks with the start and end of each, and a description in words."""

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


def _bars(axes: Axes, y: Floats, values: Floats, **style: Any) -> None:
    axes.barh(y, values, height=0.62, **style)


_MARKS: dict[MarkKind, Callable[..., None]] = {
    "interval": partial(whiskers, color=BLUE, linewidth=1.6),
    "estimate": partial(points, color=BLUE, marker="o", markersize=5.0),
    "truth": partial(points, color=VERMILLION, marker="D", markersize=6.5, markerfacecolor="none", markeredgewidth=1.4),
    "tick": partial(points, color=INK, marker="|", markersize=9.0, markeredgewidth=1.4),
    "track": partial(_bars, color="#e9e9e9"),
    "bar": partial(_bars, color=STOPS[4]),
}
