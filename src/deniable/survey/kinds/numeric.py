"""Kind of question for numbers in a public range, which are rounded at random to a public grid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, quoted
from deniable.survey.encoding import (
    MISSING,
    NOT_FINITE,
    NOT_FINITE_TEXT,
    NUMBER,
    OUTSIDE,
    UNKNOWN,
    Rounding,
    distinct_answers,
    settled_codes,
)
from deniable.survey.grid import MAX_DIGITS, Grid, Number
from deniable.survey.lists import no_number, plain_numbers
from deniable.survey.question import Question
from deniable.survey.question_kind import Draft, QuestionKind
from deniable.survey.tally import FEW_VALUES, REAL, ColumnTally

MAX_DRAFTED_POINTS = 51
"""Most points of a drafted grid. From 16 points on, a finer grid hardly helps a mean. From 65 on, it costs a
distribution precision."""


@final
class Numeric(QuestionKind):
    """A number. Its mean is estimated unless the schema says otherwise.

    Examples
    --------
    >>> KIND.rounded, KIND.usual_ask
    (True, 'mean')
    """

    name = "numeric"
    spoken = "A number"
    inputs = ("range",)
    keys = frozenset({"range", "grid", "clip"})
    usual_ask = "mean"
    averaged = True
    quartiles_shown = True
    rounded = True
    number_limit = f" of at most {MAX_DIGITS} digits"
    drafted = 20

    def settled(self, question: Question, where: str) -> dict[str, Any]:
        points = Grid.checked(question.range, question.grid, where)
        if question.categories not in ((), points.labels):
            raise InvalidParameterError(
                f"categories of {where} must be left out, because the points of the grid are the categories"
            )
        return {"categories": points.labels, "range": points.ends, "grid": points.size}

    def entry(self, question: Question) -> dict[str, Any]:
        return {"range": plain_numbers(question.points.ends), "grid": question.grid}

    def scores(self, question: Question) -> Sequence[float]:
        return question.points.scores

    def in_order(self, question: Question) -> bool:
        return True

    def encode(self, question: Question, column: pa.Array, first_row: int, codes: NDArray[Any], j: int) -> Rounding:
        """Write the points at or below the answers. Return the thresholds of the random draws, and the numbers."""
        texts, indices = distinct_answers(column, question.name)
        found = np.full(len(texts), MISSING, dtype=np.int64)
        thresholds = np.zeros(len(texts), dtype=np.uint64)
        decimals = np.full(len(texts), "", dtype=object)
        further = {
            label: question.lookup[0][label] for label in (question.missing, question.other) if label is not None
        }
        numbers = {number: code for label, code in further.items() if (number := Number.read(label)) is not None}
        points, clip = question.points, question.clip
        for i, text in enumerate(texts):
            if not text:
                continue
            number = Number.read(text)
            known = further.get(text, None if number is None else numbers.get(number))
            if known is not None:
                found[i] = known
            elif number is None:
                unfit = len(text) > MAX_DIGITS or NOT_FINITE_TEXT.fullmatch(text) or re.match(NUMBER, text)
                found[i] = NOT_FINITE if unfit else UNKNOWN
            elif (cell := points.cell(number, clip)) is None:
                found[i] = OUTSIDE
            else:
                found[i], thresholds[i] = cell
                decimals[i] = str(number)
        codes[:, j] = settled_codes(question, found)[indices]
        self.check_readable(question, codes[:, j], first_row)
        return Rounding(thresholds[indices], decimals[indices])

    def holds_numbers(self, question: Question) -> bool:
        return True

    def text_tells(self, question: Question) -> bool:
        return False

    def unknown(self, question: Question, where: str) -> str:
        return no_number(where)

    def described(self, question: Question) -> str:
        low, high = question.range_texts
        further = "".join(f", {quoted(label)}" for label in question.labels[len(question.categories) :])
        return f" (number): {low} to {high}, rounded at random to one of {question.grid} points{further}"

    def answers(self, question: Question) -> dict[str, Any]:
        return {**super().answers(question), "range": list(question.points.ends), "grid": question.grid}

    def draft(self, column: ColumnTally, most: int) -> Draft | None:
        """Return a draft with a round range wider than the answers and a round grid. Cells like "n/a" are missing."""
        if column.mostly_numeric and (column.overflowed or len(column.categories) > min(FEW_VALUES, most)):
            return self._drafted(column)
        if column.has_decimal_commas:
            return Draft(*column.left_out("its numbers have decimal commas: write them with a point, 1.5"))
        if column.has_commas:
            return Draft(
                *column.left_out("its numbers have commas, of thousands or decimals: write them as 1500 or 1.5")
            )
        return None

    def _drafted(self, column: ColumnTally) -> Draft:
        low, high, tail = _bulk(column)
        missing, other, remarks = column.nothing()
        try:
            ends = round_range(low, high)
            points = Grid.checked(ends, round_grid(*ends, whole=column.whole), "the draft")
        except (InvalidParameterError, ArithmeticError):
            return Draft(*column.left_out("its numbers are too large or too close together"))
        remark = (
            f"attribute {quoted(column.name)}: its range comes from the answers, rounded outwards. A range is public, "
            'so it must not depend on the answers: write the least and the largest possible answer ("range")'
        )
        keys = {
            "missing": missing,
            "other": other,
            "range": points.ends,
            "grid": points.size,
            "clip": not ends[0] <= column.low <= column.high <= ends[1],
        }
        return Draft(keys, [remark, *tail, *remarks])


KIND = Numeric()


def _bulk(column: ColumnTally) -> tuple[float, float, list[str]]:
    """Return the range of the answers, without a tail of 1% if the tail is longer than the rest of the range."""
    values = np.array([float(text) for text in column.counts if REAL.fullmatch(text)])
    weights = np.array([count for text, count in column.counts.items() if REAL.fullmatch(text)])
    order = np.argsort(values)
    shares = np.cumsum(weights[order]) / weights.sum()
    first, last = (float(values[order][np.searchsorted(shares, share)]) for share in (0.01, 0.99))
    low = first if first - column.low > last - first > 0 else column.low
    high = last if column.high - last > last - first > 0 else column.high
    if (low, high) == (column.low, column.high):
        return low, high, []
    return (
        low,
        high,
        [
            f"attribute {quoted(column.name)}: few answers lie far from all others. The range leaves them out, and "
            "they are reported as its nearer end (clip). Make the range wider if such answers are possible"
        ],
    )


def round_range(low: float, high: float) -> tuple[float, float]:
    """Return round ends around answers: from 0 if they start near 0, else the next multiples of about a tenth.

    Examples
    --------
    >>> round_range(17, 83), round_range(1402.5, 1980), round_range(-3.2, 4)
    ((0.0, 90.0), (1400.0, 2000.0), (-4.0, 4.0))
    """
    lowest, highest = Decimal(repr(float(low))), Decimal(repr(float(high)))
    step = next(_round_steps((highest - lowest) / 10))
    first = Decimal(0) if 0 <= lowest <= highest - lowest else (lowest / step).to_integral_value(ROUND_FLOOR) * step
    return float(first), float((highest / step).to_integral_value(ROUND_CEILING) * step)


def round_grid(low: float, high: float, whole: bool) -> int:
    """Return the number of points of a range at a round step, at most `MAX_DRAFTED_POINTS`, also for integers.

    Examples
    --------
    >>> round_grid(0, 100, whole=True), round_grid(0, 12, whole=True), round_grid(1.4, 2.1, whole=False)
    (51, 13, 36)
    """
    width = Decimal(repr(float(high))) - Decimal(repr(float(low)))
    least = max(width / (MAX_DRAFTED_POINTS - 1), Decimal(1 if whole else 0))
    steps = (step for step in _round_steps(least) if width % step == 0 and (not whole or step % 1 == 0))
    return int(width / next(steps)) + 1


def _round_steps(least: Decimal) -> Iterator[Decimal]:
    """Yield the steps with one round digit, from the first step that is not less than `least`."""
    power = least.adjusted()
    while True:
        for digits in ("1", "2", "2.5", "5"):
            step = Decimal(digits).scaleb(power)
            if step >= least:
                yield step
        power += 1
