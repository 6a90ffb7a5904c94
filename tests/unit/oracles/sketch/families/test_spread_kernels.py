"""Kernels of Spread: compiled and interpreted alike."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.oracles.sketch.families import _spread_kernels as kernels
from deniable.oracles.sketch.families.spread import SpreadFamily
from tests.unit.oracles.sketch.families.spread_laws import cell_by_hand


@pytest.mark.parametrize("n", [1, 40, kernels.STRIP + 40])
def test_hash_kernels_run_the_same_both_ways(n: int) -> None:
    family = SpreadFamily(3000, 16)
    rng = np.random.default_rng(n)
    # Rows are sorted: strips with only wide levels, which end their search early, come before strips of narrow levels.
    rows, codes = np.sort(rng.integers(0, family.state_size // 16, n)), rng.integers(0, 3000, n)
    results = []
    for run in (kernels.hash_rows.compiled, kernels.hash_rows.interpreted, kernels.hash_rows.few):
        cells = np.empty(n, dtype=np.uint8)
        run(codes, rows.astype(np.uint32), *family._tables, family.cell_bits, cells)
        results.append(cells.tolist())
    by_hand = [cell_by_hand(3000, 16, int(r), int(x)) for r, x in zip(rows, codes, strict=True)]
    assert results == [by_hand] * 3


@pytest.mark.parametrize(("k", "m"), [(2, 2), (3000, 16), (1 << 32, 2), (1 << 32, 1 << 14)])
def test_rows_are_chosen_the_same_both_ways(k: int, m: int) -> None:
    family = SpreadFamily(k, m)
    narrow, last = (1 << family.levels[-1].degree) - 1, family._last_row + 1
    ends = [0, narrow - 1, narrow, narrow + m - 2, narrow + m - 1, narrow + m, family.domain - 3, family.domain - 2]
    points = np.array([point for point in ends if point < family.domain - 1], dtype=np.int64)
    by_hand = [u + last if u < narrow else (u - narrow) // (m - 1) for u in points.tolist()]
    for run in (kernels.choose_rows.compiled, kernels.choose_rows.interpreted, kernels.choose_rows.few):
        rows = np.empty(len(points), dtype=family.report_dtype)
        run(points, narrow, last, m - 1, rows)
        assert rows.tolist() == by_hand


class Scripted:
    """A source of one word."""

    def __init__(self, word: np.uint64) -> None:
        self.word = word

    def fill(self, words: NDArray[np.uint64]) -> None:
        words[:] = self.word


@pytest.mark.parametrize(("k", "m"), [(3000, 16), (2**17, 4), (2**32, 2), (40, 64)])
def test_few_rows_are_chosen_and_joined_as_many(k: int, m: int) -> None:
    family, rng = SpreadFamily(k, m), np.random.default_rng(k)
    narrow = (1 << family.levels[-1].degree) - 1
    edges = [0, narrow - 1, narrow, narrow + m - 2, narrow + m - 1, family.domain - 2]
    points = np.array([*(min(edge, family.domain - 2) for edge in edges), *rng.integers(0, family.domain - 1, 50)])
    # The quotient of these words by the width of a point is that point. For few rows, plain integers choose by them.
    words = points.astype(np.uint64) * np.uint64(2**64 // (family.domain - 1))
    chosen = [family.draw_parameters(Scripted(one), 1)[0].item() for one in words]
    rows, cells = np.empty(len(points), dtype=np.uint32), (points % m).astype(np.uint16)
    kernels.choose_rows.compiled(points, narrow, family._last_row + 1, m - 1, rows)
    assert rows.tolist() == chosen
    reports = family.join((rows,), cells)
    assert reports.dtype == family.report_dtype
    assert reports.tolist() == [row * m + cell for row, cell in zip(chosen, cells.tolist(), strict=True)]
