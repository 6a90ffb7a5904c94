"""Command that randomises answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import check_output, command, note, progress, writing
from deniable.cli._collections import note_total, print_guarantee, print_spent, spent_text, warn
from deniable.cli._options import CollectionFile, Decimal, Delimiter
from deniable.core.randomness import SecureRandomness
from deniable.errors import InvalidInputError
from deniable.files import randomize_file
from deniable.survey.collection import Collection
from deniable.survey.inspection import inspect_collection


@command("randomize", interrupted="nothing was written, so nobody has spent epsilon")
def randomize(
    survey: CollectionFile,
    answers: Annotated[
        Path, typer.Argument(metavar="ANSWERS", help="True answers, one row per contributor (CSV or Parquet).")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the reports (Parquet).")],
    allow_repeat: Annotated[
        bool,
        typer.Option(
            "--allow-repeat",
            help="Randomise answers that were randomised before; their contributors spend epsilon again.",
        ),
    ] = False,
    shares: Annotated[
        Path | None,
        typer.Option("--shares", help="Shares from the dealer, as a file or directory; row i uses share i."),
    ] = None,
    max_epsilon: Annotated[
        str | None,
        typer.Option(
            "--max-epsilon", help="Largest total epsilon per contributor, over all collections of these answers."
        ),
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing report file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Turn true answers into randomised reports.

    Does in bulk what each contributor's own device would do, with randomness from the operating
    system. Every report carries the collection's id. An interrupted run writes nothing.

    Mechanisms with a dealer need one share per row (deniable deal); each share is used once.
    """
    check_output(output, [survey, answers], keep="its reports have spent their contributors' epsilon", force=force)
    collection = Collection.load(survey)
    # The guarantee is shown and then checked (max_epsilon). Only then are answers read and random words drawn.
    found = inspect_collection(collection)
    if not as_json:
        print_guarantee(found)
    warn(found)
    with _places_for_answers(collection), writing(output), progress("randomizing", quiet=as_json) as report:
        result = randomize_file(
            collection,
            answers,
            output,
            SecureRandomness(),
            allow_repeat=allow_repeat,
            shares=shares,
            max_epsilon=max_epsilon,
            delimiter=delimiter,
            decimal=decimal,
            on_total=note_total,
            progress=report,
        )
    for remark in result.remarks:
        note(remark)
    for warning in result.warnings:
        note(f"warning: {warning}")
    if as_json:
        made = {"n": result.n, "output": str(result.output), "digest": result.digest, "warnings": result.warnings}
        print_spent(found, result.spending, made)
    else:
        note(spent_text(result.n, result.spending))


@contextlib.contextmanager
def _places_for_answers(collection: Collection) -> Iterator[None]:
    """Reword errors about missing answers for a collection that was made from a dictionary, without a schema."""
    try:
        yield
    except InvalidInputError as error:
        if collection.schema.attributes[0].question_kind.listed:
            raise
        message = str(error).replace(
            'to accept missing answers, declare a category "missing" in the schema',
            "to accept missing answers, make the collection again with `deniable collection --missing WORD`",
        )
        raise type(error)(message) from None
