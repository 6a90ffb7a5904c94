"""Kind of question with several answers: any subset of a list of options."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, quoted
from deniable.survey.dictionary import is_text
from deniable.survey.encoding import (
    MISSING,
    UNKNOWN,
    Int64s,
    canonical_decimal,
    distinct_answers,
    is_list_type,
    listed_labels,
)
from deniable.survey.lists import described_list
from deniable.survey.question import Question
from deniable.survey.question_kind import ColumnOf, Draft, QuestionKind
from deniable.survey.tally import ColumnTally, unused

BOX = ("no", "yes")
"""Labels of an option: not ticked, and ticked."""

MAX_BOXES = 20
"""Most options of a draft. For a report every option is a question of its own."""

SEPARATORS = (";", "|", ",")
"""Separators of several answers in one cell, tried in this order."""


@final
class Multiple(QuestionKind):
    """Any of the categories. Each is an option with a two-valued column of the record. So are `missing` and `other`.

    Examples
    --------
    >>> KIND.several
    True
    """

    name = "multiple"
    spoken = "Several answers from a list"
    keys = frozenset({"separator"})
    several = True
    drafted = 30

    def settled(self, question: Question, where: str) -> dict[str, Any]:
        return {"categories": question.categories}

    def check(self, question: Question, where: str) -> None:
        """Check that the name of every option can be written in a cell."""
        separator = question.separator
        if not separator or not is_text(separator):
            raise InvalidParameterError(
                f"separator of {where} must be non-empty text, got separator={quoted(separator)}"
            )
        for label in question.labels:
            if separator in label or label != label.strip() or not label:
                raise InvalidParameterError(
                    f"categories of {where} must not contain the separator {quoted(separator)}, and must not begin or "
                    f"end with white space, got {quoted(label)}; declare another separator, or change the category"
                )

    def columns(self, question: Question) -> tuple[ColumnOf, ...]:
        colon = "" if question.title.endswith(("?", ".", "!", ":")) else ":"
        titled = question.title and f"{question.title}{colon} "
        return tuple(
            ColumnOf(f"{question.name}: {label}", BOX, titled and f"{titled}{label}") for label in question.labels
        )

    def encode(self, question: Question, column: pa.Array, first_row: int, codes: NDArray[Any], j: int) -> None:
        """Write into the column of each option whether each contributor ticks the option."""
        if pa.types.is_null(column.type):
            # Nobody has answered. In a column of texts, null could also be an empty cell.
            column = column.cast(pa.list_(pa.string()))
        read = _listed_boxes if is_list_type(column.type) else _divided_boxes
        ticked, reasons = read(question, column)
        self.check_readable(question, reasons, first_row)
        codes[:, j : j + question.k] = ticked

    def text_tells(self, question: Question) -> bool:
        return False

    def unknown(self, question: Question, where: str) -> str:
        return (
            f"unknown option of {where}: the schema has {listed_labels(question.labels)}, and cells are divided at "
            f'{quoted(question.separator)}; correct the answer, or declare the option or another "separator" in the '
            "schema"
        )

    def decode(self, question: Question, codes: Int64s) -> pa.Array:
        labels = np.array(question.labels, dtype=object)
        return pa.array([question.separator.join(labels[row == 1]) for row in codes], pa.string())

    def described(self, question: Question) -> str:
        return described_list(question, "any of them, ")

    def draft(self, column: ColumnTally, most: int) -> Draft | None:
        """Return a draft with the options in lists, or in texts that are divided at a separator."""
        if column.lists:
            return _drafted(column, column.counts, column.missing, SEPARATORS[0])
        for separator in SEPARATORS:
            if boxes := _divided(column, separator):
                # In a text, an answer without a tick and a missing answer look the same.
                return _drafted(column, boxes, 0, separator)
        return None


KIND = Multiple()


def _divided_boxes(question: Question, column: pa.Array) -> tuple[Int64s, Int64s]:
    """Return the ticked options in texts divided at a separator, or negative reasons for texts without options."""
    texts, indices = distinct_answers(column, question.name)
    ticked = np.zeros((len(texts), question.k), dtype=np.int64)
    reasons = np.zeros(len(texts), dtype=np.int64)
    for i, text in enumerate(texts):
        parts = [part.strip() for part in (text or "").split(question.separator)]
        codes = [_box(question, part) for part in parts if part]
        if codes:
            reasons[i] = min(0, *codes)
            ticked[i, codes] = 1
        elif question.missing_code is not None:
            ticked[i, question.missing_code] = 1
    return ticked[indices], reasons[indices]


def _listed_boxes(question: Question, column: pa.Array) -> tuple[Int64s, Int64s]:
    """Return the ticked options in lists, or negative reasons for lists without options."""
    texts, indices = distinct_answers(pc.list_flatten(column), question.name)
    codes = np.array([MISSING if text is None else _box(question, text.strip()) for text in texts])[indices]
    rows = pc.list_parent_indices(column).to_numpy(zero_copy_only=False).astype(np.int64)
    ticked = np.zeros((len(column), question.k), dtype=np.int64)
    reasons = np.zeros(len(column), dtype=np.int64)
    ticked[rows[codes >= 0], codes[codes >= 0]] = 1
    np.minimum.at(reasons, rows, np.minimum(codes, 0))
    null = column.is_null().to_numpy(zero_copy_only=False)
    if question.missing_code is None:
        reasons[null] = MISSING
    else:
        ticked[null, question.missing_code] = 1
    return ticked, reasons


def _box(question: Question, text: str) -> int:
    exact, numbers = question.lookup
    code = exact.get(text)
    if code is None:
        code = numbers.get(canonical_decimal(text) or text, question.other_code)
    return UNKNOWN if code is None else code


def _divided(column: ColumnTally, separator: str) -> dict[str, int]:
    """Return the number of people who tick each option, or nothing if answers are not options with a separator."""
    divided = [text for text in column.counts if separator in text]
    if column.overflowed or len(divided) < 2 or column.mostly_numeric:
        return {}
    boxes: dict[str, int] = {}
    cells: dict[str, int] = {}
    for text, count in column.counts.items():
        for part in {part.strip() for part in text.split(separator)} - {""}:
            boxes[part] = boxes.get(part, 0) + count
            cells[part] = cells.get(part, 0) + 1
    # A part that occurs in one cell only comes from a category with a comma, or from open text.
    shared = sum(times > 1 for times in cells.values())
    fits = 2 <= len(boxes) <= MAX_BOXES and len(boxes) < len(column.counts) + 2
    return boxes if fits and 2 * shared >= len(boxes) else {}


def _drafted(column: ColumnTally, boxes: dict[str, int], missing: int, separator: str) -> Draft:
    if column.overflowed or not 2 <= len(boxes) <= MAX_BOXES:
        found = f"at least {column.limit}" if column.overflowed else str(len(boxes))
        return Draft(*column.left_out(f"its lists hold {found} different answers, 2 to {MAX_BOXES} can be boxes"))
    usable = next((mark for mark in (separator, *SEPARATORS, "\n") if not any(mark in box for box in boxes)), None)
    if usable is None:
        return Draft(*column.left_out("its answers contain every separator"))
    remark = (
        f"attribute {quoted(column.name)}: several answers, each an option that is reported as yes or no; cells are "
        f"divided at {quoted(usable)}"
    )
    categories = tuple(sorted(boxes))
    label = unused("missing", boxes) if missing else None
    keys = {"categories": categories, "missing": label, "separator": usable}
    return Draft(keys, [remark, *column.rare(boxes), *column.spellings_apart(categories)], None)
