"""One word of a public file of words, thousands or millions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import pyarrow as pa
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, quoted
from deniable.survey.encoding import encode_column
from deniable.survey.question_kind import QuestionKind

if TYPE_CHECKING:
    from deniable.survey.attribute import Attribute


@final
class DictionaryWord(QuestionKind):
    """One word of a dictionary: documents refer to its file, and the words are text, even where they look like numbers.

    Examples
    --------
    >>> KIND.mark, KIND.listed
    ('dictionary', False)
    """

    name = "dictionary"
    spoken = "One word from a long list"
    inputs = ("words",)
    mark = "dictionary"
    keys = frozenset({"dictionary"})
    listed = False

    def settled(self, attribute: Attribute, where: str) -> dict[str, Any]:
        if attribute.dictionary is None:
            raise InvalidParameterError(
                f"dictionary of {where} must be given, because its kind is {self.name}; use Attribute.from_dictionary"
            )
        words = attribute.dictionary.words.words
        if attribute.categories not in ((), words):
            raise InvalidParameterError(f"categories of {where} are those of its dictionary: leave categories out")
        return {"categories": words}

    def check(self, attribute: Attribute, where: str) -> None:
        for label in self.new_labels(attribute):
            if label in attribute.categories:
                raise InvalidParameterError(f"labels of {where} must be distinct, got {quoted(label)} twice")

    def new_labels(self, attribute: Attribute) -> tuple[str, ...]:
        # The words have been looked at when the dictionary was made: only what comes after them is new.
        return attribute.labels[len(attribute.categories) :]

    def entry(self, attribute: Attribute) -> dict[str, Any]:
        assert attribute.dictionary is not None
        return {"dictionary": attribute.dictionary.to_dict()}

    def encode(self, attribute: Attribute, column: pa.Array, first_row: int, codes: NDArray[Any], j: int) -> None:
        encode_column(attribute, column, first_row, codes, j)

    def lookup(self, attribute: Attribute) -> tuple[dict[str, int], dict[str, int]]:
        # Another spelling of a number is another word.
        return {label: code for code, label in enumerate(attribute.labels)}, {}

    def unknown(self, attribute: Attribute, where: str) -> str:
        assert attribute.dictionary is not None
        return (
            f"unknown word of {where}: it is not in {attribute.dictionary.file}; correct the answer, or add the word "
            "to that file and make the collection again"
        )

    def described(self, attribute: Attribute) -> str:
        assert attribute.dictionary is not None
        further = "".join(f", {quoted(label)}" for label in self.new_labels(attribute))
        return f" (dictionary): the {len(attribute.categories):,} words of {quoted(attribute.dictionary.file)}{further}"

    def answers(self, attribute: Attribute) -> dict[str, Any]:
        # A reference, since there may be millions of words.
        return {**self.entry(attribute), "missing": attribute.missing, "other": attribute.other}


KIND = DictionaryWord()
