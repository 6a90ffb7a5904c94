"""Command that plans a survey."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli._app import check_output, command, print_result, progress, writing
from deniable.cli._mechanisms import build_mechanism, parse_sizes
from deniable.errors import InvalidParameterError, quoted
from deniable.planning import explore, plan as make_plan, plan_coefficient, plan_survey, plan_waves
from deniable.planning.coefficient_plan import CoefficientPlan
from deniable.planning.survey_plan import EPSILONS
from deniable.report import coefficient_page, plan_page, save_explorer, survey_plan_page, waves_page
from deniable.survey.schema import Schema

TARGET = 5.0
"""Half-width for which people are counted if none is given, in percentage points or hundredths of a scale."""


LEVEL = 0.95
"""Confidence level of intervals if none is given."""


@command("plan")
def plan(
    schema: Annotated[
        Path | None, typer.Option("--schema", help="Questionnaire (JSON); prints the error of every question.")
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            metavar="K1,K2,...",
            help="Without a schema: number of categories of each attribute, such as 5,4,6.",
        ),
    ] = None,
    epsilon: Annotated[
        list[str] | None,
        typer.Option(
            "--epsilon", help="Privacy budget per contributor, as an exact decimal; repeatable with --schema."
        ),
    ] = None,
    contributors: Annotated[int | None, typer.Option("--contributors", help="Number of contributors.")] = None,
    target: Annotated[
        float | None,
        typer.Option(
            "--target",
            help="With --schema: target half-width in percentage points, or hundredths of a scale; default: 5.",
        ),
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option("--unit", metavar="A=UNIT", help="With --schema: unit of a numeric question; repeatable."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="With --schema: compare every mechanism.")] = False,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="With --schema: also plan tables for every pair of questions.")
    ] = False,
    target_error: Annotated[
        float | None,
        typer.Option(
            "--target-error", help="With --sizes: target half-width as a fraction; 0.01 is one percentage point."
        ),
    ] = None,
    frequency: Annotated[
        float | None,
        typer.Option("--frequency", help="With --sizes: true frequency for which errors are printed; default: 0."),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Confidence level of the intervals, between 0 and 1.")
    ] = LEVEL,
    mechanisms: Annotated[
        list[str] | None, typer.Option("--mechanism", help="With --sizes: mechanism to compare; repeatable.")
    ] = None,
    marginals: Annotated[
        str | None,
        typer.Option(
            "--marginals", help="With --sizes: expected frequencies of every attribute (JSON), for the bias of Corr-RR."
        ),
    ] = None,
    max_frequency: Annotated[
        float | None,
        typer.Option(
            "--max-frequency", help="With --sizes: upper bound for all frequencies, 0 to 1; prints what it costs."
        ),
    ] = None,
    pilot: Annotated[
        int | None,
        typer.Option("--pilot", help="With --sizes: number of contributors in a first phase that finds the bound."),
    ] = None,
    coefficient: Annotated[
        str | None,
        typer.Option(
            "--coefficient",
            metavar="NAME=ERROR",
            help="With --sizes: wanted standard error of a slope, per standard deviation of its column.",
        ),
    ] = None,
    supposed: Annotated[
        str | None,
        typer.Option("--supposed", help="With --coefficient: guessed intercept and slope, as -1.5,0.5; default: 0,0."),
    ] = None,
    waves: Annotated[
        int | None,
        typer.Option("--waves", help="With one --sizes: number of times the question is asked; epsilon is the total."),
    ] = None,
    answers: Annotated[
        int | None,
        typer.Option("--answers", help="With --waves: how many different answers one person gives at most."),
    ] = None,
    times_known: Annotated[
        bool, typer.Option("--times-known", help="With --waves: allow the collector to know when answers changed.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="With --schema: write a page with sliders for epsilon and contributors."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in full precision instead of a table.")] = False,
) -> None:
    """Predict how precise the results will be.

    For collectors, before anyone is asked. With --schema and --contributors: the error of every
    question at several epsilons, what each epsilon promises contributors, and a warning if the
    survey cannot work.

    With --sizes and one --epsilon: a comparison of mechanisms. Needs --contributors or
    --target-error. The plan may find that no mechanism is feasible. With --coefficient: the
    people needed for a slope in a logit of the first attribute on one normal column. With
    --waves: ways to ask one question many times within one epsilon.
    """
    if (schema is None) == (sizes is None):
        raise InvalidParameterError("exactly one of --schema and --sizes must be given")
    questionnaire = {"target": target, "all": every or None, "pairs": pairs or None, "unit": unit or None, "html": html}
    comparison = {
        "target-error": target_error,
        "frequency": frequency,
        "mechanism": mechanisms or None,
        "marginals": marginals,
        "max-frequency": max_frequency,
        "pilot": pilot,
        "coefficient": coefficient,
        "supposed": supposed,
        "waves": waves,
        "answers": answers,
        "times-known": times_known or None,
    }
    if schema is not None:
        _refuse(comparison, "sizes")
        if contributors is None:
            raise InvalidParameterError("contributors must be given: add --contributors; a rough guess is enough")
        if html is not None:
            check_output(html, [schema])
        asked = Schema.load(schema)
        units = _units(unit or (), asked)
        decision = plan_survey(
            asked,
            contributors,
            epsilon or EPSILONS,
            target=TARGET if target is None else target,
            confidence=confidence,
            every=every,
            pairs=pairs,
        )
        print_result(decision, survey_plan_page(decision, units), as_json)
        if html is not None:
            with writing(html), progress("computing") as report:
                found = explore(
                    asked, contributors, epsilon or (), target=target, confidence=confidence, progress=report
                )
                save_explorer(found, html, title=schema.stem)
        return
    assert sizes is not None
    _refuse(questionnaire, "schema")
    if epsilon is None or len(epsilon) != 1:
        raise InvalidParameterError(
            "epsilon must be given exactly once with --sizes: several values of epsilon can be compared only with "
            "--schema"
        )
    if coefficient is not None:
        del comparison["coefficient"], comparison["supposed"], comparison["mechanism"]
        _alone(comparison, "coefficient", "this option is for the comparison of mechanisms")
        level = {"confidence": None if confidence == LEVEL else confidence}
        _alone(level, "coefficient", "a plan for a coefficient has standard errors and no intervals")
        planned = _coefficient(coefficient, supposed, parse_sizes(sizes), epsilon[0], contributors, mechanisms)
        print_result(planned, coefficient_page(planned), as_json)
        return
    if waves is not None:
        del comparison["waves"], comparison["answers"], comparison["times-known"]
        _alone(comparison, "waves", "a plan for waves only compares ways to ask one question again")
        domains = parse_sizes(sizes)
        if len(domains) != 1 or contributors is None:
            raise InvalidParameterError(
                "--waves must be used with one number of categories (--sizes) and with --contributors, such as "
                "--sizes 5 --contributors 9000"
            )
        repeated = plan_waves(
            domains[0], epsilon[0], waves, contributors, answers=answers, times_known=times_known, confidence=confidence
        )
        print_result(repeated, waves_page(repeated), as_json)
        return
    if answers is not None or times_known:
        raise InvalidParameterError(
            "--answers and --times-known work only with --waves: leave these two options out, or add --waves"
        )
    if supposed is not None:
        raise InvalidParameterError("--supposed works only with --coefficient: leave out --supposed")
    expected = None if marginals is None else _parse_marginals(marginals)
    result = make_plan(
        parse_sizes(sizes),
        epsilon[0],
        contributors,
        target_error,
        frequency,
        confidence,
        mechanisms or None,
        expected,
        max_frequency,
        pilot,
    )
    print_result(result, plan_page(result), as_json)


def _units(given: Sequence[str], schema: Schema) -> dict[str, str]:
    """Return the unit of each question, from texts such as NAME=UNIT."""
    found: dict[str, str] = {}
    means = [column.name for column in schema.columns if column.ask == "mean"]
    for text in given:
        name, mark, unit = text.partition("=")
        if not mark or not unit.strip() or name not in means:
            raise InvalidParameterError(
                "unit must be NAME=UNIT, where NAME is a question whose mean is asked "
                f"({', '.join(means) or 'this schema has no such question'}), got unit={quoted(text)}"
            )
        found[name] = unit.strip()
    return found


def _refuse(options: dict[str, Any], other: str) -> None:
    """Raise InvalidParameterError if an option is given that belongs to the other way of planning."""
    for option, value in options.items():
        if value is not None:
            raise InvalidParameterError(f"--{option} works only with --{other}: leave out --{option}")


def _alone(options: dict[str, Any], other: str, why: str) -> None:
    """Raise InvalidParameterError if an option is given that must be left out with --`other`."""
    for option, value in options.items():
        if value is not None:
            raise InvalidParameterError(f"--{option} must be left out with --{other}, because {why}")


def _coefficient(
    wanted: str,
    supposed: str | None,
    sizes: tuple[int, ...],
    epsilon: str,
    contributors: int | None,
    names: list[str] | None,
) -> CoefficientPlan:
    name, _, error = wanted.partition("=")
    try:
        target = float(error)
    except ValueError:
        raise InvalidParameterError(
            f"coefficient must be NAME=ERROR, such as age=0.1, got coefficient={quoted(wanted)}"
        ) from None
    try:
        params = None if supposed is None else [float(one) for one in supposed.split(",")]
    except ValueError:
        raise InvalidParameterError(
            f"supposed must be numbers separated by commas, such as -1.5,0.5, got supposed={quoted(supposed)}"
        ) from None
    usual = ("GRR", "OUE", "SubsetSelection") if len(sizes) == 1 else ("SPL", "SMP", "PairSample")
    built = [build_mechanism(one, sizes, epsilon, {}) for one in names or usual]
    return plan_coefficient(built, target, params, contributors, name)


def _parse_marginals(text: str) -> list[list[float]]:
    try:
        rows = json.loads(text)
        return [[float(share) for share in row] for row in rows]
    except (ValueError, TypeError):
        raise InvalidParameterError(
            "marginals must be a JSON list with one list of frequencies for each attribute, such as "
            f"[[0.5,0.5],[0.2,0.8]], got {quoted(text)}"
        ) from None
