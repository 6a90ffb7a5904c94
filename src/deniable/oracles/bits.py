"""Functions that randomise packed bits and count them by column.

A batch of n reports of k bits is stored as ``uint8[n, ceil(k/8)]`` in little-endian order. Value v is bit v % 8 of byte
v // 8. The padding bits of the last byte are zero. The functions treat a batch as one flat run of 64-bit words, and
process all 64 lanes of a word at once (bit-slicing). Rows whose number of bits is not a multiple of 64 therefore waste
nothing.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import exact_kernel, kernel, worth_compiling
from deniable.core.mechanism import MAX_CHANNEL_CELLS, ReportField
from deniable.core.randomness import BLOCK_WORDS, Randomness, Words, WordStream
from deniable.errors import InvalidInputError, InvalidReportError, TooLargeError

Bits = NDArray[np.uint8]
Planes = list[tuple[int, int]]

WIDE_ROW = 64
"""Several narrow rows are counted side by side, so that they are at least this many 64-bit words wide."""

UNPACKED_BYTES = 1 << 20
"""Small counts unpack at most about this many bits at a time, one byte each."""


def packed_width(k: int) -> int:
    """Return the number of bytes that k packed bits need."""
    return -(-k // 8)


def checked_bits(
    bits: ArrayLike, k: int, error: type[InvalidReportError | InvalidInputError] = InvalidReportError
) -> Bits:
    """Return packed bits as a contiguous uint8[n, ceil(k/8)], or raise `error` with the wrong dtype or shape.

    The function `check_padding` checks the padding bits.
    """
    width = packed_width(k)
    array = np.asarray(bits)
    if array.size == 0 and not isinstance(bits, np.ndarray):
        array = np.empty((0, width), dtype=np.uint8)
    if array.dtype != np.uint8:
        raise error(f"packed bits must have dtype uint8, got dtype={array.dtype}")
    if array.ndim != 2 or array.shape[1] != width:
        raise error(f"packed bits must have shape (n, {width}), got shape={array.shape}")
    return np.ascontiguousarray(array)


def check_padding(bits: Bits, k: int, error: type[InvalidReportError | InvalidInputError] = InvalidReportError) -> None:
    """Raise `error` with the number (1-based) of the first row whose bits from position k on are not all zero."""
    if k % 8 == 0:
        return
    wrong = bits[:, -1] >> np.uint8(k % 8) != 0
    if wrong.any():
        last = 8 * bits.shape[1] - 1
        padding = f"padding bit {k}" if k == last else f"padding bits {k}..{last}"
        raise error(f"{padding} must be zero, got a 1 in row {wrong.argmax() + 1}")


def support_counts(reports: ArrayLike, k: int) -> tuple[NDArray[np.int64], int]:
    """Return (int64[k], n): the number of reports in which each bit is set, and the number of all reports.

    Raises
    ------
    InvalidReportError
        If the dtype or the shape is wrong, or a padding bit is set. For a padding bit, the message names its row.
    """
    bits = checked_bits(reports, k)
    counts = count_bits(bits)
    if counts[k:].any():
        check_padding(bits, k)
    return counts[:k], len(bits)


def bit_fields(k: int) -> tuple[ReportField, ...]:
    """Return the names, dtypes and shapes in which reports of k packed bits are stored."""
    return (ReportField("bits", "uint8", packed_width(k)),)


def check_bit_outputs(k: int, what: str) -> None:
    """Raise TooLargeError if the channel of 2^k outputs is too large to enumerate."""
    if k >= MAX_CHANNEL_CELLS.bit_length() or k << k > MAX_CHANNEL_CELLS:
        raise TooLargeError(
            f"the channel of {what} must have at most {MAX_CHANNEL_CELLS} cells, got {k} inputs x 2^{k} outputs"
        )


def bit_outputs(k: int, what: str) -> Bits:
    """Return all 2^k reports as packed bits (report y has the bits of y), or raise TooLargeError for large k."""
    check_bit_outputs(k, what)
    numbers = np.arange(1 << k, dtype="<u4")
    return np.ascontiguousarray(numbers.view(np.uint8).reshape(-1, 4)[:, : packed_width(k)])


# -------------------------------------------------------------------- randomise


def randomize_one_hot(codes: Codes, k: int, thresholds: tuple[int, int], rng: Randomness | WordStream) -> Bits:
    """Return uint8[n, ceil(k/8)]: one-hot encodings of a few codes, with every bit randomised independently.

    It reads its random words in the order that is fixed for all clients: from the same words, the library and the
    browser client make the same report. Reports of many contributors at once go through `unary_bulk`.

    Parameters
    ----------
    codes : int[n]
        Codes, which the caller has already checked to be in 0..k-1.
    k : int
        Bits per report.
    thresholds : (int, int)
        (P, Q): the contributor's bit is reported set with probability P/2^64, every other bit with Q/2^64.
    rng : Randomness or WordStream
        Source of the random words. A stream gets back the words that were not read.
    """
    bits, lanes = _zero_bits(len(codes), k)
    set_codes(codes, bits)
    randomize_lanes(lanes, k, thresholds, rng)
    return bits


def randomize_bits(bits: Bits, k: int, thresholds: tuple[int, int], rng: Randomness | WordStream) -> Bits:
    """Return randomised packed bits[n, ceil(k/8)].

    A set bit stays set with probability P/2^64. A clear bit becomes set with probability Q/2^64. This function is for a
    few rows; many rows go through `unary_bulk`. It does not change `bits`, whose padding must be zero
    (`check_padding`).
    """
    result, lanes = _zero_bits(len(bits), k)
    result[:] = bits
    randomize_lanes(lanes, k, thresholds, rng)
    return result


@exact_kernel
def set_codes(codes: Codes, bits: Bits) -> None:
    """Set the bit of codes[i] in row i of zeroed bits."""
    for i in range(codes.shape[0]):
        code = np.int64(codes[i])
        bits[i, code >> 3] = 1 << (code & 7)


def _zero_bits(n: int, k: int) -> tuple[Bits, Words]:
    """Return (bits, lanes): the same zeroed memory as uint8[n, width] and, rounded up, as 64-bit words."""
    size = n * packed_width(k)
    lanes = np.zeros(-(-size // 8), dtype=np.uint64)
    return lanes.view(np.uint8)[:size].reshape(n, packed_width(k)), lanes


def randomize_lanes(lanes: Words, k: int, thresholds: tuple[int, int], rng: Randomness | WordStream) -> None:
    """Randomise rows of k packed bits in place, with plain integers.

    Every lane draws a uniform 64-bit number u one bit at a time, from the most significant bit on. The lane compares u
    with the threshold that its own bit selects, and its new bit is set if u is below that threshold. A word is finished
    when the numbers of all its lanes have differed from their thresholds, after log2(64) + 1.3 random words on average.
    A lane whose number never differs has u = threshold, so u is not below it. The number of words used depends on the
    noise alone, never on the bits.
    """
    planes, valid = threshold_planes(*thresholds), valid_lanes(k)
    stream = rng if isinstance(rng, WordStream) else WordStream(rng)
    size = min(BLOCK_WORDS, len(planes) + 9 * len(lanes))
    held, drawn, used = lanes.tolist(), stream.take(size).tolist(), 0
    for lane, selected in enumerate(held):
        if used + len(planes) > size:
            stream.hand_back(size - used)
            drawn, used = stream.take(size).tolist(), 0
        undecided, below = valid[lane % len(valid)], 0
        for base, difference in planes:
            if undecided == 0:
                break
            threshold = base ^ (selected & difference)
            decided = undecided & (threshold ^ drawn[used])
            below |= decided & threshold
            undecided ^= decided
            used += 1
        held[lane] = below
    stream.hand_back(size - used)
    lanes[:] = held


@functools.lru_cache(maxsize=1024)
def threshold_planes(p_threshold: int, q_threshold: int) -> Planes:
    """Return the bits of both thresholds for every step, from the most significant on, spread over 64 lanes.

    The first number of a step is all ones where the bit of Q is set. The second is all ones where the bits of P and Q
    differ. Trailing steps, in which both thresholds have only zeros, are left out because they decide nothing. A
    threshold of 1/2 therefore needs one step.
    """
    trailing = min((threshold & -threshold).bit_length() - 1 for threshold in (p_threshold, q_threshold))
    every = (1 << 64) - 1
    return [
        (every * (q_threshold >> b & 1), every * ((p_threshold ^ q_threshold) >> b & 1))
        for b in range(63, trailing - 1, -1)
    ]


@functools.lru_cache(maxsize=1024)
def valid_lanes(k: int) -> list[int]:
    """Return the repeating pattern of words in which the lanes of values are set and the lanes of padding are clear."""
    if k % 8 == 0:
        return [(1 << 64) - 1]
    row = np.full(packed_width(k), 255, dtype=np.uint8)
    row[-1] = (1 << k % 8) - 1
    pattern: list[int] = np.tile(row, 8 // math.gcd(len(row), 8)).view(np.uint64).tolist()
    return pattern


# -------------------------------------------------------------------- count


def count_bits(bits: Bits) -> NDArray[np.int64]:
    """Return int64[8 width]: how often each bit, padding included, is set in packed bits[n, width], exact for any n."""
    n, width = bits.shape
    # This many rows side by side make whole words, and enough of them to fill vector registers.
    together = 8 // math.gcd(width, 8)
    together *= max(1, 8 * WIDE_ROW // (together * width))
    blocks = n // (8 * together)
    body = blocks * 8 * together if worth_compiling(blocks) else 0
    counts = np.zeros(8 * width, dtype=np.int64)
    if body:
        lanes = bits[:body].reshape(-1).view(np.uint64).reshape(8 * blocks, -1)
        # Arrow hands out read-only buffers and numpy writable ones. This flag lets one compiled loop serve both.
        lanes.flags.writeable = False
        planes = np.zeros((2, 3 + blocks.bit_length(), lanes.shape[1]), dtype=np.uint64)
        count_lanes.compiled(lanes, planes, np.empty(lanes.shape[1], dtype=np.uint64))
        counts += plane_totals(planes).reshape(together, -1).sum(axis=0)
    step = max(1, UNPACKED_BYTES // (8 * width))
    for start in range(body, n, step):
        counts += np.unpackbits(bits[start : start + step], axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    return counts


def plane_totals(planes: Words) -> NDArray[np.int64]:
    """Return int64[64 width]: for each lane, the number that planes[2, levels, width] of `count_lanes` stand for."""
    totals = np.zeros(64 * planes.shape[2], dtype=np.int64)
    for level, pair in enumerate(planes.swapaxes(0, 1)):
        for plane in pair:
            totals += np.unpackbits(plane.view(np.uint8), bitorder="little").astype(np.int64) << level
    return totals


@kernel
def count_lanes(rows: Words, planes: Words, carry: Words) -> None:
    """Write the bit-sliced number of set bits of every lane of rows[8 b, width] to zeroed planes[2, levels, width].

    The total of a lane is the sum over levels of 2^level times the bits of the two planes. A carry-save adder turns
    three bits of one weight into one bit of that weight and one bit of twice that weight. Seven adders reduce eight
    rows to one carry of weight 8 (Harley and Seal; Mula, Kurz, Lemire, *Faster population counts using AVX2
    instructions*, 2018). A carry waits in planes[1] until a second carry of its weight arrives, as in a binary counter.
    This takes one adder per row in all. `levels` must be at least 3 + b.bit_length(). `carry` is scratch memory of
    shape (width,).
    """
    blocks = rows.shape[0] // 8
    width = rows.shape[1]
    total, waiting = planes[0], planes[1]
    for block in range(blocks):
        i = 8 * block
        for c in range(width):
            ones, twos, fours = total[0, c], total[1, c], total[2, c]
            a, b = rows[i, c], rows[i + 1, c]
            odd = ones ^ a
            ones, two_a = odd ^ b, (ones & a) | (odd & b)
            a, b = rows[i + 2, c], rows[i + 3, c]
            odd = ones ^ a
            ones, two_b = odd ^ b, (ones & a) | (odd & b)
            odd = twos ^ two_a
            twos, four_a = odd ^ two_b, (twos & two_a) | (odd & two_b)
            a, b = rows[i + 4, c], rows[i + 5, c]
            odd = ones ^ a
            ones, two_a = odd ^ b, (ones & a) | (odd & b)
            a, b = rows[i + 6, c], rows[i + 7, c]
            odd = ones ^ a
            ones, two_b = odd ^ b, (ones & a) | (odd & b)
            odd = twos ^ two_a
            twos, four_b = odd ^ two_b, (twos & two_a) | (odd & two_b)
            odd = fours ^ four_a
            fours, carry[c] = odd ^ four_b, (fours & four_a) | (odd & four_b)
            total[0, c], total[1, c], total[2, c] = ones, twos, fours
        level, rest = 3, block
        while rest & 1:
            for c in range(width):
                a, b = waiting[level, c], carry[c]
                odd = total[level, c] ^ a
                carry[c] = (total[level, c] & a) | (odd & b)
                total[level, c] = odd ^ b
            level += 1
            rest >>= 1
        waiting[level, :] = carry
    # A carry that still waits at a level whose turn in the binary counter is over was already added.
    for level in range(3, waiting.shape[0]):
        if not (blocks >> (level - 3)) & 1:
            waiting[level, :] = 0
