"""Unequal budgets of least error that keep every attribute's total leakage below its own cap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from deniable.core.thresholds import EPSILON_MAX, EPSILON_MIN
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.leakage.prior.distributions import Floats
from deniable.leakage.prior.tree import TreePrior
from deniable.oracles.grr import GRR
from deniable.research.leakage.calibration.calibration import (
    Calibration,
    checked_cap,
    finished,
    largest_below,
    rounded_down,
)
from deniable.research.leakage.calibration.criteria import (
    Blocks,
    Criterion,
    Epsilon,
    Figure,
    MechanismFactory,
    checked_prior,
    figure_of,
    sizes_of,
)

_STEPS = 60
_LEAST = 2 * EPSILON_MIN
"""The least budget of an attribute, because some mechanisms spend it in two halves."""


def calibrate_unequal(
    joint: ArrayLike | TreePrior,
    caps: Sequence[float],
    criterion: Criterion = "exact",
    mechanism: MechanismFactory = GRR,
    blocks: Blocks | None = None,
) -> Calibration:
    """Return the budgets with least total variance that keep every attribute's figure below its own cap.

    Total variance is a sum over attributes. Its terms are the mean variances of estimated frequencies over the
    attribute's values, under a uniform distribution. The optimum is found numerically, by sequential quadratic
    programming over the logarithms from two starting points. The budgets are then lowered until every cap holds, and
    single budgets are raised again if their caps allow it. It is certain that the caps hold, but not proved that no
    better budgets exist. Every step evaluates all figures d + 1 times. This takes seconds for up to 12 binary
    attributes, and minutes for 20.

    Parameters
    ----------
    joint : float[k_1, ..., k_d] or TreePrior
        Prior of the adversary.
    caps : sequence of d floats
        Cap on the total leakage about each attribute, in nats.
    criterion, mechanism, blocks
        See `calibrate`. The mechanism must have ``variance(f, n)``.

    Raises
    ------
    InvalidInputError
        If the number of caps is not the number of attributes.
    InvalidParameterError
        If a cap is not positive and finite, or too small for d attributes.

    Examples
    --------
    A sensitive attribute that a second one reveals: the second pays for the first.

    >>> result = calibrate_unequal([[0.45, 0.05], [0.1, 0.4]], caps=[0.5, 2.0])
    >>> result.exact.round(3), [round(epsilon, 3) for epsilon in result.epsilons]
    (array([0.5  , 0.511]), [0.279, 0.312])
    """
    prior = checked_prior(joint)
    sizes = sizes_of(prior)
    limits = [checked_cap(f"caps[{i}]", cap) for i, cap in enumerate(caps)]
    if len(limits) != len(sizes):
        raise InvalidInputError(f"caps must have one entry for each of the {len(sizes)} attributes, got {len(limits)}")
    least = float(len(sizes) * _LEAST)
    if min(limits) < least:
        raise InvalidParameterError(f"caps must be >= {least:g} for {len(sizes)} attributes, got {min(limits)}")
    figure = figure_of(prior, criterion, mechanism, blocks)
    problem = _Problem(sizes, np.array(limits), mechanism, figure)
    starts = [problem.scaled(np.ones(len(sizes))), problem.scaled(np.minimum(limits, float(EPSILON_MAX)))]
    found = [problem.filled(problem.scaled(problem.improved(start))) for start in starts]
    best = min([*starts, *found], key=problem.variance)
    return finished(prior, [float(epsilon) for epsilon in best], limits, criterion, mechanism, figure)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Problem of minimising the variance over budgets, subject to figures <= caps."""

    sizes: tuple[int, ...]
    caps: Floats
    mechanism: MechanismFactory
    figure: Figure

    def variance(self, budgets: Floats) -> float:
        """Return the sum over attributes of the mean variance of one report's estimate."""
        return math.fsum(
            self.mechanism(k, float(epsilon)).variance(1 / k, 1) for k, epsilon in zip(self.sizes, budgets, strict=True)
        )

    def load(self, budgets: Floats) -> float:
        """Return the largest ratio of a figure to its cap."""
        return float((self._figures(budgets) / self.caps).max())

    def scaled(self, direction: Floats) -> Floats:
        """Return the largest feasible multiple of a direction.

        Each budget is raised to the least possible budget.
        """
        # The prior-free sum is feasible, whatever the direction. Raising budgets adds at most the least budget to each.
        cap, total = float(self.caps.min()), float(direction.sum())
        low = max(0.0, cap - len(direction) * float(_LEAST)) / total
        top = float(EPSILON_MAX) / float(direction.max())
        multiple = largest_below(lambda s: self.load(s * direction), 1.0, low, 2 * cap / total, top)
        return _in_range(np.array([rounded_down(float(epsilon)) for epsilon in multiple * direction]))

    def improved(self, start: Floats) -> Floats:
        """Return a better point near the boundary, by sequential quadratic programming.

        The point may be infeasible.
        """

        def objective(logs: Floats) -> float:
            return math.log(self.variance(np.exp(logs)))

        def room(logs: Floats) -> Floats:
            return np.log(self.caps) - np.log(self._figures(np.exp(logs)))

        solution = optimize.minimize(
            objective,
            list(np.log(start)),
            method="SLSQP",
            bounds=[(math.log(float(_LEAST)), math.log(float(EPSILON_MAX)))] * len(start),
            constraints=optimize.NonlinearConstraint(room, 0, np.inf),
            tol=1e-9,
            options={"maxiter": _STEPS},
        )
        return np.exp(solution.x) if np.isfinite(solution.x).all() else start

    def filled(self, budgets: Floats) -> Floats:
        """Return budgets none of which can be raised alone."""
        for j in range(len(budgets)):

            def load(epsilon: float, j: int = j) -> float:
                raised = budgets.copy()
                raised[j] = epsilon
                return self.load(raised)

            if load(min(1.001 * budgets[j], float(EPSILON_MAX))) <= 1:
                budgets[j] = largest_below(load, 1.0, float(budgets[j]), 2 * float(budgets[j]))
        return budgets

    def _figures(self, budgets: Floats) -> Floats:
        chosen: list[Epsilon] = [float(epsilon) for epsilon in _in_range(budgets)]
        return self.figure(chosen)


def _in_range(budgets: Floats) -> Floats:
    return np.clip(budgets, float(_LEAST), float(EPSILON_MAX))
