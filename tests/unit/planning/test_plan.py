"""Planning: known crossovers, errors that simulations confirm, and honest refusals."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from deniable import GRR, SimulationRandomness
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.unary import OUE
from deniable.planning import plan, recommend
from deniable.planning.precision import mean_variance
from deniable.records.fake_data import RSFD
from deniable.records.sample import SMP
from deniable.records.split import SPL
from deniable.research.baselines.histogram import SHE
from tests.unit.planning.planned import rows_of


def needed(sizes: list[int], epsilon: float, name: str, target: float = 0.01) -> int:
    (row,) = plan(sizes, epsilon, target_error=target, mechanisms=[name]).rows
    assert row.contributors_needed is not None
    return row.contributors_needed


# ---------------------------------------------------------------- known crossovers


def test_one_point_at_95_percent_over_100_values() -> None:
    assert f"{needed([100], 1.0, 'GRR') / 1e6:.2f}" == "1.31"
    assert f"{needed([100], 1.0, 'OUE') / 1e6:.3f}" == "0.141"
    assert needed([100], 4.0, "GRR") == 2041
    assert needed([100], 4.0, "OUE") == 2920


@pytest.mark.parametrize("k", [2, 100, 1000])
def test_splitting_or_sampling_four_attributes_whatever_their_size(k: int) -> None:
    # OUE's error does not depend on the size. The total epsilon is 1.
    assert f"{needed([k] * 4, 1.0, 'SPL[OUE]') / 1e6:.2f}" == "2.45"
    assert f"{needed([k] * 4, 1.0, 'SMP[OUE]') / 1e6:.2f}" == "0.57"


def test_recommendation_crosses_over_with_epsilon() -> None:
    low, high = (plan([100], epsilon, target_error=0.01, mechanisms=["GRR", "OUE"]) for epsilon in (1.0, 4.0))
    assert low.recommended is not None
    assert high.recommended is not None
    assert (low.recommended.name, high.recommended.name) == ("OUE", "GRR")
    # For rare values GRR is better than OUE below k = 3 e^epsilon + 2 = 10.15. On average over a flat prior it is
    # better below 9.1, where (E+k-2)/(E-1)^2 + (k-2)/(k (E-1)) equals 4E/(E-1)^2 + 1/k.
    assert needed([10], 1.0, "GRR") < needed([10], 1.0, "OUE")
    assert needed([11], 1.0, "GRR") > needed([11], 1.0, "OUE")
    assert [plan([k], 1.0, 100, mechanisms=["GRR", "OUE"]).rows[0].name for k in (9, 10)] == ["GRR", "OUE"]


def test_splitting_wins_where_the_budget_is_large() -> None:
    # v(eps/d) is compared with d v(eps) + (d-1) f(1-f): sampling noise remains where no privacy noise is left.
    assert isinstance(recommend([3, 3], 20.0), SPL)
    assert isinstance(recommend([3, 3], 1.0), SMP)


# ---------------------------------------------------------------- numbers


def test_more_contributors_than_can_be_counted() -> None:
    result = plan([10], 1e-6, contributors=10, target_error=1e-9, mechanisms=["GRR", "OUE"])
    assert [row.contributors_needed for row in result.rows] == [None, None]
    assert not result.feasible
    assert all(re.match(r"needs more than 4,611,686,018,427,387,904 contributors", row.reason) for row in result.rows)


@pytest.mark.parametrize(
    "mechanism", [GRR(6, 2.0), SHE(6, 2.0), SMP((6, 6, 6), 3.0), RSFD((6, 6), 3.0), OUE(6, 2.0)], ids=repr
)
def test_mean_variance_is_the_mean_over_a_flat_prior(mechanism: Any) -> None:
    # One frequency of a flat Dirichlet distribution over k categories is Beta(1, k - 1).
    extra = (0,) if hasattr(mechanism, "sizes") else ()
    prior = stats.beta(1, 5)
    expected, _ = integrate.quad(lambda f: mechanism.variance(f, 1000, *extra) * prior.pdf(f), 0, 1)
    assert mean_variance(mechanism, 1000) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "name", ["SPL[GRR]", "SMP[GRR]", "SMP[OUE]", "SMP[ADP]", "PivotCoded", "RS+FD[GRR]", "RS+FD[OUE]"]
)
def test_simulated_errors_are_the_planned_ones(name: str) -> None:
    sizes, n, runs = (3, 5), 2000, 400
    (row,) = plan(sizes, 4.0, contributors=n, mechanisms=[name]).rows
    mechanism: Any = row.mechanism
    assert row.standard_error is not None
    assert row.mean_variance is not None
    rng = SimulationRandomness(11)
    means, rare = [], []
    for _ in range(runs):
        # Codes come from a flat prior. In every second run nobody holds the last attribute's last value.
        records = np.stack([rng.generator.choice(k, n, p=rng.generator.dirichlet(np.ones(k))) for k in sizes], axis=1)
        estimates = mechanism.estimate(mechanism.aggregate(mechanism.randomize(records, rng)))
        truth = [np.bincount(records[:, j], minlength=k) / n for j, k in enumerate(sizes)]
        means.append(np.mean([((estimates[j].frequencies - truth[j]) ** 2).mean() for j in range(2)]))
        nobody = np.minimum(records, [1, 3])
        empty = mechanism.estimate(mechanism.aggregate(mechanism.randomize(nobody, rng)))
        rare.append([empty[j].frequencies[k - 1] for j, k in enumerate(sizes)])
    # The z bounds are at 1e-6 two-sided (4.9 standard errors). n_j of SMP varies, which adds about d/n to its variance.
    slack = 1 + 2 * 2 / n
    spread = 4.9 * np.std(means) / math.sqrt(runs)
    assert abs(np.mean(means) - row.mean_variance) < spread + (slack - 1) * row.mean_variance
    ratio = max(np.mean(np.square(rare), axis=0)) / row.standard_error**2
    assert stats.chi2.ppf(2.5e-7, runs) / runs < ratio < slack * stats.chi2.ppf(1 - 2.5e-7, runs) / runs


def test_a_given_frequency_changes_the_errors_but_not_the_mean() -> None:
    at_zero, at_half = (plan([4], 2.0, 1000, frequency=f, mechanisms=["GRR"]).rows[0] for f in (None, 0.5))
    e = math.exp(2)
    p, q = e / (e + 3), 1 / (e + 3)
    assert at_zero.standard_error == pytest.approx(math.sqrt(q * (1 - q) / 1000) / (p - q))
    assert at_half.standard_error == pytest.approx(math.sqrt((p * (1 - p) + q * (1 - q)) / 2000) / (p - q))
    assert at_half.half_width == pytest.approx(1.959963984540054 * (at_half.standard_error or 0))
    assert at_zero.mean_variance == at_half.mean_variance


# ---------------------------------------------------------------- contents of a plan


def test_a_target_out_of_reach_is_infeasible_and_says_what_it_takes() -> None:
    result = plan([100], 4.0, contributors=2500, target_error=0.01, mechanisms=["GRR", "OUE"])
    rows = rows_of(result)
    assert (rows["GRR"].feasible, rows["GRR"].reason, rows["GRR"].recommended) == (True, "", True)
    assert not rows["OUE"].feasible
    assert rows["OUE"].reason == "needs 2,920 contributors for ±0.01, got 2,500"
    hopeless = plan([100], 1.0, contributors=2500, target_error=0.01)
    assert not hopeless.feasible
    assert hopeless.recommended is None
    assert plan([100], 4.0, contributors=2041, target_error=0.01, mechanisms=["GRR"]).feasible
    assert not plan([100], 4.0, contributors=2040, target_error=0.01, mechanisms=["GRR"]).feasible


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1.6, 3.0, 5.0])
@pytest.mark.parametrize("k", [70_000, 300_000, 1_000_000])
def test_spread_is_preferred_for_large_dictionaries_although_others_may_have_less_variance(
    k: int, epsilon: float
) -> None:
    best = recommend([k], epsilon)
    assert isinstance(best, CountMeanSketch)
    assert best.family == "spread"
    rows = [row for row in plan([k], epsilon, contributors=1000).rows if row.feasible]
    # Powers of two cost at most 7.7% of variance.
    assert mean_variance(best, 1000) <= 1.08 * min(row.mean_variance or math.inf for row in rows)


def test_sketches_that_are_no_default_are_recommended_if_nothing_else_is_asked_for() -> None:
    result = plan([100_000], 1.6, contributors=1000, mechanisms=["CMS[linear]", "CMS[partition]"])
    assert result.recommended is not None
    assert result.recommended.name == "CMS[linear]"  # it is within 1% of partition's variance, and 6 bits shorter


def test_assumptions_are_printed() -> None:
    text = str(plan([5, 4, 6], 1.0, contributors=20_000, target_error=0.01))
    assert "For 20,000 contributors. Errors allow for the noise only" in text
    assert "95% half-width at f -> 0, worst attribute" in text
    assert "flat prior. Target: half-width <= 0.01 at f -> 0." in text
    assert re.search(r"SMP\[GRR\] .* infeasible: needs \d{3},\d{3} contributors for ±0.01, got 20,000", text)
    text = str(plan([1 << 21], 1.0, contributors=1000, frequency=0.1, confidence=0.9))
    assert "90% half-width at f = 0.1;" in text
    assert "  recommended" in text
    assert re.search(r"OUE +- +- +- +- +-  infeasible: bits per report", text)


def test_to_arrow() -> None:
    result = plan([1 << 21], 1.0, contributors=1000, target_error=0.5)
    table = result.to_arrow()
    assert table.column_names == [
        "name", "parameters", "mean_variance", "mean_standard_error", "standard_error", "half_width",
        "bits_per_report", "contributors_needed", "feasible", "reason", "note", "mean_bias", "recommended",
    ]  # fmt: skip
    first = table.to_pylist()[0]
    assert first["name"] == result.rows[0].name
    assert json.loads(first["parameters"]) == result.rows[0].parameters
    assert first["contributors_needed"] == result.rows[0].contributors_needed
    assert table.to_pylist()[-1]["standard_error"] is None
    assert sum(table["recommended"].to_pylist()) == 1


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, "epsilon must be > 0, got epsilon=0"),
        ({"epsilon": -1.0}, "epsilon must be > 0, got epsilon=-1.0"),
        ({"epsilon": math.nan}, "epsilon must be a finite number, got epsilon=nan"),
        ({"epsilon": math.inf}, "epsilon must be a finite number, got epsilon=inf"),
        ({"epsilon": 33}, "epsilon must be in [1e-06, 32], got epsilon=33"),
        ({"sizes": [4, 1]}, "sizes[1] must be >= 2, got sizes[1]=1"),
        (
            {"sizes": []},
            "sizes must list the numbers of categories of one or more attributes, got sizes=",
        ),
        ({"sizes": [2.5]}, "sizes[0] must be an integer, got sizes[0]=2.5"),
        ({"contributors": 0}, "contributors must be >= 1, got contributors=0"),
        ({"contributors": 10.5}, "contributors must be an integer, got contributors=10.5"),
        ({"contributors": None}, "either contributors or target_error must be given"),
        ({"target_error": 0}, "target_error must be in (0, 1), got target_error=0"),
        ({"target_error": 1}, "target_error must be in (0, 1), got target_error=1"),
        ({"target_error": math.nan}, "target_error must be in (0, 1), got target_error=nan"),
        ({"frequency": 1.2}, "frequency must be in [0, 1], got frequency=1.2"),
        ({"confidence": 1.0}, "confidence must be in (0, 1), got confidence=1.0"),
        ({"marginals": [[0.2] * 5]}, "marginals works only with several attributes"),
        ({"mechanisms": []}, "mechanisms must be a list of at least one name, got mechanisms="),
        ({"mechanisms": "GRR"}, "mechanisms must be a list of at least one name, got mechanisms=“GRR”"),
        (
            {"mechanisms": ["SPL"]},
            "mechanisms must be possible for one attribute, got mechanisms=“SPL”; choose among GRR, SUE",
        ),
        (
            {"mechanisms": [3]},
            "mechanisms must be possible for one attribute, got mechanisms=“3”; choose among GRR, SUE",
        ),
        ({"sizes": [3, 3], "mechanisms": ["OUE"]}, "got mechanisms=“OUE”; choose among SPL[GRR], SPL[OUE]"),
    ],
)
def test_bad_parameters_are_named(arguments: dict[str, Any], message: str) -> None:
    defaults: dict[str, Any] = {"sizes": [4], "epsilon": 1.0, "contributors": 100}
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        plan(**(defaults | arguments))
