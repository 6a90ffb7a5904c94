"""Pairs of attributes: each is counted, with the marginals of SPL."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from deniable import SPL, SimulationRandomness
from deniable.records.split import SPLPairs
from deniable.research.records.joint_tables import pair_tables
from tests.unit._goodness import always_interpreted
from tests.unit.records.record_laws import aggregates_agree, records


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
    """Mutant: each pair's table is drawn alone. Tables of overlapping pairs share reports, so that they covary."""
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
