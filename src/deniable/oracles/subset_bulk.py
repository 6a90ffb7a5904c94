"""Uniform random subsets for many contributors at once, with fewer words and steps than Floyd's algorithm.

Given whether a report includes its contributor's value x, the rest of the report is a uniform subset of the other
values. There are two ways to draw such a subset, and both are exact:

*Sorting* is for a few of many values. Values are drawn independently and accepted if they are all different, which
leaves every set equally likely. Rows lie side by side and go through one sorting network.

*Filling* is for all other cases. Every other value is taken independently with one probability m/2^b near the wanted
share, which uses b words for 64 values. Given the number of values taken, all sets of this size are equally likely.
Then uniform missing values are added, or uniform values of the set are removed, until the number is right.

Which words decide which report: one word says whether x is included. Every row then has `Plan.width` words of its own,
whatever they say. A row that these do not suffice for is refused, and drawn again from as many fresh ones; inclusion
stays. What is refused does not depend on which values are which, so the accepted sets are as uniform as before.

A single report is made by `subset_draws`, which reads its words in the order that is fixed for all clients. The
distribution is the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import kernel
from deniable.core.randomness import BLOCK_WORDS, Randomness, Words, WordStream, blocks
from deniable.oracles.subset_draws import draw_subsets

SIDE_BY_SIDE = 64
"""Rows that go through a sorting network together."""

MAX_SORTED = 64
"""Largest sets that are sorted by a network."""

_MAX_SHARE_BITS = 4
_SIX, _BELOW_64, _ONE, _ALL = np.uint64(6), np.uint64(63), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True)
class Plan:
    """Parameters for drawing subsets of omega of k values in bulk.

    Parameters
    ----------
    network : int64[comparators, 2] or None
        Pairs of places that are put in order, one after the other; None where sets are filled, or drawn one by one.
    share : int
        m of the share m/2^b of the values that are taken to begin with; 0 for none.
    share_bits : int
        b.
    chunk : int
        Bits of a word that make one uniform value, 16 or 32.
    width : int
        Words that a row is drawn from; 0 where too many would be refused, for billions of values: sets are drawn one by
        one then, as those of a device.
    """

    network: NDArray[np.int64] | None
    share: int
    share_bits: int
    chunk: int
    width: int


@lru_cache(maxsize=256)
def plan_for(k: int, omega: int) -> Plan:
    """Return the plan of the faster way, by the cost of its words and steps."""
    others = k - 1
    different = math.prod(1 - i / others for i in range(omega)) if omega <= MAX_SORTED else 0.0
    if different > 0.5:
        chunk = 16 if omega * ((1 << 16) % others) < 1 << 12 and others < 1 << 14 else 32
        if different * (1 - (1 << 32) % others / (1 << 32)) ** omega < 0.05:
            return Plan(None, 0, 0, 0, 0)
        return Plan(sorting_network(omega), 0, 0, chunk, -(-omega * chunk // 64))
    words, chunk = -(-k // 64), 16 if k <= 1 << 12 else 32
    shares = [(0, 0)] + [
        (m, b) for b in range(1, _MAX_SHARE_BITS + 1) for m in range(1, 1 << b, 2) if b * words < BLOCK_WORDS // 4
    ]
    share, share_bits = min(shares, key=lambda pair: _filling_cost(k, omega, *pair))
    short, deviation = _short(k, omega, share, share_bits)
    # These numbers of uniform values bring enough new elements, or hit enough present ones, for most of the sets.
    added = k * math.log1p(max(short + 2 * deviation, 0.0) / (k - omega))
    removed = k * math.log1p(max(1.5 * deviation - short, 0.0) / omega)
    tries = max(added, removed, 1.0)
    return Plan(None, share, share_bits, chunk, share_bits * words + math.ceil((tries + math.sqrt(tries)) * chunk / 64))


def _short(k: int, omega: int, share: int, share_bits: int) -> tuple[float, float]:
    """Return the mean and standard deviation of the number of values that are missing after a share was taken."""
    p = share / (1 << share_bits)
    return omega - 0.5 - (k - 1) * p, math.sqrt((k - 1) * p * (1 - p)) + 1e-9


def _filling_cost(k: int, omega: int, share: int, share_bits: int) -> float:
    """Return the approximate number of nanoseconds that the words of a share and the steps after it take."""
    short, deviation = _short(k, omega, share, share_bits)
    z = short / deviation
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    added = short * (1 + math.erf(z / math.sqrt(2))) / 2 + deviation * density
    return 1.7 * share_bits * -(-k // 64) + 2.5 * (added * k / (k - omega) + (added - short) * k / omega)


def sorting_network(size: int) -> NDArray[np.int64]:
    """Return the comparators (i, j), i < j, of Batcher's odd-even merge sort of `size` places, int64[comparators, 2].

    The network is from Batcher, *Sorting networks and their applications* (1968). For a size that is not a power of
    two, it has those comparators of the next power whose places exist.
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


def fill_many(codes: Codes, threshold: np.uint64, k: int, rng: Randomness, reports: Codes) -> None:
    """Overwrite reports int[n, omega] with sorted subsets; each includes its code if a word is below the threshold.

    Parameters
    ----------
    codes : int[n]
        Codes, which the caller has already checked to be in 0..k-1.
    threshold : uint64
        Threshold of the inclusion: a report includes its contributor's code with probability threshold/2^64.
    k : int
        Number of values.
    rng : Randomness
        Source of the random words.
    reports : int[n, omega]
        Array to overwrite; its dtype must hold the values.
    """
    omega = reports.shape[1]
    plan = plan_for(k, omega)
    if not plan.width:
        for start in range(0, len(codes), SIDE_BY_SIDE):
            few = slice(start, start + SIDE_BY_SIDE)
            reports[few] = draw_subsets(codes[few].tolist(), int(threshold), k, omega, rng)
        return
    included = np.empty(len(codes), dtype=np.bool_)
    dtype = np.uint16 if plan.chunk == 16 else np.uint32
    table = np.empty((0 if plan.network is None else omega, SIDE_BY_SIDE), dtype=dtype)
    packed = _PACKED if reports.dtype.itemsize == 1 else _PACKED_WIDE
    stream, step = WordStream(rng), max(1, BLOCK_WORDS // plan.width)
    for block, decisions in blocks(rng, len(codes)):
        included[block] = decisions < threshold
        pending, again = np.arange(block.start, block.stop), False
        while pending.size:
            refused = []
            for start in range(0, pending.size, step):
                rows = pending[start : start + step]
                words = stream.take(rows.size * plan.width)
                if plan.network is None:
                    left = fill_sets.compiled(
                        rows, words, codes, included, k, plan.share, plan.share_bits, plan.chunk, packed, _POPULATION,
                        again, reports, reports.reshape(-1),
                    )  # fmt: skip
                else:
                    left = sort_sets.compiled(rows, words.view(dtype), codes, included, k, plan.network, table, reports)
                refused.append(rows[:left])
            pending, again = np.concatenate(refused), True


@kernel
def sort_sets(
    rows: NDArray[np.int64],
    chunks: Codes,
    codes: Codes,
    included: NDArray[np.bool_],
    k: int,
    network: NDArray[np.int64],
    table: Codes,
    reports: Codes,
) -> int:
    """Draw the sets of rows int64[m], each from its own chunks; return the number refused, whose rows come first.

    The refused rows are moved to the front of `rows`. The array `chunks` is uint16 or uint32[m x chunks of a row]. Up
    to 64 rows lie side by side, and the first chunks of all these rows come before their second chunks.
    """
    omega, side = table.shape
    each = chunks.shape[0] // rows.shape[0]
    bound, bits = np.uint64(k - 1), np.uint64(8 * table.itemsize)
    low = (_ONE << bits) - _ONE
    limit = (_ONE << bits) % bound
    last = np.zeros(omega * side, dtype=chunks.dtype)
    bad = np.zeros(side, dtype=np.uint8)
    row_of, values = np.zeros(side, dtype=np.int64), np.zeros(side, dtype=np.uint64)
    refused = np.int64(0)
    for start in range(0, rows.shape[0], side):
        many = min(side, rows.shape[0] - start)
        part = chunks[start * each :]
        if many < side:
            for i in range(omega):
                for r in range(many):
                    last[i * side + r] = part[i * many + r]
            part = last
        for r in range(side):
            row_of[r] = rows[start + min(r, many - 1)]
            values[r] = np.uint64(codes[row_of[r]])
            bad[r] = 0
        for i in range(omega):
            for r in range(side):
                # In Lemire's method, the upper half is uniform below the bound if the lower half is not below the
                # limit.
                product = np.uint64(part[i * side + r]) * bound
                bad[r] |= np.uint8((product & low) < limit)
                t = product >> bits
                table[i, r] = t + np.uint64(t >= values[r])
        for r in range(side):
            # A set has one element less if x itself is reported. Any element may give way, because they are in no
            # order.
            own = included[np.uint64(row_of[r])]
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
        # The loop has no branches. A bad row is written as well, and is overwritten when it is drawn again.
        for r in range(many):
            row = np.uint64(row_of[r])
            for i in range(omega):
                reports[row, i] = table[i, r]
            rows[np.uint64(refused)] = row_of[r]
            refused += np.int64(bad[r])
    return int(refused)


def _packed_positions(bits: int) -> Words:
    """Return uint64[256, 1 or 2]: the increasing places of the set bits of every byte, in fields of `bits` bits."""
    lists = [[place for place in range(8) if byte >> place & 1] + [0] * 8 for byte in range(256)]
    fields = np.array([places[:8] for places in lists], dtype=np.uint64).reshape(256, -1, 64 // bits)
    shifts = np.arange(0, 64, bits, dtype=np.uint64)
    packed: Words = np.bitwise_or.reduce(fields << shifts, axis=2)
    return packed


_PACKED, _PACKED_WIDE = _packed_positions(8), _packed_positions(16)
_POPULATION = np.array([byte.bit_count() for byte in range(256)], dtype=np.int64)


@kernel
def fill_sets(
    rows: NDArray[np.int64],
    words: Words,
    codes: Codes,
    included: NDArray[np.bool_],
    k: int,
    share: int,
    share_bits: int,
    chunk: int,
    packed: Words,
    population: NDArray[np.int64],
    again: bool,
    reports: Codes,
    flat: Codes,
) -> int:
    """Draw the sets of rows int64[m], each from its own words; return the number refused, whose rows come first.

    The refused rows are moved to the front of `rows`. Words are uint64[m x words of a row]. `reports` int[n, omega] and
    `flat` share one memory. Rows come in order, or are drawn `again`.
    """
    omega, cells, each = reports.shape[1], -(-k // 64), words.shape[0] // rows.shape[0]
    chunks_per_word = 64 // chunk
    size, width = np.uint64(k), np.uint64(chunk)
    low = (_ONE << width) - _ONE
    limit = (_ONE << width) % size
    last = _ALL >> np.uint64(64 * cells - k)
    bits, tail = np.zeros(cells, dtype=np.uint64), np.zeros(omega + 8, dtype=reports.dtype)
    dense = 16 * omega >= k and reports.itemsize <= 2
    refused = 0
    for number in range(rows.shape[0]):
        row = rows[number]
        x, own = np.uint64(codes[row]), np.int64(included[row])
        used, stop = number * each, (number + 1) * each
        count = np.int64(0)
        for cell in range(cells):
            taken = np.uint64(0)
            for bit in range(share_bits):
                word = words[used]
                used += 1
                taken = taken | word if (share >> bit) & 1 else taken & word
            bits[cell] = taken
        bits[cells - 1] &= last
        bits[x >> _SIX] &= ~(_ONE << (x & _BELOW_64))
        for cell in range(cells):
            # Bits are counted by twos, fours and eights, and summed up by a product.
            word = bits[cell]
            word -= (word >> _ONE) & np.uint64(0x5555555555555555)
            word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
            word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
            count += np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
        missing = omega - own - count
        adding = np.uint64(missing > 0)
        missing = abs(missing)
        # While values are added, x counts as present. While values are removed, x counts as absent.
        bits[x >> _SIX] |= adding << (x & _BELOW_64)
        rest, chunks = np.uint64(0), 0
        while missing > 0:
            if chunks == 0:
                if used == stop:
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
            rows[refused] = row
            refused += 1
            continue
        bits[x >> _SIX] &= ~(_ONE << (x & _BELOW_64))
        bits[x >> _SIX] |= np.uint64(own) << (x & _BELOW_64)
        # Eight places are written at a time, and the next row overwrites those too many. A row without a next row is
        # written to a place of its own. Unsigned indices need no check for negative values, so the writes become one
        # store.
        inside = not again and (row + 1) * omega + 8 <= flat.shape[0]
        target, place = (flat, np.uint64(row * omega)) if inside else (tail, np.uint64(0))
        for cell in range(cells):
            word = bits[cell]
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
                flat[row * omega + i] = tail[i]
    return refused


_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, dtype=np.uint64)
"""Place of the only bit of a word, looked up by the leading six bits of its product with a de Bruijn sequence."""
_PLACES[[((1 << b) * int(_DE_BRUIJN) & (2**64 - 1)) >> 58 for b in range(64)]] = np.arange(64)
