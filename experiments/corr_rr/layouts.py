"""Every figure of the two papers as data: its panels, axis and setting, and what the text leaves open."""

from __future__ import annotations

from typing import NamedTuple

from experiments.corr_rr.real import PREPRINT_DATA, PRINTED_DATA
from experiments.harness import Cell

SOURCES = ("as_described", "equal_marginals")
"""Generators with which each figure on synthetic data is drawn."""

RHO = (0.1, 0.5, 0.9)
ALL_RHO = (0.1, 0.3, 0.5, 0.7, 0.9)
SMALL_EPSILON = (0.1, 0.3, 0.5)
EPSILON = (0.1, 0.2, 0.3, 0.4, 0.5)
LARGE_EPSILON = (1, 2, 3, 4, 5)
ATTRIBUTES = (2, 3, 4, 5, 6)
SHARES = tuple(percent / 100 for percent in range(5, 55, 5))

OPEN_SHARE = "The size of phase one is not stated: 10% of the contributors, inside the text's 5-20%."
OPEN_RHO_AXIS = "The values of rho are read as .1, .3, .5, .7, .9."
OPEN_PREPRINT = (
    "The preprint gives neither generator nor first attribute's distribution: SynA, proportional to k, ..., 1. "
    "It does not say where the priors of its one-phase RS+RFD come from: ours are phase one's, as later, "
    "and, as a line of its own, the truth."
)

KNOWN: Cell = {"known_priors": True}
"""Addition for the preprint: its RS+RFD has priors that were not collected from anyone."""

NAMES = {"epsilon": "epsilon", "d": "attributes d", "rho": "correlation rho", "share": "share of phase one", "data": ""}


class Layout(NamedTuple):
    """Layout of one figure.

    Parameters
    ----------
    title : str
        Caption in our words.
    base : dict
        Setting that all cells share.
    panel : (str, values)
        Name and values of the setting that differs between panels.
    axis : (str, values)
        Name and values of the setting along the axis.
    runs : int
        Number of repetitions in the paper.
    open : tuple of str
        What the text does not state, and our choice.
    """

    title: str
    base: Cell
    panel: tuple[str, tuple[float | str, ...]]
    axis: tuple[str, tuple[float, ...]]
    runs: int
    open: tuple[str, ...]

    @property
    def preprint(self) -> bool:
        """Whether the figure is from the preprint, which has another rule for copies."""
        return bool(self.base.get("known_priors", False))

    @property
    def sources(self) -> tuple[str, ...]:
        """Generators of the figure; real data have none."""
        return ("",) if self.panel[0] == "data" else SOURCES

    def cells(self, source: str, panel: float | str) -> list[Cell]:
        """Return the settings of one panel, along its axis."""
        given = {"source": source} if source else {}
        return [self.base | given | {self.panel[0]: panel, self.axis[0]: value} for value in self.axis[1]]

    def all_cells(self) -> list[Cell]:
        """Return all settings of the figure."""
        return [cell for source in self.sources for panel in self.panel[1] for cell in self.cells(source, panel)]


def _second(data: str, d: int, rho: float, epsilon: float) -> Cell:
    return {"data": data, "k": 4, "d": d, "rho": rho, "n": 20_000, "share": 0.1, "epsilon": epsilon}


def _first(k: int, d: int, rho: float, epsilon: float) -> Cell:
    return {"data": "SynA", "k": k, "d": d, "rho": rho, "n": 10_000, "share": 0.1, "epsilon": epsilon} | KNOWN


def _budget(data: str) -> Layout:
    title = f"{data}, error against epsilon: d = 4, k = 4, n = 20,000"
    return Layout(title, _second(data, 4, 0, 0), ("rho", RHO), ("epsilon", EPSILON), 100, (OPEN_SHARE,))


def _attributes(data: str, rho: float) -> Layout:
    title = f"{data}, error against the number of attributes: rho = {rho}, k = 4, n = 20,000"
    base = _second(data, 0, rho, 0)
    return Layout(title, base, ("epsilon", SMALL_EPSILON), ("d", ATTRIBUTES), 100, (OPEN_SHARE,))


def _correlation(data: str) -> Layout:
    title = f"{data}, error against rho: epsilon = .5, k = 4, n = 20,000"
    opened = (OPEN_SHARE, OPEN_RHO_AXIS)
    return Layout(title, _second(data, 0, 0, 0.5), ("d", (2, 3, 4)), ("rho", ALL_RHO), 100, opened)


def _phase_one(data: str) -> Layout:
    title = f"{data}, error against the share of phase one: d = 2, k = 4, n = 20,000"
    opened = ("rho is not stated: .1, as in the tables of the same setting.", "Shares are read as 5%, 10%, ..., 50%.")
    return Layout(title, _second(data, 2, 0.1, 0), ("epsilon", SMALL_EPSILON), ("share", SHARES), 100, opened)


def _preprint_budget(k: int, d: int) -> Layout:
    title = f"preprint, error against epsilon: d = {d}, k = {k}, n = 10,000"
    opened = (OPEN_SHARE, OPEN_PREPRINT)
    return Layout(title, _first(k, d, 0, 0), ("rho", RHO), ("epsilon", LARGE_EPSILON), 200, opened)


def _preprint_attributes(k: int, rho: float) -> Layout:
    title = f"preprint, error against the number of attributes: k = {k}, rho = {rho}, n = 10,000"
    opened = (OPEN_SHARE, OPEN_PREPRINT)
    return Layout(title, _first(k, 0, rho, 0), ("epsilon", (1, 3, 5)), ("d", ATTRIBUTES), 200, opened)


def _preprint_phase_one(d: int) -> Layout:
    title = f"preprint, error against the share of phase one: d = {d}, k = 10, n = 10,000"
    opened = ("rho is not stated: .5.", "Shares are read as 5%, 10%, ..., 50%.", OPEN_PREPRINT)
    return Layout(title, _first(10, d, 0.5, 0), ("epsilon", (1, 3, 5)), ("share", SHARES), 200, opened)


LAYOUTS: dict[str, Layout] = {
    "figure-3": _budget("SynA"),
    "figure-4": _budget("SynB"),
    "figure-5": _attributes("SynA", 0.9),
    "figure-6": _attributes("SynB", 0.9),
    "figure-7": _correlation("SynA"),
    "figure-8": _correlation("SynB"),
    "figure-9": _phase_one("SynA"),
    "figure-10": _phase_one("SynB"),
    "figure-11": Layout(
        *("real data, error against epsilon", {"share": 0.1}, ("data", PRINTED_DATA)),
        *(("epsilon", EPSILON), 100, (OPEN_SHARE, "Encodings: see `real-data`.")),
    ),
    "figure-13": _attributes("SynA", 0.1),
    "figure-14": _attributes("SynB", 0.1),
    "v1-figure-4": _preprint_budget(2, 2),
    "v1-figure-5": _preprint_budget(10, 2),
    "v1-figure-6": _preprint_budget(2, 4),
    "v1-figure-7": _preprint_budget(10, 4),
    "v1-figure-8": _preprint_attributes(2, 0.1),
    "v1-figure-9": _preprint_attributes(2, 0.9),
    "v1-figure-10": _preprint_attributes(10, 0.5),
    "v1-figure-11": _preprint_phase_one(2),
    "v1-figure-12": _preprint_phase_one(4),
    "v1-figure-13": Layout(
        *("preprint, error against rho: d = 6, k = 10, n = 10,000", _first(10, 6, 0, 0), ("epsilon", (1, 3, 5))),
        *(("rho", ALL_RHO), 200, (OPEN_SHARE, OPEN_RHO_AXIS, OPEN_PREPRINT)),
    ),
    "v1-figure-14": Layout(
        *(
            "preprint, real data, error against epsilon",
            {"share": 0.1} | KNOWN,
            ("data", PREPRINT_DATA),
        ),
        *(("epsilon", LARGE_EPSILON), 200, (OPEN_SHARE, OPEN_PREPRINT, "Encodings: see `real-data`.")),
    ),
}
"""Figures by name; v1 is the preprint. Figures without errors (1, 2, 12; preprint 1-3) are left out."""
