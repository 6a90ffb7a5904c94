"""The paper's experiments by name, its data sets and settings, and its numbers for comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.harness import Paper

PAPER = Paper("jrr")

Floats = NDArray[np.float64]

DATASETS = {
    "Kosarak": (20_000, 659),
    "Amazon": (10_000, 762),
    "E-commerce": (23_486, 19_314),
    "Census": (10_000, 9_528),
}
"""Table 3: number of contributors, and number of those who hold 1."""

EPSILONS = (0.01, 0.1, 1.0)
COLLUDERS = 5
"""M of Table 4."""


def expected() -> dict[str, Any]:
    """Return the paper's numbers for comparison, by claim."""
    path = Path(__file__).with_name("expected.json")
    numbers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return numbers
