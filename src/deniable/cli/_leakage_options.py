"""Options of the verbs that ask what correlation reveals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._mechanisms import constructor_names
from deniable.survey.schema import Schema

MechanismName = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help=f"How each attribute is released: any (the worst of all mechanisms), or {', '.join(constructor_names())}.",
    ),
]


Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Another parameter of the mechanism, as JSON; repeatable."),
]

SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="The schema of the answers (JSON); drafted from them by default.")
]


MaxCategories = Annotated[
    int, typer.Option("--max-categories", help="Longest list of categories drafted; longer columns are left out.")
]


def load_schema(schema: Path | None) -> Schema | None:
    """Return the schema of a file, None for None."""
    return None if schema is None else Schema.load(schema)
