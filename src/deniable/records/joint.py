"""Tables of pairs of attributes, for all mechanisms whose aggregates have such tables.

A `JointTable` is an unbiased table of two attributes together with the covariance of everything linear in it. There are
two kinds of uncertainty, as in `deniable.core.estimate`. The distribution of a mechanism's reports gives the error for
the *population*, which counts noise and sampling. For *these contributors*, the variance of the question's own true
value among them, c'(diag f - f f')c/n, is subtracted once, from the whole question. It must not be subtracted from each
group of reports, because groups of one set of contributors are not independent, and it would be subtracted too often.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeIs

from deniable.core.aggregate import Aggregate
from deniable.core.bounded_sums import BoundedSum, ReportLaw, Sample, bounded_sum
from deniable.core.checks import Floats, checked_integer
from deniable.core.estimate import Target
from deniable.core.mechanism import Reports
from deniable.core.projection import nearest_distribution
from deniable.errors import InvalidParameterError, quoted
from deniable.records.layout import row_blocks
from deniable.records.pairs import Pair, attribute_pairs
from deniable.records.record import RecordMechanism

_BLOCK = 1 << 22
"""Number of weights that are worked on at a time."""


class KroneckerTerm(NamedTuple):
    """One term of a table's covariance: the Kronecker product of float64[k_i, k_i] and float64[k_j, k_j]."""

    rows: Floats
    columns: Floats


class IndependenceTest(NamedTuple):
    """Result of a test of whether two attributes are independent.

    Parameters
    ----------
    statistic : float
        Test statistic. If the attributes are independent, it has a chi-squared distribution in large samples. NaN
        without a test.
    degrees : int
        Number of degrees of freedom.
    crowding : float
        Number that decides whether the test is reliable: if it is above .05, the test is not used. 0 if the test does
        not use this rule.
    method : str
        Name of the test.
    """

    statistic: float
    degrees: int
    crowding: float
    method: str


@dataclass(frozen=True, eq=False)
class JointTable(ABC):
    """Unbiased joint frequencies of two attributes.

    Parameters
    ----------
    attributes : (int, int)
        The rows' attribute i and the columns' attribute j.
    frequencies : float64[k_i, k_j]
        Unbiased frequencies, some of which may be negative. NaN without reports.
    n : float
        Number of reports about this pair. It may be a fraction if it is an expected number.
    contributors : int
        Number of all reports, including those about other pairs.
    """

    attributes: Pair
    frequencies: Floats
    n: float
    contributors: int

    @abstractmethod
    def _products(self, a: Floats, b: Floats) -> Floats:
        """Return Cov(<a, T>, <b, T>) over the last axis for population questions; weights [..., K] are broadcast."""

    @property
    def shape(self) -> tuple[int, int]:
        """(k_i, k_j)."""
        rows, columns = self.frequencies.shape
        return rows, columns

    @cached_property
    def plugged(self) -> Floats:
        """Nearest table that is a distribution, float64[k_i, k_j]; variances are computed for this table."""
        return nearest_distribution(self.frequencies.ravel()).reshape(self.shape)

    def variances(self, weights: ArrayLike, target: Target = "contributors") -> Floats:
        """Return the variance of sum_ab weights[m, a, b] T[a, b], float64[m].

        Parameters
        ----------
        weights : float[m, k_i, k_j]
            Weights of m sums.
        target : {"contributors", "population"}
            "contributors": the variance from the mechanism's noise and from the sampling of reports. "population": also
            the variance from the sampling of contributors.
        """
        rows = self._flat(weights)
        blocks = (rows[block] for block in row_blocks(len(rows), max(1, _BLOCK // rows.shape[1])))
        return np.concatenate([np.maximum(self._targeted(one, one, target), 0.0) for one in blocks])

    def covariance(self, weights: ArrayLike, target: Target = "contributors") -> Floats:
        """Return the covariance matrix of several weighted sums, float64[m, m]; see `variances` for the parameters."""
        rows = self._flat(weights)
        if rows.size * len(rows) <= _BLOCK:
            return self._targeted(rows[:, None, :], rows[None, :, :], target)
        return np.stack([self._targeted(one[None, :], rows, target) for one in rows])

    def standard_errors(self, target: Target = "contributors") -> Floats:
        """Return the standard errors of the cells, float64[k_i, k_j]; NaN without reports."""
        cells = self.frequencies.size
        return np.sqrt(self.variances(np.eye(cells).reshape(cells, *self.shape), target)).reshape(self.shape)

    def _targeted(self, a: Floats, b: Floats, target: Target) -> Floats:
        if target not in ("contributors", "population"):
            raise InvalidParameterError(f'target must be "contributors" or "population", got target={quoted(target)}')
        found = self._products(a, b)
        if target == "contributors":
            f = self.plugged.ravel()
            found = found - ((a * b) @ f - (a @ f) * (b @ f)) / self.contributors
        return found

    def _flat(self, weights: ArrayLike) -> Floats:
        given = np.asarray(weights, dtype=np.float64)
        if given.ndim != 3 or given.shape[1:] != self.shape:
            raise InvalidParameterError(
                f"weights must have one table of shape ({self.shape[0]}, {self.shape[1]}) for each question, got "
                f"shape={given.shape}"
            )
        return given.reshape(len(given), -1)


class OwnTable(JointTable):
    """A table from the reports about its own pair only."""

    @property
    @abstractmethod
    def report_law(self) -> ReportLaw:
        """Return the distribution of the amount that one report adds to a weighted sum of the cells."""

    def summed(self, weights: Floats, classes: NDArray[np.intp] | None = None) -> BoundedSum:
        """Return a weighted sum of the cells as a sum over reports, see `bounded_sum`; weights float64[k_i, k_j]."""
        flat, sample = weights.ravel(), Sample(self.n, 1.0, self.report_law)
        value = float(flat @ self.frequencies.ravel())
        whole = self.n == self.contributors
        return bounded_sum([sample], flat, value, self.plugged.ravel(), whole=whole, classes=classes)

    @property
    @abstractmethod
    def crowding(self) -> float:
        """Number (k_i + k_j) v/n; v is the mean noise variance of a cell at uniform frequencies. Infinite if n = 0."""

    @abstractmethod
    def independence(self) -> IndependenceTest:
        """Test whether the attributes are independent in the population."""

    @abstractmethod
    def residual_covariance(self) -> Sequence[KroneckerTerm]:
        """Return the covariance of T - r c' for independent attributes; T is the table, r and c are its margins."""

    @abstractmethod
    def interaction_spread(self) -> float:
        """Return the mean variance (noise and sampling) of a doubly centred cell at the uniform distribution."""


class JointTables(Mapping[Pair, OwnTable], ABC):
    """The raw tables of all pairs: a mapping from (i, j), i < j, to an `OwnTable`; other orders raise an error.

    Attributes
    ----------
    sizes : tuple of int
        Domain sizes of the attributes.
    contributors : int
        Number of reports.
    """

    sizes: tuple[int, ...]
    contributors: int

    @abstractmethod
    def _own(self, i: int, j: int) -> OwnTable:
        """Return the table of attributes i < j from the pair's own reports."""

    @abstractmethod
    def consistent(self, i: int, j: int) -> JointTable:
        """Return the unbiased table of i < j whose margins agree with all other tables."""

    @abstractmethod
    def margin(self, attribute: int) -> Floats:
        """Return the unbiased frequencies of an attribute from all reports about it, float64[k_j]."""

    @abstractmethod
    def margin_spread(self, attribute: int) -> float:
        """Return the mean variance (noise, sampling) of a margin at uniform frequencies; infinite without reports."""

    def __getitem__(self, pair: Pair) -> OwnTable:
        i, j = self.checked(pair)
        return self._own(i, j)

    def __iter__(self) -> Iterator[Pair]:
        return iter(attribute_pairs(len(self.sizes)))

    def __len__(self) -> int:
        return len(self.sizes) * (len(self.sizes) - 1) // 2

    def checked(self, pair: Pair) -> Pair:
        """Return a pair i < j of attributes, or raise InvalidParameterError."""
        i, j = (checked_integer("attribute", one, 0, len(self.sizes) - 1) for one in pair)
        if i >= j:
            raise InvalidParameterError(
                f"pair must name two different attributes, with the earlier attribute first, got pair={quoted(pair)}"
            )
        return i, j


class JointRecords(RecordMechanism[Reports]):
    """A mechanism whose aggregates contain the table of every pair of attributes."""

    @abstractmethod
    def tables(self, aggregate: Aggregate) -> JointTables:
        """Analyst: return the raw tables of all pairs, with the numbers of their reports and covariances.

        Raises
        ------
        MismatchError, EmptyAggregateError
            If the aggregate came from another mechanism, or contains no reports.
        """


def has_tables(mechanism: object) -> TypeIs[JointRecords[Any]]:
    """Return whether a mechanism's aggregates have tables of pairs."""
    return isinstance(mechanism, JointRecords)
