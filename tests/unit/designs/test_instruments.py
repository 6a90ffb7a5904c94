"""Cards: each outcome of a device has its exact probability, and each design has texts in all languages."""

from __future__ import annotations

import itertools
import string
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from deniable import designs
from deniable.designs import Design, instruments
from deniable.errors import InvalidParameterError
from tests.unit.designs import devices

F = Fraction


def probability(found: instruments.Throw, outcomes: tuple[str, ...]) -> Fraction:
    """Count the outcomes of a device."""
    if found.device == "dice":
        sums = Counter(one + other for one, other in itertools.product(range(1, 7), repeat=2))
        return F(sum(sums[int(total)] for total in outcomes), 36)
    sizes = {"coin": 2, "coins": 4, "die": 6, "cards": found.cards}
    return F(len(set(outcomes)), sizes[found.device])


@pytest.mark.parametrize(
    ("chances", "device"),
    [
        ((F(1, 2), F(1, 2)), "coin"),
        ((F(1, 4), F(1, 4), F(1, 2)), "coins"),
        ((F(1, 6), F(1, 3), F(1, 2)), "die"),
        ((F(1, 6), F(1, 12), F(3, 4)), "dice"),
        ((F(1, 36), F(35, 36)), "dice"),
        ((F(7, 10), F(3, 10)), "cards"),
        ((F(1, 12), F(1, 12), F(1, 12), F(3, 4)), "cards"),
        ((F(0), F(1, 5), F(4, 5)), "cards"),
    ],
)
def test_outcomes_have_the_probabilities_that_were_asked(chances: tuple[Fraction, ...], device: str) -> None:
    found = instruments.throw(chances)
    assert found.device == device
    assert tuple(probability(found, outcomes) for outcomes in found.outcomes) == chances
    dealt = [outcome for outcomes in found.outcomes for outcome in outcomes]
    assert len(dealt) == len(set(dealt))


def test_a_deck_that_nobody_can_make_is_refused() -> None:
    with pytest.raises(
        InvalidParameterError,
        match="common denominator of at most 200, got 1461: the denominator is the number of cards",
    ):
        instruments.throw([F(238, 1461), F(1223, 1461)])


def test_languages_have_the_same_sentences_with_the_same_blanks() -> None:
    english = instruments.TEXTS["en"]

    def blanks(text: str) -> int:
        return sum(name is not None for _, name, _, _ in string.Formatter().parse(text))

    for words in instruments.TEXTS.values():
        assert {key: blanks(text) for key, text in words.items()} == {
            key: blanks(text) for key, text in english.items()
        }


@pytest.mark.parametrize("language", sorted(instruments.TEXTS))
@pytest.mark.parametrize(
    ("name", "parameters"), [pytest.param(*one, id=f"{one[0]}-{i}") for i, one in enumerate(devices.SETTINGS)]
)
def test_every_design_has_its_cards(name: str, parameters: tuple[Any, ...], language: str) -> None:
    made = Design(name, parameters)
    if made.proves == (0,):
        made = Design(name, parameters, one_sided=True)
    other = "I was born in January." if made.kind.fact else ""
    if made.refusal:
        with pytest.raises(InvalidParameterError, match="can prove the sensitive answer"):
            made.instrument("I have paid a bribe.", language, other=other)
        return
    found = made.instrument("I have paid a bribe.", language, other=other)
    text = "\n".join(found.card)
    assert "I have paid a bribe." in text
    assert ("I was born in January." in text) == bool(made.kind.fact)
    assert found.device
    assert found.odds == made.sentences
    assert "{" not in str(found)


def test_the_cards_of_the_table_of_devices() -> None:
    question = "Did you pay a bribe?"
    assert designs.forced("1/6", "1/6").instrument(question).card == (
        "Throw the die where only you see it.",
        "1: say “no”.",
        "6: say “yes”.",
        "Otherwise answer truthfully: Did you pay a bribe?",
    )
    assert designs.forced("1/4", "1/4").instrument(question).card[1:3] == (
        "heads and then heads: say “yes”.",
        "heads and then tails: say “no”.",
    )
    assert designs.warner("7/10").instrument("I smoke.").card == (
        "Draw a card where only you see it.",
        "1 to 7: say whether this is true for you: I smoke.",
        "8, 9 or 10: say whether this is false for you: I smoke.",
    )
    assert designs.crosswise("2/12").instrument("I smoke.", other="I was born in May or June.").card == (
        "Read both statements. Do not say which of them is true.",
        "A: I smoke.",
        "B: I was born in May or June.",
        "Say “same” if both are true or neither is. Say “different” if exactly one is true.",
    )
    kuk = designs.kuk("4/5", "1/5").instrument("I smoke.")
    assert kuk.device[0].startswith("Device: deck A with 4 red cards of 5, and deck B with 1 red cards of 5.")
    weights = designs.christofides(["1/10", "2/10", "3/10", "4/10"]).instrument("I smoke.")
    assert weights.device == ("Device: 10 cards with these numbers: 1 on 1, 2 on 2, 3 on 3, 4 on 4.",)


def test_cards_of_designs_that_prove_something_need_consent() -> None:
    with pytest.raises(InvalidParameterError, match="pass one_sided=True"):
        designs.garbling("1/6").instrument("I smoke.")
    assert designs.garbling("1/6", one_sided=True).instrument("I smoke.").odds[0].endswith("no epsilon holds.")
    with pytest.raises(InvalidParameterError, match="other must state the innocuous fact for crosswise"):
        designs.crosswise("2/12").instrument("I smoke.")
    with pytest.raises(InvalidParameterError, match="other must be left out for warner"):
        designs.warner("5/6").instrument("I smoke.", other="I was born in May.")
    with pytest.raises(InvalidParameterError, match="language must be one of en, de"):
        designs.warner("5/6").instrument("I smoke.", "fr")
    with pytest.raises(InvalidParameterError, match="question must not be empty"):
        designs.warner("5/6").instrument(" ")


def test_one_fact_for_two_questions_is_refused_however_it_is_spelled() -> None:
    crosswise = designs.crosswise("2/12")
    one = crosswise.instrument("I smoke.", other="My mother was born in May or June.")
    two = crosswise.instrument("I drink.", other="my mother was  born in May or June")
    three = crosswise.instrument("I drink.", other="My father was born in May or June.")
    assert designs.booklet(one, three) == (one, three)
    with pytest.raises(InvalidParameterError, match="other must be a different fact for every question"):
        designs.booklet(one, three, two)
    # The reason is that both reports together reveal whether the answers agree, whatever they are.
    table = {
        (a, b): {(int(a != born), int(b != born)) for born in (0, 1)} for a, b in itertools.product((0, 1), repeat=2)
    }
    assert table[0, 0] == table[1, 1]
    assert not table[0, 0] & table[0, 1]
