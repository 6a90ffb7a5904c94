"""Projection of unbiased frequencies onto the nearest distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def nearest_distribution(frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the point of the probability simplex nearest to float64[k]. A NaN anywhere makes all values NaN.

    Held, Wolfe, Crowder, *Validation of subgradient optimization* (1974): sort the values, and find how many of them
    stay positive.
    """
    if np.isnan(frequencies).any():
        return np.full(len(frequencies), np.nan)
    # A common shift changes nothing. If the largest value is 0, all values that stay positive lie in (-1, 0]. So no
    # digits cancel, however large the estimates are.
    shifted = frequencies - frequencies.max()
    descending = np.sort(shifted)[::-1]
    deltas = (1 - np.cumsum(descending)) / np.arange(1, len(descending) + 1)
    positive = int(np.flatnonzero(descending + deltas > 0)[-1])
    result: NDArray[np.float64] = np.maximum(shifted + deltas[positive], 0.0)
    return result
