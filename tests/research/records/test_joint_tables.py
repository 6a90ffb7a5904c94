"""Tables of pairs: unbiased, with known noise, and with intervals that cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from deniable import Aggregate, SimulationRandomness
from deniable.errors import (
    DamagedStateError,
    EmptyAggregateError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
    TooLargeError,
)
from deniable.records.split import SPLPairs
from deniable.research.records import joint_tables as module
from deniable.research.records.association import cramers_v, pearson
from deniable.research.records.joint_tables import pair_table, pair_tables
from tests.research.records.pair_laws import _held
from tests.unit.records.record_laws import records

# -------------------------------------------------------------------- the tables


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 4)])
def test_tables_are_unbiased_and_their_noise_is_known(sizes: tuple[int, int], epsilon: float) -> None:
    """Exact expectation and variance of one report's table over the channel, for all records."""
    pairs = SPLPairs(sizes, epsilon)
    outputs, channel = pairs.outputs(), pairs.channel()
    single = np.array(
        [pair_tables(pairs.aggregate(outputs[o : o + 1]))[0, 1].cells.frequencies for o in range(len(outputs))]
    )
    scale = max(1.0, float(np.abs(single).max()))
    every = records(sizes)
    for x, law in zip(every, channel, strict=True):
        truth = np.array([float(cell == x) for cell in every])
        assert np.abs(law @ single - truth).max() < 1e-12 * scale
    # At a known joint distribution (here the reports' own expectation), the noise is E second moment - frequency.
    joint = np.arange(1.0, len(every) + 1)
    joint /= joint.sum()
    n = 10**9
    expected = (channel.T @ joint * n).reshape(sizes)
    found = pair_table(expected, n, *pairs.oracles)  # type: ignore[arg-type]
    noise = joint @ (channel @ single**2) - joint
    assert found.cells.frequencies == pytest.approx(joint, abs=1e-9)
    assert found.standard_errors.ravel() ** 2 * n == pytest.approx(noise, rel=1e-6)


def test_intervals_of_cells_cover() -> None:
    joint = np.array([[0.5, 0.1, 0.0], [0.1, 0.1, 0.2]])
    pairs, n, draws, rng = SPLPairs((2, 3), 3.0), 4000, 1500, SimulationRandomness(2)
    held = _held(joint, n)
    hits = np.zeros(6)
    for _ in range(draws):
        low, high = pair_tables(pairs.simulate_aggregate(*held, rng))[0, 1].cells.interval()
        hits += (low <= joint.ravel()) & (joint.ravel() <= high)
    fewest, most = stats.binom.ppf(5e-7, draws, 0.94), stats.binom.isf(5e-7, draws, 0.96)
    assert ((hits >= fewest) & (hits <= most)).all(), hits / draws


def test_projection_is_a_named_step() -> None:
    pairs = SPLPairs((3, 3), 0.5)
    table = pair_tables(pairs.aggregate(np.array([[0, 0], [0, 0], [1, 2]])))[0, 1]
    projected = table.projected
    assert projected.cells.processing == ("simplex",)
    assert projected.cells.raw is table.cells
    assert projected.projected is projected
    assert projected.frequencies.min() >= 0
    assert projected.frequencies.sum() == pytest.approx(1.0, abs=1e-12)
    assert table.cells.is_raw
    assert table.cells.labels[5] == "(1, 2)"
    assert np.isnan(projected.standard_errors).all()


def test_mutant_that_forgets_one_inverse_is_biased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "inverse", lambda oracle: np.eye(oracle.k))
    with pytest.raises(AssertionError):
        test_tables_are_unbiased_and_their_noise_is_known((3, 2), 1.0)


# -------------------------------------------------------------------- dependence


def test_without_variance_there_is_no_correlation() -> None:
    pairs = SPLPairs((2, 2), 0.1)
    value, error = pearson(pair_tables(pairs.aggregate([[0, 0], [0, 0], [0, 1]]))[0, 1])
    assert math.isnan(value)
    assert error == math.inf


# -------------------------------------------------------------------- bad input


def test_refuses() -> None:
    pairs = SPLPairs((3, 2), 1.0)
    aggregate = pairs.aggregate([[2, 1], [0, 0]])
    with pytest.raises(InvalidParameterError, match="at least two attributes"):
        SPLPairs((3,), 1.0)
    with pytest.raises(TooLargeError, match="at most 4194304 cells, got 4202500"):
        SPLPairs((2050, 2050), 1.0)
    with pytest.raises(InvalidReportError, match="got report=2 in row 1, attribute 1"):
        pairs.aggregate([[0, 2]])
    with pytest.raises(MismatchError, match="pair tables need an aggregate of the mechanism SPL pairs"):
        pair_tables(pairs.marginals(aggregate))
    with pytest.raises(EmptyAggregateError):
        pair_tables(Aggregate.empty(pairs))
    with pytest.raises(InvalidParameterError, match="two different attributes"):
        pair_tables(aggregate)[1, 1]
    with pytest.raises(InvalidParameterError, match="attribute must be <= 1"):
        pair_tables(aggregate)[0, 2]
    three = SPLPairs((2, 2, 2), 1.0)
    with pytest.raises(DamagedStateError, match="tables of attribute 0 must have the same total for each category"):
        Aggregate(three, np.array([1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0]), 1)
    table = pair_tables(aggregate)[0, 1]
    for measure in (cramers_v, pearson):
        with pytest.raises(
            InvalidParameterError,
            match=r"table must be raw \(not post-processed\), got a table that was processed by simplex",
        ):
            measure(table.projected)
    with pytest.raises(
        InvalidParameterError, match=r"two lists, with 3 numbers for the first attribute and 2 numbers for the second"
    ):
        pearson(table, [[0, 1], [0, 1]])
