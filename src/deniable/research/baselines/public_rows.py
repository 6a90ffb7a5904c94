"""Base of mechanisms whose report is one integer, made of a public row and a noisy cell: report = row * m + cell.

The row is drawn without looking at the answer. It says which function of a fixed list maps the answer to one of m
cells. The cell goes through GRR over m values. Hadamard encoding, the count-mean sketch over it, and the recursive
Hadamard response differ only in that list.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.core.checks import Codes, checked_report_codes, code_dtype
from deniable.core.kernels import kernel
from deniable.core.mechanism import ReportField
from deniable.core.randomness import BLOCK_WORDS, Randomness, SimulationRandomness, uniform_below
from deniable.core.state import Counts
from deniable.oracles.grr import GRR
from deniable.oracles.oracle import FrequencyOracle
from deniable.research.states import signs_of


def parity(words: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the parity of each word's bits.

    The sign (-1)^<a, b> of a Hadamard matrix is that of the parity of a & b.

    Examples
    --------
    >>> parity(np.array([0b0, 0b1, 0b11, 0b111]))
    array([0, 1, 0, 1], dtype=uint8)
    """
    bits: NDArray[np.uint8] = np.bitwise_count(words) & np.uint8(1)
    return bits


@dataclass(frozen=True)
class PublicRows(FrequencyOracle[Codes]):
    """Oracle whose report is row * m + cell, uint8, uint16 or uint32 [n].

    The row is uniform, by rejection. The cell of the true code under the row's function goes through GRR.
    """

    k: int
    epsilon: float | Fraction

    report_type = staticmethod(np.asarray)

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of functions."""

    @property
    @abstractmethod
    def response(self) -> GRR:
        """Randomised response over m values, through which cells go."""

    @abstractmethod
    def _cell(self, codes: Codes, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the cell in 0..m-1 of each of codes[n] under the function of its row, unsigned integers [n]."""

    def _randomize(self, codes: Codes, rng: Randomness) -> Codes:
        m = self.response.k
        reports = np.empty(len(codes), dtype=code_dtype(self.rows * m))
        for start in range(0, len(codes), BLOCK_WORDS):
            part = codes[start : start + BLOCK_WORDS]
            row = uniform_below(rng, self.rows, len(part))
            reports[start : start + len(part)] = row * m + self.response.randomize(self._cell(part, row), rng)
        return reports

    def supports(self, reports: Any, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the values that have the reported cell under the reported row's function, bool[n, len(values)]."""
        m = self.response.k
        row, cell = np.divmod(checked_report_codes(reports, self.rows * m).astype(np.int64), m)
        cells = self._cell(np.tile(values, len(row)), np.repeat(row, len(values))).reshape(len(row), len(values))
        matrix: NDArray[np.bool_] = cells == cell[:, None]
        return matrix

    def implemented_ratio(self) -> Fraction:
        """Largest likelihood ratio p/q of the implemented thresholds, exact, which is the ratio of the response.

        A list of functions that all map every value to one cell tells nothing, and its ratio is 1.
        """
        return self.response.implemented_ratio()

    def outputs(self) -> Codes:
        m = self.response.k
        self._check_channel(self.k, self.rows * m)
        return np.arange(self.rows * m, dtype=code_dtype(self.rows * m))

    def _channel(self) -> NDArray[Any]:
        m = self.response.k
        self._check_channel(self.k, self.rows * m)
        p, q = (probability / self.rows for probability in self.response.support_probabilities)
        matrix = np.full((self.k, self.rows * m), q, dtype=object)
        row = np.arange(self.rows)
        for v in range(self.k):
            matrix[v, row * m + self._cell(np.full(self.rows, v), row)] = p
        return matrix

    def _simulate(self, counts: NDArray[np.int64], rng: SimulationRandomness) -> NDArray[np.int64]:
        # Different rows share the contributors, so no product distribution replaces the reports.
        return self._simulate_by_reports(counts, rng)

    @cached_property
    def report_fields(self) -> tuple[ReportField, ...]:
        return (ReportField("report", code_dtype(self.rows * self.response.k).name),)


class SignedRows(PublicRows):
    """Oracle whose public rows are those of one or several Hadamard matrices.

    There are two cells, and the state is a sum of signs per row.
    """

    @cached_property
    def response(self) -> GRR:
        """Randomised response through which bits go: GRR over 2 values."""
        return GRR(2, self.epsilon)

    def _tally(self, reports: ArrayLike) -> tuple[NDArray[np.int64], int]:
        checked = checked_report_codes(reports, 2 * self.rows)
        sums = np.zeros(self.rows, dtype=np.int64)
        add_signs(checked, sums)
        return sums, len(checked)

    @property
    def state_size(self) -> int:
        return self.rows

    def check_state(self, counts: Counts, n: int) -> None:
        signs_of(counts, n)


def histogram_of(reports: ArrayLike, size: int) -> tuple[NDArray[np.int64], int]:
    """Return the number of times that each report in 0..size-1 came, int64[size], and the number of reports."""
    checked = checked_report_codes(reports, size)
    histogram = np.zeros(size, dtype=np.int64)
    add_reports(checked, histogram)
    return histogram, len(checked)


@kernel
def add_reports(reports: Codes, histogram: NDArray[np.int64]) -> None:
    """Add one to histogram[report] for every report, after the reports were checked."""
    for i in range(reports.shape[0]):
        histogram[reports[i]] += 1


@kernel
def add_signs(reports: Codes, sums: NDArray[np.int64]) -> None:
    """Add the sign of a report's lowest bit (0: +1, 1: -1) to sums[report // 2], after the reports were checked."""
    for i in range(reports.shape[0]):
        report = np.int64(reports[i])
        sums[report >> 1] += 1 - 2 * (report & 1)
