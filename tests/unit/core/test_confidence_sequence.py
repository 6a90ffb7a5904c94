"""Anytime-valid intervals against enumerations of all possible reports."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deniable import GRR, OUE, SMP, SimulationRandomness, SubsetSelection
from deniable.core import confidence_sequence
from deniable.core.estimate import affine_estimate


def _ever_missed(mechanism: Any, f: float, planned: int, *, one_look: bool = False, most: int = 120) -> float:
    """Return the probability that at some n <= most a 90% interval does not contain f, over all paths of the count."""
    p, q = map(float, mechanism.support_probabilities)
    pi = q + (p - q) * f
    alive = np.array([1.0])
    for n in range(1, most + 1):
        alive = np.append(alive * (1 - pi), 0.0) + np.append(0.0, alive * pi)
        counts = np.arange(n + 1)
        if one_look:
            lower, upper = affine_estimate(counts, n, p, q).interval(0.9, target="population")
        else:
            lower, upper = confidence_sequence.bounds(counts, n, np.array(p), np.array(q), 3, 0.1, planned)
        alive[(lower > f + 1e-12) | (upper < f - 1e-12)] = 0.0
    return 1.0 - float(alive.sum())


@pytest.mark.parametrize("mechanism", [GRR(k=3, epsilon=2.0), OUE(k=3, epsilon=1.0)], ids=repr)
def test_all_looks_hold_together_over_every_path(mechanism: Any) -> None:
    """Ville's inequality, by dynamic programming over all paths of 120 reports; one-look intervals violate it."""
    for f in (0.0, 0.2, 0.5, 1.0):
        for planned in (20, 1000):
            assert _ever_missed(mechanism, f, planned) <= 0.1
    assert _ever_missed(mechanism, 0.2, 20) > 0.005
    assert _ever_missed(mechanism, 0.2, 20, one_look=True) > 0.15


def test_the_ratio_is_a_martingale() -> None:
    """E M_{n+1} = M_n under pi, by hand from the definition; the interval ends where M = 1/alpha."""
    a, b, pi, alpha = 1.3, 2.4, 0.35, 0.05

    def log_m(c: int, n: int, at: float) -> float:
        beta = math.lgamma(a + c) + math.lgamma(b + n - c) - math.lgamma(a + b + n)
        start = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
        return beta - start - c * math.log(at) - (n - c) * math.log1p(-at)

    for n, c in ((5, 0), (40, 13), (40, 40)):
        mean = pi * math.exp(log_m(c + 1, n + 1, pi)) + (1 - pi) * math.exp(log_m(c, n + 1, pi))
        assert mean == pytest.approx(math.exp(log_m(c, n, pi)), rel=1e-12)
        lower, upper = (float(end[0]) for end in confidence_sequence.sequence(np.array([c]), n, (a, b), alpha))
        for end in (lower, upper):
            if 0 < end < 1:
                assert log_m(c, n, end) == pytest.approx(math.log(1 / alpha), abs=1e-9)
    assert confidence_sequence.sequence(np.array([0]), 5, (a, b), alpha)[0] == 0.0
    assert confidence_sequence.sequence(np.array([40]), 40, (a, b), alpha)[1] == 1.0


def test_the_prior_is_public_and_its_choice_narrows_the_interval() -> None:
    mechanism = SubsetSelection(k=16, epsilon=1.0)
    first = mechanism.estimate(mechanism.simulate_aggregate([500] * 16, SimulationRandomness(1)))
    lower, upper = first.interval(target="population", anytime=True, planned=8000)
    p, q = map(float, mechanism.support_probabilities)
    prior = confidence_sequence.best_prior(p, q, 16, 0.05, 8000)
    assert first.support is not None
    by_hand = confidence_sequence.sequence(first.support.counts, 8000, prior, 0.05)
    assert lower == pytest.approx(np.clip((by_hand[0] - q) / (p - q), 0, 1))
    one = np.diff(first.interval(target="population"), axis=0).mean()
    assert 1.3 < (upper - lower).mean() / one < 2.0
    for size in (0.5, 256.0):
        other = confidence_sequence.sequence(
            first.support.counts, 8000, (size * prior[0] / sum(prior), size * prior[1] / sum(prior)), 0.05
        )
        assert (other[1] - other[0]).mean() >= (by_hand[1] - by_hand[0]).mean() - 1e-12
    together = first.interval(target="population", anytime=True, planned=8000, simultaneous=True)
    assert (together[1] - together[0] > upper - lower).all()


def test_looks_of_a_sampled_attribute_are_given_its_reports() -> None:
    smp = SMP(sizes=(2, 3), epsilon=2.0)
    records = np.array([[0, 1], [1, 2]] * 300)
    estimate = smp.estimate(smp.aggregate(smp.randomize(records, SimulationRandomness(1))))[1]
    p, q = map(float, smp.support_probabilities[1])
    assert estimate.support is not None
    alone = affine_estimate(estimate.support.counts, estimate.n, p, q, k=3)
    options: dict[str, Any] = {"target": "population", "anytime": True, "planned": 600}
    assert np.array_equal(estimate.interval(**options), replace(alone, contributors=600).interval(**options))
