"""Rotating panel, in which a published seed divides people among waves."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from deniable.core.checks import checked_integer
from deniable.errors import InvalidInputError, InvalidParameterError, out_of_range, quoted

_DOMAIN = b"deniable rotating panel\0"


@dataclass(frozen=True)
class RotatingPanel:
    """Waves of a panel, as `rotating_panel` returns them.

    Parameters
    ----------
    seed : str
        The published seed.
    waves : tuple of tuple of str
        Names of the people who are asked in each wave, in the order of the given list.
    asked : int
        Number of waves in which each person is asked.
    """

    seed: str
    waves: tuple[tuple[str, ...], ...]
    asked: int

    def waves_of(self, name: str) -> tuple[int, ...]:
        """Return the waves, numbered from 0, in which a person is asked; () for an unknown name."""
        return tuple(number for number, people in enumerate(self.waves) if name in people)


def rotating_panel(people: Sequence[str], waves: int, seed: str, asked: int = 1) -> RotatingPanel:
    """Organiser: divide people among waves, so that everyone is asked in the same number of waves.

    The division depends only on the names and the seed, not on the order of the list. Anyone who has the names and the
    seed can check the division. Publish the seed after the list is fixed, and take it from a source that nobody can
    influence. People are ordered by SHA-256 of the seed and their name, and assigned to waves in this order. The waves
    of one person are evenly spaced.

    Parameters
    ----------
    people : sequence of str
        Distinct names, at least one for each wave. Use pseudonyms, because the list and the seed reveal who is asked
        when.
    waves : int
        Number of waves, at least 2.
    seed : str
        The published seed.
    asked : int
        Number of waves in which each person is asked, 1 <= asked <= waves. A person spends the budget of one wave in
        each of them.

    Raises
    ------
    InvalidParameterError
        If a number is out of bounds, the seed is empty, or there are fewer people than waves.
    InvalidInputError
        If a name occurs twice.

    Examples
    --------
    >>> panel = rotating_panel(["ann", "ben", "cem", "dora", "eva", "finn"], waves=3, seed="lottery of 1 May: 7 12 31")
    >>> [len(wave) for wave in panel.waves]
    [2, 2, 2]
    >>> panel.waves_of("ann")
    (0,)
    """
    number = checked_integer("waves", waves, 2)
    times = checked_integer("asked", asked, 1, number)
    if not seed:
        raise InvalidParameterError(
            "seed must not be empty: publish a seed that nobody could choose, such as the numbers of a lottery",
            parameters=("seed",),
        )
    if len(people) < number:
        raise out_of_range("people", f"at least {number:,}, one for each wave", f"{len(people):,}")
    if len(set(people)) < len(people):
        repeated = next(name for place, name in enumerate(people) if name in people[:place])
        raise InvalidInputError(f"people must have distinct names, got {quoted(repeated)} twice")
    ranks = sorted(people, key=lambda name: hashlib.sha256(_DOMAIN + f"{seed}\0{name}".encode()).digest())
    places: dict[str, set[int]] = {
        name: {(rank + step * number // times) % number for step in range(times)} for rank, name in enumerate(ranks)
    }
    return RotatingPanel(
        seed, tuple(tuple(name for name in people if wave in places[name]) for wave in range(number)), times
    )
