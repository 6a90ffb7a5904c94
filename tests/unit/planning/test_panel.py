"""A rotating panel: balanced, independent of the order of people, and determined by the seed alone."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings, strategies as st

from deniable.planning import rotating_panel


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), st.integers(0, 40), st.integers(1, 9), st.integers(0, 999), st.randoms(use_true_random=False))
def test_a_panel_is_balanced_and_does_not_depend_on_the_order(
    waves: int, more: int, asked: int, seed: int, order: Any
) -> None:
    people = [f"person {number}" for number in range(waves + more)]
    times = min(asked, waves)
    panel = rotating_panel(people, waves, str(seed), times)
    sizes = [len(wave) for wave in panel.waves]
    assert sum(sizes) == times * len(people)
    assert max(sizes) - min(sizes) <= times
    assert {len(panel.waves_of(name)) for name in people} == {times}
    shuffled = order.sample(people, len(people))
    again = rotating_panel(shuffled, waves, str(seed), times)
    assert [set(wave) for wave in again.waves] == [set(wave) for wave in panel.waves]


def test_the_division_follows_the_seed_and_nothing_else() -> None:
    """20,000 people, 4 waves, two seeds: as many as by chance, 1/4, have the same wave in both; z below 4.9."""
    people = [f"p{number}" for number in range(20_000)]
    one, other = (rotating_panel(people, 4, seed) for seed in ("7", "8"))
    same = sum(len(set(a) & set(b)) for a, b in zip(one.waves, other.waves, strict=True))
    assert abs(same - 5000) < 4.9 * math.sqrt(20_000 * 3 / 16)
    assert rotating_panel(people, 4, "7") == one
    assert one.waves_of("nobody") == ()
