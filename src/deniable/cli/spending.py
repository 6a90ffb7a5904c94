"""Command that prints the total of one person's draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli._app import command, note
from deniable.core.privacy import bound_text
from deniable.core.thresholds import exact
from deniable.files.jobs.person import Draw, PersonTotal, float_above, person_ledger
from deniable.survey.collection import short_id


@command("spending")
def spending(
    person: Annotated[str, typer.Option("--person", help="Name of the person on this device.")] = "me",
    add: Annotated[
        list[Path] | None,
        typer.Option("--add", metavar="FILE", help="Merge a ledger of the same person; repeatable."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for a copy of the ledger, for another device.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print, save or merge what one person has spent.

    For contributors. `send` records every draw of a file of one row, before it is made. A total of
    merged ledgers never gets smaller.
    """
    ledger = person_ledger(person)
    for path in add or ():
        note(f"{path}: {ledger.merge(path):,} draws were new")
    if output is not None:
        ledger.save(output)
        note(f"{output}: a copy for another device of the same person; it shows in which surveys this person took part")
    total = ledger.total()
    if as_json:
        typer.echo(json.dumps({"person": person} | total_data(total), indent=2))
        return
    for draw in total.draws:
        kept = "" if draw.memo is None else f", one report of permanent responses {draw.memo.id[:12]}"
        typer.echo(f"{short_id(draw.collection)}: {_alone(draw)}{kept}")
    typer.echo(total_text(total))


def total_text(total: PersonTotal) -> str:
    """Return one sentence with what a person has spent in all."""
    known = " (if the times at which answers changed are known anyway)" if total.times_known else ""
    return f"this person has spent {total.bound} in {len(total.draws):,} draws{known}"


def total_data(total: PersonTotal) -> dict[str, Any]:
    """Return what a person has spent as plain JSON data."""
    epsilon = total.epsilon
    draws = [draw.model_dump(exclude_none=True) for draw in total.draws]
    return {
        "epsilon": None if epsilon is None else float_above(epsilon),
        "times_known": total.times_known,
        "draws": draws,
    }


def _alone(draw: Draw) -> str:
    return f"epsilon = {bound_text(float_above(exact(draw.epsilon)))}" if draw.epsilon else "an epsilon without a bound"
