"""What an estimate was made from, where the law of its counts is known; and what one crafted report does to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.answer import Target

Floats = NDArray[np.float64]
Probability = float | Fraction

FEW = 25.0
"""Expected mistakes below which a count is no normal variable: Poisson(25) puts all but .055 on its score interval."""

SCARCE = 4.0
"""Expected mistakes below which sums of independent answers add up ends of intervals, not their squares.

From here on intervals of 95% of a difference, from two score intervals, cover at least .93 (enumerated: two values and
sixteen, epsilon 1 to 8, 10 to 400 contributors); with fewer mistakes down to .85.
"""


class Levers(NamedTuple):
    """What one crafted report does to the estimated frequency of some targets together.

    Attributes
    ----------
    up : float
        It moves the estimate of n reports by at most `up`/n.
    down : float
        And by at least `down`/n; `down` <= 0 but where reports must support a target.
    """

    up: float
    down: float


@dataclass(frozen=True, eq=False)
class SupportCounts:
    """What an estimate was made from, where every report supports v on its own: the law of the counts is known.

    Parameters
    ----------
    counts : int64[k]
        Number of reports that support each value.
    n : int
        Number of reports.
    p, q : float64 or float64[k]
        Probability that a report supports v if its contributor holds v, and, whatever they hold instead, if not.
    sizes : (int, int), optional
        Least and most values that one report can support, whoever made it; 0 and all of them by default.
    k : int, optional
        Number of values that there are; that of the counts by default.
    """

    counts: NDArray[np.int64]
    n: int
    p: Floats
    q: Floats
    sizes: tuple[int, int] | None = None
    k: int = -1

    def __post_init__(self) -> None:
        if self.k < 0:
            object.__setattr__(self, "k", len(self.counts))
        if self.sizes is None:
            object.__setattr__(self, "sizes", (0, self.k))

    @property
    def one_each(self) -> bool:
        """Whether every report supports exactly one value, with probabilities that are the same for all."""
        return self.sizes == (1, 1) and self.p.ndim == self.q.ndim == 0

    @property
    def scarce(self) -> bool:
        """Whether fewer than `SCARCE` reports are expected to be mistaken about some value."""
        return bool((self.n * np.minimum(self.q, 1 - self.p) < SCARCE).any())

    def pooled(self, codes: NDArray[np.intp]) -> SupportCounts:
        """Return the one count of reports of any of these values, where they support `one_each`."""
        p, q, s = float(self.p), float(self.q), len(codes)
        total = self.counts[codes].sum(keepdims=True)
        return SupportCounts(
            total, self.n, np.asarray(min(p + (s - 1) * q, 1.0)), np.asarray(s * q), self.sizes, self.k
        )

    def without(self, liars: int) -> tuple[SupportCounts, SupportCounts]:
        """Return the fewest and the most supports that the honest reports can have, if so many are liars'."""
        honest = self.n - liars
        least, most = np.maximum(self.counts - liars, 0), np.minimum(self.counts, honest)
        return replace(self, counts=least, n=honest), replace(self, counts=most, n=honest)

    def bounds(self, tail: float, target: Target) -> tuple[Floats, Floats]:
        """Return exact bounds, each float64[k]; NaN where at least `FEW` reports are expected to be mistaken."""
        few = np.broadcast_to(self.n * np.minimum(self.q, 1 - self.p) < FEW, self.counts.shape)
        lower, upper = np.full((2, len(few)), np.nan)
        if few.any():
            from deniable.core import exact_interval  # loads scipy

            exact = exact_interval.of_contributors if target == "contributors" else exact_interval.of_population
            p, q = (np.broadcast_to(share, few.shape)[few] for share in (self.p, self.q))
            # Of a million categories with one law most have one of few counts.
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


def levers(targets: int, k: int, sizes: tuple[int, int], p: Probability, q: Probability) -> Levers:
    """Return what one crafted report does to the frequency of so many of k values together.

    Cao, Jia, Gong, *Data poisoning attacks to local differential privacy protocols* (2021), whose maximal gain attack
    is the upper end: ((targets it can support) - targets q)/(p - q).

    Parameters
    ----------
    targets, k : int
        Number of targets, and of values.
    sizes : (int, int)
        Least and most values that a report supports.
    p, q : float or Fraction
        Probabilities of support.

    Examples
    --------
    A report that supports one of four values, two of which are targets:

    >>> [round(lever, 3) for lever in levers(2, 4, (1, 1), Fraction(1, 2), Fraction(1, 6))]
    [2.0, -1.0]
    """
    gain, expected = float(p - q), targets * float(q)
    least, most = sizes
    return Levers((min(targets, most) - expected) / gain, (max(0, least - (k - targets)) - expected) / gain)
