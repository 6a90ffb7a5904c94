"""Records from which a prior is computed."""

from __future__ import annotations

from typing import Any

import numpy as np


def _records(seed: int = 1, n: int = 400) -> np.ndarray[Any, Any]:
    """Return four attributes in domains (2, 3, 4, 2): the third never has the value 1, and the last is constant."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, 2, n)
    second = np.where(generator.random(n) < 0.7, first, generator.integers(0, 3, n))
    third = np.where(generator.random(n) < 0.6, 2 * (second > 0), generator.choice([0, 2, 3], n))
    return np.column_stack([first, second, third, np.ones(n, dtype=np.int64)])


SIZES = (2, 3, 4, 2)

NAMES = ("sex", "job", "town", "adult")
