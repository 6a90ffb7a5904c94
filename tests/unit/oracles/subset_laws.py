"""Given random words, for subsets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable import SimulationRandomness


class Scripted:
    """Return given words, and then those of a seed."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self.words, self.rest = words.reshape(-1), SimulationRandomness(4)

    def fill(self, words: NDArray[np.uint64]) -> None:
        self.rest.fill(words)
        words[: len(self.words)], self.words = self.words[: len(words)], self.words[len(words) :]
