"""Shared statistics for tests of the unary encodings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.oracles import unary_bulk, unary_encoding

FAMILY_WISE_ERROR = 1e-6
"""Probability that a correct mechanism fails one statistical test, over all its comparisons; seeds are fixed."""

KERNELS = ("few", "bulk")


@contextmanager
def kernel_path(path: str) -> Iterator[None]:
    """Force bits to be made as for few rows or in bulk, whatever the number of rows."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (unary_encoding, unary_bulk):
            patch.setattr(module, "worth_compiling", lambda _rows: path == "bulk")
        yield


def integers(reports: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Packed bits uint8[n, width] as the integers with these bits, int64[n]."""
    values: NDArray[np.int64] = (reports.astype(np.int64) << 8 * np.arange(reports.shape[1])).sum(axis=1)
    return values


def p_value(reports: NDArray[np.uint8], law: Any) -> float:
    """Chi-squared p-value of reports against P(report y), float[2^k]; every cell must expect at least five."""
    expected = np.asarray(law, dtype=np.float64) * len(reports)
    assert expected.min() >= 5
    observed = np.bincount(integers(reports), minlength=len(expected))
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(statistic, len(expected) - 1))
