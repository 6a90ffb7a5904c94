"""What is decided before anybody reports: schema, collection, plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.cells import cell_len

from deniable.cli._app import check_output, console, note, progress, verb, writing
from deniable.cli._mechanisms import build_mechanism, constructor_names, parse_settings, parse_sizes
from deniable.collection import Collection
from deniable.errors import InvalidParameterError, OutputError
from deniable.io import draft_schema_file
from deniable.mechanisms.heavy_hitters import HeavyHitters
from deniable.mechanisms.ocms import ocms_choice
from deniable.planning import Plan, PlanRow, recommend
from deniable.planning import plan as make_plan
from deniable.report.tables import print_line, table_lines
from deniable.report.text import guarantee_lines, shorten
from deniable.schema import Attribute, Schema
from deniable.spec import to_spec


@verb("schema")
def schema(
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="Answers to draft from: CSV or Parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the schema (JSON).")],
    max_categories: Annotated[
        int, typer.Option("--max-categories", help="Longest list of categories drafted for a column.")
    ] = 50,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing schema.")] = False,
) -> None:
    """Draft the public list of questions and answers.

    For collectors, to be edited.

    A schema is published. Categories that were read from private answers publish what was
    read: replace them by lists that were known before.
    """
    check_output(output, [answers], keep="somebody may have edited it", force=force)
    with writing(output), progress("reading the answers") as report:
        draft = draft_schema_file(answers, output, max_categories, progress=report)
    _print_lines(_attribute_table(draft.schema.attributes, console().width))
    for warning in draft.warnings:
        note(f"warning: {warning}")


@verb("collection")
def collection(
    epsilon: Annotated[str, typer.Option("--epsilon", help="Budget of a whole contributor, an exact decimal.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the collection (JSON).")],
    schema: Annotated[Path | None, typer.Option("--schema", help="The public schema (JSON).")] = None,
    attribute: Annotated[
        str | None,
        typer.Option("--attribute", help="The only column, for --dictionary or --heavy-hitters."),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option("--dictionary", help="Its public list of answers, a word per line; beside the collection."),
    ] = None,
    heavy_hitters: Annotated[
        bool, typer.Option("--heavy-hitters", help="Its answers are open text, of which the frequent are to be found.")
    ] = False,
    missing: Annotated[
        str | None, typer.Option("--missing", help="Report a missing answer of it as this; an error otherwise.")
    ] = None,
    other: Annotated[
        str | None, typer.Option("--other", help="Report an answer that is no word of the dictionary as this.")
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", help=f"One of {', '.join(constructor_names())}; by default the one recommended."),
    ] = None,
    oracle: Annotated[
        str | None, typer.Option("--oracle", help="Frequency oracle of SPL, SMP or RS+FD: GRR or OUE.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another parameter of the mechanism, as JSON; repeatable."),
    ] = None,
    title: Annotated[str, typer.Option("--title", help="What people call the collection.")] = "",
    version: Annotated[
        int, typer.Option("--collection-version", help="Round of the collection; rounds are never mixed.")
    ] = 1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite another collection.")] = False,
) -> None:
    """Fix what is asked and how it is randomised.

    For collectors. Prints the guarantee.

    The file is public: contributors, collector and analyst all use the same one. Its id is a
    hash of its content, and every report carries it.
    """
    check_output(output, list(filter(None, [schema, dictionary])))
    questions = _questions(schema, attribute, dictionary, heavy_hitters, missing, other)
    chosen = parse_settings(settings or [])
    if mechanism is None and questions.is_text:
        mechanism = HeavyHitters.name
    if oracle is not None:
        chosen["oracle"] = oracle.upper()
    if mechanism is not None:
        design = build_mechanism(mechanism, questions.sizes, epsilon, chosen)
    elif chosen:
        raise InvalidParameterError(f"mechanism must be named to set {', '.join(chosen)}: add --mechanism")
    elif len(questions.attributes) == 1 and questions.attributes[0].dictionary is not None:
        choice = ocms_choice(questions.sizes[0], epsilon)
        design, why = choice.mechanism, choice.reason
    else:
        design = recommend(questions.sizes, epsilon)
        why = "least mean variance among the practical mechanisms (deniable plan compares them)"
    result = Collection(questions, design, version, title)
    save_collection(result, output, force)
    print_collection(result)
    if mechanism is None:
        print_line(console(), f"  recommended: {why}")


def save_collection(result: Collection, output: Path, force: bool) -> None:
    """Write a collection, unless another one would be lost.

    Raises
    ------
    OutputError
        If there is another one and `force` is False, or it cannot be written.
    """
    if output.exists() and not force and output.read_text(encoding="utf-8", errors="replace") != result.to_json():
        raise OutputError(
            f"{output} exists with other content: contributors may use it; choose another name, "
            "or overwrite it with --force"
        )
    with writing(output):
        result.save(output)


def print_collection(result: Collection) -> None:
    """Print the guarantee, the mechanism with its parameters, and the id."""
    screen = console()
    for line in guarantee_lines(result.privacy(), result.schema.names):
        print_line(screen, line)
    parameters = ", ".join(
        f"{key}={_plain(value)}" for key, value in to_spec(result.mechanism).items() if key != "mechanism"
    )
    print_line(screen, f"collection: {result.id}")
    print_line(screen, f"mechanism: {result.mechanism.name} ({parameters})")


def _questions(
    schema: Path | None,
    attribute: str | None,
    dictionary: Path | None,
    heavy_hitters: bool,
    missing: str | None,
    other: str | None,
) -> Schema:
    """Return the schema of a file, or that of one attribute with a dictionary or of open text."""
    if sum((schema is not None, dictionary is not None, heavy_hitters)) != 1:
        raise InvalidParameterError("exactly one of --schema, --dictionary and --heavy-hitters must be given")
    if schema is not None:
        for option, value in (("attribute", attribute), ("missing", missing), ("other", other)):
            if value is not None:
                raise InvalidParameterError(f"{option} is stated in the schema: leave out --{option}")
        return Schema.load(schema)
    if attribute is None:
        raise InvalidParameterError("attribute must be named, the column of the answers: add --attribute")
    if dictionary is not None:
        return Schema((Attribute.from_dictionary(attribute, dictionary, missing, other),))
    return Schema((Attribute(attribute, missing=missing, other=other, text=True),))


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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in full precision instead of a table.")] = False,
) -> None:
    """Compare mechanisms before anybody is asked.

    For collectors: error, cost and contributors needed.

    Needs --contributors or --target-error. That nothing is feasible is an answer, too.
    """
    result = make_plan(
        parse_sizes(sizes), epsilon, contributors, target_error, frequency, confidence, mechanisms or None
    )
    if as_json:
        typer.echo(json.dumps(_plan_data(result), indent=2, ensure_ascii=False, allow_nan=False))
        return
    screen = console()
    _print_lines(_plan_table(result, screen.width))
    print_line(screen, result.assumptions)
    for remark, names in _remarks(result).items():
        print_line(screen, f"  {', '.join(names)}: {remark}")
    print_line(screen, _verdict(result), style="bold")


def _attribute_table(attributes: tuple[Attribute, ...], width: int) -> list[str]:
    columns = [[attribute.name for attribute in attributes], [str(attribute.k) for attribute in attributes]]
    lines = table_lines(["attribute", "k"], columns, width // 2)
    room = width - len(lines[1]) - 2
    texts = ["categories", "─" * room, *(", ".join(attribute.labels) for attribute in attributes)]
    widest = len(lines[1])
    return [
        line + " " * (widest - cell_len(line)) + "  " + shorten(text, room)
        for line, text in zip(lines, texts, strict=True)
    ]


def _plan_table(result: Plan, width: int) -> list[str]:
    header = ["mechanism", "std. error", "mean s.e.", f"{100 * result.confidence:g}% +-", "bits"]
    columns = [
        [("* " if row.recommended else "  ") + row.name for row in result.rows],
        [_frequency(row.standard_error) for row in result.rows],
        [_frequency(row.mean_standard_error) for row in result.rows],
        [_frequency(row.half_width) for row in result.rows],
        ["-" if row.bits_per_report is None else f"{row.bits_per_report:,.1f}" for row in result.rows],
    ]
    if result.target_error is not None:
        header.append("needed")
        columns.append([_needed(row) for row in result.rows])
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
    for row in result.rows:
        remark = f"cannot be built: {row.reason}" if row.mechanism is None else row.note
        if remark:
            remarks.setdefault(remark, []).append(row.name)
    return remarks


def _needed(row: PlanRow) -> str:
    return "-" if row.contributors_needed is None else f"{row.contributors_needed:,}"


def _frequency(value: float | None) -> str:
    return "-" if value is None else f"{value:.5f}"


def _plan_data(result: Plan) -> dict[str, Any]:
    rows = []
    for row in result.rows:
        data = {name: value for name, value in vars(row).items() if name != "mechanism"}
        rows.append({**data, "parameters": dict(row.parameters)})
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
        "rows": rows,
    }


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _print_lines(lines: list[str]) -> None:
    screen = console()
    for line in lines:
        screen.print(line, no_wrap=True, crop=False)
