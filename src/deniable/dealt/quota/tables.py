"""Dealing quota types: counts drawn from integer tables, assigned by a uniform permutation.

The guarantee rests on two ratios of the weights f of one quota count and g of the number of truth-tellers,

    f(x + 1)/f(x) >= rate/(x + 1)    and    g(y)/g(y + 1) >= (y + 1)/(rate R),

for every x and y that can occur. Poisson weights meet both with equality. The tables hold *integers* built along these
recurrences, f upwards and g downwards, always rounded up: both inequalities then hold exactly for the law that is
implemented, and where Poisson weights would vanish the integers stay at a small constant, down to no truth-teller at
all. A table cut off there would protect nobody. The far ends on the other side (f below its bulk, g above it) are left
out: that is a larger minimum or a smaller maximum, which costs no privacy and moves the law by less than 2^-50.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import code_dtype
from deniable.core.kernels import kernel
from deniable.core.randomness import Randomness, Words, blocks, draw
from deniable.core.thresholds import SCALE
from deniable.dealt.quota.law import quota_law

_TOP_BITS = 192
_START_BITS = 96
_FLOOR = 1 << 32
_LN2 = math.log(2)
_GUIDE_BITS = 10


def integer_below(rng: Randomness, bound: int) -> int:
    """Return an integer exactly uniform on {0, ..., bound-1}, of any size, by rejection."""
    bits = bound.bit_length()
    size = -(-bits // 64)
    while True:
        value = int.from_bytes(draw(rng, size).tobytes(), "little") >> (64 * size - bits)
        if value < bound:
            return value


@dataclass(frozen=True)
class QuotaTables:
    """Integer weights of the law for n contributors.

    `quota[i]` is f(first + i); f keeps its last value from there up to `last`, and is 0 below `first`. `truth[i]` is
    g(top - i); g keeps its last value from there down to 0, and is 0 above `top`.
    """

    n: int
    k: int
    first: int
    last: int
    quota: list[int]
    cumulative: list[int]
    top: int
    truth: list[int]
    largest: int

    def quota_weight(self, x: int) -> int:
        """Return f(x)."""
        if not self.first <= x <= self.last:
            return 0
        return self.quota[min(x - self.first, len(self.quota) - 1)]

    def truth_weight(self, y: int) -> int:
        """Return g(y)."""
        if not 0 <= y <= self.top:
            return 0
        return self.truth[min(self.top - y, len(self.truth) - 1)]

    @cached_property
    def total(self) -> int:
        """The sum of all weights f."""
        return self.cumulative[-1] + self.quota[-1] * (self.last - self.first + 1 - len(self.quota))

    def quota_at(self, u: int) -> int:
        """Return the count that u in 0..total-1 stands for: f(x) of these numbers stand for x."""
        beyond = u - self.cumulative[-1]
        if beyond >= 0:
            return self.first + len(self.quota) + beyond // self.quota[-1]
        return self.first + bisect_right(self.cumulative, u)

    @cached_property
    def cuts(self) -> Words:
        """Return the first 64 bits of cumulative/total, for every count but the last; at most one cut is 2^64 - 1."""
        shares = [part * SCALE // self.total for part in self.cumulative if part < self.total]
        return np.array(shares, dtype=np.uint64)

    @cached_property
    def guide(self) -> NDArray[np.int64]:
        """How many cuts lie below every word with the same leading bits: the search starts there."""
        edges = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - _GUIDE_BITS)
        return np.searchsorted(self.cuts, edges, side="left").astype(np.int64)

    def draw_quotas(self, rng: Randomness, size: int) -> NDArray[np.int64]:
        """Return independent counts int64[size], each with probability proportional to f.

        A word is the beginning of a uniform number in [0, 1). Where a cut begins with the same 64 bits, or all cuts lie
        below, more words decide (`_resolve`): the law is exact.
        """
        quotas = np.empty(size, dtype=np.int64)
        open_ended = self.cumulative[-1] < self.total
        for rows, words in blocks(rng, size):
            part = quotas[rows]
            if search_cuts(words, self.cuts, self.guide, self.first, open_ended, part):
                for i in np.flatnonzero(part < 0):
                    part[i] = self._resolve(int(words[i]), rng)
        return quotas

    def _resolve(self, number: int, rng: Randomness) -> int:
        bits = 64
        while True:
            low, high = number * self.total >> bits, ((number + 1) * self.total - 1) >> bits
            if self.quota_at(low) == self.quota_at(high):
                return self.quota_at(low)
            number, bits = number << 64 | int(draw(rng, 1)[0]), bits + 64

    def draw_counts(self, rng: Randomness) -> list[int]:
        """Return (a_0, ..., a_{k-1}, b) with probability proportional to f(a_0)...f(a_{k-1}) g(b) on sum n, exactly.

        Quotas are drawn independently; what remains is accepted with probability g(b)/max g. Quotas vary less than
        the number of truth-tellers would, so few trials are needed, but for many values.
        """
        while True:
            quotas = self.draw_quotas(rng, self.k)
            b = self.n - int(quotas.sum())
            weight = self.truth_weight(b)
            if weight and integer_below(rng, self.largest) < weight:
                return [*quotas.tolist(), b]


@kernel
def search_cuts(
    words: Words, cuts: Words, guide: NDArray[np.int64], first: int, open_ended: bool, quotas: NDArray[np.int64]
) -> np.int64:
    """Write first + the number of cuts below every word, or -1 where a word does not tell; return how many are -1."""
    undecided = np.int64(0)
    for i in range(words.shape[0]):
        word = words[i]
        place = guide[word >> np.uint64(64 - _GUIDE_BITS)]
        while place < cuts.shape[0] and cuts[place] < word:
            place += 1
        tells = not open_ended if place == cuts.shape[0] else cuts[place] != word
        quotas[i] = first + place if tells else -1
        undecided += np.int64(not tells)
    return undecided


@lru_cache(maxsize=16)
def quota_tables(n: int, k: int, minimum: int, weight: Fraction) -> QuotaTables:
    """Return the tables for n contributors, every quota >= minimum, weight R = `weight` per truth-teller."""
    # The rate cancels in the guarantee: a float is as good as any, taken exactly.
    rate = Fraction(quota_law(n, k, minimum, float(weight)).tilt)
    last = n - (k - 1) * minimum
    first, quota = quota_weights(rate, minimum, last)
    top, truth = truth_weights(rate * weight, n - k * minimum)
    return QuotaTables(n, k, first, last, quota, list(accumulate(quota)), top, truth, max(truth))


def quota_weights(rate: Fraction, minimum: int, last: int) -> tuple[int, list[int]]:
    """Return (first, weights f(first), f(first + 1), ...); the last weight holds from there up to `last`."""
    first, start = _start_of_quota(float(rate), minimum, last)
    quota = [start]
    while first + len(quota) <= last and not (quota[-1] <= _FLOOR and first + len(quota) > rate):
        quota.append(-(-quota[-1] * rate.numerator // (rate.denominator * (first + len(quota)))))
    return first, quota


def truth_weights(rate: Fraction, largest: int) -> tuple[int, list[int]]:
    """Return (top, weights g(top), g(top - 1), ...); the last weight holds from there down to 0."""
    top, start = _start_of_truth(float(rate), largest)
    truth = [start]
    while len(truth) <= top and not (truth[-1] <= _FLOOR and top - len(truth) + 1 <= rate):
        y = top - len(truth)
        truth.append(-(-truth[-1] * (y + 1) * rate.denominator // rate.numerator))
    return top, truth


def _drop(rate: float, mode: int, value: int) -> int:
    """Return about how many bits a Poisson weight lies below the weight of the mode."""
    low, high = min(mode, value), max(mode, value)
    logs = float(np.log(np.arange(low + 1, high + 1) / rate).sum())
    return round(abs(logs) / _LN2)


def _start_of_quota(rate: float, minimum: int, last: int) -> tuple[int, int]:
    mode = min(max(int(rate), minimum), last)
    reach = int(math.sqrt(2 * _LN2 * (_TOP_BITS - _START_BITS) * max(mode, 1))) + 1
    first = max(minimum, mode - reach)
    return first, 1 << max(_START_BITS, _TOP_BITS - _drop(rate, mode, first))


def _start_of_truth(rate: float, largest: int) -> tuple[int, int]:
    mode = min(int(rate), largest)
    reach = int(math.sqrt(2 * _LN2 * (_TOP_BITS - _START_BITS) * max(mode, 1))) + 2 * (_TOP_BITS - _START_BITS)
    top = min(largest, mode + reach)
    return top, 1 << max(_START_BITS, _TOP_BITS - _drop(rate, mode, top))


def deal_types(counts: list[int], rng: Randomness) -> NDArray[Any]:
    """Return types[n] in which type t occurs counts[t] times, in exactly uniform order."""
    types = np.repeat(np.arange(len(counts), dtype=code_dtype(len(counts))), counts)
    last = len(types) - 1
    while last > 0:
        for _, words in blocks(rng, -(-last // 2)):
            last = shuffle_from(types, words, last)
    return types


@kernel
def shuffle_from(types: NDArray[Any], words: Words, last: int) -> int:
    """Fisher-Yates from position `last` < 2^32 down, half a word per attempt; return the position still to be done.

    Lemire, *Fast random integer generation in an interval* (2019): of the product of 32 bits and the bound, the upper
    half is the choice, and a lower half below 2^32 mod bound is biased: it is dropped and the position tried again.
    """
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    for w in range(words.shape[0]):
        rest = words[w]
        for _ in range(2):
            bound = np.uint64(last + 1)
            product = (rest & low) * bound
            rest >>= half
            biased = product & low
            # The remainder is less than the bound: it is looked for where it can matter.
            if last > 0 and (biased >= bound or biased >= np.uint64(1 << 32) % bound):
                other = np.int64(product >> half)
                kept = types[last]
                types[last] = types[other]
                types[other] = kept
                last -= 1
    return last
