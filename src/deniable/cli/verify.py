"""Command that checks a collector from outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import command, progress
from deniable.cli._options import CollectionFile
from deniable.survey.collection import Collection

_MARKS = {"passed": "yes", "failed": "NO", "not determined": "?"}


@command("verify")
def verify(
    survey_file: CollectionFile,
    url: Annotated[str, typer.Argument(metavar="URL", help="Link to the survey, or address of the collector.")],
    mine: Annotated[
        Path | None,
        typer.Option("--mine", metavar="ANSWERS", help="File of answers sent from here: find its reports, too."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check what a collector serves and publishes.

    For everyone. Take the survey's file from someone you trust, not from the collector. The result
    comes first, then every check: "yes", "NO", or "?" where the collector does not publish what
    the check needs. The exit code is 1 if a check fails. No check finds a report that nobody sent.
    """
    from deniable.service.sending import sent_leaves
    from deniable.service.verifying import verify_collector

    collection = Collection.load(survey_file)
    leaves = None if mine is None else sent_leaves(collection, mine)
    with progress("checking"):
        found = verify_collector(collection, url, leaves=leaves)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        passed, failed, unknown = (len(found.of(status)) for status in ("passed", "failed", "not determined"))
        said = "consistent" if found.consistent else "NOT CONSISTENT"
        typer.echo(f"{said}: {passed} checks passed, {failed} failed, {unknown} are not determined")
        for check in found.checks:
            typer.echo(f"{_MARKS[check.status]:>3}  {check.name}: {check.detail}")
    if not found.consistent:
        raise typer.Exit(1)
