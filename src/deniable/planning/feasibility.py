"""Sentence that says why a survey cannot work, the same in plans and in collections."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.privacy import HIGH_EPSILON, bound_text
from deniable.core.thresholds import exact
from deniable.errors import DeniableError, quoted
from deniable.planning.default import default_mechanism
from deniable.planning.precision import MAX_CONTRIBUTORS, quantile
from deniable.planning.questions import Question, questions_of
from deniable.records.joint import has_tables
from deniable.survey.collection import Collection
from deniable.survey.schema import Schema

USELESS, USEFUL = 0.15, 0.10
"""Half-widths as shares of the question's range. Beyond 15 points either way an answer decides little, and remedies are
sought for 10 points."""


def infeasibility(collection: Collection, contributors: int, confidence: float = 0.95) -> str:
    """Return the reason why a survey cannot work, with remedies, or "" if it can work.

    A survey cannot work if the half-width of an interval may exceed 15 percentage points (for a number: 15% of its
    range). The remedies are computed for a half-width of 10. The intervals allow for the mechanism's noise only, and
    the half-widths are those of the worst case over all answers. For mechanisms whose errors cannot be planned, the
    result is "" (`deniable.planning.questions.can_be_planned`).

    Parameters
    ----------
    collection : Collection
        Collection with the questions and the mechanism.
    contributors : int
        Expected number of contributors.
    confidence : float
        Confidence of the intervals, in (0, 1).

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable import Attribute, collection
    >>> questions = [Attribute(f"question {i + 1}", ("never", "rarely", "often", "always")) for i in range(56)]
    >>> print(infeasibility(collection(Schema(tuple(questions)), 1.0), 8000))  # doctest: +NORMALIZE_WHITESPACE
    this survey cannot work: 56 questions, 8,000 contributors and epsilon = 1 leave answers uncertain by up to ±27
    percentage points (“question 1”); ±10 takes 59,406 contributors or 7 of these questions or epsilon = 3
    """
    n = checked_integer("contributors", contributors, 1, MAX_CONTRIBUTORS)
    z = quantile(checked_probability("confidence", confidence, open_interval=True))
    questions = questions_of(collection.schema, collection.mechanism)
    worst = max(questions, key=lambda question: question.relative_error(n), default=None)
    if worst is None or z * worst.relative_error(n) <= USELESS:
        return ""
    epsilon = collection.mechanism.epsilon
    asked = len(collection.schema.attributes)
    many = f"{asked} questions, " if asked > 1 else ""
    where = f" ({quoted(worst.label)})" if len(questions) > 1 else ""
    remedies = _remedies(collection.schema, epsilon, questions, worst, n, z)
    instead = f"; ±{100 * USEFUL:g} takes {' or '.join(remedies)}" if remedies else ""
    return (
        f"this survey cannot work: {many}{n:,} contributors and epsilon = {bound_text(float(epsilon))} leave answers "
        f"uncertain by up to {worst.spoken(z * worst.standard_error(n))}{where}{instead}"
    )


def _remedies(
    schema: Schema, epsilon: float | Fraction, questions: tuple[Question, ...], worst: Question, n: int, z: float
) -> list[str]:
    """Return what would make the survey work: more contributors, fewer questions, or a larger budget."""
    found = []
    needed = worst.contributors_needed(USEFUL, z)
    if needed is not None:
        found.append(f"{needed:,} contributors")
    errors = [0.0] * len(schema.attributes)
    for question in questions:
        errors[question.source] = max(errors[question.source], question.relative_error(n))
    easiest = [schema.attributes[j] for j in sorted(range(len(errors)), key=errors.__getitem__)]
    pairs = has_tables(worst.mechanism)
    few = _most(len(easiest) - 1, lambda m: _works(Schema(tuple(easiest[:m])), epsilon, n, z, pairs))
    if few:
        found.append(f"{few} of these questions" if few > 1 else "a single one of these questions")
    # Epsilon is in tenths, and never one that contributors would be warned about.
    highest, own = int(10 * HIGH_EPSILON), exact(epsilon)
    lower = _most(
        highest, lambda tenths: Fraction(tenths, 10) <= own or not _works(schema, Fraction(tenths, 10), n, z, pairs)
    )
    if lower < highest:
        found.append(f"epsilon = {(lower + 1) / 10:g}")
    return found


def _works(schema: Schema, epsilon: float | Fraction, n: int, z: float, pairs: bool) -> bool:
    try:
        mechanism = default_mechanism(schema, epsilon, pairs=pairs).mechanism
    except DeniableError:
        return False
    questions = questions_of(schema, mechanism)
    return bool(questions) and all(z * question.relative_error(n) <= USEFUL for question in questions)


def _most(largest: int, holds: Callable[[int], bool]) -> int:
    """Return the largest of 1, 2, ... for which something holds that holds for all smaller ones; 0 if for none."""
    low, high = 0, largest
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
