"""Layout of a record's reports, with one frequency oracle per attribute, and the counts of each attribute.

Codes are stored in columns. Packed bits are one row of bytes, in which every attribute starts at a byte boundary. The
thresholds of OUE do not depend on the domain, so all attributes of all records are randomised as one run of bits.
Padding bits are randomised too, and then cleared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import accumulate, pairwise
from math import prod
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from deniable.core.checks import Codes, check_counters, checked_report_records, code_dtype
from deniable.core.kernels import kernel
from deniable.core.mechanism import ReportField
from deniable.core.randomness import Randomness
from deniable.core.thresholds import EPSILON_MIN, BudgetShare, EpsilonLike, spent
from deniable.errors import InvalidParameterError, InvalidReportError, unknown_name
from deniable.oracles.bits import Bits, check_padding, count_bits, packed_width
from deniable.oracles.grr import GRR
from deniable.oracles.unary import OUE
from deniable.oracles.unary_bulk import noisy_bits

Oracle: TypeAlias = GRR | OUE

BLOCK_ROWS = 1 << 14
"""Records that are randomised at a time: their columns stay in a core's second-level cache."""

BLOCK_BYTES = 1 << 20
"""Packed bits that are set and randomised at a time."""


def checked_share(epsilon: EpsilonLike, d: int) -> BudgetShare:
    """Return the exact budget epsilon/d, or raise InvalidParameterError if it is below the smallest budget."""
    share = BudgetShare(spent(epsilon) / d)
    if float(share) < float(EPSILON_MIN):
        raise InvalidParameterError(f"epsilon must be >= 1e-06 per attribute, got epsilon={epsilon} for {d} attributes")
    return share


def grr_oracles(sizes: Sequence[int], epsilon: float | Fraction) -> tuple[GRR, ...]:
    """Return one GRR oracle per attribute, each with this budget."""
    return tuple(GRR(k=size, epsilon=epsilon) for size in sizes)


def stretches(lengths: Sequence[int]) -> tuple[slice, ...]:
    """Return consecutive slices with these lengths."""
    return tuple(slice(start, stop) for start, stop in pairwise(accumulate(lengths, initial=0)))


def row_blocks(rows: int, step: int) -> Iterator[slice]:
    """Yield slices of `step` rows each, the last one perhaps shorter, that together cover `rows` rows."""
    return (slice(start, start + step) for start in range(0, rows, step))


def starts_of(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return int64[len(lengths)]: the starts of consecutive stretches of these lengths."""
    return np.array([place.start for place in stretches(lengths)], dtype=np.int64)


def product_rows(parts: Sequence[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
    """Return every combination of one row from each part, joined, with the last part varying fastest.

    Parts are arrays of shape (rows,) or (rows, columns).
    """
    tables = [part.reshape(len(part), -1) for part in parts]
    index = np.indices([len(table) for table in tables]).reshape(len(tables), -1)
    return np.concatenate([table[i] for table, i in zip(tables, index, strict=True)], axis=1).astype(dtype)


def independent(factors: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the Kronecker product of independent channels, with rows and columns ordered as in `product_rows`."""
    return reduce(np.kron, factors)


@dataclass(frozen=True)
class Layout(ABC):
    """Layout with the reports of all attributes in one row.

    Parameters
    ----------
    oracles : tuple of oracles
        Oracles of the attributes, all of one kind.
    """

    oracles: tuple[Any, ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Domain size of each attribute."""
        return tuple(oracle.k for oracle in self.oracles)

    @property
    def bits(self) -> float:
        """Number of bits of one row, summed over the attributes."""
        return float(sum(oracle.report_bits for oracle in self.oracles))

    @property
    def combinations(self) -> NDArray[Any]:
        """Array of every possible row once, with the last attribute varying fastest."""
        return product_rows([oracle.outputs() for oracle in self.oracles], np.dtype(self.field.dtype))

    def empty(self, n: int) -> NDArray[Any]:
        """Return n uninitialised rows."""
        return np.empty((n, self.field.width or 1), dtype=self.field.dtype)

    @property
    @abstractmethod
    def field(self) -> ReportField:
        """Storage of a batch of reports."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number of different rows (for packed bits, at most 2^64 per attribute are distinguished)."""

    @abstractmethod
    def randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        """Return rows with every attribute of the checked codes[n, d] randomised by its own oracle."""

    @abstractmethod
    def tally(self, reports: ArrayLike) -> tuple[NDArray[np.int64], int]:
        """Return the support counts of all attributes, one after the other, and the number of rows.

        Raises
        ------
        InvalidReportError
            If a row cannot have come from these oracles. The message names the row and the attribute.
        """

    @abstractmethod
    def part(self, reports: NDArray[Any], attribute: int) -> NDArray[Any]:
        """Return the part of the rows that belongs to one attribute, as reports of its oracle."""


@final
class CodeLayout(Layout):
    """Layout with one column of codes per attribute, in the dtype of the largest domain."""

    oracles: tuple[GRR, ...]

    @cached_property
    def field(self) -> ReportField:
        return ReportField("values", code_dtype(max(self.sizes)).name, len(self.sizes))

    @cached_property
    def _alike(self) -> bool:
        return all(oracle == self.oracles[0] for oracle in self.oracles)

    @property
    def outputs(self) -> int:
        return prod(self.sizes)

    def randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        first = self.oracles[0]
        if self._alike:
            # All columns are alike, so they are randomised as one long column.
            return first._randomize(codes.reshape(-1), rng).reshape(codes.shape)
        reports = self.empty(len(codes))
        for rows in row_blocks(len(codes), BLOCK_ROWS):
            for j, oracle in enumerate(self.oracles):
                reports[rows, j] = oracle._randomize(codes[rows, j], rng)
        return reports

    def tally(self, reports: ArrayLike) -> tuple[NDArray[np.int64], int]:
        codes = checked_report_records(reports, self.sizes)
        check_counters(sum(self.sizes))
        counts = np.zeros(sum(self.sizes), dtype=np.int64)
        _tally_codes(codes, starts_of(self.sizes), counts)
        return counts, len(codes)

    def part(self, reports: NDArray[Any], attribute: int) -> NDArray[Any]:
        return reports[:, attribute]


@final
class BitLayout(Layout):
    """Layout with one row of packed bits, in which every attribute starts at a byte boundary."""

    oracles: tuple[OUE, ...]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Array int64[d + 1] of the first byte of each attribute, followed by the width of a row."""
        return np.cumsum([0, *map(packed_width, self.sizes)], dtype=np.int64)

    @cached_property
    def _values(self) -> NDArray[np.int64]:
        """Positions of all values of all attributes in a row's bits; all other positions are padding."""
        return np.concatenate(
            [8 * start + np.arange(size) for start, size in zip(self.starts, self.sizes, strict=False)]
        )

    @cached_property
    def field(self) -> ReportField:
        return ReportField("bits", "uint8", int(self.starts[-1]))

    @property
    def outputs(self) -> int:
        return prod(1 << min(size, 64) for size in self.sizes)

    @property
    def block_rows(self) -> int:
        """Number of records that are randomised at a time."""
        return max(1, BLOCK_BYTES // int(self.starts[-1]))

    def randomize(self, codes: Codes, rng: Randomness) -> NDArray[Any]:
        reports = self.empty(len(codes))
        for rows in row_blocks(len(codes), self.block_rows):
            bits = np.zeros(reports[rows].shape, dtype=np.uint8)
            set_all(codes[rows], self.starts, bits)
            reports[rows] = self.randomize_bits(bits, rng)
        return reports

    def randomize_bits(self, bits: Bits, rng: Randomness) -> Bits:
        """Return randomised rows; a set bit stays set with probability P/2^64, and a clear bit is set with Q/2^64."""
        width = bits.shape[1]
        # All attributes have the same thresholds.
        result = noisy_bits(bits, 8 * width, self.oracles[0].thresholds, rng)
        if any(size % 8 for size in self.sizes):
            used = np.zeros(8 * width, dtype=np.uint8)
            used[self._values] = 1
            # The mask is repeated to one long row, because numpy would loop over short rows.
            result &= np.tile(np.packbits(used, bitorder="little"), (len(bits), 1))
        return result

    def tally(self, reports: ArrayLike) -> tuple[NDArray[np.int64], int]:
        bits = checked_rows_of_bytes(reports, int(self.starts[-1]), "reports must be packed bits")
        counts = count_bits(np.ascontiguousarray(bits))
        if counts.sum() != counts[self._values].sum():
            for j, size in enumerate(self.sizes):
                try:
                    check_padding(self.part(bits, j), size)
                except InvalidReportError as error:
                    raise InvalidReportError(f"{error}, attribute {j}") from None
        return counts[self._values], len(bits)

    def part(self, reports: NDArray[Any], attribute: int) -> NDArray[Any]:
        return reports[:, self.starts[attribute] : self.starts[attribute + 1]]


LAYOUTS: dict[str, tuple[type[Oracle], type[CodeLayout] | type[BitLayout]]] = {
    "GRR": (GRR, CodeLayout),
    "OUE": (OUE, BitLayout),
}
"""The oracles that report records, and the layouts of their reports side by side."""


def checked_oracle(name: str) -> str:
    """Return the name of an oracle, or raise InvalidParameterError with a message that names the choices."""
    if not isinstance(name, str) or name not in LAYOUTS:
        raise unknown_name("oracle", name, LAYOUTS)
    return name


def make_layout(name: str, sizes: Sequence[int], epsilon: float | Fraction) -> CodeLayout | BitLayout:
    """Return the layout for one oracle per attribute, each with this budget."""
    oracle, layout = LAYOUTS[checked_oracle(name)]
    return layout(tuple(oracle(k=size, epsilon=epsilon) for size in sizes))


def checked_rows_of_bytes(reports: ArrayLike, width: int, rule: str) -> NDArray[np.uint8]:
    """Return rows uint8[n, width], or raise InvalidReportError with the rule that was broken."""
    rows = np.asarray(reports)
    if rows.size == 0 and not isinstance(reports, np.ndarray):
        rows = np.empty((0, width), dtype=np.uint8)
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != width:
        raise InvalidReportError(f"{rule}, uint8 of shape (n, {width}), got dtype={rows.dtype}, shape={rows.shape}")
    return rows


@kernel
def set_all(codes: Codes, starts: NDArray[np.int64], bits: Bits) -> None:
    """Set the bit of every attribute of codes[n, d] in zeroed bits[n, width]."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            code = np.int64(codes[i, j])
            bits[i, starts[j] + (code >> 3)] = 1 << (code & 7)


@kernel
def set_sampled(codes: Codes, attributes: Codes, starts: NDArray[np.int64], bits: Bits) -> None:
    """Set the bit of attribute attributes[i] of each row of codes[n, d] in zeroed bits[n, width]."""
    for i in range(codes.shape[0]):
        j = np.int64(attributes[i])
        code = np.int64(codes[i, j])
        bits[i, starts[j] + (code >> 3)] = 1 << (code & 7)


@kernel
def _tally_codes(codes: Codes, starts: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    # This adds codes[n, d], which are already checked, to counts. Column j counts from starts[j] on.
    for i in range(codes.shape[0]):
        for j in range(starts.shape[0]):
            counts[starts[j] + np.int64(codes[i, j])] += 1
