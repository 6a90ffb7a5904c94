"""One frequency oracle per attribute, side by side: where each one's reports and counts lie in a record's."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.checks import Codes, code_dtype
from deniable.errors import InvalidParameterError
from deniable.estimate import RecordEstimate, affine_estimate
from deniable.mechanism import ReportField
from deniable.mechanisms.grr import GRR
from deniable.mechanisms.unary import OUE
from deniable.multi._packed import block_rows, byte_starts, randomize_rows, set_all
from deniable.randomness import Randomness
from deniable.thresholds import EPSILON_MIN, BudgetShare, EpsilonLike, spent

Oracle: TypeAlias = GRR | OUE
ORACLES: dict[str, type[GRR] | type[OUE]] = {"GRR": GRR, "OUE": OUE}

BLOCK_ROWS = 1 << 14
"""Records that are randomised at a time: their columns stay in a core's second-level cache."""


def checked_oracle(name: str) -> str:
    """Return the name of an oracle, or raise InvalidParameterError naming the choices."""
    if not isinstance(name, str) or name not in ORACLES:
        raise InvalidParameterError(f"oracle must be one of {', '.join(ORACLES)}, got oracle={name!r}")
    return name


def make_oracles(name: str, sizes: Sequence[int], epsilon: float | Fraction) -> tuple[Oracle, ...]:
    """Return one oracle per attribute, each with this budget."""
    return tuple(ORACLES[name](k=size, epsilon=epsilon) for size in sizes)


def checked_share(epsilon: EpsilonLike, d: int) -> BudgetShare:
    """Return what is spent of epsilon over d, exactly, or raise InvalidParameterError if it is below the least."""
    share = BudgetShare(spent(epsilon) / d)
    if float(share) < float(EPSILON_MIN):
        raise InvalidParameterError(
            f"epsilon must be >= 1e-06 per attribute, got epsilon={epsilon} over {d} attributes"
        )
    return share


# ---------------------------------------------------------------- layout


def stretches(lengths: Sequence[int]) -> tuple[slice, ...]:
    """Return consecutive slices of these lengths."""
    return tuple(slice(start, stop) for start, stop in pairwise(accumulate(lengths, initial=0)))


def report_width(oracle: Oracle) -> int | None:
    """Return how many elements one report of an oracle has, None for a single code."""
    return oracle.report_fields[0].width


def record_field(oracles: Sequence[Oracle]) -> ReportField:
    """Return how a batch of records' reports is stored: codes int[n, d], or packed bits uint8[n, bytes]."""
    widths = [report_width(oracle) for oracle in oracles]
    if widths[0] is None:
        return ReportField("values", code_dtype(max(oracle.k for oracle in oracles)).name, len(oracles))
    return ReportField("bits", "uint8", sum(width for width in widths if width is not None))


def empty_reports(oracles: Sequence[Oracle], n: int) -> NDArray[Any]:
    """Return an uninitialised batch of n records' reports."""
    field = record_field(oracles)
    return np.empty((n, field.width or 1), dtype=field.dtype)


def output_count(oracles: Sequence[Oracle]) -> int:
    """Return how many different reports a record can have (packed bits: at most 2^64 per attribute are told apart)."""
    return prod(oracle.k if report_width(oracle) is None else 1 << min(oracle.k, 64) for oracle in oracles)


def affine_estimates(
    counts: NDArray[np.int64], sizes: Sequence[int], n: int, probabilities: Sequence[tuple[Any, Any]]
) -> RecordEstimate:
    """Return the estimate of every attribute from its support counts and its implemented (p, q)."""
    return RecordEstimate(
        {
            j: affine_estimate(counts[place], n, np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
            for j, (place, (p, q)) in enumerate(zip(stretches(sizes), probabilities, strict=True))
        }
    )


# ---------------------------------------------------------------- all attributes of a record


def randomize_columns(oracles: Sequence[Oracle], codes: Codes, rng: Randomness, reports: NDArray[Any]) -> None:
    """Overwrite a batch of reports with every attribute of codes[n, d] through its own oracle."""
    if not isinstance(oracles[0], GRR):
        sizes, thresholds = [oracle.k for oracle in oracles], unary_thresholds(oracles)
        starts, step = byte_starts(sizes), block_rows(sizes)
        for start in range(0, len(codes), step):
            rows = slice(start, start + step)
            bits = np.zeros(reports[rows].shape, dtype=np.uint8)
            set_all(codes[rows], starts, bits)
            reports[rows] = randomize_rows(bits, sizes, thresholds, rng)
    elif all(oracle == oracles[0] for oracle in oracles):
        # All columns alike: one long column.
        reports[:] = oracles[0].randomize(codes.reshape(-1), rng).reshape(codes.shape)
    else:
        for start in range(0, len(codes), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            for j, oracle in enumerate(oracles):
                reports[rows, j] = oracle.randomize(codes[rows, j], rng)


def unary_thresholds(oracles: Sequence[Oracle]) -> tuple[int, int]:
    """Return the thresholds that the unary encodings of all attributes share."""
    (thresholds,) = {oracle.thresholds for oracle in oracles if not isinstance(oracle, GRR)}
    return thresholds
