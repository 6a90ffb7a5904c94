"""Schema: named categories <-> integer codes. Public: every contributor's device and every reader of a result has it.

A mechanism knows codes 0..k-1 only. A schema says which answer is which code: the categories first, then *missing*,
then *other*, if the attribute has them. Both are categories like any other: randomised and estimated.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from deniable.checks import checked_records
from deniable.documents import Document, document_text, parse_document, read_document
from deniable.encoding import as_table, encode_table, label_codes
from deniable.errors import FileFormatError, InvalidParameterError
from deniable.files import write_text

FORMAT = "deniable schema"


class AttributeShape(Document):
    """Keys of an attribute in a JSON document."""

    name: str
    categories: list[str] = Field(default_factory=list)
    missing: str | None = None
    other: str | None = None
    edges: list[float] | None = None


class SchemaShape(Document):
    """Keys of a schema in a JSON document."""

    attributes: list[AttributeShape]


@dataclass(frozen=True)
class Attribute:
    """One question and its public list of answers.

    Parameters
    ----------
    name : str
        Column name of the answers.
    categories : sequence of str
        Labels of codes 0, 1, ...; with `edges`, the labels of the intervals (made from the edges if left out).
    missing : str, optional
        Label of a category for missing answers (null or empty); without it a missing answer is an error.
    other : str, optional
        Label of a category for every answer not listed; without it an unknown answer is an error.
    edges : sequence of float, optional
        Increasing cut points e_0 < ... < e_m, *public* like the labels: answers are read as numbers and put into the
        m + 2 intervals (-inf, e_0), [e_0, e_1), ..., [e_m, inf).

    Raises
    ------
    InvalidParameterError
        If a label is repeated, there are fewer than two labels in all, or the edges do not increase.

    Examples
    --------
    >>> Attribute("smoker", ("yes", "no"), missing="no answer").labels
    ('yes', 'no', 'no answer')
    >>> Attribute("age", edges=(20, 40)).labels
    ('< 20', '20 to < 40', '>= 40')
    """

    name: str
    categories: tuple[str, ...] = ()
    missing: str | None = None
    other: str | None = None
    edges: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameterError(f"name of an attribute must be a non-empty text, got name={self.name!r}")
        where = f"attribute {self.name!r}"
        if self.edges is not None:
            object.__setattr__(self, "edges", _checked_edges(self.edges, where))
        if isinstance(self.categories, str) or not isinstance(self.categories, Sequence):
            raise InvalidParameterError(f"categories of {where} must be a sequence of texts, got {self.categories!r}")
        categories = tuple(self.categories)
        if self.edges is not None:
            categories = categories or interval_labels(self.edges)
            if len(categories) != len(self.edges) + 1:
                raise InvalidParameterError(
                    f"categories of {where} must name the {len(self.edges) + 1} intervals of its edges, "
                    f"got {len(categories)}"
                )
        object.__setattr__(self, "categories", categories)
        seen = set()
        for label in (self.name, *self.labels):
            if not isinstance(label, str) or not _encodable(label):
                raise InvalidParameterError(f"labels of {where} must be Unicode texts, got {label!r}")
        for label in self.labels:
            if label in seen:
                raise InvalidParameterError(f"labels of {where} must be distinct, got {label!r} twice")
            seen.add(label)
        if self.k < 2:
            raise InvalidParameterError(f"labels of {where} must be >= 2 with missing and other, got {self.k}")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of all codes, in order: the categories, then missing, then other."""
        return self.categories + tuple(label for label in (self.missing, self.other) if label is not None)

    @property
    def k(self) -> int:
        """Domain size."""
        return len(self.labels)

    @property
    def missing_code(self) -> int | None:
        """Code of missing answers, None without a category for them."""
        return None if self.missing is None else len(self.categories)

    @property
    def other_code(self) -> int | None:
        """Code of unlisted answers, None without a category for them."""
        return None if self.other is None else self.k - 1

    @cached_property
    def lookup(self) -> tuple[dict[str, int], dict[str, int]]:
        """Code by exact label, and by decimal number where exactly one label is that number."""
        return label_codes(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Return the attribute as plain JSON data; what is not there is left out."""
        data: dict[str, Any] = {"name": self.name, "categories": list(self.categories)}
        data |= {key: getattr(self, key) for key in ("missing", "other") if getattr(self, key) is not None}
        if self.edges is not None:
            data["edges"] = [int(edge) if _is_short_integer(edge) else edge for edge in self.edges]
        return data


@dataclass(frozen=True)
class Schema:
    """The public description of a record: d attributes in order.

    Parameters
    ----------
    attributes : sequence of Attribute
        At least one; names are distinct.

    Raises
    ------
    InvalidParameterError
        If there is no attribute, or a name is repeated.

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

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        attributes = tuple(self.attributes)
        if not attributes or not all(isinstance(attribute, Attribute) for attribute in attributes):
            raise InvalidParameterError(f"attributes must be a non-empty sequence of Attribute, got {attributes!r}")
        object.__setattr__(self, "attributes", attributes)
        repeated = [name for name in self.names if self.names.count(name) > 1]
        if repeated:
            raise InvalidParameterError(f"names of attributes must be distinct, got {repeated[0]!r} twice")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain sizes (k_1, ..., k_d)."""
        return tuple(attribute.k for attribute in self.attributes)

    def encode(self, answers: Any, first_row: int = 1) -> NDArray[np.int64]:
        """Contributor: turn answers into codes; nothing is guessed, see `deniable.encoding` for the rules.

        Parameters
        ----------
        answers : pyarrow Table or RecordBatch, data frame, or dict of columns
            One row per contributor. Columns that are no attribute are ignored.
        first_row : int
            Number of the first record in messages, 1-based.

        Returns
        -------
        int64[n, d]
            Codes, column j in 0..sizes[j]-1.

        Raises
        ------
        UnknownCategoryError
            If an answer is no category and its attribute has no `other`; naming attribute, answer and record.
        InvalidInputError
            If a column is absent, or an answer is missing or not finite, naming it.
        """
        return encode_table(as_table(answers), self.attributes, first_row)

    def decode(self, codes: ArrayLike) -> pa.Table:
        """Return the labels of codes int[n, d], as a table of text columns.

        Raises
        ------
        InvalidInputError
            If a code is out of range, naming row and attribute.
        """
        records = checked_records(codes, self.sizes)
        columns = [
            pa.array(attribute.labels, pa.string()).take(pa.array(records[:, j], pa.int64()))
            for j, attribute in enumerate(self.attributes)
        ]
        return pa.table(columns, names=list(self.names))

    # ---------------------------------------------------------------- files

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain JSON data."""
        return {"attributes": [attribute.to_dict() for attribute in self.attributes]}

    def to_json(self) -> str:
        """Return the schema as a JSON document, to be read and edited by people."""
        return document_text(FORMAT, self.to_dict())

    @classmethod
    def from_json(cls, text: str, source: str = "the schema") -> Schema:
        """Return the schema that a JSON document describes; `source` is its name in messages.

        Raises
        ------
        FileFormatError
            If the document is damaged, foreign or of another format version; naming the place.
        """
        return schema_of(parse_document(text, source, FORMAT, SchemaShape), source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON document, atomically."""
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a JSON document that `save` or a person wrote.

        Raises
        ------
        FileFormatError
            If there is none, or it is damaged, foreign or of another format version; naming the place.
        """
        return cls.from_json(read_document(path), str(path))


def schema_of(shape: SchemaShape, source: str) -> Schema:
    """Return the schema of a document's checked data."""
    try:
        return Schema(tuple(Attribute(**dict(attribute)) for attribute in shape.attributes))
    except InvalidParameterError as error:
        raise FileFormatError(f"{source}: {error}") from error


def interval_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the labels of the intervals between cut points: "< 20", "20 to < 40", ">= 40"."""
    texts = [str(int(edge)) if _is_short_integer(edge) else repr(edge) for edge in edges]
    between = [f"{low} to < {high}" for low, high in pairwise(texts)]
    return (f"< {texts[0]}", *between, f">= {texts[-1]}")


def _checked_edges(edges: Sequence[float], where: str) -> tuple[float, ...]:
    try:
        values = tuple(float(edge) for edge in edges)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidParameterError(f"edges of {where} must be numbers, got edges={edges!r}") from error
    increasing = all(low < high for low, high in pairwise(values))
    if not values or not increasing or not all(map(math.isfinite, values)):
        raise InvalidParameterError(f"edges of {where} must be finite, increasing numbers, got edges={list(values)}")
    return values


def _is_short_integer(value: float) -> bool:
    return value.is_integer() and abs(value) < 1e15


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
