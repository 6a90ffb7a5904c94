"""Coupled random bits by brute force: all pairings, deals and reports of a few contributors, in rationals."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

Law = Mapping[tuple[int, ...], Any]

SAY_0, SAY_1, TRUTH = 0, 1, 2


def pairings(people: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    """Yield all pairings of people; with an odd number, one is alone."""
    if len(people) % 2:
        for alone in people:
            rest = tuple(i for i in people if i != alone)
            yield from ([(alone,), *pairs] for pairs in pairings(rest))
    elif not people:
        yield []
    else:
        first, *others = people
        for partner in others:
            rest = tuple(i for i in others if i != partner)
            yield from ([(first, partner), *pairs] for pairs in pairings(rest))


def paired_law(n: int, pair: Mapping[Any, Any], single: Mapping[Any, Any]) -> dict[tuple[int, ...], Any]:
    """Return the distribution of n bits: random pairs with distribution `pair`, a single one with `single`."""
    ways = list(pairings(tuple(range(n))))
    law: dict[tuple[int, ...], Any] = {}
    for coins in itertools.product(single, repeat=n):
        total = sum(
            (
                math.prod(
                    (pair[coins[g[0]], coins[g[1]]] if len(g) == 2 else single[coins[g[0]]] for g in way),
                    start=Fraction(1),
                )
                for way in ways
            ),
            start=Fraction(0),
        )
        if total:
            law[coins] = total / len(ways)
    return law


def eq_27(k: int, p: Fraction, rho: Fraction) -> dict[tuple[bool, bool], Fraction]:
    """Return eq. (27), by who tells the truth; the (k-1) and (k-1)^2 wrong cells are summed."""
    q = (1 - p) / (k - 1)
    one = p * q - rho * p * q / (k - 1)
    both = q * q + rho * p * q / (k - 1) ** 2
    return {
        (True, True): p * p + rho * p * q,
        (True, False): (k - 1) * one,
        (False, True): (k - 1) * one,
        (False, False): (k - 1) ** 2 * both,
    }


def signs(n: int) -> dict[tuple[int, ...], Fraction]:
    """Return the distribution of dealt signs: uniform on balanced vectors, with one 0 if n is odd."""
    half = n // 2
    vectors = [v for v in itertools.product((-1, 0, 1), repeat=n) if (v.count(1), v.count(-1)) == (half, half)]
    return {v: Fraction(1, len(vectors)) for v in vectors}


def threshold_pairs(q: Fraction, p: Fraction, weight: Fraction) -> dict[tuple[int, int], Fraction]:
    """Return the distribution of two types: U below q, below p, above; the peer's from 1 - U, or from a fresh U."""
    ends = [Fraction(0), q, p, Fraction(1)]
    cells = sorted({*ends, *(1 - end for end in ends)})

    def type_of(u: Fraction) -> int:
        return SAY_1 if u < q else TRUTH if u < p else SAY_0

    law: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    pieces = [((low + high) / 2, high - low) for low, high in itertools.pairwise(cells)]
    for u, width in pieces:
        law[type_of(u), type_of(1 - u)] += weight * width
        for fresh, other in pieces:
            law[type_of(u), type_of(fresh)] += (1 - weight) * width * other
    return defaultdict(Fraction, law)


def type_law(n: int, q: Fraction, p: Fraction, weight: Fraction) -> dict[tuple[int, ...], Any]:
    """Return the distribution of the types of n contributors."""
    return paired_law(n, threshold_pairs(q, p, weight), {SAY_0: 1 - p, SAY_1: q, TRUTH: p - q})


def says(type_: int, x: int) -> int:
    return x if type_ == TRUTH else type_


def reports(types: Law, data: tuple[int, ...]) -> dict[tuple[int, ...], Any]:
    """Return the distribution of the reported bits."""
    law: dict[tuple[int, ...], Any] = defaultdict(Fraction)
    for told, weight in types.items():
        law[tuple(map(says, told, data))] += weight
    return law


def kary_reports(k: int, coins: Law, data: tuple[int, ...]) -> dict[tuple[int, ...], Any]:
    """Return the distribution of reports: truth by these bits, else a uniform lie."""
    law: dict[tuple[int, ...], Any] = {}
    for said in itertools.product(range(k), repeat=len(data)):
        true = tuple(y == x for y, x in zip(said, data, strict=True))
        law[said] = coins.get(true, Fraction(0)) / (k - 1) ** true.count(False)
    return law


def tilted(law: Law, p: Fraction, s: Fraction) -> dict[tuple[int, ...], Any]:
    """Return the distribution of truth bits, true with probability p + R s, over the signs."""
    coins: dict[tuple[int, ...], Any] = defaultdict(Fraction)
    for dealt, weight in law.items():
        for true in itertools.product((True, False), repeat=len(dealt)):
            coins[true] += weight * math.prod(
                (p + r * s if t else 1 - p - r * s for t, r in zip(true, dealt, strict=True)), start=Fraction(1)
            )
    return coins


def moments(law: Law, count: Callable[[tuple[int, ...]], int]) -> tuple[Any, Any]:
    """Return mean and variance of a count."""
    mean = sum(w * count(y) for y, w in law.items())
    return mean, sum(w * (count(y) - mean) ** 2 for y, w in law.items())


def first(reporters: int, value: int) -> Callable[[tuple[int, ...]], int]:
    """Return how many of the first reporters report a value."""
    return lambda said: said[:reporters].count(value)


def divergence(one: Mapping[Any, Any], other: Mapping[Any, Any], epsilon: float) -> float:
    """Return the hockey-stick divergence."""
    return math.fsum(max(0.0, float(one[y]) - math.exp(epsilon) * float(other.get(y, 0))) for y in one)


def largest_ratio(pairs: Iterable[tuple[Any, Any]]) -> float:
    """Return the largest ratio of two likelihoods in either direction; infinite if one of them is 0."""
    worst = 1.0
    for one, other in pairs:
        if one or other:
            worst = max(worst, math.inf if not (one and other) else float(max(one / other, other / one)))
    return worst
