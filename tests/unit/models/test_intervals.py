"""Score intervals of weak fits: an end counts only if it does not depend on the search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.models_coverage import CRITICAL, Cell

from deniable.models.intervals import HeldFixed

SEARCHES = (1.0, 1.6)
"""Factors of the first step."""


def _again(held: HeldFixed, factor: float, weak: bool) -> HeldFixed:
    return replace(held, width=held.width * factor, weak=weak, _ends={}, _seen={})


@pytest.mark.parametrize("number", [0, 3, 4])
def test_ends_that_depend_on_the_search_are_not_determined(number: int) -> None:
    """1,000 people, five answers, epsilon 1: the start of a search decides which end it finds.

    The mutant is one search without confirmation.
    """
    cell = Cell(5, 1.0, 1000)
    held = cell.fit(cell.counts(number))._fixed(cell.place)
    assert held.weak
    mutant = [_again(held, factor, False).end(-1, CRITICAL) for factor in (0.5, 1.7)]
    assert abs(mutant[0] - mutant[1]) > 5 * held.width
    assert [_again(held, factor, True).end(-1, CRITICAL) for factor in SEARCHES] == [-np.inf, -np.inf]
    assert not held.closes(-1, CRITICAL)


def test_ends_of_strong_fits_are_found_by_one_search_as_by_two() -> None:
    cell = Cell(2, 4.0, 1000)
    held = cell.fit(cell.counts(1))._fixed(cell.place)
    assert not held.weak
    for side in (-1, 1):
        ends = [_again(held, factor, weak).end(side, CRITICAL) for factor in SEARCHES for weak in (False, True)]
        np.testing.assert_allclose(ends, ends[0], atol=1e-3 * held.width)
