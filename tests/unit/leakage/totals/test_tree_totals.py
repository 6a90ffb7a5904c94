"""Totals along a tree: many attributes, zeros, and a stated assumption."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from deniable import GRR
from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError
from deniable.leakage import TreePrior, tree_leakage
from deniable.research.leakage import exact_totals

PAIR = np.array([[0.4, 0.1], [0.1, 0.4]])


def test_a_hundred_binary_attributes() -> None:
    flip = np.array([[0.45, 0.05], [0.05, 0.45]])
    chain = TreePrior((2,) * 100, tuple((i, i + 1) for i in range(99)), (flip,) * 99)
    message, passed = 0.0, []
    for _ in range(100):
        passed.append(message)
        ratio = math.exp(0.5 + message)
        message = math.log((0.9 * ratio + 0.1) / (0.1 * ratio + 0.9))
    found = tree_leakage(chain, [GRR(2, 0.5)] * 100)
    expected = [0.5 + passed[i] + passed[99 - i] for i in range(100)]
    assert [total.epsilon for total in found.totals] == pytest.approx(expected, abs=1e-9)
    assert chain.conditional(0, 99) == pytest.approx(np.full((2, 2), 0.5), abs=1e-9)


def test_zeros_are_kept() -> None:
    prior = TreePrior((2, 2), ((0, 1),), (np.array([[0.5, 0.0], [0.2, 0.3]]),))
    found = tree_leakage(prior, [GRR(2, 1.0), np.eye(2)])
    assert found.totals[0].epsilon == math.inf
    assert found.totals[1].epsilon == math.inf
    joint = np.zeros((2, 2, 2))
    joint[0, 0, 0] = joint[1, 1, 1] = 0.5  # there are three copies of one bit, one of them without noise
    copies = TreePrior((2, 2, 2), ((0, 1), (1, 2)), (np.eye(2) / 2, np.eye(2) / 2))
    mechanisms: list[Any] = [GRR(2, 1.0), GRR(2, 0.5), np.eye(2)]
    assert [t.epsilon for t in tree_leakage(copies, mechanisms).totals] == list(exact_totals(joint, mechanisms))


def test_a_fitted_tree_is_an_assumption_everywhere() -> None:
    records = np.repeat([[0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]], [40, 10, 35, 10, 5], axis=0)
    prior = TreePrior.from_records(records, (2, 2, 2))
    assert prior.fitted
    for release in (GRR(2, 1.0), 1.0):
        for total in tree_leakage(prior, [release] * 3).totals:
            assert total.status == "assumption"
            assert "along the fitted tree only" in total.note
    given = TreePrior.from_records(records, (2, 2, 2), edges=[(0, 1), (0, 2)])
    assert given.edges == ((0, 1), (0, 2))
    assert given.tables[0] == pytest.approx(np.array([[0.45, 0.1], [0.1, 0.35]]), abs=1e-12)
    stated = TreePrior(given.sizes, given.edges, given.tables)
    assert tree_leakage(stated, [GRR(2, 1.0)] * 3).totals[0].status == "exact"


def test_bad_releases_are_named() -> None:
    prior = TreePrior((2, 2), ((0, 1),), (PAIR,))
    with pytest.raises(InvalidInputError, match=r"one entry for each of the 2 attributes, got 1"):
        tree_leakage(prior, [GRR(2, 1.0)])
    with pytest.raises(
        InvalidInputError,
        match=r"mechanisms\[1\] must have 2 possible answers, got 3: attribute 1 of the prior has 2 categories",
    ):
        tree_leakage(prior, [GRR(2, 1.0), GRR(3, 1.0)])
    with pytest.raises(InvalidInputError, match=r"mechanisms\[1\] must have 2 possible answers"):
        tree_leakage(prior, [GRR(2, 1.0), np.eye(3)])
    long = TreePrior((2,) * 30, tuple((i, i + 1) for i in range(29)), (PAIR,) * 29)
    with pytest.raises(InvalidParameterError, match="must sum to at most 600, got 960"):
        tree_leakage(long, [32.0] * 30)
    with pytest.raises(TooLargeError, match="joint table must have at most"):
        long.joint()
