"""Local hashing: the count-mean sketch under its older names.

It is from Bassily, Smith (2015) for m = 2, and from Wang, Blocki, Li, Jha, *Locally differentially private protocols
for frequency estimation* (2017) for m = e^epsilon + 1.
"""

from __future__ import annotations

import math
from fractions import Fraction

from deniable.core.checks import MAX_DOMAIN
from deniable.core.thresholds import EpsilonLike, checked_epsilon, exp_bounds, spent
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch


def BLH(k: int, epsilon: EpsilonLike) -> CountMeanSketch:  # noqa: N802 (the field's name)
    """Binary local hashing: the count-mean sketch with m = 2 cells (Bassily, Smith 2015).

    Below epsilon = ln 1.5 it is the same as `OLH`. Above, its variance for rare values is larger than with `OLH`.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32].

    Returns
    -------
    CountMeanSketch
        The sketch ``CountMeanSketch(k, epsilon, m=2)``. Its name in specifications is "CMS".

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds.

    Examples
    --------
    >>> BLH(k=100, epsilon=1.0)
    BLH(k=100, epsilon=1.0)
    """
    return _called("BLH", CountMeanSketch(k, checked_epsilon(epsilon), 2))


def OLH(k: int, epsilon: EpsilonLike) -> CountMeanSketch:  # noqa: N802 (the field's name)
    """Optimised local hashing: the count-mean sketch with m = round(e^epsilon) + 1 cells (Wang et al. 2017).

    This m has the least variance for rare values (f = 0), up to rounding. ``CountMeanSketch(k, epsilon)`` has the least
    variance on average over a domain of k values. The two differ if e^epsilon is not small compared with k.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, from 1e-6 to 22.18, where m reaches its limit of 2^32.

    Returns
    -------
    CountMeanSketch
        The sketch with this m. Its name in specifications is "CMS".

    Raises
    ------
    InvalidParameterError
        If k or epsilon is out of bounds, or m would exceed 2^32.

    Examples
    --------
    >>> OLH(k=100, epsilon=1.0), OLH(k=100, epsilon=4.0).m
    (OLH(k=100, epsilon=1.0), 56)
    """
    budget = checked_epsilon(epsilon)
    # e^epsilon is irrational for rational epsilon > 0. So 55 digits of the bound settle on which side of a half it
    # lies.
    m = math.floor(exp_bounds(spent(budget))[0] + Fraction(1, 2)) + 1
    if m > MAX_DOMAIN:
        raise InvalidParameterError(
            f"epsilon must be at most 22.18 for OLH, got epsilon={epsilon}: a larger epsilon needs more than 2^32 "
            "cells (m = e^epsilon + 1). Use CountMeanSketch, which chooses an m that is small enough"
        )
    return _called("OLH", CountMeanSketch(k, budget, m))


def _called(name: str, sketch: CountMeanSketch) -> CountMeanSketch:
    """Return a sketch that prints the name that made it, and equals the same sketch under any other name."""
    object.__setattr__(sketch, "made_by", name)
    return sketch
