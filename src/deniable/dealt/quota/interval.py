"""Intervals of dealt quotas, from the exact law of the reports.

The number of reports v is I_v = a_v + H: those told to say v, and those told the truth who hold v. Near f = 0 it has
the law of a_v, which is cut off at the minimum and nothing like a normal: an interval must invert the law itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.dealt.quota.law import CountLaw, Floats, response_variance

_COLUMNS = 256
_NORMAL_FROM = 400.0


@dataclass(frozen=True)
class Columns:
    """The joint law of the numbers of truth-tellers and of those told to say v, on a grid of a few hundred squared.

    Parameters
    ----------
    b : int64[B]
        Numbers of truth-tellers; each stands for its neighbours too.
    weights : float64[B, A]
        P(b, a) for a on ``law.a.values``.
    centres : float64[C]
        Means of consecutive stretches of these a.
    masses : float64[B, C]
        P(b, a in the stretch).
    spread : float
        Variance within a stretch, which a smooth law is widened by.
    """

    b: NDArray[np.int64]
    weights: Floats
    centres: Floats
    masses: Floats
    spread: float


@lru_cache(maxsize=4)
def columns_of(law: CountLaw) -> Columns:
    """Return the grid of a law: every a and b where there are at most `_COLUMNS` of them."""
    step = -(-len(law.b.weights) // _COLUMNS)
    values = law.b.values[step // 2 :: step]
    # Each column stands for `step` neighbouring numbers of truth-tellers.
    padded = np.append(law.b.weights, np.zeros(-len(law.b.weights) % step))
    shares = padded.reshape(-1, step).sum(axis=1)[: len(values)]
    shares = shares / shares.sum()
    kept = shares > 1e-13
    weights = np.array([law.a_given_b(b) for b in values[kept].tolist()]) * shares[kept, None]
    likely = np.flatnonzero(weights.max(axis=0) > 1e-13)
    first, last = int(likely[0]), int(likely[-1]) + 1
    width = -(-(last - first) // _COLUMNS)
    starts = np.arange(first, last, width)
    stops = np.append(starts[1:], last)
    masses = np.add.reduceat(weights[:, :last], starts, axis=1)
    centres = law.a.values[0] + (starts + stops - 1) / 2
    return Columns(values[kept], weights, centres, masses, (width * width - 1) / 12)


def at_most(law: CountLaw, truth: float, lie: float, holders: int, count: int) -> float:
    """Return P(I_v <= count) when `holders` of the n contributors hold v and all report."""
    columns, n = columns_of(law), law.n
    theta, b = holders / n, columns.b.astype(np.float64)
    held = b * theta * (1 - theta) * (n - b) / (n - 1)
    variances = (truth - lie) ** 2 * held + b * (theta * truth * (1 - truth) + (1 - theta) * lie * (1 - lie))
    plain = (truth, lie) == (1.0, 0.0)
    smooth = variances > 0 if not plain else variances >= _NORMAL_FROM
    total = 0.0
    for row in np.flatnonzero(~smooth):
        rest = count - law.a.values
        mean = b[row] * (lie + (truth - lie) * theta)
        below = (
            _hypergeometric_at_most(rest, n, holders, int(columns.b[row]))
            if plain
            else (rest >= mean).astype(np.float64)
        )
        total += float(columns.weights[row] @ below)
    if smooth.any():
        b, variances, wide = b[smooth, None], variances[smooth, None], variances[smooth, None] + columns.spread
        z = (count - columns.centres + 0.5 - b * (lie + (truth - lie) * theta)) / np.sqrt(wide)
        below = special.ndtr(z)
        if plain:
            skewness = (n - 2 * holders) * (n - 2 * b) / (n * n) * variances / wide**1.5
            below = below - skewness * (z**2 - 1) * np.exp(-(z**2) / 2) / (6 * np.sqrt(2 * np.pi))
        total += float((columns.masses[smooth] * np.clip(below, 0.0, 1.0)).sum())
    return min(total, 1.0)


def _hypergeometric_at_most(x: NDArray[np.int64], n: int, holders: int, b: int) -> Floats:
    first, last = max(0, holders + b - n), min(holders, b)
    mode = min(max((holders + 1) * (b + 1) // (n + 2), first), last)
    # Variance below 400: what lies 20 deviations from the mode is negligible, up or down.
    low, high = max(first, mode - 500), min(last, mode + 500)
    h = np.arange(low, high)
    logs = np.concatenate([[0.0], np.cumsum(np.log((holders - h) * (b - h) / ((h + 1) * (n - holders - b + h + 1))))])
    cumulative = np.append(np.exp(logs - logs.max()).cumsum(), 0.0)
    result: Floats = cumulative[np.where(x < low, -1, np.minimum(x - low, high - low))] / cumulative[-2]
    return result


@lru_cache(maxsize=4096)
def inverted(law: CountLaw, truth: float, lie: float, count: int, tail: float) -> tuple[int, int]:
    """Return the least and the largest number of holders whose law puts more than `tail` on either side of count."""
    # P(I >= count) grows with the number of holders, P(I <= count) falls with it.
    n, slope = law.n, law.moments.b * (truth - lie) / law.n
    middle = min(max((count - law.moments.a - law.moments.b * lie) / slope, 0.0), float(n))
    deviation = math.sqrt(response_variance(law, truth, lie, middle, n)) / slope
    reach = deviation * float(special.ndtri(tail))
    lower = _least(lambda holders: 1 - at_most(law, truth, lie, holders, count - 1), n, tail, middle + reach, deviation)
    upper = n - _least(
        lambda others: at_most(law, truth, lie, n - others, count), n, tail, n - middle + reach, deviation
    )
    return min(lower, upper), max(lower, upper)


def _least(probability: Callable[[int], float], n: int, tail: float, start: float, deviation: float) -> int:
    """Return the least x in 0..n whose probability, which grows with x, is above the tail; n if none is.

    Secants in normal quantiles, in which laws like these are nearly straight, from `start`; halves where they lead
    nowhere.
    """
    low, high, aim = 0, n, float(special.ndtri(tail))
    known: list[tuple[int, float]] = []
    guess = math.floor(start)
    while low < high:
        guess = min(max(guess, low), high - 1)
        value = probability(guess)
        known.append((guess, float(special.ndtri(value))))
        if value > tail:
            high = guess
        else:
            low = guess + 1
        (x0, y0), (x1, y1) = known[-2:] if len(known) > 1 else ((guess - deviation, known[0][1] - 1), known[0])
        straight = math.isfinite(y0) and math.isfinite(y1) and y0 != y1 and len(known) % 8
        guess = math.floor(x1 + (aim - y1) * (x1 - x0) / (y1 - y0)) if straight else (low + high) // 2
    return low
