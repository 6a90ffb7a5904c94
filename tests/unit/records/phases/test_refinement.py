"""Rounds of Corr-RR, and the two-phase RS+RFD."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable import OUE, SMP, SPL, Aggregate, CorrRR, SimulationRandomness
from deniable.errors import EmptyAggregateError, InvalidParameterError, MismatchError, NoIntervalError
from deniable.records import RSRFD
from deniable.records.phases.refinement import refine
from deniable.records.phases.two_phase import combine, precision_at_uniform
from deniable.records.pivot.copy_probabilities import joint_copy_probabilities, pairwise_copy_probabilities
from deniable.records.split import SPLPairs
from deniable.research.records.combined_rounds import combine_rounds
from tests.unit.records.pivot.corr_rr_laws import constant, some_matrix
from tests.unit.records.record_laws import records

SIZES = (3, 3)
EVERY = np.array(records(SIZES))
HELD = np.array([300, 20, 10, 30, 200, 40, 10, 40, 350])
TRUTH = ([0.33, 0.27, 0.40], [0.34, 0.26, 0.40])


def _first(rng: SimulationRandomness, epsilon: float = 2.0) -> Aggregate:
    return SPLPairs(SIZES, epsilon).simulate_aggregate(EVERY, HELD, rng)


# -------------------------------------------------------------------- refine


def test_the_first_refinement_is_learning() -> None:
    first = _first(SimulationRandomness(1))
    for method in ("pairwise", "joint"):
        ours, theirs = refine([first], 500, method), CorrRR.learn(first, 500, method)
        assert np.array(ours.copy_probabilities) == pytest.approx(np.array(theirs.copy_probabilities), abs=1e-12)
        assert (ours.sizes, ours.epsilon, ours.alignment) == (theirs.sizes, theirs.epsilon, theirs.alignment)
    assert refine([first], 500) == refine((first,), 500)


def test_later_rounds_learn_from_all_unbiased_estimates() -> None:
    """By hand: marginals are means by inverse variance at uniform frequencies, and P follows from them."""
    rng = SimulationRandomness(2)
    first, again = _first(rng), _first(rng)
    second = CorrRR(SIZES, 2.0, some_matrix(2)).simulate_aggregate(EVERY, HELD, rng)
    parts = [first.mechanism.estimate(first), second.mechanism.unmixed(second), again.mechanism.estimate(again)]
    marginals = []
    for j in range(2):
        weights = np.array([precision_at_uniform(part[j]) for part in parts])
        marginals.append(np.average([part[j].frequencies for part in parts], axis=0, weights=weights))
    found = refine([first, second, again], 700)
    assert np.array(found.copy_probabilities) == pytest.approx(pairwise_copy_probabilities(marginals, 700), abs=1e-12)
    found = refine([first, second, again], 700, "joint")
    assert np.array(found.copy_probabilities) == pytest.approx(joint_copy_probabilities(marginals, 700), abs=1e-12)


def test_what_a_round_cannot_tell_is_not_learned_from_it() -> None:
    """P = 1 everywhere shows only the mean of all marginals: this round is skipped."""
    rng = SimulationRandomness(3)
    first = _first(rng)
    blind = CorrRR(SIZES, 2.0, constant(2, 1.0)).simulate_aggregate(EVERY, HELD, rng)
    assert refine([first, blind], 500) == refine([first], 500)
    with pytest.raises(
        MismatchError, match="unbiased estimate of every attribute, but there is no such estimate of attribute 0"
    ):
        refine([blind], 500)


def test_more_rounds_learn_better() -> None:
    """Mean squared distance of P to that of the true marginals, after one and after four first phases."""
    rng, target = SimulationRandomness(4), pairwise_copy_probabilities(TRUTH, 1000)
    one, four = [], []
    for _ in range(60):
        rounds = [_first(rng, 4.0)]
        one.append(np.square(np.array(refine(rounds, 1000).copy_probabilities) - target).mean())
        for _ in range(3):
            rounds += [refine(rounds, 1000).simulate_aggregate(EVERY, HELD, rng), _first(rng, 4.0)]
        four.append(np.square(np.array(refine(rounds, 1000).copy_probabilities) - target).mean())
    assert np.mean(four) < 0.6 * np.mean(one)


# -------------------------------------------------------------------- combine_rounds


def test_weights_are_n_delta_squared() -> None:
    """By hand, for debiased and unmixed estimates; the weights do not depend on P."""
    rng, sizes = SimulationRandomness(5), (2, 4)
    every = np.array(records(sizes))
    held = np.arange(10, 10 + len(every)) * 20
    first = SPL(sizes, 1.0).simulate_aggregate([held.reshape(2, 4).sum(axis=1), held.reshape(2, 4).sum(axis=0)], rng)
    second = CorrRR(sizes, 1.0, some_matrix(2)).simulate_aggregate(every, held * 3, rng)
    for estimator in ("estimate", "debiased", "unmixed"):
        both = combine_rounds([first, second], estimator)
        other = getattr(second.mechanism, estimator)(second)
        for j, k in enumerate(sizes):
            # For GRR, p - q = (e^epsilon - 1)/(e^epsilon + k - 1).
            gains = [(math.exp(e) - 1) / (math.exp(e) + k - 1) for e in (0.5, 1.0)]
            weights = np.array([first.n * gains[0] ** 2, second.n * gains[1] ** 2])
            expected = np.average(
                [first.mechanism.estimate(first)[j].frequencies, other[j].frequencies], axis=0, weights=weights
            )
            assert both[j].frequencies == pytest.approx(expected, abs=1e-12)
            assert both[j].is_raw == (estimator != "debiased")
            assert both[j].contributors == first.n + second.n


def test_rounds_learned_from_each_other_are_unbiased_together() -> None:
    """Means over 300 surveys of SPL, Corr-RR, SPL, Corr-RR, unmixed: within 5 standard errors, 95% intervals too."""
    rng, found, hits = SimulationRandomness(6), [], np.zeros(3)
    for _ in range(300):
        rounds = [_first(rng, 4.0)]
        for again in (True, False):
            learned = refine(rounds, 1000).copy_probabilities
            # This stays away from certain copies, for which unmixing has no useful mean.
            damped = tuple(tuple(p if j == s else 0.6 * p for s, p in enumerate(row)) for j, row in enumerate(learned))
            rounds.append(CorrRR(SIZES, 4.0, damped).simulate_aggregate(EVERY, HELD, rng))
            rounds += [_first(rng, 4.0)] * again
        both = combine_rounds(rounds, "unmixed")[0]
        low, high = both.interval()
        found.append(both.frequencies)
        hits += (low <= TRUTH[0]) & (TRUTH[0] <= high)
    error = np.std(found, axis=0) / math.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - TRUTH[0]) < 5 * error).all()
    assert (hits >= 265).all()  # binomial(300, .95) is below 265 with probability 1e-6
    assert (hits < 300).all()


def test_refuses() -> None:
    rng = SimulationRandomness(7)
    first = _first(rng)
    other = SPL((2, 2), 2.0).simulate_aggregate([[1, 1], [1, 1]], rng)
    for function in (lambda rounds: refine(rounds, 10), combine_rounds):
        with pytest.raises(InvalidParameterError, match="at least one round, got none"):
            function([])
        with pytest.raises(MismatchError, match="the same numbers of categories"):
            function([first, other])
        with pytest.raises(EmptyAggregateError):
            function([first, Aggregate.empty(first.mechanism)])
    with pytest.raises(MismatchError, match="the same epsilon"):
        refine([first, _first(rng, 1.0)], 10)
    assert combine_rounds([first, _first(rng, 1.0)])[0].is_raw
    with pytest.raises(InvalidParameterError, match="estimator must be one of"):
        combine_rounds([first], "best")
    with pytest.raises(InvalidParameterError, match="n2 must be >= 2"):
        refine([first], 1)
    oue = OUE(k=3, epsilon=1.0)
    with pytest.raises(MismatchError, match="mechanisms for records"):
        combine_rounds([oue.aggregate(oue.randomize([1], rng))])


# -------------------------------------------------------------------- RS+RFD in two phases


def test_priors_are_the_clipped_marginals() -> None:
    spl = RSRFD.phase_one((3, 2), 1.0)
    assert spl == SPL((3, 2), 1.0)
    first = spl.aggregate([[0, 0], [0, 1], [0, 0], [1, 0]])
    raw = [estimate.frequencies for estimate in spl.estimate(first).values()]
    assert raw[0][2] < 0 < 1 < raw[0][0]
    learned = RSRFD.learn(first, 100)
    for prior, one in zip(learned.priors, raw, strict=True):
        kept = [min(max(value, 0.0), 1.0) for value in one.tolist()]
        assert prior == pytest.approx([value / sum(kept) for value in kept], abs=1e-15)
    assert (learned.sizes, learned.epsilon) == ((3, 2), 1.0)
    assert learned == RSRFD.learn(first, 2)
    pairs = SPLPairs((3, 2), 1.0)
    assert RSRFD.learn(pairs.aggregate([[0, 0], [0, 1], [0, 0], [1, 0]]), 100) == learned


def test_the_paper_s_variant_clips_phase_two_before_combining() -> None:
    spl, mechanism = SPL((3, 3), 1.0), RSRFD((3, 3), 1.0, ((0.6, 0.3, 0.1), (0.2, 0.3, 0.5)))
    first = spl.aggregate([[0, 0], [1, 2], [2, 2], [1, 0]])
    second = mechanism.aggregate([[0, 0]] * 10 + [[1, 2]] * 2)
    raw, clipped = mechanism.estimate(second), mechanism.clipped(second)
    assert raw[0].is_raw
    for j in range(2):
        kept = np.clip(raw[j].frequencies, 0, 1)
        assert clipped[j].frequencies == pytest.approx(kept / kept.sum(), abs=1e-15)
        with pytest.raises(NoIntervalError, match=r"RS\+RFD clipped and renormalised \(biased\)"):
            clipped[j].interval()
    both = combine(spl.estimate(first), clipped)
    expected = (4 * spl.estimate(first)[0].frequencies + 12 * clipped[0].frequencies) / 16
    assert both[0].frequencies == pytest.approx(expected, abs=1e-12)
    assert combine(spl.estimate(first), raw)[0].is_raw


def test_rsrfd_refuses_to_learn_from_less() -> None:
    spl = SPL((2, 2), 1.0)
    with pytest.raises(EmptyAggregateError):
        RSRFD.learn(Aggregate.empty(spl), 10)
    with pytest.raises(InvalidParameterError, match="n2 must be >= 1"):
        RSRFD.learn(spl.aggregate([[0, 0]]), 0)
    smp = SMP((2, 2), 1.0)
    with pytest.raises(EmptyAggregateError, match="no reports about attribute 1"):
        RSRFD.learn(smp.aggregate((np.array([0]), np.array([1]))), 10)
