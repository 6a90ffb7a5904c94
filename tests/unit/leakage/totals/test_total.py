"""Exact total leakage against known answers, enumeration of all outputs, and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable.leakage.prior.distributions import merged_channel
from deniable.leakage.totals.total import contract
from deniable.oracles.unary import OUE
from deniable.research.leakage import exact_totals


def test_contraction_of_many_axes_is_the_sum_it_stands_for() -> None:
    rng = np.random.default_rng(8)
    sizes, outputs = (3, 2, 2, 4, 2, 3, 2), (2, 3, 2, 4, 5, 3, 2)
    table = rng.random(sizes)
    channels = [rng.dirichlet(np.ones(m), size=k) for k, m in zip(sizes, outputs, strict=True)]
    for axes in ([0], [6], [4, 5], [0, 1, 2], [1, 2, 4, 5], [2, 3, 4, 5, 6], list(range(7))):
        expected = table
        for axis in axes:
            expected = np.moveaxis(np.tensordot(expected, channels[axis], axes=(axis, 0)), -1, axis)
        assert contract(table, axes, channels) == pytest.approx(expected, abs=1e-12)


def test_merging_keeps_columns_apart_that_differ_in_small_entries() -> None:
    channel = np.array([[0.5, 0.25, 0.25], [1e-14, 1e-12, 1 - 1e-14 - 1e-12]])
    assert merged_channel(channel).shape == (2, 3)
    found = exact_totals([0.5, 0.5], [channel])
    assert found[0] == pytest.approx(math.log(0.5e14), abs=1e-9)
    # 2^3 outputs of OUE: none and all bits set say the same.
    assert merged_channel(OUE(k=3, epsilon=1.0).channel()).shape == (3, 7)
