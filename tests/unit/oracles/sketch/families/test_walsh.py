from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.oracles.sketch.families import _walsh as walsh


def by_definition(values: NDArray[Any]) -> list[int]:
    """F(x) = sum_w (-1)^<w, x> v(w), term by term."""
    return [sum(int(v) * (-1) ** (w & x).bit_count() for w, v in enumerate(values)) for x in range(len(values))]


@pytest.mark.parametrize("bits", range(9))
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_transform_is_its_definition(bits: int, dtype: Any) -> None:
    values = np.random.default_rng(bits).integers(-1000, 1000, 1 << bits).astype(dtype)
    expected = by_definition(values)
    walsh.walsh_hadamard(values)
    assert values.tolist() == expected
    assert values.dtype == dtype


@pytest.mark.parametrize("bits", [14, 15, 16, 17, 18])
def test_blocks_join(bits: int) -> None:
    """Around the block of 2^15 entries: impulses transform to characters, and twice is 2^bits times the identity."""
    size = 1 << bits
    for w in (0, 1, 5, size // 2, size - 1):
        values = np.zeros(size, dtype=np.int32)
        values[w] = 3
        walsh.walsh_hadamard(values)
        for x in (0, 1, 4, size // 2 + 1, size - 1, 0x5555 % size):
            assert values[x] == 3 * (-1) ** (w & x).bit_count()
    some = np.random.default_rng(bits).integers(-50, 50, size)
    twice = some.copy()
    walsh.walsh_hadamard(twice)
    walsh.walsh_hadamard(twice)
    assert (twice == some * size).all()


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32, 1 << 15, 1 << 16])
def test_rows_are_transformed_one_by_one(size: int) -> None:
    values = np.random.default_rng(size).integers(-9, 9, size * (3 if size < 1 << 15 else 2)).astype(np.int32)
    rows = values.copy().reshape(-1, size)
    walsh.walsh_rows(values, size)
    for row, transformed in zip(rows, values.reshape(-1, size), strict=True):
        expected = row.copy()
        walsh.walsh_hadamard(expected)
        assert (transformed == expected).all()


@pytest.mark.parametrize("loop", [walsh.neighbours2, walsh.neighbours4, walsh.radix2, walsh.radix4])
def test_kernels_run_the_same_both_ways(loop: Any) -> None:
    values = np.random.default_rng(4).integers(-100, 100, 64)
    arguments = () if loop in (walsh.neighbours2, walsh.neighbours4) else (8,)
    results = []
    for run in (loop.compiled, loop.interpreted):
        copy = values.copy()
        run(copy, *arguments)
        results.append(copy.tolist())
    assert results[0] == results[1]
