"""Draws of several exactly uniform integers from one random word.

A 64-bit word is read as a fraction of 2^64 and multiplied by a bound. The whole part of the product is a uniform
choice. The fractional part is then multiplied by the next bound. The choices of one word are jointly uniform unless the
last fraction is below 2^64 mod (product of the bounds). Such words are drawn again. The method is from Lemire, *Fast
random integer generation in an interval* (2019), and Brackett-Rozinsky and Lemire, *Batched ranged random integer
generation* (2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import exact_kernel
from deniable.core.randomness import Randomness, Words, blocks, draw
from deniable.core.thresholds import SCALE

MAX_PRODUCT = 1 << 48
"""Largest product of bounds that share a word. A word is drawn again with probability below 2^-16."""

STRIP = 256
"""Words that are multiplied at a time. They stay in the first-level cache."""

_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)


def uniform_rows(rng: Randomness, bounds: Sequence[int], choices: Codes) -> None:
    """Overwrite choices[n, len(bounds)] with independent exactly uniform integers, column j in 0..bounds[j]-1.

    Parameters
    ----------
    rng : Randomness
        Source of the words.
    bounds : sequence of int
        Bound of each column, in 1..2^32.
    choices : int[n, len(bounds)]
        Array to overwrite. Its dtype must be able to hold the choices.
    """
    start = 0
    for part, limit in _words_of(tuple(bounds)):
        _fill(rng, part, limit, choices[:, start : start + len(part)])
        start += len(part)


@lru_cache(maxsize=1024)
def _words_of(bounds: tuple[int, ...]) -> tuple[tuple[NDArray[np.uint64], np.uint64], ...]:
    """Return the bounds that share each word, and the last fraction below which the word is drawn again."""
    found, start = [], 0
    while start < len(bounds):
        stop, product = start + 1, bounds[start]
        while stop < len(bounds) and product * bounds[stop] <= MAX_PRODUCT:
            product *= bounds[stop]
            stop += 1
        found.append((np.array(bounds[start:stop], dtype=np.uint64), np.uint64(SCALE % product)))
        start = stop
    return tuple(found)


def _fill(rng: Randomness, bounds: NDArray[np.uint64], limit: np.uint64, choices: Codes) -> None:
    whole = np.empty(min(STRIP, len(choices)), dtype=np.uint64)
    for rows, words in blocks(rng, len(choices)):
        block = choices[rows]
        if not _multiply(words, bounds, limit, whole, block):
            continue
        again = np.flatnonzero(words < limit)
        while again.size:
            fresh, redrawn = draw(rng, again.size), np.empty((again.size, len(bounds)), choices.dtype)
            _multiply(fresh, bounds, limit, whole, redrawn)
            block[again] = redrawn
            again = again[fresh < limit]


@exact_kernel
def _multiply(
    words: Words, bounds: NDArray[np.uint64], limit: np.uint64, whole: Words, choices: NDArray[Any]
) -> np.int64:
    """Write the choices of every word, leave its last fraction in words[n], and count the fractions below `limit`.

    The function handles one strip at a time, column by column, so that the products vectorise. The array `whole` is
    scratch space for one strip.
    """
    rejected = np.int64(0)
    for start in range(0, words.shape[0], STRIP):
        part, rows = words[start : start + STRIP], choices[start : start + STRIP]
        for j in range(bounds.shape[0]):
            bound = bounds[j]
            for i in range(part.shape[0]):
                # The words of a 64 x 33-bit product are made of halves, so nothing overflows for bounds up to 2^32.
                low = (part[i] & _LOW) * bound
                high = (part[i] >> _HALF) * bound + (low >> _HALF)
                whole[i] = high >> _HALF
                part[i] = ((high & _LOW) << _HALF) | (low & _LOW)
            for i in range(part.shape[0]):
                rows[i, j] = whole[i]
        for i in range(part.shape[0]):
            rejected += np.int64(part[i] < limit)
    return rejected
