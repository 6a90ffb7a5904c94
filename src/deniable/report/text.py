"""Pages for a terminal, in which no line is wider than the terminal and no column is lost."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as Styled

from deniable.report.page import NO_HINTS, Card, Hints, Page, Room, visible

MAX_ROWS = 50
"""Rows of one chart that a terminal lists."""


def print_page(
    console: Console, page: Page, most: int = MAX_ROWS, hints: Hints = NO_HINTS, *, verbose: bool = False
) -> None:
    """Print a page: title, numbers, notes and promises, with a limit on the rows of a chart.

    Each promise is shortened to one line, or printed in full if `verbose` is True.

    Examples
    --------
    >>> from deniable.report.page import Section
    >>> from deniable.report.parts.table import Table
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
    widths = [part.label_width(most) for section in page.sections for part in section.parts]
    room = Room(max(widths, default=0), most, hints)
    for section in page.sections:
        console.print()
        print_line(console, section.heading, style="bold")
        for part in section.parts:
            part.print_on(console, room)
    notes = [*page.method, *page.all_notes(most, spaced=True)]
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
