"""One of a list of categories that stand in an order, from least to most."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, quoted
from deniable.survey.encoding import canonical_decimal, encode_column
from deniable.survey.lists import checked_floats, described_list, list_of_numbers, settled_list
from deniable.survey.question_kind import Draft, QuestionKind
from deniable.survey.tally import FEW_VALUES, REAL, ColumnTally

if TYPE_CHECKING:
    from deniable.survey.attribute import Attribute

MAX_MONTHS = 24
"""Longest span of dates that is cut by months; a longer one is cut by years."""

_DATE = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])(-[0-9]{2}([T ].*)?)?", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?", re.ASCII)


@final
class Ordered(QuestionKind):
    """Ordered categories; a mean may be asked for if every category has a score.

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

    def settled(self, attribute: Attribute, where: str) -> dict[str, Any]:
        kept = settled_list(attribute, where)
        if attribute.scores is None:
            return kept
        return {**kept, "scores": _checked_scores(attribute.scores, len(kept["categories"]), where)}

    def scores(self, attribute: Attribute) -> Sequence[float] | None:
        if attribute.scores is not None:
            return attribute.scores
        if attribute.edges is None and all(canonical_decimal(label) is not None for label in attribute.categories):
            return [float(label) for label in attribute.categories]
        return None

    def in_order(self, attribute: Attribute) -> bool:
        del attribute
        return True

    def encode(self, attribute: Attribute, column: pa.Array, first_row: int, codes: NDArray[Any], j: int) -> None:
        encode_column(attribute, column, first_row, codes, j)

    def holds_numbers(self, attribute: Attribute) -> bool:
        return list_of_numbers(attribute)

    def described(self, attribute: Attribute) -> str:
        return described_list(attribute, "ordered, ")

    def draft(self, column: ColumnTally, most: int) -> Draft | None:
        """Return whole numbers of a short span, those included that nobody holds; or dates, in months or years."""
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
        """Return the draft of months, with those in between that nobody holds, or of days, cut by months or years."""
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
            return Draft(*column.left_out("its dates fall into one month, or are no days; cut them yourself (edges)"))
        edges = tuple(f"{month // 12:04}-{month % 12 + 1:02}-01" for month in cuts)
        remark = (
            f"attribute {quoted(column.name)}: dates, cut by {'months' if monthly else 'years'}; the cut points come "
            "from the first and the last answer: choose them by what is known about the question instead"
        )
        return Draft({"missing": missing, "edges": edges}, [remark])


KIND = Ordered()


def _checked_scores(scores: Sequence[float], count: int, where: str) -> tuple[float, ...]:
    values = checked_floats("scores", scores, where)
    if len(values) != count or not all(map(math.isfinite, values)):
        raise InvalidParameterError(
            f"scores of {where} must be {count} finite numbers, one for each category, got scores={quoted(values)}"
        )
    return values
