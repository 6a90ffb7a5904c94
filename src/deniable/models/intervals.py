"""Intervals that hold a coefficient fixed and maximise the log likelihood again in the other parameters.

These intervals do not assume that the log likelihood is quadratic. The score interval contains the values v for which
(sum s)^2 <= chi2 * sum s^2. Here s is the efficient score of the coefficient, at the maximum with the coefficient held
at v. The efficient score is the part of the coefficient's score that the scores of the other parameters do not explain.
The profile interval compares log likelihoods instead. Near the boundary it covers too little; it is included as a
baseline.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
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

_SECOND = 2.3
"""Factor by which the steps of the second search are smaller."""

_AGREE = 0.02
"""The ends that two searches find must agree to this part of their distance from the maximum."""

_LIKELY = 3.0
"""A value beyond an end counts if twice the loss of log likelihood there is at most this times the critical value."""

_BEYOND = np.geomspace(1.0, 0.02, 14)
"""Fractions of the limit at which values beyond an end of a weak fit are tried."""


@dataclass(eq=False)
class HeldFixed:
    """Linear combination of a problem's parameters that can be held at any value.

    Parameters
    ----------
    problem : Problem
        Problem to be maximised.
    combination : float64[P]
        Vector c of the coefficient c'theta that the interval is for.
    theta : float64[P]
        Parameters at the maximum, or at the end of the search for it.
    width : float
        Approximate distance from there to the ends of the coefficient's interval.
    limit : float
        Limit beyond which a coefficient counts as infinite.
    scale : float64[P]
        Factors of the parameters before they are compared with `FAR`.
    middle : callable
        Function from theta to the middle of the sandwich in the problem's parameters.
    information : callable
        Function from (theta, middle there) to the information for the efficient score, in the problem's parameters. It
        is the expected information, the middle itself if scores are regressed on each other, or minus the Hessian.
    weak : bool
        True if so little is known that the likelihood may have several maxima with the coefficient held fixed. The
        statistic then depends on where a search started, and values far beyond an end may be accepted again. An end of
        a score interval then counts only if two searches find it and no likely value beyond it is accepted.
    """

    problem: Problem
    combination: Floats
    theta: Floats
    width: float
    limit: float
    scale: Floats
    middle: Callable[[Floats], Floats]
    information: Callable[[Floats, Floats], Floats]
    weak: bool = False
    _ends: dict[tuple[Side, float, Kind], float] = field(default_factory=dict)
    _seen: dict[float, tuple[Floats, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # psi replaces the parameter that matters most for the coefficient by the coefficient itself.
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
            start = (
                np.clip(self.start, -FAR / self.scale, FAR / self.scale)
                if known is None
                else self._seen[known][0].copy()
            )
            start = np.where(np.isfinite(start), start, 0.0)
            start[self.place] = value
            found = maximise(self.moved, start, self.free, self.scale)
            self._seen[value] = (found.theta, found.evaluation.value)
        return self._seen[value]

    def score_statistic(self, value: float) -> float:
        """Return (sum s)^2 / sum s^2 of the efficient score at this value."""
        psi, _ = self.at(value)
        theta = self.back @ psi
        outer = self.middle(theta)
        middle = self.back.T @ outer @ self.back
        information = self.back.T @ self.information(theta, outer) @ self.back
        gradient = self.moved.evaluate(psi, second=False).gradient
        rest, j = self.free, self.place
        weights = np.zeros(len(psi))
        weights[j] = 1.0
        # The matrix is scaled to a diagonal of ones, because parameters may have units of their own.
        size = np.sqrt(np.maximum(np.abs(np.diag(information)[rest]), 1e-300))
        scaled = information[np.ix_(rest, rest)] / np.outer(size, size)
        weights[rest] = -np.linalg.lstsq(scaled, information[rest, j] / size, rcond=1e-12)[0] / size
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

    def closes(self, side: Side, critical: float) -> bool:
        """Return whether the score interval has an end on one side."""
        if self.weak:
            return bool(np.isfinite(self.end(side, critical)))
        return self.bracket(side, critical) is not None

    def end(self, side: Side, critical: float, kind: Kind = "score") -> float:
        """Return the end of the interval on one side, infinite where it has none."""
        key = side, critical, kind
        if key not in self._ends:
            found = self._searched(side, critical, kind)
            if self.weak and kind == "score" and np.isfinite(found):
                found = self._confirmed(side, critical, found)
            self._ends[key] = found
        return self._ends[key]

    def _confirmed(self, side: Side, critical: float, found: float) -> float:
        """Return the outer of two ends that agree, infinity where they do not or a value beyond them is accepted."""
        second = replace(self, width=self.width / _SECOND, weak=False, _ends={}, _seen={})
        other = second.end(side, critical)
        outer = float(side * max(side * found, side * other))
        if not abs(found - other) <= _AGREE * abs(outer - self.centre):
            return float(side * np.inf)
        beyond, likely = [float(side * self.limit * part) for part in _BEYOND], _LIKELY * critical
        for search in (self, second):
            for value in beyond:
                apart = side * (value - outer) > 0.01 * self.limit
                # Far from the maximum the score test accepts values that the likelihood excludes, because it has no
                # power there.
                if apart and search.score_statistic(value) <= critical and search.profile_statistic(value) <= likely:
                    return float(side * np.inf)
        return outer

    def _searched(self, side: Side, critical: float, kind: Kind) -> float:
        found = self.bracket(side, critical, kind)
        if found is None:
            return side * np.inf
        inside, outside = found
        statistic = self.score_statistic if kind == "score" else self.profile_statistic
        if statistic(inside) > critical:
            # No maximum was found, and even the inner end is rejected. So only this bound is known.
            return inside
        return float(
            brentq(lambda value: statistic(value) - critical, inside, outside, xtol=1e-6 * self.width, rtol=1e-10)
        )
