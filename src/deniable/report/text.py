"""Pages for a terminal: no line is longer than it is wide, and no column is lost."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as Styled

from deniable.report.page import (
    Card,
    CoefficientChart,
    HeatMap,
    IntervalChart,
    Page,
    Part,
    Table,
    Text,
    visible,
    wrap_label,
)

MAX_ROWS = 50
"""Rows of one chart that a terminal lists."""

FOLDED_ROWS = 8
"""Rows of a folded chart that a terminal lists."""

_GAP = "  "
_SMALLEST_LABEL = 12
_INDENT = "  "


class Hints(NamedTuple):
    """Hints how to see what a terminal has no room for, in the words of the caller; none by default.

    Attributes
    ----------
    folded, rows, map, promise : str
        Where a folded chart, other rows, a matrix that is too wide, and the whole guarantee are shown in full.
    """

    folded: str = ""
    rows: str = ""
    map: str = ""
    promise: str = ""


NO_HINTS = Hints()


def print_page(
    console: Console, page: Page, most: int = MAX_ROWS, hints: Hints = NO_HINTS, *, verbose: bool = False
) -> None:
    """Print a page: its title, the numbers, how to read them, what was promised; at most so many rows of a chart.

    What was promised takes one line, or all its lines if `verbose`.

    Examples
    --------
    >>> from deniable.report.page import Section
    >>> budgets = Table.of(["attribute", "epsilon"], [["bald", "male"], ["1.25", "0.5"]])
    >>> print_page(Console(width=40), Page("Budgets", (), (Section("By attribute", (budgets,)),), ("Read on.",)))
    Budgets
    <BLANKLINE>
    By attribute
    attribute  epsilon
    ──────────────────
    bald          1.25
    male           0.5
    <BLANKLINE>
    Read on.
    """
    _print_cards(console, page.marks)
    print_line(console, page.title, style="bold")
    for line in page.introduction:
        print_line(console, line)
    _print_cards(console, page.remarks)
    widths = [
        cell_len(visible(chart.table.cells(i)[0]))
        for section in page.sections
        for chart in section.charts
        for i in _shown(chart, most)
    ]
    room = _Room(max(widths, default=0), most, hints)
    for section in page.sections:
        console.print()
        print_line(console, section.heading, style="bold")
        for part in section.parts:
            RENDERERS[type(part)](console, part, room)
    notes = [*page.method, *page.all_notes(most)]
    if notes:
        console.print()
    for line in notes:
        print_line(console, line)
    if page.promises:
        console.print()
    more = f" ({hints.promise})" if hints.promise else ""
    for brief in dict.fromkeys(card.brief for card in page.promises) if not verbose else ():
        # A hint that would take a line of its own is left out.
        print_line(console, brief + more if cell_len(brief + more) <= console.width else brief)
    _print_cards(console, page.promises if verbose else ())


def _print_cards(console: Console, cards: Sequence[Card]) -> None:
    for card in cards:
        print_line(console, f"WARNING: {card.headline}" if card.warning else card.headline, style="bold")
        for line in card.lines:
            print_line(console, f"  {line}")


def print_line(console: Console, line: str, style: str = "") -> None:
    """Print one line of text without markup, wrapped at words; an indented line continues indented further."""
    line = visible(line)
    indent = line[: len(line) - len(line.lstrip())]
    further = indent + "    " if indent else ""
    wrapped = textwrap.wrap(line, width=console.width, subsequent_indent=further, break_on_hyphens=False)
    for part in wrapped or [""]:
        console.print(Styled(part, style=style), no_wrap=True, crop=False)


def print_lines(console: Console, lines: Sequence[str]) -> None:
    """Print the lines of a table as they are."""
    for line in lines:
        console.print(Styled(line), no_wrap=True, crop=False)


class _Room(NamedTuple):
    """Context for renderers: the width that labels share, the most rows of a chart, and the hints."""

    label_width: int
    most: int
    hints: Hints


def _print_text(console: Console, part: Text, _: _Room) -> None:
    for line in part.lines:
        print_line(console, f"  {line}" if part.items else line)


def _print_table(console: Console, part: Table, _: _Room) -> None:
    print_lines(console, table_lines(part, console.width))


def _print_chart(console: Console, part: IntervalChart, room: _Room) -> None:
    print_lines(console, chart_lines(part, console.width, *room))


def _print_map(console: Console, part: HeatMap, room: _Room) -> None:
    lines = map_lines(part, console.width)
    print_lines(console, lines)
    if not lines:
        print_line(console, "too many pairs for a table" + (f": {room.hints.map}" if room.hints.map else ""))


def _print_coefficients(console: Console, part: CoefficientChart, _: _Room) -> None:
    print_lines(console, table_lines(part.table, console.width))


RENDERERS: dict[type[Part], Callable[[Console, Any, _Room], None]] = {
    CoefficientChart: _print_coefficients,
    Text: _print_text,
    Table: _print_table,
    IntervalChart: _print_chart,
    HeatMap: _print_map,
}
"""Printers of each kind of part."""


def chart_lines(
    chart: IntervalChart, width: int, label_width: int = 0, most: int = MAX_ROWS, hints: Hints = NO_HINTS
) -> list[str]:
    """Return a chart's table and how many rows it leaves out, as lines of at most `width` terminal cells."""
    shown = _shown(chart, most)
    cut = chart.table.rows - len(shown)
    lines = wrap_label(chart.caption, width) if chart.caption else []
    lines += table_lines(chart.table, width, rows=shown, label_width=label_width)
    if chart.fold and cut:
        lines.append(f"these are {len(shown)} of {chart.fold}" + (f" ({hints.folded})" if hints.folded else ""))
    elif cut + chart.hidden:
        lines.append(f"and {cut + chart.hidden:,} {chart.rest}" + (f" ({hints.rows})" if cut and hints.rows else ""))
    return lines


def table_lines(table: Table, width: int, *, rows: Sequence[int] | None = None, label_width: int = 0) -> list[str]:
    """Return a table as lines; columns that do not fit beside the others follow below, with the labels again.

    Labels continue on further lines, indented, where the numbers leave too little room for one; they take at least
    `label_width` cells if there is room, so that tables below each other line up.
    """
    cells = [[visible(cell) for cell in table.cells(i)] for i in (range(table.rows) if rows is None else rows)]
    columns = [list(column) for column in zip([visible(name) for name in table.header], *cells, strict=True)]
    widths = [max(map(cell_len, column)) for column in columns]
    lines: list[str] = []
    for group in _groups(widths, width):
        used = sum(widths[j] + len(_GAP) for j in group)
        label = min(max(widths[0], label_width), max(width - used, _SMALLEST_LABEL))
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


def _groups(widths: Sequence[int], width: int) -> Iterator[list[int]]:
    """Yield the numbers of the columns that fit beside the labels, group after group."""
    least = min(widths[0], _SMALLEST_LABEL)
    group: list[int] = []
    for j in range(1, len(widths)):
        if group and least + sum(widths[i] + len(_GAP) for i in (*group, j)) > width:
            yield group
            group = []
        group.append(j)
    yield group


def map_lines(chart: HeatMap, width: int) -> list[str]:
    """Return the matrix as lines; none if it is too wide.

    Columns are named, or numbered like the rows where names do not fit; what is not a row is then named below.
    """
    numbers = [["-" if math.isnan(one) else chart.number(one) for one in column] for column in chart.values.T.tolist()]
    digits = max(len(cell) for column in numbers for cell in column)
    places = {label: str(i) for i, label in enumerate(dict.fromkeys([*chart.rows, *chart.columns]), start=1)}
    corner = f"{chart.row_name} ↓"
    numbered = [f"{places[label]} {label}" for label in chart.rows]
    least = _SMALLEST_LABEL + len(str(len(places)))
    longest = max(cell_len(visible(label)) for label in (*chart.rows, corner))
    for header, labels, room in (
        (chart.columns, chart.rows, min(longest, width // 3)),
        ([places[label] for label in chart.columns], numbered, least),
    ):
        if room + sum(max(digits, cell_len(visible(name))) + len(_GAP) for name in header) <= width:
            named = chart.columns == header or set(chart.columns) <= set(chart.rows)
            legend = [] if named else [f"{places[label]} {label}" for label in chart.columns if label not in chart.rows]
            lines = table_lines(Table.of([corner, *header], [labels, *numbers]), width)
            return lines + [line for entry in legend for line in wrap_label(entry, width)]
    return []


def _shown(chart: IntervalChart, most: int) -> list[int]:
    """Return the rows that are listed: of a folded chart some from its beginning to its end, chosen by no number."""
    if not chart.fold:
        return chart.shown(most)
    return list(range(0, chart.table.rows, -(-chart.table.rows // FOLDED_ROWS)))
