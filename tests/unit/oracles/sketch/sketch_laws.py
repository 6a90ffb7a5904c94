"""Distance of a sketch's counts from their distribution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core.randomness import Randomness
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.families.prime import HashedReports
from deniable.oracles.sketch.local_hashing import OLH

FAMILY_WISE_ERROR = 1e-6

Randomizer = Callable[[CountMeanSketch, NDArray[np.int64], Randomness], HashedReports]


def largest_z(randomize: Randomizer) -> float:
    """Largest |f^ - f|/sd over k = 1024 values; 300,000 contributors, a third of them with value 7."""
    sketch, n = OLH(1024, 1.0), 300_000
    codes = np.where(np.arange(n) % 3 == 0, 7, np.arange(n) * 31 % 1024)
    truth = np.bincount(codes, minlength=1024) / n
    estimate = sketch.estimate(sketch.aggregate(randomize(sketch, codes, SimulationRandomness(77))))
    sd = np.sqrt([sketch.variance(f, n) for f in truth])
    return float(np.abs((estimate.frequencies - truth) / sd).max())
