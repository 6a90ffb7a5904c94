"""Leakage from its definitions alone, over all outputs, pairs of values and sets, without the library.

`python -m experiments.cpl brute-force` compares it with the library on CelebA and Cardio. Adult is too large: its
country has 42 values, whose sets are too many to try. For such attributes there are the algorithms.
"""

from __future__ import annotations

from itertools import combinations, product
from math import comb, exp, log

import numpy as np
from scipy import integrate

from experiments.cpl.data import Table
from experiments.cpl.paper import Floats


def conditional(table: Table, about: int, released: int) -> Floats:
    """Return P(released = u | about = x), by counting."""
    cells = table.records[:, about].astype(np.int64) * table.sizes[released] + table.records[:, released]
    counts = np.bincount(cells, minlength=table.sizes[about] * table.sizes[released])
    counts = counts.reshape(table.sizes[about], table.sizes[released])
    found: Floats = counts / counts.sum(axis=1, keepdims=True)
    return found


def leakage(rows: Floats, channel: Floats) -> float:
    """Return CPL (7): the largest |log-ratio| of P(y | x) and P(y | x') over all outputs y and pairs x, x'."""
    composed = rows @ channel
    return max(
        abs(log(composed[x, y] / composed[other, y]))
        for y in range(composed.shape[1])
        for x, other in combinations(range(len(rows)), 2)
    )


def worst(rows: Floats, epsilon: float) -> float:
    """Return the result of Algorithm 2: the largest ratio (10) over all sets of values and all pairs x, x'."""
    k, most, scale = rows.shape[1], 0.0, exp(epsilon) - 1
    for members in product((False, True), repeat=k):
        inside = rows[:, list(members)].sum(axis=1)
        for x, other in combinations(range(len(rows)), 2):
            most = max(most, abs(log((1 + inside[x] * scale) / (1 + inside[other] * scale))))
    return most


def response(k: int, epsilon: float) -> Floats:
    """Return the channel of generalised randomised response."""
    channel = np.ones((k, k))
    np.fill_diagonal(channel, exp(epsilon))
    found: Floats = channel / channel.sum(axis=1, keepdims=True)
    return found


def _guesses(k: int, outputs: list[tuple[list[float], tuple[int, ...]]]) -> Floats:
    """Return P(guess | value) from outputs with P(output | value); the guess is uniform among the output's values."""
    channel = np.zeros((k, k))
    for likelihood, candidates in outputs:
        for guess in candidates or range(k):
            channel[:, guess] += np.array(likelihood) / len(candidates or range(k))
    return channel


def unary(k: int, keep: float, rise: float) -> Floats:
    """Return the guesses from unary encoding: uniform among the set bits, over all 2^k reports."""
    outputs = []
    for bits in product((0, 1), repeat=k):
        chance = [np.prod([(keep if j == v else rise) if bit else 1 - (keep if j == v else rise)
                           for j, bit in enumerate(bits)]) for v in range(k)]  # fmt: skip
        outputs.append(([float(one) for one in chance], tuple(j for j, bit in enumerate(bits) if bit)))
    return _guesses(k, outputs)


def hashing(k: int, cells: int, epsilon: float) -> Floats:
    """Return the guesses from local hashing: uniform among the values of the reported cell, over all functions."""
    keep = exp(epsilon) / (exp(epsilon) + cells - 1)
    outputs = []
    for function in product(range(cells), repeat=k):
        for cell in range(cells):
            chance = [(keep if function[v] == cell else (1 - keep) / (cells - 1)) / cells**k for v in range(k)]
            outputs.append((chance, tuple(v for v in range(k) if function[v] == cell)))
    return _guesses(k, outputs)


def subsets(k: int, epsilon: float) -> Floats:
    """Return the guesses from subset selection: uniform in the reported set, over all sets of the optimal size."""
    size = min(
        range(1, k),
        key=lambda w: _subset_error(k, w, epsilon),
    )
    hit = size * exp(epsilon) / (size * exp(epsilon) + k - size)
    outputs = []
    for members in combinations(range(k), size):
        chance = [hit / comb(k - 1, size - 1) if v in members else (1 - hit) / comb(k - 1, size) for v in range(k)]
        outputs.append((chance, members))
    return _guesses(k, outputs)


def _subset_error(k: int, size: int, epsilon: float) -> float:
    """Return n times the variance of a rare value's frequency: q (1 - q)/(p - q)^2."""
    p = size * exp(epsilon) / (size * exp(epsilon) + k - size)
    q = p * (size - 1) / (k - 1) + (1 - p) * size / (k - 1)
    return q * (1 - q) / (p - q) ** 2


def histogram(k: int, epsilon: float) -> Floats:
    """Return the guess from a histogram with Laplace noise of scale 2/epsilon: its largest component."""

    def density(t: float) -> float:
        return epsilon / 4 * exp(-abs(t) * epsilon / 2)

    def below(t: float) -> float:
        return exp(t * epsilon / 2) / 2 if t < 0 else 1 - exp(-t * epsilon / 2) / 2

    pieces = [integrate.quad(lambda t: density(t - 1) * below(t) ** (k - 1), a, b, epsabs=1e-13)[0]
              for a, b in ((-np.inf, 0), (0, 1), (1, np.inf))]  # fmt: skip
    channel = np.full((k, k), (1 - sum(pieces)) / (k - 1))
    np.fill_diagonal(channel, sum(pieces))
    return channel


def guesses(name: str, k: int, epsilon: float) -> Floats:
    """Return the guessing channel of one of the paper's eight mechanisms."""
    half = exp(epsilon / 2)
    channels = {
        "GRR": lambda: response(k, epsilon),
        "EXP": lambda: response(k, epsilon / 2),
        "RAPPOR": lambda: unary(k, half / (1 + half), 1 / (1 + half)),
        "OUE": lambda: unary(k, 0.5, 1 / (1 + exp(epsilon))),
        "BLH": lambda: hashing(k, 2, epsilon),
        "OLH": lambda: hashing(k, round(exp(epsilon)) + 1, epsilon),
        "SS": lambda: subsets(k, epsilon),
        "SHE": lambda: histogram(k, epsilon),
    }
    return channels[name]()


def grr_cpl(pair: Table, epsilon: float) -> float:
    """Return CPL about the first of two attributes when GRR releases the second."""
    return leakage(conditional(pair, 0, 1), response(pair.sizes[1], epsilon))


def total(joint: Floats, epsilon: float) -> float:
    """Return the total leakage (5) about attribute 0 when GRR releases all attributes, over all records and outputs."""
    channels = [response(k, epsilon) for k in joint.shape]
    values = [range(k) for k in joint.shape]
    own = joint.sum(axis=tuple(range(1, joint.ndim)))
    most = 0.0
    for output in product(*values):
        likelihood = [0.0] * joint.shape[0]
        for record in product(*values):
            chance = joint[record] / own[record[0]]
            for channel, x, y in zip(channels, record, output, strict=True):
                chance *= channel[x, y]
            likelihood[record[0]] += chance
        most = max(most, log(max(likelihood) / min(likelihood)))
    return most
