"""Strength of the dependence of two attributes, from noisy pair tables, with the noise stated.

*Cramer's V*. phi^2 = sum D(a, b)^2/(w_a w_b) with D = T^ - r c' the residual from independence, r and c the margins of
T^, and w the projected margin, at least its own standard error (a value rarer than that has no scale of its own).
V = sqrt(phi^2/(min(k_i, k_j) - 1)).

A sum of squares of noisy residuals is biased upwards. At independence the residuals have the covariance C_i x C_j / n,
with C the covariance of one report's unbiased estimate of an attribute, so that (W = diag(1/w))

    E phi^2 = tr(W_i C_i) tr(W_j C_j)/n,        Var phi^2 = 2 tr((W_i C_i)^2) tr((W_j C_j)^2)/n^2,

up to terms of relative order 1/n. The first is subtracted in `corrected`. Without noise it is (k_i - 1)(k_j - 1)/n, the
mean of Pearson's chi-squared over n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from deniable.core.checks import Floats
from deniable.core.projection import nearest_distribution
from deniable.records.joint import KroneckerTerm, OwnTable


class CramersV(NamedTuple):
    """Cramer's V of a noisy table. Noise and sampling of the contributors are both counted.

    Parameters
    ----------
    value : float
        V of the unbiased table, >= 0; biased upwards.
    corrected : float
        V after the expected noise is subtracted from V^2; 0 where nothing is left.
    null_level : float
        What `value` is of independent attributes: the root of the expected V^2.
    squared : float
        V^2 after the subtraction, not clipped: nearly unbiased, perhaps negative.
    squared_standard_error : float
        Standard error of `squared`: delta method to second order, with the residuals' covariance at independence.
    z : float
        `squared` over its standard deviation at independence; above about 3, dependence is visible.
    null_standard_error : float
        That standard deviation.
    """

    value: float
    corrected: float
    null_level: float
    squared: float
    squared_standard_error: float
    z: float
    null_standard_error: float

    def bounds(self, tail: float) -> tuple[float, float]:
        """Return (lower, upper) bounds of V in [0, 1], either failing with probability about `tail`.

        The union of two intervals. One takes the square of `value` for a scaled noncentral chi-squared variable with
        the mean and the variance that it has at independence: its lower end is 0 where that would not be surprising.
        The other is V^2 plus or minus standard errors, for dependence that is strong. Of 1,000 tables each, 2 x 2 and
        3 x 4, independent to V = .95, from which the test of independence is not refused, 95% intervals held in .933
        or more; the first one alone in .73 where a margin is rare, and in .92 where V = .95.
        """
        half = NormalDist().inv_cdf(1 - tail) * self.squared_standard_error
        mean, spread = self.null_level**2, self.null_standard_error**2
        scale, degrees = spread / (2 * mean), 2 * mean**2 / spread
        seen = self.value**2 / scale
        lower, upper = (scale * _noncentrality(seen, degrees, level) for level in (1 - tail, tail))
        ends = max(min(lower, self.squared - half), 0.0), max(upper, self.squared + half, 0.0)
        return min(math.sqrt(ends[0]), 1.0), min(math.sqrt(ends[1]), 1.0)


def sampled_cramers_v(table: OwnTable) -> CramersV:
    """Analyst: Cramer's V of a pair's own raw table of any mechanism that has tables; as `cramers_v`.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.records.pair_sample import PairSample
    >>> pairs = PairSample(sizes=(2, 2), epsilon=2.0)
    >>> held = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> aggregate = pairs.simulate_aggregate(held, [4500, 500, 500, 4500], SimulationRandomness(3))
    >>> round(sampled_cramers_v(pairs.tables(aggregate)[0, 1]).corrected, 2)
    0.79
    """
    rows, columns = table.frequencies.sum(axis=1), table.frequencies.sum(axis=0)
    variances = []
    for axis, size in enumerate(table.shape):
        sums = np.eye(size)[:, :, None] if axis == 0 else np.eye(size)[:, None, :]
        variances.append(table.variances(np.broadcast_to(sums, (size, *table.shape)), "population"))
    residual = table.frequencies - np.outer(rows, columns)
    return cramers_v_of(residual, (rows, columns), variances, table.residual_covariance())


def cramers_v_of(
    residual: Floats, margins: tuple[Floats, Floats], variances: Sequence[Floats], terms: Sequence[KroneckerTerm]
) -> CramersV:
    """Return V from the residual, the margins with their variances, and the residual's covariance at independence."""
    degrees = min(residual.shape) - 1
    w, u = (1 / np.maximum(nearest_distribution(f), np.sqrt(v)) for f, v in zip(margins, variances, strict=True))
    phi2 = float((residual**2 * np.outer(w, u)).sum())
    scaled = [(w[:, None] * term.rows, u[:, None] * term.columns) for term in terms]
    mean = sum(float(np.trace(a) * np.trace(b)) for a, b in scaled)
    spread = 2 * sum(float(np.trace(a @ c) * np.trace(b @ d)) for a, b in scaled for c, d in scaled)
    slope = residual * np.outer(w, u)
    # The residuals' own noise adds 2 spread to this on average.
    along = sum(float(np.trace(slope.T @ term.rows @ slope @ term.columns)) for term in terms)
    error = math.sqrt(spread + max(4 * along - 2 * spread, 0.0))
    squared = (phi2 - mean) / degrees
    return CramersV(
        math.sqrt(phi2 / degrees),
        math.sqrt(max(squared, 0.0)),
        math.sqrt(mean / degrees),
        squared,
        error / degrees,
        (phi2 - mean) / math.sqrt(spread),
        math.sqrt(spread) / degrees,
    )


def _noncentrality(seen: float, degrees: float, level: float) -> float:
    """Return the noncentrality of a chi-squared variable that is at most `seen` with probability `level`; or 0."""
    if stats.chi2.cdf(seen, degrees) <= level:
        return 0.0
    most = 4 * seen + 100
    return float(optimize.brentq(lambda one: stats.ncx2.cdf(seen, degrees, one) - level, 1e-9, most))
