"""GRR for many codes over a small domain at once, with sixteen random bits per code where these decide.

The number floor(word/lie) for a 64-bit word decides whether a code is kept or replaced (`grr.randomize_codes`). The
first sixteen bits of the word determine this number unless a multiple of the lie begins with them. Fewer than k of the
2^16 possible pieces do so, and then the rest of the word is drawn, too. The decision is the one that the whole word
would have made, so the distribution of reports is the same and exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import kernel
from deniable.core.randomness import Randomness, draw, piece_blocks
from deniable.oracles.grr import randomize_codes

MAX_DOMAIN = 1 << 8
"""Largest domain whose codes are decided by pieces."""

STRIP = 512
"""Number of codes after which the loop checks whether one of their pieces did not decide."""

_BITS = 16


def randomize_many(codes: Codes, lie: int, k: int, rng: Randomness) -> NDArray[np.uint8]:
    """Return uint8[n]: codes[n] after GRR over k <= 256 values; the codes are already checked to be in 0..k-1.

    Parameters
    ----------
    codes : int[n]
        True codes.
    lie : int
        Threshold: each of the other codes is reported with probability lie/2^64.
    k : int
        Size of the domain.
    rng : Randomness
        Source of the random words.
    """
    reports = np.empty(len(codes), dtype=np.uint8)
    low, high = multiples_of(lie)
    for rows, pieces in piece_blocks(rng, len(codes), np.uint16):
        part, result, doubtful = codes[rows], reports[rows], np.empty(len(pieces), dtype=np.int64)
        found = doubtful[: decide_by_pieces(part, pieces, low, high, k, result, doubtful)]
        if found.size:
            whole = pieces[found].astype(np.uint64) << np.uint64(64 - _BITS)
            whole |= draw(rng, found.size) >> np.uint64(_BITS)
            again = np.empty(found.size, dtype=np.uint8)
            randomize_codes(part[found], whole, np.uint64(lie), k, again)
            result[found] = again
    return reports


def multiples_of(lie: int) -> tuple[np.float32, np.float32]:
    """Return two bounds on the number of lies in one unit of a piece; they allow for more than all later rounding."""
    unit, margin = 2.0 ** (64 - _BITS) / lie, 8 * float(np.finfo(np.float32).eps)
    return np.float32(unit * (1 - margin)), np.float32(unit * (1 + margin))


@kernel
def decide_by_pieces(
    codes: Codes,
    pieces: NDArray[np.uint16],
    low: np.float32,
    high: np.float32,
    k: int,
    reports: NDArray[np.uint8],
    doubtful: NDArray[np.int64],
) -> int:
    """Write the report of every code, write the places of undecided pieces to `doubtful`, and return their number.

    A word that begins with a piece is at least piece x low lies and less than (piece + 1) x high lies. If both bounds
    have the same whole part, the piece decides the report; otherwise the report is in doubt. All numbers are exact in
    32-bit floats, with which the loop vectorises.
    """
    zero, one, most, size = np.float32(0), np.float32(1), np.float32(k - 1), np.float32(k)
    steps = np.empty(min(STRIP, codes.shape[0]), dtype=np.float32)
    found = 0
    for start in range(0, codes.shape[0], STRIP):
        code, piece = codes[start : start + STRIP], pieces[start : start + STRIP]
        result = reports[start : start + STRIP]
        n = code.shape[0]
        doubts = np.int64(0)
        for i in range(n):
            place = np.uint64(i)
            number = np.float32(piece[place])
            first = number * low
            first = np.floor(most if first > most else first)
            last = (number + one) * high
            last = np.floor(most if last > most else last)
            value = np.float32(code[place]) + one + first
            result[place] = np.uint8(value - (size if value >= size else zero))
            steps[place] = last - first
            doubts += np.int64(first != last)
        if doubts > 0:
            for i in range(n):
                if steps[i] > zero:
                    doubtful[found] = start + i
                    found += 1
    return found
