"""Schema: named categories <-> integer codes. Public: every contributor's device and every reader of a result has it.

A mechanism knows codes 0..k-1 only. A schema says which answer is which code: the categories first, then *missing*,
then *other*, if the attribute has them. Both are categories like any other: randomised and estimated.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_records
from deniable.core.documents import Document, document_text, parse_document, read_document
from deniable.core.outputs import write_text
from deniable.errors import FileFormatError, InvalidInputError, InvalidParameterError
from deniable.survey.attribute import Attribute as Attribute
from deniable.survey.attribute import AttributeShape as AttributeShape
from deniable.survey.attribute import interval_labels as interval_labels
from deniable.survey.dictionary_file import DictionaryFile
from deniable.survey.encoding import as_table, encode_table

FORMAT = "deniable schema"


class SchemaShape(Document):
    """Keys of a schema in a JSON document."""

    attributes: list[AttributeShape]


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
        If there is no attribute, a name is repeated, or open text is not the only attribute.

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
        if self.is_text and len(attributes) > 1:
            raise InvalidParameterError(f"open text must be the only attribute, got {', '.join(map(repr, self.names))}")

    @property
    def is_text(self) -> bool:
        """Whether answers are open text, without categories."""
        return any(attribute.text for attribute in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain sizes (k_1, ..., k_d); 0 for open text."""
        return tuple(attribute.k for attribute in self.attributes)

    def encode(self, answers: Any, first_row: int = 1) -> NDArray[Any]:
        """Contributor: turn answers into codes; nothing is guessed, see `deniable.survey.encoding` for the rules.

        Parameters
        ----------
        answers : pyarrow Table or RecordBatch, data frame, or dict of columns
            One row per contributor. Columns that are no attribute are ignored.
        first_row : int
            Number of the first record in messages, 1-based.

        Returns
        -------
        int64[n, d]
            Codes, column j in 0..sizes[j]-1. Of open text object[n, 1], the answers themselves as str.

        Raises
        ------
        UnknownCategoryError
            If an answer is no category and its attribute has no `other`; naming attribute and record, never the answer.
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
        if self.is_text:
            raise InvalidInputError(f"attribute {self.names[0]!r} is open text: it has no codes")
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
    def from_json(cls, text: str, source: str = "the schema", directory: str | os.PathLike[str] = ".") -> Schema:
        """Return the schema that a JSON document describes; `source` is its name in messages.

        Dictionaries that it refers to are read from `directory`.

        Raises
        ------
        FileFormatError
            If the document is damaged, foreign or of another format version; naming the place.
        """
        return schema_of(parse_document(text, source, FORMAT, SchemaShape), source, directory)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON document, atomically; dictionaries must lie beside it.

        Raises
        ------
        OutputError
            If it cannot be written, or a dictionary does not lie beside it.
        """
        self.check_beside(path)
        write_text(path, self.to_json())

    def check_beside(self, document: str | os.PathLike[str]) -> None:
        """Raise OutputError unless all dictionaries lie beside a document."""
        for attribute in self.attributes:
            if attribute.dictionary is not None:
                attribute.dictionary.check_beside(document)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a JSON document that `save` or a person wrote.

        Raises
        ------
        FileFormatError
            If there is none, or it is damaged, foreign or of another format version; naming the place.
        """
        return cls.from_json(read_document(path), str(path), Path(path).parent)


def schema_of(shape: SchemaShape, source: str, directory: str | os.PathLike[str]) -> Schema:
    """Return the schema of a document's checked data, its dictionaries read from a directory."""
    attributes = []
    try:
        for attribute in shape.attributes:
            reference = attribute.dictionary
            words = None if reference is None else DictionaryFile.load(reference, directory, source)
            attributes.append(Attribute(**{**dict(attribute), "dictionary": words}))
        return Schema(tuple(attributes))
    except InvalidParameterError as error:
        raise FileFormatError(f"{source}: {error}") from error
