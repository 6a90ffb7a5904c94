"""Distribution of quota randomised response, by brute force over all type assignments of a few contributors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.tables import QuotaTables, quota_tables

Weight = Callable[[tuple[int, ...]], Any]
"""Weight of one assignment with type counts (a_0, ..., a_{k-1}, b)."""


def ideal_weight(k: int, minimum: int, weight: float) -> Weight:
    """R^b if every quota is met, else 0."""
    return lambda counts: weight ** counts[k] if min(counts[:k]) >= minimum else 0.0


def tables_of(quota: QuotaRR) -> QuotaTables:
    return quota_tables(quota.n, quota.k, quota.a0, quota.weight)


def implemented_weight(tables: QuotaTables) -> Weight:
    """Return the exact integers from which deals are drawn, per assignment: f(a_0) a_0! ... g(b) b!."""

    def weight(counts: tuple[int, ...]) -> Fraction:
        product = tables.truth.weight(counts[-1]) * math.factorial(counts[-1])
        for a in counts[:-1]:
            product *= tables.quota.weight(a) * math.factorial(a)
        return Fraction(product)

    return weight


def counts_of(types: tuple[int, ...], k: int) -> tuple[int, ...]:
    return tuple(types.count(t) for t in range(k + 1))


def says(type_: int, x: int, y: int, k: int, truth: Any, lie: Any) -> Any:
    """Return P(report y | type, truth x)."""
    if type_ < k:
        return int(type_ == y)
    return truth if x == y else lie


def worst_ratio(n: int, k: int, weight: Weight, truth: Any = 1, lie: Any = 0) -> Any:
    """Return the largest likelihood ratio of my answer for an adversary who sees my report and all other types.

    Given these types, the reports and data of the others add no information.
    """
    worst: Any = 0
    for others in itertools.product(range(k + 1), repeat=n - 1):
        weights = [weight(counts_of((*others, mine), k)) for mine in range(k + 1)]
        for y in range(k):
            likelihood = [
                sum(w * says(mine, x, y, k, truth, lie) for mine, w in enumerate(weights) if w) for x in range(k)
            ]
            if max(likelihood) > 0:
                worst = max(worst, math.inf if min(likelihood) == 0 else max(likelihood) / min(likelihood))
    return worst


def assignments(n: int, k: int, weight: Weight) -> Iterator[tuple[tuple[int, ...], float]]:
    """Return all assignments with their probabilities."""
    listed = [(types, weight(counts_of(types, k))) for types in itertools.product(range(k + 1), repeat=n)]
    total = sum(w for _, w in listed)
    return ((types, float(w / total)) for types, w in listed if w)


def count_law(quota: QuotaRR, data: tuple[int, ...], v: int, reporters: int) -> list[float]:
    """Return P(I_v = i), i = 0..reporters, when the first `reporters` contributors report."""
    truth, lie = quota.truthfulness
    law = [0.0] * (reporters + 1)
    for types, probability in assignments(quota.n, quota.k, ideal_weight(quota.k, quota.a0, float(quota.weight))):
        partial = [1.0]
        for type_, x in list(zip(types, data, strict=True))[:reporters]:
            yes = float(says(type_, x, v, quota.k, truth, lie))
            partial = [
                (partial[i] * (1 - yes) if i < len(partial) else 0.0) + (partial[i - 1] * yes if i else 0.0)
                for i in range(len(partial) + 1)
            ]
        for i, p in enumerate(partial):
            law[i] += probability * p
    return law
