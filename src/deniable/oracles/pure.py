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
from deniable.oracles.linear import LinearOracle
from deniable.oracles.support import PairLaw

Reports = TypeVar("Reports")
Floats = NDArray[np.float64]


class PureOracle(LinearOracle[Reports]):
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
    def unreported(self, contributors: int) -> Estimate:
        p, q = map(float, self.support_probabilities)
        return affine_estimate(np.zeros(self.k), 0, p, q, contributors)

    @final
    def _covariance(self, f: Floats, codes: NDArray[np.int64]) -> Floats:
        p, q = map(float, self.support_probabilities)
        law = self.support_law
        if law is None or not law.exchangeable:
            matrix = self._listed_covariance(f, codes)
        else:
            own, other = self._pair_covariances(law)
            pairs = f[codes][:, None] + f[codes][None, :]
            matrix = own * pairs + other * (1 - pairs)
            same = codes[:, None] == codes[None, :]
            alone = f[codes] * p * (1 - p) + (1 - f[codes]) * q * (1 - q)
            matrix = np.where(same, alone[:, None], matrix)
        return matrix / (p - q) ** 2

    @final
    def _linear_variance(self, weights: Floats, f: Floats) -> float:
        law = self.support_law
        if law is None or not law.exchangeable:
            return float(weights @ self.covariance(f, 1) @ weights)
        p, q = map(float, self.support_probabilities)
        own, other = self._pair_covariances(law)
        squares = weights * weights
        alone = squares @ (f * p * (1 - p) + (1 - f) * q * (1 - q))
        # sum over v != w of w_v w_w [(own - other) (f_v + f_w) + other]
        total = weights.sum()
        pairs = 2 * (own - other) * ((weights @ f) * total - squares @ f) + other * (total**2 - squares.sum())
        return float((alone + pairs) / (p - q) ** 2)

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
