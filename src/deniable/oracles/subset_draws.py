"""Functions that draw uniform random subsets exactly, and that count them.

A subset report has `omega` of k values. Its elements other than the contributor's own value x are a uniform subset of
the *others*, the k-1 values that are not x. Floyd's algorithm (Bentley, Floyd, *A sample of brilliance*, 1987) turns
one uniform integer per element into such a subset. Element i proposes a number t in 0..j, where j = k-1-omega+i, and
takes j instead if t is taken. A report that includes x has one element less to draw and starts at i = 1, with the same
bounds.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import kernel
from deniable.core.randomness import Randomness, Words, draw, uniform_below

Counts = NDArray[np.int64]
Indices = NDArray[np.uint32]


def draw_subsets(codes: list[int], threshold: int, k: int, omega: int, rng: Randomness) -> list[list[int]]:
    """Return a sorted random subset of `omega` values for each of a few codes.

    One word decides about the code, which is included if the word is below the threshold. Half a word decides about
    every element. The few half-words that would be biased are drawn again.
    """
    width = 1 + (omega + 1) // 2
    words = draw(rng, len(codes) * width).reshape(len(codes), width)
    bounds, limits = _bounds(k, omega)
    proposed, rejected = uniform_indices(words.view(np.uint32)[:, 2 : 2 + omega], bounds, limits)
    if np.count_nonzero(rejected):
        for row, i in np.argwhere(rejected):
            proposed[row, i] = uniform_below(rng, int(bounds[i]), 1)[0]
    rows = zip(codes, words[:, 0].tolist(), proposed.tolist(), strict=True)
    return [subset_of(x, word < threshold, indices, k) for x, word, indices in rows]


@lru_cache(maxsize=64)
def _bounds(k: int, omega: int) -> tuple[Words, Indices]:
    bounds = np.arange(k - omega, k, dtype=np.uint64)
    return bounds, (np.uint64(1 << 32) % bounds).astype(np.uint32)


def uniform_indices(halves: Indices, bounds: Words, limits: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Return indices[n, omega], with column i uniform below bounds[i] < 2^32, and which must be drawn again.

    The method is from Lemire, *Fast random integer generation in an interval* (2019). It multiplies a 32-bit draw by
    the bound. The upper half of the 64-bit product is the result. A product whose lower half is below 2^32 mod bound
    (`limits`) is rejected.
    """
    products = (halves * bounds).view(np.uint32)
    return products[:, 1::2], products[:, ::2] < limits


def subset_of(x: int, inside: bool, proposed: list[int], k: int) -> list[int]:
    """Return the sorted subset that Floyd's algorithm makes from proposed indices, with or without x.

    Indices number the other values. In sets that are large compared with k, the index x stands for the value k - 1. In
    small sets, all indices from x on are increased by one.
    """
    omega, chosen = len(proposed), set()
    for substitute, t in zip(range(k - 1 - omega + inside, k - 1), proposed[inside:], strict=True):
        chosen.add(substitute if t in chosen else t)
    if omega <= 2 or 64 * omega * omega <= k:
        chosen = {t + (t >= x) for t in chosen}
    elif x in chosen:
        chosen.remove(x)
        chosen.add(k - 1)
    if inside:
        chosen.add(x)
    return sorted(chosen)


@kernel
def count_subsets(reports: Codes, k: int, counts: Counts) -> int:
    """Add up how often each value occurs in reports[n, omega], and return the first row that is not a subset, or -1."""
    for r in range(reports.shape[0]):
        previous = np.int64(-1)
        for i in range(reports.shape[1]):
            value = np.int64(reports[r, i])
            if value <= previous or value >= k:
                return r
            counts[value] += 1
            previous = value
    return -1
