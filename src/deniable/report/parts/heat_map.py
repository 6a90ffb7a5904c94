"""Heat map: a matrix of numbers in colours.

Labels are wrapped to fit beside and above the cells, and never cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from rich.cells import cell_len
from rich.console import Console

from deniable.report.colours import LINE, MAX_NUMBERS, OWN, STOPS, shade, text_on
from deniable.report.html import filled
from deniable.report.page import (
    LONGEST_LABEL,
    Axis,
    Drawing,
    Floats,
    Part,
    Room,
    balanced_label,
    visible,
    wrap_label,
)
from deniable.report.parts.table import SMALLEST_LABEL, Table
from deniable.report.png import GREY, LINE_HEIGHT, PAD, characters
from deniable.report.text import print_line, print_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = (30, 45, 60, 90, LONGEST_LABEL)
"""Characters of one line of a label. The first number that fits is used."""

_GAP = 8.0  # pixels between a label and its cells

_BETWEEN = "  "
_COLUMN = 1050.0  # pixels of the column that a map fills on a desk
_BAR = 0.9  # inches of the scale beside a map
_EM, _PICTURE_EM = 0.55, 0.6  # width of a letter in units of its height, on the safe side: in HTML and in pictures


@final
@dataclass(frozen=True, eq=False)
class HeatMap(Part):
    """A matrix of numbers from 0 to `scale`.

    A cell without a number is NaN.

    Parameters
    ----------
    rows, columns : tuple of str
        Labels of rows and columns.
    row_name, column_name : str
        Nouns for a row and for a column.
    values : float64[rows, columns]
        Numbers to draw.
    scale : float
        Upper end of the scale.
    number : callable
        Function from a value to its text.
    spoken : callable
        Function from a row and a column to a description of the cell in words.
    nothing, top : str
        Meaning of a cell without a number, and meaning of the upper end of the scale.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_name: str
    column_name: str
    values: Floats
    scale: float
    number: Callable[[float], str]
    spoken: Callable[[int, int], str]
    nothing: str
    top: str
    is_narrow = False

    def lines(self, width: int) -> list[str]:
        """Return the matrix as lines, or no lines if it is too wide.

        Columns have names if these fit. Otherwise rows and columns are numbered, and the lines below the matrix name
        every column that is not a row as well.
        """
        numbers = [
            ["-" if math.isnan(one) else self.number(one) for one in column] for column in self.values.T.tolist()
        ]
        digits = max(len(cell) for column in numbers for cell in column)
        places = {label: str(i) for i, label in enumerate(dict.fromkeys([*self.rows, *self.columns]), start=1)}
        corner = f"{self.row_name} ↓"
        numbered = [f"{places[label]} {label}" for label in self.rows]
        least = SMALLEST_LABEL + len(str(len(places)))
        longest = max(cell_len(visible(label)) for label in (*self.rows, corner))
        for header, labels, room in (
            (self.columns, self.rows, min(longest, width // 3)),
            ([places[label] for label in self.columns], numbered, least),
        ):
            if room + sum(max(digits, cell_len(visible(name))) + len(_BETWEEN) for name in header) <= width:
                named = self.columns == header or set(self.columns) <= set(self.rows)
                legend = (
                    [] if named else [f"{places[label]} {label}" for label in self.columns if label not in self.rows]
                )
                lines = Table.of([corner, *header], [labels, *numbers]).lines(width)
                return lines + [line for entry in legend for line in wrap_label(entry, width)]
        return []

    def print_on(self, console: Console, room: Room) -> None:
        lines = self.lines(console.width)
        print_lines(console, lines)
        if not lines:
            print_line(console, "too many pairs for a table" + (f": {room.hints.map}" if room.hints.map else ""))

    def markup(self, axis: Axis) -> str:
        return filled("heat_map", part=self, map=_map_view(self))

    def drawing(self, width: float) -> Drawing:
        count = max(self.values.shape)
        side = 0.52 if count <= 8 else 0.42 if count <= MAX_NUMBERS else max(0.16, min(0.3, 8 / count))
        layout = map_layout(self, 96 * (width - 2 * PAD - _BAR), 96 * side, _PICTURE_EM)
        rows, columns = (["\n".join(lines) for lines in labels] for labels in (layout.rows, layout.columns))
        size = 0.75 * layout.font
        left, over, across, down = (one / 96 for one in (layout.left, layout.top, layout.across, layout.down))
        tall, wide = down * len(rows), across * len(columns)
        scale = f"0: nothing. {self.number(self.scale)}: {self.top}. Grey: {self.nothing}."
        sentences = (f"↓ {self.row_name}", f"→ {self.column_name}", scale)
        above = [line for text in sentences for line in wrap_label(text, characters(wide, 9))]

        def paint(axes: Axes) -> None:
            from matplotlib.colors import LinearSegmentedColormap

            colours = LinearSegmentedColormap.from_list("shares", STOPS).with_extremes(bad=OWN)
            values = np.ma.masked_invalid(self.values)
            mesh = axes.pcolormesh(values, cmap=colours, vmin=0, vmax=self.scale, edgecolors=LINE, linewidth=0.5)
            axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0), anchor="NW")
            axes.spines[:].set(visible=True, color="#8a8a8a")
            axes.tick_params(labelsize=size, top=True, bottom=False, labeltop=True, labelbottom=False)
            axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=0 if layout.upright else 90)
            axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
            axes.set_title("\n".join(above), size=9, color=GREY)
            for (y, x), value in np.ndenumerate(self.values):
                if count <= MAX_NUMBERS and np.isfinite(value):
                    number = self.number(float(value))
                    number = number if "%" in number else number.removeprefix("0")
                    axes.text(
                        x + 0.5, y + 0.5, number, size=8, color=text_on(value / self.scale), ha="center", va="center"
                    )
            scale = min(1.0, 2.6 / tall)
            bar = axes.figure.colorbar(mesh, cax=axes.inset_axes((1 + 0.25 / wide, 1 - scale, 0.16 / wide, scale)))
            ticks = np.linspace(0, self.scale, 5).tolist()
            bar.set_ticks(ticks, labels=[self.number(tick) for tick in ticks])
            bar.ax.tick_params(labelsize=8)
            bar.outline.set_visible(False)

        return Drawing(paint, tall, over + LINE_HEIGHT * len(above), 2 * PAD + left + wide + _BAR)


@final
@dataclass(frozen=True)
class MapLayout:
    """Sizes of a heat map in pixels.

    An inch has 96 pixels.

    Attributes
    ----------
    font, line : float
        Height of letters and of lines.
    left, top : float
        Space for the labels of rows and columns.
    across, down : float
        Width and height of a cell.
    rows, columns : list of list of str
        Lines of each label.
    upright : bool
        True if the labels of columns are horizontal.
    """

    font: float
    line: float
    left: float
    top: float
    across: float
    down: float
    rows: list[list[str]]
    columns: list[list[str]]
    upright: bool


def map_layout(chart: HeatMap, column: float, side: float, em: float) -> MapLayout:
    """Return the layout of a map.

    Parameters
    ----------
    chart : HeatMap
        The map.
    column : float
        Width in pixels that labels and cells fill. The map is wider if cells would be smaller than `side`.
    side : float
        Smallest side of a cell in pixels.
    em : float
        Width of a letter in units of its height, an upper estimate.

    Examples
    --------
    >>> import numpy as np
    >>> labels = ("every day, or almost every day of a week", "never")
    >>> chart = HeatMap(labels, ("yes", "no"), "how often", "b", np.eye(2), 1, str, lambda *_: "", "", "")
    >>> layout = map_layout(chart, column=600, side=40, em=0.6)
    >>> layout.rows[0], layout.upright
    (['every day, or almost', 'every day of a week'], True)
    """
    count = max(chart.values.shape)
    font = 13.0 if count <= 8 else 12.0 if count <= MAX_NUMBERS else 11.0
    letter, line = em * font, 1.2 * font
    rows = [balanced_label(label, _LINES[0]) for label in chart.rows]
    left = 2 * _GAP + letter * _longest(rows)
    across = max(side, (column - left) / len(chart.columns))
    room = across - _GAP
    words = max((cell_len(word) for label in chart.columns for word in visible(label).split()), default=0)
    upright = letter * words <= room
    if upright:
        columns = [balanced_label(label, int(room / letter)) for label in chart.columns]
        top = 2 * _GAP + line * max(map(len, columns))
    else:
        for characters in _LINES:
            columns = [balanced_label(label, characters) for label in chart.columns]
            if line * max(map(len, columns)) <= across:
                break
        top = 2 * _GAP + letter * _longest(columns)
    down = max(side, line * max(map(len, rows)) + 6)
    return MapLayout(font, line, left, top, across, down, rows, columns, upright)


def _longest(labels: Sequence[Sequence[str]]) -> int:
    return max(cell_len(line) for lines in labels for line in lines)


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
    """One label: its lines, each with its position."""

    lines: tuple[tuple[float, float, str], ...]


@final
@dataclass(frozen=True)
class _MapView:
    """Heat map in pixels: cells, and labels with their positions."""

    width: float
    height: float
    layout: MapLayout
    cells: tuple[_Cell, ...]
    rows: tuple[_MapLabel, ...]
    columns: tuple[_MapLabel, ...]


def _map_view(chart: HeatMap) -> _MapView:
    """Return a map that is as wide as its column, with labels that are not cut."""
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
