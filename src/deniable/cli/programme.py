"""Command that adds up a programme of surveys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import check_outputs, command, print_result
from deniable.cli._options import AsJson, Html, Plot
from deniable.cli.leakage import read_answers
from deniable.errors import InvalidParameterError
from deniable.planning.programme import load_programme, programme as add_up
from deniable.report import programme_page
from deniable.survey.schema import Schema


@command("programme")
def programme(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="Surveys of the programme (TOML).")],
    prior: Annotated[
        Path | None,
        typer.Option("--prior", help="Answers of a population (CSV or Parquet); also prints the leakage."),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", help="With --prior: schema of these answers (JSON); required.")
    ] = None,
    plot: Plot = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Add up what one contributor spends in many surveys.

    For organisers. PLAN names the collections, how often one person answers each, and who is asked.
    With --prior and --schema: what everything together says about each attribute, for an adversary
    who knows how often every combination of these answers occurs.
    """
    check_outputs([plan, *filter(None, (prior, schema))], plot, html)
    if (prior is None) != (schema is None):
        raise InvalidParameterError("--prior and --schema must be given together: add the option that is missing")
    title, surveys = load_programme(plan)
    if prior is None or schema is None:
        found = add_up(surveys, title=title)
    else:
        read = read_answers(prior, Schema.load(schema), None, 2, quiet=as_json)
        found = add_up(surveys, title=title, records=read.codes, schema=read.schema, source=prior.name)
    print_result(found, programme_page(found), as_json, plot, html)
