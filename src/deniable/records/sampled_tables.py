"""Tables of pairs from reports that are about one pair or one attribute each.

*Own tables.* T_ij = (C/N_ij - q)/(p - q) is unbiased given N_ij >= 1.

*Consistent tables.* Let m_j be the average of all margins of attribute j (`Margins`). Then

    T*_ij = T_ij + (m_i - T_ij 1) 1'/k_j + 1 (m_j - T_ij' 1)'/k_i

is unbiased too, and all tables agree on every margin. In a question <c, T*_ij>, let r and s be the means of c's rows
and columns, and let w_i be the own table's weight in m_i. The question weighs the own table by
c - r 1' - 1 s' + w_i r 1' + w_j 1 s'. It weighs the margins of attribute i in other parts by their weight times r, and
those of attribute j by their weight times s. Reports of different parts are independent draws from the population, so
their variances add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy import linalg

from deniable.core.bounded_sums import ReportLaw
from deniable.core.checks import Floats
from deniable.core.projection import nearest_distribution
from deniable.records.joint import IndependenceTest, JointTable, JointTables, KroneckerTerm, OwnTable
from deniable.records.pair_margins import Margins
from deniable.records.pair_parts import Reported, SubsetLaw, subset_law, subset_reports


@final
@dataclass(frozen=True, eq=False)
class SampledTable(OwnTable):
    """Table of one pair, from the pair's own reports.

    Parameters
    ----------
    reported : Reported
        Reports about the pair.
    law : SubsetLaw
        Covariances of one report.
    """

    reported: Reported
    law: SubsetLaw

    def _products(self, a: Floats, b: Floats) -> Floats:
        if not self.n:
            return np.full(np.broadcast_shapes(a.shape[:-1], b.shape[:-1]), np.nan)
        return self.law.products(a, b, self.plugged.ravel()) / self.n

    @property
    def report_law(self) -> ReportLaw:
        return subset_reports(self.reported.part.oracle)

    @property
    def _noise(self) -> float:
        """Mean noise variance of the estimate of a cell from one report, at the uniform distribution."""
        k, p, q = self.frequencies.size, self.law.p, self.law.q
        return (p * (1 - p) / k + (1 - 1 / k) * q * (1 - q)) / self.law.gain

    @property
    def crowding(self) -> float:
        return sum(self.shape) * self._noise / self.n if self.n else math.inf

    def interaction_spread(self) -> float:
        (rows, columns), k = self.shape, self.frequencies.size
        free = (rows - 1) * (columns - 1) / k
        return (self._noise * k / (k - 1) + 1 / k) / self.n * free if self.n else np.inf

    @cached_property
    def _margins(self) -> tuple[Floats, Floats]:
        """Row and column sums as probability distributions."""
        rows, columns = (nearest_distribution(self.frequencies.sum(axis=axis)) for axis in (1, 0))
        return rows, columns

    @cached_property
    def _scales(self) -> tuple[float, float, float]:
        """Factors of the three terms of the residual's covariance."""
        p, q, r1, r2 = self.law.p, self.law.q, self.law.r1, self.law.r2
        scale = 1 / (self.law.gain * self.n)
        return (q - r2) * scale, (p - q - 2 * (r1 - r2)) * scale, (r2 - q * q) * scale

    def residual_covariance(self) -> Sequence[KroneckerTerm]:
        # To first order T - rc' is J T with J = (I - r1') x (I - c1'), and J (r x c) = 0. So three of Sigma's five
        # terms stay.
        alone, held, common = self._scales
        (x, xf, xx), (y, yf, yy) = (_centred(f) for f in self._margins)
        return (
            KroneckerTerm(alone * x, y),
            KroneckerTerm(held * xf, yf),
            KroneckerTerm(common * xx, yy),
        )

    def independence(self) -> IndependenceTest:
        """Wald test of T = rc' with the own table's margins, refused if (k_i + k_j) v(K)/N is above .05."""
        rows, columns = self.shape
        degrees, method = (rows - 1) * (columns - 1), "Wald test of the pair's own table"
        if not self.n:
            return IndependenceTest(np.nan, degrees, np.inf, method)
        alone, held, common = self._scales
        residual = self.frequencies - np.outer(self.frequencies.sum(axis=1), self.frequencies.sum(axis=0))
        (turn_i, held_i, ones_i), (turn_j, held_j, ones_j) = (_diagonal(f) for f in self._margins)
        # Rows and columns are turned so that both large terms are diagonal. The third term has rank one.
        z, g = turn_i.T @ residual @ turn_j, np.outer(ones_i, ones_j)
        diagonal = alone + held * np.outer(held_i, held_j)
        plain, along, length = (z * z / diagonal).sum(), (z * g / diagonal).sum(), (g * g / diagonal).sum()
        statistic = float(plain - common * along**2 / (1 + common * length))
        return IndependenceTest(statistic, degrees, self.crowding, method)


def _centred(f: Floats) -> tuple[Floats, Floats, Floats]:
    """Return P P', P diag(f) P' and P 11' P' for P = I - f 1'."""
    k = len(f)
    centring = np.eye(k) - f[:, None]
    ones = centring.sum(axis=1)
    return centring @ centring.T, (centring * f) @ centring.T, np.outer(ones, ones)


def _diagonal(f: Floats) -> tuple[Floats, Floats, Floats]:
    """Return U, the diagonal of U'P diag(f) P'U and U'P1, where U'P P'U = I over contrasts, float64[k, k-1]."""
    k = len(f)
    contrasts = linalg.helmert(k).T
    plain, held, _ = _centred(f)
    values, vectors = linalg.eigh(contrasts.T @ held @ contrasts, contrasts.T @ plain @ contrasts)
    turn: Floats = contrasts @ vectors
    return turn, values, turn.T @ (1 - k * f)


@final
@dataclass(frozen=True, eq=False)
class ConsistentTable(JointTable):
    """Table of one pair that agrees with all other tables on both margins.

    Parameters
    ----------
    own : SampledTable
        Table from the pair's own reports.
    weights : (float, float)
        Weight of the own table in the margin of each attribute.
    elsewhere : (float64[k_i, k_i], float64[k_j, k_j])
        Covariance of what all other parts add to each margin.
    """

    own: SampledTable
    weights: tuple[float, float]
    elsewhere: tuple[Floats, Floats]

    def _products(self, a: Floats, b: Floats) -> Floats:
        (on_a, rows_a, columns_a), (on_b, rows_b, columns_b) = self._split(a), self._split(b)
        found = self.own._products(on_a, on_b)
        for left, right, covariance in zip((rows_a, columns_a), (rows_b, columns_b), self.elsewhere, strict=True):
            found = found + ((left @ covariance) * right).sum(axis=-1)
        return found

    def _split(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        table = weights.reshape(*weights.shape[:-1], *self.shape)
        rows, columns = table.mean(axis=-1), table.mean(axis=-2)
        i, j = self.weights
        on_own = table - (1 - i) * rows[..., :, None] - (1 - j) * columns[..., None, :]
        return on_own.reshape(weights.shape), rows, columns


@final
class SampledTables(JointTables):
    """Tables of all pairs, from an aggregate of `PairSample`.

    Parameters
    ----------
    margins : Margins
        Margins of each attribute, from the reports.
    """

    def __init__(self, margins: Margins) -> None:
        self.margins, self.sizes, self.contributors = margins, margins.sizes, margins.contributors

    @property
    def numbers(self) -> dict[tuple[int, ...], float]:
        """Return each choice's number of reports; the key is (i, j) for a pair and (j,) for an attribute alone."""
        return {one.part.attributes: one.n for one in self.margins.reported}

    def _own(self, i: int, j: int) -> SampledTable:
        reported = self.margins.about[i, j]
        law = subset_law(reported.part.oracle)
        return SampledTable((i, j), reported.frequencies, reported.n, self.contributors, reported, law)

    def consistent(self, i: int, j: int) -> ConsistentTable:
        own = self._own(*self.checked((i, j)))
        margins = (self.margins.frequencies(i), self.margins.frequencies(j))
        table = own.frequencies
        rows, columns = table.shape
        moved = table + (margins[0] - table.sum(axis=1))[:, None] / columns
        moved = moved + (margins[1] - table.sum(axis=0))[None, :] / rows
        weights = (self.margins.weights(i).get((i, j), 0.0), self.margins.weights(j).get((i, j), 0.0))
        return ConsistentTable(
            (i, j),
            moved,
            own.n,
            self.contributors,
            own,
            weights,
            (self._elsewhere(i, (i, j)), self._elsewhere(j, (i, j))),
        )

    def _elsewhere(self, attribute: int, own: tuple[int, int]) -> Floats:
        found: Floats = np.zeros((self.sizes[attribute],) * 2)
        for which, one in self.margins.covariances[attribute].items():
            found = found if which == own else found + one
        return found

    def margin(self, attribute: int) -> Floats:
        return self.margins.frequencies(attribute)

    def margin_spread(self, attribute: int) -> float:
        precision = self.margins.precision(attribute)
        return 1 / precision if precision else np.inf
