"""Spread: hashes from projective geometry; one integer per report, one histogram, one transform decodes all values.

There are m = 2^l cells, and D = 2^b >= k. The nonzero vectors of F_2^b are split into subspaces of dimension l that
meet in zero only (a partial spread, built level by level), plus one small rest. A hash function is a subspace. The cell
of x consists of l inner products of x with vectors of this subspace. Two values collide exactly if their difference is
orthogonal to the subspace. The collision probability is therefore (D/m - 1)/(D - 1) for every pair, the smallest that a
family of linear functions can have.

Level i acts on x >> (l i), which has b_i = b - l i bits. Let alpha be the class of the indeterminate in GF(2^g), taken
modulo the irreducible polynomial of degree g with the smallest integer value. Let ``<u, v>`` be the parity of u & v.
There are two kinds of levels:

* b_i >= 2l: g = b_i - l, any w in GF(2^g); with x_hi = x >> l and x_lo = x & (m-1),
  bit j of the cell is <alpha^j w, x_hi> XOR bit j of x_lo;
* the last level, b_i < 2l: g = b_i, any w != 0; bit j of the cell is <alpha^j w, x>.

A contributor descends from level i with probability (2^b_i/m - 1)/(2^b_i - 1). Then every hash function of the last
level has probability 1/(D-1) and every other one (m-1)/(D-1), and one uniform draw below D - 1 chooses level and w.

For l = b/2, b/3, ... this is projective geometry response (Feldman, Nelson, Nguyen, Talwar, *Private frequency
estimation via projective geometry*, 2022) over GF(2^l). The levels extend it to every b >= l.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes, checked_domain, checked_integer, checked_report_codes, code_dtype, settle
from deniable.core.kernels import worth_compiling
from deniable.core.mechanism import ReportField
from deniable.core.randomness import Randomness, Words, uniform_below
from deniable.core.state import counts_between, counts_sum_to
from deniable.errors import DamagedStateError, InvalidParameterError, InvalidReportError
from deniable.oracles.sketch.families._gf2 import smallest_irreducible
from deniable.oracles.sketch.families._spread_kernels import (
    choose_rows,
    count_reports,
    divide_exactly,
    first_inside,
    gather_cells,
    hash_rows,
    look_up_cells,
    scatter_rows,
)
from deniable.oracles.sketch.families._walsh import BLOCK, walsh_hadamard, walsh_rows
from deniable.oracles.sketch.families.family import (
    MAX_STATE_SIZE,
    Counts,
    HashFamily,
    Parameters,
    check_counts,
    count_matches,
)
from deniable.oracles.sketch.families.registry import FamilyEntry


class Level(NamedTuple):
    """One level of the family: it sees b_i bits of x, and its hash functions are described by w in GF(2^degree).

    The field's polynomial is stored without its leading term. `offset` is the level's first report. The last level
    leaves w = 0 out.
    """

    bits: int
    degree: int
    polynomial: int
    offset: int
    last: bool


Levels = tuple[Level, ...]


def spread_levels(bits: int, cell_bits: int) -> Levels:
    """Return the levels for D = 2^bits values and m = 2^cell_bits cells, with the widest level first."""
    levels, offset = [], 0
    while True:
        last = bits < 2 * cell_bits
        degree = bits if last else bits - cell_bits
        levels.append(Level(bits, degree, smallest_irreducible(degree) ^ (1 << degree), offset, last))
        offset += 1 << (degree + cell_bits)
        if last:
            return tuple(levels)
        bits -= cell_bits


def decode_histogram(levels: Levels, cell_bits: int, state: Counts, n: int) -> Counts:
    """Return C(x) for all D values, int32[D] or int64[D]; see `SpreadFamily.decode`."""
    # No partial sum of the transform exceeds the sum of all entries, which is n plus at most m - 1 for every report.
    counts: Counts = np.empty(1 << levels[0].bits, dtype=counter_dtype(n << cell_bits))
    lay_out(levels, cell_bits, state, counts)
    counts[0] += n
    walsh_hadamard(counts)
    rests, smallest, largest = divide_exactly(counts, cell_bits)
    if rests:
        raise DamagedStateError(f"the transformed histogram must be divisible by m={1 << cell_bits}")
    if smallest < 0 or largest > n:
        check_counts(counts, n)
    for x in {int(counts.argmax()), int(counts.argmin()), n * 0x9E3779B1 % len(counts)}:
        again = count_value(levels, cell_bits, state, x)
        if again != counts[x]:
            raise DamagedStateError(
                f"the support count of value {x} must be {again} by direct counting, but the transform gave {counts[x]}"
            )
    return counts


def lay_out(levels: Levels, cell_bits: int, state: Counts, spectrum: NDArray[Any]) -> None:
    """Transform every row over its cells, and write it to its positions for the transform over x, block by block."""
    spectrum[:: 1 << (cell_bits * (len(levels) - 1))] = 0  # the last level adds up here
    step = max(1 << cell_bits, BLOCK)
    for i, level in enumerate(levels):
        rows = rows_of(level, cell_bits, state)
        for start in range(0, len(rows), step):
            block = rows[start : start + step].astype(spectrum.dtype)
            walsh_rows(block, 1 << cell_bits)
            place = (cell_bits, level.degree, level.polynomial, cell_bits * i, level.last)
            scatter_rows(block, start >> cell_bits, *place, spectrum)


def count_value(levels: Levels, cell_bits: int, state: Counts, x: int) -> int:
    """Return C(x) from its definition, the sum over all rows of the counter of x's cell."""
    total = 0
    for level in levels:
        low = 0 if level.last else x & ((1 << cell_bits) - 1)
        x = x if level.last else x >> cell_bits
        cells = cells_of_rows(x, level, cell_bits)
        total += int(gather_cells(rows_of(level, cell_bits, state), cells, low, cell_bits))
    return total


def cells_of_rows(x: int, level: Level, cell_bits: int) -> NDArray[np.uint16]:
    """Return sum_j <alpha^j w, x> 2^j for every w of a level, built by doubling because it is linear in w."""
    cells = np.zeros(1 << level.degree, dtype=np.uint16)
    for bit in range(level.degree):
        w, cell = 1 << bit, 0
        for j in range(cell_bits):
            cell |= ((w & x).bit_count() & 1) << j
            w <<= 1
            w ^= (w >> level.degree) * ((1 << level.degree) | level.polynomial)
        np.bitwise_xor(cells[: 1 << bit], np.uint16(cell), out=cells[1 << bit : 2 << bit])
    return cells


def rows_of(level: Level, cell_bits: int, state: Counts) -> Counts:
    """Return the part of the histogram that belongs to a level."""
    return state[level.offset : level.offset + (1 << (level.degree + cell_bits))]


def counter_dtype(largest: int) -> np.dtype[Any]:
    """Return int32, or int64 if a counter may reach 2^31."""
    return np.dtype(np.int32 if largest < 1 << 31 else np.int64)


MAX_CELLS = 1 << 16
"""Largest m; the state has at least m^2 counters."""

MAX_TABLE = 1 << 14
"""Most cells of every value under every hash function for which cells are looked up, not computed. The table stays in
the cache."""


@dataclass(frozen=True)
class SpreadFamily(HashFamily):
    """The family of Spread hash functions from {0, ..., k-1} to m = 2^l cells.

    Parameters
    ----------
    k : int
        Domain size, 2 <= k <= 2^32.
    m : int
        Number of cells, a power of two, 2 <= m <= 2^16.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds or m is not a power of two.

    Examples
    --------
    >>> from deniable.oracles.sketch.families.spread import SpreadFamily
    >>> import numpy as np
    >>> family = SpreadFamily(k=200, m=4)
    >>> family.domain, family.collision_probability, family.state_size
    (256, Fraction(21, 85), 352)
    >>> family.hash(np.array([0, 1, 2, 3, 4]), np.array([1, 1, 1, 1, 1]))
    array([0, 1, 2, 3, 1], dtype=uint8)
    """

    k: int
    m: int

    def __post_init__(self) -> None:
        settle(self, k=checked_domain(self.k), m=checked_integer("m", self.m, 2, MAX_CELLS))
        if self.m & (self.m - 1):
            raise InvalidParameterError(f"m must be a power of two for the hash family “spread”, got m={self.m}")

    # ---------------------------------------------------------------- distribution

    @cached_property
    def cell_bits(self) -> int:
        """Number l in m = 2^l."""
        return self.m.bit_length() - 1

    @cached_property
    def bits(self) -> int:
        """Number b in D = 2^b, which is enough for k values and m cells, and 2l if slightly less would be enough.

        With l + 1 < b < 2l there would be one level of D m counters instead of two levels of m^2 counters.
        """
        bits, cell_bits = max((self.k - 1).bit_length(), self.cell_bits), self.cell_bits
        return 2 * cell_bits if cell_bits + 1 < bits < 2 * cell_bits else bits

    @property
    def domain(self) -> int:
        """Number D = 2^b of values that the transform decodes."""
        return 1 << self.bits

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Levels of the family, with the widest level first."""
        return spread_levels(self.bits, self.cell_bits)

    @property
    def collision_probability(self) -> Fraction:
        """Exact P(h(x) = h(x')) = (D/m - 1)/(D - 1) for every x != x'."""
        return Fraction(self.domain // self.m - 1, self.domain - 1)

    @property
    def member_count(self) -> int:
        """Number of hash functions, which is the number of rows of the histogram except the row that is never used."""
        return self.state_size // self.m - 1

    def members(self) -> tuple[Parameters, NDArray[Any]]:
        first = self._last_row
        above, below = np.arange(first), np.arange(first + 1, first + (1 << self.levels[-1].degree))
        wide, narrow = Fraction(self.m - 1, self.domain - 1), Fraction(1, self.domain - 1)
        probabilities = np.array([wide] * len(above) + [narrow] * len(below), dtype=object)
        return (np.concatenate([above, below]).astype(self.report_dtype),), probabilities

    # ---------------------------------------------------------------- contributor

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """Dtype of a report: uint32, or uint64 if there are more than 2^32 different reports."""
        return np.dtype(np.uint32 if self.state_size <= 1 << 32 else np.uint64)

    @cached_property
    def _last_row(self) -> int:
        return self.levels[-1].offset // self.m

    def draw_parameters(self, rng: Randomness, rows: int) -> tuple[NDArray[Any]]:
        """Return (row,), one number for the level and w of every contributor, drawn exactly by rejection.

        One uniform u below D - 1 decides. Its first 2^g - 1 values choose w = u + 1 at the last level. All other values
        choose a row of the wider levels, with m - 1 values for each row.
        """
        narrow = (1 << self.levels[-1].degree) - 1
        points = uniform_below(rng, self.domain - 1, rows, halves=True)
        row = np.empty(rows, dtype=self.report_dtype)
        choose_rows(points, narrow, self._last_row + 1, self.m - 1, row)
        return (row,)

    @cached_property
    def _tables(self) -> tuple[Words, Words, Words]:
        """Arrays of the first row, the degree and the polynomial of every level."""
        columns = zip(*((one.offset // self.m, one.degree, one.polynomial) for one in self.levels), strict=True)
        starts, degrees, polynomials = (np.array(column, dtype=np.uint64) for column in columns)
        return starts, degrees, polynomials

    def hash(self, codes: Codes, *parameters: Codes) -> Codes:
        (row,) = parameters
        cells = np.empty(len(codes), dtype=code_dtype(self.m))
        # A device makes one report, so it needs no table of all cells.
        if worth_compiling(len(codes)) and self.state_size // self.m * self.domain <= MAX_TABLE:
            look_up_cells(codes, row, self._cells, cells)
        else:
            hash_rows(codes, row, *self._tables, self.cell_bits, cells)
        return cells

    @cached_property
    def _cells(self) -> NDArray[Any]:
        """Table [rows, domain] of the cell of every value under every hash function."""
        rows, values = np.indices((self.state_size // self.m, self.domain)).reshape(2, -1)
        cells = np.empty(len(rows), dtype=code_dtype(self.m))
        hash_rows.compiled(values, rows, *self._tables, self.cell_bits, cells)
        return cells.reshape(-1, self.domain)

    def join(self, parameters: Parameters, cells: Codes) -> NDArray[Any]:
        """Return the reports row x m + cell."""
        rows, values = (one.astype(self.report_dtype, copy=False) for one in (parameters[0], cells))
        reports: NDArray[Any] = rows << self.report_dtype.type(self.cell_bits) | values
        return reports

    # ---------------------------------------------------------------- collector

    report_type = staticmethod(np.asarray)

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        return (ReportField("value", self.report_dtype.name),)

    @property
    def report_bits(self) -> float:
        """Number of bits per report, log2 of the number of different reports; between b and b + 1 if b >= 2l."""
        return math.log2(self.state_size)

    @cached_property
    def uncounted(self) -> slice:
        """Range of the reports of the hash function that is never drawn."""
        hole = self.levels[-1].offset
        return slice(hole, hole + self.m)

    def checked(self, reports: Any) -> NDArray[Any]:
        codes = checked_report_codes(reports, self.state_size)
        start = self.levels[-1].offset
        row = first_inside(codes, start, self.m)
        if row >= 0:
            raise InvalidReportError(
                f"report must not be in {start}..{start + self.m - 1}, got report={int(codes[row])} in row "
                f"{row + 1}: no hash function has these codes"
            )
        return codes

    def valid_rows(self, reports: Any) -> NDArray[np.bool_]:
        array = np.asarray(reports)
        checked_report_codes(array[:0], self.state_size)
        hole = self.levels[-1].offset
        valid: NDArray[np.bool_] = (array >= 0) & (array < self.state_size)
        return valid & ~((array >= hole) & (array < hole + self.m))

    def split(self, reports: NDArray[Any]) -> tuple[Parameters, Codes]:
        shift = reports.dtype.type(self.cell_bits)
        return (reports >> shift,), (reports & reports.dtype.type(self.m - 1)).astype(code_dtype(self.m))

    @cached_property
    def state_size(self) -> int:
        """Number of counters of the histogram, one for each possible report; about D m/(m-1) if b >= 2l."""
        last = self.levels[-1]
        return last.offset + (self.m << last.degree)

    def check_state(self, counts: Counts, n: int) -> None:
        counts_sum_to(counts, n)
        counts_between(counts[self.levels[-1].offset :][: self.m], 0, 0, self.levels[-1].offset)

    def _tally(self, reports: NDArray[Any]) -> Counts:
        counters: Counts = np.zeros(self.state_size, dtype=counter_dtype(len(reports)))
        count_reports(reports, counters)
        return counters

    def count_queries(self, reports: NDArray[Any], queries: Codes) -> Counts:
        """Return the support counts of the queries, computed from the histogram if that is less work."""
        if self.state_size <= min(MAX_STATE_SIZE, len(reports) * len(queries)):
            return self.decode_queries(self.tally(reports), len(reports), queries)
        return count_matches(self, reports, queries)

    # ---------------------------------------------------------------- analyst

    def decode(self, state: Counts, n: int) -> Counts:
        """Return the support counts of all k values, computed by one Walsh-Hadamard transform of size D.

        Every row of the histogram is transformed over its cells. Entry (w, c) with c != 0 then belongs to the
        functional sum_j c_j <alpha^j w, .>. The transform over those positions is m C(x) if position 0 holds n.

        Every call checks that m divides every m C(x) and that 0 <= C(x) <= n for all D values. It counts the largest,
        the smallest and one more C(x) again from the histogram.

        Raises
        ------
        DamagedStateError
            If a check fails.
        """
        return decode_histogram(self.levels, self.cell_bits, state, n)[: self.k]

    def decode_queries(self, state: Counts, n: int, queries: Codes) -> Counts:
        """Return the support counts of the queries, counted directly if they are few."""
        values, places = np.unique(queries, return_inverse=True)
        # Counting one value reads one counter in m. Decoding costs about 5 such steps per counter.
        if len(values) > 4 * self.m:
            return self.decode(state, n)[queries]
        counts = np.array([count_value(self.levels, self.cell_bits, state, int(x)) for x in values], dtype=np.int64)
        if len(counts):
            check_counts(counts, n)
        return counts[places]


def powers_of_two_around(x: int) -> tuple[int, int]:
    """Return the largest admissible m <= x and the smallest m > x, or 2^16 twice if x is beyond it.

    Examples
    --------
    >>> powers_of_two_around(5), powers_of_two_around(8), powers_of_two_around(10**6)
    ((4, 8), (8, 16), (65536, 65536))
    """
    below = min(1 << (x.bit_length() - 1), MAX_CELLS)
    return below, min(2 * below, MAX_CELLS)


def powers_of_two() -> tuple[int, ...]:
    """Return every admissible m in increasing order."""
    return tuple(1 << bits for bits in range(1, MAX_CELLS.bit_length()))


ENTRY = FamilyEntry(
    SpreadFamily,
    powers_of_two_around,
    cells=powers_of_two,
    remark="one integer per report, and one transform decodes all values",
)
"""Entry that builds a count-mean sketch on this family."""
