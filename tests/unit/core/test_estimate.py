from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from deniable import Estimate, RecordEstimate
from deniable.core.estimate import affine_estimate
from deniable.errors import InvalidParameterError, NoIntervalError


def _half() -> Estimate:
    """p = 3/4, q = 1/4, 100 reports of which 60 and 40 support: f^ = .7 and .3."""
    return affine_estimate([60, 40], 100, 0.75, 0.25)


def test_affine_estimate_by_hand() -> None:
    estimate = _half()
    assert estimate.frequencies == pytest.approx([0.7, 0.3], abs=1e-15)
    # The noise variance of one report is (3/16)/(1/4) = 3/4, whatever is held.
    assert estimate.standard_errors == pytest.approx([math.sqrt(0.75 / 100)] * 2, abs=1e-15)
    # The population adds f(1-f)/n.
    assert estimate.standard_errors_for("population") == pytest.approx([math.sqrt(0.0075 + 0.0021)] * 2, abs=1e-15)


def test_the_interval_for_contributors_is_wald_where_the_noise_is_constant() -> None:
    lower, upper = _half().interval(0.95)
    half = 1.959963984540054 * math.sqrt(0.0075)
    assert lower == pytest.approx([0.7 - half, 0.3 - half], abs=1e-12)
    assert upper == pytest.approx([0.7 + half, 0.3 + half], abs=1e-12)


def test_the_interval_for_the_population_is_wilson_on_the_report_proportion() -> None:
    """Wilson's interval for 60 of 100, (.50200, .69061) by the textbook formula, mapped by f = (x - q)/(p - q)."""
    z, share, n = 1.959963984540054, 0.6, 100
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    assert (centre - half, centre + half) == pytest.approx((0.50200, 0.69060), abs=1e-5)
    lower, upper = _half().interval(0.95, target="population")
    assert lower[0] == pytest.approx((centre - half - 0.25) / 0.5, abs=1e-12)
    assert upper[0] == pytest.approx((centre + half - 0.25) / 0.5, abs=1e-12)


def test_every_end_of_an_interval_is_just_not_rejected() -> None:
    """Definition of the score interval: |f^ - f| = z sd(f) at both ends."""
    estimate = affine_estimate([3000, 50, 400], 10_000, 0.5, 0.01, contributors=40_000)
    for target, sampling in (("contributors", 1 / 10_000 - 1 / 40_000), ("population", 1 / 10_000)):
        for bound in estimate.interval(0.9, target=target):  # type: ignore[arg-type]
            noise = (0.01 * 0.99 + (0.25 - 0.0099) * bound) / 0.49**2
            deviation = np.sqrt(noise / 10_000 + bound * (1 - bound) * sampling)
            assert np.abs(estimate.frequencies - bound) == pytest.approx(1.6448536269514722 * deviation, rel=1e-9)


def test_simultaneous_intervals_are_bonferroni() -> None:
    single, together = _half().interval(1 - 0.05 / 2), _half().interval(0.95, simultaneous=True)
    five = _half().interval(0.95, simultaneous=5)
    assert np.allclose(single, together, atol=1e-12)
    assert (five[0] < together[0]).all()
    assert np.allclose(five, _half().interval(0.99), atol=1e-12)


def test_far_outside_the_unit_interval_an_interval_still_surrounds_the_estimate() -> None:
    estimate = affine_estimate([1000, 0], 1000, 0.9, 0.5)  # f^ = 1.25 and -1.25
    lower, upper = estimate.interval()
    assert (lower < estimate.frequencies).all()
    assert (estimate.frequencies < upper).all()


def test_where_the_score_equation_has_no_solution_an_interval_is_wald_at_the_nearest_frequency() -> None:
    """Constant noise, variance 100 per report: at f = 40, 10 reports and -156 of sampling leave less than nothing."""
    estimate = Estimate(np.array([40.0, -40.0]), 10, noise_absent=np.array(100.0), noise_present=np.array(100.0))
    lower, upper = estimate.interval(target="population")
    half = 1.959963984540054 * math.sqrt(10)
    assert lower == pytest.approx([40 - half, -40 - half], rel=1e-12)
    assert upper == pytest.approx([40 + half, -40 + half], rel=1e-12)


def test_without_reports_there_is_nothing_to_say() -> None:
    estimate = affine_estimate([0, 0], 0, 0.75, 0.25, contributors=50)
    assert np.isnan(estimate.frequencies).all()
    assert np.isinf(estimate.standard_errors).all()
    assert np.isnan(estimate.interval()).all()
    assert estimate.to_arrow().column("lower").null_count == 2


def test_post_processing_removes_the_interval_and_keeps_the_raw_estimate() -> None:
    raw = affine_estimate([70, 10], 100, 0.75, 0.25)
    processed = raw.processed([1.0, 0.0], "clip").processed([0.9, 0.1], "nudge")
    assert processed.processing == ("clip", "nudge")
    assert processed.raw is raw
    assert not processed.is_raw
    assert np.isnan(processed.standard_errors).all()
    with pytest.raises(NoIntervalError, match="after the step “clip”, then “nudge”"):
        processed.interval()
    assert processed.to_arrow().column("standard_error").null_count == 2


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 2, float("nan"), "0.95", None])
def test_a_bad_confidence_is_refused(confidence: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"confidence must be (a number )?in \(0, 1\)"):
        _half().interval(confidence)


@pytest.mark.parametrize("number", [0, -1, 2.5, "k", None])
def test_a_bad_number_of_simultaneous_intervals_is_refused(number: Any) -> None:
    with pytest.raises(InvalidParameterError, match="simultaneous must be"):
        _half().interval(simultaneous=number)


def test_true_means_all_intervals_also_from_numpy() -> None:
    all_together: Any = np.True_
    assert np.array_equal(_half().interval(simultaneous=all_together), _half().interval(simultaneous=2))


def test_a_bad_target_is_refused() -> None:
    target: Any = "everybody"
    with pytest.raises(InvalidParameterError, match="target"):
        _half().interval(target=target)


def test_estimates_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        _half().frequencies[0] = 1.0


def test_tables() -> None:
    named = _half().named("smoker", ["yes", "no"])
    table = RecordEstimate({"smoker": named, "drinker": _half()}).to_arrow()
    assert table.column_names == ["attribute", "category", "estimate", "standard_error", "lower", "upper"]
    assert table.column("attribute").to_pylist() == ["smoker", "smoker", "drinker", "drinker"]
    assert table.column("category").to_pylist() == ["yes", "no", "0", "1"]
    assert named.to_pandas()["estimate"].tolist() == pytest.approx([0.7, 0.3])
    assert named.to_frame().loc["no", "estimate"] == pytest.approx(0.3)
    both = RecordEstimate({"smoker": named, "drinker": named}).to_frame()
    assert both.loc[("drinker", "yes"), "estimate"] == pytest.approx(0.7)
    assert named.to_polars()["estimate"].to_list() == pytest.approx([0.7, 0.3])
    with pytest.raises(InvalidParameterError, match="labels must name all 2"):
        _half().named("smoker", ["yes"])
