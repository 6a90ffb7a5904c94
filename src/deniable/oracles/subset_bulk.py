"""Uniform random subsets of many contributors at once: fewer words and fewer steps than Floyd's algorithm.

Given whether a report includes its contributor's value x, the rest of it is a uniform subset of the other values. Two
ways to one, both exact:

*Sorting*, where a few of many values are wanted. Values are drawn independently and accepted if they are all different,
which leaves every set equally likely. Rows lie side by side and go through one sorting network.

*Filling*, elsewhere. Every other value is taken independently with one probability m/2^b near the wanted share, b words
for 64 values; given how many were taken, all sets of so many are equally likely. Uniform values that are missing are
then added, or uniform ones that are there removed, until the number is right.

One report is made by `subset_draws`, whose words clients share; the law is the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import kernel
from deniable.core.randomness import BLOCK_WORDS, Randomness, Words, draw

SIDE_BY_SIDE = 64
"""Rows that go through a sorting network together."""

MAX_SORTED = 64
"""Largest sets that are sorted by a network."""

_ROWS = 1 << 15
"""Contributors whose inclusion is decided at a time."""

_MAX_SHARE_BITS = 4
_SIX, _BELOW_64, _ONE, _ALL = np.uint64(6), np.uint64(63), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True)
class Plan:
    """How subsets of omega of k values are drawn in bulk.

    Parameters
    ----------
    network : int64[comparators, 2] or None
        Pairs of places that are put in order, one after the other; None where sets are filled.
    share : int
        m of the share m/2^b of the values that are taken to begin with; 0 for none.
    share_bits : int
        b.
    chunk : int
        Bits of a word that make one uniform value, 16 or 32.
    """

    network: NDArray[np.int64] | None
    share: int
    share_bits: int
    chunk: int


@lru_cache(maxsize=256)
def plan_for(k: int, omega: int) -> Plan:
    """Return the faster way, by what words and steps cost."""
    others = k - 1
    different = math.prod(1 - i / others for i in range(omega)) if omega <= MAX_SORTED else 0.0
    if different > 0.5:
        chunk = 16 if omega * ((1 << 16) % others) < 1 << 12 and others < 1 << 14 else 32
        return Plan(sorting_network(omega), 0, 0, chunk)
    words = -(-k // 64)
    shares = [(0, 0)] + [
        (m, b) for b in range(1, _MAX_SHARE_BITS + 1) for m in range(1, 1 << b, 2) if b * words < BLOCK_WORDS // 4
    ]
    share, share_bits = min(shares, key=lambda pair: _filling_cost(k, omega, *pair))
    return Plan(None, share, share_bits, 16 if k <= 1 << 12 else 32)


def _filling_cost(k: int, omega: int, share: int, share_bits: int) -> float:
    """Return about how many nanoseconds the words of a share and the steps after it take."""
    p = share / (1 << share_bits)
    short, deviation = omega - 0.5 - (k - 1) * p, math.sqrt((k - 1) * p * (1 - p)) + 1e-9
    z = short / deviation
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    added = short * (1 + math.erf(z / math.sqrt(2))) / 2 + deviation * density
    return 1.7 * share_bits * -(-k // 64) + 2.5 * (added * k / (k - omega) + (added - short) * k / omega)


def sorting_network(size: int) -> NDArray[np.int64]:
    """Return the comparators (i, j), i < j, of Batcher's odd-even merge sort of `size` places, int64[comparators, 2].

    Batcher, *Sorting networks and their applications* (1968); for sizes that are no power of two, the comparators of
    the next power whose places exist.
    """
    pairs = []
    p = 1
    while p < size:
        step = p
        while step >= 1:
            for j in range(step % p, size - step, 2 * step):
                for i in range(j, min(j + step, size - step)):
                    if i // (2 * p) == (i + step) // (2 * p):
                        pairs.append((i, i + step))
            step //= 2
        p *= 2
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


class _Stream:
    """Words in the order they are drawn: what a loop leaves over is used by the next."""

    def __init__(self, rng: Randomness, size: int) -> None:
        self.rng = rng
        self.words = draw(rng, size)

    def used(self, count: int) -> None:
        """Replace the first `count` words by fresh ones behind the others."""
        left = len(self.words) - count
        self.words[:left] = self.words[count:].copy()
        self.rng.fill(self.words[left:])


def fill_many(codes: Codes, threshold: np.uint64, k: int, rng: Randomness, reports: Codes) -> None:
    """Overwrite reports[n, omega] with sorted subsets; each includes its code if a word is below the threshold."""
    n, omega = reports.shape
    plan = plan_for(k, omega)
    if plan.network is not None:
        _sort_all(codes, threshold, k, plan.network, plan.chunk, rng, reports)
        return
    per_row = 2 + plan.share_bits * -(-k // 64) + omega // 4
    stream = _Stream(rng, max(min(BLOCK_WORDS, n * per_row), plan.share_bits * -(-k // 64) + 64))
    bits, state = np.zeros(-(-k // 64), dtype=np.uint64), np.zeros(5, dtype=np.int64)
    pool, tail = np.zeros(1, dtype=np.uint64), np.zeros(omega + 8, dtype=reports.dtype)
    dense = 16 * omega >= k and reports.dtype.itemsize <= 2
    while True:
        used = fill_sets(
            codes, stream.words, threshold, k, plan.share, plan.share_bits, plan.chunk, dense, state, pool, bits, tail,
            _PACKED if reports.dtype.itemsize == 1 else _PACKED_WIDE, _POPULATION, reports.reshape(-1),
        )  # fmt: skip
        if state[0] == n:
            return
        stream.used(used)


def _sort_all(
    codes: Codes,
    threshold: np.uint64,
    k: int,
    network: NDArray[np.int64],
    chunk: int,
    rng: Randomness,
    reports: Codes,
) -> None:
    n, omega = reports.shape
    dtype = np.dtype(np.uint16 if chunk == 16 else np.uint32)
    table = np.empty((omega, SIDE_BY_SIDE), dtype=dtype)
    stream = _Stream(rng, max(min(BLOCK_WORDS, n * (omega * chunk // 32 + 2)), omega * SIDE_BY_SIDE * chunk // 64))
    for start in range(0, n, _ROWS):
        part = reports[start : start + _ROWS]
        included = draw(rng, len(part)) < threshold
        pending = np.arange(len(part))
        left = len(part)
        while left:
            chunks = stream.words.view(dtype)
            left, used = sort_sets(
                codes[start : start + _ROWS], included, chunks, pending, left, k, network, table, part
            )
            if left:
                stream.used(used * chunk // 64)


@kernel
def sort_sets(
    codes: Codes,
    included: NDArray[np.bool_],
    chunks: Codes,
    pending: NDArray[np.int64],
    left: int,
    k: int,
    network: NDArray[np.int64],
    table: Codes,
    reports: Codes,
) -> tuple[int, int]:
    """Draw sets for the last of `left` pending rows while chunks suffice; return (rows still pending, chunks used)."""
    omega, side = table.shape
    bound, bits = np.uint64(k - 1), np.uint64(8 * table.itemsize)
    low = (_ONE << bits) - _ONE
    limit = (_ONE << bits) % bound
    bad = np.zeros(side, dtype=np.uint8)
    rows, values = np.zeros(side, dtype=np.int64), np.zeros(side, dtype=np.uint64)
    used = 0
    while left > 0 and used + omega * side <= chunks.shape[0]:
        many = min(side, left)
        for r in range(side):
            rows[r] = pending[left - 1 - min(r, many - 1)]
            values[r] = np.uint64(codes[rows[r]])
            bad[r] = 0
        for i in range(omega):
            for r in range(side):
                # Lemire: the upper half is uniform below the bound if the lower half is not below the limit.
                product = np.uint64(chunks[used + r]) * bound
                bad[r] |= np.uint8((product & low) < limit)
                t = product >> bits
                table[i, r] = t + np.uint64(t >= values[r])
            used += side
        for r in range(side):
            # One element less where x itself is reported: any may give way, they are in no order.
            own = included[np.uint64(rows[r])]
            table[omega - 1, r] = values[r] if own else np.uint64(table[omega - 1, r])
        for c in range(network.shape[0]):
            i, j = network[c, 0], network[c, 1]
            for r in range(side):
                a, b = table[i, r], table[j, r]
                table[i, r] = min(a, b)
                table[j, r] = max(a, b)
        for i in range(omega - 1):
            for r in range(side):
                bad[r] |= np.uint8(table[i, r] == table[i + 1, r])
        left -= many
        kept = np.int64(left)
        # Without branches: what is written of a bad row is overwritten in its turn.
        for r in range(many):
            row = np.uint64(rows[r])
            for i in range(omega):
                reports[row, i] = table[i, r]
            pending[np.uint64(kept)] = rows[r]
            kept += np.int64(bad[r])
        left = int(kept)
    return left, used


def _packed_positions(bits: int) -> Words:
    """Return uint64[256, 1 or 2]: the places of the set bits of every byte, increasing, in fields of so many bits."""
    lists = [[place for place in range(8) if byte >> place & 1] + [0] * 8 for byte in range(256)]
    fields = np.array([places[:8] for places in lists], dtype=np.uint64).reshape(256, -1, 64 // bits)
    shifts = np.arange(0, 64, bits, dtype=np.uint64)
    packed: Words = np.bitwise_or.reduce(fields << shifts, axis=2)
    return packed


_PACKED, _PACKED_WIDE = _packed_positions(8), _packed_positions(16)
_POPULATION = np.array([byte.bit_count() for byte in range(256)], dtype=np.int64)


@kernel
def fill_sets(
    codes: Codes,
    words: Words,
    threshold: np.uint64,
    k: int,
    share: int,
    share_bits: int,
    chunk: int,
    dense: bool,
    state: NDArray[np.int64],
    pool: Words,
    bits: Words,
    tail: Codes,
    packed: Words,
    population: NDArray[np.int64],
    reports: Codes,
) -> int:
    """Draw sets of rows from state[0] on while words suffice; return the words used.

    A row may be interrupted wherever it needs a word. `state` is (row, phase, values still to be added or removed,
    whether they are added, chunks left in `pool`), and `bits` the values taken so far.
    """
    omega = tail.shape[0] - 8
    cells = bits.shape[0]
    size, chunks_per_word = np.uint64(k), 64 // chunk
    width = np.uint64(chunk)
    low = (_ONE << width) - _ONE
    limit = (_ONE << width) % size
    last = _ALL >> np.uint64(64 * cells - k)
    rest, chunks = pool[0], state[4]
    row, phase, missing, adding = state[0], state[1], state[2], np.uint64(state[3])
    used = 0
    # Phases 1 and 2: a row under way, without and with its own value.
    while row < codes.shape[0]:
        x = np.uint64(codes[row])
        if phase == 0:
            if used + 1 + cells * share_bits > words.shape[0]:
                break
            phase = 1 + np.int64(words[used] < threshold)
            used += 1
            for cell in range(cells):
                taken = np.uint64(0)
                for bit in range(share_bits):
                    word = words[used]
                    used += 1
                    taken = taken | word if (share >> bit) & 1 else taken & word
                bits[cell] = taken
            bits[cells - 1] &= last
            bits[x >> _SIX] &= ~(_ONE << (x & _BELOW_64))
            count = np.int64(0)
            for cell in range(cells):
                # Bits are counted by twos, fours, eights, and summed up by a product.
                word = bits[cell]
                word -= (word >> _ONE) & np.uint64(0x5555555555555555)
                word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
                word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
                count += np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
            missing = omega - (phase - 1) - count
            adding = np.uint64(missing > 0)
            missing = abs(missing)
            # While values are added, x counts as taken; while they are removed, as not there.
            bits[x >> _SIX] |= adding << (x & _BELOW_64)
        while missing > 0:
            if chunks == 0:
                if used == words.shape[0]:
                    break
                rest = words[used]
                used += 1
                chunks = chunks_per_word
            product = (rest & low) * size
            rest >>= width
            chunks -= 1
            t = product >> width
            unbiased = np.uint64((product & low) >= limit)
            change = ((bits[t >> _SIX] >> (t & _BELOW_64)) ^ adding) & unbiased
            bits[t >> _SIX] ^= change << (t & _BELOW_64)
            missing -= np.int64(change)
        if missing > 0:
            break
        bits[x >> _SIX] &= ~(_ONE << (x & _BELOW_64))
        bits[x >> _SIX] |= np.uint64(phase - 1) << (x & _BELOW_64)
        # Eight places are written at a time, those too many over by the next: the last rows have their own place.
        # By unsigned places, which need no look from the end of the array: they become one store.
        inside = (row + 1) * omega + 8 <= reports.shape[0]
        target, place = (reports, np.uint64(row * omega)) if inside else (tail, np.uint64(0))
        for cell in range(cells):
            word = bits[cell]
            bits[cell] = 0
            base = np.uint64(64 * cell)
            if dense:
                for _ in range(8):
                    byte = word & np.uint64(255)
                    if packed.shape[1] == 1:
                        eight = packed[byte, 0] + base * np.uint64(0x0101010101010101)
                        for i in range(8):
                            target[place + np.uint64(i)] = np.uint8(eight >> np.uint64(8 * i))
                    else:
                        four = packed[byte, 0] + base * np.uint64(0x0001000100010001)
                        more = packed[byte, 1] + base * np.uint64(0x0001000100010001)
                        for i in range(4):
                            target[place + np.uint64(i)] = four >> np.uint64(16 * i)
                        for i in range(4):
                            target[place + np.uint64(4 + i)] = more >> np.uint64(16 * i)
                    place += np.uint64(population[byte])
                    word >>= np.uint64(8)
                    base += np.uint64(8)
            else:
                while word != 0:
                    lowest = word & (~word + _ONE)
                    target[place] = base + _PLACES[(lowest * _DE_BRUIJN) >> np.uint64(58)]
                    place += _ONE
                    word ^= lowest
        if not inside:
            for i in range(omega):
                reports[row * omega + i] = tail[i]
        row += 1
        phase = 0
    pool[0] = rest
    state[0], state[1], state[2], state[3], state[4] = row, phase, missing, np.int64(adding), chunks
    return used


_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, dtype=np.uint64)
"""Place of the only bit of a word, looked up by the leading six bits of its product with a de Bruijn sequence."""
_PLACES[[((1 << b) * int(_DE_BRUIJN) & (2**64 - 1)) >> 58 for b in range(64)]] = np.arange(64)
