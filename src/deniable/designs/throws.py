"""Throws: how a coin, dice or cards come out with given probabilities, exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from deniable.errors import InvalidParameterError

MAX_CARDS = 200
"""Most cards in a deck that somebody can make and shuffle."""

_TWO_DICE = {total: Fraction(6 - abs(total - 7), 36) for total in range(2, 13)}
_TOSSES = ("hh", "ht", "th", "tt")


@dataclass(frozen=True)
class Throw:
    """A device, and which of its outcomes mean what.

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
    """Return the simplest device with these probabilities: a coin, dice, or a deck of numbered cards.

    Parameters
    ----------
    chances : sequence of Fraction
        Probability of every meaning; they sum to 1.

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
            f"device must need at most {MAX_CARDS} cards, got a common denominator of {common}; use simpler fractions"
        )
    return Throw("cards", common, _dealt(tuple(map(str, range(1, common + 1))), chances))


def _dealt(outcomes: Sequence[str], chances: Sequence[Fraction]) -> tuple[tuple[str, ...], ...]:
    """Return outcomes that are equally likely, cut into stretches."""
    ends = [0, *itertools.accumulate(int(chance * len(outcomes)) for chance in chances)]
    return tuple(tuple(outcomes[start:stop]) for start, stop in itertools.pairwise(ends))


def _by_sums(chances: Sequence[Fraction]) -> tuple[tuple[str, ...], ...] | None:
    """Return sums of two dice: the lowest for the first meaning, the highest for the second, the rest for the last."""
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
