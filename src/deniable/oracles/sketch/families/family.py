"""What a hash family offers to the count-mean sketch: its law, its three actors' parts, and its state.

A family is a frozen dataclass built from the domain size k and the number of cells m. It draws public hash functions
h: {0, ..., k-1} -> {0, ..., m-1}; the sketch puts the cell h(x) through GRR over m values, which no family knows about.
What makes it a family is that any two different values collide with the *same* probability.

The hash function of a contributor is described by its *parameters*: a tuple of arrays with leading axis n, one tuple
entry per parameter (two for the prime family, one for Spread). A report is parameters and a noisy cell, in whatever
layout the family chooses: a NamedTuple with the cell last, or one integer.

Families satisfy `HashFamily` by having the members; there is no base class. `registry.FAMILIES` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.mechanism import ReportField
from deniable.core.randomness import Randomness
from deniable.core.state import Counts as Counts
from deniable.errors import DamagedStateError

Parameters = tuple[NDArray[Any], ...]
"""Public hash functions of n contributors: arrays of shape (n,)."""


class HashFamily(Protocol):
    """A family of public hash functions from {0, ..., k-1} to m cells with one collision probability.

    Methods marked *checked* may assume that their reports passed `checked`, and codes their range: the sketch does it.
    """

    # ------------------------------------------------------------ the family and its law

    @property
    def k(self) -> int:
        """Domain size."""

    @property
    def m(self) -> int:
        """Number of cells."""

    @property
    def collision_probability(self) -> Fraction:
        """P(h(x) = h(x')) for every x != x', exact, of the hash functions as they are drawn."""

    @property
    def member_count(self) -> int:
        """Number of hash functions that can be drawn; there are member_count x m different reports."""

    def members(self) -> tuple[Parameters, NDArray[Any]]:
        """Return every hash function once, and its probability as an object array of Fractions that sum to one.

        For small families only: the sketch checks `member_count` before it asks.
        """

    # ------------------------------------------------------------ contributor

    def draw_parameters(self, rng: Randomness, rows: int) -> Parameters:
        """Contributor: draw `rows` hash functions, exactly by their law (rejection, never a float)."""

    def hash(self, codes: Codes, *parameters: Any) -> Codes:
        """Return the cell of each code under its own hash function: all arrays have shape (n,), cells are 0..m-1."""

    def join(self, parameters: Parameters, cells: Codes) -> Any:
        """Return the reports made of these hash functions and (noisy) cells, in the family's layout and dtypes."""

    # ------------------------------------------------------------ collector

    @property
    def uncounted(self) -> slice | None:
        """Where the state counts reports, each one code: the codes that no report is; None where it is another."""

    @property
    def report_type(self) -> Callable[..., Any]:
        """The reports' NamedTuple, or `numpy.asarray` if a report is one integer."""

    @property
    def report_fields(self) -> tuple[ReportField, ...]:
        """How a batch of reports is stored: names and dtypes as `join` returns them."""

    @property
    def report_bits(self) -> float:
        """Bits per report: log2 of the number of different reports, summed over the fields as they are sent."""

    def checked(self, reports: Any) -> Any:
        """Collector: return the reports as contiguous arrays that the family can have produced.

        Raises
        ------
        InvalidReportError
            Naming the field, its bound, the value and the first row (1-based), or the wrong type, dtype or length.
        """

    def valid_rows(self, reports: Any) -> NDArray[np.bool_]:
        """Collector: return which rows `checked` would accept, bool[n].

        Raises
        ------
        InvalidReportError
            If the batch itself is malformed (type, dtype, shape, lengths): no single contributor can do that.
        """

    def split(self, reports: Any) -> tuple[Parameters, Codes]:
        """Return (parameters, cells) of checked reports: the inverse of `join`."""

    @property
    def state_size(self) -> int:
        """Length of the integer vector that `tally` returns; it does not depend on n."""

    def check_state(self, counts: Counts, n: int) -> None:
        """Raise DamagedStateError unless n reports can have this state, as far as one pass over it tells."""

    def tally(self, reports: Any) -> Counts:
        """Collector: return the state of checked reports, int[state_size].

        Mergeable: the tally of two batches is the sum of their tallies.
        """

    def count_queries(self, reports: Any, queries: Codes) -> Counts:
        """Collector: return how many checked reports have cell = h(x), for every x of the queries, without a state.

        Families without something faster use `count_matches`.
        """

    # ------------------------------------------------------------ analyst

    def decode(self, state: Counts, n: int) -> Counts:
        """Analyst: return the support counts C(x) = #{i: z_i = h_i(x)} of all k values, int[k].

        Raises
        ------
        DamagedStateError
            If the state contradicts itself: a division leaves a rest, a count lies outside 0..n, a spot check fails.
        """

    def decode_queries(self, state: Counts, n: int, queries: Codes) -> Counts:
        """Analyst: return the support counts of the queries, int[q], in any order and with repeats."""


def check_counts(counts: Counts, n: int) -> None:
    """Raise DamagedStateError unless 0 <= C(x) <= n for every decoded support count."""
    for value, x in ((counts.min(), counts.argmin), (counts.max(), counts.argmax)):
        if not 0 <= int(value) <= n:
            raise DamagedStateError(f"support counts must be in 0..{n}, got C({int(x())})={int(value)}")


def count_matches(family: HashFamily, reports: Any, queries: Codes) -> NDArray[np.int64]:
    """Return how many checked reports have cell = h(x) for every x of the queries, by evaluating every hash.

    The definition itself, in O(n q) time: what the fast decoders are tested against.
    """
    parameters, cells = family.split(reports)
    return np.array(
        [
            int(np.count_nonzero(family.hash(np.full(len(cells), x, dtype=queries.dtype), *parameters) == cells))
            for x in queries
        ],
        dtype=np.int64,
    )
