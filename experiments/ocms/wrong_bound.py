"""Theorem 3.7: the error when a bound f* on all frequencies is assumed and is wrong."""

from __future__ import annotations

import math

import numpy as np

from deniable import CountMeanSketch
from experiments.harness import Cell, Run
from experiments.ocms.methods import sketch
from experiments.ocms.paper import PAPER
from experiments.ocms.statistics import Comparison, randomness, standard_error

K, N = 1000, 10_000
BELIEVED = (0.0, 0.1, 0.3)
TRUE = (0.3, 1.0)


def delta_mse(bound: float, odds: float) -> float:
    """Return the paper's Delta_MSE, for f* of at most one half."""
    return math.sqrt(odds * ((1 - bound) * odds + bound) * (bound * odds + 1 - bound))


def believed_mse(bound: float, odds: float) -> float:
    """Return n times the worst-case MSE of Theorem 3.6, for a real number of cells."""
    return 2 * (delta_mse(bound, odds) + odds) / (odds - 1) ** 2


def squares(cell: Cell) -> Cell:
    """Measure n times the squared error for the commonest of two values."""
    odds = math.exp(cell["epsilon"])
    mechanism = sketch("prime", "mse")(K, cell["epsilon"], cell["believed"], 0)
    assert isinstance(mechanism, CountMeanSketch)
    counts = np.zeros(K, dtype=np.int64)
    counts[[0, 1]] = round(cell["true"] * N), N - round(cell["true"] * N)
    # Value 0 is the commonest of all values of interest. The other value is not among them.
    found = np.empty(cell["runs"])
    for run in range(cell["runs"]):
        rng = randomness(cell, run)
        reports = mechanism.randomize(np.repeat(np.arange(K), counts), rng)
        estimate = mechanism.estimate_support(mechanism.count_support(reports, [0]), N, [0])
        found[run] = N * (estimate.frequencies[0] - counts[0] / N) ** 2
    believed = believed_mse(cell["believed"], odds)
    extra = (cell["true"] - cell["believed"]) * (1 - 2 * cell["believed"]) * odds / delta_mse(cell["believed"], odds)
    return {
        "m": mechanism.m,
        "n MSE": float(found.mean()),
        "error": standard_error(found),
        "variance": N * mechanism.variance(cell["true"], N),
        "as believed": believed,
        "theorem 3.7": believed + extra,
        "best": believed_mse(min(cell["true"], 0.5), odds),
    }


@PAPER.experiment("wrong-bound", "Theorem 3.7: error when frequencies exceed the bound f*", runs=400, quick=2)
def wrong_bound(run: Run) -> None:
    """Measure the error for the commonest value when the sketch was made for a smaller f*."""
    settings = [
        {"epsilon": epsilon, "believed": believed, "true": true}
        for epsilon in (1, 3, 5)
        for believed in BELIEVED
        for true in TRUE
        if true > believed
    ]
    cells = run.cells(settings, squares)
    rows = [
        cell
        | {
            "z": Comparison(cell["n MSE"], cell["error"], cell["variance"]).z,
            "times best": cell["variance"] / cell["best"],
        }
        for cell in cells
    ]
    run.save_table(rows)
    columns = ["epsilon", "believed", "true", "m", "as believed", "theorem 3.7", "variance", "n MSE", "z", "times best"]
    run.show(rows, columns, f"n x MSE at a frequency above f*; k={K:,}, n={N:,}, {run.runs} runs")
