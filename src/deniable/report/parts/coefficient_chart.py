"""Chart of coefficients with their intervals, around a line at zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from rich.console import Console

from deniable.report.html import filled, position
from deniable.report.page import Axis, Drawing, Floats, Limits, Part, Room, axis_ticks, visible
from deniable.report.parts.table import Table
from deniable.report.png import AXIS, BLUE, ROW, points, rows_of, whiskers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@final
@dataclass(frozen=True, eq=False)
class CoefficientChart(Part):
    """Chart of coefficients with their intervals, around a line at zero.

    An arrow marks an infinite end.

    Parameters
    ----------
    table : Table
        Rows of the chart, with the name of the coefficient in the first column.
    values : float64[rows]
        Coefficients. NaN if a coefficient is not determined.
    lower, upper : float64[rows]
        Ends of the intervals, which may be infinite.
    """

    table: Table
    values: Floats
    lower: Floats
    upper: Floats
    is_narrow = False

    @property
    def limits(self) -> Limits:
        """Range of the axis: it contains zero and every finite number, with a margin for arrows."""
        numbers = np.concatenate([self.values, self.lower, self.upper])
        numbers = numbers[np.isfinite(numbers)]
        low, high = float(numbers.min(initial=0.0)), float(numbers.max(initial=0.0))
        margin = 0.08 * (high - low) or 1.0
        return low - margin, high + margin

    def print_on(self, console: Console, room: Room) -> None:
        self.table.print_on(console, room)

    def markup(self, axis: Axis) -> str:
        limits, rows = self.limits, []
        for i in range(self.table.rows):
            own = float(self.values[i])
            low, high = (own if math.isnan(end[i]) else float(end[i]) for end in (self.lower, self.upper))
            low, high = (0.0 if math.isnan(end) else end for end in (low, high))
            start, stop = (float(position(end, limits).removesuffix("%")) for end in (low, high))
            value = "" if math.isnan(own) else position(own, limits)
            arrows = "←" * math.isinf(self.lower[i]) + "→" * math.isinf(self.upper[i])
            cells = tuple(map(visible, self.table.cells(i)))
            rows.append(_Whisker(cells, f"{start:.2f}%", f"{stop - start:.2f}%", value, arrows))
        return filled("coefficient_chart", header=self.table.header, rows=rows, zero=position(0.0, limits))

    def drawing(self, width: float) -> Drawing:
        limits = self.limits
        labels, y, tall = rows_of([self.table.cells(i)[0] for i in range(self.table.rows)], width)

        def paint(axes: Axes) -> None:
            axes.axvline(0.0, color="#8a8a8a", linewidth=1.0, zorder=1)
            axes.grid(axis="x")
            drawn = np.stack([np.clip(end, *limits) for end in (self.lower, self.upper)], axis=1)
            whiskers(axes, y, drawn, color=BLUE, linewidth=1.6)
            points(axes, y, self.values, color=BLUE, marker="o", markersize=5.0)
            for ends, infinite, marker in (
                (drawn[:, 0], np.isneginf(self.lower), "<"),
                (drawn[:, 1], np.isposinf(self.upper), ">"),
            ):
                points(axes, y[infinite], ends[infinite], color=BLUE, marker=marker, markersize=6.0)
            axes.set_ylim(tall, 0.0)
            axes.set_xlim(*limits)
            axes.set_yticks(y, labels)
            axes.set_xticks(ticks := axis_ticks(limits), [f"{tick:g}" for tick in ticks])

        return Drawing(paint, ROW * tall, AXIS)


@final
@dataclass(frozen=True)
class _Whisker:
    """One coefficient: its texts, its position in percent of the width, and arrows for infinite ends."""

    cells: tuple[str, ...]
    start: str
    width: str
    value: str
    arrows: str
