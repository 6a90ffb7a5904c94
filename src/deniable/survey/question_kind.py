"""The base of all kinds of questions: what the other modules ask a kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deniable.errors import quoted
from deniable.survey.encoding import Int64s, Rounding, label_codes
from deniable.survey.lists import unknown_of_list
from deniable.survey.tally import ColumnTally

if TYPE_CHECKING:
    from deniable.survey.attribute import Attribute

Ask = Literal["shares", "mean"]

Input = Literal["answers", "cuts", "scores", "range", "words"]
"""Inputs of a form: a list of answers, cut points, scores, the range of a number with its grid, or a list of words."""


class Draft(NamedTuple):
    """Draft from one column of answers.

    Parameters
    ----------
    keys : dict, optional
        Of the attribute, without its name and kind; None where the column is left out.
    remarks : list of str
        What to know before it is published, or why the column is left out.
    alike : sequence of str, optional
        Labels among which different spellings of one answer are looked for. If empty, they are looked for among marks
        of a missing answer; if None, nowhere.
    """

    keys: dict[str, Any] | None
    remarks: list[str]
    alike: Sequence[str] | None = ()


class ColumnOf(NamedTuple):
    """A column of the record: name, categories and title."""

    name: str
    categories: tuple[str, ...]
    title: str


class QuestionKind(ABC):
    """One kind of question: how it is declared, answered, shown and estimated.

    A kind has no state: every method is given the attribute. What has a default here is right for a question with one
    answer out of a list.
    """

    name: ClassVar[str]
    """As documents write it, and as its file is called."""

    usual: ClassVar[bool] = False
    """True if a document that names no kind means this one."""

    mark: ClassVar[str] = ""
    """The key of an attribute that tells this kind, so that documents do not write the kind; "" if there is none."""

    keys: ClassVar[frozenset[str]] = frozenset()
    """The keys that this kind has and not every other."""

    spoken: ClassVar[str]
    """The kind in an organiser's words, such as "A number"."""

    inputs: ClassVar[tuple[Input, ...]] = ("answers",)
    """Inputs of the form for a question of this kind; empty where no page can ask it."""

    # ---------------------------------------------------------------- estimates

    usual_ask: ClassVar[Ask] = "shares"
    """Statistic that is read where the schema does not say."""

    averaged: ClassVar[bool] = False
    """True if a mean may be asked for."""

    quartiles_shown: ClassVar[bool] = False
    """True if mean and quartiles are shown where nobody asks: its shares, one by one, are mostly noise."""

    several: ClassVar[bool] = False
    """True if any number of its labels may be given, each of them a two-valued column of the record."""

    rounded: ClassVar[bool] = False
    """True if answers are rounded at random, which takes one random word for each."""

    coded: ClassVar[bool] = True
    """True if answers have codes; otherwise they are texts that nobody listed, and mechanisms take those."""

    listed: ClassVar[bool] = True
    """True if its labels are few enough to be written out: into page documents, translations and oracles."""

    # ---------------------------------------------------------------- the schema

    @property
    def called(self) -> str:
        """Return what an attribute of this kind is, in messages."""
        return f"of kind {quoted(self.name)}"

    @abstractmethod
    def settled(self, attribute: Attribute, where: str) -> dict[str, Any]:
        """Check the keys that say which answers there are; return fields as they are kept, `categories` among them.

        Raises
        ------
        InvalidParameterError
            If a key is wrong, naming it and `where`.
        """

    def check(self, attribute: Attribute, where: str) -> None:  # noqa: B027  # nothing to check is usual
        """Raise InvalidParameterError if labels or other keys do not fit; the labels are distinct texts."""

    def new_labels(self, attribute: Attribute) -> tuple[str, ...]:
        """Return the labels that have to be checked: all."""
        return attribute.labels

    def entry(self, attribute: Attribute) -> dict[str, Any]:
        """Return the keys of the JSON document that say which answers there are."""
        return {"categories": list(attribute.categories)}

    def columns(self, attribute: Attribute) -> tuple[ColumnOf, ...]:
        """Return the columns of the record that the question fills; nothing if it is itself the only one."""
        del attribute
        return ()

    def scores(self, attribute: Attribute) -> Sequence[float] | None:
        """Return what each category counts in a mean; None if they count nothing."""
        del attribute
        return None

    def in_order(self, attribute: Attribute) -> bool:
        """Tell whether the categories stand in an order."""
        return attribute.edges is not None

    # ---------------------------------------------------------------- answers

    number_limit: ClassVar[str] = ""
    """Longest number, in words that follow "finite numbers"."""

    @abstractmethod
    def encode(
        self, attribute: Attribute, column: pa.Array, first_row: int, codes: NDArray[Any], j: int
    ) -> Rounding | None:
        """Write a column of n answers into n rows of codes, from column j on.

        Returns
        -------
        Rounding
            If answers are rounded: how. Else None.

        Raises
        ------
        InvalidInputError
            If an answer cannot be read; naming attribute and row, never the answer.
        UnknownCategoryError
            If an answer is not one of those possible.
        """

    def lookup(self, attribute: Attribute) -> tuple[dict[str, int], dict[str, int]]:
        """Return the codes by exact label, and by decimal number where exactly one label is that number."""
        return label_codes(attribute.labels)

    def holds_numbers(self, attribute: Attribute) -> bool:
        """Tell whether every answer in words is a number, so that a file may write it with a decimal comma."""
        del attribute
        return False

    def text_tells(self, attribute: Attribute) -> bool:
        """Tell whether a text that is a label has its code, whatever else there is."""
        return attribute.edges is None

    def unknown(self, attribute: Attribute, where: str) -> str:
        """Return what is said of an answer that is not one of those possible."""
        return unknown_of_list(attribute, where)

    def decode(self, attribute: Attribute, codes: Int64s) -> pa.Array:
        """Return the texts of codes int64[n, columns]."""
        labels = np.array(attribute.labels, dtype=object)
        return pa.array(labels, pa.string()).take(pa.array(codes[:, 0], pa.int64()))

    # ---------------------------------------------------------------- what people read

    @abstractmethod
    def described(self, attribute: Attribute) -> str:
        """Return which answers can be reported, as text behind the name of the question."""

    def inspected(self, attribute: Attribute) -> str:
        """Return the kind's name in an inspection."""
        del attribute
        return self.name

    def answers(self, attribute: Attribute) -> dict[str, Any]:
        """Return the answers that can be reported, as JSON data of an inspection."""
        return {"categories": list(attribute.labels)}

    # ---------------------------------------------------------------- drafts

    drafted: ClassVar[int] = 0
    """Place among the kinds that drafting tries, smallest first; 0 if answers never show a question of this kind."""

    def draft(self, column: ColumnTally, most: int) -> Draft | None:
        """Return the draft of a column of answers, with at most so many categories; None if it is of another kind."""
        del column, most
        return None
