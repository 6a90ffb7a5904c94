"""Mechanisms with fake answers, and their channels by definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from deniable.records.uniform_draws import uniform_rows
from tests.unit.records.record_laws import (
    Record,
    grr,
    records,
)

FAKES = (("GRR", "uniform"), ("OUE", "zero"), ("OUE", "random"))

PRIORS = {2: (0.9, 0.1), 3: (0.5, 0.3, 0.2)}

ZEROS = {2: (1.0, 0.0), 3: (0.0, 0.4, 0.6)}


def _mixture(x: Record, truths: list[Any], fakes: list[Any], outputs: list[Any]) -> dict[Any, float]:
    """P(y | x) = 1/d sum_j truth_j(y_j | x_j) prod_(i != j) fake_i(y_i), from the definition."""
    d = len(x)
    law = {}
    for y in outputs:
        terms = [truths[j](y[j], x[j]) * math.prod(fakes[i](y[i]) for i in range(d) if i != j) / d for j in range(d)]
        law[tuple(y)] = math.fsum(terms)
    return law


def _realistic_law(x: Record, sizes: tuple[int, ...], epsilon: float, priors: Any) -> dict[Any, float]:
    truths = [lambda y, v, k=k: grr(y, v, k, epsilon) for k in sizes]
    return _mixture(x, truths, [lambda y, prior=prior: prior[y] for prior in priors], records(sizes))


def _priors(sizes: tuple[int, ...], zeros: tuple[int, ...] = ()) -> Any:
    return tuple((ZEROS if j in zeros else PRIORS)[k] for j, k in enumerate(sizes))


def _biased(rng: Any, n: int, d: int) -> Any:
    attributes = np.empty((n, 1), dtype=np.uint8)
    uniform_rows(rng, (d + 1,), attributes)
    return attributes[:, 0] % d
