"""Devices of the designs, outcome by outcome: P(report | truth) by counting, without the library."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

F = Fraction
Outcome = tuple[Fraction, bool]


def biased(p: Fraction) -> list[Outcome]:
    """Return a device that is true with probability p."""
    return [(p, True), (1 - p, False)]


def told(outcomes: Iterator[tuple[Fraction, int]], reports: int) -> list[Fraction]:
    found = [F(0)] * reports
    for chance, report in outcomes:
        found[report] += chance
    return found


def warner(carrier: bool, p: Fraction) -> Iterator[tuple[Fraction, int]]:
    for chance, about_carriers in biased(p):
        yield chance, int(carrier == about_carriers)


def forced(carrier: bool, yes: Fraction, no: Fraction) -> Iterator[tuple[Fraction, int]]:
    yield yes, 1
    yield no, 0
    yield 1 - yes - no, int(carrier)


def unrelated(carrier: bool, p: Fraction, alpha: Fraction) -> Iterator[tuple[Fraction, int]]:
    for (chance, sensitive), (share, other) in itertools.product(biased(p), biased(alpha)):
        yield chance * share, int(carrier if sensitive else other)


def kuk(carrier: bool, p1: Fraction, p2: Fraction, draws: int) -> Iterator[tuple[Fraction, int]]:
    for cards in itertools.product(biased(p1 if carrier else p2), repeat=draws):
        chance = F(1)
        for one, _ in cards:
            chance *= one
        yield chance, sum(red for _, red in cards)


def crosswise(carrier: bool, p: Fraction) -> Iterator[tuple[Fraction, int]]:
    for chance, born in biased(p):
        yield chance, int(carrier != born)


def triangular(carrier: bool, p: Fraction) -> Iterator[tuple[Fraction, int]]:
    for chance, born in biased(p):
        yield chance, int(carrier or born)


def mangat(carrier: bool, p: Fraction) -> Iterator[tuple[Fraction, int]]:
    for chance, about_carriers in biased(p):
        yield chance, int(carrier or not about_carriers)


def garbling(carrier: bool, q: Fraction) -> Iterator[tuple[Fraction, int]]:
    for chance, says_yes in biased(q):
        yield chance, int(carrier or says_yes)


def two_stage(carrier: bool, t: Fraction, p: Fraction) -> Iterator[tuple[Fraction, int]]:
    for (first, direct), (chance, about_carriers) in itertools.product(biased(t), biased(p)):
        yield first * chance, int(carrier if direct else carrier == about_carriers)


def two_stage_unrelated(carrier: bool, t: Fraction, p: Fraction, alpha: Fraction) -> Iterator[tuple[Fraction, int]]:
    for (first, direct), (chance, sensitive), (share, other) in itertools.product(biased(t), biased(p), biased(alpha)):
        yield first * chance * share, int(carrier if direct or sensitive else other)


def improved_unrelated(carrier: bool, p: Fraction, alpha: Fraction) -> Iterator[tuple[Fraction, int]]:
    for (chance, sensitive), (share, other) in itertools.product(biased(p), biased(alpha)):
        yield chance * share, int(carrier or (not sensitive and other))


def singh_joarder(carrier: bool, p: Fraction) -> Iterator[tuple[Fraction, int]]:
    for (first, one), (second, two) in itertools.product(biased(p), repeat=2):
        if carrier:
            yield first * second, int(one or two)
        else:
            yield first * second, int(not one)


def two_trial(carrier: bool, p: Fraction, trials: int) -> Iterator[tuple[Fraction, int]]:
    for throws in itertools.product(biased(p), repeat=trials):
        chance = F(1)
        for one, _ in throws:
            chance *= one
        yield chance, sum(carrier == about_carriers for _, about_carriers in throws)


def christofides(carrier: bool, weights: Sequence[Fraction]) -> Iterator[tuple[Fraction, int]]:
    for card, weight in enumerate(weights, start=1):
        yield weight, (len(weights) + 1 - card if carrier else card) - 1


def forced_k(truth: int, probs: Sequence[Fraction]) -> Iterator[tuple[Fraction, int]]:
    yield from ((prob, answer) for answer, prob in enumerate(probs))
    yield 1 - sum(probs, F(0)), truth


def modular(truth: int, weights: Sequence[Fraction]) -> Iterator[tuple[Fraction, int]]:
    for spin, weight in enumerate(weights):
        yield weight, (truth + spin) % len(weights)


DEVICES: dict[str, Callable[..., Iterator[tuple[Fraction, int]]]] = {
    name: value
    for name, value in globals().items()
    if callable(value)
    and name
    in {
        *("warner", "forced", "unrelated", "kuk", "crosswise", "triangular", "mangat", "garbling", "two_stage"),
        *("two_stage_unrelated", "improved_unrelated", "singh_joarder", "two_trial", "christofides", "forced_k"),
        "modular",
    }
}

SETTINGS: list[tuple[str, tuple[object, ...]]] = [
    ("warner", (F(7, 10),)),
    ("warner", (F(1, 6),)),
    ("forced", (F(1, 6), F(1, 12))),
    ("forced", (F(0), F(1, 4))),
    ("unrelated", (F(1, 2), F(1, 12))),
    ("kuk", (F(4, 5), F(1, 5), 1)),
    ("kuk", (F(1, 5), F(7, 10), 3)),
    ("crosswise", (F(2, 12),)),
    ("triangular", (F(1, 4),)),
    ("mangat", (F(7, 10),)),
    ("garbling", (F(3, 10),)),
    ("two_stage", (F(2, 5), F(7, 10))),
    ("two_stage_unrelated", (F(1, 2), F(3, 5), F(1, 4))),
    ("improved_unrelated", (F(3, 5), F(1, 2))),
    ("singh_joarder", (F(3, 5),)),
    ("singh_joarder", (F(1, 5),)),
    ("two_trial", (F(3, 4), 2)),
    ("christofides", (F(1, 10), F(2, 10), F(3, 10), F(4, 10))),
    ("forced_k", (F(1, 12), F(1, 6), F(1, 12))),
    ("modular", (F(1, 2), F(1, 3), F(1, 6))),
]
"""All designs at least once; if a list is the only parameter, its entries."""

LISTS = {"christofides", "forced_k", "modular"}


def channel(name: str, parameters: tuple[object, ...], truths: int, reports: int) -> list[list[Fraction]]:
    """Count the outcomes of a device."""
    given = (parameters,) if name in LISTS else parameters
    return [told(DEVICES[name](truth, *given), reports) for truth in range(truths)]
