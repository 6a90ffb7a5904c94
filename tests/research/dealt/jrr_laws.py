"""Joint randomised response by brute force: all groupings, deals, random bits and answers, in rationals.

No closed form is used here: pairs follow the published truth table, and signs and C the published server scheme.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from typing import NamedTuple

Vector = tuple[int, ...]
Law = dict[Vector, Fraction]
Likelihoods = dict[Hashable, list[Fraction]]


class Deal(NamedTuple):
    """Signs and truth bits of all contributors; contributor 0 is attacked."""

    signs: Vector
    coins: Vector


def groupings(members: Vector) -> Iterator[list[Vector]]:
    """Yield all ways to split the members into pairs; with an odd number, one of them is alone."""
    if not members:
        yield []
        return
    first, rest = members[0], members[1:]
    for peer in rest:
        for others in groupings(tuple(member for member in rest if member != peer)):
            yield [(first, peer), *others]
    if len(members) % 2:
        for others in groupings(rest):
            yield [(first,), *others]


def pair_table(p: Fraction, rho: Fraction) -> dict[Vector, Fraction]:
    """Return Table 2 of the paper."""
    q = 1 - p
    return {
        (1, 1): p * p + rho * p * q,
        (1, 0): (1 - rho) * p * q,
        (0, 1): (1 - rho) * p * q,
        (0, 0): q * q + rho * p * q,
    }


def truth_law(n: int, p: Fraction, rho: Fraction, *, peer: int | None = None) -> Law:
    """Return P(truth bits of all) over uniformly random groupings; with `peer`, given that 0 is paired with it."""
    table = pair_table(p, rho)
    listed = [groups for groups in groupings(tuple(range(n))) if peer is None or (0, peer) in groups]
    law: Law = {}
    for coins in itertools.product((0, 1), repeat=n):
        total = Fraction(0)
        for groups in listed:
            weight = Fraction(1)
            for group in groups:
                values = tuple(coins[i] for i in group)
                weight *= table[values] if len(group) == 2 else (p if values[0] else 1 - p)
            total += weight
        law[coins] = total / len(listed)
    return law


def sign_law(n: int, *, peer: int | None = None) -> Law:
    """Return P(signs of all) if the dealer pairs at random with opposite signs; an unpaired contributor has 0."""
    listed = [groups for groups in groupings(tuple(range(n))) if peer is None or (0, peer) in groups]
    law: Law = {}
    for groups in listed:
        pairs = [group for group in groups if len(group) == 2]
        for first_signs in itertools.product((1, -1), repeat=len(pairs)):
            signs = [0] * n
            for (i, j), sign in zip(pairs, first_signs, strict=True):
                signs[i], signs[j] = sign, -sign
            key = tuple(signs)
            law[key] = law.get(key, Fraction(0)) + Fraction(1, len(listed) * 2 ** len(pairs))
    return law


def truth_given_sign(p: Fraction, s: Fraction, sign: int) -> Fraction:
    """Return P(C + R > 0), eqs. (25) and (26)."""
    q = 1 - p
    draws = {Fraction(3, 2): p - s, Fraction(1, 2): s, Fraction(-1, 2): s, Fraction(-3, 2): q - s}
    return sum((weight for c, weight in draws.items() if c + sign > 0), Fraction(0))


def signed_truth_law(n: int, p: Fraction, s: Fraction, *, peer: int | None = None) -> dict[Deal, Fraction]:
    """Return P(signs, truth bits) of the server scheme."""
    law = {}
    for signs, weight in sign_law(n, peer=peer).items():
        truths = [truth_given_sign(p, s, sign) for sign in signs]
        for coins in itertools.product((0, 1), repeat=n):
            law[Deal(signs, coins)] = weight * math.prod(
                t if coin else 1 - t for t, coin in zip(truths, coins, strict=True)
            )
    return law


def all_reports(law: Law, theta: Fraction) -> Likelihoods:
    """Return [P(all reports | x_0 = 0), P(... | x_0 = 1)] if other answers are 1 with probability theta."""
    n = len(next(iter(law)))
    result: Likelihoods = {}
    for others in itertools.product((0, 1), repeat=n - 1):
        prior = math.prod((theta if x else 1 - theta for x in others), start=Fraction(1))
        for mine in (0, 1):
            data = (mine, *others)
            for coins, weight in law.items():
                reports = tuple(x if coin else 1 - x for x, coin in zip(data, coins, strict=True))
                result.setdefault(reports, [Fraction(0), Fraction(0)])[mine] += prior * weight
    return result


def my_report_and(law: dict[Deal, Fraction], seen: Callable[[Deal], Hashable]) -> Likelihoods:
    """Return likelihoods of my report and of the part of the deal that `seen` shows, without other reports."""
    result: Likelihoods = {}
    for deal, weight in law.items():
        for mine in (0, 1):
            report = mine if deal.coins[0] else 1 - mine
            result.setdefault((report, seen(deal)), [Fraction(0), Fraction(0)])[mine] += weight
    return result


def without_signs(law: Law) -> dict[Deal, Fraction]:
    """Return the truth bits as a distribution without visible signs."""
    return {Deal((), coins): weight for coins, weight in law.items()}


def worst_epsilon(likelihoods: Likelihoods) -> float:
    """Return the largest |ln likelihood ratio| over all possible views."""
    worst = 0.0
    for zero, one in likelihoods.values():
        if zero == one == 0:
            continue
        if min(zero, one) <= 0:
            return math.inf
        worst = max(worst, abs(math.log(one / zero)))
    return worst


def hockey_stick(likelihoods: Likelihoods, epsilon: float) -> float:
    """Return delta(epsilon): the largest excess of one answer's distribution over e^epsilon times the other's."""
    ratio = math.exp(epsilon)
    up = math.fsum(max(0.0, float(one) - ratio * float(zero)) for zero, one in likelihoods.values())
    down = math.fsum(max(0.0, float(zero) - ratio * float(one)) for zero, one in likelihoods.values())
    return max(up, down)


def count_law(law: Law, data: Vector, reporters: int | None = None) -> dict[int, Fraction]:
    """Return P(number of reported ones) among the first `reporters` contributors."""
    result: dict[int, Fraction] = {}
    for coins, weight in law.items():
        ones = sum(x if coin else 1 - x for x, coin in list(zip(data, coins, strict=True))[:reporters])
        result[ones] = result.get(ones, Fraction(0)) + weight
    return result


def mean_and_variance(law: dict[int, Fraction]) -> tuple[Fraction, Fraction]:
    mean = sum((Fraction(i) * weight for i, weight in law.items()), Fraction(0))
    return mean, sum(((i - mean) ** 2 * weight for i, weight in law.items()), Fraction(0))
