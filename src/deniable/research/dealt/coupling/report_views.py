"""The collector who reads all reports at once: exact laws of what one contributor and everybody else say together.

Pairs are formed at random and secretly, so by symmetry an observer's view of n binary events is the contributor's own
and the number among the others. That number is a sum over independent pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import fft

from deniable.research.dealt.quota.law import Floats, Window

DELTA = 1e-6
"""Probability outside the bound in the rows that have one."""

LARGEST_EPSILON = 12.0
"""Values beyond are reported as infinite: the sums below do not resolve them at `DELTA`."""

_DIRECT = 4096
_DEVIATIONS = 14


def pair_sums(pair: Sequence[float], pairs: int) -> Window:
    """Return the law of the sum of `pairs` independent numbers in {0, 1, 2} with probabilities `pair`."""
    mean = pair[1] + 2 * pair[2]
    deviation = math.sqrt(max(pairs * (pair[1] + 4 * pair[2] - mean**2), 0.0))
    start, length = 0, 2 * pairs + 1
    if length > _DIRECT:
        reach = int(_DEVIATIONS * deviation) + 64
        start = max(0, int(pairs * mean) - reach)
        length = min(2 * reach + 1, 2 * pairs + 1 - start)
    # The characteristic function at the length-th roots of unity; what lies outside the window is negligible.
    root = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length)
    circular = fft.irfft((pair[0] + root * (pair[1] + root * pair[2])) ** pairs, length)
    return Window(start, np.maximum(np.roll(circular, -(start % length)), 0.0))


@dataclass(frozen=True)
class PairView:
    """What the observer sees under two answers of one contributor, all n contributors reporting.

    Parameters
    ----------
    n : int
        Number of contributors; if odd, one at random is unpaired.
    own : float64[2, outcomes, 2]
        P(own outcome, event of the peer | answer), for a paired contributor.
    alone : float64[2, outcomes]
        P(own outcome | answer), for the unpaired one.
    pair : three floats
        Law of the number of events in a pair of others.
    single : float
        Probability of the event for an unpaired other.
    """

    n: int
    own: Floats
    alone: Floats
    pair: tuple[float, float, float]
    single: float

    @cached_property
    def joint(self) -> Floats:
        """P(own outcome, number of events among the others | answer), float64[2, outcomes, numbers]."""
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
        """Return the hockey-stick divergence of answer `first` from the other: the least delta for this epsilon."""
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
