"""Intervals that need no quadratic log likelihood: a coefficient is held fixed, and the rest maximised again.

The score interval holds the values v for which (sum s)^2 <= chi2 * sum s^2, s the efficient score of the coefficient at
the maximum with it held at v: what is left of its score beside those of the other parameters. The profile interval
compares log likelihoods instead; near the boundary it covers too little, and it is here to be compared with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from deniable.models.maximising import FAR, maximise
from deniable.models.problem import Moved, Problem
from deniable.models.row_laws import Floats

Kind = Literal["score", "profile"]
Side = Literal[-1, 1]

_FIRST = 0.8
_GROWTH = 1.6
_TRIES = 14


@dataclass(eq=False)
class HeldFixed:
    """One linear combination of a problem's parameters, held at any value.

    Parameters
    ----------
    problem : Problem
        What is maximised.
    combination : float64[P]
        The coefficient c'theta that is asked about.
    theta : float64[P]
        The maximum, or where the search for it ended.
    width : float
        About how far the coefficient's interval reaches from there.
    limit : float
        A coefficient beyond this is infinite.
    scale : float64[P]
        What parameters are multiplied by before they are compared with `FAR`.
    middle : callable
        theta to the middle of the sandwich in the problem's parameters.
    information : callable or None
        theta to the expected information; None where scores are regressed on each other, or with a problem that is not
        a likelihood, where the Hessian takes its place.
    """

    problem: Problem
    combination: Floats
    theta: Floats
    width: float
    limit: float
    scale: Floats
    middle: Callable[[Floats], Floats]
    information: Callable[[Floats], Floats] | None = None
    _seen: dict[float, tuple[Floats, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # psi has the coefficient itself in the place of the parameter that matters most for it.
        self.place = int(np.argmax(np.abs(self.combination)))
        turned = np.eye(self.problem.size)
        turned[self.place] = self.combination
        self.back: Floats = np.asarray(np.linalg.inv(turned), dtype=np.float64)
        self.moved = Moved(self.problem, self.back)
        self.start = turned @ self.theta
        self.free = np.ones(self.problem.size, dtype=np.bool_)
        self.free[self.place] = False
        self.centre = float(np.clip(self.start[self.place], -self.limit, self.limit))

    def at(self, value: float) -> tuple[Floats, float]:
        """Return the parameters psi that maximise with the coefficient at this value, and the function there."""
        if value not in self._seen:
            known = min(self._seen, key=lambda other: abs(other - value)) if self._seen else None
            start = np.clip(self.start, -FAR, FAR) if known is None else self._seen[known][0].copy()
            start = np.where(np.isfinite(start), start, 0.0)
            start[self.place] = value
            found = maximise(self.moved, start, self.free, self.scale)
            self._seen[value] = (found.theta, found.evaluation.value)
        return self._seen[value]

    def score_statistic(self, value: float) -> float:
        """Return (sum s)^2 / sum s^2 of the efficient score at this value."""
        psi, _ = self.at(value)
        theta = self.back @ psi
        middle = self.back.T @ self.middle(theta) @ self.back
        gradient = self.moved.evaluate(psi, second=False).gradient
        if self.information is not None:
            information = self.back.T @ self.information(theta) @ self.back
        elif self.problem.is_likelihood:
            information = middle
        else:
            information = -self.moved.evaluate(psi).hessian
        rest, j = self.free, self.place
        weights = np.zeros(len(psi))
        weights[j] = 1.0
        weights[rest] = -np.linalg.lstsq(information[np.ix_(rest, rest)], information[rest, j], rcond=1e-12)[0]
        variance = float(weights @ middle @ weights)
        return float(weights @ gradient) ** 2 / variance if variance > 0 else np.inf

    def profile_statistic(self, value: float) -> float:
        """Return twice the loss of log likelihood at this value."""
        best = self.at(self.centre)[1]
        return 2 * (best - self.at(value)[1])

    def bracket(self, side: Side, critical: float, kind: Kind = "score") -> tuple[float, float] | None:
        """Return a value inside of the interval and one outside of it, on one side; None if it has no end there."""
        statistic = self.score_statistic if kind == "score" else self.profile_statistic
        inside, step = self.centre, _FIRST * self.width
        if abs(self.centre) >= self.limit and side * self.centre > 0:
            return None
        for _ in range(_TRIES):
            outside = inside + side * step
            if side * outside > self.limit:
                outside = side * self.limit
            if statistic(outside) > critical:
                return inside, outside
            if abs(outside) >= self.limit and side * outside > 0:
                return None
            inside, step = outside, step * _GROWTH
        return None

    def end(self, side: Side, critical: float, kind: Kind = "score") -> float:
        """Return the end of the interval on one side, infinite where it has none."""
        found = self.bracket(side, critical, kind)
        if found is None:
            return side * np.inf
        inside, outside = found
        statistic = self.score_statistic if kind == "score" else self.profile_statistic
        if statistic(inside) > critical:
            # The maximum itself is outside, where it was not found: nothing but the bound is known.
            return inside
        return float(
            brentq(lambda value: statistic(value) - critical, inside, outside, xtol=1e-6 * self.width, rtol=1e-10)
        )
