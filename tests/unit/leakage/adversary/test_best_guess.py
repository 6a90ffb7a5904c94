"""The best guess of an adversary."""

from __future__ import annotations

import pytest

from deniable import (
    GRR,
)
from deniable.leakage.adversary.best_guess import best_guess
from deniable.planning.survey_plan import max_posterior_text


def test_no_guess_beats_the_promise() -> None:
    for epsilon in (0.5, 1.0, 4.0):
        sure = float(max_posterior_text(epsilon).rstrip("%")) / 100
        assert best_guess(GRR(2, epsilon)).after == pytest.approx(sure, abs=1e-3)
        assert (best_guess(GRR(2, epsilon)).after or 1) <= sure
