from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.core.names import mechanism_class
from deniable.core.thresholds import exact
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families.hash_range import Objective, any_integer
from deniable.oracles.sketch.families.registry import family_entry
from deniable.oracles.sketch.families.spread import powers_of_two_around
from deniable.oracles.sketch.ocms import OCMS, ocms_choice

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "ocms_spread.json").read_text())["hash_range"]


def objective(row: dict[str, Any]) -> Objective:
    if row["mode"] == "l1l2":
        return Objective.mean(row["d"], row["eps"])
    return Objective.worst_case(exact(row["f_star"]), row["eps"])


@pytest.mark.parametrize("row", VECTORS, ids=lambda row: f"{row['eps']}-{row['d']}-{row['mode']}-{row['f_star']}")
def test_hash_range_vectors(row: dict[str, Any]) -> None:
    assert objective(row).best_real == pytest.approx(row["m_real"], rel=1e-12)
    assert objective(row).best(any_integer) == row["m_best"]


def test_the_nearest_integer_is_not_always_the_best() -> None:
    """The vectors give both; at epsilon = 0.8 and f* = 1 the nearest (2) costs 4% more than the best (3)."""
    assert sum(row["m"] != row["m_best"] for row in VECTORS) >= 5
    worst = Objective.worst_case(Fraction(1), 0.8)
    assert 1.03 < worst.cost(2) / worst.cost(3) < 1.05


@pytest.mark.long
@pytest.mark.parametrize("f_star", ["0", "0.03", "0.3", "0.5", "0.7", "1"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 6.0])
def test_no_other_number_of_cells_has_a_smaller_worst_case(epsilon: float, f_star: str) -> None:
    """By trying all m up to 1000, and 101 frequencies each."""
    worst = Objective.worst_case(Fraction(f_star), epsilon)
    e = float(worst.e)

    def largest(m: int) -> float:
        frequencies = [i / 100 * float(Fraction(f_star)) for i in range(101)]
        return max(((1 - f) * (e + m - 1) ** 2 + f * m**2 * e) / ((m - 1) * (e - 1) ** 2) for f in frequencies)

    costs = {m: largest(m) for m in range(2, 1001)}
    best = worst.best(any_integer)
    assert costs[best] <= min(costs.values()) * (1 + 1e-12)
    assert float(worst.cost(best)) == pytest.approx(costs[best], rel=1e-12)
    assert float(worst.cost(Fraction(worst.best_real))) <= costs[best] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("build", "around", "mean", "largest"),
    [
        (lambda e: Objective.mean(10**6, e), any_integer, 0.0006, 0.010),
        (lambda e: Objective.mean(10**6, e), powers_of_two_around, 0.014, 0.077),
        (lambda e: Objective.worst_case(Fraction(1), e), any_integer, 0.034, 0.097),
        (lambda e: Objective.worst_case(Fraction(1), e), powers_of_two_around, 0.15, 0.38),
    ],
)
def test_what_whole_numbers_and_powers_of_two_cost(build: Any, around: Any, mean: float, largest: float) -> None:
    """Variance above that of the best real m, epsilon in [0.5, 6]: known answers."""
    excess = []
    for i in range(111):
        one = build(Fraction(1, 2) + Fraction(i, 20))
        excess.append(float(one.cost(one.best(around)) / one.cost(Fraction(one.best_real))) - 1)
    assert sum(excess) / len(excess) == pytest.approx(mean, rel=0.06)
    assert max(excess) == pytest.approx(largest, rel=0.02)


@pytest.mark.parametrize("k", [1000, 2**20, 10**7])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.3, 2.0, 3.0, 4.0, 6.0])
def test_spread_is_the_choice_for_dictionaries(k: int, epsilon: float) -> None:
    for sketch in (OCMS(k, epsilon), OCMS(k, epsilon, "mse", 0.1), OCMS(k, epsilon, mode="mse", max_frequency=0.01)):
        assert sketch.family == "spread"
        assert sketch.m == family_entry("spread").build(k, sketch.m or 0).m


@pytest.mark.parametrize("epsilon", [1.0, 1.5, 3.0, 5.0, 6.0])
def test_spread_is_not_the_choice_where_a_power_of_two_is_wrong(epsilon: float) -> None:
    choice = ocms_choice(2**20, epsilon, "mse", 1)
    assert choice.mechanism.family != "spread"
    spread = next(option for option in choice.options if option.family == "spread")
    chosen = next(option for option in choice.options if option.family == choice.mechanism.family)
    assert spread.excess > 0.15
    assert chosen.excess < 0.10
    assert f"spread could only have m={spread.m}" in choice.reason
    # Where one of the powers is the right number anyway, nothing speaks against it: 1 + e^1 and 1 + e^2 are near 4, 8.
    assert OCMS(2**20, 2.0, "mse").family == OCMS(2**20, 4.0, "mse").family == "spread"


def test_the_choice_says_why() -> None:
    choice = ocms_choice(10**6, 1.0)
    assert choice.mechanism == CountMeanSketch(10**6, 1.0, 4, "spread") == OCMS(10**6, 1.0)
    assert choice.reason.startswith("spread with m=4: 0.2% above the least possible mean variance (m=3.72); ")
    assert [option.family for option in choice.options if option.family in ("spread", "prime")] == ["spread", "prime"]
    spread = choice.options[0]
    assert (spread.m, spread.state_size) == (4, 1_398_112)
    assert spread.variance == choice.mechanism.variance(1e-6, 1)
    assert "worst-case variance (m=2.65)" in ocms_choice(10**6, 1.0, "mse").reason


def test_a_state_too_large_is_not_chosen() -> None:
    """At epsilon = 10 the best power of two is 2^14, whose histogram has 2 x 2^28 counters or more."""
    assert OCMS(2**20, 10.0).family != "spread"
    assert OCMS(2**32, 1.0).family != "spread"


def test_small_domains_collide_less_than_one_in_m() -> None:
    """With m >= k Spread is randomised response itself: no collisions, and less variance than any with them."""
    choice = ocms_choice(4, 2.0)
    assert choice.mechanism == CountMeanSketch(4, 2.0, 4, "spread")
    assert choice.options[0].excess < -0.2
    assert "% below the least mean variance with collisions" in choice.reason


def test_by_name() -> None:
    assert mechanism_class("OCMS")(1000, 1.0) == OCMS(1000, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 1.0), "k must be >= 2, got k=1"),
        ((2.5, 1.0), "k must be an integer"),
        ((2**200, 1.0), r"k must be <= \d+, got k="),
        ((8, 0), "epsilon must be > 0, got epsilon=0"),
        ((8, 1.0, "l3"), 'mode must be "l2" or "mse", got mode=“l3”'),
        ((8, 1.0, "l2", 0.5), 'max_frequency works only with mode="mse", got max_frequency=0.5'),
        ((8, 1.0, "mse", 1.5), r"max_frequency must be in \[0, 1\], got max_frequency=1.5"),
        ((8, 1.0, "mse", -0.1), "max_frequency must be in"),
        ((8, 1.0, "mse", float("nan")), "max_frequency must be a finite number"),
    ],
)
def test_bad_parameters_are_named(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        OCMS(*arguments)
