"""Function `check_foreign`, which checks laws of local privacy for another library's mechanism by its two functions.

Such a mechanism has no channel to enumerate, so its reports are drawn and counted. Bounds of counts are exact (Clopper
and Pearson) and hold together with a failure probability of 10^-6. The bound of `unbiased` is approximate. It is
Student's t over batches, with an allowance for rare reports that is not proven. A mechanism that breaks the budget by
little, or whose reports hardly ever repeat, can pass.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer
from deniable.errors import BrokenLawError, InvalidParameterError

FAILURE = 1e-6
"""Probability that a correct mechanism breaks one of the laws. For `unbiased` it is an approximation."""

_BATCHES = 200
"""Batches of reports whose estimates are averaged."""

_STEP = 4.0
"""Largest assumed change of a frequency by one of n reports, times n, if a contributor's own value is reported."""

Client = Callable[[int], Any]
Estimator = Callable[[Sequence[Any]], ArrayLike]


def check_foreign(
    client: Client,
    estimate: Estimator,
    *,
    k: int,
    epsilon: float,
    event: Callable[[Any], Hashable] = repr,
    draws: int = 20_000,
) -> tuple[str, ...]:
    """Check that a mechanism of another library keeps the laws that its reports can show.

    Parameters
    ----------
    client : callable
        Function of a contributor's value in 0..k-1 that returns a report. It draws its own random numbers.
    estimate : callable
        Function of a list of reports that returns estimated frequencies, float[k].
    k : int
        Domain size, at least 2.
    epsilon : float
        Budget that the mechanism states.
    event : callable
        Function of a report. The check counts how often each value of this function occurs. Every function of a report
        must keep the budget. For long reports, choose a function with few values, such as ``lambda bits: bits[0]``,
        because the check then finds more.
    draws : int
        Number of reports of each value.

    Returns
    -------
    tuple of str
        The laws that hold: "draws_reports", "keeps_the_budget", "order_does_not_matter", "unbiased".

    Raises
    ------
    BrokenLawError
        If a law is broken. The message says which law, and where.
    InvalidParameterError
        If k or `draws` is too small, or epsilon is not positive.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = 3 / 4  # Warner's design: odds of 3
    >>> def client(value):
    ...     return value if rng.random() < p else 1 - value
    >>> def estimate(reports):
    ...     ones = (np.mean(reports) - (1 - p)) / (2 * p - 1)
    ...     return [1 - ones, ones]
    >>> check_foreign(client, estimate, k=2, epsilon=math.log(3), draws=2_000)
    ('draws_reports', 'keeps_the_budget', 'order_does_not_matter', 'unbiased')
    """
    checked_integer("k", k, 2)
    checked_integer("draws", draws, _BATCHES)
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InvalidParameterError(f"epsilon must be positive and finite, got epsilon={epsilon}")
    reports = [[client(value) for _ in range(draws)] for value in range(k)]
    counts = [Counter(map(event, of_value)) for of_value in reports]
    _draws_reports(counts)
    _keeps_the_budget(counts, draws, epsilon)
    _order_does_not_matter(reports, estimate, k)
    _unbiased(reports, estimate, k)
    return "draws_reports", "keeps_the_budget", "order_does_not_matter", "unbiased"


def _draws_reports(counts: list[Counter[Hashable]]) -> None:
    """Check that one value makes different reports; otherwise its report would be the value itself."""
    for value, of_value in enumerate(counts):
        if len(of_value) == 1 and any(other.keys() != of_value.keys() for other in counts):
            raise BrokenLawError(f"draws_reports: value {value} always makes the same report, but other values do not")


def _keeps_the_budget(counts: list[Counter[Hashable]], draws: int, epsilon: float) -> None:
    """Check that no report is more than e^epsilon times as probable for one value as for another."""
    events = sorted(set().union(*counts), key=repr)
    tail = FAILURE / (2 * len(counts) * len(events))
    table = np.array([[of_value[event] for event in events] for of_value in counts])
    low, high = _clopper_pearson(table, draws, tail)
    most, least = low.argmax(axis=0), high.argmin(axis=0)
    columns = np.arange(len(events))
    excess = low[most, columns] - math.exp(epsilon) * high[least, columns]
    worst = int(excess.argmax())
    if excess[worst] > 0:
        one, other = int(most[worst]), int(least[worst])
        raise BrokenLawError(
            f"keeps_the_budget: in {draws} draws from each value, report {events[worst]} came {table[one, worst]} "
            f"times from value {one} and {table[other, worst]} times from value {other}. The ratio of the two "
            f"probabilities must be at most e^{epsilon:.6g} = {math.exp(epsilon):.4g}, but with near "
            f"certainty it is at least {low[one, worst] / high[other, worst]:.4g}"
        )


def _order_does_not_matter(reports: list[list[Any]], estimate: Estimator, k: int) -> None:
    """Check that estimates depend on the reports, but not on their order."""
    mixed = [of_value[row] for row in range(50) for of_value in reports]
    forwards, backwards = (_estimated(estimate, order, k) for order in (mixed, mixed[::-1]))
    if not np.allclose(forwards, backwards, rtol=1e-9, atol=1e-9):
        raise BrokenLawError("order_does_not_matter: the same reports give a different estimate in reverse order")


def _unbiased(reports: list[list[Any]], estimate: Estimator, k: int) -> None:
    """Check that estimates of contributors who all hold one value are right on average over batches."""
    from scipy import special

    size = len(reports[0]) // _BATCHES
    tail = FAILURE / (2 * k * k)
    limit = -special.stdtrit(_BATCHES - 1, tail)
    # A report of probability q may be missing among all draws if q is below log(1/tail)/draws.
    rare = _STEP * math.log(1 / tail) / len(reports[0])
    for value, of_value in enumerate(reports):
        batches = [of_value[start : start + size] for start in range(0, size * _BATCHES, size)]
        found = np.array([_estimated(estimate, batch, k) for batch in batches])
        error = found.mean(axis=0) - np.eye(k)[value]
        spread = found.std(axis=0, ddof=1) / math.sqrt(_BATCHES)
        wrong = np.flatnonzero(np.abs(error) > limit * spread + rare)
        if len(wrong):
            code = int(wrong[0])
            raise BrokenLawError(
                f"unbiased: if all contributors hold value {value}, the estimate of value {code} differs from the "
                f"truth by {error[code]:+.4g} on average, with a standard error of {spread[code]:.2g}"
            )


def _estimated(estimate: Estimator, reports: list[Any], k: int) -> NDArray[np.float64]:
    found = np.asarray(estimate(reports), dtype=np.float64)
    if found.shape != (k,) or not np.isfinite(found).all():
        raise BrokenLawError(f"an estimate must be {k} finite numbers, got shape={found.shape}")
    return found


def _clopper_pearson(counts: NDArray[np.int64], n: int, tail: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bounds of the probabilities behind counts of n, each missed with probability at most `tail`."""
    from scipy import special

    inner, upper = np.clip(counts, 1, n), np.clip(counts, 0, n - 1)
    low = np.where(counts > 0, special.betaincinv(inner, n - inner + 1, tail), 0.0)
    high = np.where(counts < n, special.betainccinv(upper + 1, n - upper, tail), 1.0)
    return low, high
