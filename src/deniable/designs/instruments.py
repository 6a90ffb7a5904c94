"""Printed instruments of a design: the respondent's card, the interviewer's script and the device.

Each language has its own templates. Numbers on a card are computed from the exact parameters of the design.

A throw assigns outcomes of a coin, dice or cards to meanings, so that each meaning has exactly its given probability.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from deniable.core.result import Result
from deniable.errors import InvalidParameterError, quoted, unknown_name

MAX_CARDS = 200
"""Most cards in a deck that a person can make and shuffle."""

_TWO_DICE = {total: Fraction(6 - abs(total - 7), 36) for total in range(2, 13)}
_TOSSES = ("hh", "ht", "th", "tt")


@dataclass(frozen=True)
class Throw:
    """A device, with the outcomes that stand for each meaning.

    Parameters
    ----------
    device : {"coin", "coins", "die", "dice", "cards"}
        One coin, one coin twice, one die, two dice, or a deck of numbered cards.
    cards : int
        Cards in the deck; 0 for other devices.
    outcomes : tuple of tuple of str
        Outcomes for every meaning, in order: numbers, or "h" and "t" for the sides of a coin.
    """

    device: str
    cards: int
    outcomes: tuple[tuple[str, ...], ...]


def throw(chances: Sequence[Fraction]) -> Throw:
    """Return the simplest device with the given probabilities: a coin, dice, or a deck of numbered cards.

    Parameters
    ----------
    chances : sequence of Fraction
        Probability of every meaning. The probabilities sum to 1.

    Raises
    ------
    InvalidParameterError
        If a deck would have more than 200 cards.

    Examples
    --------
    >>> throw([Fraction(1, 6), Fraction(1, 12), Fraction(3, 4)]).outcomes[:2]
    (('2', '3', '4'), ('11', '12'))
    """
    common = math.lcm(*(chance.denominator for chance in chances))
    if common == 2:
        return Throw("coin", 0, _dealt(("h", "t"), chances))
    if common == 4:
        return Throw("coins", 0, _dealt(_TOSSES, chances))
    if 6 % common == 0:
        return Throw("die", 0, _dealt(tuple(map(str, range(1, 7))), chances))
    sums = _by_sums(chances)
    if sums is not None:
        return Throw("dice", 0, sums)
    if common > MAX_CARDS:
        raise InvalidParameterError(
            f"the chances must have a common denominator of at most {MAX_CARDS}, got {common}: the denominator is "
            "the number of cards. Use simpler fractions"
        )
    return Throw("cards", common, _dealt(tuple(map(str, range(1, common + 1))), chances))


def _dealt(outcomes: Sequence[str], chances: Sequence[Fraction]) -> tuple[tuple[str, ...], ...]:
    """Return one run of equally likely outcomes for each meaning, as long as its probability requires."""
    ends = [0, *itertools.accumulate(int(chance * len(outcomes)) for chance in chances)]
    return tuple(tuple(outcomes[start:stop]) for start, stop in itertools.pairwise(ends))


def _by_sums(chances: Sequence[Fraction]) -> tuple[tuple[str, ...], ...] | None:
    """Return sums of two dice for each meaning, or None if no such division has the given probabilities.

    The first meaning has the lowest sums, the second has the highest, and the last has the rest. If there are only two
    meanings, the second has the rest.
    """
    first, *middle, _ = chances
    if len(middle) > 1:
        return None
    low = _stretch(range(2, 13), first)
    high = _stretch(range(12, 1, -1), middle[0] if middle else Fraction(0))
    if low is None or high is None:
        return None
    rest = tuple(total for total in range(2, 13) if total not in (*low, *high))
    parts = (low, sorted(high), rest) if middle else (low, rest)
    return tuple(tuple(map(str, part)) for part in parts)


def _stretch(totals: Sequence[int], chance: Fraction) -> tuple[int, ...] | None:
    reached = Fraction(0)
    for taken in range(len(totals) + 1):
        if reached == chance:
            return tuple(totals[:taken])
        if taken < len(totals):
            reached += _TWO_DICE[totals[taken]]
    return None


TEXTS: dict[str, dict[str, str]] = {
    "en": {
        "heads": "heads",
        "tails": "tails",
        "and then": "{} and then {}",
        "or": " or ",
        "to": "{} to {}",
        "coin": "Toss the coin where only you see it.",
        "coins": "Toss the coin twice where only you see it.",
        "die": "Throw the die where only you see it.",
        "dice": "Throw both dice where only you see them. Add the two numbers.",
        "cards": "Draw a card where only you see it.",
        "say": "{}: say “{}”.",
        "otherwise": "Otherwise answer truthfully: {}",
        "truly": "{}: answer truthfully: {}",
        "yes": "yes",
        "no": "no",
        "statement": "{}: say whether this is true for you: {}",
        "opposite": "{}: say whether this is false for you: {}",
        "again": "{}: throw again, as follows.",
        "other": "{}: answer this question instead: {}",
        "if true": "If this is true for you, say “yes” and stop: {}",
        "once more": "If this is true for you and you would now have to say “no”, repeat all this once: {}",
        "two": "Read both statements. Do not say which of them is true.",
        "first": "A: {}",
        "second": "B: {}",
        "crosswise": "Say “same” if both are true or neither is. Say “different” if exactly one is true.",
        "triangular": "Say “none” if neither is true. Say “at least one” in all other cases.",
        "decks": "If this is true for you, draw from deck A, else from deck B: {}",
        "draws": "Draw {} cards where only you see them. Put each back before the next. Say how many were red.",
        "draw": "Draw one card where only you see it. Say 1 if it is red, else 0.",
        "trials": "Do this {} times, without telling single answers. Say how often your answer was “yes”.",
        "christofides": "If this is true for you, say {} less the number on your card. Else say the number: {}",
        "forced category": "{}: say “answer {}”.",
        "spin": "Draw a card where only you see it. Count on from your true answer by its number, and after answer {} "
        "begin again with answer 0. Say where you arrive: {}",
        "script": "I do not see the outcome, and I do not want to know it.",
        "script help": "Please read the card first. Ask me before you begin, not afterwards.",
        "script record": "Write down the answer, and nothing else. Do not ask for reasons.",
        "object coin": "Device: one fair coin.",
        "object coins": "Device: one fair coin.",
        "object die": "Device: one fair die.",
        "object dice": "Device: two fair dice.",
        "object cards": "Device: {} cards, numbered 1 to {}, well shuffled. The card is put back each time.",
        "object two decks": "Device: deck A with {} red cards of {}, and deck B with {} red cards of {}. Cards are put "
        "back each time.",
        "object fact": "Device: statement B, whose truth nobody who sees the answer may know. It is taken to be true "
        "for {} of all people.",
        "object weights": "Device: {} cards with these numbers: {}.",
        "of cards": "{} on {}",
    },
    "de": {
        "heads": "Kopf",
        "tails": "Zahl",
        "and then": "{} und dann {}",
        "or": " oder ",
        "to": "{} bis {}",
        "coin": "Werfen Sie die Münze so, dass nur Sie das Ergebnis sehen.",
        "coins": "Werfen Sie die Münze zweimal so, dass nur Sie das Ergebnis sehen.",
        "die": "Würfeln Sie so, dass nur Sie das Ergebnis sehen.",
        "dice": "Würfeln Sie mit beiden Würfeln so, dass nur Sie das Ergebnis sehen. Zählen Sie die Augen zusammen.",
        "cards": "Ziehen Sie eine Karte so, dass nur Sie sie sehen.",
        "say": "{}: Sagen Sie „{}“.",
        "otherwise": "Sonst antworten Sie wahrheitsgemäß: {}",
        "truly": "{}: Antworten Sie wahrheitsgemäß: {}",
        "yes": "Ja",
        "no": "Nein",
        "statement": "{}: Sagen Sie, ob dies auf Sie zutrifft: {}",
        "opposite": "{}: Sagen Sie, ob dies auf Sie nicht zutrifft: {}",
        "again": "{}: Wiederholen Sie den Wurf wie folgt.",
        "other": "{}: Beantworten Sie stattdessen diese Frage: {}",
        "if true": "Trifft dies auf Sie zu, sagen Sie „Ja“ und sind fertig: {}",
        "once more": "Trifft dies auf Sie zu und müssten Sie jetzt „Nein“ sagen, wiederholen Sie alles einmal: {}",
        "two": "Lesen Sie beide Aussagen. Sagen Sie nicht, welche davon zutrifft.",
        "first": "A: {}",
        "second": "B: {}",
        "crosswise": "Sagen Sie „gleich“, wenn beide zutreffen oder keine. Sagen Sie „verschieden“, wenn genau eine "
        "zutrifft.",
        "triangular": "Sagen Sie „keine“, wenn keine zutrifft. Sagen Sie sonst „mindestens eine“.",
        "decks": "Trifft dies auf Sie zu, ziehen Sie aus Stapel A, sonst aus Stapel B: {}",
        "draws": "Ziehen Sie {} Karten so, dass nur Sie sie sehen. Legen Sie jede vor der nächsten zurück. Sagen Sie, "
        "wie viele rot waren.",
        "draw": "Ziehen Sie eine Karte so, dass nur Sie sie sehen. Sagen Sie 1, wenn sie rot ist, sonst 0.",
        "trials": "Tun Sie dies {}-mal, ohne einzelne Antworten zu nennen. Sagen Sie, wie oft Ihre Antwort „Ja“ war.",
        "christofides": "Trifft dies auf Sie zu, sagen Sie {} minus die Zahl auf Ihrer Karte. Sonst sagen Sie die "
        "Zahl: {}",
        "forced category": "{}: Sagen Sie „Antwort {}“.",
        "spin": "Ziehen Sie eine Karte so, dass nur Sie sie sehen. Zählen Sie von Ihrer wahren Antwort um ihre Zahl "
        "weiter, nach Antwort {} wieder bei Antwort 0. Sagen Sie, wo Sie ankommen: {}",
        "script": "Ich sehe das Ergebnis nicht und möchte es nicht wissen.",
        "script help": "Bitte lesen Sie zuerst die Karte. Fragen Sie vor dem Beginn, nicht danach.",
        "script record": "Notieren Sie die Antwort und sonst nichts. Fragen Sie nicht nach Gründen.",
        "object coin": "Gerät: eine faire Münze.",
        "object coins": "Gerät: eine faire Münze.",
        "object die": "Gerät: ein fairer Würfel.",
        "object dice": "Gerät: zwei faire Würfel.",
        "object cards": "Gerät: {} Karten mit den Zahlen 1 bis {}, gut gemischt. Die Karte wird jedes Mal "
        "zurückgelegt.",
        "object two decks": "Gerät: Stapel A mit {} roten von {} Karten und Stapel B mit {} roten von {} Karten. "
        "Karten werden jedes Mal zurückgelegt.",
        "object fact": "Gerät: Aussage B, die niemand kennen darf, der die Antwort sieht. Sie gilt für {} aller "
        "Menschen.",
        "object weights": "Gerät: {} Karten mit diesen Zahlen: {}.",
        "of cards": "{} auf {}",
    },
}
"""Sentences on cards, by language. Odds and assumptions are printed in English for the people who run the survey."""


@final
@dataclass(frozen=True, eq=False)
class Instrument(Result):
    """Cards, script and device for one question, ready to print.

    Attributes
    ----------
    design : str
        The design with its parameters.
    question, other : str
        The sensitive statement or question, and the innocuous one, or "".
    language : str
        Language of the card and the script.
    card : tuple of str
        The respondent's card, a sentence or two in each line.
    script : tuple of str
        The interviewer's script.
    device : tuple of str
        Material for the device.
    odds : tuple of str
        Evidence that a report can give, for the organiser.
    """

    format = "deniable instrument"

    design: str
    question: str
    other: str
    language: str
    card: tuple[str, ...]
    script: tuple[str, ...]
    device: tuple[str, ...]
    odds: tuple[str, ...]

    def __str__(self) -> str:
        parts = (self.card, self.script, self.device, self.odds)
        return "\n\n".join("\n".join(part) for part in parts)


class _Writer:
    """Writer of the sentences of one card in one language."""

    def __init__(self, question: str, other: str, words: dict[str, str]) -> None:
        self.question, self.other, self.words = question, other, words
        self.objects: list[str] = []

    def say(self, key: str, *filled: object) -> str:
        return self.words[key].format(*filled)

    def device(self, chances: Sequence[Fraction]) -> tuple[str, list[str]]:
        """Return the instruction for using the device, and the outcomes for each meaning in words."""
        found = throw(chances)
        count = (found.cards, found.cards) if found.cards else ()
        self.objects.append(self.say(f"object {found.device}", *count))
        return self.say(found.device), [self._named(found, outcomes) for outcomes in found.outcomes]

    def _named(self, found: Throw, outcomes: Sequence[str]) -> str:
        sides = {"h": self.words["heads"], "t": self.words["tails"]}
        if found.device == "coin":
            return self.words["or"].join(sides[side] for side in outcomes)
        if found.device == "coins":
            return self.words["or"].join(self.say("and then", *(sides[side] for side in pair)) for pair in outcomes)
        if len(outcomes) > 3 and int(outcomes[-1]) - int(outcomes[0]) == len(outcomes) - 1:
            return self.say("to", outcomes[0], outcomes[-1])
        *most, last = outcomes or ("",)
        return f"{', '.join(most)}{self.words['or']}{last}" if most else last

    # ------------------------------------------------------------ cards

    def forced(self, yes: Fraction, no: Fraction) -> list[str]:
        if 6 % math.lcm(yes.denominator, no.denominator) == 0 and no:
            # On one die the lowest numbers say no and the highest say yes.
            how, (low, _, high) = self.device((no, 1 - yes - no, yes))
            lines = [self._said(low, "no"), self._said(high, "yes") if yes else ""]
            return [how, *filter(None, lines), self.say("otherwise", self.question)]
        how, (first, second, _) = self.device((yes, no, 1 - yes - no))
        lines = [self._said(first, "yes") if yes else "", self._said(second, "no") if no else ""]
        return [how, *filter(None, lines), self.say("otherwise", self.question)]

    def _said(self, outcomes: str, answer: str) -> str:
        return self.say("say", outcomes, self.words[answer])

    def garbling(self, q: Fraction) -> list[str]:
        if not q:
            return [self.question]
        how, (forced, _) = self.device((q, 1 - q))
        return [how, self._said(forced, "yes"), self.say("otherwise", self.question)]

    def warner(self, p: Fraction) -> list[str]:
        how, (one, opposite) = self.device((p, 1 - p))
        return [how, self.say("statement", one, self.question), self.say("opposite", opposite, self.question)]

    def mangat(self, p: Fraction) -> list[str]:
        how, (no, yes) = self.device((p, 1 - p))
        lines = [self._said(no, "no"), self._said(yes, "yes") if p < 1 else ""]
        return [self.say("if true", self.question), how, *filter(None, lines)]

    def two_stage(self, t: Fraction, p: Fraction) -> list[str]:
        return [*self._direct(t), *self.warner(p)]

    def _direct(self, t: Fraction) -> list[str]:
        how, (direct, again) = self.device((t, 1 - t))
        return [how, self.say("truly", direct, self.question), self.say("again", again)]

    def unrelated(self, p: Fraction, alpha: Fraction) -> list[str]:
        how, (own, other) = self.device((p, 1 - p))
        self.objects.append(self.say("object fact", alpha))
        return [how, self.say("truly", own, self.question), self.say("other", other, f"B: {self.other}")]

    def two_stage_unrelated(self, t: Fraction, p: Fraction, alpha: Fraction) -> list[str]:
        return [*self._direct(t), *self.unrelated(p, alpha)]

    def improved_unrelated(self, p: Fraction, alpha: Fraction) -> list[str]:
        how, (no, other) = self.device((p, 1 - p))
        self.objects.append(self.say("object fact", alpha))
        lines = [self._said(no, "no"), self.say("other", other, f"B: {self.other}")]
        return [self.say("if true", self.question), how, *lines]

    def singh_joarder(self, p: Fraction) -> list[str]:
        return [*self.warner(p), self.say("once more", self.question)]

    def two_trial(self, p: Fraction, trials: Fraction) -> list[str]:
        return [*self.warner(p), self.say("trials", trials)]

    def kuk(self, p1: Fraction, p2: Fraction, draws: Fraction) -> list[str]:
        of = (p1.numerator, p1.denominator, p2.numerator, p2.denominator)
        self.objects.append(self.say("object two decks", *of))
        return [self.say("decks", self.question), self.say("draw") if draws == 1 else self.say("draws", draws)]

    def crosswise(self, p: Fraction) -> list[str]:
        return self._two(p, "crosswise")

    def triangular(self, p: Fraction) -> list[str]:
        return self._two(p, "triangular")

    def _two(self, p: Fraction, rule: str) -> list[str]:
        self.objects.append(self.say("object fact", p))
        both = [self.say("first", self.question), self.say("second", self.other)]
        return [self.say("two"), *both, self.say(rule)]

    def _weights(self, weights: Sequence[Fraction], first: int) -> None:
        whole = math.lcm(*(weight.denominator for weight in weights))
        if whole > MAX_CARDS:
            raise InvalidParameterError(
                f"weights must have a common denominator of at most {MAX_CARDS}, got {whole}: the denominator is the "
                "number of cards. Use simpler fractions"
            )
        listed = ", ".join(self.say("of cards", first + i, whole * w) for i, w in enumerate(weights))
        self.objects.append(self.say("object weights", whole, listed))

    def christofides(self, *weights: Fraction) -> list[str]:
        self._weights(weights, 1)
        return [self.say("cards"), self.say("christofides", len(weights) + 1, self.question)]

    def modular(self, *weights: Fraction) -> list[str]:
        self._weights(weights, 0)
        return [self.say("spin", len(weights) - 1, self.question)]

    def forced_k(self, *probs: Fraction) -> list[str]:
        how, outcomes = self.device((*probs, 1 - sum(probs, Fraction(0))))
        forced = [self.say("forced category", found, y) for y, found in enumerate(outcomes[:-1]) if probs[y]]
        return [how, *forced, self.say("otherwise", self.question)]


def written(
    design: str, numbers: Sequence[Fraction], question: str, language: str, other: str, fact: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the card, the script and the device of a named design.

    `fact` is the fact that its device uses, or "".

    Raises
    ------
    InvalidParameterError
        If a text is missing or not needed, or the language is unknown.
    """
    if language not in TEXTS:
        raise unknown_name("language", language, TEXTS)
    if not question.strip():
        raise InvalidParameterError("question must not be empty: write the question that people answer")
    if bool(other.strip()) != bool(fact):
        rule = "other must state the innocuous fact" if fact else "other must be left out"
        raise InvalidParameterError(f"{rule} for {design}, got other={quoted(other)}")
    writer = _Writer(question, other, TEXTS[language])
    write: Callable[..., list[str]] = getattr(writer, design)
    card = write(*numbers)
    script = tuple(TEXTS[language][key] for key in ("script help", "script", "script record"))
    return tuple(card), script, tuple(writer.objects)


def booklet(*instruments: Instrument) -> tuple[Instrument, ...]:
    """Return instruments for the same people, after a check that no fact serves two questions.

    Raises
    ------
    InvalidParameterError
        If an innocuous statement is used twice, because two reports would then reveal whether the two answers agree.

    Examples
    --------
    >>> from deniable import designs
    >>> born, crosswise = "My mother was born in January or February.", designs.crosswise("2/12")
    >>> one, two = (crosswise.instrument(text, other=born) for text in ("I smoke.", "I drink."))
    >>> designs.booklet(one, two)
    Traceback (most recent call last):
        ...
    deniable.errors.InvalidParameterError: other must be a different fact for every question, got “My mother was ...
    """
    seen: set[str] = set()
    for one in instruments:
        fact = " ".join(one.other.casefold().split()).rstrip(".?! ")
        if fact and fact in seen:
            raise InvalidParameterError(
                f"other must be a different fact for every question, got {quoted(one.other)} twice: choose another "
                "fact. Two reports about the same fact would reveal whether the two answers agree, so no value of "
                "epsilon would hold"
            )
        seen.add(fact)
    return instruments
