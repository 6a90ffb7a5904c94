"""Ranges of leakage if the joint distribution is known only from few records or from reports."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from deniable import GRR, SimulationRandomness
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError, TooLargeError
from deniable.leakage import (
    conditional_from_joint,
    range_from_counts,
    worst_case_cpl,
)
from deniable.leakage.prior import uncertain_prior
from deniable.postprocess.consistency import simplex
from deniable.research.leakage import (
    exact_totals,
    joint_from_estimate,
    range_from_estimate,
)


def _figure(joint: np.ndarray[Any, Any]) -> float:
    return worst_case_cpl(conditional_from_joint(joint), 1.0).epsilon


def test_the_range_narrows_with_the_data_and_contains_the_truth() -> None:
    truth = np.array([[0.42, 0.08], [0.15, 0.35]])
    widths = []
    for n in (100, 10_000):
        counts = np.round(truth * n).astype(np.int64)
        found = range_from_counts(counts, _figure, SimulationRandomness(5))
        assert found.low <= _figure(truth) <= found.high
        assert found.low <= found.median <= found.high
        assert float(found.point) == pytest.approx(_figure(counts / n), abs=1e-12)
        widths.append(float(found.high - found.low))
    assert widths[1] < widths[0] / 5


def test_a_cell_empty_by_chance_is_not_taken_at_its_word() -> None:
    found = range_from_counts(np.array([[8, 0], [6, 6]]), _figure, SimulationRandomness(6), level=0.8)
    assert found.small_cells == 1
    assert float(found.point) == pytest.approx(math.log((1 + math.e) / 2), abs=1e-9)  # the empty cell's limit
    assert found.low < found.median < found.point
    text = str(found)
    assert "80% of 400 joints" in text
    assert "the Dirichlet posterior of 20 records with 0.5 added to each of 4 cells" in text
    assert "guarantee nothing" in text


def test_ranges_of_many_figures_at_once() -> None:
    found = range_from_counts(
        np.array([[30, 10], [5, 55]]),
        lambda joint: exact_totals(joint, [GRR(2, 1.0)] * 2),
        SimulationRandomness(7),
        draws=50,
    )
    assert found.point.shape == found.low.shape == found.high.shape == (2,)
    assert (found.low <= found.high).all()
    assert "(largest of 2)" in str(found)


def test_the_posterior_is_the_dirichlet_distribution() -> None:
    """Mean of one cell over 4,000 draws: z below 5 (p < 1e-6). The mutant that adds 1 per cell is more than 30 off."""
    counts, draws = np.array([[3, 0], [1, 6]]), 4000
    seen: list[float] = []

    def cell(joint: np.ndarray[Any, Any]) -> float:
        seen.append(float(joint[0, 1]))
        return 0.0

    range_from_counts(counts, cell, SimulationRandomness(8), draws=draws)
    values = np.array(seen[:draws])
    a, total = 0.5, 12.0
    mean, variance = a / total, a * (total - a) / (total**2 * (total + 1))
    assert abs(values.mean() - mean) < 5 * math.sqrt(variance / draws)


def test_an_estimate_from_reports_gives_a_range_around_the_truth() -> None:
    truth = np.array([[0.42, 0.08], [0.15, 0.35]])
    pairs, rng = GRR(k=4, epsilon=2.0), SimulationRandomness(9)
    estimate = pairs.estimate(pairs.simulate_aggregate(np.round(truth.ravel() * 50_000).astype(np.int64), rng))
    found = range_from_estimate(estimate, (2, 2), _figure, rng)
    assert found.low <= _figure(truth) <= found.high
    assert found.high - found.low < 0.2
    assert float(found.point) == pytest.approx(_figure(joint_from_estimate(estimate, (2, 2))), abs=1e-12)
    assert "normal errors of an estimate from 50000 reports" in found.method


def test_an_estimate_of_too_many_cells_is_no_joint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncertain_prior, "MAX_RANGE_CELLS", 3)
    grr = GRR(k=4, epsilon=3.0)
    with pytest.raises(TooLargeError, match="at most 3 cells, got 4"):
        joint_from_estimate(grr.estimate(grr.aggregate(np.arange(4))), (2, 2))


def test_estimates_without_errors_or_with_vanishing_categories_are_refused() -> None:
    grr, rng = GRR(k=4, epsilon=3.0), SimulationRandomness(10)
    estimate = grr.estimate(grr.aggregate(np.repeat([0, 1, 2, 3], [40, 15, 5, 40])))
    with pytest.raises(NoIntervalError, match=r"pass estimate\.raw"):
        range_from_estimate(simplex(estimate), (2, 2), _figure, rng)
    with pytest.raises(
        InvalidInputError,
        match=r"shape must have 4 cells \(one for each category of the estimate\), got shape=\(2, 3\)",
    ):
        joint_from_estimate(estimate, (2, 3))
    many = grr.estimate(grr.simulate_aggregate(np.array([500_000, 500_000, 0, 0]), rng))
    assert joint_from_estimate(many, (2, 2)).sum() == pytest.approx(1, abs=1e-12)
    gone = GRR(k=4, epsilon=8.0)
    certain = gone.estimate(gone.aggregate(np.repeat([0, 1], [500_000, 500_000])))
    with pytest.raises(InvalidInputError, match=r"some category got the probability 0|category 1 of attribute 0"):
        range_from_estimate(certain, (2, 2), _figure, rng)


@pytest.mark.parametrize(
    ("counts", "options", "error", "message"),
    [
        ([[1.5, 2.0], [1.0, 1.0]], {}, InvalidInputError, "counts must be a table of integers"),
        ([[1, -2], [1, 1]], {}, InvalidInputError, "counts must be >= 0, but a count is negative"),
        ([[0, 0], [0, 0]], {}, InvalidInputError, "counts must include at least one record"),
        ([[1, 2], [1, 1]], {"level": 1.0}, InvalidParameterError, r"level must be in \(0, 1\)"),
        ([[1, 2], [1, 1]], {"draws": 5}, InvalidParameterError, "draws must be >= 20"),
        ([[1, 2], [1, 1]], {"pseudo_count": 0.0}, InvalidParameterError, "pseudo_count must be > 0"),
        (np.zeros((1 << 11, 1 << 10), dtype=np.int64) + 1, {}, TooLargeError, "at most 1048576 cells"),
    ],
)
def test_bad_tables_are_named(counts: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        range_from_counts(counts, _figure, SimulationRandomness(1), **options)
