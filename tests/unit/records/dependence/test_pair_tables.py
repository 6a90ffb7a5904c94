from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import SPL, Aggregate, SimulationRandomness
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
from deniable.research.records.association import cramers_v, dependence_matrix, pearson
from deniable.research.records.joint_tables import pair_table, pair_tables
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted
from tests.unit.records.record_laws import aggregates_agree, records


def _held(joint: Any, n: int) -> tuple[list[tuple[int, ...]], list[int]]:
    every = list(itertools.product(*map(range, np.shape(joint))))
    return every, [round(n * float(joint[cell])) for cell in every]


# -------------------------------------------------------------------- counting


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2, 4), (2, 2, 2, 2, 2)])
@pytest.mark.parametrize("n", [0, 3, 500])
def test_every_pair_is_counted(sizes: tuple[int, ...], n: int) -> None:
    random = np.random.default_rng(1)
    reports = np.stack([random.integers(0, k, n) for k in sizes], axis=1)
    expected = []
    for i, j in itertools.combinations(range(len(sizes)), 2):
        expected += [
            sum(bool(row[i] == a and row[j] == b) for row in reports) for a in range(sizes[i]) for b in range(sizes[j])
        ]
    pairs = SPLPairs(sizes, 1.0)
    assert pairs.state_size == len(expected)
    for form in (reports, reports.astype(np.uint8), np.asfortranarray(reports)):
        assert pairs.aggregate(form).counts.tolist() == expected
    with always_interpreted():
        assert pairs.aggregate(reports).counts.tolist() == expected


def test_marginals_are_those_of_spl() -> None:
    pairs = SPLPairs((3, 2, 4), 2.0)
    spl = SPL((3, 2, 4), 2.0)
    reports = spl.randomize(np.array(records((3, 2, 4)) * 5), SimulationRandomness(1))
    assert (
        pairs.randomize([[0, 1, 2]] * 9, SimulationRandomness(4))
        == spl.randomize([[0, 1, 2]] * 9, SimulationRandomness(4))
    ).all()
    aggregate = pairs.aggregate(reports)
    assert pairs.marginals(aggregate) == spl.aggregate(reports)
    ours, theirs = pairs.estimate(aggregate), spl.estimate(spl.aggregate(reports))
    for j in range(3):
        assert ours[j].frequencies.tolist() == theirs[j].frequencies.tolist()
        assert ours[j].standard_errors.tolist() == theirs[j].standard_errors.tolist()
    tables = pair_tables(aggregate)
    for (i, j), table in tables.items():
        assert table.margins[0] == pytest.approx(theirs[i].frequencies, abs=1e-12)
        assert table.margins[1] == pytest.approx(theirs[j].frequencies, abs=1e-12)
    assert tables[2, 0].frequencies == pytest.approx(tables[0, 2].frequencies.T, abs=1e-14)
    assert tables[2, 0].projected.frequencies == pytest.approx(tables[0, 2].projected.frequencies.T, abs=1e-15)
    assert tables[2, 0].attributes == (2, 0)
    assert list(tables) == [(0, 1), (0, 2), (1, 2)]
    assert len(tables) == 3


def test_the_noise_of_an_interaction_is_that_of_centred_reports() -> None:
    """The variance of a cell at uniform answers: of each attribute's estimate from one report, here by its channel."""
    pairs = SPLPairs((2, 5), 3.0)
    table = pairs.tables(pairs.aggregate([[0, 4], [1, 2], [1, 1]]))[0, 1]
    expected = 1 / 3
    for oracle in pairs.oracles:
        centred = np.linalg.inv(oracle.channel()) - 1 / oracle.k
        expected *= float(np.trace(centred @ centred.T)) / oracle.k**2
    assert table.interaction_spread() == pytest.approx(expected, rel=1e-12)


def test_tables_that_are_simulated_one_by_one_are_seen() -> None:
    """Mutant: every pair's table drawn on its own. Tables of overlapping pairs share reports, so they co-vary."""
    pairs, every, held = SPLPairs((2, 2, 2), 1.0), records((2, 2, 2)), np.arange(10, 18) * 9
    outputs, rng = pairs.outputs(), SimulationRandomness(1)
    states = np.array([pairs.aggregate(outputs[o : o + 1]).counts for o in range(8)], dtype=np.float64)
    honest = [pairs.simulate_aggregate(every, held, rng).counts for _ in range(800)]
    assert aggregates_agree(pairs, held, np.array(honest), states)
    mutant = [
        np.concatenate([pairs.simulate_aggregate(every, held, rng).counts[4 * p : 4 * p + 4] for p in range(3)])
        for _ in range(800)
    ]
    assert not aggregates_agree(pairs, held, np.array(mutant), states)


# -------------------------------------------------------------------- the tables


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 4)])
def test_tables_are_unbiased_and_their_noise_is_known(sizes: tuple[int, int], epsilon: float) -> None:
    """Exact expectation and variance of one report's table over the channel, for every record."""
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
    # At a known joint distribution (here the reports' own expectation), noise = E second moment - frequency.
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


def test_without_noise_it_is_the_textbook() -> None:
    """epsilon = 32: Cramer's V and r of the true table, by scipy and numpy."""
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
    """Independent attributes, 1500 collections: V^2 has its null mean, its deviation, and is no evidence (z)."""
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
    assert raw.mean() > 0.9 * null.mean()  # biased upwards: true V is zero
    assert abs(r.mean()) < bound * r.std() / math.sqrt(draws)
    # A standard deviation of `draws` values near the normal has relative error sqrt((kurtosis - 1)/4 draws) < .06.
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
    assert squared.mean() == pytest.approx(0.25, abs=0.005)  # V = .5: half of everybody has two equal codes
    assert r.mean() == pytest.approx(0.5, abs=0.005)
    assert r.std() / r_error.mean() == pytest.approx(1.0, abs=0.15)
    assert squared.std() / error.mean() == pytest.approx(1.0, abs=0.35)  # residuals' covariance at independence
    assert z.min() > 5


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
    with pytest.raises(DamagedStateError, match="tables of attribute 0 must have the same totals"):
        Aggregate(three, np.array([1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0]), 1)
    table = pair_tables(aggregate)[0, 1]
    for measure in (cramers_v, pearson):
        with pytest.raises(
            InvalidParameterError,
            match=r"table must be raw \(not post-processed\), got a table that was processed by simplex",
        ):
            measure(table.projected)
    with pytest.raises(InvalidParameterError, match=r"one number for each category: first 3 numbers, then 2"):
        pearson(table, [[0, 1], [0, 1]])
