"""Bias of the original count-mean sketch, which has fixed hash functions (section 3.7 of the paper, eq. (18))."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from deniable import CountMeanSketch
from deniable.research.baselines.apple import AppleCMS
from experiments.harness import Cell, Run
from experiments.ocms.paper import PAPER
from experiments.ocms.pictures import COLOURS, bare
from experiments.ocms.statistics import randomness, standard_error

RATIO_CELLS = ((16, 8), (16, 64), (256, 32))
"""(m, hashes) for the measured ratios."""

FLOOR = AppleCMS(k=1000, epsilon=4.0, m=64, hashes=16)
CONTRIBUTORS = tuple(10**power for power in range(3, 10))
SKETCH_LIMIT = 10**7
"""Largest n at which the sketch is simulated; its simulation makes all reports."""


def distribution(name: str, k: int = 1000) -> NDArray[np.float64]:
    """Return true frequencies float64[k]: "zipf" (1/r^2), "uniform", or "one" (all contributors hold value 0)."""
    weights = {"zipf": 1.0 / np.arange(1, k + 1) ** 2, "uniform": np.ones(k), "one": np.eye(k)[0]}[name]
    result: NDArray[np.float64] = weights / weights.sum()
    return result


def squared_bias(cell: Cell) -> Cell:
    """Measure the mean squared bias over random lists of hash functions, relative to eq. (18)."""
    f = distribution(cell["data"])
    ratios = np.empty(cell["runs"])
    for run in range(cell["runs"]):
        seed = randomness(cell, run).seed
        sketch = AppleCMS(len(f), 1.0, cell["m"], cell["hashes"], seed)
        ratios[run] = (sketch.conditional_bias(f) ** 2).sum() / sketch.expected_squared_bias(f).sum()
    return {"ratio": float(ratios.mean()), "error": standard_error(ratios)}


def root_mean_square(cell: Cell) -> Cell:
    """Measure the root mean squared error over all values at one n, for Apple's sketch or the unbiased sketch."""
    f, n = distribution("zipf"), cell["n"]
    counts = np.floor(f * n).astype(np.int64)
    counts[0] += n - counts.sum()
    truth = counts / n
    sketch = FLOOR if cell["method"] == "Apple CMS" else CountMeanSketch(FLOOR.k, FLOOR.epsilon, family="spread")
    values: Cell = {"variance": _mean_variance(sketch, truth, n)}
    if isinstance(sketch, AppleCMS):
        values["bias"] = math.sqrt(float((sketch.conditional_bias(truth) ** 2).mean()))
    if isinstance(sketch, AppleCMS) or n <= SKETCH_LIMIT:
        rng = randomness(cell, 0)
        errors = sketch.estimate(sketch.simulate_aggregate(counts, rng)).frequencies - truth
        values["rmse"] = math.sqrt(float((errors**2).mean()))
    return values


def _mean_variance(sketch: AppleCMS | CountMeanSketch, truth: NDArray[np.float64], n: int) -> float:
    absent, present = sketch.variance(0.0, n), sketch.variance(1.0, n)
    return float((absent + (present - absent) * truth).mean())


def draw_floor(cells: list[Cell]) -> Figure:
    """Draw root mean squared errors against n on logarithmic axes."""
    figure = Figure(figsize=(7, 4.4), layout="constrained")
    axes = figure.subplots()
    styles = {"Apple CMS": (COLOURS["rhr"], "X"), "OCMS (Spread)": (COLOURS["ocms"], "o")}
    for method, (colour, marker) in styles.items():
        points = [cell for cell in cells if cell["method"] == method]
        ns = [cell["n"] for cell in points]
        axes.plot(ns, [math.sqrt(cell["variance"] + cell.get("bias", 0) ** 2) for cell in points], color=colour, lw=1.3)
        measured = [cell for cell in points if "rmse" in cell]
        axes.plot([cell["n"] for cell in measured], [cell["rmse"] for cell in measured], marker, color=colour, ms=7)
        last = points[-1]
        axes.annotate(
            method,
            (last["n"], math.sqrt(last["variance"] + last.get("bias", 0) ** 2)),
            xytext=(8, 0),
            textcoords="offset points",
            color=colour,
            va="center",
        )
    floor = [cell["bias"] for cell in cells if "bias" in cell][-1]
    axes.plot(CONTRIBUTORS, [floor] * len(CONTRIBUTORS), color="0.5", linewidth=0.8, linestyle="--")
    axes.annotate(
        "bias of this list of hash functions", (1e6, floor), xytext=(0, -13), textcoords="offset points", fontsize=9
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(6e2, 4e10)
    axes.set_xticks(CONTRIBUTORS)
    axes.set_xlabel("contributors n")
    axes.set_ylabel("root mean squared error over 1,000 values")
    axes.set_title(
        "More contributors do not cure fixed hash functions\n(epsilon = 4; lines: theory, markers: one run)",
        loc="left",
        fontsize=11,
    )
    bare(axes)
    return figure


@PAPER.experiment("bias", "Equation (18): bias of the original count-mean sketch", runs=400, quick=4)
def bias(run: Run) -> None:
    """Measure the ratio of the squared bias to eq. (18), and the lower limit that the bias puts on the error."""
    settings = [
        {"data": data, "m": m, "hashes": hashes} for data in ("zipf", "uniform", "one") for m, hashes in RATIO_CELLS
    ]
    cells = run.cells(settings, squared_bias)
    run.save_table(cells)
    run.show(
        cells, ["data", "m", "hashes", "ratio", "error"], f"squared bias over eq. (18), {run.runs} lists of functions"
    )
    floors = [{"method": method, "n": n} for method in ("Apple CMS", "OCMS (Spread)") for n in CONTRIBUTORS]
    measured = run.cells(floors, root_mean_square)
    run.save_table(measured, "-floor")
    run.save_figure(draw_floor(measured), "-floor")
