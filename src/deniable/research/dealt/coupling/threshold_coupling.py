"""Joint distribution of the bits y = 1{U < t_x} of two peers, of whom one uses U and the other 1 - U.

Report coupling rests on this distribution. Let q <= p be the two thresholds. A uniform U says one of three things:
below q "report 1", from q to p "report the bit", and above p "report 0". This *type* is all that a contributor needs to
know about U, and all that the dealer tells. Pairs are formed at random, so types are dealt as counts in uniform order.
No record of who is paired with whom needs to exist.

A collector who reads all reports at once knows what one contributor and everybody else say together. Pairs are formed
at random and secretly. So by symmetry, an observer's view of n binary events is the contributor's own event and the
number of events among the others. That number is a sum over independent pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from deniable.core.randomness import Randomness, SimulationRandomness, Words, blocks
from deniable.core.thresholds import SCALE, EpsilonLike
from deniable.errors import out_of_range
from deniable.research.dealt.coupling.coins import checked_number
from deniable.research.dealt.coupling.parameters import pair_rate
from deniable.research.dealt.quota.law import Floats, Window

DELTA = 1e-6
"""Probability outside of the bound, in the rows that have such a probability."""

LARGEST_EPSILON = 12.0
"""Larger values are reported as infinite, because the sums below do not resolve them at `DELTA`."""

_DIRECT = 4096
_DEVIATIONS = 14


def pair_sums(pair: Sequence[float], pairs: int) -> Window:
    """Return the distribution of the sum of `pairs` independent numbers in {0, 1, 2} with probabilities `pair`."""
    mean = pair[1] + 2 * pair[2]
    deviation = math.sqrt(max(pairs * (pair[1] + 4 * pair[2] - mean**2), 0.0))
    start, length = 0, 2 * pairs + 1
    if length > _DIRECT:
        reach = int(_DEVIATIONS * deviation) + 64
        start = max(0, int(pairs * mean) - reach)
        length = min(2 * reach + 1, 2 * pairs + 1 - start)
    # These are values of the characteristic function at the length-th roots of unity. Everything outside of the window
    # is negligible.
    root = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length)
    circular = fft.irfft((pair[0] + root * (pair[1] + root * pair[2])) ** pairs, length)
    return Window(start, np.maximum(np.roll(circular, -(start % length)), 0.0))


@dataclass(frozen=True)
class PairView:
    """View of an observer under two answers of one contributor, when all n contributors report.

    Parameters
    ----------
    n : int
        Number of contributors. If it is odd, one at random is unpaired.
    own : float64[2, outcomes, 2]
        P(own outcome, event of the peer | answer) for a paired contributor.
    alone : float64[2, outcomes]
        P(own outcome | answer) for the unpaired contributor.
    pair : three floats
        Distribution of the number of events in a pair of others.
    single : float
        Probability of the event for another contributor who is unpaired.
    """

    n: int
    own: Floats
    alone: Floats
    pair: tuple[float, float, float]
    single: float

    @cached_property
    def joint(self) -> Floats:
        """Return P(own outcome, number of events among the others | answer), float64[2, outcomes, numbers]."""
        pairs = self.n // 2
        others = pair_sums(self.pair, pairs - 1)
        if self.n % 2 == 0:
            return self._convolved(self.own, others)
        with_single = Window(others.start, np.convolve(others.weights, [1 - self.single, self.single]))
        paired = self._convolved(self.own, with_single)
        all_pairs = pair_sums(self.pair, pairs)
        values = np.arange(with_single.start, with_single.start + paired.shape[2])
        unpaired = self.alone[:, :, None] * all_pairs.at(values)[None, None, :]
        return paired * ((self.n - 1) / self.n) + unpaired / self.n

    @staticmethod
    def _convolved(own: Floats, others: Window) -> Floats:
        width = len(others.weights)
        result = np.zeros((*own.shape[:2], width + 1))
        result[:, :, :width] += own[:, :, :1] * others.weights
        result[:, :, 1:] += own[:, :, 1:] * others.weights
        return result

    def divergence(self, epsilon: float, first: int = 0) -> float:
        """Return the hockey-stick divergence of answer `first` from the other answer.

        It is the least delta for this epsilon.
        """
        return float(np.maximum(self.joint[first] - math.exp(epsilon) * self.joint[1 - first], 0.0).sum())

    def epsilon_at(self, delta: float = DELTA, directions: Sequence[int] = (0, 1)) -> float:
        """Return the least epsilon whose divergence is at most delta in the given directions, rounded up by 1e-6."""
        low, high = 0.0, LARGEST_EPSILON
        if any(self.divergence(high, first) > delta for first in directions):
            return math.inf
        while high - low > 1e-6:
            middle = (low + high) / 2
            if any(self.divergence(middle, first) > delta for first in directions):
                low = middle
            else:
                high = middle
        return high


SAY_0, SAY_1, TRUTH = 0, 1, 2
"""Types, numbered as in a quota deal over two values."""


def checked_weight(value: EpsilonLike) -> float | Fraction:
    """Return the share of coupled pairs, or raise an error unless it is in [0, 1]."""
    weight = checked_number(value, "weight")
    if not 0 <= weight <= 1:
        raise out_of_range("weight", "in [0, 1]", value)
    return weight


@dataclass(frozen=True)
class ThresholdCoupling:
    """Thresholds and weight of report coupling, as integers over 2^64.

    The thresholds q and p are the probabilities of reporting 1 for the bits 0 and 1. The weight is the probability that
    a peer uses 1 - U rather than a fresh U.
    """

    q: int
    p: int
    weight: int = SCALE

    @property
    def shares(self) -> NDArray[Any]:
        """P(type), as Fractions of shape (3,)."""
        law: NDArray[Any] = np.array([SCALE - self.p, self.q, self.p - self.q], dtype=object) * Fraction(1, SCALE)
        return law

    @cached_property
    def pairs(self) -> NDArray[Any]:
        """P(type, peer's type), as Fractions of shape (3, 3)."""
        intervals = {SAY_1: (0, self.q), TRUTH: (self.q, self.p), SAY_0: (self.p, SCALE)}
        mirrored = {t: (SCALE - high, SCALE - low) for t, (low, high) in intervals.items()}
        overlap = [
            [max(0, min(a[1], b[1]) - max(a[0], b[0])) for b in (mirrored[t] for t in range(3))]
            for a in (intervals[t] for t in range(3))
        ]
        weight, shares = Fraction(self.weight, SCALE), self.shares
        result: NDArray[Any] = np.array(overlap, dtype=object) * (weight / SCALE)
        result += (1 - weight) * np.outer(shares, shares)
        return result

    # ------------------------------------------------------------ dealer

    def draw_counts(self, n: int, rng: Randomness) -> list[int]:
        """Return how many contributors are told each type, drawn exactly by the dealer."""
        below = np.zeros(2, dtype=np.int64)
        pairs = n // 2
        if self.weight == SCALE:
            for _, words in blocks(rng, pairs):
                self._count(words, below)
                self._count(~words, below)
        else:
            for _, words in blocks(rng, pairs, 3):
                coupled = words[:, 2] < np.uint64(self.weight)
                self._count(words[:, 0], below)
                self._count(np.where(coupled, ~words[:, 0], words[:, 1]), below)
        if n % 2:
            for _, words in blocks(rng, 1):
                self._count(words, below)
        q, p = below.tolist()
        return [n - p, q, p - q]

    def _count(self, words: Words, below: NDArray[np.int64]) -> None:
        for i, threshold in enumerate((self.q, self.p)):
            below[i] += np.count_nonzero(words < np.uint64(threshold))

    def simulate_counts(self, n: int, size: int, rng: SimulationRandomness) -> NDArray[np.int64]:
        """Return the counts of `draw_counts` for `size` deals, int64[size, 3], drawn from binomials."""
        table = self.pairs.astype(np.float64)
        kinds = rng.generator.multinomial(n // 2, table.reshape(-1), size=size).reshape(size, 3, 3)
        counts: NDArray[np.int64] = kinds.sum(axis=1) + kinds.sum(axis=2)
        return counts + rng.generator.multinomial(n % 2, self.shares.astype(np.float64), size=size)

    # ------------------------------------------------------------ analyst

    def covariance(self, x: int, other: int) -> Fraction:
        """Covariance between the reports of two peers who hold the bits x and other."""
        t, u = (Fraction(self.p if bit else self.q, SCALE) for bit in (x, other))
        return Fraction(self.weight, SCALE) * (max(Fraction(0), t + u - 1) - t * u)

    def count_variance(self, holders: float, reporters: float, n: int) -> float:
        """Variance of the number of ones among `reporters` of n contributors, of whom `holders` hold 1."""
        p, q, others = self.p / SCALE, self.q / SCALE, reporters - holders
        pairs = (
            holders * (holders - 1) * float(self.covariance(1, 1))
            + 2 * holders * others * float(self.covariance(1, 0))
            + others * (others - 1) * float(self.covariance(0, 0))
        )
        # Two coupled contributors who differ have no variance, and rounding must not make it negative.
        return max(holders * p * (1 - p) + others * q * (1 - q) + float(pair_rate(n)) * pairs, 0.0)

    # ------------------------------------------------------------ views

    def view(self, n: int, theta: float) -> PairView:
        """Return the view of one contributor's bit in all reports, if the others hold 1 with probability theta.

        The two answers are 1 and 0, in this order.
        """
        says = np.zeros((2, 3))  # says[x, type] is the report
        says[:, SAY_1] = 1
        says[1, TRUTH] = 1
        table = self.pairs.astype(np.float64)
        one = (1 - theta) * says[0] + theta * says[1]
        ones = np.array([1 - one, one])  # P(peer's report | peer's type)
        own = np.array(
            [
                [[((1 - row if y == 0 else row) @ table @ ones[b]) for b in (0, 1)] for y in (0, 1)]
                for row in (says[1], says[0])
            ]
        )
        alone = np.array([[1 - t, t] for t in (self.p / SCALE, self.q / SCALE)])
        both, neither = float(ones[1] @ table @ ones[1]), float(ones[0] @ table @ ones[0])
        single = theta * self.p / SCALE + (1 - theta) * self.q / SCALE
        return PairView(n, own, alone, (neither, 1 - both - neither, both), single)
