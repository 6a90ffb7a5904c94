"""Estimating equations in which rows enter once per hidden cell, weighted by unbiased indicators.

A generalised linear model with its canonical link solves sum_i sum_c x_ic (r_ic - t_ic mu(x_ic'b)) = 0. If the cell
were known, t would be 1 in the copy of that cell and r would be the outcome. With T in place of 1 the sum has the same
mean. The method assumes nothing about the errors, nor about how the hidden predictor depends on plain columns. The
sandwich sums the copies of a row first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from deniable.models.problem import BLOCK_ROWS, Evaluation, Problem, RowWeights
from deniable.models.row_kernels import collect, predict, weighted_grams
from deniable.models.row_laws import Floats, softmax

Link = Literal["logit", "linear", "poisson"]
"""Canonical links. "logit" is for any number of categories."""


class Copy(NamedTuple):
    """Columns that rows have only in the copy of one hidden cell.

    Attributes
    ----------
    places : int64[r]
        Places of these columns among all columns.
    values : float64[n, r] or float64[1, r]
        Values of these columns; one row for constants.
    """

    places: NDArray[np.int64]
    values: Floats

    def of(self, rows: Any) -> Floats:
        """Return the values of some rows."""
        return self.values if len(self.values) == 1 else self.values[rows]


@final
@dataclass(frozen=True, eq=False)
class WeightedProblem(Problem):
    """Estimating equations with unbiased indicators.

    Parameters
    ----------
    link : {"logit", "linear", "poisson"}
        Link of the outcome's mean.
    columns : int
        Number p of all columns.
    common : int64[c]
        Places of the columns that are alike in every copy.
    design : float64[n, c]
        Values of those columns.
    copies : sequence of Copy
        Other columns, one entry per hidden cell.
    totals : float64[n, copies]
        Weight t of each copy.
    responses : float64[n, copies, m]
        Weighted outcomes r; m is k - 1 for k categories without the first one, otherwise 1.
    weights : RowWeights
        Weights of the rows.
    """

    link: Link
    columns: int
    common: NDArray[np.int64]
    design: Floats
    copies: Sequence[Copy]
    totals: Floats
    responses: Floats
    weights: RowWeights = RowWeights()  # noqa: RUF009  an immutable tuple

    is_likelihood = False

    @property
    def n(self) -> int:
        return len(self.design)

    @property
    def _m(self) -> int:
        return int(self.responses.shape[2])

    @property
    def size(self) -> int:
        return self._m * self.columns

    @cached_property
    def block_rows(self) -> int:
        return max(64, min(BLOCK_ROWS, (1 << 21) // (self.columns * max(self._m, 1) ** 2)))

    def subset(self, rows: NDArray[np.int64]) -> WeightedProblem:
        return replace(
            self,
            design=self.design[rows],
            copies=[Copy(places, own if len(own) == 1 else own[rows]) for places, own in self.copies],
            totals=self.totals[rows],
            responses=self.responses[rows],
            weights=self.weights.of(rows),
        )

    def _columns(self, copy: Copy, rows: slice) -> Floats:
        found = np.zeros((rows.stop - rows.start, self.columns))
        found[:, self.common] = self.design[rows]
        found[:, copy.places] = copy.of(rows)
        return found

    def _means(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the potential [b], means [b, m], and their derivatives [b, m, m]."""
        if self.link == "linear":
            return 0.5 * eta[:, 0] ** 2, eta, np.ones((len(eta), 1, 1))
        if self.link == "poisson":
            mean = np.exp(np.minimum(eta, 500.0))
            return mean[:, 0], mean, mean[:, :, None]
        own = softmax(eta)[:, 1:]
        top = np.maximum(eta.max(axis=1), 0.0)
        potential = top + np.log(np.exp(-top) + np.exp(eta - top[:, None]).sum(axis=1))
        bend = -own[:, :, None] * own[:, None, :]
        places = np.arange(own.shape[1])
        bend[:, places, places] += own
        return potential, own, bend

    def evaluate_rows(self, theta: Floats, rows: slice, second: bool) -> Evaluation:
        value, p, m = 0.0, self.columns, self._m
        gradient, matrix = np.zeros((m, p)), np.zeros((m, p, m, p))
        counted, along = self.weights.product, np.ascontiguousarray(theta.reshape(m, p).T)
        first, other = np.triu_indices(m)
        for number, copy in enumerate(self.copies):
            x = self._columns(copy, rows)
            eta = np.empty((len(x), m))
            predict(x, along, eta)
            potential, mean, bend = self._means(eta)
            r, t = self.responses[rows, number], self.totals[rows, number]
            if counted is not None:
                r, t = r * counted[rows, None], t * counted[rows]
            value += float((r * eta).sum() - (t * potential).sum())
            collect(x, r - t[:, None] * mean, gradient)
            if second:
                grams = weighted_grams(x, t[:, None, None] * bend, first, other)
                matrix[first, :, other, :] -= grams
                apart = first != other
                matrix[other[apart], :, first[apart], :] -= grams[apart]
        return Evaluation(value, gradient.ravel(), matrix.reshape(self.size, self.size))

    def scores(self, theta: Floats, rows: slice) -> Floats:
        p, m = self.columns, self._m
        found = np.zeros((rows.stop - rows.start, m, p))
        for number, copy in enumerate(self.copies):
            x = self._columns(copy, rows)
            mean = self._means(x @ theta.reshape(m, p).T)[1]
            rest = self.responses[rows, number] - self.totals[rows, number, None] * mean
            found += rest[:, :, None] * x[:, None, :]
        if self.weights.sampling is not None:
            found *= self.weights.sampling[rows, None, None]
        return found.reshape(len(found), -1)
