"""Hash functions must be drawn at random: the counter-example of section 5.2 (Theorem 5.1)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from deniable import CountMeanSketch
from deniable.oracles.sketch.families.family import Parameters
from experiments.harness import Cell, Run
from experiments.ocms.paper import PAPER
from experiments.ocms.statistics import randomness, standard_error

K, N, TARGET = 1000, 10_000, 0


def colliding_values(sketch: CountMeanSketch, parameters: Parameters, target: int) -> NDArray[np.int64]:
    """Return for each hash function a value that shares the target's cell, or -1 if there is none."""
    rows = len(parameters[0])
    wanted = sketch.hashes.hash(np.full(rows, target, dtype=np.uint16), *parameters)
    found = np.full(rows, -1, dtype=np.int64)
    for value in range(sketch.k):
        missing = np.flatnonzero(found < 0)
        if value == target or not missing.size:
            continue
        cells = sketch.hashes.hash(
            np.full(len(missing), value, dtype=np.uint16), *(parameter[missing] for parameter in parameters)
        )
        found[missing[cells == wanted[missing]]] = value
    return found


def estimates(cell: Cell) -> Cell:
    """Estimate the target's frequency, which is 0, from the same answers with fixed and with random hash functions."""
    m = 2 if cell["cells"] == "2" else None
    sketch = CountMeanSketch(K, cell["epsilon"], m)
    fixed = sketch.hashes.draw_parameters(randomness({"seed": cell["seed"]}, 0, "assignment"), N)
    values = colliding_values(sketch, fixed, TARGET)
    hashed = sketch.hashes.hash(values.astype(np.uint16), *fixed)
    found = {"fixed": np.empty(cell["runs"]), "random": np.empty(cell["runs"])}
    for run in range(cell["runs"]):
        rng = randomness(cell, run)
        reports = {
            "fixed": sketch.hashes.join(fixed, sketch.response.randomize(hashed, rng)),
            "random": sketch.randomize(values, rng),
        }
        for name, batch in reports.items():
            support = sketch.count_support(batch, [TARGET])
            found[name][run] = sketch.estimate_support(support, N, [TARGET]).frequencies[0]
    result: Cell = {"m": sketch.m, "sd": math.sqrt(sketch.variance(0.0, N))}
    for name, samples in found.items():
        result |= {f"{name} assignment": float(samples.mean()), f"{name} error": standard_error(samples)}
    return result


@PAPER.experiment("assignment", "Section 5.2: bias of a fixed assignment of hash functions", runs=100, quick=2)
def assignment(run: Run) -> None:
    """Show data without the target for which a fixed assignment estimates the target's frequency as 1."""
    settings = [{"cells": cells, "epsilon": epsilon} for cells in ("2", "optimal") for epsilon in (1, 2, 4)]
    rows = run.cells(settings, estimates)
    run.save_table(rows)
    run.show(
        rows,
        ["cells", "epsilon", "m", "fixed assignment", "fixed error", "random assignment", "random error", "sd"],
        f"Estimates of a frequency that is 0, n={N:,}, {run.runs} runs",
    )
