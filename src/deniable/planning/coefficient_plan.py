"""The people that a coefficient of a regression needs, mechanism by mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.mechanism import Mechanism
from deniable.core.result import Result
from deniable.errors import InvalidParameterError, NotIdentifiedError
from deniable.planning.coefficient_error import coefficient_error, people_needed, usual_design


@dataclass(frozen=True, eq=False)
class CoefficientRow(Result):
    """A coefficient under one mechanism.

    Parameters
    ----------
    mechanism : str
        Its name.
    contributors_needed : int or None
        How many bring the standard error down to what is wanted; None where reports have no likelihood.
    standard_error : float or None
        With the planned number of contributors, where one is given.
    note : str
        Why there is none.
    """

    mechanism: str
    contributors_needed: int | None
    standard_error: float | None
    note: str


@dataclass(frozen=True, eq=False)
class CoefficientPlan(Result):
    """The people that a coefficient needs.

    Parameters
    ----------
    name : str
        The column.
    error : float
        The standard error that is wanted.
    contributors : int or None
        A planned number of them.
    design : str
        The columns that were supposed.
    rows : tuple of CoefficientRow
        One for each mechanism.
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
    """Return the people that bring a slope's standard error to `error`, for each mechanism.

    The model is a logit of the first attribute on one standard normal column: its slope is per standard deviation.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        They are compared in this order; all for the same attributes.
    error : float
        Wanted standard error. More than two categories have several slopes; the least precise one counts.
    params : float64[2] or float64[k - 1, 2], optional
        Supposed intercept and slope of every category but the first; by default equal shares and no effect.
    contributors : int, optional
        For the standard error with that many.
    name : str
        The column's name.

    Raises
    ------
    InvalidParameterError
        If the error is not above zero, or the coefficients do not fit.

    Examples
    --------
    Without effects the information is p q (p - q)^2 / (4 pq) = 0.0534 a person at epsilon 1:

    >>> from deniable import GRR
    >>> plan_coefficient([GRR(k=2, epsilon=1.0)], 0.1).rows[0].contributors_needed
    1874
    """
    if not mechanisms:
        raise InvalidParameterError("mechanisms must have at least one entry, got none")
    design = usual_design(1, 0)
    k = mechanisms[0].domain[0]
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
