"""Counts with a known distribution behind an estimate, and the influence of one crafted report.

Among n independent reports, C(v) support the value v. Each report supports v with probability p if its contributor
holds v, and with probability q < p if not. With m holders among n contributors, C(v) is therefore a sum of two
independent binomials,

    C(v) ~ Binomial(m, p) + Binomial(n - m, q),

which grows with m. The interval for m / n consists of all m for which neither P(C <= c) nor P(C >= c) is as small as
`tail`. It misses the truth with probability at most 2 `tail`, whatever m is. If the n contributors are themselves drawn
from a population, C(v) is one Binomial(n, pf + q(1 - f)), and this is Clopper and Pearson's interval (1934).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Target, settle

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Probability = float | Fraction

FEW = 25.0
"""Expected mistakes below which a count is not normal: Poisson(25) puts all but .055 on its score interval."""

_CELLS = 1 << 20
"""Most numbers in one temporary array."""


class Influence(NamedTuple):
    """Influence of one crafted report on the estimated frequency of some targets together.

    Attributes
    ----------
    up : float
        Largest change times n: one report adds at most `up`/n to the estimate from n reports.
    down : float
        Smallest change times n: one report adds at least `down`/n. It is at most 0, except if every report must support
        a target.
    """

    up: float
    down: float


@dataclass(frozen=True, eq=False)
class SupportCounts:
    """Counts behind an estimate in which reports support v independently, so that the counts' distribution is known.

    Parameters
    ----------
    counts : int64[k]
        Number of reports that support each value.
    n : int
        Number of reports.
    p, q : float64 or float64[k]
        Probability that a report supports v if its contributor holds v (p), and if the contributor holds any other
        value (q).
    sizes : (int, int), optional
        Smallest and largest number of values that one report can support, whoever made it. By default 0 and all of
        them.
    k : int, optional
        Number of all values. By default, the number of counts.
    """

    counts: NDArray[np.int64]
    n: int
    p: Floats
    q: Floats
    sizes: tuple[int, int] | None = None
    k: int = -1

    def __post_init__(self) -> None:
        if self.k < 0:
            settle(self, k=len(self.counts))
        if self.sizes is None:
            settle(self, sizes=(0, self.k))

    @property
    def one_each(self) -> bool:
        """Return whether every report supports exactly one value, with the same probabilities for all values."""
        return self.sizes == (1, 1) and self.p.ndim == self.q.ndim == 0

    def pooled(self, codes: NDArray[np.intp]) -> SupportCounts:
        """Return the pooled count of reports of any of these values, for reports that support `one_each`."""
        p, q, s = float(self.p), float(self.q), len(codes)
        total = self.counts[codes].sum(keepdims=True)
        return SupportCounts(
            total, self.n, np.asarray(min(p + (s - 1) * q, 1.0)), np.asarray(s * q), self.sizes, self.k
        )

    def without(self, malicious: int) -> tuple[SupportCounts, SupportCounts]:
        """Return the smallest and largest counts of the honest reports, if this many reports are malicious."""
        honest = self.n - malicious
        least, most = np.maximum(self.counts - malicious, 0), np.minimum(self.counts, honest)
        return replace(self, counts=least, n=honest), replace(self, counts=most, n=honest)

    def bounds(self, tail: float, target: Target) -> tuple[Floats, Floats]:
        """Return exact bounds, each float64[k]. They are NaN where at least `FEW` mistaken reports are expected."""
        few = np.broadcast_to(self.n * np.minimum(self.q, 1 - self.p) < FEW, self.counts.shape)
        lower, upper = np.full((2, len(few)), np.nan)
        if few.any():
            exact = of_contributors if target == "contributors" else of_population
            p, q = (np.broadcast_to(share, few.shape)[few] for share in (self.p, self.q))
            # If a million categories share p and q, most of them have one of a few counts. So each count is computed
            # once.
            alike = self.p.ndim == self.q.ndim == 0
            _, first, which = np.unique(
                self.counts[few] if alike else np.arange(len(p)), return_index=True, return_inverse=True
            )
            found = exact(self.counts[few][first], self.n, p[first], q[first], tail)
            lower[few], upper[few] = (bound[which] for bound in found)
        return lower, upper

    def of(self, codes: NDArray[np.int64]) -> SupportCounts:
        """Return the counts of chosen categories."""
        p, q = (share if share.ndim == 0 else share[codes] for share in (self.p, self.q))
        return replace(self, counts=self.counts[codes], p=p, q=q)


def influence(targets: int, k: int, sizes: tuple[int, int], p: Probability, q: Probability) -> Influence:
    """Return the influence of one crafted report on the total frequency of `targets` of the k values.

    Cao, Jia, Gong, *Data poisoning attacks to local differential privacy protocols* (2021), describe the maximal gain
    attack, which is the upper end: ((targets it can support) - targets q)/(p - q).

    Parameters
    ----------
    targets, k : int
        Number of targets, and number of values.
    sizes : (int, int)
        Smallest and largest number of values that a report supports.
    p, q : float or Fraction
        Probabilities of support.

    Examples
    --------
    A report that supports one of four values, two of which are targets:

    >>> [round(end, 3) for end in influence(2, 4, (1, 1), Fraction(1, 2), Fraction(1, 6))]
    [2.0, -1.0]
    """
    gain, expected = float(p - q), targets * float(q)
    least, most = sizes
    return Influence((min(targets, most) - expected) / gain, (max(0, least - (k - targets)) - expected) / gain)


# ---------------------------------------------------------------- distributions of counts


def normal_quantile(tail: float) -> float:
    """Return the z that a standard normal variable exceeds with probability `tail`."""
    return -NormalDist().inv_cdf(tail)


def of_contributors(counts: Counts, n: int, p: Floats, q: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the bounds of the share of holders among these n contributors. Each fails with probability <= tail.

    Parameters
    ----------
    counts : int64[s]
        Number of reports that support each value.
    n : int
        Number of reports.
    p, q : float64[s]
        Support probabilities of the reports. The function is slow unless n q or n (1 - p) is small.
    tail : float
        At most 1/2.

    Returns
    -------
    (float64[s], float64[s])
        Bounds in [0, 1], from the smallest and the largest number of holders that is not rejected. If all numbers are
        rejected, because even extreme shares make the count improbable, both bounds are the share at which rejection
        changes sides.

    Examples
    --------
    Two supports among three reports. Of one holder they have probability .9 (1 - .9^2) + .1^3 = .172, of three holders
    there are at most two with probability 1 - .9^3 = .271:

    >>> of_contributors(np.array([2]), 3, np.array([0.9]), np.array([0.1]), tail=0.2)
    (array([0.66666667]), array([1.]))
    """
    found = np.empty((2, len(counts)))
    rare = np.minimum(n * q, n * (1 - p))
    terms = _terms(float(rare.max(initial=0.0)))
    step = max(1, _CELLS // terms)
    for start in range(0, len(counts), step):
        part = slice(start, start + step)
        law = partial(_probability, counts=counts[part], n=n, p=p[part], q=q[part], terms=terms)
        found[:, part] = _of_part(law, len(counts[part]), n, tail)
    return found[0], found[1]


def _of_part(law: Callable[..., Floats], size: int, n: int, tail: float) -> Floats:
    # P(C >= c) grows with the number of holders and P(C <= c) falls.
    least = _first(lambda m: law(m, above=True) > tail, size, n)
    most = _first(lambda m: law(np.minimum(m + 1, n), above=False) <= tail, size, n)
    return np.array([np.minimum(least, most), np.maximum(least, most)]) / n


def of_population(counts: Counts, n: int, p: Floats, q: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the same bounds as `of_contributors` for the frequency in the population of the n reporters.

    Examples
    --------
    Without noise, Clopper and Pearson's for no success of ten.

    >>> [bound.round(4) for bound in of_population(np.array([0]), 10, np.ones(1), np.zeros(1), tail=0.025)]
    [array([0.]), array([0.3085])]
    """
    from scipy import special  # only small counts need scipy

    inner = np.clip(counts, 1, n)
    lower = np.where(counts > 0, special.betaincinv(inner, n - inner + 1, tail), 0.0)
    inner = np.clip(counts, 0, n - 1)
    upper = np.where(counts < n, special.betainccinv(inner + 1, n - inner, tail), 1.0)
    return np.clip((lower - q) / (p - q), 0.0, 1.0), np.clip((upper - q) / (p - q), 0.0, 1.0)


def _first(holds: Callable[[Counts], NDArray[np.bool_]], size: int, n: int) -> Counts:
    """Return for every entry the smallest number in 0..n at which a condition holds for good, or n if there is none."""
    low, high = np.zeros(size, dtype=np.int64), np.full(size, n, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        there = holds(middle) & (low < high)
        high = np.where(there, middle, high)
        low = np.where(there | (low >= high), low, middle + 1)
    return low


def _terms(mean: float) -> int:
    """Return a number of terms beyond which a binomial with at most this mean has probability below 1e-18."""
    return math.ceil(mean + 10 * math.sqrt(mean) + 32)


def _probability(holders: Counts, counts: Counts, n: int, p: Floats, q: Floats, terms: int, *, above: bool) -> Floats:
    """Return P(C >= count), or P(C <= count), for these numbers of holders.

    The sum is over the rarer mistakes: supports by others (q), or holders' reports that do not support (1 - p).
    """
    false = q <= 1 - p
    rare, common = np.where(false, n - holders, holders), np.where(false, holders, n - holders)
    weights = _binomial(rare, np.where(false, q, 1 - p), terms)
    mistakes = np.arange(terms)
    needed = np.where(false[:, None], counts[:, None] - mistakes, (counts - holders)[:, None] + mistakes)
    tail = _at_least if above else _at_most
    total: Floats = (weights * tail(needed, common[:, None], np.where(false, p, q)[:, None])).sum(axis=1)
    return total


def _binomial(n: Counts, p: Floats, terms: int) -> Floats:
    """Return P(X = x) for x < terms as float64[len(n), terms], computed by recursion."""
    x = np.arange(1, terms)
    ratios = np.maximum(n[:, None] - x + 1, 0) / x * (p / (1 - p))[:, None]
    first = np.exp(n * np.log1p(-p))[:, None]
    return np.hstack([first, first * np.cumprod(ratios, axis=1)])


def _at_least(x: Counts, n: Counts, p: Floats) -> Floats:
    """Return P(X >= x) for a binomial X."""
    from scipy import special

    inner = np.clip(x, 1, np.maximum(n, 1))
    return np.where(x <= 0, 1.0, np.where(x > n, 0.0, special.betainc(inner, n - inner + 1, p)))


def _at_most(x: Counts, n: Counts, p: Floats) -> Floats:
    """Return P(X <= x) for a binomial X."""
    from scipy import special

    inner = np.clip(x, 0, np.maximum(n - 1, 0))
    return np.where(x < 0, 0.0, np.where(x >= n, 1.0, special.betaincc(inner + 1, np.maximum(n - inner, 1), p)))
