"""The call path of a command, with its upward calls: `benchmarks.call_paths`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from benchmarks.call_paths import LIMITS, CallPath, called, commands, heights

from deniable import GRR, SimulationRandomness


def test_layers_are_those_of_the_project() -> None:
    layers = heights()
    assert (
        layers["cli"] > layers["service"] == layers["demo"] > layers["report"] == layers["testing"] > layers["oracles"]
    )
    assert layers["records"] > layers["oracles"] == layers["survey"] > layers["core"]
    assert len(set(layers.values()) - {layers["errors"]}) <= 10


def test_call_path_and_upward_calls_of_one_answer() -> None:
    grr, rng = GRR(k=4, epsilon=1.0), SimulationRandomness(1)
    modules, _ = called(lambda: grr.randomize(np.array([3]), rng), heights())
    assert modules[0] == "deniable.oracles.oracle"
    assert {"deniable.oracles.grr", "deniable.core.randomness", "deniable.core.checks"} <= set(modules)
    _, upward = called(lambda: grr.randomize(np.array([3]), rng), {"oracles": 0, "core": 1})
    assert upward["deniable.oracles.oracle -> deniable.core.checks"] == 1
    assert not any(pair.startswith("deniable.core") for pair in upward)


ROOT = Path(__file__).parents[3]


def test_call_paths_keep_their_limits_and_their_page_says_so(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", page, re.M)
    layers, paths = heights(), commands(tmp_path)
    assert [name for name, *_ in rows] == list(LIMITS) == list(paths)
    for name, *numbers in rows:
        modules, most_modules, upward, most_upward = map(int, numbers)
        assert (
            LIMITS[name] == (most_modules, most_upward) == tuple(-(-11 * number // 10) for number in (modules, upward))
        )
        path = CallPath(name, *called(paths[name], layers), *LIMITS[name])
        assert path.kept, path


def test_limits_hold_or_not() -> None:
    assert CallPath("x", ["a", "b"], {"a -> b": 9}, 2, 1).kept
    assert not CallPath("x", ["a", "b"], {}, 1, 0).kept
    assert not CallPath("x", ["a"], {"a -> b": 1, "b -> c": 1}, 5, 1).kept
