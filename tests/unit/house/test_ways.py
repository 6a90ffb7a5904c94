"""Rooms and climbs of a command: `benchmarks.ways`."""

from __future__ import annotations

import numpy as np
from benchmarks.ways import Way, heights, walked

from deniable import GRR, SimulationRandomness


def test_layers_are_those_of_the_project() -> None:
    layers = heights()
    assert layers["cli"] > layers["testing"] == layers["demo"] > layers["report"] > layers["oracles"] > layers["core"]


def test_rooms_and_climbs_of_one_answer() -> None:
    grr, rng = GRR(k=4, epsilon=1.0), SimulationRandomness(1)
    rooms, _ = walked(lambda: grr.randomize(np.array([3]), rng), heights())
    assert rooms[0] == "deniable.oracles.oracle"
    assert {"deniable.oracles.grr", "deniable.core.randomness", "deniable.core.checks"} <= set(rooms)
    _, climbs = walked(lambda: grr.randomize(np.array([3]), rng), {"oracles": 0, "core": 1})
    assert climbs["deniable.oracles.oracle -> deniable.core.checks"] == 1
    assert not any(climb.startswith("deniable.core") for climb in climbs)


def test_limits_hold_or_not() -> None:
    assert Way("x", ["a", "b"], {"a -> b": 9}, 2, 1).kept
    assert not Way("x", ["a", "b"], {}, 1, None).kept
    assert not Way("x", ["a"], {"a -> b": 1, "b -> c": 1}, 5, 1).kept
