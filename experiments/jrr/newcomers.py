"""Newcomers without a share, and contributors with a silent peer (4.5.2): error and coverage of one estimate."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
from scipy import stats

from deniable import GRR, SimulationRandomness
from deniable.core.aggregate import Aggregate
from deniable.core.spec import content_hash
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.interval import wide_score_bounds
from deniable.research.dealt.several_deals import combine_deals
from experiments.harness import Cell, Run
from experiments.jrr.extensions import law_of_ones
from experiments.jrr.methods import equivalent
from experiments.jrr.paper import COLLUDERS, PAPER

N, EPSILON = 10_000, 0.1
SHARES = (0.05, 0.5)
LATE = (0.05, 0.2, 0.5)
"""Fractions of contributors without a share of the deal, or without a report."""

SETTINGS = (
    ((200, 0.5), (100, 0.8), (0.5, 0.5)),
    ((200, 0.5), (100, 0.8), (0.1, 0.8)),
    ((280, 0.5), (600, 2.5), (0.0, 0.0)),
    ((280, 0.5), (600, 2.5), (0.5, 0.0)),
)
"""(contributors, epsilon) of a deal without collusion and of randomised response, and the share of ones in each."""


def deal(n: int, count: int) -> JRR:
    """Return the optimal mechanism for a deal."""
    return JRR.optimal(n, EPSILON, COLLUDERS, count)


def together(one: Cell) -> Cell:
    """Compute one cell: the MSE of the count among all, by `combine_deals` of a deal and of newcomers who use RR."""
    late, count = round(one["late"] * N), round(one["share"] * N)
    held = round(one["late"] * count)
    jrr, grr = deal(N - late, count - held), GRR(2, EPSILON)
    rng = SimulationRandomness(int(content_hash(one)[:15], 16))
    errors = []
    for _ in range(one["runs"]):
        parts = [jrr.simulate_aggregate([N - late - count + held, count - held], rng),
                 grr.simulate_aggregate([late - held, held], rng)]  # fmt: skip
        errors.append(combine_deals(parts).frequencies[1] * N - count)
    squares = np.array(errors) ** 2
    return {
        "mse": float(squares.mean()),
        "theory": jrr.count_variance(count - held) + grr.variance(held / late, late) * late**2,
    }


@PAPER.experiment("newcomers", "Section 4.5.2: newcomers who use RR beside a deal, and silent peers", runs=1000)
def newcomers(run: Run) -> None:
    """Measure the error of both together, and compute the exact coverage of the intervals."""
    settings = [{"share": share, "late": late} for share in SHARES for late in LATE]
    rows: list[Cell] = []
    plain = equivalent(EPSILON, N)
    for cell in run.cells(settings, together):
        count, late = round(cell["share"] * N), round(cell["late"] * N)
        whole = deal(N, count)
        silent = whole.count_variance(count * (1 - cell["late"]), reporters=N - late)
        rows.append(
            {
                "share": cell["share"],
                "late": cell["late"],
                "all dealt": whole.count_variance(count) / plain,
                "newcomers": cell["theory"] / plain,
                "drawn": cell["mse"] / plain,
                "error": cell["theory"] / plain * sqrt(2 / cell["runs"]),
                "z": (cell["mse"] / cell["theory"] - 1) / sqrt(2 / cell["runs"]),
                # This is the ratio to RR among the same number of reporters.
                "silent": silent / equivalent(EPSILON, N - late),
            }
        )
    run.show(rows, title=f"MSE over that of RR, n = {N:,}, epsilon {EPSILON:g}, M = {COLLUDERS}")
    run.save_table(rows)
    covered = [coverage(*one) for one in SETTINGS]
    run.show(covered, title="Exact coverage of 95% intervals for these contributors")
    run.save_table(covered, "-coverage")


def coverage(dealt: tuple[int, float], late: tuple[int, float], shares: tuple[float, float]) -> Cell:
    """Return the exact coverage of `combine_deals`, and the coverage with the variance at one common frequency."""
    (n, epsilon), (new, other) = dealt, late
    jrr, grr = JRR.optimal(n, epsilon, 0, 0), GRR(2, other)
    held = round(shares[0] * n), round(shares[1] * new)
    p, truth = 1 / (1 + exp(-other)), sum(held) / (n + new)
    first = law_of_ones(float(jrr.p), sqrt(-float(jrr.rho) * float(jrr.p) * (1 - float(jrr.p))), n, held[0])
    told, forced = (stats.binom.pmf(np.arange(m + 1), m, at) for m, at in ((held[1], p), (new - held[1], 1 - p)))
    second = np.convolve(told, forced)

    def variance(f: float) -> float:
        return (jrr.variance(f) * n**2 + grr.variance(f, new) * new**2) / (n + new) ** 2

    step = max(jrr.support_step, 1 / (2 * p - 1)) / (n + new)
    found = np.zeros(2)
    for i, j in zip(*np.nonzero(np.outer(first, second) > 1e-7), strict=True):
        parts = [Aggregate(jrr, np.array([n - i, i]), n), Aggregate(grr, np.array([new - j, j]), new)]
        both = combine_deals(parts)["1"]
        ends = (
            both.interval(0.95),
            wide_score_bounds(both.frequencies, n + new, variance, step, 0.025, "contributors"),
        )
        found += first[i] * second[j] * np.array([lower[0] <= truth <= upper[0] for lower, upper in ends])
    return {"n": n, "epsilon": epsilon, "newcomers": new, "their epsilon": other, "share": shares[0],
            "their share": shares[1], "coverage": found[0], "at one frequency": found[1]}  # fmt: skip
