"""Hash families: cost of each in variance, bits, state and time."""

from __future__ import annotations

import math
import time

import numpy as np
from matplotlib.figure import Figure

from deniable import CountMeanSketch
from deniable.oracles.sketch.ocms import ocms_choice
from experiments.harness import Cell, Run
from experiments.ocms.methods import sketch
from experiments.ocms.paper import PAPER
from experiments.ocms.pictures import bare
from experiments.ocms.statistics import Comparison, randomness, standard_error

FAMILIES = ("spread", "partition", "linear", "prime")
COLOURS = {"spread": "#0072B2", "linear": "#D55E00", "prime": "black"}
K = 100_000
OBJECTIVES = ("l2", "f*=0.1", "f*=0.5", "f*=1")


def excess(cell: Cell) -> Cell:
    """Return the excess of each family's variance over that of the best real m, and the choice of `OCMS`."""
    objective = cell["objective"]
    bound = None if objective == "l2" else float(objective.removeprefix("f*="))
    choice = ocms_choice(K, cell["epsilon"], "l2" if bound is None else "mse", bound)
    values: Cell = {"chosen": choice.mechanism.family}
    for option in choice.options:
        values |= {option.family: option.excess, f"{option.family} m": option.m}
    return values


def in_practice(cell: Cell) -> Cell:
    """Measure one family: l2 loss over theory, bits, counters, and seconds to sum and to decode."""
    k, n = cell["k"], cell["n"]
    mechanism = sketch(cell["family"], "l2")(k, cell["epsilon"], 1, 0)
    assert isinstance(mechanism, CountMeanSketch)
    truth = np.bincount(np.random.default_rng(1).integers(0, k, n), minlength=k)
    codes = np.repeat(np.arange(k), truth)
    ratios, summed, decoded = np.empty(cell["runs"]), [], []
    theory = (k - 1) * mechanism.variance(0.0, n) + mechanism.variance(1.0, n)
    for run in range(cell["runs"]):
        reports = mechanism.randomize(codes, randomness(cell, run))
        start = time.process_time()
        state = mechanism.aggregate(reports)
        middle = time.process_time()
        estimate = mechanism.estimate(state)
        decoded.append(time.process_time() - middle)
        summed.append(middle - start)
        ratios[run] = ((estimate.frequencies - truth / n) ** 2).sum() / theory
    return {
        "m": mechanism.m,
        "bits": mechanism.report_bits,
        "counters": mechanism.state_size,
        "l2/theory": float(ratios.mean()),
        "error": standard_error(ratios),
        "sum ms": round(1e3 * min(summed), 2),
        "decode ms": round(1e3 * min(decoded), 2),
    }


def draw_excess(cells: list[Cell]) -> Figure:
    """Draw the excess variance against epsilon, with one panel per objective."""
    figure = Figure(figsize=(13, 3.9), layout="constrained")
    names = {"spread": "Spread", "linear": "linear", "prime": "prime, partition"}
    for axes, objective in zip(figure.subplots(1, len(OBJECTIVES), sharey=True), OBJECTIVES, strict=True):
        points = [cell for cell in cells if cell["objective"] == objective]
        xs = [cell["epsilon"] for cell in points]
        for family, colour in COLOURS.items():
            axes.plot(xs, [100 * cell[family] for cell in points], color=colour, linewidth=1.6, label=names[family])
        axes.axhline(0, color="0.6", linewidth=0.8)
        axes.set_title(
            "mean over values (l2)" if objective == "l2" else f"worst case, {objective}", loc="left", fontsize=11
        )
        axes.set_xlabel("epsilon")
        bare(axes)
    figure.axes[0].set_ylabel("variance above the ideal, %")
    figure.axes[0].legend(frameon=False, loc="upper right", fontsize=9)
    figure.suptitle("What whole, prime-power and power-of-two numbers of cells cost", x=0.01, ha="left")
    return figure


def summary(cells: list[Cell]) -> list[Cell]:
    """Return mean and largest excess in percent per objective and family, and how often the family is chosen."""
    rows = []
    for objective in OBJECTIVES:
        points = [cell for cell in cells if cell["objective"] == objective]
        for family in FAMILIES:
            percent = [100 * cell[family] for cell in points if family in cell]
            rows.append(
                {
                    "objective": objective,
                    "family": family,
                    "mean %": math.fsum(percent) / len(percent),
                    "largest %": max(percent),
                    "chosen": sum(cell["chosen"] == family for cell in points) / len(points),
                }
            )
    return rows


@PAPER.experiment("families", "Hash families: variance, losses and cost of each", runs=10)
def families(run: Run) -> None:
    """Compute the families' excess variances; measure their losses and the work of the collector."""
    grid = [round(0.5 + 0.01 * step, 2) for step in range(551)]
    cells = run.cells([{"objective": o, "epsilon": epsilon} for o in OBJECTIVES for epsilon in grid], excess)
    run.save_table(cells)
    rows = summary(cells)
    run.save_table(rows, "-summary")
    run.show(rows, title=f"variance above the ideal, epsilon 0.5 to 6, k={K:,}")
    run.save_figure(draw_excess(cells))
    settings = [
        {"family": family, "epsilon": epsilon, "k": 1 << 14, "n": 100_000}
        for epsilon in (1, 2, 4)
        for family in FAMILIES
    ]
    measured = run.cells(settings, in_practice)
    for cell in measured:
        cell["z"] = Comparison(cell["l2/theory"], cell["error"], 1.0).z
    run.save_table(measured, "-practice")
    columns = ["family", "epsilon", "m", "bits", "counters", "l2/theory", "error", "z", "sum ms", "decode ms"]
    run.show(measured, columns, f"k=16,384, n=100,000, {run.runs} runs; processor time of the fastest run")
