"""Rooms and climbs of a command: `benchmarks.ways`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from benchmarks.ways import Way, commands, heights, walked

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


ROOT = Path(__file__).parents[3]


def test_ways_are_no_longer_than_their_page_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    stated = re.findall(r"^\| ([a-z ]+) \| \d+ \| (\d+) \| ?\d* \| (\d+) \|$", page, re.M)
    layers = heights()
    ways = commands(tmp_path)
    assert [name for name, _, _ in stated] == list(ways)
    for name, rooms, climbs in stated:
        found = walked(ways[name], layers)
        assert (len(found[0]) <= int(rooms), len(found[1]) <= int(climbs)) == (True, True), (name, found)


def test_limits_hold_or_not() -> None:
    assert Way("x", ["a", "b"], {"a -> b": 9}, 2, 1).kept
    assert not Way("x", ["a", "b"], {}, 1, None).kept
    assert not Way("x", ["a"], {"a -> b": 1, "b -> c": 1}, 5, 1).kept
