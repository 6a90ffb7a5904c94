"""Shared part of the baseline tests: exact moments of an estimator, from its channel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.testing.laws import length, take

Floats = NDArray[np.float64]


def moments(mechanism: Any) -> tuple[Floats, Floats]:
    """Return (mean, variance) of one report's estimate of each value, for each input: float64[inputs, k] each."""
    channel, outputs = mechanism.channel(), mechanism.outputs()
    singles = [mechanism.aggregate(take(outputs, slice(o, o + 1))) for o in range(length(outputs))]
    estimates = np.array([mechanism.estimate(single).frequencies for single in singles])
    mean = channel @ estimates
    return mean, channel @ estimates**2 - mean**2
