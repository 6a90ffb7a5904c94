"""Sketches at all epsilons: reports of constructed sketches can be summed, other sketches are refused by name."""

from __future__ import annotations

import math
import resource
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import CountMeanSketch, SimulationRandomness
from deniable.errors import InvalidParameterError, TooLargeError
from deniable.oracles.sketch.families.registry import FAMILIES, family_entry
from deniable.oracles.sketch.families.spread import SpreadFamily
from deniable.oracles.sketch.heavy_hitters import HeavyHitters
from deniable.oracles.sketch.local_hashing import OLH
from deniable.oracles.sketch.ocms import OCMS
from deniable.research.families.linear import prime_powers

DOMAINS = (2, 3, 300, 65_536)
EPSILONS = (1e-6, 0.01, 0.5, 1, 2, 4, 6, 8, 9, 10, 11, 14, 17, 20, 22, 22.5, 26, 32)
SMALL = 1 << 23
"""Counters of a state that is summed for each setting."""
SLOW = 1 << 13
"""Primes above this number make a transform over F_p take seconds."""


def _works(sketch: CountMeanSketch) -> None:
    values = np.arange(20) * 7 % sketch.k
    reports = sketch.randomize(values, SimulationRandomness(1))
    one = sketch.randomize(values[:1], SimulationRandomness(1))
    assert sketch.state_size <= 1 << 28
    odd = sketch.family == "linear" and sketch.hashes.m % 2
    if sketch.state_size > SMALL or (odd and sketch.hashes.m > SLOW):
        assert sketch.count_support(reports, [0, 1]).max() <= 20
        return
    aggregate = sketch.aggregate(reports) + sketch.aggregate(one)
    assert aggregate.n == 21
    assert np.isfinite(sketch.estimate(aggregate, queries=[0, sketch.k - 1]).frequencies).all()
    assert dn.Aggregate.empty(sketch).n == 0


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("k", DOMAINS)
def test_a_sketch_that_is_constructed_can_be_added_up(family: str, k: int) -> None:
    for epsilon in EPSILONS[:: 1 if family != "binary" else 4]:  # “binary” multiplies reports by values
        _works(CountMeanSketch(k, epsilon, family=family))


@pytest.mark.parametrize("k", DOMAINS)
def test_named_sketches_can_be_added_up_or_are_refused(k: int) -> None:
    for epsilon in EPSILONS:
        _works(OCMS(k, epsilon))
        if epsilon <= 22.18:
            _works(OLH(k, epsilon))
        else:
            with pytest.raises(InvalidParameterError, match=r"epsilon must be at most 22\.18 for OLH, .* CountMean"):
                OLH(k, epsilon)


@pytest.mark.parametrize(("k", "epsilon"), [(300, 20.0), (65_536, 11.0)])
def test_large_states_can_be_added_up_and_estimated(k: int, epsilon: float) -> None:
    """These two could once be constructed, but their reports could not be summed."""
    sketch = CountMeanSketch(k, epsilon, family="spread")
    aggregate = sketch.aggregate(sketch.randomize(np.full(1000, 7), SimulationRandomness(2)))
    found = sketch.estimate(aggregate, queries=[7, 8]).frequencies
    assert found[0] > 0.99
    assert abs(found[1]) < 0.02


@pytest.mark.parametrize("family", ["spread", "linear"])
def test_the_number_of_cells_is_the_best_of_those_that_fit(family: str) -> None:
    """By the printed variance, over all numbers of cells, not only those near the optimum."""
    admissible = [1 << bits for bits in range(1, 17)] if family == "spread" else list(prime_powers())

    def cost(m: int, k: int, epsilon: float) -> float:
        odds, f, u = math.exp(epsilon), 1 / k, m - 1
        return (f * odds + 1 - f) * u + odds * ((1 - f) * odds + f) / u

    for k in (*DOMAINS, 1 << 24, 1 << 27):
        for epsilon in (0.5, 4.0, 8.0, 10.0, 11.0, 20.0):
            states = {
                m: family_entry(family).build(k, m).state_size for m in admissible[:: 1 if family == "spread" else 7]
            }
            chosen = CountMeanSketch(k, epsilon, family=family).m
            assert chosen is not None
            states[chosen] = family_entry(family).build(k, chosen).state_size
            best = min(admissible, key=lambda m: cost(m, k, epsilon))
            if family_entry(family).build(k, best).state_size <= 1 << 28:
                assert chosen == best
                continue
            limit = 1 << 26 if min(states.values()) <= 1 << 26 else 1 << 28
            assert states[chosen] <= limit
            fits = [m for m, state in states.items() if state <= limit]
            assert cost(chosen, k, epsilon) <= min(cost(m, k, epsilon) for m in fits) * (1 + 1e-9)


def test_cells_that_were_given_are_kept_and_refused_when_added_up() -> None:
    """A list of values can still be counted; a state of 32 GiB is refused before it is set up."""
    sketch = CountMeanSketch(300, 20.0, 1 << 16, "spread")
    reports = sketch.randomize(np.full(100, 7), SimulationRandomness(1))
    assert sketch.count_support(reports, [7, 8])[0] == 100
    message = "must have at most 268,435,456 counters, got 4,294,967,296 for k=300 and m=65536; give"
    limit = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, limit[1]))
    try:
        with pytest.raises(TooLargeError, match=message):
            sketch.aggregate(reports)
        with pytest.raises(TooLargeError, match=message):
            sketch.simulate_aggregate(np.full(300, 1), SimulationRandomness(1))
        with pytest.raises(TooLargeError, match="at most 2,147,483,648 counters, got 4,294,967,296"):
            dn.Aggregate.empty(sketch)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)


@pytest.mark.parametrize(
    ("k", "epsilon", "m", "variance"),
    [
        # The numbers are one report's variance at f = 1/k with these cells, from the exact p, q and c = (D/m - 1)/(D -
        # 1).
        (65_536, 10.0, 4096, 3.462e-4),  # 16,384 cells give 1.970e-4, but their state has 2^29 counters
        (65_536, 11.0, 4096, 2.797e-4),  # 32,768 cells give 5.780e-5
        (65_536, 20.0, 4096, 2.441e-4),  # 65,536 cells give 4.123e-9
        (300, 20.0, 8192, 5.833e-8),  # 65,536 cells give 4.523e-7 without collisions; fewer are likelier kept
    ],
)
def test_what_fewer_cells_cost(k: int, epsilon: float, m: int, variance: float) -> None:
    sketch = CountMeanSketch(k, epsilon, family="spread")
    odds, domain = math.exp(epsilon), SpreadFamily(k, m).domain
    p, q, c = odds / (odds + m - 1), 1 / (odds + m - 1), (domain / m - 1) / (domain - 1)
    p0 = c * p + (1 - c) * q
    by_hand = (p * (1 - p) / k + p0 * (1 - p0) * (1 - 1 / k)) / (p - p0) ** 2
    assert sketch.m == m
    assert sketch.variance(1 / k, 1) == pytest.approx(by_hand, rel=1e-6)
    assert by_hand == pytest.approx(variance, rel=1e-3)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_open_text_is_counted_at_every_epsilon(epsilon: float) -> None:
    hunt = HeavyHitters(epsilon)
    assert hunt.state_size <= 1 << 29
    assert hunt.randomize(["lamp", "moon"], SimulationRandomness(1)).value.shape == (2,)


@pytest.mark.parametrize(("epsilon", "m"), [(1.0, 4), (4.0, 64), (8.0, 4096), (9.0, 4096), (20.0, 4096)])
def test_cells_of_open_text(epsilon: float, m: int) -> None:
    assert HeavyHitters(epsilon).sketch.m == m


def test_open_text_with_too_many_counters_is_refused() -> None:
    parameters: dict[str, Any] = {"epsilon": 1.0, "max_bytes": 16, "fold_bits": 24}
    with pytest.raises(
        TooLargeError,
        match=r"all 30 groups together must have at most 536,870,912 counters, got 671,088,990 .* smaller",
    ):
        HeavyHitters(**parameters)
    assert HeavyHitters(**parameters | {"max_bytes": 8}).sketch.m == 4
