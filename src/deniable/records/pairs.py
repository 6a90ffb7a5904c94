"""Tables of all pairs of attributes in one vector, and counting of reported records into this vector."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeIs

from deniable.core.checks import Codes, checked_report_records
from deniable.core.kernels import kernel
from deniable.core.randomness import SimulationRandomness
from deniable.core.state import Counts, stretches_sum_to
from deniable.errors import DamagedStateError, InvalidParameterError, TooLargeError, quoted
from deniable.oracles.grr import GRR
from deniable.records.layout import row_blocks, starts_of, stretches
from deniable.records.record import HiddenRecords

MAX_PAIR_CELLS = 1 << 22
"""Largest number of cells, over the tables of all pairs of attributes, that an aggregate counts."""

_ROWS = 1 << 16

Pair = tuple[int, int]


def attribute_pairs(d: int) -> list[Pair]:
    """Return all pairs (i, j), i < j, in lexicographic order."""
    return list(combinations(range(d), 2))


def pair_cells(sizes: Sequence[int]) -> list[int]:
    """Return the number of cells of every pair's table."""
    return [sizes[i] * sizes[j] for i, j in attribute_pairs(len(sizes))]


def check_pairs(sizes: Sequence[int]) -> None:
    """Raise an error unless there are at least two attributes, and not too many cells to count."""
    if len(sizes) < 2:
        raise InvalidParameterError(f"sizes must list at least two attributes, got sizes={quoted(tuple(sizes))}")
    total = sum(pair_cells(sizes))
    if total > MAX_PAIR_CELLS:
        raise TooLargeError(f"the tables of all pairs must have at most {MAX_PAIR_CELLS} cells, got {total}")


def tally_pairs(codes: Codes, sizes: Sequence[int], weights: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the counts of all pairs' tables of checked codes[n, d], one table after the other, row by row.

    Row i counts weights[i] times if weights int64[n] are given, otherwise once.
    """
    starts = starts_of(pair_cells(sizes))
    counts = np.zeros(sum(pair_cells(sizes)), dtype=np.int64)
    widths = np.array(sizes, dtype=np.int64)
    for rows in row_blocks(len(codes), _ROWS):
        part = np.ascontiguousarray(codes[rows])
        held = np.ones(len(part), dtype=np.int64) if weights is None else weights[rows]
        _tally(part, held, starts, widths, counts)
    return counts


@kernel
def _tally(
    codes: Codes,
    weights: NDArray[np.int64],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    d = codes.shape[1]
    for i in range(codes.shape[0]):
        pair = 0
        for a in range(d - 1):
            row = np.int64(codes[i, a])
            for b in range(a + 1, d):
                counts[starts[pair] + row * sizes[b] + np.int64(codes[i, b])] += weights[i]
                pair += 1


def pair_counts(counts: NDArray[Any], sizes: Sequence[int]) -> dict[Pair, NDArray[Any]]:
    """Return the table of every pair, int64[k_i, k_j], from the vector that `tally_pairs` made."""
    pairs = attribute_pairs(len(sizes))
    places = stretches(pair_cells(sizes))
    return {(i, j): counts[place].reshape(sizes[i], sizes[j]) for (i, j), place in zip(pairs, places, strict=True)}


def marginal_counts(counts: NDArray[Any], sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """Return the count of each code of every attribute; raise DamagedStateError if two tables disagree."""
    found: dict[int, NDArray[np.int64]] = {}
    for (i, j), table in pair_counts(counts, sizes).items():
        for attribute, axis in ((i, 1), (j, 0)):
            margin = table.sum(axis=axis)
            if not np.array_equal(found.setdefault(attribute, margin), margin):
                raise DamagedStateError(
                    f"all tables of attribute {attribute} must have the same total for each category, but the totals "
                    "differ"
                )
    return [found[j] for j in range(len(sizes))]


def branch(
    counts: NDArray[np.int64], laws: NDArray[np.float64], rng: SimulationRandomness
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Draw one more code for groups of contributors; the distribution is exact.

    Parameters
    ----------
    counts : int64[groups]
        Number of contributors in each group.
    laws : float64[groups, k]
        Distribution of the code in each group.
    rng : SimulationRandomness
        Source of the draw.

    Returns
    -------
    (int64[m], int64[m], int64[m])
        For each nonempty new group, the group that it came from, its code, and its number of contributors, >= 1.
    """
    drawn = rng.generator.multinomial(counts, laws)
    groups, codes = np.nonzero(drawn)
    return groups, codes, drawn[groups, codes]


class PairedRecords(HiddenRecords):
    """A mechanism whose reports are rows of codes, and whose aggregate has one table of counts per pair."""

    counts_pairs = True

    def _tally(self, reports: Any) -> tuple[NDArray[np.int64], int]:
        codes = checked_report_records(reports, self.sizes)
        return tally_pairs(codes, self.sizes), len(codes)

    @property
    def state_size(self) -> int:
        """Number of counters: one for each cell of every pair's table."""
        return sum(pair_cells(self.sizes))

    def check_state(self, counts: Counts, n: int) -> None:
        stretches_sum_to(counts, pair_cells(self.sizes), n)
        marginal_counts(counts, self.sizes)  # it refuses tables that disagree about an attribute

    def support_counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate(marginal_counts(counts, self.sizes))


class IndependentPairs(PairedRecords):
    """Paired records with independently randomised attributes, so that tables can be inverted."""

    @property
    @abstractmethod
    def channels(self) -> tuple[GRR, ...]:
        """Randomised response of each attribute."""


def has_independent_pairs(mechanism: object) -> TypeIs[IndependentPairs]:
    """Return whether a mechanism's pair tables can be inverted attribute by attribute."""
    return isinstance(mechanism, IndependentPairs)
