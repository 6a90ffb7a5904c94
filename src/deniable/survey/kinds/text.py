"""Kind of question with open text, for which no list of answers exists."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deniable.errors import InvalidInputError, InvalidParameterError, quoted
from deniable.survey.encoding import MISSING, distinct_answers
from deniable.survey.question import Question
from deniable.survey.question_kind import QuestionKind


@final
class Text(QuestionKind):
    """Open text, without codes. Mechanisms take the answers themselves. It is not drafted or asked on a page.

    Examples
    --------
    >>> KIND.coded, KIND.listed
    (False, False)
    """

    name = "text"
    spoken = "Free text"
    inputs = ()
    mark = "text"
    keys = frozenset({"text"})
    coded = False
    listed = False

    @property
    def called(self) -> str:
        return "open text"

    def settled(self, question: Question, where: str) -> dict[str, Any]:
        if question.categories or question.other is not None:
            raise InvalidParameterError(f"{where} is open text: leave out categories, edges and other")
        return {"text": True}

    def new_labels(self, question: Question) -> tuple[str, ...]:
        return () if question.missing is None else (question.missing,)

    def entry(self, question: Question) -> dict[str, Any]:
        return {"text": question.text}

    def encode(self, question: Question, column: pa.Array, first_row: int, codes: NDArray[Any], j: int) -> None:
        """Write the answers themselves as str, and the attribute's label for missing answers."""
        texts, indices = distinct_answers(column, question.name)
        distinct = np.array([text or question.missing for text in texts], dtype=object)
        unfit = np.array([text is None or "\0" in text for text in distinct])[indices]
        if unfit.any():
            row = int(unfit.argmax())
            if distinct[indices[row]] is None:
                raise self.failure(question, MISSING, first_row + row)
            where = f"attribute {quoted(question.name)} in row {first_row + row}"
            raise InvalidInputError(f"answer of {where} must not contain the character NUL")
        codes[:, j] = distinct[indices]

    def text_tells(self, question: Question) -> bool:
        return False

    def described(self, question: Question) -> str:
        return " (open text)"


KIND = Text()
