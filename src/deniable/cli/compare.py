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
    first: Annotated[Path, typer.Argument(metavar="SURVEY1", help="The first collection.")],
    first_aggregate: Annotated[Path, typer.Argument(metavar="AGGREGATE1", help="The aggregate of its reports.")],
    second: Annotated[Path, typer.Argument(metavar="SURVEY2", help="The second collection.")],
    second_aggregate: Annotated[Path, typer.Argument(metavar="AGGREGATE2", help="The aggregate of its reports.")],
    independent: Annotated[
        bool, typer.Option("--independent", help="Say that nobody is in both: files cannot tell. Required.")
    ] = False,
    attributes: Annotated[
        list[str] | None,
        typer.Option("--attribute", metavar="A", help="Compare this attribute only; repeatable."),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--png", help="Also draw a picture (PNG).")] = None,
    html: Html = None,
    as_json: AsJson = False,
    confidence: Confidence = 0.95,
    target: Annotated[
        TargetName,
        typer.Option(
            "--target", help="What intervals cover: the populations, or these contributors (noise) themselves."
        ),
    ] = TargetName.population,
    simultaneous: Simultaneous = False,
) -> None:
    """Say what changed between two collections.

    For analysts. Two waves of a poll, or two departments: attributes that both ask with
    the same categories, second less first.
    """
    inputs = [first, first_aggregate, second, second_aggregate]
    check_outputs(inputs, plot, html)
    if not independent:
        raise InvalidParameterError(
            "compare needs --independent, which says that nobody reported to both: of the same people's answers no "
            "interval is known"
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
