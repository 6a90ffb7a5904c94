"""Exact total leakage against known answers, enumeration of all outputs, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.leakage.totals.total import contract


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
