"""EM finds the distribution of the largest likelihood, from reports or their aggregate."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

from deniable import GRR, Estimate, RecordEstimate, SimulationRandomness
from deniable.core.aggregate import Aggregate
from deniable.errors import (
    EmptyAggregateError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
    TooLargeError,
)
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import OUE, SUE
from deniable.postprocess import (
    iterative_bayes,
    iterative_bayes_reports,
)
from deniable.records.fake_data import RSFD, RSRFD
from deniable.records.sample import SMP
from deniable.records.split import SPL
from deniable.research.baselines.exponential import Exponential


def raw_of(estimate: Estimate) -> Estimate:
    assert estimate.raw is not None
    return estimate.raw


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
    with pytest.raises(
        MismatchError,
        match=r"needs counts of every possible report.*; use norm-sub, or iterative_bayes_reports in Python",
    ):
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
    # Any integer dtype works, because reports are matched by value.
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
