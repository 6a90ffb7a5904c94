"""Sections 5.2 and 5.3: the few random bits that assign all hash functions, and the savings of a client group.

Theorem 5.2 requires a *pairwise* independent assignment of hash functions to contributors. Some thirty bits suffice for
any number of contributors: s(i) = b0 + b1 i over a field with as many elements as there are functions. Here contributor
i gets function number s(i) of the prime family. No contributor holds the target, and all hold the same other value, so
that only the number of collisions matters.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from deniable import CountMeanSketch
from experiments.harness import Cell, Run
from experiments.ocms.paper import PAPER
from experiments.ocms.statistics import standard_error

Codes = NDArray[np.int64]

M, PRIME = 4, 101
"""Number of cells, and field of the family: 101^2 functions, numbered by GF(101^2)."""

FUNCTIONS = PRIME * PRIME


def numbered(contributors: Codes, coefficients: tuple[int, ...], prime: int = PRIME) -> tuple[Codes, Codes]:
    """Return the functions (a0, a1) = b + c i of contributors i, in the field of prime^2 elements.

    Elements are x + y t with t^2 = 2, which is not a square modulo 5 or 101. The number i stands for the element (i mod
    prime, i // prime).
    """
    b0, b1, c0, c1 = coefficients
    x, y = contributors % prime, contributors // prime
    return (b0 + c0 * x + 2 * c1 * y) % prime, (b1 + c0 * y + c1 * x) % prime


def assigned(kind: str, n: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return (a0, a1) of n contributors' functions: "independent", or "pairwise" from two field elements."""
    if kind == "independent":
        a0, a1 = rng.integers(0, PRIME, (2, n))
        return a0, a1
    return numbered(np.arange(n), tuple(rng.integers(0, PRIME, 4).tolist()))


def errors(cell: Cell) -> Cell:
    """Measure the estimate of a frequency of 0, in theoretical standard errors, over many assignments."""
    n, odds = cell["n"], math.exp(cell["epsilon"])
    keep = odds / (odds + M - 1)
    q, r = divmod(PRIME, M)
    collision = ((2 * q + 1) * r + M * q * q) / PRIME**2
    p0 = collision * keep + (1 - collision) * (1 - keep) / (M - 1)
    spread = math.sqrt(n * p0 * (1 - p0))
    rng = np.random.default_rng([cell["seed"], n, cell["epsilon"], cell["kind"] == "pairwise"])
    found = np.empty(cell["runs"])
    for run in range(cell["runs"]):
        a0, a1 = assigned(cell["kind"], n, rng)
        collisions = int((a0 % M == (a0 + a1) % PRIME % M).sum())  # the target is 0, and the held value is 1
        matches = rng.binomial(collisions, keep) + rng.binomial(n - collisions, (1 - keep) / (M - 1))
        found[run] = (matches - n * p0) / spread
    squares = found**2
    return {
        "variance over eq. (20)": float(squares.mean()),
        "error": standard_error(squares),
        "beyond 1.96": float((np.abs(found) > 1.96).mean()),
        "beyond 4": float((np.abs(found) > 4).mean()),
        "largest": float(np.abs(found).max()),
        "bits": (n if cell["kind"] == "independent" else 2) * math.log2(FUNCTIONS),
        "bits of the theorem": 2 * math.ceil(math.log2(FUNCTIONS + 1)) if cell["kind"] == "pairwise" else "",
    }


LISTED_M, LISTED_PRIME = 5, 11
"""Number of cells and field of the family whose assignments are all listed: 121 functions, 14,641 assignments."""


def listed(kind: str, n: int, epsilon: float, m: int = LISTED_M, prime: int = LISTED_PRIME) -> Cell:
    """Return the exact distribution of the same estimate by listing all pairwise independent assignments.

    Nothing is random. For independent assignments, the number of matches is binomial.
    """
    odds = math.exp(epsilon)
    keep = odds / (odds + m - 1)
    other = (1 - keep) / (m - 1)
    q, r = divmod(prime, m)
    collision = ((2 * q + 1) * r + m * q * q) / prime**2
    p0 = collision * keep + (1 - collision) * other
    matches = np.arange(n + 1)
    if kind == "independent":
        law = stats.binom.pmf(matches, n, p0)
    else:
        law = np.zeros(n + 1)
        numbers = np.zeros(n + 1, dtype=np.int64)
        for b in np.ndindex(prime, prime, prime, prime):
            a0, a1 = numbered(np.arange(n), b, prime)
            numbers[int((a0 % m == (a0 + a1) % prime % m).sum())] += 1
        for collisions in np.flatnonzero(numbers):
            kept = stats.binom.pmf(np.arange(collisions + 1), collisions, keep)
            came = stats.binom.pmf(np.arange(n - collisions + 1), n - collisions, other)
            law += numbers[collisions] / prime**4 * np.convolve(kept, came)
    errors = (matches - n * p0) / math.sqrt(n * p0 * (1 - p0))
    return {
        "kind": kind,
        "n": n,
        "epsilon": epsilon,
        "m": m,
        "P": prime,
        "variance over eq. (20)": float(law @ errors**2),
        "beyond 4": float(law[np.abs(errors) > 4].sum()),
        "kurtosis": float(law @ errors**4),
        "bits": 4 * math.log2(prime) if kind == "pairwise" else n * 2 * math.log2(prime),
        "bits of the theorem": 2 * math.ceil(math.log2(prime**2 + 1)) if kind == "pairwise" else "",
    }


def traffic(d: int, n: int, epsilon: float) -> Cell:
    """Return the bits between collector and contributors, per contributor: as counted in section 5.3, and Spread's."""
    nats = epsilon * math.log2(math.e)
    spread = CountMeanSketch(d, epsilon, family="spread")
    return {
        "d": d,
        "n": n,
        "epsilon": epsilon,
        "each alone": 2 * math.log2(d) + nats,
        "client group": math.ceil(max(4 * math.log2(d), 2 * math.log2(n))) / n + nats,
        "Spread, each alone": spread.report_bits,
    }


@PAPER.experiment(
    "random-bits", "Sections 5.2 and 5.3: assignments from few random bits; client groups", runs=20_000, quick=20
)
def random_bits(run: Run) -> None:
    """Measure variance and tails of the estimate with pairwise independent assignments; count the bits of groups."""
    settings = [
        {"kind": kind, "n": n, "epsilon": epsilon}
        for epsilon in (1, 4)
        for n in (100, 1000, 10_000)
        for kind in ("independent", "pairwise")
    ]
    cells = run.cells(settings, errors)
    run.save_table(cells)
    run.show(cells, title=f"the estimate of a frequency that is 0, in standard errors of eq. (20); {run.runs:,} draws")
    exact = [listed(kind, n, epsilon) for n in (30, 121) for epsilon in (1, 4) for kind in ("independent", "pairwise")]
    run.save_table(exact, "-listed")
    run.show(exact, title="the same over a field of 121 elements, every assignment listed")
    rows = [traffic(d, n, epsilon) for d in (1 << 10, 1 << 20) for n in (100, 1_000_000) for epsilon in (1, 4)]
    run.save_table(rows, "-traffic")
    run.show(rows, title="bits per contributor")
