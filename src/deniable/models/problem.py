"""Functions to be maximised, with gradients, Hessians and scores, in blocks of rows with bounded memory."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from deniable.core.report_likelihood import ReportLikelihood
from deniable.models.row_kernels import collect, predict, weigh_across, weighted_grams
from deniable.models.row_laws import NO_OUTCOME, Floats, RowLaw

BLOCK_ROWS = 8192
"""Most rows that are worked on at a time."""

_BLOCK_NUMBERS = 1 << 20
"""Most numbers that the second derivatives of a block may have."""

Result = TypeVar("Result")


class Evaluation(NamedTuple):
    """Value and derivatives of the function at one point.

    Attributes
    ----------
    value : float
        Log likelihood, or the function whose gradient forms the estimating equations.
    gradient : float64[P]
        First derivatives of the function.
    hessian : float64[P, P]
        Second derivatives of the function; zeros if they were not requested.
    """

    value: float
    gradient: Floats
    hessian: Floats

    def plus(self, other: Evaluation) -> Evaluation:
        """Return the sum of both."""
        return Evaluation(self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian)


class RowWeights(NamedTuple):
    """Weights of rows.

    Attributes
    ----------
    sampling : float64[n] or None
        Sampling weights, which enter the middle of the sandwich squared.
    frequency : float64[n] or None
        Number of equal rows that each row stands for.
    """

    sampling: Floats | None = None
    frequency: Floats | None = None

    @property
    def product(self) -> Floats | None:
        """The factor of each row's log likelihood; None for one."""
        if self.sampling is None or self.frequency is None:
            return self.frequency if self.sampling is None else self.sampling
        return self.sampling * self.frequency

    def of(self, rows: NDArray[np.int64]) -> RowWeights:
        """Return those of some rows."""
        return RowWeights(*(None if one is None else one[rows] for one in self))


class Problem(ABC):
    """A function of P parameters to be maximised, a sum over rows."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def weights(self) -> RowWeights:
        """Weights of rows."""

    @property
    @abstractmethod
    def is_likelihood(self) -> bool:
        """True for a log likelihood."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of parameters."""

    @property
    @abstractmethod
    def block_rows(self) -> int:
        """Rows that are worked on at a time."""

    @abstractmethod
    def evaluate_rows(self, theta: Floats, rows: slice, second: bool) -> Evaluation:
        """Return the sum over a block of rows."""

    @abstractmethod
    def scores(self, theta: Floats, rows: slice) -> Floats:
        """Return what each row of a block adds to the gradient, float64[b, P], without frequency weights."""

    @abstractmethod
    def subset(self, rows: NDArray[np.int64]) -> Problem:
        """Return the same problem of some rows."""

    def evaluate(self, theta: Floats, second: bool = True) -> Evaluation:
        """Return the function, its gradient and Hessian."""
        # Threads are used, because numpy leaves the interpreter free while it works on a block.
        parts = in_blocks(self.n, self.block_rows, lambda rows: self.evaluate_rows(theta, rows, second))
        total = next(parts)
        for part in parts:
            total = total.plus(part)
        return total

    def middle(self, theta: Floats, clusters: NDArray[np.int64] | None = None) -> Floats:
        """Return the middle of the sandwich, the sum of s s' over rows, or over clusters with the factor G/(G-1)."""
        if clusters is not None:
            sums = np.zeros((int(clusters.max()) + 1, self.size))
            for start in range(0, self.n, self.block_rows):
                rows = slice(start, min(start + self.block_rows, self.n))
                np.add.at(sums, clusters[rows], self._counted(rows, self.scores(theta, rows)))
            return sums.T @ sums * (len(sums) / (len(sums) - 1))

        def squares(rows: slice) -> Floats:
            scores = self.scores(theta, rows)
            return scores.T @ self._counted(rows, scores)

        found: Floats = np.sum(list(in_blocks(self.n, self.block_rows, squares)), axis=0)
        return found

    def _counted(self, rows: slice, scores: Floats) -> Floats:
        frequency = self.weights.frequency
        return scores if frequency is None else scores * frequency[rows, None]


def inverse(matrix: Floats) -> Floats:
    """Return the inverse of a matrix."""
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def available_threads() -> int:
    """Return how many blocks may be worked on at a time; results do not depend on it."""
    return os.cpu_count() or 1


def in_blocks(n: int, step: int, work: Callable[[slice], Result]) -> Iterator[Result]:
    """Yield the results of blocks of rows in their order; several at a time where there are many."""
    blocks = [slice(start, min(start + step, n)) for start in range(0, n, step)] or [slice(0, 0)]
    workers = min(available_threads(), len(blocks) // 4)
    if workers < 2:
        yield from map(work, blocks)
        return
    with ThreadPoolExecutor(workers) as pool:
        # Few blocks are submitted at a time, because results wait for their turn and each has P x P numbers.
        for start in range(0, len(blocks), 4 * workers):
            yield from pool.map(work, blocks[start : start + 4 * workers])


def gram(columns: Floats) -> Floats:
    """Return X'X of columns float64[n, p]."""
    only = np.zeros(1, dtype=np.int64)

    def block(rows: slice) -> Floats:
        part = columns[rows]
        product: Floats = weighted_grams(part, np.ones((len(part), 1, 1)), only, only)[0]
        return product

    found: Floats = np.sum(list(in_blocks(len(columns), BLOCK_ROWS, block)), axis=0)
    return found


@final
@dataclass(frozen=True, eq=False)
class MixtureProblem(Problem):
    """Log likelihood of a row law over all rows.

    Parameters
    ----------
    law : RowLaw
        Likelihood of one row.
    designs : sequence of float64[n, p]
        Columns that linear predictors are made of.
    likelihood : ReportLikelihood
        Likelihood of the hidden cells given the reports, n rows.
    outcome : float64[n]
        Plain outcome; empty if there is none.
    weights : RowWeights
        Weights of the rows.
    """

    law: RowLaw
    designs: Sequence[Floats]
    likelihood: ReportLikelihood
    outcome: Floats = field(default_factory=lambda: NO_OUTCOME)
    weights: RowWeights = RowWeights()  # noqa: RUF009  an immutable tuple

    @property
    def is_likelihood(self) -> bool:
        return self.law.is_likelihood

    @property
    def n(self) -> int:
        return len(self.likelihood.relative)

    @cached_property
    def _places(self) -> list[tuple[slice, slice, int | None, int]]:
        """For every group: its numbers in a row, its parameters, its design, and the design's columns."""
        found, start = [], 0
        for group, numbers in zip(self.law.groups, self.law.places, strict=True):
            columns = 1 if group.design is None else self.designs[group.design].shape[1]
            stop = start + columns * group.size
            found.append((numbers, slice(start, stop), group.design, columns))
            start = stop
        return found

    @property
    def size(self) -> int:
        return int(self._places[-1][1].stop)

    @cached_property
    def block_rows(self) -> int:
        per_row = self.law.width**2 * (1 if self.law.width < 8 else 2) + self.law.cells
        return max(64, min(BLOCK_ROWS, _BLOCK_NUMBERS // per_row))

    def subset(self, rows: NDArray[np.int64]) -> MixtureProblem:
        return replace(
            self,
            designs=[design[rows] for design in self.designs],
            likelihood=self.likelihood.at(rows),
            outcome=self.outcome[rows] if len(self.outcome) else self.outcome,
            weights=self.weights.of(rows),
        )

    def told_by(self, likelihood: ReportLikelihood) -> MixtureProblem:
        """Return the problem of the same rows with other reports."""
        return replace(self, likelihood=likelihood)

    def numbers(self, theta: Floats, rows: slice) -> Floats:
        """Return the numbers phi of a block of rows, float64[b, m]."""
        length = rows.stop - rows.start
        phi = np.empty((length, self.law.width))
        for numbers, own, design, columns in self._places:
            if design is None:
                phi[:, numbers] = self.law.shared(theta[own])[0]
            else:
                along = np.ascontiguousarray(theta[own].reshape(-1, columns).T)
                predict(self.designs[design][rows], along, phi[:, numbers])
        return phi

    def derivatives(self, theta: Floats, rows: slice, second: bool) -> tuple[Floats, Floats, Floats]:
        """Return log likelihood, score and Hessian of every row of a block in its numbers."""
        part = self.outcome[rows] if len(self.outcome) else self.outcome
        return self.law.evaluate(self.numbers(theta, rows), self.likelihood.relative[rows], part, second)

    def evaluate_rows(self, theta: Floats, rows: slice, second: bool) -> Evaluation:
        values, score, hessian = self.derivatives(theta, rows, second)
        values = values + self.likelihood.log_scale[rows]
        counted = self.weights.product
        if counted is not None:
            values, score = values * counted[rows], score * counted[rows, None]
            hessian = hessian * counted[rows, None, None] if second else hessian
        gradient, matrix = np.empty(self.size), np.zeros((self.size, self.size))
        for numbers, own, design, _ in self._places:
            if design is None:
                gradient[own] = score[:, numbers].sum(axis=0)
            else:
                found = np.zeros((numbers.stop - numbers.start, self.designs[design].shape[1]))
                collect(self.designs[design][rows], score[:, numbers], found)
                gradient[own] = found.ravel()
        if second:
            self._assemble(hessian, rows, matrix)
        for _, own, design, _ in self._places:
            if design is None:
                self._reparametrise(theta, own, gradient, matrix)
        return Evaluation(float(values.sum()), gradient, matrix)

    def _assemble(self, hessian: Floats, rows: slice, matrix: Floats) -> None:
        """Write the sum of what the rows' matrices in their numbers are in the parameters."""
        for at, (numbers, own, design, _) in enumerate(self._places):
            for other_numbers, other, second_design, _ in self._places[at:]:
                mine, theirs = (
                    np.arange(numbers.start, numbers.stop),
                    np.arange(other_numbers.start, other_numbers.stop),
                )
                # Within a group only one half is summed up, because the other half is the same.
                pairs = [(a, b) for a in range(len(mine)) for b in range(a if own == other else 0, len(theirs))]
                if not pairs:
                    continue
                places = np.array(pairs, dtype=np.int64)
                first, second = mine[places[:, 0]], theirs[places[:, 1]]
                grams = self._grams(hessian, rows, design, second_design, first, second)
                _, left, right = grams.shape
                block = np.zeros((len(mine), left, len(theirs), right))
                block[places[:, 0], :, places[:, 1], :] = grams
                matrix[own, other] = block.reshape(len(mine) * left, len(theirs) * right)
        lower = np.tril_indices(self.size, -1)
        matrix[lower] = matrix.T[lower]

    def _grams(
        self,
        hessian: Floats,
        rows: slice,
        design: int | None,
        other: int | None,
        first: NDArray[np.int64],
        second: NDArray[np.int64],
    ) -> Floats:
        left = None if design is None else self.designs[design]
        right = None if other is None else self.designs[other]
        if left is None and right is None:
            found: Floats = hessian[:, first, second].sum(axis=0)[:, None, None]
            return found
        if left is right and left is not None:
            return weighted_grams(left[rows], hessian, first, second)
        ones = np.ones((len(hessian), 1))
        one, two = (ones if own is None else own[rows] for own in (left, right))
        grams = np.zeros((len(first), one.shape[1], two.shape[1]))
        weigh_across(one, two, hessian, first, second, grams)
        return grams

    def _reparametrise(self, theta: Floats, own: slice, gradient: Floats, matrix: Floats) -> None:
        _, jacobian, bend = self.law.shared(theta[own])
        direct = gradient[own].copy()
        gradient[own] = direct @ jacobian
        matrix[own, :] = jacobian.T @ matrix[own, :]
        matrix[:, own] = matrix[:, own] @ jacobian
        places = np.arange(own.start, own.stop)
        matrix[places, places] += direct @ bend

    def scores(self, theta: Floats, rows: slice) -> Floats:
        score = self.derivatives(theta, rows, False)[1]
        if self.weights.sampling is not None:
            score = score * self.weights.sampling[rows, None]
        found = np.empty((len(score), self.size))
        for numbers, own, design, _ in self._places:
            if design is None:
                found[:, own] = score[:, numbers] @ self.law.shared(theta[own])[1]
            else:
                columns = self.designs[design][rows]
                found[:, own] = (score[:, numbers, None] * columns[:, None, :]).reshape(len(score), -1)
        return found

    def _in_parameters(self, local: Floats, rows: slice, theta: Floats) -> Floats:
        """Return the sum of what positive matrices of rows, float64[b, m, m], are in the parameters."""
        matrix, nothing = np.zeros((self.size, self.size)), np.zeros(self.size)
        self._assemble(local, rows, matrix)
        for _, own, design, _ in self._places:
            if design is None:
                self._reparametrise(theta, own, nothing, matrix)
        return matrix

    def middle(self, theta: Floats, clusters: NDArray[np.int64] | None = None) -> Floats:
        if clusters is not None:
            return super().middle(theta, clusters)

        def block(rows: slice) -> Floats:
            score = self.derivatives(theta, rows, False)[1]
            weights = self.weights
            counted = 1.0 if weights.frequency is None else weights.frequency[rows, None, None]
            if weights.sampling is not None:
                counted = counted * weights.sampling[rows, None, None] ** 2
            return self._in_parameters(counted * score[:, :, None] * score[:, None, :], rows, theta)

        found: Floats = np.sum(list(in_blocks(self.n, self.block_rows, block)), axis=0)
        return found

    def expected(self, theta: Floats, listed: ReportLikelihood) -> Floats:
        """Return the expected information, given all possible reports about the hidden cells.

        Parameters
        ----------
        theta : float64[P]
            Where.
        listed : ReportLikelihood
            Likelihood of each possible report; P(report | cell) sums to one over the reports.
        """

        def block(rows: slice) -> Floats:
            phi, asked = self.numbers(theta, rows), self.likelihood.asked[rows]
            chances = self.law.cell_probabilities(phi)
            local = np.zeros((len(phi), self.law.width, self.law.width))
            for relative, scale in zip(listed.relative, listed.log_scale, strict=True):
                told = np.repeat(relative[None], len(phi), axis=0)
                score = self.law.evaluate(phi, told, NO_OUTCOME, False).score
                probability = asked * np.exp(scale) * (chances @ relative)
                local += (probability[:, None] * score)[:, :, None] * score[:, None, :]
            counted = self.weights.product
            if counted is not None:
                local *= counted[rows, None, None]
            return self._in_parameters(local, rows, theta)

        found: Floats = np.sum(list(in_blocks(self.n, self.block_rows, block)), axis=0)
        return found


@final
@dataclass(frozen=True, eq=False)
class Moved(Problem):
    """Problem in other parameters psi, with theta = turned psi.

    Parameters
    ----------
    inner : Problem
        Problem in the parameters theta.
    turned : float64[P, P]
        Matrix of the linear map from psi to theta.
    """

    inner: Problem
    turned: Floats

    @property
    def n(self) -> int:
        return self.inner.n

    @property
    def weights(self) -> RowWeights:
        return self.inner.weights

    @property
    def is_likelihood(self) -> bool:
        return self.inner.is_likelihood

    @property
    def size(self) -> int:
        return self.inner.size

    @property
    def block_rows(self) -> int:
        return self.inner.block_rows

    def evaluate_rows(self, theta: Floats, rows: slice, second: bool) -> Evaluation:
        return self._moved(self.inner.evaluate_rows(self.turned @ theta, rows, second))

    def evaluate(self, theta: Floats, second: bool = True) -> Evaluation:
        return self._moved(self.inner.evaluate(self.turned @ theta, second))

    def _moved(self, found: Evaluation) -> Evaluation:
        value, gradient, hessian = found
        return Evaluation(value, self.turned.T @ gradient, self.turned.T @ hessian @ self.turned)

    def scores(self, theta: Floats, rows: slice) -> Floats:
        return self.inner.scores(self.turned @ theta, rows) @ self.turned

    def subset(self, rows: NDArray[np.int64]) -> Moved:
        return Moved(self.inner.subset(rows), self.turned)
