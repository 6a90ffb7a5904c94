"""What a release reveals through correlation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._answers import columns_named, parse_names, read_answers
from deniable.cli._app import check_output, print_result, save_page, verb
from deniable.cli._leakage_options import MaxCategories, MechanismName, SchemaFile, Settings, load_schema
from deniable.cli._options import AsJson, Delimiter, Html, Plot
from deniable.cli._releases import ANY, releases
from deniable.errors import InvalidParameterError
from deniable.leakage.summary import LeakageSummary, summarize, summarize_collection
from deniable.report import leakage_page
from deniable.survey.collection import Collection


@verb("leakage")
def leakage(
    answers: Annotated[
        Path,
        typer.Argument(metavar="ANSWERS", help="What the adversary knows: answers of a population, CSV or Parquet."),
    ],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Budget of each attribute's release, an exact decimal.")
    ] = None,
    mechanism: MechanismName = ANY,
    settings: Settings = None,
    collection: Annotated[
        Path | None,
        typer.Option("--collection", help="A collection's own release instead: survey.json; brings its schema."),
    ] = None,
    schema: SchemaFile = None,
    max_categories: MaxCategories = 50,
    delimiter: Delimiter = None,
    attributes: Annotated[
        str | None,
        typer.Option("--attributes", metavar="A,B,...", help="The attributes that are released; all by default."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="The only attribute to ask about; it need not be one that is released."),
    ] = None,
    strongest: Annotated[int, typer.Option("--strongest", help="How many pairs to put into words.", min=1)] = 10,
    plot: Plot = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Say what a release reveals through correlation.

    For data-protection officers: who leaks about whom, and what everything together leaks.

    Needs --epsilon or --collection. Figures are relative to an adversary who knows the joint
    distribution of ANSWERS.
    """
    inputs = [answers, *filter(None, (collection, schema))]
    for output in filter(None, (plot, html)):
        check_output(output, inputs)
    released = parse_names(attributes)
    if collection is not None:
        own = {"epsilon": epsilon, "set": settings, "schema": schema, "attributes": released}
        given = [name for name, value in own.items() if value is not None] + ["mechanism"] * (mechanism != ANY)
        if given:
            raise InvalidParameterError(f"{given[0]} is stated by the collection: leave out --{given[0]}")
        summary = _of_collection(collection, answers, target, strongest, as_json, delimiter)
    else:
        if epsilon is None:
            raise InvalidParameterError("epsilon must be given (--epsilon), or a collection (--collection)")
        names = released if released is None or target in (None, *released) else (*released, str(target))
        read = read_answers(
            answers, load_schema(schema), names, max_categories, target=target, quiet=as_json, delimiter=delimiter
        )
        by, chosen = releases(mechanism, read.schema.sizes, epsilon, settings or [])
        summary = summarize(
            read.codes,
            read.schema,
            chosen,
            source=answers.name,
            release=by,
            released=None
            if released is None
            else [name for attribute in read.schema.attributes for name in columns_named(attribute, released)],
            target=target,
            strongest=strongest,
            notes=read.notes,
        )
    page = leakage_page(summary)
    save_page(page, plot, html)
    print_result(summary, page, as_json)


def _of_collection(
    path: Path, answers: Path, target: str | None, strongest: int, quiet: bool, delimiter: str | None
) -> LeakageSummary:
    chosen = Collection.load(path)
    read = read_answers(answers, chosen.schema, None, 2, quiet=quiet, delimiter=delimiter)
    return summarize_collection(read.codes, chosen, source=answers.name, target=target, strongest=strongest)
