"""Priors whose leakage must stay below a cap."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "cpl.json").read_text())

JOINTS = {
    short: np.array(next(v for v in VECTORS["tpl"] if v["name"] == long)["joint_flat"]).reshape(shape)
    for short, long, shape in (
        ("xor", "xor (additive bound fails)", (2, 2, 2)),
        ("dup", "duplicate neighbour", (2, 2, 2)),
        ("ci", "conditionally independent 2x2x3", (2, 2, 3)),
    )
}

XOR = JOINTS["xor"]


def _variance(budgets: np.ndarray[Any, Any], sizes: tuple[int, ...]) -> float:
    """Return the sum over attributes of GRR's mean variance at frequency 1/k, from p and q in plain floats."""
    total = 0.0
    for k, epsilon in zip(sizes, budgets, strict=True):
        q = 1 / (math.exp(epsilon) + k - 1)
        p = 1 - (k - 1) * q
        total += (p * (1 - p) / k + q * (1 - q) * (1 - 1 / k)) / (p - q) ** 2
    return total
