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
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import code_dtype
from deniable.core.kernels import kernel
from deniable.core.randomness import Randomness, Words, blocks, draw
from deniable.dealt.quota.law import quota_law

_TOP_BITS = 192
_START_BITS = 96
_FLOOR = 1 << 32
_LN2 = math.log(2)


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

    def draw_quota(self, rng: Randomness) -> int:
        """Return one count with probability proportional to f."""
        listed, floor = self.cumulative[-1], self.quota[-1]
        u = integer_below(rng, listed + floor * (self.last - self.first + 1 - len(self.quota)))
        if u >= listed:
            return self.first + len(self.quota) + (u - listed) // floor
        return self.first + bisect_right(self.cumulative, u)

    def draw_counts(self, rng: Randomness) -> list[int]:
        """Return (a_0, ..., a_{k-1}, b) with probability proportional to f(a_0)...f(a_{k-1}) g(b) on sum n, exactly.

        Quotas are drawn independently; what remains is accepted with probability g(b)/max g. Quotas vary less than
        the number of truth-tellers would, so few trials are needed.
        """
        while True:
            counts = [self.draw_quota(rng) for _ in range(self.k)]
            b = self.n - sum(counts)
            if integer_below(rng, self.largest) < self.truth_weight(b):
                return [*counts, b]


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
        for _, words in blocks(rng, last):
            last = shuffle_from(types, words, last)
    return types


@kernel
def shuffle_from(types: NDArray[Any], words: Words, last: int) -> int:
    """Fisher-Yates from position `last` down, one word per attempt; return the position still to be done."""
    for w in range(words.shape[0]):
        if last <= 0:
            break
        bound = np.uint64(last + 1)
        # Quotients >= bound belong to the incomplete last interval: the word is dropped and the position tried again.
        chosen = words[w] // (np.uint64(0xFFFFFFFFFFFFFFFF) // bound)
        if chosen < bound:
            other = np.int64(chosen)
            kept = types[last]
            types[last] = types[other]
            types[other] = kept
            last -= 1
    return last
