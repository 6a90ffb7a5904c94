"""CPL against independent known answers, brute force over all subsets, and a linear programme."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from scipy import optimize

from deniable import GRR
from deniable.errors import InvalidInputError, InvalidParameterError, TooLargeError
from deniable.leakage.prior.correlation import cpl, fixed_size_cpl, saturation, worst_case_cpl
from deniable.leakage.prior.distributions import conditional_from_joint, joint_from_records

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "cpl.json").read_text())


def _conditional(vector: dict[str, Any]) -> NDArray[np.float64]:
    joint = np.array(vector["joint"])
    return conditional_from_joint(joint.T if vector.get("direction") == "j<-i" else joint)


@pytest.mark.parametrize("vector", VECTORS["pair"], ids=lambda v: f"{v['name']}-{v['direction']}-{v['eps']}")
def test_known_answers_of_pairs(vector: dict[str, Any]) -> None:
    conditional = _conditional(vector)
    k, epsilon = conditional.shape[1], vector["eps"]
    worst = worst_case_cpl(conditional, epsilon, 1e-3)
    assert worst.epsilon == pytest.approx(vector["cpl_eps"], abs=1e-12)
    assert worst.delta == pytest.approx(vector["delta_at_L(delta=1e-3)"], abs=1e-12)
    assert saturation(conditional) == pytest.approx(float(vector["saturation"]), abs=1e-12)
    assert cpl(GRR(k=k, epsilon=epsilon).channel(), conditional) == pytest.approx(vector["cpl_grr"], abs=1e-12)
    assert fixed_size_cpl(conditional, epsilon, vector["ss_omega"]) == pytest.approx(vector["cpl_ss"], abs=1e-12)


@pytest.mark.parametrize("vector", VECTORS["tight"], ids=lambda v: f"{v['name']}-{v['delta']}-{v['eps_prime']}")
def test_known_answers_of_the_tight_delta(vector: dict[str, Any]) -> None:
    worst = worst_case_cpl(_conditional(vector), vector["eps"], vector["delta"])
    assert worst.delta_at(vector["eps_prime"]) == pytest.approx(vector["delta_prime"], abs=1e-12)


def _random_conditional(rng: np.random.Generator) -> NDArray[np.float64]:
    rows, columns = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    return rng.dirichlet(np.full(columns, 0.5), size=rows)


def test_the_prefix_rule_is_the_best_of_all_subsets() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        rows, epsilon = _random_conditional(rng), float(rng.uniform(0.05, 4))
        k, gain = rows.shape[1], math.expm1(epsilon)
        subsets = [s for r in range(1, k) for s in itertools.combinations(range(k), r)]
        ratios = {
            (x, y, s): (1 + rows[x, s].sum() * gain) / (1 + rows[y, s].sum() * gain)
            for x, y in itertools.permutations(range(len(rows)), 2)
            for s in subsets
        }
        worst = worst_case_cpl(rows, epsilon)
        assert worst.epsilon == pytest.approx(math.log(max(ratios.values())), abs=1e-13)
        assert ratios[(*worst.inputs, worst.subset)] == pytest.approx(math.exp(worst.epsilon), abs=1e-12)
        for size in range(1, k):
            best = max(ratio for (_, _, s), ratio in ratios.items() if len(s) == size)
            assert fixed_size_cpl(rows, epsilon, size) == pytest.approx(math.log(best), abs=1e-12)


def test_the_worst_case_is_attained_by_binary_randomised_response() -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        rows, epsilon = _random_conditional(rng), float(rng.uniform(0.05, 4))
        worst = worst_case_cpl(rows, epsilon)
        inside = np.isin(np.arange(rows.shape[1]), worst.subset)
        p = math.exp(epsilon) / (1 + math.exp(epsilon))
        channel = np.where(inside, p, 1 - p)
        assert cpl(np.column_stack([channel, 1 - channel]), rows) == pytest.approx(worst.epsilon, abs=1e-12)


def test_no_random_mechanism_leaks_more_than_the_worst_case() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        rows = _random_conditional(rng)
        channel = rng.dirichlet(np.full(4, 3.0), size=rows.shape[1])
        epsilon = float(np.log(channel.max(axis=0) / channel.min(axis=0)).max())
        assert cpl(channel, rows) <= worst_case_cpl(rows, epsilon).epsilon + 1e-12


def test_tight_delta_against_a_linear_programme() -> None:
    """max over (epsilon, delta)-LDP binary releases of [a.R[x] - e^eps' a.R[x']]: variables a_u = P(Y in event | u)."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        rows = _random_conditional(rng)
        epsilon, delta = float(rng.uniform(0.1, 3)), float(rng.choice([0, 0.01, 0.2]))
        target = float(rng.uniform(0, epsilon))
        k, best = rows.shape[1], 0.0
        pairs = list(itertools.permutations(range(k), 2))
        # The limits are a_u <= e^eps a_v + delta, and the same for the complement.
        limits = np.zeros((2 * len(pairs), k))
        bounds = np.zeros(2 * len(pairs))
        for row, (u, v) in enumerate(pairs):
            limits[2 * row, [u, v]] = 1, -math.exp(epsilon)
            bounds[2 * row] = delta
            limits[2 * row + 1, [u, v]] = -1, math.exp(epsilon)
            bounds[2 * row + 1] = delta + math.expm1(epsilon)
        for x, y in itertools.permutations(range(len(rows)), 2):
            solved = optimize.linprog(
                -(rows[x] - math.exp(target) * rows[y]), A_ub=limits, b_ub=bounds, bounds=(0, 1), method="highs"
            )
            assert solved.fun is not None
            best = max(best, -float(solved.fun))
        assert worst_case_cpl(rows, epsilon, delta).delta_at(target) == pytest.approx(best, abs=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10_000), st.floats(0.01, 5), st.floats(0.01, 5))
def test_leakage_rises_with_epsilon_and_stays_below_its_limits(seed: int, first: float, second: float) -> None:
    rows = _random_conditional(np.random.default_rng(seed))
    low, high = sorted((first, second))
    small, large = worst_case_cpl(rows, low).epsilon, worst_case_cpl(rows, high).epsilon
    assert 0 <= small <= large + 1e-13
    assert large <= min(high, saturation(rows)) + 1e-12


def test_extremes() -> None:
    assert worst_case_cpl(np.eye(3), 1.0).epsilon == pytest.approx(1.0, abs=1e-15)  # disjoint supports leak all of it
    assert worst_case_cpl([[0.3, 0.7], [0.3, 0.7]], 2.0).epsilon == pytest.approx(0, abs=1e-15)
    assert worst_case_cpl(np.eye(2), 0.0, 0.25).delta == pytest.approx(0.25)
    assert saturation(np.eye(2)) == math.inf
    # The result is ln((1 + e)/2): X_i = x fixes X_j, and X_i = x' leaves it a fair coin.
    assert worst_case_cpl([[1.0, 0.0], [0.5, 0.5]], 1.0).epsilon == pytest.approx(0.6201145069582775, abs=1e-12)


@pytest.mark.parametrize(
    ("conditional", "message"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], "rows that sum to one"),
        ([[1.5, -0.5], [0.5, 0.5]], r">= 0, got -0.5 at \(0, 1\)"),
        ([[float("nan"), 1], [0, 1]], "finite"),
        ([0.5, 0.5], "shape"),
    ],
)
def test_bad_conditionals_are_named(conditional: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        worst_case_cpl(conditional, 1.0)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InvalidInputError, match="one for each column of conditional"):
        cpl(np.eye(3), np.eye(2))
    with pytest.raises(InvalidParameterError, match="epsilon must be finite and >= 0"):
        worst_case_cpl(np.eye(2), -1.0)
    with pytest.raises(InvalidParameterError, match="epsilon must be >= 0, got epsilon=-1"):
        worst_case_cpl(np.eye(2), 1.0).delta_at(-1.0)
    with pytest.raises(InvalidInputError, match=r"one axis per attribute, got shape=\(\)"):
        conditional_from_joint(1.0)
    with pytest.raises(InvalidInputError, match="category 1 of attribute 0 has the probability 0"):
        conditional_from_joint([[0.5, 0.5], [0.0, 0.0]])
    with pytest.raises(InvalidInputError, match="sources"):
        conditional_from_joint(np.full((2, 2), 0.25), 0, 0)
    with pytest.raises(InvalidInputError, match="records must not be empty"):
        joint_from_records(np.zeros((0, 2), dtype=int), (2, 2))
    with pytest.raises(TooLargeError, match="pairwise leakage, blocks"):
        joint_from_records(np.zeros((1, 40), dtype=int), (2,) * 40)
