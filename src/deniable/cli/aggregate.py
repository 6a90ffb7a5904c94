"""Commands for collectors: aggregate, merge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import check_output, command, note, progress, writing
from deniable.cli._options import CollectionFile
from deniable.core.aggregate import Aggregate
from deniable.files import aggregate_files, merge_files
from deniable.survey.collection import Collection


@command("aggregate", interrupted="no aggregate was written; the same command goes on after the finished files")
def aggregate(
    survey: CollectionFile,
    reports: Annotated[
        list[Path],
        typer.Argument(metavar="REPORTS...", help="Report files (Parquet or JSON Lines), or folders of them."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the aggregate.")],
    skip_invalid: Annotated[
        bool,
        typer.Option("--skip-invalid", help="Skip reports that no client can have produced, and print how many."),
    ] = False,
) -> None:
    """Add up reports into an aggregate.

    For collectors. The size of the aggregate does not depend on the number of reports.

    Refuses reports from another collection, and refuses to count the same reports or report ids
    twice. Reports received over HTTP are read as JSON Lines, one request body per line. Run an
    interrupted command again to continue after the finished files.
    """
    check_output(output, [survey, *reports])
    collection = Collection.load(survey)
    invalid: list[str] = []

    def skip(path: Path, count: int, reason: str) -> None:
        invalid.append(f"{path}: {count:,} invalid reports are not counted; the first: {reason}")

    with writing(output), progress("aggregating") as report:
        result = aggregate_files(
            collection, reports, output, on_invalid=skip if skip_invalid else None, progress=report
        )
    for message in invalid:
        note(f"warning: {message}")
    _note_size(result)


@command("merge")
def merge(
    aggregates: Annotated[
        list[Path], typer.Argument(metavar="AGGREGATES...", help="Aggregates of the same collection.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the sum; may be one of the inputs.")],
) -> None:
    """Add up aggregates of the same collection.

    For collectors. The order does not matter. Refuses to count the same reports twice.
    """
    check_output(output)
    with writing(output):
        result = merge_files(aggregates, output)
    _note_size(result)


def _note_size(result: Aggregate) -> None:
    batches = len(result.batches)
    note(f"{result.n:,} reports in {batches:,} batch{'es' * (batches != 1)}")
