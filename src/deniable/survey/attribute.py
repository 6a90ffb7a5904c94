"""Attribute: one question, and which answer is which code."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from deniable.core.documents import Document
from deniable.errors import InvalidParameterError, UnknownCategoryError
from deniable.survey.dictionary_file import DictionaryFile, DictionaryShape
from deniable.survey.encoding import label_codes


class AttributeShape(Document):
    """Keys of an attribute in a JSON document."""

    name: str
    categories: list[str] = Field(default_factory=list)
    missing: str | None = None
    other: str | None = None
    edges: list[float] | None = None
    dictionary: DictionaryShape | None = None
    text: bool = False


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
    dictionary : DictionaryFile, optional
        The categories are the words of this file, thousands or millions; documents refer to it (`from_dictionary`).
    text : bool
        Open text: nobody lists the answers, so there are no codes, and mechanisms such as HeavyHitters take the answers
        themselves. A missing answer is then reported as the text `missing`, if there is one.

    Raises
    ------
    InvalidParameterError
        If a label is repeated, there are fewer than two labels in all, the edges do not increase, or two of categories,
        edges, dictionary and text are given that exclude each other.

    Examples
    --------
    >>> Attribute("smoker", ("yes", "no"), missing="no answer").labels
    ('yes', 'no', 'no answer')
    >>> Attribute("age", edges=(20, 40)).labels
    ('< 20', '20 to < 40', '>= 40')
    >>> Attribute("url", text=True).k
    0
    """

    name: str
    categories: tuple[str, ...] = ()
    missing: str | None = None
    other: str | None = None
    edges: tuple[float, ...] | None = None
    dictionary: DictionaryFile | None = None
    text: bool = False

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
        if self.dictionary is not None:
            if categories not in ((), self.dictionary.words.words) or self.edges is not None:
                raise InvalidParameterError(f"categories of {where} are those of its dictionary: leave out any others")
            categories = self.dictionary.words.words
        object.__setattr__(self, "categories", categories)
        if self.text:
            if categories or self.edges is not None or self.other is not None:
                raise InvalidParameterError(f"{where} is open text: it must have no categories, edges or other")
        elif self.k < 2:
            raise InvalidParameterError(f"labels of {where} must be >= 2 with missing and other, got {self.k}")
        self._check_labels(where)

    def _check_labels(self, where: str) -> None:
        further = [label for label in (self.missing, self.other) if label is not None]
        # The words of a dictionary have been looked at when it was made: only what comes after them is new.
        listed = further if self.dictionary is not None else [*self.categories, *further]
        for label in (self.name, *listed):
            if not isinstance(label, str) or not _encodable(label):
                raise InvalidParameterError(f"labels of {where} must be Unicode texts, got {label!r}")
        seen = set()
        for label in listed:
            if label in seen or (self.dictionary is not None and label in self.categories):
                raise InvalidParameterError(f"labels of {where} must be distinct, got {label!r} twice")
            seen.add(label)

    @classmethod
    def from_dictionary(
        cls, name: str, path: str | os.PathLike[str], missing: str | None = None, other: str | None = None
    ) -> Attribute:
        r"""Return an attribute whose categories are the lines of a public text file, see `read_dictionary`.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp()) / "colours.txt"
        >>> _ = path.write_text("red\ngreen\nblue\n")
        >>> Attribute.from_dictionary("colour", path, other="another").k
        4
        """
        return cls(name, missing=missing, other=other, dictionary=DictionaryFile.read(path))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of all codes, in order: the categories, then missing, then other; none of open text."""
        if self.text:
            return ()
        return self.categories + tuple(label for label in (self.missing, self.other) if label is not None)

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

    @cached_property
    def lookup(self) -> tuple[dict[str, int], dict[str, int]]:
        """Code by exact label, and by decimal number where exactly one label is that number.

        The words of a dictionary are text: another spelling of a number is another word.
        """
        if self.dictionary is not None:
            return {label: code for code, label in enumerate(self.labels)}, {}
        return label_codes(self.labels)

    def codes(self, labels: Iterable[str]) -> NDArray[np.int64]:
        """Return the codes of chosen labels, int64[q]: what an analyst asks for.

        Raises
        ------
        UnknownCategoryError
            If one is no label of the attribute, naming it.
        """
        exact, wanted = self.lookup[0], list(labels)
        for label in wanted:
            if label not in exact:
                raise UnknownCategoryError(f"attribute {self.name!r} must have the category {label!r}, it does not")
        return np.array([exact[label] for label in wanted], dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return the attribute as plain JSON data; what is not there is left out."""
        data: dict[str, Any] = {"name": self.name}
        if self.text:
            data["text"] = True
        elif self.dictionary is not None:
            data["dictionary"] = self.dictionary.to_dict()
        else:
            data["categories"] = list(self.categories)
        data |= {key: getattr(self, key) for key in ("missing", "other") if getattr(self, key) is not None}
        if self.edges is not None:
            data["edges"] = [int(edge) if _is_short_integer(edge) else edge for edge in self.edges]
        return data


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
