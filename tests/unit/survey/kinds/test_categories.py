"""Numbers in categories: round limits."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from deniable.survey.kinds.categories import equal_edges


@pytest.mark.parametrize(
    ("low", "high", "intervals", "edges"),
    [
        (0, 1, 2, (1.0,)),
        (0, 1, 3, (0.5, 1.0)),
        (0.05, 0.95, 10, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
        (-3, 3, 10, (-2, -1, 0, 1, 2, 3)),
        (0, 5e-324, 10, (5e-324,)),
        (1e15, 1e15 + 1, 10, (1e15 + 1,)),
    ],
)
def test_equal_edges(low: float, high: float, intervals: int, edges: tuple[float, ...]) -> None:
    assert equal_edges(low, high, intervals) == edges


@given(
    st.floats(-1e308, 1e308, allow_nan=False),
    st.floats(-1e308, 1e308, allow_nan=False),
    st.integers(2, 20),
)
def test_edges_are_inside_and_few(first: float, second: float, intervals: int) -> None:
    low, high = sorted((first, second))
    if low < high:
        edges = equal_edges(low, high, intervals)
        assert 1 <= len(edges) < intervals
        assert list(edges) == sorted(set(edges))
        assert low < edges[0]
        assert edges[-1] <= high
