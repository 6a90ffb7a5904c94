"""The library against brute force: CPL, Algorithm 2, eight attacks, benchmark 1, and total leakage by definition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from deniable import GRR
from deniable.leakage import joint_from_records
from deniable.leakage.prior.empirical_prior import observed
from deniable.research.adversary.attacks import attack_channel
from deniable.research.adversary.benchmarks import MECHANISMS, benchmark_algorithms, leakage_matrix
from deniable.research.leakage import total_leakage
from experiments.cpl import brute_force
from experiments.cpl.additive import TELLING, exclusive_or
from experiments.cpl.data import LOADERS
from experiments.cpl.paper import PAPER, Floats
from experiments.harness import Cell, Run

EPSILON = 1.0
DATA = ("CelebA", "Cardio")


def _pairs(priors: dict[tuple[int, int], Floats], figure: Callable[[Floats], float]) -> Floats:
    d = 1 + max(i for i, _ in priors)
    result = np.zeros((d, d))
    for pair, rows in priors.items():
        result[pair] = figure(rows)
    return result


def _through(channels: dict[int, Floats], rows: Floats) -> float:
    return brute_force.leakage(rows, channels[rows.shape[1]])


@PAPER.experiment("brute-force", "The library against the definitions, by trying all outputs and all sets")
def definitions(run: Run) -> None:
    """Compare the library with brute force on CelebA and Cardio at epsilon 1, and on two counter-examples."""
    rows: list[Cell] = []
    for data in DATA:
        table = LOADERS[data]()
        priors = observed(table.records, table.sizes)
        d = len(table.sizes)
        known = {(i, j): brute_force.conditional(table, i, j) for i in range(d) for j in range(d) if i != j}
        worst = _pairs(known, lambda rows: brute_force.worst(rows, EPSILON))
        found = {"Algorithm 2": (leakage_matrix(priors, [EPSILON] * len(table.sizes)), worst)}
        for name, make in MECHANISMS.items():
            channels = {k: brute_force.guesses(name, k, EPSILON) for k in set(table.sizes)}
            guessed = _pairs(known, partial(_through, channels))
            ours = leakage_matrix(priors, [attack_channel(make(k, EPSILON)) for k in table.sizes])
            found[f"{name}, attack"] = (ours, guessed)
        for name, (ours, theirs) in found.items():
            nmse = [float(((figure - worst) ** 2).sum() / (worst**2).sum()) for figure in (ours, theirs)]
            rows.append({"data": data, "figure": name, "largest difference": float(np.abs(ours - theirs).max()),
                         "NMSE, library": nmse[0], "NMSE, brute force": nmse[1]})  # fmt: skip
        simple = _pairs(known, partial(_through, {k: brute_force.response(k, EPSILON) for k in set(table.sizes)}))
        off = ~np.eye(len(table.sizes), dtype=np.bool_)
        for point in benchmark_algorithms(table.records, table.sizes, EPSILON):
            if point.name in ("ITS", "GRR-ANL", "SPL-ANL"):
                estimate = np.full(worst.shape, EPSILON) if point.name == "SPL-ANL" else simple
                gap = (estimate - worst)[off] / EPSILON
                under, over = float(np.maximum(-gap, 0).mean()), float(np.maximum(gap, 0).mean())
                difference = max(abs(under - point.undershoot), abs(over - point.overshoot))
                rows.append({"data": data, "figure": f"benchmark 1, {point.name}", "largest difference": difference})
    faces = LOADERS["CelebA"]().select(TELLING)
    examples = {"exclusive or": exclusive_or()}
    examples["Young <- Chubby, Double_Chin"] = joint_from_records(faces.records, faces.sizes)
    for name, joint in examples.items():
        exact = float(total_leakage(joint, [GRR(2, EPSILON)] * 3).exact[0])
        rows.append({"data": "counter-example", "figure": f"total, {name}",
                     "largest difference": abs(exact - brute_force.total(joint, EPSILON))})  # fmt: skip
    run.show(rows, title="The library against the definitions, epsilon 1")
    run.save_table(rows)
    grid = max(float(row["largest difference"]) for row in rows if "SHE" in row["figure"])
    others = max(float(row["largest difference"]) for row in rows if "SHE" not in row["figure"])
    run.save_table([{"figures": len(rows), "SHE": grid, "all others": others}], "-summary")
    run.say(f"largest difference: {others:.1e}; for SHE, whose noise the library puts on a grid: {grid:.1e}")
