"""The binary-field family: the prime family with GF(2^l) for F_P, for dictionaries of up to 2^64 values.

h(x) = (a0 + a1 x) mod m: multiplication and addition in GF(2^l), modulo the irreducible polynomial of degree l with the
smallest integer value, then the remainder of that l-bit integer by m. a0, a1 are uniform in {0, ..., 2^l - 1}, zero
included: (a0 + a1 x, a0 + a1 x') is uniform on pairs for every x != x', and the collision probability is the prime
family's with 2^l for P (Pan, Lemma 3.2, whose proof needs a field and no more). l = max(ceil(log2 k), bitlength(7m-1)).

Integers modulo a prime beyond 2^64 would need products of more than 128 bits; here a product is shifts and XORs. For a
fixed x it is linear in a1, so eight tables of 256 words each evaluate one value for every report.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes, checked_integer, code_dtype
from deniable.core.kernels import kernel
from deniable.core.mechanism import ReportField
from deniable.core.randomness import Randomness, Words, draw
from deniable.core.state import counts_between
from deniable.errors import TooLargeError
from deniable.oracles.sketch.families._columns import checked_columns, valid_column_rows
from deniable.oracles.sketch.families._gf2 import smallest_irreducible
from deniable.oracles.sketch.families.family import Counts, Parameters, check_counts
from deniable.oracles.sketch.families.prime import PRIME_FACTOR, collision_probability
from deniable.oracles.sketch.families.spread import MAX_STATE_SIZE

MAX_BITS = 64
"""Largest l, so that a field element is one word."""

MAX_CELLS = 1 << 32
"""Largest m."""

QUERIES = 64
"""Values whose tables (16 KiB each) are made at a time."""

INTERPRETED_EVALUATIONS = 1 << 8


class BinaryFieldReports(NamedTuple):
    """A batch of n reports of the binary-field family: the public hash of every contributor, and a noisy cell.

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
class BinaryFieldFamily:
    """The hash functions x -> (a0 + a1 x in GF(2^l)) mod m from {0, ..., k-1} to m cells.

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
    >>> from deniable.oracles.sketch.families.binary_field import BinaryFieldFamily
    >>> import numpy as np
    >>> family = BinaryFieldFamily(k=200, m=3)
    >>> family.bits, hex(family.polynomial), family.collision_probability
    (8, '0x1b', Fraction(10923, 32768))
    >>> family.hash(np.array([0, 1, 2, 3]), np.full(4, 5), np.full(4, 0x80))  # 5, 0x85, 5 ^ 0x1b = 0x1e, 0x9e
    array([2, 1, 0, 2], dtype=uint8)
    """

    k: int
    m: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_integer("k", self.k, 2, 1 << MAX_BITS))
        object.__setattr__(self, "m", checked_integer("m", self.m, 2, MAX_CELLS))

    # ---------------------------------------------------------------- the law

    @cached_property
    def bits(self) -> int:
        """The l of GF(2^l)."""
        return max((self.k - 1).bit_length(), (PRIME_FACTOR * self.m - 1).bit_length())

    @cached_property
    def polynomial(self) -> int:
        """The modulus of GF(2^l) without its leading term."""
        return smallest_irreducible(self.bits) ^ (1 << self.bits)

    @property
    def collision_probability(self) -> Fraction:
        """P(h(x) = h(x')) = ((2Q+1) r + m Q^2)/2^(2l) for every x != x', where 2^l = Q m + r; exact."""
        return collision_probability(1 << self.bits, self.m)

    @property
    def member_count(self) -> int:
        """2^(2l) pairs (a0, a1)."""
        return 1 << 2 * self.bits

    def members(self) -> tuple[Parameters, NDArray[Any]]:
        """Return every (a0, a1), a1 varying fastest, and their probabilities, each 1/2^(2l)."""
        size = 1 << self.bits
        a0, a1 = (axis.ravel().astype(self._parameter_dtype) for axis in np.indices((size, size)))
        return (a0, a1), np.full(len(a0), Fraction(1, self.member_count), dtype=object)

    # ---------------------------------------------------------------- contributor

    @cached_property
    def _parameter_dtype(self) -> np.dtype[Any]:
        return code_dtype(1 << self.bits) if self.bits <= 32 else np.dtype(np.uint64)

    def draw_parameters(self, rng: Randomness, rows: int) -> Parameters:
        """Contributor: return (a0, a1), each of shape (rows,), exactly uniform in 0..2^l-1."""
        a0, a1 = ((draw(rng, rows) >> np.uint64(64 - self.bits)).astype(self._parameter_dtype) for _ in range(2))
        return a0, a1

    def hash(self, codes: Codes, *parameters: Codes) -> Codes:
        """Return the cell of each code under its own (a0, a1); the three arrays have shape (n,)."""
        # One dtype for the loop, which is compiled once then.
        x, a0, a1 = (column.astype(np.uint64) for column in (codes, *parameters))
        cells = np.empty(len(x), dtype=np.uint64)
        hash_codes(x, a0, a1, self.bits, np.uint64(self.polynomial), np.uint64(self.m), cells)
        return cells.astype(code_dtype(self.m))

    def join(self, parameters: Parameters, cells: Codes) -> BinaryFieldReports:
        """Return the reports (a0, a1, value)."""
        a0, a1 = parameters
        return BinaryFieldReports(a0, a1, cells)

    # ---------------------------------------------------------------- collector

    uncounted = None
    report_type = BinaryFieldReports

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        """Two hash parameters and a cell per report."""
        parameter, cell = self._parameter_dtype.name, code_dtype(self.m).name
        return ReportField("a0", parameter), ReportField("a1", parameter), ReportField("value", cell)

    @property
    def report_bits(self) -> float:
        """Bits per report, 2 l + log2 m."""
        return 2 * self.bits + math.log2(self.m)

    @property
    def _bounds(self) -> tuple[tuple[int, int], ...]:
        return (0, (1 << self.bits) - 1), (0, (1 << self.bits) - 1), (0, self.m - 1)

    def checked(self, reports: BinaryFieldReports) -> BinaryFieldReports:
        """Collector: return the reports as contiguous arrays that the family can have produced.

        Raises
        ------
        InvalidReportError
            Naming the field, its bound, the value and the first row (1-based), or the wrong type or length.
        """
        checked: BinaryFieldReports = checked_columns(reports, BinaryFieldReports, self._bounds)
        return checked

    def valid_rows(self, reports: BinaryFieldReports) -> NDArray[np.bool_]:
        """Collector: return which rows are within their bounds, bool[n]."""
        return valid_column_rows(reports, BinaryFieldReports, self._bounds)

    def split(self, reports: BinaryFieldReports) -> tuple[Parameters, Codes]:
        """Return ((a0, a1), value)."""
        return (reports.a0, reports.a1), reports.value

    @property
    def state_size(self) -> int:
        """One counter per value: the state is the support counts themselves."""
        return self.k

    def check_state(self, counts: Counts, n: int) -> None:
        """Refuse support counts outside 0..n."""
        counts_between(counts, 0, n)

    def tally(self, reports: BinaryFieldReports) -> Counts:
        """Collector: return the support counts of all values; O(n k) time.

        Raises
        ------
        TooLargeError
            If there are more than 2^28 values; `count_queries` counts chosen ones of any domain.
        """
        if self.k > MAX_STATE_SIZE:
            raise TooLargeError(f"the state of {self!r} must have at most {MAX_STATE_SIZE} counters")
        return self.count_queries(reports, np.arange(self.k, dtype=np.uint64))

    def count_queries(self, reports: BinaryFieldReports, queries: Codes) -> NDArray[np.int64]:
        """Collector: return the number of checked reports with value = h(x), for every x of the queries."""
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
        """Return uint64[q, 8, 256]: the product of x with every value of every byte of a1."""
        one, top = np.uint64(1), np.uint64(self.bits - 1)
        mask, low = np.uint64((1 << self.bits) - 1), np.uint64(self.polynomial)
        tables, multiple = np.zeros((len(queries), 8, 256), dtype=np.uint64), queries.copy()
        for bit in range(self.bits):
            byte, h = bit // 8, 1 << bit % 8
            tables[:, byte, h : 2 * h] = tables[:, byte, :h] ^ multiple[:, None]
            multiple = (multiple << one & mask) ^ ((multiple >> top) * low)
        return tables

    # ---------------------------------------------------------------- analyst

    def decode(self, state: Counts, n: int) -> Counts:
        """Analyst: return the support counts, which are the state, after checking that 0 <= C <= n."""
        check_counts(state, n)
        return state

    def decode_queries(self, state: Counts, n: int, queries: Codes) -> Counts:
        """Analyst: return the support counts of the queries."""
        return self.decode(state, n)[queries]


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
        for j in range(bits):  # Horner's rule, from the highest coefficient of a1
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
