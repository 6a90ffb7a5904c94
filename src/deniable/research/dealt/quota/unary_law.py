"""The law of a dealt bit: its counts of "say 1", "say 0" and "say the truth", in floats and in integers.

    P(a, c, b) ~ one^-a zero^-c / (a! c! b!)   on  a >= a0,  c >= c0,  a + c + b = n,

up to a factor: `one` and `zero` are the weights of a truth-teller relative to one contributor told "say 1" and one told
"say 0". It is the law of `law` with two quotas that differ, and is drawn from integer tables in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache

import numpy as np

from deniable.core.randomness import Randomness
from deniable.research.dealt.quota.law import CountLaw, Moments, Window, least_nearby, poisson_window, response_variance
from deniable.research.dealt.quota.tables import QuotaWeights, TruthWeights, integer_below, quota_weights, truth_weights


@dataclass(frozen=True)
class UnaryLaw(CountLaw):
    """Law of the counts of one bit for n contributors, a >= `said` ("say 1") and c >= `denied` ("say 0")."""

    n: int
    said: int
    denied: int
    one: float
    zero: float

    def _windows(self, rate: float) -> tuple[Window, Window, Window]:
        """Poisson weights of a, c and b at a rate of "say 1", before conditioning on the sum."""
        free = self.n - self.said - self.denied
        return (
            poisson_window(rate, self.said, self.n - self.denied),
            poisson_window(rate * self.one / self.zero, self.denied, self.n - self.said),
            poisson_window(rate * self.one, 0, free),
        )

    @cached_property
    def tilt(self) -> float:
        """The rate of "say 1" under which the truncated Poisson counts sum to n on average."""

        def excess(rate: float) -> float:
            # Added one by one: `sum` compensates from Python 3.12 on, and everybody's tables must be the same.
            said, denied, truth = self._windows(rate)
            return said.mean + denied.mean + truth.mean - self.n

        high = self.n / (1 + self.one / self.zero + self.one)
        low = high / 2
        while excess(low) >= 0:
            low /= 2
        while excess(high) <= 0:
            high *= 2
        from scipy.optimize import brentq  # takes longer to import than all of this package

        return float(brentq(excess, low, high, rtol=1e-9))

    @cached_property
    def _tilted(self) -> tuple[Window, Window, Window]:
        return self._windows(self.tilt)

    @property
    def quotas(self) -> list[tuple[Window, int]]:
        return [(told, 1) for told in self._tilted[:2]]

    @property
    def truth(self) -> Window:
        return self._tilted[2]

    @cached_property
    def moments(self) -> Moments:
        """First and second moments; the covariance follows from a + b = n - c."""
        one, zero, truth = self._tilted
        var_a, var_b, var_c = self.a.variance, self.b.variance, self.given_sum(zero, [(one, 1), (truth, 1)]).variance
        return Moments(self.a.mean, self.b.mean, var_a, var_b, (var_c - var_a - var_b) / 2)


unary_law = lru_cache(maxsize=64)(UnaryLaw)
"""The law, with everything it has computed so far."""


DESIGN = 0.1
"""Unary encodings are for many values, most of them rare."""


@lru_cache(maxsize=256)
def default_minima(n: int, one: float, zero: float) -> tuple[int, int]:
    """Return minima (a0, c0) for rare values under which no frequency is estimated worse than without a dealer."""

    def variances(minima: tuple[int, int]) -> list[float]:
        law = UnaryLaw(n, *minima, one, zero)
        return [response_variance(law, 1.0, 0.0, f * n, n) / law.moments.b**2 for f in np.linspace(0, 1, 41).tolist()]

    plain = variances((0, 0))
    for design in (DESIGN, 0.5):
        minima = best_minima(n, one, zero, design)
        if all(mine <= theirs for mine, theirs in zip(variances(minima), plain, strict=True)):
            return minima
    return 0, 0


@lru_cache(maxsize=256)
def best_minima(n: int, one: float, zero: float, design: float) -> tuple[int, int]:
    """Return the (a0, c0) of least variance at frequency `design`: each in turn until neither moves, two starts."""

    @cache
    def loss(said: int, denied: int) -> float:
        law = UnaryLaw(n, said, denied, one, zero)
        return response_variance(law, 1.0, 0.0, design * n, n) / law.moments.b**2

    total = 1 + one / zero + one
    means = (n / total, n * one / zero / total)

    def moved(said: int, denied: int) -> tuple[int, int]:
        said = _best(lambda x: loss(x, denied), means[0], n - 1 - denied, said)
        return said, _best(lambda x: loss(said, x), means[1], n - 1 - said, denied)

    found = [(0, 0)]
    for start in ((0, 0), (int(means[0]), int(means[1]))):
        minima, before = start, (-1, -1)
        for _ in range(6):
            if minima != before:
                minima, before = moved(*minima), minima
        found.append(minima)
    return min(found, key=lambda pair: (loss(*pair), pair))


def _best(loss: Callable[[int], float], mean: float, limit: int, current: int) -> int:
    """Return the argument of least loss near the mean of a count, or the current one."""
    spread = 4 * math.sqrt(mean) + 2
    low, high = max(0, int(mean - spread)), max(0, min(limit, int(mean + 3 * spread)))
    return min([current, *(least_nearby(loss, low, high, 8) if low < high else [])], key=loss)


@dataclass(frozen=True, eq=False)
class UnaryTables:
    """Integer weights of the law: of how many are told "say 1", how many "say 0", and how many the truth."""

    n: int
    quotas: tuple[QuotaWeights, QuotaWeights]
    truth: TruthWeights

    def draw_counts(self, rng: Randomness) -> list[int]:
        """Return (a, c, b) with probability proportional to the product of their weights, exactly."""
        while True:
            a, c = (quota.count_at(integer_below(rng, quota.total)) for quota in self.quotas)
            b = self.n - a - c
            if integer_below(rng, self.truth.largest) < self.truth.weight(b):
                return [a, c, b]


@lru_cache(maxsize=16)
def unary_tables(n: int, said: int, denied: int, one: Fraction, zero: Fraction) -> UnaryTables:
    """Return the tables for n contributors; `one` and `zero` exact, the rate a float taken exactly."""
    rate = Fraction(unary_law(n, said, denied, float(one), float(zero)).tilt)
    quotas = quota_weights(rate, said, n - denied), quota_weights(rate * one / zero, denied, n - said)
    return UnaryTables(n, quotas, truth_weights(rate * one, n - said - denied))
