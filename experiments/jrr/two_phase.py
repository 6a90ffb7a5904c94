"""Two phases near n1/n = 1/2, the paper's future work: RR on some tells whether to use JRR on the rest."""

from __future__ import annotations

import numpy as np

from deniable import SimulationRandomness
from deniable.core.spec import content_hash
from deniable.research.dealt.coupling.jrr import JRR
from experiments.harness import Cell, Run
from experiments.jrr.methods import METHODS, build, count_variance, estimated_counts, setting
from experiments.jrr.paper import COLLUDERS, PAPER
from experiments.pictures import BLUE, GREY, ORANGE, VERMILLION, dress, panels

SHARES = (0.05, 0.2, 0.35, 0.45, 0.5)
FIRST = (0.05, 0.2)
"""Share of the contributors in phase one; everybody takes part in one phase, with the whole epsilon."""


def two_phases(one: Cell) -> Cell:
    """Compute one cell: phase one by RR, phase two by the optimum for phase one's estimate; weights by precision."""
    n, count, epsilon = one["n"], one["count"], one["epsilon"]
    n1 = 2 * round(one["first"] * n / 2)
    n2 = n - n1
    rng = SimulationRandomness(int(content_hash(one)[:15], 16))
    plain = JRR.optimal(n1, epsilon, n1 - 1)
    found = []
    for _ in range(one["runs"]):
        held = int(rng.generator.hypergeometric(count, n - count, n1))
        first = estimated_counts(plain, n1, held, 1, rng)[0] / n1
        guess = round(min(max(first, 0.0), 1.0) * n2)
        second = JRR.optimal(n2, epsilon, COLLUDERS, guess)
        later = estimated_counts(second, n2, count - held, 1, rng)[0] / n2
        # Fixed by the parameters and the guess, which phase one gave: independent of phase two's noise.
        weights = np.array([n1, n2 / max(second.count_variance(guess) / n2, 1e-12) * plain.count_variance(0) / n1])
        weights /= weights.sum()
        found.append(n * float(weights @ [first, later]) - count)
    squares = np.array(found) ** 2
    return {"mse": float(squares.mean()), "mse_error": float(squares.std(ddof=1) / np.sqrt(len(squares)))}


@PAPER.experiment(
    "two-phase", "two phases near one half: RR first, then JRR planned for what it found", runs=1000, quick=5
)
def two_phase(run: Run) -> None:
    """Measure two phases beside one: they should lose nothing at one half and keep JRR's gain elsewhere."""
    n, epsilon = 10_000, 0.1
    settings = [
        {**setting(n, round(share * n), epsilon), "share": share, "first": first} for share in SHARES for first in FIRST
    ]
    cells = run.cells(settings, two_phases)
    rows: list[Cell] = []
    for share in SHARES:
        one = setting(n, round(share * n), epsilon)
        plain = count_variance(build("RR", one), n, one["count"])
        row: Cell = {"share": share}
        for name in METHODS:
            row[name] = count_variance(build(name, one), n, one["count"]) / plain
        for cell in cells:
            if cell["share"] == share:
                row[f"two phases, {cell['first']:.0%} first"] = cell["mse"] / plain
                row[f"error of {cell['first']:.0%}"] = cell["mse_error"] / plain
        rows.append(row)
    run.show(rows, title=f"MSE over that of RR, n = {n:,}, epsilon {epsilon:g}")
    run.save_table(rows)
    figure, (panel,) = panels(1, 7, 4)
    lines = {"JRR, Algorithm 1": VERMILLION, "JRR, optimum": METHODS["JRR, optimum"].colour, "quota RR": BLUE}
    for name, colour in lines.items():
        panel.plot(SHARES, [row[name] for row in rows], color=colour, linewidth=1.3, label=f"one phase: {name}")
    for first, mark, aside in zip(FIRST, ("o", "s"), (-0.006, 0.006), strict=True):
        key = f"two phases, {first:.0%} first"
        errors = [2 * row[f"error of {first:.0%}"] for row in rows]
        panel.errorbar(
            [share + aside for share in SHARES],
            [row[key] for row in rows],
            yerr=errors,
            fmt=mark,
            color=ORANGE,
            markersize=4,
            label=key,
        )
    panel.axhline(1, color=GREY, linewidth=0.8)
    panel.set_ylim(bottom=0)
    panel.legend(frameon=False, fontsize=8.5)
    dress(panel, f"n = {n:,}, epsilon {epsilon:g}", "share of ones", "MSE over that of RR")
    run.save_figure(figure)
