"""Proposals of the papers without printed numbers (3.3.2 to 3.3.6), with one phase one, against Corr-RR."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from matplotlib.ticker import NullFormatter

from deniable import Aggregate, CorrRR, RecordEstimate, SimulationRandomness
from deniable.errors import TooLargeError
from deniable.records import combine
from deniable.records.phases.refinement import refine
from deniable.research.records.combined_rounds import combine_rounds
from deniable.research.records.cond_rr import CondRR
from deniable.research.records.grouping import GroupedCorrRR
from deniable.research.records.two_pivots import TwoPivotRR
from experiments.corr_rr.layouts import OPEN_SHARE
from experiments.corr_rr.measure import draw, rows_of, summary
from experiments.corr_rr.methods import DEFAULT, errors, recommended, simulated
from experiments.corr_rr.paper import PAPER
from experiments.corr_rr.pictures import dress, panels
from experiments.corr_rr.populations import Floats, People
from experiments.harness import Cell, Run
from experiments.ocms.statistics import randomness

ROUNDS = 4
"""Rounds of the refinement; in each, a tenth of the round's contributors are in phase one."""

QUANTILES = (0.1, 0.5, 0.9)
"""Quantiles of the errors over the runs. A nearly singular matrix from phase one makes means depend on few runs."""

Learn = Callable[[Aggregate, int], Any]

LEARNED: dict[str, Learn] = {
    "Corr-RR": CorrRR.learn,
    "Corr-RR as printed": lambda first, n2: CorrRR.learn(first, n2, as_printed=True),
    "Corr-RR joint": lambda first, n2: CorrRR.learn(first, n2, "joint"),
    "Corr-RR groups": GroupedCorrRR.learn,
    "Corr-RR two groups": lambda first, n2: GroupedCorrRR.learn(first, n2, groups=2),
    "two pivots": TwoPivotRR.learn,
    "Cond-RR": CondRR.learn,
}
"""Mechanisms of phase two, by the method that learns them from SPL's pair tables."""

READINGS: dict[str, tuple[str, str]] = {
    "Corr-RR": ("Corr-RR", "estimate"),
    "Corr-RR as printed": ("Corr-RR as printed", "estimate"),
    "Corr-RR joint": ("Corr-RR joint", "estimate"),
    "Corr-RR joint unmixed": ("Corr-RR joint", "unmixed"),
    "Corr-RR groups": ("Corr-RR groups", "estimate"),
    "Corr-RR two groups": ("Corr-RR two groups", "estimate"),
    "two pivots": ("two pivots", "debiased"),
    "two pivots unmixed": ("two pivots", "unmixed"),
    "Cond-RR": ("Cond-RR", "unmixed"),
    "Cond-RR levelled": ("Cond-RR", "levelled"),
    "Cond-RR debiased": ("Cond-RR", "debiased"),
}
"""Name -> (mechanism, estimator); unmixed estimates are unbiased. The papers print an estimator for Corr-RR only."""

SETTINGS: dict[str, Cell] = {
    "rho .1": {"data": "SynA", "source": "as_described", "rho": 0.1, "epsilon": 0.5},
    "rho .9": {"data": "SynA", "source": "as_described", "rho": 0.9, "epsilon": 0.5},
    "rho .9, epsilon 3": {"data": "SynA", "source": "as_described", "rho": 0.9, "epsilon": 3.0},
    "equal marginals": {"data": "SynA", "source": "equal_marginals", "rho": 0.9, "epsilon": 0.5},
    "Adult": {"data": "Adult", "epsilon": 0.5},
    "Mushroom 9, epsilon 3": {"data": "Mushroom 9", "epsilon": 3.0},
}


def refined(group: People, epsilon: float, rng: SimulationRandomness) -> RecordEstimate:
    """Return the combined estimate of all rounds; each round repeats phase one and relearns P from all data so far."""
    aggregates: list[Aggregate] = []
    for rounds in range(ROUNDS, 0, -1):
        own, group = group.split(group.n // rounds, rng.generator) if rounds > 1 else (group, group)
        first, second = own.split(own.n // 10, rng.generator)
        aggregates.append(simulated(CorrRR.phase_one(group.sizes, epsilon), first, rng))
        aggregates.append(simulated(refine(aggregates, second.n), second, rng))
    return combine_rounds(aggregates)


def variants(group: People, epsilon: float, n1: int, rng: SimulationRandomness) -> dict[str, RecordEstimate]:
    """Collect from the same contributors with all variants."""
    first_group, second_group = group.split(n1, rng.generator)
    first = simulated(CondRR.phase_one(group.sizes, epsilon), first_group, rng)
    one = first.mechanism.estimate(first)
    found: dict[str, RecordEstimate] = {}
    reports: dict[str, Aggregate] = {}
    for name, learn in LEARNED.items():
        reports[name] = simulated(learn(first, second_group.n), second_group, rng)
    for name, (source, reading) in READINGS.items():
        with suppress(TooLargeError):  # two pivots are too large for large records
            found[name] = combine(one, getattr(reports[source].mechanism, reading)(reports[source]))
    default = simulated(recommended(group.sizes, epsilon), group, rng)
    return found | {
        "Corr-RR, four rounds": refined(group, epsilon, rng),
        "default": default.mechanism.estimate(default),
    }


def measure(cell: Cell) -> Cell:
    """Measure one setting."""
    repeated = []
    for run in range(cell["runs"]):
        rng = randomness(cell, run)
        group = draw(cell, rng)
        found = variants(group, cell["epsilon"], round(cell["share"] * group.n), rng)
        repeated.append(errors(group.frequencies, found))
    quantiles = {line: np.quantile([one[line] for one in repeated], QUANTILES).tolist() for line in repeated[0]}
    return summary(repeated) | {"quantiles": quantiles}


@PAPER.experiment("variants", "Sections 3.3.2-3.3.6: Cond-RR, groups, rounds and two pivots, against Corr-RR", runs=40)
def run_variants(run: Run) -> None:
    """Measure the proposals that have no printed numbers."""
    base: Cell = {"k": 4, "d": 4, "n": 20_000}
    settings = [
        (base if "source" in setting else {}) | setting | {"share": 0.1, "setting": name}
        for name, setting in SETTINGS.items()
    ]
    cells = run.cells(settings, measure, version=2)
    run.save_table(rows_of(cells))
    spread = [
        {"setting": cell["setting"], "method": line.split("|")[0], "post": line.split("|")[1]}
        | {"mean": cell["mse"][line][0]}
        | {f"{level:.0%}": value for level, value in zip(QUANTILES, cell["quantiles"][line], strict=True)}
        for cell in cells
        for line in cell["quantiles"]
    ]
    run.save_table(spread, "-quantiles")
    names = list(dict.fromkeys(key.split("|")[0] for key in cells[0]["mse"]))
    lines = {name: f"{name}|simplex" for name in names} | {"default, decoded": DEFAULT}
    table = [
        {"method": name} | {cell["setting"]: f"{_mean(cell, line):.1e}".replace("e-0", "e-") for cell in cells}
        for name, line in lines.items()
    ]
    run.show(table, title=f"mean squared error after projection onto the simplex, {run.runs} runs")
    run.save_figure(_picture(lines, cells))
    run.say(OPEN_SHARE)


def _mean(cell: Cell, line: str) -> float:
    return float(cell["mse"].get(line, [math.nan])[0])


def _picture(lines: dict[str, str], cells: list[Cell]) -> Any:
    figure, axes = panels(2, 3, height=3.6, width=10.5)
    labels, places = list(lines), np.arange(len(lines))
    colours = ["#D55E00" if name == "Corr-RR" else "#1a1a1a" if "default" in name else "#0072B2" for name in labels]
    for panel, cell in zip([panel for row in axes for panel in row], cells, strict=True):
        values: Floats = np.array([_mean(cell, line) for line in lines.values()])
        panel.scatter(values, places, c=colours, s=22, zorder=3)
        panel.set_xscale("log")
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.set_ylim(len(lines) - 0.5, -0.5)
        panel.set_yticks(places, labels)
        dress(panel, cell["setting"], "mean squared error, projected")
    return figure
