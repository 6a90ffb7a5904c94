"""Unequal budgets: against a grid, and at the ends of their ranges."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from deniable import GRR
from deniable.errors import InvalidParameterError
from deniable.oracles.unary import SUE
from deniable.research.baselines.exponential import Exponential
from deniable.research.leakage import calibrate_unequal, exact_totals
from deniable.research.leakage.calibration import budget_allocation
from tests.research.leakage.calibration.caps import XOR, _variance


def test_unequal_budgets_against_a_grid() -> None:
    joint = np.array([[0.45, 0.05], [0.1, 0.4]])
    caps = np.array([0.5, 2.0])
    found = calibrate_unequal(joint, list(caps))
    best = math.inf
    for first, second in itertools.product(np.arange(0.02, 0.52, 0.02), np.arange(0.02, 2.02, 0.02)):
        exact = exact_totals(joint, [GRR(2, float(round(first, 6))), GRR(2, float(round(second, 6)))])
        if (exact <= caps).all():
            best = min(best, _variance(np.array([first, second]), (2, 2)))
    reached = _variance(np.array(found.epsilons, dtype=np.float64), (2, 2))
    assert reached <= best
    assert reached >= best * 0.9


@pytest.mark.parametrize(
    ("joint", "cap", "mechanism"),
    [
        ([[0.45, 0.05], [0.1, 0.4]], 4e-6, GRR),
        ([[0.45, 0.05], [0.1, 0.4]], 4.1e-6, GRR),
        ([[0.5, 0.0], [0.0, 0.5]], 4.1e-6, SUE),
    ],
)
def test_caps_as_small_as_the_least_budgets_allow(joint: Any, cap: float, mechanism: Any) -> None:
    """The least budgets, 2e-6 each, are feasible at once, in any direction of the search."""
    found = calibrate_unequal(joint, [cap, 2.0], mechanism=mechanism)
    assert found.exact is not None
    assert found.exact[0] <= cap + 1e-15
    assert min(map(float, found.epsilons)) >= 2e-6
    # About the attribute with the small cap, the other attribute says at most its budget. So nothing of the cap is left
    # over.
    if joint[0][1] == 0:
        assert math.fsum(map(float, found.epsilons)) == pytest.approx(cap, rel=1e-6)
    else:
        assert found.exact[0] >= cap * (1 - 1e-6)
    with pytest.raises(InvalidParameterError, match=r"caps must be >= 4e-06 for 2 attributes, got 3\.9999999e-06"):
        calibrate_unequal(joint, [3.9999999e-6, 2.0], mechanism=mechanism)


def test_caps_that_no_budget_reaches_leave_the_largest_ones() -> None:
    joint = np.full((2, 2), 0.25)
    assert calibrate_unequal(joint, [8e307, 8.5e307]).epsilons == (32.0, 32.0)
    assert calibrate_unequal(joint, [1.0, 1e300]).epsilons == (1.0, 32.0)


def test_equal_caps_on_exchangeable_attributes_give_equal_budgets() -> None:
    found = calibrate_unequal(XOR, [1.0, 1.0, 1.0])
    assert [float(epsilon) for epsilon in found.epsilons] == pytest.approx([0.744940062] * 3, rel=1e-4)


def test_independent_attributes_use_their_whole_caps() -> None:
    joint = np.full((2, 3), 1 / 6)
    found = calibrate_unequal(joint, [0.5, 2.0])
    assert [float(epsilon) for epsilon in found.epsilons] == pytest.approx([0.5, 2.0], rel=1e-8)
    halved = calibrate_unequal(joint, [0.5, 2.0], mechanism=Exponential)
    assert [float(epsilon) for epsilon in halved.epsilons] == pytest.approx([1.0, 4.0], rel=1e-8)


def test_budgets_that_can_be_raised_alone_are_raised_up_to_their_caps() -> None:
    problem = budget_allocation._Problem((2, 3), np.array([2.0, 3.0]), GRR, lambda budgets: np.array(budgets, float))
    filled = problem.filled(np.array([1.0, 3.0]))
    assert filled == pytest.approx([2.0, 3.0], rel=1e-6)
    assert (filled <= problem.caps).all()
