"""Expected standard errors of regression coefficients, and the number of people needed, for each mechanism.

All figures are computed before anybody is asked. The information of one report about a multinomial logit is x x' (x) D
J D. Here pi are the shares at x, D = diag(pi) - pi pi', and J = sum over reports y of P(y|.) P(y|.)' / P(y). The
information is averaged over the covariates of a design.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer
from deniable.core.mechanism import Mechanism
from deniable.core.randomness import SimulationRandomness
from deniable.core.result import Result
from deniable.errors import InvalidParameterError, NotIdentifiedError, out_of_range

Floats = NDArray[np.float64]

SIMULATED = 20_000
"""Number of simulated reports that represent all reports if these cannot be listed."""

_NODES = 15


class Design(NamedTuple):
    """The design of a planned regression: possible rows of its columns, and the probability of each row.

    Attributes
    ----------
    rows : float64[r, p]
        Values of the columns, with the intercept.
    weights : float64[r]
        Probabilities of the rows, which sum to one.
    said : str
        Description of the design in words. It is shown with every planned number.
    """

    rows: Floats
    weights: Floats
    said: str


def usual_design(normal: int = 1, coins: int = 1) -> Design:
    """Return a regression design with an intercept, independent standard normal columns, and fair 0/1 columns.

    Averages over normal columns use Gauss-Hermite quadrature, so the result is exact to many digits.

    Examples
    --------
    >>> usual_design().rows.shape
    (30, 3)
    """
    points, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    parts = [(points, weights / weights.sum())] * checked_integer("normal", normal, 0, 3)
    parts += [(np.array([0.0, 1.0]), np.array([0.5, 0.5]))] * checked_integer("coins", coins, 0, 6)
    grids = np.meshgrid(*(values for values, _ in parts), indexing="ij")
    chances = np.meshgrid(*(own for _, own in parts), indexing="ij")
    columns = [np.ones(grids[0].size if grids else 1), *(grid.ravel() for grid in grids)]
    product = np.prod([own.ravel() for own in chances], axis=0) if chances else np.ones(1)
    said = f"an intercept, {normal} standard normal and {coins} fair 0/1 columns, independent"
    return Design(np.column_stack(columns), product, said)


def coefficient_error(
    mechanism: Mechanism[Any], n: int, params: ArrayLike, design: Design | None = None, attribute: int = 0
) -> Floats:
    """Return the expected standard errors of the coefficients of a logit model of a randomised answer.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism for codes, or for records with a likelihood.
    n : int
        Number of contributors. If each reports only one of d attributes, about n/d report the outcome.
    params : float64[p] or float64[k - 1, p]
        Assumed coefficients of every category except the first.
    design : Design, optional
        Design of the columns. The default is `usual_design`.
    attribute : int
        For records: index of the outcome.

    Returns
    -------
    float64[k - 1, p]

    Raises
    ------
    NotIdentifiedError
        If reports of the mechanism have no likelihood.
    InvalidParameterError
        If the coefficients do not fit the design.

    Examples
    --------
    >>> from deniable import GRR
    >>> errors = coefficient_error(GRR(k=2, epsilon=1.0), 4187, [-1.5, 0.5, 0.5])
    >>> float(errors[0, 1].round(3))
    0.1
    """
    people = checked_integer("n", n, 1)
    found = usual_design() if design is None else design
    k, p = mechanism.domain[attribute], found.rows.shape[1]
    beta = np.asarray(params, dtype=np.float64)
    if beta.size != (k - 1) * p:
        raise InvalidParameterError(
            f"params must have {(k - 1) * p} coefficients, got {beta.size}: give {p} for each category after the "
            f"first. The coefficients belong to these columns: {found.said}"
        )
    beta = beta.reshape(k - 1, p)
    eta = np.concatenate([np.zeros((len(found.rows), 1)), found.rows @ beta.T], axis=1)
    shares = np.exp(eta - eta.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    reports, asked = _reports(mechanism, attribute, shares.T @ found.weights)
    size = (k - 1) * p
    information = np.zeros((size, size))
    for x, weight, pi in zip(found.rows, found.weights, shares, strict=True):
        chance = reports @ pi
        told = (reports / np.maximum(chance, 1e-300)[:, None]).T @ reports
        spread = np.diag(pi) - np.outer(pi, pi)
        local = (spread @ told @ spread)[1:, 1:]
        information += weight * np.kron(local, np.outer(x, x))
    return np.sqrt(np.diag(np.linalg.inv(information)) / (people * asked)).reshape(k - 1, p)


def _reports(mechanism: Mechanism[Any], attribute: int, shares: Floats) -> tuple[Floats, float]:
    """Return P(report | code) of all reports, float64[reports, k], and the share of contributors who are asked."""
    listed = mechanism.listed_likelihood([attribute])
    asked = 1.0
    if listed is None or mechanism.records:
        client: Any = mechanism
        rng = np.random.default_rng(1)
        codes = [rng.integers(0, size, SIMULATED) for size in mechanism.domain]
        codes[attribute] = rng.choice(mechanism.domain[attribute], SIMULATED, p=shares)
        inputs = np.column_stack(codes) if mechanism.records else codes[0]
        told = mechanism.likelihood(client.randomize(inputs, SimulationRandomness(1)), [attribute])
        asked = float(told.asked.mean())
        if listed is None:
            # These are importance weights: the mean over reports of f/P(y) is the sum over all reports of f.
            relative = told.relative[told.asked]
            return relative / (relative @ shares)[:, None] / len(relative), asked
    return listed.probabilities, asked


def people_needed(
    mechanism: Mechanism[Any],
    error: float,
    params: ArrayLike,
    column: int = 1,
    design: Design | None = None,
    attribute: int = 0,
) -> int:
    """Return the number of contributors needed for a wanted standard error of one column's coefficients.

    Examples
    --------
    >>> from deniable import GRR
    >>> people_needed(GRR(k=2, epsilon=1.0), 0.1, [-1.5, 0.5, 0.5])
    4187
    """
    if not error > 0:
        raise out_of_range("error", "> 0", error)
    one = coefficient_error(mechanism, 1, params, design, attribute)[:, column]
    return math.ceil(float(one.max() / error) ** 2)


@dataclass(frozen=True, eq=False)
class CoefficientRow(Result):
    """Number of people needed for a coefficient with one mechanism, and expected standard error.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism.
    contributors_needed : int or None
        Number of contributors needed for the wanted standard error. None if reports of the mechanism have no
        likelihood.
    standard_error : float or None
        Standard error with the planned number of contributors, if this is given.
    note : str
        Reason why there are no numbers.
    """

    mechanism: str
    contributors_needed: int | None
    standard_error: float | None
    note: str


@dataclass(frozen=True, eq=False)
class CoefficientPlan(Result):
    """Number of people needed to estimate a coefficient.

    Parameters
    ----------
    name : str
        Name of the column.
    error : float
        Wanted standard error.
    contributors : int or None
        Planned number of contributors.
    design : str
        Description of the assumed columns.
    rows : tuple of CoefficientRow
        One row for each mechanism.
    """

    name: str
    error: float
    contributors: int | None
    design: str
    rows: tuple[CoefficientRow, ...]


def plan_coefficient(
    mechanisms: Sequence[Mechanism[Any]],
    error: float,
    params: ArrayLike | None = None,
    contributors: int | None = None,
    name: str = "x",
) -> CoefficientPlan:
    """Return the number of contributors needed for a wanted standard error of a slope, for each mechanism.

    The model is a logit of the first attribute on one standard normal column, so the slope is for one standard
    deviation.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        Mechanisms in the order of the comparison, all for the same attributes.
    error : float
        Wanted standard error. With more than two categories there are several slopes. The least precise slope must then
        reach this error.
    params : float64[2] or float64[k - 1, 2], optional
        Assumed intercept and slope of every category except the first. By default shares are equal and there is no
        effect.
    contributors : int, optional
        Number of contributors for which the standard error is also computed.
    name : str
        The column's name.

    Raises
    ------
    InvalidParameterError
        If `error` is not above zero, the coefficients do not fit, or the mechanisms are for different attributes or for
        open text.

    Examples
    --------
    Without effects the information is p q (p - q)^2 / (4 pq) = 0.0534 a person at epsilon 1:

    >>> from deniable import GRR
    >>> plan_coefficient([GRR(k=2, epsilon=1.0)], 0.1).rows[0].contributors_needed
    1874
    """
    if not mechanisms:
        raise InvalidParameterError("mechanisms must name at least one mechanism, got none")
    domain = mechanisms[0].domain
    for mechanism in mechanisms:
        if mechanism.takes_text:
            raise InvalidParameterError(
                f"mechanisms must be for listed categories, but {mechanism.name} is for open text: leave this "
                "mechanism out, because no model explains open text"
            )
        if mechanism.domain != domain:
            raise InvalidParameterError(
                f"mechanisms must all be for the same attributes, but the numbers of categories are {domain} for "
                f"{mechanisms[0].name} and {mechanism.domain} for {mechanism.name}"
            )
    design = usual_design(1, 0)
    k = domain[0]
    supposed = np.zeros((k - 1, 2)) if params is None else params
    rows = []
    for mechanism in mechanisms:
        try:
            needed = people_needed(mechanism, error, supposed, 1, design)
            reached = None
            if contributors is not None:
                reached = float(coefficient_error(mechanism, contributors, supposed, design)[:, 1].max())
            rows.append(CoefficientRow(mechanism.name, needed, reached, ""))
        except NotIdentifiedError as refused:
            rows.append(CoefficientRow(mechanism.name, None, None, str(refused)))
    return CoefficientPlan(name, error, contributors, design.said, tuple(rows))
