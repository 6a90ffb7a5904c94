"""Support counts of the prime family: how many reports have value = h(x), for many x, without dividing.

With b1 = a1 m^{-1} and b0 = (a0 - z) m^{-1} mod P, a report (a0, a1, z) supports x exactly if (b0 + b1 x) mod P lies
below arc = floor((P-1-z)/m) + 1: a rotation of the circle Z_P by b1 per step, and an arc that begins at 0. (Since
a0 + a1 x = z + m j mod P with 0 <= j < arc is what "cell z" means.)

Stretched by T/P, T = 2^32 or 2^64, the circle becomes a machine word, whose wrap-around costs nothing. Rounding start
and step up leaves an error e with 0 <= e < y + 1 after y steps. The residue r < arc is told from r >= arc as long as
e <= T/P, because r T/P + e < (r + 1) T/P. So counting is exact for floor(T/P) consecutive x (a window) from one exact
start, and one evaluation is an addition, a comparison and an increment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import Kernel, kernel
from deniable.core.randomness import Words

MAX_PRIME = (1 << 36) - 1
"""Largest modulus: quotients then stay below 2^37, where a double is off by less than one."""

BATCH = 1 << 14
"""Reports turned into rotations at a time: their words stay in a core's second-level cache."""

TILE = 1 << 11
"""Reports counted at a time: their words stay in its first-level cache."""

UNROLL = 4
SHORT_WINDOW = 1 << 8
INTERPRETED_EVALUATIONS = 1 << 12

Counts = NDArray[np.int64]
WordType = type[np.uint32] | type[np.uint64]


def count_all(prime: int, m: int, a0: Codes, a1: Codes, value: Codes, k: int) -> Counts:
    """Return int64[k]: the number of reports that support x, for x = 0..k-1; time O(n k), memory O(k)."""
    circle = _Circle(prime, np.uint32 if (1 << 32) // prime >= SHORT_WINDOW else np.uint64)
    window = circle.window - circle.window % UNROLL
    counts = np.zeros(-(-k // UNROLL) * UNROLL, dtype=np.int64)
    for positions, strides, arcs in _rotations(prime, m, a0, a1, value):
        steps, ends = circle.stretch(strides), circle.stretch(arcs)
        for start in range(0, k, window):
            phases = circle.stretch(circle.turned(positions, strides, start))
            part = counts[start : start + window]
            for tile in _slices(len(phases), TILE):
                run = _fitting(count_consecutive, len(phases[tile]) * len(part))
                run(phases[tile], steps[tile], ends[tile], part)
    return counts[:k]


def count_queries(prime: int, m: int, a0: Codes, a1: Codes, value: Codes, queries: Codes) -> Counts:
    """Return the number of reports that support x, for every x of the queries, in any order and with repeats."""
    largest = int(queries.max()) if len(queries) else 0
    circle = _Circle(prime, np.uint32 if (1 << 32) // prime > largest else np.uint64)
    counts = np.zeros(len(queries), dtype=np.int64)
    index = queries.astype(np.uint64) // np.uint64(circle.window)
    windows = [(int(w), np.flatnonzero(index == w)) for w in np.unique(index)]
    for positions, strides, arcs in _rotations(prime, m, a0, a1, value):
        steps, ends = circle.stretch(strides), circle.stretch(arcs)
        for w, members in windows:
            start = w * circle.window
            phases = circle.stretch(circle.turned(positions, strides, start))
            offsets = (queries[members].astype(np.uint64) - np.uint64(start)).astype(circle.word)
            part = np.zeros(len(members), dtype=np.int64)
            for tile in _slices(len(phases), TILE):
                run = _fitting(count_offsets, len(phases[tile]) * len(part))
                run(phases[tile], steps[tile], ends[tile], offsets, part)
            counts[members] += part
    return counts


class _Circle:
    """Z_P stretched to the words of one type."""

    def __init__(self, prime: int, word: WordType) -> None:
        self.prime, self.word = prime, word
        self.window, self._incomplete = divmod(1 << np.iinfo(word).bits, prime)

    def stretch(self, residues: Words) -> NDArray[Any]:
        """Return ceil(residue T/P) mod T."""
        words = np.empty(len(residues), dtype=self.word)
        stretch(residues, np.uint64(self.prime), np.uint64(self.window), np.uint64(self._incomplete), words)
        return words

    def turned(self, positions: Words, strides: Words, steps: int) -> Words:
        """Return positions + steps strides, not reduced."""
        return positions + _product(strides, steps, self.prime) if steps else positions


def _rotations(prime: int, m: int, a0: Codes, a1: Codes, value: Codes) -> Iterator[tuple[Words, Words, Words]]:
    """Yield (b0, b1, arc) of the reports, a batch at a time."""
    inverse = pow(m, -1, prime)
    for rows in _slices(len(value), BATCH):
        below = np.uint64(prime) - value[rows].astype(np.uint64)  # P - z, in 1..P
        arcs = (below - np.uint64(1)) // np.uint64(m) + np.uint64(1)
        offsets, slopes = a0[rows].astype(np.uint64), a1[rows].astype(np.uint64)
        yield _product(offsets + below, inverse, prime), _product(slopes, inverse, prime), arcs


def _slices(length: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def _fitting(loop: Kernel[..., None], evaluations: int) -> Callable[..., None]:
    """Return the loop itself for little work, else compiled: here work is reports x values, not reports alone."""
    return loop if evaluations <= INTERPRETED_EVALUATIONS else loop.compiled


def _product(factors: Words, multiplier: int, prime: int) -> Words:
    """Return factor x multiplier mod prime; factors < 2^37, multiplier < 2^36."""
    rests = np.empty_like(factors)
    multiply_modulo(factors, np.uint64(multiplier), np.uint64(prime), rests)
    return rests


# Both kernels below find a quotient below 2^37 in doubles, off by one at most, and correct it by the rest, which
# wrapping integers give exactly.


@kernel
def multiply_modulo(factors: Words, multiplier: np.uint64, prime: np.uint64, rests: Words) -> None:
    """Write factor x multiplier mod prime into rests[n]."""
    ratio, modulus = float(multiplier) / float(prime), np.int64(prime)
    for i in range(factors.shape[0]):
        quotient = np.uint64(float(factors[i]) * ratio)
        rest = np.int64(factors[i] * multiplier - quotient * prime)
        rest += modulus * (np.int64(rest < 0) - np.int64(rest >= modulus))
        rests[i] = np.uint64(rest)


@kernel
def stretch(residues: Words, prime: np.uint64, window: np.uint64, incomplete: np.uint64, words: NDArray[Any]) -> None:
    """Write ceil(residue T/P) mod T into words[n], where T = window x prime + incomplete is the words' range."""
    ratio, modulus = float(incomplete) / float(prime), np.int64(prime)
    word = words.dtype.type
    for i in range(residues.shape[0]):
        quotient = np.uint64(float(residues[i]) * ratio)
        rest = np.int64(residues[i] * incomplete - quotient * prime)
        # Rounded up: one more if anything is left over, two if the quotient was one too small besides. One too large is
        # right as it is: something is left over then, since of a multiple of the prime, which here is 0 or the prime
        # itself, doubles find a quotient that is exact or one too small.
        above = np.int64(rest > 0) + np.int64(rest > modulus)
        words[i] = word(residues[i] * window + quotient + np.uint64(above))


@kernel
def count_consecutive(phases: NDArray[Any], steps: NDArray[Any], ends: NDArray[Any], counts: Counts) -> None:
    """Add to counts[y] the number of rows with phase + y step < end; leaves the phases advanced.

    len(counts) is a multiple of 4: four values per pass over the rows share its loads and its store.
    """
    word = phases.dtype.type
    for y in range(0, counts.shape[0], 4):
        first, second, third, fourth = word(0), word(0), word(0), word(0)
        for i in range(phases.shape[0]):
            step, end = steps[i], ends[i]
            phase = phases[i]
            first = word(first + word(phase < end))
            phase = word(phase + step)
            second = word(second + word(phase < end))
            phase = word(phase + step)
            third = word(third + word(phase < end))
            phase = word(phase + step)
            fourth = word(fourth + word(phase < end))
            phases[i] = word(phase + step)
        counts[y] += np.int64(first)
        counts[y + 1] += np.int64(second)
        counts[y + 2] += np.int64(third)
        counts[y + 3] += np.int64(fourth)


@kernel
def count_offsets(
    phases: NDArray[Any], steps: NDArray[Any], ends: NDArray[Any], offsets: NDArray[Any], counts: Counts
) -> None:
    """Add to counts[j] the number of rows with phase + offsets[j] step < end."""
    word = phases.dtype.type
    for j in range(offsets.shape[0]):
        supported = word(0)
        for i in range(phases.shape[0]):
            supported = word(supported + word(word(phases[i] + steps[i] * offsets[j]) < ends[i]))
        counts[j] += np.int64(supported)
