"""One cell: a setting, its repetitions, and the mean squared error of each method with its Monte-Carlo error."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from deniable import SimulationRandomness
from experiments.corr_rr.methods import Setting, errors, estimates, four, two_phases
from experiments.corr_rr.populations import People, synthetic
from experiments.corr_rr.real import ENCODINGS, sample
from experiments.harness import Cell
from experiments.ocms.statistics import randomness


def draw(cell: Cell, rng: SimulationRandomness) -> People:
    """Draw the contributors of one repetition; synthetic data are drawn anew in each repetition."""
    if cell["data"] in ENCODINGS:
        return sample(cell, rng)
    source = synthetic(cell["data"], cell["source"], cell["k"], cell["d"], cell["rho"], rng.generator)
    return source.draw(cell["n"], rng.generator)


def repetitions(cell: Cell) -> list[dict[str, float]]:
    """Return the errors of each repetition for all methods, or raw for the methods that the cell asks for.

    A cell marked `brief` has the methods with printed cells. A cell marked `four` has the paper's four mechanisms.
    """
    result = []
    for run in range(cell["runs"]):
        rng = randomness(cell, run)
        group = draw(cell, rng)
        n1 = round(cell["share"] * group.n)
        setting = Setting(cell["epsilon"], n1, cell.get("known_priors", False))
        if cell.get("brief", False):
            result.append(errors(group.frequencies, two_phases(group, setting, rng), ["raw"]))
        elif cell.get("four", False):
            result.append(errors(group.frequencies, four(group, setting, rng), ["raw"]))
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


class Ratio(NamedTuple):
    """A ratio of two mean errors.

    Parameters
    ----------
    value, error : float
        The ratio and its standard error.
    """

    value: float
    error: float

    def verdict(self, low: float, high: float) -> str:
        """Return "yes" (or "no") if two standard errors inside (or outside) the bounds, else "undecided"."""
        wide = 2 * self.error
        if low + wide <= self.value <= high - wide:
            return "yes"
        return "no" if self.value < low - wide or self.value > high + wide else "undecided"


def together(cell: Cell) -> Cell:
    """Measure a cell and keep the covariances of one repetition's errors, because methods share contributors."""
    return moments(repetitions(cell))


def moments(repeated: list[dict[str, float]]) -> Cell:
    """Return means and covariances of the errors of one repetition."""
    lines = list(repeated[0])
    values = np.array([[one[line] for line in lines] for one in repeated])
    return {"lines": lines, "mean": values.mean(axis=0).tolist(), "covariance": np.cov(values.T).tolist()}


def paired_ratio(cell: Cell, method: str, other: str) -> Ratio:
    """Return one method's mean error over another's in a cell of `together`, by the delta method for pairs."""
    a, b = (cell["lines"].index(f"{name}|raw") for name in (method, other))
    mean, covariance = cell["mean"], cell["covariance"]
    ratio = mean[a] / mean[b]
    variance = covariance[a][a] - 2 * ratio * covariance[a][b] + ratio**2 * covariance[b][b]
    return Ratio(ratio, math.sqrt(max(variance, 0.0) / cell["runs"]) / mean[b])


def ratio_between(cell: Cell, other: Cell, method: str) -> Ratio:
    """Return a method's mean error in a cell of `together` over its error in another, independent cell."""
    means, relative = [], []
    for one in (cell, other):
        place = one["lines"].index(f"{method}|raw")
        means.append(one["mean"][place])
        relative.append(math.sqrt(one["covariance"][place][place] / one["runs"]) / one["mean"][place])
    ratio = means[0] / means[1]
    return Ratio(ratio, ratio * math.hypot(*relative))


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
