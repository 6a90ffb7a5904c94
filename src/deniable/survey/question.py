"""The keys of a question, and what follows from them alone: all that its kind is given."""

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
"""Separator of the answers in one cell, where the schema says nothing else."""

Ask = Literal["shares", "mean"]


@dataclass(frozen=True, repr=False)
class Question(ABC):
    """A question as its kind reads it. `deniable.survey.attribute.Attribute` derives from it, and explains the keys."""

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
        """Labels of all codes, in order: the categories, then missing, then other; none of open text."""

    @property
    @abstractmethod
    def lookup(self) -> tuple[dict[str, int], dict[str, int]]:
        """Code by exact label, and by decimal number where exactly one label is that number."""

    @property
    @abstractmethod
    def text_codes(self) -> TextCodes | None:
        """The table that long columns of texts are looked up in; None where a text alone does not tell."""

    @property
    def k(self) -> int:
        """Domain size; 0 for open text."""
        return len(self.labels)

    @property
    def missing_code(self) -> int | None:
        """Code of missing answers, None without a category for them."""
        return None if self.missing is None else len(self.categories)

    @property
    def other_code(self) -> int | None:
        """Code of unlisted answers, None without a category for them."""
        return None if self.other is None else self.k - 1

    @property
    def unranked(self) -> tuple[int, ...]:
        """Codes without a place in an order of the answers: missing and other."""
        return tuple(range(len(self.categories), self.k))

    @property
    def dated(self) -> bool:
        """Return whether the cut points are dates."""
        return self.edges is not None and isinstance(self.edges[0], str)

    @cached_property
    def points(self) -> Grid:
        """The grid of a numeric attribute, in exact numbers."""
        return Grid.checked(self.range, self.grid, f"attribute {quoted(self.name)}")

    @property
    def range_texts(self) -> tuple[str, str]:
        """The ends of a numeric attribute's range, as people read them."""
        return self.categories[0], self.categories[-1]
