"""Post-processing: consistency (simplex, Norm-Sub, Base-Cut, clip and normalise) and iterative Bayes (EM)."""

from __future__ import annotations

import math
import re
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy import optimize

from deniable import GRR, Estimate, RecordEstimate, SimulationRandomness
from deniable.core.aggregate import Aggregate
from deniable.errors import (
    EmptyAggregateError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
    NoIntervalError,
    TooLargeError,
)
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import OUE, SUE
from deniable.postprocess import (
    base_cut,
    clip_normalize,
    iterative_bayes,
    iterative_bayes_reports,
    norm_sub,
    postprocess,
    simplex,
)
from deniable.postprocess.steps import POSTPROCESS_NAMES, POSTPROCESSORS
from deniable.records.fake_data import RSFD, RSRFD
from deniable.records.sample import SMP
from deniable.records.split import SPL
from deniable.research.baselines.exponential import Exponential


def an_estimate(frequencies: Any, n: int = 100, noise: float = 1.0) -> Estimate:
    values = np.asarray(frequencies, dtype=np.float64)
    return Estimate(frequencies=values, n=n, noise_absent=np.array(noise), noise_present=np.array(noise))


def raw_of(estimate: Estimate) -> Estimate:
    assert estimate.raw is not None
    return estimate.raw


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
    # x is the projection of f iff one multiplier delta has x - f = delta where x > 0 and f + delta <= 0 where x = 0.
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
    # Estimates of tiny epsilon are of the order of 1e6: the shift must not lose the digits of the result.
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
    # max(f + delta, 0) sums to one for delta = 0.41/3.
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
    # Four of five comparisons at level 0.1/5 each: 0.08 at most. One-sided z bound at 1e-6; without Bonferroni the
    # rate would be about 1 - 0.9^4 = 0.34.
    bound = 0.08 + 4.76 * math.sqrt(0.08 * 0.92 / runs)
    assert 0.03 < wrong / runs < bound


def test_base_cut_refuses_a_processed_estimate() -> None:
    with pytest.raises(NoIntervalError, match="got an estimate that was already processed by norm-sub"):
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


# ---------------------------------------------------------------- what every step says and keeps


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (norm_sub, "norm-sub"),
        (simplex, "simplex"),
        (base_cut, "base-cut (95%)"),
        (clip_normalize, "clip-normalize"),
    ],
)
def test_steps_are_named_keep_the_raw_estimate_and_have_no_intervals(step: Any, name: str) -> None:
    raw = an_estimate([0.9, 0.4, -0.3]).named("colour", ["red", "green", "blue"])
    result = step(raw)
    assert result.processing == (name,)
    assert result.raw is raw
    assert (result.attribute, result.labels, result.n) == ("colour", ("red", "green", "blue"), 100)
    assert np.isnan(result.standard_errors).all()
    with pytest.raises(NoIntervalError, match=re.escape(name)):
        result.interval(0.95)
    np.testing.assert_array_equal(raw.frequencies, [0.9, 0.4, -0.3])


def test_steps_accumulate() -> None:
    raw = an_estimate([0.9, 0.4, -0.3])
    result = norm_sub(base_cut(raw))
    assert result.processing == ("base-cut (95%)", "norm-sub")
    assert result.raw is raw


@pytest.mark.parametrize("step", POSTPROCESSORS.values(), ids=POSTPROCESSORS)
def test_records_are_processed_attribute_by_attribute_and_nothing_is_invented(step: Any) -> None:
    nothing = Estimate(np.full(3, np.nan), 0, np.array(1.0), np.array(1.0), contributors=7)
    records = RecordEstimate({"a": an_estimate([0.9, 0.4]), "b": nothing})
    result = step(records)
    assert list(result) == ["a", "b"]
    np.testing.assert_array_equal(result["a"].frequencies, step(records["a"]).frequencies)
    assert np.isnan(result["b"].frequencies).all()


@pytest.mark.parametrize("step", POSTPROCESSORS.values(), ids=POSTPROCESSORS)
def test_other_things_are_refused(step: Any) -> None:
    with pytest.raises(
        InvalidInputError, match="must be an Estimate or a RecordEstimate, got an object of the type ndarray"
    ):
        step(np.array([0.5, 0.5]))


# ---------------------------------------------------------------- EM on aggregates


def likeliest(counts: NDArray[Any], p: Any, q: Any) -> NDArray[Any]:
    """The maximum-likelihood frequencies of a histogram of randomised responses, in closed form.

    Stationarity of sum c ln(q + (p-q) f) on the simplex gives f = max(0, c/mu - q/(p-q)) with one mu.
    """
    offset = q / (p - q)
    total = counts.sum()
    mu = optimize.brentq(
        lambda m: np.maximum(counts / m - offset, 0).sum() - 1, total * 1e-12, total * 1e3, xtol=1e-12, rtol=1e-14
    )
    result: NDArray[Any] = np.maximum(counts / mu - offset, 0)
    return result


def log_likelihood(counts: NDArray[Any], channel: NDArray[Any], frequencies: NDArray[Any]) -> float:
    return float((counts * np.log(frequencies @ channel)).sum())


SETTINGS = [(3, 1.0, 100), (5, 0.2, 6366), (10, 0.1, 10_000), (30, 1.0, 100_000), (8, 4.0, 1_000), (16, 3.0, 10**9)]


@pytest.mark.parametrize(("k", "epsilon", "n"), SETTINGS)
@pytest.mark.parametrize("kind", [GRR, Exponential])
def test_em_reaches_the_maximum_likelihood(kind: Any, k: int, epsilon: float, n: int) -> None:
    mechanism, rng = kind(k, epsilon), SimulationRandomness(k)
    weights = 1 / np.arange(1, k + 1)
    aggregate = mechanism.simulate_aggregate(rng.generator.multinomial(n, weights / weights.sum()), rng)
    result = iterative_bayes(mechanism, aggregate, tolerance=1e-3)
    assert re.fullmatch(r"em \(\d+ iterations?, converged\)", result.processing[0])
    assert result.frequencies.sum() == pytest.approx(1, abs=1e-12)
    assert (result.frequencies >= 0).all()

    channel = mechanism.channel()
    best = likeliest(aggregate.counts, channel[0, 0], channel[0, 1])
    gap = log_likelihood(aggregate.counts, channel, best) - log_likelihood(
        aggregate.counts, channel, result.frequencies
    )
    assert -1e-5 * max(1, n / 1e9) - 1e-6 < gap <= 1e-3 + 1e-5
    # A likelihood within 1e-3 of the maximum is within sqrt(2e-3) standard errors of it.
    assert (np.abs(result.frequencies - best) <= 0.045 * raw_of(result).standard_errors).all()


def test_em_is_the_raw_estimate_where_that_is_a_distribution() -> None:
    grr = GRR(k=3, epsilon=2.0)
    aggregate = grr.aggregate(np.repeat([0, 1, 2], [500, 300, 200]))
    result = iterative_bayes(grr, aggregate, tolerance=1e-9)
    np.testing.assert_allclose(result.frequencies, raw_of(result).frequencies, atol=1e-6)
    assert raw_of(result).is_raw


def test_em_likelihood_never_falls() -> None:
    grr, rng = GRR(k=12, epsilon=0.3), SimulationRandomness(2)
    aggregate = grr.simulate_aggregate(np.arange(12) ** 2 * 40, rng)
    path = [np.full(12, 1 / 12)]
    path += [iterative_bayes(grr, aggregate, max_iterations=i).frequencies for i in range(1, 60)]
    values = [log_likelihood(aggregate.counts, grr.channel(), f) for f in path]
    assert (np.diff(values) >= -1e-9).all()
    assert values[-1] > values[0] + 1


def test_first_update_is_the_plain_one() -> None:
    grr = GRR(k=3, epsilon=1.0)
    counts = np.array([60, 30, 10])
    channel = grr.channel()
    uniform = np.full(3, 1 / 3)
    expected = uniform * (channel @ (counts / 100 / (uniform @ channel)))
    result = iterative_bayes(grr, Aggregate(grr, counts, 100), max_iterations=1)
    np.testing.assert_allclose(result.frequencies, expected, atol=1e-15)


def test_em_says_when_it_did_not_converge() -> None:
    grr = GRR(k=3, epsilon=0.5)
    aggregate = grr.aggregate(np.repeat([0, 1, 2], [600, 300, 100]))
    assert iterative_bayes(grr, aggregate, max_iterations=1).processing == ("em (1 iteration, not converged)",)
    assert iterative_bayes(grr, aggregate, max_iterations=2).processing == ("em (2 iterations, not converged)",)


def test_em_needs_no_step_where_uniform_is_the_maximum() -> None:
    grr = GRR(k=4, epsilon=0.5)
    result = iterative_bayes(grr, grr.aggregate(np.repeat(np.arange(4), 5)))
    assert result.processing == ("em (0 iterations, converged)",)


SIZES = (3, 5, 4)


@pytest.mark.parametrize(
    "mechanism",
    [
        SPL(SIZES, 2.0),
        SMP(SIZES, 2.0),
        RSFD(SIZES, 2.0),
        RSRFD(SIZES, 2.0, priors=((0.5, 0.25, 0.25), (0.6, 0.1, 0.1, 0.1, 0.1), (0.25, 0.25, 0.25, 0.25))),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_em_of_records_over_grr_is_the_maximum_likelihood_of_every_column(mechanism: Any) -> None:
    rng = SimulationRandomness(1)
    records = np.stack([rng.generator.binomial(k - 1, 0.2, 3000) for k in mechanism.sizes], axis=1)
    aggregate = mechanism.aggregate(mechanism.randomize(records, rng))
    result = iterative_bayes(mechanism, aggregate, tolerance=1e-7)
    assert isinstance(result, RecordEstimate)
    raw = mechanism.estimate(aggregate)
    start = 0
    for j, k in enumerate(mechanism.sizes):
        counts = aggregate.counts[start : start + k]
        assert counts.sum() == result[j].n == raw[j].n
        p, q = (np.array(side, dtype=np.float64) for side in mechanism.support_probabilities[j])
        np.testing.assert_allclose(result[j].frequencies, likeliest(counts, p, q), atol=1e-4)
        np.testing.assert_array_equal(raw_of(result[j]).frequencies, raw[j].frequencies)
        start += k


def test_em_of_an_attribute_without_reports_stays_unknown() -> None:
    smp = SMP(sizes=(2, 3), epsilon=1.0)
    aggregate = Aggregate(smp, np.array([4, 2, 0, 0, 0, 6, 0]), 6)
    result = iterative_bayes(smp, aggregate)
    assert isinstance(result, RecordEstimate)
    assert np.isnan(result[1].frequencies).all()
    assert result[1].processing == ("em (no reports)",)
    assert result[0].frequencies.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "mechanism",
    [OUE(4, 1.0), SUE(4, 1.0), SubsetSelection(4, 1.0, 2), CountMeanSketch(4, 1.0), SPL((2, 3), 1.0, "OUE")],
    ids=repr,
)
def test_em_refuses_support_counts(mechanism: Any) -> None:
    with pytest.raises(MismatchError, match="counts support; use iterative_bayes_reports, or norm_sub"):
        iterative_bayes(mechanism, Aggregate.empty(mechanism))


def test_em_refuses_an_aggregate_of_another_mechanism_or_of_nothing() -> None:
    grr = GRR(k=3, epsilon=1.0)
    with pytest.raises(MismatchError):
        iterative_bayes(grr, GRR(k=3, epsilon=2.0).aggregate(np.array([1])))
    with pytest.raises(EmptyAggregateError):
        iterative_bayes(grr, Aggregate.empty(grr))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"max_iterations": 0}, "max_iterations must be >= 1, got max_iterations=0"),
        ({"max_iterations": 2.5}, "max_iterations must be an integer"),
        ({"tolerance": 0.0}, "tolerance must be > 0 and finite, got tolerance=0.0"),
        ({"tolerance": math.nan}, "tolerance must be > 0 and finite, got tolerance=nan"),
        ({"tolerance": math.inf}, "tolerance must be > 0 and finite, got tolerance=inf"),
        ({"tolerance": "1"}, "tolerance must be a number > 0"),
    ],
)
def test_em_stopping_is_checked(option: dict[str, Any], message: str) -> None:
    grr = GRR(k=3, epsilon=1.0)
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        iterative_bayes(grr, grr.aggregate(np.array([1])), **option)
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        iterative_bayes_reports(grr, np.array([1], dtype=np.uint8), **option)


# ---------------------------------------------------------------- EM on reports


def bits(reports: NDArray[Any], k: int) -> NDArray[Any]:
    return np.unpackbits(reports, axis=1, bitorder="little")[:, :k]


def unary_law(mechanism: Any, reports: NDArray[Any]) -> NDArray[Any]:
    """P(report | code), from the independence of bits rather than from the channel."""
    p, q = map(float, mechanism.support_probabilities)
    table = bits(reports, mechanism.k).astype(bool)
    others = np.where(table, q, 1 - q).prod(axis=1, keepdims=True)
    own = np.where(table, p / q, (1 - p) / (1 - q))
    result: NDArray[Any] = others * own
    return result


def subset_law(mechanism: Any, reports: NDArray[Any]) -> NDArray[Any]:
    p, _ = map(float, mechanism.support_probabilities)
    k, omega = mechanism.k, reports.shape[1]
    inside = (reports[:, :, None] == np.arange(k)).any(axis=1)
    return np.where(inside, p / math.comb(k - 1, omega - 1), (1 - p) / math.comb(k - 1, omega))


def sketch_law(mechanism: Any, reports: Any) -> NDArray[Any]:
    p, q = map(float, mechanism.response.support_probabilities)
    prime = mechanism.hashes.prime
    x = np.arange(mechanism.k)
    cells = ((reports.a0[:, None].astype(int) + reports.a1[:, None].astype(int) * x) % prime) % mechanism.m
    law: NDArray[Any] = np.where(cells == reports.value[:, None], p, q) / prime**2
    return law


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (OUE(4, 1.0), unary_law),
        (SUE(9, 2.0), unary_law),
        (SubsetSelection(6, 0.7, 2), subset_law),
        (CountMeanSketch(5, 1.5, 2), sketch_law),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_em_of_reports_is_what_a_general_optimiser_finds(mechanism: Any, law: Any) -> None:
    rng = SimulationRandomness(4)
    k = mechanism.k
    reports = mechanism.randomize(rng.generator.binomial(k - 1, 0.3, 400), rng)
    table = law(mechanism, reports)

    def loss(frequencies: NDArray[Any]) -> float:
        return -float(np.log(table @ frequencies).sum())

    minimize: Any = optimize.minimize
    found = minimize(
        loss,
        np.full(k, 1 / k),
        jac=lambda f: -(table / (table @ f)[:, None]).sum(axis=0),
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda f: f.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    result = iterative_bayes_reports(mechanism, reports, tolerance=1e-6)
    assert "converged" in result.processing[0]
    assert loss(result.frequencies) <= found.fun + 2e-6
    np.testing.assert_allclose(result.frequencies, found.x, atol=2e-3)
    np.testing.assert_array_equal(
        raw_of(result).frequencies, mechanism.estimate(mechanism.aggregate(reports)).frequencies
    )


def test_em_of_reports_and_of_their_aggregate_agree() -> None:
    grr, rng = GRR(k=6, epsilon=1.0), SimulationRandomness(3)
    reports = grr.randomize(rng.generator.integers(0, 3, 2000), rng)
    of_reports = iterative_bayes_reports(grr, reports)
    of_aggregate = iterative_bayes(grr, grr.aggregate(reports))
    np.testing.assert_allclose(of_reports.frequencies, of_aggregate.frequencies, atol=1e-9)
    # Any integer dtype: reports are matched by value.
    wide = iterative_bayes_reports(grr, reports.astype(np.int64))
    np.testing.assert_array_equal(wide.frequencies, of_reports.frequencies)


def test_em_of_reports_refuses_what_it_cannot_enumerate() -> None:
    spl, oue, rng = SPL(sizes=(2, 3), epsilon=1.0), OUE(40, 1.0), SimulationRandomness(1)
    with pytest.raises(MismatchError, match="needs a one-attribute mechanism"):
        iterative_bayes_reports(spl, spl.randomize(np.array([[0, 1]]), rng))
    with pytest.raises(TooLargeError):
        iterative_bayes_reports(oue, oue.randomize(np.array([3]), rng))
    with pytest.raises(InvalidReportError):
        iterative_bayes_reports(GRR(3, 1.0), np.array([3]))
    with pytest.raises(EmptyAggregateError):
        iterative_bayes_reports(GRR(3, 1.0), np.array([], dtype=np.uint8))


# ---------------------------------------------------------------- by name


def test_every_name_is_offered() -> None:
    assert list(POSTPROCESSORS) == ["norm-sub", "simplex", "base-cut", "clip-normalize", "hierarchical"]
    assert POSTPROCESS_NAMES == ("norm-sub", "simplex", "base-cut", "clip-normalize", "hierarchical", "em", "smooth")


@pytest.mark.parametrize("name", [name for name in POSTPROCESS_NAMES if name != "smooth"])
def test_by_name_records_keep_their_names(name: str) -> None:
    spl, rng = SPL(sizes=(2, 3), epsilon=3.0), SimulationRandomness(1)
    aggregate = spl.aggregate(spl.randomize(np.array([[0, 2], [1, 1], [1, 0]] * 50), rng))
    raw = spl.estimate(aggregate)
    named = RecordEstimate({"x": raw[0].named("x", ["no", "yes"]), "y": raw[1].named("y", ["a", "b", "c"])})
    result = postprocess(name, named, aggregate)
    assert isinstance(result, RecordEstimate)
    assert [(key, one.attribute, one.labels) for key, one in result.items()] == [
        ("x", "x", ("no", "yes")),
        ("y", "y", ("a", "b", "c")),
    ]
    assert all(one.processing[0].startswith(name) for one in result.values())
    assert all(raw_of(one).labels == one.labels for one in result.values())


def test_by_name_a_named_single_attribute() -> None:
    grr = GRR(3, 1.0)
    aggregate = grr.aggregate(np.array([0, 0, 1, 2]))
    named = RecordEstimate({"colour": grr.estimate(aggregate).named("colour", ["red", "green", "blue"])})
    result = postprocess("em", named, aggregate)
    assert isinstance(result, RecordEstimate)
    assert result["colour"].labels == ("red", "green", "blue")
    np.testing.assert_array_equal(result["colour"].frequencies, iterative_bayes(grr, aggregate).frequencies)


def test_by_name_errors() -> None:
    raw = an_estimate([0.5, 0.5])
    with pytest.raises(InvalidParameterError, match="must be one of norm-sub, simplex, base-cut, clip-normalize, h"):
        postprocess("normsub", raw)
    with pytest.raises(InvalidParameterError, match="aggregate must be given for em"):
        postprocess("em", raw)
