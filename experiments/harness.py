"""Shared parts of all reproductions: commands, a cache of finished cells, and files of tables and pictures.

An experiment is a function of a `Run`. It asks the run for *cells*, one per setting. Finished cells are stored on disk
under a key that contains everything they depend on, so that an interrupted experiment can be continued.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from deniable.core.outputs import atomic_path
from deniable.core.spec import content_hash
from deniable.errors import DeniableError

Cell = dict[str, Any]


class MissingDataError(DeniableError):
    """A data set is needed, but no directory with data sets was given."""


ASKED: set[str] = set()
"""Names of the data files that this process has asked for."""


def data_file(name: str) -> Path:
    """Return a data file in the directory of the environment variable ``DENIABLE_DATA``.

    Raises
    ------
    MissingDataError
        If the variable is not set, or the directory has no such file.
    """
    ASKED.add(name)
    directory = os.environ.get("DENIABLE_DATA", "")
    if not directory:
        raise MissingDataError(f"{name} is needed: set DENIABLE_DATA to the directory that holds the data sets")
    path = Path(directory) / name
    if not path.is_file():
        raise MissingDataError(
            f"there is no {name} in DENIABLE_DATA={directory}: `python -m experiments data` makes it"
        )
    return path


@dataclass(frozen=True)
class Run:
    """One execution of one experiment.

    Parameters
    ----------
    paper, name : str
        Paper and experiment; also the names of the output folder and of the files.
    output : Path
        Folder of all results.
    runs : int
        Repetitions per cell.
    seed : int
        Seed of the first repetition.
    """

    paper: str
    name: str
    output: Path
    runs: int
    seed: int
    console: Console = field(default_factory=lambda: Console(stderr=False), repr=False)

    @property
    def folder(self) -> Path:
        """Folder of this paper's results, created if missing."""
        folder = self.output / self.paper
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def cells(self, settings: Sequence[Cell], compute: Callable[[Cell], Cell], version: int = 1) -> list[Cell]:
        """Return each setting with its computed values; compute only cells that no earlier run finished.

        Parameters
        ----------
        settings : sequence of dict
            JSON data that `compute` depends on; `runs` and `seed` are added.
        compute : callable
            Setting -> JSON values.
        version : int
            Increase it when the meaning of `compute` changes. Older cells are then ignored.
        """
        cache = self.folder / f".{self.name}.cells.jsonl"
        known = dict(_read_cache(cache))
        full = [{**setting, "runs": self.runs, "seed": self.seed} for setting in settings]
        keys = [content_hash({"version": version, "setting": setting}) for setting in full]
        todo = [(key, setting) for key, setting in zip(keys, full, strict=True) if key not in known]
        if todo:
            columns = (
                TextColumn(f"{self.paper} {self.name}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            with (
                Progress(*columns, console=Console(stderr=True)) as progress,
                cache.open("a", encoding="utf-8") as file,
            ):
                task = progress.add_task("", total=len(full), completed=len(full) - len(todo))
                for key, setting in todo:
                    known[key] = compute(setting)
                    # Values are in the order of their columns, so that tables are the same if their cells were kept.
                    file.write(json.dumps({"key": key, "values": known[key]}) + "\n")
                    file.flush()
                    progress.advance(task)
        return [{**setting, **known[key]} for key, setting in zip(keys, full, strict=True)]

    def save_table(self, rows: Iterable[Mapping[str, Any]], suffix: str = "") -> Path:
        """Write rows to ``<name><suffix>.csv``; columns are in the order of their first appearance."""
        listed = list(rows)
        columns = list(dict.fromkeys(column for row in listed for column in row))
        path = self.folder / f"{self.name}{suffix}.csv"
        with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, restval="")
            writer.writeheader()
            writer.writerows(listed)
        self._remember(path.stem)
        return self._written(path)

    def _remember(self, table: str) -> None:
        """Note in ``commands.json`` which command wrote a table; pages of ``docs/papers`` quote the command."""
        path = self.folder / "commands.json"
        commands = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        commands[table] = f"python -m experiments.{self.paper} {self.name} --runs {self.runs} --seed {self.seed}"
        with atomic_path(path) as temporary:
            temporary.write_text(json.dumps(dict(sorted(commands.items())), indent=1) + "\n", encoding="utf-8")

    def save_figure(self, figure: Figure, suffix: str = "") -> Path:
        """Write a figure to ``<name><suffix>.png``."""
        path = self.folder / f"{self.name}{suffix}.png"
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format="png", dpi=150, bbox_inches="tight", facecolor="white")
        return self._written(path)

    def show(self, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None, title: str = "") -> None:
        """Print rows as a table; numbers have four significant digits."""
        listed = list(rows)
        names = list(columns or dict.fromkeys(column for row in listed for column in row))
        table = Table(*names, title=title or None, title_justify="left")
        for row in listed:
            table.add_row(*(_text(row.get(name, "")) for name in names))
        self.console.print(table)

    def say(self, sentence: str) -> None:
        """Print one sentence about the result."""
        self.console.print(sentence, highlight=False, markup=False)

    def _written(self, path: Path) -> Path:
        self.say(f"wrote {path}")
        return path


@dataclass(frozen=True)
class Experiment:
    """A named reproduction: its title, its default number of runs, and its function.

    ``quick`` is the number of runs of ``--quick``, None if the experiment needs data or takes long.
    """

    name: str
    title: str
    runs: int
    perform: Callable[[Run], None]
    quick: int | None = None


class Paper:
    """The experiments of one paper and their command line.

    Parameters
    ----------
    name : str
        Name of the paper, for instance "cpl"; ``python -m experiments.cpl`` runs `main`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.experiments: dict[str, Experiment] = {}

    def experiment(
        self, name: str, title: str, runs: int = 1, quick: int | None = None
    ) -> Callable[[Callable[[Run], None]], Callable[[Run], None]]:
        """Register a function under the name of a table or figure."""

        def decorate(perform: Callable[[Run], None]) -> Callable[[Run], None]:
            self.experiments[name] = Experiment(name, title, runs, perform, quick)
            return perform

        return decorate

    def run(self, name: str, output: Path, runs: int | None = None, seed: int = 1) -> None:
        """Perform one experiment by name."""
        chosen = self.experiments[name]
        chosen.perform(Run(self.name, name, output, runs or chosen.runs, seed))

    def run_all(
        self, output: Path, runs: int | None = None, seed: int = 1, quick: bool = False
    ) -> tuple[list[str], dict[str, MissingDataError]]:
        """Run all experiments, or all quick ones; return the names of those done, and errors of those without data."""
        done, lacking = [], {}
        for one in self.experiments.values():
            if quick and one.quick is None:
                continue
            try:
                self.run(one.name, output, runs or (one.quick if quick else None), seed)
                done.append(one.name)
            except MissingDataError as error:
                lacking[one.name] = error
        return done, lacking

    def main(self) -> None:
        """Run the command line: ``NAME... [--quick] [--runs N] [--seed N] [-o FOLDER]``, ``all`` or ``list``."""
        import typer

        def command(
            names: list[str] = typer.Argument(help="Names of tables and figures; or 'all', or 'list'."),
            output: Path = typer.Option(Path("results"), "-o", "--output", help="Folder of CSV files and pictures."),
            runs: int = typer.Option(0, "--runs", help="Repetitions per cell; 0: default of the experiment."),
            seed: int = typer.Option(1, "--seed", help="Seed of the first repetition."),
            quick: bool = typer.Option(
                False, "--quick", help="Few repetitions; 'all' skips experiments that need data or take long."
            ),
        ) -> None:
            if names == ["list"]:
                for known in self.experiments.values():
                    typer.echo(f"{known.name:<24} {known.title}")
                return
            for name in names if names != ["all"] else ():
                if name not in self.experiments:
                    raise typer.BadParameter(
                        f"must be 'all', 'list' or one of {', '.join(self.experiments)}, got {name!r}"
                    )
            try:
                if names == ["all"]:
                    for name, missing in self.run_all(output, runs or None, seed, quick)[1].items():
                        typer.echo(f"left out: {name}: {missing}", err=True)
                    return
                for name in names:
                    self.run(name, output, runs or (self.experiments[name].quick if quick else None), seed)
            except DeniableError as error:
                typer.echo(f"error: {error}", err=True)
                raise typer.Exit(2) from error
            except KeyboardInterrupt:
                typer.echo("interrupted: finished cells are kept; run the same command again to continue", err=True)
                sys.exit(130)

        typer.run(command)


def _read_cache(path: Path) -> Iterable[tuple[str, Cell]]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # an interruption cut this line
        yield entry["key"], entry["values"]


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
