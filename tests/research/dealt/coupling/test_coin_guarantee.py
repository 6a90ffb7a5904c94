"""Each row of JRR's guarantee against the enumerated worst case of its view."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable
from fractions import Fraction

import pytest

from deniable.core.privacy import TrustModel
from deniable.research.dealt.coupling.coin_guarantee import (
    binomial_law,
    coin_beside_reports,
    delta_at,
    epsilon_at,
    known_data_at,
    revealed_lies,
    revealed_shares,
)
from deniable.research.dealt.coupling.coins import coin
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.parameters import peer_posterior, theorem2_as_printed
from tests.research.dealt.jrr_laws import (
    Deal,
    Likelihoods,
    Vector,
    all_reports,
    hockey_stick,
    my_report_and,
    signed_truth_law,
    truth_law,
    without_signs,
    worst_epsilon,
)

EXTREME = (Fraction(3, 5), Fraction(-2, 3), Fraction(2, 5))
COINS = [
    EXTREME,
    (Fraction(3, 5), Fraction(-3, 8), Fraction(3, 10)),
    (Fraction(4, 5), Fraction(-1, 16), Fraction(1, 10)),
    (Fraction(11, 20), Fraction(0), Fraction(0)),
]
SIZES = [2, 3, 4, 5, 6]


def _close(value: float, expected: float) -> bool:
    return value == expected or math.isclose(value, expected, abs_tol=1e-9)


def _lies(m: int) -> Callable[[Deal], Hashable]:
    return lambda deal: deal.coins[1 : m + 1]


def _shares_and_lies(m: int) -> Callable[[Deal], Hashable]:
    return lambda deal: (deal.signs[1 : m + 1], deal.coins[1 : m + 1])


def _row(jrr: JRR, start: str, *, at_delta: bool = False, theta: float = 0.05, colluders: int = 0) -> TrustModel:
    rows = jrr.guarantee_against(theta=theta, colluders=colluders, delta=0.01).trust_models
    found = [row for row in rows if f"{row.adversary}: {row.view}".startswith(start) and (row.delta > 0) == at_delta]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("p", "rho", "s"), COINS)
def test_the_server_scheme_is_the_truth_table(n: int, p: Fraction, rho: Fraction, s: Fraction) -> None:
    """Theorem 5, over all groupings: truth by signs and C has the distribution of Table 2."""
    totals: dict[Vector, Fraction] = {}
    for (_, coins), weight in signed_truth_law(n, p, s).items():
        totals[coins] = totals.get(coins, Fraction(0)) + weight
    assert totals == truth_law(n, p, rho)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("p", "rho", "s"), COINS)
def test_rows_of_who_sees_all_reports(n: int, p: Fraction, rho: Fraction, s: Fraction) -> None:
    jrr, law = JRR(p, rho, n), truth_law(n, p, rho)
    known = all_reports(law, Fraction(1))
    row = _row(jrr, "collector: all reports and everybody else's data")
    assert row.status == "exact"
    assert _close(row.epsilon, worst_epsilon(known))
    # The number is the same whatever the data: a known answer turns a report into a truth or a lie.
    some = all_reports(law, Fraction(0))
    assert worst_epsilon(some) == worst_epsilon(known)
    at = _row(jrr, "collector: all reports and everybody else's data", at_delta=True)
    assert _same_delta(at, known)
    for delta in (0.05, 0.2, 0.5):
        epsilon = known_data_at(2, jrr.coin, n, delta)
        assert _same_delta(TrustModel("collector", "all reports", epsilon, delta), known)
    dropped = _row(jrr, "collector: all reports and who dropped out")
    assert dropped.status == "assumption"
    assert dropped.epsilon == row.epsilon


def _same_delta(row: TrustModel, likelihoods: Likelihoods) -> bool:
    """Return whether the row's epsilon is the least at its delta: infinite if never reached, zero if always."""
    assert row.status == "exact"
    if math.isinf(row.epsilon):
        return hockey_stick(likelihoods, 600.0) > row.delta
    if row.epsilon == 0:
        return hockey_stick(likelihoods, 0.0) <= row.delta
    return math.isclose(hockey_stick(likelihoods, row.epsilon), row.delta, abs_tol=1e-9)


@pytest.mark.parametrize("theta", [Fraction(1, 20), Fraction(3, 10), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("p", "rho", "s"), COINS)
def test_rows_of_a_known_base_rate(n: int, p: Fraction, rho: Fraction, s: Fraction, theta: Fraction) -> None:
    jrr = JRR(p, rho, n)
    seen = all_reports(truth_law(n, p, rho), theta)
    view = "collector: all reports; everybody else's answer is 1 with known base rate"
    row, enumerated = _row(jrr, view, theta=float(theta)), worst_epsilon(seen)
    assert f"base rate {float(theta):g}" in row.view
    assert row.epsilon >= enumerated - 1e-12
    assert row.status == ("exact" if n % 2 == 0 else "upper bound")
    if row.status == "exact":
        assert _close(row.epsilon, enumerated)
    assert _same_delta(_row(jrr, view, at_delta=True, theta=float(theta)), seen)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("p", "rho", "s"), COINS)
def test_rows_of_revelations(n: int, p: Fraction, rho: Fraction, s: Fraction) -> None:
    jrr = JRR(p, rho, n)
    coins_only, signed = without_signs(truth_law(n, p, rho)), signed_truth_law(n, p, s)
    alone = _row(jrr, "collector: my report only")
    assert _close(alone.epsilon, worst_epsilon(my_report_and(coins_only, _lies(0))))
    assert alone.status == "exact"
    for m in range(n):
        lies = _row(jrr, f"collector and {m} colluders: my report and which colluders lied", colluders=m)
        enumerated = worst_epsilon(my_report_and(coins_only, _lies(m)))
        assert lies.epsilon >= enumerated - 1e-12
        assert lies.status == "upper bound" or _close(lies.epsilon, enumerated)
        if (p, rho, s) == EXTREME and n % 2 == 0:
            assert lies.status == "exact"
        shares = _row(jrr, f"collector and {m} colluders: my report and the colluders' shares", colluders=m)
        both = worst_epsilon(my_report_and(signed, _shares_and_lies(m)))
        assert shares.status == "exact"
        assert _close(shares.epsilon, both)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("p", "rho", "s"), COINS)
def test_rows_of_the_dealer_and_the_peer(n: int, p: Fraction, rho: Fraction, s: Fraction) -> None:
    jrr, signed = JRR(p, rho, n), signed_truth_law(n, p, s)
    universal = worst_epsilon(my_report_and(signed, lambda deal: (deal.signs, deal.coins[1:])))
    guarantee = jrr.privacy()
    assert _close(guarantee.epsilon, universal)
    assert guarantee.epsilon == jrr.implemented_epsilon() == jrr.epsilon == guarantee.implemented_epsilon
    assert max(row.epsilon for row in guarantee.trust_models) == guarantee.epsilon
    assert _row(jrr, "collector and dealer").epsilon == guarantee.epsilon
    mine = worst_epsilon(my_report_and(signed, lambda deal: deal.signs[0]))
    assert _close(_row(jrr, "collector with my share").epsilon, mine)
    others = worst_epsilon(my_report_and(signed, lambda deal: (deal.signs[1:], deal.coins[1:])))
    assert _close(_row(jrr, "collector: all reports, everybody else's data and all n-1").epsilon, others)
    paired, coins_only = signed_truth_law(n, p, s, peer=1), without_signs(truth_law(n, p, rho, peer=1))
    told = worst_epsilon(my_report_and(paired, lambda deal: deal.signs[1]))
    assert _close(_row(jrr, "collector and my peer: my report and my peer's share").epsilon, told)
    lied = worst_epsilon(my_report_and(coins_only, lambda deal: deal.coins[1]))
    assert _close(_row(jrr, "collector and my peer: my report and whether").epsilon, lied)
    assert _row(jrr, "dealer: ").epsilon == 0.0


def test_two_rounds_are_within_twice_one() -> None:
    """With fresh deals, the likelihoods multiply."""
    p, rho, _ = COINS[1]
    seen = all_reports(truth_law(4, p, rho), Fraction(1))
    pairs = itertools.product(seen.values(), repeat=2)
    worst = max(abs(math.log(a[1] * b[1] / (a[0] * b[0]))) for a, b in pairs)
    jrr = JRR(p, rho, 4)
    assert worst == pytest.approx(2 * _row(jrr, "collector: all reports and everybody else's data").epsilon, abs=1e-9)
    assert worst <= 2 * _row(jrr, "collector: r reports").epsilon


def test_theorem_2_is_false() -> None:
    """Both counter-examples are enumerated and exceed the printed bound."""
    p, rho, _ = EXTREME
    law = without_signs(truth_law(4, p, rho))
    assert worst_epsilon(my_report_and(law, lambda deal: deal.coins[1:3])) == math.inf
    assert theorem2_as_printed(0.6, -2 / 3, 4, 2) == pytest.approx(1.8718, abs=1e-4)
    p, rho = Fraction(3, 5), Fraction(-1, 2)
    law = without_signs(truth_law(6, p, rho))
    exact = worst_epsilon(my_report_and(law, lambda deal: deal.coins[1:4]))
    assert exact == pytest.approx(1.6993861490970383, abs=1e-12)
    assert theorem2_as_printed(0.6, -0.5, 6, 3) == pytest.approx(1.2656663733312756, rel=1e-12)
    mu = peer_posterior(6, 3)
    assert revealed_lies(2, coin(0.6, -0.5), mu) == pytest.approx(2.1972, abs=1e-4)  # the bound is not attained
    assert revealed_shares(2, coin(0.6, -0.5), mu) == pytest.approx(2.871316580001252, abs=1e-12)
    # Mutant: the prior probability m/(n - 1) that one's peer colludes replaces the posterior.
    assert revealed_lies(2, coin(0.6, -0.5), Fraction(3, 5)) < exact
    # The mutant is right for one colluder, and for all.
    for m in (0, 1, 5):
        printed = theorem2_as_printed(0.6, -0.5, 6, m)
        assert printed == pytest.approx(worst_epsilon(my_report_and(law, _lies(m))))


def test_a_known_base_rate_as_published_numbers() -> None:
    jrr = JRR(0.6, -0.5, 4)
    view = "collector: all reports; everybody else's answer"
    assert [round(_row(jrr, view, theta=theta).epsilon, 3) for theta in (0.5, 0.3, 0.05)] == [0.405, 0.868, 1.844]
    extreme = JRR(0.5247, 1 - 1 / 0.5247, 10_000).guarantee_against(theta=0.05)
    at = [row for row in extreme.trust_models if "base rate" in row.view and row.delta]
    assert at[0].epsilon == pytest.approx(0.2113, abs=1e-4)
    assert [round(row.epsilon, 4) for row in extreme.trust_models if "my report only" in row.view] == [0.0989]


@pytest.mark.parametrize(("epsilon", "expected"), [(0.01, "1.34"), (0.1, "0.338"), (0.5, "0.571"), (1, "1.03")])
def test_honest_numbers_at_the_extreme(epsilon: float, expected: str) -> None:
    jrr = JRR.optimal(10_000, epsilon, 5, count=0)
    assert jrr.coin.plus == 0
    assert f"{known_data_at(2, jrr.coin, 10_000, 1e-6):.3g}" == expected
    guarantee = jrr.privacy()
    assert guarantee.epsilon == math.inf
    assert jrr.implemented_ratio() == math.inf
    assert "epsilon = inf for the whole contributor" in str(guarantee)
    assert "half of all, reports the truth verbatim" in str(guarantee)
    assert guarantee.to_dict()["epsilon"] == math.inf


def test_the_flip_count_law_for_a_million() -> None:
    """It agrees with exact integer arithmetic at n = 60, and is stable at n = 10^6."""
    p, s, n = Fraction(3, 5), Fraction(3, 10), 60
    half = n // 2

    def binomial(f: Fraction) -> list[Fraction]:
        return [math.comb(half, k) * f**k * (1 - f) ** (half - k) for k in range(half + 1)]

    plus, minus = binomial(1 - p - s), binomial(1 - p + s)
    lies = [sum(plus[i] * minus[z - i] for i in range(max(0, z - half), min(half, z) + 1)) for z in range(n + 1)]
    truth = [lies[z] * (n - z) / n for z in range(n)]
    lie = [lies[z + 1] * (z + 1) / n for z in range(n)]
    coins = coin(p, Fraction(-3, 8))
    computed = coin_beside_reports(coins, n, 1.0)
    assert computed[0][::-1].tolist() == pytest.approx([float(x) for x in truth], rel=1e-10, abs=1e-28)
    assert computed[1][::-1].tolist() == pytest.approx([float(x) for x in lie], rel=1e-10, abs=1e-28)
    big = coin_beside_reports(JRR.optimal(1_000_000, 0.5, 5, count=0).coin, 1_000_000, 1.0)
    assert float(big[0].sum() + big[1].sum()) == pytest.approx(1.0, abs=1e-12)
    epsilon = epsilon_at(*big, 1e-6)
    assert epsilon == pytest.approx(0.50557, abs=1e-5)
    assert delta_at(*big, epsilon) <= 1e-6
    assert epsilon_at(*big, 0.9) == 0.0


def test_beyond_direct_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    coins = coin(0.6, -0.5)
    direct = epsilon_at(*coin_beside_reports(coins, 100_000, 0.05), 1e-6)
    monkeypatch.setattr("deniable.research.dealt.coupling.coin_guarantee._DIRECT_PRODUCTS", 0)
    assert epsilon_at(*coin_beside_reports(coins, 100_000, 0.05), 1e-6) == pytest.approx(direct, abs=1e-9)


def test_binomial_laws_at_their_ends() -> None:
    for trials, probability, first in [(0, 0.3, 0), (7, 0.0, 0), (7, 1.0, 7)]:
        low, weights = binomial_law(trials, probability)
        assert (low, weights.tolist()) == (first, [1.0])
    low, weights = binomial_law(3, 0.25)
    assert (low, weights.tolist()) == (0, pytest.approx([27 / 64, 27 / 64, 9 / 64, 1 / 64], rel=1e-14))


def test_declared_rows_hold_for_the_optimum() -> None:
    """p and rho are floats: their rounding must not push the nominal row over its epsilon."""
    for epsilon, colluders, count, cap in itertools.product((0.01, 0.1, 1.0, 3.0), (0, 5, 60), (0, 300), (None, 4.0)):
        jrr = JRR.optimal(1000, epsilon, colluders, count, cap)
        nominal = next(row for row in jrr.privacy().trust_models if "colluders' shares" in row.view)
        assert nominal.adversary == f"collector and {colluders} colluders"
        assert nominal.epsilon <= epsilon + 1e-15
        assert nominal.epsilon == pytest.approx(epsilon, rel=1e-9)
        assert cap is None or jrr.implemented_epsilon() <= cap + 1e-15
