"""Linear family: hashes over F_p, for numbers of cells that are prime powers.

There are m = p^e cells, and D = p^b >= k. Let alpha be the class of the indeterminate in GF(p^b), taken modulo the
monic irreducible polynomial of degree b with the smallest value sum_i c_i p^i. Values and functions are vectors of
F_p^b, which are their digits to base p. Digit j of the cell is <alpha^j w, x> = sum_i (alpha^j w)_i x_i mod p, where w
is uniform over the nonzero vectors.

The vectors w that give x and x' one cell are those for which all alpha^j w, j < e, are orthogonal to x - x'. These are
D/m of the D vectors, and zero is among them. Hence c = (D/m - 1)/(D - 1), which is the least that D - 1 functions can
have. p^b is the next power of p above k.

One Fourier transform over F_p^b decodes all values exactly: over the integers for p = 2 (`_binary_linear`), and over
integers modulo primes for odd p (`_hyperplanes`). For p = 2, the spread family has the same c at less work per report.

Polynomials over F_p are tuples of coefficients, the constant coefficient first. They are for field tables, not for
loops.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes, checked_domain, checked_integer, code_dtype, settle
from deniable.core.randomness import Randomness, uniform_below
from deniable.core.state import counts_between
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.families import _gf2
from deniable.oracles.sketch.families.family import Column, Counts, Parameters, TransformedFamily, column
from deniable.oracles.sketch.families.registry import FamilyEntry
from deniable.research.families import _binary_linear as binary, _hyperplanes as hyperplanes

Polynomial = tuple[int, ...]


@lru_cache(maxsize=256)
def smallest_irreducible(p: int, degree: int) -> Polynomial:
    """Return the monic irreducible polynomial of a degree >= 1 with the smallest value sum_i c_i p^i.

    The indeterminate itself is left out, because modulo it alpha would be zero.

    Examples
    --------
    >>> smallest_irreducible(3, 5), smallest_irreducible(11, 3), smallest_irreducible(2, 1)
    ((1, 2, 0, 0, 0, 1), (4, 1, 0, 1), (1, 1))
    """
    candidates = (digits(value, p, degree + 1) for value in count(p**degree + 1))
    return next(one for one in candidates if one[0] and is_irreducible(one, p))


def digits(value: int, p: int, length: int) -> Polynomial:
    """Return the last `length` digits of a number to base p, the lowest digit first."""
    found = []
    for _ in range(length):
        value, digit = divmod(value, p)
        found.append(digit)
    return tuple(found)


def is_irreducible(polynomial: Sequence[int], p: int) -> bool:
    """Return True if a monic polynomial of degree >= 1 has no factor of smaller degree (Rabin's test)."""
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
    """Return a b modulo a monic polynomial.

    a and b have one coefficient fewer than the polynomial.

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
    """Return True if the greatest common divisor of two polynomials is a constant."""
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


MAX_CELLS = 1 << 16
"""Largest m, hence the largest p."""


class LinearReports(NamedTuple):
    """Batch of n reports of the linear family: the public hash of every contributor, and a noisy cell.

    Parameters
    ----------
    w : uint8[n], uint16[n], uint32[n] or uint64[n]
        Hash function, in 1..D-1.
    value : uint8[n] or uint16[n]
        Noisy cell in 0..m-1.
    """

    w: NDArray[Any]
    value: NDArray[Any]


@dataclass(frozen=True)
class LinearFamily(TransformedFamily):
    """Linear hash functions from {0, ..., k-1} to m = p^e cells.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    m : int
        Number of cells, a prime power, 2 <= m <= 2^16.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or m is not a prime power.

    Examples
    --------
    >>> from deniable.research.families.linear import LinearFamily
    >>> import numpy as np
    >>> family = LinearFamily(k=200, m=9)
    >>> family.p, family.exponent, family.domain, family.collision_probability
    (3, 2, 243, Fraction(13, 121))
    >>> family.hash(np.array([0, 1, 2, 9]), np.array([5, 5, 5, 5]))  # 5 = 2 + 1*3: <w, 1> = 2, <alpha w, 1> = 0, ...
    array([0, 2, 1, 3], dtype=uint8)
    """

    k: int
    m: int

    report_type = LinearReports

    def __post_init__(self) -> None:
        settle(self, k=checked_domain(self.k), m=checked_integer("m", self.m, 2, MAX_CELLS))
        if self.p**self.exponent != self.m:
            raise InvalidParameterError(f"m must be a prime power for the hash family “linear”, got m={self.m}")

    # ---------------------------------------------------------------- distribution

    @cached_property
    def p(self) -> int:
        """Prime p of m = p^e."""
        return next((p for p in range(2, math.isqrt(self.m) + 1) if self.m % p == 0), self.m)

    @cached_property
    def exponent(self) -> int:
        """Exponent e of m = p^e."""
        return _digit_count(self.m, self.p)

    @cached_property
    def dimension(self) -> int:
        """Exponent b of D = p^b, which is enough for k values and m cells."""
        return max(_digit_count(self.k, self.p), self.exponent)

    @property
    def domain(self) -> int:
        """Number D = p^b of values that the transform decodes."""
        return int(self.p**self.dimension)

    @cached_property
    def polynomial(self) -> Polynomial:
        """Modulus of GF(p^b), with its constant coefficient first."""
        if self.p == 2:  # this finds the same polynomial faster
            return digits(_gf2.smallest_irreducible(self.dimension), 2, self.dimension + 1)
        return smallest_irreducible(self.p, self.dimension)

    @property
    def collision_probability(self) -> Fraction:
        """Probability P(h(x) = h(x')) = (D/m - 1)/(D - 1) for every x != x', exact."""
        return Fraction(self.domain // self.m - 1, self.domain - 1)

    # ---------------------------------------------------------------- contributor

    @cached_property
    def parameter_columns(self) -> tuple[Column]:
        return (column(1, self.domain - 1),)

    def draw_parameters(self, rng: Randomness, rows: int) -> Parameters:
        """Contributor: return (w,) of shape (rows,), exactly uniform in 1..D-1, by rejection."""
        points = uniform_below(rng, self.member_count, rows, halves=True)
        return ((1 + points).astype(self.parameter_columns[0].dtype),)

    @cached_property
    def _low(self) -> NDArray[np.int64]:
        return np.array(self.polynomial[:-1], dtype=np.int64)

    @property
    def _binary_polynomial(self) -> int:
        return sum(c << i for i, c in enumerate(self.polynomial[:-1]))

    def hash(self, codes: Codes, *parameters: Codes) -> Codes:
        (w,) = parameters
        cells: Codes
        if self.p == 2:
            cells = binary.apply_functionals(codes, w, self.dimension, self._binary_polynomial, self.exponent)
        else:
            cells = hyperplanes.apply_functionals(codes, w, self.p, self._low, self.exponent)
        return cells.astype(code_dtype(self.m))

    # ---------------------------------------------------------------- collector

    @property
    def state_size(self) -> int:
        """Number of counters.

        It is D for p = 2, for the spectrum of the support counts. It is p (D-1)/(p-1) for odd p, one per hyperplane.
        """
        return self.domain if self.p == 2 else self.p * hyperplanes.line_count(self.p, self.dimension)

    def check_state(self, counts: Counts, n: int) -> None:
        if self.p == 2:
            counts_between(counts[:1], n, n)
            binary.check_spectrum(counts, n, np.arange(self.m + 1))
        else:
            hyperplanes.check_hyperplanes(counts, n, self.p, self.m)

    def _tally(self, reports: LinearReports) -> Counts:
        w, value = reports
        if self.p == 2:
            return binary.spectrum(w, None, value, np.arange(self.m + 1), self.dimension, self._binary_polynomial)
        hyperplanes_per_report = (self.m - 1) // (self.p - 1)
        dtype = np.int32 if len(w) * hyperplanes_per_report < 1 << 31 else np.int64
        counters = np.zeros((self.p, self.state_size // self.p), dtype=dtype)
        hyperplanes.count_hyperplanes(w, value, self.p, self._low, self.exponent, counters)
        return counters.reshape(-1)

    def detour(self, n: int) -> int:
        return n * self.m + self.state_size * self.dimension * self.p

    @property
    def functionals(self) -> int:
        return self.exponent

    # ---------------------------------------------------------------- analyst

    def decode(self, state: Counts, n: int) -> Counts:
        if self.p != 2:
            return hyperplanes.decode_hyperplanes(state, n, self.p, self.dimension, self.m, self.k)
        return binary.decode_spectrum(state, n, self.exponent, self.k)


def prime_powers_around(x: int) -> tuple[int, int]:
    """Return the largest prime power <= x and the smallest > x, which are both 2^16 from x = 2^16 on.

    Examples
    --------
    >>> prime_powers_around(6), prime_powers_around(9), prime_powers_around(10**6)
    ((5, 7), (9, 11), (65536, 65536))
    """
    powers = prime_powers()
    place = bisect.bisect_right(powers, x)
    return powers[place - 1], powers[min(place, len(powers) - 1)]


@lru_cache(maxsize=1)
def prime_powers() -> tuple[int, ...]:
    """Return every prime power up to 2^16 in increasing order; these are the allowed values of m."""
    prime = np.ones(MAX_CELLS + 1, dtype=np.bool_)
    prime[:2] = False
    for p in range(2, math.isqrt(MAX_CELLS) + 1):
        prime[p * p :: p] &= not prime[p]
    bases = np.flatnonzero(prime).tolist()
    return tuple(sorted(p**e for p in bases for e in range(1, math.floor(math.log(MAX_CELLS, p) + 1e-9) + 1)))


def _digit_count(number: int, p: int) -> int:
    """Return the smallest b >= 1 with p^b >= number."""
    return next(b for b in count(1) if p**b >= number)


ENTRY = FamilyEntry(
    LinearFamily,
    prime_powers_around,
    cells=prime_powers,
    remark="any prime power of cells, and one transform decodes all values",
)
"""Entry that builds a count-mean sketch on this family."""
