"""Two collections of different contributors, beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.answers import compare as compare_collections
from deniable.cli._app import check_outputs, command, print_result
from deniable.cli._options import AsJson, Confidence, Html, Simultaneous, TargetName
from deniable.core.aggregate import Aggregate
from deniable.errors import InvalidParameterError
from deniable.report import comparison_page
from deniable.survey.collection import Collection


@command("compare")
def compare(
    first: Annotated[Path, typer.Argument(metavar="SURVEY1", help="First collection (survey.json).")],
    first_aggregate: Annotated[
        Path, typer.Argument(metavar="AGGREGATE1", help="Aggregate file made from its reports.")
    ],
    second: Annotated[Path, typer.Argument(metavar="SURVEY2", help="Second collection (survey.json).")],
    second_aggregate: Annotated[
        Path, typer.Argument(metavar="AGGREGATE2", help="Aggregate file made from its reports.")
    ],
    independent: Annotated[
        bool,
        typer.Option(
            "--independent", help="Confirm that nobody is in both collections, which files cannot show; required."
        ),
    ] = False,
    attributes: Annotated[
        list[str] | None,
        typer.Option("--attribute", metavar="A", help="Attribute to compare (all if not given); repeatable."),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--png", help="Also save a chart (PNG).")] = None,
    html: Html = None,
    as_json: AsJson = False,
    confidence: Confidence = 0.95,
    target: Annotated[
        TargetName,
        typer.Option("--target", help="Scope of the intervals: the populations, or only these contributors (noise)."),
    ] = TargetName.population,
    simultaneous: Simultaneous = False,
) -> None:
    """Compare the results of two collections.

    For analysts: two waves of a poll, or two departments. Compares the attributes that both
    collections ask with the same categories, as second minus first.
    """
    inputs = [first, first_aggregate, second, second_aggregate]
    check_outputs(inputs, plot, html)
    if not independent:
        raise InvalidParameterError(
            "compare needs --independent, which confirms that nobody reported to both collections: no "
            "interval is known for answers from the same people"
        )
    comparison = compare_collections(
        (Collection.load(first), Aggregate.load(first_aggregate)),
        (Collection.load(second), Aggregate.load(second_aggregate)),
        independent=True,
        confidence=confidence,
        target=target.value,
        simultaneous=simultaneous,
        attributes=attributes,
    )
    print_result(comparison, comparison_page(comparison), as_json, plot, html)
