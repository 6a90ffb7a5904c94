"""An `Estimate` of dealt coins: its variance is quadratic in the frequency, its reports are no independent sum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from deniable.estimate import Estimate

Floats = NDArray[np.float64]
Bounds = Callable[[float], tuple[Floats, Floats]]


def tangent_slopes(variance: Callable[[float], float], f: Floats) -> Floats:
    """Return the slopes at f of a variance that is quadratic in the frequency, from its values in [0, 1] alone."""
    left, centre, right = variance(0.0), variance(0.5), variance(1.0)
    bend = 2 * (left - 2 * centre + right)
    slopes: Floats = right - left - bend + 2 * bend * f
    return slopes


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
    at = np.clip(frequencies, 0.0, 1.0)
    values = np.array([variance(f) for f in at.tolist()]) * n
    slopes = tangent_slopes(variance, at) * n
    absent = values - slopes * at
    return Estimate(
        frequencies,
        n,
        absent,
        absent + slopes,
        contributors=-1 if contributors is None else contributors,
        bounds=bounds,
    )
