"""Knowledge of an attacker: the same mechanisms against several adversaries, and RR with the same epsilon."""

from __future__ import annotations

from math import inf
from typing import Any

from experiments.harness import Cell, Run
from experiments.jrr.methods import METHODS, build, count_variance, equivalent, setting
from experiments.jrr.paper import EPSILONS, PAPER
from experiments.jrr.pictures import legend
from experiments.pictures import GREY, dress, panels

DELTA = 1e-6
SHARES = (0.05, 0.5)
ADVERSARIES = (
    "one report, others ignored",
    "and 5 colluders' shares",
    "all reports, base rate known",
    "all reports, others' data known",
    "the dealer colludes",
)
"""Each adversary sees my report. Adversaries three and four allow delta = 1e-6; for the others delta is 0."""


def learned(mechanism: Any, theta: float) -> dict[str, float]:
    """Return each adversary's epsilon by the mechanism's own guarantee."""
    known = mechanism.guarantee_against(theta=theta, delta=DELTA) if mechanism.name == "JRR" else mechanism.privacy()
    rows = known.trust_models

    def smallest(*words: str, delta: bool) -> float:
        found = [
            row.epsilon
            for row in rows
            if all(word in f"{row.adversary} {row.view}" for word in words) and (delta or row.delta == 0)
        ]
        return min(found, default=inf)

    everybody = smallest("all reports", "everybody else's data", delta=True)
    return {
        ADVERSARIES[0]: smallest("report only", delta=False),
        ADVERSARIES[1]: min(smallest("colluders", "shares", delta=False), smallest("peers", "shares", delta=False)),
        ADVERSARIES[2]: min(smallest("all reports", "base rate", delta=True), everybody),
        ADVERSARIES[3]: everybody,
        ADVERSARIES[4]: smallest("dealer", "all shares", "all reports", delta=False),
    }


@PAPER.experiment("attackers", "What each adversary learns, and the error of RR with the same epsilon", quick=1)
def attackers(run: Run) -> None:
    """Print each adversary's epsilon at the paper's settings; compare with RR against the same adversary.

    The last columns are the main result. They consider an adversary who knows the data of all others. RR at the larger
    epsilon reveals as much to this adversary as JRR does, and RR's error is smaller.
    """
    n = 10_000
    rows: list[Cell] = []
    for epsilon in EPSILONS:
        for share in SHARES:
            one = setting(n, round(share * n), epsilon)
            for name in METHODS:
                mechanism = build(name, one)
                found = learned(mechanism, share) if name != "RR" else dict.fromkeys(ADVERSARIES, epsilon)
                variance = count_variance(mechanism, n, one["count"])
                rows.append(
                    {
                        "epsilon": epsilon,
                        "share": share,
                        "method": name,
                        **found,
                        "MSE": variance,
                        "MSE of RR at the 4th": equivalent(found[ADVERSARIES[3]], n),
                    }
                )
    run.save_table(rows)
    for epsilon in EPSILONS:
        run.show(
            [{**row, "share": f"{row['share']:g}"} for row in rows if row["epsilon"] == epsilon],
            [key for key in rows[0] if key != "epsilon"],
            title=f"nominal epsilon {epsilon:g}, n = {n:,}, delta {DELTA:g}",
        )
    shown = [row for row in rows if row["share"] == SHARES[0]]
    figure, axes = panels(len(EPSILONS), 13, 4.6, sharex=True, sharey=True)
    top = 60.0
    for panel, epsilon in zip(axes, EPSILONS, strict=True):
        panel.axvline(epsilon, color=GREY, linewidth=1)
        panel.axvline(top, color=GREY, linewidth=0.6, linestyle=":")
        for j in range(len(ADVERSARIES)):
            panel.axhline(j + 0.5, color="0.93", linewidth=0.7)
        for row in [row for row in shown if row["epsilon"] == epsilon]:
            style = METHODS[row["method"]]
            offset = 0.17 * (list(METHODS).index(row["method"]) - 2)
            places = [j + offset for j in range(len(ADVERSARIES))]
            values = [min(row[key], top) for key in ADVERSARIES]
            panel.scatter(values, places, s=24, marker=style.mark, color=style.colour, zorder=3)
        panel.set_xscale("log")
        panel.set_xlim(0.005, 100)
        panel.text(top, -0.55, "infinite", size=8, color=GREY, ha="right", va="bottom")
        panel.set_yticks(range(len(ADVERSARIES)), ADVERSARIES)
        panel.set_ylim(len(ADVERSARIES) - 0.5, -0.5)
        dress(panel, f"nominal epsilon {epsilon:g}", "epsilon the adversary really has")
    legend(figure, lines=False)
    run.save_figure(figure)
