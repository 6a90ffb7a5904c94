"""Plans of Corr-RR in two phases: agreement with simulation, and the bias that stays."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable import CorrRR, SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError
from deniable.planning import corr_rr_plan, two_phase
from deniable.records.phases.two_phase import combine
from deniable.records.pivot.corr_rr import pairwise_copy_probabilities


def test_the_plan_of_corr_rr_is_what_simulation_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both phases with P from the true marginals, combined by counts, on contributors drawn anew each time."""
    marginals, n, runs = [np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])], 1000, 600
    expected = corr_rr_plan([3, 3], 1.0, n, marginals)
    assert expected.n1 + expected.n2 == n
    assert expected.squared_bias > 0
    spl = CorrRR.phase_one((3, 3), 1.0)
    learned = pairwise_copy_probabilities(marginals, n)
    corr_rr = CorrRR((3, 3), 1.0, tuple(map(tuple, learned.tolist())))
    rng, records = SimulationRandomness(4), np.array(list(product(range(3), repeat=2)))
    law, errors = np.outer(*marginals).reshape(-1), []
    for _ in range(runs):
        # Phase one's error is planned around its own contributors, so they are kept at the marginals.
        first = spl.simulate_aggregate([np.round(share * expected.n1).astype(int) for share in marginals], rng)
        second = corr_rr.simulate_aggregate(records, rng.generator.multinomial(expected.n2, law), rng)
        both = combine(spl.estimate(first), corr_rr.estimate(second))
        errors.append(np.mean([((both[j].frequencies - marginals[j]) ** 2).mean() for j in range(2)]))
    # The tolerance is five standard errors of the mean. Rounding n1 f to whole contributors moves f by at most 1/n1.
    assert abs(np.mean(errors) - expected.mse) < 5 * np.std(errors) / math.sqrt(runs) + 1e-5
    # Other splits are not better.
    for share in (0.1, 0.25, 0.4):
        monkeypatch.setattr(two_phase, "SHARES", (share, share))
        assert corr_rr_plan([3, 3], 1.0, n, marginals).mse >= expected.mse * (1 - 1e-6)


def test_the_bias_of_corr_rr_does_not_fall() -> None:
    thousand, million = (corr_rr_plan([4, 4, 4], 1.0, n) for n in (1000, 1_000_000))
    assert million.squared_bias > 0.2 * thousand.squared_bias
    assert million.variance < 0.01 * thousand.variance
    assert million.n1 == 500_000
    assert corr_rr_plan([2, 3], 1.0, 1000).squared_bias == 0  # domains that differ are unmixed


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([4], 1.0, 100), InvalidParameterError, "sizes must list at least two attributes"),
        (([4, 4], 1.0, 10), InvalidParameterError, "contributors must be >= 20"),
        (
            ([4, 4], 1.0, 100, [[0.5, 0.5]] * 2),
            InvalidParameterError,
            "marginals must have one frequency for each category, got 2, 2 frequencies for attributes with 4, 4",
        ),
        (([2, 2], 1.0, 100, [[0.5, math.nan]] * 2), InvalidInputError, "marginals"),
        (
            ([2, 90], 1.0, 100),
            TooLargeError,
            "attributes with different numbers of categories must have at most 32 categories together, got 92",
        ),
    ],
)
def test_bad_plans_of_corr_rr_are_refused(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        corr_rr_plan(*arguments)
