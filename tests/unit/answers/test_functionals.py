"""Functionals: unbiased for all oracles, by enumeration; observed variances; one question asked twice."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import (
    GRR,
    OUE,
    RSFD,
    SPL,
    SUE,
    AdaptiveSMP,
    Attribute,
    Collection,
    CountMeanSketch,
    HeavyHitters,
    Schema,
    SimulationRandomness,
    SubsetSelection,
)
from deniable.answers import functional, functional_weights
from deniable.core.aggregate import Aggregate
from deniable.core.checks import TARGETS
from deniable.errors import EmptyAggregateError, InvalidParameterError, MismatchError, NoIntervalError
from deniable.oracles import SquareWave, oracle as oracle_module
from deniable.records.oracle_choice import oracles_for
from deniable.research.baselines.recursive_hadamard import RecursiveHadamard
from deniable.survey.collection import LearnedFrom

SCORES = np.array([0.0, 1.0, 5.0, 2.0])
ORACLES: list[Any] = [
    SquareWave(4, 1.0, 1),
    SquareWave(4, 0.5),
    RecursiveHadamard(4, 1.0),
    GRR(4, 1.0),
    SubsetSelection(4, 1.0, 2),
    OUE(4, 1.0),
    SUE(4, 2.0),
    CountMeanSketch(4, 1.0, 2, "spread"),
]


def one_report_each(oracle: Any) -> list[Aggregate]:
    """Return the aggregate of each possible report alone."""
    outputs = oracle.outputs()
    return [oracle.aggregate(outputs[o : o + 1]) for o in range(len(outputs))]


# ---------------------------------------------------------------- by enumeration


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_it_is_unbiased_by_exact_expectation(oracle: Any) -> None:
    values = np.array([functional(oracle, one, SCORES).value for one in one_report_each(oracle)])
    assert oracle.channel() @ values == pytest.approx(SCORES, abs=1e-11)


@pytest.mark.parametrize("oracle", ORACLES[:3], ids=repr)
def test_reports_show_the_noise_unbiasedly_and_within_what_is_possible(
    oracle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, channel = functional_weights(oracle, SCORES), oracle.channel()
    assert channel @ weights == pytest.approx(SCORES, abs=1e-12)
    noise = channel @ weights**2 - SCORES**2
    alone = np.array([functional(oracle, one, SCORES).standard_error ** 2 for one in one_report_each(oracle)])
    assert noise.min() * (1 - 1e-12) <= alone.min()
    assert alone.max() <= noise.max() * (1 + 1e-12)
    # If many reports are exactly in the proportions of the channel, their variance is the channel's.
    f = np.array([0.125, 0.5, 0.25, 0.125])
    law, n = f @ channel, 1 << 50
    exact = Aggregate(oracle, np.zeros(oracle.state_size, dtype=np.int64), 0)
    monkeypatch.setattr(type(oracle), "check_state", lambda *_: None)
    exact = Aggregate(oracle, np.round(law * n).astype(np.int64), n)
    found = functional(oracle, exact, SCORES)
    mean = f @ SCORES
    assert found.value == pytest.approx(mean, abs=1e-9)
    assert found.standard_error**2 * n == pytest.approx(f @ noise, rel=1e-9)
    population = law @ weights**2 - mean**2
    assert found.standard_error_for("population") ** 2 * n == pytest.approx(population, rel=1e-9)


@pytest.mark.parametrize("oracle", ORACLES[3:7], ids=repr)
def test_supports_vary_as_the_channel_says(oracle: Any) -> None:
    """Subsets have covariances; bits have r1 = p q and r2 = q^2: the answer's error against the listed channel."""
    values = np.array([functional(oracle, one, SCORES).value for one in one_report_each(oracle)])
    noise = oracle.channel() @ values**2 - SCORES**2
    f = np.array([0.1, 0.4, 0.3, 0.2])
    joint = oracle.estimate(one_report_each(oracle)[0]).joint
    frequencies = np.array([oracle.estimate(one).frequencies for one in one_report_each(oracle)])
    # A multiple of the sum of all frequencies is taken off the scores, and added again as a constant.
    missing = 1 - frequencies.sum(axis=1)
    shift = missing @ (values - frequencies @ SCORES) / max(missing @ missing, 1e-9)
    assert joint(SCORES - shift, f) == pytest.approx(f @ noise, rel=1e-12)


@pytest.mark.parametrize("oracle", [GRR(4, 1.0), SubsetSelection(4, 1.0, 2), OUE(4, 1.0), SUE(4, 2.0)], ids=repr)
def test_supports_are_weighted_as_well_as_they_can_be(oracle: Any) -> None:
    """At uniform answers, no other unbiased weights of supports (and for subsets, no weights at all) vary less."""
    values = np.array([functional(oracle, one, SCORES).value for one in one_report_each(oracle)])
    channel: Any = oracle.channel()
    outputs: Any = oracle.outputs()
    variance = float((channel @ values**2 - SCORES**2).mean())
    supports = np.column_stack([np.ones(len(outputs)), oracle.supports(outputs, np.arange(4))])
    best = _least_variance(channel, channel @ supports, supports)
    assert variance == pytest.approx(best, rel=1e-10)
    if oracle.name in ("GRR", "SubsetSelection"):
        everything = np.eye(len(outputs))
        assert variance == pytest.approx(_least_variance(channel, channel, everything), rel=1e-10)


def _least_variance(channel: Any, means: Any, features: Any) -> float:
    """Minimise the mean of (features w)^2 at uniform answers, given means w = scores, by the normal equations."""
    mass = channel.mean(axis=0)
    gram = (features * mass[:, None]).T @ features
    inverse = np.linalg.pinv(gram)
    multiplier = np.linalg.pinv(means @ inverse @ means.T) @ SCORES
    weights = features @ (inverse @ means.T @ multiplier)
    assert channel @ weights == pytest.approx(SCORES, abs=1e-9)
    return float((channel @ weights**2 - SCORES**2).mean())


def test_bits_and_subsets_are_unbiased_in_rationals() -> None:
    scores = [Fraction(0), Fraction(1), Fraction(5), Fraction(2)]
    oracles: list[Any] = [SubsetSelection(4, 1.0, 2), OUE(4, 1.0)]
    for oracle in oracles:
        p, q = oracle.support_probabilities
        supported = oracle.supports(oracle.outputs(), np.arange(4))
        one = [sum(c * (int(s) - q) / (p - q) for c, s in zip(scores, row, strict=True)) for row in supported]
        assert list(oracle.channel(exact=True) @ np.array(one, dtype=object)) == scores


def two_reports(oracle: Any, held: tuple[int, int], answer: Any) -> float:
    """Return the exact expectation of the answer for two contributors with these values."""
    channel, total = oracle.channel(), 0.0
    for a, b in itertools.product(range(oracle.state_size), repeat=2):
        aggregate = oracle.aggregate(np.array([a, b], dtype=np.uint8))
        total += channel[held[0], a] * channel[held[1], b] * answer(oracle, aggregate)
    return total


def test_weights_that_look_at_the_data_die() -> None:
    """Mutant: with pi from the reports instead of uniform, the answer for two contributors is biased."""
    oracle = SquareWave(4, 1.0, 1)
    truth = (SCORES[0] + SCORES[2]) / 2

    def by_data(oracle: Any, aggregate: Any) -> float:
        channel = oracle.channel()
        pi = np.clip(oracle.estimate(aggregate).frequencies, 0.05, None)
        scaled = channel / (pi / pi.sum() @ channel)
        weights = scaled.T @ np.linalg.solve(scaled @ channel.T, SCORES)
        return float(weights @ aggregate.counts / aggregate.n)

    found = two_reports(oracle, (0, 2), lambda o, a: functional(o, a, SCORES).value)
    assert found == pytest.approx(truth, abs=1e-11)
    assert abs(two_reports(oracle, (0, 2), by_data) - truth) > 0.01


# ---------------------------------------------------------------- coverage and gains


def test_it_is_the_mean_of_an_estimate_of_a_wave_with_errors_from_reports() -> None:
    wave, truth = SquareWave(16, 1.0), np.arange(1, 17) * 500
    aggregate = wave.simulate_aggregate(truth, SimulationRandomness(5))
    scores = np.arange(16.0)
    answer, same = functional(wave, aggregate, scores), wave.estimate(aggregate).mean(scores)
    assert answer.value == pytest.approx(same.value, abs=1e-10)
    exact = math.sqrt(wave.linear_variance(scores, truth / truth.sum(), aggregate.n))
    assert answer.standard_error == pytest.approx(exact, rel=0.01)
    assert same.standard_error == pytest.approx(exact, rel=0.02)
    assert answer.standard_error < answer.standard_error_for("population")


def test_intervals_cover_the_mean() -> None:
    wave, truth = SquareWave(7, 0.7), np.array([900, 100, 0, 0, 200, 300, 500])
    rng, scores, runs = SimulationRandomness(3), np.arange(7.0), 2000
    mean, hits = truth @ scores / truth.sum(), 0
    for _ in range(runs):
        lower, upper = functional(wave, wave.simulate_aggregate(truth, rng), scores).interval(0.95)
        hits += lower <= mean <= upper
    # The tolerance is four standard deviations of a binomial share of 2,000.
    assert abs(hits / runs - 0.95) < 4 * math.sqrt(0.95 * 0.05 / runs)


def test_an_attribute_of_records() -> None:
    sizes = (2, 5, 3)
    mechanism = AdaptiveSMP(sizes, 2.0, oracles_for(sizes, 2.0, means=[1]))
    records = np.stack([np.arange(3000) % k for k in sizes], axis=1)
    aggregate = mechanism.aggregate(mechanism.randomize(records, SimulationRandomness(1)))
    part = mechanism.by_attribute(aggregate)[1]
    answer, alone = functional(mechanism, aggregate, range(5), attribute=1), functional(part.mechanism, part, range(5))
    assert (answer.value, answer.n) == (alone.value, part.n)
    # A third of about 3,000 contributors reported this. Their sampling is a part of the error.
    between = 2.0  # this is the variance of 0..4, all equally likely
    expected = alone.standard_error**2 + between * (1 / part.n - 1 / 3000)
    assert answer.standard_error**2 == pytest.approx(expected, rel=0.1)
    population = answer.standard_error_for("population")
    assert population == pytest.approx(alone.standard_error_for("population"), rel=1e-12)
    shares = functional(mechanism, aggregate, [0, 1], attribute=0, question="share of women")
    assert shares.value == pytest.approx(mechanism.estimate(aggregate)[0].frequencies[1], abs=1e-9)
    assert shares.question == "share of women"
    among_fakes = RSFD((2, 3), 2.0)
    reports = among_fakes.randomize(records[:, [0, 2]], SimulationRandomness(1))
    assert functional(among_fakes, among_fakes.aggregate(reports), [0, 1, 2], attribute=1).n == 3000


def test_nobody_reported_it() -> None:
    mechanism = AdaptiveSMP((2, 5), 2.0, oracles_for((2, 5), 2.0, means=[1]))
    lonely = mechanism.aggregate(mechanism.report_type(np.zeros(3, np.uint8), np.ones((3, 1), np.uint8)))
    answer = functional(mechanism, lonely, range(5), attribute=1)
    assert math.isnan(answer.value)
    assert math.isinf(answer.standard_error)
    assert all(map(math.isnan, answer.interval()))


@pytest.mark.parametrize("mechanism", [GRR(2, 8.0), SubsetSelection(4, 6.0), OUE(3, 1.0)], ids=repr)
def test_by_supports_it_is_the_mean_of_an_estimate_in_everything(mechanism: Any) -> None:
    k = mechanism.k
    counts = np.array([40, *[15] * (k - 1)])
    aggregate = mechanism.simulate_aggregate(counts, SimulationRandomness(1))
    scores = np.eye(k)[0]
    answer, mean = functional(mechanism, aggregate, scores), mechanism.estimate(aggregate).mean(scores)
    assert answer.is_few("contributors") is mean.is_few("contributors")
    for target in TARGETS:
        assert answer.ends(0.025, target) == mean.ends(0.025, target)
        assert answer.interval(target=target) == mean.interval(target=target)
    assert (answer.value, answer.n, answer.errors) == (mean.value, mean.n, mean.errors)


def test_it_knows_what_it_is_made_from() -> None:
    schema = Schema((Attribute("a", ("no", "yes")), Attribute("b", ("x", "y", "z"))))
    survey = Collection(schema, SPL(schema.sizes, 2.0))
    records = np.array([[0, 2], [1, 1], [1, 0]])
    reports = survey.randomize(records, SimulationRandomness(1))
    aggregate = replace(survey.aggregate(reports), batches=frozenset({"ab"}))
    by_name = functional(survey, aggregate, [0, 1, 2], attribute="b")
    assert by_name.source == survey.source(aggregate) == {f"collection {survey.id}", "batch ab"}
    by_index = functional(survey.mechanism, aggregate, [0, 1, 2], attribute=1)
    assert (by_index.value, by_index.source) == (by_name.value, by_name.source)
    before = LearnedFrom("c" * 64, "d" * 64, 100)
    later = replace(survey, learned_from=before)
    assert f"collection {'c' * 64}" in functional(later, replace(aggregate, collection=later.id), [0, 1]).source
    with pytest.raises(MismatchError, match="belongs to collection"):
        functional(survey, replace(aggregate, collection="e" * 64), [0, 1])
    with pytest.raises(InvalidParameterError, match="attribute must be one of a, b, got “c”"):
        functional(survey, aggregate, [0, 1], attribute="c")
    with pytest.raises(InvalidParameterError, match="a number from 0 to 1, because a mechanism has no names, got “b”"):
        functional(survey.mechanism, aggregate, [0, 1], attribute="b")


def test_no_interval_where_nobody_knows_how_reports_vary() -> None:
    sketch = CountMeanSketch(4, 1.0, 2, "prime")
    answer = functional(sketch, sketch.aggregate(sketch.randomize([1, 2, 3], SimulationRandomness(1))), SCORES)
    assert math.isfinite(answer.value)
    with pytest.raises(NoIntervalError):
        answer.interval()


def test_a_long_scale_and_the_same_question_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wave, rng = SquareWave(1024, 1.0), SimulationRandomness(1)
    aggregate = wave.simulate_aggregate(np.full(1024, 100), rng)
    monkeypatch.setattr(oracle_module, "_listed", None)  # otherwise a million pairs would be listed
    first = functional(wave, aggregate, np.arange(1024.0))
    monkeypatch.setattr(SquareWave, "report_weights", None)  # when asked again, nothing is computed
    again = functional(SquareWave(1024, 1.0, wave.window), aggregate, np.arange(1024.0))
    assert first.value == again.value == pytest.approx(511.5, abs=5 * first.standard_error)


def test_what_is_refused() -> None:
    wave = SquareWave(4, 1.0)
    aggregate = wave.aggregate(np.array([1, 2], dtype=np.uint8))
    for scores, says in (
        ([1, 2, 3], r"scores must be 4 finite numbers \(one for each value\), got shape=\(3,\)"),
        ([1, 2, 3, math.inf], r"scores\[3\]"),
        ([1, math.nan, 3, 4], r"scores\[1\]"),
        (["a", "b", "c", "d"], r"one for each value\), got scores=“a”, “b”, “c”, “d”"),
    ):
        with pytest.raises(InvalidParameterError, match=says):
            functional(wave, aggregate, scores)
    with pytest.raises(InvalidParameterError, match="attribute must be <= 0"):
        functional(wave, aggregate, SCORES, attribute=1)
    with pytest.raises(MismatchError):
        functional(SquareWave(4, 2.0), aggregate, SCORES)
    with pytest.raises(EmptyAggregateError):
        functional(wave, Aggregate.empty(wave), SCORES)
    words = HeavyHitters(epsilon=4.0)
    with pytest.raises(
        InvalidParameterError,
        match=r"a weighted sum of frequencies is not available for .*: choose a mechanism for listed categories",
    ):
        functional(words, Aggregate.empty(words), SCORES)


# ---------------------------------------------------------------- influence


@pytest.mark.parametrize("targets", [1, 2, 4])
def test_levers_of_a_wave_are_the_extremes_of_its_reports(targets: int) -> None:
    wave = SquareWave(4, 1.0, 1)
    one = np.array([wave.estimate(alone).frequencies for alone in one_report_each(wave)])
    sums = [one[:, list(chosen)].sum(axis=1) for chosen in itertools.combinations(range(4), targets)]
    found = wave.influence(targets)
    assert found is not None
    assert found == pytest.approx((np.max(sums), np.min(sums)), abs=1e-12)
    assert SquareWave(3000, 1.0, 100).influence() is None
