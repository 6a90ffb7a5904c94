"""Draft a schema from answers: a start to edit, never a finished public document.

Category lists and cut points are published, and here they are read from private answers. So a draft says what it takes
from whom: every function returns warnings beside the schema.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.core.checks import checked_integer
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.survey.attribute import SEPARATOR
from deniable.survey.encoding import as_table, canonical_decimal, distinct_answers, is_list_type
from deniable.survey.schema import Attribute, Schema

MAX_TRACKED = 10_000
"""Distinct answers of a column that are remembered; what is more is only counted."""

RARE = 5
"""A category held by fewer contributors than this is called rare."""

FEW_ROWS = 10
"""Below this many answers, distinct answers say nothing about identifiers."""

MAX_INTERVALS = 10

FEW_VALUES = 12
"""Longest span of whole numbers that are drafted as ordered categories; more numbers go onto a grid."""

MAX_DRAFTED_POINTS = 51
"""Most points of a drafted grid; from 16 on, a finer one hardly helps a mean, and from 65 on costs a distribution."""

MAX_BOXES = 20
"""Most boxes of a drafted question of several answers: every box is a question of its own to a report."""

MAX_MONTHS = 24
"""Longest span of dates that is cut by months; a longer one is cut by years."""

SEPARATORS = (";", "|", ",")
"""What may divide several answers in one cell, tried in this order."""

NAMED_ROWS, NAMED_GROUPS = 5, 3
"""Most rows, and most groups of categories that seem to be one, that a warning names."""

FEW_WORDS = 0.05
"""Share of cells up to which a column of numbers may hold words."""

NOTHING = frozenset(
    ("na", "n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", "?", ".", "#n/a", "missing", "unknown", "no answer")
)
"""What people write into a cell of numbers where there is none, in lower case."""

PUBLISHED = (
    "category lists, ranges and cut points are published with the schema, and these were read from private answers: "
    "replace them, wherever you can, by what was known before; one rare category can identify the person who holds it"
)

_COMMA = re.compile(r"-?[0-9]+,[0-9]+", re.ASCII)
_THOUSANDS = re.compile(r"-?[0-9]{1,3},[0-9]{3}", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])(-[0-9]{2}([T ].*)?)?", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?", re.ASCII)
_REAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)


@dataclass(frozen=True)
class DraftResult:
    """A drafted schema, and what to know before publishing it.

    Parameters
    ----------
    schema : Schema
        The draft.
    warnings : tuple of str
        One sentence each, most important first.
    spellings : mapping of columns to mappings
        Answers that seem to be another one in other letters, with the spelling that most people have: answers of which
        `files.tidy_file` writes them so are drafted with one category.
    commas : tuple of str
        Columns that are left out because their numbers have decimal commas; `files.tidy_file` writes points.
    """

    schema: Schema
    warnings: tuple[str, ...]
    spellings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    commas: tuple[str, ...] = ()


def draft_schema(answers: Any, max_categories: int = 50, *, kinds: bool = True) -> DraftResult:
    """Collector: draft the public schema of answers, to be edited.

    * Whole numbers of a short span become ordered categories, the ones in between that nobody holds included.
    * More numbers become a numeric attribute, on a round grid over a round range that is wider than the answers; cells
      like "n/a" are read as missing.
    * Lists, and texts like "phone; radio", become a question of several answers.
    * Dates are cut by months or years.
    * Another column of at most `max_categories` distinct answers becomes a list of categories (sorted, so that their
      order tells nothing).

    There is a category for missing answers if there are any. Identifiers, row numbers and columns of too many or too
    few answers are left out and named.

    Parameters
    ----------
    answers : pyarrow Table, data frame, dict of columns, or record batches
        One row per contributor; batches are read once and not kept.
    max_categories : int
        Longest list of categories, >= 2.
    kinds : bool
        False: categories only, and intervals of equal width for more numbers than that; columns of lists are left out.

    Returns
    -------
    DraftResult
        The schema and its warnings.

    Raises
    ------
    InvalidInputError
        If there are no answers, or no column is fit for a schema.

    Examples
    --------
    >>> draft = draft_schema(pa.table({"smoker": ["yes", "no", None], "packs": [0, 2, 0]}))
    >>> [attribute.labels for attribute in draft.schema.attributes]
    [('no', 'yes', 'missing'), ('0', '1', '2')]
    >>> len(draft.warnings)
    3
    """
    checked_integer("max_categories", max_categories, 2)
    columns: dict[str, _Column] = {}
    rows = 0
    for batch in _batches(answers):
        rows += batch.num_rows
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            column = columns.setdefault(name, _Column(name, max(MAX_TRACKED, max_categories + 1)))
            column.add(values, rows - batch.num_rows + 1)
    if rows == 0:
        raise InvalidInputError("a schema is drafted from at least one record, got none")
    attributes, warnings, spellings, commas = [], [], {}, []
    for column in columns.values():
        attribute, remarks = column.draft(max_categories, kinds)
        if attribute is not None and attribute.kind != "multiple" and (found := column.spellings(attribute)):
            spellings[column.name] = found
        if attribute is None and kinds and column.has_decimal_commas:
            commas.append(column.name)
        attributes += [attribute] if attribute is not None else []
        warnings += remarks
    if not attributes:
        raise InvalidInputError(f"no column is fit for a schema: {'; '.join(warnings)}")
    return DraftResult(Schema(tuple(attributes)), (PUBLISHED, *warnings), spellings, tuple(commas))


def _batches(answers: Any) -> Iterable[pa.RecordBatch]:
    """Return what is a table as its batches, and an iterator or a list of batches as it is."""
    batches = isinstance(answers, Iterator) or (
        isinstance(answers, (list, tuple)) and all(isinstance(batch, pa.RecordBatch) for batch in answers)
    )
    found: Iterable[pa.RecordBatch] = answers if batches else as_table(answers).to_batches()
    return found


@dataclass
class _NoNumbers:
    """Cells that are no numbers: how many, and the first rows, which count from 1."""

    count: int = 0
    rows: list[int] = field(default_factory=list)


@dataclass
class _Column:
    """What a draft needs to know about one column; its size does not grow with the rows."""

    name: str
    limit: int
    counts: dict[str, int] = field(default_factory=dict)
    present: int = 0
    missing: int = 0
    overflowed: bool = False
    words: _NoNumbers = field(default_factory=_NoNumbers)
    marks: dict[str, _NoNumbers] = field(default_factory=dict)
    whole: bool = True
    low: float = math.inf
    high: float = -math.inf
    last: int | None = None
    sequential: bool = True
    lists: bool = False

    def add(self, values: pa.Array, first_row: int) -> None:
        """Count the answers of a batch; of lists, whose `missing` is of people, the boxes."""
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

    def _look(self, text: str, count: int) -> _NoNumbers | None:
        """Count an answer; return the cells to which it belongs if it is no number."""
        self.present += count
        self._remember(text, count)
        if _REAL.fullmatch(text):
            if math.isfinite(number := float(text)):
                self.low, self.high = min(self.low, number), max(self.high, number)
                self.whole = self.whole and number.is_integer()
            return None
        mark = text.strip().casefold() in NOTHING
        cells = self.marks.setdefault(text, _NoNumbers()) if mark else self.words
        cells.count += count
        return cells

    def _remember(self, text: str, count: int) -> None:
        if text in self.counts or len(self.counts) < self.limit:
            self.counts[text] = self.counts.get(text, 0) + count
        else:
            self.overflowed = True

    def spellings(self, attribute: Attribute) -> dict[str, str]:
        """Return which answers of a drafted column seem to be which other one."""
        labels = [*attribute.categories] if attribute.kind == "categories" and not attribute.edges else []
        marks = self._marks() if not labels else []
        found = dict.fromkeys(marks[1:], "".join(marks[:1]))
        for alike in _alike(labels):
            most = max(alike, key=lambda label: self.counts.get(label, 0))
            found |= {label: most for label in alike if label != most}
        return found

    def _follow(self, values: pa.Array) -> None:
        """Keep track of whether the column so far counts its rows: every number one more than the one before."""
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
        """Whether every answer is a number."""
        return not self.words.count and not self.marks

    @property
    def mostly_numeric(self) -> bool:
        """Whether answers are numbers but for marks of a missing answer, and for a few words."""
        words, marks = self.words.count, sum(cells.count for cells in self.marks.values())
        return self.low < self.high and words <= FEW_WORDS * self.present and self.present - words > marks

    def draft(self, max_categories: int, kinds: bool) -> tuple[Attribute | None, list[str]]:
        counts = self._categories()
        if not self.name:
            return None, ["a column without a name is left out"]
        if self.lists:
            return self._boxes(self.counts, self.missing) if kinds else self._left_out("it holds lists")
        if len(counts) + (self.missing > 0) < 2:
            return self._left_out("it holds a single answer" if counts else "it is empty")
        if self.sequential and self.present >= FEW_ROWS:
            return self._left_out("it numbers its rows")
        if kinds and (found := self._of_kind(counts, max_categories)) is not None:
            return found
        if not self.numeric and len(counts) >= 0.9 * self.present and self.present >= FEW_ROWS:
            return self._left_out(f"it looks like an identifier ({len(counts)} distinct answers of {self.present})")
        missing = _unused("missing", counts) if self.missing else None
        if len(counts) <= max_categories and not self.overflowed:
            categories = tuple(sorted(counts, key=float) if self.numeric else sorted(counts))
            return Attribute(self.name, categories, missing), [*self._rare(counts), *self._spellings_apart(categories)]
        if not self.numeric or not self.low < self.high:
            distinct = f"at least {self.limit}" if self.overflowed else str(len(counts))
            return self._left_out(f"it has {distinct} distinct answers, max_categories={max_categories}")
        edges = equal_edges(self.low, self.high, min(MAX_INTERVALS, max_categories))
        remark = (
            f"attribute {self.name!r}: its cut points come from the smallest and the largest answer; choose them by "
            "what is known about the question instead"
        )
        return Attribute(self.name, missing=missing, edges=edges), [remark]

    def _of_kind(self, counts: dict[str, int], max_categories: int) -> tuple[Attribute | None, list[str]] | None:
        """Return the draft of a column that is ordered, numeric, of several answers, or dates; None if it is none."""
        numbers = sum(_REAL.fullmatch(text) is not None for text in counts)
        span = int(self.high - self.low) + 1 if not self.words.count and self.whole and self.low < self.high else 0
        if 3 <= span <= min(FEW_VALUES, max_categories) and 2 * numbers >= span:
            categories = tuple(str(int(self.low) + i) for i in range(span))
            missing, other, remarks = self._nothing()
            return Attribute(self.name, categories, missing, other, kind="ordered"), [*self._rare(counts), *remarks]
        if self.mostly_numeric and (self.overflowed or len(counts) > min(FEW_VALUES, max_categories)):
            return self._numbers()
        if counts and all(_DATE.fullmatch(text) for text in counts):
            return self._dates(counts, max_categories)
        if self.has_decimal_commas:
            return self._left_out("its numbers have decimal commas: write them with a point, 1.5")
        if self._has_commas:
            return self._left_out("its numbers have commas, of thousands or decimals: write them as 1500 or 1.5")
        for separator in SEPARATORS:
            if boxes := self._divided(separator):
                return self._boxes(boxes, 0, separator)
        return None

    def _left_out(self, reason: str) -> tuple[None, list[str]]:
        return None, [f"column {self.name!r} is left out: {reason}"]

    @property
    def has_decimal_commas(self) -> bool:
        """Whether most of its many answers are numbers like "1,5"; not where all may be thousands, like "1,500"."""
        return self._has_commas and not all(_THOUSANDS.fullmatch(text) for text in self.counts if "," in text)

    @property
    def _has_commas(self) -> bool:
        written = sum(_COMMA.fullmatch(text) is not None for text in self.counts)
        return not self.lists and 2 * written > len(self.counts) > FEW_VALUES

    def _dates(self, counts: dict[str, int], max_categories: int) -> tuple[Attribute | None, list[str]]:
        """Return the draft of months, with those in between that nobody holds, or of days, cut by months or years."""
        first, last = (int(text[:4]) * 12 + int(text[5:7]) - 1 for text in (min(counts), max(counts)))
        missing = "missing" if self.missing else None
        months = tuple(f"{month // 12:04}-{month % 12 + 1:02}" for month in range(first, last + 1))
        if counts.keys() <= set(months) and len(months) <= max_categories and not self.overflowed:
            return Attribute(self.name, months, missing, kind="ordered"), self._rare(counts)
        monthly = last - first < min(MAX_MONTHS, max_categories)
        step = 1 if monthly else 12
        cuts = [month for month in range(first + 1, last + 1) if month % step == 0]
        if not all(_DAY.fullmatch(text) for text in counts) or not 1 <= len(cuts) < max_categories:
            return self._left_out("its dates fall into one month, or are no days; cut them yourself (edges)")
        edges = tuple(f"{month // 12:04}-{month % 12 + 1:02}-01" for month in cuts)
        remark = (
            f"attribute {self.name!r}: dates, cut by {'months' if monthly else 'years'}; the cut points come from the "
            "first and the last answer: choose them by what is known about the question instead"
        )
        return Attribute(self.name, (), missing, edges=edges, kind="ordered"), [remark]

    def _marks(self) -> list[str]:
        """Return the marks of a missing answer, the most frequent first."""
        return sorted(self.marks, key=lambda mark: (-self.marks[mark].count, mark))

    def _nothing(self) -> tuple[str | None, str | None, list[str]]:
        """Return the labels for missing answers and for other cells of a column of numbers, and what to say of them."""
        marks = self._marks()
        others = [self.words, *(self.marks[mark] for mark in marks[1:])]
        unread = sum(cells.count for cells in others)
        other, remarks = "no number" if unread else None, []
        if marks:
            alike = ""
            if marks[1:]:
                alike = f"; write {', '.join(map(repr, marks[1:]))} in the same way if that means the same"
            cells = self.marks[marks[0]]
            remarks.append(
                f"attribute {self.name!r}: {cells.count} cells {marks[0]!r} are read as missing answers "
                f"({_rows(cells.rows)}){alike}"
            )
        if unread:
            remarks.append(
                f"attribute {self.name!r}: {unread} of {self.present} cells are no numbers, and reported as {other!r} "
                f"({_rows([row for cells in others for row in cells.rows])}): correct those that should be numbers, "
                "what they say is lost otherwise"
            )
        return marks[0] if marks else "missing" if self.missing else None, other, remarks

    def _numbers(self) -> tuple[Attribute | None, list[str]]:
        """Return the draft of a numeric attribute: a round range that is wider than the answers, and a round grid."""
        low, high, tail = self._bulk()
        missing, other, remarks = self._nothing()
        try:
            ends = round_range(low, high)
            grid = round_grid(*ends, whole=self.whole)
            clip = not ends[0] <= self.low <= self.high <= ends[1]
            found = Attribute(self.name, (), missing, other, kind="numeric", range=ends, grid=grid, clip=clip)
        except (InvalidParameterError, ArithmeticError):
            return self._left_out("its numbers are too large or too close together")
        remark = (
            f"attribute {self.name!r}: its range comes from the answers, rounded outwards; a range is public and must "
            "have been known before: choose it by what is possible"
        )
        return found, [remark, *tail, *remarks]

    def _bulk(self) -> tuple[float, float, list[str]]:
        """Return the range of the answers, without a tail of 1% that is longer than all the rest."""
        values = np.array([float(text) for text in self.counts if _REAL.fullmatch(text)])
        weights = np.array([count for text, count in self.counts.items() if _REAL.fullmatch(text)])
        order = np.argsort(values)
        shares = np.cumsum(weights[order]) / weights.sum()
        first, last = (float(values[order][np.searchsorted(shares, share)]) for share in (0.01, 0.99))
        low = first if first - self.low > last - first > 0 else self.low
        high = last if self.high - last > last - first > 0 else self.high
        if (low, high) == (self.low, self.high):
            return low, high, []
        return (
            low,
            high,
            [
                f"attribute {self.name!r}: few answers lie far from all others; the range leaves them out, and they "
                "are reported as its end (clip): widen it if such answers are possible"
            ],
        )

    def _divided(self, separator: str) -> dict[str, int]:
        """Return how many people tick each box, if answers are boxes divided at a separator; else nothing."""
        divided = [text for text in self.counts if separator in text]
        if self.overflowed or len(divided) < 2 or self.mostly_numeric:
            return {}
        boxes: dict[str, int] = {}
        cells: dict[str, int] = {}
        for text, count in self.counts.items():
            for part in {part.strip() for part in text.split(separator)} - {""}:
                boxes[part] = boxes.get(part, 0) + count
                cells[part] = cells.get(part, 0) + 1
        # What occurs in one cell only is a category with a comma in it, or open text.
        shared = sum(times > 1 for times in cells.values())
        fits = 2 <= len(boxes) <= MAX_BOXES and len(boxes) < len(self.counts) + 2
        return boxes if fits and 2 * shared >= len(boxes) else {}

    def _boxes(
        self, boxes: dict[str, int], missing: int, separator: str = SEPARATOR
    ) -> tuple[Attribute | None, list[str]]:
        """Return the draft of a question of several answers; in a text, nothing ticked and missing are the same."""
        if self.overflowed or not 2 <= len(boxes) <= MAX_BOXES:
            found = f"at least {self.limit}" if self.overflowed else str(len(boxes))
            return self._left_out(f"its lists hold {found} different answers, 2 to {MAX_BOXES} can be boxes")
        usable = next((mark for mark in (separator, *SEPARATORS, "\n") if not any(mark in box for box in boxes)), None)
        if usable is None:
            return self._left_out("its answers contain every separator")
        label = _unused("missing", boxes) if missing else None
        attribute = Attribute(self.name, tuple(sorted(boxes)), label, kind="multiple", separator=usable)
        remark = (
            f"attribute {self.name!r}: several answers, each a box that is reported yes or no; divided at {usable!r}"
        )
        return attribute, [remark, *self._rare(boxes), *self._spellings_apart(sorted(boxes))]

    def _rare(self, counts: dict[str, int]) -> list[str]:
        rare = sum(count < RARE for count in counts.values())
        remark = f"attribute {self.name!r}: {rare} of {len(counts)} categories are held by fewer than {RARE} people"
        return [remark] if rare else []

    def _spellings_apart(self, categories: Iterable[str]) -> list[str]:
        """Say which categories differ by case and white space only: they are counted apart as long as they do."""
        groups = _alike(categories)
        alike = sum(map(len, groups))
        named = "; ".join(" and ".join(map(repr, labels)) for labels in groups[:NAMED_GROUPS])
        more = f"; and {len(groups) - NAMED_GROUPS} more" if len(groups) > NAMED_GROUPS else ""
        remark = (
            f"attribute {self.name!r}: {alike} categories differ from another one by case or white space only, and are "
            f"counted apart: write what is one answer in one way, in the answers and here ({named}{more})"
        )
        return [remark] if alike else []

    def _categories(self) -> dict[str, int]:
        """Return the distinct answers and their counts; of numbers, "3.0" and "3" are one."""
        if not self.numeric:
            return self.counts
        merged: dict[str, int] = {}
        for text, count in self.counts.items():
            number = canonical_decimal(text) or text
            merged[number] = merged.get(number, 0) + count
        return merged


def round_range(low: float, high: float) -> tuple[float, float]:
    """Return round ends around answers: from 0 where they start near it, else the next multiples of a tenth or so.

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
    """Return how many points a round step apart a range has: at most `MAX_DRAFTED_POINTS`; of whole numbers, too.

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
    """Yield steps of one round digit, from the first that is not less than `least`."""
    power = least.adjusted()
    while True:
        for digits in ("1", "2", "2.5", "5"):
            step = Decimal(digits).scaleb(power)
            if step >= least:
                yield step
        power += 1


def equal_edges(low: float, high: float, intervals: int) -> tuple[float, ...]:
    """Return round cut points inside (low, high], an equal step apart: at least one, at most `intervals` - 1.

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


def _alike(labels: Iterable[str]) -> list[list[str]]:
    """Return the labels that differ by case and white space only, in groups of two or more."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(" ".join(label.casefold().split()), []).append(label)
    return [alike for alike in groups.values() if len(alike) > 1]


def _rows(rows: list[int]) -> str:
    """Return the first rows of a list in words."""
    shown = sorted(rows)[:NAMED_ROWS]
    more = ", ..." if len(rows) > NAMED_ROWS else ""
    return f"row{'s' * (len(rows) > 1)} {', '.join(map(str, shown))}{more}"


def _unused(label: str, categories: Iterable[str]) -> str:
    taken = set(categories)
    while label in taken:
        label += "_"
    return label
