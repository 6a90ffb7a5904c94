"""Distributions of second-phase mechanisms from their definitions, and tables to test them with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.unit.records.pivot.corr_rr_laws import law as corr_rr_law
from tests.unit.records.record_laws import Record, grr, records

Rows = tuple[tuple[float, ...], ...]


def some_rows(rows: int, k: int, shift: int) -> Rows:
    """Return distributions without symmetry and without zeros."""
    weights = [[(3 * a + 5 * v + shift + a * v) % 7 + 1 for v in range(k)] for a in range(rows)]
    return tuple(tuple(weight / sum(row) for weight in row) for row in weights)


def some_conditionals(sizes: Sequence[int]) -> tuple[tuple[Rows, ...], ...]:
    """Tables of Cond-RR: [pivot][target][report]."""
    d = len(sizes)
    return tuple(tuple(() if s == j else some_rows(sizes[s], sizes[j], 2 * s + j) for j in range(d)) for s in range(d))


def some_pair_tables(sizes: Sequence[int]) -> tuple[tuple[Rows, ...], ...]:
    """Tables of two pivots: [pair][target][y_s k_t + y_t]."""
    d = len(sizes)
    return tuple(
        tuple(() if j in (s, t) else some_rows(sizes[s] * sizes[t], sizes[j], s + 2 * t + j) for j in range(d))
        for s, t in itertools.combinations(range(d), 2)
    )


def random_rows(rows: int, k: int, random: np.random.Generator) -> Rows:
    """Return distributions, some of them certain and some with zeros."""
    kind = random.integers(3)
    if kind == 0:
        return tuple(tuple(row) for row in np.eye(k)[random.integers(0, k, rows)].tolist())
    alpha = 0.3 if kind == 1 else 3.0
    return tuple(tuple(row) for row in random.dirichlet(np.full(k, alpha), rows).tolist())


def random_conditionals(sizes: Sequence[int], random: np.random.Generator) -> Any:
    d = len(sizes)
    return tuple(tuple(() if s == j else random_rows(sizes[s], sizes[j], random) for j in range(d)) for s in range(d))


def random_pair_tables(sizes: Sequence[int], random: np.random.Generator) -> Any:
    d = len(sizes)
    return tuple(
        tuple(() if j in (s, t) else random_rows(sizes[s] * sizes[t], sizes[j], random) for j in range(d))
        for s, t in itertools.combinations(range(d), 2)
    )


def random_copies(d: int, random: np.random.Generator) -> Any:
    """A matrix P, some of whose entries are 0 or 1."""
    drawn = np.clip(random.uniform(-0.3, 1.3, (d, d)), 0, 1)
    np.fill_diagonal(drawn, 1.0)
    return tuple(map(tuple, drawn.tolist()))


def cond_rr_law(x: Record, sizes: Sequence[int], epsilon: float, tables: Any, leaky: bool = False) -> dict[Any, float]:
    """P(y | x) = 1/d sum_s GRR(y_s | x_s) prod_(j != s) table[s][j](y_j | y_s); given x_s instead if `leaky`."""
    d = len(sizes)
    return {
        y: math.fsum(
            grr(y[s], x[s], sizes[s], epsilon)
            * math.prod(tables[s][j][(x if leaky else y)[s]][y[j]] for j in range(d) if j != s)
            for s in range(d)
        )
        / d
        for y in records(sizes)
    }


def two_pivot_law(
    x: Record, sizes: Sequence[int], epsilon: float, tables: Any, leaky: bool = False
) -> dict[Any, float]:
    """P(y | x) = 1/C sum_(s<t) GRR(y_s | x_s) GRR(y_t | x_t) prod_(others) table[st][j](y_j | y_s, y_t).

    If `leaky`, table[st][j](y_j | x_s, x_t).
    """
    d, pairs, half = len(sizes), list(itertools.combinations(range(len(sizes)), 2)), epsilon / 2
    return {
        y: math.fsum(
            grr(y[s], x[s], sizes[s], half)
            * grr(y[t], x[t], sizes[t], half)
            * math.prod(
                tables[i][j][(x if leaky else y)[s] * sizes[t] + (x if leaky else y)[t]][y[j]]
                for j in range(d)
                if j not in (s, t)
            )
            for i, (s, t) in enumerate(pairs)
        )
        / len(pairs)
        for y in records(sizes)
    }


def grouped_law(x: Record, sizes: Sequence[int], epsilon: float, groups: Any, matrices: Any) -> dict[Any, float]:
    """P(y | x): the product over the groups of Corr-RR with epsilon/t."""
    parts = [
        corr_rr_law(tuple(x[j] for j in group), [sizes[j] for j in group], epsilon / len(groups), matrix)
        for group, matrix in zip(groups, matrices, strict=True)
    ]
    return {
        y: math.prod(part[tuple(y[j] for j in group)] for group, part in zip(groups, parts, strict=True))
        for y in records(sizes)
    }
