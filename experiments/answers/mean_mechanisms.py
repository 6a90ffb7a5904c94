"""Variance of one report of a mean, given the answer, for mechanisms that the library does not have.

Answers are numbers t in [-1, 1]. Duchi, Jordan, Wainwright, *Minimax optimal procedures for locally private estimation*
(2018); Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu, *Collecting and analyzing multidimensional data with local
differential privacy* (2019), for Piecewise and Hybrid, which mixes the two. Variances are the published closed forms.
`tests/research/experiments/test_ordered.py` compares them with integrals of the published densities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable import GRR, AdaptiveSMP, SubsetSelection
from deniable.oracles import SquareWave

Floats = NDArray[np.float64]

HYBRID_FROM = 0.61
"""Budget below which Hybrid equals Duchi's mechanism."""


def duchi(epsilon: float, t: Floats) -> Floats:
    """Return the variance of Duchi's report for each answer; reports are +-(e^epsilon + 1)/(e^epsilon - 1)."""
    return ((math.exp(epsilon) + 1) / math.expm1(epsilon)) ** 2 - t**2


def piecewise(epsilon: float, t: Floats) -> Floats:
    """Return the variance of the Piecewise mechanism's report for each answer."""
    half = math.exp(epsilon / 2)
    return t**2 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)


def hybrid(epsilon: float, t: Floats) -> Floats:
    """Return the variance of Hybrid's report: Piecewise with probability 1 - e^(-epsilon/2), else Duchi's."""
    if epsilon <= HYBRID_FROM:
        return duchi(epsilon, t)
    share = -math.expm1(-epsilon / 2)
    return share * piecewise(epsilon, t) + (1 - share) * duchi(epsilon, t)


def grr_scores(k: int, epsilon: float) -> Floats:
    """Return the variance of the unbiased score, in [-1, 1], of a GRR report for each code."""
    p, q = map(float, GRR(k, epsilon).support_probabilities)
    scores = np.linspace(-1, 1, k)
    weights = (scores - q * scores.sum()) / (p - q)
    square: Floats = q * (weights**2).sum() + (p - q) * weights**2
    return square - scores**2


def subset_scores(k: int, epsilon: float) -> Floats:
    """Return the variance of the unbiased score, in [-1, 1], of a subset selection report for each code."""
    oracle, scores = SubsetSelection(k, epsilon), np.linspace(-1, 1, k)
    return np.array([oracle.linear_variance(scores, held, 1) for held in np.eye(k)])


def square_wave(k: int, epsilon: float, window: str = "mean") -> Floats:
    """Return the variance of one square wave report's term in the mean, in [-1, 1], for each code."""
    return SquareWave(k, epsilon, window).report_weights(np.linspace(-1, 1, k))[1]


def rounded(variances: Floats, per_step: int = 20) -> tuple[Floats, Floats]:
    """Return (answers, variances) also between grid points; answers there are rounded at random to a neighbour.

    Parameters
    ----------
    variances : float64[k]
        Variance of the report for each grid point, in [-1, 1].
    per_step : int
        Number of answers to compute between two points.
    """
    k = len(variances)
    grid = np.linspace(-1, 1, k)
    answers = np.linspace(-1, 1, (k - 1) * per_step + 1)
    squares = np.interp(answers, grid, variances + grid**2)
    return answers, squares - answers**2


MEANS: dict[str, Callable[[int, float], Floats]] = {
    "SquareWave": lambda k, epsilon: square_wave(k, epsilon),
    "SquareWave, paper's window": lambda k, epsilon: square_wave(k, epsilon, "paper"),
    "Hybrid": lambda k, epsilon: hybrid(epsilon, np.linspace(-1, 1, k)),
    "Piecewise": lambda k, epsilon: piecewise(epsilon, np.linspace(-1, 1, k)),
    "Duchi": lambda k, epsilon: duchi(epsilon, np.linspace(-1, 1, k)),
    "subset selection, scores": subset_scores,
    "GRR, scores": grr_scores,
}
"""Name -> (k, epsilon) -> variance of one report for each of k equally spaced answers."""


def deviation(variances: Floats) -> dict[str, float]:
    """Return standard deviations in units of the range: for the worst answer, and for uniform answers."""
    return {"worst": math.sqrt(float(variances.max())) / 2, "uniform": math.sqrt(float(variances.mean())) / 2}


def boxes(m: int, c: int, epsilon: str) -> dict[str, float]:
    """Return n times the variance of the share of one of m options, at share 0, for two methods.

    "every box": `AdaptiveSMP` over m attributes of two values, one of them sampled. "padded": at most c options are
    ticked. Each contributor's ticked options are padded to c with dummies. One of the c is reported by the best subset
    selection over m + c values.
    """
    budget = Fraction(epsilon)
    each = AdaptiveSMP((2,) * m, budget).variance(0.0, 1, 0)
    padded = c * c * SubsetSelection(m + c, budget).variance(0.0, 1)
    return {"every box": each, "padded": padded}
