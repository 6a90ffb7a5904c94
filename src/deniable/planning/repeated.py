"""Plans for a question in many waves with fresh budgets, a rotating panel or memoised answers, within one budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.result import HIDDEN, OPTIONAL, Result
from deniable.core.thresholds import EPSILON_MIN, EpsilonLike, checked_epsilon, exact
from deniable.errors import InvalidParameterError
from deniable.oracles.memoised import MemoisedGRR, MemoisedHash, MemoisedOUE
from deniable.planning.default import recommend
from deniable.planning.precision import MAX_CONTRIBUTORS, mean_variance, quantile
from deniable.planning.rows import TIE

FRESH, ROTATING, MEMOISED = "fresh budgets", "rotating panel", "memoised answers"


@dataclass(frozen=True, eq=False)
class WavesRow(Result):
    """One way to ask in many waves.

    Parameters
    ----------
    way : str
        "fresh budgets", "rotating panel" or "memoised answers".
    mechanism : Mechanism
        Mechanism of each wave.
    epsilon : float
        Budget of one report.
    people : int
        Smallest number of people who are asked in a wave.
    standard_error : float
        Standard error of one category's frequency among all contributors in one wave. The variance behind it is an
        average over categories and uniformly distributed frequencies. It includes the sampling if only some people are
        asked in a wave.
    half_width : float
        Half-width of the interval.
    holds : str
        Condition under which the total stays within the budget, or "".
    reason : str
        Reason why this way cannot be recommended, or "".
    recommended : bool
        True for the recommended way.
    """

    also: ClassVar = {"mechanism": "mechanism_name"}

    way: str
    mechanism: Any = field(metadata=HIDDEN)
    epsilon: float
    people: int
    standard_error: float
    half_width: float
    holds: str = field(default="", metadata=OPTIONAL)
    reason: str = field(default="", metadata=OPTIONAL)
    recommended: bool = False

    @property
    def mechanism_name(self) -> str:
        """The mechanism as code."""
        return repr(self.mechanism)


@dataclass(frozen=True, eq=False)
class WavesPlan(Result):
    """Comparison of ways to ask in many waves, as `plan_waves` returns it.

    Parameters
    ----------
    k, waves, contributors : int
        Numbers of categories, waves, and people.
    epsilon : float or Fraction
        Budget of one person over all waves.
    answers : int
        Largest number of different answers of one person in all waves.
    times_known : bool
        Whether the times at which answers change may be known.
    confidence : float
        Confidence of the intervals.
    rows : tuple of WavesRow
        Ways to ask, the best first.
    why : str
        Reason for the recommendation.
    """

    format = "deniable plan of waves"

    k: int
    waves: int
    contributors: int
    epsilon: float | Fraction
    answers: int
    times_known: bool
    confidence: float
    rows: tuple[WavesRow, ...]
    why: str

    @property
    def best(self) -> WavesRow:
        """The recommended row."""
        return next(row for row in self.rows if row.recommended)


def plan_waves(
    k: int,
    epsilon: EpsilonLike,
    waves: int,
    contributors: int,
    *,
    answers: int | None = None,
    times_known: bool = False,
    confidence: float = 0.95,
) -> WavesPlan:
    """Organiser: compare three ways to ask one question in many waves, for the same budget of each person.

    * Fresh budgets: everyone reports in every wave, with an equal part of the budget each time.
    * A rotating panel: everyone reports in one wave, with all of the budget (`rotating_panel`).
    * Memoised answers: everyone reports in every wave from permanent responses. The total is `answers` times
      epsilon_forever. It holds only if answers never change, or if the times of changes may be known.

    The error is for a frequency among all contributors in one wave. If the variance of the rotating panel is at most 1%
    above the least variance, the panel is recommended.

    Parameters
    ----------
    k : int
        Domain size.
    epsilon : float, Fraction, Decimal or str
        Budget of one person over all waves, in [1e-6, 32].
    waves : int
        Number of waves, at least 2.
    contributors : int
        Total number of people, at least one for each wave.
    answers : int, optional
        Largest number of different answers of one person in all waves. The default is the number of waves. With 1,
        nobody's answer ever changes.
    times_known : bool
        Whether the times at which answers change may be known to the collector.
    confidence : float
        Confidence of the intervals, in (0, 1).

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> plan = plan_waves(k=16, epsilon=4, waves=12, contributors=60000)
    >>> plan.best.way, [round(row.standard_error, 4) for row in plan.rows]
    ('rotating panel', [0.0043, 0.0229, 0.0244])
    >>> plan_waves(k=16, epsilon=4, waves=12, contributors=60000, answers=1).best.way
    'memoised answers'
    """
    budget = checked_epsilon(epsilon)
    number, people = checked_integer("waves", waves, 2), checked_integer("contributors", contributors, 1)
    if not number <= people <= MAX_CONTRIBUTORS:
        raise InvalidParameterError(
            f"contributors must be at least {number:,} for {number:,} waves, got contributors={people:,}",
            parameters=("contributors",),
        )
    most = min(number, k) if answers is None else checked_integer("answers", answers, 1, min(number, k))
    confidence = checked_probability("confidence", confidence, open_interval=True)
    z = quantile(confidence)

    def row(way: str, mechanism: Any, once: float, asked: int, **more: Any) -> WavesRow:
        error = math.sqrt(_variance(mechanism, k, asked, people))
        return WavesRow(way, mechanism, once, asked, error, z * error, **more)

    part = exact(budget) / number
    if part < EPSILON_MIN:
        raise InvalidParameterError(
            f"epsilon must be at least {float(number * EPSILON_MIN):g} for {number} waves, got "
            f"epsilon={float(budget):g}",
            parameters=("epsilon",),
        )
    rows = [
        row(FRESH, recommend((k,), part), float(part), people),
        row(ROTATING, recommend((k,), budget), float(budget), people // number),
        *_memoised(row, k, exact(budget), most, people, times_known),
    ]
    feasible = [one for one in rows if not one.reason]
    least = min(one.standard_error for one in feasible)
    tied = [one for one in feasible if one.standard_error**2 <= least**2 * (1 + TIE)]
    best = next((one for one in tied if one.way == ROTATING), min(tied, key=lambda one: one.standard_error))
    rows.sort(key=lambda one: one.standard_error)
    return WavesPlan(
        k,
        number,
        people,
        budget,
        most,
        times_known,
        confidence,
        tuple(replace(one, recommended=one is best) for one in rows),
        _why(best, [one for one in feasible if one is not best]),
    )


def _variance(mechanism: Any, k: int, asked: int, people: int) -> float:
    """Return the mean variance of a frequency among all people if `asked` of them report, drawn without replacement."""
    # Under a flat prior, f (1 - f) has the mean (k - 1)/(k (k + 1)).
    spread = (k - 1) / (k * (k + 1))
    sampling = spread * (people - asked) / (asked * (people - 1)) if people > asked else 0.0
    return mean_variance(mechanism, asked) + sampling


def _memoised(row: Any, k: int, budget: Fraction, answers: int, people: int, times_known: bool) -> list[WavesRow]:
    """Return the best memoised oracle whose permanent responses together stay within the budget."""
    forever = budget / answers
    if forever < EPSILON_MIN:
        return []
    made: list[Any] = [MemoisedGRR(k, forever, forever)]
    if k <= 1024:
        made.append(MemoisedOUE(k, forever, forever))
    if answers == 1:
        # Histories that change at the same times may change cells at different times. So hashes are offered only for a
        # single answer.
        made.append(MemoisedHash(k, forever, forever))
    best = min(made, key=lambda one: mean_variance(one, people))
    holds = (
        "nobody's answer ever changes; reports copy the permanent response, so a change would be visible"
        if answers == 1
        else f"nobody has more than {answers} different answers, and the times of change may be known, for every "
        "change is visible"
    )
    reason = "" if answers == 1 or times_known else "the times of change may not be known"
    return [row(MEMOISED, best, float(forever), people, holds=holds, reason=reason)]


def _why(best: WavesRow, others: list[WavesRow]) -> str:
    """Return the reason for a recommendation, in one sentence."""
    against = "; ".join(
        f"{one.way} have {_share(one)}" if one.way != ROTATING else f"a {one.way} has {_share(one)}" for one in others
    )
    reasons = {
        FRESH: "the parts of this budget are so large that asking everyone loses less than asking some",
        ROTATING: "each person spends the whole budget once, and nobody's changes can be followed",
        MEMOISED: "one permanent response serves all waves",
    }
    return f"{reasons[best.way]}: standard error {_share(best)}; {against}"


def _share(row: WavesRow) -> str:
    return f"{100 * row.standard_error:.2g} points"
