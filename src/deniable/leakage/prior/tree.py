"""Prior with tree structure, for attributes that are too many for a joint table.

Attributes that are not neighbours in the tree are independent given the attributes between them. So the pairwise tables
of the edges are the whole prior. The tree is given, or learned from data as the maximum spanning tree by mutual
information, which is the likeliest tree (Chow, Liu 1968). If a learned tree replaces the data, its conditional
independence is an assumption, and every figure says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.checks import checked_sizes
from deniable.errors import InvalidInputError, TooLargeError
from deniable.leakage.prior.distributions import MAX_STATES, Floats, checked_distribution
from deniable.leakage.prior.empirical_prior import Observed, PairCounts, observed

Edge = tuple[int, int]

_MARGINAL_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class TreePrior:
    """A joint distribution in which d >= 2 attributes depend on each other along a tree.

    Parameters
    ----------
    sizes : tuple of int
        Number of categories of every attribute, all with positive probability.
    edges : tuple of (int, int)
        d - 1 pairs of attributes that connect all attributes. An edge may also connect two independent attributes; its
        table is then the product of their frequencies.
    tables : tuple of float[k_i, k_j]
        P(X_i, X_j) for every edge (i, j). Tables that share an attribute must agree on its frequencies within 1e-6.
    fitted : bool
        Whether the tree was fitted to data. The true joint distribution then need not follow a tree.

    Raises
    ------
    InvalidInputError
        If the edges are not a tree, a table is not a distribution, tables disagree, or a category has probability zero.

    Examples
    --------
    >>> pair = [[0.4, 0.1], [0.1, 0.4]]
    >>> chain = TreePrior(sizes=(2, 2, 2), edges=((0, 1), (1, 2)), tables=(pair, pair))
    >>> chain.conditional(0, 2).round(2)
    array([[0.68, 0.32],
           [0.32, 0.68]])
    """

    sizes: tuple[int, ...]
    edges: tuple[Edge, ...]
    tables: tuple[Floats, ...]
    fitted: bool = False

    def __post_init__(self) -> None:
        sizes = checked_sizes(self.sizes)
        edges = checked_tree(self.edges, len(sizes))
        if len(self.tables) != len(edges):
            raise InvalidInputError(
                f"tables must have one entry for each of the {len(edges)} edges, got {len(self.tables)}"
            )
        tables = []
        for (i, j), given in zip(edges, self.tables, strict=True):
            table = checked_distribution(given, f"table of edge {(i, j)}")
            if table.shape != (sizes[i], sizes[j]):
                raise InvalidInputError(
                    f"the table of the edge {i}, {j} must have shape {(sizes[i], sizes[j])}, got shape={table.shape}"
                )
            tables.append(table)
        for name, value in (("sizes", sizes), ("edges", edges), ("tables", tuple(tables))):
            object.__setattr__(self, name, value)
        self._check_marginals()

    @classmethod
    def from_records(
        cls, records: ArrayLike | Observed, sizes: Sequence[int] = (), edges: Sequence[Edge] | None = None
    ) -> TreePrior:
        """Return a tree fitted to records, with the given edges or with the edges of the Chow-Liu tree.

        Parameters
        ----------
        records : int[n, d] or Observed
            Codes of the records, or the result of `observed`. Codes in column j are in 0..sizes[j]-1. Constant
            attributes and categories that nobody holds are left out (`observed`).
        sizes : sequence of int
            Domain sizes; not needed with an `Observed`.
        edges : sequence of (int, int), optional
            Edges of the tree over the attributes that vary. By default they are learned.

        Examples
        --------
        >>> import numpy as np
        >>> from deniable import SimulationRandomness
        >>> generator = SimulationRandomness(1).generator
        >>> first = generator.integers(0, 2, 500)
        >>> second = first ^ (generator.random(500) < 0.1)
        >>> third = second ^ (generator.random(500) < 0.2)
        >>> tree = TreePrior.from_records(np.column_stack([first, second, third]), (2, 2, 2))
        >>> tree.edges, tree.fitted
        (((0, 1), (1, 2)), True)
        """
        data = records if isinstance(records, Observed) else observed(records, sizes)
        counts = data.counts
        chosen = chow_liu_edges(counts) if edges is None else checked_tree(edges, len(data.sizes))
        tables = tuple(counts.table(i, j) / len(data.codes) for i, j in chosen)
        return cls(data.sizes, chosen, tables, fitted=True)

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """The neighbours of every attribute, ascending."""
        found: list[list[int]] = [[] for _ in self.sizes]
        for i, j in self.edges:
            found[i].append(j)
            found[j].append(i)
        return tuple(tuple(sorted(one)) for one in found)

    @cached_property
    def _along(self) -> dict[Edge, Floats]:
        both: dict[Edge, Floats] = {}
        for (i, j), table in zip(self.edges, self.tables, strict=True):
            both[i, j] = table / table.sum(axis=1, keepdims=True)
            both[j, i] = table.T / table.T.sum(axis=1, keepdims=True)
        return both

    def marginal(self, attribute: int) -> Floats:
        """Return P(X_attribute)."""
        return next(table.sum(axis=1 - edge.index(attribute)) for edge, table in self._at(attribute))

    def conditional(self, target: int, source: int) -> Floats:
        """Return P(X_source | X_target), the product of the conditionals along the path between them."""
        if (target, source) in self._along:
            return self._along[target, source]
        before = self.parents(target)
        path = [source]
        while path[-1] != target:
            path.append(before[path[-1]])
        path.reverse()
        result: Floats = np.eye(self.sizes[target])
        for step in range(len(path) - 1):
            result = result @ self._along[path[step], path[step + 1]]
        return result

    def parents(self, root: int) -> dict[int, int]:
        """Return each attribute's neighbour towards the root; in the mapping, attributes near the root come first."""
        before: dict[int, int] = {}
        walk = [root]
        for here in walk:
            for there in self.neighbours[here]:
                if there != root and there not in before:
                    before[there] = here
                    walk.append(there)
        return before

    def joint(self) -> Floats:
        """Return the whole joint table, shape `sizes`; TooLargeError above 2^24 cells."""
        cells = float(np.prod([float(size) for size in self.sizes]))
        if cells > MAX_STATES:
            raise TooLargeError(f"the joint table must have at most {MAX_STATES} cells, got {cells:.4g}")
        shape = [1] * len(self.sizes)
        shape[0] = self.sizes[0]
        joint = self.marginal(0).reshape(shape)
        for child, parent in self.parents(0).items():
            shape = [1] * len(self.sizes)
            shape[parent], shape[child] = self.sizes[parent], self.sizes[child]
            rows = self._along[parent, child]
            joint = joint * (rows if parent < child else rows.T).reshape(shape)
        return joint

    def _at(self, attribute: int) -> list[tuple[Edge, Floats]]:
        return [(edge, table) for edge, table in zip(self.edges, self.tables, strict=True) if attribute in edge]

    def _check_marginals(self) -> None:
        for attribute in range(len(self.sizes)):
            sums = [table.sum(axis=1 - edge.index(attribute)) for edge, table in self._at(attribute)]
            apart = max(float(np.abs(one - sums[0]).max()) for one in sums)
            if apart > _MARGINAL_TOLERANCE:
                raise InvalidInputError(
                    f"tables must agree about the probabilities of attribute {attribute} (to within "
                    f"{_MARGINAL_TOLERANCE:g}), but two tables differ by {apart:.3g}"
                )
            if min(float(one.min()) for one in sums) == 0:
                empty = int(np.argmin(sums[0]))
                raise InvalidInputError(
                    f"category {empty} of attribute {attribute} has the probability 0: leave this category out of the "
                    "tables"
                )


def checked_tree(edges: Sequence[Edge], d: int) -> tuple[Edge, ...]:
    """Return edges that make a tree of d >= 2 attributes, or raise InvalidInputError."""
    pairs = tuple((int(i), int(j)) for i, j in edges)
    group = list(range(d))
    for i, j in pairs:
        if not (0 <= i < d and 0 <= j < d) or group[i] == group[j]:
            raise InvalidInputError(
                f"edges must form a tree of the attributes 0..{d - 1}, but the edge ({i}, {j}) closes a cycle or names "
                "another attribute: leave this edge out, or correct it"
            )
        group = [group[i] if one == group[j] else one for one in group]
    if d < 2:
        raise InvalidInputError(f"a tree must have at least 2 attributes, got {d}: add attributes")
    if len(pairs) != d - 1:
        raise InvalidInputError(f"edges must connect all {d} attributes in a tree with {d - 1} edges, got {len(pairs)}")
    return pairs


def chow_liu_edges(counts: PairCounts) -> tuple[Edge, ...]:
    """Return the maximum spanning tree by mutual information, edges (i, j) with i < j in the order of i, j."""
    from scipy.sparse import csgraph  # other figures need not wait for this import

    shared = np.zeros((len(counts.starts) - 1,) * 2)
    for i, j in combinations(range(len(shared)), 2):
        shared[i, j] = counts.mutual_information(i, j)
    # scipy reads 0 as a missing edge, so all costs are above 0.
    costs = np.triu(1 + shared.max() - shared, 1)
    return tuple(sorted((int(i), int(j)) for i, j in zip(*csgraph.minimum_spanning_tree(costs).nonzero(), strict=True)))
