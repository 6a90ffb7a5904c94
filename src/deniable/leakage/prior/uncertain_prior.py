"""Leakage under an uncertain joint distribution, which was counted from few records or estimated from reports.

A leakage is a maximum over cells. Noise in small cells increases it, and a cell that is empty by chance can increase it
to its limit. One number then says little. These functions draw many joint distributions that are compatible with the
data, and report the range of the figure over them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.randomness import SimulationRandomness
from deniable.errors import InvalidInputError, TooLargeError, out_of_range
from deniable.leakage.prior.distributions import Floats
from deniable.leakage.prior.empirical_prior import SMALL_CELL

MAX_RANGE_CELLS = 1 << 20
"""Largest table for which plausible joint distributions are drawn."""

ESTIMATED_WARNING = (
    "the joint distribution is an estimate; figures are for this distribution, and guarantee nothing against an "
    "adversary who knows the true distribution"
)


@dataclass(frozen=True, eq=False)
class LeakageRange:
    """Range of a leakage figure over plausible joint distributions.

    The range shows which values of the figure are plausible, given the data. It is not a confidence interval with
    proved coverage.

    Parameters
    ----------
    point : float64 scalar or array
        The figure for the joint distribution that the data suggest.
    low, median, high : same shape
        Quantiles of the figure over the drawn joint distributions, at (1 - level)/2, 1/2 and (1 + level)/2.
    level : float
        Share of the drawn joint distributions between `low` and `high`.
    draws : int
        Number of drawn joint distributions.
    small_cells : int
        Number of cells of the table with fewer than 5 records, or with less than two standard errors.
    method : str
        Description of how the joint distributions were drawn.
    warning : str
        Reason why the range is not a guarantee.
    """

    point: Floats
    low: Floats
    median: Floats
    high: Floats
    level: float
    draws: int
    small_cells: int
    method: str
    warning: str = ESTIMATED_WARNING

    def __str__(self) -> str:
        one = self.point.ndim == 0
        values = [
            f"{float(value if one else value.max()):.4f}" for value in (self.point, self.low, self.median, self.high)
        ]
        point, low, median, high = values
        largest = "" if one else f" (largest of {self.point.size})"
        return (
            f"{point}{largest}; {low} to {high}, median {median}, for {self.level:.0%} of {self.draws} joints from "
            f"{self.method}; {self.small_cells} small cells; {self.warning}"
        )


def range_from_counts(
    counts: ArrayLike,
    figure: Callable[[Floats], ArrayLike],
    rng: SimulationRandomness,
    *,
    level: float = 0.9,
    draws: int = 400,
    pseudo_count: float = 0.5,
) -> LeakageRange:
    """Return the range of a figure over joint distributions from the Dirichlet posterior of a contingency table.

    Parameters
    ----------
    counts : int[k_1, ..., k_d]
        Contingency table of n records drawn from a population.
    figure : callable
        Function of a joint distribution, float64 of the same shape, that returns a leakage or an array of leakages.
    rng : SimulationRandomness
        Source of the draws.
    level : float
        Share of the draws between the bounds, in (0, 1).
    draws : int
        Number of joint distributions to draw, >= 20.
    pseudo_count : float
        Number of records to add to every cell in advance (1/2 is Jeffreys' prior). Its sum over the cells should be
        well below n.

    Raises
    ------
    InvalidInputError
        If the table holds no records or a negative count.
    TooLargeError
        If the table has more than MAX_RANGE_CELLS cells.

    Examples
    --------
    Ten records, one of them in a telling cell:

    >>> from deniable import SimulationRandomness
    >>> from deniable.leakage.prior.correlation import worst_case_cpl
    >>> from deniable.leakage.prior.distributions import conditional_from_joint
    >>> found = range_from_counts(
    ...     [[5, 0], [4, 1]],
    ...     lambda joint: worst_case_cpl(conditional_from_joint(joint), 1.0).epsilon,
    ...     SimulationRandomness(1),
    ... )
    >>> bool(found.low < found.point < found.high), found.small_cells
    (True, 3)
    """
    table = np.asarray(counts)
    if not np.issubdtype(table.dtype, np.integer) or table.ndim == 0 or table.size == 0:
        raise InvalidInputError(f"counts must be a table of integers, got dtype={table.dtype}, shape={table.shape}")
    if table.min() < 0:
        raise InvalidInputError("counts must be >= 0, but a count is negative")
    n = int(table.sum())
    if n == 0:
        raise InvalidInputError("counts must include at least one record, got a sum of 0")
    if not pseudo_count > 0:
        raise out_of_range("pseudo_count", "> 0", pseudo_count)
    check_cells(table.size)
    weights = table.ravel() + pseudo_count
    method = f"the Dirichlet posterior of {n} records with {pseudo_count:g} added to each of {table.size} cells"

    def drawn() -> Floats:
        return rng.generator.dirichlet(weights).reshape(table.shape)

    return plausible_range(figure, table / n, drawn, level, draws, int((table < SMALL_CELL).sum()), method)


def plausible_range(
    figure: Callable[[Floats], ArrayLike],
    joint: Floats,
    drawn: Callable[[], Floats],
    level: float,
    draws: int,
    small_cells: int,
    method: str,
) -> LeakageRange:
    """Return the range of a figure over joints that are drawn one after another."""
    level = checked_probability("level", level, open_interval=True)
    draws = checked_integer("draws", draws, 20)
    values: NDArray[np.float64] = np.stack([np.asarray(figure(drawn()), dtype=np.float64) for _ in range(draws)])
    low, median, high = np.quantile(values, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0)
    point = np.asarray(figure(joint), dtype=np.float64)
    return LeakageRange(point, np.asarray(low), np.asarray(median), np.asarray(high), level, draws, small_cells, method)


def check_cells(cells: int) -> None:
    """Raise TooLargeError if a table is too large to draw plausible joints for."""
    if cells > MAX_RANGE_CELLS:
        raise TooLargeError(
            f"plausible joint tables must have at most {MAX_RANGE_CELLS} cells, got {cells}: use fewer attributes at "
            "a time"
        )
