"""The coin of k-ary JRR as integers: thresholds of a lie by share, and the range of rho."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.checks import Codes
from deniable.errors import InvalidParameterError
from deniable.joint._jrr_coin import Coin
from deniable.kernels import kernel
from deniable.randomness import Words
from deniable.thresholds import SCALE, EpsilonLike, exact, threshold_up

_END = Fraction(1, 10**12)


def rho_range(k: int, p: float) -> tuple[float, float]:
    """Return the least and the largest rho for which eq. (27) is a distribution: -min(p/q, (k-1)^2 q/p) and k - 1.

    Examples
    --------
    >>> rho_range(2, 0.75), rho_range(3, 0.5)
    ((-0.3333333333333333, 1.0), (-2.0, 2.0))
    """
    wrong = 1 - p
    return -(k - 1) * min(p / wrong, wrong / p), float(k - 1)


@lru_cache(maxsize=256, typed=True)
def kary_coin(k: int, p: EpsilonLike, rho: EpsilonLike) -> Coin:
    """Return the thresholds of a lie, 1 - p -+ s with s^2 = -rho p q: the mean rounded up, s rounded down.

    Raises
    ------
    InvalidParameterError
        If p is not in (1/k, 1), or rho not in [-min(p/q, (k-1)^2 q/p), 0].
    """
    truth, coupling = exact(p, "p"), -exact(rho, "rho")
    if not Fraction(1, k) < truth < 1:
        raise InvalidParameterError(f"p must be in (1/{k}, 1), got p={p}")
    lie = threshold_up(1 - truth)
    if (k - 1) * (SCALE - lie) <= lie:
        raise InvalidParameterError(f"p must exceed 1/{k} by more than 2^-62, got p={p}")
    end = (k - 1) * min(truth / (1 - truth), (1 - truth) / truth)
    if coupling < 0:
        raise InvalidParameterError(f"rho must be <= 0 (the nearest feasible rho is 0), got rho={rho}")
    if coupling > end * (1 + _END):
        raise InvalidParameterError(f"rho must be >= {-float(end)} for k={k}, p={p}, got rho={rho}")
    tilt = most = min(lie, SCALE - lie)
    if coupling < end * (1 - _END):
        tilt = min(math.isqrt(math.floor(coupling * truth * (1 - truth) / (k - 1) * SCALE**2)), most)
    return Coin(lie + tilt, lie - tilt, lie)


@kernel
def lie_by_share(
    codes: Codes,
    types: NDArray[Any],
    words: Words,
    steps: NDArray[np.int64],
    limits: Words,
    certain: NDArray[np.bool_],
    k: int,
    reports: Codes,
) -> None:
    """Report codes[n], or, if the word is below the limit of the share, the code steps[n] + 1 further (mod k)."""
    size = np.int64(k)
    for i in range(codes.shape[0]):
        share = np.int64(types[i])
        value = np.int64(codes[i])
        if certain[share] or words[i] < limits[share]:
            value += np.int64(steps[i]) + np.int64(1)
            value -= size if value >= size else np.int64(0)
        reports[i] = value
