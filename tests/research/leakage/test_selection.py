"""The choice of attributes to release, against all sets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable import GRR
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.leakage.prior.distributions import Floats
from deniable.research.leakage import exact_totals, select_attributes, selection
from tests.unit.leakage.leakage_laws import random_joint


def _totals(joint: Floats, chosen: tuple[int, ...], epsilon: float) -> Floats:
    return exact_totals(
        joint, [GRR(k=k, epsilon=epsilon) if j in chosen else np.ones((k, 1)) for j, k in enumerate(joint.shape)]
    )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), cap=st.floats(0.6, 4.0))
def test_the_choice_is_the_best_of_all_sets(seed: int, cap: float) -> None:
    generator = np.random.default_rng(seed)
    joint, weights = random_joint(generator, (2, 3, 2, 2)), generator.integers(0, 4, 4).astype(float)
    grr = [GRR(k=k, epsilon=0.9) for k in joint.shape]
    found = select_attributes(joint, grr, cap, weights.tolist())
    worths = [
        weights[list(chosen)].sum()
        for size in range(5)
        for chosen in itertools.combinations(range(4), size)
        if _totals(joint, chosen, 0.9).max() <= cap * (1 + 1e-9)
    ]
    assert found.worth == max(worths)
    assert found.is_optimal
    assert found.greedy_worth <= found.worth
    np.testing.assert_allclose(found.totals, _totals(joint, found.attributes, 0.9), atol=1e-12)
    assert found.totals.max() <= cap * (1 + 1e-9)


def test_beyond_all_sets_the_choice_is_greedy_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_EXHAUSTIVE", 2)
    copies = np.zeros((2, 2, 2))
    copies[0, 0, 0] = copies[1, 1, 1] = 0.5
    found = select_attributes(copies, [GRR(k=2, epsilon=1.0)] * 3, 2.5)
    assert (len(found.attributes), found.worth, found.at_most) == (2, 2.0, 3.0)
    assert not found.is_optimal
    assert "no choice is worth more than 3" in str(found)


def test_an_attribute_that_is_not_wanted_is_still_protected() -> None:
    joint = [[0.45, 0.05], [0.05, 0.45]]
    grr = [GRR(k=2, epsilon=1.0)] * 2
    assert select_attributes(joint, grr, 1.2, [0, 1]).attributes == (1,)
    (leaked, _) = select_attributes(joint, grr, 1.2, [0, 1]).totals
    assert 0.5 < leaked < 1
    assert select_attributes(joint, grr, 0.5, [0, 1]).attributes == ()


def test_weights_and_caps_out_of_range_are_refused() -> None:
    joint, grr = [[0.4, 0.1], [0.1, 0.4]], [GRR(k=2, epsilon=1.0)] * 2
    with pytest.raises(InvalidInputError, match="weights must have one entry for each of the"):
        select_attributes(joint, grr, 1.0, [1.0])
    with pytest.raises(InvalidParameterError, match="weights must be finite and >= 0"):
        select_attributes(joint, grr, 1.0, [1.0, -1.0])
    with pytest.raises(InvalidParameterError, match="epsilon_total must be > 0"):
        select_attributes(joint, grr, 0.0)
