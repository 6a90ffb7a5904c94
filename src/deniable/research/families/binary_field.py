"""Binary-field family: the prime family with GF(2^l) in place of F_P, for dictionaries of up to 2^64 values.

The hash function is h(x) = (a0 + a1 x) mod m. Multiplication and addition are in GF(2^l), modulo the irreducible
polynomial of degree l with the smallest integer value. Then the remainder of that l-bit integer by m is taken. a0 and
a1 are uniform in {0, ..., 2^l - 1}, zero included. So (a0 + a1 x, a0 + a1 x') is uniform on pairs for every x != x',
and the collision probability is the prime family's with 2^l for P (Pan, Lemma 3.2, whose proof needs a field and no
more). l = max(ceil(log2 k), bitlength(7m-1)).

Integers modulo a prime beyond 2^64 would need products of more than 128 bits. Here a product is made of shifts and
XORs. For a fixed x it is linear in a1, so eight tables of 256 words each evaluate one value for every report.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes, checked_integer, code_dtype, settle
from deniable.core.kernels import kernel
from deniable.core.randomness import Randomness, Words, draw
from deniable.oracles.sketch.families._gf2 import smallest_irreducible
from deniable.oracles.sketch.families.family import Column, CountedFamily, Counts, Parameters, column
from deniable.oracles.sketch.families.hash_range import any_integer
from deniable.oracles.sketch.families.prime import PRIME_FACTOR, collision_probability
from deniable.oracles.sketch.families.registry import FamilyEntry

MAX_BITS = 64
"""Largest l, so that a field element is one word."""

MAX_CELLS = 1 << 32
"""Largest m."""

QUERIES = 64
"""Values whose tables (16 KiB each) are made at a time."""

INTERPRETED_EVALUATIONS = 1 << 8


class BinaryFieldReports(NamedTuple):
    """Batch of n reports of the binary-field family: the public hash of every contributor, and a noisy cell.

    Parameters
    ----------
    a0, a1 : uint8[n], uint16[n], uint32[n] or uint64[n]
        Hash parameters in 0..2^l-1.
    value : uint8[n], uint16[n] or uint32[n]
        Noisy cell in 0..m-1.
    """

    a0: NDArray[Any]
    a1: NDArray[Any]
    value: NDArray[Any]


@dataclass(frozen=True)
class BinaryFieldFamily(CountedFamily):
    """Hash functions x -> (a0 + a1 x in GF(2^l)) mod m from {0, ..., k-1} to m cells.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^64.
    m : int
        Number of cells, 2 <= m <= 2^32.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.research.families.binary_field import BinaryFieldFamily
    >>> import numpy as np
    >>> family = BinaryFieldFamily(k=200, m=3)
    >>> family.bits, hex(family.polynomial), family.collision_probability
    (8, '0x1b', Fraction(10923, 32768))
    >>> family.hash(np.array([0, 1, 2, 3]), np.full(4, 5), np.full(4, 0x80))  # 5, 0x85, 5 ^ 0x1b = 0x1e, 0x9e
    array([2, 1, 0, 2], dtype=uint8)
    """

    k: int
    m: int

    report_type = BinaryFieldReports

    def __post_init__(self) -> None:
        settle(self, k=checked_integer("k", self.k, 2, 1 << MAX_BITS), m=checked_integer("m", self.m, 2, MAX_CELLS))

    # ---------------------------------------------------------------- distribution

    @cached_property
    def bits(self) -> int:
        """Number l of GF(2^l)."""
        return max((self.k - 1).bit_length(), (PRIME_FACTOR * self.m - 1).bit_length())

    @cached_property
    def polynomial(self) -> int:
        """Modulus of GF(2^l) without its leading term."""
        return smallest_irreducible(self.bits) ^ (1 << self.bits)

    @property
    def collision_probability(self) -> Fraction:
        """Probability P(h(x) = h(x')) for every x != x', exact.

        It is ((2Q+1) r + m Q^2)/2^(2l), where 2^l = Q m + r.
        """
        return collision_probability(1 << self.bits, self.m)

    # ---------------------------------------------------------------- contributor

    @cached_property
    def parameter_columns(self) -> tuple[Column, Column]:
        return (column(0, (1 << self.bits) - 1),) * 2

    def draw_parameters(self, rng: Randomness, rows: int) -> Parameters:
        return tuple((draw(rng, rows) >> np.uint64(64 - self.bits)).astype(one.dtype) for one in self.parameter_columns)

    def hash(self, codes: Codes, *parameters: Codes) -> Codes:
        # The loop has one dtype, so that it is compiled once.
        x, a0, a1 = (column.astype(np.uint64) for column in (codes, *parameters))
        cells = np.empty(len(x), dtype=np.uint64)
        hash_codes(x, a0, a1, self.bits, np.uint64(self.polynomial), np.uint64(self.m), cells)
        return cells.astype(code_dtype(self.m))

    # ---------------------------------------------------------------- collector

    def _tally(self, reports: BinaryFieldReports) -> Counts:
        return self.count_queries(reports, np.arange(self.k, dtype=np.uint64))

    def count_queries(self, reports: BinaryFieldReports, queries: Codes) -> NDArray[np.int64]:
        a0, a1, cells = (np.ascontiguousarray(column, dtype=np.uint64) for column in reports)
        few = len(cells) * len(queries) <= INTERPRETED_EVALUATIONS
        run = count_supporting if few else count_supporting.compiled
        twos = (self.m & -self.m).bit_length() - 1
        division = np.array([pow(self.m >> twos, -1, 1 << 64), twos, ((1 << 64) - 1) // self.m], dtype=np.uint64)
        counts = np.zeros(len(queries), dtype=np.int64)
        for start in range(0, len(queries), QUERIES):
            tables = self._tables(queries[start : start + QUERIES].astype(np.uint64))
            for j, table in enumerate(tables, start):
                counts[j] = run(a0, a1, cells, table, division)
        return counts

    def _tables(self, queries: Words) -> NDArray[np.uint64]:
        """Return uint64[q, 8, 256], the product of x with every value of every byte of a1."""
        one, top = np.uint64(1), np.uint64(self.bits - 1)
        mask, low = np.uint64((1 << self.bits) - 1), np.uint64(self.polynomial)
        tables, multiple = np.zeros((len(queries), 8, 256), dtype=np.uint64), queries.copy()
        for bit in range(self.bits):
            byte, h = bit // 8, 1 << bit % 8
            tables[:, byte, h : 2 * h] = tables[:, byte, :h] ^ multiple[:, None]
            multiple = (multiple << one & mask) ^ ((multiple >> top) * low)
        return tables


@kernel
def hash_codes(
    codes: Words, a0: Words, a1: Words, bits: int, polynomial: np.uint64, m: np.uint64, cells: Words
) -> None:
    """Write (a0 + a1 x in GF(2^bits)) mod m of every row into cells[n]."""
    one, top = np.uint64(1), np.uint64(bits - 1)
    mask = (one << top) | ((one << top) - one)
    for i in range(codes.shape[0]):
        x, slope = codes[i], a1[i]
        product = np.uint64(0)
        for j in range(bits):  # this is Horner's rule, from the highest coefficient of a1
            overflow = product >> top
            coefficient = (slope >> (top - np.uint64(j))) & one
            product = ((product << one) & mask) ^ (overflow * polynomial) ^ (coefficient * x)
        cells[i] = (a0[i] ^ product) % m


@kernel
def count_supporting(a0: Words, a1: Words, cells: Words, table: NDArray[np.uint64], division: Words) -> int:
    """Return the number of rows with (a0 + a1 x) mod m = cell, given the table of x.

    m divides d exactly if d times the inverse of m's odd part, rotated right by m's twos, is at most (2^64-1)/m
    (Warren, *Hacker's Delight*, section 10-17).
    """
    inverse, twos, limit = division
    left = (np.uint64(64) - twos) & np.uint64(63)
    byte = np.uint64(255)
    supporting = 0
    for i in range(a0.shape[0]):
        hashed, slope = a0[i], a1[i]
        for j in range(8):
            hashed ^= table[j, (slope >> np.uint64(8 * j)) & byte]
        quotient = (hashed - cells[i]) * inverse
        rotated = (quotient >> twos) | (quotient << left)
        supporting += (hashed >= cells[i]) & (rotated <= limit)
    return supporting


ENTRY = FamilyEntry(
    BinaryFieldFamily,
    any_integer,
    largest_domain=1 << MAX_BITS,
    remark="up to 2^64 values; the collector compares every report with every value that is asked for",
)
"""Entry that builds a count-mean sketch on this family."""
