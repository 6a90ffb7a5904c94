"""Command that sends reports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli._app import command, note, progress
from deniable.cli._collections import note_total, print_guarantee, print_spent, spent_text, warn
from deniable.cli._options import CollectionFile, Decimal, Delimiter
from deniable.cli.spending import total_data, total_text
from deniable.core.documents import read_document
from deniable.survey.collection import Collection
from deniable.survey.inspection import inspect_collection


@command("send", interrupted="the reports are stored; run the same command again to continue")
def send(
    survey_file: CollectionFile,
    answers: Annotated[
        Path, typer.Argument(metavar="ANSWERS", help="True answers, or a file of reports to send as they are.")
    ],
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the collector, or link to the survey.")],
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="File with a sender's token, for batches; default: $DENIABLE_TOKEN."),
    ] = None,
    max_epsilon: Annotated[
        str | None,
        typer.Option(
            "--max-epsilon",
            "--budget",
            help="Largest total epsilon per contributor, over all collections of these answers.",
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option("--person", help="Person whose answers these are, for a file of one row; default: me."),
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Randomise answers once, keep the reports, and send them.

    For contributors. The reports are kept in the same place as the ledger of answers and are never
    drawn again: the same command sends the same reports until all are counted. A file of reports
    is sent as it is. More than 50 reports need the token of an owner or of a sender. A file of one
    row is one person's: `spending` prints what that person has spent.
    """
    from deniable.service.sending import send_file

    token = os.environ.get("DENIABLE_TOKEN") if token_file is None else read_document(token_file)
    collection = Collection.load(survey_file)
    found = inspect_collection(collection)
    if not as_json:
        print_guarantee(found)
    warn(found)
    with progress("sending") as report:
        result = send_file(
            collection,
            answers,
            url,
            token=(token or "").strip() or None,
            max_epsilon=max_epsilon,
            person=person,
            delimiter=delimiter,
            decimal=decimal,
            on_total=note_total,
            progress=report,
        )
    if as_json:
        counts = {"n": result.n, "counted": result.counted, "already": result.already, "invalid": result.invalid}
        made: dict[str, Any] = {"kept": str(result.kept), "drawn": result.drawn}
        if result.person_total is not None:
            made["person"] = total_data(result.person_total)
        print_spent(found, result.spending, counts | made)
        return
    for remark in result.remarks:
        note(remark)
    drawn = "made and stored" if result.drawn else "stored by an earlier run, so no new reports were made"
    note(f"{result.n:,} reports, {drawn}: {result.kept}")
    note(f"{result.counted:,} are counted now, {result.already:,} were before, {result.invalid:,} are invalid")
    if result.drawn and result.spending is not None:
        note(spent_text(result.n, result.spending))
    if result.person_total is not None:
        note(total_text(result.person_total))
