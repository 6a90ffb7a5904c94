"""Schema: named categories <-> integer codes, public for all contributors' devices and readers of results.

A mechanism knows only codes 0..k-1. A schema says which answer has which code. The categories come first, then
*missing*, then *other*, if the attribute has them. Both are randomised and estimated like all other categories.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict, TypeAdapter

from deniable.core.checks import checked_kind, checked_records, listed, settle
from deniable.core.documents import check_version, document_body, document_text, placed, read_document
from deniable.core.outputs import write_text
from deniable.core.randomness import Randomness
from deniable.errors import InvalidInputError, InvalidParameterError, quoted
from deniable.survey.attribute import AskIf as AskIf, Attribute as Attribute
from deniable.survey.decimals import NumberColumns, plain_table
from deniable.survey.encoding import Readings, as_table, check_columns, unreadable

FORMAT = "deniable schema"
LATEST_VERSION = 2
"""Latest format version of schemas and collections, which has the kinds of attributes."""


@dataclass(frozen=True)
class Schema:
    """The public description of a record: its questions in order, and the columns that they fill.

    A question fills one column. Only a question of kind "multiple" fills several: one column with two values for each
    category. Mechanisms, codes and estimates work with columns (`columns`, `names`, `sizes`). Tables of answers have
    one column for each question (`attributes`, `asked`).

    Parameters
    ----------
    attributes : sequence of Attribute
        At least one attribute, with distinct names.

    Raises
    ------
    InvalidParameterError
        If there is no attribute, two columns have the same name, or open text is not the only attribute.

    Examples
    --------
    >>> smoker = Attribute("smoker", ("yes", "no"), missing="no answer")
    >>> schema = Schema((smoker, Attribute("age", edges=(20, 40))))
    >>> schema.sizes
    (3, 3)
    >>> codes = schema.encode({"smoker": ["no", None], "age": ["40", "19.5"]})
    >>> codes
    array([[1, 2],
           [2, 0]])
    >>> schema.decode(codes).to_pydict()
    {'smoker': ['no', 'no answer'], 'age': ['>= 40', '< 20']}
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)

    attributes: tuple[Attribute, ...]

    def __repr__(self) -> str:
        """Return the columns with the sizes of their domains."""
        columns = [f"{column.name!r}: {column.k or 'text'}" for column in self.columns]
        return f"Schema({listed(columns)})"

    def __post_init__(self) -> None:
        attributes = tuple(self.attributes)
        if not attributes or not all(isinstance(attribute, Attribute) for attribute in attributes):
            raise InvalidParameterError(
                f"attributes must be a non-empty sequence of Attribute, got {quoted(attributes)}"
            )
        settle(self, attributes=attributes)
        repeated = [name for name in self.names if self.names.count(name) > 1]
        if repeated:
            raise InvalidParameterError(f"all attributes must have different names, got {quoted(repeated[0])} twice")
        if self.is_text and len(attributes) > 1:
            raise InvalidParameterError(
                f"an attribute of open text must be the only attribute, got {', '.join(map(quoted, self.names))}"
            )
        for place, attribute in enumerate(attributes):
            if attribute.ask_if is not None:
                _check_condition(attribute.name, attribute.ask_if, attributes[:place])

    @property
    def is_text(self) -> bool:
        """Return whether answers are open text, which has no categories."""
        return not all(attribute.question_kind.coded for attribute in self.attributes)

    def check_listed(self, why: str) -> None:
        """Raise InvalidParameterError if answers are open text; the message says `why` categories are needed."""
        if self.is_text:
            raise InvalidParameterError(f"attribute {quoted(self.names[0])} asks for open text, but {why}")

    @cached_property
    def columns(self) -> tuple[Attribute, ...]:
        """The record's columns in order, each as an attribute; mechanisms and estimates work with columns."""
        return tuple(column for attribute in self.attributes for column in attribute.columns)

    @cached_property
    def several(self) -> dict[str, tuple[int, ...]]:
        """Indexes of the columns of each question that fills several columns, by the question's name.

        Examples
        --------
        >>> devices = Attribute("devices", ("phone", "radio"), kind="multiple")
        >>> Schema((Attribute("smoker", ("yes", "no")), devices)).several
        {'devices': (1, 2)}
        """
        ends = list(accumulate((len(attribute.columns) for attribute in self.attributes), initial=0))
        return {
            attribute.name: tuple(range(*span))
            for attribute, span in zip(self.attributes, pairwise(ends), strict=True)
            if attribute.question_kind.several
        }

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Domain sizes (k_1, ..., k_d) of the columns; 0 for open text."""
        return tuple(column.k for column in self.columns)

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """Names of the attributes, in order: the columns of a table of answers."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def number_columns(self) -> dict[str, frozenset[str]]:
        """Columns of a table whose answers are numbers. For each, the labels that are not read as numbers."""
        return {
            attribute.name: frozenset(attribute.labels) - frozenset(attribute.categories)
            if attribute.question_kind.rounded
            else frozenset(attribute.labels)
            for attribute in self.attributes
            if attribute.question_kind.holds_numbers(attribute)
        }

    @property
    def is_rounded(self) -> bool:
        """Return whether an attribute is rounded at random, so that encoding needs randomness."""
        return any(attribute.question_kind.rounded for attribute in self.attributes)

    @property
    def format_version(self) -> int:
        """Version of the documents that can describe this schema."""
        return max(attribute.format_version for attribute in self.attributes)

    def read(self, answers: Any, first_row: int = 1) -> Readings:
        """Contributor: read answers as `encode` does, but without rounding numbers."""
        return _read_table(as_table(answers), self.attributes, first_row)

    def encode(
        self, answers: Any, rng: Randomness | None = None, *, first_row: int = 1, decimal: str | None = None
    ) -> NDArray[Any]:
        """Contributor: turn answers into codes. Nothing is guessed; `deniable.survey.encoding` has the rules.

        Parameters
        ----------
        answers : pyarrow Table or RecordBatch, data frame, or dict of columns
            One row for each contributor. Columns that are not attributes are ignored.
        rng : Randomness, optional
            Source of random words for the rounding of numeric answers; required if an attribute is numeric.
            `Readings.codes` describes which word rounds which answer.
        first_row : int
            Number of the first record in messages, counted from 1.
        decimal : {"point", "comma"}, optional
            Decimal mark of numbers in columns of text. By default it is inferred from their cells
            (`deniable.survey.decimals`).

        Returns
        -------
        int64[n, d]
            Codes. The codes of column j are in 0..sizes[j]-1. For open text, the result is object[n, 1] and contains
            the answers themselves as str.

        Raises
        ------
        UnknownCategoryError
            If an answer is not a category and its attribute has no `other`. The message names attribute and record, not
            the answer.
        InvalidInputError
            If a column is absent, or an answer is missing, not finite or outside its range. The message says which
            column or record.
        InvalidParameterError
            If an attribute is numeric and `rng` is not given.
        """
        if rng is None and self.is_rounded:
            rounded = next(attribute for attribute in self.attributes if attribute.question_kind.rounded)
            raise InvalidParameterError(
                f"rng must be given, because answers to {quoted(rounded.name)} are rounded at random to points of a "
                "grid: pass SecureRandomness() for contributors, or SimulationRandomness(seed) in simulations"
            )
        table = plain_table(as_table(answers), NumberColumns(self.number_columns), decimal, first_row)
        return self.read(table, first_row).codes(rng)

    def decode(self, codes: ArrayLike) -> pa.Table:
        """Return the labels of codes int[n, d], as a table with one column of text for each question.

        Raises
        ------
        InvalidInputError
            If a code is out of range. The message names row and attribute.
        """
        if self.is_text:
            raise InvalidInputError(
                "only codes of attributes with categories can be decoded, but attribute "
                f"{quoted(self.names[0])} asks for open text"
            )
        records = checked_records(codes, self.sizes)
        columns, first = [], 0
        for attribute in self.attributes:
            own = records[:, first : first + len(attribute.columns)].astype(np.int64, copy=False)
            first += len(attribute.columns)
            columns.append(attribute.question_kind.decode(attribute, own))
        return pa.table(columns, names=list(self.asked))

    # ---------------------------------------------------------------- files

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain JSON data."""
        return {"attributes": [attribute.to_dict() for attribute in self.attributes]}

    def to_json(self) -> str:
        """Return the schema as a JSON document that people can read and edit."""
        return document_text(FORMAT, self.to_dict(), self.format_version)

    @classmethod
    def from_json(cls, text: str, source: str = "the schema", directory: str | os.PathLike[str] = ".") -> Schema:
        """Return the schema that a JSON document describes; `source` is its name in messages.

        Dictionaries that it names are read from `directory`.

        Raises
        ------
        FileFormatError
            If the document is damaged, is not a schema, or has another format version. The message names the place.
        """
        body, version = document_body(text, source, FORMAT, LATEST_VERSION)
        with placed(source):
            schema = _shape().validate_json(body, context={"directory": directory, "source": source})
        check_version(version, schema.format_version, source)
        return schema

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON document atomically; dictionaries must be in the same folder.

        Raises
        ------
        OutputError
            If the document cannot be written, or a dictionary is not in the same folder.
        """
        self.check_beside(path)
        write_text(path, self.to_json())

    def check_beside(self, document: str | os.PathLike[str]) -> None:
        """Raise OutputError unless all dictionaries are in the same folder as a document."""
        for attribute in self.attributes:
            if attribute.dictionary is not None:
                attribute.dictionary.check_beside(document)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a JSON document that `save` or a person wrote.

        Raises
        ------
        FileFormatError
            If the document is missing or damaged, is not a schema, or has another format version. The message names the
            place.
        """
        return cls.from_json(read_document(path, "the JSON file of a schema"), str(path), Path(path).parent)


def _read_table(table: pa.Table, attributes: tuple[Attribute, ...], first_row: int) -> Readings:
    """Return the answers in a table. `first_row` is the number of its first record."""
    check_columns(table.column_names, tuple(attribute.name for attribute in attributes))
    coded = all(attribute.question_kind.coded for attribute in attributes)
    places = np.cumsum([0, *(len(attribute.columns) for attribute in attributes)])
    base: NDArray[Any] = np.empty((table.num_rows, places[-1]), dtype=np.int64 if coded else object)
    rounded = [j for j, attribute in enumerate(attributes) if attribute.question_kind.rounded]
    thresholds = np.zeros((table.num_rows, len(rounded)), dtype=np.uint64)
    decimals = np.full((table.num_rows, len(rounded)), "", dtype=object)
    start = 0
    for batch in table.select([attribute.name for attribute in attributes]).to_batches():
        rows, first = slice(start, start + batch.num_rows), first_row + start
        for j, attribute in enumerate(attributes):
            column = batch.column(j)
            try:
                coins = attribute.question_kind.encode(attribute, column, first, base[rows], int(places[j]))
            except (pa.ArrowException, IndexError, OverflowError):
                raise unreadable(attribute.name, column.type) from None
            if coins is not None:
                q = rounded.index(j)
                thresholds[rows, q], decimals[rows, q] = coins
        start += batch.num_rows
    for j, attribute in enumerate(attributes):
        if attribute.ask_if is None:
            continue
        # A person who is not asked has the declared code, whatever the table contains: an error would tell the
        # condition.
        asked = next(i for i, one in enumerate(attributes) if one.name == attribute.ask_if.question)
        allowed = attributes[asked].codes(attribute.ask_if.answers)
        unasked = ~np.isin(base[:, places[asked]], allowed)
        base[unasked, places[j] : places[j + 1]] = attribute.unasked_codes
        if j in rounded:
            thresholds[unasked, rounded.index(j)], decimals[unasked, rounded.index(j)] = 0, ""
    return Readings(base, tuple(int(places[j]) for j in rounded), thresholds, decimals)


def _check_condition(name: str, condition: AskIf, earlier: tuple[Attribute, ...]) -> None:
    """Check that a condition is about an earlier question and about some of its answers."""
    where = f"ask_if of attribute {quoted(name)}"
    asked = next((one for one in earlier if one.name == condition.question), None)
    if asked is None:
        known = ", ".join(quoted(one.name) for one in earlier) or "there is none before it"
        raise InvalidParameterError(
            f"question in {where} must name an earlier question ({known}), got question={quoted(condition.question)}"
        )
    kind = asked.question_kind
    if kind.several or kind.rounded or not kind.listed:
        raise InvalidParameterError(
            f"question in {where} must name a question for which people choose one answer from a list, but "
            f"{quoted(asked.name)} is {kind.called}"
        )
    if unknown := [label for label in condition.answers if label not in asked.labels]:
        raise InvalidParameterError(
            f"answers in {where} must be labels of {quoted(asked.name)} ({', '.join(map(quoted, asked.labels))}), got "
            f"{quoted(unknown[0])}"
        )
    if not 0 < len(set(condition.answers)) == len(condition.answers) < asked.k:
        raise InvalidParameterError(
            f"answers in {where} must list some labels of {quoted(asked.name)}, each once, and must not list all "
            f"labels, got {len(condition.answers)} of {asked.k} labels; to ask everyone, leave ask_if out"
        )


@cache
def _shape() -> TypeAdapter[Schema]:
    return TypeAdapter(Schema)


def checked_schema(schema: Any) -> Schema:
    """Return a schema unchanged, or raise InvalidParameterError for anything else."""
    return checked_kind("schema", schema, Schema, ", as `draft_schema(...).schema` is")
