"""Budgets that keep leakage below a cap."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._answers import parse_names, read_answers
from deniable.cli._app import check_output, note, print_result, save_page, verb
from deniable.cli._leakage_options import MaxCategories, MechanismName, SchemaFile, Settings, load_schema
from deniable.cli._options import AsJson, Delimiter, Html
from deniable.cli._releases import ANY, factory, parse_caps
from deniable.core.thresholds import exact
from deniable.errors import TooLargeError
from deniable.leakage.calibration.budgets import calibrate_records
from deniable.report import budgets_page


class CriterionName(StrEnum):
    """What a calibration keeps below the cap, as the command line spells it."""

    exact = "exact"
    blocks = "blocks"
    prior_free = "prior-free"
    additive = "additive"


_WAYS = {
    "blocks": "name the --mechanism (exact totals are within reach for some, often GRR), or release fewer --attributes",
    "prior-free": "release fewer --attributes, or take them to depend along a --tree, which nobody checked",
}
"""What may give more than the criterion that was in reach."""


@verb("calibrate")
def calibrate(
    answers: Annotated[
        Path,
        typer.Argument(metavar="ANSWERS", help="What the adversary knows: answers of a population, CSV or Parquet."),
    ],
    epsilon_total: Annotated[
        str, typer.Option("--epsilon-total", help="Cap on what everything together leaks about each attribute.")
    ],
    criterion: Annotated[
        CriterionName | None,
        typer.Option(
            "--criterion",
            help="What is kept below the cap: the first that is in reach; additive is no bound and no guarantee.",
        ),
    ] = None,
    mechanism: MechanismName = ANY,
    settings: Settings = None,
    cap: Annotated[
        list[str] | None,
        typer.Option("--cap", metavar="NAME=VALUE", help="Another cap for one attribute; budgets are then unequal."),
    ] = None,
    unequal: Annotated[
        bool, typer.Option("--unequal", help="Unequal budgets of least total variance; needs --mechanism.")
    ] = False,
    tree: Annotated[
        bool,
        typer.Option("--tree", help="Assume that attributes depend along a tree only, where they are too many."),
    ] = False,
    schema: SchemaFile = None,
    max_categories: MaxCategories = 50,
    delimiter: Delimiter = None,
    attributes: Annotated[
        str | None,
        typer.Option("--attributes", metavar="A,B,...", help="The attributes that are released; all by default."),
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Find the largest budgets that keep leakage below a cap.

    For data-protection officers: a budget per attribute, such that everything released together
    leaks at most --epsilon-total about each, for an adversary who knows the joint distribution of
    ANSWERS.
    """
    if html is not None:
        check_output(html, [answers, *filter(None, [schema])])
    exact(epsilon_total, "epsilon_total")
    read = read_answers(
        answers, load_schema(schema), parse_names(attributes), max_categories, quiet=as_json, delimiter=delimiter
    )
    try:
        summary = calibrate_records(
            read.codes,
            read.schema,
            epsilon_total,
            source=answers.name,
            mechanism=factory(mechanism, settings or []),
            criterion=None if criterion is None else criterion.value,
            along_tree=tree,
            unequal=unequal,
            caps=parse_caps(cap or []),
            notes=read.notes,
        )
    except TooLargeError as error:
        # The library's own way out is in the library's language.
        reason = str(error).partition(": use ")[0]
        raise TooLargeError(
            f"{reason}; leave out --criterion, which takes a bound that is in reach, or have fewer --attributes"
        ) from error
    page = budgets_page(summary)
    save_page(page, None, html)
    print_result(summary, page, as_json)
    if criterion is None and summary.calibration.criterion != "exact":
        note(f"for larger budgets: {_WAYS[summary.calibration.criterion]}")
