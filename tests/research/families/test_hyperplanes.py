"""Hyperplanes: moduli, residues and transforms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable.research.families import _hyperplanes as hyperplanes
from deniable.research.families.linear import (
    digits,
)


@pytest.mark.parametrize("p", [3, 5, 7, 11, 59, 251, 4093, 65521])
def test_moduli(p: int) -> None:
    chosen = hyperplanes.moduli(p, 2)
    assert chosen[0].prime > chosen[1].prime
    for q, root in chosen:
        assert all(q % r for r in range(2, math.isqrt(q) + 1))
        assert p * q * q < 2**63
        assert pow(root, p, q) == 1 != root


@pytest.mark.parametrize(
    ("p", "dimension", "k"), [(3, 1, 3), (3, 4, 81), (3, 5, 100), (5, 3, 51), (7, 2, 8), (67, 2, 70)]
)
def test_transform_is_its_definition(p: int, dimension: int, k: int) -> None:
    modulus = hyperplanes.moduli(p, 1)[0]
    q = modulus.prime
    rng = np.random.default_rng(p)
    values = rng.integers(0, q, p**dimension)
    values[:3] = [q - 1, 0, q - 1]
    transformed = hyperplanes.transform(values.astype(np.uint32), p, dimension, k, modulus)
    points = np.array([digits(v, p, dimension) for v in range(p**dimension)])
    for x in {0, 1, k // 2, k - 1}:
        exponents = points @ points[x] % p
        powers = [pow(modulus.root, int(j), q) for j in range(p)]
        assert transformed[x] == sum(int(v) * powers[j] for v, j in zip(values, exponents, strict=True)) % q


def test_transform_kernel_runs_the_same_both_ways() -> None:
    modulus = hyperplanes.moduli(5, 1)[0]
    values = np.random.default_rng(1).integers(0, modulus.prime, (5, 130)).astype(np.uint32)
    results = []
    for run in (hyperplanes.transform_tiles.compiled, hyperplanes.transform_tiles.interpreted):
        result = np.empty((130, 3), dtype=np.uint32)
        run(values, np.array([1, 0, 4]), hyperplanes.powers(modulus, 5), modulus.prime, result)
        results.append(result.tolist())
    assert results[0] == results[1]


def test_two_residues_are_combined() -> None:
    chosen = hyperplanes.moduli(3, 2)
    numbers = [0, 1, chosen[0].prime - 1, chosen[0].prime, 10**15 + 7, chosen[0].prime * chosen[1].prime - 1]
    residues = [np.array([number % one.prime for number in numbers], dtype=np.uint32) for one in chosen]
    assert hyperplanes.combine(residues, chosen).tolist() == numbers
