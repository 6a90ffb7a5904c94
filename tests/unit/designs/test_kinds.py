"""Kinds of designs: the draws of each device."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable import designs
from deniable.designs import kinds
from tests.unit.designs import devices


def test_every_design_is_thrown() -> None:
    assert {name for name, _ in devices.SETTINGS} == set(devices.DEVICES) == set(kinds.KINDS)
    assert all(hasattr(designs, name) for name in kinds.KINDS)


def test_reports_are_drawn_below_the_common_denominator_and_refused_words_are_drawn_again() -> None:
    """With 12 as the common denominator the four words above 12 floor(2^64/12) make no report."""
    two_dice = designs.forced("1/6", "1/12")
    assert kinds.denominator(two_dice.rows) == 12

    class Words:
        """Randomness that returns given words, then a fixed one."""

        def __init__(self, *words: int) -> None:
            self.words = list(words)

        def fill(self, target: np.ndarray[Any, np.dtype[np.uint64]]) -> None:
            for i in range(len(target)):
                target[i] = self.words.pop(0)

    width = (1 << 64) // 12
    words = [width * step for step in (0, 9, 10, 11)] + [width * 12, width * 12 + 3]
    source = Words(*words, width * 10, width * 0)
    # For a non-carrier, 0..9 of 12 are "no", and 10 and 11 are "yes".
    assert two_dice.randomize([0] * 6, source).tolist() == [0, 0, 1, 1, 1, 0]
    assert source.words == []
