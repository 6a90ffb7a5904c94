"""Uniform random subsets: their exact draw, their count, and the law of their sum.

A subset report has `omega` of k values. Its elements other than the contributor's own value x are a uniform subset of
the *others*, the k-1 values that are not x. Floyd's algorithm (Bentley, Floyd, *A sample of brilliance*, 1987) turns
one uniform integer per element into such a subset: element i proposes a number t in 0..j, j = k-1-omega+i, and takes j
instead if t is taken. Whoever reports x has one element less to draw and starts at i = 1, with the same bounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import Kernel, kernel
from deniable.core.randomness import Randomness, Words, uniform_below

Counts = NDArray[np.int64]
Indices = NDArray[np.uint32]

REJECTED = np.uint32(2**32 - 1)
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_BELOW_64 = np.uint64(63)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_DE_BRUIJN_SHIFT = np.uint64(58)
# Position of the only bit of w, looked up by the top six bits of w times a de Bruijn sequence.
_BIT_POSITION = np.zeros(64, dtype=np.int64)
_BIT_POSITION[[((1 << b) * int(_DE_BRUIJN) & (2**64 - 1)) >> 58 for b in range(64)]] = np.arange(64)

MAX_HYPERGEOMETRIC = 500_000_000
"""Contributors per batch in `draw_counts`: numpy's hypergeometric sampler takes less than 10^9."""


def words_per_subset(omega: int) -> int:
    """64-bit words per report: one that decides about x, and half a word per element."""
    return 1 + (omega + 1) // 2


def fill_subsets(
    codes: Codes, words: Words, threshold: np.uint64, k: int, rng: Randomness, reports: Codes, *, compiled: bool
) -> None:
    """Fill reports[n, omega] with sorted subsets, from words[n, words_per_subset(omega)].

    Report r includes codes[r] if words[r, 0] < threshold. `rng` replaces the few index draws that would be biased.
    """
    omega = reports.shape[1]
    bounds = np.arange(k - omega, k, dtype=np.uint64)
    indices = np.empty(reports.shape, dtype=np.uint32)
    draw_indices = uniform_indices.compiled if compiled else uniform_indices
    if draw_indices(words, bounds, np.uint64(2**32) % bounds, indices):
        for row, i in np.argwhere(indices == REJECTED):
            indices[row, i] = uniform_below(rng, int(bounds[i]), 1)[0]
    choose = subset_kernel(k, omega)
    (choose.compiled if compiled else choose)(codes, words[:, 0] < threshold, indices, k, reports)


@kernel
def uniform_indices(words: Words, bounds: Words, limits: Words, indices: Indices) -> int:
    """Fill indices[n, omega], column i uniform below bounds[i] < 2^32, and return how many are REJECTED.

    Lemire, *Fast random integer generation in an interval* (2019): of the 64-bit product of a 32-bit draw and the
    bound, the upper half is the result, and a lower half below 2^32 mod bound (`limits`) is rejected.
    """
    rejections = 0
    for r in range(words.shape[0]):
        for i in range(indices.shape[1]):
            word = words[r, 1 + (i >> 1)]
            product = (word >> _HALF if i & 1 else word & _LOW) * bounds[i]
            biased = (product & _LOW) < limits[i]
            indices[r, i] = REJECTED if biased else product >> _HALF
            rejections += biased
    return rejections


@uniform_indices.for_few
def _indices_few(words: Words, bounds: Words, limits: Words, indices: Indices) -> int:
    pairs, rejections = list(zip(bounds.tolist(), limits.tolist(), strict=True)), 0
    for r, drawn in enumerate(words.tolist()):
        row = []
        for i, (bound, limit) in enumerate(pairs):
            product = (drawn[1 + (i >> 1)] >> 32 * (i & 1) & 0xFFFFFFFF) * bound
            biased = product & 0xFFFFFFFF < limit
            row.append(0xFFFFFFFF if biased else product >> 32)
            rejections += biased
        indices[r] = row
    return rejections


@kernel
def subsets_by_insertion(codes: Codes, included: NDArray[np.bool_], indices: Indices, k: int, reports: Codes) -> None:
    """Floyd's algorithm on a sorted list, O(omega^2) per row: for small subsets. The others keep their order."""
    omega = reports.shape[1]
    chosen = np.empty(omega, dtype=np.int64)
    for r in range(codes.shape[0]):
        x = np.int64(codes[r])
        inside = np.int64(included[r])
        size = 0
        for i in range(inside, omega):
            t = np.int64(indices[r, i])
            place = size
            while place > 0 and chosen[place - 1] > t:
                place -= 1
            if place > 0 and chosen[place - 1] == t:
                # The substitute exceeds everything proposed so far.
                t = np.int64(k - 1 - omega + i)
                place = size
            for later in range(size, place, -1):
                chosen[later] = chosen[later - 1]
            chosen[place] = t
            size += 1
        below = 0
        for i in range(size):
            beyond = int(chosen[i] >= x)
            reports[r, i + (beyond & inside)] = chosen[i] + beyond
            below += 1 - beyond
        if inside:
            reports[r, below] = x


@subsets_by_insertion.for_few
def _insertion_few(codes: Codes, included: NDArray[np.bool_], indices: Indices, k: int, reports: Codes) -> None:
    inputs = zip(codes.tolist(), included.tolist(), indices.tolist(), strict=True)
    for r, (x, inside, proposed) in enumerate(inputs):
        others = [number + (number >= x) for number in _floyd(proposed, inside, k)]
        reports[r] = sorted([*others, x] if inside else others)


def _floyd(proposed: list[int], inside: bool, k: int) -> set[int]:
    chosen: set[int] = set()
    for i in range(inside, len(proposed)):
        chosen.add(k - 1 - len(proposed) + i if proposed[i] in chosen else proposed[i])
    return chosen


@kernel
def subsets_by_bitmap(codes: Codes, included: NDArray[np.bool_], indices: Indices, k: int, reports: Codes) -> None:
    """Floyd's algorithm on a bitmap, O(omega + k/64) per row. Of the others, number x stands for the value k-1."""
    omega = reports.shape[1]
    top = np.uint64(k - 1)
    bits = np.zeros((k + 63) // 64, dtype=np.uint64)
    for r in range(codes.shape[0]):
        x = np.uint64(codes[r])
        inside = np.uint64(included[r])
        for i in range(np.int64(inside), omega):
            t = np.uint64(indices[r, i])
            taken = (bits[t >> _SIX] >> (t & _BELOW_64)) & _ONE
            t = np.uint64(k - 1 - omega + i) if taken else t
            bits[t >> _SIX] |= _ONE << (t & _BELOW_64)
        moved = (bits[x >> _SIX] >> (x & _BELOW_64)) & _ONE
        bits[top >> _SIX] |= moved << (top & _BELOW_64)
        bits[x >> _SIX] = (bits[x >> _SIX] & ~(_ONE << (x & _BELOW_64))) | (inside << (x & _BELOW_64))
        size = 0
        for w in range(bits.shape[0]):
            word = bits[w]
            bits[w] = 0
            while word != 0:
                lowest = word & (~word + _ONE)
                reports[r, size] = 64 * w + _BIT_POSITION[(lowest * _DE_BRUIJN) >> _DE_BRUIJN_SHIFT]
                size += 1
                word ^= lowest


@subsets_by_bitmap.for_few
def _bitmap_few(codes: Codes, included: NDArray[np.bool_], indices: Indices, k: int, reports: Codes) -> None:
    inputs = zip(codes.tolist(), included.tolist(), indices.tolist(), strict=True)
    for r, (x, inside, proposed) in enumerate(inputs):
        others = [k - 1 if number == x else number for number in _floyd(proposed, inside, k)]
        reports[r] = sorted([*others, x] if inside else others)


def subset_kernel(k: int, omega: int) -> Kernel[[Codes, NDArray[np.bool_], Indices, int, Codes], None]:
    """Return the faster of the two kernels for these sizes."""
    return subsets_by_insertion if omega <= 2 or 64 * omega * omega <= k else subsets_by_bitmap


@kernel
def count_subsets(reports: Codes, k: int, counts: Counts) -> int:
    """Add how often each value occurs in reports[n, omega]; return the first row that is no subset, or -1."""
    for r in range(reports.shape[0]):
        previous = np.int64(-1)
        for i in range(reports.shape[1]):
            value = np.int64(reports[r, i])
            if value <= previous or value >= k:
                return r
            counts[value] += 1
            previous = value
    return -1


def draw_counts(holders: Counts, uniform: int, omega: int, generator: np.random.Generator) -> Counts:
    """Draw how often each of k values occurs in many independent random subsets, exactly in distribution.

    Values are visited in order. Subsets of which equally many elements are still to come are exchangeable, so a
    histogram of that number is all the state there is: value v is next in a subset that has r elements to come among
    w values with probability r/w, one binomial per r. Subsets that must contain x, and have not reached it, wait in
    a histogram of their own and are drawn from it without replacement when they do.

    Parameters
    ----------
    holders : int64[k]
        Number of subsets {x} + (uniform subset of omega - 1 others), for each x; at most `MAX_HYPERGEOMETRIC` in sum.
    uniform : int
        Number of uniform subsets of all k values.
    omega : int
        Size of every subset.
    generator : numpy.random.Generator
        Source of the draw.

    Returns
    -------
    int64[k]
        Counts; they sum to omega times the number of subsets.
    """
    k = len(holders)
    ahead, after = (np.zeros(omega + 1, dtype=np.int64) for _ in range(2))
    ahead[omega - 1], after[omega] = holders.sum(), uniform
    counts = holders.copy()
    for v in range(k):
        arrived = np.zeros_like(ahead)
        if holders[v]:
            live = np.flatnonzero(ahead)
            arrived[live] = generator.multivariate_hypergeometric(ahead[live], holders[v], method="marginals")
            ahead -= arrived
        counts[v] += _take(ahead, k - v - 1, generator) + _take(after, k - v, generator)
        after += arrived
    return counts


def _take(to_come: Counts, values: int, generator: np.random.Generator) -> int:
    """Let each subset with r elements to come take the next of `values` values with probability r/values."""
    r = np.flatnonzero(to_come[1:]) + 1
    if r.size == 0:
        return 0
    taken = generator.binomial(to_come[r], r / values)
    to_come[r] -= taken
    to_come[r - 1] += taken
    return int(taken.sum())
