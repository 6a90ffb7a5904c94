"""Questions for some people only: all report them alike, so that their absence reveals no more than epsilon."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import GRR, SMP, SPL, SimulationRandomness
from deniable.errors import FileFormatError, InvalidParameterError, UnknownCategoryError
from deniable.files.wire import to_wire
from deniable.survey.collection import Collection
from deniable.survey.schema import AskIf, Attribute, Schema

SMOKER = Attribute("smoker", ("yes", "no"))
MUCH = Attribute("much", ("few", "many"), missing="not asked", ask_if=AskIf("smoker", ("yes",)))
PAID = Attribute("paid", kind="numeric", range=(0, 10), grid=3, missing="not asked", ask_if=AskIf("much", ("many",)))
WHERE = Attribute("where", ("home", "work"), kind="multiple", missing="nowhere", ask_if=AskIf("smoker", ("yes",)))
SCHEMA = Schema((SMOKER, MUCH, PAID, WHERE))
ANSWERS: dict[str, list[Any]] = {
    "smoker": ["yes", "no", "yes", "no"],
    "much": ["many", "many", None, None],
    "paid": ["5", "5", "3", None],
    "where": ["home", "work", None, ""],
}


def test_whoever_is_not_asked_has_the_declared_code_whatever_stands_in_the_table() -> None:
    """Also if the condition itself was not asked, for a number (without random rounding), and for options."""
    codes = SCHEMA.encode(ANSWERS, SimulationRandomness(1))
    assert codes.tolist() == [[0, 1, 1, 1, 0, 0], [1, 2, 3, 0, 0, 1], [0, 2, 3, 0, 0, 1], [1, 2, 3, 0, 0, 1]]
    emptied = {name: [row if i == 0 else None for i, row in enumerate(rows)] for name, rows in ANSWERS.items()}
    emptied["smoker"] = ANSWERS["smoker"]
    assert SCHEMA.encode(emptied, SimulationRandomness(1)).tolist() == codes.tolist()
    assert SCHEMA.decode(codes).to_pydict()["much"] == ["many", "not asked", "not asked", "not asked"]
    # The digest that tells whether two files have the same answers is the same, too.
    one, other = SCHEMA.read(ANSWERS), SCHEMA.read(emptied)
    assert one.decimals.tolist() == other.decimals.tolist() == [["5e0"], [""], [""], [""]]
    assert not one.thresholds[1:].any()


def test_documents_have_the_condition_and_are_read_back() -> None:
    text = SCHEMA.to_json()
    assert '"ask_if"' in text
    assert Schema.from_json(text) == SCHEMA
    assert SCHEMA.format_version == 2
    asked = Collection(SCHEMA, SMP(SCHEMA.sizes, 2.0))
    assert Collection.from_json(asked.to_json()).id == asked.id
    everyone = Attribute("much", ("few", "many"), missing="not asked")
    assert asked.id != Collection(Schema((SMOKER, everyone, PAID, WHERE)), asked.mechanism).id
    with pytest.raises(FileFormatError, match="ask_if"):
        Schema.from_json(text.replace('"question": "smoker"', '"questions": "smoker"', 1))


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (AskIf("drinker", ("yes",)), "must name an earlier question"),
        (AskIf("much", ("few",)), "must name an earlier question"),
        (AskIf("smoker", ("maybe",)), "must be labels of “smoker”"),
        (AskIf("smoker", ()), "each once, and must not list all labels"),
        (AskIf("smoker", ("yes", "no")), "each once, and must not list all labels"),
        (AskIf("smoker", ("yes", "yes")), "each once, and must not list all labels"),
        (AskIf("hours", ("5",)), "people choose one answer from a list, but “hours” is of kind"),
        (AskIf("boxes", ("a",)), "people choose one answer from a list, but “boxes” is"),
    ],
)
def test_a_condition_is_about_some_listed_answers_of_an_earlier_question(condition: AskIf, said: str) -> None:
    hours = Attribute("hours", kind="numeric", range=(0, 10), grid=3)
    boxes = Attribute("boxes", ("a", "b"), kind="multiple")
    much = Attribute("much", ("few", "many"), missing="not asked", ask_if=condition)
    with pytest.raises(InvalidParameterError, match=said):
        Schema((SMOKER, hours, boxes, much))


def test_a_question_that_not_everyone_is_asked_needs_a_category_for_the_others() -> None:
    with pytest.raises(InvalidParameterError, match="missing of attribute “much” must be given"):
        Attribute("much", ("few", "many"), ask_if=AskIf("smoker", ("yes",)))
    with pytest.raises(InvalidParameterError, match="answers of ask_if must be a sequence"):
        AskIf("smoker", "yes")  # type: ignore[arg-type]


def test_no_message_tells_who_is_asked() -> None:
    """An unreadable answer gives the same message whether the row is asked or not."""
    said = []
    for smoker in ("yes", "no"):
        with pytest.raises(UnknownCategoryError) as caught:
            Schema((SMOKER, MUCH)).encode({"smoker": ["yes", smoker], "much": ["few", "lots"]})
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "lots" not in said[0]


@pytest.mark.parametrize("mechanism", [SPL, SMP])
def test_a_report_of_an_unasked_question_is_that_of_the_declared_value(mechanism: Any) -> None:
    """The same random words give the same bytes for all rows, so that the distribution is the declared value's."""
    collection = Collection(SCHEMA, mechanism(SCHEMA.sizes, 2.0))
    for seed in range(20):
        rows = 1 + seed % 4
        given = {name: [*column] * rows for name, column in ANSWERS.items()}
        declared = {
            name: [answer if i % 4 == 0 or name == "smoker" else None for i, answer in enumerate(column)]
            for name, column in given.items()
        }
        sent = [
            to_wire(collection.mechanism, collection.randomize(answers, SimulationRandomness(seed)))
            for answers in (given, declared)
        ]
        assert sent[0].tolist() == sent[1].tolist()
        # All reports have one length.
        assert sent[0].shape[1:] == sent[1].shape[1:]


def test_the_guarantee_is_about_the_whole_record_with_its_branch() -> None:
    """All reachable records, in all pairs, over all reports, in exact numbers."""
    schema = Schema((SMOKER, MUCH))
    epsilon = 2.0
    split = [GRR(k=size, epsilon=epsilon / 2).channel(exact=True) for size in schema.sizes]
    reached = {
        tuple(schema.encode({"smoker": [smoker], "much": [much]})[0].tolist())
        for smoker, much in itertools.product(("yes", "no"), ("few", "many", None))
    }
    # Without the branch there would be six records.
    assert reached == {(0, 0), (0, 1), (0, 2), (1, 2)}
    laws = {
        record: [
            Fraction(split[0][record[0]][a]) * Fraction(split[1][record[1]][b]) for a in range(2) for b in range(3)
        ]
        for record in reached
    }
    assert all(sum(law) == 1 for law in laws.values())
    worst = max(p / q for one in laws.values() for other in laws.values() for p, q in zip(one, other, strict=True))
    assert 0.99 * epsilon < math.log(worst) <= epsilon
    # Leaving the answer out would tell for certain who smokes, because some report would have probability 0 for the
    # others.
    assert all(min(law) > 0 for law in laws.values())
    stated = SPL(schema.sizes, epsilon).privacy()
    assert math.log(worst) <= stated.epsilon


def test_estimates_have_the_share_that_was_not_asked() -> None:
    """A seeded population: the declared category is estimated like any other, within 4 standard errors."""
    schema = Schema((SMOKER, MUCH))
    collection = Collection(schema, SPL(schema.sizes, 6.0))
    n = 20_000
    answers = {"smoker": ["yes", "no", "no", "no"] * (n // 4), "much": ["many", None, "few", None] * (n // 4)}
    reports = collection.randomize(answers, SimulationRandomness(5))
    found = collection.estimate(collection.aggregate(reports))["much"]
    for label, true in (("not asked", 0.75), ("many", 0.25), ("few", 0.0)):
        at = found.labels.index(label)
        assert abs(found.frequencies[at] - true) < 4 * found.standard_errors[at]
    assert np.isfinite(found.frequencies).all()
