"""The law of what the collector sees of one contributor: their own truth coin beside all other reports.

The other reports are exchangeable, so their number of ones says all that they say. With everybody else's data known it
is the number of their lies, which is the law with base rate one: whatever the data, a report is turned into "truth" or
"lie" by who knows them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from deniable.research.dealt.coupling.coins import Coin

Floats = NDArray[np.float64]

_DIRECT_PRODUCTS = 1 << 27


def binomial_law(trials: int, probability: float) -> tuple[int, Floats]:
    """Return (first, weights) of a binomial law, without tails of together less than 1e-30."""
    if trials == 0 or probability in (0.0, 1.0):
        return (trials if probability == 1.0 else 0), np.ones(1)
    mode = min(int((trials + 1) * probability), trials)
    reach = math.ceil(13 * math.sqrt(trials * probability * (1 - probability))) + 40
    low, high = max(0, mode - reach), min(trials, mode + reach)
    x = np.arange(low, high)
    logs = np.concatenate([[0.0], np.cumsum(np.log((trials - x) / (x + 1) * (probability / (1 - probability))))])
    weights = np.exp(logs - logs.max())
    return low, weights / weights.sum()


def _convolved(one: Floats, other: Floats) -> Floats:
    if len(one) * len(other) <= _DIRECT_PRODUCTS:
        return np.convolve(one, other)
    # Beyond some 10^6 contributors: absolute errors near 1e-16, far below any delta that is asked for.
    length = len(one) + len(other) - 1
    size = fft.next_fast_len(length, real=True)
    return np.maximum(fft.irfft(fft.rfft(one, size) * fft.rfft(other, size), size)[:length], 0.0)


def coin_beside_reports(coin: Coin, n: int, theta: float) -> tuple[Floats, Floats]:
    """Return P(true report, s ones among the other n-1) and P(lie, s ones), each over the same values of s.

    The others' data are drawn independently, one with probability theta.
    """
    lies = [float(coin.lie_plus), float(coin.lie_minus), float(coin.q)]
    plus, minus, unpaired = (theta * (1 - lie) + (1 - theta) * lie for lie in lies)
    half = n // 2
    rest = _convolved(binomial_law(half - 1, plus)[1], binomial_law(half - 1, minus)[1])

    def beside(*ones: float) -> Floats:
        law = rest
        for one in ones:
            law = np.convolve(law, [1 - one, one])
        return law

    if n % 2 == 0:
        laws = [(0.5, lies[0], beside(minus)), (0.5, lies[1], beside(plus))]
    else:
        laws = [
            (half / n, lies[0], beside(minus, unpaired)),
            (half / n, lies[1], beside(plus, unpaired)),
            (1 / n, lies[2], beside(plus, minus)),
        ]
    truth: Floats = np.sum([share * (1 - lie) * law for share, lie, law in laws], axis=0)
    lie_: Floats = np.sum([share * lie * law for share, lie, law in laws], axis=0)
    return truth, lie_


def delta_at(truth: Floats, lie: Floats, epsilon: float) -> float:
    """Return the hockey-stick divergence between answers 1 and 0 of that view: a one is the truth of 1, a lie of 0."""
    ratio = math.exp(epsilon)
    return float(np.maximum(truth - ratio * lie, 0.0).sum() + np.maximum(lie - ratio * truth, 0.0).sum())


def epsilon_at(truth: Floats, lie: Floats, delta: float) -> float:
    """Return the least epsilon whose hockey-stick divergence is at most delta, rounded up; or infinity."""
    low, high = 0.0, 600.0
    if delta_at(truth, lie, high) > delta:
        return math.inf
    if delta_at(truth, lie, low) <= delta:
        return 0.0
    while high - low > 1e-13 * max(1.0, high):
        middle = (low + high) / 2
        if delta_at(truth, lie, middle) > delta:
            low = middle
        else:
            high = middle
    return high
