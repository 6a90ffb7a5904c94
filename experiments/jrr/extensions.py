"""Extensions that the paper sketches or leaves to future work: larger groups (4.6.4), shuffling (4.6.5), means."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log

import numpy as np
from scipy import stats

from deniable import SimulationRandomness
from deniable.core.spec import content_hash
from experiments.harness import Cell, Run
from experiments.jrr.methods import METHODS, build, count_variance, equivalent, setting
from experiments.jrr.paper import EPSILONS, PAPER, Floats
from experiments.jrr.pictures import legend
from experiments.pictures import BLUE, GREY, PURPLE, VERMILLION, dress, note, panels

N, SHARE, DELTA = 10_000, 0.05, 1e-6
GROUPS = (2, 4, 5, 8, 10, 16, 20, 40, 50, 100)
"""Sizes of groups; each divides n."""


def divergence(first: Floats, second: Floats, epsilon: float) -> float:
    """Return the larger hockey-stick divergence of two distributions over the same outcomes."""
    scale = exp(epsilon)
    return float(max(np.maximum(first - scale * second, 0).sum(), np.maximum(second - scale * first, 0).sum()))


def epsilon_at(first: Floats, second: Floats, delta: float = DELTA) -> float:
    """Return the least epsilon at which two distributions are (epsilon, delta)-close; infinity beyond 16."""
    low, high = 0.0, 16.0
    if divergence(first, second, high) > delta:
        return inf
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if divergence(first, second, middle) > delta else (low, middle)
    return high


# ------------------------------------------------------------------------------------------------------ larger groups


def balanced_group(p: float, size: int) -> tuple[int, float]:
    """Return (least number of truths, probability of one more) for a group with a nearly constant number of truths.

    The number of truths is one of the two integers next to its mean. No distribution of `size` exchangeable random bits
    with P(truth) = p has a smaller correlation. For two contributors and p > 1/2, this is JRR with its smallest
    correlation.

    >>> balanced_group(0.75, 2), balanced_group(0.75, 4)
    ((1, 0.5), (3, 0.0))
    """
    least = int(p * size + 1e-12)
    return least, max(p * size - least, 0.0)


def correlation(p: float, size: int) -> float:
    """Return the correlation between the truth of two contributors in a balanced group.

    >>> correlation(0.75, 2)  # 1 - 1/p
    -0.3333333333333333
    """
    least, more = balanced_group(p, size)
    pairs = (1 - more) * least * (least - 1) + more * (least + 1) * least
    return (pairs / (size * (size - 1)) - p * p) / (p * (1 - p))


def group_variance(p: float, size: int, n: int, count: int) -> float:
    """Return the variance of the count for random groups: Theorem 3 with rho (size - 1) instead of rho.

    Two given contributors are in the same group with probability (size - 1)/(n - 1).
    """
    bend = correlation(p, size) * (size - 1) * ((2 * count - n) ** 2 - n) / (n - 1)
    return p * (1 - p) / (2 * p - 1) ** 2 * (n + bend)


def others_known(p: float, size: int, n: int) -> float:
    """Return epsilon at delta 1e-6 for a collector who reads all reports and knows the data of all others.

    With known data, the collector sees which reports are truths and which are lies. Because contributors are
    exchangeable, only the number of lies z matters. If W is its distribution, then P(I tell the truth, z others lie) =
    W(z) (n - z)/n and P(I lie, z others lie) = W(z + 1) (z + 1)/n.
    """
    least, more = balanced_group(p, size)
    groups = n // size
    law = np.zeros(n + 2)  # this is the distribution of the number of lies
    certain = n - groups * least
    law[certain - groups : certain + 1] = stats.binom.pmf(np.arange(groups, -1, -1), groups, more)
    z = np.arange(n + 1)
    return epsilon_at(law[:-1] * (n - z) / n, law[1:] * (z + 1) / n)


@PAPER.experiment("groups", "Section 4.6.4, groups of more than two: error and leakage", quick=1)
def groups(run: Run) -> None:
    """Print error and leakage of balanced groups of 2 to 100 contributors without collusion, in closed form."""
    rows: list[Cell] = []
    for epsilon in (0.1, 1.0):
        one = setting(N, round(SHARE * N), epsilon)
        plain, quota = (count_variance(build(name, one), N, one["count"]) for name in ("RR", "quota RR"))
        p = exp(epsilon) / (1 + exp(epsilon))
        for size in GROUPS:
            rows.append(
                {
                    "epsilon": epsilon,
                    "group": size,
                    "correlation": correlation(p, size),
                    "of RR": group_variance(p, size, N, one["count"]) / plain,
                    "others' data known": (known := others_known(p, size, N)),
                    "RR at that epsilon": equivalent(known, N) / plain,
                }
            )
        rows.append({"epsilon": epsilon, "group": "quota RR", "correlation": "", "of RR": quota / plain,
                     "others' data known": epsilon, "RR at that epsilon": 1.0})  # fmt: skip
    run.show(rows, title=f"MSE over that of RR, and the epsilon at delta {DELTA:g} of who knows the others' data")
    run.save_table(rows)
    figure, axes = panels(2, 11, 4.2, sharex=True)
    top = 20.0
    for panel, column in zip(axes, ("of RR", "others' data known"), strict=True):
        for epsilon, mark, colour, dash in ((0.1, "o", PURPLE, ":"), (1.0, "s", VERMILLION, "--")):
            chosen = [row for row in rows if row["epsilon"] == epsilon and row["group"] != "quota RR"]
            values = [min(row[column], top) for row in chosen]
            panel.plot([row["group"] for row in chosen], values, marker=mark, color=colour, linewidth=1.2, markersize=5,
                       label=f"groups, epsilon {epsilon:g}")  # fmt: skip
            whole = next(row for row in rows if (row["epsilon"], row["group"]) == (epsilon, "quota RR"))
            panel.axhline(whole[column], color=BLUE, linewidth=1.2, linestyle=dash, label=f"quota RR, {epsilon:g}")
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
        panel.minorticks_off()
    axes[0].set_ylim(0.015, 1.2)
    axes[0].set_yticks([0.02, 0.05, 0.1, 0.2, 0.5, 1], [".02", ".05", ".1", ".2", ".5", "1"])
    dress(axes[0], f"error, share of ones {SHARE:g}", "contributors in a group", "MSE over that of RR")
    dress(axes[1], "epsilon of who knows the others' data", "contributors in a group", "epsilon at delta 1e-6")
    axes[1].axhline(top, color=GREY, linewidth=0.6, linestyle=":")
    note(axes[1], (2, top), "infinite", GREY, (0, 7), 8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=4, frameon=False, fontsize=9)
    run.save_figure(figure)


# ------------------------------------------------------------------------------------------------------- shuffle view


def law_of_ones(p: float, s: float, n: int, count: int) -> Floats:
    """Return P(I_1 = 0..n) for JRR when `count` of n contributors (n even) hold 1; s = 0 is RR.

    Signs are a uniform vector with as many + as -. Let h holders of 1 have the sign +. Given h, reports are
    independent. A holder of 1 reports 1 with probability p + s (sign +) or p - s (sign -). A holder of 0 reports 1 with
    probability 1 - p - s (sign +) or 1 - p + s (sign -).
    """
    half = n // 2
    h = np.arange(max(0, count - half), min(count, half) + 1)
    weights = stats.hypergeom.pmf(h, n, half, count) if s else (h == h[0]).astype(float)
    h, weights = h[weights > 1e-18], weights[weights > 1e-18]
    root = np.exp(2j * np.pi * np.arange((n + 1) // 2 + 1) / (n + 1))
    factors = [np.log(1 - t + t * root + 0j) for t in (p + s, p - s, 1 - p - s, 1 - p + s)]
    characteristic = np.zeros(len(root), dtype=np.complex128)
    for ones, weight in zip(h.tolist(), weights.tolist(), strict=True):
        powers = (ones, count - ones, half - ones, n - count - half + ones)
        characteristic += weight * np.exp(sum(power * factor for power, factor in zip(powers, factors, strict=True)))
    law: Floats = np.maximum(np.fft.irfft(np.conj(characteristic), n + 1), 0.0)
    return law


def shuffled(p: float, s: float, n: int, count: int) -> float:
    """Return epsilon at delta 1e-6 for an adversary who sees the number of ones and knows all data but mine."""
    return epsilon_at(law_of_ones(p, s, n, count + 1), law_of_ones(p, s, n, count))


@PAPER.experiment("shuffle", "Section 4.6.5, JRR behind a shuffler: epsilon, against RR with the same error", quick=1)
def shuffle(run: Run) -> None:
    """Print what the number of ones reveals about one contributor, in closed form (Fourier inversion)."""
    rows: list[Cell] = []
    count = round(SHARE * N)
    for epsilon in EPSILONS:
        one = setting(N, count, epsilon)
        plain = count_variance(build("RR", one), N, count)
        for name in ("RR", "JRR, Algorithm 1", "JRR, optimum"):
            mechanism = build(name, one)
            variance = count_variance(mechanism, N, count)
            # RR has the same error if e^eps/(e^eps - 1)^2 = variance/n.
            x = 1 + (1 + np.sqrt(1 + 4 * variance / N)) / (2 * variance / N)
            same = x / (1 + x)
            spread = float(np.sqrt(max(-mechanism.rho * mechanism.p * (1 - mechanism.p), 0.0)))
            rows.append(
                {
                    "epsilon": epsilon,
                    "method": name,
                    "of RR": variance / plain,
                    "shuffled": shuffled(mechanism.p, spread, N, count),
                    "RR of the same error": log(x),
                    "that RR, shuffled": shuffled(same, 0.0, N, count),
                }
            )
    run.show(rows, title=f"Epsilon at delta {DELTA:g} of the number of ones, n = {N:,}, share {SHARE:g}")
    run.save_table(rows)


# --------------------------------------------------------------------------------------------------------------- means


def _values(kind: str, rng: SimulationRandomness) -> Floats:
    draws: dict[str, Callable[[], Floats]] = {
        "all at .05": lambda: np.full(N, 0.05),
        "uniform on [0, .1]": lambda: rng.generator.uniform(0, 0.1, N),
        "uniform on [0, 1]": lambda: rng.generator.uniform(0, 1, N),
        "all at 1/2": lambda: np.full(N, 0.5),
    }
    return draws[kind]()


KINDS = ("all at .05", "uniform on [0, .1]", "uniform on [0, 1]", "all at 1/2")


def mean_variance(mechanism: object, values: Floats, n: int = N) -> float:
    """Return the variance of the estimated sum of values in [0, 1], each first rounded at random to a bit.

    The variance of a count is quadratic in the number of ones N_1. Its mean over the rounding is therefore its value at
    the sum, plus half its second difference times the variance of N_1.
    """
    total, rounding = float(values.sum()), float((values * (1 - values)).sum())
    at = [count_variance(mechanism, n, total + step) for step in (-1, 0, 1)]
    return at[1] + (at[0] - 2 * at[1] + at[2]) / 2 * rounding + rounding


def means(one: Cell) -> Cell:
    """Compute one cell: the MSE of the sum of values over `runs` deals, and its closed form."""
    values = _values(one["values"], SimulationRandomness(one["seed"]))
    rng = SimulationRandomness(int(content_hash(one)[:15], 16))
    mechanism = build(one["method"], {**one, "count": round(values.sum())})
    errors = []
    for _ in range(one["runs"]):
        ones = int((rng.generator.random(N) < values).sum())
        estimate = mechanism.estimate(mechanism.simulate_aggregate(np.array([N - ones, ones]), rng))
        errors.append(estimate.frequencies[1] * N - values.sum())
    squares = np.array(errors) ** 2
    return {
        "mse": float(squares.mean()),
        "mse_error": float(squares.std(ddof=1) / np.sqrt(len(squares))),
        "theory": mean_variance(mechanism, values),
        "rounding": float((values * (1 - values)).sum()),
    }


@PAPER.experiment(
    "means", "Means of numbers in [0, 1] by random rounding (the paper's future work)", runs=1000, quick=10
)
def estimated_means(run: Run) -> None:
    """Measure the MSE of a mean for each mechanism: values are rounded at random to a bit, then reported."""
    settings = [
        {"n": N, "epsilon": epsilon, "colluders": 5, "values": kind, "method": name}
        for epsilon in (0.1, 1.0)
        for kind in KINDS
        for name in METHODS
    ]
    cells = run.cells(settings, means)
    rows: list[Cell] = []
    for cell in cells:
        plain = next(c for c in cells if (c["values"], c["epsilon"], c["method"]) == (
            cell["values"], cell["epsilon"], "RR"))  # fmt: skip
        error = max(cell["mse_error"], cell["theory"] * np.sqrt(2 / cell["runs"]))
        rows.append(
            {
                "epsilon": cell["epsilon"],
                "values": cell["values"],
                "method": cell["method"],
                "MSE": cell["mse"],
                "closed form": cell["theory"],
                "z": (cell["mse"] - cell["theory"]) / error,
                "of RR": cell["theory"] / plain["theory"],
                "share of rounding": cell["rounding"] / cell["theory"],
            }
        )
    run.show(rows, title=f"MSE of the sum of n = {N:,} numbers")
    run.save_table(rows)
    figure, axes = panels(2, 11, 3.8, sharey=True)
    for panel, epsilon in zip(axes, (0.1, 1.0), strict=True):
        for j, (name, style) in enumerate(METHODS.items()):
            chosen = [row for row in rows if (row["epsilon"], row["method"]) == (epsilon, name)]
            places = [i + (j - 2) * 0.13 for i in range(len(chosen))]
            panel.scatter(places, [row["of RR"] for row in chosen], s=28, marker=style.mark, color=style.colour)
        panel.set_xticks(range(len(KINDS)), [kind.replace(" on ", "\non ").replace(" at ", "\nat ") for kind in KINDS])
        panel.set_yscale("log")
        panel.grid(axis="y", color="0.92", linewidth=0.7)
        panel.set_axisbelow(True)
        dress(panel, f"epsilon {epsilon:g}", y="MSE of the mean over that of RR" if panel is axes[0] else "")
    legend(figure, lines=False)
    run.save_figure(figure)
