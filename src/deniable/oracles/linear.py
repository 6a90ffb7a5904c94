"""LinearOracle: frequency oracles whose unbiased estimate is a linear function of a sum, with an exact covariance."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import checked_codes
from deniable.core.estimate import Estimate
from deniable.errors import InvalidParameterError
from deniable.oracles.oracle import FrequencyOracle

Reports = TypeVar("Reports")
Floats = NDArray[np.float64]

MAX_COVARIANCES = 4096
"""Most values whose covariance matrix is set up (128 MiB)."""


class LinearOracle(FrequencyOracle[Reports]):
    """A frequency oracle that knows how the errors of two frequencies are correlated.

    Every linear question of an estimate (a total, a mean, a difference) takes its standard error from here.

    Attributes
    ----------
    uncounted : slice or None
        Where a report is one code and the state counts every code: those among the state's that no report is, often
        none. None where the state is something else.
    """

    linear = True
    uncounted: ClassVar[slice | None] = None

    def covariance(self, f: ArrayLike, n: int, values: ArrayLike | None = None) -> Floats:
        """Return the covariance matrix of estimated frequencies at true frequencies f, noise only.

        Parameters
        ----------
        f : float[k]
            True frequencies of all values among the contributors.
        n : int
            Number of contributors.
        values : int[s], optional
            The codes to return it for; all k by default. At most 4,096.

        Returns
        -------
        float64[s, s]

        Raises
        ------
        InvalidParameterError
            If f has another length than k, or there are more than 4,096 values.
        TooLargeError
            If two values have no common law of support and the mechanism's reports are too many to be listed.
        """
        held = self._checked_frequencies(f)
        codes = np.arange(self.k) if values is None else checked_codes(values, self.k).astype(np.int64)
        if len(codes) > MAX_COVARIANCES:
            raise InvalidParameterError(
                f"values must list at most {MAX_COVARIANCES:,} codes, got {len(codes):,}: choose fewer codes"
            )
        return self._covariance(held, codes) / n

    def linear_variance(self, weights: ArrayLike, f: ArrayLike, n: int) -> float:
        """Return the variance of sum_v weights[v] f^(v) at true frequencies f, noise only.

        O(k) under a `support_law`.

        Parameters
        ----------
        weights, f : float[k]
            The question's weights, and the true frequencies among the contributors.
        n : int
            Number of contributors.
        """
        w, held = np.asarray(weights, dtype=np.float64), self._checked_frequencies(f)
        if w.shape != held.shape:
            raise InvalidParameterError(
                f"weights must have shape ({self.k},) (one number for each category), got shape={w.shape}"
            )
        return self._linear_variance(w, held) / n

    @abstractmethod
    def _covariance(self, f: Floats, codes: NDArray[np.int64]) -> Floats:
        """Return the covariances of one report's estimates of codes, float64[s, s]."""

    @abstractmethod
    def _linear_variance(self, weights: Floats, f: Floats) -> float:
        """Return the variance of one report's estimate of sum_v weights[v] f(v)."""

    @abstractmethod
    def unreported(self, contributors: int) -> Estimate:
        """Return what is known of an attribute that none of so many contributors reported: NaN, and no interval."""

    def _checked_frequencies(self, f: ArrayLike) -> Floats:
        held = np.asarray(f, dtype=np.float64)
        if held.shape != (self.k,):
            raise InvalidParameterError(
                f"f must have shape ({self.k},) (one frequency for each category), got shape={held.shape}"
            )
        return held
