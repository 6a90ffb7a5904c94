"""Tables for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from deniable.report.summary import AttributeSummary, Summary
from deniable.report.text import guarantee_lines, shorten, visible

MAX_ROWS = 50
"""Categories of one attribute that a terminal table lists."""

NOTHING_FOUND = "nothing found: no answer stands out from the noise"

_SMALLEST_LABEL = 8


def print_summary(console: Console, summary: Summary) -> None:
    """Print the guarantee, then a table per attribute, then what the intervals cover.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> from deniable.report import summarize
    >>> grr = GRR(k=2, epsilon=1.0)
    >>> aggregate = grr.simulate_aggregate([700, 300], SimulationRandomness(1))
    >>> estimate = grr.estimate(aggregate).named("smokes", ["no", "yes"])
    >>> summary = summarize(estimate, mechanism=grr, n=aggregate.n)
    >>> for line in attribute_lines(summary, summary.attributes[0], width=80):
    ...     print(line)
    smokes
    category  estimate  std. error    95% interval
    ──────────────────────────────────────────────
    no           71.0%        3.0%  65.0% to 76.9%
    yes          29.0%        3.0%  23.1% to 35.0%
    """
    print_guarantee(console, summary)
    if summary.title:
        # Anybody can put a promise into a title: it is quoted, after what is derived.
        print_line(console, f"title: {visible(repr(summary.title))}", style="bold")
    labels = [cell_len(visible(row.categories[i])) for row in summary.attributes for i in _shown(summary, row)]
    for row in summary.attributes:
        console.print()
        for index, line in enumerate(attribute_lines(summary, row, console.width, max(labels, default=0))):
            console.print(Text(line, style="bold" if index == 0 else ""), no_wrap=True, crop=False)
    console.print()
    cut = summary.cut_text(MAX_ROWS)
    for sentence in (
        summary.interval_text,
        summary.selection_text,
        f"{cut} Those of --top do." if cut else "",
        summary.processing_text,
        _coverage(summary),
    ):
        if sentence:
            print_line(console, sentence)


def print_guarantee(console: Console, summary: Summary) -> None:
    """Print what was promised and how many contributors there are."""
    for line in guarantee_lines(summary.guarantee, [row.attribute for row in summary.attributes]):
        print_line(console, line)
    print_line(console, f"n = {summary.n:,} contributors, mechanism {summary.mechanism_text}")


def print_line(console: Console, line: str, style: str = "") -> None:
    """Print one line of text without markup, wrapped at words; an indented line continues indented further."""
    indent = line[: len(line) - len(line.lstrip())]
    further = indent + "    " if indent else ""
    wrapped = textwrap.wrap(line, width=console.width, subsequent_indent=further, break_on_hyphens=False)
    for part in wrapped or [""]:
        console.print(Text(part, style=style), no_wrap=True, crop=False)


def attribute_lines(summary: Summary, row: AttributeSummary, width: int, label_width: int = 0) -> list[str]:
    """Return one attribute's heading and table as lines of at most `width` terminal cells.

    The first column takes at least `label_width` cells if there is room, so that tables below each other line up.
    """
    about = f" ({row.reports:,} reports)" if row.reports != summary.n else ""
    if row.reports == 0:
        return [shorten(row.attribute, width), "no reports: nothing is known about this attribute"]
    if not row.categories:
        return [shorten(row.attribute, width), NOTHING_FOUND]
    heading = shorten(row.attribute, width - len(about)) + about
    shown = _shown(summary, row)
    header = ["category", "estimate", "std. error", f"{summary.level_text} interval"]
    columns = [
        [row.categories[i] for i in shown],
        [summary.percent(row.estimate[i]) for i in shown],
        [summary.percent(row.standard_error[i]) for i in shown],
        _intervals([(summary.percent(row.lower[i]), summary.percent(row.upper[i])) for i in shown]),
    ]
    if row.truth is not None:
        # An asterisk, and an equal space elsewhere, so that the numbers stay aligned.
        header.append("truth ")
        columns.append([summary.percent(row.truth[i]) + (" " if row.covered[i] else "*") for i in shown])
    if row.processed is not None:
        header.append(summary.processing_name)
        columns.append([summary.percent(row.processed[i]) for i in shown])
    lines = [heading, *table_lines(header, columns, width, label_width=label_width)]
    hidden = (row.total or len(row.categories)) - len(shown)
    if hidden and summary.selection != "queries":
        more = "" if row.total else " (--json lists all)"
        lines.append(f"and {hidden:,} categories with smaller estimates{more}")
    return lines


def _shown(summary: Summary, row: AttributeSummary) -> NDArray[np.intp]:
    """Return the positions of the categories that are listed: a selection of the reader's own is not cut again."""
    return row.largest(MAX_ROWS if summary.selection == "all" else len(row.categories))


def table_lines(
    header: Sequence[str], columns: Sequence[Sequence[str]], width: int, *, left: int = 1, label_width: int = 0
) -> list[str]:
    """Return a table as lines; the first `left` columns hold text, the others numbers, which are never cut.

    Labels of the first column are cut, with an ellipsis, to what the other columns leave over.
    """
    gap = "  "
    widths = [
        max(cell_len(visible(cell)) for cell in (name, *cells)) for name, cells in zip(header, columns, strict=True)
    ]
    room = width - sum(widths[1:]) - len(gap) * (len(widths) - 1)
    widths[0] = min(max(widths[0], label_width), max(room, _SMALLEST_LABEL))
    lines = []
    for cells in (header, *zip(*columns, strict=True)):
        padded = []
        for j, (cell, size) in enumerate(zip(cells, widths, strict=True)):
            text = shorten(cell, size)
            space = " " * (size - cell_len(text))
            padded.append(text + space if j < left else space + text)
        lines.append(gap.join(padded).rstrip())
    lines.insert(1, "─" * (sum(widths) + len(gap) * (len(widths) - 1)))
    return lines


def _coverage(summary: Summary) -> str:
    if summary.coverage is None:
        return ""
    hits, total = summary.coverage
    return summary.coverage_text + ("" if hits == total else " An asterisk marks the others.")


def _intervals(bounds: Sequence[tuple[str, str]]) -> list[str]:
    lower, upper = (max(map(len, side)) for side in zip(*bounds, strict=True))
    return ["-" if low == high == "-" else f"{low:>{lower}} to {high:>{upper}}" for low, high in bounds]
