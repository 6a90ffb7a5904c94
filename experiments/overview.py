"""Commands for all papers: list and run experiments, make data sets, measure times."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from deniable.errors import DeniableError
from experiments.data_sets import DataError, data_sets, prepare
from experiments.harness import ASKED, Paper

PAPERS = {
    "ocms": "Pan: the optimised count-mean sketch",
    "corr_rr": "Seeam, Zheng, Hu: correlated attributes in two phases",
    "jrr": "Zheng, Seeam, Hu, Zhang, Zhang: joint randomised response",
    "cpl": "The Hidden Cost of Correlation: correlation-induced leakage",
    "answers": "This library: ordered answers, tables of two questions",
}
"""Package below ``experiments`` -> authors and topic of its paper; each has a page in docs/papers."""

MEASURED = Path(__file__).with_name("measured.json")

app = typer.Typer(add_completion=False, no_args_is_help=False)


def paper(name: str) -> Paper:
    """Return a paper's experiments."""
    found: Paper = import_module(f"experiments.{name}.__main__").PAPER
    return found


def measured() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the processor seconds and data files of each command."""
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return found


def cost(name: str, experiment: str, output: Path, seed: int) -> dict[str, Any]:
    """Run one command; return this process's processor seconds and the data files that it read."""
    paper(name).run(experiment, output, seed=seed)
    return {"seconds": round(time.process_time(), 1), "data": sorted(ASKED)}


def span(seconds: float | None) -> str:
    """Return a time in words, in seconds or minutes.

    >>> span(0.4), span(12.3), span(95), span(None)
    ('1 s', '12 s', '1.6 min', 'not measured')
    """
    if seconds is None:
        return "not measured"
    return f"{max(1, round(seconds))} s" if seconds < 60 else f"{seconds / 60:.1f} min"


@app.callback(invoke_without_command=True)
def overview(context: typer.Context) -> None:
    """List all commands by paper, with the processor time and data files of each."""
    if context.invoked_subcommand is not None:
        return
    times = measured()
    table = Table("command", "topic", "time", "data", title="python -m experiments.PAPER NAME", title_justify="left")
    total = 0.0
    for name, about in PAPERS.items():
        table.add_row(f"[bold]{name}[/bold]", f"[bold]{about}[/bold]; docs/papers/{name}.md", "", "")
        for experiment in paper(name).experiments.values():
            entry = times[name].get(experiment.name, {})
            total += entry.get("seconds", 0.0)
            table.add_row(
                f"  {experiment.name}", experiment.title, span(entry.get("seconds")), ", ".join(entry.get("data", []))
            )
    console = Console()
    console.print(table)
    console.print(
        f"Times are for one core of a shared 2.6 GHz machine, with default runs; {span(total)} in all.\n"
        "python -m experiments all: run each command whose data are there. With --quick: no data, within 60 s.\n"
        "python -m experiments data: verify the data sets in DENIABLE_DATA and make missing ones.",
        highlight=False,
    )


@app.command("all")
def run_all(
    output: Path = typer.Option(Path("results"), "-o", "--output", help="Folder of CSV files and pictures."),
    runs: int = typer.Option(0, "--runs", help="Repetitions per cell; 0: default of each command."),
    seed: int = typer.Option(1, "--seed", help="Seed of the first repetition."),
    quick: bool = typer.Option(False, "--quick", help="Only short commands that need no data, with few runs."),
) -> None:
    """Run each command whose data are there, for all papers."""
    started = time.process_time()
    done, lacking = 0, dict[str, str]()
    for name in PAPERS:
        performed, missing = paper(name).run_all(output, runs or None, seed, quick)
        done += len(performed)
        lacking |= {f"{name} {one}": str(error) for one, error in missing.items()}
    for command, error in lacking.items():
        typer.echo(f"left out: {command}: {error}")
    typer.echo(f"{done} commands in {time.process_time() - started:.0f} s of processor time.")


@app.command()
def data(
    names: list[str] = typer.Argument(None, help="Names of data files; default: all."),
    folder: Path = typer.Option(None, "--folder", help="Folder of the data files; default: DENIABLE_DATA."),
) -> None:
    """Verify the data sets that are there and make missing ones from their public origin."""
    place = folder or Path(os.environ.get("DENIABLE_DATA", "") or "data")
    unknown = [name for name in names or () if name not in data_sets()]
    if unknown:
        raise typer.BadParameter(f"must be one of {', '.join(data_sets())}, got {unknown[0]!r}")
    table = Table("file", "what", "rows x columns", "state", "may be passed on", title=str(place), title_justify="left")
    failed = []
    for name, one in data_sets().items():
        if names and name not in names:
            continue
        try:
            state = prepare(one, place)
        except DataError as error:
            state = "no"
            failed.append(str(error))
        share = f"{'yes' if one.share else 'NO'}: {one.licence}"
        table.add_row(name, f"{one.title}\n{one.page}", f"{one.rows:,} x {len(one.columns) or '-'}", state, share)
    Console().print(table)
    typer.echo("None of these files belongs to this project. Before you pass one on, read its licence at its origin.")
    typer.echo(f"export DENIABLE_DATA={place}")
    for sentence in failed:
        typer.echo(f"error: {sentence}", err=True)
    if failed:
        raise typer.Exit(2)


@app.command()
def measure(
    names: list[str] = typer.Argument(None, help="PAPER or PAPER/COMMAND, repeatable; default: all papers."),
    output: Path = typer.Option(None, "-o", "--output", help="Folder for the results; default: results are deleted."),
    seed: int = typer.Option(1, "--seed", help="Seed of the first repetition."),
) -> None:
    """Run each command in its own process; write its time and data files to measured.json."""
    chosen = [tuple(name.split("/")) for name in names or PAPERS]
    for name, *only in chosen:
        for one in only or paper(name).experiments:
            with tempfile.TemporaryDirectory() as scratch, get_context("spawn").Pool(1) as pool:
                entry = pool.apply(cost, (name, one, output or Path(scratch), seed))
            found = measured()
            known = {**found[name], one: entry}
            found[name] = {each: known[each] for each in paper(name).experiments if each in known}
            MEASURED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main(arguments: Iterable[str] | None = None) -> None:
    """Run the command line."""
    try:
        app(None if arguments is None else list(arguments))
    except DeniableError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
