"""Functions that commands for estimates share."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import typer

from deniable.answers import Summary
from deniable.cli._app import note, save_page, show_page
from deniable.errors import InvalidParameterError, quoted
from deniable.report import estimate_page
from deniable.report.text import MAX_ROWS
from deniable.survey.dictionary_file import read_lines


def parse_queries(text: str) -> tuple[str, ...]:
    """Return the lines of a file if the text names one, or else the words between its commas."""
    words = read_lines(text) if Path(text).is_file() else tuple(text.split(","))
    repeated = next((word for word, times in Counter(words).items() if times > 1), None)
    if repeated is not None or not all(words):
        got = "an empty word" if repeated is None else f"{quoted(repeated)} twice"
        raise InvalidParameterError(f"queries must be different words separated by commas, got {got} in {quoted(text)}")
    return words


def show(
    summary: Summary,
    plot: Path | None,
    html: Path | None,
    as_json: bool,
    folded: Collection[str] = (),
    most: int = MAX_ROWS,
    *,
    verbose: bool = False,
) -> None:
    """Write the requested picture and page, and print the summary.

    Tables of `folded` attributes are folded. At most `most` rows are printed for other tables.
    """
    if summary.truth_n is not None and summary.truth_n != summary.n:
        note(f"warning: the truth is about {summary.truth_n:,} records, the reports about {summary.n:,} contributors")
    page = estimate_page(summary, folded=folded)
    save_page(page, plot, html)
    if as_json:
        sys.stdout.writelines(summary.json_parts())
        typer.echo()
    else:
        show_page(page, most=most, verbose=verbose)
