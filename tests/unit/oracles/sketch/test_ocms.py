from __future__ import annotations

from typing import Any

import pytest

from deniable.core.names import mechanism_class
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families.registry import family_entry
from deniable.oracles.sketch.ocms import OCMS, ocms_choice


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
    # If one of the powers is the right number anyway, nothing speaks against it: 1 + e^1 and 1 + e^2 are near 4 and 8.
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
    """With m >= k, Spread is randomised response: no collisions, and a smaller variance than with any."""
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
