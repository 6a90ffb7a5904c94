"""Questionnaires: designs that can be estimated like others, but have no epsilon of their own.

The module has the design of Greenberg et al. (1969) for two samples, the design of Eichhorn and Hayre (1983), and the
item count technique (Miller 1984).

"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.result import Result
from deniable.core.support_counts import normal_quantile
from deniable.designs.constructors import unrelated
from deniable.designs.design import Design
from deniable.designs.kinds import Number, checked_number
from deniable.errors import InvalidInputError, InvalidParameterError, out_of_range, quoted


@dataclass(frozen=True, eq=False)
class Figure(Result):
    """One estimated number, never clipped.

    Attributes
    ----------
    value, standard_error : float
        The estimate and its standard error.
    lower, upper : float
        Interval of the number. NaN if there is no valid interval.
    """

    value: float
    standard_error: float
    lower: float
    upper: float


def wald(value: float, variance: float, confidence: float) -> Figure:
    """Return an estimate with its normal interval."""
    value, error = float(value), math.sqrt(max(variance, 0.0))
    half = normal_quantile((1 - confidence) / 2) * error
    return Figure(value, error, value - half, value + half)


@dataclass(frozen=True)
class Questionnaire(ABC):
    """A way of asking that has no epsilon, so no collection can use it; its answers can still be estimated."""

    @property
    @abstractmethod
    def why_no_epsilon(self) -> str:
        """Reason why there is no epsilon, in one sentence."""


class TwoGroups:
    """Shares of yes in two random groups of people.

    Parameters
    ----------
    yes, n : (int, int)
        People who said yes, and all people, in each group.

    Raises
    ------
    InvalidInputError
        If they are not two pairs of whole numbers with 0 <= yes <= n and n >= 2.
    """

    def __init__(self, yes: Sequence[int], n: Sequence[int]) -> None:
        if len(yes) != 2 or len(n) != 2:
            raise InvalidInputError(
                f"yes and n must have one number for each group, got yes={quoted(yes)}, n={quoted(n)}"
            )
        sizes = [checked_integer(f"n[{g}]", size, 2) for g, size in enumerate(n)]
        counts = [
            checked_integer(f"yes[{g}]", count, 0, size) for g, (count, size) in enumerate(zip(yes, sizes, strict=True))
        ]
        self.yes, self.n = np.array(counts), np.array(sizes)
        self.shares = self.yes / self.n
        self.variances = self.shares * (1 - self.shares) / (self.n - 1)

    def figure(self, value: float, slopes: Sequence[float], confidence: float) -> Figure:
        """Return an estimate with its interval, from its derivatives with respect to the two shares."""
        return wald(value, float(np.square(slopes) @ self.variances), confidence)


@final
@dataclass(frozen=True, eq=False)
class UnrelatedEstimate(Result):
    """Estimates of two samples with an unrelated question.

    Attributes
    ----------
    prevalence, innocuous : Figure
        Share of carriers, and share of yes to the unrelated question.
    """

    format = "deniable unrelated question estimate"

    prevalence: Figure
    innocuous: Figure


@final
@dataclass(frozen=True)
class UnrelatedUnknown(Questionnaire):
    """Two random groups with the same unrelated question, whose share of yes is not known.

    Parameters
    ----------
    p1, p2 : Fraction
        Probability of the sensitive question in each group.
    """

    p1: Fraction
    p2: Fraction

    @property
    def why_no_epsilon(self) -> str:
        return "What a report tells depends on the unknown share of yes to the unrelated question: see designs_for."

    def designs_for(self, alpha: Number) -> tuple[Design, Design]:
        """Return the designs of both groups for a given share of yes to the unrelated question.

        The odds rise or fall steadily with the share, so look at both ends of the range that you assume.

        Examples
        --------
        >>> from deniable import designs
        >>> [str(one.odds[1]) for one in designs.unrelated_unknown("7/10", "3/10").designs_for("1/10")]
        ['73/3', '37/7']
        """
        one, two = (unrelated(p, alpha) for p in (self.p1, self.p2))
        return one, two

    def estimate(self, yes: Sequence[int], n: Sequence[int], *, confidence: float = 0.95) -> UnrelatedEstimate:
        """Analyst: return both prevalences, with variances by the delta method.

        Parameters
        ----------
        yes, n : (int, int)
            People who said yes, and all people, in each group.
        confidence : float
            Coverage of the intervals.

        Raises
        ------
        InvalidInputError, InvalidParameterError
            If counts or the confidence are out of bounds.
        """
        groups, confidence = TwoGroups(yes, n), checked_probability("confidence", confidence, open_interval=True)
        (one, two), p1, p2 = groups.shares, float(self.p1), float(self.p2)
        gap = p1 - p2
        return UnrelatedEstimate(
            groups.figure((one * (1 - p2) - two * (1 - p1)) / gap, ((1 - p2) / gap, -(1 - p1) / gap), confidence),
            groups.figure((p2 * one - p1 * two) / -gap, (-p2 / gap, p1 / gap), confidence),
        )


def unrelated_unknown(p1: Number, p2: Number) -> UnrelatedUnknown:
    """Return the unrelated question with an unknown share of yes, asked of two random groups (Greenberg et al. 1969).

    Parameters
    ----------
    p1, p2 : Fraction, int or str
        Probability of the sensitive question in each group, in (0, 1] and different.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> found = designs.unrelated_unknown("7/10", "3/10").estimate(yes=(120, 90), n=(300, 300))
    >>> round(found.prevalence.value, 3), round(found.prevalence.standard_error, 4)
    (0.475, 0.0534)
    """
    one, two = different("p1", p1, "p2", p2)
    for name, p in (("p1", one), ("p2", two)):
        if p == 0:
            raise InvalidParameterError(
                f"{name} must be > 0, got {name}=0; with {name}=0, nobody in the group would answer the question"
            )
    return UnrelatedUnknown(one, two)


def different(name: str, first: Number, other_name: str, second: Number) -> tuple[Fraction, Fraction]:
    """Return two probabilities that differ, or raise InvalidParameterError."""
    found = []
    for one, value in ((name, first), (other_name, second)):
        p = checked_number(one, value)
        if not 0 <= p <= 1:
            raise out_of_range(one, "in [0, 1]", p)
        found.append(p)
    if found[0] == found[1]:
        raise InvalidParameterError(
            f"{name} must differ from {other_name}, got {name}={found[0]} and {other_name}={found[1]}; two groups with "
            "the same value give no more information than a single group"
        )
    return found[0], found[1]


@final
@dataclass(frozen=True, eq=False)
class ScrambledEstimate(Result):
    """Estimated mean of a number that people multiplied by a random number.

    Attributes
    ----------
    mean : Figure
        The mean of the true numbers.
    device_share : float
        Share of the variance that comes from the device. The rest is the variance of the true numbers.
    """

    format = "deniable scrambled mean"

    mean: Figure
    device_share: float


@final
@dataclass(frozen=True)
class EichhornHayre(Questionnaire):
    """A device for a sensitive number y: people report the product of y and a random number S of known mean and spread.

    Parameters
    ----------
    mean, sd : Fraction
        Mean and standard deviation of S.
    """

    mean: Fraction
    sd: Fraction

    @property
    def why_no_epsilon(self) -> str:
        return (
            "A true 0 is reported as 0 with certainty, and a bounded S excludes values. "
            "Group the numbers and use modular or forced_k."
        )

    def estimate(self, reports: ArrayLike, *, confidence: float = 0.95) -> ScrambledEstimate:
        """Analyst: return the mean of the true numbers.

        Parameters
        ----------
        reports : float[n]
            What people reported, n >= 2.
        confidence : float
            Coverage of the interval.

        Raises
        ------
        InvalidInputError
            If there are not at least two finite numbers.
        """
        confidence = checked_probability("confidence", confidence, open_interval=True)
        given = np.asarray(reports, dtype=np.float64)
        if given.ndim != 1 or len(given) < 2 or not np.isfinite(given).all():
            wrong = next(iter(np.flatnonzero(~np.isfinite(given.ravel())) + 1), 0)
            got = f"a report that is not finite in row {wrong}" if given.ndim == 1 and wrong else f"shape={given.shape}"
            raise InvalidInputError(f"reports must be at least two finite numbers, got {got}")
        mean, sd = float(self.mean), float(self.sd)
        scores = given / mean
        variance = float(scores.var(ddof=1))
        # E z^2 = E y^2 (mean^2 + sd^2), and the device adds E y^2 sd^2 / mean^2 to the variance of a score.
        device = float((given**2).mean()) * sd**2 / (mean**2 + sd**2) / mean**2
        return ScrambledEstimate(
            wald(float(scores.mean()), variance / len(given), confidence),
            min(device / variance, 1.0) if variance else 0.0,
        )


def eichhorn_hayre(mean: Number, sd: Number) -> EichhornHayre:
    """Return the scrambled number of Eichhorn and Hayre (1983): people multiply their number by a random S.

    Parameters
    ----------
    mean, sd : Fraction, int or str
        Mean of S, not 0, and its standard deviation, >= 0.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or a float.

    Examples
    --------
    >>> from deniable import designs
    >>> found = designs.eichhorn_hayre(2, "1/2").estimate([0, 4.2, 1.9, 6.4, 3.5])
    >>> round(found.mean.value, 2)
    1.6
    """
    centre, spread = checked_number("mean", mean), checked_number("sd", sd)
    if centre == 0:
        raise InvalidParameterError(
            "mean must differ from 0, got mean=0; with mean=0, the reports would have the mean 0 for every answer"
        )
    if spread < 0:
        raise out_of_range("sd", ">= 0", spread)
    return EichhornHayre(centre, spread)


@final
@dataclass(frozen=True, eq=False)
class ItemCountEstimate(Result):
    """Estimated prevalence of the item that only one group had on its list.

    Attributes
    ----------
    prevalence : Figure
        Difference of the mean counts.
    disclosed : int
        Number of people whose count of no item or of all items revealed their answer.
    """

    format = "deniable item count estimate"

    prevalence: Figure
    disclosed: int


@final
@dataclass(frozen=True)
class ItemCount(Questionnaire):
    """The item count technique: two groups count the true items of a list; only one list has the sensitive item."""

    @property
    def why_no_epsilon(self) -> str:
        return (
            "The only noise is the person's own other answers, which somebody may know. "
            "A count of none or of all items gives the answer away."
        )

    def estimate(
        self, treatment: Sequence[int], control: Sequence[int], *, confidence: float = 0.95
    ) -> ItemCountEstimate:
        """Analyst: return the difference of the mean counts of two groups.

        Parameters
        ----------
        treatment, control : sequence of int
            Number of people who counted 0, 1, 2, ... items, with the sensitive item on the list (`treatment`) and
            without it (`control`). `treatment` has one more entry.
        confidence : float
            Coverage of the interval.

        Raises
        ------
        InvalidInputError
            If the lengths do not fit, or a group has fewer than two people.

        Examples
        --------
        >>> from deniable import designs
        >>> found = designs.item_count().estimate([20, 60, 70, 40, 10], [30, 80, 65, 25])
        >>> round(found.prevalence.value, 3), round(found.prevalence.standard_error, 4), found.disclosed
        (0.375, 0.0965, 30)
        """
        confidence = checked_probability("confidence", confidence, open_interval=True)
        if len(treatment) != len(control) + 1:
            raise InvalidInputError(
                f"treatment must have one count more than control, got {len(treatment)} and {len(control)} counts"
            )
        (one, spread), (other, rest) = (
            _moments(name, counts) for name, counts in (("treatment", treatment), ("control", control))
        )
        return ItemCountEstimate(wald(one - other, spread + rest, confidence), int(treatment[0]) + int(treatment[-1]))


def item_count() -> ItemCount:
    """Return the item count technique (list experiment).

    Examples
    --------
    >>> from deniable import designs
    >>> designs.item_count().why_no_epsilon[:48]
    "The only noise is the person's own other answers"
    """
    return ItemCount()


def _moments(name: str, counts: Sequence[int]) -> tuple[float, float]:
    """Return the mean number of counted items, and the variance of this mean."""
    held: NDArray[np.int64] = np.array([checked_integer(f"{name}[{i}]", count, 0) for i, count in enumerate(counts)])
    n, items = int(held.sum()), np.arange(len(held))
    if n < 2:
        raise InvalidInputError(f"{name} must include at least two people, got {n}")
    mean = float(held @ items / n)
    return mean, float(held @ (items - mean) ** 2 / (n - 1) / n)
