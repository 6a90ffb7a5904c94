"""Figure 7, benchmark 2: utility against normalised leakage, for reports and for attacks.

The paper's three budgets are missing from its text; we use 1, 2 and 3. The paper plots the leakage that we call
attack-based.
"""

from __future__ import annotations

import math
from dataclasses import asdict

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from deniable.leakage import pairwise_leakage
from deniable.research.adversary.benchmarks import benchmark_mechanisms
from experiments.cpl.data import LOADERS
from experiments.cpl.paper import PAPER
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, INK, VERMILLION, apart, dress, note, panels

BUDGETS = (1.0, 2.0, 3.0)


@PAPER.experiment("fig7", "Benchmark 2: utility against leakage of eight mechanisms")
def benchmark(run: Run) -> None:
    """Measure frequency error and 0-1 error against normalised TCPL; the picture has Adult, the table all data sets."""

    def compute(cell: Cell) -> Cell:
        table = LOADERS[cell["data"]]()
        return {"scores": [asdict(s) for s in benchmark_mechanisms(table.records, table.sizes, cell["epsilon"])]}

    cells = run.cells([{"data": data, "epsilon": epsilon} for data in LOADERS for epsilon in BUDGETS], compute)
    _totals(run, cells)
    rows = [{"data": cell["data"], "epsilon": cell["epsilon"], **score} for cell in cells for score in cell["scores"]]
    run.save_table(rows)
    shown = [
        {
            "eps": f"{row['epsilon']:g}",
            "mechanism": row["name"],
            "TCPL, channel": f"{row['channel_tcpl']:.3f}",
            "TCPL, attack": f"{row['attack_tcpl']:.3f}",
            "frequency NMSE": f"{row['frequency_nmse']:.2e}",
            "0-1 error": f"{row['zero_one_error']:.3f}",
        }
        for row in rows
        if row["data"] == "Adult"
    ]
    run.show(shown, title="Adult")
    figure, axes = panels(len(BUDGETS), 13, 8.4, rows=2, sharex=True, sharey="row")
    adult = [row for row in rows if row["data"] == "Adult"]
    for place, panel in enumerate(axes):
        epsilon = BUDGETS[place % len(BUDGETS)]
        error = "frequency_nmse" if place < len(BUDGETS) else "zero_one_error"
        _draw(panel, [row for row in adult if row["epsilon"] == epsilon], error)
        names = {"frequency_nmse": "error of estimated frequencies (NMSE)", "zero_one_error": "share of wrong guesses"}
        first, below = place % len(BUDGETS) == 0, place >= len(BUDGETS)
        x = "total leakage as a share of Algorithm 2's" if below else ""
        dress(panel, f"epsilon {epsilon:g}", x, names[error] if first else "")
    handles = [
        Line2D([], [], marker="o", linestyle="none", color=BLUE, markersize=6, label="what the reports leak (channel)"),
        Line2D([], [], marker="D", linestyle="none", color=VERMILLION, markersize=7, markerfacecolor="none",
               label="what the paper's attacks guess; its figure 7 plots these"),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside upper left", ncols=2, frameon=False, fontsize=9)
    run.save_figure(figure)


def _totals(run: Run, cells: list[Cell]) -> None:
    """Tabulate TCPL (4) in nats by Algorithm 2, by which figure 7 divides, and TCPL of GRR's and OLH's reports."""
    worst = run.cells(
        [{"data": cell["data"], "epsilon": cell["epsilon"], "figure": "tcpl"} for cell in cells],
        lambda cell: {"tcpl": pairwise_leakage(*LOADERS[cell["data"]]()[:2], cell["epsilon"]).tcpl},
    )
    rows = []
    for cell, total in zip(cells, worst, strict=True):
        shares = {score["name"]: score["channel_tcpl"] for score in cell["scores"]}
        d = len(LOADERS[cell["data"]]().sizes)
        rows.append(
            {
                "data": cell["data"],
                "epsilon": cell["epsilon"],
                "pairs": d * (d - 1),
                "TCPL, Algorithm 2": total["tcpl"],
                **{f"TCPL, {name}": shares[name] * total["tcpl"] for name in ("GRR", "OLH", "EXP")},
                "of all pairs' epsilon": total["tcpl"] / (d * (d - 1) * cell["epsilon"]),
            }
        )
    run.show(rows, title="Total correlation-induced leakage, nats, by reports")
    run.save_table(rows, "-tcpl")


def _draw(panel: Axes, rows: list[Cell], error: str) -> None:
    """Draw one budget: each mechanism's report and guess on one line, with its name in a column at the right."""
    logarithmic = error == "frequency_nmse"
    low, high = (6e-5, 0.04) if logarithmic else (0.2, 0.75)
    if logarithmic:
        panel.set_yscale("log")
    panel.set_xlim(0.15, 1.35)
    panel.set_ylim(low, high)
    panel.set_xticks([0.2, 0.4, 0.6, 0.8, 1.0])
    panel.grid(color="0.94")
    panel.set_axisbelow(True)
    heights = [math.log10(row[error]) if logarithmic else row[error] for row in rows]
    span = math.log10(high / low) if logarithmic else high - low
    for row, place in zip(rows, apart(heights, 0.045 * span), strict=True):
        y = 10**place if logarithmic else place
        channel, attack = row["channel_tcpl"], row["attack_tcpl"]
        panel.plot([attack, max(channel, attack), 1.1], [row[error], row[error], y], color="0.75", linewidth=0.8)
        panel.plot(channel, row[error], "o", color=BLUE, markersize=6, zorder=4)
        panel.plot(attack, row[error], "D", color=VERMILLION, markersize=7, markerfacecolor="none", zorder=5)
        note(panel, (1.1, y), row["name"], INK, (3, 0), 8)
