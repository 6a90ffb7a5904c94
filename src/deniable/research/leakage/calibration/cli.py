"""Command that finds budgets which keep leakage below a cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import check_outputs, command, note, print_result
from deniable.cli._options import AsJson, Decimal, Delimiter, Html, parse_names
from deniable.cli.leakage import (
    ANY,
    Delta,
    MaxCategories,
    MechanismName,
    MergeRare,
    Released,
    SchemaFile,
    Settings,
    factory_of,
    merged_answers,
    read_answers,
    share,
)
from deniable.core.thresholds import exact
from deniable.errors import InvalidParameterError, TooLargeError, quoted
from deniable.research.leakage.calibration.budgets import calibrate_records, check_budgets
from deniable.research.leakage.calibration.page import budgets_page
from deniable.survey.schema import Schema


class CriterionName(StrEnum):
    """Criterion of a calibration, as the command line spells it."""

    exact = "exact"
    blocks = "blocks"
    prior_free = "prior-free"
    additive = "additive"


_WAYS = {
    "blocks": "name the --mechanism (exact totals are within reach for some, often GRR), or release fewer --attributes",
    "prior-free": "release fewer --attributes, or take them to depend along a --tree, which nobody checked",
}
"""Advice on criteria that may give larger budgets than the criterion that was feasible."""


@command("calibrate")
def calibrate(
    answers: Annotated[
        Path,
        typer.Argument(metavar="ANSWERS", help="Answers of a population, which the adversary knows (CSV or Parquet)."),
    ],
    epsilon_total: Annotated[
        str, typer.Option("--epsilon-total", help="Cap on what all releases together leak about each attribute.")
    ],
    criterion: Annotated[
        CriterionName | None,
        typer.Option(
            "--criterion",
            help=(
                "Total to keep below the cap (additive guarantees nothing); "
                "default: the first of exact, blocks and prior-free that can be computed."
            ),
        ),
    ] = None,
    delta: Delta = None,
    mechanism: MechanismName = ANY,
    settings: Settings = None,
    cap: Annotated[
        list[str] | None,
        typer.Option(
            "--cap", metavar="NAME=VALUE", help="Different cap for one attribute; budgets are then unequal; repeatable."
        ),
    ] = None,
    unequal: Annotated[
        bool,
        typer.Option("--unequal", help="Allow unequal budgets, with the smallest total variance; needs --mechanism."),
    ] = False,
    tree: Annotated[
        bool,
        typer.Option(
            "--tree",
            help=(
                "Assume that attributes depend on each other along a tree only, if there are too many for exact totals."
            ),
        ),
    ] = False,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="AGAINST", help="Other answers, to check whether the caps also hold for them."),
    ] = None,
    schema: SchemaFile = None,
    max_categories: MaxCategories = 50,
    merge_rare: MergeRare = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    attributes: Released = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Find the largest budgets that keep leakage below a cap.

    For data protection officers: one budget per attribute, such that all releases together leak at
    most --epsilon-total about each attribute, for an adversary who knows the joint distribution of
    ANSWERS.
    """
    check_outputs([answers, *filter(None, [schema, check])], html)
    exact(epsilon_total, "epsilon_total")
    listed = None if schema is None else Schema.load(schema)
    names = None if attributes is None else parse_names(attributes)
    own = read_answers(answers, listed, names, max_categories, quiet=as_json, delimiter=delimiter, decimal=decimal)
    read = merged_answers(own, merge_rare)
    try:
        summary = calibrate_records(
            read.codes,
            read.schema,
            epsilon_total,
            source=answers.name,
            mechanism=factory_of(mechanism, settings or []),
            criterion=None if criterion is None else criterion.value,
            along_tree=tree,
            unequal=unequal,
            caps=_caps(cap or []),
            notes=read.notes,
            delta=share(delta),
        )
    except TooLargeError as error:
        # The library's own remedy is in terms of Python, so this command words its own.
        reason = str(error).partition(": use ")[0]
        raise TooLargeError(
            f"{reason}; leave out --criterion to use a bound that can be computed, or give fewer --attributes"
        ) from error
    if check is not None:
        if merge_rare is not None:
            raise InvalidParameterError(
                "--check and --merge-rare cannot be used together: merge the rare categories in a schema of your "
                "own, and give that schema with --schema"
            )
        other = read_answers(
            check, read.schema, None, max_categories, quiet=as_json, delimiter=delimiter, decimal=decimal
        )
        factory = factory_of(mechanism, settings or [])
        checked = check_budgets(summary, other.codes, read.schema, source=check.name, mechanism=factory)
        summary = replace(summary, check=checked)
    print_result(summary, budgets_page(summary), as_json, None, html)
    if criterion is None and summary.calibration.criterion != "exact":
        note(f"for larger budgets: {_WAYS[summary.calibration.criterion]}")


def _caps(texts: Sequence[str]) -> dict[str, str]:
    """Return the caps that texts such as "age=0.5" name."""
    caps: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise InvalidParameterError(f"cap must be NAME=VALUE, got cap={quoted(text)}")
        if name in caps:
            raise InvalidParameterError(f"cap must name each attribute once, got {quoted(name)} twice")
        caps[name] = value
    return caps
