"""Base of all kinds of questions, with the methods that other modules call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deniable.errors import InvalidInputError, UnknownCategoryError, quoted
from deniable.survey.encoding import (
    MISSING,
    NOT_FINITE,
    OUTSIDE,
    Int64s,
    Rounding,
    encode_column,
    label_codes,
)
from deniable.survey.lists import unknown_of_list
from deniable.survey.question import Ask, Question
from deniable.survey.tally import ColumnTally

Input = Literal["answers", "cuts", "scores", "range", "words"]
"""Inputs of a form: a list of answers, cut points, scores, the range of a number with its grid, or a list of words."""


class Draft(NamedTuple):
    """Draft from one column of answers.

    Parameters
    ----------
    keys : dict, optional
        Keys of the attribute, without its name and kind. None if the column is left out.
    remarks : list of str
        Remarks for the organiser before the schema is published, or reasons why the column is left out.
    alike : sequence of str, optional
        Labels among which different spellings of one answer are looked for. If empty, spellings are looked for among
        marks of a missing answer. If None, they are not looked for.
    """

    keys: dict[str, Any] | None
    remarks: list[str]
    alike: Sequence[str] | None = ()


class ColumnOf(NamedTuple):
    """Column of the record: name, categories and title."""

    name: str
    categories: tuple[str, ...]
    title: str


class QuestionKind(ABC):
    """Kind of question, which decides how questions are declared, answered, shown and estimated.

    A kind has no state, so every method gets the question. The defaults of this class are right for a question with one
    answer out of a list.
    """

    name: ClassVar[str]
    """Name of the kind in documents, which is also the name of its file."""

    usual: ClassVar[bool] = False
    """True if a document that names no kind means this one."""

    mark: ClassVar[str] = ""
    """The key of an attribute from which this kind is recognised, so that documents need not name the kind; "" if there
    is none."""

    keys: ClassVar[frozenset[str]] = frozenset()
    """The keys that this kind has, but not every other kind."""

    spoken: ClassVar[str]
    """The kind in an organiser's words, such as "A number"."""

    inputs: ClassVar[tuple[Input, ...]] = ("answers",)
    """Inputs of the form for a question of this kind; empty if no page can ask it."""

    # ---------------------------------------------------------------- estimates

    usual_ask: ClassVar[Ask] = "shares"
    """Statistic that is estimated if the schema names none."""

    averaged: ClassVar[bool] = False
    """True if a mean may be asked for."""

    quartiles_shown: ClassVar[bool] = False
    """True if mean and quartiles are shown by default, because its single shares are mostly noise."""

    several: ClassVar[bool] = False
    """True if any number of its labels may be given. Each label is then a two-valued column of the record."""

    rounded: ClassVar[bool] = False
    """True if answers are rounded at random, which takes one random word for each."""

    coded: ClassVar[bool] = True
    """True if answers have codes. Otherwise they are texts that nobody listed, and mechanisms take the texts."""

    listed: ClassVar[bool] = True
    """True if its labels are few enough to be listed in page documents, translations and oracles."""

    # ---------------------------------------------------------------- the schema

    @property
    def called(self) -> str:
        """Return the words that messages use for an attribute of this kind."""
        return f"of kind {quoted(self.name)}"

    @abstractmethod
    def settled(self, question: Question, where: str) -> dict[str, Any]:
        """Check the keys that define the answers, and return the fields to keep, with `categories` among them.

        Raises
        ------
        InvalidParameterError
            If a key is wrong. The message names the key and `where`.
        """

    def check(self, question: Question, where: str) -> None:  # noqa: B027  # nothing to check is usual
        """Raise InvalidParameterError if labels or other keys do not fit. The labels are known to be distinct texts."""

    def new_labels(self, question: Question) -> tuple[str, ...]:
        """Return the labels that must be checked. By default these are all labels."""
        return question.labels

    def entry(self, question: Question) -> dict[str, Any]:
        """Return the keys of the JSON document that define the answers."""
        return {"categories": list(question.categories)}

    def columns(self, question: Question) -> tuple[ColumnOf, ...]:
        """Return the columns of the record that the question fills, or nothing if the question is the only column."""
        del question
        return ()

    def scores(self, question: Question) -> Sequence[float] | None:
        """Return the score of each category in a mean, or None if categories have no scores."""
        del question
        return None

    def in_order(self, question: Question) -> bool:
        """Return whether the categories have an order."""
        return question.edges is not None

    # ---------------------------------------------------------------- answers

    number_limit: ClassVar[str] = ""
    """Longest number, in words that follow "finite numbers"."""

    def encode(
        self, question: Question, column: pa.Array, first_row: int, codes: NDArray[Any], j: int
    ) -> Rounding | None:
        """Write a column of n answers as codes into n rows, from column j on.

        Returns
        -------
        Rounding
            Rounding of the answers, or None if answers are not rounded.

        Raises
        ------
        InvalidInputError
            If an answer cannot be read. The message names the attribute and the row, never the answer.
        UnknownCategoryError
            If an answer is not one of the possible answers.
        """
        if not encode_column(question, column, codes, j):
            self.check_readable(question, codes[:, j], first_row)
        return None

    def check_readable(self, question: Question, codes: Int64s, first_row: int) -> None:
        """Raise the error about the first answer without a code, if there is such an answer."""
        if codes.size and codes.min() < 0:
            row = int((codes < 0).argmax())
            raise self.failure(question, int(codes[row]), first_row + row)

    def failure(self, question: Question, reason: int, row: int) -> InvalidInputError:
        """Return the error about an answer without a code. `reason` is a negative number such as MISSING."""
        where = f"attribute {quoted(question.name)} in row {row}"
        if reason == MISSING:
            return InvalidInputError(
                f'missing answer of {where}; to accept missing answers, declare a category "missing" in the schema'
            )
        if reason == NOT_FINITE:
            return InvalidInputError(f"answers of {where} must be finite numbers{self.number_limit}")
        if reason == OUTSIDE:
            ends = ", ".join(question.range_texts)
            remedy = 'correct this answer, or declare a wider "range" in the schema if such answers are possible'
            return InvalidInputError(f"answer of {where} must be in [{ends}]; {remedy}")
        return UnknownCategoryError(self.unknown(question, where))

    def lookup(self, question: Question) -> tuple[dict[str, int], dict[str, int]]:
        """Return the codes by exact label, and by decimal number if exactly one label is that number."""
        return label_codes(question.labels)

    def holds_numbers(self, question: Question) -> bool:
        """Return whether every answer in words is a number, so that a file may write it with a decimal comma."""
        del question
        return False

    def text_tells(self, question: Question) -> bool:
        """Return whether a text that is a label always has the code of this label."""
        return question.edges is None

    def unknown(self, question: Question, where: str) -> str:
        """Return the message about an answer that is not one of the possible answers."""
        return unknown_of_list(question, where)

    def decode(self, question: Question, codes: Int64s) -> pa.Array:
        """Return the texts for codes int64[n, columns]."""
        labels = np.array(question.labels, dtype=object)
        return pa.array(labels, pa.string()).take(pa.array(codes[:, 0], pa.int64()))

    # ---------------------------------------------------------------- texts for people

    @abstractmethod
    def described(self, question: Question) -> str:
        """Return a text that follows the name of the question and says which answers can be reported."""

    def inspected(self, question: Question) -> str:
        """Return the name of the kind in an inspection."""
        del question
        return self.name

    def answers(self, question: Question) -> dict[str, Any]:
        """Return the answers that can be reported, as JSON data of an inspection."""
        return {"categories": list(question.labels)}

    # ---------------------------------------------------------------- drafts

    drafted: ClassVar[int] = 0
    """Place among the kinds that drafting tries, smallest first; 0 if answers never show a question of this kind."""

    def draft(self, column: ColumnTally, most: int) -> Draft | None:
        """Return the draft of a column with a limited number of categories, or None if it is of another kind."""
        del column, most
        return None
