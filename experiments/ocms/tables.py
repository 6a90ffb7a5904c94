"""Tables I and II of the paper with exact constants: the library's values beside the paper's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from experiments.harness import Cell, Run
from experiments.ocms.methods import METHODS, Build, Oracle, sketch, worst_l2, worst_mse
from experiments.ocms.paper import EPSILONS, PAPER

DICTIONARIES = (1_000, 100_000, 1_000_000)

Formula = Callable[[float, float], float]
"""(d, e^epsilon) -> the paper's entry, without its factor 1/n (l1: 1/sqrt n)."""


def _hadamard_mse(_: float, e: float) -> float:
    return ((e + 1) / (e - 1)) ** 2


def _optimal_l2(d: float, e: float) -> float:
    return 4 * d * e / (e - 1) ** 2


def _symmetric_mse(_: float, e: float) -> float:
    return math.sqrt(e) / (math.sqrt(e) - 1) ** 2


PRECISION: dict[str, tuple[str, Formula | None, Formula | None]] = {
    # A row of Table I has the method whose worst-case MSE is meant, the paper's l2, and the paper's MSE. l1 = sqrt(d
    # l2).
    "HE": ("HE", lambda d, e: d * ((e + 1) / (e - 1)) ** 2, _hadamard_mse),
    "RHR": ("RHR", None, _hadamard_mse),
    "OLH": ("OLH", _optimal_l2, _hadamard_mse),
    "OCMS+RR": ("OCMS-MSE (prime)", _optimal_l2, _symmetric_mse),
    "CMS+HE": ("CMS+HE", lambda d, e: d * ((e + 1) / (e - 1)) ** 2, _hadamard_mse),
    "SS": ("SS", _optimal_l2, _hadamard_mse),
    "a-RP": ("OUE", _optimal_l2, _hadamard_mse),
    "RP": ("SUE", lambda d, e: d * math.sqrt(e) / (math.sqrt(e) - 1) ** 2, _symmetric_mse),
    "PGR": ("PGR", None, None),
    "Spread": ("Spread, MSE", None, None),
}
"""Formulas of Table I.

For RHR the paper has the order Theta(d/min(eps, eps^2)) only, and its MSE entry is a lower bound. The entries for PGR
and Spread are ours.
"""

L2_METHODS = {"OCMS+RR": "OCMS (prime)", "a-RP": "OUE", "RP": "SUE", "Spread": "Spread"}
"""Rows with another mechanism for l2; there, the optimised sketch has another m than for the MSE."""

SPREAD: dict[str, Build] = {"Spread": sketch("spread", "l2"), "Spread, MSE": sketch("spread", "mse")}


def build(name: str, d: int, epsilon: float) -> Oracle:
    """Return a mechanism of the tables by its name, with f* = 1."""
    return (SPREAD[name] if name in SPREAD else METHODS[name].build)(d, epsilon, 1, 0)


def precision(cell: Cell) -> Cell:
    """Return one cell of Table I: exact l1 bound, l2 and worst-case MSE without 1/n, and ratios to the paper's."""
    row: str = cell["row"]
    d, epsilon = cell["d"], cell["epsilon"]
    mse_method, l2_formula, mse_formula = PRECISION[row]
    l2_mechanism = build(L2_METHODS.get(row, row), d, epsilon)
    l2, mse = worst_l2(l2_mechanism), worst_mse(build(mse_method, d, epsilon))
    values: Cell = {"l1": math.sqrt(d * l2), "l2": l2, "MSE": mse}
    e = math.exp(epsilon)
    if l2_formula is not None:
        paper = l2_formula(d, e)
        values |= {"paper l1": math.sqrt(d * paper), "paper l2": paper, "l2/paper": l2 / paper}
    if mse_formula is not None:
        paper = mse_formula(d, e)
        values |= {"paper MSE": paper, "MSE/paper": mse / paper}
    return values


COMMUNICATION: dict[str, tuple[str, str, Callable[[float, float], float] | None]] = {
    # A row of Table II has the method, the paper's entry in words, and the paper's entry as a function of d and
    # epsilon.
    "HE": ("HE", "log d", lambda d, _: math.log2(d)),
    "RHR": ("RHR", "log d + eps", lambda d, eps: math.log2(d) + eps),
    "OLH": ("OLH", "d eps", lambda d, eps: d * eps),
    "MSE-OCMS+RR": (
        "OCMS-MSE (prime)",
        "max(2 log d + eps/2, 3/2 eps + 6)",
        lambda d, eps: max(2 * math.log2(d) + eps / 2, 1.5 * eps + 6),
    ),
    "l-OCMS+RR": (
        "OCMS (prime)",
        "max(2 log d + eps, 3 eps + 6)",
        lambda d, eps: max(2 * math.log2(d) + eps, 3 * eps + 6),
    ),
    "original CMS": ("Apple CMS", "Omega(d log m)", lambda d, _: d * math.log2(1024)),
    "SS": ("SS", "d/(1 + e^eps)", lambda d, eps: d / (1 + math.exp(eps))),
    "RAPPOR": ("SUE", "d", lambda d, _: d),
    "CMS+HE": ("CMS+HE", "", None),
    "PGR": ("PGR", "", None),
    "Spread": ("Spread", "", None),
}


def communication(cell: Cell) -> Cell:
    """Return one cell of Table II: bits per report as implemented, and by the paper's formula."""
    method, _, formula = COMMUNICATION[cell["row"]]
    values: Cell = {"bits": build(method, cell["d"], cell["epsilon"]).report_bits}
    if formula is not None:
        values["paper bits"] = formula(cell["d"], cell["epsilon"])
    return values


def _settings(rows: Sequence[str]) -> list[Cell]:
    return [{"row": row, "d": d, "epsilon": epsilon} for d in DICTIONARIES for epsilon in EPSILONS for row in rows]


@PAPER.experiment("table-1", "Table I: precision, with exact constants", quick=1)
def table_1(run: Run) -> None:
    """Compute Table I for three dictionaries; nothing is random."""
    cells = run.cells(_settings(list(PRECISION)), precision)
    run.save_table(cells)
    columns = ["row", "l1", "paper l1", "l2", "paper l2", "l2/paper", "MSE", "paper MSE", "MSE/paper"]
    for d, epsilon in ((100_000, 1), (100_000, 4), (1_000, 5)):
        shown = [cell for cell in cells if (cell["d"], cell["epsilon"]) == (d, epsilon)]
        run.show(shown, columns, f"Table I at d={d:,}, epsilon={epsilon}; l1 in units of 1/sqrt(n), l2 and MSE of 1/n")


@PAPER.experiment("table-2", "Table II: bits per report, with exact constants", quick=1)
def table_2(run: Run) -> None:
    """Compute Table II for three dictionaries; nothing is random."""
    cells = run.cells(_settings(list(COMMUNICATION)), communication)
    for cell in cells:
        cell["paper"] = COMMUNICATION[cell["row"]][1]
    run.save_table(cells)
    for d, epsilon in ((100_000, 1), (100_000, 4)):
        shown = [cell for cell in cells if (cell["d"], cell["epsilon"]) == (d, epsilon)]
        run.show(
            shown,
            ["row", "paper", "paper bits", "bits"],
            f"Table II at d={d:,}, epsilon={epsilon}; logarithms to base 2",
        )
