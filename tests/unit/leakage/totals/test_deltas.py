"""Deltas of totals: against all mechanisms that a linear programme can find, and against the paper's sums."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from deniable.leakage import composed_delta, record_leakage, revealing_channel, worst_case_cpl
from deniable.leakage.prior.correlation import any_mechanism_channel
from deniable.leakage.prior.distributions import Floats
from deniable.leakage.totals.deltas import worst_deltas
from deniable.research.leakage import calibrate, channel_delta, total_delta, total_leakage
from tests.unit.leakage.leakage_laws import random_joint

TIE = 1e-9


def _rays(k: int, bound: float) -> list[Floats]:
    """Return the likelihood vectors of which some worst (epsilon, delta)-LDP mechanism over k values is composed.

    Delta bounds the positive parts of a(u) - e^epsilon a(v). These are linear on each cell between the planes a(u) =
    e^epsilon a(v). The information of a report is convex, so that a vector inside a cell can be replaced by the cell's
    extreme rays. Their entries are 0, or related to each other by factors of e^epsilon.
    """
    found = set()
    for powers in itertools.product((None, *range(k)), repeat=k):
        held = [power for power in powers if power is not None]
        # The powers are linked by single factors of e^epsilon, so the powers that occur have no gap.
        if held and min(held) == 0 and set(held) == set(range(max(held) + 1)) and (len(held) == 1 or max(held) > 0):
            found.add(tuple(0.0 if power is None else bound**power for power in powers))
    return [np.array(ray) for ray in sorted(found)]


def _worst(gains: Sequence[float], rays: Sequence[Floats], bound: float, delta: float) -> float:
    """Return the largest sum of gains over all mechanisms whose outputs' likelihoods are multiples of rays."""
    k = len(rays[0])
    above = [[max(0.0, float(ray[u] - bound * ray[v])) for ray in rays] for u, v in itertools.permutations(range(k), 2)]
    solved = linprog(
        -np.array(gains), A_ub=np.array(above), b_ub=np.full(len(above), delta), A_eq=np.array(rays).T, b_eq=np.ones(k)
    )
    assert solved.success
    assert solved.fun is not None
    return -float(solved.fun)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_delta_of_one_release_is_exact_by_enumeration(k: int) -> None:
    """Algorithm 2, line 16, and its curve: the linear programme over all mechanisms agrees."""
    generator = np.random.default_rng(k)
    for epsilon, delta in itertools.product((0.2, 1.0), (0.01, 0.2)):
        rows, rays = generator.dirichlet(np.full(k, 0.6), 2), _rays(k, math.exp(epsilon))
        worst = worst_case_cpl(rows, epsilon, delta)
        for asked in (0.0, worst.epsilon / 2, worst.epsilon):
            gains = [
                [max(0.0, float(rows[x] @ ray - math.exp(asked) * (rows[1 - x] @ ray))) for ray in rays] for x in (0, 1)
            ]
            found = max(_worst(each, rays, math.exp(epsilon), delta) for each in gains)
            assert found == pytest.approx(worst.delta_at(asked), abs=TIE)
        assert worst.delta == pytest.approx(delta * math.expm1(worst.epsilon) / math.expm1(epsilon), abs=TIE)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 3), (3, 4), (4, 4)])
def test_delta_of_a_total_is_exact_by_enumeration(sizes: tuple[int, int]) -> None:
    """Two attributes: no mechanism for the other one has a larger delta, and the one with reveals attains it."""
    generator = np.random.default_rng(sizes)
    joint = random_joint(generator, sizes)
    own, other, delta = 0.7, 1.1, 0.02
    rows = joint / joint.sum(axis=1, keepdims=True)
    total = own + worst_case_cpl(rows, other).epsilon
    found = worst_deltas(joint, sizes, [own, other], [delta] * 2, [total, 1.8])
    assert found.attained == (True, True)
    rays, channel = _rays(sizes[1], math.exp(other)), revealing_channel(2, own, delta)
    most = max(
        _worst(
            [sum(max(0.0, float(o[0] * (rows[x] @ ray) - math.exp(total) * o[1] * (rows[z] @ ray))) for o in channel.T)
             for ray in rays],
            rays, math.exp(other), delta,
        )
        for x, z in itertools.permutations(range(sizes[0]), 2)
    )  # fmt: skip
    assert found.deltas[0] == pytest.approx(most, abs=TIE)


def _random_release(generator: np.random.Generator, k: int, epsilon: float, delta: float) -> Floats:
    """Return a channel that is (epsilon, delta)-LDP over events, tight in delta."""
    wild = generator.dirichlet(np.full(5, 0.3), k)
    high = 1.0
    low = 0.0
    for _ in range(50):  # the channel is mixed with pure noise until it fits
        middle = (low + high) / 2
        mixed = middle * wild + (1 - middle) / 5
        fits = channel_delta(mixed, np.eye(k), epsilon) <= delta
        low, high = (middle, high) if fits else (low, middle)
    found: Floats = low * wild + (1 - low) / 5
    return found


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), sizes=st.lists(st.integers(2, 4), min_size=2, max_size=4))
def test_no_release_exceeds_the_delta_of_a_total(seed: int, sizes: list[int]) -> None:
    generator = np.random.default_rng(seed)
    joint = random_joint(generator, tuple(sizes))
    epsilon, delta = 0.8, float(generator.choice([0.01, 0.1]))
    totals = total_leakage(joint, [any_mechanism_channel(k, epsilon) for k in sizes]).exact
    bound = worst_deltas(joint, sizes, [epsilon] * len(sizes), [delta] * len(sizes), totals.tolist())
    channels = [_random_release(generator, k, epsilon, delta) for k in sizes]
    assert (total_delta(joint, channels, totals.tolist()) <= bound.deltas + TIE).all()
    attaining = total_delta(joint, [revealing_channel(k, epsilon, delta) for k in sizes], totals.tolist())
    assert (attaining <= bound.deltas + TIE).all()
    if set(sizes) == {2}:
        assert bound.attained == (True,) * len(sizes)
        np.testing.assert_allclose(attaining, bound.deltas, atol=TIE)


def test_what_no_prior_excludes_is_attained() -> None:
    """Copies of one bit: the epsilons add up, and some release attains 1 - prod(1 - delta)."""
    joint = np.zeros((2, 2, 2))
    joint[0, 0, 0] = joint[1, 1, 1] = 0.5
    found = total_delta(joint, [revealing_channel(2, 0.5, 0.1)] * 3, 1.5)
    np.testing.assert_allclose(found, composed_delta([0.1] * 3), atol=TIE)
    assert composed_delta([0.1] * 3) == pytest.approx(1 - 0.9**3)
    assert composed_delta([1.0, 0.2]) == 1


def test_records_have_totals_with_deltas() -> None:
    records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [40, 10, 10, 40], axis=0)
    found = record_leakage(records, (2, 2), [any_mechanism_channel(2, 1.0)] * 2, delta=0.01)
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    for i, total in enumerate(found.totals):
        exact = total_delta(joint, [revealing_channel(2, 1.0, 0.01)] * 2, total.epsilon)
        assert total.delta == pytest.approx(exact[i], abs=TIE)
    assert found.prior_free_delta == pytest.approx(1 - 0.99**2)
    assert "delta" in found.text()
    assert not any(total.delta for total in record_leakage(records, (2, 2), 1.0).totals)


def test_an_attribute_that_is_not_released_adds_no_delta() -> None:
    records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [40, 10, 10, 40], axis=0)
    hidden = np.ones((2, 1))
    found = record_leakage(records, (2, 2), [hidden, any_mechanism_channel(2, 1.0)], delta=0.01)
    about_hidden, about_released = found.totals
    assert about_hidden.delta == pytest.approx(worst_case_cpl([[0.8, 0.2], [0.2, 0.8]], 1.0, 0.01).delta)
    assert about_released.delta == pytest.approx(0.01)
    assert found.prior_free_delta == pytest.approx(0.01)


def _any_mechanism(k: int, epsilon: float | Fraction) -> Floats:
    return any_mechanism_channel(k, float(epsilon))


def test_calibration_states_the_delta_of_its_totals() -> None:
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    found = calibrate(joint, 1.5, mechanism=_any_mechanism, delta=0.01)
    exact = total_delta(joint, [revealing_channel(2, float(found.epsilons[0]), 0.01)] * 2, found.totals[0].epsilon)
    assert found.totals[0].delta == pytest.approx(exact[0], abs=TIE)
    assert calibrate(joint, 1.5, mechanism=_any_mechanism).epsilons == found.epsilons
    split = calibrate(joint, 1.5, "prior-free", None, delta=0.01)
    assert split.totals[0].delta == pytest.approx(1 - 0.99**2)
    added = calibrate(joint, 1.5, "additive", None, delta=0.01)
    assert added.figure_deltas is not None
    pair = worst_case_cpl([[0.8, 0.2], [0.2, 0.8]], float(added.epsilons[0]), 0.01).delta
    assert added.figure_deltas == pytest.approx(0.01 + pair)
