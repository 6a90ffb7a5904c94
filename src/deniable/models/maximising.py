"""Newton's method for problems that may have several maxima, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.models.problem import Evaluation, Problem
from deniable.models.row_laws import Floats

FAR = 30.0
"""If a standardised column's coefficient is farther from zero than this, it goes to infinity."""

SMALLEST = 1e-8
"""Smallest eigenvalue of the scaled information that counts as positive."""

STARTS = 4
START_ROWS = 50_000
_NOISE = 0.25
_SEED = 20_260_501
_STEPS = 100
_HALVINGS = 25


class Solution(NamedTuple):
    """Result of Newton's method.

    Attributes
    ----------
    theta : float64[P]
        Parameters at the end of the search.
    evaluation : Evaluation
        Value and derivatives of the problem at `theta`.
    converged : bool
        True if the gradient vanishes at `theta`, the information is positive definite and no parameter is infinite.
    steps : int
        Number of Newton steps.
    """

    theta: Floats
    evaluation: Evaluation
    converged: bool
    steps: int


@dataclass(frozen=True)
class Starts:
    """Numbers of starts that were tried, and that came to the same maximum as the best."""

    tried: int
    agree: int


def scaled_information(hessian: Floats) -> tuple[Floats, Floats]:
    """Return the information scaled to a diagonal of ones, and the scale of each parameter."""
    information = -hessian
    diagonal = np.abs(np.diag(information))
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return information / np.outer(scale, scale), scale


def _direction(gradient: Floats, hessian: Floats) -> tuple[Floats, float, bool]:
    """Return Newton's step, g'A^-1 g, and whether the information A is positive definite as it is."""
    scaled, scale = scaled_information(hessian)
    values, vectors = np.linalg.eigh(scaled)
    definite = bool(values[0] >= SMALLEST)
    if not definite:
        values = np.maximum(np.abs(values), 0.01)
    along = vectors.T @ (gradient / scale)
    step = vectors @ (along / values) / scale
    return step, float(along @ (along / values)), definite


def maximise(
    problem: Problem, start: Floats, free: NDArray[np.bool_] | None = None, scale: Floats | None = None
) -> Solution:
    """Maximise from one start by Newton's method with step halving, and by L-BFGS if no step helps.

    Parameters
    ----------
    problem : Problem
        Problem to be maximised.
    start : float64[P]
        Parameters at which the search begins.
    free : bool[P], optional
        Parameters that may change; all by default.
    scale : float64[P], optional
        Factors of the parameters before they are compared with `FAR`; ones by default.
    """
    theta, at = start.copy(), problem.evaluate(start)
    moving = np.ones(len(theta), dtype=np.bool_) if free is None else free
    far = np.ones(len(theta)) if scale is None else scale
    repaired, eager = False, True
    if not moving.any():
        return Solution(theta, at, True, 0)
    for step_number in range(_STEPS):
        step, decrement, definite = _direction(at.gradient[moving], at.hessian[np.ix_(moving, moving)])
        if not np.isfinite(decrement):
            return Solution(theta, at, False, step_number)
        if decrement < 1e-10 * max(1.0, 1e-6 * problem.n) and definite:
            # One more step costs nothing to judge, and squares the error.
            polished = theta.copy()
            polished[moving] += step
            again = problem.evaluate(polished)
            if np.isfinite(again.value) and again.value >= at.value - 1e-9 * abs(at.value):
                theta, at = polished, again
            return Solution(theta, at, bool(np.abs(theta * far)[moving].max() <= FAR), step_number)
        if np.abs(theta * far)[moving].max() > FAR:
            return Solution(theta, at, False, step_number)
        longest = np.abs(step * far[moving]).max()
        factor = min(1.0, 5.0 / longest) if longest > 0 else 1.0
        for halving in range(_HALVINGS):
            trial = theta.copy()
            trial[moving] += factor * step
            # Second derivatives cost most, and are of no use if the step is refused.
            second = eager and halving == 0
            tried = problem.evaluate(trial, second)
            if np.isfinite(tried.value) and tried.value >= at.value + 1e-4 * factor * min(decrement, 1.0) * 0.1:
                theta, at = trial, tried if second else problem.evaluate(trial)
                eager = halving == 0
                break
            factor /= 2
        else:
            if decrement < 1e-7 and definite:
                return Solution(theta, at, bool(np.abs(theta * far)[moving].max() <= FAR), step_number)
            if repaired:
                return Solution(theta, at, False, step_number)
            theta, repaired = _quasi_newton(problem, theta, moving, far), True
            at = problem.evaluate(theta)
    return Solution(theta, at, False, _STEPS)


def _quasi_newton(problem: Problem, theta: Floats, moving: NDArray[np.bool_], far: Floats) -> Floats:
    from scipy.optimize import minimize  # this import takes longer than all of this package

    def loss(part: Floats) -> tuple[float, Floats]:
        trial = theta.copy()
        trial[moving] = part
        found = problem.evaluate(trial, second=False)
        return -found.value, -found.gradient[moving]

    bounds = [(-2 * FAR / one, 2 * FAR / one) for one in far[moving]]
    result = minimize(loss, theta[moving], jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
    moved = theta.copy()
    moved[moving] = result.x
    return moved


def best_of_starts(
    problem: Problem, start: Floats, starts: int = STARTS, scale: Floats | None = None
) -> tuple[Solution, Starts]:
    """Return the best maximum from several starts: the given one, and the given one with seeded noise.

    `scale` is that of `maximise`. With more than 50,000 rows the starts are tried on a random 50,000, and the best
    continues with all rows.
    """
    rng = np.random.default_rng(_SEED)
    few = problem
    if problem.n > START_ROWS:
        few = problem.subset(np.sort(rng.choice(problem.n, START_ROWS, replace=False)))
    size = 1.0 if scale is None else 1 / scale
    tries = [start, *(start + rng.normal(0.0, _NOISE, len(start)) * size for _ in range(starts - 1))]
    found = [maximise(few, one, scale=scale) for one in tries]
    # A maximum is preferred to an equally high point on the way to infinity.
    best = max(found, key=lambda one: one.evaluation.value + 1e-6 * one.converged)
    same = 1e-6 * max(1.0, abs(best.evaluation.value))
    agree = sum(abs(one.evaluation.value - best.evaluation.value) < same for one in found)
    if few is not problem:
        best = maximise(problem, best.theta, scale=scale)
    return best, Starts(len(tries), agree)
