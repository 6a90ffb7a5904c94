"""State of the linear family for odd p, which counts how often each affine hyperplane of F_p^k was reported.

A report (w, z) says that h_w(x) = z, which are e equations <alpha^j w, x> = z_j. It determines one hyperplane <u, x> =
t for every line of coefficients c != 0: u = sum_j c_j alpha^j w and t = <c, z>, both divided by the highest nonzero
digit of u. There are N = (m-1)/(p-1) such hyperplanes. The point x lies on all of them if the report supports x, and on
(m/p - 1)/(p - 1) of them if not. So with

    A(x) = the number of reported hyperplanes through x,    C(x) = (n - n N + p A(x))/m.

The lines u are numbered by their normalised vectors, p^i <= u < 2 p^i for i = 0..k-1, and counters are numbered by t,
then u. A(x) is a discrete Fourier transform over F_p^k. With T[t, u] the counters and zeta a p-th root of unity,

    p A(x) = n N + sum_(u, s != 0) zeta^(s <u, x>) sum_t zeta^(-s t) T[t, u].

This module also computes exact discrete Fourier transforms over F_p^k, sum_v a(v) zeta^<v, x>, modulo primes with a
p-th root zeta of unity. There is no rounding anywhere. The residues modulo one or two primes, depending on the result's
range, determine the result.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import kernel
from deniable.core.state import counts_between, counts_sum_to, refuse
from deniable.errors import DamagedStateError, TooLargeError
from deniable.oracles.sketch.families.family import Counts, check_counts
from deniable.oracles.sketch.families.prime import is_prime

Residues = NDArray[np.uint32]


class Modulus(NamedTuple):
    """Prime modulus q = 1 mod p of the transforms, and a root of order p modulo q.

    The bound p q^2 < 2^63 ensures that sums of p products fit a word.
    """

    prime: int
    root: int


@lru_cache(maxsize=64)
def moduli(p: int, count: int) -> tuple[Modulus, ...]:
    """Return the `count` largest moduli for transforms over F_p^k, where p is an odd prime.

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
    """Return the transform of the columns of values[p, R] at the frequencies wanted[A], as residues uint32[R, A].

    Entry (r, i) is sum_b table[wanted[i] b mod p] values[b, r] modulo q. The powers of the root are in table[p].
    """
    result = np.empty((values.shape[1], len(wanted)), dtype=np.uint32)
    transform_tiles.compiled(values, wanted, table, modulus.prime, result)
    return result


def transform(values: Residues, p: int, dimension: int, k: int, modulus: Modulus) -> Residues:
    """Return sum_v values[v] zeta^<v, x> modulo q for x = 0..k-1 (and a few more).

    x and v are given by their digits to base p. The transform is made one axis at a time. The highest digit comes
    first, of which only the values below k/p^(dimension-1) are made. Each pass takes the first axis away and appends
    the transformed axis, so that the digits end in their order.
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
    """Transform all columns, one tile of columns at a time, by `transform_columns`."""
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
            # The quotient of a sum below 2^63 is off by at most one, which the rest shows.
            for r in range(width):
                rest = sums[r] - np.int64(float(sums[r]) * reciprocal) * modulus
                rest += modulus * (np.int64(rest < 0) - np.int64(rest >= modulus))
                result[start + r, a] = rest


Integers = NDArray[np.int64]


def line_count(p: int, dimension: int) -> int:
    """Return (p^k - 1)/(p - 1), the number of lines through the origin of F_p^k."""
    return int((p**dimension - 1) // (p - 1))


def check_hyperplanes(state: Counts, n: int, p: int, m: int) -> None:
    """Raise DamagedStateError unless n reports can have counted these hyperplanes.

    Each report counts N hyperplanes, on N different lines.
    """
    counts_between(state, 0, n)
    counts_sum_to(state, n * ((m - 1) // (p - 1)))
    lines = state.reshape(p, -1).sum(axis=0, dtype=np.int64)
    if lines.max() > n:
        refuse(f"a line must have at most {n} hyperplanes, one per report, got {lines.max()} of line {lines.argmax()}")


def decode_hyperplanes(state: Counts, n: int, p: int, dimension: int, m: int, k: int) -> Counts:
    """Return the support counts of 0..k-1 from the hyperplanes of n reports, checked.

    Raises
    ------
    DamagedStateError
        If m does not divide m C(x), a count lies outside 0..n, or the transform fails a spot check.
    TooLargeError
        If n N exceeds the range of two moduli, which is 2^44 at least.
    """
    per_report = (m - 1) // (p - 1)
    total = n * per_report
    limit = math.prod(modulus.prime for modulus in moduli(p, 2))
    if total >= limit:
        raise TooLargeError(
            f"a state must count fewer than {limit} hyperplanes to be decoded, got {total}; use fewer reports"
        )
    counters = state.reshape(p, -1)
    agreements = _agreements(counters, total, p, dimension, k)
    for x in {int(agreements.argmax()), int(agreements.argmin()), n * 0x9E3779B1 % k}:
        again = agreements_at(counters, x, p, dimension)
        if again != agreements[x]:
            raise DamagedStateError(
                f"the transform of the state must be {again} at value {x}, got {agreements[x]}; decode the state again"
            )
    counts, rests = np.divmod(n - total + p * agreements, m)
    if rests.any():
        raise DamagedStateError(f"the transform of the state must be divisible by m={m}; add the reports up again")
    check_counts(counts, n)
    return counts


def _agreements(counters: Counts, total: int, p: int, dimension: int, k: int) -> Integers:
    """Return the exact number of reported hyperplanes through x, for x = 0..k-1."""
    chosen = moduli(p, 1 if total < moduli(p, 1)[0].prime else 2)
    residues = []
    for modulus in chosen:
        q = modulus.prime
        inverse = pow(p, -1, q)
        # T[., u] is transformed over t at the frequencies -s, and divided by p. Then entry (u, s) belongs to the vector
        # s u.
        columns = (counters % q if int(counters.max()) >= q else counters).astype(np.uint32)
        transformed = transform_columns(columns, np.arange(p - 1, 0, -1), powers(modulus, p, inverse), modulus)
        spectrum = np.empty(p**dimension, dtype=np.uint32)
        spectrum[0] = total % q * inverse % q
        for s in range(1, p):
            multiples = np.zeros(1, dtype=np.uint32)  # s r, digit by digit, for r < p^i
            for i in range(dimension):
                first = line_count(p, i)
                spectrum[s * p**i + multiples] = transformed[first : first + p**i, s - 1]
                if i + 1 < dimension:
                    leading = np.arange(p, dtype=np.uint32) * np.uint32(s) % np.uint32(p) * np.uint32(p**i)
                    multiples = (leading[:, None] + multiples[None, :]).reshape(-1)
        residues.append(transform(spectrum, p, dimension, k, modulus)[:k])
    return combine(residues, chosen)


def agreements_at(counters: Counts, x: int, p: int, dimension: int) -> int:
    """Return the number of reported hyperplanes through x, computed from the definition.

    It is the sum over u of T[<u, x>, u].
    """
    products = np.zeros(1, dtype=np.int64)  # <r, x> for r < p^i
    found, first = 0, 0
    for i in range(dimension):
        x, digit = divmod(x, p)
        u = np.arange(first, first + p**i)
        found += int(counters[(products + digit) % p, u].sum())
        first += p**i
        if i + 1 < dimension:
            products = ((np.arange(p) * digit % p)[:, None] + products[None, :]).reshape(-1) % p
    return found


def apply_functionals(codes: Codes, w: Codes, p: int, low: Integers, exponent: int) -> Integers:
    """Return int64[n], which is sum_j (<alpha^j w, x> mod p) p^j, j < exponent, for every row.

    `low` holds the k coefficients of the field's polynomial below the leading coefficient.
    """
    cells = np.empty(len(codes), dtype=np.int64)
    # The loop has one dtype, so that it is compiled once.
    evaluate(codes.astype(np.int64), w.astype(np.int64), p, low, exponent, cells)
    return cells


def count_hyperplanes(w: Codes, cells: Codes, p: int, low: Integers, exponent: int, counters: Counts) -> None:
    """Add the hyperplanes of every report to counters[p, lines]."""
    inverses = np.array([0, *(pow(a, -1, p) for a in range(1, p))], dtype=np.int64)
    add_hyperplanes(w.astype(np.int64), cells.astype(np.int64), p, low, exponent, inverses, counters)


# In both kernels a quotient a // p is floor((a + 1/2)/p) in doubles. This is exact. (a + 1/2)/p is at least 1/(2p) >
# 2^-17 away from any integer, and the rounding error is below 2^-19 because a/p < 2^33.


@kernel
def evaluate(codes: Integers, w: Integers, p: int, low: Integers, exponent: int, cells: Integers) -> None:
    """Write sum_j (<alpha^j w, x> mod p) p^j, j < exponent, of every row into cells[n]."""
    dimension, base, reciprocal = low.shape[0], np.int64(p), 1.0 / float(p)
    vector, value = np.empty(dimension, dtype=np.int64), np.empty(dimension, dtype=np.int64)
    for i in range(codes.shape[0]):
        x, a = codes[i], w[i]
        for d in range(dimension):
            rest, left = np.int64((float(a) + 0.5) * reciprocal), np.int64((float(x) + 0.5) * reciprocal)
            vector[d], value[d] = a - rest * base, x - left * base
            a, x = rest, left
        cell, weight = np.int64(0), np.int64(1)
        for j in range(exponent):
            if j > 0:  # the vector is multiplied by alpha
                top = vector[dimension - 1]
                for d in range(dimension - 1, 0, -1):
                    total = vector[d - 1] + (base - top) * low[d]
                    vector[d] = total - np.int64((float(total) + 0.5) * reciprocal) * base
                vector[0] = (base - top) * low[0] % base
            product = np.int64(0)
            for d in range(dimension):
                product += vector[d] * value[d]
            cell += product % base * weight
            weight *= base
        cells[i] = cell


@kernel
def add_hyperplanes(
    w: Integers, cells: Integers, p: int, low: Integers, exponent: int, inverses: Integers, counters: Counts
) -> None:
    """Add the hyperplanes of every report to counters[p, lines].

    The coefficients c of a line are those with highest nonzero digit 1: alpha^h w plus every combination of lower
    terms.
    """
    dimension, base, reciprocal = low.shape[0], np.int64(p), 1.0 / float(p)
    vectors, values = np.empty((exponent, dimension), dtype=np.int64), np.empty(exponent, dtype=np.int64)
    u = np.empty(dimension, dtype=np.int64)
    weights, firsts = np.ones(dimension, dtype=np.int64), np.zeros(dimension, dtype=np.int64)
    for d in range(1, dimension):
        weights[d] = weights[d - 1] * base
        firsts[d] = firsts[d - 1] + weights[d - 1]
    for i in range(w.shape[0]):
        a, z = w[i], cells[i]
        for d in range(dimension):
            rest = np.int64((float(a) + 0.5) * reciprocal)
            vectors[0, d] = a - rest * base
            a = rest
        for j in range(exponent):
            rest = np.int64((float(z) + 0.5) * reciprocal)
            values[j] = z - rest * base
            z = rest
            if j > 0:  # the vector is multiplied by alpha
                top = vectors[j - 1, dimension - 1]
                for d in range(1, dimension):
                    total = vectors[j - 1, d - 1] + (base - top) * low[d]
                    vectors[j, d] = total - np.int64((float(total) + 0.5) * reciprocal) * base
                vectors[j, 0] = (base - top) * low[0] % base
        combinations = np.int64(1)
        for highest in range(exponent):
            t = values[highest]
            for d in range(dimension):
                u[d] = vectors[highest, d]
            for c in range(combinations):
                leading = dimension - 1
                while u[leading] == 0:
                    leading -= 1
                scale = inverses[u[leading]]
                line = firsts[leading] - weights[leading]  # the leading digit becomes 1 and those above it are 0
                for d in range(dimension):
                    total = u[d] * scale
                    line += (total - np.int64((float(total) + 0.5) * reciprocal) * base) * weights[d]
                counters[t * scale % base, line] += 1
                # Count c goes up by one. A digit that overflows was added p times, which is zero, so it carries to the
                # next digit.
                following, j = np.int64(c + 1), 0
                while j < highest:
                    t += values[j]
                    t -= base * np.int64(t >= base)
                    for d in range(dimension):
                        digit = u[d] + vectors[j, d]
                        u[d] = digit - base * np.int64(digit >= base)
                    if following % base:
                        break
                    following //= base
                    j += 1
            combinations *= base
