"""Plan of a survey, with the expected precision of every question's answer and its price.

A plan is made before the questionnaire is sent out. Errors are worst cases over all answers. They include only the
noise of the randomisation, so they are about these contributors. The mechanism is the default of `deniable.collection`.

Error of a cell of the table of two questions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.mechanism import Mechanism
from deniable.core.privacy import odds, odds_text
from deniable.core.result import HIDDEN, OPTIONAL, Result
from deniable.core.thresholds import EpsilonLike, checked_epsilon
from deniable.errors import DeniableError, InvalidParameterError, quoted
from deniable.leakage.adversary.best_guess import BestGuess, best_guess
from deniable.planning.candidates import build, candidates_for
from deniable.planning.default import default_mechanism
from deniable.planning.feasibility import infeasibility
from deniable.planning.precision import MAX_CONTRIBUTORS, TARGET_PRECISION, fewest, quantile
from deniable.planning.questions import Question, can_be_planned, questions_of
from deniable.records.pairs import attribute_pairs
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema


@dataclass(frozen=True)
class PairPlan(Result):
    """Expected errors of the table of two questions.

    Parameters
    ----------
    first, second : str
        Names of the two questions.
    cells : int
        Number of cells of their table.
    half_width : float
        Half-width of the interval of one cell of the consistent table, in percentage points, if all cells are alike.
    reports : float
        Expected number of reports about this pair.
    contributors_needed : int or None
        Smallest number that reaches the target; None without a target, or if no number does.
    """

    first: str
    second: str
    cells: int
    half_width: float
    reports: float
    contributors_needed: int | None


def pair_plans(
    schema: Schema, mechanism: Any, contributors: int, target: float | None, z: float
) -> tuple[PairPlan, ...]:
    """Return the errors of all tables of `PairSample`, one entry for each pair.

    All cells of a table are assumed to be equally frequent. Pairs of the same sizes whose attributes are reported alone
    through the same oracles are alike, so only one of them is computed.
    """
    columns = schema.columns
    tables = mechanism.expected_tables(MAX_CONTRIBUTORS)
    shares = dict(zip((part.attributes for part in mechanism.parts), mechanism.choice_probabilities, strict=True))
    known: dict[Any, float] = {}
    found = []
    for i, j in attribute_pairs(len(columns)):
        kind = tuple((mechanism.sizes[one], mechanism.oracles[one]) for one in (i, j))
        if kind not in known:
            # This is the largest error in a consistent table whose cells are alike, for one contributor.
            known[kind] = float(tables.consistent(i, j).standard_errors().max()) * math.sqrt(MAX_CONTRIBUTORS)
        one = 100 * z * known[kind]
        found.append(
            PairPlan(
                columns[i].name,
                columns[j].name,
                mechanism.sizes[i] * mechanism.sizes[j],
                one / math.sqrt(contributors),
                contributors * float(shares[i, j]),
                None if target is None else _needed(one, target),
            )
        )
    return tuple(found)


def _needed(half_width: float, target: float) -> int | None:
    """Return how many contributors bring the half-width of one contributor's report down to the target."""
    return fewest(lambda n: half_width / math.sqrt(n) <= target * (1 + TARGET_PRECISION))


EPSILONS = ("0.5", "1", "2", "4")
"""Budgets that are compared if none is given."""


@dataclass(frozen=True)
class QuestionPlan(Result):
    """Expected error of one question at one epsilon.

    Parameters
    ----------
    name : str
        Name of the column in the schema.
    ask : {"shares", "mean"}
        Kind of question.
    categories : int
        Number of possible answers.
    unit : str
        Unit of `half_width`: percentage points, or units of the scale.
    half_width : float
        Half-width of the interval at the answers for which it is largest.
    worst : str
        Answers for which the half-width is largest.
    contributors_needed : int or None
        Smallest number that reaches the target; None without a target, or if no number does.
    guess : BestGuess
        Rate at which the best guess about one contributor's answer is right.
    title : str
        Title that people read instead of the name; "" if there is none.
    span : float
        Length of the range of the answer, in `unit`.
    """

    name: str
    ask: str
    categories: int
    unit: str
    half_width: float
    worst: str
    contributors_needed: int | None
    guess: BestGuess
    title: str = field(default="", metadata=OPTIONAL)
    span: float = field(default=100.0, metadata=HIDDEN)

    @property
    def label(self) -> str:
        """Title for people."""
        return self.title or self.name


@dataclass(frozen=True)
class MechanismRow(Result):
    """Expected error and cost of one mechanism at one epsilon.

    Parameters
    ----------
    name : str
        Name in plans: "SMP[OUE]".
    chosen : bool
        True if the collection would take this mechanism.
    relative_half_width : float or None
        Half-width of the worst question's interval as a share of the question's range. 0.1 is 10 percentage points, or
        a tenth of a scale. None if the mechanism cannot be built.
    bits_per_report : float or None
        Information content of one report.
    influence : float or None
        Number of contributors that one malicious contributor counts for when raising one share, for the question where
        it is largest. 1% of malicious contributors can add this many percentage points to the share. None if it is not
        determined.
    contributors_needed : int or None
        Smallest number for which every question reaches the target.
    reason : str
        Reason why there are no numbers; "" if there are numbers.
    note : str
        Further note for the reader.
    """

    name: str
    chosen: bool = False
    relative_half_width: float | None = None
    bits_per_report: float | None = None
    influence: float | None = None
    contributors_needed: int | None = None
    reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class Setting(Result):
    """Plan at one epsilon.

    Parameters
    ----------
    epsilon : float or Fraction
        Budget of the whole contributor.
    mechanism : Mechanism
        Mechanism that a collection takes.
    name : str
        Name of the mechanism in plans.
    reason : str
        Reason for the choice of the mechanism.
    bits_per_report : float
        Information content of one report.
    odds : float
        Largest factor by which the odds about a contributor can change, rounded up to three digits.
    sure : str
        Largest certainty about something that had a probability of one half before, as a percentage, rounded up.
    promise : str
        Odds and certainty in words that a contributor understands.
    warning : str
        Reason why a survey like this cannot work; "" if it can.
    questions : tuple of QuestionPlan
        Plans of the questions, in the schema's order.
    mechanisms : tuple of MechanismRow
        Mechanisms, the one with least error first.
    pairs : tuple of PairPlan
        Plans of the tables of all pairs of questions, if they were requested.
    """

    also: ClassVar = {"mechanism": "name"}

    epsilon: float | Fraction
    mechanism: Mechanism[Any] = field(repr=False, metadata=HIDDEN)
    name: str = field(metadata=HIDDEN)
    reason: str
    bits_per_report: float
    odds: float
    max_posterior: str
    promise: str
    warning: str
    questions: tuple[QuestionPlan, ...]
    mechanisms: tuple[MechanismRow, ...]
    pairs: tuple[PairPlan, ...] = ()


@dataclass(frozen=True)
class SurveyPlan(Result):
    """Plan of a questionnaire, as `plan_survey` returns it.

    Parameters
    ----------
    contributors : int
        Expected number of contributors.
    confidence : float
        Confidence of the intervals.
    target : float or None
        Wanted half-width of the intervals: in percentage points for shares, in hundredths of the scale for means.
    settings : tuple of Setting
        One setting for each epsilon.

    Examples
    --------
    >>> from deniable import Attribute
    >>> schema = Schema((Attribute("smoker", ("yes", "no")), Attribute("mood", ("bad", "fair", "good"))))
    >>> decision = plan_survey(schema, 8000, [1.0], target=3)
    >>> for question in decision.settings[0].questions:
    ...     print(question.name, round(question.half_width, 2), question.contributors_needed)
    smoker 3.17 8925
    mood 4.21 15716
    """

    format: ClassVar[str] = "deniable decision"
    also: ClassVar = {"assumptions": "assumptions"}

    contributors: int
    confidence: float
    target: float | None
    settings: tuple[Setting, ...]

    @property
    def assumptions(self) -> str:
        """Assumptions behind the numbers."""
        return (
            f"Half-widths of {100 * self.confidence:g}% intervals with {self.contributors:,} contributors, for the "
            "answers that make them largest. They allow for the noise only, so they are about these contributors and "
            "not about a wider population."
        ) + (" For a mean, they suppose that everybody gives an answer that counts." if self._has_means else "")

    @property
    def _has_means(self) -> bool:
        return any(question.ask == "mean" for setting in self.settings for question in setting.questions)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return a warning for every epsilon with which the survey cannot work, with the reason."""
        return tuple(setting.warning for setting in self.settings if setting.warning)


def plan_survey(
    schema: Schema,
    contributors: int,
    epsilons: Sequence[EpsilonLike] = EPSILONS,
    *,
    target: float | None = None,
    confidence: float = 0.95,
    every: bool = False,
    pairs: bool = False,
) -> SurveyPlan:
    """Organiser: return the precision of every question and its price in privacy, for several budgets.

    Nothing is simulated, and no answers are needed.

    Parameters
    ----------
    schema : Schema
        Kind of question.
    contributors : int
        Expected number of contributors.
    epsilons : sequence of float, Fraction, Decimal or str
        Budgets of the whole contributor to compare, in [1e-6, 32].
    target : float, optional
        Wanted half-width of the intervals, in (0, 100): in percentage points for shares, in hundredths of the scale for
        means.
    confidence : float
        Confidence of the intervals, in (0, 1).
    every : bool
        True to compare all mechanisms with errors that can be planned. By default only the mechanisms from which a
        collection chooses are compared.
    pairs : bool
        True to plan also for tables of all pairs of questions, with `PairSample`.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, no mechanism is practical, or the schema asks for open text.

    Examples
    --------
    >>> from deniable import Attribute
    >>> decision = plan_survey(Schema((Attribute("smoker", ("yes", "no")),)), 1000)
    >>> [(float(setting.epsilon), round(setting.questions[0].half_width, 1)) for setting in decision.settings]
    [(0.5, 12.3), (1.0, 5.9), (2.0, 2.6), (4.0, 0.9)]
    >>> print(decision.settings[1].promise)  # doctest: +NORMALIZE_WHITESPACE
    nobody's odds about a contributor can change by more than a factor of 2.72, whatever the contributor answers: anyone
    who thought an answer 50% likely before is at most 73.2% sure of it afterwards
    """
    n = checked_integer("contributors", contributors, 1, MAX_CONTRIBUTORS)
    if target is not None:
        target = float(target)
        if not 0 < target < 100:
            raise InvalidParameterError(
                f"target must be a number of percentage points between 0 and 100, got target={quoted(target)}"
            )
    confidence = checked_probability("confidence", confidence, open_interval=True)
    if isinstance(epsilons, str):
        raise InvalidParameterError(
            f"epsilons must be a list of budgets such as [0.5, 1], got epsilons={quoted(epsilons)}"
        )
    if not len(epsilons):
        raise InvalidParameterError("epsilons must list at least one budget, got an empty list")
    budgets = [checked_epsilon(epsilon) for epsilon in epsilons]
    if schema.is_text:
        raise InvalidParameterError(
            "schema must have categories, because a plan cannot say how precisely open text is found. Give the "
            "question a list of answers or a dictionary"
        )
    settings = tuple(_setting(schema, budget, n, target, confidence, every, pairs) for budget in budgets)
    return SurveyPlan(n, confidence, target, settings)


def promise(epsilon: float) -> str:
    """Return what a budget means for a contributor, in words; bounds are rounded up.

    Examples
    --------
    >>> promise(4.0).partition(",")[0]
    "nobody's odds about a contributor can change by more than a factor of 54.6"
    """
    return (
        f"nobody's odds about a contributor can change by more than a factor of {odds_text(epsilon)}, whatever the "
        "contributor answers: anyone who thought an answer 50% likely before is at most "
        f"{max_posterior_text(epsilon)} sure of it afterwards"
    )


def max_posterior_text(epsilon: float) -> str:
    """Return how sure somebody can become of what they took for a coin toss, as a percentage, rounded up.

    Examples
    --------
    >>> max_posterior_text(1.0), max_posterior_text(4.0), max_posterior_text(8.0), max_posterior_text(32.0)
    ('73.2%', '98.3%', '99.97%', 'more than 99.99%')
    """
    factor = odds(epsilon)
    sure = 100 * factor / (1 + factor)
    for digits in ("0.1", "0.01"):
        rounded = sure.quantize(Decimal(digits), ROUND_CEILING)
        if rounded < 100 - Decimal(digits):
            return f"{rounded}%"
    return "more than 99.99%"


def _setting(
    schema: Schema, epsilon: float | Fraction, n: int, target: float | None, confidence: float, every: bool, pairs: bool
) -> Setting:
    choice, z = default_mechanism(schema, epsilon, pairs=pairs), quantile(confidence)
    mechanism = choice.mechanism
    questions = questions_of(schema, mechanism)
    rows = _rows(schema, mechanism, n, target, z, every)
    guarantee = mechanism.privacy()
    most = max(guarantee.epsilon, guarantee.implemented_epsilon)
    return Setting(
        epsilon,
        mechanism,
        name=next((row.name for row in rows if row.chosen), mechanism.name),
        reason=choice.reason,
        bits_per_report=mechanism.report_bits,
        odds=float(odds(most)),
        max_posterior=max_posterior_text(most),
        promise=promise(most),
        warning=infeasibility(Collection(schema, mechanism), n, confidence),
        questions=tuple(_question(question, n, target, z) for question in questions),
        mechanisms=rows,
        pairs=pair_plans(schema, mechanism, n, target, z) if pairs else (),
    )


def _question(question: Question, n: int, target: float | None, z: float) -> QuestionPlan:
    return QuestionPlan(
        question.attribute.name,
        question.ask,
        question.attribute.k,
        question.unit,
        half_width=z * question.standard_error(n),
        worst=question.worst,
        contributors_needed=None if target is None else question.contributors_needed(target / 100, z),
        guess=best_guess(question.mechanism, question.index),
        title=question.attribute.title,
        span=question.span,
    )


def _rows(
    schema: Schema, chosen: Mechanism[Any], n: int, target: float | None, z: float, every: bool
) -> tuple[MechanismRow, ...]:
    """Return the mechanisms to compare, the chosen one among them, least error first."""
    rows = [
        _row(name, questions, n, target, z, note, questions[0].mechanism == chosen)
        if questions
        else MechanismRow(name, reason=reason, note=note)
        for name, questions, reason, note in compared(schema, chosen, every)
    ]
    return tuple(sorted(rows, key=lambda row: (row.relative_half_width is None, row.relative_half_width or 0.0)))


class Compared(NamedTuple):
    """Errors of a schema's questions under a mechanism; none, and the reason, where it cannot ask them."""

    name: str
    questions: tuple[Question, ...]
    reason: str
    note: str


def compared(schema: Schema, chosen: Mechanism[Any], every: bool) -> list[Compared]:
    """Return the mechanisms that a plan of a schema compares, the chosen one once among them.

    If several rows build the chosen mechanism, the first one is kept. A row with its name may build another mechanism,
    because the row knows the sizes and not the questions. Such a row is replaced by that of the chosen mechanism.
    """
    offered = [one for one in candidates_for(len(schema.sizes)) if (every or one.recommendable) and not one.two_phases]
    own = questions_of(schema, chosen)
    found: list[Compared] = []
    missing = True
    for candidate in offered:
        try:
            mechanism = build(candidate, schema.sizes, chosen.epsilon)
            if candidate.name == chosen.name:
                mechanism = chosen
            if mechanism == chosen and not missing:
                continue
            questions = questions_of(schema, mechanism)
            for question in questions:
                question.variance  # noqa: B018  refuses what cannot be computed
        except DeniableError as error:
            found.append(Compared(candidate.name, (), str(error), candidate.note))
            continue
        if questions:
            missing = missing and mechanism != chosen
            found.append(Compared(candidate.name, questions, "", candidate.note))
        elif can_be_planned(mechanism):
            found.append(Compared(candidate.name, (), "its error of a mean is not known", candidate.note))
    if missing and own:
        found.append(Compared(chosen.name, own, "", chosen.card.note))
    return found


def _row(
    name: str, questions: tuple[Question, ...], n: int, target: float | None, z: float, note: str, chosen: bool
) -> MechanismRow:
    worst = max(questions, key=lambda question: question.relative_error(n))
    return MechanismRow(
        name,
        chosen,
        relative_half_width=z * worst.relative_error(n),
        bits_per_report=worst.mechanism.report_bits,
        influence=influence(questions),
        contributors_needed=None if target is None else worst.contributors_needed(target / 100, z),
        note=note,
    )


def influence(questions: Sequence[Question]) -> float | None:
    """Return how many contributors one malicious contributor counts for, in the share that moves most, or None."""
    found = [question.mechanism.influence(1, question.index) for question in questions if question.ask == "shares"]
    known = [one.up for one in found if one is not None]
    return max(known) if known and len(known) == len(found) else None
