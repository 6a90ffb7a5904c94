"""Errors that the page quotes outside its tables: single cells, exact biases, and the default against four methods."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from deniable.records.pivot.copy_probabilities import pairwise_copy_probabilities
from deniable.records.pivot.corr_rr_error import expected_error
from experiments.corr_rr.claims import BASELINES
from experiments.corr_rr.layouts import LAYOUTS, SOURCES, Layout
from experiments.corr_rr.measure import measure
from experiments.corr_rr.methods import DEFAULT
from experiments.corr_rr.paper import PAPER, expected
from experiments.corr_rr.populations import Synthetic
from experiments.corr_rr.tables import settings
from experiments.harness import Cell, Run

FOUR = (*BASELINES, "Corr-RR")
PREPRINT_FOUR = (*BASELINES, "Corr-RR preprint")
PAPER_FIGURES = tuple(name for name in LAYOUTS if not name.startswith("v1-") and name != "figure-11")
PREPRINT_FIGURES = tuple(name for name in LAYOUTS if name.startswith("v1-"))
BESIDE_RUNS = 30
"""Repetitions of the cells with the default, whose decoder takes most of the time."""


def cells_of(run: Run, figures: Iterable[str]) -> list[Cell]:
    """Measure all methods in the cells of some figures; real data have few cells, and the paper's repetitions."""
    found: list[Cell] = []
    for figure in figures:
        layout: Layout = LAYOUTS[figure]
        runs = layout.runs if layout.panel[0] == "data" else min(BESIDE_RUNS, layout.runs)
        found += replace(run, name=figure, runs=runs).cells(layout.all_cells(), measure)
    return found


def error(cell: Cell, method: str, post: str = "raw") -> float:
    """Return a method's mean squared error in a cell."""
    return float(cell["mse"][f"{method}|{post}"][0])


def standard_error(cell: Cell, method: str, post: str = "raw") -> float:
    """Return the Monte-Carlo standard error of a method's mean squared error in a cell."""
    return float(cell["mse"][f"{method}|{post}"][1]) / math.sqrt(cell["runs"])


def best_of_four(cell: Cell, post: str, four: Sequence[str] = FOUR) -> float:
    """Return the smallest error of the paper's four methods."""
    return min(error(cell, method, post) for method in four)


def squared_bias(d: int, rho: float) -> float:
    """Return the exact mean squared bias of phase two if phase one knew SynA's marginals exactly."""
    marginals = Synthetic("as_described", 4, d, rho, (0,) * (d - 1)).marginals
    others = 18_000
    found = expected_error(pairwise_copy_probabilities(marginals, others), marginals, others, 0.5)
    return float(np.mean([np.mean(bias**2) for bias in found.bias]))


def beside_default(name: str, cells: list[Cell], four: Sequence[str] = FOUR) -> Cell:
    """Return how often SMP and the decoded default have smaller errors than the best of four, all projected."""
    best = [best_of_four(cell, "simplex", four) for cell in cells]
    corr_rr = sum(error(cell, four[-1], "simplex") == least for cell, least in zip(cells, best, strict=True))
    smp = np.array([error(cell, "SMP", "simplex") for cell in cells]) / best
    decoded = np.array([error(cell, *DEFAULT.split("|")) for cell in cells]) / best
    return {
        "cells": name,
        "number": len(cells),
        "Corr-RR best": corr_rr,
        "SMP better": int((smp < 1).sum()),
        "SMP ratio": float(np.exp(np.log(smp).mean())),
        "default better": int((decoded < 1).sum()),
        "default ratio": float(np.exp(np.log(decoded).mean())),
        "default largest": float(decoded.max()),
    }


@PAPER.experiment("statements", "Errors that the page quotes outside its tables of claims", runs=100)
def statements(run: Run) -> None:
    """Measure the numbers in single sentences of the page; each figure has a cache of its own."""
    (plain,) = (
        cell
        for cell in replace(run, name="table-6").cells(settings("6", "as_described"), measure)
        if (cell["epsilon"], cell["share"]) == (0.5, 0.1)
    )
    setting = {key: plain[key] for key in plain if key not in ("mse", "runs", "seed")} | {"known_priors": True}
    (known,) = run.cells([setting], measure)
    printed = expected()["tables"]["6"]["cells"]["Corr-RR"]["0.5"][1]
    lines = {method: (error(plain, method), standard_error(plain, method)) for method in (*FOUR, "SMP")}
    lines["RS+RFD, true priors"] = (error(known, "RS+RFD truth"), standard_error(known, "RS+RFD truth"))
    lines["Corr-RR, printed"] = (float(printed), math.nan)
    run.save_table(
        [{"method": method, "mse": mse, "error": spread} for method, (mse, spread) in lines.items()], "-methods"
    )

    biases = [{"d": d, "rho": rho, "squared bias": squared_bias(d, rho)} for d, rho in ((2, 0.1), (4, 0.1), (4, 0.9))]
    run.save_table(biases, "-bias")

    correlated = [
        {
            "source": cell["source"],
            "rho": cell["rho"],
            "Corr-RR": error(cell, "Corr-RR"),
            "Corr-RR error": standard_error(cell, "Corr-RR"),
            "default, decoded": error(cell, *DEFAULT.split("|")),
            "default, decoded error": standard_error(cell, *DEFAULT.split("|")),
            "uniform": error(cell, "uniform"),
        }
        for cell in replace(run, name="figure-7").cells(LAYOUTS["figure-7"].all_cells(), measure)
        if cell["d"] == 4
    ]
    run.save_table(correlated, "-rho")

    paper = cells_of(run, PAPER_FIGURES)
    real = cells_of(run, ("figure-11",))
    families = {source: [cell for cell in paper if cell["source"] == source] for source in SOURCES}
    families |= {"real": real}
    beside = [beside_default(name, cells) for name, cells in families.items()]
    run.save_table(beside, "-beside")
    run.show(beside, title="the default and SMP against the best of four methods, all projected onto the simplex")

    sampled = [
        error(cell, "SMP") / min(error(cell, method) for method in BASELINES)
        for cell in families["as_described"]
        if cell["epsilon"] == 0.5
    ]
    uniform = [error(cell, "Corr-RR") / error(cell, "uniform") for cell in families["equal_marginals"]]
    best = [error(cell, "Corr-RR") == best_of_four(cell, "raw") for cell in families["as_described"]]
    spread = [
        {"what": "SMP over the best baseline, as described, epsilon .5", "least": min(sampled), "most": max(sampled)},
        {"what": "Corr-RR over 1/k, equal marginals", "least": min(uniform), "most": max(uniform)},
        {"what": "cells as described where Corr-RR is best, raw", "least": sum(best), "most": len(best)},
    ]
    run.save_table(spread, "-ranges")
    run.show(spread)


@PAPER.experiment(
    "preprint-default",
    "The default against the preprint's four methods, Corr-RR by the preprint's rule",
    runs=BESIDE_RUNS,
)
def preprint_default(run: Run) -> None:
    """Measure all methods in the cells of the preprint's figures."""
    cells = [
        cell
        for figure in PREPRINT_FIGURES
        for cell in replace(run, name=figure).cells(LAYOUTS[figure].all_cells(), measure)
    ]
    rows = [beside_default("all", cells, PREPRINT_FOUR)]
    rows += [
        beside_default(source or "real", [cell for cell in cells if cell.get("source", "") == source], PREPRINT_FOUR)
        for source in (*SOURCES, "")
    ]
    run.save_table(rows)
    run.show(
        rows,
        title="the default and SMP against the best of the preprint's four methods, all projected onto the simplex",
    )
