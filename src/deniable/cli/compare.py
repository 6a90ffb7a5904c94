"""Command that compares two collections, of the same or of different contributors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.answers import compare as compare_collections, trend
from deniable.cli._app import check_outputs, command, print_result
from deniable.cli._options import AsJson, Confidence, Html, Simultaneous, TargetName, Verbose
from deniable.core.aggregate import Aggregate
from deniable.errors import InvalidParameterError
from deniable.files.jobs.pairing import pair_files
from deniable.report import comparison_page
from deniable.survey.collection import Collection


@command("compare")
def compare(
    first: Annotated[Path, typer.Argument(metavar="SURVEY1", help="First collection (survey.json).")],
    first_aggregate: Annotated[
        Path, typer.Argument(metavar="AGGREGATE1", help="Aggregate of its reports; with --same-people, the reports.")
    ],
    second: Annotated[Path, typer.Argument(metavar="SURVEY2", help="Second collection (survey.json).")],
    second_aggregate: Annotated[
        Path, typer.Argument(metavar="AGGREGATE2", help="Aggregate of its reports; with --same-people, the reports.")
    ],
    independent: Annotated[
        bool,
        typer.Option("--independent", help="Confirm that nobody is in both collections, which files cannot show."),
    ] = False,
    same_people: Annotated[
        bool,
        typer.Option("--same-people", help="Compare report files (Parquet) whose rows are the same people."),
    ] = False,
    attributes: Annotated[
        list[str] | None,
        typer.Option("--attribute", metavar="A", help="Attribute to compare, or its title (default: all); repeatable."),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--png", help="Also save a chart (PNG).")] = None,
    html: Html = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
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

    With --same-people: two report files of one memoised or plain mechanism, row by row. The
    intervals take both reports of a person together.
    """
    inputs = [first, first_aggregate, second, second_aggregate]
    check_outputs(inputs, plot, html)
    if same_people:
        if independent or attributes or target is not TargetName.population:
            raise InvalidParameterError(
                "--same-people must be used without --independent, --attribute and --target: leave these three "
                "options out. With --same-people, both waves have only one question, and the comparison is about the "
                "population"
            )
        waves = (Collection.load(first), first_aggregate), (Collection.load(second), second_aggregate)
        comparison = trend(
            waves[0][0], waves[1][0], pair_files(*waves), confidence=confidence, simultaneous=simultaneous
        )
    elif not independent:
        raise InvalidParameterError(
            "compare needs --independent, which confirms that nobody reported to both collections. If the same people "
            "reported to both collections, compare the report files with --same-people, because no interval for the "
            "same people can be computed from aggregates"
        )
    else:
        comparison = compare_collections(
            (Collection.load(first), Aggregate.load(first_aggregate)),
            (Collection.load(second), Aggregate.load(second_aggregate)),
            independent=True,
            confidence=confidence,
            target=target.value,
            simultaneous=simultaneous,
            attributes=attributes,
        )
    print_result(comparison, comparison_page(comparison), as_json, plot, html, verbose=verbose)
