"""Distribution of the type counts of quota randomised response: its tilt, its marginals and its moments.

A deal gives a_v contributors the type "say v" (k of these types) and b contributors the type "truth", where

    P(a_0, ..., a_{k-1}, b) ~ R^b / (a_0! ... a_{k-1}! b!)  on  a_v >= a0,  a_0 + ... + a_{k-1} + b = n.

These are independent Poisson counts with the rates (rate, ..., rate, R rate), truncated and conditioned on their sum.
This holds for every rate. The *tilt* is the rate under which the sum is n on average. All computations in this module
are one-dimensional sums or convolutions. The floats serve estimators and planning. Deals are drawn from integers
(`tables`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft

Floats = NDArray[np.float64]

_NEGLIGIBLE = -60.0
_DIRECT = 2048
_NOISE = 1e-13
_DEVIATIONS = 12


@dataclass(frozen=True)
class Window:
    """Weights of the consecutive integers start, start + 1, ...

    All weights outside the window are negligible.
    """

    start: int
    weights: Floats

    @property
    def values(self) -> NDArray[np.int64]:
        """Consecutive integers of the window."""
        return np.arange(self.start, self.start + len(self.weights))

    @property
    def mean(self) -> float:
        """Mean of the normalised weights."""
        return float(self.start + self.weights @ np.arange(float(len(self.weights))) / self.weights.sum())

    @property
    def variance(self) -> float:
        """Variance of the normalised weights."""
        return float(self.weights @ (self.values - self.mean) ** 2 / self.weights.sum())

    def at(self, values: NDArray[np.int64]) -> Floats:
        """Return the weights of any integers, which are 0 outside the window."""
        index = values - self.start
        inside = (index >= 0) & (index < len(self.weights))
        return np.where(inside, self.weights[np.clip(index, 0, len(self.weights) - 1)], 0.0)


def poisson_window(rate: float, minimum: int, maximum: int) -> Window:
    """Return the Poisson weights on minimum..maximum that exceed e^-60 relative to the largest weight."""
    mode = min(max(int(rate), minimum), maximum)
    reach = int(11 * math.sqrt(max(mode, rate))) + 130
    low, high = max(minimum, mode - reach), min(maximum, mode + reach)
    # Small logarithms are summed outwards from the mode, because log-factorials of 10^7 would lose eight digits.
    up = np.cumsum(np.log(rate / np.arange(mode + 1, high + 1)))
    down = np.cumsum(np.log(np.arange(mode, low, -1) / rate))
    logs = np.concatenate([down[::-1], [0.0], up])
    kept = np.flatnonzero(logs - logs.max() > _NEGLIGIBLE)
    return Window(low + int(kept[0]), np.exp(logs[kept[0] : kept[-1] + 1] - logs.max()))


def sum_of(parts: list[tuple[Window, int]]) -> Window:
    """Return the distribution of a sum of independent counts, each window repeated as often as it says."""
    start = sum(window.start * times for window, times in parts)
    length = 1 + sum((len(window.weights) - 1) * times for window, times in parts)
    if length <= _DIRECT:
        weights = np.ones(1)
        for window, times in parts:
            for _ in range(times):
                weights = np.convolve(weights, window.weights / window.weights.sum())
        return Window(start, weights)
    # The sum of many counts stays within a few standard deviations, so a shorter, cyclic convolution has room for it.
    mean = sum((window.mean - window.start) * times for window, times in parts)
    spread = math.sqrt(sum(window.variance * times for window, times in parts))
    room = max(2 * int(_DEVIATIONS * spread) + 512, *(len(window.weights) for window, _ in parts))
    first = max(0, int(mean) - room // 2) if 2 * room < length else 0
    size = fft.next_fast_len(room if first else length, real=True)
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    for window, times in parts:
        transform *= fft.rfft(window.weights / window.weights.sum(), size) ** times
    weights = np.roll(fft.irfft(transform, size), -(first % size))[: room if first else length]
    # The transform's rounding is uniform noise, which a second moment would magnify.
    return Window(start + first, np.where(weights > _NOISE * weights.max(), weights, 0.0))


@dataclass(frozen=True)
class Moments:
    """Means, variances and covariance of one quota count a = #(say v) and of the count b = #(truth)."""

    a: float
    b: float
    var_a: float
    var_b: float
    cov: float


class CountLaw(ABC):
    """Distribution of type counts, which are independent, truncated below, and conditioned on their sum n.

    Attributes
    ----------
    n : int
        Number of contributors.
    """

    n: int

    @property
    @abstractmethod
    def quotas(self) -> list[tuple[Window, int]]:
        """Weights of the quota counts before conditioning, each with how often it occurs.

        The value's own quota count comes first.
        """

    @property
    @abstractmethod
    def truth(self) -> Window:
        """Weights of the number of truth-tellers before conditioning."""

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """First and second moments of a and b."""

    @cached_property
    def _others(self) -> list[tuple[Window, int]]:
        (own, times), *others = self.quotas
        return [(own, times - 1), *others] if times > 1 else others

    def given_sum(self, own: Window, others: list[tuple[Window, int]]) -> Window:
        """Return the distribution of a count, given that this count and all others sum to n."""
        weights = own.weights * sum_of(others).at(self.n - own.values)
        likely = np.flatnonzero(weights > 0)
        return Window(own.start + int(likely[0]), weights[likely[0] : likely[-1] + 1])

    @cached_property
    def a(self) -> Window:
        """Distribution of the number of those told to say the value."""
        return self.given_sum(self.quotas[0][0], [*self._others, (self.truth, 1)])

    @cached_property
    def b(self) -> Window:
        """Distribution of the number of truth-tellers."""
        return self.given_sum(self.truth, self.quotas)

    @cached_property
    def _sum_of_others(self) -> Window:
        return sum_of(self._others)

    def a_given_b(self, b: int) -> Floats:
        """Return the distribution of a on ``self.a.values``, given b."""
        values = self.a.values
        weights = self.quotas[0][0].at(values) * self._sum_of_others.at(self.n - b - values)
        given: Floats = weights / weights.sum()
        return given


@dataclass(frozen=True)
class QuotaLaw(CountLaw):
    """Distribution of the counts for n contributors, k values, every a_v >= minimum and weight R per truth-teller."""

    n: int
    k: int
    minimum: int
    weight: float

    @cached_property
    def tilt(self) -> float:
        """Rate under which the truncated Poisson counts sum to n on average."""

        def excess(rate: float) -> float:
            return self.k * self._quota_window(rate).mean + rate * self.weight - self.n

        # A count that is truncated from below exceeds its rate by at most the minimum. Truncation from above lowers it
        # again.
        low = (self.n - self.k * self.minimum) / (self.weight + self.k)
        high = self.n / (self.weight + self.k)
        if excess(low) >= 0:
            return low
        while excess(high) <= 0:
            high *= 2
        from scipy.optimize import brentq  # this import takes longer than all of this package

        return float(brentq(excess, low, high, rtol=1e-9))

    def _quota_window(self, rate: float) -> Window:
        return poisson_window(rate, self.minimum, self.n - (self.k - 1) * self.minimum)

    @cached_property
    def quotas(self) -> list[tuple[Window, int]]:
        return [(self._quota_window(self.tilt), self.k)]

    @cached_property
    def truth(self) -> Window:
        return poisson_window(self.tilt * self.weight, 0, self.n - self.k * self.minimum)

    @cached_property
    def moments(self) -> Moments:
        """First and second moments of a and b.

        The covariance follows from k a + b = n and exchangeable quotas.
        """
        b, var_b = self.b.mean, self.b.variance
        # If hardly anybody is told what to say, n - b would cancel.
        a = self.a.mean if self.n - b < 1e-3 * self.n else (self.n - b) / self.k
        return Moments(a, b, self.a.variance, var_b, -var_b / self.k)


quota_law = lru_cache(maxsize=64)(QuotaLaw)
"""The distribution, with everything that it has computed so far."""


def response_variance(law: CountLaw, truth: float, lie: float, holders: int | float, reporters: int) -> float:
    """Return Var(I_v), the variance of the number of reports v when `holders` of the `reporters` hold v.

    A truth-teller says v with probability `truth` if they hold it and `lie` if not. Without a cap, these are 1 and 0.
    The reporters are any fixed set, or any set that is chosen without looking at the types. Then the types of two
    reporters have the pair moments of the whole deal.
    """
    n, m = law.n, law.moments
    others = reporters - holders
    said, not_said = (m.a + truth * m.b) / n, (m.a + lie * m.b) / n
    pairs = n * (n - 1)
    # P(both) - P(one) P(other) is written in variances, so that nothing large cancels.
    aa = (m.var_a - m.a * (1 - m.a / n)) / pairs
    ab = (m.cov + m.a * m.b / n) / pairs
    bb = (m.var_b - m.b * (1 - m.b / n)) / pairs
    first = holders * truth + others * lie
    second = holders * truth**2 + others * lie**2
    alone = holders * said * (1 - said) + others * not_said * (1 - not_said)
    together = reporters * (reporters - 1) * aa + 2 * (reporters - 1) * first * ab + (first**2 - second) * bb
    return float(max(alone + together, 0.0))


def never_worse(n: int, k: int, weight: float, truth: float, lie: float, minimum: int) -> int:
    """Return a minimum <= `minimum` under which no frequency is estimated worse than by plain randomised response.

    The result is `minimum` itself if that is enough, and otherwise a number found by bisection. The minimum 0 *is*
    plain randomised response.
    """

    def variances(minimum: int) -> tuple[float, float, float]:
        law = QuotaLaw(n, k, minimum, weight)
        scale = law.moments.b**2
        low, middle, high = (response_variance(law, truth, lie, f * n, n) / scale for f in (0.0, 0.5, 1.0))
        return low, middle, high

    plain = variances(0)

    def fits(minimum: int) -> bool:
        low, middle, high = (v - p * (1 + 1e-12) for v, p in zip(variances(minimum), plain, strict=True))
        # Variances are quadratic in the frequency, and so is their difference: low + slope f + bend f^2.
        bend = 2 * (low - 2 * middle + high)
        slope = high - low - bend
        top = -slope / (2 * bend) if bend < 0 else 0.0
        return max(low, high, low + slope * top + bend * top**2 if 0 < top < 1 else low) <= 0

    if minimum == 0 or fits(minimum):
        return minimum
    good, bad = 0, minimum
    while bad - good > 1:
        trial = (good + bad) // 2
        good, bad = (trial, bad) if fits(trial) else (good, trial)
    return good


def best_minimum(n: int, k: int, weight: float, truth: float, lie: float, design: float) -> int:
    """Return the minimum a0 of least variance at frequency `design`, where 0 is plain randomised response."""

    @cache
    def loss(minimum: int) -> float:
        law = QuotaLaw(n, k, minimum, weight)
        return response_variance(law, truth, lie, design * n, n) / law.moments.b**2

    mean = n / (k + weight)
    high = (n - 1) // k
    low = min(max(0, int(mean - 2 * math.sqrt(mean))), high)
    return min([0, *least_nearby(loss, low, high, 16)], key=lambda minimum: (loss(minimum), minimum))


def least_nearby(loss: Callable[[int], float], low: int, high: int, steps: int) -> list[int]:
    """Return the arguments of least loss in low..high on ever finer grids of `steps` steps.

    The last grid contains every argument between its ends. The loss must fall to one minimum and rise again. So after
    each grid, only the neighbours of the best argument bound the next grid.
    """
    found: list[int] = []
    while True:
        grid = sorted({low + (high - low) * step // steps for step in range(steps + 1)})
        found.append(min(grid, key=loss))
        if len(grid) == high - low + 1:
            return found
        place = grid.index(found[-1])
        low, high = grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]
