"""Worst case of recursive Hadamard response: all contributors hold values with the same low bits (section 4.3)."""

from __future__ import annotations

from experiments.harness import Cell, Run
from experiments.ocms.losses import losses
from experiments.ocms.methods import METHODS, worst_mse
from experiments.ocms.paper import EPSILONS, PAPER
from experiments.ocms.statistics import Comparison

COMPARED = ("RHR", "HE", "OCMS", "OCMS-MSE")


@PAPER.experiment("rhr", "Worst case of recursive Hadamard response", runs=100, quick=2)
def rhr(run: Run) -> None:
    """Measure the error at values without holders: for contributors with companions of these values, and for others."""
    settings = [
        {"data": data, "method": method, "epsilon": epsilon}
        for data in ("companions", "spread-out")
        for method in COMPARED
        for epsilon in EPSILONS
    ]
    rows: list[Cell] = []
    for cell in run.cells(settings, losses):
        theory = cell["l2_theory"] / cell["values"]
        mechanism = METHODS[cell["method"]].build(cell["k"], cell["epsilon"], 1, 0)
        rows.append(
            {
                "data": cell["data"],
                "method": cell["method"],
                "epsilon": cell["epsilon"],
                "n MSE": cell["n"] * cell["l2"] / cell["values"],
                "n theory": cell["n"] * theory,
                "z": Comparison(cell["l2"], cell["l2_error"], cell["l2_theory"]).z,
                "n worst": worst_mse(mechanism),
            }
        )
    run.save_table(rows)
    run.show(rows, title="n x mean squared error at values that nobody holds, and the largest over all data")
