"""Question that an attribute answers, and the largest error of its answer in the answer's own unit.

The error is valid for any answers of the contributors. Errors include only the noise of the randomisation, so they are
about these contributors. The variance of a share is a quadratic in that share. The variance of a mean is a quadratic in
the distribution of the answers. So the worst case of either is computed in closed form, without a search.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.mechanism import Mechanism
from deniable.planning.precision import MAX_CONTRIBUTORS, TARGET_PRECISION, attribute_variance, fewest
from deniable.records.joint import has_tables
from deniable.survey.attribute import Attribute
from deniable.survey.schema import Schema

Floats = NDArray[np.float64]

TIE = 1e-9
"""Relative difference of variances that counts as rounding."""


@dataclass(frozen=True)
class ShareVariance:
    """Variance of one estimated share among n contributors at any true share.

    Parameters
    ----------
    absent, half, present : float
        Variances at the true shares 0, 1/2 and 1.

    Examples
    --------
    >>> from deniable import GRR
    >>> law = ShareVariance.of(GRR(k=4, epsilon=1.0), 0, 1000)
    >>> law.at(0.25) == law.absent + 0.25 * (law.present - law.absent)
    True
    >>> law.worst == (1.0, law.present)  # a share of 100%
    True
    """

    absent: float
    half: float
    present: float

    @classmethod
    def of(cls, mechanism: Mechanism[Any], attribute: int, n: int) -> ShareVariance:
        """Return the law of one attribute's shares."""
        return cls(*(attribute_variance(mechanism, attribute, f, n) for f in (0.0, 0.5, 1.0)))

    def times(self, factor: float) -> ShareVariance:
        """Return the law multiplied by a factor: by n, that of one contributor."""
        return ShareVariance(self.absent * factor, self.half * factor, self.present * factor)

    @property
    def curved(self) -> float:
        """Coefficient of f (1 - f)."""
        return 4 * (self.half - (self.absent + self.present) / 2)

    def at(self, share: float) -> float:
        """Return the variance at a true share in [0, 1]."""
        return self.absent + share * (self.present - self.absent) + self.curved * share * (1 - share)

    @property
    def worst(self) -> tuple[float, float]:
        """The share where the variance is largest, and the variance there."""
        shares = [0.0, 1.0]
        # Rounding may leave a curvature where there is none. Its summit then changes nothing.
        if self.curved > TIE * self.half:
            summit = (self.present - self.absent + self.curved) / (2 * self.curved)
            shares.insert(0, min(max(summit, 0.0), 1.0))
        largest = max(map(self.at, shares))
        share = next(share for share in shares if self.at(share) >= largest * (1 - TIE))
        return share, self.at(share)

    @property
    def even(self) -> bool:
        """Return whether the variance is the same at every share."""
        return min(map(self.at, (0.0, 0.5, 1.0))) >= self.worst[1] * (1 - TIE)


@dataclass(frozen=True)
class MeanVariance:
    """Largest variance of an estimated mean, and the answers at which it is reached.

    Parameters
    ----------
    variance : float
        Largest variance, in squared units of the scores.
    low, high : int
        Codes that the contributors hold in the worst case; the same code twice if all hold one code.
    share : float
        Share of contributors who hold `high`.

    Notes
    -----
    The noise of independent reports is linear in the distribution f of the answers. Reports about a sampled attribute
    add a multiple of the variance of the scores under f, which is concave. For a given mean the sum is linear in f, so
    it is largest if at most two values are held. All pairs of values are compared, each in closed form.

    Codes without a score (a missing answer) do not count. The mean is then a ratio, the mean of those who gave an
    answer with a score. By the delta method its error is that of the scores less the mean. So the error depends on the
    mean, and it is computed for 33 means.
    """

    variance: float
    low: int
    high: int
    share: float

    @classmethod
    def of(cls, mechanism: Any, attribute: int, scores: Floats, n: int) -> MeanVariance:
        """Return the worst case of the mean of one attribute's scores if everybody gives an answer with a score.

        Parameters
        ----------
        mechanism : Mechanism
            Mechanism with `linear_variance`.
        attribute : int
            Which one.
        scores : float64[k]
            Scores of the attribute's values; NaN for values that do not count.
        n : int
            Number of contributors.
        """
        counted = np.flatnonzero(np.isfinite(scores))
        if len(counted) > MAX_HELD:
            counted = counted[np.linspace(0, len(counted) - 1, MAX_HELD).round().astype(np.int64)]
        noise = _Noise(mechanism, attribute, n)
        own = scores[counted]
        sampling = noise.sampling(scores, counted) * (own[:, None] - own[None, :]) ** 2
        if np.isfinite(scores).all():
            alone = noise.alone(noise.shifted(scores), counted)
            rise = alone[None, :] - alone[:, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                summit = np.where(sampling > TIE * alone.max(), (rise + sampling) / (2 * sampling), rise > 0)
            return _largest(counted, alone, sampling, np.clip(summit, 0.0, 1.0))
        # The noise is quadratic in the mean, so its values at three means give all others.
        low, high = own.min(), own.max()
        above = noise.shifted(np.where(np.isfinite(scores), scores, 0.0))
        below = noise.shifted(np.isfinite(scores).astype(np.float64))
        first, middle, last = (noise.alone(above - mean * below, counted) for mean in (low, (low + high) / 2, high))
        found = []
        for t in np.linspace(0, 1, _MEANS):
            mean = low + t * (high - low)
            alone = (1 - t) * (1 - 2 * t) * first + 4 * t * (1 - t) * middle + t * (2 * t - 1) * last
            with np.errstate(divide="ignore", invalid="ignore"):
                share = (mean - own[:, None]) / (own[None, :] - own[:, None])
            share[own[:, None] == own[None, :]] = np.nan
            share[np.diag_indices_from(share)] = np.where(own == mean, 0.0, np.nan)
            share[(share < 0) | (share > 1)] = np.nan
            found.append(_largest(counted, alone, sampling, share))
        return max(found, key=lambda one: one.variance)


MAX_HELD = 65
"""Most values among which the worst case is sought. Longer scales use this many values, evenly spread and with both
ends."""

_MEANS = 33


@dataclass(frozen=True, eq=False)
class _Noise:
    """Variance that a mechanism adds to a linear question of one attribute."""

    mechanism: Any
    attribute: int
    n: int

    def alone(self, weights: Floats, codes: NDArray[np.int64]) -> Floats:
        """Return the variance where everybody holds one of the codes, for each of them."""
        return np.array([self._variance(weights, code) for code in codes])

    def shifted(self, weights: Floats) -> Floats:
        """Return weights less the constant that an estimate takes off: frequencies sum to one, so it has no error."""
        uniform = np.full(len(weights), 1 / len(weights))
        ones, scale = np.ones(len(weights)), float(np.abs(weights).max())
        both = (self._at(weights / scale + ones, uniform) - self._at(weights / scale - ones, uniform)) / 4
        alone = self._at(ones, uniform)
        return (
            weights - scale * both / alone if alone > TIE * self._at(np.eye(1, len(weights))[0], uniform) else weights
        )

    def sampling(self, scores: Floats, codes: NDArray[np.int64]) -> float:
        """Return what the sampling of reports adds, as a multiple of the variance of the scores."""
        weights = np.where(np.isfinite(scores), scores, 0.0)
        low, high = codes[scores[codes].argmin()], codes[scores[codes].argmax()]
        mixed = self._variance(weights, low, high)
        beyond = mixed - (self._variance(weights, low) + self._variance(weights, high)) / 2
        return float(4 * beyond / (scores[high] - scores[low]) ** 2)

    def _variance(self, weights: Floats, *codes: np.int64) -> float:
        held = np.zeros(len(weights))
        np.add.at(held, list(codes), 1 / len(codes))
        return self._at(weights, held)

    def _at(self, weights: Floats, held: Floats) -> float:
        own = (self.attribute,) if self.mechanism.records else ()
        return float(self.mechanism.linear_variance(weights, held, self.n, *own))


def _largest(codes: NDArray[np.int64], alone: Floats, sampling: Floats, share: Floats) -> MeanVariance:
    """Return the largest variance where a share holds the second value of each pair; NaN for pairs to leave out."""
    found = (1 - share) * alone[:, None] + share * alone[None, :] + sampling * share * (1 - share)
    low, high = np.unravel_index(int(np.nanargmax(found)), found.shape)
    return MeanVariance(float(found[low, high]), int(codes[low]), int(codes[high]), float(share[low, high]))


_WITHOUT = ("two phases", "dealt", "open text")
"""Groups of mechanisms whose error is not a plain variance, or is not one for every number of contributors."""


@dataclass(frozen=True)
class Question(ABC):
    """Column of a collection's records, and the question about it.

    Parameters
    ----------
    attribute : Attribute
        Attribute of the column: a question, or one option of a multiple-choice question.
    mechanism : Mechanism
        Mechanism of the collection.
    index : int
        Number of the column.
    source : int
        Number of the question among the schema's attributes.
    """

    attribute: Attribute
    mechanism: Mechanism[Any]
    index: int
    source: int

    ask: ClassVar[str]
    """Statistic that is asked for: "shares" or "mean"."""

    @property
    def label(self) -> str:
        """Name for people: its title, or its name."""
        return self.attribute.title or self.attribute.name

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """Ends of the range of the answer: 0 and 100 percentage points, or those of the scale."""

    @property
    def span(self) -> float:
        """Length of the range of the answer."""
        low, high = self.ends
        return high - low

    @property
    @abstractmethod
    def unit(self) -> str:
        """Return what an error is counted in."""

    @property
    @abstractmethod
    def worst(self) -> str:
        """The answers for which the error is largest, in words."""

    @property
    @abstractmethod
    def shares(self) -> tuple[float, ...]:
        """Variances of shares at 0, 1/2 and 1, in squared fractions, times the number of contributors; else ()."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The largest variance of the answer, in squared units, times the number of contributors."""

    def standard_error(self, n: int) -> float:
        """Return the largest standard error among n contributors, in its unit."""
        return math.sqrt(self.variance / n)

    def relative_error(self, n: int) -> float:
        """Return the largest standard error among n contributors as a share of the range."""
        return self.standard_error(n) / self.span

    def spoken(self, half_width: float) -> str:
        """Return a half-width with its unit: "±29 percentage points"."""
        digits = max(0, 1 - math.floor(math.log10(half_width))) if half_width > 0 else 0
        return f"±{half_width:.{digits}f} {self.unit}"

    def contributors_needed(self, target: float, z: float) -> int | None:
        """Return how many contributors make z standard errors at most a share `target` of the range, to four digits."""
        return fewest(lambda n: z * self.relative_error(n) <= target * (1 + TARGET_PRECISION))


@final
@dataclass(frozen=True)
class ShareQuestion(Question):
    """Which share of the contributors gives an answer: the error of any one category."""

    ask = "shares"
    ends = (0.0, 100.0)
    unit = "percentage points"

    @cached_property
    def law(self) -> ShareVariance:
        """Variance of a share, times the number of contributors: all fall as 1/n."""
        return ShareVariance.of(self.mechanism, self.index, MAX_CONTRIBUTORS).times(MAX_CONTRIBUTORS)

    @property
    def worst(self) -> str:
        """A share."""
        return "any share" if self.law.even else f"a share of {100 * self.law.worst[0]:.0f}%"

    @property
    def shares(self) -> tuple[float, ...]:
        """Those of the law."""
        return self.law.absent, self.law.half, self.law.present

    @property
    def variance(self) -> float:
        """That of the share where it is largest."""
        return self.law.worst[1] * self.span**2


@final
@dataclass(frozen=True)
class MeanQuestion(Question):
    """The mean of the contributors' scores."""

    ask = "mean"
    shares = ()

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """Return what every code counts; NaN for those that count nowhere."""
        found = self.attribute.code_scores
        assert found is not None, "who asks for a mean has scores"
        return found

    @property
    def ends(self) -> tuple[float, float]:
        """The least score and the largest."""
        return float(np.nanmin(self.scores)), float(np.nanmax(self.scores))

    @property
    def unit(self) -> str:
        """The scale, by its ends."""
        low, high = self.ends
        return f"on the scale from {low:g} to {high:g}"

    @cached_property
    def law(self) -> MeanVariance:
        """The worst case, times the number of contributors."""
        found = MeanVariance.of(self.mechanism, self.index, self.scores, MAX_CONTRIBUTORS)
        return replace(found, variance=found.variance * MAX_CONTRIBUTORS)

    @property
    def _rounding(self) -> float:
        """Largest variance that rounding a number at random to a point of the grid adds, of one contributor."""
        rounded = self.attribute.question_kind.rounded
        return (self.span / (len(self.attribute.categories) - 1) / 2) ** 2 if rounded else 0.0

    @property
    def worst(self) -> str:
        """One or two answers that everybody gives."""
        law, labels = self.law, self.attribute.labels
        if law.low == law.high or law.share in (0.0, 1.0):
            return f"everybody answers {labels[law.high if law.share else law.low]}"
        return f"{100 * (1 - law.share):.0f}% answer {labels[law.low]}, {100 * law.share:.0f}% {labels[law.high]}"

    @property
    def variance(self) -> float:
        """That of the mean where it is largest, with the rounding of numbers to a grid."""
        return self.law.variance + self._rounding


def can_be_planned(mechanism: Mechanism[Any]) -> bool:
    """Tell whether a mechanism's errors of shares follow from a variance for any number of contributors."""
    return mechanism.card.planned and mechanism.card.group not in _WITHOUT


def questions_of(schema: Schema, mechanism: Mechanism[Any]) -> tuple[Question, ...]:
    """Return what is asked of every attribute; nothing where the mechanism's errors cannot be planned.

    Examples
    --------
    >>> from deniable import GRR
    >>> (smoker,) = questions_of(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    >>> smoker.ask, smoker.spoken(1.96 * smoker.standard_error(8000))
    ('shares', '±2.1 percentage points')
    """
    found: list[Question] = []
    for source, attribute in enumerate(schema.attributes):
        for column in attribute.columns:
            kind = MeanQuestion if column.ask == "mean" else ShareQuestion
            found.append(kind(column, mechanism, len(found), source))
    if any(question.ask == "mean" for question in found) or has_tables(mechanism):
        planned = mechanism.linear and mechanism.card.group not in _WITHOUT
    else:
        planned = can_be_planned(mechanism)
    return tuple(found) if planned else ()
