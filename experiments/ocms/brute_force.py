"""Losses of the figures by brute force: without the library, with all reports made and compared with all values.

Each mechanism is written literally from the paper's text in plain numpy, however slow: draw the hash functions,
perturb, and check for each value of the dictionary which reports support it. The theory is the paper's eq. (20) or, for
recursive Hadamard response, the derivation in `docs/theory/sketches.md`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from experiments.harness import Cell, Run
from experiments.ocms.methods import METHODS, variances
from experiments.ocms.paper import PAPER
from experiments.ocms.populations import population
from experiments.ocms.statistics import Comparison, maximum_error, standard_error

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Rng = np.random.Generator
BLOCK = 500
"""Number of reports that are compared with all values at once."""

HASHES = CELLS = 1024


def perturbed(cells: Codes, m: int, odds: float, rng: Rng) -> Codes:
    """Return randomised response over m cells: the true cell has probability odds/(odds + m - 1)."""
    keep = rng.random(len(cells)) < odds / (odds + m - 1)
    return np.where(keep, cells, (cells + rng.integers(1, m, len(cells))) % m)


def cells_of_least_loss(k: int, odds: float) -> int:
    """Return m of Theorem 3.8: the better of the two integers around 1 + Delta_l/(E + d - 1)."""
    best = 1 + math.sqrt((k * odds - odds + 1) * odds / (odds + k - 1))

    def loss(m: int) -> float:
        u, e = m - 1, odds
        return (k - 1) * (e + u) ** 2 / u + m * m * e / u

    return min(max(2, math.floor(best)), math.ceil(best), key=loss)


def smallest_prime(above: int) -> int:
    """Return the smallest prime at least this large."""
    while any(above % divisor == 0 for divisor in range(2, math.isqrt(above) + 1)):
        above += 1
    return above


def sketch(values: Codes, asked: Codes, k: int, odds: float, rng: Rng) -> Floats:
    """Estimate frequencies by Algorithms 1 and 2 with the estimator of eq. (8): OCMS over the prime family."""
    m, n = cells_of_least_loss(k, odds), len(values)
    prime = smallest_prime(max(k, 7 * m))
    a0, a1 = rng.integers(0, prime, (2, n))
    z = perturbed((a0 + a1 * values) % prime % m, m, odds, rng)
    matches = np.zeros(len(asked))
    for i in range(0, n, BLOCK):
        block = slice(i, i + BLOCK)
        hashed = (a0[block, None] + a1[block, None] * asked) % prime % m
        matches += (hashed == z[block, None]).sum(axis=0)
    q, r = divmod(prime, m)
    collision = ((2 * q + 1) * r + m * q * q) / prime**2
    decoded = (matches * (odds + m - 1) / n - 1) / (odds - 1)  # this is the mean of y^: 1 if cells agree, else 0
    result: Floats = (decoded - collision) / (1 - collision)
    return result


def signs(rows: Codes, values: Codes) -> NDArray[np.int8]:
    """Return the entries of a Hadamard matrix, 1 or -1: (-1)^(number of bits that row and value share)."""
    shared = np.bitwise_count(rows & values).astype(np.int8)
    result: NDArray[np.int8] = (1 - 2 * (shared & 1)).astype(np.int8)
    return result


def hadamard(values: Codes, asked: Codes, k: int, odds: float, rng: Rng) -> Floats:
    """Estimate frequencies by Hadamard encoding: one perturbed entry of the value's column per report."""
    n, size = len(values), 1 << k.bit_length()
    rows = rng.integers(0, size, n)
    sent = np.where(rng.random(n) < odds / (odds + 1), 1, -1) * signs(rows, values)
    total = np.zeros(len(asked))
    for i in range(0, n, BLOCK):
        block = slice(i, i + BLOCK)
        total += sent[block] @ signs(rows[block, None], asked).astype(np.float64)
    result: Floats = total * (odds + 1) / (odds - 1) / n
    return result


def hashed_hadamard(values: Codes, asked: Codes, k: int, odds: float, rng: Rng) -> Floats:
    """Estimate frequencies by Apple's sketch over Hadamard encoding: 1,024 random functions to 1,024 cells."""
    n = len(values)
    functions = rng.integers(0, CELLS, (HASHES, k))
    chosen, rows = rng.integers(0, HASHES, n), rng.integers(0, CELLS, n)
    sent = np.where(rng.random(n) < odds / (odds + 1), 1, -1) * signs(rows, functions[chosen, values])
    total = np.zeros(len(asked))
    for i in range(0, n, BLOCK):
        block = slice(i, i + BLOCK)
        total += sent[block] @ signs(rows[block, None], functions[chosen[block]][:, asked]).astype(np.float64)
    shares = total * (odds + 1) / (odds - 1) / n
    result: Floats = CELLS / (CELLS - 1) * shares - 1 / (CELLS - 1)
    return result


def recursive(values: Codes, asked: Codes, k: int, odds: float, rng: Rng) -> Floats:
    """Estimate frequencies by recursive Hadamard response with b = ceil(epsilon log2 e) bits."""
    n, bits = len(values), min(math.ceil(math.log2(odds)), (k - 1).bit_length())
    low = (1 << (bits - 1)) - 1
    size = 1 << ((k - 1) >> (bits - 1)).bit_length()
    rows = rng.integers(0, size, n)
    cells = 2 * (values & low) + (signs(rows, values >> (bits - 1)) < 0)
    sent = perturbed(cells, 1 << bits, odds, rng)
    total = np.zeros(len(asked))
    for i in range(0, n, BLOCK):
        block = slice(i, i + BLOCK)
        entry = signs(rows[block, None], asked >> (bits - 1))
        side = np.where(sent[block, None] % 2, -1, 1) * ((sent[block, None] >> 1) == (asked & low))
        total += (entry * side).sum(axis=0)
    result: Floats = total * (odds + (1 << bits) - 1) / (odds - 1) / n
    return result


BY_HAND: dict[str, Callable[[Codes, Codes, int, float, Rng], Floats]] = {
    "OCMS (prime)": sketch,
    "HE": hadamard,
    "CMS+HE": hashed_hadamard,
    "RHR": recursive,
}

GAUSSIAN = tuple(("gaussian", "l2", name, epsilon) for epsilon in (1, 3, 5) for name in BY_HAND)
ZIPF = tuple(("zipf", "worst MSE", name, 4) for name in ("OCMS (prime)", "HE", "RHR"))
"""(data, quantity, mechanism, epsilon) of the losses."""


def losses(cell: Cell) -> Cell:
    """Return the loss of one mechanism, its Monte-Carlo error, and the library's theory."""
    people = population(cell["data"], cell["seed"])
    values = np.repeat(np.arange(people.k), people.counts)
    truth = people.frequencies[people.interest]
    rng = np.random.default_rng([cell["seed"], cell["epsilon"], list(BY_HAND).index(cell["method"]), 77])
    estimate = BY_HAND[cell["method"]]
    found = [
        estimate(values, people.interest, people.k, math.exp(cell["epsilon"]), rng) - truth for _ in range(cell["runs"])
    ]
    squares = np.array(found) ** 2
    theory = variances(METHODS[cell["method"]].build(people.k, cell["epsilon"], people.max_frequency, 1), people)
    if cell["quantity"] == "l2":
        l2 = squares.sum(axis=1)
        return {"loss": float(l2.mean()), "error": standard_error(l2), "theory": float(theory.sum())}
    return {
        "loss": float(squares.mean(axis=0).max()),
        "error": maximum_error(squares),
        "theory": float(theory.max()),
    }


@PAPER.experiment("brute-force", "Losses of figures 2 and 3, computed without the library", runs=10)
def brute_force(run: Run) -> None:
    """Measure the losses by brute force; Zipf data have 100 values, not 10,000, and ten times as many runs."""
    names = ("data", "quantity", "method", "epsilon")
    cells = []
    for wanted, runs in ((GAUSSIAN, run.runs), (ZIPF, 10 * run.runs)):
        settings = [dict(zip(names, entry, strict=True)) for entry in wanted]
        cells += replace(run, runs=runs).cells(settings, losses)
    rows = []
    for cell in cells:
        row = {name: cell[name] for name in (*names, "runs", "loss", "error", "theory")}
        row["loss/theory"] = cell["loss"] / cell["theory"]
        if cell["quantity"] == "l2":
            row["z"] = Comparison(cell["loss"], cell["error"], cell["theory"]).z
        rows.append(row)
    run.save_table(rows)
    run.show(rows, title="by brute force; z is Student's t with runs - 1 degrees of freedom")
    run.say(f"sum of z^2: {sum(row['z'] ** 2 for row in rows if 'z' in row):.1f} of {len(GAUSSIAN)}")
