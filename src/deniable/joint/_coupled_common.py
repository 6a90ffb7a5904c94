"""What the coupled mechanisms share: intervals, and the checks of their parameters."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.aggregate import Aggregate, check_aggregate
from deniable.checks import checked_integer
from deniable.errors import InvalidParameterError
from deniable.thresholds import EpsilonLike, exact

Floats = NDArray[np.float64]


def support_frequencies(mechanism: Any, aggregate: Aggregate) -> Floats:
    """Analyst: return (counts/n' - q)/(p - q), p and q the mechanism's support probabilities.

    Raises
    ------
    MismatchError
        If the aggregate came from another mechanism or deal.
    EmptyAggregateError
        If it contains no reports.
    """
    check_aggregate(aggregate, mechanism)
    p, q = mechanism.support_probabilities
    result: Floats = (aggregate.counts / aggregate.n - float(q)) / float(p - q)
    return result


def score_bounds(mechanism: Any, aggregate: Aggregate, tail: float) -> tuple[Floats, Floats]:
    """Return all f that a z-test with the mechanism's exact variance at f, quadratic in f, does not reject.

    Where there are none, which can only happen outside [0, 1]: the Wald bounds with the variance at the nearest f.
    """
    found = support_frequencies(mechanism, aggregate)
    z = -NormalDist().inv_cdf(tail)
    left, centre, right = (mechanism.variance(f, reporters=aggregate.n) for f in (0.0, 0.5, 1.0))
    curvature = 2 * (left - 2 * centre + right)
    slope = right - left - curvature
    # (f^ - f)^2 <= z^2 (left + slope f + curvature f^2)
    lead, middle = 1 - z**2 * curvature, found + z**2 * slope / 2
    root = middle**2 - lead * (found**2 - z**2 * left)
    half = np.sqrt(np.maximum(root, 0.0))
    f = np.clip(found, 0.0, 1.0)
    wald = z * np.sqrt(np.maximum(left + f * (slope + curvature * f), 0.0))
    solved = (root > 0) & (lead > 0)
    lead = lead if lead > 0 else 1.0
    return np.where(solved, (middle - half) / lead, found - wald), np.where(
        solved, (middle + half) / lead, found + wald
    )


def checked_number(value: EpsilonLike, name: str) -> float | Fraction:
    """Return a number as a float, or as a Fraction where no float is written the same."""
    number = exact(value, name)
    return float(number) if exact(float(number)) == number else number


def checked_deal_id(deal_id: Any) -> None:
    """Raise InvalidParameterError unless a deal's name is a string."""
    if not isinstance(deal_id, str):
        raise InvalidParameterError(f"deal_id must be a string, got deal_id={deal_id!r}")


def check_dealt_to(n: int | None, expected: int) -> None:
    """Raise InvalidParameterError unless n, if given, is the number of contributors that the deal is meant for."""
    if n is not None and checked_integer("n", n, 1) != expected:
        raise InvalidParameterError(f"n must be {expected}, the number that the deal is meant for, got n={n}")
