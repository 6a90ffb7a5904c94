"""Receiver's side of Shamir sharing, which recombines points of a polynomial mod a prime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def recombination(points: Sequence[int], modulus: int, at: int = 0) -> list[int]:
    """Return c with f(at) = sum c_j f(points_j) mod `modulus` for every polynomial f of degree < len(points)."""
    result = []
    for j, point in enumerate(points):
        numerator = denominator = 1
        for other in (*points[:j], *points[j + 1 :]):
            numerator = numerator * (at - other) % modulus
            denominator = denominator * (point - other) % modulus
        result.append(numerator * pow(denominator, -1, modulus) % modulus)
    return result


def value_at(points: Sequence[int], shares: NDArray[np.int64], modulus: int, at: int = 0) -> NDArray[np.int64]:
    """Return the polynomials' values at `at`, from shares with one row per point and one column per polynomial."""
    coefficients = np.array(recombination(points, modulus, at), dtype=np.int64)
    result: NDArray[np.int64] = (coefficients[:, None] * shares % modulus).sum(axis=0) % modulus
    return result


def prime_above(bound: int) -> int:
    """Return the smallest prime above the bound."""
    candidate = bound + 1
    while any(candidate % d == 0 for d in range(2, int(candidate**0.5) + 1)) or candidate < 2:
        candidate += 1
    return candidate
