from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numba.core import caching
from numpy.typing import NDArray

from deniable.core.kernels import INTERPRETED_ROWS, kernel


@kernel
def _add_one(values: NDArray[Any], result: NDArray[Any]) -> None:
    for i in range(values.shape[0]):
        result[i] = values[i] + 1


@pytest.mark.parametrize("rows", [1, INTERPRETED_ROWS, INTERPRETED_ROWS + 1])
def test_a_kernel_runs_where_nothing_can_be_cached(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose file system is read-only and whose user has no home."""
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="cannot cache function"):
        numba.njit(cache=True)(_add_one.interpreted)
    values, result = np.arange(rows), np.zeros(rows, dtype=np.int64)
    kernel(_add_one.interpreted)(values, result)
    assert (result == values + 1).all()
