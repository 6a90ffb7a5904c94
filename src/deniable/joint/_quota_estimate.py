"""An `Estimate` of dealt coins: its variance is quadratic in the frequency, its reports are no independent sum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from deniable.estimate import Estimate

Floats = NDArray[np.float64]
Bounds = Callable[[float], tuple[Floats, Floats]]

_STEP = 1e-3


def tangent_estimate(
    frequencies: Floats,
    n: int,
    variance: Callable[[float], float],
    bounds: Bounds | None = None,
    contributors: int | None = None,
) -> Estimate:
    """Return the estimate whose noise is the tangent, at the clipped frequencies, to the exact variance.

    Its standard errors are exact at the estimate. Where the mechanism has no interval of its own (`bounds`), the score
    interval uses the tangent.

    Parameters
    ----------
    frequencies : float64[k]
        Estimated frequencies among the n reporters.
    n : int
        Number of reports.
    variance : callable
        f -> exact variance of an estimated frequency, quadratic in f.
    bounds : callable, optional
        tail -> (lower, upper).
    contributors : int, optional
        Number of contributors that the reporters are a sample of, n by default.
    """
    at = np.clip(frequencies, 0.0, 1.0).tolist()
    values = np.array([variance(f) for f in at]) * n
    # Of a quadratic, a central difference is the slope.
    slopes = np.array([variance(f + _STEP) - variance(f - _STEP) for f in at]) * n / (2 * _STEP)
    absent = values - slopes * np.array(at)
    return Estimate(
        frequencies,
        n,
        absent,
        absent + slopes,
        contributors=-1 if contributors is None else contributors,
        bounds=bounds,
    )
