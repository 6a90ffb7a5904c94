"""Tables of all pairs: each method on each held-out setting, run once."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deniable.core.outputs import atomic_path
from experiments.answers.pair_methods import METHODS, REFERENCE, all_tables, best_views, error
from experiments.answers.paper import PAPER
from experiments.answers.populations import population
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, INK, VERMILLION, dress, panels

HELD_OUT = ("nursery", "mushroom", "womens_clothing", "drug_consumption", "clave")
EPSILONS = (0.7, 1.5, 3.0)
NUMBERS = (2_000, 20_000, 200_000)


def settings(names: tuple[str, ...]) -> list[Cell]:
    """Return each data set at each epsilon and number of contributors."""
    return [{"data": name, "epsilon": e, "n": n} for name in names for e in EPSILONS for n in NUMBERS]


def one(cell: Cell) -> Cell:
    """Return each method's mean summed squared error of a table; contributors are drawn with replacement."""
    people = population(cell["data"])
    errors: defaultdict[str, list[float]] = defaultdict(list)
    for run in range(cell["runs"]):
        seed = cell["seed"] * 1_000 + run
        held = people.draw(cell["n"], np.random.default_rng([seed, cell["n"]]))
        tables = all_tables(people, held, cell["epsilon"], seed)
        for name, found in tables.items():
            errors[name].append(error(found, lambda i, j, held=held: people.table(held, i, j)))  # type: ignore[misc]
    return {
        "largest view": len(best_views(people.sizes, cell["epsilon"])[0]),
        **{name: float(np.mean(errors[name])) for name in METHODS},
    }


def ratios(cells: list[Cell]) -> dict[str, Any]:
    """Return each method's ratios to the reference over all cells."""
    found = {name: np.array([cell[name] / cell[REFERENCE] for cell in cells]) for name in METHODS}
    best = np.min([found[name] for name in METHODS], axis=0)
    return {
        name: {
            "geometric mean": float(np.exp(np.log(ratio).mean())),
            "median": float(np.median(ratio)),
            "worst": float(ratio.max()),
            "to the best, geometric mean": float(np.exp(np.log(ratio / best).mean())),
            "to the best, worst": float((ratio / best).max()),
        }
        for name, ratio in found.items()
    }


def report(run: Run, names: tuple[str, ...]) -> None:
    """Compute, tabulate and draw."""
    cells = run.cells(settings(names), one)
    rows = [{"method": name, **numbers} for name, numbers in ratios(cells).items()]
    run.show(rows, title=f"squared error of all pair tables, to {REFERENCE!r}, {len(cells)} settings")
    run.save_table(rows)
    run.save_table(cells, "-settings")
    path = run.folder / f"{run.name}.json"
    with atomic_path(path) as temporary:
        temporary.write_text(
            json.dumps({"settings": cells, "ratios": ratios(cells)}, indent=1) + "\n", encoding="utf-8"
        )
    run.save_figure(picture(cells))


def picture(cells: list[Cell]) -> Figure:
    """Draw each setting's ratio to the reference, with one row of dots per method."""
    shown = [name for name in METHODS if name != REFERENCE]
    figure, (axes,) = panels(1, 8, 0.42 * len(shown) + 1.2)
    for row, name in enumerate(shown):
        ratio = np.array([cell[name] / cell[REFERENCE] for cell in cells])
        axes.plot(ratio, np.full(len(ratio), row), "|", color=BLUE, markersize=12, alpha=0.6)
        axes.plot(np.exp(np.log(ratio).mean()), row, "o", color=VERMILLION, markersize=6)
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), shown)
    axes.invert_yaxis()
    dress(axes, x=f"squared error of all pair tables over that of '{REFERENCE}'; dots: geometric means")
    return figure


@PAPER.experiment("pair-tables", "Error of all pair tables: ten methods on five held-out data sets", runs=5)
def pair_tables(run: Run) -> None:
    """Run each method on each held-out setting."""
    report(run, HELD_OUT)


@PAPER.experiment(
    "pair-tables-public", "Error of all pair tables on a built-in distribution (no data)", runs=5, quick=1
)
def pair_tables_public(run: Run) -> None:
    """Run each method on a built-in distribution."""
    report(run, ("public",))
