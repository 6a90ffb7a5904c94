"""Leakage under a wrong prior: against linear programmes, random priors in the ball, and the exact case."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from deniable import GRR
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.leakage import cpl
from deniable.leakage.prior.distributions import Floats
from deniable.research.leakage import calibrate, calibrate_worst, cpl_within, exact_totals, totals_within, wrong_prior
from tests.unit.leakage.leakage_laws import random_joint


def _extreme(row: Floats, likelihoods: Floats, radius: float, sign: int) -> float:
    """Return the extreme of a likelihood over all distributions within the radius, by linear programme."""
    k = len(row)
    # The variables are the distribution, and the part of each entry above the prior.
    solved = linprog(
        np.concatenate([-sign * likelihoods, np.zeros(k)]),
        A_ub=np.vstack([np.hstack([np.eye(k), -np.eye(k)]), np.concatenate([np.zeros(k), np.ones(k)])]),
        b_ub=np.append(row, radius),
        A_eq=np.concatenate([np.ones(k), np.zeros(k)])[None],
        b_eq=[1.0],
    )
    assert solved.success
    assert solved.fun is not None
    return -sign * float(solved.fun)


@pytest.mark.parametrize("radius", [0.0, 0.05, 0.3, 1.0])
def test_the_largest_cpl_in_the_ball_is_that_of_a_linear_programme(radius: float) -> None:
    generator = np.random.default_rng(5)
    for _ in range(4):
        rows, channel = generator.dirichlet(np.ones(4), 3), generator.dirichlet(np.ones(3), 4)
        wanted = max(
            math.log(_extreme(rows[x], column, radius, 1) / _extreme(rows[z], column, radius, -1))
            for x, z in itertools.permutations(range(3), 2)
            for column in channel.T
        )
        assert cpl_within(channel, rows, radius) == pytest.approx(max(0.0, wanted), abs=1e-9)
    assert cpl_within(channel, rows, 0.0) == pytest.approx(cpl(channel, rows), abs=1e-12)


def test_a_radius_of_one_leaves_the_budget() -> None:
    for k in (2, 3, 5):
        rows = np.full((2, k), 1 / k)
        assert cpl_within(1.0, rows, 1.0) == pytest.approx(1.0)
        assert cpl_within(GRR(k=k, epsilon=1.0), rows, 1.0) == pytest.approx(1.0)
        assert cpl_within(1.0, rows, 0.0) == pytest.approx(0.0, abs=1e-12)


def _moved(generator: np.random.Generator, joint: Floats, target: int, radius: float) -> Floats:
    """Return a joint distribution whose conditional distributions given the target are all within the radius."""
    rows = np.moveaxis(joint, target, 0).reshape(joint.shape[target], -1)
    mass = rows.sum(axis=1, keepdims=True)
    moved = (1 - radius) * rows / mass + radius * generator.dirichlet(np.full(rows.shape[1], 0.1), len(rows))
    return np.moveaxis((moved * mass).reshape(np.moveaxis(joint, target, 0).shape), 0, target)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**31), radius=st.sampled_from([0.0, 0.02, 0.2]))
def test_no_prior_in_the_ball_exceeds_the_total(seed: int, radius: float) -> None:
    generator = np.random.default_rng(seed)
    joint = random_joint(generator, (2, 3, 2))
    grr = [GRR(k=k, epsilon=0.8) for k in joint.shape]
    exact = totals_within(joint, grr, radius)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wrong_prior, "MAX_GREEDY_CELLS", 0)
        bounds = totals_within(joint, grr, radius)
    assert {total.status for total in exact} == {"exact"}
    assert {total.status for total in bounds} == {"upper bound"}
    for target, (total, bound) in enumerate(zip(exact, bounds, strict=True)):
        assert total.epsilon <= bound.epsilon + 1e-9
        for _ in range(3):
            there = float(exact_totals(_moved(generator, joint, target, radius), grr)[target])
            assert there <= total.epsilon + 1e-9
        if radius == 0:
            assert total.epsilon == pytest.approx(float(exact_totals(joint, grr)[target]), abs=1e-9)
            assert bound.epsilon == pytest.approx(total.epsilon, abs=1e-9)


def test_the_total_in_the_ball_is_attained() -> None:
    """Two attributes: the greedy rows themselves are a prior in the ball."""
    grr = [GRR(k=2, epsilon=1.0)] * 2
    worst = totals_within([[0.4, 0.1], [0.1, 0.4]], grr, 0.1)
    assert worst[0].epsilon == pytest.approx(float(exact_totals([[0.45, 0.05], [0.05, 0.45]], grr)[0]), abs=1e-9)


def test_calibration_holds_for_the_worst_of_several_priors() -> None:
    joints = [np.array(joint) for joint in ([[0.4, 0.1], [0.1, 0.4]], [[0.25] * 2] * 2, [[0.6, 0.0], [0.2, 0.2]])]
    found = calibrate_worst(joints, 1.0)
    singles = [calibrate(joint, 1.0) for joint in joints]
    assert float(found.epsilons[0]) == min(float(one.epsilons[0]) for one in singles)
    grr = [GRR(k=2, epsilon=found.epsilons[0])] * 2
    worst = np.max([exact_totals(joint, grr) for joint in joints], axis=0)
    np.testing.assert_allclose([total.epsilon for total in found.totals], worst, rtol=1e-12)
    assert worst.max() <= 1.0 + 1e-12
    assert found.is_guarantee
    assert "3 stated priors" in found.caveat
    assert not calibrate_worst(joints, 1.0, "additive").is_guarantee


def test_priors_of_other_shapes_and_radii_out_of_range_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="joints must"):
        calibrate_worst([np.full((2, 2), 0.25), np.full((2, 3), 1 / 6)], 1.0)
    with pytest.raises(InvalidInputError, match="joints must"):
        calibrate_worst([], 1.0)
    with pytest.raises(InvalidParameterError, match="radius must be in"):
        cpl_within(1.0, [[0.5, 0.5], [0.2, 0.8]], 1.5)
    with pytest.raises(InvalidInputError, match="conditional must have 3 columns"):
        cpl_within(GRR(k=3, epsilon=1.0), [[0.5, 0.5], [0.2, 0.8]], 0.1)
