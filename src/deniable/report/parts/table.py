"""Table: columns of text, of which the first names the row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from rich.cells import cell_len
from rich.console import Console

from deniable.report.colours import INK
from deniable.report.html import filled
from deniable.report.page import Axis, Drawing, Part, Room, visible, wrap_label
from deniable.report.png import PAD, characters, words
from deniable.report.text import print_lines

SMALLEST_LABEL = 12
"""Least number of terminal cells of a label."""

_GAP = "  "
_INDENT = "  "


@final
@dataclass(frozen=True, eq=False)
class Table(Part):
    """Columns of text.

    The first column names the row. The other columns are numbers, which are never cut.

    Parameters
    ----------
    header : tuple of str
        Name of every column.
    rows : int
        Number of rows.
    cells : callable
        Function from the number of a row to its texts, so that only texts of the rows that are shown are made.
    """

    header: tuple[str, ...]
    rows: int
    cells: Callable[[int], Sequence[str]]
    is_narrow = False

    @classmethod
    def of(cls, header: Sequence[str], columns: Sequence[Sequence[str]]) -> Table:
        """Return a table made from finished columns."""
        rows = list(zip(*columns, strict=True))
        return cls(tuple(header), len(rows), rows.__getitem__)

    def lines(self, width: int, *, rows: Sequence[int] | None = None, label_width: int = 0) -> list[str]:
        """Return the table as lines.

        Columns that do not fit follow below the others, with the labels again.

        A label that is too long for the space beside the numbers continues on further lines, which are indented. Labels
        take at least `label_width` cells if there is space, so that tables below each other are aligned.
        """
        cells = [[visible(cell) for cell in self.cells(i)] for i in (range(self.rows) if rows is None else rows)]
        columns = [list(column) for column in zip([visible(name) for name in self.header], *cells, strict=True)]
        widths = [max(map(cell_len, column)) for column in columns]
        lines: list[str] = []
        for group in _groups(widths, width):
            used = sum(widths[j] + len(_GAP) for j in group)
            label = min(max(widths[0], label_width), max(width - used, SMALLEST_LABEL))
            block = []
            for i in range(len(cells) + 1):
                fits = cell_len(columns[0][i]) <= label
                begin, *rest = wrap_label(columns[0][i], label if fits else label - len(_INDENT))
                texts = [begin, *(columns[j][i] for j in group)]
                spaces = [
                    " " * (size - cell_len(text))
                    for size, text in zip([label, *(widths[j] for j in group)], texts, strict=True)
                ]
                first, *others = zip(texts, spaces, strict=True)
                block.append(_GAP.join(["".join(first), *(space + text for text, space in others)]).rstrip())
                block += [_INDENT + line for line in rest]
                if not i:
                    block.append("─" * (label + used))
            lines += [*([""] if lines else []), *block]
        return lines

    def print_on(self, console: Console, room: Room) -> None:
        print_lines(console, self.lines(console.width))

    def markup(self, axis: Axis) -> str:
        return filled("table", table=self)

    def drawing(self, width: float) -> Drawing:
        from matplotlib import rcParams

        family = ["DejaVu Sans Mono", *rcParams["font.family"]]
        lines = self.lines(characters(width - 2 * PAD, 9.5))
        return words(lines, width, size=8.5, wrap=False, family=family, color=INK)


def _groups(widths: Sequence[int], width: int) -> Iterator[list[int]]:
    """Yield groups of column numbers.

    The columns of one group fit beside the labels.
    """
    least = min(widths[0], SMALLEST_LABEL)
    group: list[int] = []
    for j in range(1, len(widths)):
        if group and least + sum(widths[i] + len(_GAP) for i in (*group, j)) > width:
            yield group
            group = []
        group.append(j)
    yield group
