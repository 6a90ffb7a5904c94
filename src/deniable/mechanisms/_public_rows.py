"""Reports that are one integer: a public row and a noisy cell, report = row * m + cell.

The row is drawn before the answer is looked at; it says which of a fixed list of functions maps the answer to one of m
cells, and the cell goes through GRR over m values. Hadamard encoding, the count-mean sketch over it and the recursive
Hadamard response differ only in that list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.checks import Codes, checked_codes, checked_counts, code_dtype
from deniable.kernels import kernel
from deniable.mechanism import check_channel_size, float_channel
from deniable.mechanisms.grr import GRR
from deniable.randomness import BLOCK_WORDS, Randomness, uniform_below

CellOf = Callable[[Codes, NDArray[np.int64]], NDArray[Any]]
"""(codes[n], rows[n]) -> unsigned integers [n], the cell in 0..m-1 of each code under the function of its row."""


def parity(words: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the parity of each word's bits: the sign (-1)^<a, b> of a Hadamard matrix is that of a & b.

    Examples
    --------
    >>> parity(np.array([0b0, 0b1, 0b11, 0b111]))
    array([0, 1, 0, 1], dtype=uint8)
    """
    bits: NDArray[np.uint8] = np.bitwise_count(words) & np.uint8(1)
    return bits


def randomize(inputs: ArrayLike, k: int, rows: int, response: GRR, cell_of: CellOf, rng: Randomness) -> Codes:
    """Contributor: return reports row * m + cell of inputs[n], the row uniform by rejection, the cell through GRR."""
    codes = checked_codes(inputs, k)
    reports = np.empty(len(codes), dtype=code_dtype(rows * response.k))
    for start in range(0, len(codes), BLOCK_WORDS):
        part = codes[start : start + BLOCK_WORDS]
        row = uniform_below(rng, rows, len(part))
        reports[start : start + len(part)] = row * response.k + response.randomize(cell_of(part, row), rng)
    return reports


def outputs(k: int, rows: int, m: int, what: str) -> Codes:
    """Return every report once, in order, or raise TooLargeError if the channel has too many cells."""
    check_channel_size(k, rows * m, what)
    return np.arange(rows * m, dtype=code_dtype(rows * m))


def channel(k: int, rows: int, response: GRR, cell_of: CellOf, what: str, *, exact: bool) -> NDArray[Any]:
    """Return P(report | code), shape (k, rows m): p/rows at the true cell of every row, q/rows elsewhere."""
    m = response.k
    check_channel_size(k, rows * m, what)
    p, q = (probability / rows for probability in response.support_probabilities)
    matrix = np.full((k, rows * m), q, dtype=object)
    row = np.arange(rows)
    for v in range(k):
        matrix[v, row * m + cell_of(np.full(rows, v), row)] = p
    return matrix if exact else float_channel(matrix)


def code_blocks(counts: ArrayLike, k: int) -> Iterator[NDArray[np.int64]]:
    """Yield the codes of contributors with these true counts int[k], value by value, a block at a time.

    Simulations whose aggregate has no product law make these reports and sum them, in memory independent of n.
    """
    held = checked_counts(counts, k)
    last = np.cumsum(held)
    n = int(last[-1])
    for start in range(0, n, BLOCK_WORDS):
        stop = min(start + BLOCK_WORDS, n)
        low, high = np.searchsorted(last, [start, stop - 1], side="right")
        part = held[low : high + 1].copy()
        part[-1] -= last[high] - stop
        part[0] -= start - (last[low] - held[low])
        yield np.repeat(np.arange(low, high + 1), part)


@kernel
def add_reports(reports: Codes, histogram: NDArray[np.int64]) -> None:
    """Add one to histogram[report] for every report; reports are already checked."""
    for i in range(reports.shape[0]):
        histogram[reports[i]] += 1


@kernel
def add_signs(reports: Codes, sums: NDArray[np.int64]) -> None:
    """Add the sign of a report's lowest bit (0: +1, 1: -1) to sums[report // 2]; reports are already checked."""
    for i in range(reports.shape[0]):
        report = np.int64(reports[i])
        sums[report >> 1] += 1 - 2 * (report & 1)
