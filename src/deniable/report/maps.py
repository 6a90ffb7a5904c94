"""Layout of a heat map that fills its column: whole labels, in lines that fit beside and above its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from rich.cells import cell_len

from deniable.report.colours import MAX_NUMBERS
from deniable.report.page import LONGEST_LABEL, HeatMap, balanced_label, visible

_LINES = (30, 45, 60, 90, LONGEST_LABEL)
"""Characters of one line of a label, the first that fits."""

_GAP = 8.0  # pixels between a label and its cells


@final
@dataclass(frozen=True)
class MapLayout:
    """Sizes of a heat map in pixels, of which an inch has 96.

    Attributes
    ----------
    font, line : float
        Height of letters and of lines.
    left, top : float
        Room for the labels of rows and columns.
    across, down : float
        Width and height of a cell.
    rows, columns : list of list of str
        Lines of each label.
    upright : bool
        Labels of columns are read without turning the head.
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
        Pixels that labels and cells fill, or more where cells would be smaller than `side`.
    side : float
        Smallest side of a cell in pixels.
    em : float
        Width of a letter, on the safe side, in units of its height.

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
