"""Shares that all dealt mechanisms refuse, and small deals and extreme budgets that must work."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import Aggregate, SimulationRandomness
from deniable.errors import DealingError, InvalidInputError, InvalidParameterError, MismatchError
from deniable.research.dealt.coupling.coupled_oue import CoupledOUE
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.jrr_local_hashing import JRRLocalHashing
from deniable.research.dealt.coupling.kary_jrr import KaryJRR
from deniable.research.dealt.coupling.report_coupling import ReportCoupledRR
from deniable.research.dealt.mpc.splitting import join_pieces
from deniable.research.dealt.quota.batches import QuotaBatches
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.records import QuotaRecords
from deniable.research.dealt.quota.unary import QuotaUnary
from deniable.research.dealt.several_deals import combine_deals
from deniable.research.dealt.shares import Shares

DEALT = [
    JRR(0.7, -0.1, 10),
    KaryJRR(3, 0.5, -0.5, 10),
    JRRLocalHashing(9, 3, 0.5, -0.5, 10),
    ReportCoupledRR(0.7, 10),
    CoupledOUE(4, 0.25, 10),
    QuotaRR(1.0, 10),
    QuotaRR(1.0, 10, epsilon_aux=2.0),
    QuotaUnary(4, 1.0, 10),
    QuotaRecords((2, 2), 1.0, 10),
    QuotaBatches(1.0, 10, 1),
]


def answers(mechanism: Any, rows: int) -> Any:
    return np.zeros((rows, 2) if isinstance(mechanism, QuotaRecords) else rows, dtype=np.int64)


@pytest.mark.parametrize("mechanism", DEALT, ids=lambda m: m.name)
def test_a_deal_used_twice_at_once_is_refused(mechanism: Any) -> None:
    rng = SimulationRandomness(1)
    shares = mechanism.deal(10, rng)
    twice = Shares.joined([shares, shares])
    with pytest.raises(InvalidInputError, match="at least one share is duplicated"):
        mechanism.randomize(answers(mechanism, 20), twice, rng)


def test_more_of_a_type_than_any_deal_has_is_refused() -> None:
    rng = SimulationRandomness(1)
    signs = Shares("", (np.ones(6, dtype=np.uint8),))
    with pytest.raises(
        InvalidInputError,
        match="n=10 contributors must have at most 5 shares of type 1, got 6 shares: at least one share is duplicated",
    ):
        KaryJRR(3, 0.5, -0.5, 10).randomize([0] * 6, signs, rng)
    quota = QuotaRR(1.0, 10, 3)
    # With at least three of each forced answer, there are at most seven of one and four truth-tellers.
    for type_, most in ((0, 7), (1, 7), (2, 4)):
        same = Shares("", (np.full(most + 1, type_, dtype=np.uint8),))
        with pytest.raises(InvalidInputError, match=f"at most {most} shares of type {type_}, got {most + 1}"):
            quota.randomize([0] * (most + 1), same, SimulationRandomness(1))
        assert len(quota.randomize([0] * most, same[:most], SimulationRandomness(1))) == most


@pytest.mark.parametrize(
    "types", [[[0] * 4], -np.ones((1, 4), dtype=np.int64), np.full((1, 4), 0.5), np.full((1, 4), np.nan)]
)
def test_types_that_are_no_bytes_are_refused(types: Any) -> None:
    with pytest.raises(InvalidInputError, match="types must be an array of dtype uint8"):
        QuotaUnary(4, 1.0, 10).randomize([0], Shares("", (types,)), SimulationRandomness(1))


def test_lists_are_no_shares() -> None:
    with pytest.raises(InvalidInputError, match="types must be an array of dtype uint8 from the dealer, got list"):
        QuotaRR(1.0, 10).randomize([0, 1], Shares("", ([0, 1],)), SimulationRandomness(1))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="types must be an array of dtype uint8 from the dealer, got list"):
        JRR(0.7, -0.1, 10).randomize([0, 1], Shares("", ([0, 1],)), SimulationRandomness(1))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        CoupledOUE(4, 0.25, 10).randomize([0], Shares("", ([[0]], [[0]])), SimulationRandomness(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("mechanism", DEALT, ids=lambda m: m.name)
@pytest.mark.parametrize("n", [None, "10", 9.5, 0, 11])
def test_the_number_dealt_to_is_checked(mechanism: Any, n: Any) -> None:
    with pytest.raises(InvalidParameterError, match="n must be"):
        mechanism.deal(n, SimulationRandomness(1))


@pytest.mark.parametrize("mechanism", DEALT[-2:], ids=lambda m: m.name)
def test_what_cannot_be_combined_says_so(mechanism: Any) -> None:
    rng = SimulationRandomness(1)
    aggregate = mechanism.aggregate(mechanism.randomize(answers(mechanism, 10), mechanism.deal(10, rng), rng))
    with pytest.raises(MismatchError, match="whose deals can be combined"):
        combine_deals([aggregate, aggregate])


def test_the_cap_is_named_where_it_is_wrong() -> None:
    for make in (
        lambda cap: JRR.optimal(10, 1.0, 1, epsilon_aux=cap),
        lambda cap: KaryJRR.optimal(3, 10, 1.0, 1, epsilon_aux=cap),
        lambda cap: QuotaRR(1.0, 10, epsilon_aux=cap),
    ):
        with pytest.raises(InvalidParameterError, match="epsilon_aux must be a finite number, got epsilon_aux=inf"):
            make(math.inf)
        with pytest.raises(InvalidParameterError, match=r"epsilon_aux must be .*32.*, got epsilon_aux=33"):
            make(33)
    with pytest.raises(InvalidParameterError, match=r"raise epsilon_aux to 1.0, or lower epsilon to 0.5"):
        KaryJRR.optimal(3, 10, 1.0, 1, epsilon_aux=0.5)


# ---------------------------------------------------------------- guarantee rows


def own_report(mechanism: Any) -> float:
    (row,) = [row for row in mechanism.privacy().trust_models if row.view.startswith("my report only")]
    assert row.status == "exact"
    return float(row.epsilon)


def test_my_report_alone_says_most_of_the_attribute_where_it_says_most() -> None:
    # The attributes have 2 and 3 values, and three contributors each. Without forced answers the second is GRR, whose
    # report has all of epsilon. The first attribute has a quota of one, so its report alone says less.
    quota = QuotaRecords((2, 3), 1.0, 6, (1, 0))
    first, second = quota.parts
    assert own_report(first) < 0.9
    assert own_report(second) == pytest.approx(1.0, abs=1e-12)
    # The sum goes through all deals of one attribute: types of three contributors, with weights R^b.
    likelihood = [[Fraction(0)] * 2 for _ in range(2)]
    for types in itertools.product(range(3), repeat=3):
        weight = first.weight ** types.count(2) if min(types.count(0), types.count(1)) >= 1 else 0
        for x in range(2):
            likelihood[x][types[0] if types[0] < 2 else x] += weight
    alone = math.log(likelihood[0][0] / likelihood[1][0])
    assert own_report(first) == pytest.approx(alone, abs=1e-12)
    assert own_report(quota) == pytest.approx(1.0, abs=1e-12)
    assert own_report(replace(quota, sizes=(3, 2), minima=(0, 1))) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("n", [5, 1000, 100_000])
@pytest.mark.parametrize("epsilon", [20.0, 32.0])
def test_my_report_alone_at_large_budgets(n: int, epsilon: float) -> None:
    # Without a quota the types are independent. This is randomised response, in which one report says all of epsilon.
    quota = QuotaRR(epsilon, n, 0)
    assert own_report(quota) == pytest.approx(epsilon, abs=1e-9)
    q = 1 / (1 + math.exp(epsilon))
    assert quota.variance(0.0) == pytest.approx(q * (1 - q) / (n * (1 - 2 * q) ** 2), rel=1e-9)


# ---------------------------------------------------------------- estimates


def test_two_coupled_contributors_who_differ_have_no_error() -> None:
    for hundredths in range(51, 100):
        coupled = ReportCoupledRR(hundredths / 100, 2)
        assert 0 <= coupled.variance(0.5) < 1e-12
        estimate = coupled.estimate(Aggregate(coupled, np.array([1, 1]), 2))
        assert (estimate.standard_errors < 1e-6).all()


def test_the_tangent_at_the_end_is_that_of_the_variance() -> None:
    # The design is for f = 0, where the variance almost vanishes. Beyond the end it would be negative.
    quota = QuotaRR(3.0, 1000, design=0.0)
    low, high = quota.variance(0.0), quota.variance(1e-6)
    estimate = quota.estimate(Aggregate(quota, np.array([1000, 0]), 1000))
    slope = (np.asarray(estimate.noise_present) - np.asarray(estimate.noise_absent))[1]
    assert slope == pytest.approx((high - low) / 1e-6 * 1000, rel=1e-3)


@pytest.mark.parametrize("reveal", ["shares", "truths"])
@pytest.mark.parametrize(
    ("k", "n", "epsilon", "cap"),
    [(2, 1000, 0.01, 32), (2, 100_000, 10, 32), (3, 100_000, 1, 32), (1000, 1000, 20, 28), (1000, 100_000, 1, 30)],
)
def test_a_cap_near_none_is_feasible(k: int, n: int, epsilon: float, cap: float, reveal: Any) -> None:
    # The optimum is next to the end of the range of rho, where there would be no cap.
    free = KaryJRR.optimal(k, n, epsilon, 1, n, reveal=reveal)
    capped = KaryJRR.optimal(k, n, epsilon, 1, n, epsilon_aux=cap, reveal=reveal)
    assert capped.rho < 0
    assert capped.implemented_epsilon() <= cap
    # If everybody holds one value, almost no noise is left. Errors below a millionth do not matter.
    assert capped.variance(1.0) == pytest.approx(free.variance(1.0), rel=1e-3, abs=1e-9)


# ---------------------------------------------------------------- pieces of several helpers


@pytest.mark.parametrize(
    ("points", "pieces", "message"),
    [
        ([1, 1, 2], [[9], [9], [17]], "points must be different integers in 1..250"),
        # At the point 0 a helper would send the type itself.
        ([0, 1], [[9], [17]], "points must be different integers in 1..250"),
        ([1, 252], [[9], [9]], "points must be different integers in 1..250"),
        (["1", 2], [[9], [17]], "points must be different integers in 1..250"),
        ([1, 2], [[9.7], [17]], "pieces must be integers in 0..250"),
        ([1, 2], [[math.nan], [17]], "pieces must be integers in 0..250"),
        ([1, 2], [[-9], [17]], "pieces must be integers in 0..250"),
        ([1, 2], [[9], [251]], "pieces must be integers in 0..250"),
        ([1], [[9]], "pieces must come from at least 2 different helpers"),
    ],
)
def test_damaged_pieces_are_named(points: Any, pieces: Any, message: str) -> None:
    with pytest.raises(DealingError, match=message.replace("..", r"\.\.")):
        join_pieces(points, pieces, modulus=251, degree=1)
