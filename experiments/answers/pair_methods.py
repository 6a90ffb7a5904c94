"""Tables of all pairs from one collection, by each of the methods that are compared.

SPL splits the budget. With the other methods, each contributor reports one of several *views* by subset selection. The
views are the pairs themselves, or sets of m attributes that cover all pairs (after CALM: the m with the least predicted
error, and a greedy cover).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import prod
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core.projection import nearest_distribution
from deniable.oracles.subset import SubsetSelection
from deniable.records.dependence import decoding as decoder
from deniable.records.dependence.decoding import dependence_decode
from deniable.records.pair_sample import PairSample
from deniable.records.pairs import Pair, attribute_pairs
from deniable.records.split import SPLPairs
from experiments.answers.populations import Codes, Population

Floats = NDArray[np.float64]
Tables = dict[Pair, Floats]

SINGLES = "0.25"
LARGEST_VIEW = 4
TRIES = 60

SPL_RAW, SPL_DECODED = "SPL, channel inverse, simplex", "SPL + dependence decoder"
RAW, CONSISTENT = "one pair by SS, simplex", "one pair, consistent, simplex"
CALM, CALM_DECODED = "CALM-like views, consistent, simplex", "weighted shrinkage on CALM-like views"
SCALAR, WEIGHTED_25, WEIGHTED = (
    "scalar shrinkage, beta .25",
    "weighted shrinkage, beta .25",
    "weighted shrinkage, beta 0",
)
INDEPENDENCE = "independence of decoded margins"
METHODS = (
    SPL_RAW, SPL_DECODED, RAW, CONSISTENT, CALM, SCALAR, WEIGHTED_25, WEIGHTED, CALM_DECODED, INDEPENDENCE,
)  # fmt: skip
REFERENCE = CONSISTENT


def all_tables(people: Population, held: Codes, epsilon: float, seed: int) -> dict[str, Tables]:
    """Return the tables that each method finds, from one collection per kind of report."""
    rng, rows = SimulationRandomness(seed), held > 0
    records, counts = people.records[rows], held[rows]
    found: dict[str, Tables] = {}
    split = SPLPairs(people.sizes, epsilon)
    tables: Any = split.tables(split.simulate_aggregate(records, counts, rng))
    found[SPL_RAW] = {pair: simplex(tables[pair].frequencies) for pair in tables}
    found[SPL_DECODED] = decoded(tables)
    one = PairSample(people.sizes, epsilon)
    tables = one.tables(one.simulate_aggregate(records, counts, rng))
    found[RAW] = {pair: simplex(tables[pair].frequencies) for pair in tables}
    found[CONSISTENT] = {pair: simplex(tables.consistent(*pair).frequencies) for pair in tables}
    found[WEIGHTED] = decoded(tables)
    margins = dependence_decode(tables).margins
    found[INDEPENDENCE] = {(i, j): np.outer(margins[i], margins[j]) for i, j in tables}
    quarter = PairSample(people.sizes, epsilon, SINGLES)
    tables = quarter.tables(quarter.simulate_aggregate(records, counts, rng))
    found[WEIGHTED_25] = decoded(tables)
    found[SCALAR] = _scalar(tables)
    views = best_views(people.sizes, epsilon)
    if len(views[0]) == 2:
        found[CALM], found[CALM_DECODED] = found[CONSISTENT], found[WEIGHTED]
    else:
        tables = ViewTables(people, records, counts, views, epsilon, rng)
        found[CALM] = {pair: simplex(tables.consistent(*pair)) for pair in tables}
        found[CALM_DECODED] = decoded(tables)
    return found


def simplex(table: Floats) -> Floats:
    """Return the nearest distribution; without reports, the uniform one."""
    if np.isnan(table).any():
        return np.full(table.shape, 1 / table.size)
    return nearest_distribution(table.ravel()).reshape(table.shape)


def decoded(tables: Any) -> Tables:
    """Return the dependence decoder's tables; for a pair without reports, the independent table."""
    found = dependence_decode(tables)
    return {
        (i, j): np.outer(found.margins[i], found.margins[j]) if np.isnan(one.dependence) else one.frequencies
        for (i, j), one in found.tables.items()
    }


def _scalar(tables: Any) -> Tables:
    """Shrink all cells of a table by one factor, which uses the table's mean bound."""
    weighted = decoder._interaction

    def level(*given: Any) -> Any:
        one = weighted(*given)
        return one._replace(room=np.full(one.room.shape, one.room.mean()))

    with mock.patch.object(decoder, "_interaction", level):
        return decoded(tables)


# ---------------------------------------------------------------- views of several attributes


@cache
def best_views(sizes: tuple[int, ...], epsilon: float) -> tuple[tuple[int, ...], ...]:
    """Return the cover of all pairs by sets of m attributes that has the least predicted error."""
    covers = [cover(len(sizes), m) for m in range(2, min(LARGEST_VIEW, len(sizes)) + 1)]
    return min(
        (views for views in covers if max(prod(sizes[j] for j in view) for view in views) <= 1 << 12),
        key=lambda views: predicted(sizes, views, epsilon),
    )


def cover(d: int, m: int) -> tuple[tuple[int, ...], ...]:
    """Return sets of m of d attributes that together contain all pairs, chosen greedily."""
    if m == 2:
        return tuple(combinations(range(d), 2))
    left, views, generator = set(combinations(range(d), 2)), [], np.random.default_rng(d * 10 + m)
    while left:
        tried = [tuple(sorted(generator.choice(d, m, replace=False).tolist())) for _ in range(TRIES)]
        best = max(tried, key=lambda view: len(left & set(combinations(view, 2))))
        if left & set(combinations(best, 2)):
            views.append(best)
            left -= set(combinations(best, 2))
    return tuple(views)


def predicted(sizes: tuple[int, ...], views: tuple[tuple[int, ...], ...], epsilon: float) -> float:
    """Return the mean variance of a cell of a pair's table, for one contributor, at the uniform distribution."""
    precision: dict[Pair, float] = dict.fromkeys(combinations(range(len(sizes)), 2), 0.0)
    for view in views:
        k = prod(sizes[j] for j in view)
        noise = SubsetSelection(k, epsilon).variance(1 / k, 1)
        for i, j in combinations(view, 2):
            precision[i, j] += 1 / (len(views) * pair_spread(noise, k, sizes[i] * sizes[j]))
    return float(np.mean([1 / one for one in precision.values()]))


def pair_spread(noise: float, k: int, cells: int) -> float:
    """Return the mean variance of a pair's cell, which is a sum of k/cells cells of a view; sampling is included."""
    lumped = k // cells
    return lumped * noise * (1 - (lumped - 1) / (k - 1)) + (1 - 1 / cells) / cells


@dataclass
class _Lumped:
    """A pair's table, with the members that the decoder needs."""

    frequencies: Floats
    n: float
    spread: float

    def interaction_spread(self) -> float:
        """Return the variance of a doubly centred cell."""
        return self.spread


class ViewTables(Mapping[Pair, _Lumped]):
    """Unbiased tables of all pairs, averaged over views by their numbers of reports."""

    def __init__(
        self,
        people: Population,
        records: Codes,
        counts: Codes,
        views: tuple[tuple[int, ...], ...],
        epsilon: float,
        rng: SimulationRandomness,
    ) -> None:
        self.sizes = people.sizes
        drawn = rng.generator.multinomial(counts, np.full(len(views), 1 / len(views)))
        sums: dict[Any, list[tuple[float, Floats]]] = {}
        for v, view in enumerate(views):
            shape = tuple(self.sizes[j] for j in view)
            oracle = SubsetSelection(prod(shape), epsilon)
            held = np.bincount(
                np.ravel_multi_index(tuple(records[:, j] for j in view), shape), weights=drawn[:, v], minlength=oracle.k
            ).astype(np.int64)
            n = int(held.sum())
            if not n:
                continue
            table = oracle.estimate(oracle.simulate_aggregate(held, rng)).frequencies.reshape(shape)
            noise = oracle.variance(1 / oracle.k, 1)
            for size in (1, 2):
                for own in combinations(range(len(view)), size):
                    cells = prod(shape[a] for a in own)
                    margin = table.sum(axis=tuple(a for a in range(len(view)) if a not in own))
                    precision = n / pair_spread(noise, oracle.k, cells)
                    sums.setdefault(tuple(view[a] for a in own), []).append((precision, margin))
        self._found: dict[Any, tuple[Floats, float]] = {}
        for which, parts in sums.items():
            weights = np.array([weight for weight, _ in parts])
            average = np.tensordot(weights / weights.sum(), np.stack([one for _, one in parts]), axes=1)
            self._found[which] = average, float(weights.sum())

    def __getitem__(self, pair: Pair) -> _Lumped:
        if pair not in self._found:
            return _Lumped(np.full([self.sizes[j] for j in pair], np.nan), 0, np.inf)
        table, precision = self._found[pair]
        (rows, columns), k = table.shape, table.size
        spread = (rows - 1) * (columns - 1) / (k - 1) / precision
        return _Lumped(table, 1, spread)

    def __iter__(self) -> Any:
        return iter(attribute_pairs(len(self.sizes)))

    def __len__(self) -> int:
        return len(attribute_pairs(len(self.sizes)))

    def margin(self, attribute: int) -> Floats:
        """Return an attribute's frequencies, averaged over all its views."""
        return self._found[attribute,][0]

    def margin_spread(self, attribute: int) -> float:
        """Return the mean variance of `margin` at the uniform distribution."""
        return float(1 / self._found[attribute,][1])

    def consistent(self, i: int, j: int) -> Floats:
        """Return the table, changed to have the averaged margins."""
        table = self[i, j].frequencies
        rows, columns = table.shape
        moved = table + (self.margin(i) - table.sum(axis=1))[:, None] / columns
        found: Floats = moved + (self.margin(j) - table.sum(axis=0))[None, :] / rows
        return found


def error(found: Tables, truth: Callable[[int, int], Floats]) -> float:
    """Return the mean over all pairs of the summed squared error of the table's cells."""
    return float(np.mean([((table - truth(i, j)) ** 2).sum() for (i, j), table in found.items()]))
