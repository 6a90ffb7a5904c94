"""Loops of the Spread family, which evaluate hashes, count reports and prepare a histogram for the transform."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import exact_kernel, kernel
from deniable.core.randomness import Words
from deniable.oracles.sketch.families._gf2 import functionals

STRIP = 512
"""Rows that are hashed side by side. Their six columns stay in the first-level cache, and the loops vectorise."""


@kernel
def hash_rows(
    codes: Codes, rows: Codes, starts: Words, degrees: Words, polynomials: Words, cell_bits: int, cells: Codes
) -> None:
    """Write the cell of every code under its own hash function into cells[n].

    For each level, `starts`, `degrees` and `polynomials` hold its first row, the degree of its field, and the field's
    polynomial without the leading term.
    """
    one, shift, last = np.uint64(1), np.uint64(cell_bits), np.uint64(starts.shape[0] - 1)
    # Six arrays are used, not rows of one array, so that the compiler sees that they do not overlap.
    strip = min(STRIP, codes.shape[0])
    levels, xs, ws = np.empty(strip, np.uint64), np.empty(strip, np.uint64), np.empty(strip, np.uint64)
    tops, lows, values = np.empty(strip, np.uint64), np.empty(strip, np.uint64), np.empty(strip, np.uint64)
    for start in range(0, codes.shape[0], STRIP):
        code, row, result = codes[start : start + STRIP], rows[start : start + STRIP], cells[start : start + STRIP]
        n = row.shape[0]
        level, x, w, top, low, cell = levels[:n], xs[:n], ws[:n], tops[:n], lows[:n], values[:n]
        level[:] = 0
        # Few rows reach a high level, so most strips need not be compared with all levels.
        candidate, beyond = 1, np.int64(1)
        while candidate < starts.shape[0] and beyond > 0:
            first, beyond = starts[candidate], np.int64(0)
            for i in range(n):
                below = np.int64(np.uint64(row[i]) >= first)
                level[i] += np.uint64(below)
                beyond += below
            candidate += 1
        for i in range(n):
            w[i] = np.uint64(row[i]) - starts[level[i]]
            top[i] = degrees[level[i]] - one
            low[i] = polynomials[level[i]]
        for i in range(n):
            # At all levels but the last, the lowest digit is added to the functionals' value of the other digits.
            inner = np.uint64(level[i] < last)
            left = np.uint64(code[i]) >> (level[i] * shift)
            cell[i] = left & ((inner << shift) - inner)
            x[i] = left >> (inner * shift)
        for j in range(cell_bits):
            # Bit j is parity(alpha^j w & x).
            place = np.uint64(j)
            for i in range(n):
                bits = w[i] & x[i]
                bits ^= bits >> np.uint64(32)
                bits ^= bits >> np.uint64(16)
                bits ^= bits >> np.uint64(8)
                bits ^= bits >> np.uint64(4)
                cell[i] ^= ((np.uint64(0x6996) >> (bits & np.uint64(15))) & one) << place
                leading = one << top[i]
                carry = (w[i] >> top[i]) & one
                w[i] = ((w[i] << one) & (leading | (leading - one))) ^ (carry * low[i])
        for i in range(n):
            result[i] = cell[i]


@hash_rows.for_few
def _hash_few(
    codes: Codes, rows: Codes, starts: Words, degrees: Words, polynomials: Words, cell_bits: int, cells: Codes
) -> None:
    # Without compilation, the strips would make a report of a device twice as slow. They use six columns and look at
    # every level, and Python counts a parity in one step.
    firsts, last = starts.tolist(), len(starts) - 1
    for i, (x, row) in enumerate(zip(codes.tolist(), rows.tolist(), strict=True)):
        level = bisect.bisect_right(firsts, row) - 1
        x >>= level * cell_bits
        below = cell_bits if level < last else 0
        modulus = 1 << int(degrees[level]) | int(polynomials[level])
        cells[i] = functionals(x >> below, row - firsts[level], modulus, cell_bits) ^ (x & (1 << below) - 1)


@kernel
def look_up_cells(codes: Codes, rows: Codes, table: Codes, cells: Codes) -> None:
    """Write the cell of every code to `cells`, looked up in the table [rows, domain] of all cells."""
    for i in range(codes.shape[0]):
        # Unsigned indices need no check for negative values, which count from the end of an array.
        cells[i] = table[np.uint64(rows[i]), np.uint64(codes[i])]


@exact_kernel
def choose_rows(points: NDArray[np.int64], narrow: int, last: int, width: int, rows: Codes) -> None:
    """Write the row of every point; each of the first `narrow` points has a row of the last level, from `last` on.

    Every other row has `width` < 2^16 points. Points lie below 2^32, so (a + 1/2)/width is at least 1/(2 width) away
    from every integer, and its rounding error is less than that.
    """
    reciprocal = 1.0 / float(width)
    for i in range(points.shape[0]):
        beyond = points[i] - np.int64(narrow)
        wide = np.int64((float(beyond) + 0.5) * reciprocal)
        rows[i] = points[i] + np.int64(last) if beyond < 0 else wide


@kernel
def first_inside(reports: Codes, start: int, width: int) -> int:
    """Return the index of the first report in start..start+width-1, or -1 if there is none."""
    low, span = np.uint64(start), np.uint64(width)
    found = np.int64(0)
    for i in range(reports.shape[0]):
        found += np.int64(np.uint64(reports[i]) - low < span)
    if found > 0:
        for i in range(reports.shape[0]):
            if np.uint64(reports[i]) - low < span:
                return i
    return -1


@kernel
def count_reports(reports: Codes, counters: NDArray[Any]) -> None:
    """Add to counters[size] how often each report occurs, with one table, because it is as large as the cache."""
    for i in range(reports.shape[0]):
        counters[reports[i]] += 1


@kernel
def scatter_rows(
    rows: NDArray[Any],
    first: int,
    cell_bits: int,
    degree: int,
    polynomial: int,
    shift: int,
    last: bool,
    spectrum: NDArray[Any],
) -> None:
    """Write the transformed rows w = first, first + 1, ... of one level to their positions for the transform over x.

    Entry (w, c) with c != 0 belongs to the functional sum_j c_j <alpha^j w, .>. Its position is XOR_j c_j alpha^j w,
    beside c unless the level is the last, in steps of 2^shift. Entries of the last level can meet in one position,
    where they add up. At all other levels each position is written once.
    """
    m, one = 1 << cell_bits, np.uint32(1)
    top, mask = np.uint32(degree - 1), np.uint32((1 << degree) - 1)
    low, step, beside = np.uint32(polynomial), np.uint32(shift), np.uint32(0 if last else cell_bits)
    multiples = np.zeros(m, dtype=np.uint32)  # c w for every polynomial c of degree < cell_bits
    for r in range(rows.shape[0] >> cell_bits):
        w = np.uint32(first + r)
        h = 1
        for _ in range(cell_bits):
            for c in range(h):
                multiples[h + c] = multiples[c] ^ w
            h *= 2
            w = ((w << one) & mask) ^ (((w >> top) & one) * low)
        row = rows[r << cell_bits : (r + 1) << cell_bits]
        if last:
            for c in range(1, m):
                spectrum[multiples[c] << step] += row[c]
        else:
            for c in range(1, m):
                spectrum[((multiples[c] << beside) | np.uint32(c)) << step] = row[c]


@kernel
def divide_exactly(values: NDArray[Any], shift: int) -> tuple[np.int64, np.int64, np.int64]:
    """Divide by 2^shift in place, and return the OR of all remainders, the smallest and the largest quotient."""
    rests, smallest, largest = np.int64(0), np.int64(values[0]) >> shift, np.int64(values[0]) >> shift
    mask = np.int64((1 << shift) - 1)
    for i in range(values.shape[0]):
        value = np.int64(values[i])
        rests |= value & mask
        value >>= shift
        smallest, largest = min(smallest, value), max(largest, value)
        values[i] = value
    return rests, smallest, largest


@kernel
def gather_cells(histogram: NDArray[Any], tables: NDArray[Any], low: int, cell_bits: int) -> np.int64:
    """Return the number of reports of one level that match: the sum over w of histogram[w, tables[w] ^ low]."""
    total = np.int64(0)
    for w in range(histogram.shape[0] >> cell_bits):
        total += histogram[(w << cell_bits) | (tables[w] ^ low)]
    return total
