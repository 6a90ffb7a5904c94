"""Records of pairs, with their tables."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def _held(joint: Any, n: int) -> tuple[list[tuple[int, ...]], list[int]]:
    every = list(itertools.product(*map(range, np.shape(joint))))
    return every, [round(n * float(joint[cell])) for cell in every]
