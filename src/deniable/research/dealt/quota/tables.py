"""Dealing of quota types, with counts drawn from integer tables and assigned by a uniform permutation.

The guarantee rests on two ratios of the weights f of one quota count and g of the number of truth-tellers,

    f(x + 1)/f(x) >= rate/(x + 1)    and    g(y)/g(y + 1) >= (y + 1)/(rate R),

for every x and y that can occur. Poisson weights meet both with equality. The tables hold *integers* that are built
along these recurrences, f upwards and g downwards, and always rounded up. So both inequalities hold exactly for the
distribution that is implemented. Where Poisson weights would vanish, the integers stay at a small constant, down to no
truth-teller at all. A table that is cut off there would protect nobody. The far ends on the other side (f below its
bulk, g above it) are left out. Leaving them out is a larger minimum or a smaller maximum. It costs no privacy and moves
the distribution by less than 2^-50.
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
from deniable.research.dealt.quota.law import quota_law

_TOP_BITS = 192
_START_BITS = 96
_FLOOR = 1 << 32
_LN2 = math.log(2)
_GUIDE_BITS = 10


def integer_below(rng: Randomness, bound: int) -> int:
    """Return an integer of any size, exactly uniform on {0, ..., bound-1}, by rejection."""
    bits = bound.bit_length()
    size = -(-bits // 64)
    while True:
        value = int.from_bytes(draw(rng, size).tobytes(), "little") >> (64 * size - bits)
        if value < bound:
            return value


@dataclass(frozen=True, eq=False)
class QuotaWeights:
    """Integer weights f of one quota count, from `first` to `last`.

    The first weights are listed. All later weights are equal to the last listed weight.
    """

    first: int
    last: int
    listed: list[int]

    def weight(self, x: int) -> int:
        """Return f(x)."""
        return self.listed[min(x - self.first, len(self.listed) - 1)] if self.first <= x <= self.last else 0

    @cached_property
    def cumulative(self) -> list[int]:
        """Cumulative sums of the listed weights."""
        return list(accumulate(self.listed))

    @cached_property
    def total(self) -> int:
        """Sum of all weights f."""
        return self.cumulative[-1] + self.listed[-1] * (self.last - self.first + 1 - len(self.listed))

    def count_at(self, u: int) -> int:
        """Return the count that u in 0..total-1 stands for, where f(x) of these numbers stand for x."""
        beyond = u - self.cumulative[-1]
        if beyond >= 0:
            return self.first + len(self.listed) + beyond // self.listed[-1]
        return self.first + bisect_right(self.cumulative, u)

    @cached_property
    def cuts(self) -> Words:
        """Return the first 64 bits of cumulative/total, for every count but the last.

        At most one cut is 2^64 - 1.
        """
        shares = [part * SCALE // self.total for part in self.cumulative if part < self.total]
        return np.array(shares, dtype=np.uint64)

    @cached_property
    def guide(self) -> NDArray[np.int64]:
        """Return how many cuts are below every word with the same leading bits.

        The search for a word starts there.
        """
        edges = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - _GUIDE_BITS)
        return np.searchsorted(self.cuts, edges, side="left").astype(np.int64)

    def draw(self, rng: Randomness, size: int) -> NDArray[np.int64]:
        """Return independent counts int64[size], each with probability proportional to f.

        A word is the beginning of a uniform number in [0, 1). If a cut begins with the same 64 bits, or all cuts are
        below, more words decide (`_resolve`). So the distribution is exact.
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
            if self.count_at(low) == self.count_at(high):
                return self.count_at(low)
            number, bits = number << 64 | int(draw(rng, 1)[0]), bits + 64


@dataclass(frozen=True, eq=False)
class TruthWeights:
    """Integer weights g of the number of truth-tellers, from `top` down to 0.

    The first weights, from `top`, are listed. All later weights are equal to the last listed weight.
    """

    top: int
    listed: list[int]

    def weight(self, y: int) -> int:
        """Return g(y)."""
        return self.listed[min(self.top - y, len(self.listed) - 1)] if 0 <= y <= self.top else 0

    @cached_property
    def largest(self) -> int:
        """Largest weight, against which trials are accepted."""
        return max(self.listed)


@dataclass(frozen=True, eq=False)
class QuotaTables:
    """Integer weights for n contributors, for each of k quota counts and for the number of truth-tellers."""

    n: int
    k: int
    quota: QuotaWeights
    truth: TruthWeights

    def draw_counts(self, rng: Randomness) -> list[int]:
        """Return (a_0, ..., a_{k-1}, b), of sum n, with probability exactly proportional to f(a_0)...f(a_{k-1}) g(b).

        Quotas are drawn independently, and the rest b is accepted with probability g(b)/max g. Quotas vary less than
        the number of truth-tellers would. So few trials are needed, except if there are many values.
        """
        while True:
            quotas = self.quota.draw(rng, self.k)
            b = self.n - int(quotas.sum())
            weight = self.truth.weight(b)
            if weight and integer_below(rng, self.truth.largest) < weight:
                return [*quotas.tolist(), b]


@kernel
def search_cuts(
    words: Words, cuts: Words, guide: NDArray[np.int64], first: int, open_ended: bool, quotas: NDArray[np.int64]
) -> np.int64:
    """Write first + the number of cuts below every word, and return how many words do not decide.

    For a word that does not decide, -1 is written.
    """
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
    """Return the tables for n contributors, with every quota >= minimum and weight R = `weight` per truth-teller."""
    # The rate cancels in the guarantee, so a float is good enough. It is taken exactly.
    rate = Fraction(quota_law(n, k, minimum, float(weight)).tilt)
    quota = quota_weights(rate, minimum, n - (k - 1) * minimum)
    return QuotaTables(n, k, quota, truth_weights(rate * weight, n - k * minimum))


def quota_weights(rate: Fraction, minimum: int, last: int) -> QuotaWeights:
    """Return the weights of a count in minimum..last, without a negligible beginning."""
    mode = min(max(int(float(rate)), minimum), last)
    first = max(minimum, mode - _reach(mode) - 1)
    quota = [_start(rate, mode, first)]
    while first + len(quota) <= last and not (quota[-1] <= _FLOOR and first + len(quota) > rate):
        quota.append(-(-quota[-1] * rate.numerator // (rate.denominator * (first + len(quota)))))
    return QuotaWeights(first, last, quota)


def truth_weights(rate: Fraction, largest: int) -> TruthWeights:
    """Return the weights of a count in 0..largest, without a negligible upper end."""
    mode = min(int(float(rate)), largest)
    top = min(largest, mode + _reach(mode) + 2 * (_TOP_BITS - _START_BITS))
    truth = [_start(rate, mode, top)]
    while len(truth) <= top and not (truth[-1] <= _FLOOR and top - len(truth) + 1 <= rate):
        y = top - len(truth)
        truth.append(-(-truth[-1] * (y + 1) * rate.denominator // rate.numerator))
    return TruthWeights(top, truth)


def _reach(mode: int) -> int:
    """Return about how far from the mode a Poisson weight is 2^-96 of the largest weight."""
    return int(math.sqrt(2 * _LN2 * (_TOP_BITS - _START_BITS) * max(mode, 1)))


def _start(rate: Fraction, mode: int, value: int) -> int:
    """Return the first weight listed, on a scale where the weight of the mode is about 2^192."""
    low, high = min(mode, value), max(mode, value)
    logs = float(np.log(np.arange(low + 1, high + 1) / float(rate)).sum())
    return 1 << max(_START_BITS, _TOP_BITS - round(abs(logs) / _LN2))


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
    """Shuffle (Fisher-Yates) from position `last` < 2^32 down, and return the position that is still to be done.

    Each attempt uses half a word, as in Lemire, *Fast random integer generation in an interval* (2019). The product of
    32 bits and the bound is computed, and its upper half is the choice. A lower half below 2^32 mod bound is biased. So
    the choice is then dropped and the position tried again.
    """
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    for w in range(words.shape[0]):
        rest = words[w]
        for _ in range(2):
            bound = np.uint64(last + 1)
            product = (rest & low) * bound
            rest >>= half
            biased = product & low
            # The remainder is less than the bound, so it is computed only where it can matter.
            if last > 0 and (biased >= bound or biased >= np.uint64(1 << 32) % bound):
                other = np.int64(product >> half)
                kept = types[last]
                types[last] = types[other]
                types[other] = kept
                last -= 1
    return last
