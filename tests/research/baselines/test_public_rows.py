"""Rows of a public matrix."""

from __future__ import annotations

import numpy as np
import pytest

from deniable import SimulationRandomness
from deniable.core.randomness import uniform_below
from deniable.research.baselines import public_rows as public_rows
from deniable.research.baselines.hadamard import HadamardEncoding
from tests.unit._goodness import FAMILY_WISE_ERROR, p_value


def test_mutant_that_never_draws_row_zero_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = uniform_below
    monkeypatch.setattr(public_rows, "uniform_below", lambda rng, bound, n: 1 + honest(rng, bound - 1, n))
    encoding = HadamardEncoding(k=6, epsilon=1.0)
    reports = encoding.randomize(np.full(20_000, 4), SimulationRandomness(1))
    assert p_value(reports.tolist(), dict(enumerate(encoding.channel()[4]))) < FAMILY_WISE_ERROR
