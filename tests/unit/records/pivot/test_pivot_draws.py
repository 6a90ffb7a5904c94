"""The pivot that a random word draws."""

from __future__ import annotations

import random

import numpy as np
import pytest

from deniable.records.pivot.pivot_draws import _pivots_per_word, sample_pivots
from deniable.records.uniform_draws import uniform_rows
from tests.unit.records.test_uniform_draws import Scripted


@pytest.mark.parametrize("d", [1, 2, 3, 5, 50, 4096])
def test_one_pivot_is_the_first_that_a_word_makes(d: int) -> None:
    """Both use the same words; one of them is 0, which is rejected unless d is a power of two."""
    share, source = _pivots_per_word(d), random.Random(d)
    for _ in range(20):
        words = [source.choice((0, source.getrandbits(64))) for _ in range(64)]
        one, other = Scripted(words), Scripted(words)
        several = np.empty((1, share), dtype=np.uint32)
        uniform_rows(other, (d,) * share, several)
        assert sample_pivots(one, 1, d).tolist() == several[0, :1].tolist()
        assert one.words == other.words
