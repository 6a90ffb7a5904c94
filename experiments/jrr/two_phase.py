"""Two phases near n1/n = 1/2, the paper's future work (section 7), and our variant.

In the paper's version, all contributors answer by RR with a part of epsilon. The estimate decides p and rho of JRR, by
which all contributors answer again with the rest of epsilon. In our version, some contributors answer by RR and the
others by JRR, each once and with all of epsilon.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache

import numpy as np
from scipy import stats

from deniable import SimulationRandomness
from deniable.core.spec import content_hash
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.estimate import quadratic
from experiments.harness import Cell, Run
from experiments.jrr.methods import METHODS, build, count_variance, estimated_counts, setting
from experiments.jrr.paper import COLLUDERS, EPSILONS, PAPER, Floats
from experiments.pictures import BLUE, GREEN, GREY, ORANGE, VERMILLION, dress, panels

N = 10_000
SHARES = (0.05, 0.2, 0.35, 0.45, 0.5)
OF_EPSILON = (0.01, 0.05, 0.2, 0.5)
"""Part of epsilon in phase one, for the paper's version."""

OF_CONTRIBUTORS = (0.05, 0.2)
"""Share of contributors who answer first, for our version."""


@cache
def planned(n: int, epsilon: float, guess: int | None) -> JRR:
    """Return the best JRR for a guess of the count (RR, or JRR at its extreme); without a guess, over a flat prior."""
    return JRR.optimal(n, epsilon, min(COLLUDERS, n - 1), guess)


def plain(n: int, epsilon: float) -> JRR:
    """Return RR, as JRR without correlation."""
    return JRR.optimal(n, epsilon, n - 1)


def combined(first: JRR, second: JRR, guess: int | None) -> Floats:
    """Return the weights of the two phases, by precision at the guess, or at one half without a guess."""
    at = 0.5 if guess is None else guess / first.n
    precision = np.array([1 / one.variance(at) for one in (first, second)])
    weights: Floats = precision / precision.sum()
    return weights


def verdict(ratio: float, error: float) -> str:
    """Return whether a ratio of two errors is a loss or a gain; within two standard errors of 1 it is undecided.

    >>> verdict(1.1, 0.06), verdict(1.1, 0.04), verdict(0.9, 0.0)
    ('undecided', 'loses', 'gains')
    """
    if abs(ratio - 1) <= 2 * error:
        return "undecided"
    return "loses" if ratio > 1 else "gains"


# ---------------------------------------------------------------------------------------- the paper's: by the budget


def exact_by_budget(n: int, count: int, epsilon: float, part: float) -> Floats:
    """Return the exact MSE of two phases that split epsilon, with weights at the guess and at one half.

    The count of phase one is a sum of two binomials. This count determines the parameters of phase two and the weights.
    The estimate of phase two is unbiased and has the variance of Theorem 3.
    """
    first = plain(n, part * epsilon)
    p = float(first.p)
    reports = np.arange(n + 1)
    law = np.convolve(
        stats.binom.pmf(reports[: count + 1], count, p), stats.binom.pmf(reports[: n - count + 1], n - count, 1 - p)
    )
    reports, law = reports[law > 1e-15], law[law > 1e-15]
    found = (reports / n - (1 - p)) / (2 * p - 1)
    guesses = np.rint(np.clip(found, 0.0, 1.0) * n)
    # The best JRR is RR near one half, and otherwise the extreme coupling. So there are only two mechanisms, whatever
    # the guess.
    rest = epsilon - part * epsilon
    switch = bisect_left(range(n // 2 + 1), True, key=lambda guess: planned(n, rest, guess).rho == 0)
    apart = np.minimum(guesses, n - guesses) < switch
    total = np.zeros(2)
    for chosen, guess in ((apart, 0), (~apart, n // 2)):
        second = planned(n, rest, guess)
        level, slope, curvature = quadratic(second.variance)
        at = np.stack([guesses[chosen] / n, np.full(int(chosen.sum()), 0.5)])
        weight = 1 / (1 + first.variance(0.5) / (level + slope * at + curvature * at**2))
        known = (weight * (found[chosen] * n - count)) ** 2
        total += (known + (1 - weight) ** 2 * second.count_variance(count)) @ law[chosen]
    mean: Floats = total / law.sum()
    return mean


def by_budget(one: Cell) -> Cell:
    """Compute one cell: both phases are drawn, with all contributors in both."""
    n, count, epsilon = one["n"], one["count"], one["epsilon"]
    rng = SimulationRandomness(int(content_hash(one)[:15], 16))
    first = plain(n, one["of epsilon"] * epsilon)
    found = []
    for early in estimated_counts(first, n, count, one["runs"], rng).tolist():
        guess = round(min(max(early, 0.0), n))
        second = planned(n, epsilon - one["of epsilon"] * epsilon, guess)
        late = estimated_counts(second, n, count, 1, rng)[0]
        found.append(float(combined(first, second, guess) @ [early, late]) - count)
    squares = np.array(found) ** 2
    return {"mse": float(squares.mean()), "mse_error": float(squares.std(ddof=1) / np.sqrt(len(squares)))}


@PAPER.experiment("two-phase", "Section 7: two phases that split epsilon", runs=1000, quick=5)
def two_phase(run: Run) -> None:
    """Print the exact MSE for three epsilons beside one phase; draw it at epsilon .1."""
    settings = [
        {**setting(N, round(share * N), 0.1), "share": share, "of epsilon": part}
        for share in SHARES
        for part in OF_EPSILON
    ]
    drawn = {(cell["share"], cell["of epsilon"]): cell for cell in run.cells(settings, by_budget)}
    rows: list[Cell] = []
    for epsilon in EPSILONS:
        for share in SHARES:
            one = setting(N, round(share * N), epsilon)
            rr = count_variance(build("RR", one), N, one["count"])
            unguided = planned(N, epsilon, None).count_variance(one["count"]) / rr
            for part in OF_EPSILON:
                exact, fixed = exact_by_budget(N, one["count"], epsilon, part).tolist()
                row: Cell = {"epsilon": epsilon, "share": share, "of epsilon": part}
                row |= {"of RR": exact / rr, "of RR, fixed weights": fixed / rr, "better": min(exact, fixed) / rr}
                row["one phase, no guess"] = unguided
                for name in ("JRR, Algorithm 1", "JRR, optimum", "quota RR"):
                    row[name] = count_variance(build(name, one), N, one["count"]) / rr
                # The better weights count, so that nobody can say that the two phases were combined badly.
                row["against RR"] = verdict(min(exact, fixed) / rr, 0.0)
                row["against one phase"] = verdict(min(exact, fixed) / rr / unguided, 0.0)
                if epsilon == one["epsilon"] == 0.1:
                    cell = drawn[share, part]
                    error = max(cell["mse_error"], exact * float(np.sqrt(2 / cell["runs"])))
                    row |= {"drawn": cell["mse"] / rr, "error": error / rr, "z": (cell["mse"] - exact) / error}
                rows.append(row)
    run.show(rows, title=f"Two phases that split epsilon: MSE over that of RR, n = {N:,}, M = {COLLUDERS}")
    run.save_table(rows)
    figure, axes = panels(len(EPSILONS), 12, 4, sharey=True)
    colours = dict(zip(OF_EPSILON, (GREEN, ORANGE, VERMILLION, "black"), strict=True))
    for panel, epsilon in zip(axes, EPSILONS, strict=True):
        for part, colour in colours.items():
            chosen = [row for row in rows if (row["epsilon"], row["of epsilon"]) == (epsilon, part)]
            values = [row["better"] for row in chosen]
            panel.plot(SHARES, values, color=colour, linewidth=1.3, label=f"{part:.0%} of epsilon first")
        one_phase = [row for row in rows if (row["epsilon"], row["of epsilon"]) == (epsilon, OF_EPSILON[0])]
        for name, colour in (("one phase, no guess", METHODS["JRR, optimum"].colour), ("quota RR", BLUE)):
            label = name if name == "quota RR" else "JRR in one phase, no guess"
            panel.plot(SHARES, [row[name] for row in one_phase], color=colour, linestyle="--", label=label)
        panel.axhline(1, color=GREY, linewidth=0.8)
        panel.set_ylim(bottom=0)
        dress(panel, f"epsilon {epsilon:g}", "share of ones", "MSE over that of RR" if panel is axes[0] else "")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=6, frameon=False, fontsize=8.5)
    run.save_figure(figure)


# ------------------------------------------------------------------------------------------ ours: by the contributors


def by_contributors(one: Cell) -> Cell:
    """Compute one cell: phase one uses RR, phase two the optimum for phase one's estimate.

    Weights are by precision. The mean of the conditional MSE given phase one has the same expectation as the MSE of the
    draws, with less variance.
    """
    n, count, epsilon = one["n"], one["count"], one["epsilon"]
    n1 = 2 * round(one["first"] * n / 2)
    n2 = n - n1
    rng = SimulationRandomness(int(content_hash(one)[:15], 16))
    early = plain(n1, epsilon)
    found, expected = [], []
    for _ in range(one["runs"]):
        held = int(rng.generator.hypergeometric(count, n - count, n1))
        first = estimated_counts(early, n1, held, 1, rng)[0] / n1
        guess = round(min(max(first, 0.0), 1.0) * n2)
        second = planned(n2, epsilon, guess)
        later = estimated_counts(second, n2, count - held, 1, rng)[0] / n2
        # The weights follow from the parameters and from phase one's guess. So they are independent of phase two's
        # noise.
        weights = np.array([n1, n2 / max(second.count_variance(guess) / n2, 1e-12) * early.count_variance(0) / n1])
        weights /= weights.sum()
        found.append(n * float(weights @ [first, later]) - count)
        known = n * float(weights @ [first, (count - held) / n2]) - count
        expected.append(known**2 + (n * weights[1]) ** 2 * second.variance((count - held) / n2))
    squares, conditional = np.array(found) ** 2, np.array(expected)
    return {
        "mse": float(squares.mean()),
        "mse_error": float(squares.std(ddof=1) / np.sqrt(len(squares))),
        "conditional": float(conditional.mean()),
        "conditional_error": float(conditional.std(ddof=1) / np.sqrt(len(conditional))),
    }


@PAPER.experiment("two-groups", "Our variant: RR by some contributors, then JRR by the others", runs=1000, quick=5)
def two_groups(run: Run) -> None:
    """Measure our version against one phase."""
    epsilon = 0.1
    settings = [
        {**setting(N, round(share * N), epsilon), "share": share, "first": first}
        for share in SHARES
        for first in OF_CONTRIBUTORS
    ]
    rows: list[Cell] = []
    for cell in run.cells(settings, by_contributors):
        rr = count_variance(build("RR", cell), N, cell["count"])
        ratio, error = cell["conditional"] / rr, cell["conditional_error"] / rr
        unguided = planned(N, epsilon, None).count_variance(cell["count"]) / rr
        spread = max(cell["mse_error"], cell["conditional"] * float(np.sqrt(2 / cell["runs"])))
        row: Cell = {"share": cell["share"], "first": cell["first"], "of RR": ratio, "error": error}
        row |= {"drawn": cell["mse"] / rr, "z": (cell["mse"] - cell["conditional"]) / spread}
        row["one phase, no guess"] = unguided
        for name in METHODS:
            row[name] = count_variance(build(name, cell), N, cell["count"]) / rr
        row["against RR"] = verdict(ratio, error)
        row["against one phase"] = verdict(ratio / unguided, error / unguided)
        rows.append(row)
    run.show(rows, title=f"Two groups: MSE over that of RR, n = {N:,}, epsilon {epsilon:g}")
    run.save_table(rows)
    figure, (panel,) = panels(1, 7, 4)
    last = [row for row in rows if row["first"] == OF_CONTRIBUTORS[-1]]
    lines = {"JRR, Algorithm 1": VERMILLION, "JRR, optimum": METHODS["JRR, optimum"].colour, "quota RR": BLUE}
    for name, colour in lines.items():
        panel.plot(SHARES, [row[name] for row in last], color=colour, linewidth=1.3, label=f"one phase: {name}")
    for first, mark, aside in zip(OF_CONTRIBUTORS, ("o", "s"), (-0.006, 0.006), strict=True):
        chosen = [row for row in rows if row["first"] == first]
        panel.errorbar(
            [row["share"] + aside for row in chosen],
            [row["of RR"] for row in chosen],
            yerr=[2 * row["error"] for row in chosen],
            fmt=mark,
            color=ORANGE,
            markersize=4,
            label=f"two groups, {first:.0%} first",
        )
    panel.axhline(1, color=GREY, linewidth=0.8)
    panel.set_ylim(bottom=0)
    panel.legend(frameon=False, fontsize=8.5)
    dress(panel, f"n = {N:,}, epsilon {epsilon:g}", "share of ones", "MSE over that of RR")
    run.save_figure(figure)
