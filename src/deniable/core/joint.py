"""How the noise of one attribute's estimated frequencies hangs together: the variance of any weighted sum of them.

A joint noise is a function (weights, f) -> variance of one report's estimate of sum_v weights[v] 1[x = v], the mean
over contributors whose frequencies are f, NaN where it is not determined; n reports have 1/n of it. `weights` and `f`
are float64[k].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
JointNoise: TypeAlias = Callable[[Floats, Floats], float]


def exchangeable(p: float, q: float, own: float, other: float) -> JointNoise:
    """Return the noise of supports of which every pair hangs together alike, in O(k).

    Parameters
    ----------
    p, q : float
        Probability that a report supports v if its contributor holds v, and if not.
    own, other : float
        Covariance of one report's supports of v and w if its contributor holds one of them, and neither.
    """
    return partial(_exchangeable, p * (1 - p), q * (1 - q), own, other, (p - q) ** 2)


def _exchangeable(
    present: float, absent: float, own: float, other: float, gain2: float, weights: Floats, f: Floats
) -> float:
    squares = weights * weights
    alone = squares @ (f * present + (1 - f) * absent)
    # sum over v != w of w_v w_w [(own - other) (f_v + f_w) + other]
    total = weights.sum()
    pairs = 2 * (own - other) * ((weights @ f) * total - squares @ f) + other * (total**2 - squares.sum())
    return float((alone + pairs) / gain2)


def one_code(p: Floats, q: Floats) -> JointNoise:
    """Return the noise of reports that are one code each, which is v with probability p_v if v is held, else q_v."""
    return partial(_one_code, np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))


def _one_code(p: Floats, q: Floats, weights: Floats, f: Floats) -> float:
    gain = p - q
    scores = weights / gain
    # Whoever holds x reports y with probability q_y + gain_y 1[x = y]: E(score) = sum_y q_y score_y + weights[x].
    mean = (q * scores).sum() + weights
    square = (q * scores * scores).sum() + f @ (gain * scores * scores)
    return float(square - f @ (mean * mean))


def mixed(noises: Sequence[JointNoise], shares: Sequence[float]) -> JointNoise:
    """Return the noise of a sum of independent estimates: that of each, `shares` times."""
    return partial(_mixed, tuple(noises), tuple(shares))


def _mixed(noises: tuple[JointNoise, ...], shares: tuple[float, ...], weights: Floats, f: Floats) -> float:
    return sum(share * noise(weights, f) for noise, share in zip(noises, shares, strict=True))
