"""What RS+FD reports of the attributes that were not sampled, and what that does to probabilities.

``"uniform"`` (over GRR): a uniform code. ``"zero"`` (over OUE): the all-zero vector with every bit randomised.
``"random"`` (over OUE): a uniform value through the oracle. A uniform value through GRR is a uniform code.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.checks import Codes
from deniable.kernels import kernel
from deniable.multi._exact import Evidence
from deniable.multi._oracles import Oracle, unary_thresholds
from deniable.multi._packed import block_rows, byte_starts, randomize_rows, set_all, set_sampled
from deniable.multi._sampled import SAMPLED_ROWS, overwrite_sampled, sample_attributes
from deniable.multi._uniform import uniform_rows
from deniable.randomness import Randomness, SimulationRandomness

FAKES = {"GRR": ("uniform",), "OUE": ("zero", "random")}
"""Kinds of fakes over each oracle, the default first."""


def randomize_with_fakes(
    kind: str, oracles: Sequence[Oracle], codes: Codes, rng: Randomness, reports: NDArray[Any]
) -> None:
    """Overwrite a batch of reports: of every record in codes[n, d] one sampled attribute, and fakes of the others."""
    sizes = [oracle.k for oracle in oracles]
    if kind == "uniform":
        for start in range(0, len(codes), SAMPLED_ROWS):
            rows = slice(start, start + SAMPLED_ROWS)
            uniform_rows(rng, sizes, reports[rows])
            overwrite_sampled(oracles, codes[rows], rng, reports[rows])
        return
    thresholds, starts, step = unary_thresholds(oracles), byte_starts(sizes), block_rows(sizes)
    for start in range(0, len(codes), step):
        rows = slice(start, start + step)
        attributes = sample_attributes(rng, len(codes[rows]), len(sizes))
        bits = np.zeros(reports[rows].shape, dtype=np.uint8)
        if kind == "zero":
            set_sampled(codes[rows], attributes, starts, bits)
        else:
            values = np.empty(codes[rows].shape, dtype=np.uint32)
            uniform_rows(rng, sizes, values)
            _keep_sampled(codes[rows], attributes, values)
            set_all(values, starts, bits)
        reports[rows] = randomize_rows(bits, sizes, thresholds, rng)


@kernel
def _keep_sampled(codes: Codes, attributes: Codes, values: NDArray[np.uint32]) -> None:
    # Puts the sampled code of each row in place of its fake value.
    for i in range(codes.shape[0]):
        j = np.int64(attributes[i])
        values[i, j] = codes[i, j]


def fake_support(kind: str, oracle: Oracle) -> Fraction:
    """Return the probability that a fake supports any one value."""
    p, q = oracle.support_probabilities
    return {"uniform": Fraction(1, oracle.k), "zero": q, "random": q + (p - q) / oracle.k}[kind]


def fake_law(kind: str, oracle: Oracle) -> NDArray[Any]:
    """Return the probability of every output of an oracle as a fake, Fraction[outputs]."""
    k, (_, q) = oracle.k, oracle.support_probabilities
    if kind == "zero":
        ones = np.unpackbits(oracle.outputs().astype(np.uint8), axis=1).sum(axis=1)
        return np.array([q ** int(t) * (1 - q) ** (k - int(t)) for t in ones], dtype=object)
    law: NDArray[Any] = oracle.channel(exact=True).sum(axis=0) * Fraction(1, k)
    return law


def fake_evidence(kind: str, oracle: Oracle) -> Evidence:
    """Return how much a report of one attribute can say about the value held, against this kind of fake."""
    k, (p, q) = oracle.k, oracle.support_probabilities
    if kind == "uniform":
        return Evidence(k * p, k * q, k * q)
    # Bits other than the held value's cancel: a set bit says p/q, a clear one (1-p)/(1-q).
    high, low = p / q, (1 - p) / (1 - q)
    if kind == "zero":
        return Evidence(high, low, low)
    # A random value's report with t bits set is (t high + (k-t) low)/k times as likely as a zero vector's: the held bit
    # says most where it is set alone, and least where it alone is clear.
    alone, all_others = k / (high + (k - 1) * low), k / ((k - 1) * high + low)
    return Evidence(high * alone, low * alone, low * all_others)


def simulate_with_fakes(
    kind: str, oracle: Oracle, held: NDArray[np.int64], n: int, rng: SimulationRandomness
) -> NDArray[np.int64]:
    """Draw one attribute's support counts among n contributors, exactly in distribution.

    `held` counts the true values of those who sampled the attribute; all others send a fake.
    """
    if kind == "zero":
        p, q = map(float, oracle.support_probabilities)
        counts: NDArray[np.int64] = rng.generator.binomial(held, p) + rng.generator.binomial(n - held, q)
        return counts
    values = rng.generator.multinomial(n - held.sum(), np.full(oracle.k, 1 / oracle.k))
    return oracle.simulate_aggregate(held + values, rng).counts
