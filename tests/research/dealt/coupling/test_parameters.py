"""Choice of p and rho: known answers, published tables, a search without closed forms, infeasible requirements."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.research.dealt.coupling.coin_guarantee import (
    known_data,
    known_data_at,
    revealed_lies,
    revealed_shares,
    worst_epsilon,
)
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.parameters import (
    algorithm_1,
    imbalance,
    optimal_parameters,
    peer_posterior,
    theorem2_as_printed,
)

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[3] / "vectors" / "jrr.json").read_text())


def _number(value: float | str) -> float:
    return math.inf if value == "inf" else float(value)


def _check(jrr: JRR, row: dict[str, Any]) -> None:
    coin, mu = jrr.coin, peer_posterior(jrr.n, row["M"])
    found = {
        "var": jrr.count_variance(row["n1"]),
        "a_marginal": worst_epsilon(2, coin.q, coin.q),
        "b_paper_theorem2": theorem2_as_printed(float(jrr.p), float(jrr.rho), jrr.n, row["M"]),
        "b_colluders_reveal_T_safe": revealed_lies(2, coin, mu),
        "b_colluders_reveal_R_exact": revealed_shares(2, coin, mu),
        "c_strong_pure": known_data(coin, jrr.n),
        "d_aux_colludes": jrr.epsilon,
    }
    if row["c_strong_eps_at_delta"] is not None:
        found["c_strong_eps_at_delta"] = known_data_at(2, coin, jrr.n, row["delta"])
    for name, value in found.items():
        assert value == pytest.approx(_number(row[name]), rel=1e-10), name


@pytest.mark.parametrize("row", VECTORS["alg1"], ids=lambda row: f"{row['n']}-{row['eps']}-{row['M']}")
def test_algorithm_1_as_printed(row: dict[str, Any]) -> None:
    p, rho = algorithm_1(row["n"], row["eps"], row["M"])
    assert p == pytest.approx(row["p"], rel=1e-14)
    assert rho == pytest.approx(row["rho"], rel=1e-12)
    _check(JRR(p, rho, row["n"]), row)


@pytest.mark.parametrize(
    "row", VECTORS["optimum"], ids=lambda r: f"{r['n']}-{r['eps']}-{r['M']}-{r['n1']}-{r['eps_aux_cap']}"
)
def test_the_optimum(row: dict[str, Any]) -> None:
    p, rho = optimal_parameters(row["n"], row["eps"], row["M"], row["n1"], row["eps_aux_cap"])
    assert p == pytest.approx(row["p"], rel=1e-14)
    assert rho == pytest.approx(row["rho"], rel=1e-12)
    _check(JRR(p, rho, row["n"]), row)
    if row["eps_aux_cap"] is None:
        kappa = float(imbalance(row["n"], row["n1"]))
        assert (rho < 0) == (kappa > _number(row["kappa_threshold"]))


@pytest.mark.parametrize("row", VECTORS["table3"], ids=lambda row: f"{row['dataset']}-{row['eps']}")
def test_table_3(row: dict[str, Any]) -> None:
    n, n1, eps = row["n"], row["n1"], row["eps"]
    assert JRR(*algorithm_1(n, eps, 5), n).count_variance(n1) == pytest.approx(row["mse_alg1"], rel=1e-12)
    assert JRR.optimal(n, eps, 5, n1).count_variance(n1) == pytest.approx(row["mse_opt_exact"], rel=1e-12)
    assert JRR.optimal(n, eps, 5, n // 2).count_variance(n1) == pytest.approx(row["mse_rr"], rel=1e-12)


PRINTED = {  # each entry has the MSE of n1 at epsilon .01, .1, 1 for randomised response, Algorithm 1 and the optimum
    "kosarak": (20_000, 659, "2.00e8 1.998e6 18410", "6.63e7 6.75e5 12510", "3.01e7 4.24e5 12510"),
    "amazon": (10_000, 762, "1.00e8 9.99e5 9207", "7.75e7 7.32e5 7405", "3.55e7 3.56e5 6782"),
    "e-commerce": (23_486, 19_314, "2.35e8 2.35e6 21620", "1.56e8 1.49e6 18340", "1.51e8 1.48e6 18330"),
    "census": (10_000, 9_528, "1.00e8 9.99e5 9207", "7.31e7 6.93e5 7149", "2.31e7 2.62e5 6437"),
}


def _digits(text: str) -> int:
    mantissa = text.split("e")[0]
    return len(mantissa.replace(".", "") if "." in mantissa else mantissa.rstrip("0"))


@pytest.mark.parametrize("name", PRINTED)
def test_table_3_to_the_printed_digits(name: str) -> None:
    n, n1, *columns = PRINTED[name]
    for i, eps in enumerate((0.01, 0.1, 1.0)):
        variances = [
            JRR.optimal(n, eps, 5, n // 2).count_variance(n1),
            JRR(*algorithm_1(n, eps, 5), n).count_variance(n1),
            JRR.optimal(n, eps, 5, n1).count_variance(n1),
        ]
        for value, column in zip(variances, columns, strict=True):
            printed = column.split()[i]
            assert float(f"{value:.{_digits(printed) - 1}e}") == float(printed), (eps, value)


@pytest.mark.parametrize(
    ("epsilon", "colluders", "count", "published", "best"),
    [
        (0.01, 5, 0, 0.653, 0.011),
        (0.1, 5, 1000, 0.762, 0.429),
        (1.0, 5, 500, 0.779, 0.703),
        (0.1, 100, 500, 0.993, 0.389),
    ],
)
def test_ratios_to_randomised_response(
    epsilon: float, colluders: int, count: int, published: float, best: float
) -> None:
    # With the prior m/(n - 1) in place of the posterior, as in Theorem 2, the last number is .388.
    n = 10_000
    plain = JRR.optimal(n, epsilon, colluders, n // 2)
    assert plain.rho == 0
    reference = plain.count_variance(count)
    assert round(JRR(*algorithm_1(n, epsilon, colluders), n).count_variance(count) / reference, 3) == published
    assert round(JRR.optimal(n, epsilon, colluders, count).count_variance(count) / reference, 3) == best


def test_two_orders_of_magnitude() -> None:
    """For n = 200,000, all with value 1, epsilon = .01, Algorithm 1 has .0104 of randomised response's error."""
    n = 200_000
    ratio = JRR(*algorithm_1(n, 0.01, 5), n).count_variance(n) / JRR.optimal(n, 0.01, 5, n // 2).count_variance(n)
    assert round(ratio, 4) == 0.0104


def test_examples_of_the_paper() -> None:
    assert JRR(0.8, 0, 2).count_variance(2) == pytest.approx(VECTORS["identities"]["example1"], rel=1e-14)
    assert JRR(0.8, -0.1875, 2).count_variance(2) == pytest.approx(VECTORS["identities"]["example2"], rel=1e-14)


@pytest.mark.parametrize("cap", [None, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("colluders", [0, 5, 30])
@pytest.mark.parametrize("count", [0, 30, 200, 450, 500])
@pytest.mark.parametrize("epsilon", [0.05, 0.4, 2.0])
def test_no_grid_point_is_better(epsilon: float, count: int, colluders: int, cap: float | None) -> None:
    """No (p, s) on a grid under both bounds has less variance, and some come close."""
    n = 1000
    if cap is not None and cap < epsilon:
        with pytest.raises(InvalidParameterError, match=r"raise epsilon_aux to .* or lower epsilon to"):
            optimal_parameters(n, epsilon, colluders, count, cap)
        return
    mu = colluders / (n - colluders)
    pi = 1 / (1 + math.exp(-epsilon))
    p = np.linspace(0.5, pi, 2001)[1:, None]
    q = 1 - p
    s = np.minimum(q, (pi - p) / mu if mu else q)
    if cap is not None:
        s = np.minimum(s, 1 / (1 + math.exp(-cap)) - p)
    # s takes 41 shares of its largest feasible value, spaced evenly.
    s = s * np.linspace(0, 1, 41)[None, :]
    spread = p * q * n - s**2 * ((2 * count - n) ** 2 - n) / (n - 1)
    grid = float((spread / (p - q) ** 2).min())
    best = JRR.optimal(n, epsilon, colluders, count, cap).count_variance(count)
    assert best <= grid * (1 + 1e-9)
    assert best >= grid * 0.97


def test_without_a_guess_the_mean_over_a_flat_prior_is_least() -> None:
    for n in (40, 41):
        mean = Fraction(sum(imbalance(n, count) for count in range(n + 1)), n + 1)
        assert imbalance(n, None) == mean
    n = 1000
    for epsilon, correlated in ((0.01, False), (0.1, True), (2.0, True)):
        chosen = JRR.optimal(n, epsilon, 5)
        assert (chosen.rho < 0) == correlated
        others = [JRR.optimal(n, epsilon, 5, count) for count in (0, n // 2)]
        means = [np.mean([j.count_variance(count) for count in range(n + 1)]) for j in (chosen, *others)]
        assert means[0] <= min(means) * (1 + 1e-12)


def test_many_colluders_leave_randomised_response() -> None:
    """Claims that fail: Algorithm 1 is worse than randomised response for M >= 20 at epsilon = .01."""
    n, count = 10_000, 1000
    plain = JRR.optimal(n, 0.01, 0, n // 2).count_variance(count)
    for colluders, worse in ((5, False), (20, True), (500, True)):
        published = JRR(*algorithm_1(n, 0.01, colluders), n).count_variance(count)
        assert (published > plain) == worse
    assert JRR.optimal(n, 0.01, 500, count).rho == 0


def test_infeasible_wishes_are_named() -> None:
    with pytest.raises(
        InvalidParameterError,
        match=r"epsilon_aux must be >= epsilon=1.0.*raise epsilon_aux to 1.0, or lower epsilon to 0.5",
    ):
        JRR.optimal(100, 1.0, 5, epsilon_aux=0.5)
    with pytest.raises(InvalidParameterError, match="colluders must be <= 99, got colluders=100"):
        JRR.optimal(100, 1.0, 100)
    with pytest.raises(InvalidParameterError, match="count must be <= 100"):
        JRR.optimal(100, 1.0, 5, 101)
    with pytest.raises(InvalidParameterError, match="n must be >= 2, got n=1"):
        JRR.optimal(1, 1.0, 0)
    with pytest.raises(InvalidParameterError, match="epsilon must be > 0"):
        JRR.optimal(100, -1.0, 5)
    with pytest.raises(InvalidParameterError, match=r"step must be > 0 and below .*0.00025.*needs epsilon > 0.004"):
        algorithm_1(100, 0.001, 5, step=1e-3)
    with pytest.raises(InvalidParameterError, match="step must be > 0"):
        algorithm_1(100, 1.0, 5, step=0.0)
    assert JRR.optimal(100, 1.0, 5, epsilon_aux=1.0).rho == 0
    assert JRR.optimal(100, 1.0, 99, 0).rho == 0
    assert algorithm_1(100, 1.0, 0).rho == pytest.approx(-math.exp(-1.0), abs=1e-3)


@pytest.mark.parametrize(
    ("epsilon", "cap", "n"),
    [(0.3, 1.3, 1000), (0.3, 1.3, 10_000), (0.5, 2.0, 100), (0.5, 4.0, 10_000), (1.0, 1.3, 10_000)],
)
def test_the_integers_keep_the_cap_where_floats_miss_it_by_one(epsilon: float, cap: float, n: int) -> None:
    """For an adversary with my share, ln((p + s)/(q - s)) <= cap in rationals; the unrounded optimum exceeds it."""
    coins = JRR.optimal(n, epsilon, 2, 0, cap).coin
    with localcontext(prec=60):
        most = Fraction(Decimal(str(cap)).exp())
    assert (1 - coins.lie_plus) / coins.lie_plus <= most
    assert most - (1 - coins.lie_plus) / coins.lie_plus < Fraction(1, 10**12)
