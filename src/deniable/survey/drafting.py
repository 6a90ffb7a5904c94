"""Drafts of schemas from answers, which must be edited before they are published.

Category lists and cut points are published, but this module reads them from private answers. So every function returns
warnings with the schema, which say what the draft takes from whose answers. The kind of a column decides how the column
is drafted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from deniable.core.checks import checked_integer
from deniable.errors import InvalidInputError
from deniable.survey.decimals import NumberColumns, plain_table
from deniable.survey.encoding import as_table
from deniable.survey.kinds import DRAFTED, KINDS, USUAL
from deniable.survey.schema import Attribute, Schema
from deniable.survey.tally import FEW_ROWS, ColumnTally

MAX_TRACKED = 10_000
"""Most distinct answers of a column that are remembered. Further answers are only counted."""

PUBLISHED = (
    "the schema is public, and its lists, ranges and cut points were read from private answers. Replace them as far "
    "as possible by what was known before. A single rare category can identify the person who holds it"
)


@dataclass(frozen=True)
class DraftResult:
    """A drafted schema, with warnings to read before you publish it.

    Parameters
    ----------
    schema : Schema
        The draft.
    warnings : tuple of str
        Warnings, one sentence each, the most important first.
    spellings : mapping of columns to mappings
        Answers that seem to be spellings of the same answer, each with the most frequent spelling. `files.tidy_file`
        replaces them by this spelling. A new draft of the tidied file then has one category for each group.
    remarks : tuple of str
        Notes on unusual properties of the file: its encoding, or decimal commas.
    """

    schema: Schema
    warnings: tuple[str, ...]
    spellings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def draft_schema(
    answers: Any, max_categories: int = 50, *, kinds: bool = True, decimal: str | None = None
) -> DraftResult:
    """Collector: draft a public schema from a table of answers, for you to edit.

    * Whole numbers with a short span become ordered categories. Numbers in between that nobody holds are included.
    * Other numbers become a numeric attribute, with a round grid and a round range that is wider than the answers.
      Cells such as "n/a" are read as missing.
    * Lists, and texts such as "phone; radio", become a question with several answers.
    * Dates are grouped by months or years.
    * Any other column with at most `max_categories` distinct answers becomes a list of categories. The categories are
      sorted, so that their order reveals nothing.

    If answers are missing, there is a category for them. Identifiers, row numbers, and columns with too many or too few
    distinct answers are left out. The warnings name these columns.

    Parameters
    ----------
    answers : pyarrow Table, data frame, dict of columns, or record batches
        One row for each contributor. Batches are read once and not kept.
    max_categories : int
        Largest number of categories in a list, >= 2.
    kinds : bool
        False for a schema with categories only. Columns with more than `max_categories` numbers become intervals of
        equal width, and columns of lists are left out.
    decimal : {"point", "comma"}, optional
        Decimal mark in columns of text, if a number such as 1,500 can be read in two ways. Numbers in record batches
        must have a decimal point.

    Returns
    -------
    DraftResult
        The schema and its warnings.

    Raises
    ------
    InvalidInputError
        If there are no answers, or no column can be used in a schema.
    AmbiguousNumbersError
        If numbers can be read in two ways and `decimal` is not given.

    Examples
    --------
    >>> draft = draft_schema(pa.table({"smoker": ["yes", "no", None], "packs": [0, 2, 0]}))
    >>> [attribute.labels for attribute in draft.schema.attributes]
    [('no', 'yes', 'missing'), ('0', '1', '2')]
    >>> len(draft.warnings)
    3
    """
    checked_integer("max_categories", max_categories, 2)
    columns: dict[str, ColumnTally] = {}
    rows = 0
    for batch in _batches(answers, decimal):
        rows += batch.num_rows
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            column = columns.setdefault(name, ColumnTally(name, max(MAX_TRACKED, max_categories + 1)))
            column.add(values, rows - batch.num_rows + 1)
    if rows == 0:
        raise InvalidInputError(
            "a table must have at least one record before a schema can be drafted from it, got none"
        )
    attributes, warnings, spellings = [], [], {}
    for column in columns.values():
        attribute, remarks, alike = _drafted(column, max_categories, kinds)
        if attribute is not None and alike is not None and (found := column.spellings(alike)):
            spellings[column.name] = found
        attributes += [attribute] if attribute is not None else []
        warnings += remarks
    if not attributes:
        raise InvalidInputError(f"the table must have a column that a schema can use, got none. {'; '.join(warnings)}")
    return DraftResult(Schema(tuple(attributes)), (PUBLISHED, *warnings), spellings)


def _batches(answers: Any, decimal: str | None) -> Iterable[pa.RecordBatch]:
    """Return the batches of a table, or an iterator or list of batches unchanged."""
    batches = isinstance(answers, Iterator) or (
        isinstance(answers, (list, tuple)) and all(isinstance(batch, pa.RecordBatch) for batch in answers)
    )
    found: Iterable[pa.RecordBatch] = answers
    if not batches:
        found = plain_table(as_table(answers), NumberColumns(), decimal).to_batches()
    return found


def _drafted(column: ColumnTally, most: int, kinds: bool) -> tuple[Attribute | None, list[str], Sequence[str] | None]:
    """Return the draft of a column, remarks on it, and the labels among which different spellings are looked for."""
    if not column.name:
        return None, ["a column without a name is left out"], None
    if (reason := _unfit(column, kinds)) is not None:
        return *column.left_out(reason), None
    for kind in DRAFTED if kinds else (KINDS[USUAL],):
        # A list is several answers, whatever its items are.
        if (kind.several or not column.lists) and (draft := kind.draft(column, most)) is not None:
            keys, remarks, alike = draft
            return None if keys is None else Attribute(column.name, kind=kind.name, **keys), remarks, alike
    raise AssertionError("every column must be drafted or left out, but this column was neither drafted nor left out")


def _unfit(column: ColumnTally, kinds: bool) -> str | None:
    """Return the reason why a column is not drafted as any kind."""
    if column.lists:
        return None if kinds else "it holds lists"
    if len(column.categories) + (column.missing > 0) < 2:
        return "it holds a single answer" if column.categories else "it is empty"
    return "it numbers its rows" if column.sequential and column.present >= FEW_ROWS else None
