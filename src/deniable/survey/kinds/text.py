"""Open text: nobody lists the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deniable.errors import InvalidInputError, InvalidParameterError, quoted
from deniable.survey.encoding import MISSING, distinct_answers, failure
from deniable.survey.question_kind import QuestionKind

if TYPE_CHECKING:
    from deniable.survey.attribute import Attribute


@final
class Text(QuestionKind):
    """Open text: there are no codes, mechanisms take the answers themselves, and none is drafted or asked on a page.

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

    def settled(self, attribute: Attribute, where: str) -> dict[str, Any]:
        if attribute.categories or attribute.other is not None:
            raise InvalidParameterError(f"{where} is open text: leave out categories, edges and other")
        return {"text": True}

    def new_labels(self, attribute: Attribute) -> tuple[str, ...]:
        return () if attribute.missing is None else (attribute.missing,)

    def entry(self, attribute: Attribute) -> dict[str, Any]:
        return {"text": attribute.text}

    def encode(self, attribute: Attribute, column: pa.Array, first_row: int, codes: NDArray[Any], j: int) -> None:
        """Write the answers themselves as str; missing ones as the attribute's label for them."""
        texts, indices = distinct_answers(column, attribute.name)
        distinct = np.array([text or attribute.missing for text in texts], dtype=object)
        unfit = np.array([text is None or "\0" in text for text in distinct])[indices]
        if unfit.any():
            row = int(unfit.argmax())
            if distinct[indices[row]] is None:
                raise failure(attribute, MISSING, first_row + row)
            where = f"attribute {quoted(attribute.name)} in row {first_row + row}"
            raise InvalidInputError(f"answer of {where} must not contain the character NUL")
        codes[:, j] = distinct[indices]

    def text_tells(self, attribute: Attribute) -> bool:
        del attribute
        return False

    def described(self, attribute: Attribute) -> str:
        del attribute
        return " (open text)"


KIND = Text()
