"""Answer: a number computed from estimates, with its standard error and its interval.

An answer is a mean, a total, a difference or the like. The code that computes an answer also says how its interval is
computed. As for estimates, every interval states its target. The target is either these contributors (only the noise of
the randomisation), or the population from which they were drawn (noise and sampling).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, final

import numpy as np

from deniable.core import bounded_sums
from deniable.core.bounded_sums import BoundedSum
from deniable.core.checks import Target, check_target, checked_comparisons, checked_probability
from deniable.core.support_counts import normal_quantile
from deniable.errors import NoIntervalError

Bounds: TypeAlias = tuple[float, float]

NOTHING = (-math.inf, math.inf)
"""The interval of an answer that the reports do not determine."""


class Intervals(ABC):
    """The method by which an answer computes its interval.

    Every answer has such an object. The docstring of a subclass says for which answers the subclass is.
    """

    @abstractmethod
    def at_tail(self, answer: Answer, tail: float, target: Target) -> Bounds:
        """Return (lower, upper). Each bound fails with probability at most about `tail`, and may be infinite."""

    @abstractmethod
    def ends(self, answer: Answer, tail: float, target: Target) -> Bounds:
        """Return (lower, upper) without clipping to [0, 1], for intervals of sums of independent answers."""

    @abstractmethod
    def is_few(self, answer: Answer, target: Target) -> bool:
        """Return whether too few reports matter for the answer to be treated as normal."""


@final
class NormalIntervals(Intervals):
    """Intervals of z standard errors on both sides (Wald), or the bounds of `sums` if few reports matter."""

    def at_tail(self, answer: Answer, tail: float, target: Target) -> Bounds:
        if self.is_few(answer, target):
            lower, upper = bounded_sums.bounds(answer.sums, tail, target)
            return float(lower[0]), float(upper[0])
        half = normal_quantile(tail) * answer.errors[target]
        return answer.value - half, answer.value + half

    def ends(self, answer: Answer, tail: float, target: Target) -> Bounds:
        return self.at_tail(answer, tail, target)

    def is_few(self, answer: Answer, target: Target) -> bool:
        grain = np.max([one.grain(target) for one in answer.sums], initial=0.0)
        return bool(answer.sums) and bool(bounded_sums.is_few(answer.errors[target], grain))


NORMAL = NormalIntervals()


@final
@dataclass(frozen=True, eq=False)
class ComputedIntervals(Intervals):
    """Intervals of an answer that has its own formula.

    Parameters
    ----------
    bounds : callable
        Function of (tail, target) that returns (lower, upper).
    few : callable
        Function of a target that returns whether too few reports matter for the answer to be treated as normal.
    """

    bounds: Callable[[float, Target], Bounds]
    few: Callable[[Target], bool]

    def at_tail(self, answer: Answer, tail: float, target: Target) -> Bounds:  # noqa: ARG002
        return self.bounds(tail, target)

    def ends(self, answer: Answer, tail: float, target: Target) -> Bounds:  # noqa: ARG002
        return self.bounds(tail, target)

    def is_few(self, answer: Answer, target: Target) -> bool:  # noqa: ARG002
        return self.few(target)


UNDETERMINED = ComputedIntervals(lambda _tail, _target: NOTHING, lambda _target: False)
"""The intervals of an answer that the reports do not determine."""


@final
@dataclass(frozen=True, eq=False)
class RescaledIntervals(Intervals):
    """Intervals of another answer times a factor, plus an offset."""

    original: Answer
    factor: float
    offset: float

    def _moved(self, bounds: Bounds) -> Bounds:
        lower, upper = sorted(self.factor * end + self.offset for end in bounds)
        return lower, upper

    def at_tail(self, answer: Answer, tail: float, target: Target) -> Bounds:  # noqa: ARG002
        return self._moved(self.original.at_tail(tail, target))

    def ends(self, answer: Answer, tail: float, target: Target) -> Bounds:  # noqa: ARG002
        return self._moved(self.original.ends(tail, target))

    def is_few(self, answer: Answer, target: Target) -> bool:
        return self.original.intervals.is_few(answer, target)


@dataclass(frozen=True, eq=False)
class Answer:
    """One number about the answers of contributors, or of the population from which they were drawn.

    Analysts get answers from methods such as `Estimate.linear` and `Estimate.mean`, and from `deniable.answers`.

    Parameters
    ----------
    value : float
        The answer. NaN if there are no reports.
    errors : mapping of target to float
        Standard error of the answer for each target. NaN if it is not known.
    question : str
        The question, in words that complete "the ...".
    n : int
        Number of reports behind the answer.
    intervals : Intervals
        Method that computes the interval. The default interval is z standard errors on both sides, or the bounds of
        `sums` if few reports matter.
    sums : tuple of BoundedSum
        Independent sums of reports whose total is the answer, if they are known.
    refusal : str
        Reason why there is no interval, or "".
    source : frozenset of str
        Ids of the collections, report batches and earlier phases behind the answer. Answers that share an id are not
        independent.
    extent : (float, float) or None
        Least and largest value for any answers of the contributors: (0, 1) for a frequency, and the least and the
        largest score for a mean. None if they are not known.
    everyone : bool
        Whether the answer is a mean over all contributors to one collection, with one number for each contributor.

    Examples
    --------
    >>> from deniable import GRR
    >>> grr = GRR(k=3, epsilon=3.0)
    >>> stars = grr.estimate(grr.aggregate([0, 2, 2, 1, 2])).named("stars", ["1", "2", "3"])
    >>> stars.total(["2", "3"])
    total of “2”, “3” of “stars”: 0.82096 ± 0.11599
    >>> [round(end, 3) for end in stars.total(["2", "3"]).interval(0.9)]
    [0.6, 1.0]
    """

    value: float
    errors: Mapping[Target, float]
    question: str = ""
    n: int = 0
    intervals: Intervals = field(default=NORMAL, repr=False)
    sums: tuple[BoundedSum, ...] = field(default=(), repr=False)
    refusal: str = field(default="", repr=False)
    source: frozenset[str] = field(default=frozenset(), repr=False)
    extent: Bounds | None = field(default=None, repr=False)
    everyone: bool = field(default=False, repr=False)

    def __repr__(self) -> str:
        error = self.standard_error
        uncertain = f" ± {error:.5g}" if math.isfinite(error) else ""
        return f"{self.question or 'answer'}: {self.value:.5g}{uncertain}"

    @property
    def standard_error(self) -> float:
        """Standard error for these contributors (only the noise of the randomisation). NaN if it is not known."""
        return self.errors["contributors"]

    def standard_error_for(self, target: Target) -> float:
        """Return the standard error for "contributors" (noise only) or "population" (noise and sampling)."""
        check_target(target)
        return self.errors[target]

    @property
    def has_interval(self) -> bool:
        """Return whether the answer has an interval."""
        return not self.refusal

    def interval(
        self, confidence: float = 0.95, *, target: Target = "contributors", simultaneous: bool | int = False
    ) -> Bounds:
        """Return (lower, upper).

        Parameters
        ----------
        confidence : float
            Coverage in (0, 1).
        target : {"contributors", "population"}
            "contributors": the interval allows for the noise only. "population": it allows for the noise and for
            sampling from a large population.
        simultaneous : bool or int
            Number of intervals that must hold together with probability `confidence` (Bonferroni). Count all intervals
            that you use, of this answer and of others. False and True mean 1.

        Returns
        -------
        (float, float)
            Ends of the interval. An end is infinite if the reports do not determine it. NaN if there are no reports.

        Raises
        ------
        InvalidParameterError
            If the confidence, the target or the number of intervals is out of bounds.
        NoIntervalError
            If no valid interval is known. The message says why.
        """
        check_target(target)
        confidence = checked_probability("confidence", confidence, open_interval=True)
        if self.refusal:
            raise NoIntervalError(self.refusal)
        return self.at_tail((1 - confidence) / (2 * checked_comparisons(simultaneous, 1)), target)

    def is_few(self, target: Target) -> bool:
        """Return whether too few reports matter for the answer to be treated as normal (see `bounded_sums`)."""
        return self.intervals.is_few(self, target)

    def at_tail(self, tail: float, target: Target) -> Bounds:
        """Return (lower, upper) for use in other answers. Each bound fails with probability at most about `tail`."""
        return self.intervals.at_tail(self, tail, target)

    def ends(self, tail: float, target: Target) -> Bounds:
        """Return (lower, upper) without clipping to [0, 1], for use in sums of independent answers."""
        return self.intervals.ends(self, tail, target)

    def determined(self, confidence: float = 0.95, **options: Any) -> bool:
        """Return whether both ends of the interval exist and are finite."""
        return self.has_interval and all(map(math.isfinite, self.interval(confidence, **options)))


def rescaled(answer: Answer, factor: float, offset: float = 0.0, question: str = "") -> Answer:
    """Return an answer times a factor, plus an offset. The factor and the offset are known exactly."""
    ends = sorted(factor * end + offset for end in answer.extent or ())
    return replace(
        answer,
        value=factor * answer.value + offset,
        errors={target: abs(factor) * error for target, error in answer.errors.items()},
        question=question or answer.question,
        sums=tuple(one.scaled(factor, offset / len(answer.sums)) for one in answer.sums),
        intervals=RescaledIntervals(answer, factor, offset),
        extent=(ends[0], ends[1]) if ends else None,
    )


def refusal_of(answers: Iterable[Answer]) -> str:
    """Return the reason why an answer made of these answers has no interval, or "" if all of them have one."""
    return next((answer.refusal for answer in answers if answer.refusal), "")
