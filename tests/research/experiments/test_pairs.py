"""Experiments on crosstabs: baselines are what they claim to be, and a small run has the order of the table."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from experiments.answers import pair_coverage, pair_methods as methods
from experiments.answers.paper import PAPER
from experiments.answers.populations import population

from deniable import SimulationRandomness
from deniable.oracles.subset import SubsetSelection


def test_views_cover_every_pair_and_are_chosen_by_predicted_error() -> None:
    for d, m in ((5, 3), (8, 4)):
        assert set(combinations(range(d), 2)) == {
            pair for view in methods.cover(d, m) for pair in combinations(view, 2)
        }
    assert {len(view) for view in methods.best_views((4, 5, 3, 6), 1.0)} == {2}
    binary = methods.best_views((2,) * 10, 2.0)
    assert {len(view) for view in binary} == {3}
    assert methods.predicted((2,) * 10, binary, 2.0) < methods.predicted((2,) * 10, methods.cover(10, 2), 2.0)


def test_a_pairs_spread_is_the_variance_of_the_sum_of_its_cells() -> None:
    """At the uniform distribution, by the exact covariance of the cells of a view."""
    oracle = SubsetSelection(12, 1.0)
    f = np.full(12, 1 / 12)
    covariance = oracle.covariance(f, 1)
    rows = np.kron(np.eye(4), np.ones(3))
    noise = float(np.mean(np.diag(rows @ covariance @ rows.T)))
    assert methods.pair_spread(oracle.variance(1 / 12, 1), 12, 4) == pytest.approx(noise + 0.25 * 0.75, rel=1e-10)


def test_tables_from_views_are_those_of_the_people() -> None:
    people = population("public")
    held = people.draw(400_000, np.random.default_rng(1))
    some = held > 0
    views = methods.cover(5, 3)
    tables = methods.ViewTables(people, people.records[some], held[some], views, 4.0, SimulationRandomness(2))
    for i, j in tables:
        assert np.abs(tables[i, j].frequencies - people.table(held, i, j)).max() < 0.02
        assert tables.consistent(i, j).sum(axis=1) == pytest.approx(tables.margin(i), abs=1e-12)


def test_a_small_run_has_the_order_of_the_table(tmp_path: Path) -> None:
    people = population("public")
    held = people.draw(20_000, np.random.default_rng(3))
    errors = {
        name: methods.error(found, lambda i, j: people.table(held, i, j))
        for name, found in methods.all_tables(people, held, 1.5, 4).items()
    }
    assert set(errors) == set(methods.METHODS)
    reference = errors[methods.REFERENCE]
    assert errors[methods.WEIGHTED] < reference < errors[methods.RAW] < errors[methods.SPL_RAW] / 5
    assert pair_coverage.TABLES
    PAPER.run("independence", tmp_path, runs=1)
    assert (tmp_path / "answers" / "independence.json").exists()
