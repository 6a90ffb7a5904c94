"""What a collection would cost: the plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from deniable.cli._app import console, print_lines, verb
from deniable.cli._mechanisms import parse_sizes
from deniable.errors import InvalidParameterError
from deniable.planning import Plan, PlanRow
from deniable.planning import plan as make_plan
from deniable.report.tables import print_line, table_lines


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
    if as_json:
        typer.echo(json.dumps(_plan_data(result), indent=2, ensure_ascii=False, allow_nan=False))
        return
    screen = console()
    print_lines(_plan_table(result, screen.width))
    print_line(screen, result.assumptions)
    for remark, names in _remarks(result).items():
        print_line(screen, f"  {', '.join(names)}: {remark}")
    print_line(screen, _verdict(result), style="bold")


def _parse_marginals(text: str) -> list[list[float]]:
    try:
        rows = json.loads(text)
        return [[float(share) for share in row] for row in rows]
    except (ValueError, TypeError):
        raise InvalidParameterError(
            f"marginals must be a JSON list of frequencies per attribute, such as [[0.5,0.5],[0.2,0.8]], got {text!r}"
        ) from None


def _plan_table(result: Plan, width: int) -> list[str]:
    shown = [*result.rows, *result.dealt]
    header = ["mechanism", "std. error", "mean s.e.", f"{100 * result.confidence:g}% +-", "bits"]
    columns = [
        [("* " if row.recommended else "  ") + row.name for row in shown],
        [_frequency(row.standard_error) for row in shown],
        [_frequency(row.mean_standard_error) for row in shown],
        [_frequency(row.half_width) for row in shown],
        ["-" if row.bits_per_report is None else f"{row.bits_per_report:,.1f}" for row in shown],
    ]
    if result.target_error is not None:
        header.append("needed")
        columns.append([_needed(row) for row in shown])
    return table_lines(["  " + header[0], *header[1:]], columns, width)


def _verdict(result: Plan) -> str:
    if result.recommended is not None:
        return f"recommended: {result.recommended.name}"
    nearest = min(
        (row for row in result.rows if row.contributors_needed is not None),
        key=lambda row: row.contributors_needed or 0,
        default=None,
    )
    if nearest is None:
        return f"infeasible: {'; '.join(dict.fromkeys(row.reason for row in result.rows))}"
    return f"infeasible: {nearest.name} {nearest.reason}"


def _remarks(result: Plan) -> dict[str, list[str]]:
    """Return what a reader must know, each remark with the mechanisms it is about."""
    remarks: dict[str, list[str]] = {}
    for row in [*result.rows, *result.dealt]:
        remark = f"cannot be built: {row.reason}" if row.mechanism is None else row.note
        if remark:
            remarks.setdefault(remark, []).append(row.name)
    return remarks


def _needed(row: PlanRow) -> str:
    return "-" if row.contributors_needed is None else f"{row.contributors_needed:,}"


def _frequency(value: float | None) -> str:
    return "-" if value is None else f"{value:.5f}"


def _plan_data(result: Plan) -> dict[str, Any]:
    def data(rows: Sequence[PlanRow]) -> list[dict[str, Any]]:
        plain = [{name: value for name, value in vars(row).items() if name != "mechanism"} for row in rows]
        return [{**one, "parameters": dict(one["parameters"])} for one in plain]

    return {
        "sizes": list(result.sizes),
        "epsilon": float(result.epsilon),
        "contributors": result.contributors,
        "n": result.n,
        "target_error": result.target_error,
        "frequency": result.frequency,
        "confidence": result.confidence,
        "assumptions": result.assumptions,
        "recommended": None if result.recommended is None else result.recommended.name,
        "rows": data(result.rows),
        "dealt": data(result.dealt),
    }
