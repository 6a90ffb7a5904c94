"""Polynomials over F_p, p prime, as tuples of coefficients, the constant one first. For field tables, not for loops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import count

Polynomial = tuple[int, ...]


@lru_cache(maxsize=256)
def smallest_irreducible(p: int, degree: int) -> Polynomial:
    """Return the monic irreducible polynomial of a degree >= 1 with the smallest value sum_i c_i p^i.

    The indeterminate itself is left out: modulo it, alpha would be zero.

    Examples
    --------
    >>> smallest_irreducible(3, 5), smallest_irreducible(11, 3), smallest_irreducible(2, 1)
    ((1, 2, 0, 0, 0, 1), (4, 1, 0, 1), (1, 1))
    """
    candidates = (digits(value, p, degree + 1) for value in count(p**degree + 1))
    return next(one for one in candidates if one[0] and is_irreducible(one, p))


def digits(value: int, p: int, length: int) -> Polynomial:
    """Return the `length` last digits of a number to base p, the lowest first."""
    found = []
    for _ in range(length):
        value, digit = divmod(value, p)
        found.append(digit)
    return tuple(found)


def is_irreducible(polynomial: Sequence[int], p: int) -> bool:
    """Return whether a monic polynomial of degree >= 1 has no factor of smaller degree (Rabin's test)."""
    modulus, degree = tuple(polynomial), len(polynomial) - 1
    if degree == 1:
        return True
    x: Polynomial = (0, 1, *(0,) * (degree - 2))
    power, powers = x, []
    for _ in range(degree):
        power = _power(power, p, modulus, p)
        powers.append(power)  # x^(p^1), ..., x^(p^degree)
    if powers[-1] != x:
        return False
    divisors = (d for d in range(1, degree) if degree % d == 0)
    return all(_coprime(modulus, _difference(powers[d - 1], x, p), p) for d in divisors)


def multiply(a: Polynomial, b: Polynomial, modulus: Polynomial, p: int) -> Polynomial:
    """Return a b modulo a monic polynomial; a and b have one coefficient fewer than it.

    Examples
    --------
    >>> multiply((1, 2), (2, 1), (1, 0, 1), 3)  # (2x + 1)(x + 2) = 2x^2 + 5x + 2 = 2x modulo x^2 + 1 and 3
    (0, 2)
    """
    degree = len(modulus) - 1
    product = [0] * (2 * degree - 1)
    for i, c in enumerate(a):
        for j, d in enumerate(b):
            product[i + j] += c * d
    for i in range(2 * degree - 2, degree - 1, -1):
        top = product[i] % p
        for j in range(degree):
            product[i - degree + j] -= top * modulus[j]
    return tuple(c % p for c in product[:degree])


def _power(base: Polynomial, exponent: int, modulus: Polynomial, p: int) -> Polynomial:
    result: Polynomial = (1, *(0,) * (len(modulus) - 2))
    while exponent:
        if exponent & 1:
            result = multiply(result, base, modulus, p)
        base = multiply(base, base, modulus, p)
        exponent >>= 1
    return result


def _difference(a: Polynomial, b: Polynomial, p: int) -> Polynomial:
    return tuple((c - d) % p for c, d in zip(a, b, strict=True))


def _coprime(a: Sequence[int], b: Sequence[int], p: int) -> bool:
    """Whether the greatest common divisor of two polynomials is a constant."""
    first, second = _stripped(a), _stripped(b)
    while second:
        inverse = pow(second[-1], -1, p)
        while len(first) >= len(second):
            factor, shift = first[-1] * inverse % p, len(first) - len(second)
            shifted = [0] * shift + second
            first = _stripped([(c - factor * d) % p for c, d in zip(first, shifted, strict=True)])
        first, second = second, first
    return len(first) == 1


def _stripped(polynomial: Sequence[int]) -> list[int]:
    coefficients = list(polynomial)
    while coefficients and coefficients[-1] == 0:
        coefficients.pop()
    return coefficients
