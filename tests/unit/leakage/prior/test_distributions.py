"""Distributions and channels: merged columns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable.leakage.prior.distributions import merged_channel
from deniable.oracles.unary import OUE
from deniable.research.leakage import exact_totals


def test_merging_keeps_columns_apart_that_differ_in_small_entries() -> None:
    channel = np.array([[0.5, 0.25, 0.25], [1e-14, 1e-12, 1 - 1e-14 - 1e-12]])
    assert merged_channel(channel).shape == (2, 3)
    found = exact_totals([0.5, 0.5], [channel])
    assert found[0] == pytest.approx(math.log(0.5e14), abs=1e-9)
    # OUE has 2^3 outputs. None and all bits set say the same.
    assert merged_channel(OUE(k=3, epsilon=1.0).channel()).shape == (3, 7)
