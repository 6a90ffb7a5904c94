"""Functions that print estimates of classical designs, from counts on the command line or a table of people."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from deniable.cli._app import check_outputs, print_result
from deniable.designs import Design, crosswise_anchor, estimate_sample
from deniable.designs.kinds import KINDS
from deniable.errors import InvalidInputError, InvalidParameterError, out_of_range, quoted, unknown_name
from deniable.files import open_answers
from deniable.report import anchor_page, design_page, sample_page


class SampleColumns(NamedTuple):
    """Columns of a table with one row per person.

    Attributes
    ----------
    answer : str or None
        Column with the reports.
    weights, strata, clusters : str or None
        Columns with weights, strata and sampling units.
    fractions : sequence of str
        Sampled fractions as "STRATUM=F".
    """

    answer: str | None
    weights: str | None
    strata: str | None
    clusters: str | None
    fractions: Sequence[str]


def estimate_table(
    name: str,
    p: str | None,
    settings: Sequence[str],
    table: Path,
    columns: SampleColumns,
    confidence: float,
    as_json: bool,
    plot: Path | None,
    html: Path | None,
    *,
    verbose: bool = False,
) -> None:
    """Print the weighted prevalence of a table of people."""
    check_outputs([table], plot, html)
    design, _ = checked_design(name, p, settings)
    if columns.answer is None:
        raise InvalidParameterError("answer must name the column with the reports: add --answer COLUMN")
    wanted = [one for one in columns[:4] if one is not None]
    with open_answers(table, list(dict.fromkeys(wanted))) as reader:
        read = pa.Table.from_batches(list(reader))
    found = {one: read.column(one).to_pylist() for one in wanted}
    for column, values in found.items():
        blank = sum(value in (None, "") for value in values)
        if blank:
            raise InvalidInputError(
                f"{table}: the column {quoted(column)} must have a value in every row, but {blank:,} of "
                f"{len(values):,} rows are blank; remove these rows"
            )
    reports = _codes(design, columns.answer, found[columns.answer])
    weights = None
    if columns.weights is not None:
        weights = _floats(f"the column {quoted(columns.weights)}", found[columns.weights])
    strata, clusters = (None if one is None else found[one] for one in (columns.strata, columns.clusters))
    fractions: dict[Hashable, float] = {}
    for text in columns.fractions:
        stratum, _, share = text.rpartition("=")
        if stratum in fractions:
            raise InvalidParameterError(f"--fraction must name each stratum once, got {quoted(stratum)} twice")
        (fractions[stratum],) = _floats("--fraction", [share])
    if fractions and columns.strata is None:
        raise InvalidParameterError("--fraction works only with --strata: leave out --fraction, or add --strata COLUMN")
    sample = estimate_sample(
        design, reports, weights, strata=strata, psus=clusters, fractions=fractions, confidence=confidence
    )
    print_result(sample, sample_page(design, sample, confidence), as_json, plot, html, verbose=verbose)


def _codes(design: Design, column: str, values: Sequence[Any]) -> list[int]:
    """Return the codes of reports that are written as names, or as numbers from 0."""
    names = design.kind.reports or tuple(map(str, range(design.state_size)))
    known = {name: code for code, name in enumerate(names)} | {str(code): code for code in range(design.state_size)}
    codes = [known.get(str(value), -1) for value in values]
    if min(codes, default=0) < 0:
        raise InvalidInputError(
            f"the column {quoted(column)} must contain only {', '.join(names)}, but row {codes.index(-1) + 1} "
            "contains something else; correct this row"
        )
    return codes


def _floats(name: str, values: Sequence[Any]) -> list[float]:
    try:
        return [float(value) for value in values]
    except ValueError:
        raise InvalidInputError(
            f"{name} must contain only numbers such as 2 or 0.5, but it contains other text; correct this text"
        ) from None


def estimate_design(
    name: str,
    p: str | None,
    settings: Sequence[str],
    answers: dict[str, int | None],
    counts: str | None,
    anchor: str | None,
    confidence: float,
    as_json: bool,
    plot: Path | None,
    html: Path | None,
    *,
    verbose: bool = False,
) -> None:
    """Print the estimate of a design; `answers` contains the values of --yes, --same, --different and --n."""
    check_outputs([], plot, html)
    design, given = checked_design(name, p, settings, anchored=anchor is not None)
    if anchor is not None:
        if name != "crosswise" or counts is not None or any(value is not None for value in answers.values()):
            raise InvalidParameterError(
                "--anchor works only with --design crosswise, and not together with --yes, --same, --different, --n "
                "or --reports: leave out --anchor, or add --design crosswise and leave out the other five options"
            )
        cells = _numbers("anchor", anchor, 4)
        found: Any = crosswise_anchor(given["p"], given.get("p_anchor", given["p"])).estimate(
            *cells, confidence=confidence
        )
        print_result(found, anchor_page(design, found, sum(cells), confidence), as_json, plot, html, verbose=verbose)
        return
    found = design.estimate_counts(_counts(design, answers, counts), confidence=confidence)
    print_result(found, design_page(design, found), as_json, plot, html, verbose=verbose)


def checked_design(
    name: str, p: str | None, settings: Sequence[str], *, anchored: bool = False, one_sided: bool = False
) -> tuple[Design, dict[str, str]]:
    """Return the design that the options name, and its parameters as the user wrote them."""
    if name not in KINDS:
        raise unknown_name("design", name, KINDS)
    kind, given = KINDS[name], {} if p is None else {"p": p}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise InvalidParameterError(f"set must be NAME=VALUE, got set={quoted(setting)}")
        if key in given:
            remedy = "; leave out --p, or leave p out of --set" if key == "p" and p is not None else ""
            raise InvalidParameterError(f"every parameter must be given once, got {quoted(key)} twice{remedy}")
        given[key] = value
    wanted = {*kind.parameters, *(("p_anchor",) if anchored else ())}
    missing = [one for one in kind.parameters if one not in given]
    if missing or not set(given) <= wanted:
        raise InvalidParameterError(
            f"the design {quoted(name)} needs the parameters {', '.join(kind.parameters)}, got "
            f"{', '.join(given) or 'none'}; give every parameter as --set NAME=VALUE"
        )
    values = given[kind.parameters[0]].split(",") if kind.many else [given[one] for one in kind.parameters]
    return Design(name, tuple(values), one_sided), given


def _counts(design: Design, answers: dict[str, int | None], counts: str | None) -> list[int]:
    said = {key: value for key, value in answers.items() if value is not None and key != "n"}
    n = answers["n"]
    if counts is not None:
        if said or n is not None:
            raise InvalidParameterError(
                "--reports cannot be used together with --yes, --same, --different or --n: leave out --reports, or "
                "leave out the other four options"
            )
        return _numbers("reports", counts, design.state_size)
    if design.design == "crosswise" and "yes" in said:
        raise InvalidParameterError(
            "--yes must be left out with --design crosswise. Instead, give --same N if N people reported that both "
            "statements are true or both are false, or give --different N if N people reported that exactly one "
            "statement is true"
        )
    allowed = {"same", "different"} if design.design == "crosswise" else {"yes"}
    if len(said) != 1 or not set(said) <= allowed or n is None or design.state_size != 2 or design.k != 2:
        two = f"--{' N or --'.join(sorted(allowed))} N with --n N, or " if design.kind.reports else ""
        raise InvalidParameterError(
            f"the counts must be given as {two}--reports followed by {design.state_size} numbers separated by commas"
        )
    if n < 0:
        raise out_of_range("n", ">= 0", n)
    ((answer, count),) = said.items()
    if not 0 <= count <= n:
        raise out_of_range(answer, f"in 0..{n}", count, f"--n gives {n} people in total")
    return [count, n - count] if answer == "same" else [n - count, count]


def _numbers(name: str, text: str, size: int) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if len(found) != size or min(found) < 0:
        raise InvalidParameterError(
            f"{name} must be {size} whole numbers separated by commas, got {name}={quoted(text)}"
        )
    return found
