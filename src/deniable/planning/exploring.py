"""Data with which a page shows a questionnaire at any budget and number of contributors, without further requests.

Variances are inversely proportional to the number of contributors. So one number per question and budget gives them for
every number of contributors. Nothing is interpolated between budgets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from deniable.core.privacy import bound_text, odds_text
from deniable.core.result import Result
from deniable.core.thresholds import EpsilonLike, checked_epsilon, exact
from deniable.leakage.adversary.best_guess import best_guess
from deniable.planning.default import default_mechanism
from deniable.planning.feasibility import USEFUL, USELESS
from deniable.planning.precision import TARGET_PRECISION, quantile
from deniable.planning.questions import Question, questions_of
from deniable.planning.survey_plan import SurveyPlan, compared, influence, plan_survey, promise
from deniable.survey.schema import Schema

GRID = tuple(
    Fraction(hundredths, 100) for hundredths in (*range(10, 200, 10), *range(200, 400, 20), *range(400, 801, 50))
)
"""Budgets at which a slider stops: .1 to 2 by tenths, to 4 by fifths, and to 8 by halves."""

TARGET = 3.0
"""Half-width for which contributors are counted if none is given: 3 percentage points."""


@dataclass(frozen=True)
class Explored(Result):
    """Facts about one question that are the same at every budget.

    Parameters
    ----------
    name : str
        Text that people read: the title, or the column's name.
    ask, unit : str
        Same as in `deniable.planning.survey_plan.QuestionPlan`.
    categories : int
        Number of possible answers.
    low, high : float
        Ends of the range: 0 and 100 percentage points, or the ends of the scale.
    law : int
        Number of the question's entry in the `laws` of a stop; questions that are alike share one entry.
    """

    name: str
    ask: str
    unit: str
    categories: int
    low: float
    high: float
    law: int


@dataclass(frozen=True)
class Law(Result):
    """Error of a question at one budget, and the success rate of the best guess.

    Parameters
    ----------
    variance : float
        Largest variance of the answer, in squared units, times the number of contributors.
    shares : tuple of float
        For a question about shares: the same product at the shares 0, 1/2 and 1, in squared fractions; otherwise empty.
    before, after : float or None
        Rate at which the best guess about one contributor's answer is right without, and with, their report.
    exact : bool
        True if `after` is that of this very mechanism (`deniable.leakage.adversary.best_guess.BestGuess`).
    """

    variance: float
    shares: tuple[float, ...]
    before: float
    after: float | None
    exact: bool


@dataclass(frozen=True)
class Alternative(Result):
    """Mechanism at one budget, with its largest variance over the questions as a share of their squared ranges.

    Parameters
    ----------
    name, chosen, influence, reason
        Same as in `deniable.planning.survey_plan.MechanismRow`.
    variance : float or None
        Largest variance times the number of contributors.
    bits : float or None
        Bits of one report.
    """

    name: str
    chosen: bool
    variance: float | None
    bits: float | None
    influence: float | None
    reason: str


@dataclass(frozen=True)
class Stop(Result):
    """Figures of all questions and mechanisms at one budget.

    Parameters
    ----------
    epsilon : str
        The budget as text.
    promise : str
        Meaning of the budget for a contributor.
    odds : str
        Largest factor by which the odds about a contributor can change.
    mechanism : str
        Name of the mechanism that a collection takes.
    bits : float
        Bits of one report.
    laws : tuple of Law
        Errors in the order that `Explored.law` refers to.
    mechanisms : tuple of Alternative
        Mechanisms, the one with least error first.
    """

    epsilon: str
    promise: str
    odds: str
    mechanism: str
    bits: float
    laws: tuple[Law, ...]
    mechanisms: tuple[Alternative, ...]


@dataclass(frozen=True)
class Exploration(Result):
    """Numbers behind a page with sliders for the budget and the number of contributors, as `explore` returns them.

    Parameters
    ----------
    contributors : int
        Number of contributors at the start.
    start : int
        Index of the budget in `stops` at the start.
    confidence, z : float
        Confidence of the intervals, and number of standard errors that corresponds to it.
    target : float
        Wanted half-width of the intervals: in percentage points for shares, in hundredths of the scale for means.
    precision : float
        Tolerance: a half-width meets the target if it exceeds it by at most this fraction of the target.
    useful, useless : float
        Half-widths as shares of the question's range. Answers are good up to the half-width `useful`, and decide little
        beyond `useless`.
    questions : tuple of Explored
        Questions in the schema's order.
    stops : tuple of Stop
        Budgets in increasing order, with their numbers.
    """

    format: ClassVar[str] = "deniable exploration"

    contributors: int
    start: int
    confidence: float
    z: float
    target: float
    precision: float
    useful: float
    useless: float
    questions: tuple[Explored, ...]
    stops: tuple[Stop, ...]

    @property
    def assumptions(self) -> str:
        """Assumptions of the numbers."""
        return (
            f"Intervals of {100 * self.confidence:g}%. They allow for the noise only, so they are about these "
            'contributors and not about a wider population. "At most" means: for the answers that make an interval '
            "widest. Results show score intervals for shares, or exact intervals if few mistaken reports are "
            "expected. These are a little longer towards 50% than the intervals drawn here."
        )


def explore(
    schema: Schema,
    contributors: int,
    epsilons: Sequence[EpsilonLike] = (),
    *,
    target: float | None = None,
    confidence: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> Exploration:
    """Organiser: return the numbers for the page of `deniable.report.save_explorer`.

    Parameters
    ----------
    schema : Schema
        What is asked.
    contributors : int
        Expected number of contributors, with which the page starts.
    epsilons : sequence of float, Fraction, Decimal or str
        Budgets to offer in addition to the grid. The page starts at the first of them, or at 1.
    target, confidence
        See `deniable.planning.plan_survey`.
    progress : callable, optional
        Function that is called with (finished budgets, total budgets).

    Raises
    ------
    InvalidParameterError
        See `plan_survey`.

    Examples
    --------
    >>> from deniable import Attribute
    >>> found = explore(Schema((Attribute("smoker", ("yes", "no")),)), 1000, ["1.25"])
    >>> [stop.epsilon for stop in found.stops[10:14]], found.stops[found.start].epsilon
    (['1.1', '1.2', '1.25', '1.3'], '1.25')
    >>> law = found.stops[found.start].laws[0]
    >>> round(found.z * (law.variance / 1000) ** 0.5, 2), law.before, round(law.after, 3)
    (4.65, 0.5, 0.777)
    """
    # This call raises what `plan_survey` raises.
    checked: SurveyPlan = plan_survey(schema, contributors, epsilons or ("1",), target=target, confidence=confidence)
    own = [exact(checked_epsilon(epsilon)) for epsilon in epsilons]
    budgets = sorted({*GRID, *own})
    found = []
    for i, budget in enumerate(budgets):
        found.append(_questions(schema, budget))
        if progress is not None:
            progress(i + 1, len(budgets))
    laws = [[_law(question) for question in questions] for questions in found]
    # Questions that are alike at every budget share their distributions.
    kinds: dict[tuple[Law, ...], int] = {}
    numbers = [kinds.setdefault(column, len(kinds)) for column in zip(*laws, strict=True)]
    firsts = [numbers.index(kind) for kind in range(len(kinds))]
    stops = [
        _stop(schema, budget, questions, tuple(row[j] for j in firsts))
        for budget, questions, row in zip(budgets, found, laws, strict=True)
    ]
    return Exploration(
        checked.contributors,
        start=budgets.index(own[0] if own else Fraction(1)),
        confidence=checked.confidence,
        z=quantile(checked.confidence),
        target=TARGET if checked.target is None else checked.target,
        precision=TARGET_PRECISION,
        useful=USEFUL,
        useless=USELESS,
        questions=tuple(_explored(question, law) for question, law in zip(found[0], numbers, strict=True)),
        stops=tuple(stops),
    )


def _questions(schema: Schema, budget: Fraction) -> tuple[Question, ...]:
    return questions_of(schema, default_mechanism(schema, budget).mechanism)


def _explored(question: Question, law: int) -> Explored:
    low, high = question.ends
    return Explored(question.label, question.ask, question.unit, question.attribute.k, low, high, law)


def _law(question: Question) -> Law:
    guess = best_guess(question.mechanism, question.index)
    return Law(question.variance, question.shares, guess.without, guess.after, guess.exact)


def _stop(schema: Schema, budget: Fraction, questions: tuple[Question, ...], laws: tuple[Law, ...]) -> Stop:
    mechanism: Any = questions[0].mechanism
    guarantee = mechanism.privacy()
    most = max(guarantee.epsilon, guarantee.implemented_epsilon)
    alternatives = [
        _alternative(name, others, bool(others) and others[0].mechanism == mechanism, reason)
        for name, others, reason, _ in compared(schema, mechanism, every=True)
    ]
    alternatives.sort(key=lambda one: (one.variance is None, one.variance or 0.0))
    name = next(one.name for one in alternatives if one.chosen)
    return Stop(
        bound_text(float(budget)),
        promise(most),
        odds_text(most),
        name,
        mechanism.report_bits,
        laws,
        tuple(alternatives),
    )


def _alternative(name: str, questions: tuple[Question, ...], chosen: bool, reason: str) -> Alternative:
    if not questions:
        return Alternative(name, chosen, None, None, None, reason)
    variance = max(question.variance / question.span**2 for question in questions)
    return Alternative(name, chosen, variance, questions[0].mechanism.report_bits, influence(questions), "")
