"""One cell: a setting, many repetitions, the mean squared error of every method and its Monte-Carlo error."""

from __future__ import annotations

import math

import numpy as np

from deniable import SimulationRandomness
from experiments.corr_rr.methods import Setting, errors, estimates, two_phases
from experiments.corr_rr.populations import People, synthetic
from experiments.corr_rr.real import ENCODINGS, sample
from experiments.harness import Cell
from experiments.ocms.statistics import randomness


def draw(cell: Cell, rng: SimulationRandomness) -> People:
    """Draw the contributors of one repetition: new ones each time, if the data are synthetic."""
    if cell["data"] in ENCODINGS:
        return sample(cell, rng)
    source = synthetic(cell["data"], cell["source"], cell["k"], cell["d"], cell["rho"], rng.generator)
    return source.draw(cell["n"], rng.generator)


def repetitions(cell: Cell) -> list[dict[str, float]]:
    """Return the errors in every repetition: of every method, or if the cell is `brief` of those with printed cells."""
    result = []
    for run in range(cell["runs"]):
        rng = randomness(cell, run)
        group = draw(cell, rng)
        n1 = round(cell["share"] * group.n)
        setting = Setting(cell["epsilon"], n1, cell.get("known_priors", False))
        if cell.get("brief", False):
            result.append(errors(group.frequencies, two_phases(group, setting, rng), ["raw"]))
        else:
            result.append(errors(group.frequencies, estimates(group, setting, rng)))
    return result


def summary(repeated: list[dict[str, float]]) -> Cell:
    """Return {line: [mean, standard deviation of one repetition]}."""
    table = {line: np.array([one[line] for one in repeated]) for line in repeated[0]}
    return {
        "mse": {
            line: [float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else math.nan]
            for line, values in table.items()
        }
    }


def measure(cell: Cell) -> Cell:
    """Measure one cell."""
    return summary(repetitions(cell))


def rows_of(cells: list[Cell]) -> list[Cell]:
    """Return one row per cell and line: the setting, the mean squared error and its Monte-Carlo error."""
    rows: list[Cell] = []
    for cell in cells:
        setting = {name: value for name, value in cell.items() if name not in ("mse", "quantiles")}
        for key, (mean, deviation) in cell["mse"].items():
            method, post = key.split("|")
            rows.append(
                setting | {"method": method, "post": post, "mse": mean, "error": deviation / cell["runs"] ** 0.5}
            )
    return rows
