from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

from deniable import GRR, SMP, SPL, Aggregate, SimulationRandomness
from deniable.errors import EmptyAggregateError, InvalidInputError, InvalidParameterError, MismatchError
from deniable.records.pivot.copy_probabilities import learn_copy_probabilities
from deniable.records.pivot.corr_rr import CorrRR, joint_copy_probabilities, pairwise_copy_probabilities

Floats = NDArray[np.float64]


def _marginals(rng: np.random.Generator, d: int, k: int) -> list[Floats]:
    """Return marginals as from phase one: with sum one, and sometimes negative."""
    noise = rng.normal(0, 0.1, (d, k))
    return list(rng.dirichlet(np.ones(k), d) + noise - noise.mean(axis=1, keepdims=True))


def _printed_minimiser(f_j: Floats, f_s: Floats, n2: int, epsilon: float) -> float:
    """p_y by Proposition 1 with the minus sign of its proof, then the paper's comparison with the end points."""
    k = len(f_j)
    q, delta = 1 / (math.exp(epsilon) + k - 1), (math.exp(epsilon) - 1) / (math.exp(epsilon) + k - 1)
    alpha, beta = 1 - 1 / n2, -2 * f_j + (1 - 2 * q) / (n2 * delta)
    c0, c1 = 0.5 * (f_j + (1 - f_s) / (k - 1)), 0.5 * (k * f_s - 1) / (k - 1)

    def average(p: float) -> float:
        mu = c0 + c1 * p
        variance = (q + delta * mu) * (1 - q - delta * mu) / (n2 * delta**2)
        return float(np.mean(variance + (mu - f_j) ** 2))

    found = -float(c1 @ (2 * alpha * c0 + beta)) / (2 * alpha * float(c1 @ c1))
    return min((average(p), p) for p in (0.0, 1.0, *([found] if 0 <= found <= 1 else [])))[1]


def test_the_pairwise_rule_is_proposition_one() -> None:
    """Whatever epsilon is, on 500 random pairs."""
    rng = np.random.default_rng(1)
    interior = 0
    for _ in range(500):
        k, n2 = int(rng.integers(2, 9)), int(rng.integers(2, 5000))
        f_j, f_s = _marginals(rng, 2, k)
        expected = _printed_minimiser(f_j, f_s, n2, float(rng.uniform(0.05, 5)))
        found = pairwise_copy_probabilities([f_j, f_s], n2)
        assert found[0, 1] == pytest.approx(expected, abs=1e-9)
        assert found[1, 0] == pytest.approx(_printed_minimiser(f_s, f_j, n2, 1.0), abs=1e-9)
        assert (np.diag(found) == 1).all()
        interior += 0 < found[0, 1] < 1
    assert interior > 150


def test_rows_are_targets_and_the_algorithm_prints_them_as_columns() -> None:
    marginals = [[0.4, 0.3, 0.2, 0.1], [0.3, 0.3, 0.2, 0.2], [0.1, 0.2, 0.2, 0.5]]
    found = pairwise_copy_probabilities(marginals, 10_000)
    # For target 1 from pivot 0, by hand: <g0, g1>/<g0, g0> = .02/.05, and P = (1 + 3 x .4 x 10001/9999)/4.
    assert found[1, 0] == pytest.approx((1 + 3 * 0.4 * 10001 / 9999) / 4, rel=1e-12)
    assert found[0, 1] == 1.0
    # Opposed marginals have <g0, g2>/<g0, g0> < -1/3, and are never copied.
    assert found[2, 0] == 0.0
    printed = pairwise_copy_probabilities(marginals, 10_000, as_printed=True)
    assert np.array_equal(printed, found.T)
    assert not np.array_equal(printed, found)


def test_a_uniform_pivot_says_nothing() -> None:
    found = pairwise_copy_probabilities([[0.1] * 10, [0.5, 0.5] + [0.0] * 8], 100)
    assert found[1, 0] == 0.1
    assert found[0, 1] == pytest.approx(0.1, abs=1e-12)
    assert joint_copy_probabilities([[0.1] * 10] * 3, 100)[0].tolist() == pytest.approx([1, 0.1, 0.1])


# -------------------------------------------------------------------- the preprint's rule


def _preprint_objective(p: Floats, f_j: Floats, f_s: Floats, n2: int, epsilon: float) -> Floats:
    """The preprint's Theorem 4, summed over values, at every p: float64[p]."""
    delta = (math.exp(epsilon) - 1) / (math.exp(epsilon) + len(f_j) - 1)
    d0, a0, e = 1 - f_j - f_s, f_j - f_s, 2 * f_s - 1
    bias = (d0 + p[:, np.newaxis] * e) / 2
    b = delta / 2 * (a0 + p[:, np.newaxis] * e)
    return np.asarray((bias**2 + (0.25 - b**2) / (n2 * delta**2)).sum(axis=1))


def test_the_preprints_rule_minimises_its_objective() -> None:
    """Against all p on a grid, whatever epsilon is, on 300 random pairs in both directions."""
    rng, grid = np.random.default_rng(6), np.linspace(0, 1, 2001)
    chosen = []
    for _ in range(300):
        k, n2, epsilon = int(rng.integers(2, 9)), int(rng.integers(2, 5000)), float(rng.uniform(0.05, 5))
        pair = _marginals(rng, 2, k)
        if rng.random() < 0.5:  # this is the noise of a small phase one, which pushes p away from one
            noise = rng.normal(0, 1.5, (2, k))
            pair = [share + one for share, one in zip(pair, noise - noise.mean(axis=1, keepdims=True), strict=True)]
        found = pairwise_copy_probabilities(pair, n2, rule="preprint")
        assert np.diag(found).tolist() == [1, 1]
        for j, s in ((0, 1), (1, 0)):
            values = _preprint_objective(grid, pair[j], pair[s], n2, epsilon)
            assert found[j, s] == pytest.approx(grid[values.argmin()], abs=grid[1])
            assert (
                _preprint_objective(np.array([found[j, s]]), pair[j], pair[s], n2, epsilon)[0] <= values.min() + 1e-12
            )
            chosen.append(found[j, s])
    assert min(chosen.count(0), chosen.count(1), sum(0 < p < 1 for p in chosen)) > 20


def test_the_rules_agree_for_two_values_and_for_no_more() -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        binary = _marginals(rng, 3, 2)
        popets, preprint = (pairwise_copy_probabilities(binary, 500, rule=rule) for rule in ("popets", "preprint"))
        assert preprint == pytest.approx(popets, abs=1e-9)
    # A uniform binary pivot says nothing. If the pivot has three values it is copied, and the two rules differ.
    assert pairwise_copy_probabilities([[0.7, 0.3], [0.5, 0.5]], 500, rule="preprint")[0, 1] == 0.5
    three = [[0.4, 0.4, 0.2], [1 / 3] * 3]
    assert pairwise_copy_probabilities(three, 500)[0, 1] == pytest.approx(1 / 3)
    assert pairwise_copy_probabilities(three, 500, rule="preprint")[0, 1] == 1.0


@pytest.mark.parametrize(("k", "right"), [(2, True), (3, False), (10, False)])
def test_the_preprints_bias_is_right_for_two_values_only(k: int, right: bool) -> None:
    """A(v) = (d0 + p e)/2 beside all reports of all contributors: pivot, GRR, copy or another value."""
    rng, p, epsilon = np.random.default_rng(k), 0.6, 1.0
    f_j, f_s = rng.dirichlet(np.ones(k), 2)
    grr = np.full((k, k), 1 / (math.exp(epsilon) + k - 1))
    np.fill_diagonal(grr, math.exp(epsilon) / (math.exp(epsilon) + k - 1))
    copies = np.full((k, k), (1 - p) / (k - 1))
    np.fill_diagonal(copies, p)
    reported = (f_j @ grr + f_s @ grr @ copies) / 2
    bias = (reported - grr[0, 1]) / (grr[0, 0] - grr[0, 1]) - f_j
    stated = (1 - f_j - f_s + p * (2 * f_s - 1)) / 2
    assert bool(np.abs(bias - stated).max() < 1e-12) is right


def test_the_preprints_rule_has_one_domain_and_no_printed_indices() -> None:
    unequal = [[0.6, 0.4], [0.5, 0.3, 0.2]]
    with pytest.raises(
        InvalidParameterError,
        match=r'rule must be "popets" for attributes with different numbers of categories.* sizes=2, 3',
    ):
        pairwise_copy_probabilities(unequal, 100, rule="preprint")
    with pytest.raises(InvalidParameterError, match="rule must be one of popets, preprint, got rule=“v1”"):
        pairwise_copy_probabilities([[0.5, 0.5]] * 2, 100, rule="v1")
    with pytest.raises(
        InvalidParameterError, match="as_printed must be false for method=“pairwise” with rule=“preprint”"
    ):
        pairwise_copy_probabilities([[0.5, 0.5]] * 2, 100, rule="preprint", as_printed=True)
    with pytest.raises(InvalidParameterError, match='rule must be "popets" for method="joint"'):
        learn_copy_probabilities([[0.5, 0.5]] * 2, 100, "joint", rule="preprint")
    with pytest.raises(InvalidParameterError, match="n2 must be >= 2"):
        pairwise_copy_probabilities([[0.5, 0.5]] * 2, 1, rule="preprint")


def _total_error(gains: Floats, j: int, marginals: list[Floats], n2: int, epsilon: float) -> float:
    """Sum over v of Theorem 5's error of target j, with 1/d for the printed 1/2."""
    k, d = len(marginals[0]), len(marginals)
    q, delta = 1 / (math.exp(epsilon) + k - 1), (math.exp(epsilon) - 1) / (math.exp(epsilon) + k - 1)
    g = np.stack(marginals) - 1 / k
    mu = 1 / k + (g[j] + gains @ np.delete(g, j, axis=0)) / d
    pi = q + delta * mu
    return float(np.sum(pi * (1 - pi) / (n2 * delta**2) + (mu - marginals[j]) ** 2))


@pytest.mark.parametrize(("d", "k"), [(2, 3), (3, 4), (4, 6), (5, 3), (8, 4)])
def test_the_joint_rule_minimises_the_error(d: int, k: int) -> None:
    """Against a general bounded minimiser started at the pairwise rule, on theorem 5 itself."""
    rng = np.random.default_rng(d)
    for n2 in (2, 50, 10_000):
        marginals = _marginals(rng, d, k)
        joint, pairwise = joint_copy_probabilities(marginals, n2), pairwise_copy_probabilities(marginals, n2)
        for j in range(d):
            others = [s for s in range(d) if s != j]
            gains, start = ((k * found[j, others] - 1) / (k - 1) for found in (joint, pairwise))
            bounds = [(-1 / (k - 1), 1.0)] * (d - 1)
            best = optimize.minimize(
                _total_error, start, (j, marginals, n2, 1.0), bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15}
            )
            reached = _total_error(gains, j, marginals, n2, 1.0)
            assert reached <= best.fun * (1 + 1e-9)
            assert reached <= _total_error(start, j, marginals, n2, 1.0) * (1 + 1e-12)
            if d == 2:
                assert joint[j] == pytest.approx(pairwise[j], abs=1e-12)


def test_the_joint_rule_has_least_norm_where_marginals_are_collinear() -> None:
    # With four equal pivots the pulls add up, so each takes its part: a = ((d-1) n2 + 1)/((n2 - 1)(d - 1)) clipped to
    # 1.
    same = [np.array([0.4, 0.3, 0.3])] * 5
    assert joint_copy_probabilities(same, 1000) == pytest.approx(np.ones((5, 5)), abs=1e-9)
    # For a target half as far from uniform, 2 (4 x 1000 + 1)/999 shared by four would be .5006 each.
    half = [1 / 3 + (np.array([0.4, 0.3, 0.3]) - 1 / 3) / 2, *same[1:]]
    gain = 4001 / 999 / 2 / 4
    assert joint_copy_probabilities(half, 1000)[0, 1:] == pytest.approx([(1 + 2 * gain) / 3] * 4, abs=1e-8)
    # There are more pivots than marginals that sum to one can distinguish. The result is the pseudo-inverse if it stays
    # inside of the bounds.
    rng = np.random.default_rng(3)
    for d in (4, 9):
        marginals = [1 / 3 + 0.02 * rng.normal(size=3) for _ in range(d)]
        marginals = [m - m.mean() + 1 / 3 for m in marginals]
        marginals[0] = 1 / 3 + (marginals[0] - 1 / 3) / 300
        columns = np.stack([m - 1 / 3 for m in marginals[1:]], axis=1)
        expected = np.linalg.pinv(columns, rcond=1e-9) @ (((d - 1) * 1000 + 1) / 999 * (marginals[0] - 1 / 3))
        assert np.abs(expected).max() < 0.5
        assert joint_copy_probabilities(marginals, 1000)[0, 1:] == pytest.approx((1 + 2 * expected) / 3, abs=1e-7)


@pytest.mark.parametrize("method", ["pairwise", "joint"])
def test_many_attributes(method: str) -> None:
    marginals = _marginals(np.random.default_rng(5), 50, 16)
    found = learn_copy_probabilities(marginals, 10_000, method)
    assert found.shape == (50, 50)
    assert ((found >= 0) & (found <= 1)).all()


# -------------------------------------------------------------------- domains that differ


def test_domains_that_differ_regress_on_the_copy() -> None:
    """A copy of (.6, .4) in groups {0}, {1..4} is (.6, .1, .1, .1, .1); of the uniform (.5, .125, ...)."""
    own: Any = ((1, 0, (0, 1, 1, 1, 1)),)
    target = np.array([0.25, 0.2, 0.2, 0.2, 0.15])
    found = pairwise_copy_probabilities([[0.6, 0.4], target], 100, alignment=own)
    image = np.array([0.1, -0.025, -0.025, -0.025, -0.025])
    gain = 101 / 99 * (image @ (target - 0.2)) / (image @ image)
    assert found[1, 0] == pytest.approx((1 + gain) / 2, rel=1e-12)
    # In the other direction, the mapped target (.25, .75) pulls (.6, .4) away from it.
    assert found[0, 1] == pytest.approx((1 + 101 / 99 * (-0.05 / 0.125)) / 2, rel=1e-12)
    assert joint_copy_probabilities([[0.6, 0.4], target], 100, alignment=own) == pytest.approx(found, abs=1e-12)


# -------------------------------------------------------------------- from an aggregate


def _phase_one() -> Aggregate:
    spl: SPL = CorrRR.phase_one((4, 4, 4), "0.3")
    return spl.simulate_aggregate([[900, 50, 30, 20], [400, 300, 200, 100], [250] * 4], SimulationRandomness(2))


def test_learning_is_a_pure_function_of_phase_one() -> None:
    first = _phase_one()
    assert first.mechanism == SPL((4, 4, 4), 0.3)
    learned = CorrRR.learn(first, 5000)
    assert learned == CorrRR.learn(first, 5000)
    assert (learned.sizes, learned.epsilon, learned.alignment) == ((4, 4, 4), 0.3, ())
    raw = [part.frequencies for part in first.mechanism.estimate(first).values()]
    assert np.array_equal(np.array(learned.copy_probabilities), pairwise_copy_probabilities(raw, 5000))
    joint = CorrRR.learn(first, 5000, "joint")
    assert np.array_equal(np.array(joint.copy_probabilities), joint_copy_probabilities(raw, 5000))
    printed = CorrRR.learn(first, 5000, as_printed=True)
    assert printed.copy_probabilities == tuple(zip(*learned.copy_probabilities, strict=True))
    preprint = CorrRR.learn(first, 5000, rule="preprint")
    assert np.array_equal(
        np.array(preprint.copy_probabilities), pairwise_copy_probabilities(raw, 5000, rule="preprint")
    )
    assert preprint != learned


def test_learning_refuses() -> None:
    first = _phase_one()
    with pytest.raises(InvalidParameterError, match="n2 must be >= 2, got n2=1"):
        CorrRR.learn(first, 1)
    with pytest.raises(InvalidParameterError, match="method must be one of pairwise, joint, got method=“best”"):
        CorrRR.learn(first, 10, "best")
    with pytest.raises(InvalidParameterError, match="as_printed must be false"):
        CorrRR.learn(first, 10, "joint", as_printed=True)
    with pytest.raises(EmptyAggregateError):
        CorrRR.learn(Aggregate.empty(first.mechanism), 10)
    grr = GRR(4, 1.0)
    with pytest.raises(MismatchError, match="phase one must use a mechanism for records"):
        CorrRR.learn(grr.aggregate([1]), 10)
    biased = CorrRR((4, 4, 4), 1.0, ((1.0,) * 3,) * 3)
    with pytest.raises(MismatchError, match="phase one must have unbiased estimates"):
        CorrRR.learn(biased.aggregate([[1, 2, 3]]), 10)
    smp = SMP((3, 3), 1.0)
    with pytest.raises(EmptyAggregateError, match="no reports about attribute 1"):
        CorrRR.learn(smp.aggregate((np.array([0, 0]), np.array([1, 2]))), 10)
    for marginals, message in (
        ([], "marginals must have one array"),
        ([[0.5, 0.5], [math.nan, 1]], r"marginals\[1\] must be at least two finite"),
        ([[1.0]], r"marginals\[0\] must be at least two"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            pairwise_copy_probabilities(marginals, 10)
