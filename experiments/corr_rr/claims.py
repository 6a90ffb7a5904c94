"""Claims of the papers' text about their figures, checked on the figures' own cells, with both rules for copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from experiments.corr_rr.layouts import LAYOUTS, Layout
from experiments.corr_rr.measure import Ratio, paired_ratio, ratio_between, together
from experiments.corr_rr.paper import PAPER, expected
from experiments.corr_rr.pictures import HEADINGS
from experiments.harness import Cell, Run

RFD = "RS+RFD clipped"
BASELINES = ("SPL", "RS+FD", RFD)
CLAIM_RUNS, PREPRINT_RUNS = 200, 100
"""Repetitions of each cell of the figures; fewer for the preprint, whose claims are about larger differences."""

CORR_RR = "Corr-RR"
RULES = {"PoPETs": CORR_RR, "preprint": f"{CORR_RR} preprint"}
"""Rule for the copy probabilities -> name of Corr-RR with this rule."""


class Claim(NamedTuple):
    """A statement about ratios of errors; it is true if the ratio is within bounds in the cells that it is about.

    Parameters
    ----------
    figures : tuple of str
        Figures of the claim; each of them is checked.
    words : str
        The statement, in our words.
    at : dict
        Setting of the cells; all cells if empty. A tuple allows several values.
    below : tuple of str
        The error is divided by the smallest error of these methods.
    low, high : float
        Bounds of the ratio.
    against : dict, optional
        If given, the error is divided by the method's own error in the cell that has this setting instead.
    of : str
        Method whose error is meant. Corr-RR is checked with both rules.
    some : bool
        Whether one cell is enough ("up to"). Otherwise the statement is about all cells.
    """

    figures: tuple[str, ...]
    words: str
    at: Cell
    below: tuple[str, ...]
    low: float
    high: float
    against: Cell | None = None
    of: str = CORR_RR
    some: bool = False


NEVER = -math.inf


def _trend(figure: str, words: str, at: Cell, start: float, high: float) -> Claim:
    return Claim((figure,), words, at | {"rho": 0.9}, (), NEVER, high, {"rho": start})


def _best(*figures: str, **at: object) -> Claim:
    return Claim(figures, "Corr-RR best everywhere", at, BASELINES, NEVER, 1)


BUDGET, RHO, SHARE = ("figure-3", "figure-4"), ("figure-7", "figure-8"), ("figure-9", "figure-10")
HIGH_D, LOW_D = ("figure-5", "figure-6"), ("figure-13", "figure-14")
MODERATE = (0.3, 0.5, 0.7, 0.9)
FLAT = tuple(Claim(RHO, f"{name} flat in rho", {"rho": 0.9}, (), 0.8, 1.25, {"rho": 0.1}, name) for name in BASELINES)

CLAIMS = (
    _best(*BUDGET),
    Claim(BUDGET, "70% below SPL", {"rho": 0.9, "epsilon": 0.1}, ("SPL",), NEVER, 0.3),
    Claim(BUDGET, "RS+FD below SPL", {}, ("SPL",), NEVER, 1, of="RS+FD"),
    Claim(BUDGET, "RS+RFD below RS+FD", {}, ("RS+FD",), NEVER, 1, of=RFD),
    Claim(BUDGET, "RS+FD almost as SPL", {"rho": 0.9, "epsilon": 0.1}, ("SPL",), 0.8, math.inf, of="RS+FD"),
    _best(*HIGH_D),
    Claim(HIGH_D, "half of RS+RFD", {"d": 6, "epsilon": 0.1}, (RFD,), NEVER, 0.5),
    Claim(HIGH_D, "a quarter of SPL", {"d": 6, "epsilon": 0.1}, ("SPL",), NEVER, 0.25),
    Claim(RHO, "60% below the best baseline", {"d": 4, "rho": 0.9}, BASELINES, NEVER, 0.4),
    Claim(RHO, "about half of it", {"d": 4, "rho": 0.1}, BASELINES, 0.4, 0.6),
    Claim(RHO, "worse than RS+RFD", {"d": 2, "rho": 0.1}, (RFD,), 1, math.inf),
    *(
        Claim(RHO, f"below all from rho .3 on, d = {d}", {"d": d, "rho": MODERATE}, BASELINES, NEVER, 1)
        for d in (2, 3, 4)
    ),
    *(Claim(RHO, f"falls with rho, d = {d}", {"d": d, "rho": 0.9}, (), NEVER, 1, {"rho": 0.1}) for d in (2, 3, 4)),
    *FLAT,
    _best(*SHARE),
    Claim(SHARE, "40% below RS+RFD", {"epsilon": 0.1, "share": 0.1}, (RFD,), NEVER, 0.6),
    Claim(SHARE, "a third of SPL", {"epsilon": 0.1, "share": 0.1}, ("SPL",), NEVER, 1 / 3),
    Claim(SHARE, "5% beats 50% in phase one", {"share": 0.05}, (), NEVER, 1, {"share": 0.5}),
    Claim(("figure-11",), "best on Clave", {"data": "Clave"}, BASELINES, NEVER, 1),
    Claim(("figure-11",), "best on Adult", {"data": "Adult"}, BASELINES, NEVER, 1),
    Claim(("figure-11",), "Mushroom: behind RS+RFD", {"data": "Mushroom"}, (RFD,), 1, math.inf),
    Claim(
        ("figure-11",),
        "Mushroom: ahead of SPL and RS+FD",
        {"data": "Mushroom", "epsilon": (0.1, 0.2)},
        ("SPL", "RS+FD"),
        NEVER,
        1,
    ),
    _best(*LOW_D),
    Claim((*BUDGET, *HIGH_D, *RHO, *LOW_D), "up to 80% below all", {}, BASELINES, NEVER, 0.2, some=True),
    Claim(("v1-figure-4",), "60% below SPL", {"rho": 0.9, "epsilon": 1}, ("SPL",), 0.3, 0.5),
    _best("v1-figure-4", "v1-figure-5", "v1-figure-6", "v1-figure-7"),
    Claim(("v1-figure-7",), "90% below SPL", {"rho": 0.9, "epsilon": 1}, ("SPL",), NEVER, 0.1),
    _best("v1-figure-8", "v1-figure-9", "v1-figure-10"),
    Claim(("v1-figure-8",), "a third of SPL or less", {"epsilon": 1}, ("SPL",), NEVER, 1 / 3),
    Claim(("v1-figure-9",), "60% below SPL", {"epsilon": 1, "d": 6}, ("SPL",), NEVER, 0.4),
    Claim(("v1-figure-9",), "a fifth of RS+FD at best", {"epsilon": 1}, ("RS+FD",), NEVER, 0.2, some=True),
    Claim(("v1-figure-10",), "80% below SPL", {"epsilon": 1, "d": 6}, ("SPL",), NEVER, 0.2),
    Claim(("v1-figure-11",), "nearly 60% below RS+RFD", {"epsilon": 1, "share": 0.1}, (RFD,), NEVER, 0.5),
    Claim(("v1-figure-11",), "a third of SPL", {"epsilon": 1, "share": 0.1}, ("SPL",), NEVER, 1 / 3),
    Claim(("v1-figure-11",), "half of SPL at epsilon 5", {"epsilon": 5, "share": 0.1}, ("SPL",), NEVER, 0.5),
    Claim(("v1-figure-11", "v1-figure-12"), "best at 10 to 20%", {"share": (0.1, 0.2)}, BASELINES, NEVER, 1),
    _trend("v1-figure-13", "falls by nearly 40% from rho .5 to .9, epsilon 1", {"epsilon": 1}, 0.5, 0.7),
    _trend("v1-figure-13", "falls by half from rho .1 to .9, epsilon 3", {"epsilon": 3}, 0.1, 0.5),
    _trend("v1-figure-13", "falls nearly by half from rho .1 to .9, epsilon 5", {"epsilon": 5}, 0.1, 0.6),
    Claim(("v1-figure-14",), "Clave: a fifth of SPL", {"data": "Clave 16", "epsilon": 1}, ("SPL",), NEVER, 0.25),
    Claim(("v1-figure-14",), "best on Clave", {"data": "Clave 16"}, BASELINES, NEVER, 1),
    Claim(("v1-figure-14",), "best on Nursery", {"data": "Nursery"}, BASELINES, NEVER, 1),
    Claim(("v1-figure-14",), "Nursery: 70% below RS+FD", {"data": "Nursery", "epsilon": 1}, ("RS+FD",), NEVER, 0.3),
    Claim(("v1-figure-14",), "Nursery: 70% below RS+RFD", {"data": "Nursery", "epsilon": 1}, (RFD,), NEVER, 0.3),
    Claim(("v1-figure-14",), "Mushroom: 80% below SPL", {"data": "Mushroom 9", "epsilon": 1}, ("SPL",), NEVER, 0.2),
    Claim(("v1-figure-14",), "Mushroom: 60% below RS+FD", {"data": "Mushroom 9", "epsilon": 1}, ("RS+FD",), NEVER, 0.4),
)


def ratios(claim: Claim, method: str, cells: Sequence[Cell]) -> list[Ratio]:
    """Return the ratio and its standard error for each cell of the claim."""
    found = []
    for cell in cells:
        if all(cell[name] in _several(value) for name, value in claim.at.items()):
            if claim.against is None:
                # Dividing by the cell with the smallest mean favours the baselines, by less than a standard error.
                found.append(
                    max((paired_ratio(cell, method, other) for other in claim.below), key=lambda one: one.value)
                )
            else:
                found.append(ratio_between(cell, _sibling(cell, claim.against, cells), method))
    return found


def _several(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


MEASURED = ("lines", "mean", "covariance")


def _sibling(cell: Cell, change: Cell, cells: Sequence[Cell]) -> Cell:
    wanted = {name: value for name, value in cell.items() if name not in MEASURED} | change
    return next(other for other in cells if all(other[name] == value for name, value in wanted.items()))


def verdict(verdicts: Sequence[str], some: bool = False) -> str:
    """Return the verdict on several cells: the claim must be true in all of them, or in some.

    Examples
    --------
    >>> verdict(["yes", "undecided", "yes"]), verdict(["yes", "undecided", "no"]), verdict(["no", "yes"], some=True)
    ('undecided', 'no', 'yes')
    """
    for decisive in ("yes", "undecided") if some else ("no", "undecided"):
        if decisive in verdicts:
            return decisive
    return "no" if some else "yes"


def check(claim: Claim, figure: str, source: str, rule: str, cells: Sequence[Cell]) -> Cell:
    """Return the result for one claim, kind of data and rule: the range of ratios, and cells by verdict."""
    own = [cell for cell in cells if cell.get("source", "") == source]
    found = ratios(claim, RULES.get(rule, claim.of), own)
    single = [one.verdict(claim.low, claim.high) for one in found]
    low, high = min(found), max(found)
    return {
        "figure": figure,
        "claim": claim.words,
        "data": HEADINGS[source].replace("data ", "") or "real",
        "rule": rule,
        "smallest": low.value,
        "smallest error": low.error,
        "largest": high.value,
        "largest error": high.error,
        **{word: single.count(word) for word in ("yes", "no", "undecided")},
        "verdict": verdict(single, claim.some),
    }


def figure_cells(run: Run, figure: str) -> list[Cell]:
    """Measure the paper's four mechanisms in the cells of one figure, with a cache of its own."""
    settings = [cell | {"four": True} for cell in LAYOUTS[figure].all_cells()]
    runs = min(run.runs, PREPRINT_RUNS) if figure.startswith("v1-") else run.runs
    return replace(run, name=f"{figure}-four", runs=runs).cells(settings, together)


def best_shares(figure: str, cells: Sequence[Cell]) -> list[Cell]:
    """Return the share of phase one with the smallest error, and the shares within two standard errors of it."""
    rows = []
    for source in LAYOUTS[figure].sources:
        for rule, method in RULES.items():
            for epsilon in LAYOUTS[figure].panel[1]:
                own = [cell for cell in cells if (cell["source"], cell["epsilon"]) == (source, epsilon)]
                best = min(own, key=lambda cell: float(cell["mean"][cell["lines"].index(f"{method}|raw")]))
                alike = [cell["share"] for cell in own if _alike(cell, best, method)]
                rows.append(
                    {"figure": figure, "data": HEADINGS[source].replace("data ", ""), "rule": rule, "epsilon": epsilon}
                    | {"best": best["share"], "from": min(alike), "to": max(alike), "shares alike": len(alike)}
                )
    return rows


def _alike(cell: Cell, best: Cell, method: str) -> bool:
    return cell is best or ratio_between(cell, best, method).verdict(NEVER, 1) != "no"


def real_rows(cells: Sequence[Cell]) -> list[Cell]:
    """Return the ratio of Corr-RR to the best other method and to RS+RFD, for each real data set and budget."""
    rows = []
    for cell in cells:
        for rule, method in RULES.items():
            below = {"the best": BASELINES, "RS+RFD": (RFD,)}
            for name, others in below.items():
                (one,) = ratios(Claim((), name, {}, others, NEVER, 1), method, [cell])
                rows.append(
                    {"data": cell["data"], "epsilon": cell["epsilon"], "rule": rule, "against": name}
                    | {"ratio": one.value, "error": one.error, "below": one.verdict(NEVER, 1)}
                )
    return rows


def printed_shares() -> list[Cell]:
    """Return the share of phase one with the smallest error in a printed row of Tables 4 to 9."""
    rows = []
    for table, printed in expected()["tables"].items():
        for epsilon, numbers in printed["cells"][CORR_RR].items():
            values = [float(number) for number in numbers]
            place = values.index(min(values))
            rows.append(
                {"table": table, "n": printed["n"], "epsilon": epsilon, "best": printed["n1"][place] / printed["n"]}
            )
    return rows


@PAPER.experiment("claims", "The papers' claims about their figures, checked by both rules for copies", runs=CLAIM_RUNS)
def claims(run: Run) -> None:
    """Measure each figure of the claims, with a cache of its own."""
    measured: dict[str, list[Cell]] = {}
    rows = []
    for claim in CLAIMS:
        for figure in claim.figures:
            layout: Layout = LAYOUTS[figure]
            if figure not in measured:
                measured[figure] = figure_cells(run, figure)
            rules = tuple(RULES) if claim.of == CORR_RR else ("",)
            rows += [
                check(claim, figure, source, rule, measured[figure]) for source in layout.sources for rule in rules
            ]
    run.save_table(rows)
    run.show(rows, title="errors divided by the errors they are compared with; claims in our words")
    shares = [row for figure in SHARE for row in best_shares(figure, measured[figure])]
    run.save_table(shares, "-shares")
    run.save_table(printed_shares(), "-printed-shares")
    run.save_table(real_rows(measured["figure-11"]), "-real")
    run.show(shares, title="the size of phase one with the smallest error")
