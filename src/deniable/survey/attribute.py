"""Attribute: one question, and which answer is which code."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from deniable.core.checks import listed, settle
from deniable.errors import InvalidParameterError, UnknownCategoryError, quoted
from deniable.survey.dictionary import is_text
from deniable.survey.dictionary_file import DictionaryFile
from deniable.survey.kinds import KINDS, USUAL, QuestionKind, names_with
from deniable.survey.lists import plain_numbers
from deniable.survey.question import SEPARATOR, Ask as Ask, Question
from deniable.survey.texts import MOST_TEXTS, TextCodes

VERSION_2 = ("kind", "scores", "range", "grid", "clip", "ask", "separator", "title", "ask_if")
"""Keys that documents of format version 1 do not have."""


@dataclass(frozen=True)
class AskIf:
    """Condition under which a question is asked: an earlier question has one of these answers.

    Parameters
    ----------
    question : str
        Name of an earlier attribute, whose answers are listed and of which people choose one.
    answers : sequence of str
        Labels of that attribute, each once, but not all of them.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)

    question: str
    answers: tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.answers, str) or not isinstance(self.answers, Sequence):
            raise InvalidParameterError(f"answers of ask_if must be a sequence of texts, got {quoted(self.answers)}")
        settle(self, answers=tuple(self.answers))


@dataclass(frozen=True)
class Attribute(Question):
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
    kind : str
        A name of `deniable.survey.kinds.KINDS`. "ordered": the categories stand in an order, from least to most.
        "numeric": answers are numbers in `range`, reported on a `grid`, rounded *at random* to one of the two points
        beside them (`deniable.survey.grid`). "multiple": an answer is any subset of the categories (boxes), and every
        box is a two-valued column of the record, see `columns`; `missing` and `other` are boxes, too. "dictionary" and
        "text" need not be named: `dictionary` and `text` tell them.
    scores : sequence of float, optional
        Of kind "ordered": what each category counts in a mean, one finite number a category. Left out, categories that
        are all numbers count as those; other categories have no scores.
    range : (float, float), optional
        Of kind "numeric", and needed there: least and largest answer, both possible. Public: a range read from private
        answers publishes two of them. A float is read as Python prints it.
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
    ask_if : AskIf, optional
        Ask only people whose answer to an earlier question is one of these. Everyone else is reported like any answer,
        by `missing`, which must be given: the absence of an answer would tell the earlier one.

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

    kind: str = USUAL
    ask_if: AskIf | None = None

    def __repr__(self) -> str:
        """Return name and categories, and what else is not at its default."""
        shown = [repr(self.name), *([f"({listed(list(map(repr, self.categories)))})"] if self.categories else [])]
        shown += [f"{key}={value!r}" for key, value in self.to_dict().items() if key not in ("name", "categories")]
        return f"Attribute({', '.join(shown)})"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameterError(f"name of an attribute must be a non-empty text, got name={quoted(self.name)}")
        where = f"attribute {quoted(self.name)}"
        self._settle_kind(where)
        if isinstance(self.categories, str) or not isinstance(self.categories, Sequence):
            raise InvalidParameterError(
                f"categories of {where} must be a sequence of texts, got {quoted(self.categories)}"
            )
        settle(self, categories=tuple(self.categories))
        for key, value in self.question_kind.settled(self, where).items():
            object.__setattr__(self, key, value)
        if self.question_kind.coded and self.k < 2:
            raise InvalidParameterError(
                f"{where} must have at least two labels (missing and other count as labels), got {self.k}"
            )
        self._check_labels(where)
        self.question_kind.check(self, where)
        if self.ask_if is not None and not self.question_kind.coded:
            raise InvalidParameterError(
                f"ask_if must be left out of {where}, because this question is {self.question_kind.called}"
            )
        if self.ask_if is not None and self.missing is None:
            raise InvalidParameterError(
                f"missing of {where} must be given, because ask_if leaves some people out: add a label such as “not "
                "asked”, which is reported for these people"
            )
        self._settle_ask(where)

    def _settle_kind(self, where: str) -> None:
        """Settle the kind, which a key such as `text` may tell, and check which keys it has."""
        if self.kind not in tuple(KINDS):
            raise InvalidParameterError(
                f"kind of {where} must be one of {', '.join(KINDS)}, got kind={quoted(self.kind)}"
            )
        marked = [kind for kind in KINDS.values() if kind.mark and self._has(kind.mark)]
        if marked and self.kind not in (USUAL, *(kind.name for kind in marked)):
            told = marked[-1]
            raise InvalidParameterError(
                f"{where} has both {told.mark} and kind={quoted(self.kind)}: leave out {told.mark}, or leave out kind"
            )
        if marked and self.kind == USUAL:
            settle(self, kind=marked[-1].name)
        for key in _KEYED:
            if self._has(key) and key not in self.question_kind.keys:
                others = names_with(key)
                remedy = "" if others == key else f"; {key} is for {others}"
                raise InvalidParameterError(
                    f"{key} must be left out of {where}, because this question is {self.question_kind.called}{remedy}"
                )
        if not isinstance(self.clip, bool):
            raise InvalidParameterError(f"clip of {where} must be true or false, got clip={quoted(self.clip)}")
        if not is_text(self.title):
            raise InvalidParameterError(f"title of {where} must be a Unicode text, got title={quoted(self.title)}")

    def _has(self, key: str) -> bool:
        """Tell whether a key is not at its default; one whose default is None may be an array."""
        value, default = getattr(self, key), _DEFAULTS[key]
        return value is not None if default is None else bool(value) if default is False else bool(value != default)

    def _check_labels(self, where: str) -> None:
        listed = self.question_kind.new_labels(self)
        for label in (self.name, *listed):
            if not is_text(label):
                raise InvalidParameterError(f"labels of {where} must be Unicode texts, got {quoted(label)}")
        seen = set()
        for label in listed:
            if label in seen:
                raise InvalidParameterError(f"labels of {where} must be distinct, got {quoted(label)} twice")
            seen.add(label)

    def _settle_ask(self, where: str) -> None:
        ask = self.question_kind.usual_ask if self.ask is None else self.ask
        if ask not in get_args(Ask):
            raise InvalidParameterError(f'ask of {where} must be "shares" or "mean", got ask={quoted(self.ask)}')
        if ask == "mean" and not self.question_kind.averaged:
            averaged = " or ".join(name for name, kind in KINDS.items() if kind.averaged)
            raise InvalidParameterError(
                f'ask of {where} must be "shares", because this question is {self.question_kind.called}: means are '
                f"for {averaged} answers"
            )
        if ask == "mean" and self.code_scores is None:
            raise InvalidParameterError(
                f"scores of {where} must give one number for each category to ask for a mean; add scores, or ask for "
                '"shares"'
            )
        settle(self, ask=ask)

    @property
    def question_kind(self) -> QuestionKind:
        """Return what is particular to questions of its kind: what other modules ask, instead of comparing `kind`."""
        return KINDS[self.kind]

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
        if not self.question_kind.coded:
            return ()
        return self.categories + tuple(label for label in (self.missing, self.other) if label is not None)

    @property
    def unasked_codes(self) -> tuple[int, ...]:
        """Codes of the columns that it fills for somebody who is not asked: those of a missing answer."""
        if not self.question_kind.several:
            return (len(self.categories),)
        return tuple(int(label == self.missing) for label in self.labels)

    @cached_property
    def lookup(self) -> tuple[dict[str, int], dict[str, int]]:
        """Code by exact label, and by decimal number where exactly one label is that number."""
        return self.question_kind.lookup(self)

    @cached_property
    def text_codes(self) -> TextCodes | None:
        """Return the table that long columns of texts are looked up in; None where a text alone does not tell."""
        if not self.question_kind.text_tells(self) or self.k > MOST_TEXTS:
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
            If one is not a label of the attribute, naming it.
        """
        exact, wanted = self.lookup[0], list(labels)
        for label in wanted:
            if label not in exact:
                raise UnknownCategoryError(
                    f"attribute {quoted(self.name)} has no category {quoted(label)}; its categories are "
                    f"{listed(list(map(quoted, self.labels)))}"
                )
        return np.array([exact[label] for label in wanted], dtype=np.int64)

    @cached_property
    def columns(self) -> tuple[Attribute, ...]:
        """Columns of the record that this question fills: itself, or of kind "multiple" one of two values for each box.

        A box is the column "name: box" with the categories "no" and "yes".
        """
        own = self.question_kind.columns(self)
        return tuple(Attribute(name, categories, title=title) for name, categories, title in own) or (self,)

    @cached_property
    def code_scores(self) -> NDArray[np.float64] | None:
        """Return what every code counts in a mean, float64[k]: NaN for missing and other, which count nowhere.

        Of a numeric attribute the grid's points, of an ordered one its `scores`, or the categories themselves if all
        are numbers. None where there are no such numbers.
        """
        scores = self.question_kind.scores(self)
        if scores is None:
            return None
        values = np.full(self.k, np.nan)
        values[: len(self.categories)] = scores
        values.setflags(write=False)
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return the attribute as plain JSON data; what is not there, or at its default, is left out."""
        data: dict[str, Any] = {"name": self.name}
        if self.kind != USUAL and not self.question_kind.mark:
            data["kind"] = self.kind
        data |= self.question_kind.entry(self)
        data |= {key: getattr(self, key) for key in ("missing", "other") if getattr(self, key) is not None}
        if self.edges is not None:
            data["edges"] = list(self.edges) if self.dated else plain_numbers(self.edges)
        if self.scores is not None:
            data["scores"] = plain_numbers(self.scores)
        defaults = {"clip": False, "ask": self.question_kind.usual_ask, "separator": SEPARATOR, "title": ""}
        data |= {key: getattr(self, key) for key, default in defaults.items() if getattr(self, key) != default}
        if self.ask_if is not None:
            data["ask_if"] = {"question": self.ask_if.question, "answers": list(self.ask_if.answers)}
        return data

    @property
    def format_version(self) -> int:
        """Version of the documents that can describe this attribute: 1, or 2 with a key that version 1 had not."""
        return 2 if self.dated or set(VERSION_2) & self.to_dict().keys() else 1


_DEFAULTS = {field.name: field.default for field in fields(Attribute)}
_KEYED = tuple(key for key in _DEFAULTS if any(key in kind.keys for kind in KINDS.values()))
"""Keys that not every kind has."""
