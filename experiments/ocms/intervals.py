"""Intervals for one frequency, in standard errors: Chernoff (Theorem 3.5), Bernstein, normal, and exact."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from deniable import CountMeanSketch
from deniable.errors import InvalidParameterError
from deniable.research.families.sketch_bounds import bernstein_half_width, chernoff_half_width, normal_half_width
from experiments.harness import Cell, Run
from experiments.ocms.methods import sketch
from experiments.ocms.paper import PAPER
from experiments.ocms.pictures import bare, label_lines

BOUNDS = {"Chernoff": chernoff_half_width, "Bernstein": bernstein_half_width, "normal": normal_half_width}
COLOURS = {"Chernoff": "#D55E00", "Bernstein": "#0072B2", "normal": "#009E73", "exact": "black"}


def exact_half_width(mechanism: CountMeanSketch, n: int, failure: float) -> float:
    """Return the smallest t with P(|f^ - f| > t) <= failure at f = 0, where the supports are binomial."""
    p1, p0 = map(float, mechanism.support_probabilities)
    # Candidates t are distances of counts from the mean. The search bisects their order.
    spread = math.ceil(8 * math.sqrt(n * p0 * (1 - p0)) * max(1.0, math.sqrt(-math.log(failure))) + 50)
    centre = round(n * p0)
    counts = np.arange(max(0, centre - spread), min(n, centre + spread) + 1)
    distances = np.unique(np.abs(counts - n * p0))
    low, high = 0, len(distances) - 1
    while low < high:
        middle = (low + high) // 2
        if missed(n, p0, distances[middle]) <= failure:
            high = middle
        else:
            low = middle + 1
    return float(distances[low] / n / (p1 - p0))


def missed(n: int, p: float, distance: float) -> float:
    """Return P(|C - np| > distance) of a binomial count C, with room for the rounding of the distance."""
    mean = n * p
    wide = distance * (1 + 1e-9) + 1e-9
    below, above = math.ceil(mean - wide) - 1, math.floor(mean + wide)
    return float(stats.binom.cdf(below, n, p) + stats.binom.sf(above, n, p))


def half_widths(cell: Cell) -> Cell:
    """Return the half-widths at f = 0 in standard errors, and the exact miss probability of each interval."""
    mechanism = sketch("prime", cell["mode"])(cell["k"], cell["epsilon"], 1, 0)
    assert isinstance(mechanism, CountMeanSketch)
    n, failure = cell["n"], cell["failure"]
    sd = math.sqrt(mechanism.variance(0.0, n))
    p1, p0 = map(float, mechanism.support_probabilities)
    values: Cell = {"m": mechanism.m}
    for name, bound in BOUNDS.items():
        try:
            width = bound(mechanism, n, failure, 0.0)
        except InvalidParameterError:
            continue  # n is below the range of Theorem 3.5
        values |= {name: width / sd, f"{name} misses": missed(n, p0, width * n * (p1 - p0))}
    values["exact"] = exact_half_width(mechanism, n, failure) / sd
    return values


def draw_half_widths(cells: list[Cell]) -> Figure:
    """Draw half-widths against epsilon, with one panel per mode and n."""
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    shown = (("l2", 10_000), ("l2", 1_000_000), ("mse", 1_000_000))
    for axes, (mode, n) in zip(figure.subplots(1, len(shown), sharey=True), shown, strict=True):
        ends = []
        for name, colour in COLOURS.items():
            points = [cell for cell in cells if (cell["mode"], cell["n"]) == (mode, n) and name in cell]
            style = "." if name == "exact" else "-"
            axes.plot([cell["epsilon"] for cell in points], [cell[name] for cell in points], style, color=colour)
            if name != "exact":
                ends.append((float(points[-1]["epsilon"]), points[-1][name], name, colour))
        axes.set_yscale("log")
        axes.set_yticks([4, 5, 7, 10, 20, 30], ["4", "5", "7", "10", "20", "30"])
        axes.minorticks_off()
        label_lines(axes, ends, 1.12)
        axes.set_xlim(0.3, 7.6)
        axes.set_xticks(range(1, 7))
        axes.set_xlabel("epsilon")
        axes.set_title(f"OCMS{'' if mode == 'l2' else '-MSE'}, n = {n:,}", loc="left", fontsize=11)
        bare(axes)
    figure.axes[0].set_ylabel("half-width in standard errors")
    figure.suptitle(
        "Intervals for one frequency that miss with probability 1e-6; dots: what the exact law needs (f = 0)",
        x=0.01,
        ha="left",
    )
    return figure


@PAPER.experiment("intervals", "Theorem 3.5: Chernoff intervals against Bernstein and normal intervals", quick=1)
def intervals(run: Run) -> None:
    """Compute half-widths and exact failure probabilities; nothing is random."""
    settings = [
        {"mode": mode, "k": 100_000, "n": n, "failure": failure, "epsilon": epsilon}
        for mode in ("l2", "mse")
        for n in (10_000, 1_000_000)
        for failure in (0.05, 1e-6)
        for epsilon in (0.5, 1, 2, 3, 4, 5, 6)
    ]
    cells = run.cells(settings, half_widths)
    run.save_table(cells)
    rare = [cell for cell in cells if cell["failure"] == 1e-6]
    columns = ["mode", "n", "epsilon", "m", "Chernoff", "Bernstein", "normal", "exact", "normal misses"]
    run.show(
        rare, columns, "half-widths in standard errors at failure 1e-6, f = 0; empty: n is below Theorem 3.5's range"
    )
    run.save_figure(draw_half_widths(rare))
