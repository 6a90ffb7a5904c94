"""Command that finds frequent strings of open text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from deniable.answers import summarize
from deniable.cli._app import check_outputs, check_unused, command, progress
from deniable.cli._estimates import parse_queries, show
from deniable.cli._options import (
    AggregateFile,
    AsJson,
    CollectionFile,
    Confidence,
    Delimiter,
    Html,
    Plot,
    Target,
    TargetName,
    Verbose,
)
from deniable.core.aggregate import Aggregate
from deniable.errors import InvalidParameterError
from deniable.files import count_texts
from deniable.survey.collection import Collection

MAX_CANDIDATES = 10_000
"""Most prefixes that are kept per length. Each is extended by 256 bytes, so at most 256 times as many are tried."""


@command("heavy-hitters")
def heavy_hitters(
    context: typer.Context,
    survey: CollectionFile,
    aggregate: AggregateFile,
    top: Annotated[
        int, typer.Option("--top", help="Maximum number of strings to list, most frequent first.", min=1)
    ] = 50,
    threshold: Annotated[
        float, typer.Option("--threshold", help="Standard errors by which a prefix must stand out, at every length.")
    ] = 4.0,
    queries: Annotated[
        str | None,
        typer.Option(
            "--queries",
            metavar="FILE|A,B,...",
            help="Strings to count instead of searching: a file, or words separated by commas.",
        ),
    ] = None,
    plot: Plot = None,
    html: Html = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="True answers to compare with, for rehearsals (CSV or Parquet).")
    ] = None,
    delimiter: Delimiter = None,
    confidence: Confidence = 0.95,
    target: Target = TargetName.contributors,
) -> None:
    """Find frequent strings that were not listed in advance.

    For analysts. Prints the privacy guarantee, then the strings that stand out, with estimates and
    with intervals that allow for the search.
    """
    if queries is not None:
        check_unused(context, "with --queries", {"top", "threshold"})
    if truth is None:
        check_unused(context, "without --truth", {"delimiter"})
    check_outputs([survey, aggregate, *filter(None, [truth])], plot, html)
    collection = Collection.load(survey)
    if not collection.schema.is_text:
        raise InvalidParameterError(f"{survey} asks for listed categories: use `deniable estimate --top {top}`")
    options: dict[str, Any] = {"threshold": threshold, "max_candidates": MAX_CANDIDATES}
    if queries is not None:
        options = {"queries": parse_queries(queries)}
    reports = Aggregate.load(aggregate)
    (estimate,) = collection.estimate(reports, **options).values()
    counts, n = None, 0
    if truth is not None:
        with progress("reading the truth", quiet=as_json) as report:
            held = count_texts(collection, truth, progress=report, delimiter=delimiter)
        counts = {estimate.attribute: np.array([held[label] for label in estimate.labels], dtype=np.int64)}
        n = held.total()
    summary = summarize(
        estimate,
        mechanism=collection.mechanism,
        n=reports.n,
        title=collection.title,
        confidence=confidence,
        target=target.value,
        truth=counts,
        truth_n=n,
        collection=collection.id,
        top=None if queries is not None else top,
    )
    show(summary, plot, html, as_json, verbose=verbose)
