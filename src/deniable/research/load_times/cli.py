"""Command for load times by the true confidence of Navigation Timing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import check_outputs, command, print_result
from deniable.cli._options import AsJson, Confidence, Html, Plot
from deniable.errors import InvalidParameterError, quoted

_VALUE, _RATE = "confidence.value", "confidence.randomizedTriggerRate"


@command("load-times")
def load_times(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A row for each page load: CSV, Parquet or JSON.")],
    outcome: Annotated[
        str, typer.Option("--outcome", metavar="COLUMN", help="Column with the load times.")
    ] = "duration",
    quantiles: Annotated[
        str, typer.Option("--quantiles", metavar="SHARES", help="Shares between 0 and 1, separated by commas.")
    ] = "0.5,0.75,0.95",
    value: Annotated[str, typer.Option("--value", metavar="COLUMN", help='Column with "high" or "low".')] = _VALUE,
    rate: Annotated[str, typer.Option("--rate", metavar="COLUMN", help="Column of randomizedTriggerRate.")] = _RATE,
    plot: Plot = None,
    html: Html = None,
    as_json: AsJson = False,
    confidence: Confidence = 0.95,
) -> None:
    """Print load times by the confidence that browsers hide.

    For analysts of web pages. Browsers randomise the field "confidence" of Navigation Timing. This prints the share of
    loads of truly low confidence, and means and quantiles of a time by true confidence, with intervals.
    """
    from deniable.research.load_times import load_times as read, load_times_page

    check_outputs([file], plot, html)
    try:
        shares = [float(one) for one in quantiles.split(",")]
    except ValueError:
        raise InvalidParameterError(
            f"quantiles must be numbers separated by commas, got quantiles={quoted(quantiles)}"
        ) from None
    found = read(file, outcome, quantiles=shares, confidence=confidence, value=value, rate=rate)
    print_result(found, load_times_page(found), as_json, plot, html)
