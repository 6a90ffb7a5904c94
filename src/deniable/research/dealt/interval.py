"""Intervals of dealt mechanisms, from the distribution of the number of reports that support a value.

Dealt reports are dependent, so their number of supports is not a sum of independent terms (`core.support_counts`). But
its distribution is known, given how many people hold the value, and also if these people were drawn from a population.
The interval contains all numbers of holders, or all frequencies in the population, for which neither tail is rarer than
stated.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from deniable.core.checks import Floats, Target
from deniable.core.support_counts import FEW, Counts
from deniable.research.dealt.estimate import Variance, quadratic, score_bounds

_TRIED = 128
"""Numbers of holders, and of frequencies, that are all tried if more holders may mean fewer supports."""

_STEEP = 40.0
_ROUNDING = 1e-9


class SupportLaw(ABC):
    """Distribution of the number of reports that support one value.

    It is hashable, because results are cached.

    Attributes
    ----------
    reporters : int
        Number of reports that can support the value.
    among : int
        Number of people among whom the holders are counted: the reporters, or more people from whom they were drawn.
    ordered : bool
        True if more holders never make it likelier that the number of supports stays below any given number.
    cut_off : bool
        True if a quota cuts the distribution off, so that it is not nearly normal, however large its variance is.
    """

    reporters: int
    among: int
    ordered: bool
    cut_off: bool

    @abstractmethod
    def at_most(self, count: int, holders: int) -> float:
        """Return P(supports <= count) if `holders` of the `among` people hold the value."""

    @abstractmethod
    def at_most_drawn(self, count: int, frequency: float) -> float:
        """Return P(supports <= count) if the reporters were drawn from a population with this frequency."""


def few(variance: Variance, step: float, *, cut_off: bool = False) -> bool:
    """Return True if the distribution itself must be inverted, by one rule for all dealt mechanisms and both targets.

    Supports vary by mistaken reports and, for the population, also by the number of holders. If both are expected to be
    few, the number of supports is far from normal. It is taken to be normal if mistakes alone have a variance of at
    least `FEW` supports, whatever the number of holders, so also without any holder. It is never taken to be normal if
    a quota cuts it off.

    Parameters
    ----------
    variance : callable
        Function from f to the exact variance of an estimated frequency among the reporters, quadratic in f.
    step : float
        Amount that one support adds to the estimated frequency.
    cut_off : bool
        True if the number of supports is cut off at a quota.
    """
    _, slope, curvature = quadratic(variance)
    turn = min(max(-slope / (2 * curvature), 0.0), 1.0) if curvature > 0 else 0.0
    return cut_off or min(variance(f) for f in (0.0, turn, 1.0)) < FEW * step**2


def bounds(
    law: SupportLaw,
    counts: Counts,
    frequencies: Floats,
    variance: Variance,
    step: float,
    tail: float,
    target: Target,
) -> tuple[Floats, Floats]:
    """Return bounds of the share of holders, each float64[k] and missed with probability at most about `tail`.

    If `few` is true, the bounds are in [0, 1] and invert the distribution. Otherwise they are `wide_score_bounds`.

    Parameters
    ----------
    law : SupportLaw
        Distribution of the number of supports.
    counts : int64[k]
        Number of reports that support each value.
    frequencies : float64[k]
        Estimated frequencies among the reporters.
    variance, step
        Arguments of `few`.
    tail : float
        Probability in (0, 1/2).
    target : {"contributors", "population"}
        People whose share of holders the bounds are about.
    """
    if not few(variance, step, cut_off=law.cut_off):
        return wide_score_bounds(frequencies, law.reporters, variance, step, tail, target)
    starts = np.clip(frequencies, 0.0, 1.0)
    if not law.ordered:
        # If the variance falls towards 0 and 1, the nearest frequency need not be the least unlikely one.
        grid = np.linspace(0.0, 1.0, 2 * _TRIED + 1)
        spread = np.array([variance(f) for f in grid.tolist()]) + np.finfo(float).tiny
        starts = grid[((frequencies[:, None] - grid) ** 2 / spread).argmin(axis=1)]
    near = zip(counts.tolist(), starts.tolist(), strict=True)
    if target == "contributors":
        found = [holder_bounds(law, count, f, math.sqrt(variance(f)), tail) for count, f in near]
    else:
        found = [population_bounds(law, count, f, tail) for count, f in near]
    lower, upper = np.array(found).T
    return lower, upper


def wide_score_bounds(
    frequencies: Floats, reporters: int, variance: Variance, step: float, tail: float, target: Target
) -> tuple[Floats, Floats]:
    """Return score bounds with the exact variance, wider by half a step on either side.

    The parameters are those of `bounds`.
    """
    bend = quadratic(variance)[2]

    def drawn(f: float) -> float:
        # The variance among reporters is quadratic in their frequency, which varies about f.
        return variance(f) + (1 + bend) * f * (1 - f) / reporters

    lower, upper = score_bounds(frequencies, variance if target == "contributors" else drawn, tail)
    return lower - step / 2, upper + step / 2


@lru_cache(maxsize=4096)
def holder_bounds(law: SupportLaw, count: int, start: float, deviation: float, tail: float) -> tuple[float, float]:
    """Return the least and the largest share of holders for which each tail has a probability above `tail`."""
    n = law.among
    if not law.ordered and n <= _TRIED:
        tails = [min(1 - law.at_most(count - 1, m), law.at_most(count, m), tail) for m in range(n + 1)]
        best = max(tails)
        return tails.index(best) / n, (n - tails[::-1].index(best)) / n

    def ends(tail_of: Callable[[int], float], middle: float) -> int:
        # Without order, the tail may fall again beyond the estimate, and may rise and fall with every second holder.
        limit = n if law.ordered else math.ceil(middle)
        near = tail_of if law.ordered else (lambda m: max(tail_of(m), tail_of(min(m + 1, n))))
        return _least(near, limit, tail, middle + deviation * n * _quantile(tail), deviation * n)

    lower = ends(lambda m: 1 - law.at_most(count - 1, m), start * n)
    upper = n - ends(lambda others: law.at_most(count, n - others), n - start * n)
    return min(lower, upper) / n, max(lower, upper) / n


def _least(probability: Callable[[int], float], limit: int, tail: float, start: float, deviation: float) -> int:
    """Return the least x in 0..limit whose probability is above the tail, or the limit if there is none.

    The probability must grow with x. The search uses secants in normal quantiles, from `start`, because distributions
    like these are nearly straight in them. It halves the range where the secants do not help.
    """
    low, high, aim = 0, limit, _quantile(tail)
    known: list[tuple[int, float]] = []
    guess = math.floor(start)
    while low < high:
        guess = min(max(guess, low), high - 1)
        value = probability(guess)
        known.append((guess, _quantile(value)))
        if value > tail:
            high = guess
        else:
            low = guess + 1
        (x0, y0), (x1, y1) = known[-2:] if len(known) > 1 else ((guess - deviation, known[0][1] - 1), known[0])
        straight = math.isfinite(y0) and math.isfinite(y1) and y0 != y1 and len(known) % 8
        guess = math.floor(x1 + (aim - y1) * (x1 - x0) / (y1 - y0)) if straight else (low + high) // 2
    return low


def _quantile(probability: float) -> float:
    """Return a normal quantile, which is infinite for 0 and 1, and for values outside [0, 1] that rounding produced."""
    if 0 < probability < 1:
        return NormalDist().inv_cdf(probability)
    return math.copysign(math.inf, probability - 0.5)


@lru_cache(maxsize=4096)
def population_bounds(law: SupportLaw, count: int, start: float, tail: float) -> tuple[float, float]:
    """Return the least and the largest frequency in the population, by the rule of `holder_bounds`."""

    def at_least(f: float) -> float:
        return 1 - law.at_most_drawn(count - 1, f)

    def at_most(f: float) -> float:
        return law.at_most_drawn(count, f)

    if law.ordered or law.reporters > _TRIED:
        # As in the search for holders, without order the search goes outwards from the estimate.
        inner = (1.0, 0.0) if law.ordered else (start, start)
        ends = _crossing(at_least, 0.0, inner[0], tail), _crossing(at_most, 1.0, inner[1], tail)
        return min(ends), max(ends)
    grid = np.linspace(0.0, 1.0, 2 * _TRIED + 1).tolist()
    kept = [min(at_least(f), at_most(f)) > tail for f in grid]
    if not any(kept):
        return start, start
    first, last = kept.index(True), len(kept) - 1 - kept[::-1].index(True)

    def both(f: float) -> float:
        return min(at_least(f), at_most(f))

    lower = _crossing(both, grid[max(first - 1, 0)], grid[first], tail)
    return lower, _crossing(both, grid[min(last + 1, len(grid) - 1)], grid[last], tail)


def _crossing(probability: Callable[[float], float], outer: float, inner: float, tail: float) -> float:
    """Return the point, from `outer` towards `inner`, from which the probability exceeds the tail.

    If the probability exceeds the tail everywhere or nowhere, the result is an end.
    """
    aim = _quantile(tail)

    def excess(f: float) -> float:
        value = _quantile(probability(f))
        return min(max(value, -_STEEP), _STEEP) - aim

    if excess(outer) > 0:
        return outer
    if excess(inner) <= 0:
        return inner
    from scipy import optimize  # this import takes longer than all of this package

    found = float(optimize.brentq(excess, outer, inner, xtol=_ROUNDING))
    return min(max(found + math.copysign(2 * _ROUNDING, outer - inner), 0.0), 1.0)
