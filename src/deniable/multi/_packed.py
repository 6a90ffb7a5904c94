"""Unary encodings of whole records: one row of packed bits, every attribute starting at a byte boundary.

The thresholds of OUE do not depend on the domain, so all attributes of all records are randomised as one run of bits.
Padding bits are randomised too, then cleared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.checks import Codes
from deniable.errors import InvalidReportError
from deniable.kernels import kernel
from deniable.mechanisms._bits import Bits, check_padding, count_bits, packed_width, randomize_bits
from deniable.randomness import Randomness

BLOCK_BYTES = 1 << 20
"""Packed bits that are set and randomised at a time."""


def byte_starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return int64[d + 1]: the first byte of each attribute, then the width of a row."""
    return np.concatenate([[0], np.cumsum([packed_width(size) for size in sizes])]).astype(np.int64)


def value_bits(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return the position in a row's bits of every value of every attribute; all other positions are padding."""
    starts = byte_starts(sizes)
    return np.concatenate([8 * start + np.arange(size) for start, size in zip(starts, sizes, strict=False)])


def block_rows(sizes: Sequence[int]) -> int:
    """Return how many records are randomised at a time."""
    return max(1, BLOCK_BYTES // int(byte_starts(sizes)[-1]))


def randomize_rows(bits: Bits, sizes: Sequence[int], thresholds: tuple[int, int], rng: Randomness) -> Bits:
    """Return rows of packed bits randomised: a set bit stays so with P/2^64, a clear one becomes set with Q/2^64."""
    width = bits.shape[1]
    result = randomize_bits(bits, 8 * width, thresholds, rng)
    if any(size % 8 for size in sizes):
        used = np.zeros(8 * width, dtype=np.uint8)
        used[value_bits(sizes)] = 1
        # Tiled to one long row: numpy would loop over short ones.
        result &= np.tile(np.packbits(used, bitorder="little"), (len(bits), 1))
    return result


@kernel
def set_all(codes: Codes, starts: NDArray[np.int64], bits: Bits) -> None:
    """Set the bit of every attribute of codes[n, d] in zeroed bits[n, width]."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            code = np.int64(codes[i, j])
            bits[i, starts[j] + (code >> 3)] = 1 << (code & 7)


@kernel
def set_sampled(codes: Codes, attributes: Codes, starts: NDArray[np.int64], bits: Bits) -> None:
    """Set the bit of attribute attributes[i] of each row of codes[n, d] in zeroed bits[n, width]."""
    for i in range(codes.shape[0]):
        j = np.int64(attributes[i])
        code = np.int64(codes[i, j])
        bits[i, starts[j] + (code >> 3)] = 1 << (code & 7)


def count_rows(bits: Bits, sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return how many rows have each value's bit set, the attributes one after the other.

    Raises
    ------
    InvalidReportError
        If a padding bit is set, naming the attribute and the first row.
    """
    counts = count_bits(np.ascontiguousarray(bits))
    values = value_bits(sizes)
    if counts.sum() != counts[values].sum():
        starts: list[Any] = byte_starts(sizes).tolist()
        for j, size in enumerate(sizes):
            try:
                check_padding(bits[:, starts[j] : starts[j + 1]], size)
            except InvalidReportError as error:
                raise InvalidReportError(f"{error}, attribute {j}") from None
    return counts[values]
