"""How many cells a count-mean sketch should have: the choice of m."""

from __future__ import annotations

import math
from fractions import Fraction

from deniable.checks import MAX_DOMAIN, checked_domain
from deniable.thresholds import EpsilonLike, checked_epsilon, exact, exp_bounds


def optimal_hash_range(k: int, epsilon: EpsilonLike) -> int:
    """Return the m in 2..2^32 of least mean squared error over all k values.

    The mean over the values of the variance is the variance at f = 1/k. With u = m - 1 and collision probability 1/m
    it is [A u + 2E + K/u]/(n (E-1)^2), E = e^epsilon, A = f E + 1 - f, K = E ((1-f) E + f) (Pan, eq. (20)): least at
    one of the two integers around u = sqrt(K/A), which is not always the nearest.

    Examples
    --------
    >>> optimal_hash_range(1024, 1.0), optimal_hash_range(2**20, 1.5)
    (4, 6)
    """
    f, (e, _) = Fraction(1, checked_domain(k)), exp_bounds(exact(checked_epsilon(epsilon)))
    a, b = f * e + 1 - f, e * ((1 - f) * e + f)
    below = max(1, math.isqrt(math.floor(b / a)))
    best = min(below, below + 1, key=lambda u: a * u + b / u)
    return min(best + 1, MAX_DOMAIN)
