"""Choice of m, the number of cells of a count-mean sketch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from deniable.core.checks import MAX_DOMAIN
from deniable.core.thresholds import EpsilonLike, checked_epsilon, exp_bounds, spent

CellsAround = Callable[[int], tuple[int, int]]
"""Function of x that returns the largest admissible m <= x and the smallest admissible m > x."""


@dataclass(frozen=True)
class Objective:
    """The variance that the choice of m minimises, at collision probability 1/m and in units of 1/n.

    Let u = m - 1, E = e^epsilon, A = f E + 1 - f and K = E ((1-f) E + f). The variance at frequency f is [A u + 2E +
    K/u]/(E-1)^2 (Pan, eq. (20)). It is convex in u, has its minimum at u = sqrt(K/A), and is linear in f.

    Parameters
    ----------
    frequencies : tuple of Fraction
        Frequencies at which the variance is computed; the objective is the largest of these variances. (1/k,) gives the
        mean squared error over k values, which is the l2 (and l1) objective. (0, f*) gives the worst case over
        frequencies up to f*.
    e : Fraction
        Value of e^epsilon, to 55 digits.
    """

    frequencies: tuple[Fraction, ...]
    e: Fraction

    @classmethod
    def mean(cls, k: int, epsilon: EpsilonLike) -> Objective:
        """Return the objective of mode "l2", the mean squared error over all k values."""
        return cls((Fraction(1, k),), exp_bounds(spent(checked_epsilon(epsilon)))[0])

    @classmethod
    def worst_case(cls, max_frequency: Fraction, epsilon: EpsilonLike) -> Objective:
        """Return the objective of mode "mse", the largest variance at frequencies up to a bound."""
        return cls((Fraction(0), max_frequency), exp_bounds(spent(checked_epsilon(epsilon)))[0])

    def _coefficients(self, f: Fraction) -> tuple[Fraction, Fraction]:
        return f * self.e + 1 - f, self.e * ((1 - f) * self.e + f)

    def cost(self, m: int | Fraction) -> Fraction:
        """Return the objective at m, in units of 1/n."""
        u = Fraction(m) - 1
        parts = (self._coefficients(f) for f in self.frequencies)
        return max(a * u + 2 * self.e + b / u for a, b in parts) / (self.e - 1) ** 2

    @property
    def best_square(self) -> Fraction:
        """Value of (m - 1)^2 for the best real m.

        The variances at different f cross at u = sqrt(E). Beyond f = 1/2 this crossing is the smallest maximum.
        """
        a, b = self._coefficients(min(max(self.frequencies), Fraction(1, 2)))
        return b / a

    @property
    def best_real(self) -> float:
        """Best m if m could be any real number > 1."""
        return 1 + math.sqrt(self.best_square)

    def best(self, around: CellsAround) -> int:
        """Return the best admissible m, which is one of the two around the best real m but not always the nearest."""
        return min(around(max(2, 1 + math.isqrt(math.floor(self.best_square)))), key=self.cost)


def any_integer(x: int) -> tuple[int, int]:
    """Return the two numbers of cells around x for families that allow every m in 2..2^32.

    Examples
    --------
    >>> any_integer(3), any_integer(2**40)
    ((3, 4), (4294967296, 4294967296))
    """
    return min(x, MAX_DOMAIN), min(x + 1, MAX_DOMAIN)
