"""The best p and s of k-ary JRR, exactly: on every edge of what is allowed, the variance is quadratic in 1/(p - q).

Allowed are the pairs (p, s^2) with s^2 below a few quadratics in p. The variance falls in s^2 (or s = 0 is best), so
the optimum lies on the lower envelope of these quadratics: at a crossing of two, at a stationary point of one, or at
the largest p.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.polynomial import Polynomial

Reveal = Literal["shares", "truths"]

_P = Polynomial([0.0, 1.0])


@dataclass(frozen=True)
class KaryTask:
    """What to optimise: domain size, contributors, holders of the value of interest, and the constraints.

    `known` is the probability mu that the peer is a colluder, `reveal` what colluders reveal: their shares, or only
    whether they reported the truth. `epsilon_aux` caps what a colluding dealer learns (infinite: no cap).
    """

    k: int
    n: int
    count: float
    epsilon: float
    known: float
    density: float
    reveal: Reveal = "shares"
    epsilon_aux: float = math.inf

    def truth_range(self, epsilon: float) -> tuple[float, float]:
        """Return the least and the largest probability of the truth whose likelihood ratios stay within e^epsilon."""
        rest = (self.k - 1) * math.exp(-epsilon) if math.isfinite(epsilon) else 0.0
        least = math.exp(-epsilon) / (math.exp(-epsilon) + self.k - 1) if math.isfinite(epsilon) else 0.0
        return least, 1 / (1 + rest)

    @property
    def bounds(self) -> list[Polynomial]:
        """Upper bounds of s^2 as polynomials in p."""
        bounds = [_P**2, (1 - _P) ** 2]
        least, largest = self.truth_range(self.epsilon)
        if self.known > 0:
            if self.reveal == "shares":
                bounds += [((largest - _P) / self.known) ** 2, ((_P - least) / self.known) ** 2]
            else:
                bounds += [(largest - _P) * (1 - _P) / self.known, (_P - least) * _P / self.known]
        if math.isfinite(self.epsilon_aux):
            least, largest = self.truth_range(self.epsilon_aux)
            bounds += [(largest - _P) ** 2, (_P - least) ** 2]
        return bounds

    @property
    def top(self) -> float:
        """The p of plain GRR, the largest allowed."""
        return self.truth_range(self.epsilon)[1]

    @property
    def independent(self) -> Polynomial:
        """Variance of the count without coupling, a polynomial in p."""
        q = (1 - _P) / (self.k - 1)
        return self.count * _P * (1 - _P) + (self.n - self.count) * q * (1 - q)

    @property
    def coupling(self) -> float:
        """What s^2 takes off the variance of the count."""
        absent = (self.n - self.count) / (self.k - 1)
        return self.density * ((self.count - absent) ** 2 - self.count - absent / (self.k - 1))

    def variance(self, p: float, square: float) -> float:
        """Variance of the estimated count."""
        gain = (self.k * p - 1) / (self.k - 1)
        return float(self.independent(p) - square * self.coupling) / gain**2


def best_truthfulness(task: KaryTask) -> tuple[float, float]:
    """Return the p and s of least variance; s = 0 (plain GRR) where coupling does not pay."""
    if task.coupling <= 0:
        return task.top, 0.0
    bounds, floor = task.bounds, 1 / task.k
    candidates = [task.top]
    for first, second in itertools.combinations(bounds, 2):
        candidates += _inside(np.asarray((first - second).trim(1e-300).roots()), floor, task.top)
    for bound in bounds:
        # In z = p - 1/k the variance is (c0 + c1 z + c2 z^2)/z^2: stationary at z = -2 c0/c1.
        edge = (task.independent - bound * task.coupling)(Polynomial([floor, 1.0])).coef
        if len(edge) > 1 and edge[1] != 0:
            candidates += _inside(np.array([floor - 2 * edge[0] / edge[1]]), floor, task.top)
    scored = [(p, max(min(float(bound(p)) for bound in bounds), 0.0)) for p in candidates]
    best = min(scored, key=lambda point: task.variance(*point))
    if task.variance(*best) >= task.variance(task.top, 0.0):
        return task.top, 0.0
    return best[0], math.sqrt(best[1])


def _inside(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]], low: float, high: float) -> list[float]:
    real = [complex(value) for value in values]
    return [value.real for value in real if abs(value.imag) < 1e-12 and low < value.real <= high]
