"""Several exactly uniform integers from one random word.

A 64-bit word is a fraction of 2^64. Multiplied by a bound, its whole part is a uniform choice and its fractional part
is the fraction that the next bound is multiplied with. The choices of one word are jointly uniform unless the last
fraction is below 2^64 mod (product of the bounds): such words are drawn again. Lemire, *Fast random integer generation
in an interval* (2019); Brackett-Rozinsky and Lemire, *Batched ranged random integer generation* (2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import INTERPRETED_ROWS, kernel
from deniable.core.randomness import Randomness, Words, blocks, draw
from deniable.core.thresholds import SCALE

MAX_PRODUCT = 1 << 48
"""Largest product of bounds that share a word: a word is drawn again with probability below 2^-16."""

_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)


def uniform_rows(rng: Randomness, bounds: Sequence[int], choices: Codes) -> None:
    """Overwrite choices[n, len(bounds)] with independent exactly uniform integers, column j in 0..bounds[j]-1.

    Parameters
    ----------
    rng : Randomness
        Source of the words.
    bounds : sequence of int
        Each in 1..2^32.
    choices : int[n, len(bounds)]
        Overwritten; its dtype must hold the choices.
    """
    start = 0
    while start < len(bounds):
        stop, product = start + 1, bounds[start]
        while stop < len(bounds) and product * bounds[stop] <= MAX_PRODUCT:
            product *= bounds[stop]
            stop += 1
        fill = _fill_few if len(choices) <= INTERPRETED_ROWS else _fill
        fill(rng, bounds[start:stop], product, choices[:, start:stop])
        start = stop


def _fill(rng: Randomness, bounds: Sequence[int], product: int, choices: Codes) -> None:
    factors, limit = np.array(bounds, dtype=np.uint64), np.uint64(SCALE % product)
    for rows, words in blocks(rng, len(choices)):
        block = choices[rows]
        _multiply(words, factors, block)
        rejected = words < limit
        if not rejected.any():
            continue
        again = np.flatnonzero(rejected)
        while again.size:
            fresh, redrawn = np.empty(again.size, dtype=np.uint64), np.empty((again.size, len(bounds)), choices.dtype)
            rng.fill(fresh)
            _multiply(fresh, factors, redrawn)
            block[again] = redrawn
            again = again[fresh < limit]


@kernel
def _multiply(words: Words, bounds: NDArray[np.uint64], choices: NDArray[Any]) -> None:
    # Leaves in words[n] the fraction that is left. Column by column, which vectorises where there is only one.
    for j in range(bounds.shape[0]):
        bound, column = bounds[j], choices[:, j]
        for i in range(words.shape[0]):
            word = words[i]
            # The high word of a 64 x 33-bit product, in halves: nothing overflows for bounds up to 2^32.
            column[i] = ((word >> _HALF) * bound + (((word & _LOW) * bound) >> _HALF)) >> _HALF
            words[i] = word * bound


def _fill_few(rng: Randomness, bounds: Sequence[int], product: int, choices: Codes) -> None:
    # What `_fill` does, of the same words, by plain integers.
    limit, rows = SCALE % product, list(range(len(choices)))
    while rows:
        rejected = []
        for row, word in zip(rows, draw(rng, len(rows)).tolist(), strict=True):
            rest, chosen = word, []
            for bound in bounds:
                whole, rest = divmod(rest * bound, SCALE)
                chosen.append(whole)
            choices[row] = chosen
            if rest < limit:
                rejected.append(row)
        rows = rejected
