"""Wrong priors (VII-A): the largest leakage over all distributions near CelebA's, and the distance of LFW's."""

from __future__ import annotations

import numpy as np

from deniable import GRR
from deniable.leakage import conditional_from_joint, joint_from_records
from deniable.research.leakage import cpl_within, exact_totals, totals_within
from experiments.cpl import calibration
from experiments.cpl.data import Table
from experiments.cpl.paper import PAPER, Floats
from experiments.harness import Cell, Run

EPSILON = 1.0
RADII = (0.0, 0.01, 0.05, 0.1)
PAIRS = (("Bald", "Male"), ("Male", "Bald"))
FEW = 6
"""Number of attributes in totals: the first that CelebA and LFW share."""


@PAPER.experiment("wrong-prior", "Largest leakage over all priors near CelebA's: GRR, epsilon 1")
def near(run: Run) -> None:
    """Compute pairs and the largest total of six attributes by radius, and the distance and total of LFW's prior."""
    faces, public = calibration.common_faces()
    rows: list[Cell] = []
    for about, released in PAIRS:
        own, theirs = (conditional_from_joint(_joint(table.select([about, released]))) for table in (faces, public))
        rows.append(
            {"figure": f"{about} <- {released}", "LFW's distance": _distance(own, theirs),
             "under LFW": cpl_within(GRR(2, EPSILON), theirs, 0.0),
             **{f"radius {radius:g}": cpl_within(GRR(2, EPSILON), own, radius) for radius in RADII}}
        )  # fmt: skip
    names = faces.names[:FEW]
    own, theirs = (_joint(table.select(names)) for table in (faces, public))
    grr = [GRR(2, EPSILON)] * len(names)
    distance = max(
        _distance(conditional_from_joint(own, i), conditional_from_joint(theirs, i)) for i in range(len(names))
    )
    rows.append(
        {"figure": "largest total", "LFW's distance": distance, "under LFW": float(exact_totals(theirs, grr).max()),
         **{f"radius {radius:g}": max(total.epsilon for total in totals_within(own, grr, radius)) for radius in RADII}}
    )  # fmt: skip
    run.show(rows)
    run.save_table(rows)


def _joint(table: Table) -> Floats:
    return joint_from_records(table.records, table.sizes)


def _distance(rows: Floats, others: Floats) -> float:
    """Return the largest total variation distance between rows with the same answer."""
    return float(np.abs(rows - others).sum(axis=1).max() / 2)
