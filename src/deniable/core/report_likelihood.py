"""Likelihoods and unbiased indicators of every possible answer, given one report.

Models with covariates (`deniable.models`) need nothing else from a mechanism.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


MAX_LISTED = 256
"""Most different reports about an attribute that models go through one by one."""


class ReportLikelihood(NamedTuple):
    """P(report | answers) of n reports, for every code of an attribute, or every combination for several attributes.

    Attributes
    ----------
    relative : float64[n, cells]
        Each row divided by its maximum. The last attribute changes fastest.
    log_scale : float64[n]
        Logarithm of that maximum. If a report has a public hash function, it is conditional on that function.
    asked : bool[n]
        True if the report is about these attributes. Other rows contain ones, and have a scale of zero.
    """

    relative: Floats
    log_scale: Floats
    asked: NDArray[np.bool_]

    @classmethod
    def silent(cls, n: int, cells: int) -> ReportLikelihood:
        """Return the likelihood of n reports that are about other attributes."""
        return cls(np.ones((n, cells)), np.zeros(n), np.zeros(n, dtype=np.bool_))

    @classmethod
    def of(cls, probabilities: Floats) -> ReportLikelihood:
        """Return the likelihood whose rows P(report | answer), float64[n, cells], are given."""
        largest = probabilities.max(axis=1)
        return cls(probabilities / largest[:, None], np.log(largest), np.ones(len(largest), dtype=np.bool_))

    @classmethod
    def of_sets(cls, supported: NDArray[np.bool_], ratio: float, log_absent: Floats) -> ReportLikelihood:
        """Return the likelihood of reports that are `ratio` times as likely under the answers that they support.

        Parameters
        ----------
        supported : bool[n, cells]
            True for the answers that each report supports.
        ratio : float
            P(report | a supported answer) / P(report | another one).
        log_absent : float64[n]
            log P(report | an answer that it does not support).
        """
        high = (
            np.where(supported.any(axis=1), ratio, 1.0) if ratio >= 1 else np.where(supported.all(axis=1), ratio, 1.0)
        )
        relative = np.where(supported, ratio, 1.0) / high[:, None]
        return cls(relative, log_absent + np.log(high), np.ones(len(relative), dtype=np.bool_))

    @classmethod
    def every_pair(cls, parts: Sequence[ReportLikelihood]) -> ReportLikelihood:
        """Return the likelihood of every combination of reports about several attributes."""
        found = parts[0]
        for part in parts[1:]:
            left, right = len(found.relative), len(part.relative)
            repeated = found.at(np.repeat(np.arange(left), right))
            tiled = cls(np.tile(part.relative, (left, 1)), np.tile(part.log_scale, left), np.tile(part.asked, left))
            found = cls.product([repeated, tiled])
        return found

    @property
    def probabilities(self) -> Floats:
        """P(report | answers), float64[n, cells]."""
        return self.relative * np.exp(self.log_scale)[:, None]

    def at(self, rows: NDArray[Any]) -> ReportLikelihood:
        """Return the likelihood of some of the reports, in the order of these rows."""
        return ReportLikelihood(self.relative[rows], self.log_scale[rows], self.asked[rows])

    def placed(self, rows: NDArray[np.bool_]) -> ReportLikelihood:
        """Return the likelihood of m reports, where bool[m] marks the reports of this likelihood."""
        every = ReportLikelihood.silent(len(rows), self.relative.shape[1])
        every.relative[rows], every.log_scale[rows], every.asked[rows] = self
        return every

    @classmethod
    def product(cls, parts: Sequence[ReportLikelihood]) -> ReportLikelihood:
        """Return the likelihood of several attributes together, which were reported independently of each other."""
        relative, log_scale, asked = parts[0]
        for part in parts[1:]:
            relative = (relative[:, :, None] * part.relative[:, None, :]).reshape(len(relative), -1)
            log_scale, asked = log_scale + part.log_scale, asked & part.asked
        return cls(relative, log_scale, asked)


class ReportIndicators(NamedTuple):
    """Unbiased indicators T of n reports. The mean of T[i, c] is 1 if cell c is the answer behind report i, else 0.

    Attributes
    ----------
    values : float64[n, cells]
        Indicators T. They are zero in rows that are about other attributes.
    asked : bool[n]
        True if the report is about these attributes. The means are conditional on that.
    """

    values: Floats
    asked: NDArray[np.bool_]

    @classmethod
    def of(cls, values: Floats) -> ReportIndicators:
        """Return the indicators of reports that are all about the attributes."""
        return cls(values, np.ones(len(values), dtype=np.bool_))

    def placed(self, rows: NDArray[np.bool_]) -> ReportIndicators:
        """Return the indicators of m reports, where bool[m] marks the reports of these indicators."""
        values = np.zeros((len(rows), self.values.shape[1]))
        values[rows] = self.values
        return ReportIndicators(values, rows.copy())

    @classmethod
    def product(cls, parts: Sequence[ReportIndicators]) -> ReportIndicators:
        """Return the indicators of several attributes together, which were reported independently of each other."""
        values, asked = parts[0]
        for part in parts[1:]:
            values = (values[:, :, None] * part.values[:, None, :]).reshape(len(values), -1)
            asked = asked & part.asked
        return cls(values, asked)


class TellsAnswers(ABC):
    """Mechanism in which every single report has a likelihood and unbiased indicators."""

    @abstractmethod
    def _likelihood(self, reports: Any, attributes: tuple[int, ...]) -> ReportLikelihood:
        """Return the result of `Mechanism.likelihood` for checked attributes."""

    @abstractmethod
    def _indicators(self, reports: Any, attributes: tuple[int, ...]) -> ReportIndicators:
        """Return the result of `Mechanism.indicators` for checked attributes."""

    @abstractmethod
    def _listed_likelihood(self, attributes: tuple[int, ...]) -> ReportLikelihood | None:
        """Return the result of `Mechanism.listed_likelihood` for checked attributes."""


class DealtTypes(NamedTuple):
    """Joint distribution of the types that a dealer deals. The type of a contributor determines the report.

    The types are "say v" for each of the k values, then "say the truth".

    Attributes
    ----------
    covariance : float64[k + 1, k + 1]
        The value P(u and w) - P(u) P(w) for two contributors' types u and w.
    truth, lie : float
        Probability that a contributor of type "say the truth" reports the true value (truth), and any one other value
        (lie).
    """

    covariance: Floats
    truth: float
    lie: float


class RelatedReports(ABC):
    """Mechanism whose reports depend on each other. Each single report has the distribution of `likelihood`."""

    @property
    @abstractmethod
    def _dealt_together(self) -> DealtTypes:
        """Joint distribution of two contributors' types."""
