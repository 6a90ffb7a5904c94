"""Sketches with fixed hash functions."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from deniable.research.baselines.fixed_sketch import PRIME, FixedHashes


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 2000), st.integers(0, 2**64 - 1), st.lists(st.integers(0, PRIME - 1), min_size=1, max_size=30))
def test_hash_functions_by_hand(m: int, seed: int, values: list[int]) -> None:
    functions = FixedHashes(PRIME, m, 3, seed)
    for j, (a, b, c) in enumerate(functions.coefficients.tolist()):
        by_hand = [(a + b * x + c * x * x) % PRIME * m >> 31 for x in values]
        assert functions.cells(np.array(values), np.full(len(values), j)).tolist() == by_hand
        assert max(by_hand) < m


def test_hash_functions_at_the_ends_of_the_field() -> None:
    functions = FixedHashes(PRIME, PRIME, 1, 0)
    x = np.array([0, 1, PRIME - 1] * 9)
    for coefficients in ([0, 0, 0], [PRIME - 1] * 3, [1, PRIME - 1, PRIME - 1], [PRIME - 1, 1, 0]):
        functions.__dict__["coefficients"] = np.array([coefficients], dtype=np.uint64)
        a, b, c = coefficients
        by_hand = [(a + b * v + c * v * v) % PRIME * PRIME >> 31 for v in x.tolist()]
        assert functions.cells(x, np.zeros(27, dtype=int)).tolist() == by_hand


def test_seeds_make_different_functions() -> None:
    tables = {FixedHashes(20, 4, 2, seed).table().tobytes() for seed in range(50)}
    assert len(tables) == 50


def test_decode_of_more_values_than_a_block() -> None:
    functions = FixedHashes(70_000, 5, 2, 7)
    sketch = np.arange(10).reshape(2, 5)
    table = functions.table()
    assert (functions.gather(sketch) == table[0].astype(int) + 5 + table[1]).all()
