"""Bounds of sums of few reports: their parts by enumeration, and their coverage over all outcomes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from deniable import GRR, OUE, SimulationRandomness, SubsetSelection
from deniable.answers.independent import difference
from deniable.core import bounded_sums
from deniable.core.aggregate import Aggregate
from deniable.core.answer import Answer
from deniable.core.bounded_sums import BoundedSum, Sample, bounded_sum, side_by_side
from deniable.core.checks import TARGETS, Target
from deniable.core.joint import code_reports
from deniable.core.questions import Questions
from deniable.oracles import SquareWave
from deniable.records.pair_parts import subset_law
from deniable.records.pair_sample import PairSample
from deniable.records.split import SPLPairs

RATES = np.array([-3.0, -1.0, -0.1, 0.1, 1.0, 3.0])


def _law(mechanism: Any, weights: Any) -> tuple[Any, Any]:
    """Return the contribution of one report, and the logarithms of E exp(rate W), by listing all reports."""
    if isinstance(mechanism, SquareWave):
        scores = mechanism.report_weights(weights)[0]
    else:
        p, q = map(float, mechanism.support_probabilities)
        scores = ((mechanism.supports(mechanism.outputs(), np.arange(mechanism.k)) - q) / (p - q)) @ weights
    # The counts are from an estimate with this distribution, and belong to nobody.
    estimate = mechanism.estimate(mechanism.aggregate(mechanism.outputs()[:1]))
    added = estimate.samples[0].law(weights)
    rates = RATES / added.step
    channel = mechanism.channel()
    return added.logs(rates), np.log(np.exp(rates[:, None] * scores) @ channel.T)


@pytest.mark.parametrize("mechanism", [GRR(4, 1.3), OUE(4, 1.3), SquareWave(5, 1.0)], ids=repr)
def test_what_a_report_adds_has_the_law_of_its_channel(mechanism: Any) -> None:
    found, listed = _law(mechanism, np.array([0.3, -1.0, 2.0, 0.1, 0.7])[: mechanism.k])
    assert found == pytest.approx(listed, abs=1e-12)


@pytest.mark.parametrize("omega", [2, 3])
def test_two_points_are_a_bound_of_subset_selection(omega: int) -> None:
    """It is above the listed distribution, and equal to second order: mean and variance are the same."""
    weights = np.array([0.3, -1.0, 2.0, 0.1, 0.7, 0.7])
    found, listed = _law(SubsetSelection(6, 1.0, omega), weights)
    assert (found >= listed).all()
    assert np.abs(found - listed)[2:4].max() < 1e-3


@pytest.mark.parametrize("mechanism", [PairSample((2, 3), 1.0), SPLPairs((2, 3), 3.0)], ids=repr)
def test_what_a_report_adds_to_a_table_has_its_mean_and_variance(mechanism: Any) -> None:
    """log E exp(tW) at 0 has the weight of the held cell as its slope, and the variance of W as its curvature."""
    records = np.indices(mechanism.sizes).reshape(2, -1).T
    table = mechanism.tables(mechanism.aggregate(mechanism.randomize(records, SimulationRandomness(3))))[0, 1]
    weights = np.array([1.0, -0.5, 0.0, 0.2, 2.0, 0.7])
    added = table.report_law(weights)
    h = 1e-3 / added.step
    up, none, down = added.logs(np.array([h, 0.0, -h]))
    assert (up - down) / (2 * h) == pytest.approx(weights, abs=1e-4)
    assert none == pytest.approx(np.zeros(6), abs=1e-12)
    curvature = (up - 2 * none + down) / h**2
    if isinstance(mechanism, PairSample):
        law = subset_law(mechanism.parts[0].oracle)
        variances = [law.products(weights, weights, np.eye(6)[cell]) for cell in range(6)]
    else:
        scores = table._on_reports(weights)
        channel = np.kron(*(oracle.channel() for oracle in table.oracles))
        variances = channel @ scores**2 - (channel @ scores) ** 2
    assert curvature == pytest.approx(np.array(variances), rel=1e-3)


def test_contributors_who_fall_into_parts() -> None:
    """E of a product over a random partition is at most root mean squares; over one part, at most the mean."""
    generator = np.random.default_rng(1)
    columns = (0, 0, 1, 1, 1, 2)
    worst = 0.0
    for scale in (0.1, 1.0, 3.0) * 5:
        h = np.exp(scale * generator.normal(size=(3, 6)))
        products = [
            math.prod(h[g, i] for g, i in zip(columns, order, strict=True))
            for order in itertools.permutations(range(6))
        ]
        bound = math.prod(math.sqrt((h[g] ** 2).mean()) for g in columns)
        worst = max(worst, float(np.mean(products)) / bound)
        one = [math.prod(h[0, list(some)]) for some in itertools.combinations(range(6), 3)]
        assert np.mean(one) <= h[0].mean() ** 3
    assert 0.9 < worst <= 1


@pytest.mark.parametrize(("held", "n"), [(0, 20), (3, 20), (10, 20), (20, 20)])
def test_without_noise_it_is_chernoffs_interval_of_a_share(held: int, n: int) -> None:
    """All shares f with n KL(held/n, f) <= log(1/tail), to the fineness of the rates; nobody of n: 1 - tail^(1/n)."""
    share = held / n
    one = bounded_sum(
        [Sample(n, 1.0, code_reports(1.0, 0.0))], np.array([0.0, 1.0]), share, np.array([1 - share, share]), whole=True
    )
    (lower,), (upper,) = bounded_sums.bounds([one], 0.025, "population")

    def excess(f: float) -> float:
        terms = [a * math.log(a / b) for a, b in ((share, f), (1 - share, 1 - f)) if a]
        return n * sum(terms) - math.log(40)

    expected = [
        0.0 if held == 0 else optimize.brentq(excess, 1e-12, share - 1e-12) if held < n else 0.025 ** (1 / n),
        1.0 if held == n else optimize.brentq(excess, share + 1e-12, 1 - 1e-12) if held else 1 - 0.025 ** (1 / n),
    ]
    assert (lower, upper) == pytest.approx(expected, abs=2e-3)
    assert lower <= expected[0] + 1e-9
    assert upper >= expected[1] - 1e-9


def _compositions(n: int, k: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    bars = np.array(list(itertools.combinations(range(n + k - 1), k - 1)))
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + k - 1)])
    return np.diff(edges, axis=1) - 1


def _probabilities(counts: Any, laws: Any) -> Any:
    """Return the probability of counts[m, k] of reports with given distributions (one row each), added in turn."""
    states = {(0,) * counts.shape[1]: 1.0}
    for law in laws:
        following: dict[tuple[int, ...], float] = {}
        for state, chance in states.items():
            for code, one in enumerate(law):
                key = (*state[:code], state[code] + 1, *state[code + 1 :])
                following[key] = following.get(key, 0.0) + chance * float(one)
        states = following
    return np.array([states.get(tuple(row), 0.0) for row in counts.tolist()])


@pytest.mark.parametrize("epsilon", [1.0, 5.0])
@pytest.mark.parametrize("question", ["mean", "mean of some", "weights"])
def test_few_reports_hold_over_all_outcomes(epsilon: float, question: str) -> None:
    """Exact coverage of 95% intervals for six contributors, for all compositions and four populations."""
    n, mechanism, scores = 6, GRR(3, epsilon), np.array([0.0, 1.0, 5.0])
    outcomes = _compositions(n, 3)

    def asked(estimate: Questions) -> Any:
        if question == "weights":
            return estimate.linear([1.0, 1.0, 0.5])
        return estimate.mean(scores if question == "mean" else [math.nan, 1.0, 5.0])

    def truth(f: Any) -> float:
        if question == "weights":
            return float(f @ [1.0, 1.0, 0.5])
        if question == "mean":
            return float(f @ scores)
        return float(f[1:] @ scores[1:] / f[1:].sum()) if f[1:].sum() else math.nan

    answers = [asked(mechanism.estimate(Aggregate(mechanism, row, n))) for row in outcomes]
    assert all(answer.is_few("population") for answer in answers)
    channel = mechanism.channel()
    bounds = {t: np.array([answer.interval(target=t) for answer in answers]) for t in ("contributors", "population")}
    cases = [
        ("contributors", held / n, [channel[x] for x, m in enumerate(held) for _ in range(m)]) for held in outcomes
    ]
    for f in ([0.95, 0.0, 0.05], [0.9, 0.05, 0.05], [0.0, 0.9, 0.1], [0.4, 0.3, 0.3]):
        cases.append(("population", np.array(f), [np.array(f) @ channel] * n))
    for target, f, laws in cases:
        value, ends = truth(f), bounds[target]
        if not math.isnan(value):
            inside = (ends[:, 0] <= value + 1e-9) & (value - 1e-9 <= ends[:, 1])
            assert _probabilities(outcomes, laws) @ inside >= 0.95, (target, f)


def test_the_rule_counts_mistakes_and_holders() -> None:
    """25 mistakes of GRR(2): n q (1 - q) (1 - 3 q (1 - q))^-1, the fourth moment of a coin over its second."""
    mechanism = GRR(2, 4.0)
    q = float(mechanism.support_probabilities[1])
    needed = 25 * (1 - 3 * q * (1 - q)) / (q * (1 - q))
    for n in (math.floor(0.99 * needed), math.ceil(1.01 * needed)):
        answer = mechanism.estimate(Aggregate(mechanism, np.array([n, 0]), n)).total("0")
        assert answer.is_few("contributors") == (n < needed)
    # Mistakes are few. In the population, one more holder moves the answer by 1/n, so n f (1 - f) + noise must reach
    # 25.
    wide = GRR(2, 8.0)
    for held in (20, 30):
        answer = wide.estimate(Aggregate(wide, np.array([held, 970 - held]), 970)).total("0")
        assert answer.is_few("contributors")
        assert answer.is_few("population") == (held == 20)


def test_who_is_asked_decides_how_exp_is_bounded() -> None:
    """All contributors: narrowest. A part of them: like the population. Several parts: root mean squares, wider."""
    law, weights, held = code_reports(0.9, 0.025), np.array([0.0, 1.0, 2.0, 3.0]), np.full(4, 0.25)
    one, both = [Sample(30, 1.0, law)], [Sample(15, 0.5, law), Sample(15, 0.5, law)]

    def width(samples: list[Sample], target: Target, *, whole: bool) -> float:
        asked = bounded_sum(samples, weights, 1.5, held, whole=whole)
        (lower,), (upper,) = bounded_sums.bounds([asked], 0.025, target)
        return float(upper - lower)

    population = width(one, "population", whole=True)
    assert width(one, "contributors", whole=True) < 0.8 * population
    assert width(one, "contributors", whole=False) == population
    # Two parts of one distribution are as good as one.
    assert width(both, "population", whole=False) == pytest.approx(population, rel=1e-3)
    assert width(both, "contributors", whole=False) > 1.1 * population


def test_questions_side_by_side_are_the_single_ones() -> None:
    sums = [
        bounded_sum([Sample(30, 1.0, code_reports(0.9, 0.025))], weights, value, np.full(4, 0.25), whole=True)
        for weights, value in ((np.array([0.0, 1.0, 2.0, 3.0]), 1.1), (np.array([0.0, 1.0, 2.0, 9.0]), 2.0))
    ]
    both = bounded_sums.bounds([side_by_side(sums)], 0.01, "contributors")
    alone = [bounded_sums.bounds([one], 0.01, "contributors") for one in sums]
    assert np.array(both).T.tolist() == [[lower[0], upper[0]] for lower, upper in alone]
    turned = bounded_sums.bounds([sums[0].scaled(-2.0, 1.0)], 0.01, "contributors")
    assert np.ravel(turned) == pytest.approx([1 - 2 * alone[0][1][0], 1 - 2 * alone[0][0][0]], abs=1e-9)
    assert isinstance(sums[0], BoundedSum)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("offset", [-60.0, 1990.0, 1e6])
def test_scores_far_from_zero_move_their_interval(offset: float, target: Target) -> None:
    """Years as scores: the interval of the mean equals the shifted interval of scores around zero."""
    oracle, counts = GRR(5, 3.0), np.array([4, 3, 8, 2, 3])
    estimate = oracle.estimate(Aggregate(oracle, counts, 20)).named("year", [*"abcde"])
    scores = np.arange(5.0)
    near = np.array(estimate.mean(scores).interval(target=target))
    far = np.array(estimate.mean(scores + offset).interval(target=target))
    np.testing.assert_allclose(far - offset, near, atol=1e-6)
    assert near[0] < near[1]


@pytest.mark.parametrize(
    ("k", "some", "epsilon", "n"), [(3, 2, 6.0, 40), (3, 2, 4.0, 5), (5, 3, 6.0, 20), (5, 3, 8.0, 150)]
)
def test_differences_of_totals_of_most_categories(k: int, some: int, epsilon: float, n: int) -> None:
    """By the exact distribution: all of two waves hold one of these; p + q is more than 1 there."""
    oracle = GRR(k, epsilon)
    p, q = map(float, oracle.support_probabilities)
    chance = stats.binom.pmf(np.arange(n + 1), n, p + (some - 1) * q)
    likely = np.flatnonzero(chance > 1e-6)

    def total(count: int) -> Answer:
        counts = np.zeros(k, dtype=np.int64)
        counts[0], counts[-1] = count, n - count
        return oracle.estimate(Aggregate(oracle, counts, n)).named("a", [*"abcde"[:k]]).total([*"abcde"[:some]])

    totals = {int(count): total(int(count)) for count in likely}
    covered = 0.0
    for one, other in itertools.product(totals, repeat=2):
        lower, upper = difference(totals[one], totals[other], independent=True).interval()
        covered += chance[one] * chance[other] * (lower <= 1e-12 and upper >= -1e-12)
    assert covered >= 0.935
