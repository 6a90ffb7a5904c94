"""Dress rehearsal, which runs the whole survey many times with invented people and counts misleading reports.

Aggregates are drawn directly (`simulate_aggregate`), with exactly the distribution of the sum of these people's
reports. So hundreds of runs take seconds. The people are the same in every run, and only the randomisation differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.answers.summary import Summary, summarize
from deniable.core.aggregate import Aggregate
from deniable.core.answer import NOTHING
from deniable.core.checks import checked_integer, checked_probability
from deniable.core.estimate import Estimate
from deniable.core.randomness import SimulationRandomness
from deniable.core.result import HIDDEN, OPTIONAL, Result
from deniable.errors import InvalidParameterError, not_available, quoted
from deniable.oracles.oracle import is_oracle
from deniable.planning.guess import Guess
from deniable.records.record import is_records
from deniable.survey.attribute import Attribute
from deniable.survey.collection import Collection

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
"""Confidence of a rehearsal's intervals for its own rates."""

_ROUNDING = 1e-12

OF_ANSWERS = (
    "made from rows of answers: the shares are exact, and the simulated reports protect nobody, because their seed is "
    "known; if the answers are real people's, only their holder may see this, and it must not be published"
)
"""Sentence about a rehearsal whose guess has rows of answers."""


@dataclass(frozen=True)
class Rate(Result):
    """Rate of an event among the runs, with its interval.

    Parameters
    ----------
    rate : float
        Share of the runs.
    lower, upper : float
        95% interval of the rate among infinitely many runs.
    runs : int
        Number of runs.
    """

    rate: float
    lower: float
    upper: float
    runs: int

    @classmethod
    def of(cls, happened: NDArray[np.bool_]) -> Rate:
        """Return the rate of something that happens or not in each run; the interval is Clopper and Pearson's.

        Examples
        --------
        >>> Rate.of(np.array([True] + [False] * 99))  # doctest: +ELLIPSIS
        Rate(rate=0.01, lower=0.00025..., upper=0.0544..., runs=100)
        """
        runs, count = len(happened), int(np.count_nonzero(happened))
        tail = (1 - CONFIDENCE) / 2
        lower = float(special.betaincinv(count, runs - count + 1, tail)) if count else 0.0
        upper = float(special.betaincinv(count + 1, runs - count, 1 - tail)) if count < runs else 1.0
        return cls(count / runs, lower, upper, runs)

    @classmethod
    def mean(cls, shares: Floats) -> Rate:
        """Return the mean of a share, in [0, 1], over the runs, with a normal interval or that of a share of 0 or 1.

        If the share is the same in all runs, its spread is unknown. Then the interval is that of the event that the
        share differs.
        """
        if np.ptp(shares) == 0:
            bound = cls.of(np.zeros(len(shares), dtype=np.bool_)).upper
            rate = float(shares[0])
            return cls(rate, max(rate - bound, 0.0), min(rate + bound, 1.0), len(shares))
        rate = float(shares.mean())
        half = -float(special.ndtri((1 - CONFIDENCE) / 2)) * float(shares.std(ddof=1)) / math.sqrt(len(shares))
        return cls(rate, max(rate - half, 0.0), min(rate + half, 1.0), len(shares))


@dataclass(frozen=True)
class RehearsedQuestion(Result):
    """Rate at which the report misled about one question.

    Parameters
    ----------
    name : str
        Name of the column in the schema.
    ask : {"shares", "mean"}
        Kind of question.
    unit : str
        Unit of `off`: percentage points, or units of the scale.
    top_wrong : Rate or None
        Rate at which the category that the report puts first is not the most frequent one; None for means.
    missed : Rate
        Rate of the question's intervals that do not contain the truth; about 1 - confidence is expected.
    off : float
        Error that no estimate of the question exceeds in 95 of 100 runs; infinite if more runs had no report.
    title : str
        Title that people read instead of the name; "" if there is none.
    """

    name: str
    ask: str
    unit: str
    top_wrong: Rate | None
    missed: Rate
    off: float
    title: str = field(default="", metadata=OPTIONAL)

    @property
    def label(self) -> str:
        """Title for people."""
        return self.title or self.name


@dataclass(frozen=True)
class RehearsedDifference(Result):
    """Rate at which the report misled about which of two shares is larger.

    Parameters
    ----------
    name : str
        Name of the question.
    first, second : str
        The two categories.
    truth : float
        Share of the first category less that of the second, in the guess.
    wrong_sign : Rate
        Rate at which the estimated difference has the wrong sign.
    undecided : Rate
        Rate at which the interval of the difference contains 0.
    wrongly_decided : Rate
        Rate at which the interval lies on the wrong side of 0, so that the report states the contrary.
    """

    name: str
    first: str
    second: str
    truth: float
    wrong_sign: Rate
    undecided: Rate
    wrongly_decided: Rate


@dataclass(frozen=True)
class Rehearsal(Result):
    """Results of many invented runs of a survey, as `rehearse` returns them.

    Parameters
    ----------
    contributors : int
        Number of invented people.
    runs : int
        Number of runs.
    epsilon : float or Fraction
        Budget of the whole contributor.
    mechanism : str
        Name of the mechanism.
    confidence : float
        Confidence of the report's intervals.
    questions : tuple of RehearsedQuestion
        Results for the questions, in the schema's order.
    differences : tuple of RehearsedDifference
        Results for the declared differences.
    example : Summary
        Report of the first run.
    private : bool
        Whether the guess came from rows of answers. All results (shares, estimates and rates) then reveal something
        about these rows. If the rows are real people's answers, only the holder of the answers may see the results.
    """

    format: ClassVar[str] = "deniable rehearsal"
    also: ClassVar = {"notice": "notice", "example": "example"}

    contributors: int
    runs: int
    epsilon: float | Fraction
    mechanism: str
    confidence: float
    questions: tuple[RehearsedQuestion, ...]
    differences: tuple[RehearsedDifference, ...]
    example: Summary = field(repr=False, metadata=HIDDEN)
    private: bool = False

    @property
    def notice(self) -> str:
        """Notice that says who may see the results, or "" if everybody may."""
        return OF_ANSWERS if self.private else ""


@dataclass(frozen=True)
class Difference:
    """A comparison that the report should decide: which of two categories of a question is more frequent."""

    name: str
    first: str
    second: str


def rehearse(
    collection: Collection,
    contributors: int,
    guess: Guess,
    *,
    runs: int = 200,
    rng: SimulationRandomness,
    differences: Sequence[Difference] = (),
    confidence: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> Rehearsal:
    """Organiser: simulate a survey many times with invented people, and count how often the report would mislead.

    Parameters
    ----------
    collection : Collection
        Collection of the survey.
    contributors : int
        Expected number of contributors.
    guess : Guess
        Guess of the answers.
    runs : int
        Number of runs, >= 2.
    rng : SimulationRandomness
        Source of random words for all runs.
    differences : sequence of Difference
        Pairs of categories whose order the report should determine.
    confidence : float
        Confidence of the report's intervals, in (0, 1).
    progress : callable, optional
        Function that is called with (finished runs, total runs).

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, the guess is for other questions, or a difference names an unknown category.
        Also if aggregates of the mechanism cannot be simulated without reports (mechanisms with a dealer).

    Examples
    --------
    >>> from deniable import Schema
    >>> from deniable.planning import collection
    >>> schema = Schema((Attribute("smoker", ("yes", "no")),))
    >>> guess = Guess.from_shares(schema, {"smoker": {"yes": 0.45, "no": 0.55}})
    >>> found = rehearse(collection(schema, 1.0), 500, guess, runs=400, rng=SimulationRandomness(1))
    >>> found.questions[0].top_wrong  # doctest: +ELLIPSIS
    Rate(rate=..., lower=..., upper=..., runs=400)
    """
    runs = checked_integer("runs", runs, 2)
    confidence = checked_probability("confidence", confidence, open_interval=True)
    if guess.schema != collection.schema:
        raise InvalidParameterError(
            "guess must be for the schema of the collection, but this guess is for a different schema"
        )
    checked = [_checked(collection, one) for one in differences]
    simulate = _simulator(collection, *guess.people(contributors))
    columns = collection.schema.columns
    counts = _counts(columns, *guess.people(contributors))
    truths = [held / held.sum() for held in counts]
    seen = [_Seen(column, truth, confidence) for column, truth in zip(columns, truths, strict=True)]
    compared = [_Compared(seen[j], one, first, second) for one, j, first, second in checked]
    example: Summary | None = None
    for run in range(runs):
        aggregate = simulate(rng)
        estimates = collection.estimate(aggregate)
        if example is None:
            example = summarize(
                estimates,
                mechanism=collection.mechanism,
                n=aggregate.n,
                title=collection.title,
                confidence=confidence,
                truth=dict(zip(collection.schema.names, counts, strict=True)),
                collection=collection.id,
                several=collection.schema.several,
            )
        for one, estimate in zip(seen, estimates.values(), strict=True):
            one.look(estimate)
        for difference in compared:
            difference.look(estimates[difference.seen.column.name])
        if progress is not None:
            progress(run + 1, runs)
    assert example is not None
    return Rehearsal(
        contributors,
        runs,
        collection.mechanism.epsilon,
        collection.mechanism.name,
        confidence,
        tuple(one.result() for one in seen),
        tuple(difference.result() for difference in compared),
        example,
        guess.from_answers,
    )


def _checked(collection: Collection, one: Difference) -> tuple[Difference, int, int, int]:
    """Return a difference with the number of its column and the codes of its categories."""
    columns = collection.schema.columns
    names = [column.name for column in columns]
    if one.name not in names:
        raise InvalidParameterError(
            f"difference must name a question of the schema; {quoted(one.name)} is not in the schema"
        )
    j = names.index(one.name)
    labels = columns[j].labels
    for label in (one.first, one.second):
        if label not in labels:
            raise InvalidParameterError(
                f"difference must name categories of {quoted(one.name)}; {quoted(label)} is not a category of this "
                "question"
            )
    if one.first == one.second:
        raise InvalidParameterError(
            f"difference must name two categories of {quoted(one.name)}, got {quoted(one.first)} twice"
        )
    return one, j, labels.index(one.first), labels.index(one.second)


def _counts(columns: Sequence[Attribute], records: NDArray[np.int64], held: NDArray[np.int64]) -> list[Floats]:
    return [np.bincount(records[:, j], held, column.k).astype(np.float64) for j, column in enumerate(columns)]


def _simulator(
    collection: Collection, records: NDArray[np.int64], held: NDArray[np.int64]
) -> Callable[[SimulationRandomness], Aggregate]:
    """Return what draws an aggregate of these people."""
    mechanism: Any = collection.mechanism
    single, several = is_oracle(collection.mechanism), is_records(collection.mechanism)
    if collection.dealt or collection.schema.is_text or not (single or several):
        raise not_available(
            "a rehearsal",
            mechanism.name,
            "simulate answers, and use `deniable randomize` and `deniable estimate --truth`",
        )
    counts = [one.astype(np.int64) for one in _counts(collection.schema.columns, records, held)]
    given: tuple[Any, ...] = (records, held)
    if single:
        given = (counts[0],)
    elif mechanism.simulates == "marginals":
        given = (counts,)
    return lambda rng: replace(mechanism.simulate_aggregate(*given, rng), collection=collection.id)


class _Seen:
    """Results of one question, run by run."""

    def __init__(self, column: Attribute, truth: Floats, confidence: float) -> None:
        self.column, self.truth, self.confidence = column, truth, confidence
        self.top_wrong: list[bool] = []
        self.missed: list[float] = []
        self.off: list[float] = []
        scores = column.code_scores
        self.asks_mean = column.ask == "mean" and scores is not None
        if self.asks_mean:
            assert scores is not None
            counted = np.isfinite(scores)
            answered = truth[counted].sum()
            self.mean = float(truth[counted] @ scores[counted] / answered) if answered else math.nan

    def look(self, estimate: Estimate) -> None:
        """Compare one report with the truth."""
        if self.asks_mean:
            answer = estimate.mean()
            lower, upper = answer.interval(self.confidence) if answer.has_interval else NOTHING
            self.missed.append(float(_outside(self.mean, lower, upper)))
            self.off.append(abs(answer.value - self.mean))
            return
        if estimate.n == 0:  # nobody happened to report this sampled question
            self.top_wrong.append(True)
            self.missed.append(0.0)
            self.off.append(math.inf)
            return
        found = estimate.frequencies
        self.top_wrong.append(bool(self.truth[int(found.argmax())] < self.truth.max()))
        lower_ends, upper_ends = estimate.interval(self.confidence)
        self.missed.append(float(np.mean(_outside(self.truth, lower_ends, upper_ends))))
        self.off.append(100 * float(np.abs(found - self.truth).max()))

    def result(self) -> RehearsedQuestion:
        """Return what all runs showed."""
        column = self.column
        off = np.array(self.off)
        off[np.isnan(off)] = math.inf
        unit = "percentage points"
        if self.asks_mean:
            assert column.code_scores is not None
            low, high = np.nanmin(column.code_scores), np.nanmax(column.code_scores)
            unit = f"on the scale from {low:g} to {high:g}"
        return RehearsedQuestion(
            column.name,
            "mean" if self.asks_mean else "shares",
            unit,
            None if self.asks_mean else Rate.of(np.array(self.top_wrong)),
            Rate.mean(np.array(self.missed)),
            float(np.quantile(off, CONFIDENCE, method="higher")),
            column.title,
        )


class _Compared:
    """Results of one declared difference."""

    def __init__(self, seen: _Seen, difference: Difference, first: int, second: int) -> None:
        self.seen, self.difference = seen, difference
        self.weights = np.zeros(seen.column.k)
        self.weights[[first, second]] = 1.0, -1.0
        self.truth = float(self.weights @ seen.truth)
        self.wrong: list[bool] = []
        self.undecided: list[bool] = []
        self.contrary: list[bool] = []

    def look(self, estimate: Estimate) -> None:
        """Compare one report with the truth."""
        answer = estimate.linear(self.weights)
        lower, upper = answer.interval(self.seen.confidence) if answer.has_interval else NOTHING
        sign = np.sign(self.truth)
        self.wrong.append(bool(np.sign(answer.value) != sign))
        decided = 1 if lower > 0 else -1 if upper < 0 else 0
        self.undecided.append(decided == 0)
        self.contrary.append(decided != 0 and decided != sign)

    def result(self) -> RehearsedDifference:
        """Return what all runs showed."""
        one = self.difference
        rates = (Rate.of(np.array(events)) for events in (self.wrong, self.undecided, self.contrary))
        return RehearsedDifference(one.name, one.first, one.second, self.truth, *rates)


def _outside(truth: Any, lower: Any, upper: Any) -> Any:
    """Tell whether the truth is beyond an interval; by more than rounding."""
    return (truth < lower - _ROUNDING) | (truth > upper + _ROUNDING)
