"""Command that shows what a release reveals through correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from deniable.cli._app import Report, check_outputs, check_unused, command, print_result, progress
from deniable.cli._mechanisms import RECOMMENDED, build_mechanism, constructor_names, listing, parse_settings
from deniable.cli._options import AsJson, Decimal, Delimiter, Html, Plot, parse_names
from deniable.core.checks import listed
from deniable.core.randomness import SimulationRandomness
from deniable.core.thresholds import exact
from deniable.errors import InvalidInputError, InvalidParameterError, quoted
from deniable.files import AnswerReader, open_answers
from deniable.files.formats.tables import with_progress
from deniable.leakage.prior.rare_categories import merge_rare as merge_rare_categories
from deniable.leakage.summary import LeakageSummary, summarize, summarize_collection
from deniable.report import leakage_page
from deniable.survey.collection import Collection
from deniable.survey.decimals import NumberColumns
from deniable.survey.drafting import draft_schema
from deniable.survey.schema import Attribute, Schema

MechanismName = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help=f"Mechanism of each release: any (the worst case over all), {RECOMMENDED}; 'list' prints all.",
        callback=listing,
        is_eager=True,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the mechanism, with its value as JSON; repeatable."),
]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="Schema of the answers (JSON); default: drafted from the answers.")
]
MaxCategories = Annotated[
    int, typer.Option("--max-categories", help="Longest list of categories to draft; columns with more are left out.")
]
Released = Annotated[
    str | None,
    typer.Option("--attributes", metavar="A,B,...", help="Attributes that are released; default: all."),
]

Delta = Annotated[
    str | None,
    typer.Option("--delta", help="Delta of each release; figures are for all (epsilon, delta)-private mechanisms."),
]

MergeRare = Annotated[
    str | None,
    typer.Option("--merge-rare", metavar="SHARE", help="Share of ANSWERS below which categories are merged."),
]

ANY = "any"
"""The name of all mechanisms together. Figures are those of the worst mechanism."""


@command("leakage")
def leakage(
    context: typer.Context,
    answers: Annotated[
        Path,
        typer.Argument(metavar="ANSWERS", help="Answers of a population, which the adversary knows (CSV or Parquet)."),
    ],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Privacy budget for each attribute's release, as an exact decimal.")
    ] = None,
    delta: Delta = None,
    mechanism: MechanismName = ANY,
    settings: Settings = None,
    collection: Annotated[
        Path | None,
        typer.Option(
            "--collection", help="Collection whose report to analyse instead (survey.json); uses its schema and budget."
        ),
    ] = None,
    schema: SchemaFile = None,
    max_categories: MaxCategories = 50,
    merge_rare: MergeRare = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    attributes: Released = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="Only attribute to report leakage about; it need not be released."),
    ] = None,
    strongest: Annotated[int, typer.Option("--strongest", help="Number of pairs to describe in words.", min=1)] = 10,
    plot: Plot = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Show what a release reveals through correlation.

    For data protection officers: which attributes leak about which, and what all releases together
    leak.

    Needs --epsilon or --collection. The figures assume an adversary who knows the joint
    distribution of ANSWERS.
    """
    check_outputs([answers, *filter(None, (collection, schema))], plot, html)
    if schema is not None or collection is not None:
        where = "with --collection" if schema is None else "with --schema"
        check_unused(context, where, {"max_categories"})
    released = None if attributes is None else parse_names(attributes)
    if collection is not None:
        own = {
            "epsilon": epsilon,
            "delta": delta,
            "merge-rare": merge_rare,
            "set": settings,
            "schema": schema,
            "attributes": released,
        }
        given = [name for name, value in own.items() if value is not None] + ["mechanism"] * (mechanism != ANY)
        if given:
            raise InvalidParameterError(
                f"{given[0]} must be left out with --collection, because the collection file already contains this "
                "setting"
            )
        summary = _of_collection(collection, answers, target, strongest, as_json, delimiter, decimal)
    else:
        if epsilon is None:
            raise InvalidParameterError("either --epsilon or --collection must be given")
        names = released if released is None or target in (None, *released) else (*released, str(target))
        listed = None if schema is None else Schema.load(schema)
        read = read_answers(
            answers, listed, names, max_categories, target=target, quiet=as_json, delimiter=delimiter, decimal=decimal
        )
        if names is not None and len(names) == 1 and len(read.schema.names) == 1:
            raise InvalidParameterError(
                f"attributes must name at least two attributes, got only {names[0]}: a single attribute has no "
                "correlation with others"
            )
        read = merged_answers(read, merge_rare)
        by, chosen = _releases(mechanism, read.schema.sizes, epsilon, delta, settings or [])
        summary = summarize(
            read.codes,
            read.schema,
            chosen,
            source=answers.name,
            release=by,
            released=None
            if released is None
            else [name for attribute in read.schema.attributes for name in _columns_named(attribute, released)],
            target=target,
            strongest=strongest,
            notes=read.notes,
            delta=share(delta),
        )
    print_result(summary, leakage_page(summary), as_json, plot, html)


def _of_collection(
    path: Path,
    answers: Path,
    target: str | None,
    strongest: int,
    quiet: bool,
    delimiter: str | None,
    decimal: str | None,
) -> LeakageSummary:
    chosen = Collection.load(path)
    read = read_answers(answers, chosen.schema, None, 2, quiet=quiet, delimiter=delimiter, decimal=decimal)
    return summarize_collection(read.codes, chosen, source=answers.name, target=target, strongest=strongest)


def share(delta: str | None) -> float:
    """Return delta as a number, 0 if it is not given.

    The library refuses a delta that is out of range.
    """
    return 0.0 if delta is None else float(exact(delta, "delta"))


def _releases(
    name: str, sizes: tuple[int, ...], epsilon: str, delta: str | None, settings: Sequence[str]
) -> tuple[str, Any]:
    """Return the releases of the attributes in words, and as mechanisms (or as one budget, for any mechanism)."""
    make = factory_of(name, settings)
    if make is None:
        rarely = f" and delta = {delta}" if delta else ""
        return f"each by any mechanism with epsilon = {epsilon}{rarely}", epsilon
    made = {k: make(k, epsilon) for k in set(sizes)}
    return f"each by {make.name} with epsilon = {epsilon}", [made[k] for k in sizes]


class _Factory:
    """Factory of a named mechanism for one attribute, with further parameters "NAME=VALUE"."""

    def __init__(self, name: str, settings: Sequence[str]) -> None:
        self._name, self._settings = name, parse_settings(settings)
        extra = f" ({', '.join(settings)})" if settings else ""
        known = next((known for known in constructor_names() if known.casefold() == name.casefold()), name)
        self.name = f"{known}{extra}"

    def __call__(self, k: int, epsilon: Any) -> Any:
        return build_mechanism(self._name, (k,), epsilon, self._settings)


def factory_of(name: str, settings: Sequence[str]) -> _Factory | None:
    """Return the factory of a named mechanism, or None for "any mechanism", which has no settings."""
    if name.casefold() != ANY:
        return _Factory(name, settings)
    if settings:
        raise InvalidParameterError("mechanism must be named before its parameters can be set: add --mechanism NAME")
    return None


@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers of a file as codes int[n, d], with their schema and notes on how the file was read."""

    codes: NDArray[np.integer[Any]]
    schema: Schema
    notes: tuple[str, ...]


def read_answers(
    path: Path,
    schema: Schema | None,
    names: Sequence[str] | None,
    max_categories: int,
    *,
    target: str | None = None,
    quiet: bool = False,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> _Answers:
    """Return the answers in the named columns of a file (by default all), with notes on how it was read.

    Without a schema, the function drafts one from the file. The draft leaves out and names every column that is the
    same in all records. The function raises InvalidInputError if this column is the target.
    """
    notes: list[str] = []
    with progress("reading the answers", quiet=quiet) as report:
        if schema is None:
            schema, notes = _drafted(path, names, target, max_categories, report, delimiter, decimal)
        elif names is not None:
            unknown = [name for name in names if name not in (*schema.asked, *schema.names)]
            if unknown:
                raise InvalidParameterError(
                    f"the schema has no attribute {quoted(unknown[0])}; its attributes are {listed(schema.asked)}"
                )
            schema = Schema(tuple(attribute for attribute in schema.attributes if _columns_named(attribute, names)))
        schema.check_listed("leakage is computed for listed categories")
        width = np.min_scalar_type(max(schema.sizes) - 1)
        parts = []
        # Nothing is reported here, so the rounding of numbers to their grid need not be secret. The fixed seed gives
        # the same figures for the same numbers.
        rounding = SimulationRandomness(0) if schema.is_rounded else None
        with _opened(path, schema, delimiter, decimal) as reader:
            for batch in with_progress(reader, report):
                first_row = reader.rows - batch.num_rows + 1
                parts.append(schema.read(batch, first_row).codes(rounding).astype(width))
    return _Answers(np.concatenate(parts), schema, tuple(notes))


def _opened(path: Path, schema: Schema, delimiter: str | None, decimal: str | None) -> AnswerReader:
    columns = NumberColumns(schema.number_columns)
    return open_answers(path, schema.asked, delimiter=delimiter, decimal=decimal, numbers=columns)


def merged_answers(read: _Answers, least: str | None) -> _Answers:
    """Return answers with rare categories merged, if a share is given."""
    if least is None:
        return read
    codes, schema, notes = merge_rare_categories(read.codes, read.schema, float(exact(least, "merge_rare")))
    return _Answers(codes, schema, (*read.notes, *notes))


def _columns_named(attribute: Attribute, names: Sequence[str]) -> list[str]:
    """Return the columns of an attribute that `names` lists, or all columns if `names` lists the attribute."""
    return [column.name for column in attribute.columns if attribute.name in names or column.name in names]


def _drafted(
    path: Path,
    names: Sequence[str] | None,
    target: str | None,
    max_categories: int,
    report: Report | None,
    delimiter: str | None,
    decimal: str | None,
) -> tuple[Schema, list[str]]:
    with open_answers(path, names, delimiter=delimiter, decimal=decimal, numbers=NumberColumns()) as reader:
        draft = draft_schema(with_progress(reader, report), max_categories, kinds=False)
    left_out = [
        warning.replace("max_categories=", "--max-categories=") for warning in draft.warnings if "left out" in warning
    ]
    for name in (*(names or ()), *filter(None, [target])):
        reason = next((text for text in left_out if f"column {quoted(name)}" in text), None)
        if reason is not None and (name == target or "single answer" not in reason):
            remedy = (
                "reports cannot reveal anything about a column with a single answer, so choose another --target"
                if "single answer" in reason
                else "to keep this column, write a schema of your own with `deniable schema`, and give that "
                "schema with --schema"
            )
            raise InvalidInputError(f"{reason}; {remedy}")
    cut = [attribute.name for attribute in draft.schema.attributes if attribute.edges is not None]
    notes = [*left_out]
    if cut:
        notes.append(f"numbers cut into intervals of equal width: {listed(cut)}; --schema sets other cut points")
    return draft.schema, notes
