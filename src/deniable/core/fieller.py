"""Fieller's interval for the quotient of two estimates that are jointly normal.

Fieller, *Some problems in interval estimation* (1954): the interval is all t for which (a - t b)^2 <= z^2 Var(a - t b).
Where that set is not a bounded interval, the estimates do not determine the quotient.
"""

from __future__ import annotations

import math


def fieller(a: float, b: float, variances: tuple[float, float, float], z: float) -> tuple[float, float]:
    """Return the interval of E a / E b, or (-inf, inf) if it is not a bounded interval.

    Parameters
    ----------
    a, b : float
        Estimates of numerator and denominator.
    variances : (float, float, float)
        The variances Var a, Cov(a, b) and Var b.
    z : float
        Quantile of the normal distribution.

    Examples
    --------
    Without noise in the denominator, Wald's interval of the numerator, divided:

    >>> fieller(1.0, 2.0, (0.04, 0.0, 0.0), 2.0)
    (0.3, 0.7)

    A denominator within z standard errors of zero determines nothing:

    >>> fieller(1.0, 0.1, (0.04, 0.0, 0.01), 2.0)
    (-inf, inf)
    """
    own, both, other = variances
    lead = b * b - z * z * other
    middle = a * b - z * z * both
    root = middle * middle - lead * (a * a - z * z * own)
    if not (lead > 0 and root >= 0):
        return -math.inf, math.inf
    half = math.sqrt(root)
    return (middle - half) / lead, (middle + half) / lead
