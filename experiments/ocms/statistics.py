"""Comparison of a measured number with a calculated one, or with another measurement."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable import SimulationRandomness
from experiments.harness import Cell


def randomness(cell: Cell, run: int, purpose: str = "") -> SimulationRandomness:
    """Return the randomness of one repetition of one cell, different for each setting, repetition and purpose."""
    text = repr((sorted((key, str(value)) for key, value in cell.items() if key != "runs"), run, purpose))
    return SimulationRandomness(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


def upper_factor(values: int, runs: int, failure: float = 0.05) -> float:
    """Return the factor of the paper's upper bound on a measured worst-case MSE (Pan, Theorem K.1).

    With probability >= 1 - failure the largest of `values` mean squared errors over `runs` repetitions stays below this
    factor times the largest variance.

    Examples
    --------
    >>> round(upper_factor(100, 100), 3)
    1.703
    """
    logarithm = math.log(values / failure)
    return 1 + 2 / runs * (math.sqrt(runs * logarithm) + logarithm)


@dataclass(frozen=True)
class Comparison:
    """A measured number and its expected value.

    Parameters
    ----------
    measured, error : float
        The measured mean and its standard error.
    expected, expected_error : float
        The other number and its standard error: 0 for a calculated one.
    """

    measured: float
    error: float
    expected: float
    expected_error: float = 0.0

    @property
    def z(self) -> float:
        """Difference in its standard errors; infinite if both numbers are exact and differ."""
        scale = math.hypot(self.error, self.expected_error)
        difference = self.measured - self.expected
        if scale > 0:
            return difference / scale
        return math.copysign(math.inf, difference) if difference else 0.0

    def agrees(self, comparisons: int = 1, family_wise: float = 0.01) -> bool:
        """Return whether chance can explain the difference, at a family-wise error (Bonferroni)."""
        return abs(self.z) <= critical_z(comparisons, family_wise)


def critical_z(comparisons: int, family_wise: float = 0.01) -> float:
    """Return the |z| that none of this many correct comparisons exceeds, except with probability `family_wise`.

    Examples
    --------
    >>> round(critical_z(1, 0.05), 2), round(critical_z(100, 0.01), 2)
    (1.96, 3.89)
    """
    return NormalDist().inv_cdf(1 - family_wise / (2 * comparisons))


def rounding_error(printed: str) -> float:
    """Return the standard deviation of the error of rounding to the printed digits: half a unit over sqrt 3.

    Examples
    --------
    >>> round(rounding_error("0.0274") / 5e-5, 4), round(rounding_error("3.2e-4") / 5e-6, 4)
    (0.5774, 0.5774)
    """
    mantissa, _, exponent = printed.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(0.5 * 10.0 ** (int(exponent or 0) - decimals)) / math.sqrt(3)


def standard_error(samples: NDArray[np.float64]) -> float:
    """Return the standard error of the samples' mean; infinite for one sample."""
    return float(samples.std(ddof=1) / math.sqrt(len(samples))) if len(samples) > 1 else math.inf


def maximum_error(squares: NDArray[np.float64], resamples: int = 200) -> float:
    """Return the standard error of the largest column mean of squares[runs, values], by bootstrap over runs."""
    rng = np.random.default_rng(1)
    runs = len(squares)
    drawn = rng.multinomial(runs, np.full(runs, 1 / runs), size=resamples)
    return float((drawn @ squares / runs).max(axis=1).std(ddof=1))
