"""Draft a schema from answers: a start to edit, never a finished public document.

Category lists and cut points are published, and here they are read from private answers. So a draft says what it takes
from whom: every function returns warnings beside the schema.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable.core.checks import checked_integer
from deniable.errors import InvalidInputError
from deniable.survey.encoding import answer_texts, as_table, canonical_decimal, dictionary_encoded
from deniable.survey.schema import Attribute, Schema

MAX_TRACKED = 10_000
"""Distinct answers of a column that are remembered; what is more is only counted."""

RARE = 5
"""A category held by fewer contributors than this is called rare."""

FEW_ROWS = 10
"""Below this many answers, distinct answers say nothing about identifiers."""

MAX_INTERVALS = 10

PUBLISHED = (
    "category lists and cut points are published with the schema, and these were read from private answers: replace "
    "them, wherever you can, by lists that were known before; one rare category can identify the person who holds it"
)

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
    """

    schema: Schema
    warnings: tuple[str, ...]


def draft_schema(answers: Any, max_categories: int = 50) -> DraftResult:
    """Collector: draft the public schema of answers, to be edited.

    A column of at most `max_categories` distinct answers becomes a list of categories (sorted, so that their order
    tells nothing), with a category for missing answers if there are any. A numeric column of more becomes intervals of
    equal width between round numbers. Identifiers, row numbers and columns of too many or too few answers are left out
    and named.

    Parameters
    ----------
    answers : pyarrow Table, data frame, dict of columns, or record batches
        One row per contributor; batches are read once and not kept.
    max_categories : int
        Longest list of categories, >= 2.

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
    [('no', 'yes', 'missing'), ('0', '2')]
    >>> len(draft.warnings)
    3
    """
    checked_integer("max_categories", max_categories, 2)
    columns: dict[str, _Column] = {}
    rows = 0
    for batch in _batches(answers):
        rows += batch.num_rows
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            columns.setdefault(name, _Column(name, max(MAX_TRACKED, max_categories + 1))).add(values)
    if rows == 0:
        raise InvalidInputError("a schema is drafted from at least one record, got none")
    attributes, warnings = [], []
    for column in columns.values():
        attribute, remarks = column.draft(max_categories)
        attributes += [attribute] if attribute is not None else []
        warnings += remarks
    if not attributes:
        raise InvalidInputError(f"no column is fit for a schema: {'; '.join(warnings)}")
    return DraftResult(Schema(tuple(attributes)), (PUBLISHED, *warnings))


def _batches(answers: Any) -> Iterable[pa.RecordBatch]:
    """Return what is a table as its batches, and an iterator or a list of batches as it is."""
    batches = isinstance(answers, Iterator) or (
        isinstance(answers, (list, tuple)) and all(isinstance(batch, pa.RecordBatch) for batch in answers)
    )
    found: Iterable[pa.RecordBatch] = answers if batches else as_table(answers).to_batches()
    return found


@dataclass
class _Column:
    """What a draft needs to know about one column; its size does not grow with the rows."""

    name: str
    limit: int
    counts: dict[str, int] = field(default_factory=dict)
    present: int = 0
    missing: int = 0
    overflowed: bool = False
    numeric: bool = True
    low: float = math.inf
    high: float = -math.inf
    last: int | None = None
    sequential: bool = True

    def add(self, values: pa.Array) -> None:
        encoded = dictionary_encoded(values, self.name)
        texts = answer_texts(encoded.dictionary, self.name)
        self._follow(values)
        indices = encoded.indices.drop_null().to_numpy(zero_copy_only=False)
        self.missing += encoded.indices.null_count
        for text, count in zip(texts, np.bincount(indices, minlength=len(texts)).tolist(), strict=True):
            if not text:
                self.missing += count
            elif count:
                self._count(text, count)

    def _count(self, text: str, count: int) -> None:
        self.present += count
        if self.numeric and not _REAL.fullmatch(text):
            self.numeric = False
        if self.numeric and math.isfinite(float(text)):
            self.low, self.high = min(self.low, float(text)), max(self.high, float(text))
        if text in self.counts or len(self.counts) < self.limit:
            self.counts[text] = self.counts.get(text, 0) + count
        else:
            self.overflowed = True

    def _follow(self, values: pa.Array) -> None:
        """Keep track of whether the column so far counts its rows: every number one more than the one before."""
        if not self.sequential or len(values) == 0:
            return
        try:
            numbers = values.cast(pa.int64())
        except pa.ArrowException:
            self.sequential = False
            return
        steps = pc.pairwise_diff(numbers)[1:]
        joined = self.last is None or numbers[0].as_py() == self.last + 1
        steady = numbers.null_count == 0 and pc.all(pc.equal(steps, 1)).as_py() is not False
        self.sequential = joined and steady
        self.last = numbers[-1].as_py()

    def draft(self, max_categories: int) -> tuple[Attribute | None, list[str]]:
        counts = self._categories()
        where = f"column {self.name!r} is left out: "
        if not self.name:
            return None, ["a column without a name is left out"]
        if len(counts) + (self.missing > 0) < 2:
            return None, [where + ("it holds a single answer" if counts else "it is empty")]
        if self.sequential and self.present >= FEW_ROWS:
            return None, [where + "it numbers its rows"]
        if not self.numeric and len(counts) >= 0.9 * self.present and self.present >= FEW_ROWS:
            return None, [where + f"it looks like an identifier ({len(counts)} distinct answers of {self.present})"]
        missing = _unused("missing", counts) if self.missing else None
        if len(counts) <= max_categories and not self.overflowed:
            categories = tuple(sorted(counts, key=float) if self.numeric else sorted(counts))
            rare = sum(count < RARE for count in counts.values())
            remark = f"attribute {self.name!r}: {rare} of {len(counts)} categories are held by fewer than {RARE} people"
            return Attribute(self.name, categories, missing), [remark] if rare else []
        if not self.numeric or not self.low < self.high:
            distinct = f"at least {self.limit}" if self.overflowed else str(len(counts))
            return None, [where + f"it has {distinct} distinct answers, max_categories={max_categories}"]
        edges = equal_edges(self.low, self.high, min(MAX_INTERVALS, max_categories))
        remark = (
            f"attribute {self.name!r}: its cut points come from the smallest and the largest answer; choose them by "
            "what is known about the question instead"
        )
        return Attribute(self.name, missing=missing, edges=edges), [remark]

    def _categories(self) -> dict[str, int]:
        """Return the distinct answers and their counts; of numbers, "3.0" and "3" are one."""
        if not self.numeric:
            return self.counts
        merged: dict[str, int] = {}
        for text, count in self.counts.items():
            number = canonical_decimal(text) or text
            merged[number] = merged.get(number, 0) + count
        return merged


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


def _unused(label: str, categories: Iterable[str]) -> str:
    taken = set(categories)
    while label in taken:
        label += "_"
    return label
