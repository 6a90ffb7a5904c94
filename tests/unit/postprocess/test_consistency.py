"""Consistency: simplex, Norm-Sub, Base-Cut, and clip and normalise."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy import optimize

from deniable import GRR, CountMeanSketch, Estimate, HeavyHitters, SimulationRandomness
from deniable.errors import (
    InvalidParameterError,
    NoIntervalError,
)
from deniable.postprocess import (
    base_cut,
    clip_normalize,
    norm_sub,
    simplex,
)


def an_estimate(frequencies: Any, n: int = 100, noise: float = 1.0) -> Estimate:
    values = np.asarray(frequencies, dtype=np.float64)
    return Estimate(frequencies=values, n=n, noise_absent=np.array(noise), noise_present=np.array(noise))


FREQUENCIES = st.lists(st.floats(-5, 5), min_size=2, max_size=30)
WILD = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=30)


# ---------------------------------------------------------------- simplex and Norm-Sub


@given(FREQUENCIES | WILD)
def test_simplex_is_a_distribution(frequencies: list[float]) -> None:
    result = simplex(an_estimate(frequencies)).frequencies
    assert (result >= 0).all()
    assert result.sum() == pytest.approx(1, abs=1e-12)


@given(FREQUENCIES)
def test_simplex_satisfies_the_conditions_of_the_nearest_point(frequencies: list[float]) -> None:
    # x is the projection of f exactly if one delta has x - f = delta where x > 0, and f + delta <= 0 where x = 0.
    given_ = np.array(frequencies)
    result = simplex(an_estimate(given_)).frequencies
    shifts = (result - given_)[result > 0]
    assert np.ptp(shifts) < 1e-12
    assert (given_[result == 0] + shifts.mean() <= 1e-12).all()


@given(FREQUENCIES, st.integers(0, 2**32))
def test_no_other_distribution_is_nearer(frequencies: list[float], seed: int) -> None:
    given_ = np.array(frequencies)
    nearest = np.linalg.norm(simplex(an_estimate(given_)).frequencies - given_)
    others = np.random.default_rng(seed).dirichlet(np.full(len(given_), 0.3), 50)
    assert (nearest <= np.linalg.norm(others - given_, axis=1) + 1e-12).all()


@given(FREQUENCIES)
def test_simplex_agrees_with_a_root_search_for_the_shift(frequencies: list[float]) -> None:
    given_ = np.array(frequencies)
    delta = optimize.brentq(lambda d: np.maximum(given_ + d, 0).sum() - 1, -6, 6, xtol=1e-14, rtol=1e-14)
    np.testing.assert_allclose(simplex(an_estimate(given_)).frequencies, np.maximum(given_ + delta, 0), atol=1e-10)


@given(FREQUENCIES | WILD)
def test_simplex_keeps_the_order_and_is_idempotent(frequencies: list[float]) -> None:
    estimate = an_estimate(frequencies)
    result = simplex(estimate)
    order = np.argsort(estimate.frequencies, kind="stable")
    assert (np.diff(result.frequencies[order]) >= 0).all()
    np.testing.assert_allclose(simplex(result).frequencies, result.frequencies, atol=1e-12)


def test_simplex_leaves_a_distribution_alone() -> None:
    np.testing.assert_allclose(simplex(an_estimate([0.2, 0.5, 0.3])).frequencies, [0.2, 0.5, 0.3], atol=1e-15)


def test_simplex_of_huge_estimates_does_not_cancel() -> None:
    # Estimates of tiny epsilon are of the order of 1e6, so the shift must not lose the digits of the result.
    result = simplex(an_estimate([1e9 + 0.25, 1e9, -3e9])).frequencies
    np.testing.assert_allclose(result, [0.625, 0.375, 0], atol=1e-6)
    assert result.sum() == pytest.approx(1, abs=1e-15)


def clip_then_shift(frequencies: NDArray[Any]) -> NDArray[Any]:
    """Norm-Sub as iterated in practice: clip, then spread what is missing over the positive, until it sums to one."""
    values = frequencies.copy()
    while abs(np.maximum(values, 0).sum() - 1) > 1e-13 or (values < 0).any():
        values = np.maximum(values, 0)
        values[values > 0] += (1 - values.sum()) / (values > 0).sum()
    return values


@given(FREQUENCIES)
def test_norm_sub_is_the_projection(frequencies: list[float]) -> None:
    estimate = an_estimate(frequencies)
    np.testing.assert_array_equal(norm_sub(estimate).frequencies, simplex(estimate).frequencies)


@given(FREQUENCIES.filter(lambda values: sum(max(v, 0) for v in values) >= 1))
def test_norm_sub_is_the_iteration_where_the_positive_sum_to_one_or_more(frequencies: list[float]) -> None:
    given_ = np.array(frequencies)
    np.testing.assert_allclose(norm_sub(an_estimate(given_)).frequencies, clip_then_shift(given_), atol=1e-9)


def test_norm_sub_follows_the_definition_where_the_iteration_does_not() -> None:
    given_ = np.array([0.5, 0.1, -0.01])
    np.testing.assert_allclose(clip_then_shift(given_), [0.7, 0.3, 0.0])
    # The sum of max(f + delta, 0) is one for delta = 0.41/3.
    np.testing.assert_allclose(norm_sub(an_estimate(given_)).frequencies, given_ + 0.41 / 3)


# ---------------------------------------------------------------- Base-Cut, clip and normalise


def test_base_cut_keeps_what_exceeds_the_bonferroni_threshold() -> None:
    estimate = an_estimate([0.3, 0.2499, -0.5, 0.2505], n=100, noise=1.0)  # sd = 0.1, k = 4
    threshold = NormalDist().inv_cdf(1 - 0.05 / 4) * 0.1
    assert threshold == pytest.approx(0.22414, abs=1e-5)
    np.testing.assert_array_equal(base_cut(estimate).frequencies, [0.3, 0.2499, 0, 0.2505])
    strict = base_cut(estimate, confidence=0.976)  # z(1 - 0.024/4) = 2.5121
    np.testing.assert_array_equal(strict.frequencies, [0.3, 0, 0, 0])
    assert strict.processing == ("base-cut (97.6%)",)


def test_base_cut_rarely_keeps_a_category_that_nobody_holds() -> None:
    grr, rng, runs = GRR(k=5, epsilon=1.0), SimulationRandomness(5), 2000
    counts = np.array([20_000, 0, 0, 0, 0])
    wrong = 0
    for _ in range(runs):
        cut = base_cut(grr.estimate(grr.simulate_aggregate(counts, rng)), confidence=0.9)
        wrong += bool(cut.frequencies[1:].any())
    # Four of five comparisons at level 0.1/5 each fail with at most 0.08. The z bound is one-sided at 1e-6. Without
    # Bonferroni the rate would be about 1 - 0.9^4 = 0.34.
    bound = 0.08 + 4.76 * math.sqrt(0.08 * 0.92 / runs)
    assert 0.03 < wrong / runs < bound


def test_base_cut_refuses_a_processed_estimate() -> None:
    with pytest.raises(NoIntervalError, match="got an estimate that was already processed by “norm-sub”"):
        base_cut(norm_sub(an_estimate([0.5, 0.6])))


@pytest.mark.parametrize("confidence", [0, 1, -0.5, math.nan, "0.9"])
def test_base_cut_confidence_is_checked(confidence: Any) -> None:
    with pytest.raises(InvalidParameterError, match="confidence must be"):
        base_cut(an_estimate([0.5, 0.6]), confidence=confidence)


def test_clip_normalize() -> None:
    result = clip_normalize(an_estimate([1.5, -0.2, 0.25]))
    np.testing.assert_allclose(result.frequencies, [0.8, 0, 0.2])


def test_clip_normalize_of_nothing_positive_is_uniform() -> None:
    np.testing.assert_array_equal(clip_normalize(an_estimate([-1.0, 0, 0, -2])).frequencies, np.full(4, 0.25))


# ---------------------------------------------------------------- estimates of some categories


def estimates_of_some_categories() -> dict[str, Estimate]:
    rng = SimulationRandomness(1)
    grr, sketch, hunt = GRR(5, 2.0), CountMeanSketch(k=2**32, epsilon=2.0), HeavyHitters(epsilon=4.0, max_bytes=4)
    whole = grr.aggregate(np.repeat(range(5), 100))
    supported = sketch.count_support(sketch.randomize(np.full(100, 7), rng), [7, 5])
    found = hunt.aggregate(hunt.randomize(["a"] * 3000, rng))
    return {
        "queries": grr.estimate(whole, queries=[0, 3]),
        "top": grr.estimate(whole).top(2),
        "counted supports": sketch.estimate_support(supported, 100, [7, 5]),
        "search": hunt.estimate(found),
        "given strings": hunt.estimate(found, ["a", "b"]),
    }


@pytest.mark.parametrize("step", [simplex, norm_sub, base_cut, clip_normalize])
@pytest.mark.parametrize(("case", "estimate"), estimates_of_some_categories().items())
def test_steps_refuse_estimates_of_some_categories(step: Any, case: str, estimate: Estimate) -> None:
    # The listed frequencies would be forced to sum to one, although other categories have a share, too.
    with pytest.raises(InvalidParameterError, match=f"got an estimate of only {estimate.k} of the categories"):
        step(estimate)
