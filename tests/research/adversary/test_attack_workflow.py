"""The simulated workflow against the closed form to which it converges; its surrogates against real permutations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import GRR, OUE, SimulationRandomness, SubsetSelection
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.leakage.prior.distributions import conditional_from_joint
from deniable.research.adversary import attack_workflow
from deniable.research.adversary.attack_workflow import statistical_cpl
from deniable.research.adversary.attacks import attack_cpl
from deniable.research.baselines import SHE

JOINT = np.array([[0.30, 0.05, 0.05], [0.05, 0.15, 0.40]])


def _records(joint: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    counts = np.rint(joint * n).astype(np.int64)
    return np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0)


@pytest.mark.parametrize(
    "mechanisms",
    [
        (GRR(2, 1.0), GRR(3, 1.0)),
        (OUE(2, 2.0), OUE(3, 2.0)),
        (SHE(2, 2.0), SubsetSelection(3, 1.0, omega=2)),
    ],
    ids=str,
)
def test_the_simulation_converges_to_the_closed_form(mechanisms: tuple[Any, Any]) -> None:
    """Within 5.2 standard errors (two-sided 2e-7 each); a rule that ignores the report would be tens of them away."""
    leakage = statistical_cpl(
        _records(JOINT, 20_000), (2, 3), mechanisms, rng=SimulationRandomness(1), replications=10, surrogates=0
    )
    exact = np.zeros((2, 2))
    exact[0, 1] = attack_cpl(mechanisms[1], conditional_from_joint(JOINT))
    exact[1, 0] = attack_cpl(mechanisms[0], conditional_from_joint(JOINT.T))
    off = ~np.eye(2, dtype=bool)
    assert (np.abs(leakage.estimates - exact)[off] < 5.2 * leakage.standard_errors[off]).all()
    assert (exact[off] > 10 * leakage.standard_errors[off]).all()
    assert leakage.estimates.diagonal().tolist() == [0, 0]
    assert (leakage.contributors, leakage.replications, leakage.surrogates) == (20_000, 10, 0)
    assert leakage.warnings == ()
    assert leakage.p_values.tolist() == [[1, 1], [1, 1]]


def test_standard_errors_are_those_of_repeated_simulations() -> None:
    records = _records(JOINT, 4000)
    runs = [
        statistical_cpl(
            records, (2, 3), (GRR(2, 1.0), GRR(3, 1.0)), rng=SimulationRandomness(seed), replications=1, surrogates=0
        )
        for seed in range(150)
    ]
    spread = np.std([run.estimates[0, 1] for run in runs], ddof=1)
    stated = np.mean([run.standard_errors[0, 1] for run in runs])
    # The sample variance of 150 normal values has a relative deviation of sqrt(2/149). Five deviations are allowed, and
    # rows are fixed.
    assert spread / stated == pytest.approx(1, abs=5 * math.sqrt(2 / 149) / 2)


def test_dependence_is_significant_and_independence_is_not() -> None:
    independent = np.outer([0.4, 0.6], [0.2, 0.3, 0.5])
    mechanisms = (GRR(2, 1.0), GRR(3, 1.0))
    for joint, dependent in ((JOINT, True), (independent, False)):
        leakage = statistical_cpl(
            _records(joint, 2000), (2, 3), mechanisms, rng=SimulationRandomness(2), replications=2, surrogates=999
        )
        for i, j in ((0, 1), (1, 0)):
            assert bool(leakage.p_values[i, j] == 1 / 1000) is dependent
            assert bool(leakage.estimates[i, j] > leakage.chance_levels[i, j]) is dependent


def test_surrogates_follow_the_law_of_permuted_columns() -> None:
    """Quantiles and p-values of 4000 drawn and 4000 permuted tables agree within five standard errors."""
    rng = np.random.default_rng(3)
    table = np.array([[12, 30, 5], [20, 8, 9], [3, 4, 40]])
    first, second = (np.repeat(np.arange(3), table.sum(axis=axis)) for axis in (1, 0))

    def statistic(counts: NDArray[np.int64]) -> float:
        rows = counts / counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            return float(np.log(rows.max(axis=0) / rows.min(axis=0)).max())

    permuted = []
    for _ in range(4000):
        cells = np.bincount(first * 3 + rng.permutation(second), minlength=9).reshape(3, 3)
        permuted.append(statistic(cells))
    observed = float(np.quantile(permuted, 0.8))
    chance, p = attack_workflow._significance(table, observed, 4000, SimulationRandomness(4))
    share, above = (np.array(permuted) >= observed).mean(), (np.array(permuted) > chance).mean()
    assert abs(p - share) < 5 * math.sqrt(2 * 0.2 * 0.8 / 4000)
    assert abs(above - 0.05) < 5 * math.sqrt(2 * 0.05 * 0.95 / 4000)


def test_counts_are_those_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    sizes = (2, 5, 3)
    codes, guesses = (np.column_stack([rng.integers(0, k, 200) for k in sizes]) for _ in range(2))
    monkeypatch.setattr(attack_workflow, "_BLOCK_CELLS", 10 * 37)
    starts = np.array([0, 2, 7, 10])
    expected = np.zeros((10, 10), dtype=np.int64)
    for code, guess in zip(codes, guesses, strict=True):
        for i in range(3):
            for j in range(3):
                expected[starts[i] + code[i], starts[j] + guess[j]] += 1
    assert (attack_workflow._cross_counts(codes, guesses, starts) == expected).all()


def test_sparse_tables_are_named() -> None:
    records = _records(np.array([[0.5, 0.0], [0.48, 0.02]]), 1000)
    leakage = statistical_cpl(
        records, (2, 2), (GRR(2, 4.0), GRR(2, 4.0)), rng=SimulationRandomness(6), replications=1, surrogates=99
    )
    assert len(leakage.warnings) == 1
    assert leakage.warnings[0].startswith("2 of 2 tables have a cell below 100, where the largest log-ratio is biased")
    assert "0 <- 1 (" in leakage.warnings[0]


def test_a_cell_that_never_occurs_is_infinite_and_says_so() -> None:
    records = np.array([[0, 0]] * 30 + [[1, 1]] * 30)
    leakage = statistical_cpl(
        records, (2, 2), (GRR(2, 20.0), GRR(2, 20.0)), rng=SimulationRandomness(7), replications=1, surrogates=200
    )
    assert leakage.estimates[0, 1] == math.inf
    assert leakage.standard_errors[0, 1] == math.inf
    assert leakage.p_values[0, 1] == pytest.approx(1 / 201)
    assert leakage.warnings


def test_constant_attributes_and_unheld_categories() -> None:
    records = np.array([[0, 0, 1], [2, 0, 0]] * 400)
    mechanisms = (GRR(3, 1.0), GRR(2, 1.0), GRR(2, 1.0))
    leakage = statistical_cpl(records, (3, 2, 2), mechanisms, rng=SimulationRandomness(8), surrogates=99)
    assert leakage.estimates[1].tolist() == [0, 0, 0]  # a constant attribute has nothing to learn
    assert leakage.p_values[1].tolist() == [1, 1, 1]
    assert np.isfinite(leakage.estimates).all()
    assert leakage.p_values[0, 2] == 0.01


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"records": np.zeros((0, 2), dtype=int)}, InvalidInputError, "records must not be empty"),
        ({"records": np.array([[0, 3]])}, InvalidInputError, r"0..2"),
        (
            {"mechanisms": (GRR(2, 1.0), GRR(2, 1.0))},
            InvalidInputError,
            r"numbers of categories of the records \(2, 3\), got 2, 2",
        ),
        ({"mechanisms": (GRR(2, 1.0),)}, InvalidInputError, r"numbers of categories of the records \(2, 3\), got 2"),
        ({"replications": 0}, InvalidParameterError, "replications must be >= 1"),
        ({"surrogates": -1}, InvalidParameterError, "surrogates must be >= 0"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    given: dict[str, Any] = {"records": np.zeros((5, 2), dtype=int), "mechanisms": (GRR(2, 1.0), GRR(3, 1.0))}
    given |= arguments
    with pytest.raises(error, match=message):
        statistical_cpl(given.pop("records"), (2, 3), rng=SimulationRandomness(1), **given)
