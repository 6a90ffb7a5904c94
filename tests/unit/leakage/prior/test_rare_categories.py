"""Rare categories: leakage that they decide, and leakage after merging them."""

from __future__ import annotations

import numpy as np
import pytest

from deniable import Attribute, Schema
from deniable.errors import InvalidParameterError
from deniable.leakage import merge_rare, pairwise_leakage, summarize
from deniable.leakage.prior.empirical_prior import observed
from deniable.leakage.prior.rare_categories import merged_places, rare_warnings
from deniable.research.leakage import calibrate_records

SCHEMA = Schema((Attribute("country", ("fr", "de", "lu", "li")), Attribute("smoker", ("yes", "no"))))
ROWS = np.repeat(
    [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1], [3, 0], [3, 1]], [240, 240, 240, 240, 19, 1, 1, 19], axis=0
)
"""Smoking is independent of the two large countries, and nearly determined by the two small ones."""


def test_the_warning_names_both_figures() -> None:
    (told,) = rare_warnings(observed(ROWS, (4, 2), ["country", "smoker"]), np.array([1.0, 1.0]))
    before = pairwise_leakage(ROWS, (4, 2), 1.0).matrix.max(axis=1)
    codes, smaller, _ = merge_rare(ROWS, SCHEMA)
    after = pairwise_leakage(codes, smaller.sizes, 1.0).matrix.max(axis=1)
    assert f"country ({before[0]:.2f}, merged {after[0]:.2f})" in told
    assert before[0] > 0.8
    assert after[0] == pytest.approx(0, abs=1e-12)
    assert "--merge-rare 0.05" in told


def test_no_warning_without_several_rare_categories_or_a_difference() -> None:
    one = ROWS[ROWS[:, 0] != 3]
    assert rare_warnings(observed(one, (4, 2)), np.ones(2)) == ()  # a single rare category has none to join
    same = ROWS.copy()
    same[same[:, 0] == 3, 1] = 0
    same[same[:, 0] == 2, 1] = 0  # merged they leak as much as separately
    assert rare_warnings(observed(same, (4, 2)), np.ones(2)) == ()
    weak = np.column_stack([ROWS[:, 0], np.arange(len(ROWS)) % 2])
    assert rare_warnings(observed(weak, (4, 2)), np.ones(2)) == ()


def test_merging_keeps_records_and_names_what_went() -> None:
    codes, smaller, notes = merge_rare(ROWS, SCHEMA, 0.05)
    assert smaller.sizes == (3, 2)
    assert smaller.columns[0].labels == ("fr", "de", "lu, li")
    assert smaller.columns[1] is SCHEMA.columns[1]
    np.testing.assert_array_equal(codes[:, 1], ROWS[:, 1])
    np.testing.assert_array_equal(codes[:, 0], np.minimum(ROWS[:, 0], 2))
    assert notes == ("country: 2 categories held by less than 5% each are merged",)
    assert merge_rare(ROWS, SCHEMA, 0.0)[1].sizes == SCHEMA.sizes
    with pytest.raises(InvalidParameterError, match="share must be in"):
        merge_rare(ROWS, SCHEMA, 2.0)


def test_places_stand_in_order_with_the_merged_one_last() -> None:
    assert merged_places(np.array([1, 50, 2, 47]), 0.05).tolist() == [2, 0, 2, 1]


def test_reports_and_budgets_warn() -> None:
    told = summarize(ROWS, SCHEMA, 1.0, source="a.csv", release="by any mechanism").warnings
    assert any("--merge-rare" in warning for warning in told)
    told = calibrate_records(ROWS, SCHEMA, 2, source="a.csv").warnings
    assert any("--merge-rare" in warning for warning in told)
    codes, smaller, notes = merge_rare(ROWS, SCHEMA)
    told = summarize(codes, smaller, 1.0, source="a.csv", release="by any mechanism", notes=notes).warnings
    assert not any("--merge-rare" in warning for warning in told)
