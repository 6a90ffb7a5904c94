"""Keys of a question and properties that follow from them, which is all that its kind gets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import GetPydanticSchema

from deniable.errors import quoted
from deniable.survey.dictionary_file import DictionaryFile, referred_dictionary
from deniable.survey.grid import Grid
from deniable.survey.texts import TextCodes

SEPARATOR = ";"
"""Separator of the answers in one cell, unless the schema names another."""

Ask = Literal["shares", "mean"]


@dataclass(frozen=True, repr=False)
class Question(ABC):
    """Question as its kind reads it. `deniable.survey.attribute.Attribute` derives from it and explains the keys."""

    name: str
    categories: tuple[str, ...] = ()
    missing: str | None = None
    other: str | None = None
    edges: tuple[float | str, ...] | None = None
    dictionary: Annotated[DictionaryFile | None, GetPydanticSchema(referred_dictionary)] = None
    text: bool = False
    kind: str = ""
    scores: tuple[float, ...] | None = None
    range: tuple[float, float] | None = None
    grid: int | None = None
    clip: bool = False
    ask: Ask | None = None
    separator: str = SEPARATOR
    title: str = ""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Labels of all codes, in order: the categories, then missing, then other. Open text has no labels."""

    @property
    @abstractmethod
    def lookup(self) -> tuple[dict[str, int], dict[str, int]]:
        """Codes by exact label, and by decimal number if exactly one label is that number."""

    @property
    @abstractmethod
    def text_codes(self) -> TextCodes | None:
        """Table for looking up long columns of texts, or None if a text alone does not determine the code."""

    @property
    def k(self) -> int:
        """Domain size, which is 0 for open text."""
        return len(self.labels)

    @property
    def missing_code(self) -> int | None:
        """Code of missing answers, or None if there is no category for them."""
        return None if self.missing is None else len(self.categories)

    @property
    def other_code(self) -> int | None:
        """Code of unlisted answers, or None if there is no category for them."""
        return None if self.other is None else self.k - 1

    @property
    def unranked(self) -> tuple[int, ...]:
        """Codes without a place in an order of the answers, which are missing and other."""
        return tuple(range(len(self.categories), self.k))

    @property
    def dated(self) -> bool:
        """Return whether the cut points are dates."""
        return self.edges is not None and isinstance(self.edges[0], str)

    @cached_property
    def points(self) -> Grid:
        """Grid of a numeric attribute, in exact numbers."""
        return Grid.checked(self.range, self.grid, f"attribute {quoted(self.name)}")

    @property
    def range_texts(self) -> tuple[str, str]:
        """Ends of a numeric attribute's range, in the form that people read."""
        return self.categories[0], self.categories[-1]
