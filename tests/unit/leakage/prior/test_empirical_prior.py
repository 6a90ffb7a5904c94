"""Leakage from data: named missing values, pairwise figures, and bounds when joint distributions are too large."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from deniable import GRR
from deniable.errors import InvalidInputError, TooLargeError
from deniable.leakage import (
    conditional_from_joint,
    joint_from_records,
    mechanism_cpl,
    observed,
    pairwise_leakage,
    record_leakage,
    saturation,
    worst_case_cpl,
)
from deniable.leakage.prior.empirical_prior import MAX_CATEGORIES, PairCounts
from deniable.oracles.unary import OUE
from deniable.research.leakage import (
    calibrate,
    drop_unseen,
    exact_totals,
    total_leakage,
)
from tests.real_data import celeba, requires_data
from tests.unit.leakage.prior.observed_records import NAMES, SIZES, _records


def test_what_data_cannot_say_is_left_out_and_named() -> None:
    records = _records()
    data = observed(records, SIZES, NAMES)
    assert data.names == ("sex", "job", "town")
    assert data.attributes == (0, 1, 2)
    assert data.sizes == (2, 3, 3)
    assert data.notes == (
        "adult is constant in the data: left out",
        "town: category 1 does not occur in the data: left out",
    )
    assert [list(seen) for seen in data.categories] == [[0, 1], [0, 1, 2], [0, 2, 3]]
    back = np.column_stack([seen[data.codes[:, j]] for j, seen in enumerate(data.categories)])
    assert (back == records[:, :3]).all()
    assert data.joint().sum() == pytest.approx(1)
    lopsided = np.array([[0.7, 0.3], [0.1, 0.9], [0.5, 0.5], [0.2, 0.8]])
    restricted = data.restricted([GRR(2, 1.0), GRR(3, 1.0), lopsided, GRR(2, 1.0)])
    kept = np.asarray(restricted[2])  # three inputs occur, and the order of outputs does not matter
    assert kept[:, np.argsort(kept[0])] == pytest.approx(np.array([[0.3, 0.7], [0.5, 0.5], [0.8, 0.2]]), abs=1e-12)
    assert data.restricted(0.5) == [0.5] * 3


def test_many_missing_categories_are_counted() -> None:
    data = observed(np.array([[0], [9]]), (12,))
    assert data.notes == ("attribute 0: 10 categories (1, 2, 3, 4, 5, ...) do not occur in the data: left out",)
    wide = observed(np.array([[0, 0], [1, 1]]), (2, 60))
    # Once categories are missing, a channel that cannot be listed is known only by its epsilon.
    assert wide.restricted([GRR(2, 1.0), OUE(60, 1.0)])[1] == OUE(60, 1.0).implemented_epsilon()


def test_tables_with_empty_categories_become_smaller() -> None:
    joint = np.array([[0.3, 0.0, 0.2], [0.0, 0.0, 0.0], [0.1, 0.0, 0.4]])
    table, channels, notes = drop_unseen(joint, [np.asarray(GRR(3, 1.0).channel())] * 2)
    assert table == pytest.approx(np.array([[0.3, 0.2], [0.1, 0.4]]), abs=1e-15)
    assert [channel.shape for channel in channels] == [(2, 3), (2, 3)]
    assert notes == (
        "attribute 0: category 1 does not occur in the data: left out",
        "attribute 1: category 1 does not occur in the data: left out",
    )
    assert exact_totals(table, channels).shape == (2,)
    constant, channels, notes = drop_unseen([[0.5, 0.5], [0.0, 0.0]], [np.eye(2)] * 2)
    assert constant.shape == (1, 2)
    with pytest.raises(InvalidInputError, match=r"channel 1 must have 2 rows \(one for each input\)"):
        drop_unseen([[0.5, 0.5]], [np.eye(1), np.eye(3)])
    with pytest.raises(InvalidInputError, match=r"one entry for each of the 2 attributes, got 1"):
        drop_unseen([[0.5, 0.5]], [np.eye(1)])


def test_pair_counts_are_the_two_way_tables() -> None:
    records = _records(2, 30_000)[:, :3]
    counts = PairCounts.of(records, SIZES[:3])
    for i in range(3):
        for j in range(3):
            table = np.zeros((SIZES[i], SIZES[j]), dtype=np.int64)
            np.add.at(table, (records[:, i], records[:, j]), 1)
            assert (counts.table(i, j) == table).all()
    assert counts.conditional(0, 1) == pytest.approx(
        conditional_from_joint(joint_from_records(records, SIZES[:3]), 0, 1), abs=1e-12
    )


def test_pairwise_leakage_is_every_pair_s_cpl() -> None:
    records = _records()
    lopsided = np.array([[0.7, 0.3], [0.1, 0.9], [0.5, 0.5], [0.2, 0.8]])
    mechanisms: list[Any] = [GRR(2, 1.0), OUE(3, 0.8), lopsided, GRR(2, 1.0)]
    found = pairwise_leakage(records, SIZES, mechanisms, NAMES)
    joint = observed(records, SIZES).joint()
    town = lopsided[[0, 2, 3]]
    for i, j in ((0, 1), (1, 0), (2, 0), (2, 1)):
        expected = mechanism_cpl(mechanisms[j], conditional_from_joint(joint, i, j)).epsilon
        assert found.matrix[i, j] == pytest.approx(expected, abs=1e-12)
    for i in (0, 1):
        expected = mechanism_cpl(town, conditional_from_joint(joint, i, 2)).epsilon
        assert found.matrix[i, 2] == pytest.approx(expected, abs=1e-12)
    assert (np.diag(found.matrix) == 0).all()
    assert found.direct == pytest.approx([1.0, 0.8, math.log(7)], abs=1e-12)
    assert found.statuses == ("exact", "exact", "exact")
    assert found.notes[0] == "adult is constant in the data: left out"
    assert found.additive_figure_not_a_bound == pytest.approx(found.direct + found.matrix.sum(axis=1), abs=1e-15)
    by_budget = pairwise_leakage(records, SIZES, 1.0, NAMES)
    assert by_budget.statuses == ("upper bound",) * 3
    assert by_budget.matrix[0, 1] == pytest.approx(
        worst_case_cpl(conditional_from_joint(joint, 0, 1), 1.0).epsilon, abs=1e-12
    )


def test_all_of_a_small_data_set_is_exact() -> None:
    records = _records()
    mechanisms = [GRR(k, 1.0) for k in SIZES]
    found = record_leakage(records, SIZES, mechanisms, NAMES)
    data = observed(records, SIZES)
    restricted: list[Any] = data.restricted(mechanisms)
    expected = total_leakage(data.joint(), restricted)
    assert [total.epsilon for total in found.totals] == pytest.approx(list(expected.exact), abs=1e-10)
    assert {total.status for total in found.totals} == {"exact"}
    assert found.tree == ()
    assert found.prior_free == pytest.approx(4.0, abs=1e-9)  # the constant attribute spends epsilon, too
    text = found.text(2)
    assert text.count("additive") == text.count("additive figure (not a bound)") == 3
    assert "note: adult is constant in the data: left out" in text
    assert "for any joint distribution at most 4.000 (upper bound)" in text


def test_where_the_joint_is_too_large_groups_give_bounds() -> None:
    records = np.random.default_rng(3).integers(0, 2, size=(300, 1)) ^ (
        np.random.default_rng(4).random((300, 8)) < np.linspace(0.05, 0.4, 8)
    )
    mechanisms = [GRR(2, 0.7)] * 8
    exact = record_leakage(records.astype(np.uint8), (2,) * 8, mechanisms)
    bounded = record_leakage(records.astype(np.uint8), (2,) * 8, mechanisms, max_states=16)
    assert {total.status for total in bounded.totals} == {"upper bound"}
    assert {total.status for total in bounded.tree} == {"assumption"}
    for bound, total in zip(bounded.totals, exact.totals, strict=True):
        assert total.epsilon - 1e-9 <= bound.epsilon <= 8 * 0.7 + 1e-9
        assert "exact among 4 attributes, plus the epsilons of the others" in bound.note
    assert max(bound.epsilon for bound in bounded.totals) < 8 * 0.7 - 0.1
    assert "(assumption)" in str(bounded)
    unknown = record_leakage(records.astype(np.uint8), (2,) * 8, 0.7)  # with epsilons only, nothing can be listed
    assert [total.epsilon for total in unknown.totals] == pytest.approx([5.6] * 8, abs=1e-9)
    assert {total.note for total in unknown.totals} == {"for any joint distribution"}


def test_bad_records_are_named() -> None:
    with pytest.raises(InvalidInputError, match="records must not be empty"):
        observed(np.zeros((0, 2), dtype=np.int64), (2, 2))
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.1, got something else in row 2, attribute 1"):
        pairwise_leakage(np.array([[0, 1], [1, 2]]), (2, 2))
    with pytest.raises(
        InvalidInputError, match="at least one attribute must vary in the records, but all 3 records are the same"
    ):
        observed(np.ones((3, 2), dtype=np.int64), (2, 2))
    with pytest.raises(InvalidInputError, match="names must name all 2 attributes, got 1"):
        observed(np.array([[0, 1], [1, 0]]), (2, 2), ["one"])
    with pytest.raises(InvalidInputError, match=r"one entry for each of the 2 attributes, got 1"):
        pairwise_leakage(np.array([[0, 1], [1, 0]]), (2, 2), [GRR(2, 1.0)])
    with pytest.raises(
        TooLargeError, match=f"at most {MAX_CATEGORIES} categories in total over all attributes, got 5000"
    ):
        PairCounts.of(np.zeros((1, 2), dtype=np.int64), (2500, 2500))


@requires_data
def test_celeba_figures() -> None:
    faces = celeba()
    found = pairwise_leakage(faces.records, faces.sizes, [GRR(2, 1.0)] * 40, faces.names)
    place = {name: i for i, name in enumerate(found.names)}
    assert found.matrix[place["Male"], place["Bald"]] == pytest.approx(0.088, abs=5e-4)
    assert found.matrix[place["Bald"], place["Male"]] == pytest.approx(0.699, abs=5e-4)
    off_diagonal = found.matrix[~np.eye(40, dtype=np.bool_)]
    assert (off_diagonal < 0.1).mean() == pytest.approx(0.48, abs=0.01)
    for source, limit in (("Smiling", 0.300), ("Wearing_Necklace", 2.407)):
        pair = faces.select(["Male", source])
        joint = joint_from_records(pair.records, pair.sizes)
        assert saturation(conditional_from_joint(joint)) == pytest.approx(limit, abs=5e-4)


@requires_data
def test_celeba_s_young_is_told_by_chubby_and_double_chin_more_than_the_additive_figure_says() -> None:
    faces = celeba().select(["Young", "Chubby", "Double_Chin"])
    joint = joint_from_records(faces.records, faces.sizes)
    found = total_leakage(joint, [GRR(2, 1.0)] * 3)
    assert found.exact[0] == pytest.approx(1.581, abs=5e-4)
    assert found.additive_figure_not_a_bound[0] == pytest.approx(1.475, abs=1e-3)
    additive = calibrate(joint, 1.475, "additive")
    assert additive.exact is not None
    assert additive.exact[0] > additive.figures[0]
