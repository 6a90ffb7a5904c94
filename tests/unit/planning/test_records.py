"""The default for records: a rule without data, with a reason in words."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import Any

import pytest

from deniable import SMP, SPL
from deniable.errors import InvalidParameterError
from deniable.planning import corr_rr_plan, plan, records_default
from deniable.records.pivot.pivot_coded import PivotCoded
from deniable.records.sample import AdaptiveSMP


def grr_noise(epsilon: float, k: int) -> float:
    """Variance of one GRR report at f = 1/k, from the definition."""
    e = math.exp(epsilon)
    p, q = e / (e + k - 1), 1 / (e + k - 1)
    return (p * (1 - p) + (k - 1) * q * (1 - q)) / k / (p - q) ** 2


@pytest.mark.parametrize("full_record", [True, False])
def test_over_small_equal_domains_it_is_the_rule(full_record: bool) -> None:
    chosen = set()
    for k, d, epsilon in product((2, 3, 4), (2, 3, 5, 8), (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)):
        split = grr_noise(epsilon / d, k)
        sample = d * grr_noise(epsilon, k) + (d - 1) * (1 / k) * (1 - 1 / k) * k / (k + 1)
        if abs(split / sample - 1) < 0.02:
            continue  # this is a tie
        mechanism = records_default([k] * d, epsilon, full_record=full_record).mechanism
        kinds = (SPL,) if split < sample else (PivotCoded,) if full_record else (SMP, AdaptiveSMP)
        assert isinstance(mechanism, kinds), (k, d, epsilon)
        chosen.add(isinstance(mechanism, SPL))
    assert chosen == {True, False}


def test_unequal_sizes_are_compared_by_the_mean_over_attributes() -> None:
    sizes = (2, 50)
    for epsilon in (0.5, 2.0, 5.0, 8.0, 12.0):
        rows = {row.name: row.mean_variance for row in plan(sizes, epsilon, contributors=1000).rows}
        best = records_default(sizes, epsilon).mechanism
        least = min(rows[name] or math.inf for name in ("SPL[GRR]", "SPL[OUE]", "SMP[GRR]", "SMP[ADP]"))
        name = best.name if best.name == "SMP[ADP]" else f"{best.name}[{best.oracle}]"  # type: ignore[attr-defined]
        assert (rows[name] or math.inf) <= 1.01 * least


def test_splitting_may_use_the_better_oracle() -> None:
    choice = records_default([64, 64], 14.0)
    assert choice.mechanism == SPL((64, 64), 14.0)
    assert "splitting the budget (SPL[GRR]) has" in choice.reason
    assert "times the expected variance of sampling one attribute (SMP[" in choice.reason
    # Over a thousand values, OUE would be better for splitting, if splitting were better at all.
    assert "of splitting the budget (SPL[OUE]" in records_default([1000, 1000], 2.0).reason


def test_the_reason_states_the_ratio() -> None:
    choice = records_default([4, 4, 4], 1.0)
    found = re.match(r"one sampled attribute has ([\d.]+) times the expected variance of splitting", choice.reason)
    assert found is not None
    sample = 3 * grr_noise(1.0, 4) + 2 * (1 / 4) * (3 / 4) * 4 / 5
    assert float(found.group(1)) == pytest.approx(sample / grr_noise(1 / 3, 4), rel=0.03)
    mixed = records_default([5, 40, 6, 3], 1.0)
    assert isinstance(mixed.mechanism, AdaptiveSMP)
    assert "oracles by size: 3 x GRR, 1 x SubsetSelection" in mixed.reason


def test_a_full_record_is_a_record_of_codes() -> None:
    for sizes, epsilon in (([5, 40, 6], 1.0), ([100, 100], 0.5), ([3, 3], 20.0)):
        mechanism: Any = records_default(sizes, epsilon, full_record=True).mechanism
        assert mechanism.report_fields[0].width == len(sizes)
        assert mechanism.report_fields[0].name == "values"


@pytest.mark.parametrize("sizes", [(4, 4, 4), (2, 30), (100, 100)])
def test_hiding_the_sampled_attribute(sizes: tuple[int, ...]) -> None:
    choice = records_default(sizes, 1.0, hide_sampled_attribute=True)
    assert choice.mechanism.name in ("RS+FD", "SPL")
    assert choice.phase_two == ""
    assert "Corr-RR was not considered, because its bias can only be judged with the number of" in choice.reason
    coded: Any = records_default(sizes, 1.0, full_record=True, hide_sampled_attribute=True).mechanism
    assert coded.oracle == "GRR"


def test_corr_rr_is_for_few_contributors() -> None:
    few, many = (records_default([4, 4, 4], 0.5, hide_sampled_attribute=True, contributors=n) for n in (300, 1_000_000))
    assert few.phase_two == "Corr-RR"
    assert few.mechanism == SPL((4, 4, 4), 0.5)
    assert "its copies may still show which attribute was sampled" in few.reason
    assert "contributors in phase one" in few.reason
    assert many.mechanism.name == "RS+FD"
    assert "Corr-RR has an expected squared error of" in many.reason
    large = records_default([30, 40], 0.5, hide_sampled_attribute=True, contributors=300)
    assert (
        "Corr-RR was not considered: attributes with different numbers of categories must have at most 32"
        in large.reason
    )


def test_a_budget_too_small_to_split() -> None:
    # Half of the budget is below the smallest budget. So neither SPL can be built nor Corr-RR, whose phase one is SPL.
    hidden = records_default([4, 4], 1e-6, hide_sampled_attribute=True, contributors=100_000)
    assert hidden.mechanism.name == "RS+FD"
    assert "Corr-RR was not considered: epsilon must be >= 1e-06 per attribute" in hidden.reason
    assert records_default([2, 2], 1e-6).reason == "one sampled attribute has no practical alternative"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([4], 1.0), "sizes must list at least two attributes, got sizes=4; use recommend for one attribute"),
        (([4, 1], 1.0), "sizes[1] must be >= 2"),
        (([4, 4], 0.0), "epsilon must be > 0"),
        (([4, 4], 1.0, False, True, 5), "contributors must be >= 20, got contributors=5"),
        (
            ([1 << 30, 4], 1.0),
            "no mechanism is practical for sizes=1073741824, 4 and epsilon=1.0. For SPL[GRR], SPL[OUE], SMP[GRR], SMP",
        ),
    ],
)
def test_bad_parameters_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        records_default(*arguments)


def test_rows_of_a_plan_say_that_corr_rr_is_biased() -> None:
    (row,) = plan([4, 4], 1.0, contributors=20_000, mechanisms=["Corr-RR"]).rows
    expected = corr_rr_plan([4, 4], 1.0, 20_000)
    assert row.mean_variance == expected.mse
    assert row.mean_bias == pytest.approx(math.sqrt(expected.squared_bias))
    assert (row.standard_error, row.half_width, row.contributors_needed) == (None, None, None)
    assert row.feasible
    assert "worse than the default for records" in row.note
    assert row.mechanism == SPL((4, 4), 1.0)
    (row,) = plan([4, 4], 1.0, contributors=20_000, target_error=0.05, mechanisms=["Corr-RR"]).rows
    assert not row.feasible
    assert row.reason == "biased: no number of contributors makes an interval valid"
    best = plan([4, 4], 0.1, contributors=100).recommended
    assert best is not None
    assert best.name.startswith("SMP")  # Corr-RR is chosen only if it is asked for, whatever its error is
    assert re.search(r"Corr-RR +- +0\.\d+ +- ", str(plan([4, 4], 1.0, contributors=50, mechanisms=["Corr-RR"])))
    (row,) = plan([4, 40], 1.0, contributors=50, mechanisms=["Corr-RR"]).rows
    assert (row.mean_variance, row.feasible) == (None, False)
    assert row.note == f"not computed: {row.reason}"
    assert re.search(r"Corr-RR +- +- +- ", str(plan([4, 40], 1.0, contributors=50, mechanisms=["Corr-RR"])))
