"""One-hot encodings for many contributors at once, which make eight noisy bits from sixteen random bits.

All bits of a report except the contributor's own are set with one probability q, independently. Eight of these bits are
one of 256 bytes. A byte with w bits set has probability q^w (1-q)^(8-w), a fraction whose denominator is a power of
two. Sixteen random bits name one of 2^16 equally likely cells, and every byte owns as many cells as its probability
fills completely. Nearly always one look into a table of these cells is enough. The rest of each byte's probability lies
behind the whole cells, in fewer than 256 cells that bytes share. In a shared cell further words decide, as many as it
takes. The distribution is exact.

The contributor's own bit is then replaced by a bit that is set with probability p, from a word of its own. A single
report is made bit by bit (`bits`), from its own words, which are read in the order that is fixed for all clients. The
distribution is the same.

Which words decide which report: sixteen bits belong to one byte of one row, and further words are drawn for the bytes
of shared cells alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import kernel, worth_compiling
from deniable.core.randomness import Randomness, Words, blocks, draw, piece_blocks
from deniable.core.thresholds import SCALE
from deniable.oracles.bits import Bits, packed_width, randomize_bits, randomize_one_hot

CELLS = 1 << 16
"""Number of cells that sixteen bits distinguish."""

_KEY_BITS = 56
"""Further bits that are read first. With the number of the shared cell, which is below 256, they fill a word."""

TOGETHER = 16
"""Number of bytes after which the loop checks whether one of them lay in a shared cell."""


@dataclass(frozen=True)
class ByteLaw:
    """Table that makes a byte of eight independent bits from sixteen bits and, for a shared cell, further words.

    Parameters
    ----------
    table : uint8[2^16]
        Byte of every cell that belongs completely to one byte.
    whole : int
        Number of these cells, which come first.
    cuts : tuple of int
        End of the share of every byte in the cells from `whole` on, in units of a cell over 2^bits.
    bits : int
        Number of further bits after which every byte is decided, 56 plus a multiple of 64.
    keys : uint64[255]
        Values of all cuts except the last, rounded down to a cell over 2^56.
    """

    table: Bits
    whole: int
    cuts: tuple[int, ...]
    bits: int
    keys: Words

    def resolve(self, cells: NDArray[np.uint16], rng: Randomness) -> Bits:
        """Return uint8[size]: bytes of shared cells (numbers from `whole` on), each from one further word or more."""
        words = draw(rng, cells.size)
        keys = (cells.astype(np.uint64) - np.uint64(self.whole)) << np.uint64(_KEY_BITS)
        keys |= words >> np.uint64(64 - _KEY_BITS)
        below = np.searchsorted(self.keys, keys, side="left")
        found = np.searchsorted(self.keys, keys, side="right")
        # These cuts begin with the same bits as the word, so further bits decide on which side of the cut the word
        # lies.
        for i in np.flatnonzero(below != found):
            found[i] = self._settle(int(keys[i]), rng)
        return found.astype(np.uint8)

    def _settle(self, number: int, rng: Randomness) -> int:
        bits = _KEY_BITS
        while True:
            least, beyond = (part << self.bits - bits for part in (number, number + 1))
            byte = bisect_right(self.cuts, least)
            if byte == bisect_left(self.cuts, beyond):
                return byte
            number, bits = number << 64 | int(draw(rng, 1)[0]), bits + 64


@lru_cache(maxsize=64)
def byte_law(q: Fraction) -> ByteLaw:
    """Return the table for eight independent bits that are set with probability q, a fraction of a power of two."""
    numerator, places = q.numerator, q.denominator.bit_length() - 1
    bits = _KEY_BITS + 64 * -(-max(0, 8 * places - 16 - _KEY_BITS) // 64)
    # Probabilities are in units of 2^-(16 + bits).
    unit = 16 + bits - 8 * places
    sizes = [numerator**w * ((1 << places) - numerator) ** (8 - w) << unit for w in range(9)]
    shares = [divmod(sizes[byte.bit_count()], 1 << bits) for byte in range(256)]
    cells = np.array([whole for whole, _ in shares])
    table = np.zeros(CELLS, dtype=np.uint8)
    table[: cells.sum()] = np.repeat(np.arange(256, dtype=np.uint8), cells)
    cuts = tuple(accumulate(rest for _, rest in shares))
    keys = np.array([cut >> bits - _KEY_BITS for cut in cuts[:-1]], dtype=np.uint64)
    return ByteLaw(table, int(cells.sum()), cuts, bits, keys)


def one_hot_in_bulk(codes: Codes, k: int, probabilities: tuple[Fraction, Fraction], rng: Randomness) -> Bits:
    """Return uint8[n, ceil(k/8)]: the one-hot encodings of codes[n], with every bit randomised independently.

    Parameters
    ----------
    codes : int[n]
        Codes, which the caller has already checked to be in 0..k-1.
    k : int
        Number of bits per report.
    probabilities : (Fraction, Fraction)
        Pair (p, q) of fractions of powers of two. The contributor's own bit is set with probability p, every other bit
        with q.
    rng : Randomness
        Source of the random words.
    """
    p, q = probabilities
    bits = np.empty((len(codes), packed_width(k)), dtype=np.uint8)
    fill_noise(bits.reshape(-1), byte_law(q), rng)
    padding = np.uint8((1 << (k - 1) % 8 + 1) - 1)
    for rows, words in blocks(rng, len(codes)):
        set_own(codes[rows], below(words, p, rng), padding, bits[rows])
    return bits


def probabilities(thresholds: tuple[int, int]) -> tuple[Fraction, Fraction]:
    """Return the probabilities (p, q) of a pair of 64-bit thresholds."""
    p, q = thresholds
    return Fraction(p, SCALE), Fraction(q, SCALE)


def noisy_one_hot(codes: Codes, k: int, thresholds: tuple[int, int], rng: Randomness) -> Bits:
    """Return uint8[n, ceil(k/8)] from `one_hot_in_bulk` for many codes, or `randomize_one_hot` for a few."""
    if worth_compiling(len(codes)):
        return one_hot_in_bulk(codes, k, probabilities(thresholds), rng)
    return randomize_one_hot(codes, k, thresholds, rng)


def noisy_bits(bits: Bits, k: int, thresholds: tuple[int, int], rng: Randomness) -> Bits:
    """Return randomised packed bits[n, ceil(k/8)] from `bits_in_bulk` for many rows, or `randomize_bits` for a few."""
    if worth_compiling(len(bits)):
        return bits_in_bulk(bits, k, probabilities(thresholds), rng)
    return randomize_bits(bits, k, thresholds, rng)


def bits_in_bulk(bits: Bits, k: int, probabilities: tuple[Fraction, Fraction], rng: Randomness) -> Bits:
    """Return randomised packed bits[n, ceil(k/8)]: a set bit stays set with probability p, a clear bit is set with q.

    Both kinds of noise are drawn for every bit, and the bit chooses one of them. Padding is cleared. The array `bits`
    is not changed.
    """
    kept, noise = np.empty_like(bits), np.empty_like(bits)
    for drawn, probability in zip((kept, noise), probabilities, strict=True):
        fill_noise(drawn.reshape(-1), byte_law(probability), rng)
    kept ^= noise
    kept &= bits
    kept ^= noise
    kept[:, -1] &= np.uint8((1 << (k - 1) % 8 + 1) - 1)
    return kept


def fill_noise(noise: Bits, law: ByteLaw, rng: Randomness) -> None:
    """Overwrite uint8[size] with random bytes of independent bits."""
    for places, cells in piece_blocks(rng, noise.size, np.uint16):
        part, shared = noise[places], np.empty(cells.size, dtype=np.int64)
        found = shared[: look_up(cells, law.table, law.whole, part, shared)]
        if found.size:
            part[found] = law.resolve(cells[found], rng)


@kernel
def look_up(cells: NDArray[np.uint16], table: Bits, whole: int, noise: Bits, shared: NDArray[np.int64]) -> int:
    """Write the byte of every cell, write the places of shared cells to `shared`, and return their number."""
    size, found = cells.shape[0], 0
    beyond = np.uint32(CELLS - whole)
    body = size - size % TOGETHER
    for start in range(0, body, TOGETHER):
        seen = np.uint32(0)
        for ahead in range(TOGETHER):
            place = np.uint64(start + ahead)  # unsigned indices need no check for negative values
            cell = cells[place]
            noise[place] = table[cell]
            seen |= np.uint32(cell) + beyond  # a maximum would be a branch that nobody can foresee
        if seen >= np.uint32(CELLS):
            for i in range(start, start + TOGETHER):
                if cells[i] >= whole:
                    shared[found] = i
                    found += 1
    for i in range(body, size):
        noise[i] = table[cells[i]]
        if cells[i] >= whole:
            shared[found] = i
            found += 1
    return found


def below(words: Words, p: Fraction, rng: Randomness) -> NDArray[np.bool_]:
    """Return bool[n]: whether each uniform number that begins with a word is below p < 1, which has probability p.

    If p begins with the word, the word does not decide, and another word is drawn for the following bits.
    """
    first, rest = divmod(p.numerator * SCALE, p.denominator)
    result: NDArray[np.bool_] = words < np.uint64(first)
    if rest:
        tied = np.flatnonzero(words == np.uint64(first))
        if tied.size:
            result[tied] = below(draw(rng, tied.size), Fraction(rest, p.denominator), rng)
    return result


@kernel
def set_own(codes: Codes, own: NDArray[np.bool_], padding: np.uint8, bits: Bits) -> None:
    """Clear the padding of bits[n, width], and replace bit codes[i] of row i with own[i]."""
    last = np.uint64(bits.shape[1] - 1)
    for i in range(codes.shape[0]):
        row, code = np.uint64(i), np.uint64(codes[i])
        byte, bit = code >> np.uint64(3), np.uint8(code & np.uint64(7))
        bits[row, last] &= padding
        kept = bits[row, byte] & ~np.uint8(np.uint8(1) << bit)
        bits[row, byte] = kept | np.uint8(np.uint8(own[row]) << bit)
