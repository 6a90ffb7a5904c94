"""PureOracle: frequency oracles whose reports support the true value more often than any other value.

The definition is from Wang, Blocki, Li, Jha, *Locally differentially private protocols for frequency estimation*
(2017), definition 2. A report supports a set of values. It supports v with probability p if its contributor holds v. If
the contributor holds another value, the probability is q < p, the same for all these values. Everything that an analyst
reads follows from p, q and the probabilities that two values are supported together.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeIs

from deniable.core.aggregate import Aggregate
from deniable.core.bounded_sums import Added, ReportLaw
from deniable.core.checks import Codes, checked_codes
from deniable.core.estimate import Estimate, affine_estimate, affine_variance
from deniable.core.joint import JointNoise, exchangeable, listed_reports, support_reports, unary_reports
from deniable.core.mechanism import CraftedReports
from deniable.core.support_counts import Influence, influence
from deniable.errors import TooLargeError
from deniable.oracles.linear import LinearOracle
from deniable.oracles.oracle import AffineIndicators
from deniable.oracles.support import PairLaw

Reports = TypeVar("Reports")
Floats = NDArray[np.float64]


class PureOracle(LinearOracle[Reports], CraftedReports, AffineIndicators):
    """A pure frequency oracle: a report supports the true value with probability p, and each other value with q."""

    @property
    @abstractmethod
    def support_law(self) -> PairLaw | None: ...

    @abstractmethod
    def _support(self, counts: NDArray[np.int64], n: int, codes: Codes | None) -> NDArray[np.integer[Any]]:
        """Return how many of n reports support each value, or each of `codes`, computed from an aggregate's state."""

    def support_counts(self, aggregate: Aggregate) -> NDArray[np.integer[Any]]:
        """Analyst: return the number of reports that support each value, int[k].

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        DamagedStateError
            If decoding shows that no n reports can have this state.
        """
        self.check(aggregate)
        return self._support(aggregate.counts, aggregate.n, None)

    def estimate(self, aggregate: Aggregate, queries: ArrayLike | None = None) -> Estimate:
        """Analyst: return unbiased frequencies f^ = (support/n - q)/(p - q), with the implemented p and q.

        Parameters
        ----------
        aggregate : Aggregate
            The collector's state.
        queries : int[m], optional
            Codes to estimate, in any order, which become the labels of the estimate. By default all k codes.

        Raises
        ------
        MismatchError
            If the aggregate came from another mechanism.
        EmptyAggregateError
            If the aggregate contains no reports.
        InvalidInputError
            If a query is out of range. The message names its row.
        DamagedStateError
            If decoding shows that no n reports can have this state.
        """
        self.check(aggregate)
        codes = None if queries is None else checked_codes(queries, self.k)
        estimate = self.from_support(self._support(aggregate.counts, aggregate.n, codes), aggregate.n)
        return estimate if codes is None else estimate.named("", list(map(str, codes)))

    def from_support(self, support: ArrayLike, n: int, contributors: int | None = None) -> Estimate:
        """Analyst: return the estimate from support counts, for mechanisms that use this oracle.

        Parameters
        ----------
        support : int[k], or int[s] of some values
            Number of reports that support each value.
        n : int
            Number of reports. Without reports all results are NaN.
        contributors : int, optional
            Number of contributors from whom the n reports were sampled. The default is n.
        """
        p, q = map(float, self.support_probabilities)
        whole = np.shape(support) == (self.k,)
        return affine_estimate(
            support,
            n,
            p,
            q,
            contributors,
            sizes=self._sizes,
            k=self.k,
            joint=self._joint_noise(whole),
            law=self._report_law(whole),
        )

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        law = self.support_law
        return (0, self.k) if law is None else law.sizes

    def _joint_noise(self, whole: bool) -> JointNoise | None:
        """Return the function for the variance of correlated noise, or None (or a NaN function) if it is unknown."""
        law = self.support_law
        if law is not None and law.exchangeable:
            return self._linear_variance
        return self._listed_noise if law is None and whole else None

    def _report_law(self, whole: bool) -> ReportLaw | None:
        """Return what one report adds to a weighted sum, or None if it is unknown or needs a list of all reports."""
        law, (p, q) = self.support_law, map(float, self.support_probabilities)
        if law is not None and law.independent:
            return unary_reports(p, q)
        if law is not None and law.exchangeable:
            return support_reports(p, q, *self._pair_covariances, law.sizes, self.k)
        return self._listed_report if law is None and whole else None

    def _listed_report(self, weights: Floats) -> Added:
        p, q = map(float, self.support_probabilities)
        try:
            channel, supported = self._listed
        except TooLargeError:
            return Added(math.nan, lambda rates: np.full((len(rates), self.k), np.nan))
        return listed_reports(lambda scores: scores @ channel.T, (supported - q) @ weights / (p - q))

    def _listed_noise(self, weights: Floats, f: Floats) -> float:
        try:
            return self._listed_variance(weights, f)
        except TooLargeError:
            return math.nan

    def _listed_variance(self, weights: Floats, f: Floats) -> float:
        (p, q), (channel, supported) = map(float, self.support_probabilities), self._listed
        scores = supported @ weights / (p - q)
        return float(f @ (channel @ (scores * scores) - (channel @ scores) ** 2))

    @cached_property
    def _listed(self) -> tuple[Floats, Floats]:
        """Pair of the channel and the values that every report supports, float64[outputs, k]."""
        return self.channel(), self.supports(self.outputs(), np.arange(self.k)).astype(np.float64)

    def _influence(self, targets: int, attribute: int) -> Influence | None:  # noqa: ARG002
        # Without a support law, nobody has counted how many of several targets one report can support.
        if self.support_law is None and targets > 1:
            return None
        return influence(targets, self.k, self._sizes, *self.support_probabilities)

    # ---------------------------------------------------------------- variance and posterior

    def variance(self, f: float, n: int) -> float:
        return affine_variance(*self.support_probabilities, f, n)

    def worst_variance(self, n: int) -> float:
        """Return the largest variance of an estimated frequency for any n contributors; it is at f = 0 or f = 1."""
        return max(self.variance(0.0, n), self.variance(1.0, n))

    def unreported(self, contributors: int) -> Estimate:
        return self.from_support(np.zeros(self.k, dtype=np.int64), 0, contributors)

    def _covariance(self, f: Floats, codes: NDArray[np.int64]) -> Floats:
        p, q = map(float, self.support_probabilities)
        law = self.support_law
        if law is None or not law.exchangeable:
            matrix = self._listed_covariance(f, codes)
        else:
            own, other = self._pair_covariances
            pairs = f[codes][:, None] + f[codes][None, :]
            matrix = own * pairs + other * (1 - pairs)
            same = codes[:, None] == codes[None, :]
            alone = f[codes] * p * (1 - p) + (1 - f[codes]) * q * (1 - q)
            matrix = np.where(same, alone[:, None], matrix)
        return matrix / (p - q) ** 2

    def _linear_variance(self, weights: Floats, f: Floats) -> float:
        law = self.support_law
        if law is None or not law.exchangeable:
            return self._listed_variance(weights, f)
        (p, q), (own, other) = map(float, self.support_probabilities), self._pair_covariances
        return exchangeable(p, q, own, other)(weights, f)

    @cached_property
    def _pair_covariances(self) -> tuple[float, float]:
        """Covariances of (supports v, supports w) for one report if its contributor holds v or w, and if neither."""
        law, (p, q) = self.support_law, self.support_probabilities
        assert law is not None
        own, other = law.both()
        return float(own - p * q), float(other - q * q)

    def _listed_covariance(self, f: Floats, codes: NDArray[np.int64]) -> Floats:
        channel, listed = self._listed
        supported = listed[:, codes]
        result: Floats = np.zeros((len(codes), len(codes)))
        for share, row in zip(f, channel, strict=True):
            centre = row @ supported
            result += share * ((supported * row[:, None]).T @ supported - np.outer(centre, centre))
        return result


class CountingOracle(PureOracle[Reports]):
    """A pure oracle whose state counts the support of every value."""

    report_type = staticmethod(np.asarray)

    @property
    def state_size(self) -> int:
        """One counter per value."""
        return self.k

    def _support(self, counts: NDArray[np.int64], n: int, codes: Codes | None) -> NDArray[np.integer[Any]]:  # noqa: ARG002
        return counts if codes is None else counts[codes]


def is_pure(mechanism: object) -> TypeIs[PureOracle[Any]]:
    """Return whether a mechanism has support probabilities."""
    return isinstance(mechanism, PureOracle)
