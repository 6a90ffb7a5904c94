"""Budgets for records that keep leakage below a cap."""

from __future__ import annotations

import re
from typing import Any

import pytest

from deniable import GRR
from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError
from deniable.research.leakage.calibration.budgets import calibrate_records
from tests.unit.report.leaking import budgets, chain, printed, schema_of


def test_exact_budgets_reach_the_cap_and_not_beyond() -> None:
    summary = budgets()
    assert summary.calibration.is_guarantee
    totals = [total.epsilon for total in summary.calibration.totals]
    assert max(totals) == pytest.approx(1.5, abs=1e-6)
    assert max(totals) <= 1.5 + 1e-9
    # For binary attributes every mechanism is a randomised GRR, so naming GRR changes nothing.
    assert budgets(mechanism=GRR).calibration.epsilons[0] == pytest.approx(float(summary.calibration.epsilons[0]))
    text = printed(summary)
    assert text.startswith("Budgets that keep every total within 1.5\n")
    assert "worst case" in text
    assert "Splitting the smallest cap equally gives 0.5 each" in text
    assert "WARNING" not in text


def test_additive_budgets_show_that_they_fail() -> None:
    summary = budgets(mechanism=GRR, criterion="additive")
    assert not summary.calibration.is_guarantee
    assert summary.exceeded == 3
    text = " ".join(printed(summary).split())
    assert "exact totals exceed the cap for 3 of 3 attributes (*)" in text
    assert len(re.findall(r"\d\* exact", text)) == 3
    assert "times that" not in text


def test_a_tree_is_an_assumption_and_says_so() -> None:
    summary = budgets(along_tree=True, mechanism=GRR)
    assert not summary.calibration.is_guarantee
    text = printed(summary)
    assert text.startswith("Budgets that keep every total within 1.5, if attributes depend along a tree only\n")
    assert "WARNING: No guarantee" in text
    assert "if a tree" in text


def test_caps_of_single_attributes_and_unequal_budgets() -> None:
    summary = budgets(mechanism=GRR, caps={"a": "0.5"})
    assert summary.calibration.caps == (0.5, 1.5, 1.5)
    for total, cap in zip(summary.calibration.totals, summary.calibration.caps, strict=True):
        assert total.epsilon <= cap + 1e-9
    assert printed(summary).startswith("Budgets that keep every total within its own cap\n")
    assert len(set(budgets(mechanism=GRR, unequal=True).calibration.epsilons)) > 1


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"unequal": True}, InvalidParameterError, "mechanism must be named for unequal budgets"),
        (
            {"caps": {"z": 1}, "mechanism": GRR},
            InvalidParameterError,
            r"caps must name attributes that vary in the records \(a, b, c\)",
        ),
        ({"caps": {"a": -1}, "mechanism": GRR}, InvalidParameterError, "cap of “a” must be > 0"),
    ],
)
def test_bad_calibrations(options: dict[str, Any], error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        budgets(**options)


def test_any_mechanism_over_a_large_domain_is_refused_with_alternatives() -> None:
    records = chain(2, k=9)
    with pytest.raises(
        TooLargeError, match="at most 8 categories, got an attribute with 9 categories: name the mechanism"
    ):
        calibrate_records(records, schema_of(("a", "b"), k=9), 2, source="x.csv", criterion="exact")


def test_unseen_categories_are_refused_where_the_mechanism_depends_on_them() -> None:
    from deniable import SubsetSelection

    records, schema = chain(2, k=4), schema_of(("a", "b"), k=4)
    records[records[:, 0] == 3, 0] = 0
    with pytest.raises(InvalidInputError, match="every category of “a” must occur"):
        calibrate_records(records, schema, 2, source="x.csv", mechanism=SubsetSelection)
    assert calibrate_records(records, schema, 2, source="x.csv", mechanism=GRR).notes
