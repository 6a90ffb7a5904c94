"""Attributes to release: the greedy search against the best set, where all sets can be tried."""

from __future__ import annotations

import math

import numpy as np

from deniable import GRR, SimulationRandomness
from deniable.leakage import joint_from_records
from deniable.research.leakage import select_attributes
from experiments.cpl.data import celeba
from experiments.cpl.paper import PAPER
from experiments.harness import Cell, Run

EPSILON = 1.0
CAPS = (1.5, 2.5, 4.0)
ATTRIBUTES = 8


@PAPER.experiment("selection", "Attributes to release under a cap: the greedy choice against the best", runs=200)
def selection(run: Run) -> None:
    """Measure how often, and by how much, the greedy choice among 8 attributes of CelebA is smaller than the best."""

    def compute(cell: Cell) -> Cell:
        rng, names = SimulationRandomness(cell["seed"]).generator, celeba().names
        best, greedy = [], []
        for _ in range(cell["runs"]):
            columns = rng.choice(len(names), min(ATTRIBUTES, len(names)), replace=False)
            joint = joint_from_records(celeba().records[:, columns], (2,) * len(columns))
            found = select_attributes(joint, [GRR(2, EPSILON)] * joint.ndim, cell["cap"])
            best.append(found.worth)
            greedy.append(found.greedy_worth)
        return {"best": best, "greedy": greedy}

    rows = []
    for cell in run.cells([{"cap": cap, "epsilon": EPSILON, "attributes": ATTRIBUTES} for cap in CAPS], compute):
        best, greedy = np.array(cell["best"]), np.array(cell["greedy"])
        share = float((greedy < best).mean())
        rows.append(
            {
                "cap": cell["cap"],
                "tried": len(best),
                "mean size, best": float(best.mean()),
                "mean size, greedy": float(greedy.mean()),
                "greedy falls short": share,
                "standard error": math.sqrt(share * (1 - share) / len(best)),
                "largest gap": float((1 - greedy / best).max()),
            }
        )
    run.show(rows, title=f"Largest sets of {ATTRIBUTES} attributes whose totals stay below a cap, epsilon {EPSILON:g}")
    run.save_table(rows)
