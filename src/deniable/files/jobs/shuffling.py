"""Reports in random order, so that the row of a report is not the row of its answers.

Otherwise two files of reports about one table would be linked row by row. Anyone who knows a contributor's place in the
table would know which report is theirs. Reports are permuted in blocks, so that memory is bounded. Anyone who sees the
file learns from which block of consecutive answers a report comes, and nothing about its place within the block. All
blocks have `BLOCK_ROWS` reports, except the last two, which share the remaining reports equally, because a small last
block would hide little.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.kernels import kernel
from deniable.core.mechanism import Mechanism
from deniable.core.randomness import Randomness, Words, draw
from deniable.files.formats.columns import arrays_of

BLOCK_ROWS = 1 << 17
"""Number of reports that are permuted among each other."""

BLOCK_BYTES = 1 << 27
"""Most bytes of a block. Reports of more than 1 KiB each are permuted in smaller blocks. Two blocks are in memory at a
time."""

_ONE = np.uint64(1)
_LARGEST = np.uint64(2**64 - 1)


def block_rows(mechanism: Mechanism[Any]) -> int:
    """Return how many reports of a mechanism are permuted among each other."""
    width = sum(np.dtype(field.dtype).itemsize * (field.width or 1) for field in mechanism.report_fields)
    return max(2, min(BLOCK_ROWS, BLOCK_BYTES // width))


def shuffled(
    mechanism: Mechanism[Any], batches: Iterable[Any], rows: int, rng: Randomness
) -> Generator[Any, None, None]:
    """Contributors in bulk: yield the same reports in batches of at most `rows`, permuted in blocks.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism of the reports.
    batches : iterable of reports
        Batches in the order of the answers.
    rows : int
        Number of reports yielded at a time.
    rng : Randomness
        Source of the permutations only. The reports' own source draws the same words as without permutations.

    Raises
    ------
    InvalidReportError
        If a batch does not have the mechanism's report type.
    """
    fields, block = mechanism.report_fields, block_rows(mechanism)
    shapes = [(2 * block,) if field.width is None else (2 * block, field.width) for field in fields]
    # Pages that are never written take no memory, so a small file needs no large buffer.
    held = [np.empty(shape, field.dtype) for shape, field in zip(shapes, fields, strict=True)]
    count = 0

    def permuted(start: int, size: int) -> Iterator[Any]:
        order = start + permutation(rng, size)
        for first in range(0, size, rows):
            yield mechanism.report_type(*(array.take(order[first : first + rows], axis=0) for array in held))

    for reports in batches:
        arrays = arrays_of(reports, fields)
        done = 0
        while done < len(arrays[0]):
            part = min(len(arrays[0]) - done, 2 * block - count)
            for array, new in zip(held, arrays, strict=True):
                array[count : count + part] = new[done : done + part]
            done, count = done + part, count + part
            if count == 2 * block:
                yield from permuted(0, block)
                for array in held:
                    array[:block] = array[block:]
                count = block
    # The loop leaves less than two blocks. If more than one block is left, it is divided into halves.
    half = count if count <= block else count - count // 2
    yield from permuted(0, half)
    yield from permuted(half, count - half)


def permutation(rng: Randomness, n: int) -> NDArray[np.int64]:
    """Return int64[n], exactly uniform among all permutations of 0..n-1 (Fisher and Yates; Durstenfeld's loop)."""
    order = np.arange(n)
    left = max(n - 1, 0)
    while left:
        left = _exchange(order, draw(rng, left), left)
    return order


@kernel
def _exchange(order: NDArray[np.int64], words: Words, left: int) -> int:
    """Exchange order[left], order[left - 1], ... each with one at or before it, and return where the words ran out.

    Integer division turns a word into a number below the bound. A word in the last interval is skipped if that interval
    is cut off.
    """
    for word in words:
        bound = np.uint64(left) + _ONE
        other = word // (_LARGEST // bound)
        if other < bound:
            j = np.int64(other)
            order[left], order[j] = order[j], order[left]
            left -= 1
    return left
