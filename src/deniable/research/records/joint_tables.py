"""Joint frequencies of pairs of attributes, from reports whose attributes were randomised independently.

A reported pair (y_i, y_j) went through two known GRR channels. Let A = (I - q 11')/(p - q) be the inverse of a channel.
Then

    T^_ij = A_i (C_ij/n) A_j'

is exactly unbiased for the joint frequencies. Here C_ij is the reported table, and p and q are the implemented
probabilities. The row and column sums are the unbiased marginals. The noise is large: the variance of one report is the
product of the variances of two marginal estimates, each with only its share of the budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Floats, checked_integer
from deniable.core.estimate import Estimate
from deniable.core.projection import nearest_distribution
from deniable.errors import InvalidParameterError, MismatchError, quoted
from deniable.oracles.grr import GRR
from deniable.records.pairs import Pair, attribute_pairs, has_independent_pairs, pair_counts
from deniable.records.split_tables import inverse, second_moments

_CERTAIN = 1e-12


@dataclass(frozen=True, eq=False)
class PairTable:
    """Estimated joint frequencies of two attributes.

    Analysts get tables from `pair_tables`.

    Parameters
    ----------
    attributes : (int, int)
        The rows' attribute i and the columns' attribute j.
    oracles : (GRR, GRR)
        Oracles of the two attributes.
    reported : int64[k_i, k_j]
        Number of reports of each pair of codes.
    cells : Estimate
        Unbiased estimate of the k_i k_j joint frequencies, row by row. It has intervals and can be post-processed like
        any other estimate.
    """

    attributes: Pair
    oracles: tuple[GRR, GRR]
    reported: NDArray[np.int64]
    cells: Estimate

    @property
    def n(self) -> int:
        """Number of reports."""
        return self.cells.n

    @property
    def shape(self) -> tuple[int, int]:
        """(k_i, k_j)."""
        return self.oracles[0].k, self.oracles[1].k

    @property
    def frequencies(self) -> Floats:
        """Unbiased joint frequencies, float64[k_i, k_j]; some may be negative."""
        return self.cells.frequencies.reshape(self.shape)

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the frequencies among these contributors (noise only), float64[k_i, k_j]."""
        return self.cells.standard_errors.reshape(self.shape)

    @cached_property
    def projected(self) -> PairTable:
        """The nearest table with frequencies >= 0 that sum to one (step "simplex" of `cells`); no standard errors."""
        if self.cells.processing:
            return self
        return replace(self, cells=self.cells.processed(nearest_distribution(self.cells.frequencies), "simplex"))

    @property
    def margins(self) -> tuple[Floats, Floats]:
        """Row sums and column sums, which are the frequencies of attributes i and j."""
        return self.frequencies.sum(axis=1), self.frequencies.sum(axis=0)

    @property
    def transposed(self) -> PairTable:
        """The same table with rows and columns exchanged."""
        turned = pair_table(self.reported.T, self.n, *self.oracles[::-1], self.attributes[::-1])
        return turned.projected if self.cells.processing else turned


class PairTables(Mapping[Pair, PairTable]):
    """The tables of all pairs: a mapping from (i, j), i < j, to a `PairTable`; (j, i) gives the transposed table.

    Parameters
    ----------
    aggregate : Aggregate
        Aggregate of `SPLPairs`, with reports.

    Raises
    ------
    MismatchError, EmptyAggregateError
        If the aggregate is of another mechanism, or contains no reports.
    """

    def __init__(self, aggregate: Aggregate) -> None:
        mechanism = aggregate.mechanism
        if not has_independent_pairs(mechanism):
            raise MismatchError(
                f"pair tables need an aggregate of the mechanism SPL pairs, got an aggregate of {quoted(mechanism)}"
            )
        mechanism.check(aggregate)
        self.sizes, self.n, self.oracles = mechanism.sizes, aggregate.n, mechanism.channels
        self._reported = pair_counts(aggregate.counts, self.sizes)
        self._found: dict[Pair, PairTable] = {}

    def __getitem__(self, pair: Pair) -> PairTable:
        i, j = (checked_integer("attribute", one, 0, len(self.sizes) - 1) for one in pair)
        if i == j:
            raise InvalidParameterError(f"pair must name two different attributes, got pair={quoted(pair)}")
        if i > j:
            return self[j, i].transposed
        if (i, j) not in self._found:
            self._found[i, j] = pair_table(self._reported[i, j], self.n, self.oracles[i], self.oracles[j], (i, j))
        return self._found[i, j]

    def __iter__(self) -> Iterator[Pair]:
        return iter(attribute_pairs(len(self.sizes)))

    def __len__(self) -> int:
        return len(self._reported)


def pair_tables(aggregate: Aggregate) -> PairTables:
    """Analyst: return unbiased joint frequencies of every pair of attributes, with standard errors.

    Parameters
    ----------
    aggregate : Aggregate
        Aggregate of `SPLPairs`, with reports.

    Returns
    -------
    PairTables
        Mapping from a pair (i, j) to its `PairTable`.

    Raises
    ------
    MismatchError, EmptyAggregateError
        If the aggregate is of another mechanism, or contains no reports.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.records.joint_tables import pair_tables
    >>> from deniable.records.split import SPLPairs
    >>> pairs = SPLPairs(sizes=(2, 2), epsilon=4.0)
    >>> held = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> table = pair_tables(pairs.simulate_aggregate(held, [400, 100, 100, 400], SimulationRandomness(1)))[0, 1]
    >>> table.frequencies.round(2)
    array([[0.41, 0.11],
           [0.09, 0.39]])
    >>> table.standard_errors.round(3)
    array([[0.015, 0.015],
           [0.014, 0.014]])
    """
    return PairTables(aggregate)


def pair_table(reported: NDArray[np.int64], n: int, first: GRR, second: GRR, attributes: Pair = (0, 1)) -> PairTable:
    """Return the table of one pair from how often each pair of codes was reported, n times in all.

    The noise of a cell depends on the frequencies of its row and column. The projected frequencies are plugged in.
    """
    unbiased = inverse(first) @ (reported / n) @ inverse(second).T
    (s0, s1), (t0, t1) = second_moments(first), second_moments(second)
    plugged = nearest_distribution(unbiased.ravel()).reshape(unbiased.shape)
    rows, columns = plugged.sum(axis=1, keepdims=True), plugged.sum(axis=0, keepdims=True)
    elsewhere = (rows - plugged) * s1 * t0 + (columns - plugged) * s0 * t1 + (1 - rows - columns + plugged) * s0 * t0
    absent = np.where(1 - plugged > _CERTAIN, elsewhere / np.maximum(1 - plugged, _CERTAIN), s0 * t0)
    labels = [f"({a}, {b})" for a in range(first.k) for b in range(second.k)]
    cells = Estimate(unbiased.ravel(), n, absent.ravel(), np.asarray(s1 * t1 - 1), labels=tuple(labels))
    return PairTable(attributes, (first, second), reported, cells)
