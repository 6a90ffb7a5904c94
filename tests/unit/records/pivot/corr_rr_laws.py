"""The distribution of Corr-RR from its definition, and matrices P to test it with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tests.unit.records.record_laws import Record, grr, records

Matrix = tuple[tuple[float, ...], ...]


def some_matrix(d: int) -> Matrix:
    """A matrix P without symmetry: probabilities below and above 1/k."""
    return tuple(tuple(1.0 if j == s else (0.15 + 0.3 * j + 0.17 * s) % 1 for s in range(d)) for j in range(d))


def pivot_code(d: int) -> Matrix:
    """Return P of zeros and ones: attribute 0 copies every pivot, and no other attribute copies."""
    return tuple(tuple(float(j == s or j == 0) for s in range(d)) for j in range(d))


def constant(d: int, probability: float) -> Matrix:
    """P with one probability for all pairs."""
    return tuple(tuple(1.0 if j == s else probability for s in range(d)) for j in range(d))


MATRICES: dict[str, Callable[[int], Matrix]] = {
    "some": some_matrix,
    "pivot code": pivot_code,
    "always": lambda d: constant(d, 1.0),
    "never": lambda d: constant(d, 0.0),
}


def copy(y: int, z: int, probability: float, k_pivot: int, k_target: int) -> float:
    """P(the target reports z | the pivot reports y) over contiguous groups: code v of k is in group floor(v c/k)."""
    c = min(k_pivot, k_target)
    group = y * c // k_pivot
    share = 1 / sum(v * c // k_target == z * c // k_target for v in range(k_target))
    return share * (probability if z * c // k_target == group else (1 - probability) / (c - 1))


def law(x: Record, sizes: Sequence[int], epsilon: float, matrix: Sequence[Sequence[float]]) -> dict[Any, float]:
    """P(y | x) = 1/d sum_s GRR(y_s | x_s) prod_(j != s) copy(y_j | y_s)."""
    d = len(sizes)
    result = {}
    for y in records(sizes):
        terms = [
            grr(y[s], x[s], sizes[s], epsilon)
            * math.prod(copy(y[s], y[j], matrix[j][s], sizes[s], sizes[j]) for j in range(d) if j != s)
            for s in range(d)
        ]
        result[y] = math.fsum(terms) / d
    return result
