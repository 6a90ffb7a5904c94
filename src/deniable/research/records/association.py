"""Association of two attributes from their pair table: Cramer's V and Pearson's correlation.

*Pearson's r on codes* is for attributes whose codes are ordered. It uses the covariance and the variances of the
unbiased table. Its standard error is computed by the delta method over the reports.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.checks import Floats
from deniable.errors import InvalidParameterError
from deniable.records.dependence.association import CramersV, cramers_v_of
from deniable.records.joint import KroneckerTerm
from deniable.records.split_tables import inverse, report_covariance
from deniable.research.records.joint_tables import PairTable, PairTables


class Correlation(NamedTuple):
    """Pearson's correlation of two attributes' scores.

    Parameters
    ----------
    value : float
        Correlation, not clipped to [-1, 1]. It is NaN if an estimated variance is not positive.
    standard_error : float
        Standard error from noise and sampling, by the delta method with the reports' own distribution plugged in.
    """

    value: float
    standard_error: float


def cramers_v(table: PairTable) -> CramersV:
    """Analyst: return Cramer's V of two attributes, raw and corrected for noise.

    Parameters
    ----------
    table : PairTable
        Raw table from `pair_tables`.

    Raises
    ------
    InvalidParameterError
        If the table was projected, because the effect of its noise is then not known.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.records.joint_tables import pair_tables
    >>> from deniable.records.split import SPLPairs
    >>> pairs = SPLPairs(sizes=(2, 2), epsilon=2.0)
    >>> held = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> table = pair_tables(pairs.simulate_aggregate(held, [2500] * 4, SimulationRandomness(3)))[0, 1]
    >>> v = cramers_v(table)
    >>> round(v.value, 3), round(v.null_level, 3), round(v.corrected, 3), abs(v.z) < 3
    (0.005, 0.047, 0.0, True)
    """
    rows, columns, residual = residual_of(table)
    first, second = (report_covariance(oracle, f) for oracle, f in zip(table.oracles, (rows, columns), strict=True))
    variances = [np.diag(one) / table.n for one in (first, second)]
    return cramers_v_of(residual, (rows, columns), variances, [KroneckerTerm(first / table.n, second)])


def pearson(table: PairTable, scores: Sequence[ArrayLike] | None = None) -> Correlation:
    """Analyst: return Pearson's correlation of two attributes' codes, or of given scores.

    Parameters
    ----------
    table : PairTable
        Raw table from `pair_tables`.
    scores : (float[k_i], float[k_j]), optional
        Numbers for the codes. The default is 0, 1, 2, ...

    Raises
    ------
    InvalidParameterError
        If the table was projected, or the scores do not fit.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.records.joint_tables import pair_tables
    >>> from deniable.records.split import SPLPairs
    >>> pairs = SPLPairs(sizes=(3, 3), epsilon=4.0)
    >>> held, counts = [[0, 0], [1, 1], [2, 2], [0, 2], [2, 0]], [3000, 3000, 3000, 500, 500]
    >>> table = pair_tables(pairs.simulate_aggregate(held, counts, SimulationRandomness(3)))[0, 1]
    >>> [round(number, 3) for number in pearson(table)]
    [0.722, 0.021]
    """
    residual_of(table)
    given = [np.arange(k) for k in table.shape] if scores is None else scores
    numbers = [np.asarray(one, dtype=np.float64) for one in given]
    if len(numbers) != 2 or any(one.shape != (k,) for one, k in zip(numbers, table.shape, strict=False)):
        raise InvalidParameterError(
            f"scores must be two lists, with {table.shape[0]} numbers for the first attribute and {table.shape[1]} "
            "numbers for the second attribute"
        )
    # These are unbiased estimates of scores and squared scores from one report of each code.
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
    """Analyst: return the corrected Cramer's V of every pair of attributes, float64[d, d], with ones on the diagonal.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.records import SPLPairs
    >>> from deniable.research.records import pair_tables
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


def residual_of(table: PairTable) -> tuple[Floats, Floats, Floats]:
    """Return the margins of a raw table, and the table's difference from independence."""
    if not table.cells.is_raw:
        raise InvalidParameterError(
            f"table must be raw (not post-processed), got a table that was processed by "
            f"{', '.join(table.cells.processing)}"
        )
    rows, columns = table.margins
    return rows, columns, table.frequencies - np.outer(rows, columns)
