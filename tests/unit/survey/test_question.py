"""Kinds get a question, and use nothing else of an attribute."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from deniable import Attribute
from deniable.survey.kinds import KINDS
from deniable.survey.question import Question
from deniable.survey.texts import TextCodes


@dataclass(frozen=True)
class Bare(Question):
    """A question with the keys of an attribute, and no other members of attributes."""

    @property
    def labels(self) -> tuple[str, ...]:
        further = (label for label in (self.missing, self.other) if label is not None)
        return (*self.categories, *further) if not self.text else ()

    @property
    def lookup(self) -> tuple[dict[str, int], dict[str, int]]:
        return KINDS[self.kind].lookup(self)

    @property
    def text_codes(self) -> TextCodes | None:
        return None


ATTRIBUTES = {
    "categories": Attribute("a", ("yes", "no", "3"), "none", "another"),
    "intervals": Attribute("a", edges=(1, 3), missing="none"),
    "dates": Attribute("a", edges=("2026-01-01", "2026-07-01"), kind="ordered"),
    "scores": Attribute("a", ("low", "high"), kind="ordered", scores=(1, 3), title="How much?"),
    "boxes": Attribute("a", ("yes", "no", "3"), "none", kind="multiple", separator="|"),
    "number": Attribute("a", kind="numeric", range=(0, 4), grid=3, clip=True, missing="none"),
    "text": Attribute("a", missing="none", text=True),
}
ANSWERS = {"intervals": ["0.5", "3", ""], "dates": ["2026-05-01", "2020-01-01"], "scores": ["low", "high"]}


def keys(attribute: Attribute) -> dict[str, object]:
    """The keys of a question as the attribute keeps them."""
    return {one.name: getattr(attribute, one.name) for one in dataclasses.fields(Question)}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_kind_does_the_same_with_a_bare_question(name: str) -> None:
    attribute = ATTRIBUTES[name]
    kind, bare = attribute.question_kind, Bare(**keys(attribute))  # type: ignore[arg-type]
    asked = pa.array(ANSWERS.get(name, ["3", "", "3.0"]))
    found = []
    for one in (attribute, bare):
        codes = np.zeros((len(asked), 4), dtype=np.int64 if kind.coded else object)
        coins = kind.encode(one, asked, 1, codes, 0)
        rest = [kind.columns(one), kind.scores(one), kind.in_order(one), kind.holds_numbers(one), kind.text_tells(one)]
        words = [kind.described(one), kind.inspected(one), kind.unknown(one, "x"), kind.answers(one), kind.entry(one)]
        found.append((codes.tolist(), coins and [side.tolist() for side in coins], rest, words, kind.new_labels(one)))
    assert found[0] == found[1]


def test_an_attribute_adds_one_key_and_keeps_the_order_of_all() -> None:
    names = [one.name for one in dataclasses.fields(Attribute)]
    assert names == [*(one.name for one in dataclasses.fields(Question)), "ask_if"]
    assert names[:7] == ["name", "categories", "missing", "other", "edges", "dictionary", "text"]
    with pytest.raises(TypeError, match="abstract"):
        Question("a")  # type: ignore[abstract]


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        (Bare("a", ("x", "y")), (None, None, ())),
        (Bare("a", ("x", "y"), "m"), (2, None, (2,))),
        (Bare("a", ("x", "y"), None, "o"), (None, 2, (2,))),
        (Bare("a", ("x", "y"), "m", "o"), (2, 3, (2, 3))),
    ],
)
def test_codes_of_missing_and_other_come_after_the_categories(question: Bare, codes: tuple[object, ...]) -> None:
    assert (question.missing_code, question.other_code, question.unranked) == codes
    assert question.k == len(question.labels)
    assert not question.dated
