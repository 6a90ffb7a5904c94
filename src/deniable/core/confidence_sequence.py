"""Anytime-valid intervals: Robbins' confidence sequence for the probability of a count.

Among the n reports so far, C support a value, each with probability pi = q + (p - q) f. For every (a, b) the ratio

    M_n(pi) = B(a + C, b + n - C) / (B(a, b) pi^C (1 - pi)^(n - C))

is a martingale that starts at 1 under pi. So the probability that it ever reaches 1/alpha is at most alpha (Ville,
1939). The pi at which it has not reached 1/alpha form an interval. The intervals of all n hold together. Robbins,
*Statistical methods related to the law of the iterated logarithm* (1970). The prior (a, b) may depend only on
information that is public before the first report.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

_STEPS = 60
"""Number of bisections of an interval, which reach below the spacing of floats."""

_WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
"""Sizes a + b of priors that are tried."""

_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Quantiles of one category's frequency, if all frequencies are equally likely. The widths at these quantiles are
averaged."""


def bounds(
    counts: NDArray[np.int64], n: int, p: Floats, q: Floats, k: int, alpha: float, planned: int
) -> tuple[Floats, Floats]:
    """Return bounds of the population's frequencies that hold for all n together with probability 1 - alpha.

    Parameters
    ----------
    counts : int64[s]
        Number of reports that support each value.
    n : int
        Number of reports.
    p, q : float64 or float64[s]
        Probabilities that a report supports a value if its contributor holds that value (p), and if not (q).
    k : int
        Number of values.
    alpha : float
        Probability that the bounds of one value fail.
    planned : int
        Number of reports planned in advance.

    Returns
    -------
    (float64[s], float64[s])
        Lower and upper bounds, in [0, 1].

    Examples
    --------
    >>> [end.round(3) for end in bounds(np.array([60]), 100, np.array(0.75), np.array(0.25), 2, 0.05, 100)]
    [array([0.409]), array([0.969])]
    """
    p, q = (np.broadcast_to(side, counts.shape) for side in (p, q))
    lower, upper = np.empty((2, len(counts)))
    pairs, which = np.unique(np.column_stack([p, q]), axis=0, return_inverse=True)
    for place, (high, low) in enumerate(pairs.tolist()):
        own = which.ravel() == place
        prior = best_prior(high, low, k, alpha, planned)
        lower[own], upper[own] = sequence(counts[own], n, prior, alpha)
    return np.clip((lower - q) / (p - q), 0.0, 1.0), np.clip((upper - q) / (p - q), 0.0, 1.0)


def sequence(counts: NDArray[np.int64], n: int, prior: tuple[float, float], alpha: float) -> tuple[Floats, Floats]:
    """Return the smallest and the largest probability at which M_n is below 1/alpha, each float64[s]."""
    c = counts.astype(np.float64)
    level = special.betaln(prior[0] + c, prior[1] + n - c) - special.betaln(*prior) + math.log(alpha)
    best = c / n

    def inside(pi: Floats) -> NDArray[np.bool_]:
        return np.asarray(level < special.xlogy(c, pi) + special.xlog1py(n - c, -pi))

    # M is smallest at C/n, and grows on both sides.
    ends = []
    for far in (np.zeros(len(c)), np.ones(len(c))):
        near, beyond = best.copy(), far.copy()
        reached = inside(beyond)
        for _ in range(_STEPS):
            middle = (near + beyond) / 2
            within = inside(middle)
            near, beyond = np.where(within, middle, near), np.where(within, beyond, middle)
        # The end is taken on the outer side, so that rounding can only widen the interval.
        ends.append(np.where(reached, far, beyond))
    return ends[0], ends[1]


@functools.lru_cache(maxsize=256)
def best_prior(p: float, q: float, k: int, alpha: float, planned: int) -> tuple[float, float]:
    """Return the (a, b), computed from public numbers only, with the smallest mean width at the planned n.

    The planned n is the planned number of reports. The mean is over the frequency of one of k categories if all sets of
    frequencies are equally likely, which is Beta(1, k - 1). The priors tried are centred at the probability of a
    support at the mean frequency, and differ in size.
    """
    f = 1 - (1 - np.array(_SHARES)) ** (1 / max(k - 1, 1))
    counts = np.rint(planned * (q + (p - q) * f)).astype(np.int64)
    centre = q + (p - q) / k

    def width(size: float) -> float:
        lower, upper = sequence(counts, planned, (size * centre, size * (1 - centre)), alpha)
        return float((upper - lower).mean())

    size = min(_WEIGHTS, key=width)
    return size * centre, size * (1 - centre)
