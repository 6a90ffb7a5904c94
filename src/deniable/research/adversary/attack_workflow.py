"""Statistical workflow of the paper: perturb, attack, tabulate, and test whether the leakage could be chance.

Source: *The Hidden Cost of Correlation* (2025), section III-B. Every record is replicated, perturbed and attacked. The
leakage about X_i by the release of X_j is the largest log-ratio in a column of the table P(guess of X_j | X_i). Its
limit is `attack_cpl` in closed form. So the workflow is a cross-check, not a way to compute the leakage. Surrogates
permute a column. Given both margins, the tables of permuted columns have one known distribution, and they are drawn
directly from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from deniable.core.checks import Codes, checked_integer, checked_records, checked_sizes
from deniable.core.randomness import SimulationRandomness
from deniable.errors import InvalidInputError, quoted
from deniable.leakage.prior.distributions import Floats
from deniable.oracles.oracle import FrequencyOracle
from deniable.research.adversary.attacks import attack

SPARSE_CELL = 100
"""A table with a smaller cell is called sparse, because its log-ratios err by a tenth or more."""

_BLOCK_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class StatisticalLeakage:
    """Attack-based leakage estimated from simulated reports, as `statistical_cpl` returns it.

    All matrices are float64[d, d]. Entry (i, j) is the leakage about attribute i by the release of j. The diagonal is
    zero, or one for `p_values`. Each estimate is a maximum of noisy numbers and therefore biased upward, so compare it
    with `chance_levels`.

    Parameters
    ----------
    estimates : float64[d, d]
        Largest log-ratio in nats. Infinite if a guess never occurred for some value of X_i.
    standard_errors : float64[d, d]
        Standard error of this log-ratio by the delta method. It assumes that every guess is drawn again from its row of
        the table. The standard error is a little too large, because in fact the records stay the same. Infinite if the
        estimate is infinite.
    chance_levels : float64[d, d]
        95% quantile of the estimates for independent attributes (surrogates). Zero without surrogates.
    p_values : float64[d, d]
        For each pair, (1 + number of surrogates with an estimate at least as large)/(1 + number of surrogates). One
        without surrogates.
    contributors, replications, surrogates : int
        Number of contributors, number of replications, and number of surrogates in the simulation.
    warnings : tuple of str
        Facts that a reader must know, for instance which tables are sparse.
    """

    estimates: Floats
    standard_errors: Floats
    chance_levels: Floats
    p_values: Floats
    contributors: int
    replications: int
    surrogates: int
    warnings: tuple[str, ...]


def statistical_cpl(
    records: ArrayLike,
    sizes: Sequence[int],
    mechanisms: Sequence[FrequencyOracle[Any]],
    *,
    rng: SimulationRandomness,
    replications: int = 10,
    surrogates: int = 10_000,
) -> StatisticalLeakage:
    """Return estimates of attack-based CPL between all pairs of attributes by simulation, with permutation tests.

    The time for the reports grows with n d `replications`, and the time for surrogates with the number of cells of all
    tables.

    Parameters
    ----------
    records : int[n, d]
        True codes of the records. Codes in column j are in 0..sizes[j]-1.
    sizes : sequence of int
        Domain sizes.
    mechanisms : sequence of d mechanisms
        Mechanism of each attribute's release.
    rng : SimulationRandomness
        Source of random words for noise, ties and surrogates.
    replications : int
        Number of times that every record is used. More replications lower the mechanism's noise, but not the noise of
        few records.
    surrogates : int
        Number of permuted tables for each pair, or 0.

    Raises
    ------
    InvalidInputError
        If a code is out of range, there are no records, or the mechanisms do not fit the sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR, SimulationRandomness
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [4000, 1000, 1000, 4000], axis=0)
    >>> leakage = statistical_cpl(records, (2, 2), [GRR(k=2, epsilon=1.0)] * 2, rng=SimulationRandomness(1))
    >>> leakage.estimates.round(2), bool(leakage.p_values[0, 1] < 0.001)  # exactly: 0.569
    (array([[0.  , 0.56],
           [0.56, 0.  ]]), True)
    """
    domains = checked_sizes(sizes)
    codes = checked_records(records, domains)
    replications = checked_integer("replications", replications, 1)
    surrogates = checked_integer("surrogates", surrogates, 0)
    if len(codes) == 0:
        raise InvalidInputError("records must not be empty, got 0 records")
    fitting = [mechanism.k for mechanism in mechanisms]
    if fitting != list(domains):
        raise InvalidInputError(
            f"mechanisms must have the numbers of categories of the records ({quoted(list(domains))}), got "
            f"{quoted(fitting)}"
        )
    starts = np.concatenate([[0], np.cumsum(domains)])
    counts = np.zeros((starts[-1], starts[-1]), dtype=np.int64)
    guesses = np.empty(codes.shape, dtype=np.int64)
    for _ in range(replications):
        for j, mechanism in enumerate(mechanisms):
            guesses[:, j] = attack(mechanism, mechanism.randomize(codes[:, j], rng), rng)
        counts += _cross_counts(codes, guesses, starts)
    d = len(domains)
    estimates, errors, chance, p_values = (np.zeros((d, d)) for _ in range(4))
    np.fill_diagonal(p_values, 1.0)
    sparse = []
    for i in range(d):
        for j in [j for j in range(d) if j != i]:
            table = counts[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
            table = table[table.sum(axis=1) > 0]  # no share is conditional on a value that nobody holds
            estimates[i, j], errors[i, j] = _worst_log_ratio(table)
            chance[i, j], p_values[i, j] = _significance(table, estimates[i, j], surrogates, rng)
            if table.min() < SPARSE_CELL:
                sparse.append((int(table.min()), i, j))
    warnings = _sparse_warning(sparse, d) if sparse else ()
    return StatisticalLeakage(estimates, errors, chance, p_values, len(codes), replications, surrogates, warnings)


def _cross_counts(codes: Codes, guesses: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[K, K], which counts how often each category meets each guess.

    The categories and the guesses are those of all attributes.
    """
    total = int(starts[-1])
    counts = np.zeros((total, total), dtype=np.int64)
    step = max(1, min(1 << 20, _BLOCK_CELLS // total))  # float32 counts to 2^24 exactly
    for begin in range(0, len(codes), step):
        pair = []
        for values in (codes[begin : begin + step], guesses[begin : begin + step]):
            one_hot = np.zeros((len(values), total), dtype=np.float32)
            np.put_along_axis(one_hot, values.astype(np.int64) + starts[:-1], 1.0, axis=1)
            pair.append(one_hot)
        counts += (pair[0].T @ pair[1]).astype(np.int64)
    return counts


def _log_ratios(tables: NDArray[np.int64]) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Return ln(column maximum/minimum) of the row-normalised tables [..., rows, columns], and their places."""
    rows = tables / tables.sum(axis=-1, keepdims=True)
    high, low = rows.argmax(axis=-2), rows.argmin(axis=-2)
    top, bottom = rows.max(axis=-2), rows.min(axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Floats = np.where(top > 0, np.log(top / bottom), 0.0)
    return ratios, high, low


def _worst_log_ratio(table: NDArray[np.int64]) -> tuple[float, float]:
    """Return the largest log-ratio and its standard error by the delta method."""
    if len(table) < 2:
        return 0.0, 0.0
    ratios, high, low = _log_ratios(table)
    column = int(ratios.argmax())
    sides = (int(high[column]), int(low[column]))
    with np.errstate(divide="ignore"):
        variance = sum(1 / np.float64(table[row, column]) - 1 / np.float64(table[row].sum()) for row in sides)
    return float(ratios[column]), float(np.sqrt(variance))


def _significance(
    table: NDArray[np.int64], observed: float, surrogates: int, rng: SimulationRandomness
) -> tuple[float, float]:
    """Return the 95% quantile of the surrogates' largest log-ratios, and the p-value of the observed log-ratio."""
    if surrogates == 0 or len(table) < 2:
        return 0.0, 1.0
    law = stats.random_table(table.sum(axis=1), table.sum(axis=0))
    drawn = np.empty(surrogates)
    step = max(1, _BLOCK_CELLS // table.size)
    for begin in range(0, surrogates, step):
        size = min(step, surrogates - begin)
        tables = law.rvs(size=size, random_state=rng.generator).astype(np.int64)
        drawn[begin : begin + size] = _log_ratios(tables)[0].max(axis=-1)
    # "higher" does not interpolate, because a neighbour may be infinite.
    return float(np.quantile(drawn, 0.95, method="higher")), float((1 + (drawn >= observed).sum()) / (1 + surrogates))


def _sparse_warning(sparse: list[tuple[int, int, int]], d: int) -> tuple[str, ...]:
    worst = ", ".join(f"{i} <- {j} ({cell})" for cell, i, j in sorted(sparse)[:5])
    more = ", ..." if len(sparse) > 5 else ""
    return (
        f"{len(sparse)} of {d * (d - 1)} tables have a cell below {SPARSE_CELL}, where the largest log-ratio is biased "
        f"upward; smallest cells: {worst}{more}. Compare with the chance levels, or compute attack_cpl exactly",
    )
