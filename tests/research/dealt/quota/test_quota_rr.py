"""QuotaRR as its four actors use it (dealing, reporting, aggregating, reading), and their possible mistakes."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import Aggregate, SimulationRandomness
from deniable.core.estimate import Estimate
from deniable.core.spec import from_spec, to_spec
from deniable.errors import (
    DamagedStateError,
    EmptyAggregateError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
)
from deniable.oracles.grr import GRR
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.several_deals import combine_deals
from deniable.research.dealt.shares import Shares
from tests.research.dealt.quota_laws import count_law
from tests.unit._goodness import FAMILY_WISE_ERROR, p_value


def _reports(quota: QuotaRR, truth: np.ndarray[Any, Any], seed: int) -> np.ndarray[Any, Any]:
    rng = SimulationRandomness(seed)
    return quota.randomize(truth, quota.deal(quota.n, rng), rng)


def test_reports_are_functions_of_share_and_truth() -> None:
    quota = QuotaRR(1.0, 40, k=3)
    truth = np.arange(40) % 3
    shares = quota.deal(40, SimulationRandomness(1))
    expected = [int(t) if t < 3 else int(x) for t, x in zip(shares.columns[0], truth, strict=True)]
    assert quota.randomize(truth, shares, SimulationRandomness(1)).tolist() == expected
    alone = [
        int(quota.randomize(truth[i : i + 1], shares[i], SimulationRandomness(1))[0]) for i in range(40)
    ]  # these runs are interpreted
    assert alone == expected
    assert quota.randomize(truth, shares, SimulationRandomness(1)).dtype == np.uint8


def test_capped_truth_tellers_run_randomised_response() -> None:
    quota = QuotaRR(0.5, 20_000, 0, k=2, epsilon_aux=1.0)
    told = Shares("", (np.full(20_000, 2, dtype=np.uint8),))
    reports = quota.randomize(np.ones(20_000, dtype=np.int64), told, SimulationRandomness(4))
    p = 1 / (1 + math.exp(-1.0))
    assert p_value(reports.tolist(), {0: 1 - p, 1: p}) > FAMILY_WISE_ERROR
    # Mutants: the truth itself is reported; the budget is 1.2.
    assert p_value([1] * 20_000, {0: 1 - p, 1: p}) < FAMILY_WISE_ERROR
    looser = GRR(2, 1.2).randomize(np.ones(20_000, dtype=np.int64), SimulationRandomness(4))
    assert p_value(looser.tolist(), {0: 1 - p, 1: p}) < FAMILY_WISE_ERROR
    forced = Shares("", (np.array([0, 1, 1], dtype=np.uint8),))
    assert quota.randomize([1, 0, 0], forced, SimulationRandomness(1)).tolist() == [0, 1, 1]


@pytest.mark.parametrize("epsilon_aux", [None, 2.0])
def test_both_ways_to_simulate_follow_the_law(epsilon_aux: float | None) -> None:
    quota = QuotaRR(1.0, 6, 2, epsilon_aux=epsilon_aux)
    truth = np.array([1, 0, 0, 1, 0, 1])
    law = dict(enumerate(count_law(quota, tuple(truth.tolist()), 1, 6)))
    law = {count: probability for count, probability in law.items() if probability > 0}
    direct = [int(_reports(quota, truth, seed).sum()) for seed in range(3000)]
    rng = SimulationRandomness(1)
    drawn = [int(quota.simulate_aggregate([3, 3], rng).counts[1]) for _ in range(10_000)]
    assert p_value(direct, law) > FAMILY_WISE_ERROR
    assert p_value(drawn, law) > FAMILY_WISE_ERROR
    # Mutant: a plain GRR deal without a quota.
    plain = QuotaRR(1.0, 6, 0, epsilon_aux=epsilon_aux)
    assert p_value([int(plain.simulate_aggregate([3, 3], rng).counts[1]) for _ in range(10_000)], law) < 1e-6


@pytest.mark.parametrize(("k", "epsilon_aux"), [(2, None), (4, None), (3, 2.0)])
def test_estimates_have_their_mean_and_variance(k: int, epsilon_aux: float | None) -> None:
    quota = QuotaRR(0.5, 3000, k=k, epsilon_aux=epsilon_aux)
    truth = np.array([150, *([2850 // (k - 1)] * (k - 1))])
    truth[-1] += 3000 - truth.sum()
    rng = SimulationRandomness(k)
    size = 2000
    f = np.array([quota.frequencies(quota.simulate_aggregate(truth, rng)) for _ in range(size)])
    for v in range(k):
        variance = quota.variance(float(truth[v]) / 3000)
        assert abs(f[:, v].mean() - truth[v] / 3000) < 5.5 * math.sqrt(variance / size)
        # A sample variance of 2000 has a relative deviation of sqrt(2/2000) = .032, or .055 with the distribution's
        # skewed tails.
        assert f[:, v].var() == pytest.approx(variance, rel=0.055 * 5.5)


def test_drop_outs_stay_unbiased() -> None:
    quota = QuotaRR(0.5, 1000, 400)
    truth = np.repeat([1, 0], [100, 900])
    present = np.arange(1000) % 10 < 7
    values = []
    for seed in range(1500):
        values.append(quota.frequencies(quota.aggregate(_reports(quota, truth, seed)[present]))[1])
    variance = quota.variance(0.1, reporters=700)
    assert abs(np.mean(values) - 0.1) < 5.5 * math.sqrt(variance / 1500)
    assert np.var(values) == pytest.approx(variance, rel=0.25)
    # Drop-out of 30 % at 15 % multiplies the variance of the number of holders by 2.4. This is still .61 of randomised
    # response's.
    counted = quota.variance(0.15, reporters=700) * 0.49
    assert counted / quota.variance(0.15) == pytest.approx(2.4, rel=0.02)
    # e^.5/(e^.5 - 1)^2 = 3.917698...
    assert quota.variance(0.15, reporters=700) * 700 / 3.917698 == pytest.approx(0.61, abs=0.005)


def test_a_million_shares_take_a_byte_each() -> None:
    quota = QuotaRR(1.0, 1_000_000)
    shares = quota.deal(1_000_000, SimulationRandomness(1))
    assert shares.columns[0].nbytes == 1_000_000
    truth = np.zeros(1_000_000, dtype=np.uint8)
    truth[::20] = 1
    reports = quota.randomize(truth, shares, SimulationRandomness(1))
    assert reports.nbytes == 1_000_000
    estimate = quota.estimate(quota.aggregate(reports))
    assert abs(estimate.frequencies[1] - 0.05) < 5.5 * estimate.standard_errors[1]


def test_intervals_cover_whatever_is_true() -> None:
    """Exact coverage by the distribution for n = 9 and all numbers of holders."""
    quota = QuotaRR(1.0, 9, 3)
    bounds = [quota.estimate(Aggregate(quota, np.array([9 - i, i]), 9)).interval(0.9) for i in range(10)]
    for holders in range(10):
        law = count_law(quota, (1,) * holders + (0,) * (9 - holders), 1, 9)
        covered = sum(
            p
            for p, (lower, upper) in zip(law, bounds, strict=True)
            if lower[1] - 1e-9 <= holders / 9 <= upper[1] + 1e-9
        )
        assert covered >= 0.9 - 1e-9


@pytest.mark.parametrize(("holders", "epsilon_aux"), [(0, None), (50, None), (500, None), (50, 2.0)])
def test_intervals_cover_in_simulation(holders: int, epsilon_aux: float | None) -> None:
    quota = QuotaRR(0.5, 1000, 400, epsilon_aux=epsilon_aux)
    rng = SimulationRandomness(holders)
    hits, narrow, size = 0, 0, 400
    cache: dict[int, tuple[float, float]] = {}
    for _ in range(size):
        aggregate = quota.simulate_aggregate([1000 - holders, holders], rng)
        count = int(aggregate.counts[1])
        estimate = quota.estimate(aggregate)
        if count not in cache:
            lower, upper = estimate.interval(0.95)
            cache[count] = float(lower[1]), float(upper[1])
        hits += cache[count][0] <= holders / 1000 <= cache[count][1]
        narrow += abs(estimate.frequencies[1] - holders / 1000) <= 1.2816 * estimate.standard_errors[1]
    # The bound is a one-sided z of 5 below .95 with 400 repetitions.
    assert hits / size >= 0.95 - 5 * math.sqrt(0.95 * 0.05 / size)
    if holders == 500:
        assert narrow / size < 0.95 - 5 * math.sqrt(0.95 * 0.05 / size)  # this mutant has the interval for 80 %


def test_the_normal_interval_would_not_cover() -> None:
    """Mutant: the variance at the estimate, as in other mechanisms, fails where the inverted distribution covers."""
    quota = QuotaRR(0.1, 1000, design=0.05)
    rng = SimulationRandomness(6)
    size, hits, wald = 400, 0, 0
    cache: dict[int, tuple[float, float]] = {}
    for _ in range(size):
        aggregate = quota.simulate_aggregate([950, 50], rng)
        estimate, count = quota.estimate(aggregate), int(aggregate.counts[1])
        if count not in cache:
            lower, upper = estimate.interval(0.95)
            cache[count] = float(lower[1]), float(upper[1])
        hits += cache[count][0] <= 0.05 <= cache[count][1]
        f = float(estimate.frequencies[1])
        wald += abs(f - 0.05) <= 1.96 * math.sqrt(quota.variance(f))
    bound = 0.95 - 5 * math.sqrt(0.95 * 0.05 / size)
    assert wald / size < bound <= hits / size


def test_normal_intervals_after_drop_outs_cover() -> None:
    quota = QuotaRR(0.5, 1000, 400)
    rng = SimulationRandomness(1)
    truth = np.zeros(1000, dtype=np.int64)
    hits = 0
    for _ in range(300):
        reports = quota.randomize(truth, quota.deal(1000, rng), SimulationRandomness(1))[:700]
        lower, upper = quota.estimate(quota.aggregate(reports)).interval(0.95)
        hits += bool(lower[1] <= 0 <= upper[1])
    assert hits / 300 >= 0.95 - 5 * math.sqrt(0.95 * 0.05 / 300)


def test_parts_of_one_deal_add_and_deals_combine() -> None:
    quota = QuotaRR(1.0, 1000, deal_id="a")
    truth = np.repeat([1, 0], [200, 800])
    reports = _reports(quota, truth, 1)
    parts = quota.aggregate(reports[:300]) + quota.aggregate(reports[300:])
    assert parts == quota.aggregate(reports)
    other = QuotaRR(1.0, 4000, deal_id="b")
    second = other.simulate_aggregate([3600, 400], SimulationRandomness(2))
    with pytest.raises(MismatchError, match="cannot merge"):
        parts + second
    both = combine_deals([parts, second])
    expected = (quota.frequencies(parts) * 1000 + other.frequencies(second) * 4000) / 5000
    assert both.frequencies.tolist() == pytest.approx(expected.tolist(), rel=1e-14)
    errors = [quota.estimate(parts).standard_errors * 1000, other.estimate(second).standard_errors * 4000]
    assert both.standard_errors[1] == pytest.approx(math.hypot(errors[0][1], errors[1][1]) / 5000, rel=1e-12)
    lower, upper = both.interval(0.95, simultaneous=True)
    assert (lower < both.frequencies).all()
    assert (both.frequencies < upper).all()
    # Mutant: one set of coefficients for everybody is biased by far more than the error.
    pooled = QuotaRR(1.0, 5000)
    merged = Aggregate(pooled, parts.counts + second.counts, 5000)
    assert abs(pooled.frequencies(merged)[1] - both.frequencies[1]) > both.standard_errors[1] / 10


def test_as_an_estimate_for_post_processing() -> None:
    quota = QuotaRR(1.0, 2000)
    whole = quota.estimate(quota.simulate_aggregate([1600, 400], SimulationRandomness(3)))
    plain = whole
    assert plain.frequencies.tolist() == whole.frequencies.tolist()
    assert plain.standard_errors.tolist() == pytest.approx(whole.standard_errors.tolist(), rel=1e-9)
    # The tangent is compared with the variance a little further out.
    f = float(whole.frequencies[1]) + 0.01
    tangent = float(plain.noise_absent[1] + (plain.noise_present[1] - plain.noise_absent[1]) * f) / 2000
    assert tangent == pytest.approx(quota.variance(f), rel=2e-3)


def test_is_data() -> None:
    quota = QuotaRR(0.1, 1000, epsilon_aux=Fraction(1, 3), deal_id="x")
    assert quota.epsilon_aux == Fraction(1, 3)
    again: Any = from_spec(to_spec(quota))
    assert again == quota
    assert pickle.loads(pickle.dumps(quota)) == quota
    assert hash(quota) == hash(QuotaRR(0.1, 1000, quota.minimum, epsilon_aux=Fraction(1, 3), deal_id="x"))
    again = from_spec(to_spec(QuotaRR(1.0, 100)))
    assert again == QuotaRR(1.0, 100)
    assert quota.outputs().tolist() == [0, 1]
    assert (quota.state_size, quota.report_bits, quota.report_fields[0].dtype) == (2, 1.0, "uint8")
    assert quota.report_type([1]).tolist() == [1]


def test_guarantee_says_who_is_trusted() -> None:
    guarantee = QuotaRR(0.5, 1000).privacy()
    rows = {(row.adversary, row.view): row for row in guarantee.trust_models}
    assert rows["collector", "all reports, everybody else's data and all n-1 others' shares"].epsilon == 0.5
    assert rows["collector and dealer", "all reports and all shares"].epsilon == math.inf
    assert rows["collector with my share", "my report and my share"].epsilon == math.inf
    alone = rows["collector", "my report only, other reports ignored"]
    m = QuotaRR(0.5, 1000).law.moments
    assert alone.epsilon == pytest.approx(math.log((m.a + m.b) / m.a), rel=1e-12)
    assert all(row.delta == 0 for row in guarantee.trust_models)
    assert guarantee.implemented_epsilon <= math.nextafter(0.5, 1)
    capped = {row.adversary: row for row in QuotaRR(0.5, 1000, epsilon_aux=2.0).privacy().trust_models}
    assert capped["collector and dealer"].epsilon == capped["collector with my share"].epsilon == 2.0
    assert "must not collude" in str(guarantee)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 1}, "n must be >= 2, got n=1"),
        ({"n": 10, "minimum": 5}, r"minimum must be <= 4, got minimum=5; k=2 times minimum must be below n=10"),
        ({"n": 10, "minimum": -1}, "minimum must be >= 0, got minimum=-1"),
        ({"n": 10, "k": 1}, "k must be >= 2, got k=1"),
        ({"n": 10, "epsilon_aux": 1.0}, "epsilon_aux must be > epsilon=1.0, got epsilon_aux=1.0"),
        ({"n": 10, "epsilon_aux": 0.5}, "epsilon_aux must be > epsilon=1.0, got epsilon_aux=0.5"),
        ({"n": 10, "design": 1.5}, r"design must be in \[0, 1\], got design=1.5"),
        ({"n": 10, "deal_id": 7}, "deal_id must be a string, got deal_id=7"),
        ({"n": 10, "epsilon": 0}, "epsilon must be > 0"),
    ],
)
def test_bad_parameters_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        QuotaRR(**({"epsilon": 1.0} | arguments))


def test_bad_shares_are_named() -> None:
    quota = QuotaRR(1.0, 10, 2, deal_id="monday")
    shares = quota.deal(10, SimulationRandomness(1))
    truth = np.zeros(10, dtype=np.int64)
    with pytest.raises(InvalidInputError, match="every contributor needs one share, got 10 contributors and 9 shares"):
        quota.randomize(truth, shares[:9], SimulationRandomness(1))
    with pytest.raises(MismatchError, match="shares belong to deal “monday”, not to deal “tuesday”"):
        QuotaRR(1.0, 10, 2, deal_id="tuesday").randomize(truth, shares, SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.2, got something else in row 1"):
        quota.randomize([0], Shares("monday", (np.array([3], dtype=np.uint8),)), SimulationRandomness(1))
    with pytest.raises(
        InvalidInputError, match="shares must be Shares from the dealer, got an object of the type ndarray"
    ):
        quota.randomize(truth, shares.columns[0], SimulationRandomness(1))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="got something else in row 3"):
        quota.randomize([0, 1, 2], shares[:3], SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="n must be 10, got n=11: the deal was made for 10 contributors"):
        quota.deal(11, SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="rng must be"):
        quota.randomize(truth, shares, None)  # type: ignore[arg-type]


def test_bad_aggregates_are_named() -> None:
    quota = QuotaRR(1.0, 10, 2)
    with pytest.raises(InvalidReportError, match=r"report must be in 0\.\.1, got report=2 in row 1"):
        quota.aggregate([2])
    with pytest.raises(EmptyAggregateError):
        quota.estimate(Aggregate.empty(quota))
    with pytest.raises(DamagedStateError, match="n=10 contributors has at most as many reports, got 11"):
        Aggregate(quota, np.array([5, 6]), 11)
    with pytest.raises(MismatchError):
        quota.estimate(Aggregate.empty(GRR(2, 1.0)))
    whole = quota.simulate_aggregate([5, 5], SimulationRandomness(1))
    with pytest.raises(MismatchError, match="two aggregates belong to the same deal"):
        combine_deals([whole, whole])
    with pytest.raises(MismatchError, match="the same number of categories, got k=2 and k=3"):
        combine_deals([whole, QuotaRR(1.0, 10, 2, k=3).simulate_aggregate([3, 3, 4], SimulationRandomness(1))])
    with pytest.raises(MismatchError, match="must come from a mechanism with a dealer"):
        combine_deals([Aggregate.empty(GRR(2, 1.0))])
    with pytest.raises(InvalidParameterError, match="at least one deal"):
        combine_deals([])
    with pytest.raises(InvalidInputError, match="counts must sum to n=10, got 9"):
        quota.simulate_aggregate([4, 5], SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="confidence"):
        quota.estimate(whole).interval(1.0)
    with pytest.raises(InvalidParameterError, match="n must be 10"):
        quota.variance(0.5, 11)
    assert isinstance(quota.estimate(whole), Estimate)
    assert quota.variance(0.5, 10) == quota.variance(0.5)


@pytest.mark.parametrize(("n", "least", "most"), [(1_000, 0.105, 0.185), (10_000, 0.035, 0.045)])
def test_the_card_states_the_gain_for_the_rarest_answers(n: int, least: float, most: float) -> None:
    """The card names these percentages at epsilon 1; the exact variances need no drawing."""
    for k in (2, 5, 8, 16):
        gain = QuotaRR(epsilon=1.0, n=n, k=k).variance(0.0) / GRR(k, 1.0).variance(0.0, n)
        assert least <= gain <= most, (k, gain)
