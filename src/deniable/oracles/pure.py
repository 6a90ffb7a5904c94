"""PureOracle: frequency oracles whose reports support their own value more often than any other.

Wang, Blocki, Li, Jha, *Locally differentially private protocols for frequency estimation* (2017), definition 2: a
report supports a set of values; it supports v with probability p if its contributor holds v, and with probability
q < p, the same for all others, if not. Everything that an analyst reads follows from p, q and how two values are
supported together.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Codes, checked_codes
from deniable.core.estimate import Estimate, affine_estimate, affine_variance
from deniable.errors import InvalidParameterError
from deniable.oracles.oracle import FrequencyOracle
from deniable.oracles.support import PairLaw

Reports = TypeVar("Reports")
Floats = NDArray[np.float64]

MAX_COVARIANCES = 4096
"""Most values whose covariance matrix is set up (128 MiB)."""


class PureOracle(FrequencyOracle[Reports]):
    """A frequency oracle in the sense of definition 2."""

    @property
    @abstractmethod
    def support_law(self) -> PairLaw | None: ...

    @property
    @abstractmethod
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """Implemented (p, q): probability that a report supports v if its contributor holds v, and if not."""

    @abstractmethod
    def _support(self, counts: NDArray[np.int64], n: int, codes: Codes | None) -> NDArray[np.integer[Any]]:
        """Return how many of n reports support each value, or each of codes, from the state of an aggregate."""

    @final
    def support_counts(self, aggregate: Aggregate) -> NDArray[np.integer[Any]]:
        """Analyst: return int[k], how many reports support each value.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        DamagedStateError
            If decoding finds that no n reports have this state.
        """
        self.check(aggregate)
        return self._support(aggregate.counts, aggregate.n, None)

    @final
    def estimate(self, aggregate: Aggregate, queries: ArrayLike | None = None) -> Estimate:
        """Analyst: unbiased frequencies f^ = (support/n - q)/(p - q) with the implemented p and q.

        Parameters
        ----------
        aggregate : Aggregate
            The collector's state.
        queries : int[m], optional
            Estimate only these codes, in any order; the labels of the estimate are the codes. All k by default.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If it contains no reports.
        InvalidInputError
            If a query is out of range, naming its row.
        DamagedStateError
            If decoding finds that no n reports have this state.
        """
        self.check(aggregate)
        codes = None if queries is None else checked_codes(queries, self.k)
        p, q = map(float, self.support_probabilities)
        estimate = affine_estimate(self._support(aggregate.counts, aggregate.n, codes), aggregate.n, p, q)
        return estimate if codes is None else estimate.named("", list(map(str, codes)))

    # ---------------------------------------------------------------- how sure the analyst is

    @final
    def variance(self, f: float, n: int) -> float:
        return affine_variance(*self.support_probabilities, f, n)

    @final
    def worst_variance(self, n: int) -> float:
        """Return the largest variance of an estimated frequency over all data of n contributors, at f = 0 or f = 1."""
        return max(self.variance(0.0, n), self.variance(1.0, n))

    @final
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
            raise InvalidParameterError(f"values must be at most {MAX_COVARIANCES}, got {len(codes)}: choose some")
        p, q = map(float, self.support_probabilities)
        law = self.support_law
        if law is None or not law.exchangeable:
            matrix = self._listed_covariance(held, codes)
        else:
            own, other = self._pair_covariances(law)
            pairs = held[codes][:, None] + held[codes][None, :]
            matrix = own * pairs + other * (1 - pairs)
            same = codes[:, None] == codes[None, :]
            alone = held[codes] * p * (1 - p) + (1 - held[codes]) * q * (1 - q)
            matrix = np.where(same, alone[:, None], matrix)
        return matrix / (n * (p - q) ** 2)

    @final
    def linear_variance(self, weights: ArrayLike, f: ArrayLike, n: int) -> float:
        """Return the variance of sum_v weights[v] f^(v) at true frequencies f, noise only; O(k) under a `support_law`.

        Parameters
        ----------
        weights, f : float[k]
            The question's weights, and the true frequencies among the contributors.
        n : int
            Number of contributors.
        """
        w, held = np.asarray(weights, dtype=np.float64), self._checked_frequencies(f)
        if w.shape != held.shape:
            raise InvalidParameterError(f"weights must have shape ({self.k},), got shape={w.shape}")
        law = self.support_law
        if law is None or not law.exchangeable:
            return float(w @ self.covariance(held, n) @ w)
        p, q = map(float, self.support_probabilities)
        own, other = self._pair_covariances(law)
        alone = (w * w) @ (held * p * (1 - p) + (1 - held) * q * (1 - q))
        # sum over v != w of w_v w_w [(own - other) (f_v + f_w) + other]
        total, squares = w.sum(), w @ w
        pairs = 2 * (own - other) * ((w @ held) * total - (w * w) @ held) + other * (total**2 - squares)
        return float((alone + pairs) / (n * (p - q) ** 2))

    @final
    def _pair_covariances(self, law: PairLaw) -> tuple[float, float]:
        """Return Cov(supports v, supports w) of one report whose contributor holds v or w, and neither."""
        p, q = self.support_probabilities
        own, other = law.both()
        return float(own - p * q), float(other - q * q)

    @final
    def _listed_covariance(self, f: Floats, codes: NDArray[np.int64]) -> Floats:
        channel = self.channel()
        supported = self.supports(self.outputs(), codes).astype(np.float64)
        result: Floats = np.zeros((len(codes), len(codes)))
        for share, row in zip(f, channel, strict=True):
            centre = row @ supported
            result += share * ((supported * row[:, None]).T @ supported - np.outer(centre, centre))
        return result

    @final
    def _checked_frequencies(self, f: ArrayLike) -> Floats:
        held = np.asarray(f, dtype=np.float64)
        if held.shape != (self.k,):
            raise InvalidParameterError(f"f must have shape ({self.k},), got shape={held.shape}")
        return held


class CountingOracle(PureOracle[Reports]):
    """A pure oracle whose state is the support itself: one counter per value."""

    report_type = staticmethod(np.asarray)

    @property
    @final
    def state_size(self) -> int:
        """One counter per value."""
        return self.k

    @final
    def _support(self, counts: NDArray[np.int64], n: int, codes: Codes | None) -> NDArray[np.integer[Any]]:  # noqa: ARG002
        return counts if codes is None else counts[codes]
