"""Rows of a plan: the statements about each mechanism, and the recommended row."""

from __future__ import annotations

import pytest

from deniable import GRR
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families.registry import FAMILIES
from deniable.planning import plan
from tests.unit.planning.planned import rows_of


def test_rows_carry_the_mechanism_and_its_parameters() -> None:
    rows = rows_of(plan([6], 1.0, contributors=1000))
    assert rows["GRR"].mechanism == GRR(6, 1.0)
    assert rows["GRR"].parameters == {"k": 6, "epsilon": "1"}
    assert rows["OLH"].parameters == {"k": 6, "epsilon": "1", "m": 4, "family": "prime"}
    assert rows["OUE"].bits_per_report == 6
    assert rows["Exponential"].note == "it equals GRR at epsilon/2"
    assert "RS+RFD with uniform priors" in rows_of(plan([6, 6], 1.0, 10))["RS+FD[GRR]"].note


def test_without_contributors_errors_are_for_the_fewest_needed() -> None:
    result = plan([100], 4.0, target_error=0.01, mechanisms=["GRR", "OUE"])
    assert result.n == 2041
    rows = rows_of(result)
    assert rows["GRR"].half_width == pytest.approx(0.01, rel=1e-3)
    assert (rows["OUE"].half_width or 0) > 0.01
    assert all(row.feasible for row in result.rows)


def test_what_cannot_be_built_is_infeasible() -> None:
    rows = rows_of(plan([1 << 21], 1.0, contributors=1000))
    assert (
        rows["OUE"].reason == "bits per report must be <= 524,288 to be practical, got 2,097,152; use fewer categories"
    )
    assert (rows["OUE"].mechanism, rows["OUE"].standard_error, rows["OUE"].parameters) == (None, None, {})
    assert rows["GRR"].feasible
    assert (
        rows["OLH"].reason
        == "values compared with every report must be <= 524,288 to be practical, got 2,097,152; use fewer categories"
    )
    assert rows["CMS[spread]"].recommended
    huge = plan([1 << 30], 1.0, contributors=1000)
    assert not huge.feasible
    assert {row.reason for row in huge.rows} == {
        "counters must be <= 134,217,728 to be practical, got 1,073,741,824; use fewer categories"
    }
    split = rows_of(plan([2] * 3, 2e-6, contributors=1000))["SPL[GRR]"]
    assert split.reason == "epsilon must be >= 1e-06 per attribute, got epsilon=2e-06 for 3 attributes"


def test_mechanisms_are_chosen_by_name() -> None:
    assert [row.name for row in plan([9], 1.0, 10, mechanisms=["oue", "GRR"]).rows] == ["GRR", "OUE"]
    assert set(rows_of(plan([9, 9], 1.0, 10, mechanisms=["spl", "RSFD[oue]"]))) == {
        "SPL[GRR]", "SPL[OUE]", "RS+FD[OUE]",
    }  # fmt: skip
    families = {f"CMS[{name}]" for name in FAMILIES}
    assert set(rows_of(plan([9], 1.0, 10, mechanisms=["cms"]))) == families
    assert set(rows_of(plan([9], 1.0, 10, mechanisms=["CMS[Linear]", "ocms"]))) == {"CMS[linear]", "OCMS"}


def test_a_million_values_are_decoded_by_a_transform() -> None:
    rows = rows_of(plan([1_000_000], 2.0, contributors=10_000))
    assert {name for name, row in rows.items() if row.feasible} == {
        "GRR", "Exponential", "OCMS", "CMS[spread]", "CMS[partition]", "CMS[linear]",
    }  # fmt: skip
    assert (
        rows["OUE"].reason == "bits per report must be <= 524,288 to be practical, got 1,000,000; use fewer categories"
    )
    assert rows["CMS[prime]"].reason.startswith("values compared with every report must be <= 524,288")
    assert [rows[name].parameters["family"] for name in ("OCMS", "CMS[spread]")] == ["spread", "spread"]
    assert rows["OCMS"].mechanism == rows["CMS[spread]"].mechanism == CountMeanSketch(1_000_000, 2.0, 8, "spread")
    assert rows["CMS[spread]"].recommended


def test_a_tie_goes_to_fewer_bits_then_to_the_simpler() -> None:
    # Subsets of one value are GRR, with the same variance and the same bits.
    rows = rows_of(plan([8], 5.0, contributors=1000))
    assert rows["SubsetSelection"].parameters["omega"] == 1
    assert rows["GRR"].recommended
    # Subset selection is better by less than 1%, and needs 42,000 bits.
    rows = rows_of(plan([50_000], 1.0, contributors=1000, mechanisms=["SubsetSelection", "OLH"]))
    assert (rows["SubsetSelection"].mean_variance or 0) < (rows["OLH"].mean_variance or 0)
    assert rows["OLH"].recommended
    # A transform is considered if it wins: a histogram's report is half as long as a hash function's.
    assert rows_of(plan([50_000], 1.0, contributors=1000))["CMS[spread]"].recommended
