"""Command that rehearses a survey."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli._app import check_outputs, command, note, print_result, progress
from deniable.cli._options import AsJson, Html
from deniable.core.randomness import SimulationRandomness
from deniable.errors import InvalidParameterError, quoted
from deniable.planning import Difference, Guess, collection, rehearse as make_rehearsal
from deniable.planning.rehearsal import OF_ANSWERS
from deniable.report import rehearsal_page
from deniable.survey.schema import Schema


@command("rehearse")
def rehearse(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="Questionnaire (JSON).")],
    contributors: Annotated[int, typer.Option("--contributors", help="Expected number of contributors.")],
    guess: Annotated[
        Path,
        typer.Option(
            "--guess",
            help=("Rough guess of the answers: example rows, or a table with the columns attribute, category, share."),
        ),
    ],
    epsilon: Annotated[str, typer.Option("--epsilon", help="Privacy budget per contributor.")] = "1",
    runs: Annotated[int, typer.Option("--runs", help="Number of simulated surveys.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Random seed; the same seed gives the same rehearsal.")] = 1,
    differences: Annotated[
        list[str] | None,
        typer.Option(
            "--difference",
            metavar="A=x,y",
            help="Also test whether x is more frequent than y in question A; repeatable.",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Confidence level of the intervals, between 0 and 1.")
    ] = 0.95,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Also save a chart of the first run's report (PNG).")
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Try a survey on simulated people.

    For organisers, before anyone is asked. Simulates the survey many times. Prints how often the
    first category, the sign of a difference or an interval is wrong, and one example report.

    If the guess contains rows of answers, the output shows their exact shares. If these are real
    answers, keep the output with the people who may see them. Shares that were known before can be
    published.
    """
    check_outputs([schema, guess], plot, html)
    asked = Schema.load(schema)
    compared = [parse_difference(asked, text) for text in differences or []]
    shares = Guess.read(guess, asked)
    if shares.from_answers:
        note(f"warning: this rehearsal is {OF_ANSWERS}")
    with progress("rehearsing", quiet=as_json) as report:
        found = make_rehearsal(
            collection(asked, epsilon),
            contributors,
            shares,
            runs=runs,
            rng=SimulationRandomness(seed),
            differences=compared,
            confidence=confidence,
            progress=report,
        )
    print_result(found, rehearsal_page(found), as_json, plot, html)


def parse_difference(schema: Schema, text: str) -> Difference:
    """Return the question and the two categories in "A=x,y".

    Each may contain a comma or an equals sign.
    """
    for column in schema.columns:
        if not text.startswith(f"{column.name}="):
            continue
        pair = text[len(column.name) + 1 :]
        for label in column.labels:
            if pair.startswith(f"{label},") and pair[len(label) + 1 :] in column.labels:
                return Difference(column.name, label, pair[len(label) + 1 :])
        raise InvalidParameterError(
            f"difference must name two categories of {quoted(column.name)}, such as {column.name}={column.labels[0]},"
            f"{column.labels[1]}; got difference={quoted(text)}"
        )
    raise InvalidParameterError(
        f"difference must be QUESTION=CATEGORY,CATEGORY with a question of the schema, got difference={quoted(text)}"
    )
