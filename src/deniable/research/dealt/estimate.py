"""Estimates from dealt reports, whose variance is quadratic in the frequency and which are not an independent sum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import NormalDist

import numpy as np

from deniable.core.estimate import FROM_REPORTS, Estimate, Floats, FrequencyIntervals
from deniable.core.joint import JointNoise

Variance = Callable[[float], float]


def quadratic(variance: Variance) -> tuple[float, float, float]:
    """Return (level, slope, curvature) of a variance that is quadratic in the frequency.

    Only its values in [0, 1] are used, because elsewhere it may be negative.
    """
    left, centre, right = variance(0.0), variance(0.5), variance(1.0)
    curvature = 2 * (left - 2 * centre + right)
    return left, right - left - curvature, curvature


def complement(variance: Variance, n: int) -> JointNoise:
    """Return the joint noise of n reports for two frequencies that sum to one and have this variance."""
    return partial(_complement, variance, n)


def _complement(variance: Variance, n: int, weights: Floats, f: Floats) -> float:
    return n * float(weights[0] - weights[1]) ** 2 * variance(float(f[0]))


def tangent_estimate(
    frequencies: Floats,
    n: int,
    variance: Variance,
    intervals: FrequencyIntervals = FROM_REPORTS,
    contributors: int = -1,
    joint: JointNoise | None = None,
    *,
    scarce: bool = False,
) -> Estimate:
    """Return the estimate whose noise is the tangent, at the clipped frequencies, to the exact variance.

    Its standard errors are exact at the estimate.

    Parameters
    ----------
    frequencies : float64[k]
        Estimated frequencies among the n reporters.
    n : int
        Number of reports.
    variance : callable
        Function from f to the exact variance of an estimated frequency, quadratic in f.
    intervals : FrequencyIntervals
        Method that makes intervals. By default the score interval uses the tangent.
    contributors : int
        Number of contributors that the reporters are a sample of, n by default.
    joint : callable, optional
        Correlation of the noise, if it is known.
    scarce : bool
        True if few mistaken reports are expected (`deniable.research.dealt.interval.few`).
    """
    at = np.clip(frequencies, 0.0, 1.0)
    values = np.array([variance(f) for f in at.tolist()]) * n
    _, slope, curvature = quadratic(variance)
    slopes = (slope + 2 * curvature * at) * n
    absent = values - slopes * at
    return Estimate(
        frequencies,
        n,
        absent,
        absent + slopes,
        contributors=contributors,
        intervals=intervals,
        scarce=scarce,
        joint=joint,
    )


def score_bounds(frequencies: Floats, variance: Variance, tail: float) -> tuple[Floats, Floats]:
    """Return bounds of all f that a z-test with the exact variance at f does not reject; each fails with about `tail`.

    If the test rejects every f, the bounds are the Wald bounds with the variance at the nearest f. This can only happen
    outside [0, 1]. The sum of the reports is taken to be normal.
    """
    z = -NormalDist().inv_cdf(tail)
    level, slope, curvature = quadratic(variance)
    # The interval contains every f with (f^ - f)^2 <= z^2 (level + slope f + curvature f^2).
    lead, middle = 1 - z**2 * curvature, frequencies + z**2 * slope / 2
    root = middle**2 - lead * (frequencies**2 - z**2 * level)
    solved = (root > 0) & (lead > 0)
    f = np.clip(frequencies, 0.0, 1.0)
    wald = z * np.sqrt(np.maximum(level + f * (slope + curvature * f), 0.0))
    lead = lead if lead > 0 else 1.0
    half = np.where(solved, np.sqrt(np.maximum(root, 0.0)) / lead, wald)
    centre = np.where(solved, middle / lead, frequencies)
    return centre - half, centre + half
