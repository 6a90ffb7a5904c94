"""What the papers' text says about their figures, checked on the figures' own cells."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from experiments.corr_rr.layouts import LAYOUTS, Layout
from experiments.corr_rr.measure import measure
from experiments.corr_rr.paper import PAPER
from experiments.corr_rr.pictures import HEADINGS
from experiments.harness import Cell, Run

RFD = "RS+RFD clipped"
BASELINES = ("SPL", "RS+FD", RFD)
CLAIM_RUNS = 30
"""Repetitions of each of the figures' cells: enough for claims of 40% and more."""


class Claim(NamedTuple):
    """A statement about ratios of errors: it holds if the ratio is within bounds in all the cells it speaks of.

    Parameters
    ----------
    figures : tuple of str
        Where; every figure is checked.
    words : str
        The statement, in our words.
    at : dict
        Which cells; all if empty.
    below : tuple of str
        Corr-RR's error is divided by the smallest of these methods'.
    low, high : float
        Bounds of the ratio.
    against : dict, optional
        Divide by Corr-RR's own error in the cell that differs by this instead.
    """

    figures: tuple[str, ...]
    words: str
    at: Cell
    below: tuple[str, ...]
    low: float
    high: float
    against: Cell | None = None


def _trend(figure: str, words: str, at: Cell, start: float, high: float) -> Claim:
    return Claim((figure,), words, at | {"rho": 0.9}, (), 0, high, {"rho": start})


CLAIMS = (
    Claim(("figure-3", "figure-4"), "Corr-RR best everywhere", {}, BASELINES, 0, 1),
    Claim(("figure-3", "figure-4"), "70% below SPL", {"rho": 0.9, "epsilon": 0.1}, ("SPL",), 0, 0.3),
    Claim(("figure-5", "figure-6"), "Corr-RR best everywhere", {}, BASELINES, 0, 1),
    Claim(("figure-5", "figure-6"), "half of RS+RFD", {"d": 6, "epsilon": 0.1}, (RFD,), 0, 0.5),
    Claim(("figure-5", "figure-6"), "a quarter of SPL", {"d": 6, "epsilon": 0.1}, ("SPL",), 0, 0.25),
    Claim(("figure-7", "figure-8"), "60% below the best baseline", {"d": 4, "rho": 0.9}, BASELINES, 0, 0.4),
    Claim(("figure-7", "figure-8"), "about half of it", {"d": 4, "rho": 0.1}, BASELINES, 0.4, 0.6),
    Claim(("figure-7", "figure-8"), "worse than RS+RFD", {"d": 2, "rho": 0.1}, (RFD,), 1, math.inf),
    Claim(("figure-7", "figure-8"), "falls with rho", {"d": 4, "rho": 0.9}, (), 0, 0.95, {"rho": 0.1}),
    Claim(("figure-9", "figure-10"), "Corr-RR best everywhere", {}, BASELINES, 0, 1),
    Claim(("figure-9", "figure-10"), "40% below RS+RFD", {"epsilon": 0.1, "share": 0.1}, (RFD,), 0, 0.6),
    Claim(("figure-9", "figure-10"), "a third of SPL", {"epsilon": 0.1, "share": 0.1}, ("SPL",), 0, 1 / 3),
    Claim(("figure-9", "figure-10"), "5% beats 50% in phase one", {"share": 0.05}, (), 0, 1, {"share": 0.5}),
    Claim(("figure-11",), "best on Clave", {"data": "Clave"}, BASELINES, 0, 1),
    Claim(("figure-11",), "best on Adult", {"data": "Adult"}, BASELINES, 0, 1),
    Claim(("figure-11",), "Mushroom: behind RS+RFD", {"data": "Mushroom"}, (RFD,), 1, math.inf),
    Claim(("figure-11",), "Mushroom: ahead of SPL", {"data": "Mushroom", "epsilon": 0.1}, ("SPL", "RS+FD"), 0, 1),
    Claim(("figure-13", "figure-14"), "Corr-RR best everywhere", {}, BASELINES, 0, 1),
    Claim(("v1-figure-4",), "60% below SPL", {"rho": 0.9, "epsilon": 1}, ("SPL",), 0.3, 0.5),
    Claim(("v1-figure-7",), "90% below SPL", {"rho": 0.9, "epsilon": 1}, ("SPL",), 0, 0.1),
    Claim(("v1-figure-7",), "Corr-RR best everywhere", {}, BASELINES, 0, 1),
    Claim(("v1-figure-8",), "a third of SPL or less", {"epsilon": 1}, ("SPL",), 0, 1 / 3),
    Claim(("v1-figure-9",), "60% below SPL", {"epsilon": 1, "d": 6}, ("SPL",), 0, 0.4),
    Claim(("v1-figure-9",), "a fifth of RS+FD at best", {"epsilon": 1, "d": 6}, ("RS+FD",), 0, 0.25),
    Claim(("v1-figure-10",), "80% below SPL", {"epsilon": 1, "d": 6}, ("SPL",), 0, 0.2),
    Claim(("v1-figure-11",), "60% below RS+RFD", {"epsilon": 1, "share": 0.1}, (RFD,), 0, 0.5),
    Claim(("v1-figure-11",), "a third of SPL", {"epsilon": 1, "share": 0.1}, ("SPL",), 0, 1 / 3),
    Claim(("v1-figure-11",), "half of SPL at epsilon 5", {"epsilon": 5, "share": 0.1}, ("SPL",), 0, 0.5),
    _trend("v1-figure-13", "falls by 40% from rho .5 to .9", {"epsilon": 1}, 0.5, 0.7),
    _trend("v1-figure-13", "falls by half from rho .1 to .9, epsilon 3", {"epsilon": 3}, 0.1, 0.5),
    _trend("v1-figure-13", "falls by half from rho .1 to .9, epsilon 5", {"epsilon": 5}, 0.1, 0.55),
    Claim(("v1-figure-14",), "Clave: a fifth of SPL", {"data": "Clave 16", "epsilon": 1}, ("SPL",), 0, 0.25),
    Claim(("v1-figure-14",), "best on Clave", {"data": "Clave 16"}, BASELINES, 0, 1),
    Claim(("v1-figure-14",), "best on Nursery", {"data": "Nursery"}, BASELINES, 0, 1),
    Claim(("v1-figure-14",), "Nursery: 70% below RS+FD", {"data": "Nursery", "epsilon": 1}, ("RS+FD",), 0, 0.3),
    Claim(("v1-figure-14",), "Nursery: as SPL at epsilon 5", {"data": "Nursery", "epsilon": 5}, ("SPL",), 0, 1),
    Claim(("v1-figure-14",), "Nursery: 70% below RS+RFD", {"data": "Nursery", "epsilon": 1}, (RFD,), 0, 0.3),
    Claim(("v1-figure-14",), "Mushroom: 80% below SPL", {"data": "Mushroom 9", "epsilon": 1}, ("SPL",), 0, 0.2),
    Claim(("v1-figure-14",), "Mushroom: 60% below RS+FD", {"data": "Mushroom 9", "epsilon": 1}, ("RS+FD",), 0, 0.4),
)


def ratios(claim: Claim, cells: list[Cell]) -> list[float]:
    """Return the ratio of every cell the claim speaks of."""

    def error(cell: Cell, method: str) -> float:
        return float(cell["mse"][f"{method}|raw"][0])

    found = []
    for cell in cells:
        if any(cell[name] != value for name, value in claim.at.items()):
            continue
        if claim.against is None:
            reference = min(error(cell, method) for method in claim.below)
        else:
            reference = error(_sibling(cell, claim.against, cells), "Corr-RR")
        found.append(error(cell, "Corr-RR") / reference)
    return found


def _sibling(cell: Cell, change: Cell, cells: list[Cell]) -> Cell:
    wanted = {name: value for name, value in cell.items() if name != "mse"} | change
    return next(other for other in cells if all(other[name] == value for name, value in wanted.items()))


def check(claim: Claim, figure: str, source: str, cells: list[Cell]) -> Cell:
    """Return one claim on one kind of data: the range of its ratios and in how many cells it holds."""
    found = ratios(claim, [cell for cell in cells if cell.get("source", "") == source])
    held = sum(claim.low <= ratio <= claim.high for ratio in found)
    return {
        "figure": figure,
        "claim": claim.words,
        "data": HEADINGS[source].replace("data ", "") or "real",
        "smallest": min(found),
        "largest": max(found),
        "holds": f"{held}/{len(found)}",
    }


def figure_cells(run: Run, figure: str) -> list[Cell]:
    """Measure the cells of one figure in its own cache: real data, which are few, with the paper's repetitions."""
    layout: Layout = LAYOUTS[figure]
    runs = layout.runs if layout.panel[0] == "data" else min(run.runs, layout.runs)
    return replace(run, name=figure, runs=runs).cells(layout.all_cells(), measure)


@PAPER.experiment("claims", "What the text says about its figures, checked on their cells", runs=CLAIM_RUNS)
def claims(run: Run) -> None:
    """Measure every figure that a claim is about, in its own cache."""
    measured: dict[str, list[Cell]] = {}
    rows = []
    for claim in CLAIMS:
        for figure in claim.figures:
            layout: Layout = LAYOUTS[figure]
            if figure not in measured:
                measured[figure] = figure_cells(run, figure)
            rows += [check(claim, figure, source, measured[figure]) for source in layout.sources]
    run.save_table(rows)
    run.show(rows, title="Corr-RR's error over the one it is compared with; claims in our words")
