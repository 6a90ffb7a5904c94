"""Methods for many waves: the advice is right in simulated programmes; a panel is balanced and can be checked."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError
from deniable.oracles import MemoisedGRR
from deniable.planning import plan_waves, repeated, rotating_panel
from deniable.planning.precision import mean_variance

PROGRAMMES: list[tuple[int, float, int, int, dict[str, Any]]] = [
    # The columns are k, epsilon, waves, people and the arguments about changes.
    (2, 1, 4, 4000, {}),
    (2, 4, 12, 20_000, {}),
    (2, 8, 2, 3000, {}),
    (2, 16, 2, 3000, {}),
    (4, 2, 52, 30_000, {}),
    (4, 24, 2, 5000, {}),
    (5, 4, 4, 4000, {}),
    (5, 4, 12, 12_000, {}),
    (5, 30, 3, 6000, {}),
    (16, 4, 4, 8000, {}),
    (16, 4, 12, 60_000, {}),
    (16, 28, 2, 5000, {}),
    (100, 4, 4, 8000, {}),
    (100, 32, 2, 9000, {}),
    (2, 2, 4, 4000, {"answers": 1}),
    (5, 4, 12, 12_000, {"answers": 1}),
    (16, 4, 12, 24_000, {"answers": 2, "times_known": True}),
    (5, 4, 12, 24_000, {"answers": 2, "times_known": True}),
    (16, 4, 3, 24_000, {"answers": 3, "times_known": True}),
    (5, 4, 12, 24_000, {"answers": 2}),
]
RUNS = 150


def simulated(row: Any, k: int, people: int, seed: int) -> float:
    """Return the mean squared error of one wave's frequencies among all people, over answers with a flat prior."""
    rng, draw = SimulationRandomness(seed), np.random.default_rng(seed)
    squares = []
    for _ in range(RUNS):
        counts = draw.multinomial(people, draw.dirichlet(np.ones(k)))
        asked = counts if row.people == people else draw.multivariate_hypergeometric(counts, row.people)
        found = row.mechanism.estimate(row.mechanism.simulate_aggregate(asked, rng)).frequencies
        squares.append(np.mean((found - counts / people) ** 2))
    return float(np.mean(squares))


def verdicts(programmes: list[Any]) -> list[bool]:
    """Return for each programme whether no other allowed method has a much smaller error."""
    right = []
    for number, (k, epsilon, waves, people, said) in enumerate(programmes):
        plan = plan_waves(k, epsilon, waves, people, **said)
        errors = {row.way: simulated(row, k, people, number) for row in plan.rows if not row.reason}
        # A mean of 150 squares of at least one free cell has a relative error of sqrt(2/150) = 0.12. Wrong ways are off
        # by far more. Ways that differ by less than this error are both right.
        right.append(errors[plan.best.way] <= 1.2 * min(errors.values()))
    return right


def test_advice_is_right_in_twenty_simulated_programmes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(verdicts(PROGRAMMES))
    ways = Counter(plan_waves(k, e, t, n, **said).best.way for k, e, t, n, said in PROGRAMMES)
    assert set(ways) == {repeated.FRESH, repeated.ROTATING, repeated.MEMOISED}
    # Mutant: the sampling of a panel is forgotten. It then recommends panels for large budgets.

    def noise_alone(mechanism: Any, k: int, asked: int, people: int) -> float:
        del k, people
        return mean_variance(mechanism, asked)

    monkeypatch.setattr(repeated, "_variance", noise_alone)
    assert not all(verdicts(PROGRAMMES[3:6]))


def test_errors_are_those_of_the_contract() -> None:
    """Variance times n of one wave at worst case 4: rotating panels of 4 and 12 waves, and two answers memoised."""
    for k, waves, expected in (
        (5, 4, 0.60),
        (16, 4, 0.34),
        (100, 4, 0.32),
        (5, 12, 2.1),
        (16, 12, 1.1),
        (100, 12, 0.97),
    ):
        plan = plan_waves(k, 4, waves, 100_000, answers=2, times_known=True)
        row = next(row for row in plan.rows if row.way == repeated.ROTATING)
        # The contract's figures are for f = 1/k, where sampling is a little more than under a flat prior.
        spread = (waves - 1) * (1 / k * (1 - 1 / k) - (k - 1) / (k * (k + 1)))
        assert row.standard_error**2 * 100_000 + spread == pytest.approx(expected, rel=0.04)
    memoised = next(row for row in plan_waves(16, 4, 12, 1000, answers=2).rows if row.way == repeated.MEMOISED)
    assert memoised.standard_error**2 * 1000 == pytest.approx(0.66, rel=0.02)
    assert memoised.mechanism == MemoisedGRR(16, 2, 2)


@pytest.mark.parametrize(("k", "epsilon", "waves", "people", "said"), PROGRAMMES)
def test_no_way_exceeds_the_budget(k: int, epsilon: float, waves: int, people: int, said: dict[str, Any]) -> None:
    for row in plan_waves(k, epsilon, waves, people, **said).rows:
        each = Fraction(row.epsilon) * {repeated.FRESH: waves, repeated.ROTATING: 1}.get(
            row.way, said.get("answers", min(waves, k))
        )
        assert each <= Fraction(epsilon) * (1 + Fraction(1, 1 << 50))
        assert math.isclose(row.half_width, 1.959964 * row.standard_error, rel_tol=1e-6)


def test_refuses() -> None:
    for make, message in (
        (lambda: plan_waves(4, 1, 1, 100), "waves must be"),
        (lambda: plan_waves(4, 1, 12, 11), "contributors must be at least 12"),
        (lambda: plan_waves(4, 1, 12, 100, answers=5), "answers must be"),
        (lambda: plan_waves(4, "1e-5", 12, 100), "epsilon must be at least"),
        (lambda: rotating_panel(["a"], 2, "x"), "people must be at least 2"),
        (lambda: rotating_panel(["a", "b"], 2, ""), "seed must not be empty"),
        (lambda: rotating_panel(["a", "b"], 2, "x", 3), "asked must be"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            make()
    with pytest.raises(InvalidInputError, match="“a” twice"):
        rotating_panel(["a", "b", "a"], 2, "x")
