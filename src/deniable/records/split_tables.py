"""Tables of pairs from reports with independently randomised attributes, each with its share of the budget.

A reported pair (y_i, y_j) went through two known GRR channels. The inverse of a channel is A = (I - q 11')/(p - q). If
C_ij is the reported table, T_ij = A_i (C_ij/n) A_j' is unbiased. A question <c, T> is the mean of (A_i' c A_j)[y_i,
y_j] over the reports. The reports themselves show the variance of this mean. All tables already agree on every margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.bounded_sums import ReportLaw
from deniable.core.checks import Floats
from deniable.core.joint import listed_reports
from deniable.core.projection import nearest_distribution
from deniable.oracles.grr import GRR
from deniable.records.joint import IndependenceTest, JointTables, KroneckerTerm, OwnTable
from deniable.records.pairs import marginal_counts, pair_counts


def inverse(oracle: GRR) -> Floats:
    """Return the inverse of a GRR channel, float64[k, k]: column y is one report's unbiased estimate."""
    p, q = map(float, oracle.support_probabilities)
    return (np.eye(oracle.k) - q) / (p - q)


def second_moments(oracle: GRR) -> tuple[float, float]:
    """Return E[estimate of 1[x = v]]^2 for one report whose contributor does not, and does, hold v."""
    p, q = map(float, oracle.support_probabilities)
    gain = (p - q) ** 2
    return q * (1 - q) / gain, p * (1 - p) / gain + 1


@final
@dataclass(frozen=True, eq=False)
class SplitTable(OwnTable):
    """Table of one pair.

    Parameters
    ----------
    oracles : (GRR, GRR)
        Oracle of each attribute's answers.
    reported : int64[k_i, k_j]
        Number of reports of each pair of codes.
    """

    oracles: tuple[GRR, GRR]
    reported: NDArray[np.int64]

    def _products(self, a: Floats, b: Floats) -> Floats:
        law = self.reported.ravel() / self.n
        on_a, on_b = self._on_reports(a), self._on_reports(b)
        return ((on_a * on_b) @ law - (on_a @ law) * (on_b @ law)) / self.n

    @property
    def report_law(self) -> ReportLaw:
        return lambda weights: listed_reports(self._means, self._on_reports(weights))

    def _means(self, values: Floats) -> Floats:
        """Return the mean value of the reported pairs, float64[m, K], given each true pair."""
        first, second = (oracle.channel() for oracle in self.oracles)
        means: Floats = first @ values.reshape(len(values), *self.shape) @ second.T
        return means.reshape(len(values), -1)

    def _on_reports(self, weights: Floats) -> Floats:
        first, second = map(inverse, self.oracles)
        turned: Floats = first @ weights.reshape(*weights.shape[:-1], *self.shape) @ second
        return turned.reshape(weights.shape)

    @property
    def crowding(self) -> float:
        squares = 1.0
        for oracle in self.oracles:
            absent, present = second_moments(oracle)
            squares *= present / oracle.k + (1 - 1 / oracle.k) * absent
        return sum(self.shape) * (squares - 1 / self.frequencies.size) / self.n

    def interaction_spread(self) -> float:
        spread = 1.0
        for oracle in self.oracles:
            absent, present = second_moments(oracle)
            k = oracle.k
            # For a centred estimate, the covariance at the uniform distribution is a multiple of I - 11'/k.
            spread *= present / k + (1 - 1 / k) * absent - 1 / k**2
        return spread / self.n

    def residual_covariance(self) -> Sequence[KroneckerTerm]:
        # At independence, reports of two attributes are independent, and so are their estimates.
        margins = (self.frequencies.sum(axis=1), self.frequencies.sum(axis=0))
        rows, columns = (report_covariance(*both) for both in zip(self.oracles, margins, strict=True))
        return (KroneckerTerm(rows / self.n, columns),)

    def independence(self) -> IndependenceTest:
        """Pearson's chi-squared of the reported codes; independent answers have independent reports for every n."""
        degrees, method = (self.shape[0] - 1) * (self.shape[1] - 1), "chi-squared of the reported codes"
        if not (self.reported.sum(axis=0).all() and self.reported.sum(axis=1).all()):
            return IndependenceTest(np.nan, degrees, np.inf, method)
        # scipy.stats takes as much memory as all other code that reads reports.
        from scipy import stats

        return IndependenceTest(
            float(stats.chi2_contingency(self.reported, correction=False).statistic), degrees, 0.0, method
        )


@final
class SplitTables(JointTables):
    """Tables of all pairs, from an aggregate of `SPLPairs`.

    Parameters
    ----------
    aggregate : Aggregate
        Aggregate with at least one report.
    """

    def __init__(self, aggregate: Aggregate) -> None:
        self.sizes, self.contributors = aggregate.mechanism.sizes, aggregate.n
        self._oracles: tuple[GRR, ...] = aggregate.mechanism.oracles
        self._reported = pair_counts(aggregate.counts, self.sizes)
        self._marginals = marginal_counts(aggregate.counts, self.sizes)

    def _own(self, i: int, j: int) -> SplitTable:
        reported, (first, second) = self._reported[i, j], (self._oracles[i], self._oracles[j])
        unbiased = inverse(first) @ (reported / self.contributors) @ inverse(second).T
        return SplitTable((i, j), unbiased, self.contributors, self.contributors, (first, second), reported)

    def consistent(self, i: int, j: int) -> SplitTable:
        return self._own(*self.checked((i, j)))

    def margin(self, attribute: int) -> Floats:
        return inverse(self._oracles[attribute]) @ (self._marginals[attribute] / self.contributors)

    def margin_spread(self, attribute: int) -> float:
        k = self.sizes[attribute]
        return (self._oracles[attribute].variance(1 / k, 1) + (1 - 1 / k) / k) / self.contributors


def report_covariance(oracle: GRR, frequencies: Floats) -> Floats:
    """Return the covariance, from noise and sampling, of one report's unbiased estimate of an attribute."""
    p, q = map(float, oracle.support_probabilities)
    reported = q + (p - q) * nearest_distribution(frequencies)
    return (np.diag(reported) - np.outer(reported, reported)) / (p - q) ** 2
