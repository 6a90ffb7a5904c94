"""Kind of question with one answer from a list of unordered categories, or of intervals between cut points."""

from __future__ import annotations

import math
from typing import Any, final

from deniable.errors import quoted
from deniable.survey.lists import described_list, list_of_numbers, settled_list
from deniable.survey.question import Question
from deniable.survey.question_kind import Draft, QuestionKind
from deniable.survey.tally import FEW_ROWS, ColumnTally, unused

MAX_INTERVALS = 10
"""Most intervals of a draft."""


@final
class Categories(QuestionKind):
    """One category of a list. It is the kind of a question that does not name its kind.

    Examples
    --------
    >>> KIND.usual, KIND.usual_ask
    (True, 'shares')
    """

    name = "categories"
    spoken = "One answer from a list"
    inputs = ("answers", "cuts")
    usual = True
    keys = frozenset({"edges"})
    drafted = 40

    def settled(self, question: Question, where: str) -> dict[str, Any]:
        return settled_list(question, where)

    def holds_numbers(self, question: Question) -> bool:
        return list_of_numbers(question)

    def described(self, question: Question) -> str:
        return described_list(question)

    def inspected(self, question: Question) -> str:
        return self.name if question.edges is None else "intervals"

    def draft(self, column: ColumnTally, most: int) -> Draft:
        """Return a draft with the list of answers, or with intervals of equal width if there are too many numbers."""
        counts = column.categories
        if not column.numeric and len(counts) >= 0.9 * column.present and column.present >= FEW_ROWS:
            found = f"{len(counts)} distinct answers of {column.present}"
            return Draft(*column.left_out(f"it looks like an identifier ({found})"))
        missing = unused("missing", counts) if column.missing else None
        if len(counts) <= most and not column.overflowed:
            categories = tuple(sorted(counts, key=float) if column.numeric else sorted(counts))
            remarks = [*column.rare(counts), *column.spellings_apart(categories)]
            return Draft({"categories": categories, "missing": missing}, remarks, categories)
        if not column.numeric or not column.low < column.high:
            distinct = f"at least {column.limit}" if column.overflowed else str(len(counts))
            return Draft(*column.left_out(f"it has {distinct} distinct answers, max_categories={most}"))
        remark = (
            f"attribute {quoted(column.name)}: its cut points come from the smallest and the largest answer; choose "
            "cut points from what is known about the question instead"
        )
        edges = equal_edges(column.low, column.high, min(MAX_INTERVALS, most))
        return Draft({"missing": missing, "edges": edges}, [remark])


KIND = Categories()


def equal_edges(low: float, high: float, intervals: int) -> tuple[float, ...]:
    """Return round, equally spaced cut points inside (low, high]: at least one, at most `intervals` - 1.

    Examples
    --------
    >>> equal_edges(17, 83, 10)
    (20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0)
    """
    width = high / intervals - low / intervals
    if not 1e-300 < width < 1e300:
        return (high,)
    power = math.floor(math.log10(width))
    for exponent in (power, power + 1, power + 2):
        for factor in (1.0, 2.0, 2.5, 5.0):
            step = factor * 10.0**exponent
            first, last = math.floor(low / step) + 1, math.floor(high / step)
            # Twelve digits hide that multiples of 0.1 are not exact in binary.
            edges = {float(f"{i * step:.12g}") for i in range(first, min(last, first + intervals) + 1)}
            inside = tuple(sorted(edge for edge in edges if low < edge <= high))
            if 1 <= len(inside) < intervals:
                return inside
    return (high,)
