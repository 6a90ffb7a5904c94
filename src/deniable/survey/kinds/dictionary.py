"""Kind of question whose answer is a word of a public file with thousands or millions of words."""

from __future__ import annotations

from typing import Any, final

from deniable.errors import InvalidParameterError, quoted
from deniable.survey.question import Question
from deniable.survey.question_kind import QuestionKind


@final
class DictionaryWord(QuestionKind):
    """One word of a dictionary. Documents refer to its file. Words are text, even if they look like numbers.

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

    def settled(self, question: Question, where: str) -> dict[str, Any]:
        if question.dictionary is None:
            raise InvalidParameterError(
                f"dictionary of {where} must be given, because the kind of this question is {self.name}; in "
                "Python, call Attribute.from_dictionary"
            )
        words = question.dictionary.words.words
        if question.categories not in ((), words):
            raise InvalidParameterError(
                f"categories of {where} must be left out, because the dictionary contains the categories"
            )
        return {"categories": words}

    def check(self, question: Question, where: str) -> None:
        for label in self.new_labels(question):
            if label in question.categories:
                raise InvalidParameterError(f"labels of {where} must be distinct, got {quoted(label)} twice")

    def new_labels(self, question: Question) -> tuple[str, ...]:
        # The words were checked when the dictionary was made, so only labels after them are new.
        return question.labels[len(question.categories) :]

    def entry(self, question: Question) -> dict[str, Any]:
        assert question.dictionary is not None
        return {"dictionary": question.dictionary.to_dict()}

    def lookup(self, question: Question) -> tuple[dict[str, int], dict[str, int]]:
        # Another spelling of a number is another word.
        return {label: code for code, label in enumerate(question.labels)}, {}

    def unknown(self, question: Question, where: str) -> str:
        assert question.dictionary is not None
        return (
            f"unknown word of {where}: this word is not in {question.dictionary.file}; correct the answer, or add "
            "the word to that file and make the collection again"
        )

    def described(self, question: Question) -> str:
        assert question.dictionary is not None
        further = "".join(f", {quoted(label)}" for label in self.new_labels(question))
        return f" (dictionary): the {len(question.categories):,} words of {quoted(question.dictionary.file)}{further}"

    def answers(self, question: Question) -> dict[str, Any]:
        # The entry has a reference, because there may be millions of words.
        return {**self.entry(question), "missing": question.missing, "other": question.other}


KIND = DictionaryWord()
