from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import GRR, SimulationRandomness
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.research.families.sketch_bounds import bernstein_half_width, chernoff_half_width, normal_half_width

BOUNDS = (normal_half_width, bernstein_half_width, chernoff_half_width)


def deviations(bound: Any, sketch: CountMeanSketch, f: float) -> float:
    """Return the half-width in standard errors at n = 10^6 and failure 10^-6."""
    return float(bound(sketch, 10**6, 1e-6, f) / math.sqrt(sketch.variance(f, 10**6)))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_how_many_standard_errors(epsilon: float) -> None:
    """Normal 4.9, Bernstein 5.4, Chernoff from 9 up: known answers; 9.3 is Chernoff at the best real m."""
    sketch = CountMeanSketch(2**31, epsilon)
    assert deviations(normal_half_width, sketch, 0.0) == pytest.approx(4.892, abs=1e-3)
    assert 5.386 < deviations(bernstein_half_width, sketch, 0.0) < 5.5
    e = math.exp(epsilon)
    assert sketch.m is not None
    expected = math.sqrt(3 * math.log(2e6) * (e + sketch.m - 1) / (sketch.m - 1))
    assert abs(expected - 9.33) < 0.45
    assert deviations(chernoff_half_width, sketch, 0.0) == pytest.approx(expected, rel=1e-6)


def test_chernoff_is_looser_still_for_the_worst_case_number_of_cells() -> None:
    """m = 8 at epsilon = 4: sqrt(3 ln(2e6) (E+7)/7) = 19.6."""
    assert deviations(chernoff_half_width, CountMeanSketch(2**31, 4.0, 8), 1.0) == pytest.approx(19.57, abs=0.01)


def test_bernstein_by_hand() -> None:
    """p1 = 3/4, p0 = 1/4 (k = 2, epsilon = ln 3): V = 3/4 everywhere, b = 3/2, L = ln 40."""
    grr = GRR(2, math.log(3))
    b, v, logarithm, n = 1.5, 0.75, math.log(40), 100
    first = b * logarithm / (3 * n)
    assert bernstein_half_width(grr, n, 0.05) == pytest.approx(first + math.sqrt(first**2 + 2 * v * logarithm / n))


def test_the_default_frequency_is_the_worst_one() -> None:
    for m, worst in ((2, 0.0), (64, 1.0)):
        sketch = CountMeanSketch(2**31, 3.0, m)
        for bound in BOUNDS:
            assert bound(sketch, 10**6, 0.05) == bound(sketch, 10**6, 0.05, worst)
            assert bound(sketch, 10**6, 0.05) > bound(sketch, 10**6, 0.05, 1 - worst)


def test_the_chernoff_bound_knows_its_range() -> None:
    """alpha^2 (1-p0)/p0 with alpha^2 = 3 L (E+m-1)/(m-1), and (1-p0)/p0 = m - 1 at collision probability 1/m."""
    sketch = CountMeanSketch(2**31, 1.0, 4)
    fewest = 3 * math.log(40) * (math.e + 3)
    assert chernoff_half_width(sketch, math.ceil(fewest), 0.05) > 0
    with pytest.raises(InvalidParameterError, match=r"n must be >= 64 for the Chernoff bound .*, got n=63"):
        chernoff_half_width(sketch, math.floor(fewest), 0.05)
    assert math.ceil(fewest) == 64


def test_without_collisions_and_other_mechanisms() -> None:
    """m >= k: Spread has c = 0, and a report never supports two values; still p0 = q > 0."""
    sketch = CountMeanSketch(4, 1.0, 4, "spread")
    assert sketch.support_probabilities == GRR(4, 1.0).support_probabilities
    for bound in BOUNDS:
        assert bound(sketch, 10**4) == bound(GRR(4, 1.0), 10**4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.05), "n must be >= 1"),
        ((1000, 0.0), r"failure must be in \(0, 1\), got failure=0.0"),
        ((1000, 1.0), "failure must be in"),
        ((1000, 0.05, 1.5), r"f must be in \[0, 1\], got f=1.5"),
    ],
)
def test_bad_arguments_are_named(arguments: Any, message: str) -> None:
    for bound in BOUNDS:
        with pytest.raises(InvalidParameterError, match=message):
            bound(CountMeanSketch(2**31, 1.0, 4), *arguments)


def failures(bound: Any, target: float) -> int:
    """Return how often |f^ - f| exceeds the half-width at f = 0 and 0.3, for n = 2000 and 2000 runs."""
    sketch, n, runs = CountMeanSketch(8, 1.0, 4, "spread"), 2000, 2000
    counts = np.array([600, 1400, 0, 0, 0, 0, 0, 0])
    rng = SimulationRandomness(12)
    missed = 0
    for _ in range(runs):
        frequencies = sketch.estimate(sketch.simulate_aggregate(counts, rng)).frequencies
        missed += int(abs(frequencies[2]) > bound(sketch, n, target, 0.0))
        missed += int(abs(frequencies[0] - 0.3) > bound(sketch, n, target, 0.3))
    return missed


@pytest.mark.long
def test_the_bounds_hold_in_simulation() -> None:
    """4000 intervals at failure 0.05, dependent in pairs: within the bounds of a binomial with twice the variance."""
    low, high = (200 + sign * 2 * stats.norm.isf(5e-7) * math.sqrt(4000 * 0.05 * 0.95) for sign in (-1, 1))
    assert low < failures(normal_half_width, 0.05) < high
    assert failures(bernstein_half_width, 0.05) < high
    assert failures(chernoff_half_width, 0.05) < 20  # these are 4.3 standard errors, so it practically never fails

    def mutant(sketch: CountMeanSketch, n: int, failure: float, f: float) -> float:
        return normal_half_width(sketch, n, failure, f) / math.sqrt(2)

    assert failures(mutant, 0.05) > high
