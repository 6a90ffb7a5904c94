"""What an audit computes from counts: the event that looks best, and the exact bounds of its probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special


def choose_events(own: NDArray[np.int64], other: NDArray[np.int64], n: int, alpha: float) -> NDArray[np.bool_]:
    """Return for every pair the labels whose bound looks best, bool[pairs, labels], from counts of the learning half.

    Labels are taken in the order of their likelihood ratio; the best prefix is that with the largest log ratio less
    what the two confidence bounds will cost (in the normal approximation, which only steers the choice).
    """
    order = np.argsort(np.log(other + 0.5) - np.log(own + 0.5), axis=1, kind="stable")
    inside = [(np.take_along_axis(counts, order, axis=1).cumsum(axis=1) + 0.5) / (n + 1) for counts in (own, other)]
    z = -float(special.ndtri(alpha))
    cost = sum(np.sqrt(np.maximum(1 - p, 0) / p) for p in inside) * z / math.sqrt(n)
    last = (np.log(inside[0]) - np.log(inside[1]) - cost).argmax(axis=1)
    chosen = np.zeros(own.shape, dtype=np.bool_)
    np.put_along_axis(chosen, order, np.arange(own.shape[1]) <= last[:, None], axis=1)
    return chosen


def lower_bound(count: NDArray[Any], n: int, alpha: float) -> NDArray[np.float64]:
    """Clopper-Pearson lower confidence bound of a probability, exact level at least 1 - alpha; count of n trials."""
    with np.errstate(all="ignore"):
        bound = special.betaincinv(count, n - count + 1, alpha)
    return np.where(count > 0, bound, 0.0)


def upper_bound(count: NDArray[Any], n: int, alpha: float) -> NDArray[np.float64]:
    """Clopper-Pearson upper confidence bound of a probability, exact level at least 1 - alpha; count of n trials."""
    with np.errstate(all="ignore"):
        bound = special.betainccinv(count + 1, n - count, alpha)
    return np.where(count < n, bound, 1.0)
