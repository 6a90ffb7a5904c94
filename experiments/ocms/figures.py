"""Figures 2 and 3 of the paper: worst-case MSE, l1 and l2 loss against epsilon on synthetic data."""

from __future__ import annotations

from dataclasses import replace

from experiments.harness import Cell, Run
from experiments.ocms.losses import losses
from experiments.ocms.methods import METHODS
from experiments.ocms.paper import EPSILONS, PAPER
from experiments.ocms.pictures import draw_losses, draw_ratios
from experiments.ocms.populations import population
from experiments.ocms.statistics import Comparison, critical_z

SYNTHETIC = tuple(name for name in METHODS if name not in ("SS", "OLH"))
"""Methods for synthetic data.

Subset selection takes too long to simulate over 100,000 values. OLH is the sketch with almost the same m.
"""

SLOW = ("SS",)
"""Methods that are simulated in a fifth of the runs."""


def verdicts(cells: list[Cell]) -> list[Cell]:
    """Return for each cell the comparison of its l2 loss with theory, and whether Theorem K.1's bounds are kept."""
    rows = []
    for cell in cells:
        l2 = Comparison(cell["l2"], cell["l2_error"], cell["l2_theory"])
        l1 = Comparison(cell["l1"], cell["l1_error"], cell["l1_theory"])
        rows.append(
            {
                "method": cell["method"],
                "epsilon": cell["epsilon"],
                "l2": cell["l2"],
                "l2/theory": cell["l2"] / cell["l2_theory"],
                "z(l2)": l2.z,
                "l1/theory": cell["l1"] / cell["l1_theory"],
                "z(l1)": l1.z,
                "l1/bound": cell["l1"] / cell["l1_bound"],
                "worst MSE": cell["worst_mse"],
                "worst/theory": cell["worst_mse"] / cell["worst_theory"],
                "below K.1": cell["worst_mse"] <= cell["worst_upper"],
                "l2 agrees": l2.agrees(len(cells)),
            }
        )
    return rows


def perform(run: Run, data: str, methods: tuple[str, ...], title: str) -> None:
    """Measure the methods' losses on one data set at each epsilon; write tables and pictures."""
    people = population(data, run.seed)
    run.say(f"{title}: k={people.k:,}, n={people.n:,}, judged on {len(people.interest):,} values, {run.runs} runs")
    cells: list[Cell] = []
    for slow in (False, True):
        chosen = [name for name in methods if (name in SLOW) == slow]
        settings = [{"data": data, "method": name, "epsilon": epsilon} for name in chosen for epsilon in EPSILONS]
        cells += replace(run, runs=max(2, run.runs // 5) if slow else run.runs).cells(settings, losses)
    run.save_table(cells)
    rows = verdicts(cells)
    run.show(rows, title=f"{data}: measured losses over theory (|z| <= {critical_z(len(cells)):.2f} can be chance)")
    run.save_table(rows, "-verdicts")
    outside = [f"{row['method']} at {row['epsilon']}" for row in rows if not row["below K.1"]]
    run.say(f"worst-case MSE above the bound of Theorem K.1: {', '.join(outside) or 'none'} (each has 5%)")
    run.save_figure(draw_losses(cells, title))
    run.save_figure(draw_ratios(cells, title), "-ratio")
    run.say(f"{sum(cell['seconds'] for cell in cells):.0f} s of processor time")


@PAPER.experiment("zipf", "Figure 2: Zipf data, in the numbering that is worst for RHR", runs=100, quick=2)
def zipf(run: Run) -> None:
    """Measure the three losses on Zipf data; f* = 1."""
    perform(run, "zipf", SYNTHETIC, "Zipf data, all values with equal low bits")


@PAPER.experiment("gaussian", "Figure 3: Gaussian data, frequencies known in advance to be small", runs=100)
def gaussian(run: Run) -> None:
    """Measure the three losses on Gaussian data; f* = 0."""
    perform(run, "gaussian", (*SYNTHETIC, "SS"), "Gaussian data, f* = 0")
