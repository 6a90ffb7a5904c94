"""Leakage under a joint distribution that is itself uncertain: counted from few records, or estimated from reports.

A leakage is a maximum over cells, so noise in small cells pushes it up, and a cell that happens to be empty can push it
to its limit. One number then says little. These functions draw many joints that the data would have allowed, and report
where the figure lies over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.estimate import Estimate
from deniable.core.projection import nearest_distribution
from deniable.core.randomness import SimulationRandomness
from deniable.errors import InvalidInputError, NoIntervalError, TooLargeError, out_of_range
from deniable.leakage.prior.distributions import Floats, marginals
from deniable.leakage.prior.empirical_prior import SMALL_CELL

MAX_RANGE_CELLS = 1 << 20
"""Largest table that plausible joints are drawn for."""

_ATTEMPTS = 100

ESTIMATED_WARNING = (
    "the joint distribution is an estimate: figures are relative to it, and guarantee nothing against an adversary who "
    "knows the true one"
)


@dataclass(frozen=True, eq=False)
class LeakageRange:
    """A leakage figure over plausible joint distributions.

    It is a statement about what the data leave open, not a confidence interval with proved coverage.

    Parameters
    ----------
    point : float64 scalar or array
        The figure at the one joint that the data suggest.
    low, median, high : same shape
        Quantiles of the figure over the drawn joints: (1 - level)/2, 1/2, (1 + level)/2.
    level : float
        Share of the drawn joints between low and high.
    draws : int
        Number of drawn joints.
    small_cells : int
        Cells of the table that hold fewer than 5 records, or less than two standard errors.
    method : str
        What was drawn.
    warning : str
        Why none of this is a guarantee.
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
    """Range of a figure over joints from the Dirichlet posterior of a contingency table.

    Parameters
    ----------
    counts : int[k_1, ..., k_d]
        Contingency table of n records drawn from a population.
    figure : callable
        From a joint distribution, float64 of the same shape, to a leakage or an array of leakages.
    rng : SimulationRandomness
        Source of the draws.
    level : float
        Share of the draws between the reported bounds, in (0, 1).
    draws : int
        Number of joints, >= 20.
    pseudo_count : float
        Records added to every cell in advance (1/2: Jeffreys); keep its sum over the cells well below n.

    Raises
    ------
    InvalidInputError
        If the table holds no records or a negative count.
    TooLargeError
        If it has more than MAX_RANGE_CELLS cells.

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
    if not np.issubdtype(table.dtype, np.integer) or table.ndim == 0 or table.size == 0 or table.min() < 0:
        raise InvalidInputError(
            f"counts must be a table of integers >= 0, got dtype={table.dtype}, shape={table.shape}"
        )
    n = int(table.sum())
    if n == 0:
        raise InvalidInputError("counts must hold records, got a sum of 0")
    if not pseudo_count > 0:
        raise out_of_range("pseudo_count", "> 0", pseudo_count)
    _check_cells(table.size)
    weights = table.ravel() + pseudo_count
    method = f"the Dirichlet posterior of {n} records with {pseudo_count:g} added to each of {table.size} cells"

    def drawn() -> Floats:
        return rng.generator.dirichlet(weights).reshape(table.shape)

    return _range(figure, table / n, drawn, level, draws, int((table < SMALL_CELL).sum()), method)


def range_from_estimate(
    estimate: Estimate,
    shape: Sequence[int],
    figure: Callable[[Floats], ArrayLike],
    rng: SimulationRandomness,
    *,
    level: float = 0.9,
    draws: int = 400,
) -> LeakageRange:
    """Range of a figure over joints around an estimate that came from randomised reports.

    Every draw adds independent normal noise with the estimate's own standard errors to the raw frequencies and projects
    onto the probability simplex; the point is the projection of the estimate itself. Draws in which a category vanishes
    altogether say nothing about it and are drawn again.

    Parameters
    ----------
    estimate : Estimate
        Raw estimate of the cells of a joint table, last attribute fastest; for instance of a product domain.
    shape : sequence of int
        Domain sizes (k_1, ..., k_d); their product is the estimate's k.
    figure, rng, level, draws
        As for `range_from_counts`.

    Raises
    ------
    InvalidInputError
        If the shape does not fit, or a category vanishes in most draws: merge it with another.
    NoIntervalError
        If the estimate was post-processed, so that it has no standard errors, or comes from no reports.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR, SimulationRandomness
    >>> from deniable.leakage.prior.correlation import mechanism_cpl
    >>> from deniable.leakage.prior.distributions import conditional_from_joint
    >>> pairs, rng = GRR(k=4, epsilon=2.0), SimulationRandomness(1)  # two binary attributes reported as one
    >>> codes = rng.generator.choice(4, size=20_000, p=[0.4, 0.1, 0.1, 0.4])
    >>> estimate = pairs.estimate(pairs.aggregate(pairs.randomize(codes, rng)))
    >>> later = GRR(k=2, epsilon=1.0)
    >>> found = range_from_estimate(
    ...     estimate, (2, 2), lambda joint: mechanism_cpl(later, conditional_from_joint(joint)).epsilon, rng
    ... )
    >>> bool(found.low < 0.5694 < found.high)  # the figure under the true joint
    True
    """
    joint = joint_from_estimate(estimate, shape)
    if not estimate.is_raw or estimate.n == 0:
        raise NoIntervalError("the range needs a raw estimate with standard errors; use estimate.raw")
    errors = estimate.standard_errors_for("population")

    def drawn() -> Floats:
        for _ in range(_ATTEMPTS):
            noisy = estimate.frequencies + rng.generator.normal(size=estimate.k) * errors
            candidate = nearest_distribution(noisy).reshape(joint.shape)
            if all(mass.min() > 0 for mass in marginals(candidate)):
                return candidate
        raise InvalidInputError(
            f"every category must remain in one of {_ATTEMPTS} draws around the estimate: merge rare categories"
        )

    method = f"independent normal errors of an estimate from {estimate.n} reports"
    return _range(figure, joint, drawn, level, draws, int((estimate.frequencies < 2 * errors).sum()), method)


def joint_from_estimate(estimate: Estimate, shape: Sequence[int]) -> Floats:
    """Return the joint distribution nearest to an estimate of its cells, float64 of the given shape.

    Negative frequencies become zero, and an empty cell can make a leakage look larger than it is: see
    `range_from_estimate`.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR
    >>> grr = GRR(k=4, epsilon=3.0)
    >>> estimate = grr.estimate(grr.aggregate(np.repeat([0, 1, 2, 3], [40, 15, 5, 40])))
    >>> joint_from_estimate(estimate, (2, 2)).round(3)
    array([[0.431, 0.129],
           [0.008, 0.431]])
    """
    sizes = tuple(checked_integer(f"shape[{j}]", size, 1) for j, size in enumerate(shape))
    if prod(sizes) != estimate.k:
        raise InvalidInputError(f"shape must have {estimate.k} cells like the estimate, got shape={sizes}")
    _check_cells(estimate.k)
    return nearest_distribution(estimate.frequencies).reshape(sizes)


def _range(
    figure: Callable[[Floats], ArrayLike],
    joint: Floats,
    drawn: Callable[[], Floats],
    level: float,
    draws: int,
    small_cells: int,
    method: str,
) -> LeakageRange:
    level = checked_probability("level", level, open_interval=True)
    draws = checked_integer("draws", draws, 20)
    values: NDArray[np.float64] = np.stack([np.asarray(figure(drawn()), dtype=np.float64) for _ in range(draws)])
    low, median, high = np.quantile(values, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0)
    point = np.asarray(figure(joint), dtype=np.float64)
    return LeakageRange(point, np.asarray(low), np.asarray(median), np.asarray(high), level, draws, small_cells, method)


def _check_cells(cells: int) -> None:
    if cells > MAX_RANGE_CELLS:
        raise TooLargeError(
            f"plausible joints must have at most {MAX_RANGE_CELLS} cells, got {cells}: use fewer attributes at a time"
        )
