"""Answer: one number that somebody asked of estimates, with what it is sure of.

A mean, a total, a difference: whoever computes an answer says how its interval is made. Every interval says whom it
covers, as those of estimates do: these contributors (the noise of the randomisation alone), or the population that they
were drawn from (noise and sampling).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from deniable.core import bounded_sums
from deniable.core.bounded_sums import BoundedSum
from deniable.core.checks import Target, check_target, checked_comparisons, checked_probability
from deniable.core.support_counts import normal_quantile
from deniable.errors import NoIntervalError

Bounds: TypeAlias = tuple[float, float]

NOTHING = (-math.inf, math.inf)
"""The interval of an answer that the reports do not determine."""


@dataclass(frozen=True, eq=False)
class Answer:
    """One number about the answers of contributors, or of the population that they were drawn from.

    Analysts get one from `Estimate.linear`, `Estimate.mean` and the like, and from `deniable.answers`.

    Parameters
    ----------
    value : float
        The answer; NaN where there are no reports.
    errors : mapping of target to float
        Its standard error for each target; NaN where none is known.
    question : str
        What was asked, in words that complete "the ...".
    n : int
        Number of reports behind it.
    bounds : callable, optional
        (tail, target) -> (lower, upper), either bound failing with probability at most about `tail`; an end may be
        infinite. By default value -+ z standard errors (Wald), or where `is_few` the bounds of `sums`.
    score : callable, optional
        As `bounds`, not cut off at 0 or 1: how far the answer may lie off on either side, from which intervals of sums
        of independent answers are made. By default `bounds`.
    sums : tuple of BoundedSum
        The independent sums of reports that the answer is the total of, where that is known.
    few : callable, optional
        target -> whether the answer is made of too few reports to be taken for normal. By default told by `sums`.
    refusal : str
        Why there is no interval, where there is none.
    source : frozenset of str
        Which collections, batches of reports and earlier phases are behind it, so that numbers that share one are not
        taken for independent.

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
    bounds: Callable[[float, Target], Bounds] | None = field(default=None, repr=False)
    score: Callable[[float, Target], Bounds] | None = field(default=None, repr=False)
    sums: tuple[BoundedSum, ...] = field(default=(), repr=False)
    few: Callable[[Target], bool] | None = field(default=None, repr=False)
    refusal: str = field(default="", repr=False)
    source: frozenset[str] = field(default=frozenset(), repr=False)

    def __repr__(self) -> str:
        error = self.standard_error
        uncertain = f" ± {error:.5g}" if math.isfinite(error) else ""
        return f"{self.question or 'answer'}: {self.value:.5g}{uncertain}"

    @property
    def standard_error(self) -> float:
        """Standard error about these contributors: the noise of the randomisation alone; NaN where none is known."""
        return self.errors["contributors"]

    def standard_error_for(self, target: Target) -> float:
        """Return the standard error for a target: "contributors" (noise) or "population" (and sampling)."""
        check_target(target)
        return self.errors[target]

    @property
    def has_interval(self) -> bool:
        """Return whether `interval` has one to return."""
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
            What the interval covers: noise only, or noise and sampling from a large population.
        simultaneous : bool or int
            How many intervals shall hold together with `confidence` (Bonferroni): all that are read, of this answer and
            of others. False and True are 1.

        Returns
        -------
        (float, float)
            An end may be infinite: the reports do not determine it. NaN if there are no reports.

        Raises
        ------
        InvalidParameterError
            If the confidence, the target or the number of intervals is out of bounds.
        NoIntervalError
            If no valid one is known, saying why.
        """
        check_target(target)
        confidence = checked_probability("confidence", confidence, open_interval=True)
        if self.refusal:
            raise NoIntervalError(self.refusal)
        return self.at_tail((1 - confidence) / (2 * checked_comparisons(simultaneous, 1)), target)

    def is_few(self, target: Target) -> bool:
        """Return whether it is made of too few reports that matter to be taken for normal; see `bounded_sums`."""
        if self.few is not None:
            return self.few(target)
        grain = np.max([one.grain(target) for one in self.sums], initial=0.0)
        return bool(self.sums) and bool(bounded_sums.is_few(self.errors[target], grain))

    def at_tail(self, tail: float, target: Target) -> Bounds:
        """Return (lower, upper), either failing with probability at most about `tail`: for answers made of answers."""
        if self.bounds is not None:
            return self.bounds(tail, target)
        if self.is_few(target):
            lower, upper = bounded_sums.bounds(self.sums, tail, target)
            return float(lower[0]), float(upper[0])
        half = normal_quantile(tail) * self.errors[target]
        return self.value - half, self.value + half

    def ends(self, tail: float, target: Target) -> Bounds:
        """Return (lower, upper) of `score`: for sums of independent answers."""
        return self.at_tail(tail, target) if self.score is None else self.score(tail, target)

    def determined(self, confidence: float = 0.95, **options: Any) -> bool:
        """Return whether both ends of the interval exist and are finite."""
        return self.has_interval and all(map(math.isfinite, self.interval(confidence, **options)))


def rescaled(answer: Answer, factor: float, offset: float = 0.0, question: str = "") -> Answer:
    """Return factor times an answer, plus offset, both known exactly."""

    def moved(bounds: Bounds) -> Bounds:
        lower, upper = sorted(factor * end + offset for end in bounds)
        return lower, upper

    return replace(
        answer,
        value=factor * answer.value + offset,
        errors={target: abs(factor) * error for target, error in answer.errors.items()},
        question=question or answer.question,
        sums=tuple(one.scaled(factor, offset / len(answer.sums)) for one in answer.sums),
        bounds=lambda tail, target: moved(answer.at_tail(tail, target)),
        score=lambda tail, target: moved(answer.ends(tail, target)),
    )


def refusal_of(answers: Iterable[Answer]) -> str:
    """Return why an answer made of these has no interval; "" if all of them have one."""
    return next((answer.refusal for answer in answers if answer.refusal), "")
