"""Numbers of docs/theory/leakage.md that the paper's page lacks: calibrated exclusive or, and cost of totals."""

from __future__ import annotations

import tracemalloc
from time import process_time

import numpy as np

from deniable import GRR
from deniable.research.leakage import calibrate, total_leakage
from experiments.cpl.additive import exclusive_or
from experiments.cpl.paper import PAPER
from experiments.harness import Cell, Run

CAP = 1.0
SIZES = (21, 24)


@PAPER.experiment("theory", "Numbers of docs/theory/leakage.md: budgets of an exclusive or, cost of totals")
def theory(run: Run) -> None:
    """Print the budgets of an exclusive or under a cap of 1, and processor time and memory of large totals."""
    calibrated(run)
    _cost(run)


def calibrated(run: Run) -> None:
    """Tabulate each criterion's budget for an exclusive or, and the exact total at this budget."""
    joint = exclusive_or()
    rows: list[Cell] = []
    for criterion in ("exact", "prior-free", "additive"):
        budget = float(calibrate(joint, CAP, criterion).epsilons[0])
        total = total_leakage(joint, [GRR(2, budget)] * 3)
        rows.append({"criterion": criterion, "epsilon": budget, "exact total": float(total.exact.max())})
    run.show(rows, title=f"Exclusive or, cap {CAP:g}")
    run.save_table(rows, "-calibrated")


def _cost(run: Run) -> None:
    rows = []
    for d in SIZES:
        joint = np.random.default_rng(run.seed).dirichlet(np.ones(2**d)).reshape((2,) * d)
        tracemalloc.start()
        started = process_time()
        total_leakage(joint, [GRR(2, 1.0)] * d)
        seconds = process_time() - started
        peak = tracemalloc.get_traced_memory()[1] / 2**30
        tracemalloc.stop()
        rows.append({"binary attributes": d, "seconds": seconds, "GiB": peak, "GiB of the joint": joint.nbytes / 2**30})
    run.show(rows, title="Total leakage of every attribute: processor time of one core, memory beside the joint")
    run.save_table(rows, "-cost")
