"""Codes drawn from a prior: its thresholds, and the codes' distribution."""

from __future__ import annotations

import bisect
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import SimulationRandomness
from deniable.records.prior_draws import (
    _draw,
    checked_priors,
    cumulative_thresholds,
    draw_from_priors,
    implemented_prior,
    prior_tables,
)
from tests.unit._goodness import FAMILY_WISE_ERROR

PRIORS: list[Any] = [
    [0.5, 0.5],
    [0, 1, 0],
    [0.0, 0.3, 0.0, 0.7, 0.0],
    [Fraction(1, 3)] * 3,
    [1e-30, 1 - 1e-12, 1e-12],
    [float(v + 1) / 5050 for v in range(100)],
]


def test_thresholds_are_the_priors_rounded() -> None:
    for prior in PRIORS:
        exact = [Fraction(repr(value)) if isinstance(value, float) else Fraction(value) for value in prior]
        thresholds = cumulative_thresholds(checked_priors([prior], [len(prior)])[0])
        assert thresholds[-1] == 2**64
        implemented = implemented_prior(thresholds)
        assert sum(implemented) == 1
        for wanted, got in zip(exact, implemented, strict=True):
            assert abs(wanted / sum(exact) - got) < Fraction(1, 2**64)
            assert got == 0 or wanted > 0


@pytest.mark.parametrize("run", [_draw.compiled, _draw.interpreted])
def test_a_word_draws_the_first_threshold_above_it(run: Any) -> None:
    thresholds = [cumulative_thresholds(checked_priors([prior], [len(prior)])[0]) for prior in PRIORS]
    edges = sorted({min(max(t + offset, 0), 2**64 - 1) for own in thresholds for t in own for offset in (-1, 0, 1)})
    words = np.repeat(np.array(edges, dtype=np.uint64)[:, None], len(PRIORS), axis=1)
    reports = np.empty(words.shape, dtype=np.uint8)
    run(words, *prior_tables(thresholds), reports)
    by_hand = np.array([[bisect.bisect_right(own, edge) for own in thresholds] for edge in edges])
    assert np.array_equal(reports, by_hand)


def test_codes_follow_their_priors() -> None:
    priors = checked_priors([PRIORS[2], PRIORS[5]], [5, 100])
    reports = np.empty((200_000, 2), dtype=np.uint8)
    draw_from_priors(prior_tables([cumulative_thresholds(prior) for prior in priors]), SimulationRandomness(2), reports)
    assert set(reports[:, 0].tolist()) == {1, 3}
    assert stats.binomtest(int((reports[:, 0] == 1).sum()), 200_000, 0.3).pvalue > FAMILY_WISE_ERROR
    seen = np.bincount(reports[:, 1], minlength=100)
    assert stats.chisquare(seen, np.arange(1, 101) / 5050 * 200_000).pvalue > FAMILY_WISE_ERROR
