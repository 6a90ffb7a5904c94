"""Bound on all frequencies from a pilot, the sketch for this bound, and the cost if the bound does not hold.

Pan, *Improving Count-Mean Sketch as the Leading Locally Differentially Private Frequency Estimator for Large
Dictionaries* (IEEE CSF 2025), after Theorem 3.7, makes the sketch for frequencies up to f*, and says that f* is prior
knowledge. Here a first phase supplies f*. The contributors of both phases are independent draws from one population,
and f* is an upper confidence limit for the largest share of that population.

A report supports x with probability s(x) = p0 + f(x) (p1 - p0), independently of other reports. The number of reports
that support x is therefore binomial. The limit is Clopper's and Pearson's limit for the largest of these counts. It
needs no correction for the number of values. The limit for the largest count is at least the limit for the commonest
value's own count, and only the latter must not be too low.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.core.aggregate import Aggregate
from deniable.core.checks import checked_integer, checked_probability
from deniable.core.result import Result
from deniable.core.thresholds import EpsilonLike, checked_epsilon
from deniable.errors import EmptyAggregateError, MismatchError, quoted
from deniable.oracles.pure import PureOracle, is_pure
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.ocms import OCMS

ROUNDING = 1e-12
"""Relative error of the inverse beta function for which a bound allows."""

EXCEEDED = (0.1, 0.2, 0.3, 0.5, 1.0)
"""Frequencies above the bound at which its price is stated."""


@dataclass(frozen=True)
class FrequencyBound(Result):
    """An upper confidence limit for the largest frequency, as `max_frequency_bound` returns it.

    Parameters
    ----------
    max_frequency : float
        The limit, in [0, 1].
    confidence : float
        Least probability that no frequency in the population is above the limit.
    value : int
        The value with the largest count.
    estimate : float
        Estimate for this value. It tends to be too large, because the value was chosen for its large count.
    n : int
        Number of reports.
    """

    max_frequency: float
    confidence: float
    value: int
    estimate: float
    n: int


def max_frequency_bound(aggregate: Aggregate, confidence: float = 0.95) -> FrequencyBound:
    """Analyst: return an upper confidence limit for the largest frequency of a population, from a sample's reports.

    Suppose that every contributor is an independent draw from the population. Then, for any frequencies, some frequency
    exceeds the bound with probability at most 1 - confidence.

    Parameters
    ----------
    aggregate : Aggregate
        Aggregate of a mechanism with support probabilities, such as a sketch, GRR, OUE, SUE or SubsetSelection.
    confidence : float
        Probability, in (0, 1), that no frequency is above the bound.

    Raises
    ------
    MismatchError
        If the mechanism has no support probabilities.
    EmptyAggregateError
        If the aggregate has no reports.
    InvalidParameterError
        If the confidence is out of bounds.

    Examples
    --------
    >>> from deniable import OCMS, SimulationRandomness
    >>> import numpy as np
    >>> pilot = OCMS(k=4096, epsilon=3.0)
    >>> answers = np.repeat([7, 8, 9], [400, 800, 800])
    >>> bound = max_frequency_bound(pilot.aggregate(pilot.randomize(answers, SimulationRandomness(1))))
    >>> bound.value in (8, 9), 0.4 < bound.max_frequency < 0.5
    (True, True)
    """
    mechanism = aggregate.mechanism
    checked_probability("confidence", confidence, open_interval=True)
    if not is_pure(mechanism):
        raise MismatchError(
            "a pilot needs a pure frequency oracle for one attribute, such as OCMS, GRR or OUE, got "
            f"{quoted(mechanism)}"
        )
    if aggregate.n == 0:
        raise EmptyAggregateError(f"a bound needs at least one report, got n=0 for {quoted(mechanism)}")
    support = mechanism.support_counts(aggregate)
    value = int(np.argmax(support))
    count, n = int(support[value]), aggregate.n
    p1, p0 = map(float, mechanism.support_probabilities)
    return FrequencyBound(
        upper_frequency(mechanism, count, n, confidence), confidence, value, (count / n - p0) / (p1 - p0), n
    )


def upper_frequency(mechanism: PureOracle[Any], count: int, n: int, confidence: float) -> float:
    """Return the upper confidence limit, in [0, 1], of the frequency of a value that `count` of n reports support.

    The limit f solves P(C <= count) = 1 - confidence, where C is binomial with n trials of probability p0 + f (p1 -
    p0).

    Examples
    --------
    >>> from deniable import GRR
    >>> round(upper_frequency(GRR(k=2, epsilon=20.0), 0, 10, 0.95), 6)  # 1 - .05^(1/10): reports are nearly the answers
    0.258866
    """
    # The import is here, because a collector asks for no bound and need not load scipy.
    from scipy import special

    p1, p0 = map(float, mechanism.support_probabilities)
    share = 1.0 if count >= n else float(special.betainccinv(count + 1, n - count, 1 - confidence)) * (1 + ROUNDING)
    return min(max((share - p0) / (p1 - p0), 0.0), 1.0)


def least_bound(mechanism: PureOracle[Any], n: int, confidence: float = 0.95) -> float:
    """Return the median bound on frequencies that a pilot of n contributors gives if all values are rare.

    The noise of a pilot's reports keeps its bound f* above zero even if all values are rare. Before you plan a pilot,
    look at this median: the bound will hardly be smaller. The computation treats the k counts as independent.

    Parameters
    ----------
    mechanism : PureOracle
        Mechanism of the pilot.
    n : int
        Number of contributors in the pilot, >= 1.
    confidence : float
        Probability, in (0, 1), that no frequency is above the bound; see `max_frequency_bound`.

    Examples
    --------
    >>> from deniable import OCMS
    >>> [round(least_bound(OCMS(k=10**5, epsilon=3.0), n), 3) for n in (1_000, 10_000, 100_000)]
    [0.103, 0.03, 0.009]
    """
    # The import is here, because a collector asks for no bound and need not load scipy.
    from scipy import special

    checked_integer("n", n, 1)
    checked_probability("confidence", confidence, open_interval=True)
    _, p0 = mechanism.support_probabilities
    # This is the least count that one value exceeds very rarely: in half of all pilots, one of k independent values
    # exceeds it.
    rarely, low, high = -math.expm1(-math.log(2) / mechanism.k), 0, n
    while low < high:
        count = (low + high) // 2
        above = float(special.betainc(count + 1, n - count, float(p0)))
        low, high = (low, count) if above <= rarely else (count + 1, high)
    return upper_frequency(mechanism, low, n, confidence)


def learn_sketch(aggregate: Aggregate, n2: int, confidence: float = 0.95) -> CountMeanSketch:
    """Collector: return the sketch for a second phase, which is best for frequencies up to the first phase's bound.

    Only the number of cells and the family are published. They are computed from randomised reports, so publishing them
    costs no privacy.

    Parameters
    ----------
    aggregate : Aggregate
        Aggregate of the pilot, see `max_frequency_bound`.
    n2 : int
        Expected number of contributors in phase two, >= 1. The best sketch does not depend on it.
    confidence : float
        Probability, in (0, 1), that no frequency is above the bound.

    Raises
    ------
    MismatchError, EmptyAggregateError, InvalidParameterError
        If `max_frequency_bound` raises the error.

    Examples
    --------
    >>> from deniable import OCMS, SimulationRandomness
    >>> import numpy as np
    >>> pilot = OCMS(k=10**5, epsilon=3.0)
    >>> reports = pilot.randomize(np.arange(10_000), SimulationRandomness(1))
    >>> learn_sketch(pilot.aggregate(reports), 90_000).m, OCMS(k=10**5, epsilon=3.0, mode="mse").m
    (16, 6)
    """
    checked_integer("n2", n2, 1)
    bound = max_frequency_bound(aggregate, confidence)
    return OCMS(aggregate.mechanism.domain[0], aggregate.mechanism.epsilon, "mse", bound.max_frequency)


@dataclass(frozen=True)
class BoundError(Result):
    """Largest standard errors of two sketches if no value is more frequent than `frequency`.

    Parameters
    ----------
    frequency : float
        Largest true frequency.
    bounded, unbounded : float
        Largest standard error of the sketch that was made for the bound, and of the sketch for all frequencies.
    """

    frequency: float
    bounded: float
    unbounded: float


@dataclass(frozen=True)
class BoundPrice(Result):
    """Price of a bound on all frequencies: the gain if the bound holds, and the loss if not (`bound_price`).

    Parameters
    ----------
    max_frequency : float
        The bound f*.
    contributors : int
        Number of contributors that the errors are for.
    m, family : int, str
        Number of cells and family of the sketch for the bound.
    unbounded_m, unbounded_family : int, str
        Number of cells and family of the sketch for all frequencies, f* = 1.
    break_even : float
        Largest true frequency up to which the sketch for the bound has a smaller worst error than the sketch for all
        frequencies. 0 if there is no such frequency.
    errors : tuple of BoundError
        Errors at the bound and beyond it.
    """

    max_frequency: float
    contributors: int
    m: int
    family: str
    unbounded_m: int
    unbounded_family: str
    break_even: float
    errors: tuple[BoundError, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the result in sentences."""
        held, *others = self.errors
        first = (
            f"made for frequencies up to {_percent(self.max_frequency)}: {self.family} with m={self.m}, largest "
            f"standard error {_percent(held.bounded)} for {self.contributors:,} contributors; for any frequency: "
            f"{self.unbounded_family} with m={self.unbounded_m}, {_percent(held.unbounded)}"
        )
        beyond = tuple(
            f"if a value has {_percent(one.frequency)}: {_percent(one.bounded)}, instead of {_percent(one.unbounded)}"
            for one in others
        )
        if self.break_even <= self.max_frequency:
            return (first, *beyond, "this bound gains nothing: plan for any frequency")
        if self.break_even >= 1:
            return (first, *beyond, "this bound costs nothing, even if it does not hold")
        return (first, *beyond, f"the bound pays while no value has more than {_percent(self.break_even)}")


def _percent(share: float) -> str:
    """Return a share as text in percent, to three digits."""
    return f"{100 * share:.3g}%"


def bound_price(k: int, epsilon: EpsilonLike, contributors: int, max_frequency: float) -> BoundPrice:
    """Return the gain of the best sketch for a bound on frequencies, and its loss if a frequency exceeds the bound.

    It uses Theorem 3.7 of Pan (2025) with the implemented number of cells. The variance of a value's estimate is a
    linear function of the value's frequency. The sketch for small frequencies has less variance at frequency 0, but its
    variance grows faster with the frequency.

    Parameters
    ----------
    k : int
        Domain size, >= 2.
    epsilon : float, Fraction, Decimal or str
        Privacy budget in nats, in [1e-6, 32].
    contributors : int
        Number of reports, >= 1.
    max_frequency : float
        The bound f*, in [0, 1].

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> price = bound_price(10**5, 3.0, 100_000, max_frequency=0.05)
    >>> price.m, price.unbounded_m, round(price.break_even, 2)
    (16, 6, 0.18)
    >>> [round(one.bounded / one.unbounded, 2) for one in price.errors if one.frequency in (0.05, 1.0)]
    [0.87, 1.54]
    """
    budget, n = checked_epsilon(epsilon), checked_integer("contributors", contributors, 1)
    bound = checked_probability("max_frequency", max_frequency)
    bounded, unbounded = OCMS(k, budget, "mse", bound), OCMS(k, budget, "mse")
    assert bounded.m is not None
    assert unbounded.m is not None
    frequencies = [bound, *(f for f in EXCEEDED if f > bound)]
    errors = tuple(BoundError(f, _largest_error(bounded, f, n), _largest_error(unbounded, f, n)) for f in frequencies)
    even = _break_even(bounded, unbounded)
    return BoundPrice(bound, n, bounded.m, bounded.family, unbounded.m, unbounded.family, even, errors)


def _largest_error(sketch: CountMeanSketch, f: float, n: int) -> float:
    """Return the largest standard error at frequencies up to f, which is at 0 or f because the variance is linear."""
    return math.sqrt(max(sketch.variance(0.0, n), sketch.variance(f, n)))


def _break_even(bounded: CountMeanSketch, unbounded: CountMeanSketch) -> float:
    """Return the largest f up to which the bounded sketch has the smaller largest variance."""
    gained = unbounded.variance(0.0, 1) - bounded.variance(0.0, 1)
    if gained <= 0:
        return 0.0
    slopes = [max(one.variance(1.0, 1) - one.variance(0.0, 1), 0.0) for one in (bounded, unbounded)]
    return min(gained / (slopes[0] - slopes[1]), 1.0) if slopes[0] > slopes[1] else 1.0
