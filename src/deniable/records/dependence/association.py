"""Strength of the dependence of two attributes, from noisy pair tables, with the noise stated.

*Cramer's V*. phi^2 = sum D(a, b)^2/(w_a w_b) with D = T^ - r c' the residual from independence, r and c the margins of
T^, and w the projected margin, at least its own standard error (a value rarer than that has no scale of its own).
V = sqrt(phi^2/(min(k_i, k_j) - 1)).

A sum of squares of noisy residuals is biased upwards. At independence the residuals have the covariance C_i x C_j / n,
with C the covariance of one report's unbiased estimate of an attribute, so that (W = diag(1/w))

    E phi^2 = tr(W_i C_i) tr(W_j C_j)/n,        Var phi^2 = 2 tr((W_i C_i)^2) tr((W_j C_j)^2)/n^2,

up to terms of relative order 1/n. The first is subtracted in `corrected`. Without noise it is (k_i - 1)(k_j - 1)/n, the
mean of Pearson's chi-squared over n.

*Pearson's r on codes*, for attributes whose codes are ordered: covariance and variances of the unbiased table, standard
error by the delta method over the reports.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from deniable.core.checks import Floats
from deniable.core.projection import nearest_distribution
from deniable.errors import InvalidParameterError
from deniable.records.dependence.pair_tables import PairTable, PairTables
from deniable.records.joint import KroneckerTerm, OwnTable
from deniable.records.split_tables import inverse, report_covariance


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


class Correlation(NamedTuple):
    """Pearson's correlation of two attributes' scores.

    Parameters
    ----------
    value : float
        Not clipped to [-1, 1]; NaN where an estimated variance is not positive.
    standard_error : float
        Noise and sampling: delta method, the reports' own distribution plugged in.
    """

    value: float
    standard_error: float


def cramers_v(table: PairTable) -> CramersV:
    """Analyst: Cramer's V of two attributes, raw and corrected for noise.

    Parameters
    ----------
    table : PairTable
        Raw, from `pair_tables`.

    Raises
    ------
    InvalidParameterError
        If the table was projected: how much its noise adds is not known.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.records.dependence.pair_tables import pair_tables
    >>> from deniable.records.split import SPLPairs
    >>> pairs = SPLPairs(sizes=(2, 2), epsilon=2.0)
    >>> held = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> table = pair_tables(pairs.simulate_aggregate(held, [2500] * 4, SimulationRandomness(3)))[0, 1]
    >>> v = cramers_v(table)
    >>> round(v.value, 3), round(v.null_level, 3), round(v.corrected, 3), abs(v.z) < 3
    (0.005, 0.047, 0.0, True)
    """
    rows, columns, residual = _residual(table)
    first, second = (report_covariance(oracle, f) for oracle, f in zip(table.oracles, (rows, columns), strict=True))
    variances = [np.diag(one) / table.n for one in (first, second)]
    return _cramers_v(residual, (rows, columns), variances, [KroneckerTerm(first / table.n, second)])


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
    return _cramers_v(residual, (rows, columns), variances, table.residual_covariance())


def _cramers_v(
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


def pearson(table: PairTable, scores: Sequence[ArrayLike] | None = None) -> Correlation:
    """Analyst: Pearson's correlation of two attributes' codes, or of the scores given for them.

    Parameters
    ----------
    table : PairTable
        Raw, from `pair_tables`.
    scores : (float[k_i], float[k_j]), optional
        The numbers that the codes stand for; 0, 1, 2, ... if not given.

    Raises
    ------
    InvalidParameterError
        If the table was projected, or the scores do not fit.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.records.dependence.pair_tables import pair_tables
    >>> from deniable.records.split import SPLPairs
    >>> pairs = SPLPairs(sizes=(3, 3), epsilon=4.0)
    >>> held, counts = [[0, 0], [1, 1], [2, 2], [0, 2], [2, 0]], [3000, 3000, 3000, 500, 500]
    >>> table = pair_tables(pairs.simulate_aggregate(held, counts, SimulationRandomness(3)))[0, 1]
    >>> [round(number, 3) for number in pearson(table)]
    [0.722, 0.021]
    """
    _residual(table)
    given = [np.arange(k) for k in table.shape] if scores is None else scores
    numbers = [np.asarray(one, dtype=np.float64) for one in given]
    if len(numbers) != 2 or any(one.shape != (k,) for one, k in zip(numbers, table.shape, strict=False)):
        raise InvalidParameterError(
            f"scores must be two lists with one number for each category: {table.shape[0]} numbers, then "
            f"{table.shape[1]}"
        )
    # Unbiased estimates of scores and squared scores from one report of each code.
    (x, x2), (y, y2) = (
        ((one - one.mean()) @ inverse(oracle), (one - one.mean()) ** 2 @ inverse(oracle))
        for one, oracle in zip(numbers, table.oracles, strict=True)
    )
    law = table.reported / table.n
    rows, columns = law.sum(axis=1), law.sum(axis=0)
    mx, my = float(rows @ x), float(columns @ y)
    vx, vy = float(rows @ x2) - mx**2, float(columns @ y2) - my**2
    if vx <= 0 or vy <= 0:
        return Correlation(math.nan, math.inf)
    scale = math.sqrt(vx * vy)
    value = (float(x @ law @ y) - mx * my) / scale
    influence = (np.outer(x, y) - my * x[:, None] - mx * y[None, :]) / scale
    influence -= value / 2 * ((x2 - 2 * mx * x)[:, None] / vx + (y2 - 2 * my * y)[None, :] / vy)
    mean = float((law * influence).sum())
    return Correlation(value, math.sqrt(float((law * (influence - mean) ** 2).sum()) / table.n))


def dependence_matrix(tables: PairTables) -> Floats:
    """Analyst: corrected Cramer's V of every pair of attributes, float64[d, d], symmetric, one on the diagonal.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.records import SPLPairs, pair_tables
    >>> pairs, held = SPLPairs(sizes=(2, 2), epsilon=4.0), [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> tables = pair_tables(pairs.simulate_aggregate(held, [400, 100, 100, 400], SimulationRandomness(1)))
    >>> dependence_matrix(tables).round(1)
    array([[1. , 0.6],
           [0.6, 1. ]])
    """
    result = np.eye(len(tables.sizes))
    for (i, j), table in tables.items():
        result[i, j] = result[j, i] = cramers_v(table).corrected
    return result


def _residual(table: PairTable) -> tuple[Floats, Floats, Floats]:
    if not table.cells.is_raw:
        raise InvalidParameterError(
            f"table must be raw (not post-processed), got one after {', '.join(table.cells.processing)}"
        )
    rows, columns = table.margins
    return rows, columns, table.frequencies - np.outer(rows, columns)
