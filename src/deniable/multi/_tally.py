"""Counting the reports of many attributes into one vector, and refusing those that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.checks import Codes, check_counters, checked_report_codes, checked_report_records
from deniable.errors import InvalidReportError
from deniable.kernels import kernel
from deniable.mechanisms._bits import packed_width
from deniable.mechanisms.grr import GRR
from deniable.multi._oracles import Oracle, record_field, stretches
from deniable.multi._packed import count_rows

GROUPED_ROWS = 1 << 16
"""Reports that are grouped by sampled attribute at a time."""


def tally_columns(oracles: Sequence[Oracle], reports: ArrayLike) -> tuple[NDArray[np.int64], int]:
    """Return the support counts of all attributes, one after the other, and the number of reports.

    Raises
    ------
    InvalidReportError
        If a report cannot have come from these oracles, naming its row and attribute.
    """
    sizes = tuple(oracle.k for oracle in oracles)
    if isinstance(oracles[0], GRR):
        codes = checked_report_records(reports, sizes)
        check_counters(sum(sizes))
        counts = np.zeros(sum(sizes), dtype=np.int64)
        _tally_codes(codes, _starts(sizes), counts)
        return counts, len(codes)
    bits = _packed(reports, record_field(oracles).width or 0)
    return count_rows(bits, sizes), len(bits)


def tally_sampled(
    oracles: Sequence[Oracle], reports: tuple[ArrayLike, ArrayLike], width: int | None
) -> tuple[NDArray[np.int64], int]:
    """Return the support counts of all attributes followed by the reports of each, and the number of reports.

    Parameters
    ----------
    oracles : sequence of Oracle
        One per attribute.
    reports : (int[n], int[n] or uint8[n, width])
        The sampled attributes, and their reported codes or packed bits.
    width : int or None
        Bytes of packed bits; None for codes.

    Raises
    ------
    InvalidReportError
        If a report cannot have come from these oracles, naming its row.
    """
    if not isinstance(reports, tuple) or len(reports) != 2:
        raise InvalidReportError(f"reports must be a pair (attribute, value or bits), got {type(reports).__name__}")
    sizes = tuple(oracle.k for oracle in oracles)
    attributes = checked_report_codes(reports[0], len(sizes), "attribute")
    body = checked_report_codes(reports[1], max(sizes)) if width is None else _packed(reports[1], width)
    if len(attributes) != len(body):
        raise InvalidReportError(f"reports must have one value per attribute, got {len(attributes)} and {len(body)}")
    reported = np.bincount(attributes, minlength=len(sizes)).astype(np.int64)
    if width is None:
        check_counters(sum(sizes))
        counts = np.zeros(sum(sizes), dtype=np.int64)
        wrong = _tally_pairs(attributes, body, _starts(sizes), np.array(sizes, dtype=np.int64), counts)
        if wrong >= 0:
            j = int(attributes[wrong])
            raise InvalidReportError(
                f"report must be in 0..{sizes[j] - 1}, got report={int(body[wrong])} in row {wrong + 1}, attribute {j}"
            )
        return np.concatenate([counts, reported]), len(body)
    parts = [np.zeros(size, dtype=np.int64) for size in sizes]
    for start in range(0, len(body), GROUPED_ROWS):
        rows = slice(start, start + GROUPED_ROWS)
        order = np.argsort(attributes[rows], kind="stable")
        stops = np.bincount(attributes[rows], minlength=len(sizes)).cumsum()
        for oracle, group, part in zip(oracles, np.split(body[rows][order], stops[:-1]), parts, strict=True):
            used = packed_width(oracle.k)
            try:
                part += oracle.aggregate(group[:, :used]).counts
            except InvalidReportError:
                raise _padding_error(attributes, body, sizes) from None
            if group[:, used:].any():
                raise _padding_error(attributes, body, sizes)
    return np.concatenate([*parts, reported]), len(body)


def _starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.array([place.start for place in stretches(sizes)], dtype=np.int64)


def _packed(reports: ArrayLike, width: int) -> NDArray[np.uint8]:
    bits = np.asarray(reports)
    if bits.size == 0 and not isinstance(reports, np.ndarray):
        bits = np.empty((0, width), dtype=np.uint8)
    if bits.dtype != np.uint8 or bits.ndim != 2 or bits.shape[1] != width:
        raise InvalidReportError(
            f"reports must be packed bits, uint8 of shape (n, {width}), got dtype={bits.dtype}, shape={bits.shape}"
        )
    return bits


def _padding_error(attributes: Codes, bits: NDArray[Any], sizes: Sequence[int]) -> InvalidReportError:
    """Return the error that names the first row with a bit set beyond its attribute's domain."""
    total = 8 * bits.shape[1]
    beyond = np.packbits(np.arange(total)[None, :] >= np.array(sizes)[:, None], axis=1, bitorder="little")
    row = int((bits & beyond[attributes]).any(axis=1).argmax())
    j = int(attributes[row])
    return InvalidReportError(
        f"padding bits {sizes[j]}..{total - 1} must be zero, got one set in row {row + 1}, attribute {j}"
    )


@kernel
def _tally_codes(codes: Codes, starts: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    # Adds codes[n, d], already checked, to counts; column j counts from starts[j] on.
    for i in range(codes.shape[0]):
        for j in range(starts.shape[0]):
            counts[starts[j] + np.int64(codes[i, j])] += 1


@kernel
def _tally_pairs(
    attributes: Codes, values: Codes, starts: NDArray[np.int64], sizes: NDArray[np.int64], counts: NDArray[Any]
) -> int:
    # Adds values[n] to their attributes' counts; returns the first row whose value is out of range, or -1.
    for i in range(attributes.shape[0]):
        j = np.int64(attributes[i])
        value = np.int64(values[i])
        if value >= sizes[j]:
            return i
        counts[starts[j] + value] += 1
    return -1
