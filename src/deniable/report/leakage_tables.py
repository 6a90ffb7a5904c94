"""Leakage for a terminal of 80 columns: who leaks about whom, in numbers and in words, and totals."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from deniable.leakage.total import ADDITIVE_LABEL
from deniable.report.leakage_summary import LeakageSummary
from deniable.report.tables import print_line, table_lines
from deniable.report.text import guarantee_lines, shorten, visible

MAX_SOURCES = 50
"""Released attributes that the table about one target lists."""

_LABEL, _SHORTEST_LABEL = 20, 8


def print_leakage(console: Console, summary: LeakageSummary) -> None:
    """Print what the figures are relative to, the matrix or its strongest pairs, and the totals.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable.report.leakage_from_records import summarize_leakage
    >>> from deniable.schema import Attribute, Schema
    >>> schema = Schema((Attribute("bald", ("no", "yes")), Attribute("male", ("no", "yes"))))
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [500, 400, 10, 90], axis=0)
    >>> summary = summarize_leakage(records, schema, 1.0, source="faces.csv", release="by GRR with epsilon = 1")
    >>> for line in [*matrix_lines(summary, 80), *total_lines(summary, 80)]:
    ...     print(line)
    about ↓  bald  male
    ───────────────────
    bald        -  0.51
    male     0.24     -
    about   own  total  additive figure (not a bound)
    ─────────────────────────────────────────────────
    bald   1.00   1.51                           1.51
    male   1.00   1.24                           1.24
    """
    print_line(console, visible(summary.heading), style="bold")
    for line in _guarantee(summary):
        print_line(console, line)
    for sentence in (summary.release_text, summary.prior_text, summary.unit_text):
        print_line(console, visible(sentence))
    if summary.target is not None:
        _print_section(console, summary.alone_text, source_lines(summary, console.width))
    elif matrix := matrix_lines(summary, console.width):
        _print_section(console, f"{summary.alone_text}: rows are about whom, columns from whom", matrix)
    else:
        _print_section(console, f"{summary.alone_text}: too many pairs for a table", [])
        print_line(console, "--plot and --html draw them all, --json lists them all.")
    _print_section(console, "Strongest pairs", [])
    for pair in summary.spoken:
        print_line(console, f"  {visible(summary.pair_text(pair))}")
    if not summary.pairs:
        print_line(console, "  no attribute says anything about another one")
    _print_section(console, summary.together_text, total_lines(summary, console.width))
    for sentence in (summary.any_prior_text, *summary.remarks):
        print_line(console, sentence)
    for kind, sentences in (("warning", summary.warnings), ("note", summary.notes)):
        for sentence in sentences:
            print_line(console, f"{kind}: {visible(sentence)}")


def matrix_lines(summary: LeakageSummary, width: int) -> list[str]:
    """Return the matrix as lines of at most `width` terminal cells; none if it is too wide.

    Columns are named, or numbered like the rows where names do not fit.
    """
    rows, columns = summary.about, summary.columns
    cells = [["-" if i == j else summary.number(summary.matrix[i, j]) for i in rows] for j in columns]
    names = [visible(name) for name in summary.names]
    digits = max(len(cell) for column in cells for cell in column)
    used = sum(max(digits, cell_len(names[j])) + 2 for j in columns)
    labels, header = [names[i] for i in rows], ["about ↓", *(names[j] for j in columns)]
    if used + max(map(cell_len, (*labels, header[0]))) > width:
        used = sum(max(digits, len(str(j + 1))) + 2 for j in columns)
        if used + _SHORTEST_LABEL + len(str(len(names))) > width:
            return []
        labels = [f"{i + 1} {names[i]}" for i in rows]
        header = ["about ↓", *(str(j + 1) for j in columns)]
    return table_lines(header, [labels, *cells], width)


def source_lines(summary: LeakageSummary, width: int) -> list[str]:
    """Return what every released attribute alone says about the target, strongest first."""
    (i,) = summary.about
    sources = summary.sources(i)
    shown = sources[:MAX_SOURCES]
    columns = [
        [summary.names[j] for j in shown],
        [summary.number(summary.matrix[i, j]) for j in shown],
        [summary.number(summary.direct[j]) for j in shown],
    ]
    lines = table_lines(["released", f"about {shorten(summary.names[i], _LABEL)}", "of possible"], columns, width)
    hidden = len(sources) - len(shown)
    return [*lines, f"and {hidden:,} that reveal less (--json lists all)"] if hidden else lines


def total_lines(summary: LeakageSummary, width: int) -> list[str]:
    """Return totals, bounds and, under its own name, the additive figure."""
    about = summary.about
    header = ["about", "own", summary.total_name]
    columns = [
        [summary.names[i] for i in about],
        [summary.number(summary.direct[i]) for i in about],
        [summary.number(summary.totals[i].epsilon) for i in about],
    ]
    if summary.tree:
        header.append("tree (assumed)")
        columns.append([summary.number(summary.tree[i].epsilon) for i in about])
    if summary.additive_figure_not_a_bound is not None:
        header.append(ADDITIVE_LABEL)
        columns.append([summary.number(summary.additive_figure_not_a_bound[i]) for i in about])
    return table_lines(header, columns, width)


def _guarantee(summary: LeakageSummary) -> list[str]:
    """Return what was promised, without the rows about this prior: they are the totals below."""
    return [] if summary.promise is None else guarantee_lines(summary.promise, summary.names)


def _print_section(console: Console, heading: str, lines: list[str]) -> None:
    console.print()
    print_line(console, heading, style="bold")
    for line in lines:
        console.print(Text(line), no_wrap=True, crop=False)
