"""Attribute: a question, and the code of each of its answers."""

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
    """A condition for asking a question: the answer to an earlier question is one of the listed answers.

    Parameters
    ----------
    question : str
        Name of an earlier attribute. It must have a list of answers, of which people choose exactly one.
    answers : sequence of str
        Labels of the earlier attribute. Each label is listed at most once, and at least one label is left out.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)

    question: str
    answers: tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.answers, str) or not isinstance(self.answers, Sequence):
            raise InvalidParameterError(f"answers of ask_if must be a sequence of strings, got {quoted(self.answers)}")
        settle(self, answers=tuple(self.answers))


@dataclass(frozen=True)
class Attribute(Question):
    """One question and its public list of answers.

    JSON documents use the same names as keys, and leave out parameters that have their default.

    Parameters
    ----------
    name : str
        Name of the column of answers.
    categories : sequence of str
        Labels of the codes 0, 1, ... With `edges` they are the labels of the intervals, and by default are made from
        the edges. With kind "numeric" they are always made from the grid's points.
    missing : str, optional
        Label of a category for missing answers (null or empty). Without this label, a missing answer is an error.
    other : str, optional
        Label of a category for every answer that is not listed. Without this label, an unknown answer is an error.
    edges : sequence of float or of str, optional
        Increasing cut points e_0 < ... < e_m, which are *public* like the labels. Answers are read as numbers and put
        into the m + 2 intervals (-inf, e_0), [e_0, e_1), ..., [e_m, inf). If all edges are dates like "2026-05-01",
        answers are read as dates, and only the day of a time counts.
    dictionary : DictionaryFile, optional
        File whose words, perhaps millions, are the categories. Documents name the file (`from_dictionary`).
    text : bool
        True for open text, the same as kind "text". Nobody lists the answers, so there are no codes, and mechanisms
        such as `HeavyHitters` take the answers themselves. If `missing` is given, a missing answer is reported as that
        text.
    kind : str
        Kind of question, a name of `deniable.survey.kinds.KINDS`. With "ordered", the categories have an order, from
        least to most. With "numeric", answers are numbers in `range`, and each is rounded *at random* to one of the two
        nearest points of the `grid` (`deniable.survey.grid`). With "multiple", an answer is any subset of the
        categories, and every category is a column of the record with two values (see `columns`). The labels `missing`
        and `other` also become such columns. The kinds "dictionary" and "text" follow from the parameters `dictionary`
        and `text`.
    scores : sequence of float, optional
        Scores of the categories, for kind "ordered": one finite number for each category, from which means are
        computed. By default, categories that are all numbers have these numbers as scores, and other categories have no
        scores.
    range : (float, float), optional
        Least and largest possible answer, required for kind "numeric". The range is public. If you take it from private
        answers, you publish two of them. A float is read as the decimal that Python prints for it, so 0.1 is read as
        1/10.
    grid : int, optional
        Number of equally spaced points from one end of the range to the other, from 2 to 1,024. Required for kind
        "numeric". Code i is point i, counted from 0.
    clip : bool
        True to report an answer outside the range as the nearer end of the range, for kind "numeric". False to raise an
        error for such an answer.
    ask : {"shares", "mean"}, optional
        Result that you want for an ordered or numeric attribute: the share of contributors who hold each category
        ("shares"), or the mean, the distribution and quantiles ("mean"). The choice of a mechanism depends on it. The
        default is "mean" for kind "numeric" and "shares" for all other kinds.
    separator : str
        Delimiter between the answers in a cell of text, for kind "multiple".
    title : str
        Text that people read instead of the name.
    ask_if : AskIf, optional
        Condition on an earlier question. Only people who fulfil it are asked. For everyone else the device reports the
        answer `missing`, in the same way as any other answer, because no report at all would reveal their earlier
        answer. So `missing` must be given.

    Raises
    ------
    InvalidParameterError
        If a label is repeated, there are fewer than two labels, or the edges do not increase. Also if two of
        `categories`, `edges`, `dictionary` and `text` exclude each other, or a parameter does not fit the kind.

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
        """Return the name, the categories, and all keys that are not at their defaults."""
        shown = [repr(self.name), *([f"({listed(list(map(repr, self.categories)))})"] if self.categories else [])]
        shown += [f"{key}={value!r}" for key, value in self.to_dict().items() if key not in ("name", "categories")]
        return f"Attribute({', '.join(shown)})"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameterError(f"name of an attribute must be non-empty text, got name={quoted(self.name)}")
        where = f"attribute {quoted(self.name)}"
        self._settle_kind(where)
        if isinstance(self.categories, str) or not isinstance(self.categories, Sequence):
            raise InvalidParameterError(
                f"categories of {where} must be a sequence of strings, got {quoted(self.categories)}"
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
                f"missing of {where} must be given, because ask_if leaves some people out: for these people, add a "
                "label such as “not asked”"
            )
        self._settle_ask(where)

    def _settle_kind(self, where: str) -> None:
        """Set the kind, which may follow from a key such as `text`, and check its keys."""
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
            raise InvalidParameterError(f"title of {where} must be Unicode text, got title={quoted(self.title)}")

    def _has(self, key: str) -> bool:
        """Return whether a key is not at its default. A key whose default is None may be an array."""
        value, default = getattr(self, key), _DEFAULTS[key]
        return value is not None if default is None else bool(value) if default is False else bool(value != default)

    def _check_labels(self, where: str) -> None:
        listed = self.question_kind.new_labels(self)
        for label in (self.name, *listed):
            if not is_text(label):
                raise InvalidParameterError(f"labels of {where} must be Unicode text, got {quoted(label)}")
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
        """Return the object with the rules of the attribute's kind, so that other modules need not compare `kind`."""
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
        """Labels of all codes, in order: the categories, then `missing`, then `other`. Open text has no labels."""
        if not self.question_kind.coded:
            return ()
        return self.categories + tuple(label for label in (self.missing, self.other) if label is not None)

    @property
    def unasked_codes(self) -> tuple[int, ...]:
        """Codes of this question's columns for a person who is not asked: the codes of a missing answer."""
        if not self.question_kind.several:
            return (len(self.categories),)
        return tuple(int(label == self.missing) for label in self.labels)

    @cached_property
    def lookup(self) -> tuple[dict[str, int], dict[str, int]]:
        """Codes by exact label, and also by decimal number if exactly one label is that number."""
        return self.question_kind.lookup(self)

    @cached_property
    def text_codes(self) -> TextCodes | None:
        """Return a table for looking up long columns of texts, or None if a text alone does not determine its code."""
        if not self.question_kind.text_tells(self) or self.k > MOST_TEXTS:
            return None
        exact = dict(self.lookup[0])
        if self.missing_code is not None:
            exact.setdefault("", self.missing_code)
        return TextCodes(exact)

    def codes(self, labels: Iterable[str]) -> NDArray[np.int64]:
        """Return the codes of chosen labels, int64[q], for instance of the labels that an analyst asks about.

        Raises
        ------
        UnknownCategoryError
            If a text is not a label of the attribute. The message names it.
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
        """Columns of the record that this question fills: one column, or with kind "multiple" one for each category.

        With kind "multiple", the column of a category is called "name: category" and has the categories "no" and "yes".
        """
        own = self.question_kind.columns(self)
        return tuple(Attribute(name, categories, title=title) for name, categories, title in own) or (self,)

    @cached_property
    def code_scores(self) -> NDArray[np.float64] | None:
        """Return the score of every code, from which means are computed, float64[k]; NaN for `missing` and `other`.

        For a numeric attribute these are the grid's points. For an ordered attribute they are its `scores`, or the
        categories themselves if all categories are numbers. For all other attributes the method returns None.
        """
        scores = self.question_kind.scores(self)
        if scores is None:
            return None
        values = np.full(self.k, np.nan)
        values[: len(self.categories)] = scores
        values.setflags(write=False)
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return the attribute as plain JSON data, without parameters that are absent or have their default."""
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
        """Lowest version of documents that can describe this attribute: 1, or 2 if it needs a newer key."""
        return 2 if self.dated or set(VERSION_2) & self.to_dict().keys() else 1


_DEFAULTS = {field.name: field.default for field in fields(Attribute)}
_KEYED = tuple(key for key in _DEFAULTS if any(key in kind.keys for kind in KINDS.values()))
"""Keys that not every kind has."""
