"""The mechanisms and their errors: in closed form, and drawn from the exact distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, isfinite
from typing import Any

import numpy as np

from deniable import SimulationRandomness
from deniable.core.spec import content_hash
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.parameters import algorithm_1
from deniable.research.dealt.coupling.report_coupling import ReportCoupledRR
from deniable.research.dealt.quota.quota_rr import QuotaRR
from experiments.harness import Cell
from experiments.jrr.paper import COLLUDERS, Floats
from experiments.pictures import BLUE, GREEN, GREY, PURPLE, VERMILLION

PERCENTILES = tuple(range(5, 100, 5))


@dataclass(frozen=True)
class Method:
    """One mechanism of the comparison.

    Parameters
    ----------
    build : callable
        Setting (`setting`) -> mechanism; only the optimum uses the count.
    colour, mark : str
        Colour and mark in pictures.
    """

    build: Callable[[Cell], Any]
    colour: str
    mark: str


def _algorithm_1(one: Cell) -> JRR:
    p, rho = algorithm_1(one["n"], one["epsilon"], one["colluders"])
    return JRR(p, min(rho, 0.0), one["n"], one["colluders"])


METHODS = {
    "RR": Method(lambda one: JRR.optimal(one["n"], one["epsilon"], one["n"] - 1), GREY, "o"),
    "JRR, Algorithm 1": Method(_algorithm_1, VERMILLION, "s"),
    "JRR, optimum": Method(
        lambda one: JRR.optimal(one["n"], one["epsilon"], one["colluders"], one["count"]), PURPLE, "D"
    ),
    "report coupling": Method(
        lambda one: ReportCoupledRR.optimal(one["n"], one["epsilon"], one["colluders"]), GREEN, "v"
    ),
    "quota RR": Method(lambda one: QuotaRR(epsilon=one["epsilon"], n=one["n"]), BLUE, "^"),
}
"""Methods in the order of tables.

RR is JRR for the case that all contributors may collude: its optimum has no correlation.
"""


def setting(n: int, count: int, epsilon: float, colluders: int = COLLUDERS) -> Cell:
    """Return one setting; at most all other contributors are colluders."""
    return {"n": n, "count": count, "epsilon": epsilon, "colluders": min(colluders, n - 1)}


def build(method: str, one: Cell) -> Any:
    """Return a mechanism by its name in `METHODS`."""
    return METHODS[method].build(one)


def count_variance(mechanism: Any, n: int, count: float) -> float:
    """Return the variance of the estimated number of ones, in closed form."""
    return float(mechanism.variance(count / n)) * n**2


def estimated_counts(mechanism: Any, n: int, count: int, runs: int, rng: SimulationRandomness) -> Floats:
    """Return `runs` exactly distributed estimates of the number of ones, without reports; each has a fresh deal."""
    truth = np.array([n - count, count])
    aggregates = (mechanism.simulate_aggregate(truth, rng) for _ in range(runs))
    return np.array([mechanism.estimate(aggregate).frequencies[1] for aggregate in aggregates]) * n


def equivalent(epsilon: float, n: int) -> float:
    """Return the variance of RR's count at an epsilon, e^eps/(e^eps - 1)^2 per contributor."""
    return n * exp(epsilon) / (exp(epsilon) - 1) ** 2 if isfinite(epsilon) else 0.0


def z_of(cell: Cell) -> float:
    """Return the distance of a cell's MSE from its closed form, in standard errors.

    The standard error is the larger of two: the measured one, and theory sqrt(2/runs) for normal errors. Errors of
    quota RR have longer tails, and the measured standard error is small if the MSE is small by chance.
    """
    error = max(cell["mse_error"], cell["theory"] * np.sqrt(2 / cell["runs"]))
    return float((cell["mse"] - cell["theory"]) / error)


def relative_errors(estimates: Floats, n: int, count: int) -> Floats:
    """Return the ARE (29) of each estimate: the mean of |error|/count over the values that occur."""
    held = np.array([size for size in (count, n - count) if size])
    errors: Floats = np.abs(estimates - count) * (1 / held).mean()
    return errors


def errors(one: Cell) -> Cell:
    """Compute one cell: MSE (28) and ARE of `runs` deals, and the closed forms.

    The errors of both counts are equal and opposite, so that the mean over the two values is the error of one count.
    """
    n, count = one["n"], one["count"]
    mechanism = build(one["method"], one)
    rng = SimulationRandomness(int(content_hash(one)[:15], 16))
    estimates = estimated_counts(mechanism, n, count, one["runs"], rng)
    squares = (estimates - count) ** 2
    are = relative_errors(estimates, n, count)
    return {
        "mse": float(squares.mean()),
        "mse_error": float(squares.std(ddof=1) / np.sqrt(len(squares))),
        "theory": count_variance(mechanism, n, count),
        "are": float(are.mean()),
        "percentiles": [float(value) for value in np.percentile(are, PERCENTILES)],
    }


def comparison(settings: list[Cell]) -> list[Cell]:
    """Return the settings (n, count, epsilon, colluders) for each method."""
    return [{**one, "method": name} for one in settings for name in METHODS]
