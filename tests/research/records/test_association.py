"""Measures of dependence from tables of pairs: textbook values, and their noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from deniable import SimulationRandomness
from deniable.records.split import SPLPairs
from deniable.research.records.association import cramers_v, dependence_matrix, pearson
from deniable.research.records.joint_tables import pair_tables
from tests.research.records.pair_laws import _held
from tests.unit._goodness import FAMILY_WISE_ERROR
from tests.unit.records.record_laws import records


def test_without_noise_it_is_the_textbook() -> None:
    """At epsilon 32: Cramer's V and r of the true table, by scipy and numpy."""
    joint = np.array([[0.2, 0.1, 0.0], [0.05, 0.3, 0.05], [0.0, 0.1, 0.2]])
    pairs, n = SPLPairs((3, 3), 32), 1000
    every, counts = _held(joint, n)
    table = pair_tables(pairs.simulate_aggregate(every, counts, SimulationRandomness(1)))[0, 1]
    observed = np.array(counts).reshape(3, 3)
    chi2 = stats.contingency.chi2_contingency(observed, correction=False).statistic
    v = cramers_v(table)
    assert v.value == pytest.approx(math.sqrt(chi2 / n / 2), rel=1e-4)
    assert v.null_level == pytest.approx(math.sqrt(4 / n / 2), rel=1e-4)
    assert v.squared == pytest.approx((chi2 - 4) / n / 2, rel=1e-4)
    x, y = np.repeat(np.array(every), counts, axis=0).T
    assert pearson(table).value == pytest.approx(np.corrcoef(x, y)[0, 1], rel=1e-4)
    scores = ([1.0, 5.0, 6.0], [0.0, -1.0, 3.0])
    assert pearson(table, scores).value == pytest.approx(
        np.corrcoef(np.array(scores[0])[x], np.array(scores[1])[y])[0, 1], rel=1e-4
    )
    assert dependence_matrix(
        pair_tables(pairs.simulate_aggregate(every, counts, SimulationRandomness(1)))
    ).diagonal().tolist() == [1, 1]


def test_the_noise_of_dependence_is_as_stated() -> None:
    """Independent attributes, 1500 collections: V^2 has its null mean and deviation, and is not evidence (z)."""
    pairs, n, draws, rng = SPLPairs((3, 4), 3.0), 5000, 1500, SimulationRandomness(3)
    rows, columns = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.2, 0.1])
    law, found = np.outer(rows, columns).ravel(), []
    every = records((3, 4))
    for _ in range(draws):
        table = pair_tables(pairs.simulate_aggregate(every, rng.generator.multinomial(n, law), rng))[0, 1]
        v, r = cramers_v(table), pearson(table)
        found.append((v.value**2, v.null_level**2, v.squared, v.z, r.value, r.standard_error))
    raw, null, squared, z, r, r_error = np.array(found).T
    bound = float(stats.norm.isf(FAMILY_WISE_ERROR / 8))
    assert abs(squared.mean()) < bound * squared.std() / math.sqrt(draws) + 0.02 * null.mean()
    assert raw.mean() > 0.9 * null.mean()  # the raw estimate is biased upwards, because the true V is zero
    assert abs(r.mean()) < bound * r.std() / math.sqrt(draws)
    # A standard deviation of `draws` nearly normal values has a relative error of sqrt((kurtosis - 1)/4 draws) < .06.
    assert z.std() == pytest.approx(1.0, abs=bound * 0.035)
    assert r.std() / np.sqrt((r_error**2).mean()) == pytest.approx(1.0, abs=bound * 0.02)


def test_under_dependence_too() -> None:
    joint = 0.5 * np.diag([0.5, 0.3, 0.2]) + 0.5 * np.outer([0.5, 0.3, 0.2], [0.5, 0.3, 0.2])
    pairs, n, draws, rng = SPLPairs((3, 3), 4.0), 20_000, 600, SimulationRandomness(4)
    every, found = records((3, 3)), []
    for _ in range(draws):
        table = pair_tables(pairs.simulate_aggregate(every, rng.generator.multinomial(n, joint.ravel()), rng))[0, 1]
        v, r = cramers_v(table), pearson(table)
        found.append((v.squared, v.squared_standard_error, r.value, r.standard_error, v.z))
    squared, error, r, r_error, z = np.array(found).T
    assert squared.mean() == pytest.approx(0.25, abs=0.005)  # V = .5, because half of the people have two equal codes
    assert r.mean() == pytest.approx(0.5, abs=0.005)
    assert r.std() / r_error.mean() == pytest.approx(1.0, abs=0.15)
    assert squared.std() / error.mean() == pytest.approx(1.0, abs=0.35)  # residuals have the covariance of independence
    assert z.min() > 5
