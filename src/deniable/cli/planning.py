"""What a collection would cost: the plan."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from deniable.cli._app import print_result, verb
from deniable.cli._mechanisms import parse_sizes
from deniable.errors import InvalidParameterError
from deniable.planning import plan as make_plan
from deniable.report import plan_page


@verb("plan")
def plan(
    sizes: Annotated[str, typer.Option("--sizes", metavar="K1,K2,...", help="Number of categories of each attribute.")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="Budget of a whole contributor, an exact decimal.")],
    contributors: Annotated[int | None, typer.Option("--contributors", help="How many there are.")] = None,
    target_error: Annotated[
        float | None,
        typer.Option("--target-error", help="Wanted half-width of an interval: 0.01 is one point either way."),
    ] = None,
    frequency: Annotated[
        float | None, typer.Option("--frequency", help="True frequency that errors are stated at; 0 by default.")
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals, in (0, 1).")] = 0.95,
    mechanisms: Annotated[
        list[str] | None, typer.Option("--mechanism", help="Compare this one only; repeatable.")
    ] = None,
    marginals: Annotated[
        str | None,
        typer.Option("--marginals", help="Expected frequencies of every attribute, as JSON, for the bias of Corr-RR."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in full precision instead of a table.")] = False,
) -> None:
    """Compare mechanisms before anybody is asked.

    For collectors: error, cost and contributors needed.

    Needs --contributors or --target-error. That nothing is feasible is an answer, too.
    """
    expected = None if marginals is None else _parse_marginals(marginals)
    result = make_plan(
        parse_sizes(sizes), epsilon, contributors, target_error, frequency, confidence, mechanisms or None, expected
    )
    print_result(result, plan_page(result), as_json)


def _parse_marginals(text: str) -> list[list[float]]:
    try:
        rows = json.loads(text)
        return [[float(share) for share in row] for row in rows]
    except (ValueError, TypeError):
        raise InvalidParameterError(
            f"marginals must be a JSON list of frequencies per attribute, such as [[0.5,0.5],[0.2,0.8]], got {text!r}"
        ) from None
