"""Intervals of dealt quotas, from the exact law of the reports.

The number of reports v is I_v = a_v + H: those told to say v, and those told the truth who hold v. Near f = 0 it has
the law of a_v, which is cut off at the minimum and nothing like a normal: an interval must invert the law itself.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.dealt.quota.law import CountLaw

Floats = NDArray[np.float64]

_COLUMNS = 256
_NORMAL_FROM = 400.0


def response_tails(law: CountLaw, truth: float, lie: float, holders: int, count: int) -> tuple[float, float]:
    """Return P(I_v <= count) and P(I_v >= count) when `holders` of the n contributors hold v and all report."""
    below = _at_most(law, truth, lie, holders, count)
    return below, 1.0 - _at_most(law, truth, lie, holders, count - 1)


def _at_most(law: CountLaw, truth: float, lie: float, holders: int, count: int) -> float:
    step = -(-len(law.b.weights) // _COLUMNS)
    values = law.b.values[step // 2 :: step]
    # Each column stands for `step` neighbouring numbers of truth-tellers.
    padded = np.append(law.b.weights, np.zeros(-len(law.b.weights) % step))
    masses = padded.reshape(-1, step).sum(axis=1)[: len(values)]
    masses = masses / masses.sum()
    rest = count - law.a.values
    total = 0.0
    for b, mass in zip(values.tolist(), masses.tolist(), strict=True):
        if mass > 1e-13:
            total += mass * float(law.a_given_b(b) @ _truthful_at_most(rest, law.n, holders, b, truth, lie))
    return min(total, 1.0)


def _truthful_at_most(x: NDArray[np.int64], n: int, holders: int, b: int, truth: float, lie: float) -> Floats:
    """P(truth-tellers' reports v <= x), given their number b."""
    theta = holders / n
    held = b * theta * (1 - theta) * (n - b) / (n - 1)
    variance = (truth - lie) ** 2 * held + b * (theta * truth * (1 - truth) + (1 - theta) * lie * (1 - lie))
    if (truth, lie) == (1.0, 0.0) and variance < _NORMAL_FROM:
        return _hypergeometric_at_most(x, n, holders, b)
    mean = b * (lie + (truth - lie) * theta)
    if variance == 0:
        return (x >= mean).astype(np.float64)
    deviation = np.sqrt(variance)
    z = (x + 0.5 - mean) / deviation
    skewness = (n - 2 * holders) * (n - 2 * b) / (n * n * deviation) if (truth, lie) == (1.0, 0.0) else 0.0
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    result: Floats = np.clip(special.ndtr(z) - skewness * (z**2 - 1) * density / 6, 0.0, 1.0)
    return result


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
    low, high = 0, law.n
    while low < high:  # P(I >= count) grows with the number of holders
        middle = (low + high) // 2
        if 1 - _at_most(law, truth, lie, middle, count - 1) > tail:
            high = middle
        else:
            low = middle + 1
    lower = low
    low, high = 0, law.n
    while low < high:  # P(I <= count) falls with it
        middle = (low + high + 1) // 2
        if _at_most(law, truth, lie, middle, count) > tail:
            low = middle
        else:
            high = middle - 1
    return min(lower, low), max(lower, low)
