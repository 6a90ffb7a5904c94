"""Joint CPL, block bounds, and bounds without independence: against enumeration, and never below it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from deniable import GRR
from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError
from deniable.leakage import conditional_from_joint, mechanism_cpl, worst_case_cpl
from deniable.leakage.prior.pairwise import weakest
from deniable.oracles.unary import OUE
from deniable.research.baselines.exponential import Exponential
from deniable.research.leakage import (
    block_bound,
    block_bound_assuming_independence,
    concatenated_bound,
    exact_totals,
    joint_cpl,
    partial_bound,
    prior_free_bound,
    total_leakage,
)
from tests.unit.leakage.leakage_laws import (
    conditionally_independent,
    enumerated_joint_cpl,
    enumerated_total,
    random_joint,
    small_mechanisms,
)


@pytest.mark.parametrize("seed", range(6))
def test_joint_cpl_of_any_set_against_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = (3, 2, 2, 3)
    joint = random_joint(rng, sizes, zeros=0.2)
    names = ("GRR", "Exponential", "SubsetSelection", "OUE")
    mechanisms = [small_mechanisms(k, 1.1)[str(rng.choice(names))] for k in sizes]
    channels = [np.asarray(mechanism.channel()) for mechanism in mechanisms]
    for target in range(4):
        others = [j for j in range(4) if j != target]
        for sources in itertools.chain.from_iterable(itertools.combinations(others, r) for r in (1, 2)):
            found = joint_cpl(joint, mechanisms, target, list(sources))
            assert found == pytest.approx(enumerated_joint_cpl(joint, channels, target, sources), abs=1e-10)
            bound = concatenated_bound(joint, mechanisms, target, list(sources))
            assert bound.status == "upper bound"
            assert found <= bound.epsilon + 1e-12
            assert bound.epsilon <= math.fsum(m.implemented_epsilon() for m in (mechanisms[j] for j in sources)) + 1e-12
    assert joint_cpl(joint, mechanisms, 1) == pytest.approx(total_leakage(joint, mechanisms).joint_cpl[1], abs=1e-12)
    assert joint_cpl(joint, mechanisms, 1, 3) == pytest.approx(
        mechanism_cpl(mechanisms[3], conditional_from_joint(joint, 1, 3)).epsilon, abs=1e-10
    )


def test_direct_plus_joint_is_exact_for_grr_and_a_bound_elsewhere() -> None:
    rng = np.random.default_rng(9)
    joint = random_joint(rng, (3, 3, 2))
    grr = [GRR(k=k, epsilon=0.8) for k in joint.shape]
    assert exact_totals(joint, grr)[0] == pytest.approx(0.8 + joint_cpl(joint, grr, 0), abs=1e-12)
    # The own report distinguishes 0 from 1 best, and the other report 2 from both. So no pair suffers the worst of
    # each.
    own = np.array([[0.7, 0.3], [0.3, 0.7], [0.5, 0.5]])
    rows = np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]])
    joint = rows / 3
    channels = [own, np.asarray(GRR(k=2, epsilon=1.0).channel())]
    direct, together = math.log(7 / 3), joint_cpl(joint, channels, 0)
    exact = exact_totals(joint, channels)[0]
    assert exact == pytest.approx(enumerated_total(joint, channels, 0), abs=1e-12)
    assert exact < direct + together - 0.1


@pytest.mark.parametrize("seed", range(8))
def test_blocks_bound_the_total_under_conditional_independence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = conditionally_independent(rng, 3, (2, 2), (3,))
    names = ("GRR", "Exponential", "SubsetSelection", "OUE")
    mechanisms = [small_mechanisms(k, 0.9)[str(rng.choice(names))] for k in joint.shape]
    channels = [np.asarray(mechanism.channel()) for mechanism in mechanisms]
    bound = block_bound(joint, mechanisms, 0, [[1, 2], [3]])
    assert bound.total.status == "upper bound"
    assert bound.blocks == ((1, 2), (3,))
    assert [part.status for part in bound.parts] == ["exact", "exact"]
    assert bound.parts[0].epsilon == pytest.approx(enumerated_joint_cpl(joint, channels, 0, [1, 2]), abs=1e-10)
    assert bound.parts[1].epsilon == pytest.approx(enumerated_joint_cpl(joint, channels, 0, [3]), abs=1e-10)
    total = bound.direct + sum(part.epsilon for part in bound.parts)
    assert bound.total.epsilon == pytest.approx(total, abs=1e-12)
    assert enumerated_total(joint, channels, 0) <= bound.total.epsilon + 1e-10


def test_blocks_that_depend_on_each_other_are_refused() -> None:
    rng = np.random.default_rng(3)
    joint = random_joint(rng, (2, 2, 2))
    with pytest.raises(
        InvalidInputError, match=r"blocks \[1\], \[2\] must be independent given attribute 0, but .*0\.\d"
    ):
        block_bound(joint, [1.0] * 3, 0, [[1], [2]])
    # One block of everything else needs no independence.
    grr = [GRR(k=2, epsilon=1.0)] * 3
    assert block_bound(joint, grr, 0, [[1, 2]]).total.epsilon == pytest.approx(exact_totals(joint, grr)[0], abs=1e-12)


def test_without_a_joint_independence_is_an_assumption_and_named() -> None:
    rng = np.random.default_rng(4)
    joint = conditionally_independent(rng, 2, (3,), (2, 2))
    conditionals = {
        (1,): conditional_from_joint(joint, 0, 1),
        (3, 2): conditional_from_joint(joint, 0, [3, 2]).reshape(2, 2, 2),
    }
    mechanisms = [GRR(k=k, epsilon=0.7) for k in joint.shape]
    assumed = block_bound_assuming_independence(conditionals, mechanisms, 0)
    checked = block_bound(joint, mechanisms, 0, [[1], [2, 3]])
    assert assumed.total.status == "assumption"
    assert assumed.total.note == "blocks [1], [3, 2] are independent given attribute 0"
    assert assumed.total.epsilon == pytest.approx(checked.total.epsilon, abs=1e-12)


def test_blocks_of_budgets_and_of_large_channels_are_bounded_by_algorithm_two() -> None:
    rng = np.random.default_rng(5)
    joint = conditionally_independent(rng, 2, (2, 3), (2,))
    rows = conditional_from_joint(joint, 0, [1, 2])
    bound = block_bound(joint, [1.0, 0.5, 0.25, 2.0], 0, [[1, 2], [3]])
    assert [part.status for part in bound.parts] == ["upper bound", "upper bound"]
    assert bound.parts[0].epsilon == pytest.approx(worst_case_cpl(rows, 0.75).epsilon, abs=1e-12)
    exact = exact_totals(joint, [GRR(k=k, epsilon=e) for k, e in zip((2, 2, 3, 2), (1.0, 0.5, 0.25, 2.0), strict=True)])
    assert exact[0] <= bound.total.epsilon + 1e-12
    wide = np.zeros((2, 20, 2))
    wide += 1 / 80
    bound = block_bound(wide, [GRR(2, 1.0), OUE(20, 1.0), GRR(2, 1.0)], 0, [[1, 2]])
    assert bound.parts[0].note == "Algorithm 2 on the concatenated attributes"
    with pytest.raises(
        TooLargeError, match=r"list of all its probabilities, but OUE.* has no such list; use concatenated_bound"
    ):
        joint_cpl(wide, [GRR(2, 1.0), OUE(20, 1.0), GRR(2, 1.0)], 0)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_that_hold_for_any_dependence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, (2, 3, 2, 2), zeros=0.3)
    budgets = rng.uniform(0.2, 2, size=4).round(3)
    mechanisms = [GRR(k=k, epsilon=float(e)) for k, e in zip(joint.shape, budgets, strict=True)]
    exact = exact_totals(joint, mechanisms)
    assert prior_free_bound(mechanisms).epsilon == pytest.approx(budgets.sum(), abs=1e-12)
    part = partial_bound(joint.sum(axis=(2, 3)), mechanisms[:2], mechanisms[2:])
    for target in range(4):
        by_concatenation = budgets[target] + concatenated_bound(joint, mechanisms, target).epsilon
        assert exact[target] <= by_concatenation + 1e-10
        assert by_concatenation <= budgets.sum() + 1e-10
    assert (exact[:2] <= part + 1e-10).all()
    assert (part <= budgets.sum() + 1e-10).all()


def test_the_prior_free_bound_counts_what_mechanisms_spend() -> None:
    bound = prior_free_bound([Exponential(3, 2.0), 0.5, np.array([[0.8, 0.2], [0.2, 0.8]])])
    assert bound.epsilon == pytest.approx(1.0 + 0.5 + math.log(4), abs=1e-12)
    assert bound.status == "upper bound"


def test_the_weakest_status_wins() -> None:
    assert weakest() == "exact"
    assert weakest("exact", "upper bound", "exact") == "upper bound"
    assert weakest("assumption", "upper bound") == "assumption"


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([[1]], r"blocks must contain each attribute in 0..2 once, but not target=0, got blocks=\[1\]"),
        ([[1], [1, 2]], "blocks must contain each attribute"),
        ([[0, 1], [2]], "blocks must contain each attribute"),
        ([[1, 2], []], "blocks must contain each attribute"),
    ],
)
def test_bad_blocks_are_named(blocks: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        block_bound(np.full((2, 2, 2), 0.125), [1.0] * 3, 0, blocks)


def test_bad_arguments_are_named() -> None:
    joint = np.full((2, 2, 2), 0.125)
    with pytest.raises(InvalidParameterError, match=r"target must be an attribute in 0..2, got target=3"):
        joint_cpl(joint, [GRR(2, 1.0)] * 3, 3)
    with pytest.raises(InvalidInputError, match=r"mechanisms must have one entry for each of the 3 attributes, got 2"):
        concatenated_bound(joint, [1.0, 1.0])
    with pytest.raises(InvalidInputError, match="must have 2 possible answers, got 3"):
        joint_cpl(joint, [GRR(3, 1.0)] * 3)
    with pytest.raises(InvalidInputError, match="one axis for the target and one for each attribute"):
        block_bound_assuming_independence({(1, 2): np.full((2, 4), 0.25)}, [1.0] * 3, 0)
    with pytest.raises(InvalidInputError, match="one row for each category of the target"):
        block_bound_assuming_independence({(1,): np.full((2, 2), 0.5), (2,): np.full((3, 2), 0.5)}, [1.0] * 3, 0)
    with pytest.raises(InvalidInputError, match="sources must name one or more different attributes, but not target="):
        joint_cpl(joint, [GRR(2, 1.0)] * 3, 0, [0, 1])
