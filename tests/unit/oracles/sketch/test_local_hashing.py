"""OLH and BLH, which are sketches with few cells."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import SimulationRandomness
from deniable.core.randomness import BLOCK_WORDS
from deniable.errors import InvalidInputError, InvalidReportError, TooLargeError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.sketch.local_hashing import BLH, OLH
from tests.unit.oracles.sketch.sketch_laws import FAMILY_WISE_ERROR, largest_z


@pytest.mark.parametrize(
    ("epsilon", "m"),
    # m is round(e^epsilon) + 1, with ln 1.5 = 0.405465..., e^4 = 54.598, e^5 = 148.413, e^22.18 = 4.2919e9.
    [(1e-6, 2), (0.4054, 2), (0.4055, 3), (0.5, 3), (1.0, 4), (2.0, 8), (4.0, 56), (5.0, 149), ("0.5", 3)],
)
def test_olh_is_a_sketch_of_this_many_cells(epsilon: Any, m: int) -> None:
    assert OLH(100, epsilon) == CountMeanSketch(100, float(epsilon), m)


def test_blh_is_a_sketch_of_two_cells() -> None:
    assert BLH(k=100, epsilon=2.0) == CountMeanSketch(100, 2.0, 2)
    assert BLH(k=100, epsilon=0.4) == OLH(k=100, epsilon=0.4)


def test_olh_variance_is_the_textbook_one() -> None:
    # Wang et al. (2017) have 4 e^eps/(n (e^eps - 1)^2) at f = 0, which is 3.6827 for e^1. Rounding m = 3.718 to 4 costs
    # 0.3%.
    assert OLH(2**20, 1.0).variance(0.0, 1) == pytest.approx(3.6827, rel=3e-3)
    assert OLH(2**20, 1.0).variance(0.0, 1000) * 1000 == pytest.approx(OLH(2**20, 1.0).variance(0.0, 1))


@pytest.mark.parametrize(("k", "epsilon"), [(8, 5.0), (1024, 1.0), (2**20, 3.0), (2**32, 0.01)])
def test_the_factors_of_a_channel_too_large_to_list(k: int, epsilon: float) -> None:
    sketch = OLH(k, epsilon)
    with pytest.raises(TooLargeError, match="the channel of OLH"):
        sketch.channel()
    with pytest.raises(TooLargeError):
        sketch.outputs()
    response = sketch.response.channel(exact=True)
    assert response.shape == (sketch.m, sketch.m)
    assert sum(response[0], Fraction(0)) == 1
    assert response.max() / response.min() == sketch.implemented_ratio()
    # The bound is tight from both sides: the ln ratio is within 1e-15 below epsilon, at 64-bit thresholds and these m.
    assert epsilon * (1 - 1e-12) <= sketch.implemented_epsilon() <= epsilon * (1 + 1e-12)
    p, q, c = response.max(), response.min(), sketch.collision_probability
    assert sketch.support_probabilities == (p, c * p + (1 - c) * q)


def test_the_guarantee() -> None:
    guarantee = OLH(1000, 1.0).privacy()
    assert guarantee.epsilon == 1.0
    assert guarantee.implemented_epsilon == pytest.approx(1.0, rel=1e-15)
    assert "public and independent" in str(guarantee)


def test_one_report_at_a_time_is_the_same_law() -> None:
    """Interpreted kernels (at most 16 rows): support of the truth in 3000 single reports, two-sided 1e-6."""
    sketch, n = OLH(50, 2.0), 3000
    rng = SimulationRandomness(21)
    hits = sum(int(sketch.aggregate(sketch.randomize([7], rng)).counts[7]) for _ in range(n))
    p = float(sketch.support_probabilities[0])
    assert abs(hits - n * p) <= stats.norm.isf(FAMILY_WISE_ERROR / 2) * math.sqrt(n * p * (1 - p))


def test_answers_out_of_range_are_named() -> None:
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.9, got something else in row 2"):
        OLH(10, 1.0).randomize([0, 10], SimulationRandomness(1))
    sketch = OLH(10, 1.0)
    reports = sketch.randomize([0], SimulationRandomness(1))
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.9, got something else in row 1"):
        sketch.count_support(reports, [-1])


def test_hostile_reports_are_named() -> None:
    sketch = OLH(10, 1.0)  # here P = 29 and m = 4
    good = sketch.randomize(np.arange(10), SimulationRandomness(1))
    hostile = {"a0": 29, "a1": 2**32 - 1, "value": 4}
    for name, wrong in hostile.items():
        column = getattr(good, name).copy()
        column[6] = wrong
        bound = 3 if name == "value" else 28
        with pytest.raises(InvalidReportError, match=rf"{name} must be in 0\.\.{bound}, got {name}={wrong} in row 7"):
            sketch.aggregate(good._replace(**{name: column}))
        with pytest.raises(InvalidReportError, match=f"{name}={wrong} in row 7"):
            sketch.count_support(good._replace(**{name: column}), [0])
    with pytest.raises(InvalidReportError, match="the same length, got the lengths 10, 10, 9"):
        sketch.aggregate(good._replace(value=good.value[:-1]))
    with pytest.raises(InvalidReportError, match="got an object of the type ndarray"):
        sketch.aggregate(good.value)


def test_estimates_are_unbiased_at_k_1024() -> None:
    """z with family-wise error 1e-6 over 1024 values, from the variance at the truth."""
    assert largest_z(CountMeanSketch.randomize) < stats.norm.isf(FAMILY_WISE_ERROR / 2048)


def test_a_large_dictionary_is_queried_without_its_counters() -> None:
    sketch = OLH(2**32, 4.0)
    codes = np.where(np.arange(60_000) % 2 == 0, 4_000_000_000, np.arange(60_000))
    counts = sketch.count_support(sketch.randomize(codes, SimulationRandomness(6)), [4_000_000_000, 3_999_999_999])
    p1, p0 = map(float, sketch.support_probabilities)
    frequencies = (counts / 60_000 - p0) / (p1 - p0)
    sd = np.sqrt([sketch.variance(f, 60_000) for f in (0.5, 0.0)])
    assert (np.abs(frequencies - [0.5, 0.0]) < stats.norm.isf(FAMILY_WISE_ERROR / 4) * sd).all()


def test_simulation_is_a_stream_of_reports() -> None:
    """The same seed gives the aggregate of the same reports, over several blocks."""
    sketch = OLH(6, 1.0)
    counts = np.array([BLOCK_WORDS, 5, 0, BLOCK_WORDS - 3, 1, 900])
    reports = sketch.randomize(np.repeat(np.arange(6), counts), SimulationRandomness(13))
    assert sketch.simulate_aggregate(counts, SimulationRandomness(13)) == sketch.aggregate(reports)
    nobody = sketch.simulate_aggregate(np.zeros(6, dtype=int), SimulationRandomness(1))
    assert (nobody.n, nobody.counts.tolist()) == (0, [0] * 6)
