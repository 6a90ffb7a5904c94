"""Encoding of answers as integer codes, a whole column at a time.

Columns are dictionary-encoded first, so that text is compared once per *distinct* answer, not once per row. Three
rules, applied in this order, decide which category an answer is:

1. its exact text is a label of the attribute (an integer or an integral float of a typed column is written without a
   decimal point: ``3.0`` is ``"3"``);
2. the answer is missing (null, or the empty text), and the attribute has a category for missing answers;
3. the answer is the same decimal number as exactly one label: ``"3.0"`` is the category ``"3"``. Text with leading
   zeros or an exponent is never read as a number here, because ``"01234"`` is a postcode.

No message repeats an answer, because messages end up in logs. Messages name the attribute and the row. Exceptions of
pyarrow quote the value on which they fail, so they are never chained.

Binned and numeric attributes read every answer as a number (or as a date, if the cut points are dates) instead, apart
from the labels of *missing* and *other*.
Open text stays text: its only rule is that of missing answers.

An answer to a multiple-choice question is a list, or one text divided at the attribute's separator, such as ``"phone;
radio"``. White space around the parts is dropped. An empty text means that no option is ticked, or *missing* if the
attribute has that category, because an empty cell cannot distinguish the two. A list can distinguish them: ``[]`` means
that no option is ticked, and null means missing. A column that has only nulls and no type of its own is missing as
well.

A question that is asked only if an earlier question has certain answers (`ask_if`) has the code of a missing answer in
all other rows, as if the cell were empty.

In the last step, numbers are rounded to their grid at random. `Readings` holds the answers before this step. Code that
only one kind of question needs is in the file of the kind, see `deniable.survey.kinds`.
"""

from __future__ import annotations

import datetime
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deniable.core.kernels import kernel
from deniable.core.randomness import Randomness, blocks
from deniable.errors import InvalidInputError, InvalidParameterError, quoted
from deniable.survey.question import Question
from deniable.survey.texts import LEAST_ROWS

Int64s = NDArray[np.int64]

DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", re.ASCII)
NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"

NOT_FINITE_TEXT = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)

UNKNOWN, MISSING, NOT_FINITE, OUTSIDE = -1, -2, -3, -4
"""Codes of answers that have no code of their own."""


class Rounding(NamedTuple):
    """Random rounding of the n answers of a column.

    Parameters
    ----------
    thresholds : uint64[n]
        Threshold T of each answer's random draw (see `deniable.survey.grid`). It is 0 where there is no number.
    decimals : object[n]
        Numbers as canonical texts, "" where there is no number.
    """

    thresholds: NDArray[np.uint64]
    decimals: NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Readings:
    """Answers as they were read, before random rounding of numbers.

    Parameters
    ----------
    base : int64[n, d]
        Codes. In a numeric column, the code is that of the grid's point at or below the answer. For open text,
        object[n, 1] of str.
    rounded : tuple of int
        Indices of the q numeric columns.
    thresholds : uint64[n, q]
        Threshold T of the random draw for each numeric answer (see `deniable.survey.grid`). It is 0 where there is no
        number.
    decimals : object[n, q]
        Numbers as canonical texts, "" where there is no number. They show whether two answers are the same.
    """

    base: NDArray[Any]
    rounded: tuple[int, ...] = ()
    thresholds: NDArray[np.uint64] = field(default_factory=lambda: np.empty((0, 0), dtype=np.uint64))
    decimals: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0), dtype=object))

    def codes(self, rng: Randomness | None = None) -> NDArray[Any]:
        """Contributor: return the codes int64[n, d], with every number rounded to its grid.

        The order of words is a frozen format, which clients in other languages copy. A contributor draws one 64-bit
        word u for each numeric attribute, in the schema's order and in one request, before the mechanism draws any
        word. A word is drawn for every numeric attribute, even if the answer is missing, on a point or clipped. The
        answer becomes the upper of its two neighbouring points if u < T. The words of n contributors come row by row.

        Parameters
        ----------
        rng : Randomness, optional
            Source of random words. It is needed if a column is numeric.
        """
        if not self.rounded:
            return self.base
        if rng is None:
            raise InvalidParameterError(
                "rng must be given, because numeric answers are rounded at random to points of their grid"
            )
        codes, columns = self.base.copy(), list(self.rounded)
        for rows, words in blocks(rng, len(codes), len(columns)):
            codes[rows, columns] += words.reshape(-1, len(columns)) < self.thresholds[rows]
        return codes


def as_table(answers: Any) -> pa.Table:
    """Return answers, given as a table, record batch, data frame or dict of columns, as a pyarrow Table."""
    if isinstance(answers, pa.Table):
        return answers
    if isinstance(answers, pa.RecordBatch):
        return pa.Table.from_batches([answers])
    try:
        if isinstance(answers, dict) and any(isinstance(column, (str, bytes)) for column in answers.values()):
            raise TypeError("a column must be a sequence of answers, not a single string")
        return pa.table(answers)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise InvalidInputError(
            f"answers must be a table of named columns, got {type(answers).__name__}: every column must be a sequence "
            "of answers of one type, and all columns must have the same length"
        ) from None


def check_columns(present: list[str], wanted: tuple[str, ...], where: str = "the answers") -> None:
    """Raise InvalidInputError unless every wanted column is present exactly once.

    A message only counts the unwanted columns. If a file has no header, its first line is a contributor's answers.
    """
    occurrences = Counter(present)
    absent = [name for name in wanted if name not in occurrences]
    if absent:
        hint = ""
        if len(present) == 1 and ";" in present[0]:
            hint = " (are the columns separated by semicolons? then every record must have as many cells)"
        plural = "columns" if len(absent) > 1 else "column"
        known = [name for name in wanted if name in occurrences]
        more = len(present) - len(known)
        others = f"{more} other column{'s' * (more != 1)}"
        found = f"{listed_labels(known)} and {others}" if known else others
        raise InvalidInputError(f"{where} must have the {plural} {listed_labels(absent)}, got {found}{hint}")
    for name in wanted:
        if occurrences[name] > 1:
            first, second, *_ = (i + 1 for i, column in enumerate(present) if column == name)
            raise InvalidInputError(
                f"{where} must have columns with different names, but columns {first} and {second} have the same name"
            )


def encode_column(question: Question, column: pa.Array, codes: Int64s, j: int) -> bool:
    """Write the codes of one question's n answers into column j of int64[n, d]. Return whether all have a code.

    An answer without a code gets a negative number: `UNKNOWN`, `MISSING` or `NOT_FINITE`.

    Raises
    ------
    InvalidInputError
        If the type of the column has no text form. The message names the attribute.
    """
    many = len(column) >= LEAST_ROWS
    table = question.text_codes if many and pa.types.is_string(column.type) else None
    if table is not None and table.write_codes(column, codes, j):
        return True
    if question.edges is not None and not question.dated and is_number_type(column.type):
        codes[:, j] = settled_codes(question, _binned_codes(question, column))
    else:
        encoded = dictionary_encoded(column, question.name)
        answers = encoded.dictionary
        read = _category_codes if question.edges is None else _dated_codes if question.dated else _binned_codes
        distinct = settled_codes(question, np.append(read(question, answers), MISSING))
        indices = _indices(encoded)
        if not encoded.null_count:
            distinct = distinct[:-1]
        if not many:
            codes[:, j] = distinct[indices]
        elif not _gather(indices, distinct, codes, j):
            raise IndexError
        if distinct.min(initial=0) >= 0:
            return True
    return bool(codes[:, j].min(initial=0) >= 0)


@kernel
def _gather(indices: NDArray[np.int32], distinct: Int64s, codes: Int64s, j: int) -> bool:
    """Write the value at every index into column j, and return whether all indices are in range."""
    for i in range(len(indices)):
        at = np.int64(indices[i])
        if at < 0 or at >= len(distinct):
            return False
        codes[i, j] = distinct[at]
    return True


def _indices(encoded: pa.DictionaryArray) -> NDArray[np.int32]:
    """Return the place of every answer among the distinct answers, int32[n]. Null comes after the last."""
    # The index type of a dictionary column may be too small for one more entry.
    indices = encoded.indices.cast(pa.int32())
    if indices.null_count:
        indices = indices.fill_null(pa.scalar(len(encoded.dictionary), pa.int32()))
    found: NDArray[np.int32] = indices.to_numpy(zero_copy_only=False)
    return found


def dictionary_encoded(column: pa.Array, name: str) -> pa.DictionaryArray:
    """Return a column in dictionary encoding, as indices into its distinct answers."""
    try:
        if not pa.types.is_dictionary(column.type):
            return column.dictionary_encode()
        if len(column.dictionary) <= len(column):
            return column
        # A dictionary of many batches may be larger than one batch. No text is copied row by row, because it may be
        # long.
        used = pc.unique(column.indices.drop_null())
        return pa.DictionaryArray.from_arrays(pc.index_in(column.indices, used), column.dictionary.take(used))
    except pa.ArrowException:
        raise unreadable(name, column.type) from None


def distinct_answers(column: pa.Array, name: str) -> tuple[list[str | None], NDArray[np.int32]]:
    """Return the distinct texts of a column followed by None, and the place of every answer among them."""
    encoded = dictionary_encoded(column, name)
    return [*answer_texts(encoded.dictionary, name), None], _indices(encoded)


def answer_texts(answers: pa.Array, name: str) -> list[str | None]:
    """Return the texts by which answers are compared. Numbers are plain decimals without a trailing ``.0``."""
    texts: list[str | None] = _text_array(answers, name).to_pylist()
    if pa.types.is_floating(answers.type) or pa.types.is_decimal(answers.type):
        return [text if text is None else _plain_number(text) for text in texts]
    return texts


def canonical_decimal(text: str) -> str | None:
    """Return the shortest form of a plain decimal number ("3.0" -> "3"), or None for any other text."""
    if not DECIMAL.fullmatch(text):
        return None
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def is_number_type(kind: pa.DataType) -> bool:
    """Return whether columns of this type are read as numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_list_type(kind: pa.DataType) -> bool:
    """Return whether columns of this type hold lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def label_codes(labels: tuple[str, ...]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the codes for `encode_column`, by exact label, and by decimal number if it is unique."""
    numbers = [canonical_decimal(label) for label in labels]
    times = Counter(numbers)
    unique = {number: code for code, number in enumerate(numbers) if number is not None and times[number] == 1}
    return {label: code for code, label in enumerate(labels)}, unique


def settled_codes(question: Question, codes: Int64s) -> Int64s:
    """Write the attribute's own codes for missing and unknown answers, if it has any, and return the codes."""
    for reason, code in ((MISSING, question.missing_code), (UNKNOWN, question.other_code)):
        if code is not None:
            codes[codes == reason] = code
    return codes


def _binned_codes(question: Question, answers: pa.Array) -> Int64s:
    """Return the codes of answers of a binned attribute. They are negative for answers without a code."""
    texts = None if is_number_type(answers.type) else _text_array(answers, question.name)
    values, unfit = _numbers(answers if texts is None else texts)
    codes = np.searchsorted(np.array(question.edges), values, side="right").astype(np.int64)
    codes[np.isnan(values)] = UNKNOWN
    codes[unfit] = NOT_FINITE
    if texts is not None:
        codes[_mask(pc.equal(texts, ""))] = MISSING
    for label in (question.missing, question.other):
        if label is not None:
            code = question.lookup[0][label]
            number = canonical_decimal(label)
            if number is not None:
                codes[values == float(number)] = code
            if texts is not None:
                codes[_mask(pc.equal(texts, label))] = code
    codes[_mask(answers.is_null())] = MISSING
    return codes


def _dated_codes(question: Question, answers: pa.Array) -> Int64s:
    """Return the codes of dates. For a time, the day as it is written is used."""
    edges: Any = question.edges
    codes = np.full(len(answers), MISSING, dtype=np.int64)
    for i, text in enumerate(answer_texts(answers, question.name)):
        if text and text in (question.missing, question.other):
            codes[i] = question.lookup[0][text]
        elif text:
            day, rest = text[:10], text[10:]
            codes[i] = bisect_right(edges, day) if is_date(day) and (not rest or rest[0] in "T ") else UNKNOWN
    return codes


def is_date(text: str) -> bool:
    """Return whether a text is a day of the calendar, such as 2026-05-01."""
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _category_codes(question: Question, answers: pa.Array) -> Int64s:
    exact, numbers = question.lookup
    codes = np.empty(len(answers), dtype=np.int64)
    for i, text in enumerate(answer_texts(answers, question.name)):
        codes[i] = MISSING if text is None else exact.get(text, UNKNOWN)
        if text is not None and codes[i] == UNKNOWN:
            codes[i] = MISSING if text == "" else numbers.get(canonical_decimal(text) or text, UNKNOWN)
    if pa.types.is_floating(answers.type):
        # "nan" would otherwise pass for an unknown answer, and so for `other`.
        values = answers.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False)
        codes[~np.isfinite(values) & (codes == UNKNOWN)] = NOT_FINITE
    return codes


def _numbers(answers: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return answers as float64 (NaN if not a number), and which answers are infinite or NaN themselves."""
    if pa.types.is_string(answers.type):
        spelled = pc.match_substring_regex(answers, NUMBER).fill_null(False)
        values = pc.if_else(spelled, answers, None).cast(pa.float64())
        unfit = _mask(pc.match_substring_regex(answers, r"^[+-]?(nan|inf|infinity)$", ignore_case=True))
    else:
        values = answers.cast(pa.float64(), safe=False)
        unfit = np.zeros(len(answers), dtype=np.bool_)
    known = _mask(values.is_valid())
    floats = values.fill_null(np.nan).to_numpy(zero_copy_only=False)
    return floats, unfit | (known & ~np.isfinite(floats))


def _text_array(answers: pa.Array, name: str) -> pa.Array:
    # The text of a duration is a number without its unit: one second is 1, or 1000000000.
    if pa.types.is_duration(answers.type):
        raise unreadable(name, answers.type)
    try:
        return answers.cast(pa.string())
    except pa.ArrowException:
        raise unreadable(name, answers.type) from None


def _mask(answers: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = answers.fill_null(False).to_numpy(zero_copy_only=False)
    return mask


def _plain_number(text: str) -> str:
    if "e" in text:
        text = format(Decimal(text), "f")
    return canonical_decimal(text) or text


def unreadable(name: str, kind: pa.DataType) -> InvalidInputError:
    """Return the message about a column whose type cannot hold answers."""
    return InvalidInputError(f"column {quoted(name)} must hold text or numbers, got the type {kind}")


def listed_labels(names: Sequence[str], limit: int = 8) -> str:
    """Return a text with the first names, quoted and shortened, and the number of the others.

    Examples
    --------
    >>> listed_labels(("phone", "radio", "television"), limit=2)
    '“phone”, “radio” and 1 more'
    """
    shown = ", ".join(quoted(name) if len(name) <= 60 else quoted(name[:57]) + "..." for name in names[:limit])
    return (shown or "none") + (f" and {len(names) - limit} more" if len(names) > limit else "")
