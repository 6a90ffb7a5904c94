"""Kind of question with one answer from a list of categories in order, from least to most."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, final

from deniable.errors import InvalidParameterError, quoted
from deniable.survey.encoding import canonical_decimal
from deniable.survey.lists import checked_floats, described_list, list_of_numbers, settled_list
from deniable.survey.question import Question
from deniable.survey.question_kind import Draft, QuestionKind
from deniable.survey.tally import FEW_VALUES, REAL, ColumnTally

MAX_MONTHS = 24
"""Longest span of dates that is cut by months. A longer span is cut by years."""

_DATE = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])(-[0-9]{2}([T ].*)?)?", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?", re.ASCII)


@final
class Ordered(QuestionKind):
    """Ordered categories. A mean may be asked for if every category has a score.

    Examples
    --------
    >>> KIND.averaged, KIND.usual_ask
    (True, 'shares')
    """

    name = "ordered"
    spoken = "One answer from a list, from least to most"
    inputs = ("answers", "scores")
    keys = frozenset({"edges", "scores"})
    averaged = True
    drafted = 10

    def settled(self, question: Question, where: str) -> dict[str, Any]:
        kept = settled_list(question, where)
        if question.scores is None:
            return kept
        return {**kept, "scores": _checked_scores(question.scores, len(kept["categories"]), where)}

    def scores(self, question: Question) -> Sequence[float] | None:
        if question.scores is not None:
            return question.scores
        if question.edges is None and all(canonical_decimal(label) is not None for label in question.categories):
            return [float(label) for label in question.categories]
        return None

    def in_order(self, question: Question) -> bool:
        return True

    def holds_numbers(self, question: Question) -> bool:
        return list_of_numbers(question)

    def described(self, question: Question) -> str:
        return described_list(question, "ordered, ")

    def draft(self, column: ColumnTally, most: int) -> Draft | None:
        """Return a draft with all whole numbers of a short span, also without holders, or with months or years."""
        counts = column.categories
        numbers = sum(REAL.fullmatch(text) is not None for text in counts)
        whole = not column.words.count and column.whole and column.low < column.high
        span = int(column.high - column.low) + 1 if whole else 0
        if 3 <= span <= min(FEW_VALUES, most) and 2 * numbers >= span:
            categories = tuple(str(int(column.low) + i) for i in range(span))
            missing, other, remarks = column.nothing()
            keys = {"categories": categories, "missing": missing, "other": other}
            return Draft(keys, [*column.rare(counts), *remarks])
        if counts and not column.mostly_numeric and all(_DATE.fullmatch(text) for text in counts):
            return self._dates(column, most)
        return None

    def _dates(self, column: ColumnTally, most: int) -> Draft:
        """Return the draft of months, including those without holders, or of days cut by months or years."""
        counts = column.categories
        first, last = (int(text[:4]) * 12 + int(text[5:7]) - 1 for text in (min(counts), max(counts)))
        missing = "missing" if column.missing else None
        months = tuple(f"{month // 12:04}-{month % 12 + 1:02}" for month in range(first, last + 1))
        if counts.keys() <= set(months) and len(months) <= most and not column.overflowed:
            return Draft({"categories": months, "missing": missing}, column.rare(counts))
        monthly = last - first < min(MAX_MONTHS, most)
        step = 1 if monthly else 12
        cuts = [month for month in range(first + 1, last + 1) if month % step == 0]
        if not all(_DAY.fullmatch(text) for text in counts) or not 1 <= len(cuts) < most:
            reason = "its dates fall into one month, or are not dates of days; cut them yourself (edges)"
            return Draft(*column.left_out(reason))
        edges = tuple(f"{month // 12:04}-{month % 12 + 1:02}-01" for month in cuts)
        remark = (
            f"attribute {quoted(column.name)}: dates, cut by {'months' if monthly else 'years'}; the cut points come "
            "from the first and the last answer; choose cut points from what is known about the question instead"
        )
        return Draft({"missing": missing, "edges": edges}, [remark])


KIND = Ordered()


def _checked_scores(scores: Sequence[float], count: int, where: str) -> tuple[float, ...]:
    values = checked_floats("scores", scores, where)
    if len(values) != count or not all(map(math.isfinite, values)):
        raise InvalidParameterError(
            f"scores of {where} must be finite numbers, one for each of the {count} categories, got "
            f"scores={quoted(values)}"
        )
    return values
