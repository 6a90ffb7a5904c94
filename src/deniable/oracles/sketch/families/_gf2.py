"""Polynomials over F_2 as integers (bit i is the coefficient of x^i), for field tables and single reports."""

from __future__ import annotations

from functools import lru_cache
from itertools import count


def multiply(a: int, b: int, modulus: int) -> int:
    """Return the product of a and b modulo an irreducible polynomial; both have a smaller degree than it.

    Examples
    --------
    >>> multiply(0b110, 0b011, 0b1011)  # (x^2 + x)(x + 1) = x^3 + x = 1 modulo x^3 + x + 1
    1
    """
    top, product = modulus.bit_length() - 1, 0
    while b:
        if b & 1:
            product ^= a
        b >>= 1
        a <<= 1
        if a >> top & 1:
            a ^= modulus
    return product


def functionals(x: int, w: int, modulus: int, bits: int) -> int:
    """Return sum_j <alpha^j w, x> 2^j over j < bits for one report, like the loops over many reports.

    Examples
    --------
    >>> functionals(0b101, 0b011, 0b1011, 2)  # <011, 101> = 1, and <110, 101> = 1
    3
    """
    leading, value = 1 << modulus.bit_length() - 1, 0
    for j in range(bits):
        value |= ((w & x).bit_count() & 1) << j
        w <<= 1
        if w & leading:
            w ^= modulus
    return value


@lru_cache(maxsize=256)
def smallest_irreducible(degree: int) -> int:
    """Return the irreducible polynomial of a degree >= 1 with the smallest integer value; x + 1 for degree 1.

    The polynomial x itself is left out, because modulo x, alpha = x would be zero.

    Examples
    --------
    >>> [bin(smallest_irreducible(degree)) for degree in (1, 2, 4, 8)]
    ['0b11', '0b111', '0b10011', '0b100011011']
    """
    return next(polynomial for polynomial in count((1 << degree) | 1, 2) if is_irreducible(polynomial))


def is_irreducible(polynomial: int) -> bool:
    """Return whether a polynomial of degree >= 1 has no factor of smaller degree (Rabin's test)."""
    degree = polynomial.bit_length() - 1
    if degree == 1:
        return True
    power, powers = 2, []
    for _ in range(degree):
        power = multiply(power, power, polynomial)
        powers.append(power)  # x^(2^1), ..., x^(2^degree)
    if powers[-1] != 2:
        return False
    return all(_gcd(polynomial, powers[d - 1] ^ 2) == 1 for d in range(1, degree) if degree % d == 0)


def _gcd(a: int, b: int) -> int:
    while b:
        while a.bit_length() >= b.bit_length():
            a ^= b << (a.bit_length() - b.bit_length())
        a, b = b, a
    return a
