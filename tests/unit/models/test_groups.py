"""Means and quantiles within randomised groups: bounds by search, and coverage of the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.models.groups import group_means, group_quantiles


def test_fieller_holds_the_means_that_a_test_does_not_reject() -> None:
    rng = np.random.default_rng(1)
    grr, group = dn.GRR(k=2, epsilon=1.0), rng.integers(0, 2, 800)
    outcome = 1.0 + group + rng.normal(size=800)
    told = grr.indicators(grr.randomize(group, dn.SimulationRandomness(2))).values
    found = group_means(told, outcome)
    for place in range(2):
        for end in (found.lower[place], found.upper[place]):
            rest = told[:, place] * (outcome - end)
            statistic = rest.mean() / (rest.std() / math.sqrt(799))
            np.testing.assert_allclose(abs(statistic), 1.959964, rtol=1e-5)


def test_a_column_of_text_has_no_means() -> None:
    survey = dn.Collection(dn.Schema((dn.Attribute("smoker", ("no", "yes")),)), dn.GRR(k=2, epsilon=2.0))
    reports = survey.randomize(np.zeros((4, 1), dtype=int), dn.SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match="region must contain only finite numbers"):
        dn.models.by_group("region", "smoker", survey, reports, {"region": ["north", "south"] * 2})


def test_weights_of_zero_alone_are_refused() -> None:
    survey = dn.Collection(dn.Schema((dn.Attribute("smoker", ("no", "yes")),)), dn.GRR(k=2, epsilon=2.0))
    reports = survey.randomize(np.zeros((40, 1), dtype=int), dn.SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="weights must include at least one number > 0"):
        dn.models.fit("smoker ~ age", survey, reports, {"age": np.arange(40.0)}, weights=np.zeros(40), force=True)


def test_a_group_that_may_be_empty_has_no_ends() -> None:
    grr, nobody = dn.GRR(k=2, epsilon=0.5), np.zeros(300, dtype=int)
    told = grr.indicators(grr.randomize(nobody, dn.SimulationRandomness(3))).values
    found = group_means(told, np.arange(300.0))
    assert (found.lower[1], found.upper[1]) == (-math.inf, math.inf)


def test_quantiles_without_randomisation_are_those_of_order_statistics() -> None:
    rng = np.random.default_rng(4)
    grr, group = dn.GRR(k=2, epsilon=32.0), np.repeat([0, 1], 400)
    outcome = rng.normal(size=800)
    found = group_quantiles(grr.indicators(group.astype(np.uint8)).values, outcome, 0.301)
    for place in range(2):
        own = np.sort(outcome[group == place])
        assert found.values[place] == own[120]
        # These are the binomial test's bounds, to one rank.
        low, high = 121 + np.array([-1, 1]) * 1.959964 * math.sqrt(400 * 0.301 * 0.699)
        assert own[int(low) - 3] <= found.lower[place] <= own[int(low) + 2]
        assert own[int(high) - 3] <= found.upper[place] <= own[int(high) + 2]


def test_intervals_of_medians_hold_the_median() -> None:
    rng, held, runs = np.random.default_rng(5), 0, 300
    grr = dn.GRR(k=2, epsilon=1.5)
    for run in range(runs):
        group = (rng.random(600) < 0.4).astype(int)
        outcome = rng.exponential(size=600) * (1 + group)
        told = grr.indicators(grr.randomize(group, dn.SimulationRandomness(run))).values
        found = group_quantiles(told, outcome)
        held += int(found.lower[1] <= 2 * math.log(2) <= found.upper[1])
    # The share must be 95% in 300 runs, within three standard errors.
    assert abs(held / runs - 0.95) < 3 * math.sqrt(0.95 * 0.05 / runs)
    assert stats.binom.sf(held, runs, 0.8) < 1e-6  # an interval that ignores the randomisation covers less
