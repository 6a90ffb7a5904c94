"""The question that an attribute answers, and how far off its answer may be in its own unit."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

from deniable.core.mechanism import Mechanism
from deniable.planning.precision import MAX_CONTRIBUTORS, TARGET_PRECISION, fewest
from deniable.planning.question_error import ShareVariance
from deniable.survey.attribute import Attribute
from deniable.survey.schema import Schema

_WITHOUT = ("two phases", "dealt", "open text")
"""Shelves of mechanisms whose error is no plain variance, or not one for any number of contributors."""


@dataclass(frozen=True)
class Question(ABC):
    """One attribute of a collection, and what is asked of it.

    Parameters
    ----------
    attribute : Attribute
        As the schema declares it.
    mechanism : Mechanism
        What the collection randomises with.
    index : int
        Number of the attribute.
    """

    attribute: Attribute
    mechanism: Mechanism[Any]
    index: int

    ask: ClassVar[str]
    """What is asked: "shares" or "mean"."""

    @property
    @final
    def name(self) -> str:
        """What people call it."""
        return self.attribute.name

    @property
    @abstractmethod
    def span(self) -> float:
        """Length of the range of the answer: 100 percentage points, or that of the scale."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """What an error is counted in."""

    @property
    @abstractmethod
    def worst(self) -> str:
        """The answers for which the error is largest, in words."""

    @abstractmethod
    def standard_error(self, n: int) -> float:
        """Return the largest standard error among n contributors, in its unit."""

    @final
    def relative_error(self, n: int) -> float:
        """Return the largest standard error among n contributors as a share of the range."""
        return self.standard_error(n) / self.span

    @final
    def spoken(self, half_width: float) -> str:
        """Return a half-width with its unit: "+-29 percentage points"."""
        digits = max(0, 1 - math.floor(math.log10(half_width))) if half_width > 0 else 0
        return f"+-{half_width:.{digits}f} {self.unit}"

    @final
    def contributors_needed(self, target: float, z: float) -> int | None:
        """Return how many contributors make z standard errors at most a share `target` of the range, to four digits."""
        return fewest(lambda n: z * self.relative_error(n) <= target * (1 + TARGET_PRECISION))


@final
@dataclass(frozen=True)
class ShareQuestion(Question):
    """Which share of the contributors gives an answer: the error of any one category."""

    ask = "shares"
    span = 100.0
    unit = "percentage points"

    @cached_property
    def law(self) -> ShareVariance:
        """Variance of a share, times the number of contributors."""
        return ShareVariance.of(self.mechanism, self.index, MAX_CONTRIBUTORS).times(MAX_CONTRIBUTORS)

    @property
    def worst(self) -> str:
        """A share."""
        return "any share" if self.law.even else f"a share of {100 * self.law.worst[0]:.0f}%"

    def standard_error(self, n: int) -> float:
        """Return that of the share where it is largest, in percentage points."""
        return 100 * math.sqrt(ShareVariance.of(self.mechanism, self.index, n).worst[1])


def can_be_planned(mechanism: Mechanism[Any]) -> bool:
    """Tell whether a mechanism's errors follow from a variance for any number of contributors."""
    return mechanism.card.planned and mechanism.card.shelf not in _WITHOUT


def questions_of(schema: Schema, mechanism: Mechanism[Any]) -> tuple[Question, ...]:
    """Return what is asked of every attribute; nothing where the mechanism's errors cannot be planned.

    Examples
    --------
    >>> from deniable import GRR
    >>> (smoker,) = questions_of(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon=1.0))
    >>> smoker.ask, smoker.spoken(1.96 * smoker.standard_error(8000))
    ('shares', '+-2.1 percentage points')
    """
    if not can_be_planned(mechanism):
        return ()
    return tuple(ShareQuestion(attribute, mechanism, j) for j, attribute in enumerate(schema.attributes))
