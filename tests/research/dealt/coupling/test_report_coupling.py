"""Report-coupled randomised response: its distribution, its error, and each row of its guarantee."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import Aggregate, SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.errors import (
    DamagedStateError,
    EmptyAggregateError,
    InvalidInputError,
    InvalidParameterError,
    MismatchError,
)
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.report_coupling import ReportCoupledRR
from deniable.research.dealt.shares import Shares
from tests.research.dealt.coupling_laws import (
    SAY_0,
    SAY_1,
    TRUTH,
    divergence,
    first,
    largest_ratio,
    moments,
    reports,
    threshold_pairs,
    type_law,
)
from tests.unit._goodness import FAMILY_WISE_ERROR, p_value

# These are exact in binary, so the implemented probabilities are the same.
PARAMETERS = [(Fraction(5, 8), Fraction(1)), (Fraction(7, 8), Fraction(1)), (Fraction(3, 4), Fraction(1, 4))]


def _law(mechanism: ReportCoupledRR) -> dict[tuple[int, ...], Any]:
    p, q = mechanism.support_probabilities
    return type_law(mechanism.n, q, p, Fraction(mechanism.weight))


@pytest.mark.parametrize(("p", "weight"), PARAMETERS)
def test_pairs_use_u_and_one_minus_u(p: Fraction, weight: Fraction) -> None:
    coupling = ReportCoupledRR(p, 4, weight).coupling
    table = threshold_pairs(1 - p, p, weight)
    assert coupling.pairs.tolist() == [[table[a, b] for b in range(3)] for a in range(3)]
    assert coupling.shares.tolist() == [1 - p, 1 - p, 2 * p - 1]
    if weight == 1:
        # Either both tell the truth, with probability p - q, or one says 1 and the other 0.
        assert {pair: w for pair, w in table.items() if w} == {
            (TRUTH, TRUTH): 2 * p - 1,
            (SAY_1, SAY_0): 1 - p,
            (SAY_0, SAY_1): 1 - p,
        }


@pytest.mark.parametrize(("p", "weight"), PARAMETERS)
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_mean_and_variance_are_exact(p: Fraction, weight: Fraction, n: int) -> None:
    mechanism = ReportCoupledRR(p, n, weight)
    law = _law(mechanism)
    assert sum(law.values()) == 1
    for held in range(n + 1):
        data = (1,) * held + (0,) * (n - held)
        said = reports(law, data)
        for i, x in enumerate(data):
            assert sum(w for y, w in said.items() if y[i]) == (p if x else 1 - p)
        for reporters in {n, n - 1}:
            holders = sum(data[:reporters])
            mean, variance = moments(said, first(reporters, 1))
            assert (mean - reporters * (1 - p)) / (2 * p - 1) == holders
            found = mechanism.variance(holders / reporters, reporters=reporters) * reporters**2
            assert found == pytest.approx(float(variance / (2 * p - 1) ** 2), abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0])
def test_less_variance_than_randomised_response_and_than_jrr(epsilon: float) -> None:
    p = 1 / (1 + math.exp(-epsilon))
    q, n = 1 - p, 1_000_000
    coupled, jrr = ReportCoupledRR(p, n), JRR(p, 1 - 1 / p, n)
    for theta in (0.0, 0.01, 0.1, 0.3, 0.5, 0.8, 1.0):
        plain = p * q / (p - q) ** 2 / n
        ratio = coupled.variance(theta) / plain
        assert ratio == pytest.approx(1 - q / p * (theta**2 + (1 - theta) ** 2) - 2 * theta * (1 - theta), abs=1e-5)
        assert ratio < 1
        assert coupled.variance(theta) <= jrr.variance(theta) + 1e-15
    # At theta = 0 both couple the same thing. At 1/2, JRR couples nothing.
    assert coupled.variance(0.0) == pytest.approx(jrr.variance(0.0), rel=1e-6)
    assert jrr.variance(0.5) > 1.2 * coupled.variance(0.5)


@pytest.mark.parametrize(("p", "weight"), PARAMETERS)
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_rows_hold_in_their_views(p: Fraction, weight: Fraction, n: int) -> None:
    mechanism = ReportCoupledRR(p, n, weight)
    law = _law(mechanism)
    for colluders in range(n):
        row = next(
            r for r in mechanism.guarantee_against(colluders=colluders).trust_models if "colluders' shares" in r.view
        )
        seen: dict[Any, Any] = defaultdict(Fraction)
        for told, w in law.items():
            seen[told[n - colluders :], told[0]] += w
        views = {view for view, _ in seen}
        worst = math.log(
            largest_ratio(
                pair
                for view in views
                for pair in (
                    (seen[view, SAY_1] + seen[view, TRUTH], seen[view, SAY_1]),
                    (seen[view, SAY_0] + seen[view, TRUTH], seen[view, SAY_0]),
                )
            )
        )
        assert row.epsilon >= worst - 1e-12
        assert row.status in ("exact", "upper bound")
        if row.status == "exact":
            assert row.epsilon == pytest.approx(worst, abs=1e-9)
        assert (row.status == "exact") == (colluders == 0 or (colluders == 1 and n % 2 == 0))
        assert row.epsilon == mechanism.epsilon_against(colluders)
    rows = mechanism.privacy().trust_models
    alone = next(r for r in rows if r.view.startswith("my report only"))
    assert alone.epsilon == pytest.approx(math.log(p / (1 - p)), abs=1e-12)
    assert rows[0].epsilon == rows[1].epsilon == math.inf  # the truth is told verbatim
    # This view has all reports and everybody else's data.
    known = next(r for r in rows if r.view == "all reports and everybody else's data")
    pairs = []
    for others in itertools.product((0, 1), repeat=n - 1):
        one, zero = reports(law, (1, *others)), reports(law, (0, *others))
        pairs += [(one.get(y, 0), zero.get(y, 0)) for y in itertools.product((0, 1), repeat=n)]
    worst = math.log(largest_ratio(pairs))
    assert known.epsilon >= worst
    if known.status == "exact":
        assert known.epsilon == worst == math.inf
    assert (known.status == "exact") == (weight == 1 and n % 2 == 0)


@pytest.mark.parametrize(("p", "weight"), PARAMETERS)
@pytest.mark.parametrize(("n", "theta"), [(2, 0.25), (3, 0.0), (4, 0.0), (4, 0.25), (5, 0.5), (6, 0.0), (6, 0.05)])
def test_all_reports_at_delta(p: Fraction, weight: Fraction, n: int, theta: float) -> None:
    mechanism = ReportCoupledRR(p, n, weight)
    law = _law(mechanism)
    mixed: list[dict[Any, float]] = [defaultdict(float), defaultdict(float)]
    for others in itertools.product((0, 1), repeat=n - 1):
        weight_of = theta ** sum(others) * (1 - theta) ** (n - 1 - sum(others))
        for x in (0, 1) if weight_of else ():
            for y, probability in reports(law, (x, *others)).items():
                mixed[x][y] += weight_of * float(probability)
    view = mechanism.coupling.view(n, theta)
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        assert view.divergence(epsilon, 0) == pytest.approx(divergence(mixed[1], mixed[0], epsilon), abs=1e-12)
        assert view.divergence(epsilon, 1) == pytest.approx(divergence(mixed[0], mixed[1], epsilon), abs=1e-12)
    least = view.epsilon_at(0.05)
    if math.isfinite(least) and least > 1e-5:
        assert max(divergence(mixed[1], mixed[0], least), divergence(mixed[0], mixed[1], least)) <= 0.05 + 1e-12
        # Mutant: epsilon is a little smaller.
        assert max(view.divergence(least - 2e-6, 0), view.divergence(least - 2e-6, 1)) > 0.05


def test_the_same_answer_is_not_the_worst_data() -> None:
    """The reason why the row names whose data are known, and for the row's note."""
    p = Fraction(9, 16)
    law = type_law(6, 1 - p, p, Fraction(1))
    worst = []
    for others in ((0, 0, 0, 0, 0), (1, 0, 0, 0, 0)):
        one, zero = reports(law, (1, *others)), reports(law, (0, *others))
        worst.append(max(divergence(one, zero, 2.0), divergence(zero, one, 2.0)))
    assert worst[0] == pytest.approx(ReportCoupledRR(p, 6).coupling.view(6, 0.0).divergence(2.0, 1), abs=1e-12)
    assert worst[1] > 5 * worst[0]


def test_rows_at_scale() -> None:
    """JRR with the same p has epsilon .338 in the first of these views, and at least .211 in the second."""
    mechanism = ReportCoupledRR.optimal(10_000, 0.1, 5)
    rows = {r.view: r for r in mechanism.privacy().trust_models}
    same = rows["all reports; everybody else is known to give one and the same answer"]
    assert (same.delta, same.status) == (1e-6, "exact")
    assert same.epsilon == pytest.approx(0.1185, abs=5e-5)
    drawn = next(r for view, r in rows.items() if "base rate 0.05" in view)
    assert drawn.epsilon == pytest.approx(0.1184, abs=5e-5)
    assert rows["my report and the colluders' shares, other reports ignored"].epsilon == pytest.approx(0.1, abs=1e-12)
    # The window of large n and the whole range of small n have the same distribution.
    wide = ReportCoupledRR(0.6, 2047).coupling.view(2047, 0.1)
    assert wide.joint.sum(axis=(1, 2)).tolist() == pytest.approx([1, 1], abs=1e-12)
    large = ReportCoupledRR(0.6, 1_000_001).coupling.view(1_000_001, 0.1)
    assert large.joint.sum(axis=(1, 2)).tolist() == pytest.approx([1, 1], abs=1e-9)


@pytest.mark.parametrize("count", [0, 100, 500])
@pytest.mark.parametrize("colluders", [0, 5, 40])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_no_other_weight_is_better(epsilon: float, colluders: int, count: int) -> None:
    n = 1000
    best = ReportCoupledRR.optimal(n, epsilon, colluders, count)
    assert best.epsilon_against(colluders) <= epsilon
    mu = colluders / (n - colluders)
    for weight in np.linspace(0, 1, 201).tolist():
        p = 1 - 1 / ((1 - mu * weight) * (1 + math.exp(epsilon)))
        if p > 0.5:
            assert best.variance(count / n) <= ReportCoupledRR(p, n, weight).variance(count / n) * (1 + 1e-9)


def test_coupled_pairs_that_would_say_nothing_are_not_offered() -> None:
    """With one colluder of nine and e^epsilon = 1.25 + 1.125 2^-50, p would be 1/2, which is not a mechanism."""
    assert ReportCoupledRR.optimal(10, Decimal("0.2231435513142105551269"), 1).weight == 0


@pytest.mark.parametrize(("p", "weight"), PARAMETERS)
@pytest.mark.parametrize("n", [4, 5])
def test_deals_follow_the_law(p: Fraction, weight: Fraction, n: int) -> None:
    mechanism = ReportCoupledRR(p, n, weight)
    law = {told: float(w) for told, w in _law(mechanism).items()}
    rng = SimulationRandomness(n)
    dealt = [tuple(mechanism.deal(n, rng).columns[0].tolist()) for _ in range(4000)]
    assert p_value(dealt, law) > FAMILY_WISE_ERROR
    # Mutant: nobody is coupled.
    loose = ReportCoupledRR(p, n, 0)
    assert p_value([tuple(loose.deal(n, rng).columns[0].tolist()) for _ in range(4000)], law) < FAMILY_WISE_ERROR


@pytest.mark.parametrize(("p", "weight"), PARAMETERS)
def test_both_ways_to_simulate_follow_the_law(p: Fraction, weight: Fraction) -> None:
    mechanism = ReportCoupledRR(p, 6, weight)
    data = (1, 0, 0, 1, 0, 0)
    law: dict[int, float] = defaultdict(float)
    for y, w in reports(_law(mechanism), data).items():
        law[sum(y)] += float(w)
    rng = SimulationRandomness(6)
    direct = [
        int(mechanism.randomize(list(data), mechanism.deal(6, rng), SimulationRandomness(1)).sum()) for _ in range(3000)
    ]
    drawn = [int(mechanism.simulate_aggregate([4, 2], rng).counts[1]) for _ in range(3000)]
    assert p_value(direct, {i: w for i, w in law.items() if w}) > FAMILY_WISE_ERROR
    assert p_value(drawn, {i: w for i, w in law.items() if w}) > FAMILY_WISE_ERROR


def test_reports_are_functions_of_share_and_truth() -> None:
    mechanism = ReportCoupledRR(0.7, 40)
    truth = np.arange(40) % 2
    shares = mechanism.deal(40, SimulationRandomness(1))
    expected = [says if says < 2 else x for says, x in zip(shares.columns[0].tolist(), truth.tolist(), strict=True)]
    assert mechanism.randomize(truth, shares, SimulationRandomness(1)).tolist() == expected
    assert [
        int(mechanism.randomize(truth[i : i + 1], shares[i], SimulationRandomness(1))[0]) for i in range(40)
    ] == expected
    assert shares.columns[0].nbytes == 40
    # Every deal is balanced: as many are told to say 1 as to say 0.
    assert (shares.columns[0] == SAY_1).sum() == (shares.columns[0] == SAY_0).sum()


def test_estimates_have_their_mean_and_variance() -> None:
    mechanism = ReportCoupledRR.optimal(3001, 0.5, 5)
    rng, size = SimulationRandomness(2), 4000
    f = np.array([mechanism.frequencies(mechanism.simulate_aggregate([2801, 200], rng))[1] for _ in range(size)])
    variance = mechanism.variance(200 / 3001)
    assert abs(f.mean() - 200 / 3001) < 5.5 * math.sqrt(variance / size)
    assert f.var() == pytest.approx(variance, rel=5.5 * math.sqrt(2 / size))
    # Mutant: the variance is that of randomised response.
    assert f.var() != pytest.approx(ReportCoupledRR(mechanism.p, 3001, 0).variance(0.07), rel=0.2)
    covered = 0
    for _ in range(500):
        lower, upper = mechanism.estimate(mechanism.simulate_aggregate([2801, 200], rng)).interval(0.95)
        covered += bool(lower[1] <= 200 / 3001 <= upper[1])
    assert abs(covered / 500 - 0.95) < 5 * math.sqrt(0.95 * 0.05 / 500)


def test_is_data() -> None:
    mechanism = ReportCoupledRR(0.7, 100, Fraction(1, 3), 7, "x")
    again: Any = from_spec(to_spec(mechanism))
    assert again == mechanism
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert (mechanism.state_size, mechanism.report_bits, mechanism.outputs().tolist()) == (2, 1.0, [0, 1])
    assert mechanism.share_fields[0].name == "types"
    assert mechanism.report_fields[0].dtype == "uint8"
    assert mechanism.implemented_ratio() == mechanism.implemented_epsilon() == mechanism.epsilon == math.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": 0.5}, r"p must be in \(0\.5, 1\), got p=0\.5"),
        ({"p": 1}, r"p must be in \(0\.5, 1\), got p=1"),
        ({"n": 1}, "n must be >= 2, got n=1"),
        ({"weight": 1.5}, r"weight must be in \[0, 1\], got weight=1\.5"),
        ({"colluders": 10}, "colluders must be <= 9, got colluders=10"),
        ({"deal_id": None}, "deal_id must be a string"),
    ],
)
def test_bad_parameters_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        ReportCoupledRR(**({"p": 0.7, "n": 10} | arguments))


def test_bad_use_is_named() -> None:
    mechanism = ReportCoupledRR(0.7, 10, deal_id="monday")
    shares = mechanism.deal(10, SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match="every contributor needs one share, got 10 contributors and 9 shares"):
        mechanism.randomize([0] * 10, shares[:9], SimulationRandomness(1))
    with pytest.raises(MismatchError, match="shares belong to deal “monday”, not to deal “”"):
        ReportCoupledRR(0.7, 10).randomize([0] * 10, shares, SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match="shares must have the columns"):
        mechanism.randomize([0], Shares("monday", (np.zeros(1, np.uint8),) * 2), SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="n must be 10, got n=9: the deal was made for 10 contributors"):
        mechanism.deal(9, SimulationRandomness(1))
    with pytest.raises(DamagedStateError, match="n=10 contributors has at most as many reports, got 11"):
        mechanism.estimate(Aggregate(mechanism, np.array([5, 6]), 11))
    with pytest.raises(EmptyAggregateError):
        mechanism.estimate(Aggregate.empty(mechanism))
    with pytest.raises(InvalidInputError, match="counts must sum to n=10, got 9"):
        mechanism.simulate_aggregate([4, 5], SimulationRandomness(1))
