"""LinearOracle: base of frequency oracles with a linear unbiased estimate and an exact covariance."""

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

    The standard error of every linear question about an estimate (a total, a mean, a difference) comes from this class.

    Attributes
    ----------
    uncounted : slice or None
        If a report is one code and the state counts every code: the codes of the state that no report can have, often
        an empty slice. None if the state is something else.
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
            Codes for which to return the matrix, at most 4,096; all k by default.

        Returns
        -------
        float64[s, s]

        Raises
        ------
        InvalidParameterError
            If f has another length than k, or there are more than 4,096 values.
        TooLargeError
            If the mechanism has no `support_law` for pairs of values, and its reports are too many to be listed.
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

        With a `support_law` it takes O(k) time.

        Parameters
        ----------
        weights, f : float[k]
            Weights of the question, and true frequencies among the contributors.
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
        """Return float64[s, s]: the covariances between one report's estimates of the given codes."""

    @abstractmethod
    def _linear_variance(self, weights: Floats, f: Floats) -> float:
        """Return the variance of one report's estimate of sum_v weights[v] f(v)."""

    @abstractmethod
    def unreported(self, contributors: int) -> Estimate:
        """Return the estimate of an attribute that none of `contributors` people reported: NaN, without an interval."""

    def _checked_frequencies(self, f: ArrayLike) -> Floats:
        held = np.asarray(f, dtype=np.float64)
        if held.shape != (self.k,):
            raise InvalidParameterError(
                f"f must have shape ({self.k},) (one frequency for each category), got shape={held.shape}"
            )
        return held
