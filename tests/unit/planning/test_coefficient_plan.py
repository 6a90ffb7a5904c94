"""Planned standard errors of coefficients against numbers by quadrature, and against fits."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.heavy_hitters import HeavyHitters
from deniable.planning import coefficient_error, people_needed, plan_coefficient, usual_design

PARAMS = (-1.5, 0.5, 0.5)


@pytest.mark.parametrize(("epsilon", "people"), [(0.5, 15_571), (1.0, 4_187), (2.0, 1_361), (4.0, 719), (32.0, 638)])
def test_people_for_a_slope_of_a_normal_column(epsilon: float, people: int) -> None:
    assert people_needed(dn.GRR(k=2, epsilon=epsilon), 0.1, PARAMS) == people


def test_people_for_a_coin_need_more() -> None:
    assert abs(people_needed(dn.GRR(k=2, epsilon=1.0), 0.1, PARAMS, column=2) - 14_904) <= 1


def test_without_a_list_of_reports_they_are_simulated() -> None:
    """Half of the functions from two values to two cells are constant: twice the people, within simulation error."""
    listed = people_needed(dn.GRR(k=2, epsilon=1.0), 0.1, PARAMS)
    hashed = people_needed(dn.CountMeanSketch(k=2, epsilon=1.0, m=2), 0.1, PARAMS)
    assert dn.CountMeanSketch(k=2, epsilon=1.0, m=2).listed_likelihood() is None
    assert 1.5 * listed < hashed < 2.6 * listed
    sampled = people_needed(dn.SMP(sizes=(2, 3), epsilon=1.0), 0.1, PARAMS)
    assert abs(sampled / (2 * listed) - 1) < 0.03


def test_refuses_other_numbers_of_coefficients() -> None:
    with pytest.raises(InvalidParameterError, match="must have 3 coefficients"):
        coefficient_error(dn.GRR(k=2, epsilon=1.0), 100, [0.5, 0.5])
    assert np.isclose(usual_design(2, 0).weights.sum(), 1.0)


def test_a_plan_compares_mechanisms() -> None:
    found = plan_coefficient([dn.GRR(k=2, epsilon=1.0), dn.OUE(k=2, epsilon=1.0)], 0.1, contributors=1874)
    # Without effects, a person's information is 1/4 of (2p - 1)^2, with p = e/(1 + e).
    assert [row.mechanism for row in found.rows] == ["GRR", "OUE"]
    assert found.rows[0].contributors_needed == 1874
    assert np.isclose(found.rows[0].standard_error or 0.0, np.sqrt(4 / 1874) / np.tanh(0.5))
    with pytest.raises(InvalidParameterError, match="at least one"):
        plan_coefficient([], 0.1)


def test_refuses_mechanisms_that_cannot_be_compared() -> None:
    grr = dn.GRR(k=2, epsilon=1.0)
    with pytest.raises(InvalidParameterError, match=r"but the numbers of categories are \(2,\) for GRR and"):
        plan_coefficient([grr, dn.SPL(sizes=(2, 2), epsilon=1.0)], 0.1)
    with pytest.raises(InvalidParameterError, match="but HeavyHitters is for open text"):
        plan_coefficient([HeavyHitters(epsilon=1.0)], 0.1)
