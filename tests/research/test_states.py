"""States of research mechanisms: sums that would overflow."""

from __future__ import annotations

import numpy as np

from deniable.research.states import absolute_sum


def test_absolute_values_are_added_exactly_where_64_bits_would_wrap() -> None:
    counts = np.full(4, -(1 << 61), dtype=np.int64)
    assert absolute_sum(counts, 1 << 61) == 1 << 63
    assert absolute_sum(counts // (1 << 40), 1 << 21) == 1 << 23
