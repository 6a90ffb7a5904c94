"""Estimates of classical designs from counts on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deniable.cli._app import check_outputs, print_result
from deniable.designs import Design, crosswise_anchor
from deniable.designs.kinds import KINDS
from deniable.errors import InvalidParameterError, out_of_range, quoted, unknown_name
from deniable.report import anchor_page, design_page


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
    """Print the estimate of a design; `answers` has the values of --yes, --same, --different and --n."""
    check_outputs([], plot, html)
    design, given = _design(name, p, settings, anchor is not None)
    if anchor is not None:
        if name != "crosswise" or counts is not None or any(value is not None for value in answers.values()):
            raise InvalidParameterError(
                "anchor must be given with --design crosswise and no other counts, got others: leave them out"
            )
        cells = _numbers("anchor", anchor, 4)
        found: Any = crosswise_anchor(given["p"], given.get("p_anchor", given["p"])).estimate(
            *cells, confidence=confidence
        )
        print_result(found, anchor_page(design, found, sum(cells), confidence), as_json, plot, html, verbose=verbose)
        return
    found = design.estimate_counts(_counts(design, answers, counts), confidence=confidence)
    print_result(found, design_page(design, found), as_json, plot, html, verbose=verbose)


def _design(name: str, p: str | None, settings: Sequence[str], anchored: bool) -> tuple[Design, dict[str, str]]:
    if name not in KINDS:
        raise unknown_name("design", name, KINDS)
    kind, given = KINDS[name], {} if p is None else {"p": p}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or key in given:
            raise InvalidParameterError(f"set must be NAME=VALUE, each name once, got set={quoted(setting)}")
        given[key] = value
    wanted = {*kind.parameters, *(("p_anchor",) if anchored else ())}
    missing = [one for one in kind.parameters if one not in given]
    if missing or not set(given) <= wanted:
        raise InvalidParameterError(
            f"design must have its own parameters, got design={quoted(name)} with {', '.join(given) or 'none'}; "
            f"give {', '.join(kind.parameters)} as --set NAME=VALUE"
        )
    values = given[kind.parameters[0]].split(",") if kind.many else [given[one] for one in kind.parameters]
    return Design(name, tuple(values)), given


def _counts(design: Design, answers: dict[str, int | None], counts: str | None) -> list[int]:
    said = {key: value for key, value in answers.items() if value is not None and key != "n"}
    n = answers["n"]
    if counts is not None:
        if said or n is not None:
            raise InvalidParameterError("reports must be given alone, or --yes, --same or --different with --n")
        return _numbers("reports", counts, design.state_size)
    if design.design == "crosswise" and "yes" in said:
        raise InvalidParameterError(
            "yes must be left out for crosswise, got --yes; say --same N (both statements true, or neither) or "
            "--different N (exactly one): one is the opposite of the other"
        )
    allowed = {"same", "different"} if design.design == "crosswise" else {"yes"}
    if len(said) != 1 or not set(said) <= allowed or n is None or design.state_size != 2 or design.k != 2:
        two = f"--{' N or --'.join(sorted(allowed))} N with --n N, or " if design.kind.reports else ""
        raise InvalidParameterError(
            f"counts must be given as {two}--reports with {design.state_size} numbers separated by commas"
        )
    ((answer, count),) = said.items()
    if not 0 <= count <= n:
        raise out_of_range(answer, f"in 0..{n}", count)
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
