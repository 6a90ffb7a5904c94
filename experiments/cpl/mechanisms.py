"""Figure 7, benchmark 2: utility against normalised leakage, of the reports and of the attacks side by side.

The paper's three budgets are lost from its text; 1, 2 and 3 are used. It plots what is called attack-based here.
"""

from __future__ import annotations

import math
from dataclasses import asdict

from matplotlib.axes import Axes

from deniable.leakage import pairwise_leakage
from deniable.leakage.adversary.mechanism_benchmark import benchmark_mechanisms
from experiments.cpl.data import LOADERS
from experiments.cpl.paper import PAPER
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREEN, VERMILLION, apart, dress, note, panels

BUDGETS = (1.0, 2.0, 3.0)
COLOURS = {1.0: BLUE, 2.0: GREEN, 3.0: VERMILLION}
MARKS = {1.0: "o", 2.0: "s", 3.0: "^"}


@PAPER.experiment("fig7", "Benchmark 2: utility against leakage of eight mechanisms")
def benchmark(run: Run) -> None:
    """Frequency error and 0-1 error over normalised TCPL; the picture is Adult's, the table has all data sets."""

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
    figure, axes = panels(2, 11, 9.2, rows=2, sharex=True, sharey="row")
    adult = [row for row in rows if row["data"] == "Adult"]
    for place, panel in enumerate(axes):
        error = "frequency_nmse" if place < 2 else "zero_one_error"
        kind = "channel_tcpl" if place % 2 == 0 else "attack_tcpl"
        _draw(panel, adult, kind, error)
    dress(axes[0], "what the reports leak (channel)", "", "error of estimated frequencies (NMSE, logarithmic)")
    dress(axes[1], "what the paper's attacks guess", "", "")
    dress(axes[2], "", "total leakage as a share of Algorithm 2's", "share of wrong guesses (0-1 error)")
    dress(axes[3], "", "total leakage as a share of Algorithm 2's", "")
    for epsilon, x in zip(BUDGETS, (0.20, 0.20, 0.20), strict=True):
        y = {1.0: 0.055, 2.0: 0.035, 3.0: 0.0223}[epsilon]
        axes[0].plot(x, y, MARKS[epsilon], color=COLOURS[epsilon], markersize=7)
        note(axes[0], (x, y), f"epsilon {epsilon:g}", COLOURS[epsilon], (9, 0))
    run.save_figure(figure)


def _totals(run: Run, cells: list[Cell]) -> None:
    """Tabulate TCPL (4) in nats: Algorithm 2's, which figure 7 divides by, and that of GRR's and OLH's reports."""
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


def _draw(panel: Axes, rows: list[Cell], kind: str, error: str) -> None:
    """Draw one panel; labels of a budget that would collide are moved apart vertically."""
    logarithmic = error == "frequency_nmse"
    if logarithmic:
        panel.set_yscale("log")
    panel.set_xlim(0.15, 1.2)
    panel.grid(color="0.94")
    panel.set_axisbelow(True)
    heights = [math.log10(row[error]) if logarithmic else row[error] for row in rows]
    span = max(heights) - min(heights)
    # Names stand to the right of their marks; rows whose marks are near each other share a column of names.
    order = sorted(range(len(rows)), key=lambda r: (round(rows[r][kind] / 0.12), heights[r]))
    columns: dict[int, list[int]] = {}
    for r in order:
        columns.setdefault(round(rows[r][kind] / 0.12), []).append(r)
    for members in columns.values():
        wanted = apart([heights[r] for r in members], 0.034 * span)
        right = max(rows[r][kind] for r in members)
        for r, height in zip(members, wanted, strict=True):
            row = rows[r]
            colour, mark = COLOURS[row["epsilon"]], MARKS[row["epsilon"]]
            panel.plot(row[kind], row[error], mark, color=colour, markersize=6.5, zorder=4)
            y = 10**height if logarithmic else height
            panel.plot([row[kind], right + 0.02], [row[error], y], color=colour, linewidth=0.5, alpha=0.6, zorder=3)
            note(panel, (right + 0.02, y), row["name"], colour, (2, 0), 8)
