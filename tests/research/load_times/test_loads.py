"""Load times by true confidence: the specified algorithm, enumerated and simulated; and wrong estimators."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from deniable import GRR
from deniable.errors import FileFormatError, InvalidInputError, InvalidParameterError
from deniable.research.load_times import load_times
from deniable.research.load_times.loads import RATE, VALUE, low_indicators, noise_variances

CHROMIUM = 0.4994798
"""The rate of Chromium: 2/(1 + e^1.1), rounded to seven decimals as in Chromium."""

Estimator = Callable[[Any, Any], Any]
MUTANTS: dict[str, Estimator] = {
    "every replaced value is wrong": lambda low, rate: (low - rate) / (1 - 2 * rate),
    "what is shown is true": lambda low, rate: low + 0 * rate,
    "one rate for all rows": lambda low, rate: low_indicators(low, 0 * rate + sum(rate) / len(rate)),
}


def algorithm(low: Any, rates: Any, rng: np.random.Generator) -> Any:
    """Return what browsers report: with probability `rate` a fair random bit, else the truth."""
    replaced = rng.random(len(low)) < rates
    return np.where(replaced, rng.integers(0, 2, len(low)) == 1, low)


def law(low: bool, rate: Fraction) -> dict[bool, Fraction]:
    """Return the probabilities of what is reported, by the algorithm's two draws."""
    return {shown: (1 - rate) * (shown is low) + rate * Fraction(1, 2) for shown in (False, True)}


def expectation(estimator: Estimator, truth: tuple[bool, ...], rates: list[Fraction]) -> Fraction:
    """Return the exact mean of the estimated number of low loads, over all possible reports."""
    whole = Fraction(0)
    for shown in itertools.product((False, True), repeat=len(truth)):
        chance = math.prod(law(one, rate)[seen] for one, rate, seen in zip(truth, rates, shown, strict=True))
        told = estimator(np.array([Fraction(int(one)) for one in shown]), np.array(rates))
        whole += chance * Fraction(sum(told))
    return whole


RATES = [Fraction(3, 5), Fraction(9, 10), Fraction(1, 5), Fraction(0)]


@pytest.mark.parametrize("truth", list(itertools.product((False, True), repeat=4)))
def test_sums_of_indicators_are_exactly_unbiased_with_a_rate_for_each_row(truth: tuple[bool, ...]) -> None:
    assert expectation(low_indicators, truth, RATES) == sum(truth)


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_indicators_are_biased(name: str) -> None:
    assert any(
        expectation(MUTANTS[name], truth, RATES) != sum(truth) for truth in itertools.product((False, True), repeat=4)
    )


def test_noise_has_the_same_variance_whatever_is_true() -> None:
    rate = Fraction(1, 3)
    for truth in (False, True):
        chances = law(truth, rate)
        told = {shown: low_indicators(np.array([Fraction(int(shown))]), np.array([rate]))[0] for shown in chances}
        second = sum(chances[one] * told[one] ** 2 for one in chances)
        assert second - int(truth) == noise_variances(np.array([rate]))[0]


def test_epsilon_is_the_algorithms_largest_log_ratio() -> None:
    for rate in (Fraction(1, 2), Fraction(4994798, 10**7)):
        ratio = law(True, rate)[True] / law(False, rate)[True]
        assert ratio == (2 - rate) / rate
        found = load_times(rows(np.array([0, 1]), np.full(2, float(rate)), np.array([1.0, 2.0])))
        assert found.epsilon == pytest.approx(math.log(ratio), rel=1e-14)
    assert found.epsilon == pytest.approx(1.1, abs=3e-7)
    # So a row is a report of GRR with two values.
    p, q = (float(law(True, rate)[one]) for one in (True, False))
    assert p / q == pytest.approx(math.exp(GRR(2, found.epsilon).epsilon), rel=1e-12)


def rows(low: Any, rates: Any, times: Any) -> dict[str, Any]:
    return {VALUE: np.where(np.asarray(low) == 1, "low", "high"), RATE: rates, "duration": times}


def loads(n: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return truths, reports, rates that depend on the truth, and times, for two browsers with different people."""
    rng = np.random.default_rng(seed)
    noisy = rng.random(n) < 0.5
    low = rng.random(n) < np.where(noisy, 0.5, 0.2)
    rates = np.where(noisy, 0.7, CHROMIUM)
    times = rng.gamma(4.0, np.where(low, 500.0, 200.0))
    return low, algorithm(low, rates, rng), rates, times


def test_shares_and_means_are_within_bounds_of_theory_and_mutants_are_not() -> None:
    n = 40_000
    low, shown, rates, times = loads(n, 3)
    found = load_times(rows(shown, rates, times))
    # Given the truth, only the noise is random. Five standard errors are exceeded once in 1.7 million.
    bound = 5 * math.sqrt(noise_variances(rates).sum()) / n
    assert abs(found.share.value - low.mean()) < bound
    for name, estimator in MUTANTS.items():
        assert abs(estimator(shown.astype(float), rates).mean() - low.mean()) > bound, name
    for group, one in ((~low, found.times[0]), (low, found.times[4])):
        assert one.quantity == "mean"
        mean = times[group].mean()
        # The sum of T (y - mean of the group) has mean zero, and this variance.
        error = 5 * math.sqrt((noise_variances(rates) * (times - mean) ** 2).sum())
        assert abs(one.value - mean) < error / (group.sum() - 5 * math.sqrt(noise_variances(rates).sum()))
        assert abs(times[shown == low[group][0]].mean() - mean) > 50  # the shown times alone would be this wrong


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """At 90%, with two rates: 300 runs, within four standard errors of a binomial's mean."""
    runs, held = 300, np.zeros(3)
    for seed in range(runs):
        _, shown, rates, times = loads(1200, seed)
        found = load_times(rows(shown, rates, times), quantiles=[0.5], confidence=0.9)
        truths = (0.35, 4 * 500.0, float(stats.gamma.ppf(0.5, 4.0, scale=500.0)))
        for at, (one, truth) in enumerate(zip((found.share, *found.times[2:]), truths, strict=True)):
            held[at] += one.lower <= truth <= one.upper
    np.testing.assert_allclose(held / runs, 0.9, atol=4 * math.sqrt(0.9 * 0.1 / runs))


def test_with_one_rate_the_interval_of_the_share_is_wilsons() -> None:
    """Wilson's interval of the reports, corrected for the flips, computed without this module."""
    n, count, rate = 500, 190, CHROMIUM
    found = load_times(rows(np.arange(n) < count, np.full(n, rate), np.arange(1.0, n + 1)))
    known = stats.binomtest(count, n).proportion_ci(0.95, method="wilson")
    for end, expected in zip((found.share.lower, found.share.upper), known, strict=True):
        assert end == pytest.approx((expected - rate / 2) / (1 - rate), rel=1e-12)
    assert found.share.value == pytest.approx((count / n - rate / 2) / (1 - rate))


def test_without_noise_the_times_are_those_of_the_groups() -> None:
    times = np.array([1.0, 2.0, 3.0, 10.0, 20.0, 60.0])
    found = load_times(rows([0, 0, 0, 1, 1, 1], np.zeros(6), times), quantiles=[0.5])
    assert [one.value for one in found.times] == pytest.approx([2.0, 2.0, 30.0, 20.0])
    assert found.epsilon == math.inf
    assert "which gives no protection" in found.privacy_statement
    assert list(found.to_pandas().index) == [
        ("share", "low"),
        *itertools.product(("mean", "quantile 0.5"), ("high",)),
        *itertools.product(("mean", "quantile 0.5"), ("low",)),
    ]


ENTRY = {
    "name": "https://example.org/",
    "duration": 812.4,
    "confidence": {"randomizedTriggerRate": 0.5, "value": "low"},
}


def test_files_of_every_kind_give_the_same(tmp_path: Path) -> None:
    entries: list[dict[str, Any]] = [ENTRY, {**ENTRY, "duration": 500}, {"duration": 70.5}, {**ENTRY, "duration": 0}]
    (tmp_path / "list.json").write_text(json.dumps(entries))
    (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, entries)) + "\n\n")
    table = pd.json_normalize(entries)
    table.to_csv(tmp_path / "rows.csv", index=False)
    table.to_parquet(tmp_path / "rows.parquet")
    found = [load_times(tmp_path / name).to_dict() for name in ("list.json", "lines.jsonl", "rows.csv", "rows.parquet")]
    assert found == [load_times(entries).to_dict()] * 4
    assert (found[0]["rows"], found[0]["used"], found[0]["timed"]) == (4, 3, 2)
    assert found[0]["left_out"] == {"no confidence": 1, "no time": 1}
    renamed = table.rename(columns={VALUE: "seen", RATE: "r", "duration": "lcp"})
    again = load_times(renamed, "lcp", value="seen", rate="r")
    assert again.share.value == found[0]["share"]["value"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"confidence": {"value": "medium", "randomizedTriggerRate": 0.5}}, "row 2: .* must be high, low or empty"),
        ({"confidence": {"value": "low", "randomizedTriggerRate": 1.5}}, "row 2: .* in \\[0, 1\\], got 1.5"),
        ({"confidence": {"value": "low"}}, "row 2: .* in \\[0, 1\\], got nan"),
        ({"duration": "fast"}, "row 2: duration must be a number or empty"),
    ],
)
def test_rows_that_cannot_be_are_refused_by_their_number(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        load_times([ENTRY, {**ENTRY, **change}, ENTRY])


def test_too_little_is_refused(tmp_path: Path) -> None:
    sure = {**ENTRY, "confidence": {"value": "low", "randomizedTriggerRate": 1}}
    with pytest.raises(InvalidInputError, match="at least two loads must have a confidence and a time, got 1"):
        load_times([ENTRY, sure, sure])
    with pytest.raises(InvalidParameterError, match=r"value must name a column \(a\), got value=“confidence\.value”"):
        load_times({"a": [1]})
    with pytest.raises(InvalidParameterError, match="quantiles must be different"):
        load_times([ENTRY, ENTRY], quantiles=[0.5, 0.5])
    (tmp_path / "broken.jsonl").write_text(json.dumps(ENTRY) + "\n{\n")
    with pytest.raises(FileFormatError, match="row 2: every entry must be JSON on one line"):
        load_times(tmp_path / "broken.jsonl")
    with pytest.raises(FileFormatError, match="there is no file"):
        load_times(tmp_path / "none.json")
