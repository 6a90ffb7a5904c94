"""Answers from independent collections."""

from __future__ import annotations

from typing import Any

from deniable import Estimate, SimulationRandomness


def _at(mechanism: Any, counts: Any, seed: int = 5) -> Estimate:
    estimate: Estimate = mechanism.estimate(mechanism.simulate_aggregate(counts, SimulationRandomness(seed)))
    return estimate
