"""Base of hash families for the count-mean sketch: distribution, state, and the parts of the three actors.

A family is a frozen dataclass built from the domain size k and the number of cells m. It draws public hash functions h:
{0, ..., k-1} -> {0, ..., m-1}. The sketch puts the cell h(x) through GRR over m values, which no family knows about. In
a family, any two different values collide with the *same* probability.

*Parameters* describe the hash function of a contributor. They are a tuple of arrays with leading axis n, one entry per
parameter (two for the prime family, one for Spread). A report consists of parameters and a noisy cell. The family
chooses its layout: a NamedTuple with the cell last (`ColumnFamily`), or one integer. `registry.FAMILIES` lists all
families.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes, code_dtype
from deniable.core.mechanism import ReportField
from deniable.core.randomness import Randomness
from deniable.core.state import Counts as Counts, counts_between
from deniable.errors import DamagedStateError, TooLargeError
from deniable.oracles.sketch.families._columns import checked_columns, valid_column_rows

Parameters = tuple[NDArray[Any], ...]
"""Public hash functions of n contributors: arrays of shape (n,)."""

MAX_STATE_SIZE = 1 << 28
"""Largest state that the collector sets up (1 GiB)."""


class HashFamily(ABC):
    """A family of public hash functions from {0, ..., k-1} to m cells with one collision probability.

    Methods may assume that reports have passed `checked` and that codes are in range, because the sketch checks both.

    Attributes
    ----------
    k : int
        Domain size.
    m : int
        Number of cells.
    """

    k: int
    m: int

    # ------------------------------------------------------------ distribution

    @property
    @abstractmethod
    def collision_probability(self) -> Fraction:
        """Exact P(h(x) = h(x')) for every x != x', for hash functions with the distribution of `draw_parameters`."""

    @property
    @abstractmethod
    def member_count(self) -> int:
        """Number of hash functions that can be drawn; there are member_count x m different reports."""

    @abstractmethod
    def members(self) -> tuple[Parameters, NDArray[Any]]:
        """Return every hash function once, and their probabilities as an object array of Fractions that sum to one.

        This is for small families only. The sketch checks `member_count` before it calls this method.
        """

    # ------------------------------------------------------------ contributor

    @abstractmethod
    def draw_parameters(self, rng: Randomness, rows: int) -> Parameters:
        """Return `rows` hash functions of contributors, drawn exactly by their distribution (rejection, no float)."""

    @abstractmethod
    def hash(self, codes: Codes, *parameters: Codes) -> Codes:
        """Return the cell (0..m-1) of each code under its own hash function; all arrays have shape (n,)."""

    @abstractmethod
    def join(self, parameters: Parameters, cells: Codes) -> Any:
        """Return the reports made of these hash functions and (noisy) cells, in the family's layout and dtypes."""

    # ------------------------------------------------------------ collector

    @property
    @abstractmethod
    def uncounted(self) -> slice | None:
        """Return the codes that no report has if the state counts reports that are one code each, else None."""

    @property
    @abstractmethod
    def report_type(self) -> Callable[..., Any]:
        """Type of reports: a NamedTuple, or `numpy.asarray` if a report is one integer."""

    @property
    @abstractmethod
    def report_fields(self) -> tuple[ReportField, ...]:
        """Names and dtypes of the arrays in a batch of reports, as `join` returns them."""

    @property
    @abstractmethod
    def report_bits(self) -> float:
        """Number of bits per report: log2 of the number of different values, summed over the fields that are sent."""

    @abstractmethod
    def checked(self, reports: Any) -> Any:
        """Return received reports as contiguous arrays, after a check that the family can have produced them.

        Raises
        ------
        InvalidReportError
            If the family cannot have produced a report. The message names the field, its bound, the value and the first
            such row (1-based), or the wrong type, dtype or length.
        """

    @abstractmethod
    def valid_rows(self, reports: Any) -> NDArray[np.bool_]:
        """Return bool[n]: for each row of received reports, whether `checked` would accept it.

        Raises
        ------
        InvalidReportError
            If the batch itself is malformed (type, dtype, shape, lengths), which no single contributor can cause.
        """

    @abstractmethod
    def split(self, reports: Any) -> tuple[Parameters, Codes]:
        """Return (parameters, cells) of checked reports: the inverse of `join`."""

    @property
    @abstractmethod
    def state_size(self) -> int:
        """Length of the integer vector that `tally` returns, which does not depend on n."""

    @abstractmethod
    def check_state(self, counts: Counts, n: int) -> None:
        """Raise DamagedStateError if one pass over the state shows that n reports cannot have it."""

    def tally(self, reports: Any) -> Counts:
        """Return the collector's state of checked reports, int[state_size].

        States can be merged: the state of two batches together is the sum of their states.

        Raises
        ------
        TooLargeError
            If the state would have more than 2^28 counters. `count_queries` counts chosen values of any domain.
        """
        if self.state_size > MAX_STATE_SIZE:
            raise TooLargeError(
                f"a sketch must have at most {MAX_STATE_SIZE:,} counters, got {self.state_size:,} for k={self.k} and "
                f"m={self.m}; give the sketch fewer cells (m), or count only chosen values (QuerySketch)"
            )
        return self._tally(reports)

    @abstractmethod
    def _tally(self, reports: Any) -> Counts: ...

    @abstractmethod
    def count_queries(self, reports: Any, queries: Codes) -> Counts:
        """Return the number of checked reports with cell = h(x) for every x of the queries, without a state."""

    # ------------------------------------------------------------ analyst

    @abstractmethod
    def decode(self, state: Counts, n: int) -> Counts:
        """Return int[k]: the support counts C(x) = #{i: z_i = h_i(x)} of all k values.

        Raises
        ------
        DamagedStateError
            If the state contradicts itself: a division leaves a remainder, a count is outside 0..n, or a spot check
            fails.
        """

    @abstractmethod
    def decode_queries(self, state: Counts, n: int, queries: Codes) -> Counts:
        """Return int[q]: the support counts of the queries, which can be in any order and can repeat."""


class Column(NamedTuple):
    """One column of a batch of reports, which holds integers in low..high."""

    low: int
    high: int
    dtype: np.dtype[Any]


def column(low: int, high: int) -> Column:
    """Return a column with the smallest unsigned dtype that holds its values."""
    return Column(low, high, code_dtype(high + 1) if high < 1 << 32 else np.dtype(np.uint64))


class ColumnFamily(HashFamily):
    """Base of families with equally likely hash functions, whose report is a row of parameters and the cell."""

    uncounted = None

    @property
    @abstractmethod
    def parameter_columns(self) -> tuple[Column, ...]:
        """Return the columns of the parameters of a hash function, in the order of the reports' fields."""

    @property
    def member_count(self) -> int:
        """Number of hash functions, which is the number of combinations of parameters."""
        return math.prod(high - low + 1 for low, high, _ in self.parameter_columns)

    def members(self) -> tuple[Parameters, NDArray[Any]]:
        """Return every combination of parameters, with the last varying fastest, and their equal probabilities."""
        values = (np.arange(low, high + 1).astype(dtype) for low, high, dtype in self.parameter_columns)
        probabilities = np.full(self.member_count, Fraction(1, self.member_count), dtype=object)
        return tuple(axis.ravel() for axis in np.meshgrid(*values, indexing="ij")), probabilities

    def join(self, parameters: Parameters, cells: Codes) -> Any:
        return self.report_type(*parameters, cells)

    def split(self, reports: Any) -> tuple[Parameters, Codes]:
        return tuple(reports[:-1]), reports[-1]

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        return (*self.parameter_columns, column(0, self.m - 1))

    @property
    def _bounds(self) -> list[tuple[int, int]]:
        return [(low, high) for low, high, _ in self._columns]

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        reports: Any = self.report_type
        return tuple(
            ReportField(name, one.dtype.name) for name, one in zip(reports._fields, self._columns, strict=True)
        )

    @property
    def report_bits(self) -> float:
        return sum(math.log2(high - low + 1) for low, high in self._bounds)

    def checked(self, reports: Any) -> Any:
        return checked_columns(reports, self.report_type, self._bounds)

    def valid_rows(self, reports: Any) -> NDArray[np.bool_]:
        return valid_column_rows(reports, self.report_type, self._bounds)

    def decode_queries(self, state: Counts, n: int, queries: Codes) -> Counts:
        return self.decode(state, n)[queries]


class CountedFamily(ColumnFamily):
    """Base of families whose collector compares every report with every value; the state is the k support counts."""

    @property
    def state_size(self) -> int:
        return self.k

    def check_state(self, counts: Counts, n: int) -> None:
        counts_between(counts, 0, n)

    def decode(self, state: Counts, n: int) -> Counts:
        check_counts(state, n)
        return state


class TransformedFamily(ColumnFamily):
    """Base of families whose state is a transform of the support counts."""

    @abstractmethod
    def detour(self, n: int) -> int:
        """Return the approximate number of additions that it takes to compute and decode the state of n reports."""

    @property
    @abstractmethod
    def functionals(self) -> int:
        """Number of functionals that one hash evaluates."""

    def count_queries(self, reports: Any, queries: Codes) -> Counts:
        """Return the support counts of the queries, computed from a state if that is less work."""
        n = len(reports[-1])
        if self.state_size <= MAX_STATE_SIZE and self.detour(n) <= n * len(queries) * self.functionals:
            return self.decode_queries(self.tally(reports), n, queries)
        return count_matches(self, reports, queries)


def check_counts(counts: Counts, n: int) -> None:
    """Raise DamagedStateError unless 0 <= C(x) <= n for every decoded support count."""
    for value, x in ((counts.min(), counts.argmin), (counts.max(), counts.argmax)):
        if not 0 <= int(value) <= n:
            raise DamagedStateError(
                f"the support count of every value must be in 0..{n}, but the count of value {int(x())} is {int(value)}"
            )


def count_matches(family: HashFamily, reports: Any, queries: Codes) -> NDArray[np.int64]:
    """Return the number of checked reports with cell = h(x) for every x of the queries, by evaluating every hash.

    This is the definition itself and takes O(n q) time. The tests compare the fast decoders with it.
    """
    parameters, cells = family.split(reports)
    return np.array(
        [
            int(np.count_nonzero(family.hash(np.full(len(cells), x, dtype=queries.dtype), *parameters) == cells))
            for x in queries
        ],
        dtype=np.int64,
    )
