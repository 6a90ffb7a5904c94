"""Command that prints estimates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from deniable.answers import QuestionSet, codebook, counts_document, summarize
from deniable.cli._app import check_outputs, check_unused, command, note, progress, writing
from deniable.cli._designs import SampleColumns, estimate_design, estimate_table
from deniable.cli._estimates import parse_queries, show
from deniable.cli._options import (
    AsJson,
    Confidence,
    Decimal,
    Delimiter,
    Html,
    Plot,
    Simultaneous,
    Target,
    TargetName,
    Verbose,
)
from deniable.core.aggregate import Aggregate
from deniable.core.extensions import extension
from deniable.core.outputs import write_text
from deniable.errors import InvalidParameterError, quoted
from deniable.files import read_truth
from deniable.postprocess import postprocess as processed
from deniable.postprocess.steps import POSTPROCESS_NAMES
from deniable.survey.collection import Collection


@command("estimate")
def estimate(
    context: typer.Context,
    survey: Annotated[
        Path | None, typer.Argument(metavar="COLLECTION", help="The collection, survey.json; not with --design.")
    ] = None,
    aggregate: Annotated[
        Path | None, typer.Argument(metavar="AGGREGATE", help="The aggregate of its reports; not with --design.")
    ] = None,
    plot: Plot = None,
    html: Html = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
    postprocess: Annotated[
        str | None,
        typer.Option(
            "--postprocess",
            metavar="NAME",
            help=f"Add a column of consistent frequencies, without intervals: {', '.join(POSTPROCESS_NAMES)}.",
        ),
    ] = None,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="True answers to compare with, for rehearsals (CSV or Parquet).")
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    confidence: Confidence = 0.95,
    target: Target = TargetName.contributors,
    simultaneous: Simultaneous = False,
    estimator: Annotated[
        str | None,
        typer.Option("--estimator", metavar="NAME", help="Another estimator of the mechanism, such as unmixed."),
    ] = None,
    deals: Annotated[
        list[Path] | None,
        typer.Option(
            "--deal",
            metavar="FILE",
            help="Aggregate of another deal, or of newcomers without a deal, to combine; repeatable.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top", help="Number of estimates to list, largest first; the intervals allow for the selection.", min=1
        ),
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(
            "--queries",
            metavar="FILE|A,B,...",
            help="Categories to list: a file with one per line, or words separated by commas.",
        ),
    ] = None,
    means: Annotated[
        list[str] | None,
        typer.Option(
            "--mean", metavar="A", help="Also estimate the mean of attribute A, which must have scores; repeatable."
        ),
    ] = None,
    totals: Annotated[
        list[str] | None,
        typer.Option(
            "--total", metavar="A=X,Y", help="Also estimate the combined share of several categories; repeatable."
        ),
    ] = None,
    quantiles: Annotated[
        list[str] | None,
        typer.Option(
            "--quantiles", metavar="A=.25,.5", help="Also estimate quantiles of an ordered attribute; repeatable."
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Also write all numbers as CSV.")] = None,
    book: Annotated[
        Path | None,
        typer.Option("--codebook", help="Also write a CSV that explains the columns of --csv and gives n and epsilon."),
    ] = None,
    counts_file: Annotated[
        Path | None,
        typer.Option("--counts", help="Also write the counts behind the estimates as JSON, for R and other programs."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="List every category, and every point of a numeric grid.")
    ] = False,
    anytime: Annotated[
        bool,
        typer.Option(
            "--anytime",
            help=(
                "Make intervals that stay valid however often you look while reports arrive; "
                "needs --target population and --planned."
            ),
        ),
    ] = False,
    planned: Annotated[
        int | None,
        typer.Option(
            "--planned", metavar="N", help="Number of contributors planned before the first look, for --anytime."
        ),
    ] = None,
    malicious: Annotated[
        float,
        typer.Option(
            "--malicious",
            metavar="A",
            help="Fraction of contributors who may send anything; widens the intervals to allow for them.",
        ),
    ] = 0.0,
    design: Annotated[
        str | None,
        typer.Option(
            "--design", metavar="NAME", help="Classical design of counts that are typed in, such as crosswise."
        ),
    ] = None,
    p: Annotated[
        str | None,
        typer.Option("--p", metavar="P", help="With --design: parameter p of the design, exact, such as 2/12."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="With --design: another parameter of the design; repeatable."),
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", metavar="N", help="With --design: number of people who answered.")
    ] = None,
    yes: Annotated[
        int | None, typer.Option("--yes", metavar="N", help="With --design: number of people who said yes.")
    ] = None,
    same: Annotated[
        int | None,
        typer.Option(
            "--same", metavar="N", help="With crosswise: number of people who reported that both or neither are true."
        ),
    ] = None,
    different: Annotated[
        int | None,
        typer.Option(
            "--different", metavar="N", help="With crosswise: number of people who reported that exactly one is true."
        ),
    ] = None,
    reports_typed: Annotated[
        str | None,
        typer.Option(
            "--reports", metavar="A,B,...", help="With --design: how often each report occurs, in the order of reports."
        ),
    ] = None,
    anchor: Annotated[
        str | None,
        typer.Option(
            "--anchor",
            metavar="SS,SD,DS,DD",
            help="With crosswise: four counts, by answer and anchor answer (same, different).",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table", metavar="FILE", help="With --design: file with a row for each person, instead of counts."
        ),
    ] = None,
    answer: Annotated[
        str | None, typer.Option("--answer", metavar="COLUMN", help="With --table: column with the reports.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option("--weights", metavar="COLUMN", help="With --table: column with survey weights.")
    ] = None,
    strata: Annotated[
        str | None, typer.Option("--strata", metavar="COLUMN", help="With --table: column with strata.")
    ] = None,
    clusters: Annotated[
        str | None, typer.Option("--clusters", metavar="COLUMN", help="With --table: column with sampling units.")
    ] = None,
    fractions: Annotated[
        list[str] | None,
        typer.Option(
            "--fraction", metavar="STRATUM=F", help="With --strata: sampled fraction of a stratum; repeatable."
        ),
    ] = None,
) -> None:
    """Print frequencies with standard errors and intervals.

    For analysts. Estimates are raw, so they can be negative. The last line is the privacy
    guarantee; --verbose prints all of it.
    """
    typed = {"yes": yes, "same": same, "different": different, "n": n}
    if design is not None:
        _check_given(context, allowed=True)
        columns = SampleColumns(answer, weights, strata, clusters, fractions or [])
        counted = reports_typed is not None or anchor is not None or any(one is not None for one in typed.values())
        if table is not None and not counted:
            estimate_table(design, p, settings or [], table, columns, confidence, as_json, plot, html, verbose=verbose)
            return
        if table is None and any(columns):
            raise InvalidParameterError(
                "--answer, --weights, --strata, --clusters and --fraction work only with --table: leave these options "
                "out, or add --table FILE"
            )
        if table is not None:
            raise InvalidParameterError(
                "--table cannot be used together with counts: leave out the table or the counts"
            )
        estimate_design(
            design, p, settings or [], typed, reports_typed, anchor, confidence, as_json, plot, html, verbose=verbose
        )
        return
    _check_given(context, allowed=False)
    if survey is None or aggregate is None:
        context.fail("Missing COLLECTION or AGGREGATE; or give --design with counts.")
    if truth is None:
        check_unused(context, "without --truth", {"delimiter", "decimal"})
    inputs = [survey, aggregate, *(deals or []), *([truth] if truth else [])]
    check_outputs(inputs, plot, html, csv, book, counts_file)
    if deals and estimator is not None:
        raise InvalidParameterError(
            "--estimator must be left out with --deal, because combined deals have only one estimator"
        )
    if counts_file is not None and (deals or estimator is not None):
        raise InvalidParameterError(
            "--counts needs one aggregate and the default estimator: leave out --deal and --estimator, or leave out "
            "--counts"
        )
    collection = Collection.load(survey)
    if collection.schema.is_text:
        raise InvalidParameterError(f"{survey} asks for open text: use `deniable heavy-hitters`")
    chosen = None if queries is None else _asked(collection, queries)
    default = QuestionSet.default(collection.schema)
    if means or totals or quantiles or chosen or top or deals or estimator:
        asked = parse_questions(collection, means or (), totals or (), quantiles or ())
    else:
        asked = default
    for warning in asked.warnings(collection.schema):
        note(f"warning: {warning}")
    reports = Aggregate.load(aggregate)
    parts = [reports, *map(Aggregate.load, deals or [])]
    if deals:
        estimates = extension("dealing", "estimate")(collection, parts)
    else:
        estimates = collection.estimate(reports, estimator=estimator)
    if postprocess is not None:
        estimates = processed(postprocess, estimates, None if deals else reports)
    counts = None
    if truth is not None:
        with progress("reading the truth", quiet=as_json) as report:
            counts = read_truth(collection, truth, progress=report, delimiter=delimiter, decimal=decimal)
    summary = summarize(
        estimates,
        mechanism=collection.mechanism,
        n=sum(part.n for part in parts),
        title=collection.title,
        confidence=confidence,
        target=target.value,
        simultaneous=simultaneous,
        truth=counts,
        collection=collection.id,
        top=top,
        queries=chosen,
        asked=asked,
        malicious=malicious,
        anytime=anytime,
        planned=planned,
        several=collection.schema.several,
    )
    if csv is not None:
        with writing(csv):
            write_text(csv, summary.csv(), private=truth is not None)
    if book is not None:
        with writing(book):
            write_text(book, codebook(summary))
    if counts_file is not None:
        with writing(counts_file):
            write_text(counts_file, counts_document(collection, reports))
    if every:
        show(summary, plot, html, as_json, most=max(collection.schema.sizes), verbose=verbose)
    else:
        show(summary, plot, html, as_json, default.means, verbose=verbose)


_OF_TABLES = frozenset({"table", "answer", "weights", "strata", "clusters", "fractions"})
_OF_DESIGNS = _OF_TABLES | {"design", "p", "settings", "n", "yes", "same", "different", "reports_typed", "anchor"}
_ALWAYS = frozenset({"confidence", "as_json", "plot", "html", "verbose"})


def _check_given(context: typer.Context, *, allowed: bool) -> None:
    """Refuse options that do not go with --design, or options that need --design if it is not given."""
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        typed = source is not None and source.name == "COMMANDLINE"
        if typed and name not in _ALWAYS and (name in _OF_DESIGNS) != allowed:
            shown = max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.metavar
            rule = "left out with --design" if allowed else "used only with --design"
            raise InvalidParameterError(f"{shown} must be {rule}; see `deniable estimate --help`")


def parse_questions(
    collection: Collection, means: Sequence[str], totals: Sequence[str], quantiles: Sequence[str]
) -> QuestionSet:
    """Return the questions that --mean A, --total A=x,y and --quantiles A=.25,.5 ask, each of them once."""
    for one in collection.schema.columns:
        if one.name in means and one.code_scores is None:
            raise InvalidParameterError(
                f"mean must name an attribute with scores, but the schema has no scores for {quoted(one.name)}; "
                "estimate shares of its categories with --total"
            )
    parts = []
    for name, rest in (_divided("total", text, "A=x,y") for text in totals):
        column = next((one for one in collection.schema.columns if one.name == name), None)
        # A category may contain a comma.
        parts.append((name, (rest,) if column is not None and rest in column.labels else tuple(rest.split(","))))
    shares = []
    for name, rest in (_divided("quantiles", text, "A=.25,.5") for text in quantiles):
        try:
            wanted = tuple(dict.fromkeys(float(share) for share in rest.split(",")))
            if not all(0 < share < 1 for share in wanted):
                raise ValueError
            shares.append((name, wanted))
        except ValueError:
            raise InvalidParameterError(
                "quantiles must have numbers between 0 and 1 after the equals sign, such as A=.25,.5, got "
                f"{quoted(rest)}"
            ) from None
    return QuestionSet(tuple(dict.fromkeys(means)), tuple(dict.fromkeys(parts)), tuple(dict.fromkeys(shares)))


def _divided(flag: str, text: str, example: str) -> tuple[str, str]:
    name, found, rest = text.partition("=")
    if not found or not name or not rest:
        raise InvalidParameterError(
            f"{flag} must be an attribute, an equals sign and a list, such as {example}, got {quoted(text)}"
        )
    return name, rest


def _asked(collection: Collection, queries: str) -> dict[str, NDArray[np.int64]]:
    """Return the codes of the requested categories of the only attribute."""
    attributes = collection.schema.columns
    if len(attributes) > 1:
        raise InvalidParameterError(
            f"queries need a collection with one attribute, but this collection has {len(attributes)} attributes"
        )
    return {attributes[0].name: attributes[0].codes(parse_queries(queries))}
