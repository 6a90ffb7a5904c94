"""JRR as its four actors use it (dealing, reporting, aggregating, reading), and their possible mistakes."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import Aggregate, Attribute, Collection, Schema, SimulationRandomness
from deniable.core.estimate import Estimate
from deniable.core.randomness import draw
from deniable.core.spec import from_spec, to_spec
from deniable.core.thresholds import SCALE
from deniable.errors import (
    DamagedStateError,
    EmptyAggregateError,
    FileFormatError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
)
from deniable.oracles.grr import GRR
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.several_deals import combine_deals
from deniable.research.dealt.shares import Shares
from tests.research.dealt.jrr_laws import count_law, mean_and_variance, sign_law, truth_law
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, p_value

COINS = [(Fraction(3, 5), Fraction(-2, 3)), (Fraction(3, 5), Fraction(-1, 2)), (Fraction(4, 5), Fraction(-1, 16))]


def signs(shares: Shares) -> NDArray[np.int64]:
    """Return R of each contributor, 0 for the unpaired one."""
    found: NDArray[np.int64] = np.array([-1, 1, 0])[shares.columns[0]]
    return found


def _reports(jrr: JRR, truth: np.ndarray[Any, Any], seed: int) -> np.ndarray[Any, Any]:
    rng = SimulationRandomness(seed)
    return jrr.randomize(truth, jrr.deal(jrr.n, rng), rng)


# -------------------------------------------------------------------- law


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_deals_have_the_law_of_random_pairs(n: int) -> None:
    """All balanced vectors of signs are equally likely, as with random pairs of opposite signs."""
    law = {signs: float(weight) for signs, weight in sign_law(n).items()}
    assert len(law) == math.comb(n, n // 2) * (math.comb((n + 1) // 2, 1) if n % 2 else 1)
    rng = SimulationRandomness(n)
    dealt = [tuple(signs(JRR(0.6, 0, n).deal(n, rng)).tolist()) for _ in range(4000)]
    assert p_value(dealt, law) > FAMILY_WISE_ERROR
    # Mutant: signs drawn independently.
    assert p_value([tuple(np.random.default_rng(1).choice([-1, 1], n).tolist())] * 4000, law) < FAMILY_WISE_ERROR


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.parametrize(("p", "rho"), COINS)
def test_theorem_3_and_unbiasedness_by_enumeration(n: int, p: Fraction, rho: Fraction) -> None:
    """Marginals, mean and variance of the estimator, for all groupings, truths, data and drop-outs."""
    law, jrr = truth_law(n, p, rho), JRR(p, rho, n)
    q = 1 - p
    for i in range(n):
        assert sum(weight for coins, weight in law.items() if coins[i]) == p
    for data in itertools.product((0, 1), repeat=n):
        for reporters in range(1, n + 1):
            holders = sum(data[:reporters])
            mean, variance = mean_and_variance(count_law(law, data, reporters))
            assert mean - reporters * q == holders * (p - q)
            expected = variance / (p - q) ** 2
            assert jrr.count_variance(holders, reporters=reporters) == pytest.approx(float(expected), abs=1e-12)
            if n % 2 == 0 and reporters == n:
                published = p * q / (p - q) ** 2 * (n + rho * ((2 * holders - n) ** 2 - n) / (n - 1))
                assert expected == published


def test_the_implemented_coin_is_the_declared_one() -> None:
    for p, rho in COINS:
        jrr = JRR(p, rho, 10)
        assert abs(jrr.coin.q - (1 - p)) < Fraction(2, SCALE)
        assert abs(jrr.coin.s**2 + rho * p * (1 - p)) < Fraction(4, SCALE)


@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize(("p", "rho"), COINS)
def test_both_ways_to_simulate_follow_the_law(n: int, p: Fraction, rho: Fraction) -> None:
    jrr, truth = JRR(p, rho, n), (1, 1, 0, 1, 1, 0)[:n]
    law = {count: float(weight) for count, weight in count_law(truth_law(n, p, rho), truth).items() if weight}
    rng = SimulationRandomness(7)
    direct = [int(jrr.randomize(truth, jrr.deal(n, rng), rng).sum()) for _ in range(4000)]
    drawn = jrr.simulate_counts([n - sum(truth), sum(truth)], 20_000, rng)
    assert drawn.dtype == np.int64
    assert (drawn.sum(axis=1) == n).all()
    assert p_value(direct, law) > FAMILY_WISE_ERROR
    assert p_value(drawn[:, 1].tolist(), law) > FAMILY_WISE_ERROR


def test_mutants_of_the_coins_are_seen() -> None:
    """Mutants: a peer with the same sign, and independent signs; both change the distribution."""
    p, rho = COINS[0]
    # This mechanism is meant for more contributors, so it accepts six shares that are not a deal.
    jrr, truth = JRR(p, rho, 1000), np.ones(6, dtype=np.int64)
    law = {count: float(weight) for count, weight in count_law(truth_law(6, p, rho), (1,) * 6).items() if weight}
    rng = SimulationRandomness(3)

    def counts(types: Any) -> list[int]:
        return [int(jrr.randomize(truth, Shares("", (types(),)), rng).sum()) for _ in range(4000)]

    def same() -> Any:
        return np.repeat(draw(rng, 3).astype(np.uint8) % 2, 2)

    assert p_value(counts(lambda: JRR(0.6, 0, 6).deal(6, rng).columns[0]), law) > FAMILY_WISE_ERROR
    assert p_value(counts(same), law) < FAMILY_WISE_ERROR
    assert p_value(counts(lambda: draw(rng, 6).astype(np.uint8) % 2), law) < FAMILY_WISE_ERROR


def test_reports_are_functions_of_share_truth_and_word() -> None:
    jrr = JRR(0.6, -0.5, 40)
    truth = np.arange(40) % 2
    shares = jrr.deal(40, SimulationRandomness(1))
    words = draw(SimulationRandomness(9), 40).tolist()
    thresholds = {-1: jrr.coin.minus, 1: jrr.coin.plus, 0: jrr.coin.unpaired}
    expected = [int(x) ^ (word < thresholds[int(r)]) for x, word, r in zip(truth, words, signs(shares), strict=True)]
    assert jrr.randomize(truth, shares, SimulationRandomness(9)).tolist() == expected
    with always_interpreted():
        assert jrr.randomize(truth, shares, SimulationRandomness(9)).tolist() == expected
    assert jrr.randomize(truth, shares, SimulationRandomness(9)).dtype == np.uint8
    one = jrr.randomize(truth[3:4], shares[3], SimulationRandomness(9))
    assert one.tolist() == [int(truth[3]) ^ (words[0] < thresholds[int(signs(shares)[3])])]


def test_at_the_extreme_half_report_the_truth() -> None:
    jrr = JRR.optimal(1000, 0.1, 5, count=0)
    truth = (np.arange(1000) % 3 == 0).astype(np.int64)
    rng = SimulationRandomness(2)
    shares = jrr.deal(1000, rng)
    reports = jrr.randomize(truth, shares, rng)
    plus = signs(shares) == 1
    assert (reports[plus] == truth[plus]).all()
    assert 400 < int((reports[~plus] != truth[~plus]).sum()) < 500


# -------------------------------------------------------------------- estimates


@pytest.mark.parametrize(("n", "count"), [(3000, 150), (3001, 2900), (3000, 1500)])
@pytest.mark.parametrize(("p", "rho"), [*COINS, (Fraction(3, 5), Fraction(0))])
def test_estimates_have_their_mean_and_variance(n: int, count: int, p: Fraction, rho: Fraction) -> None:
    jrr, runs = JRR(p, rho, n), 20_000
    counts = jrr.simulate_counts([n - count, count], runs, SimulationRandomness(5))
    estimates = (counts[:, 1] - n * float(1 - p)) / float(2 * p - 1)
    variance = jrr.count_variance(count)
    z = 6  # the two-sided error is 2e-9 per comparison
    assert abs(estimates.mean() - count) < z * math.sqrt(variance / runs)
    assert abs(estimates.var() / variance - 1) < z * math.sqrt(2 / runs)
    if rho < Fraction(-1, 10) and count != 1500:
        # Mutant: the variance is that of independent coins.
        assert abs(estimates.var() / JRR(p, 0, n).count_variance(count) - 1) > z * math.sqrt(2 / runs)
    assert counts[3].tolist() != counts[4].tolist()
    found = jrr.frequencies(Aggregate(jrr, counts[0], n))
    assert found[1] == pytest.approx(estimates[0] / n, rel=1e-9)
    assert found.sum() == pytest.approx(1.0)
    # Mutant: p and q are swapped.
    swapped = (counts[:, 1] - n * float(p)) / float(1 - 2 * p)
    assert count == 1500 or abs(swapped.mean() - count) > z * math.sqrt(variance / runs)


def test_table_3_by_simulation() -> None:
    """The mean squared error of 20,000 runs on the counts of Kosarak at epsilon .1: 4.24e5."""
    n, n1, runs = 20_000, 659, 20_000
    jrr = JRR.optimal(n, 0.1, 5, n1)
    counts = jrr.simulate_counts([n - n1, n1], runs, SimulationRandomness(11))
    estimates = (counts[:, 1] / n - float(jrr.coin.q)) / float(1 - 2 * jrr.coin.q) * n
    assert abs(((estimates - n1) ** 2).mean() / 423_870 - 1) < 6 * math.sqrt(2 / runs)


def test_the_estimator_uses_the_implemented_probabilities() -> None:
    """p - 1/2 of two and a half units of 2^-64 is rounded to two, which changes the slope of the estimator."""
    jrr = JRR(Fraction(1, 2) + Fraction(5, 2 * SCALE), 0, 10)
    assert 1 - 2 * jrr.coin.q == Fraction(4, SCALE)
    few, many = (Aggregate(jrr, np.array([10 - i, i]), 10) for i in (5, 6))
    slope = jrr.frequencies(many)[1] - jrr.frequencies(few)[1]
    assert slope * 10 * 4 / SCALE == pytest.approx(1.0, rel=1e-12)
    # Mutant: the declared p is used.
    assert slope * 10 * 5 / SCALE != pytest.approx(1.0, rel=0.1)
    with pytest.raises(InvalidParameterError, match=r"p must exceed 0.5 by more than 2\^-63"):
        JRR(Fraction(1, 2) + Fraction(1, 2 * SCALE), 0, 10)


def test_intervals_cover() -> None:
    """Score intervals by the exact distribution: 95 % within its Monte-Carlo bound, also where Wald's would fail."""
    runs = 4000
    for epsilon, theta, cap in itertools.product((0.1, 1.0), (0.0, 0.05, 0.5), (None, 2.0)):
        jrr = JRR.optimal(2000, epsilon, 5, 0, cap)
        count = int(theta * 2000)
        counts = jrr.simulate_counts([2000 - count, count], runs, SimulationRandomness(13))
        covered = 0
        for ones, times in zip(*np.unique(counts[:, 1], return_counts=True), strict=True):
            lower, upper = jrr.estimate(Aggregate(jrr, np.array([2000 - ones, ones]), 2000)).interval(0.95)
            covered += int(times) * bool(lower[1] <= theta <= upper[1])
        assert abs(covered / runs - 0.95) < 5 * math.sqrt(0.95 * 0.05 / runs) + 0.01, (epsilon, theta, cap)


def test_score_bounds_are_where_the_test_turns() -> None:
    jrr = JRR(0.6, -0.6, 500)
    aggregate = Aggregate(jrr, np.array([290, 210]), 500)
    estimate = jrr.estimate(aggregate)
    (low, high), f = [bound[1] for bound in estimate.interval(0.9)], estimate.frequencies[1]
    # The bounds are half a report further out on both sides. One report more is 1/(500 (p - q)) = .01.
    for bound in (low + 0.005, high - 0.005):
        assert abs(f - bound) / math.sqrt(jrr.variance(bound)) == pytest.approx(1.6448536269514722, rel=1e-9)
    assert low < f < high
    lower, upper = estimate.interval(0.9)
    assert [lower[0], upper[0]] == pytest.approx([1 - high, 1 - low], abs=1e-12)
    far = jrr.estimate(Aggregate(jrr, np.array([0, 500]), 500)).interval()
    assert far[0][1] < 3.0 < far[1][1]


def test_parts_of_one_deal_add_and_deals_combine() -> None:
    jrr = JRR.optimal(1000, 1.0, 5, 100, 2.0, deal_id="a")
    truth = np.repeat([1, 0], [200, 800])
    reports = _reports(jrr, truth, 1)
    parts = jrr.aggregate(reports[:300]) + jrr.aggregate(reports[300:])
    assert parts == jrr.aggregate(reports)
    other = JRR.optimal(4001, 0.5, 5, 400, deal_id="b")
    second = other.simulate_aggregate([3601, 400], SimulationRandomness(2))
    with pytest.raises(MismatchError, match="cannot merge"):
        parts + second
    both = combine_deals([parts, second])
    expected = (jrr.frequencies(parts) * 1000 + other.frequencies(second) * 4001) / 5001
    assert both.frequencies.tolist() == pytest.approx(expected.tolist(), rel=1e-14)
    errors = [jrr.estimate(parts).standard_errors[1] * 1000, other.estimate(second).standard_errors[1] * 4001]
    assert both.standard_errors[1] == pytest.approx(math.hypot(*errors) / 5001, rel=1e-12)
    quota = QuotaRR(1.0, 500, deal_id="c").simulate_aggregate([400, 100], SimulationRandomness(2))
    assert combine_deals([parts, quota]).n == 1500
    with pytest.raises(MismatchError, match="two aggregates belong to the same deal"):
        combine_deals([parts, parts])
    plain = jrr.estimate(parts)
    assert plain.standard_errors.tolist() == pytest.approx(jrr.estimate(parts).standard_errors.tolist(), rel=1e-9)


def test_drop_outs() -> None:
    jrr = JRR(0.6, -0.6, 1000)
    truth = np.repeat([1, 0], [200, 800])
    reports = _reports(jrr, truth, 4)
    kept = np.arange(1000) % 3 != 0
    estimate = jrr.estimate(jrr.aggregate(reports[kept]))
    assert estimate.n == int(kept.sum())
    deviation = math.sqrt(jrr.variance(float(truth[kept].mean()), reporters=estimate.n))
    assert abs(estimate.frequencies[1] - truth[kept].mean()) < 5 * deviation
    lower, upper = estimate.interval(0.9999)
    assert lower[1] < truth[kept].mean() < upper[1]


# -------------------------------------------------------------------- parameters, files, mistakes


def test_a_mechanism_is_data() -> None:
    jrr = JRR(0.6, Fraction(-1, 3), 100, deal_id="monday")
    assert from_spec(to_spec(jrr)) == jrr
    assert to_spec(jrr) == {
        "mechanism": "JRR", "p": 0.6, "rho": "-1/3", "n": 100, "colluders": 5, "deal_id": "monday",
    }  # fmt: skip
    optimal = JRR.optimal(101, 0.1, 3, 10, deal_id="d")
    assert from_spec(to_spec(optimal)) == optimal
    assert pickle.loads(pickle.dumps(optimal)) == optimal
    assert hash(optimal) == hash(JRR.optimal(101, 0.1, 3, 10, deal_id="d"))
    assert JRR(0.6, 0, 3).colluders == 2
    assert jrr.dealt
    shares = jrr.deal(100, SimulationRandomness(1))
    again = Shares(shares.deal_id, shares.columns)
    assert again.columns[0].tolist() == shares.columns[0].tolist()
    assert [shares.columns[0].dtype.name] == [field.dtype for field in jrr.share_fields]
    assert [field.dtype for field in jrr.report_fields] == ["uint8"]
    assert jrr.outputs().tolist() == [0, 1]
    assert (jrr.k, jrr.state_size, jrr.report_bits) == (2, 2, 1.0)
    ratio = jrr.implemented_ratio()
    assert isinstance(ratio, Fraction)
    assert math.log(ratio) == pytest.approx(jrr.implemented_epsilon(), rel=1e-12)
    assert len(shares[10:20]) == 10


def test_bad_parameters_name_the_nearest_feasible_value() -> None:
    with pytest.raises(
        InvalidParameterError, match=r"rho must be >= 1 - 1/p = -0.25 for p=0.8.*p=0.6666666666666666 with"
    ):
        JRR(0.8, -0.5, 10)
    with pytest.raises(InvalidParameterError, match=r"rho must be <= 0 \(the nearest feasible rho is 0\), got rho=0.5"):
        JRR(0.8, 0.5, 10)
    for p in (0.5, 1.0, 0.2, 1.5):
        with pytest.raises(InvalidParameterError, match=r"p must be in \(0.5, 1\)"):
            JRR(p, 0, 10)
    with pytest.raises(InvalidParameterError, match="p must be a finite number"):
        JRR(math.nan, 0, 10)
    with pytest.raises(InvalidParameterError, match="n must be >= 2, got n=1"):
        JRR(0.6, 0, 1)
    with pytest.raises(InvalidParameterError, match="n must be an integer"):
        JRR(0.6, 0, 10.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="colluders must be <= 9"):
        JRR(0.6, 0, 10, colluders=10)
    with pytest.raises(InvalidParameterError, match="deal_id must be a string"):
        JRR(0.6, 0, 10, deal_id=3)  # type: ignore[arg-type]
    jrr = JRR(0.6, -0.5, 10)
    for arguments in ({"theta": 1.5}, {"delta": 0.0}, {"delta": 1.0}, {"colluders": 10}):
        with pytest.raises(InvalidParameterError, match=next(iter(arguments))):
            jrr.guarantee_against(**arguments)
    with pytest.raises(InvalidParameterError, match="n must be 10, got n=12: the deal was made for 10 contributors"):
        jrr.deal(12, SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="n must be 10"):
        jrr.variance(0.5, 12)
    assert jrr.variance(0.5, 10) == jrr.variance(0.5)


def test_bad_shares_are_named() -> None:
    jrr, rng = JRR(0.6, -0.5, 10, deal_id="a"), SimulationRandomness(1)
    shares = jrr.deal(10, rng)
    with pytest.raises(InvalidInputError, match="every contributor needs one share, got 10 contributors and 9 shares"):
        jrr.randomize([0] * 10, shares[:9], rng)
    with pytest.raises(InvalidInputError, match="got 9 contributors and 10 shares"):
        jrr.randomize([0] * 9, shares, rng)
    with pytest.raises(MismatchError, match="the shares belong to deal “b”, not to deal “a”"):
        jrr.randomize([0] * 10, Shares("b", (shares.columns[0],)), rng)
    with pytest.raises(InvalidInputError, match="must be Shares from the dealer, got an object of the type list"):
        jrr.randomize([0] * 10, [0] * 10, rng)  # type: ignore[arg-type]
    twice = np.array([1] * 6 + [0] * 4, dtype=np.uint8)
    with pytest.raises(
        InvalidInputError,
        match="n=10 contributors must have at most 5 shares of type 1, got 6 shares: at least one share is duplicated",
    ):
        jrr.randomize([0] * 10, Shares("a", (twice,)), rng)
    with pytest.raises(InvalidInputError, match="at least one share is duplicated"):
        jrr.randomize([0] * 11, Shares("a", (np.append(shares.columns[0], shares.columns[0][:1]),)), rng)
    with pytest.raises(InvalidInputError, match="n=10 contributors must have at most 0 shares of type 2, got 1"):
        jrr.randomize([0], Shares("a", (np.array([2], dtype=np.uint8),)), rng)
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.2, got something else in row 10"):
        jrr.randomize([0] * 10, Shares("a", (np.append(shares.columns[0][:9], np.uint8(3)),)), rng)
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.1, got something else in row 1"):
        jrr.randomize([2], shares[0], rng)
    with pytest.raises(InvalidParameterError, match="rng must be"):
        jrr.randomize([1], shares[0], None)  # type: ignore[arg-type]


def test_bad_aggregates_are_named() -> None:
    jrr = JRR(0.6, -0.5, 10)
    with pytest.raises(InvalidReportError, match=r"report must be in 0\.\.1, got report=2 in row 1"):
        jrr.aggregate([2])
    with pytest.raises(EmptyAggregateError):
        jrr.estimate(Aggregate.empty(jrr))
    with pytest.raises(DamagedStateError, match="n=10 contributors has at most as many reports, got 11"):
        jrr.estimate(Aggregate(jrr, np.array([5, 6]), 11))
    with pytest.raises(MismatchError):
        jrr.estimate(Aggregate.empty(GRR(2, 1.0)))
    with pytest.raises(MismatchError):
        jrr.estimate(JRR(0.6, -0.5, 10, deal_id="other").simulate_aggregate([5, 5], SimulationRandomness(1)))
    with pytest.raises(InvalidInputError, match="counts must sum to n=10, got 9"):
        jrr.simulate_aggregate([4, 5], SimulationRandomness(1))
    assert isinstance(jrr.estimate(jrr.simulate_aggregate([5, 5], SimulationRandomness(1))), Estimate)


def test_a_collection_keeps_its_guarantee() -> None:
    """Infinite and numerical rows are kept in the document; a changed document is refused."""
    survey = Collection(Schema((Attribute("smoker", ("no", "yes")),)), JRR.optimal(1000, 0.5, 5, 50, deal_id="spring"))
    assert Collection.from_json(survey.to_json()) == survey
    row = next(row.epsilon for row in survey.privacy().trust_models if row.delta)
    noisy = survey.to_json().replace(repr(row), repr(row * (1 + 1e-12)))
    assert noisy != survey.to_json()
    assert Collection.from_json(noisy) == survey
    with pytest.raises(FileFormatError, match="must state the guarantee of its mechanism"):
        Collection.from_json(survey.to_json().replace(repr(row), repr(row - 1e-6)))
