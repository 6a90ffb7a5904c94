"""Functions that print and write a collection."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli._app import console, note, writing
from deniable.core.privacy import bound_text
from deniable.core.spec import to_spec
from deniable.errors import OutputError
from deniable.report.page import Card, shorten, visible
from deniable.report.text import print_line
from deniable.survey.collection import Collection
from deniable.survey.inspection import Inspection, inspect_collection

if TYPE_CHECKING:
    from deniable.files.jobs.spending import Spending


def print_guarantee(found: Inspection) -> None:
    """Print the guarantee: the whole contributor's epsilon, and below it the odds in plain words."""
    headline, *rows = found.guarantee.lines(found.collection.schema.names, found.collection.schema.several)
    screen = console()
    print_line(screen, headline)
    for sentence in found.sentences:
        print_line(screen, f"  {visible(sentence)}")
    for row in rows:
        print_line(screen, row)


def warn(found: Inspection) -> None:
    """Print warnings that contributors should read before they report, on stderr."""
    for warning in found.warnings:
        note(f"warning: {warning}")


def note_total(spending: Spending) -> None:
    """Print the total that contributors with earlier spending will have spent.

    Call it before anything is drawn.
    """
    if spending.earlier:
        note(f"warning: {spending.text}")


def spent_text(n: int, spending: Spending) -> str:
    """Return a sentence about what every contributor has spent, in this collection and in all collections."""
    epsilon = spending.collection.privacy().epsilon
    own = (
        f"epsilon = {bound_text(epsilon)}"
        if math.isfinite(epsilon)
        else "an epsilon that depends on who colludes: see the guarantee"
    )
    total = f", and {spending.bound} in all {len(spending.earlier) + 1} collections of these answers"
    return f"{n:,} contributors have each spent {own}{total if spending.earlier else ''}"


def print_spent(found: Inspection, spending: Spending | None, result: dict[str, Any]) -> None:
    """Print a result as JSON, with the guarantee and, if known, what every contributor has spent in all."""
    total = {"guarantee": found.to_dict()["guarantee"], "spent": None if spending is None else spending.to_dict()}
    typer.echo(json.dumps(result | total, indent=2, ensure_ascii=False, allow_nan=False))


def save_collection(result: Collection, output: Path, force: bool) -> None:
    """Write a collection.

    Raise OutputError if the file has other content and `force` is False.
    """
    if output.exists() and not force and output.read_text(encoding="utf-8", errors="replace") != result.to_json():
        raise OutputError(
            f"{output} exists with different content, and contributors may be using this file: choose another name, or "
            "overwrite the file with --force"
        )
    with writing(output):
        result.save(output)


def print_collection(result: Collection) -> None:
    """Print the id, the mechanism with its parameters (long values are cut), and the guarantee in one line."""
    screen = console()
    found = inspect_collection(result)
    parameters = ", ".join(
        f"{key}={shorten(_plain(value), _PARAMETER)}"
        for key, value in to_spec(result.mechanism).items()
        if key != "mechanism"
    )
    print_line(screen, f"collection: {result.id}")
    print_line(screen, f"mechanism: {result.mechanism.name} ({parameters})")
    print_line(screen, Card.promised(found.guarantee, ()).brief)
    warn(found)


def _plain(value: Any) -> str:
    if isinstance(value, dict) and "mechanism" in value:
        # A mechanism inside another mechanism takes its domain and its budget from the outer one.
        free = [str(item) for key, item in value.items() if key not in ("mechanism", "k", "epsilon")]
        return f"{value['mechanism']}({', '.join(free)})" if free else str(value["mechanism"])
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return f"[{', '.join(map(_plain, value))}]"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_PARAMETER = 200
"""Longest parameter that is printed. Learned tables of many attributes can be read in the file."""
