"""Textbook distributions of record mechanisms from their definitions, and checks of a channel."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tests.unit._goodness import FAMILY_WISE_ERROR, p_value

SIZES = ((2,), (3,), (2, 2), (2, 3), (3, 2), (3, 3), (2, 2, 2), (2, 3, 2))
EPSILONS = (0.01, 0.5, 1.0, 2.0, 5.0)
Record = tuple[int, ...]
CODES = [(sizes, epsilon) for sizes in SIZES for epsilon in EPSILONS]
BITS = [(sizes, epsilon) for sizes, epsilon in CODES if len(sizes) < 3 or epsilon == 0.5]
"""Packed bits of three attributes have many outputs: one epsilon is enough for them."""


def records(sizes: Sequence[int]) -> list[Record]:
    """All records, the last attribute fastest."""
    return list(itertools.product(*map(range, sizes)))


def all_bits(k: int) -> list[Record]:
    """All vectors of k bits, in the order of the integers whose bit v is entry v."""
    return [tuple(number >> v & 1 for v in range(k)) for number in range(1 << k)]


def grr(y: int, x: int, k: int, epsilon: float) -> float:
    """P(y | x) of GRR."""
    return (math.exp(epsilon) if y == x else 1.0) / (math.exp(epsilon) + k - 1)


def oue(y: Record, x: int | None, epsilon: float) -> float:
    """P(bits y | x) of OUE; x = None is the all-zero vector."""
    q = 1 / (math.exp(epsilon) + 1)
    chances = [(0.5 if v == x else q) for v in range(len(y))]
    return math.prod(chance if bit else 1 - chance for bit, chance in zip(y, chances, strict=True))


def unpacked(reports: NDArray[np.uint8], sizes: Sequence[int]) -> list[tuple[Record, ...]]:
    """Rows of packed bits as one bit vector per attribute: each starts at a byte, and its padding must be zero."""
    result, start = [], 0
    for k in sizes:
        stop = start + (k + 7) // 8
        bits = np.unpackbits(reports[:, start:stop], axis=1, bitorder="little")
        assert not bits[:, k:].any()
        result.append([tuple(row) for row in bits[:, :k].tolist()])
        start = stop
    assert start == reports.shape[1]
    return list(zip(*result, strict=True))


def largest_ratio(channel: NDArray[Any], sizes: Sequence[int], attribute: int | None = None) -> Fraction:
    """Return the largest likelihood ratio of two records: any two, or two that differ in one attribute only."""
    rows, worst = records(sizes), Fraction(1)
    for (x, likely), (z, unlikely) in itertools.permutations(zip(rows, channel, strict=True), 2):
        if attribute is None or all(x[i] == z[i] for i in range(len(sizes)) if i != attribute):
            worst = max(worst, max((a / b for a, b in zip(likely, unlikely, strict=True) if a or b), default=worst))
    return worst


def log(ratio: Fraction) -> Decimal:
    """Natural logarithm to 50 digits."""
    context = Context(prec=50)
    return context.ln(context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))


def ratios_are_declared(mechanism: Any, epsilon: float) -> None:
    """Check that closed forms equal the enumerated ratios and keep the budget."""
    channel, sizes = mechanism.channel(exact=True), mechanism.sizes
    whole = largest_ratio(channel, sizes)
    assert whole == mechanism.implemented_ratio()
    assert abs(log(whole) - Decimal(repr(epsilon))) < Decimal("1e-12")
    assert log(whole) <= Decimal(repr(epsilon))
    per_attribute = mechanism.privacy().per_attribute
    assert len(per_attribute) == len(sizes)
    for j, declared in enumerate(per_attribute):
        ratio = largest_ratio(channel, sizes, j)
        assert ratio == mechanism.implemented_attribute_ratio(j)
        assert abs(log(ratio) - Decimal(declared)) < Decimal("1e-12")


def estimates_are_unbiased(mechanism: Any, outputs: Sequence[Any], attributes: Sequence[int | None]) -> None:
    """Exact expectation of every estimate over the channel; attributes[o] is what output o is about, None for all."""
    channel = mechanism.channel()
    single = [mechanism.estimate(mechanism.aggregate(output)) for output in outputs]
    for x, law in zip(records(mechanism.sizes), channel, strict=True):
        for j, k in enumerate(mechanism.sizes):
            told = [o for o, about in enumerate(attributes) if about in (None, j)]
            mass = math.fsum(law[told])
            for v in range(k):
                terms = [law[o] * single[o][j].frequencies[v] for o in told]
                largest = max(abs(single[o][j].frequencies[v]) for o in told)
                assert abs(math.fsum(terms) / mass - (x[j] == v)) <= 1e-12 * max(1.0, largest)


def worst_p_value(mechanism: Any, keys: Any, laws: Any, rng: Any, n: int) -> float:
    """Smallest chi-squared p-value over all records of n reports against their textbook law."""
    worst = 1.0
    for x in records(mechanism.sizes):
        reports = mechanism.randomize(np.tile(np.array(x), (n, 1)), rng)
        worst = min(worst, p_value(keys(reports), laws(x)))
    return worst


def aggregates_agree(mechanism: Any, held: NDArray[np.int64], drawn: NDArray[np.int64], states: NDArray[Any]) -> bool:
    """Whether drawn aggregates[draws, state] have the mean and covariance of contributors held[record].

    `states[o]` is the contribution of output o. The test is two-sided z, with Bonferroni over all means and
    covariances.
    """
    mean, covariance = 0.0, 0.0
    for count, law in zip(held, mechanism.channel(), strict=True):
        centre = law @ states
        mean = mean + count * centre
        covariance = covariance + count * ((states * law[:, None]).T @ states - np.outer(centre, centre))
    draws, size = drawn.shape
    z = stats.norm.isf(FAMILY_WISE_ERROR / (size * (size + 3)))
    variance = np.diag(covariance)
    if (np.abs(drawn.mean(axis=0) - mean) > z * np.sqrt(variance / draws) + 1e-9).any():
        return False
    deviation = drawn - mean
    # Sums of many independent reports are nearly normal, so Var(sample covariance) = (s_ii s_jj + s_ij^2)/draws.
    error = np.sqrt((np.outer(variance, variance) + covariance**2) / draws)
    return bool((np.abs(deviation.T @ deviation / draws - covariance) <= 1.1 * z * error + 1e-9).all())
