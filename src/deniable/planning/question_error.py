"""How far off the answer to one question may be, whatever the contributors answer.

Errors are noise only: they are about these contributors. The variance of a share is a quadratic in that share, the
variance of a mean a quadratic in their distribution, so the worst case of either is found, not searched for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.mechanism import Mechanism
from deniable.planning.precision import attribute_variance

Floats = NDArray[np.float64]

TIE = 1e-9
"""Relative difference of variances that is rounding."""


@dataclass(frozen=True)
class ShareVariance:
    """Variance of one estimated share among n contributors, at any true share.

    Parameters
    ----------
    absent, half, present : float
        At the true shares 0, 1/2 and 1.

    Examples
    --------
    >>> from deniable import GRR
    >>> law = ShareVariance.of(GRR(k=4, epsilon=1.0), 0, 1000)
    >>> law.at(0.25) == law.absent + 0.25 * (law.present - law.absent)
    True
    >>> law.worst == (1.0, law.present)  # a share of 100%
    True
    """

    absent: float
    half: float
    present: float

    @classmethod
    def of(cls, mechanism: Mechanism[Any], attribute: int, n: int) -> ShareVariance:
        """Return the law of one attribute's shares."""
        return cls(*(attribute_variance(mechanism, attribute, f, n) for f in (0.0, 0.5, 1.0)))

    def times(self, factor: float) -> ShareVariance:
        """Return the law multiplied by a factor: by n, that of one contributor."""
        return ShareVariance(self.absent * factor, self.half * factor, self.present * factor)

    @property
    def curved(self) -> float:
        """Coefficient of f (1 - f)."""
        return 4 * (self.half - (self.absent + self.present) / 2)

    def at(self, share: float) -> float:
        """Return the variance at a true share in [0, 1]."""
        return self.absent + share * (self.present - self.absent) + self.curved * share * (1 - share)

    @property
    def worst(self) -> tuple[float, float]:
        """The share where the variance is largest, and the variance there."""
        shares = [0.0, 1.0]
        # Rounding leaves a curvature where there is none; its summit then changes nothing.
        if self.curved > TIE * self.half:
            summit = (self.present - self.absent + self.curved) / (2 * self.curved)
            shares.insert(0, min(max(summit, 0.0), 1.0))
        largest = max(map(self.at, shares))
        share = next(share for share in shares if self.at(share) >= largest * (1 - TIE))
        return share, self.at(share)

    @property
    def even(self) -> bool:
        """Whether the variance is the same at every share."""
        return min(map(self.at, (0.0, 0.5, 1.0))) >= self.worst[1] * (1 - TIE)


@dataclass(frozen=True)
class MeanVariance:
    """The largest variance of an estimated mean, and where it is reached.

    Parameters
    ----------
    variance : float
        In squared units of the scores.
    low, high : int
        Codes that the contributors hold where it is reached; one code twice if all hold the same.
    share : float
        Share of those who hold `high`.

    Notes
    -----
    The noise of independent reports is linear in the distribution f of the answers; reports that are sampled add a
    multiple of the variance of the scores under f, which is concave. For a given mean the sum is linear in f, so it is
    largest where at most two values are held: all pairs are compared, each in closed form.
    """

    variance: float
    low: int
    high: int
    share: float

    @classmethod
    def of(cls, mechanism: Any, attribute: int, scores: Floats, n: int) -> MeanVariance:
        """Return the worst case of the mean of one attribute's scores.

        Parameters
        ----------
        mechanism : Mechanism
            One with `linear_variance`.
        attribute : int
            Which one.
        scores : float64[k]
            Of its values.
        n : int
            Number of contributors.
        """
        own = (attribute,) if mechanism.records else ()
        k = len(scores)
        alone = np.array([mechanism.linear_variance(scores, point, n, *own) for point in np.eye(k)])
        ends = int(scores.argmin()), int(scores.argmax())
        half = np.zeros(k)
        half[list(ends)] = 0.5
        # What both ends, half and half, have beyond the mean of one and the other, is the sampling.
        beyond = mechanism.linear_variance(scores, half, n, *own) - alone[list(ends)].mean()
        curved = 4 * beyond / (scores[ends[1]] - scores[ends[0]]) ** 2 * (scores[:, None] - scores[None, :]) ** 2
        rise = alone[None, :] - alone[:, None]  # from a row's value to a column's
        with np.errstate(divide="ignore", invalid="ignore"):
            summit = np.where(curved > TIE * alone.max(), (rise + curved) / (2 * curved), rise > 0)
        share = np.clip(summit, 0.0, 1.0)
        found = alone[:, None] + share * rise + curved * share * (1 - share)
        low, high = np.unravel_index(int(found.argmax()), found.shape)
        return cls(float(found[low, high]), int(low), int(high), float(share[low, high]))
