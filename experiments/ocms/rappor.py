"""Section 3.4: the unbiased sketch over RAPPOR's two kinds of noise, and its limit for many cells.

A contributor draws a hash function of the prime family and reports the one-hot encoding of the cell, m noisy bits:
symmetric RAPPOR flips each with the same probability, asymmetric RAPPOR keeps a 1 with probability 1/2. A report
supports x if the bit of h(x) is set. Hashing is unbiased here, but adds variance, because two values in one cell share
its bit. Without hashing (in the limit of large m), the two sketches are `SUE` and `OUE`.
"""

from __future__ import annotations

import math
from itertools import count

import numpy as np
from numpy.typing import NDArray

from experiments.harness import Cell, Run
from experiments.ocms.paper import PAPER
from experiments.ocms.statistics import Comparison, standard_error

N, PRIME, HELD = 1000, 10_007, 0.3
"""Number of contributors; the field; the share of value 0. All others hold value 1. Value 2 is also estimated."""

CELLS = (2, 8, 64, 1024, 0)
"""Numbers of cells; 0 is the limit without hashing."""

BATCH = 200
"""Number of repetitions at a time."""


def kept(kind: str, epsilon: float) -> tuple[float, float]:
    """Return (p, q): the probability that the bit of the own cell is set, and of any other cell."""
    odds = math.exp(epsilon)
    if kind == "sRP":
        return math.sqrt(odds) / (math.sqrt(odds) + 1), 1 / (math.sqrt(odds) + 1)
    return 0.5, 1 / (odds + 1)


def collision(m: int, prime: int = PRIME) -> float:
    """Return the collision probability of the prime family (eq. (16)), or 0 without hashing."""
    if m == 0:
        return 0.0
    q, r = divmod(prime, m)
    return ((2 * q + 1) * r + m * q * q) / prime**2


def variance(kind: str, epsilon: float, f: float, share: float) -> float:
    """Return n Var f^ of the sketch (eq. (10)) from its support probabilities and the collision probability `share`."""
    p, q = kept(kind, epsilon)
    p0 = share * p + (1 - share) * q
    return (f * p * (1 - p) + (1 - f) * p0 * (1 - p0)) / (p - p0) ** 2


def cells_within(kind: str, epsilon: float, tau: float) -> int:
    """Return the least m whose variance at f = 0 and c = 1/m is at most 1 + tau times the limit's."""
    limit = variance(kind, epsilon, 0.0, 0.0)
    return next(m for m in count(2) if variance(kind, epsilon, 0.0, 1 / m) <= (1 + tau) * limit)


def supported(kind: str, epsilon: float, m: int, runs: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how many of N reports support value 0 and value 2, int64[runs, 2]; no contributor holds value 2."""
    p, q = kept(kind, epsilon)
    holders = round(HELD * N)
    if m == 0:
        first = rng.binomial(holders, p, runs) + rng.binomial(N - holders, q, runs)
        return np.column_stack([first, rng.binomial(N, q, runs)])
    a0, a1 = rng.integers(0, PRIME, (2, runs, N))
    cells = [(a0 + a1 * value) % PRIME % m for value in (0, 1, 2)]
    own = np.where(np.arange(N) < holders, cells[0], cells[1])
    bits = [rng.random((runs, N)) < np.where(cells[value] == own, p, q) for value in (0, 2)]
    # Values in one cell share one bit.
    bits[1] = np.where(cells[2] == cells[0], bits[0], bits[1])
    return np.column_stack([one.sum(axis=1) for one in bits])


def errors(cell: Cell) -> Cell:
    """Measure n times the squared error at frequencies of 0 and .3, and compare with eq. (10)."""
    kind, epsilon, m = cell["kind"], cell["epsilon"], cell["m"]
    rng = np.random.default_rng([cell["seed"], epsilon, m, kind == "sRP"])
    counts = [
        supported(kind, epsilon, m, min(BATCH, cell["runs"] - start), rng) for start in range(0, cell["runs"], BATCH)
    ]
    p, q = kept(kind, epsilon)
    share = collision(m)
    p0 = share * p + (1 - share) * q
    estimates = (np.concatenate(counts) / N - p0) / (p - p0)
    squares = N * (estimates - np.array([HELD, 0.0])) ** 2
    values: Cell = {}
    for place, (name, f) in enumerate(((" at .3", HELD), ("", 0.0))):
        theory = variance(kind, epsilon, f, share)
        error = standard_error(squares[:, place])
        values |= {
            f"n MSE{name}": float(squares[:, place].mean()),
            f"error{name}": error,
            f"theory{name}": theory,
            f"z{name}": Comparison(float(squares[:, place].mean()), error, theory).z,
        }
    bias = estimates[:, 1]
    values["bias over its error"] = float(bias.mean() / standard_error(bias))
    limit = variance(kind, epsilon, 0.0, 0.0)
    values["limit"] = limit
    values["over the limit"] = values["n MSE"] / limit
    values["standard errors above"] = (values["n MSE"] - limit) / values["error"]
    values["bits"] = m + 2 * math.log2(PRIME) if m else math.inf
    return values


@PAPER.experiment("rappor", "Section 3.4: the unbiased sketch over RAPPOR, by number of cells", runs=20_000, quick=20)
def rappor(run: Run) -> None:
    """Measure the sketch with both kinds of noise for growing m; print the number of cells close to the limit."""
    settings = [
        {"kind": kind, "epsilon": epsilon, "m": m} for kind in ("sRP", "aRP") for epsilon in (1, 3) for m in CELLS
    ]
    cells = run.cells(settings, errors)
    run.save_table(cells)
    columns = [
        "kind",
        "epsilon",
        "m",
        "n MSE",
        "error",
        "theory",
        "z",
        "over the limit",
        "standard errors above",
        "z at .3",
    ]
    run.show(cells, columns, f"n x MSE of the unbiased sketch over RAPPOR at f = 0; n={N:,}, {run.runs:,} runs")
    rows = []
    for kind in ("sRP", "aRP"):
        for epsilon in (1, 2, 3, 4, 5):
            odds = math.exp(epsilon)
            row: Cell = {"kind": kind, "epsilon": epsilon, "limit": variance(kind, epsilon, 0.0, 0.0)}
            row |= {"OCMS+RR": 4 * odds / (odds - 1) ** 2, "cells within 1%": cells_within(kind, epsilon, 0.01)}
            if kind == "aRP":
                row |= {
                    "printed (45)": (odds - 1) ** 2 / (1.01 * odds),
                    "(E+1)^2/(2 tau E)": (odds + 1) ** 2 / (0.02 * odds),
                }
            rows.append(row)
    run.save_table(rows, "-cells")
    run.show(rows, title="cells at which the variance at f = 0 is within 1% of its limit; bits of a report")
