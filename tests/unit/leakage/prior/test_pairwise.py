"""Leakage pair by pair: deltas, the strongest pairs, and figures of real records."""

from __future__ import annotations

import numpy as np
import pytest

from deniable import GRR
from deniable.errors import InvalidParameterError
from deniable.leakage import pairwise_leakage
from deniable.leakage.totals.deltas import worst_deltas
from deniable.research.leakage import (
    calibrate,
)
from tests.real_data import cardio, requires_data
from tests.unit.leakage.prior.observed_records import NAMES, SIZES, _records


def test_without_epsilon_only_reveals_count() -> None:
    """The exclusive or at epsilon 0: the pairs have delta 0, but the other two together reveal everything."""
    xor = np.zeros((2, 2, 2))
    xor[0, 0, 0] = xor[0, 1, 1] = xor[1, 0, 1] = xor[1, 1, 0] = 0.25
    found = worst_deltas(xor, (2, 2, 2), [0.0] * 3, [0.1] * 3, [0.0] * 3)
    assert found.deltas == pytest.approx(0.1 + 0.9 * 0.1 * 0.1)
    records = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    sums = pairwise_leakage(records, (2, 2, 2), 0.0, delta=0.1)
    assert sums.additive_delta_not_a_bound == pytest.approx(0.1)


@pytest.mark.parametrize("delta", [-0.1, 1.5, float("nan")])
def test_deltas_out_of_range_are_refused(delta: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"delta must be in \[0, 1\]"):
        pairwise_leakage([[0, 0], [1, 1], [0, 1]], (2, 2), 1.0, delta=delta)


def test_named_mechanisms_have_no_delta() -> None:
    records, grr = [[0, 0], [1, 1], [0, 1]], GRR(k=2, epsilon=1.0)
    with pytest.raises(InvalidParameterError, match="delta must be 0 for a named mechanism"):
        pairwise_leakage(records, (2, 2), [grr, grr], delta=0.01)
    with pytest.raises(InvalidParameterError, match="delta must be 0 for a named mechanism"):
        pairwise_leakage(records, (2, 2), [np.array([[0.9, 0.1], [0.3, 0.7]]), 1.0], delta=0.01)
    with pytest.raises(InvalidParameterError, match="delta must be 0 for a named mechanism"):
        calibrate([[0.4, 0.1], [0.1, 0.4]], 1.0, delta=0.01)


def test_the_strongest_pairs_in_words() -> None:
    found = pairwise_leakage(_records(), SIZES, [GRR(k, 1.0) for k in SIZES], NAMES)
    pairs = found.strongest(4)
    assert [pair.epsilon for pair in pairs] == sorted((pair.epsilon for pair in pairs), reverse=True)
    assert pairs[0].epsilon == found.matrix.max()
    target, source = (NAMES.index(name) for name in (pairs[0].target, pairs[0].source))
    assert found.matrix[target, source] == pairs[0].epsilon
    assert str(pairs[0]) == (
        f"releasing {pairs[0].source} reveals up to {pairs[0].epsilon:.2f} of a possible 1.00 about {pairs[0].target}"
    )
    assert len(found.strongest(100)) == 6


@requires_data
def test_cardio_figures() -> None:
    table = cardio()
    found = pairwise_leakage(table.records, table.sizes, [GRR(k, 1.0) for k in table.sizes], table.names)
    cholesterol, disease = (found.names.index(name) for name in ("cholesterol", "cardio"))
    assert found.matrix[cholesterol, disease] == pytest.approx(0.335, abs=5e-4)
    assert found.matrix[disease, cholesterol] == pytest.approx(0.176, abs=5e-4)
