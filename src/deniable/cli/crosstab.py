"""Command that prints how two answers are related."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.answers import crosstabs
from deniable.answers.crosstab_summary import summarize_crosstab
from deniable.cli._app import check_outputs, command, print_result, writing
from deniable.cli._options import AggregateFile, AsJson, CollectionFile, Confidence, Html, Target, TargetName, Verbose
from deniable.core.aggregate import Aggregate
from deniable.core.outputs import write_text
from deniable.report import crosstab_page
from deniable.survey.collection import Collection


@command("crosstab")
def crosstab(
    survey: CollectionFile,
    aggregate: AggregateFile,
    rows: Annotated[str, typer.Argument(metavar="A", help="Attribute whose categories are the groups, or its title.")],
    columns: Annotated[str, typer.Argument(metavar="B", help="Attribute whose shares are compared, or its title.")],
    plot: Annotated[Path | None, typer.Option("--plot", "--png", help="Also save a chart (PNG).")] = None,
    html: Html = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Also write all numbers as CSV.")] = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
    confidence: Confidence = 0.95,
    target: Target = TargetName.contributors,
) -> None:
    """Print how two answers are related.

    For analysts, with a collection that uses PairSample or SPL pairs. Prints a test of
    independence that says when it cannot tell, a table with intervals, the shares of B within
    each group of A, the decoded table, and the privacy guarantee in one line.
    """
    check_outputs([survey, aggregate], plot, html, csv)
    collection = Collection.load(survey)
    table = crosstabs(collection, Aggregate.load(aggregate))[rows, columns]
    summary = summarize_crosstab(
        table,
        collection.privacy(),
        title=collection.title,
        collection=collection.id,
        confidence=confidence,
        target=target.value,
    )
    if csv is not None:
        with writing(csv):
            write_text(csv, summary.csv())
    print_result(summary, crosstab_page(summary), as_json, plot, html, verbose=verbose)
