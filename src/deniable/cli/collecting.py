"""What contributors and collectors do: randomize, aggregate, merge."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import check_output, note, progress, verb, writing
from deniable.cli.inspecting import print_guarantee, warn
from deniable.core.aggregate import Aggregate
from deniable.core.privacy import bound_text
from deniable.core.randomness import SecureRandomness
from deniable.errors import InvalidInputError
from deniable.files import aggregate_files, merge_files, randomize_file
from deniable.survey.collection import Collection
from deniable.survey.inspection import inspect_collection

CollectionFile = Annotated[Path, typer.Argument(metavar="COLLECTION", help="The collection, survey.json.")]


@verb("randomize", interrupted="nothing was written, so nobody has spent epsilon")
def randomize(
    survey: CollectionFile,
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="True answers: CSV or Parquet, a row each.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the reports (Parquet).")],
    again: Annotated[
        bool,
        typer.Option("--again", help="Randomise answers that already were; their contributors spend epsilon again."),
    ] = False,
    shares: Annotated[
        Path | None,
        typer.Option("--shares", help="Shares from the dealer, a file or a directory; row i takes the i-th."),
    ] = None,
    max_epsilon: Annotated[
        str | None, typer.Option("--max-epsilon", help="Refuse if the whole contributor's epsilon is larger.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", metavar="C", help="What divides the cells of CSV, if it is not found.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file of reports.")] = False,
) -> None:
    """Turn true answers into randomised reports.

    What every contributor's own device would do, in bulk, with randomness from the operating
    system. The reports carry the id of the collection. An interrupted run writes nothing.

    Mechanisms with a dealer need a share for each row (deniable deal), which is used once.
    """
    check_output(output, [survey, answers], keep="its reports have spent their contributors' epsilon", force=force)
    collection = Collection.load(survey)
    # The guarantee is shown, then checked (max_epsilon); only then are answers read and coins drawn.
    found = inspect_collection(collection)
    print_guarantee(found)
    warn(found)
    with _places_for_answers(collection), writing(output), progress("randomizing") as report:
        result = randomize_file(
            collection,
            answers,
            output,
            SecureRandomness(),
            again=again,
            shares=shares,
            max_epsilon=max_epsilon,
            delimiter=delimiter,
            progress=report,
        )
    for warning in result.warnings:
        note(f"warning: {warning}")
    epsilon = collection.privacy().epsilon
    spent = (
        f"epsilon = {bound_text(epsilon)}"
        if math.isfinite(epsilon)
        else "an epsilon that depends on who colludes: see the guarantee"
    )
    note(f"{result.n:,} contributors have each spent {spent}")


@contextlib.contextmanager
def _places_for_answers(collection: Collection) -> Iterator[None]:
    """Say how a collection that was made from a dictionary, without a schema, gets a place for an answer."""
    try:
        yield
    except InvalidInputError as error:
        if collection.schema.attributes[0].dictionary is None:
            raise
        message = str(error).replace(
            'declare a category "missing" in the schema to accept it',
            "deniable collection --missing WORD gives it a place",
        )
        message = message.replace(
            'declare "other" in the schema to accept unknown answers',
            "deniable collection --other WORD gives it a place",
        )
        raise type(error)(message) from None


@verb("aggregate", interrupted="no aggregate was written; the same command goes on after the finished files")
def aggregate(
    survey: CollectionFile,
    reports: Annotated[
        list[Path], typer.Argument(metavar="REPORTS...", help="Files of reports (Parquet, JSON Lines), or folders.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the aggregate.")],
    skip_invalid: Annotated[
        bool,
        typer.Option("--skip-invalid", help="Set aside reports that no client can have produced, and say how many."),
    ] = False,
) -> None:
    """Add up reports.

    For collectors. The result's size does not depend on the number of reports.

    Reports of another collection, and the same reports or ids twice, are refused. Posted reports
    are read as JSON Lines, a line being one body. An interrupted run goes on
    after the finished files when it is started again.
    """
    check_output(output, [survey, *reports])
    collection = Collection.load(survey)
    invalid: list[str] = []

    def set_aside(path: Path, count: int, reason: str) -> None:
        invalid.append(f"{path}: {count:,} invalid reports are not counted; the first: {reason}")

    with writing(output), progress("aggregating") as report:
        result = aggregate_files(
            collection, reports, output, on_invalid=set_aside if skip_invalid else None, progress=report
        )
    for message in invalid:
        note(f"warning: {message}")
    _note_size(result)


@verb("merge")
def merge(
    aggregates: Annotated[list[Path], typer.Argument(metavar="AGGREGATES...", help="Aggregates of one collection.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the sum; may be one of the inputs.")],
) -> None:
    """Add up aggregates of one collection.

    For collectors. The order does not matter; the same reports twice are refused.
    """
    check_output(output)
    with writing(output):
        result = merge_files(aggregates, output)
    _note_size(result)


def _note_size(result: Aggregate) -> None:
    batches = len(result.batches)
    note(f"{result.n:,} reports in {batches:,} batch{'es' * (batches != 1)}")
