"""The levels of the Spread family, and how its histogram is decoded and checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.errors import DamagedStateError
from deniable.oracles.sketch.families._gf2 import smallest_irreducible
from deniable.oracles.sketch.families._spread_kernels import divide_exactly, gather_cells, scatter_rows
from deniable.oracles.sketch.families._walsh import BLOCK, walsh_hadamard, walsh_rows
from deniable.oracles.sketch.families.family import Counts, check_counts


class Level(NamedTuple):
    """One level of the family: it sees b_i bits of x, and its hash functions are described by w in GF(2^degree).

    The field's polynomial is without its leading term, `offset` the first report; of the last level w = 0 is left out.
    """

    bits: int
    degree: int
    polynomial: int
    offset: int
    last: bool


Levels = tuple[Level, ...]


def spread_levels(bits: int, cell_bits: int) -> Levels:
    """Return the levels for D = 2^bits values and m = 2^cell_bits cells, the widest first."""
    levels, offset = [], 0
    while True:
        last = bits < 2 * cell_bits
        degree = bits if last else bits - cell_bits
        levels.append(Level(bits, degree, smallest_irreducible(degree) ^ (1 << degree), offset, last))
        offset += 1 << (degree + cell_bits)
        if last:
            return tuple(levels)
        bits -= cell_bits


def decode_histogram(levels: Levels, cell_bits: int, state: Counts, n: int) -> Counts:
    """Return C(x) for all D values, int32[D] or int64[D]; see `SpreadFamily.decode`."""
    # No partial sum of the transform exceeds the sum of all entries: n, and at most m - 1 for every report.
    counts: Counts = np.empty(1 << levels[0].bits, dtype=counter_dtype(n << cell_bits))
    lay_out(levels, cell_bits, state, counts)
    counts[0] += n
    walsh_hadamard(counts)
    rests, smallest, largest = divide_exactly(counts, cell_bits)
    if rests:
        raise DamagedStateError(f"the transformed histogram must be divisible by m={1 << cell_bits}")
    if smallest < 0 or largest > n:
        check_counts(counts, n)
    for x in {int(counts.argmax()), int(counts.argmin()), n * 0x9E3779B1 % len(counts)}:
        again = count_value(levels, cell_bits, state, x)
        if again != counts[x]:
            raise DamagedStateError(f"C({x}) must be {again} by direct counting, the transform gave {counts[x]}")
    return counts


def lay_out(levels: Levels, cell_bits: int, state: Counts, spectrum: NDArray[Any]) -> None:
    """Transform every row over its cells and put it where the transform over x wants it, a block at a time."""
    spectrum[:: 1 << (cell_bits * (len(levels) - 1))] = 0  # where the last level adds up
    step = max(1 << cell_bits, BLOCK)
    for i, level in enumerate(levels):
        rows = rows_of(level, cell_bits, state)
        for start in range(0, len(rows), step):
            block = rows[start : start + step].astype(spectrum.dtype)
            walsh_rows(block, 1 << cell_bits)
            place = (cell_bits, level.degree, level.polynomial, cell_bits * i, level.last)
            scatter_rows(block, start >> cell_bits, *place, spectrum)


def count_value(levels: Levels, cell_bits: int, state: Counts, x: int) -> int:
    """Return C(x) from its definition: the counters of the cell that x has in every row."""
    total = 0
    for level in levels:
        low = 0 if level.last else x & ((1 << cell_bits) - 1)
        x = x if level.last else x >> cell_bits
        cells = cells_of_rows(x, level, cell_bits)
        total += int(gather_cells(rows_of(level, cell_bits, state), cells, low, cell_bits))
    return total


def cells_of_rows(x: int, level: Level, cell_bits: int) -> NDArray[np.uint16]:
    """Return sum_j <alpha^j w, x> 2^j for every w of a level; linear in w, so it is built by doubling."""
    cells = np.zeros(1 << level.degree, dtype=np.uint16)
    for bit in range(level.degree):
        w, cell = 1 << bit, 0
        for j in range(cell_bits):
            cell |= ((w & x).bit_count() & 1) << j
            w <<= 1
            w ^= (w >> level.degree) * ((1 << level.degree) | level.polynomial)
        np.bitwise_xor(cells[: 1 << bit], np.uint16(cell), out=cells[1 << bit : 2 << bit])
    return cells


def rows_of(level: Level, cell_bits: int, state: Counts) -> Counts:
    """Return a level's part of the histogram."""
    return state[level.offset : level.offset + (1 << (level.degree + cell_bits))]


def counter_dtype(largest: int) -> np.dtype[Any]:
    """Return int32, or int64 if a counter may reach 2^31."""
    return np.dtype(np.int32 if largest < 1 << 31 else np.int64)
