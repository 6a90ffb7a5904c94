"""The commands over all papers: list them, run them, get their data, measure their times."""

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
    "jrr": "joint randomised response",
    "cpl": "correlation-induced leakage",
    "answers": "questions of an estimate: ordered answers, cross tables",
}
"""Package below ``experiments`` -> what its paper is about; each has a page in docs/papers."""

MEASURED = Path(__file__).with_name("measured.json")

app = typer.Typer(add_completion=False, no_args_is_help=False)


def paper(name: str) -> Paper:
    """Return a paper's experiments."""
    found: Paper = import_module(f"experiments.{name}.__main__").PAPER
    return found


def measured() -> dict[str, dict[str, dict[str, Any]]]:
    """Return for every command its processor seconds and the data files it reads."""
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return found


def cost(name: str, experiment: str, output: Path, seed: int) -> dict[str, Any]:
    """Run one command; return this process's processor seconds and the data it asked for."""
    paper(name).run(experiment, output, seed=seed)
    return {"seconds": round(time.process_time(), 1), "data": sorted(ASKED)}


def span(seconds: float | None) -> str:
    """Return a time as people say it.

    >>> span(0.4), span(12.3), span(95), span(None)
    ('1 s', '12 s', '1.6 min', 'not measured')
    """
    if seconds is None:
        return "not measured"
    return f"{max(1, round(seconds))} s" if seconds < 60 else f"{seconds / 60:.1f} min"


@app.callback(invoke_without_command=True)
def overview(context: typer.Context) -> None:
    """List every paper and command, with the processor time it takes and the data it reads."""
    if context.invoked_subcommand is not None:
        return
    times = measured()
    table = Table("command", "what", "time", "data", title="python -m experiments.PAPER NAME", title_justify="left")
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
        f"Times: one core of a shared 2.6 GHz machine, at the runs each command has by itself; {span(total)} in all.\n"
        "python -m experiments all [--quick]: everything whose data are there; --quick: no data, within 60 s.\n"
        "python -m experiments data: verify the data sets in DENIABLE_DATA, and make those that are missing.",
        highlight=False,
    )


@app.command("all")
def run_all(
    output: Path = typer.Option(Path("results"), "-o", "--output", help="Folder of CSV files and pictures."),
    runs: int = typer.Option(0, "--runs", help="Repetitions per cell; 0 takes each command's own number."),
    seed: int = typer.Option(1, "--seed", help="Seed of the first repetition."),
    quick: bool = typer.Option(False, "--quick", help="Only what needs no data and is done at once, with two runs."),
) -> None:
    """Run every command of every paper whose data are there."""
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
    names: list[str] = typer.Argument(None, help="Data files; all of them by default."),
    folder: Path = typer.Option(None, "--folder", help="Where they lie; by default DENIABLE_DATA."),
) -> None:
    """Verify the data sets that are there, and make the others from their public origin."""
    place = folder or Path(os.environ.get("DENIABLE_DATA", "") or "data")
    unknown = [name for name in names or () if name not in data_sets()]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(data_sets())}")
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
    names: list[str] = typer.Argument(None, help="Papers, or PAPER/COMMAND; all papers by default."),
    output: Path = typer.Option(None, "-o", "--output", help="Folder for the results; by default they are not kept."),
    seed: int = typer.Option(1, "--seed", help="Seed of the first repetition."),
) -> None:
    """Run every command in a process of its own and write its time and its data to measured.json."""
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
