"""The paper's experiments by name, and its printed figures."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.harness import Paper

PAPER = Paper("cpl")

Floats = NDArray[np.float64]


@cache
def expected() -> dict[str, Any]:
    """Return the numbers that the paper's text still has."""
    text = Path(__file__).with_name("expected.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def pairs_of(matrix: Floats) -> Floats:
    """Return the off-diagonal entries of a matrix."""
    found: Floats = matrix[~np.eye(len(matrix), dtype=np.bool_)]
    return found
