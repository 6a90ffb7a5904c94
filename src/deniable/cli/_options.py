"""Options and arguments that several commands share, and functions that parse their values."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from deniable.errors import InvalidParameterError, quoted

CollectionFile = Annotated[Path, typer.Argument(metavar="COLLECTION", help="Collection file (survey.json).")]


class TargetName(StrEnum):
    """Target of intervals, with the spelling of the command line."""

    contributors = "contributors"
    population = "population"


AggregateFile = Annotated[
    Path, typer.Argument(metavar="AGGREGATE", help="Aggregate file made from the collection's reports.")
]
Delimiter = Annotated[str | None, typer.Option("--delimiter", metavar="C", help="CSV delimiter; default: detected.")]


class DecimalName(StrEnum):
    """Decimal mark, with the spelling of the command line."""

    point = "point"
    comma = "comma"


Decimal = Annotated[
    DecimalName | None,
    typer.Option("--decimal", help="Mark before the fraction of numbers; default: detected in each column."),
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Also save a chart (PNG).")]
Html = Annotated[Path | None, typer.Option("--html", help="Also write a self-contained HTML page.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON in full precision instead of tables.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print the whole privacy guarantee, not one line of it.")]
Confidence = Annotated[float, typer.Option("--confidence", help="Confidence level of the intervals, between 0 and 1.")]
Target = Annotated[
    TargetName,
    typer.Option(
        "--target",
        help=(
            "Scope of the intervals: these contributors (noise only), or the population "
            "they were sampled from (noise and sampling)."
        ),
    ),
]
Simultaneous = Annotated[
    bool, typer.Option("--simultaneous", help="Widen the intervals so that they all hold at the same time.")
]


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names in a text such as "a, b,c"."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise InvalidParameterError(
            f"attributes must be different names separated by commas, got attributes={quoted(text)}"
        )
    return names
