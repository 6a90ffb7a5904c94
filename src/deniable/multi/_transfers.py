"""Any law of a pivot's targets: one table per pair of attributes, as a mechanism draws from it.

The tables are declared as numbers that sum to one per row, and implemented as integers over 2^64. What `CopyLaw` is for
copies, this is for tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.checks import Codes
from deniable.errors import InvalidParameterError, TooLargeError
from deniable.mechanisms.grr import GRR
from deniable.multi._induced import InducedChannel, induced_channel
from deniable.multi._oracles import stretches
from deniable.multi._pivot import TransferTables, randomize_with_transfers, simulate_transfers, transfer_tables
from deniable.multi._pivot_law import MAX_REPORTS, every_report, pivot_weights, rounded_transfer
from deniable.multi._sampled import simulate_sampling
from deniable.randomness import Randomness, SimulationRandomness
from deniable.thresholds import SCALE, exact

Distribution = tuple[float | Fraction, ...]
Table = tuple[Distribution, ...]

MAX_TABLE_CELLS = 1 << 18
"""Largest number of probabilities, over all tables, that a mechanism publishes."""

_SUM_TOLERANCE = Fraction(1, 10**9)


def check_table_cells(cells: int) -> None:
    """Raise TooLargeError if tables have more than MAX_TABLE_CELLS probabilities in all."""
    if cells > MAX_TABLE_CELLS:
        raise TooLargeError(f"the published tables must have at most {MAX_TABLE_CELLS} probabilities, got {cells}")


def checked_distribution(name: str, given: Any, k: int) -> Distribution:
    """Return k probabilities that sum to 1 within 1e-9: floats, or Fractions where no float is written the same.

    Raises
    ------
    InvalidParameterError
        If the number of entries, an entry, or the sum is wrong.
    """
    if isinstance(given, (str, bytes)) or not hasattr(given, "__len__") or len(given) != k:
        raise InvalidParameterError(f"{name} must have {k} probabilities, got {given!r}")
    if all(type(value) is float and value >= 0 for value in given) and abs(math.fsum(given) - 1) < _SUM_TOLERANCE / 2:
        return tuple(given)  # what learned tables are: no need for fractions to see that it is right
    numbers = [exact(value, f"{name}[{v}]") for v, value in enumerate(given)]
    for v, number in enumerate(numbers):
        if number < 0:
            raise InvalidParameterError(f"{name}[{v}] must be >= 0, got {float(number)}")
    total = sum(numbers, start=Fraction(0))
    if abs(total - 1) > _SUM_TOLERANCE:
        raise InvalidParameterError(f"{name} must sum to 1 within 1e-09, got sum={float(total)}")
    return tuple(float(number) if exact(float(number)) == number else number for number in numbers)


def checked_rows(name: str, given: Any, rows: int) -> Sequence[Any]:
    """Return a sequence of this many entries, or raise InvalidParameterError."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__len__") or len(given) != rows:
        raise InvalidParameterError(f"{name} must have {rows} entries, got {given!r}")
    found: Sequence[Any] = given
    return found


@dataclass(frozen=True, eq=False)
class TransferLaw:
    """How the targets of a pivot are drawn from tables, and with which exact probabilities.

    Parameters
    ----------
    oracles : tuple of GRR
        Of every attribute as the pivot.
    tables : tuple of tuples of Table
        [pivot][target][reported code of the pivot]: the law of the target's code. A pivot's own is empty.
    """

    oracles: tuple[GRR, ...]
    tables: tuple[tuple[Table, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain sizes."""
        return tuple(oracle.k for oracle in self.oracles)

    @cached_property
    def transfers(self) -> list[list[NDArray[Any]]]:
        """The implemented law of every target given every pivot's report: [pivot][target], int[k_s, k_j]/2^64."""
        return [
            [
                rounded_transfer(np.array(table, dtype=object)) if s != j else np.empty((0, 0), dtype=object)
                for j, table in enumerate(row)
            ]
            for s, row in enumerate(self.tables)
        ]

    @cached_property
    def float_transfers(self) -> list[list[NDArray[np.float64]]]:
        """`transfers` as probabilities, float64; the identity for a pivot itself."""
        return [
            [
                (law / SCALE).astype(np.float64) if s != j else np.eye(self.sizes[s])
                for j, law in enumerate(self.transfers[s])
            ]
            for s in range(len(self.oracles))
        ]

    @cached_property
    def weights(self) -> NDArray[Any] | None:
        """Weights of every pivot for every report, for likelihood ratios; None if there are too many reports."""
        if math.prod(self.sizes) > MAX_REPORTS:
            return None
        return pivot_weights(self.transfers, every_report(self.sizes))

    @cached_property
    def induced(self) -> InducedChannel:
        """Expected counts as a linear function of the frequencies, and its solution."""
        return induced_channel(self.oracles, self.float_transfers)

    @cached_property
    def _tables(self) -> TransferTables:
        return transfer_tables(self.transfers)

    def randomize(self, codes: Codes, rng: Randomness, reports: NDArray[Any]) -> None:
        """Overwrite reports[n, d] with a pivot of every record in codes[n, d], and codes drawn given its report."""
        randomize_with_transfers(self.oracles, self._tables, codes, rng, reports)

    def simulate(
        self, records: ArrayLike, counts: ArrayLike, rng: SimulationRandomness
    ) -> tuple[NDArray[np.int64], int]:
        """Draw the counts of all attributes, one after the other, exactly in distribution, and the number of reports.

        Given the pivot's report the targets are independent, so every target's counts are drawn on their own.
        """
        held, n = simulate_sampling(records, counts, self.sizes, rng)
        total = np.zeros(sum(self.sizes), dtype=np.int64)
        places = stretches(self.sizes)
        for s, (oracle, own) in enumerate(zip(self.oracles, held, strict=True)):
            privatised = oracle.simulate_aggregate(own, rng).counts
            total[places[s]] += privatised
            targets = [j for j in range(len(self.sizes)) if j != s]
            laws = [self.float_transfers[s][j] for j in targets]
            for j, drawn in zip(targets, simulate_transfers(privatised, laws, rng), strict=True):
                total[places[j]] += drawn
        return total, n
