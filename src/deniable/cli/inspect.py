"""Command that shows a collection to contributors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import command, console
from deniable.cli._collections import print_guarantee, warn
from deniable.errors import quoted
from deniable.report.text import print_line
from deniable.survey.collection import Collection
from deniable.survey.inspection import inspect_collection, question_text


@command("inspect")
def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Collection file (survey.json).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show what a collection asks and guarantees.

    For contributors, before they report. Everything shown is derived from the schema and the
    mechanism in the file. Descriptions stored in the file are ignored, and its title is shown in
    quotes.
    """
    found = inspect_collection(Collection.load(file))
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
        return
    print_guarantee(found)
    screen = console()
    print_line(screen, "what is asked:")
    for attribute in found.collection.schema.attributes:
        print_line(screen, f"  {question_text(attribute)}")
    print_line(screen, f"one report has {found.report_bits:,.10g} bits, mechanism {found.collection.mechanism.name}")
    if found.collection.title:
        print_line(screen, f"title, as its author wrote it: {quoted(found.collection.title)}")
    print_line(screen, f"round {found.collection.version}, collection {found.collection.id}")
    warn(found)
