"""Partition family: any number of cells, decoded by a Walsh-Hadamard transform.

Vectors of F_2^L are split into m cells of nearly equal size, B_y = {v : floor(v m/2^L) = y}, L = bitlength(7m - 1). A
random affine map takes the domain to them: h(x) = floor((h_w(x) XOR offset) m/2^L). Bit j of h_w(x) is ``<alpha^j w,
x>``. w is uniform in F_2^b (zero included), and the offset is uniform in F_2^L. Here b = max(ceil(log2 k), L), ``<u,
x>`` is the parity of u & x, and alpha is the class of the indeterminate in GF(2^b), taken modulo the irreducible
polynomial of degree b with the smallest integer value.

For x != x', h_w(x) XOR h_w(x') = h_w(x XOR x') is uniform. Hence (h_w(x) XOR offset, h_w(x') XOR offset) is uniform on
pairs, and every pair of values collides with probability c = sum_y (|B_y|/2^L)^2. This is the prime family's formula
with 2^L for P. Since 7m/2 < 2^L, c is within a factor 1 + 1/49 of 1/m at worst.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes, checked_domain, checked_integer, code_dtype, settle
from deniable.core.kernels import worth_compiling
from deniable.core.randomness import Randomness, draw
from deniable.core.state import counts_between
from deniable.oracles.sketch.families._gf2 import smallest_irreducible
from deniable.oracles.sketch.families.family import Column, Counts, Parameters, TransformedFamily, column
from deniable.oracles.sketch.families.prime import PRIME_FACTOR, collision_probability
from deniable.oracles.sketch.families.registry import FamilyEntry
from deniable.research.families._binary_linear import (
    apply_functionals,
    check_spectrum,
    decode_spectrum,
    spectrum,
)

MAX_CELLS = 1 << 16
"""Largest m. A report costs the collector about 10 m additions."""


class PartitionReports(NamedTuple):
    """Batch of n reports of the partition family: the public hash of every contributor, and a noisy cell.

    Parameters
    ----------
    w : uint8[n], uint16[n] or uint32[n]
        Linear part of the hash, in 0..2^b-1.
    offset : uint8[n], uint16[n] or uint32[n]
        Constant part of the hash, in 0..2^L-1.
    value : uint8[n] or uint16[n]
        Noisy cell in 0..m-1.
    """

    w: NDArray[Any]
    offset: NDArray[Any]
    value: NDArray[Any]


@dataclass(frozen=True)
class PartitionFamily(TransformedFamily):
    """Hash functions x -> floor((h_w(x) XOR offset) m/2^L) from {0, ..., k-1} to m cells.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    m : int
        Number of cells, 2 <= m <= 2^16.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds.

    Examples
    --------
    >>> from deniable.research.families.partition import PartitionFamily
    >>> import numpy as np
    >>> family = PartitionFamily(k=200, m=3)
    >>> family.dimension, family.value_bits, family.collision_probability
    (8, 5, Fraction(171, 512))
    >>> family.hash(np.array([0, 4, 16, 64]), np.full(4, 7), np.full(4, 16))  # floor(3v/32) of 16, 23, 12, 0
    array([1, 2, 1, 0], dtype=uint8)
    """

    k: int
    m: int

    report_type = PartitionReports

    def __post_init__(self) -> None:
        settle(self, k=checked_domain(self.k), m=checked_integer("m", self.m, 2, MAX_CELLS))

    # ---------------------------------------------------------------- distribution

    @cached_property
    def value_bits(self) -> int:
        """Number L of the 2^L vectors that are split into cells."""
        return (PRIME_FACTOR * self.m - 1).bit_length()

    @cached_property
    def dimension(self) -> int:
        """Number b of the 2^b linear maps, and of the 2^b values that the transform decodes."""
        return max((self.k - 1).bit_length(), self.value_bits)

    @cached_property
    def polynomial(self) -> int:
        """Modulus of GF(2^b) without its leading term."""
        return smallest_irreducible(self.dimension) ^ (1 << self.dimension)

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """First vector of every cell, and 2^L, which are ceil(y 2^L/m) for y = 0..m."""
        return -(-(np.arange(self.m + 1, dtype=np.int64) << self.value_bits) // self.m)

    @property
    def collision_probability(self) -> Fraction:
        return collision_probability(1 << self.value_bits, self.m)

    # ---------------------------------------------------------------- contributor

    @cached_property
    def parameter_columns(self) -> tuple[Column, Column]:
        return column(0, (1 << self.dimension) - 1), column(0, (1 << self.value_bits) - 1)

    def draw_parameters(self, rng: Randomness, rows: int) -> Parameters:
        """Contributor: return (w, offset), each of shape (rows,) and exactly uniform.

        They are the two ends of one 64-bit word. For many contributors, they are the two ends of half a word if it is
        long enough.
        """
        short = worth_compiling(rows) and self.dimension + self.value_bits <= 32
        words: NDArray[Any] = draw(rng, -(-rows // 2)).view(np.uint32)[:rows] if short else draw(rng, rows)
        (w, offset), number = self.parameter_columns, words.dtype.type
        high, low = words >> number(8 * words.itemsize - self.dimension), words & number((1 << self.value_bits) - 1)
        return high.astype(w.dtype), low.astype(offset.dtype)

    def hash(self, codes: Codes, *parameters: Codes) -> Codes:
        w, offset = parameters
        vectors: NDArray[Any] = apply_functionals(codes, w, self.dimension, self.polynomial, self.value_bits)
        vectors ^= offset.astype(vectors.dtype)
        if self.m << self.value_bits > 1 << 32:
            vectors = vectors.astype(np.uint64)
        vectors *= vectors.dtype.type(self.m)
        vectors >>= vectors.dtype.type(self.value_bits)
        return vectors.astype(code_dtype(self.m))

    # ---------------------------------------------------------------- collector

    @property
    def state_size(self) -> int:
        """Number of counters: 2^b, for the spectrum of the support counts."""
        return 1 << self.dimension

    def check_state(self, counts: Counts, n: int) -> None:
        check_spectrum(counts, n, self.edges)
        counts_between(counts[:1], 0, n << self.value_bits)

    def _tally(self, reports: PartitionReports) -> Counts:
        return spectrum(*reports, self.edges, self.dimension, self.polynomial)

    def detour(self, n: int) -> int:
        return (n << self.value_bits) + self.state_size * self.dimension

    @property
    def functionals(self) -> int:
        return self.value_bits

    # ---------------------------------------------------------------- analyst

    def decode(self, state: Counts, n: int) -> Counts:
        return decode_spectrum(state, n, self.value_bits, self.k)


def cells_up_to_65536(x: int) -> tuple[int, int]:
    """Return the numbers of cells around x for a family that allows every m in 2..2^16.

    Examples
    --------
    >>> cells_up_to_65536(6), cells_up_to_65536(10**6)
    ((6, 7), (65536, 65536))
    """
    return min(x, MAX_CELLS), min(x + 1, MAX_CELLS)


ENTRY = FamilyEntry(
    PartitionFamily,
    cells_up_to_65536,
    remark="any number of cells, and one transform decodes all values",
)
"""Entry that builds a count-mean sketch on this family."""
