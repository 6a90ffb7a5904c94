"""Columns and bits of all attributes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from deniable import SPL, SimulationRandomness
from deniable.records import layout
from tests.unit._goodness import FAMILY_WISE_ERROR
from tests.unit.records.record_laws import (
    grr,
)


@pytest.mark.parametrize("sizes", [(2, 300, 3), (7, 7, 7, 7), (70_000, 2)])
def test_every_attribute_is_its_own_column(sizes: tuple[int, ...]) -> None:
    """Over several blocks, at a budget where lies are rare: no more of them in any column than GRR tells."""
    spl = SPL(sizes, 32)
    n = 2 * layout.BLOCK_ROWS + 5
    truth = np.stack([np.arange(n) * (j + 3) % k for j, k in enumerate(sizes)], axis=1)
    reports = spl.randomize(truth, SimulationRandomness(3))
    for j, k in enumerate(sizes):
        lie = 1 - grr(0, 0, k, 32 / len(sizes))
        assert (reports[:, j] != truth[:, j]).sum() <= stats.binom.isf(FAMILY_WISE_ERROR, n, lie)


def test_every_attribute_has_its_own_bits() -> None:
    """Over several blocks: each held bit is set with probability 1/2, and no other bit more often than OUE tells."""
    sizes = (20, 3000, 3)
    spl = SPL(sizes, 32, "OUE")
    assert isinstance(spl.layout, layout.BitLayout)
    n = 3 * spl.layout.block_rows + 5
    truth = np.stack([np.arange(n) * (j + 3) % k for j, k in enumerate(sizes)], axis=1)
    reports = spl.randomize(truth, SimulationRandomness(3))
    first_byte = np.array([0, 3, 378])
    own = reports[np.arange(n)[:, None], first_byte + truth // 8] >> truth % 8 & 1
    low, high = stats.binom.ppf(FAMILY_WISE_ERROR / 6, n, 0.5), stats.binom.isf(FAMILY_WISE_ERROR / 6, n, 0.5)
    assert ((own.sum(axis=0) >= low) & (own.sum(axis=0) <= high)).all()
    counts = spl.aggregate(reports).counts
    assert counts.shape == (3023,)
    others = counts.sum() - own.sum()
    assert others <= stats.binom.isf(FAMILY_WISE_ERROR, n * 3020, 1 / (math.exp(32 / 3) + 1))
