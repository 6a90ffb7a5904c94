"""Distribution function of an ordered attribute, with a band, and its quantiles.

The interval of a quantile inverts the band (Bonferroni over the cut points). If the band holds, the intervals of all
quantiles hold together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deniable.core.answer import Answer, refusal_of
from deniable.core.checks import Target, checked_comparisons, checked_probability
from deniable.errors import NoIntervalError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cdf:
    """Share of the answers up to each category, in their order.

    Analysts get it from `Estimate.cdf`. It is not post-processed, so the noise can make a share smaller than that of
    the category before.

    Parameters
    ----------
    labels : tuple of str
        Labels of the m categories, the lowest first.
    answers : tuple of Answer
        Shares of answers up to each category except the last. Up to the last category the share is 1.
    scores : float64[m], optional
        Increasing scores of the categories.

    Examples
    --------
    >>> from deniable import GRR
    >>> grr = GRR(k=3, epsilon=4.0)
    >>> stars = grr.estimate(grr.aggregate([0, 2, 2, 1, 2] * 40)).named("stars", ["1", "2", "3"])
    >>> stars.cdf().values.round(3)
    array([0.193, 0.385, 1.   ])
    >>> stars.quantiles([0.5])[0].label, stars.quantiles([0.5])[0].interval(0.9)
    ('3', ('3', '3'))
    """

    labels: tuple[str, ...]
    answers: tuple[Answer, ...] = field(repr=False)
    scores: Floats | None = field(default=None, repr=False)

    @property
    def values(self) -> Floats:
        """Estimated share up to each category, float64[m]."""
        return np.array([*(answer.value for answer in self.answers), 1.0])

    def standard_errors_for(self, target: Target = "contributors") -> Floats:
        """Return the standard errors of the shares for a target, float64[m]. The last one is 0."""
        return np.array([*(answer.standard_error_for(target) for answer in self.answers), 0.0])

    @property
    def refusal(self) -> str:
        """Return the reason why there are no intervals, or ""."""
        return refusal_of(self.answers)

    def interval(
        self, confidence: float = 0.95, *, target: Target = "contributors", simultaneous: bool | int = False
    ) -> tuple[Floats, Floats]:
        """Return (lower, upper) of every share, each float64[m]. If `simultaneous` is True, all hold together.

        The parameters are those of `Answer.interval`.

        Raises
        ------
        NoIntervalError
            If no valid intervals are known.
        """
        together = checked_comparisons(simultaneous, max(len(self.answers), 1))
        found = [answer.interval(confidence, target=target, simultaneous=together) for answer in self.answers]
        lower, upper = np.array([*found, (1.0, 1.0)]).T
        return lower, upper

    def band(
        self, confidence: float = 0.95, target: Target = "contributors", simultaneous: int = 1
    ) -> tuple[Floats, Floats]:
        """Return (lower, upper), each float64[m], between which the whole curve lies with `confidence`.

        The band is made of Bonferroni's intervals. Its ends increase, as those of a distribution function, and lie in
        [0, 1].

        Parameters
        ----------
        confidence : float
            Coverage in (0, 1).
        target : {"contributors", "population"}
            Target of the band.
        simultaneous : int
            Number of intervals that must hold together, with those of the band. It is at least the number of intervals
            in the band.
        """
        together = max(checked_comparisons(simultaneous, 1), len(self.answers), 1)
        asked = confidence, target, together
        if asked not in self._bands:
            lower, upper = self.interval(confidence, target=target, simultaneous=together)
            lower, upper = np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]
            self._bands[asked] = np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
        lower, upper = self._bands[asked]
        return lower.copy(), upper.copy()

    @cached_property
    def _bands(self) -> dict[tuple[float, Target, int], tuple[Floats, Floats]]:
        """Bands computed so far, so that all quantiles read their ends from the same band."""
        return {}

    def quantile(self, p: float) -> Quantile:
        """Return the quantile of p in (0, 1), which is the lowest category up to which at least a share p lies."""
        p = checked_probability("p", p, open_interval=True)
        return Quantile(p, self, int(np.argmax(self.values >= p)))


@dataclass(frozen=True, eq=False)
class Quantile:
    """The lowest category up to which a share of at least p lies.

    Analysts get it from `Estimate.quantiles`.

    Parameters
    ----------
    p : float
        The share.
    cdf : Cdf
        Distribution function of the quantile.
    place : int
        Place of the category in the distribution function.
    """

    p: float
    cdf: Cdf = field(repr=False)
    place: int

    def __repr__(self) -> str:
        return f"Quantile(p={self.p:g}, label={self.label!r})"

    @property
    def determined(self) -> bool:
        """Return whether there are reports that determine the quantile."""
        return bool(np.isfinite(self.cdf.values).all())

    @property
    def label(self) -> str:
        """Label of the category, or "" if there are no reports."""
        return self.cdf.labels[self.place] if self.determined else ""

    @property
    def value(self) -> float:
        """Score of the category, or NaN if categories have no scores or there are no reports."""
        return self._score(self.place) if self.determined else math.nan

    def places(
        self, confidence: float = 0.95, target: Target = "contributors", simultaneous: int = 1
    ) -> tuple[int, int]:
        """Return the places in the cdf of the lowest and highest category that the band allows (see `Cdf.band`).

        Raises
        ------
        NoIntervalError
            If there are no reports, or no valid interval is known.
        """
        if not self.determined:
            raise NoIntervalError("a quantile without reports has no interval")
        lower, upper = self.cdf.band(confidence, target, simultaneous)
        most = int(np.argmax(lower >= self.p))
        least = int(np.argmax(upper >= self.p))
        # A band that contains no distribution function crosses itself. The range then covers the places between its
        # ends, and the estimate.
        return min(least, most, self.place), max(least, most, self.place)

    def interval(
        self, confidence: float = 0.95, *, target: Target = "contributors", simultaneous: int = 1
    ) -> tuple[str, str]:
        """Return the lowest and highest category that the band allows. Intervals of all quantiles hold together.

        Raises
        ------
        NoIntervalError
            If there are no reports, or no valid interval is known.
        """
        least, most = self.places(confidence, target, simultaneous)
        return self.cdf.labels[least], self.cdf.labels[most]

    def bounds(
        self, confidence: float = 0.95, *, target: Target = "contributors", simultaneous: int = 1
    ) -> tuple[float, float]:
        """Return the scores of the ends of `interval`, or NaN if categories have no scores.

        Raises
        ------
        NoIntervalError
            If there are no reports, or no valid interval is known.
        """
        least, most = self.places(confidence, target, simultaneous)
        return self._score(least), self._score(most)

    def _score(self, place: int) -> float:
        return float("nan") if self.cdf.scores is None else float(self.cdf.scores[place])
