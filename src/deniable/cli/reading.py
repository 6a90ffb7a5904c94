"""What analysts do: estimate, and show it."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from deniable.aggregate import Aggregate
from deniable.cli._app import check_output, console, note, progress, verb, writing
from deniable.cli.collecting import CollectionFile
from deniable.collection import Collection
from deniable.errors import InvalidParameterError
from deniable.io import read_truth
from deniable.postprocess import POSTPROCESSORS
from deniable.report import print_summary, save_html, save_png, summarize


class TargetName(StrEnum):
    """What intervals cover, as the command line spells it."""

    contributors = "contributors"
    population = "population"


@verb("estimate")
def estimate(
    survey: CollectionFile,
    aggregate: Annotated[Path, typer.Argument(metavar="AGGREGATE", help="The aggregate of its reports.")],
    plot: Annotated[Path | None, typer.Option("--plot", help="Also draw a picture (PNG).")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Also write a self-contained HTML page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in full precision instead of tables.")] = False,
    postprocess: Annotated[
        str | None,
        typer.Option(
            "--postprocess",
            metavar="NAME",
            help=f"Add a column of consistent frequencies, without intervals: {', '.join(POSTPROCESSORS)}.",
        ),
    ] = None,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="True answers to compare with, for rehearsals: CSV or Parquet.")
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Coverage of the intervals, in (0, 1).")] = 0.95,
    target: Annotated[
        TargetName,
        typer.Option(
            "--target", help="What intervals cover: these contributors (noise), or the population they are a sample of."
        ),
    ] = TargetName.contributors,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Widen the intervals so that all of them hold together.")
    ] = False,
) -> None:
    """Print frequencies with standard errors and intervals.

    For analysts. Estimates are raw and unbiased; they may be negative. The guarantee is printed first.
    """
    if postprocess is not None and postprocess not in POSTPROCESSORS:
        raise InvalidParameterError(
            f"postprocess must be one of {', '.join(POSTPROCESSORS)}, got postprocess={postprocess!r}"
        )
    inputs = [survey, aggregate, *([truth] if truth else [])]
    for output in filter(None, (plot, html)):
        check_output(output, inputs)
    collection = Collection.load(survey)
    reports = Aggregate.load(aggregate)
    estimates = collection.estimate(reports)
    if postprocess is not None:
        estimates = POSTPROCESSORS[postprocess](estimates)
    counts = None
    if truth is not None:
        with progress("reading the truth", quiet=as_json) as report:
            counts = read_truth(collection, truth, progress=report)
    summary = summarize(
        estimates,
        mechanism=collection.mechanism,
        n=reports.n,
        title=collection.title,
        confidence=confidence,
        target=target.value,
        simultaneous=simultaneous,
        truth=counts,
        collection=collection.id,
    )
    if summary.truth_n is not None and summary.truth_n != summary.n:
        note(f"warning: the truth is about {summary.truth_n:,} records, the reports about {summary.n:,} contributors")
    if plot is not None:
        with writing(plot):
            save_png(summary, plot)
    if html is not None:
        with writing(html):
            save_html(summary, html)
    if as_json:
        typer.echo(json.dumps(summary.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print_summary(console(), summary)
