"""Command for authors of mechanisms: `bench compare`."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from deniable.cli._app import check_outputs, command, console, progress, writing
from deniable.core.outputs import write_text
from deniable.errors import InvalidParameterError, quoted
from deniable.report.parts.table import Table
from deniable.report.text import print_line, print_lines
from deniable.research.comparison.comparing import candidate, compare as run_comparison


class Action(StrEnum):
    """Actions of the command."""

    compare = "compare"


@command("bench")
def bench(
    action: Annotated[Action, typer.Argument(metavar="ACTION", help="Action: compare.")],  # noqa: ARG001
    candidates: Annotated[
        list[str],
        typer.Argument(metavar="CANDIDATES...", help="FILE.py:FUNCTION, LIBRARY/NAME of another library, or a NAME."),
    ],
    epsilon: Annotated[float, typer.Option("--epsilon", help="Budget of every candidate.")] = 1.0,
    k: Annotated[
        int, typer.Option("--k", help="Number of values; frequencies fall as 1/1, 1/2, ..., 1/k.", min=2)
    ] = 16,
    frequencies: Annotated[
        str | None,
        typer.Option("--frequencies", metavar="A,B,...", help="Frequencies of the values instead; they must sum to 1."),
    ] = None,
    contributors: Annotated[int, typer.Option("--contributors", help="Contributors in a run.", min=1)] = 10_000,
    runs: Annotated[int, typer.Option("--runs", help="Number of runs.", min=2)] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Seed of data and of randomness.", min=0)] = 1,
    peers: Annotated[
        Path | None, typer.Option("--peers", metavar="VENV", help="Environment where other libraries are installed.")
    ] = None,
    latex: Annotated[Path | None, typer.Option("--latex", help="Also write a table for LaTeX (booktabs).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Compare mechanisms on the same data and seeds.

    For authors of mechanisms. FUNCTION takes k and epsilon and returns two functions: one from a value
    to a report, and one from a list of reports to k frequencies. Laws of such a mechanism are tested.
    """
    check_outputs([], latex)
    if frequencies is None:
        law = 1 / np.arange(1, k + 1)
        law /= law.sum()
    else:
        try:
            law = np.array([float(one) for one in frequencies.split(",")])
        except ValueError:
            raise InvalidParameterError(
                f"frequencies must be numbers, such as .5,.3,.2, got {quoted(frequencies)}"
            ) from None
    python = None if peers is None else peers / "bin" / "python"
    chosen = [candidate(text, len(law), epsilon, python) for text in candidates]
    with progress("comparing", quiet=as_json):
        found = run_comparison(chosen, law, epsilon, contributors, runs, seed)
    if latex is not None:
        with writing(latex):
            write_text(latex, found.latex())
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, allow_nan=False))
        return
    columns = [
        [row.name for row in found.rows],
        [f"{row.mse:.3g}" for row in found.rows],
        [f"{row.mse_error:.1g}" for row in found.rows],
        [f"{row.mae:.3g}" for row in found.rows],
        [f"{row.largest:.3g}" for row in found.rows],
        [f"{row.bias:.1f}" for row in found.rows],
        [row.laws.partition(":")[0] or "not tested" for row in found.rows],
    ]
    header = ["mechanism", "MSE", "±", "MAE", "largest", "bias", "laws"]
    print_lines(console(), Table.of(header, columns).lines(console().width))
    print_line(console(), found.caption)
    for row in found.rows:
        if row.laws not in ("", "hold"):
            print_line(console(), f"{row.name} breaks {row.laws}")
