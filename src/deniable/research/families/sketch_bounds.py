"""Bounds on the error of one estimated frequency, with a stated probability of failure.

There are three half-widths of an interval around f^(x), for the frequency among these very contributors:

* The normal half-width is the quantile times the standard error. It is right for all but the smallest n, and
  `Estimate.interval` refines it.
* Bernstein's half-width holds for every n. It is about a tenth wider than the normal one at n = 10^6 and failure 10^-6
  (5.4 standard errors instead of 4.9).
* Chernoff's half-width (Pan, Theorem 3.5) holds for every n in its range, at 9 to 20 standard errors. It is here for
  comparison.

All three hold for one value. For q values together, divide the failure probability by q.

They apply to every mechanism with *support probabilities* p1 and p0, for which a sum of n independent indicators
decides f^(x).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

from scipy import special

from deniable.core.checks import checked_integer, checked_probability
from deniable.errors import out_of_range


class Supporting(Protocol):
    """Mechanism whose estimate of a frequency is affine in the number of supporting reports."""

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Probabilities (p1, p0) that a report supports x if its contributor holds x, and if not."""

    def variance(self, f: float, n: int) -> float:
        """Variance of the estimate of frequency f from n reports."""


def normal_half_width(mechanism: Supporting, n: int, failure: float = 0.05, f: float | None = None) -> float:
    """Return z sd with P(|Z| > z) = failure, which is the half-width by the central limit theorem.

    Parameters
    ----------
    mechanism : CountMeanSketch, GRR, OUE, ...
        Any mechanism with `support_probabilities` and `variance`.
    n : int
        Number of reports, >= 1.
    failure : float
        Probability that the interval misses, in (0, 1).
    f : float, optional
        Frequency, in [0, 1]. The default is the frequency of largest variance, so that the bound holds for every
        frequency.

    Examples
    --------
    >>> from deniable import CountMeanSketch
    >>> sketch = CountMeanSketch(k=10**5, epsilon=1.0)
    >>> sd = sketch.variance(1.0, 10**6) ** 0.5
    >>> round(normal_half_width(sketch, 10**6, 1e-6) / sd, 1), round(bernstein_half_width(sketch, 10**6, 1e-6) / sd, 1)
    (4.9, 5.4)
    """
    checked_integer("n", n, 1)
    return float(-special.ndtri(_checked_failure(failure) / 2)) * math.sqrt(_variance(mechanism, f) / n)


def bernstein_half_width(mechanism: Supporting, n: int, failure: float = 0.05, f: float | None = None) -> float:
    """Return Bernstein's half-width t = bL/(3n) + sqrt((bL/(3n))^2 + 2VL/n), where L = ln(2/failure).

    V is the variance of one report, and b is the largest distance of one report's term from its mean.

    Parameters
    ----------
    mechanism : CountMeanSketch, GRR, OUE, ...
        Any mechanism with `support_probabilities` and `variance`.
    n : int
        Number of reports, >= 1.
    failure : float
        Largest probability that the interval misses, in (0, 1).
    f : float, optional
        Frequency, in [0, 1]. The default is the frequency of largest variance.
    """
    checked_integer("n", n, 1)
    p1, p0 = map(float, mechanism.support_probabilities)
    logarithm = math.log(2 / _checked_failure(failure))
    linear = max(p1, 1 - p1, p0, 1 - p0) / (p1 - p0) * logarithm / (3 * n)
    return linear + math.sqrt(linear**2 + 2 * _variance(mechanism, f) * logarithm / n)


def chernoff_half_width(mechanism: Supporting, n: int, failure: float = 0.05, f: float | None = None) -> float:
    """Return alpha sd with alpha = sqrt(3 L/(1 - p1)), where L = ln(2/failure) (Pan, Theorem 3.5).

    1 - p1 = (m-1)/(e^epsilon + m - 1). Erratum: the theorem holds for alpha <= sqrt(n p0/(1 - p0)), which is
    sqrt(n/(m-1)) at collision probability 1/m, and not up to sqrt(e^epsilon n/(m-1)).

    Parameters
    ----------
    mechanism : CountMeanSketch, GRR, OUE, ...
        Any mechanism with `support_probabilities` and `variance`.
    n : int
        Number of reports, >= 1.
    failure : float
        Largest probability that the interval misses, in (0, 1).
    f : float, optional
        Frequency, in [0, 1]. The default is the frequency of largest variance.

    Raises
    ------
    InvalidParameterError
        If n is too small for the theorem at this failure probability. The message says how large it must be.

    Examples
    --------
    >>> from deniable import CountMeanSketch
    >>> sketch = CountMeanSketch(k=10**5, epsilon=1.0)
    >>> round(chernoff_half_width(sketch, 10**6, 1e-6) / sketch.variance(1.0, 10**6) ** 0.5, 1)
    9.1
    """
    checked_integer("n", n, 1)
    p1, p0 = map(float, mechanism.support_probabilities)
    square = 3 * math.log(2 / _checked_failure(failure)) / (1 - p1)
    fewest = math.ceil(square * (1 - p0) / p0) if p0 > 0 else None
    if fewest is None or n < fewest:
        raise out_of_range("n", f">= {fewest} for the Chernoff bound at failure={failure}", n)
    return math.sqrt(square * _variance(mechanism, f) / n)


def _checked_failure(failure: float) -> float:
    return checked_probability("failure", failure, open_interval=True)


def _variance(mechanism: Supporting, f: float | None) -> float:
    """Return the variance of one report at f, or the largest variance over f.

    The variance is linear in f.
    """
    if f is not None:
        return mechanism.variance(checked_probability("f", f), 1)
    return max(mechanism.variance(0.0, 1), mechanism.variance(1.0, 1))
