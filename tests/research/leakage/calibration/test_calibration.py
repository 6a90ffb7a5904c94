"""Calibration: known answers, the safe side of the search, and figures that are not mistaken for bounds."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable import GRR
from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError
from deniable.leakage import TreePrior
from deniable.oracles.subset import SubsetSelection
from deniable.oracles.unary import OUE
from deniable.research.baselines.exponential import Exponential
from deniable.research.leakage import Calibration, calibrate, calibrate_unequal, exact_totals, total_leakage
from deniable.research.leakage.calibration import calibration as search
from deniable.research.leakage.calibration.calibration import largest_below, rounded_down
from deniable.research.leakage.calibration.criteria import CRITERIA
from tests.research.leakage.calibration.caps import JOINTS, VECTORS, XOR, _variance
from tests.unit.leakage.leakage_laws import conditionally_independent, random_joint


@pytest.mark.parametrize("vector", VECTORS["calibrate"], ids=lambda v: f"{v['name']}-{v['eps_total']}")
def test_known_answers(vector: dict[str, Any]) -> None:
    joint, cap = JOINTS[vector["name"]], vector["eps_total"]
    cases = {
        "additive_alg2": calibrate(joint, cap, "additive", None),
        "additive_grr": calibrate(joint, cap, "additive"),
        "exact_joint_grr": calibrate(joint, cap),
        "spl": calibrate(joint, cap, "prior-free"),
    }
    for field, found in cases.items():
        assert len(set(found.epsilons)) == 1
        # The budget has nine digits, rounded down. The reference stopped within 1e-12 of the crossing on either side.
        expected = vector[field]
        assert expected * (1 - 1e-8) <= float(found.epsilons[0]) <= expected * (1 + 1e-12), field
        assert found.figures.max() <= cap * (1 + 1e-12)
    # One block of all other attributes gives the exact total for GRR.
    assert calibrate(joint, cap, "blocks").epsilons == cases["exact_joint_grr"].epsilons


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10_000), st.floats(0.05, 8), st.sampled_from([GRR, OUE, Exponential]))
def test_the_budget_is_feasible_and_the_largest(seed: int, cap: float, mechanism: Any) -> None:
    joint = random_joint(np.random.default_rng(seed), (2, 3, 2), zeros=0.2)
    found = calibrate(joint, cap, mechanism=mechanism)
    budget = float(found.epsilons[0])
    assert found.exact is not None
    assert found.exact.max() <= cap * (1 + 1e-12)
    assert exact_totals(joint, [mechanism(k, budget) for k in joint.shape]) == pytest.approx(found.exact, abs=1e-12)
    if budget < 31:
        more = exact_totals(joint, [mechanism(k, budget * (1 + 1e-7)) for k in joint.shape])
        assert more.max() > cap
    assert budget >= cap / 3 * (1 - 1e-8)
    assert budget <= cap * (2 if mechanism is Exponential else 1) * (1 + 1e-12)


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10_000), st.floats(0.1, 5), st.floats(0.1, 5))
def test_budgets_rise_with_the_cap(seed: int, first: float, second: float) -> None:
    joint = random_joint(np.random.default_rng(seed), (2, 2, 3))
    low, high = sorted((first, second))
    for criterion in CRITERIA:
        small, large = (float(calibrate(joint, cap, criterion).epsilons[0]) for cap in (low, high))
        assert small <= large


def test_criteria_from_the_strongest_prior_to_none() -> None:
    rng = np.random.default_rng(4)
    for _ in range(5):
        joint = random_joint(rng, (2, 2, 3))
        exact = float(calibrate(joint, 2.0).epsilons[0])
        any_mechanism = float(calibrate(joint, 2.0, "blocks", None).epsilons[0])
        prior_free = float(calibrate(joint, 2.0, "prior-free").epsilons[0])
        assert prior_free * (1 - 1e-8) <= any_mechanism <= exact * (1 + 1e-8)


def test_a_share_is_an_exact_fraction() -> None:
    found = calibrate(XOR, 0.1, "prior-free")
    assert found.epsilons == (Fraction(1, 30),) * 3
    assert found.is_guarantee
    assert found.exact is not None
    assert found.exact.max() < 0.1


# ---------------------------------------------------------------- the additive figure is not a guarantee


@pytest.mark.parametrize("mechanism", [GRR, None])
@pytest.mark.parametrize("name", JOINTS)
def test_the_additive_criterion_carries_its_warning_into_every_output(name: str, mechanism: Any) -> None:
    found = calibrate(JOINTS[name], 1.0, "additive", mechanism)
    assert found.is_guarantee is False
    assert found.figures_are == "additive figure (not a bound)"
    text, data = str(found), json.dumps(found.to_dict())
    for shown in (text, data):
        assert "additive figure (not a bound)" in shown
        assert "no guarantee" in shown
    assert "guarantee" not in text.replace("no guarantee", "")
    assert json.loads(data)["is_guarantee"] is False
    # The totals that it states are true totals: either exact, or the sum of all epsilons if there is no mechanism.
    for i, total in enumerate(found.totals):
        if mechanism is None:
            assert (total.status, total.epsilon) == ("upper bound", math.fsum(map(float, found.epsilons)))
        else:
            exact = exact_totals(JOINTS[name], [GRR(k, found.epsilons[i]) for k in JOINTS[name].shape])
            assert total.status == "exact"
            assert total.epsilon == pytest.approx(exact[i], abs=1e-12)


def test_at_the_additive_budget_the_exact_total_exceeds_the_cap() -> None:
    wrong, right = calibrate(XOR, 1.0, "additive"), calibrate(XOR, 1.0)
    assert wrong.exact is not None
    assert right.exact is not None
    assert wrong.figures.max() == pytest.approx(1.0, abs=1e-9)
    assert wrong.exact.max() == pytest.approx(1.4337808304830272, abs=1e-9)
    assert right.exact.max() <= 1.0


def test_no_result_type_offers_the_additive_figure_under_another_name() -> None:
    leakage = total_leakage(XOR, [GRR(2, 1.0)] * 3)
    names = [name for name in dir(leakage) if "additive" in name]
    assert names == ["additive_figure_not_a_bound"]
    assert leakage.exact.tolist() != leakage.additive_figure_not_a_bound.tolist()
    for criterion in CRITERIA:
        found = calibrate(XOR, 1.0, criterion)
        assert found.is_guarantee is (criterion != "additive")
        assert (found.figures_are == "guarantee") is found.is_guarantee
        assert isinstance(found, Calibration)


# ---------------------------------------------------------------- blocks and trees


def test_blocks_that_are_independent_given_each_attribute() -> None:
    rng = np.random.default_rng(6)
    # These are two independent pairs: (0, 1) and (2, 3).
    first, second = random_joint(rng, (2, 3)), random_joint(rng, (2, 2))
    joint = np.einsum("ab,cd->abcd", first, second)
    found = calibrate(joint, 1.5, "blocks", blocks=[[0, 1], [2, 3]])
    exact = calibrate(joint, 1.5)
    assert found.is_guarantee
    assert found.epsilons[0] == pytest.approx(float(exact.epsilons[0]), rel=1e-8)
    mapping = {0: [[1], [2, 3]], 1: [[0], [2], [3]], 2: [[0, 1], [3]], 3: [[0, 1], [2]]}
    with pytest.raises(InvalidInputError, match="must be independent given attribute 1"):
        calibrate(joint, 1.5, "blocks", blocks=mapping)
    mapping[1] = [[0], [2, 3]]
    assert calibrate(joint, 1.5, "blocks", blocks=mapping).epsilons == found.epsilons


def test_blocks_of_a_star_bound_its_centre_only() -> None:
    joint = conditionally_independent(np.random.default_rng(7), 2, (2,), (3,))
    with pytest.raises(InvalidInputError, match="must be independent given attribute 1"):
        calibrate(joint, 1.0, "blocks", blocks=[[0], [1], [2]])
    found = calibrate(joint, 1.0, "blocks", blocks={0: [[1], [2]], 1: [[0, 2]], 2: [[0, 1]]})
    assert found.exact is not None
    assert (found.exact <= found.figures + 1e-12).all()


def test_a_tree_prior_is_as_good_as_its_joint() -> None:
    rng = np.random.default_rng(8)
    pair = random_joint(rng, (2, 2))
    other = pair.sum(axis=0)[:, None] * rng.dirichlet(np.ones(3), size=2)
    tree = TreePrior((2, 2, 3), ((0, 1), (1, 2)), (pair, other))
    for criterion in ("exact", "blocks", "additive", "prior-free"):
        by_tree = calibrate(tree, 1.2, cast(Any, criterion))
        by_joint = calibrate(tree.joint(), 1.2, cast(Any, criterion))
        assert float(by_tree.epsilons[0]) == pytest.approx(float(by_joint.epsilons[0]), rel=1e-7)
        assert by_tree.is_guarantee is (criterion != "additive")


def test_a_fitted_tree_gives_figures_under_an_assumption() -> None:
    records = np.repeat([[0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]], [40, 10, 35, 10, 5], axis=0)
    tree = TreePrior.from_records(records, (2, 2, 2))
    found = calibrate(tree, 1.0)
    assert not found.is_guarantee
    assert found.figures_are == "figure under an assumption"
    assert "along the fitted tree only" in str(found)
    assert calibrate(tree, 1.0, "prior-free").is_guarantee  # the prior-free criterion needs no prior


# ---------------------------------------------------------------- unequal budgets


@pytest.mark.parametrize("seed", range(4))
def test_unequal_budgets_hold_every_cap_and_nothing_near_is_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [(2, 2), (2, 3), (3, 2, 2), (2, 2, 2)][seed]
    joint = random_joint(rng, sizes)
    caps = rng.uniform(0.3, 3, size=len(sizes)).round(3)
    found = calibrate_unequal(joint, list(caps))
    assert found.is_guarantee
    assert found.exact is not None
    assert (found.exact <= caps * (1 + 1e-12)).all()
    budgets = np.array(found.epsilons, dtype=np.float64)
    reached = _variance(budgets, sizes)
    assert reached <= _variance(np.full(len(sizes), float(calibrate(joint, caps.min()).epsilons[0])), sizes) + 1e-9
    for _ in range(150):
        near = np.clip(budgets * np.exp(rng.normal(0, rng.choice([0.02, 0.2, 0.6]), len(sizes))), 1e-5, 32)
        exact = exact_totals(joint, [GRR(k, float(e)) for k, e in zip(sizes, near, strict=True)])
        if (exact <= caps).all():
            assert _variance(near, sizes) >= reached * (1 - 1e-3)


# ---------------------------------------------------------------- the search


def test_the_search_survives_jumps() -> None:
    def jumping(x: float) -> float:
        return x + (0.3 if 0.4 < x < 0.7 else 0.0)

    found = largest_below(jumping, 0.9, 0.1, 0.9)
    assert jumping(found) <= 0.9
    assert found > 0.59
    joint = random_joint(np.random.default_rng(1), (6, 5))
    budget = calibrate(joint, 3.0, mechanism=SubsetSelection)  # the subset's size changes with epsilon
    assert budget.exact is not None
    assert budget.exact.max() <= 3.0


def test_rounding_is_down() -> None:
    assert rounded_down(0.1234567899) == 0.123456789
    assert rounded_down(12345678999.0) == 12345678900.0
    assert rounded_down(0.25) == 0.25


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InvalidParameterError, match=r"epsilon_total must be > 0, got epsilon_total=-1\.0"):
        calibrate(XOR, -1.0)
    with pytest.raises(InvalidParameterError, match="epsilon_total must be a finite number"):
        calibrate(XOR, math.inf)
    with pytest.raises(
        InvalidParameterError, match="criterion must be one of exact, blocks, prior-free, additive, got"
    ):
        calibrate(XOR, 1.0, cast(Any, "spl"))
    with pytest.raises(InvalidParameterError, match="mechanism must be named"):
        calibrate(XOR, 1.0, "exact", None)
    with pytest.raises(InvalidParameterError, match="blocks must be used only with criterion"):
        calibrate(XOR, 1.0, "exact", GRR, [[0], [1, 2]])
    with pytest.raises(
        InvalidParameterError, match="blocks must have an entry for every attribute, but attribute 1 has no entry"
    ):
        calibrate(XOR, 1.0, "blocks", blocks={0: [[1, 2]]})
    with pytest.raises(InvalidInputError, match="category 1 of attribute 0 has the probability 0"):
        calibrate([[0.5, 0.5], [0.0, 0.0]], 1.0)
    with pytest.raises(InvalidInputError, match=r"one entry for each of the 3 attributes, got 2"):
        calibrate_unequal(XOR, [1.0, 1.0])
    with pytest.raises(InvalidParameterError, match=r"caps\[1\] must be > 0, got caps\[1\]=0"):
        calibrate_unequal(XOR, [1.0, 0.0, 1.0])
    with pytest.raises(InvalidParameterError, match="caps must be >= 6e-06 for 3 attributes"):
        calibrate_unequal(XOR, [1.0, 1e-6, 1.0])


def test_what_is_out_of_reach_is_refused_with_the_alternatives() -> None:
    wide = np.full((20, 20), 1 / 400)
    with pytest.raises(TooLargeError, match="channel"):
        calibrate(wide, 1.0, mechanism=OUE)
    tree = TreePrior((20, 20), ((0, 1),), (wide,))
    with pytest.raises(TooLargeError, match="at most 4096 extreme likelihoods, but a branch at attribute"):
        calibrate(tree, 1.0, "exact", SubsetSelection)
    found = calibrate(wide, 1.0, "prior-free", OUE)
    assert found.exact is None
    assert {total.status for total in found.totals} == {"upper bound"}


def test_the_search_ends_where_nine_digits_are_coarser_than_its_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding the middle of the bracket to its lower end once made the search endless for one figure in twenty."""
    calls = 0

    def counted(epsilon: float) -> float:
        nonlocal calls
        calls += 1
        assert calls < 200, "the search does not end"
        return rounded_down(epsilon)

    monkeypatch.setattr(search, "rounded_down", counted)

    def figure(x: float) -> float:
        return 10.562219778473672 * math.pow(x, 1.3)

    found = largest_below(figure, 1.0, 1 / 21, 1.0)
    assert figure(found) <= 1 < figure(found + 2e-9)
