"""The question that an attribute answers, and how far off its answer may be in its own unit."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.mechanism import Mechanism
from deniable.planning.precision import MAX_CONTRIBUTORS, TARGET_PRECISION, fewest
from deniable.planning.question_error import MeanVariance, ShareVariance
from deniable.records.joint import has_tables
from deniable.survey.attribute import Attribute
from deniable.survey.schema import Schema

_WITHOUT = ("two phases", "dealt", "open text")
"""Shelves of mechanisms whose error is no plain variance, or not one for any number of contributors."""


@dataclass(frozen=True)
class Question(ABC):
    """One column of a collection's records, and what is asked of it.

    Parameters
    ----------
    attribute : Attribute
        The column: a question, or one box of a question of several answers.
    mechanism : Mechanism
        What the collection randomises with.
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
    """What is asked: "shares" or "mean"."""

    @property
    def label(self) -> str:
        """What people read: its title, or its name."""
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
        """What an error is counted in."""

    @property
    @abstractmethod
    def worst(self) -> str:
        """The answers for which the error is largest, in words."""

    @property
    @abstractmethod
    def shares(self) -> tuple[float, ...]:
        """Of shares, the variance at 0, 1/2 and 1, in squared fractions, times the number of contributors; else ()."""

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
        """Return a half-width with its unit: "+-29 percentage points"."""
        digits = max(0, 1 - math.floor(math.log10(half_width))) if half_width > 0 else 0
        return f"+-{half_width:.{digits}f} {self.unit}"

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
        """What every code counts; NaN for those that count nowhere."""
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
    ('shares', '+-2.1 percentage points')
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
