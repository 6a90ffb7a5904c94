"""Statistics of one column of answers for drafting. Their size does not grow with the number of rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.errors import quoted
from deniable.survey.encoding import canonical_decimal, distinct_answers, is_list_type

RARE = 5
"""A category held by fewer contributors than this is called rare."""

FEW_ROWS = 10
"""With fewer answers than this, distinct answers say nothing about identifiers."""

FEW_VALUES = 12
"""Longest span of whole numbers that are drafted as ordered categories. More numbers go onto a grid."""

NAMED_ROWS, NAMED_GROUPS = 5, 3
"""Most rows, and most groups of categories that seem to be one category, that a warning names."""

FEW_WORDS = 0.05
"""Largest share of cells with words in a column of numbers."""

FEW_DIFFERENT_WORDS = 3
"""A column of numbers may contain this many different words, such as "refused", up to half as often as answers."""

NOTHING = frozenset(
    (
        *("na", "n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", "?", ".", "#n/a"),
        *("missing", "unknown", "no answer", "don't know", "refused"),
        *("k.a.", "k. a.", "keine angabe", "weiß nicht", "unbekannt", "fehlt"),
        *("nc", "n.c.", "sans réponse", "non réponse", "ne sait pas", "ns/nc", "no sabe", "no contesta"),
    )
)
"""Marks of a missing number in a cell, in lower case."""

REAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
"""A number as files write it."""

_COMMA = re.compile(r"-?[0-9]+,[0-9]+", re.ASCII)
_THOUSANDS = re.compile(r"-?[0-9]{1,3},[0-9]{3}", re.ASCII)


@dataclass
class Cells:
    """Cells that are not numbers: their number, and their first rows, counted from 1."""

    count: int = 0
    rows: list[int] = field(default_factory=list)


@dataclass
class ColumnTally:
    """Counts of the answers in one column.

    Examples
    --------
    >>> column = ColumnTally("packs", limit=100)
    >>> column.add(pa.array(["2", "n/a", "2.0"]), first_row=1)
    >>> column.categories, column.mostly_numeric
    ({'2': 1, 'n/a': 1, '2.0': 1}, False)
    """

    name: str
    limit: int
    counts: dict[str, int] = field(default_factory=dict)
    present: int = 0
    missing: int = 0
    overflowed: bool = False
    words: Cells = field(default_factory=Cells)
    different_words: set[str] = field(default_factory=set)
    marks: dict[str, Cells] = field(default_factory=dict)
    whole: bool = True
    low: float = math.inf
    high: float = -math.inf
    last: int | None = None
    sequential: bool = True
    lists: bool = False

    def add(self, values: pa.Array, first_row: int) -> None:
        """Count the answers of a batch. For lists, count the options; `missing` then counts people."""
        if is_list_type(values.type):
            self.lists, self.sequential = True, False
            self.missing += values.null_count
            values = pc.list_flatten(values)
        self._follow(values)
        texts, indices = distinct_answers(values, self.name)
        counts = np.bincount(indices, minlength=len(texts)).tolist()
        for code, (text, count) in enumerate(zip(texts, counts, strict=True)):
            if self.lists:
                if box := (text or "").strip():
                    self._remember(box, count)
            elif not text:
                self.missing += count
            elif count and (cells := self._look(text, count)) and len(cells.rows) <= NAMED_ROWS:
                cells.rows += (np.flatnonzero(indices == code)[: NAMED_ROWS + 1] + first_row).tolist()

    def _look(self, text: str, count: int) -> Cells | None:
        """Count an answer, and return the cells to which it belongs if it is not a number."""
        self.present += count
        self._remember(text, count)
        if REAL.fullmatch(text):
            if math.isfinite(number := float(text)):
                self.low, self.high = min(self.low, number), max(self.high, number)
                self.whole = self.whole and number.is_integer()
            return None
        mark = text.strip().casefold() in NOTHING
        if not mark and len(self.different_words) <= FEW_DIFFERENT_WORDS:
            self.different_words.add(text)
        cells = self.marks.setdefault(text, Cells()) if mark else self.words
        cells.count += count
        return cells

    def _remember(self, text: str, count: int) -> None:
        if text in self.counts or len(self.counts) < self.limit:
            self.counts[text] = self.counts.get(text, 0) + count
        else:
            self.overflowed = True

    def spellings(self, labels: Sequence[str]) -> dict[str, str]:
        """Return answers that seem to be spellings of another one among the labels, or marks if labels are empty."""
        marks = self._marks() if not labels else []
        found = dict.fromkeys(marks[1:], "".join(marks[:1]))
        for alike in _alike(labels):
            most = max(alike, key=lambda label: self.counts.get(label, 0))
            found |= {label: most for label in alike if label != most}
        return found

    def _follow(self, values: pa.Array) -> None:
        """Keep track of whether the column numbers its rows, so that each number is one more than the number before."""
        if not self.sequential or len(values) == 0:
            return
        try:
            numbers = values.cast(pa.int64())
        except pa.ArrowException:
            self.sequential = False
            return
        joined = self.last is None or numbers[0].as_py() == self.last + 1
        steady = numbers.null_count == 0 and bool((np.diff(numbers.to_numpy()) == 1).all())
        self.sequential = joined and steady
        self.last = numbers[-1].as_py()

    @property
    def numeric(self) -> bool:
        """Return whether every answer is a number."""
        return not self.words.count and not self.marks

    @property
    def mostly_numeric(self) -> bool:
        """Return whether answers are numbers except missing marks, and except few words or few different words."""
        words, marks = self.words.count, sum(cells.count for cells in self.marks.values())
        few = words <= FEW_WORDS * self.present or (
            len(self.different_words) <= FEW_DIFFERENT_WORDS and 2 * words <= self.present - marks
        )
        return self.low < self.high and few and self.present - words > marks

    def left_out(self, reason: str) -> tuple[None, list[str]]:
        """Return a draft that says that the column is left out, and why."""
        return None, [f"column {quoted(self.name)} is left out: {reason}"]

    @property
    def has_decimal_commas(self) -> bool:
        """Return whether most of many answers are numbers like "1,5", but not if all may be thousands ("1,500")."""
        return self.has_commas and not all(_THOUSANDS.fullmatch(text) for text in self.counts if "," in text)

    @property
    def has_commas(self) -> bool:
        """Return whether most of many answers are digits with a comma between them."""
        written = sum(_COMMA.fullmatch(text) is not None for text in self.counts)
        return not self.lists and 2 * written > len(self.counts) > FEW_VALUES

    def _marks(self) -> list[str]:
        """Return the marks of a missing answer, with the most frequent mark first."""
        return sorted(self.marks, key=lambda mark: (-self.marks[mark].count, mark))

    def nothing(self) -> tuple[str | None, str | None, list[str]]:
        """Return the labels for missing answers and other cells in a column of numbers, and remarks on them."""
        marks = self._marks()
        others = [self.words, *(self.marks[mark] for mark in marks[1:])]
        unread = sum(cells.count for cells in others)
        other, remarks = "no number" if unread else None, []
        if marks:
            alike = ""
            if marks[1:]:
                alike = f"; write {', '.join(map(quoted, marks[1:]))} in the same way if that means the same"
            cells = self.marks[marks[0]]
            remarks.append(
                f"attribute {quoted(self.name)}: {cells.count} cells {quoted(marks[0])} are read as missing answers "
                f"({_rows(cells.rows)}){alike}"
            )
        if unread:
            remarks.append(
                f"attribute {quoted(self.name)}: {unread} of {self.present} cells are not numbers, and are reported as "
                f"{quoted(other)} "
                f"({_rows([row for cells in others for row in cells.rows])}): correct those that should be numbers; "
                "otherwise their numbers are lost"
            )
        return marks[0] if marks else "missing" if self.missing else None, other, remarks

    def rare(self, counts: dict[str, int]) -> list[str]:
        """Return remarks on the number of categories that few people hold."""
        rare = sum(count < RARE for count in counts.values())
        remark = (
            f"attribute {quoted(self.name)}: {rare} of {len(counts)} categories are held by fewer than {RARE} people"
        )
        return [remark] if rare else []

    def spellings_apart(self, categories: Iterable[str]) -> list[str]:
        """Return remarks on categories that differ only by case and white space, and so are counted separately."""
        groups = _alike(categories)
        alike = sum(map(len, groups))
        named = "; ".join(" and ".join(map(quoted, labels)) for labels in groups[:NAMED_GROUPS])
        more = f"; and {len(groups) - NAMED_GROUPS} more" if len(groups) > NAMED_GROUPS else ""
        remark = (
            f"attribute {quoted(self.name)}: {alike} categories differ from another category only in case or white "
            f"space, and are counted separately: spell each answer in one way, in the answers and here ({named}{more})"
        )
        return [remark] if alike else []

    @property
    def categories(self) -> dict[str, int]:
        """Return the distinct answers and their counts. Among numbers, "3.0" and "3" are the same answer."""
        if not self.numeric:
            return self.counts
        merged: dict[str, int] = {}
        for text, count in self.counts.items():
            number = canonical_decimal(text) or text
            merged[number] = merged.get(number, 0) + count
        return merged


def _alike(labels: Iterable[str]) -> list[list[str]]:
    """Return the labels that differ only by case and white space, in groups of two or more."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(" ".join(label.casefold().split()), []).append(label)
    return [alike for alike in groups.values() if len(alike) > 1]


def _rows(rows: list[int]) -> str:
    """Return a text with the first rows of a list."""
    shown = sorted(rows)[:NAMED_ROWS]
    more = ", ..." if len(rows) > NAMED_ROWS else ""
    return f"row{'s' * (len(rows) > 1)} {', '.join(map(str, shown))}{more}"


def unused(label: str, categories: Iterable[str]) -> str:
    """Return a label that is not one of the categories.

    Examples
    --------
    >>> unused("missing", ["missing", "red"])
    'missing_'
    """
    taken = set(categories)
    while label in taken:
        label += "_"
    return label
