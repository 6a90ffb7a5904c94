"""Numeric questions: ranges and grids."""

from __future__ import annotations

from hypothesis import given, strategies as st

from deniable.survey.kinds.numeric import round_grid, round_range
from deniable.survey.schema import Attribute


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.sampled_from([1, 10, 100]), st.booleans())
def test_ranges_hold_the_answers_and_grids_are_round(low: int, width: int, scale: int, whole: bool) -> None:
    first, last = (low, low + width) if whole else (low / scale, (low + width) / scale)
    ends = round_range(first, last)
    assert ends[0] <= first < last <= ends[1]
    assert ends[1] - ends[0] <= 3 * (last - first) + 1e-9
    points = round_grid(*ends, whole=whole)
    assert 2 <= points <= 101
    Attribute("a", kind="numeric", range=ends, grid=points)
