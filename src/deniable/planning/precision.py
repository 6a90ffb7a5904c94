"""Expected precision of a mechanism, computed from its variance without simulation, before anyone reports.

Every variance in this library is a quadratic in the true frequency f: ``a + b f + c f (1 - f)``. c > 0 only if
contributors report a sampled attribute. Three values determine the quadratic, so its mean over a prior is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from scipy import special

from deniable.core.mechanism import Mechanism

MAX_CONTRIBUTORS = 1 << 62
"""Largest number of contributors of a plan, because counts are 64-bit integers."""

TARGET_PRECISION = 1e-4
"""A half-width that exceeds the target by at most this relative amount reaches the target: 0.010001 counts as 0.01."""


def attribute_variance(mechanism: Any, attribute: int, frequency: float, n: int) -> float:
    """Return the variance of one estimated frequency of an attribute, noise only, with n contributors."""
    if mechanism.records:
        return float(mechanism.variance(frequency, n, attribute))
    return float(mechanism.variance(frequency, n))


def worst_variance(mechanism: Mechanism[Any], frequency: float, n: int) -> float:
    """Return the largest variance over the attributes at one true frequency."""
    return max(attribute_variance(mechanism, j, frequency, n) for j in range(len(mechanism.domain)))


def mean_variance(mechanism: Mechanism[Any], n: int) -> float:
    """Return the mean variance over values, attributes and a flat prior on the true frequencies.

    Under a flat prior every distribution over an attribute's k categories is equally likely (Dirichlet(1, ..., 1)).
    Then f has mean 1/k and f (1 - f) has mean (k - 1)/(k (k + 1)). Every attribute counts the same, whatever its size.

    Examples
    --------
    >>> from deniable import GRR
    >>> grr = GRR(k=4, epsilon=1.0)
    >>> round(mean_variance(grr, 1000) / grr.variance(1 / 4, 1000), 12)
    1.0
    """
    means = []
    for j, k in enumerate(mechanism.domain):
        absent, half, present = (attribute_variance(mechanism, j, f, n) for f in (0.0, 0.5, 1.0))
        curved = 4 * (half - (absent + present) / 2)
        means.append(absent + (present - absent) / k + curved * (k - 1) / (k * (k + 1)))
    return sum(means) / len(means)


def quantile(confidence: float) -> float:
    """Return z: a normal variable lies within z standard deviations with probability `confidence`.

    Examples
    --------
    >>> round(quantile(0.95), 6)
    1.959964
    """
    return float(-special.ndtri((1 - confidence) / 2))


def contributors_needed(
    mechanism: Mechanism[Any], target_error: float, confidence: float = 0.95, frequency: float = 0.0
) -> int | None:
    """Return the smallest n whose interval half-width z sd reaches `target_error`, to four digits, for every attribute.

    The result is None if even 2^62 contributors are too few.

    Examples
    --------
    >>> from deniable import GRR
    >>> contributors_needed(GRR(k=100, epsilon=4.0), target_error=0.01)
    2041
    """
    z = quantile(confidence)
    return fewest(
        lambda n: z * math.sqrt(worst_variance(mechanism, frequency, n)) <= target_error * (1 + TARGET_PRECISION)
    )


def fewest(precise: Callable[[int], bool]) -> int | None:
    """Return the smallest number of contributors that is precise enough, None if even 2^62 are too few.

    Parameters
    ----------
    precise : callable
        Function that returns whether this many contributors are enough. If it is true for a number, it is true for all
        larger numbers.
    """
    enough = 1
    while not precise(enough):
        if enough >= MAX_CONTRIBUTORS:
            return None
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        enough, too_few = (middle, too_few) if precise(middle) else (enough, middle)
    return enough
