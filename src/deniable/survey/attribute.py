"""Attribute: one question, and which answer is which code."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, GetPydanticSchema

from deniable.core.checks import listed
from deniable.errors import InvalidParameterError, UnknownCategoryError
from deniable.survey.dictionary import is_text
from deniable.survey.dictionary_file import DictionaryFile, referred_dictionary
from deniable.survey.encoding import canonical_decimal, is_date, label_codes
from deniable.survey.grid import Grid
from deniable.survey.texts import MOST_TEXTS, TextCodes

Kind = Literal["categories", "ordered", "numeric", "multiple", "text"]
Ask = Literal["shares", "mean"]

BOX = ("no", "yes")
"""Labels of a box of a question of several answers: not ticked, and ticked."""

SEPARATOR = ";"
"""What divides the answers in one cell of such a question, where the schema says nothing else."""

VERSION_2 = ("kind", "scores", "range", "grid", "clip", "ask", "separator", "title")
"""Keys that documents of format version 1 do not have."""


@dataclass(frozen=True)
class Attribute:
    """One question and its public list of answers.

    JSON documents have the same keys, without those that are at their default.

    Parameters
    ----------
    name : str
        Column name of the answers.
    categories : sequence of str
        Labels of codes 0, 1, ...; with `edges`, the labels of the intervals (made from the edges if left out); of kind
        "numeric" those of the grid's points, always made from it.
    missing : str, optional
        Label of a category for missing answers (null or empty); without it a missing answer is an error.
    other : str, optional
        Label of a category for every answer not listed; without it an unknown answer is an error.
    edges : sequence of float or of str, optional
        Increasing cut points e_0 < ... < e_m, *public* like the labels: answers are read as numbers and put into the
        m + 2 intervals (-inf, e_0), [e_0, e_1), ..., [e_m, inf). Or dates, all like "2026-05-01": answers are then read
        as dates, of times their day.
    dictionary : DictionaryFile, optional
        The categories are the words of this file, thousands or millions; documents refer to it (`from_dictionary`).
    text : bool
        Open text: nobody lists the answers, so there are no codes, and mechanisms such as HeavyHitters take the answers
        themselves. A missing answer is then reported as the text `missing`, if there is one. The same as kind "text".
    kind : {"categories", "ordered", "numeric", "multiple", "text"}
        "ordered": the categories stand in an order, from least to most. "numeric": answers are numbers in `range`,
        reported on a `grid`, rounded *at random* to one of the two points beside them (`deniable.survey.grid`).
        "multiple": an answer is any subset of the categories (boxes), and every box is a two-valued column of the
        record, see `columns`; `missing` and `other` are boxes, too.
    scores : sequence of float, optional
        Of kind "ordered": what each category counts in a mean, one finite number a category. Left out, categories that
        are all numbers count as those; other categories have no scores.
    range : (float, float), optional
        Of kind "numeric", and needed there: least and largest answer, both possible. Public: a range read from private
        answers publishes two of them. A float stands for its shortest decimal.
    grid : int, optional
        Of kind "numeric", and needed there: number m in 2..1,024 of equally spaced points, the first and the last of
        which are the ends of the range; code i is the i-th point.
    clip : bool
        Of kind "numeric": an answer outside the range is reported as the nearer end; otherwise it is an error.
    ask : {"shares", "mean"}, optional
        What will be read of an ordered or numeric attribute: how many hold each category, or mean, distribution and
        quantiles. It decides between mechanisms, so that data need not. By default "mean" of kind "numeric", "shares"
        of every other.
    separator : str
        Of kind "multiple": what divides the answers in a cell of text.
    title : str
        What people read instead of the name.

    Raises
    ------
    InvalidParameterError
        If a label is repeated, there are fewer than two labels in all, the edges do not increase, two of categories,
        edges, dictionary and text are given that exclude each other, or a key does not fit the kind.

    Examples
    --------
    >>> Attribute("smoker", ("yes", "no"), missing="no answer").labels
    ('yes', 'no', 'no answer')
    >>> Attribute("age", edges=(20, 40)).labels
    ('< 20', '20 to < 40', '>= 40')
    >>> Attribute("visit", edges=("2026-01-01", "2026-07-01")).labels
    ('< 2026-01-01', '2026-01-01 to < 2026-07-01', '>= 2026-07-01')
    >>> Attribute("url", text=True).k
    0
    >>> Attribute("stars", ("1", "2", "3"), "no answer", kind="ordered").code_scores
    array([ 1.,  2.,  3., nan])
    >>> Attribute("income", kind="numeric", range=(0, 5000), grid=3, title="Income a month").labels
    ('0', '2500', '5000')
    >>> [column.name for column in Attribute("devices", ("phone", "radio"), kind="multiple").columns]
    ['devices: phone', 'devices: radio']
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)

    name: str
    categories: tuple[str, ...] = ()
    missing: str | None = None
    other: str | None = None
    edges: tuple[float | str, ...] | None = None
    dictionary: Annotated[DictionaryFile | None, GetPydanticSchema(referred_dictionary)] = None
    text: bool = False
    kind: Kind = "categories"
    scores: tuple[float, ...] | None = None
    range: tuple[float, float] | None = None
    grid: int | None = None
    clip: bool = False
    ask: Ask | None = None
    separator: str = SEPARATOR
    title: str = ""

    def __repr__(self) -> str:
        """Return name and categories, and what else is not at its default."""
        shown = [repr(self.name), *([f"({listed(list(map(repr, self.categories)))})"] if self.categories else [])]
        shown += [f"{key}={value!r}" for key, value in self.to_dict().items() if key not in ("name", "categories")]
        return f"Attribute({', '.join(shown)})"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameterError(f"name of an attribute must be a non-empty text, got name={self.name!r}")
        where = f"attribute {self.name!r}"
        self._settle_kind(where)
        self._settle_categories(where)
        if self.kind == "text":
            if self.categories or self.edges is not None or self.other is not None:
                raise InvalidParameterError(f"{where} is open text: it must have no categories, edges or other")
        elif self.k < 2:
            raise InvalidParameterError(f"labels of {where} must be >= 2 with missing and other, got {self.k}")
        self._check_labels(where)
        self._check_boxes(where)
        if self.scores is not None:
            object.__setattr__(self, "scores", _checked_scores(self.scores, len(self.categories), where))
        self._settle_ask(where)

    def _settle_kind(self, where: str) -> None:
        """Check which keys the kind has, and let `text` and the kind say the same."""
        if self.kind not in get_args(Kind):
            raise InvalidParameterError(
                f"kind of {where} must be one of {', '.join(get_args(Kind))}, got kind={self.kind!r}"
            )
        if self.text and self.kind not in ("categories", "text"):
            raise InvalidParameterError(f"{where} is open text: leave out text, or kind={self.kind!r}")
        object.__setattr__(self, "kind", "text" if self.text else self.kind)
        object.__setattr__(self, "text", self.kind == "text")
        given = {
            "scores": (self.scores is not None, ("ordered",)),
            "range": (self.range is not None, ("numeric",)),
            "grid": (self.grid is not None, ("numeric",)),
            "clip": (self.clip is not False, ("numeric",)),
            "separator": (self.separator != SEPARATOR, ("multiple",)),
            "edges": (self.edges is not None, ("categories", "ordered")),
            "dictionary": (self.dictionary is not None, ("categories",)),
        }
        for key, (present, kinds) in given.items():
            # Open text has a rule of its own for what lists answers.
            listing = self.kind == "text" and key in ("edges", "dictionary")
            if present and self.kind not in kinds and not listing:
                raise InvalidParameterError(
                    f"{key} of {where} must be left out: it is of kind {self.kind!r}, {key} is for {' or '.join(kinds)}"
                )
        if not isinstance(self.clip, bool):
            raise InvalidParameterError(f"clip of {where} must be True or False, got clip={self.clip!r}")
        if not is_text(self.title):
            raise InvalidParameterError(f"title of {where} must be a Unicode text, got title={self.title!r}")

    def _settle_categories(self, where: str) -> None:
        if isinstance(self.categories, str) or not isinstance(self.categories, Sequence):
            raise InvalidParameterError(f"categories of {where} must be a sequence of texts, got {self.categories!r}")
        categories = tuple(self.categories)
        if self.edges is not None:
            object.__setattr__(self, "edges", _checked_edges(self.edges, where))
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
        if self.kind == "numeric":
            points = Grid.checked(self.range, self.grid, where)
            if categories not in ((), points.labels):
                raise InvalidParameterError(f"categories of {where} are the points of its grid: leave out any others")
            categories = points.labels
            object.__setattr__(self, "range", points.ends)
            object.__setattr__(self, "grid", points.size)
        object.__setattr__(self, "categories", categories)

    def _check_labels(self, where: str) -> None:
        further = [label for label in (self.missing, self.other) if label is not None]
        # The words of a dictionary have been looked at when it was made: only what comes after them is new.
        listed = further if self.dictionary is not None else [*self.categories, *further]
        for label in (self.name, *listed):
            if not is_text(label):
                raise InvalidParameterError(f"labels of {where} must be Unicode texts, got {label!r}")
        seen = set()
        for label in listed:
            if label in seen or (self.dictionary is not None and label in self.categories):
                raise InvalidParameterError(f"labels of {where} must be distinct, got {label!r} twice")
            seen.add(label)

    def _check_boxes(self, where: str) -> None:
        """Check that every box of a question of several answers can be written in a cell."""
        if self.kind != "multiple":
            return
        separator = self.separator
        if not separator or not is_text(separator):
            raise InvalidParameterError(f"separator of {where} must be a non-empty text, got separator={separator!r}")
        for label in self.labels:
            if separator in label or label != label.strip() or not label:
                raise InvalidParameterError(
                    f"categories of {where} must be without the separator {separator!r} and white space around them, "
                    f"got {label!r}; declare another separator, or change the category"
                )

    def _settle_ask(self, where: str) -> None:
        ask = self._default_ask if self.ask is None else self.ask
        if ask not in get_args(Ask):
            raise InvalidParameterError(f'ask of {where} must be "shares" or "mean", got ask={self.ask!r}')
        if ask == "mean" and self.kind not in ("ordered", "numeric"):
            raise InvalidParameterError(
                f'ask of {where} must be "shares": it is of kind {self.kind!r}, a mean is of ordered or numeric answers'
            )
        if ask == "mean" and self.code_scores is None:
            raise InvalidParameterError(
                f'scores of {where} must be given, one number a category, to ask for its mean: or ask for "shares"'
            )
        object.__setattr__(self, "ask", ask)

    @property
    def _default_ask(self) -> Ask:
        return "mean" if self.kind == "numeric" else "shares"

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

    @cached_property
    def text_codes(self) -> TextCodes | None:
        """What long columns of texts are looked up in first; None where a text alone does not tell, or for many."""
        if self.edges is not None or self.kind not in ("categories", "ordered") or self.k > MOST_TEXTS:
            return None
        exact = dict(self.lookup[0])
        if self.missing_code is not None:
            exact.setdefault("", self.missing_code)
        return TextCodes(exact)

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

    @cached_property
    def columns(self) -> tuple[Attribute, ...]:
        """Columns of the record that this question fills: itself, or of kind "multiple" one of two values for each box.

        A box is the column "name: box" with the categories "no" and "yes".
        """
        if self.kind != "multiple":
            return (self,)
        colon = "" if self.title.endswith(("?", ".", "!", ":")) else ":"
        titled = self.title and f"{self.title}{colon} "
        return tuple(
            Attribute(f"{self.name}: {label}", BOX, title=titled and f"{titled}{label}") for label in self.labels
        )

    @cached_property
    def points(self) -> Grid:
        """The grid of a numeric attribute, in exact numbers."""
        return Grid.checked(self.range, self.grid, f"attribute {self.name!r}")

    @property
    def unranked(self) -> tuple[int, ...]:
        """Codes without a place in an order of the answers: missing and other."""
        return tuple(range(len(self.categories), self.k))

    @property
    def range_texts(self) -> tuple[str, str]:
        """The ends of a numeric attribute's range, as people read them."""
        return self.categories[0], self.categories[-1]

    @cached_property
    def code_scores(self) -> NDArray[np.float64] | None:
        """What every code counts in a mean, float64[k]: NaN for missing and other, which count nowhere.

        Of a numeric attribute the grid's points, of an ordered one its `scores`, or the categories themselves if all
        are numbers. None where there are no such numbers.
        """
        if self.kind == "numeric":
            scores: Sequence[float] = self.points.scores
        elif self.kind != "ordered":
            return None
        elif self.scores is not None:
            scores = self.scores
        elif self.edges is None and all(canonical_decimal(label) is not None for label in self.categories):
            scores = [float(label) for label in self.categories]
        else:
            return None
        values = np.full(self.k, np.nan)
        values[: len(self.categories)] = scores
        values.setflags(write=False)
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return the attribute as plain JSON data; what is not there, or at its default, is left out."""
        data: dict[str, Any] = {"name": self.name}
        if self.kind not in ("categories", "text"):
            data["kind"] = self.kind
        if self.text:
            data["text"] = True
        elif self.dictionary is not None:
            data["dictionary"] = self.dictionary.to_dict()
        elif self.range is not None:
            data |= {"range": _numbers(self.range), "grid": self.grid}
        else:
            data["categories"] = list(self.categories)
        data |= {key: getattr(self, key) for key in ("missing", "other") if getattr(self, key) is not None}
        if self.edges is not None:
            data["edges"] = list(self.edges) if self.dated else _numbers(self.edges)
        if self.scores is not None:
            data["scores"] = _numbers(self.scores)
        defaults = {"clip": False, "ask": self._default_ask, "separator": SEPARATOR, "title": ""}
        data |= {key: getattr(self, key) for key, default in defaults.items() if getattr(self, key) != default}
        return data

    @property
    def format_version(self) -> int:
        """Version of the documents that can describe this attribute: 1, or 2 with a key that version 1 had not."""
        return 2 if self.dated or set(VERSION_2) & self.to_dict().keys() else 1

    @property
    def dated(self) -> bool:
        """Whether the cut points are dates."""
        return self.edges is not None and isinstance(self.edges[0], str)


def _numbers(values: Iterable[Any]) -> list[float]:
    return [int(value) if value.is_integer() and abs(value) < 1e15 else value for value in values]


def interval_labels(edges: Sequence[float | str]) -> tuple[str, ...]:
    """Return the labels of the intervals between cut points: "< 20", "20 to < 40", ">= 40"."""
    texts = [edge if isinstance(edge, str) else repr(_numbers([edge])[0]) for edge in edges]
    between = [f"{low} to < {high}" for low, high in pairwise(texts)]
    return (f"< {texts[0]}", *between, f">= {texts[-1]}")


def _checked_edges(edges: Sequence[float | str], where: str) -> tuple[float | str, ...]:
    if not isinstance(edges, str) and any(isinstance(edge, str) for edge in edges):
        return _checked_dates(edges, where)
    values = _floats("edges", edges, where)
    increasing = all(low < high for low, high in pairwise(values))
    if not values or not increasing or not all(map(math.isfinite, values)):
        raise InvalidParameterError(f"edges of {where} must be finite, increasing numbers, got edges={list(values)}")
    return values


def _floats(key: str, given: Sequence[Any], where: str) -> tuple[float, ...]:
    try:
        return tuple(float(value) + 0.0 for value in given)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidParameterError(f"{key} of {where} must be numbers, got {key}={given!r}") from error


def _checked_dates(edges: Sequence[float | str], where: str) -> tuple[float | str, ...]:
    dates = [edge for edge in edges if isinstance(edge, str) and is_date(edge)]
    if len(dates) < len(edges) or not all(low < high for low, high in pairwise(dates)):
        raise InvalidParameterError(
            f"edges of {where} must be increasing numbers, or increasing dates like '2026-05-01', got "
            f"edges={list(edges)}"
        )
    return tuple(dates)


def _checked_scores(scores: Sequence[float], count: int, where: str) -> tuple[float, ...]:
    values = _floats("scores", scores, where)
    if len(values) != count or not all(map(math.isfinite, values)):
        raise InvalidParameterError(
            f"scores of {where} must be {count} finite numbers, one a category, got scores={list(values)}"
        )
    return values
