"""Exact discrete Fourier transforms over F_p^k, sum_v a(v) zeta^<v, x>, modulo primes with a p-th root zeta of unity.

No rounding anywhere: the residues modulo one or two primes, as the result's range asks for, determine it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.kernels import kernel
from deniable.oracles.sketch.families.prime import is_prime

Residues = NDArray[np.uint32]


class Modulus(NamedTuple):
    """A prime q = 1 mod p, with p q^2 < 2^63 so that sums of p products fit a word, and a root of order p modulo q."""

    prime: int
    root: int


@lru_cache(maxsize=64)
def moduli(p: int, count: int) -> tuple[Modulus, ...]:
    """Return the `count` largest moduli for transforms over F_p^k, p an odd prime.

    Examples
    --------
    >>> [modulus.prime for modulus in moduli(3, 2)]
    [1073741719, 1073741689]
    """
    found: list[Modulus] = []
    bits = (63 - p.bit_length()) // 2
    q = (1 << bits) - ((1 << bits) - 1) % (2 * p)
    while len(found) < count:
        if is_prime(q):
            roots = (pow(base, (q - 1) // p, q) for base in range(2, q))
            found.append(Modulus(q, next(root for root in roots if root != 1)))
        q -= 2 * p
    return tuple(found)


def powers(modulus: Modulus, p: int, factor: int = 1) -> NDArray[np.int64]:
    """Return factor zeta^j modulo q for j = 0..p-1."""
    return np.array([factor * pow(modulus.root, j, modulus.prime) % modulus.prime for j in range(p)], dtype=np.int64)


def transform_columns(
    values: Residues, wanted: NDArray[np.int64], table: NDArray[np.int64], modulus: Modulus
) -> Residues:
    """Return the transform of the columns of values[p, R] at the frequencies wanted[A], residues uint32[R, A].

    Entry (r, i) is sum_b table[wanted[i] b mod p] values[b, r] modulo q, with the powers of the root in table[p].
    """
    result = np.empty((values.shape[1], len(wanted)), dtype=np.uint32)
    transform_tiles.compiled(values, wanted, table, modulus.prime, result)
    return result


def transform(values: Residues, p: int, dimension: int, k: int, modulus: Modulus) -> Residues:
    """Return sum_v values[v] zeta^<v, x> modulo q for x = 0..k-1 (and a few more), x and v by their digits to base p.

    One axis at a time, the highest digit first, of which only the values below k/p^(dimension-1) are made. Each pass
    takes the first axis away and appends the transformed one, so that the digits end in their order.
    """
    table, everything = powers(modulus, p), np.arange(p)
    leading = np.arange((k - 1) // p ** (dimension - 1) + 1)
    for axis in range(dimension):
        wanted = leading if axis == 0 else everything
        values = transform_columns(values.reshape(p, -1), wanted, table, modulus)
    return values.reshape(-1)


def combine(residues: list[Residues], chosen: tuple[Modulus, ...]) -> NDArray[np.int64]:
    """Return the integers in 0..(product of one or two moduli)-1 that have these residues (Garner)."""
    low = residues[0].astype(np.int64)
    if len(residues) == 1:
        return low
    first, second = chosen[0].prime, chosen[1].prime
    inverse = pow(first, -1, second)
    high = (residues[1].astype(np.int64) - low) % second * inverse % second
    return low + high * first


@kernel
def transform_tiles(
    values: Residues, wanted: NDArray[np.int64], table: NDArray[np.int64], prime: int, result: Residues
) -> None:
    """Transform all columns, a tile of them at a time; see `transform_columns`."""
    p, columns = values.shape
    modulus, reciprocal = np.int64(prime), 1.0 / float(prime)
    sums = np.empty(64, dtype=np.int64)
    for start in range(0, columns, 64):
        width = min(64, columns - start)
        for a in range(wanted.shape[0]):
            frequency, index = wanted[a], 0
            for r in range(width):
                sums[r] = 0
            for b in range(p):
                power, row = table[index], values[b, start : start + width]
                for r in range(width):
                    sums[r] += power * np.int64(row[r])
                index += frequency
                if index >= p:
                    index -= p
            # The quotient of a sum below 2^63 is off by one at most, which the rest shows.
            for r in range(width):
                rest = sums[r] - np.int64(float(sums[r]) * reciprocal) * modulus
                rest += modulus * (np.int64(rest < 0) - np.int64(rest >= modulus))
                result[start + r, a] = rest
