"""The paper's experiments by name, and the figures it prints."""

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
    """Return the digits of the paper that survive in its text."""
    text = Path(__file__).with_name("expected.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def pairs_of(matrix: Floats) -> Floats:
    """Return the entries of a matrix off its diagonal."""
    found: Floats = matrix[~np.eye(len(matrix), dtype=np.bool_)]
    return found
