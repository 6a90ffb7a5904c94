from __future__ import annotations

import csv
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from experiments.corr_rr import ideas, readings, tables
from experiments.corr_rr.measure import Ratio
from experiments.harness import Cell, Run
from numpy.typing import NDArray

from deniable import SPL, SimulationRandomness
from deniable.records.pivot.copy_probabilities import pairwise_copy_probabilities
from deniable.research.records.cond_rr import CondRR

Floats = NDArray[np.float64]


def _expected(p: Floats, target: Floats, pivot: Floats, n2: int, epsilon: float, levelled: bool) -> Floats:
    """Return the exact squared error of each value: over the pivot's draw, its GRR report, and the target's report."""
    k, (q, delta) = len(target), ideas.grr(len(target), epsilon)
    grr = np.full((k, k), q) + delta * np.eye(k)
    reported = np.zeros(k)
    for truth, drawn, sent in product(range(k), repeat=3):
        chance = p[drawn] if sent == drawn else (1 - p[drawn]) / (k - 1)
        reported[sent] += pivot[truth] * grr[truth, drawn] * chance / 2
    reported += target @ grr / 2
    if levelled:  # this takes out what uniform lies become, and leaves only the bias
        lies = np.array([sum(p[u] if u == v else (1 - p[u]) / (k - 1) for u in range(k)) for v in range(k)])
        return np.asarray(((reported - q * (1 + lies) / 2) / delta - target) ** 2)
    return np.asarray(((reported - q) / delta - target) ** 2 + reported * (1 - reported) / (n2 * delta**2))


def test_one_probability_for_all_values_is_theorem_5() -> None:
    """Minimum for each value, on a grid of probabilities that all values share."""
    rng, grid = np.random.default_rng(3), np.linspace(0, 1, 401)
    for k in (2, 3, 5):
        target, pivot = rng.dirichlet(np.ones(k), 2)
        errors = np.array([_expected(np.full(k, p), target, pivot, 300, 0.8, levelled=False) for p in grid])
        assert ideas.each(target, pivot, 300, 0.8) == pytest.approx(grid[errors.argmin(axis=0)], abs=grid[1])
        mean = pairwise_copy_probabilities([target, pivot], 300)[0, 1]
        assert mean == pytest.approx(grid[errors.sum(axis=1).argmin()], abs=grid[1])
    assert ideas.each(np.array([0.5, 0.3, 0.2]), np.full(3, 1 / 3), 100, 1.0) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("levelled", [False, True])
def test_all_probabilities_together_minimise_the_expected_error(levelled: bool) -> None:
    rng = np.random.default_rng(8)
    rule = ideas.together_levelled if levelled else ideas.together
    gained = 0
    for k in (2, 2, 3, 4, 6):
        target, pivot = rng.dirichlet(np.ones(k), 2)

        def total(p: Floats, target: Floats = target, pivot: Floats = pivot) -> float:
            return float(_expected(p, target, pivot, 300, 0.8, levelled).sum())

        found = rule(target, pivot, 300, 0.8)
        assert ((found >= 0) & (found <= 1)).all()
        best = total(found)
        others = [np.asarray(p) for p in product(np.linspace(0, 1, 21), repeat=2)] if k == 2 else rng.random((300, k))
        near = [np.clip(found + rng.normal(0, 0.02, k), 0, 1) for _ in range(100)]
        assert all(best <= total(p) + 1e-9 for p in (*others, *near))
        gained += best < total(np.full(k, pairwise_copy_probabilities([target, pivot], 300)[0, 1])) * 0.999
    assert gained >= 3


def test_tables_and_probabilities_are_learned_from_phase_one() -> None:
    assert ideas.table_of(np.array([0.5, 1.0, 0.0])).tolist() == [[0.5, 0.25, 0.25], [0, 1, 0], [0.5, 0.5, 0]]
    spl = SPL((3, 3), 2.0)
    first = spl.simulate_aggregate([[600, 300, 100], [200, 300, 500]], SimulationRandomness(1))
    target, pivot = (spl.estimate(first)[j].frequencies for j in (1, 0))
    learned = ideas.learned(first, 900, ideas.each)
    assert isinstance(learned, CondRR)
    rows = np.array(learned.conditionals[0][1], dtype=np.float64)
    np.testing.assert_allclose(np.diag(rows), ideas.each(target, pivot, 900, 2.0))
    group = ideas.people_of({"family": "SynA as described", "d": 2, "rho": 0.1, "n": 2000})
    found = ideas.by_value(group, 1.0, 0.1, SimulationRandomness(2))
    assert set(found) == {"Corr-RR", *ideas.RULES, "SMP"}
    assert {part.contributors for one in found.values() for part in one.values()} == {2000}


def test_sizes_of_phase_one() -> None:
    group = ideas.people_of({"family": "SynA as described", "d": 4, "rho": 0.1, "n": 20_000})
    share = ideas.by_deviation(group, 0.5, 0.05)
    spl = SPL(group.sizes, 0.5)
    n1 = round(share * group.n)
    even = spl.estimate(spl.simulate_aggregate([[n1 // 4] * 4] * 4, SimulationRandomness(1)))
    assert float(np.mean([part.standard_errors_for("population").mean() for part in even.values()])) == pytest.approx(
        0.05, rel=0.02
    )
    assert 0.1 <= ideas.planned(group, 0.5) <= 0.5
    assert [ideas.nearest(one) for one in (0.0001, 0.06, 0.08, 0.9)] == [0.02, 0.05, 0.1, 0.5]
    mean = ideas.geometric_mean([Ratio(2.0, 0.2), Ratio(0.5, 0.05)])
    assert mean == pytest.approx((1.0, math.sqrt(2 * 0.1**2) / 2))


# ---------------------------------------------------------------- readings


def test_mergings_have_the_correlation_of_merged_codes() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 5, 200), rng.integers(0, 7, 200)
    first[:5], second[:7] = range(5), range(7)
    found = dict(readings.correlations(first, second))
    assert len(found) == math.comb(6, 4)
    for (a, b), value in list(found.items())[::4]:
        merged = readings.groups(7, b)[second]
        assert a == (1, 2, 3, 4)
        assert merged.max() == 4
        assert value == pytest.approx(np.corrcoef(first, merged)[0, 1], abs=1e-12)
    assert readings.groups(7, (1, 2, 4, 6)).tolist() == [0, 1, 2, 2, 3, 3, 4]
    fits = [readings.Reading(("a", "b"), ((), ()), value).fits for value in (0.2094, -0.2086, 0.2102, 0.208)]
    assert fits == [True, True, False, False]


def test_readings_keep_the_columns_they_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{'abcde'[i % 5]},{'uvwxyz'[i * 7 % 6]},{'no'[i % 2]}" for i in range(60)]
    (tmp_path / "mushroom.csv").write_text("\n".join(["root,colour,bruises", *rows]), encoding="utf-8")
    monkeypatch.setenv("DENIABLE_DATA", str(tmp_path))
    found = readings.mushroom()
    assert {kind: len(every) for kind, every in found.items()} == {
        "neither merged": 0,
        "one merged": math.comb(5, 4),
        "both merged": 0,
    }
    people = readings.people_of({"columns": ["root", "colour"], "cuts": [[1, 2, 3, 4], [1, 2, 3, 4]]})
    assert (people.n, people.sizes) == (60, (5, 5))
    assert [counts.tolist() for counts in people.marginal_counts] == [[12] * 5, [10, 10, 10, 10, 20]]


# ---------------------------------------------------------------- readings of the printed tables


def test_other_rules_are_held_to_the_printed_corr_rr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def same(cell: Cell) -> Cell:
        return {"mse": {line: [1e-3, 1e-4] for line in ("RS+RFD|raw", *tables.READINGS.values())}}

    monkeypatch.setattr(tables, "measure", same)
    run = Run("corr_rr", "agreement", tmp_path, runs=4, seed=1)
    tables.agreement(run)
    with (run.folder / "agreement-readings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 3 * 6
    assert {row["method"] for row in rows} == {"Corr-RR", "Corr-RR preprint", "Corr-RR copying"}
    by_place = {(row["data"], row["method"], row["in table"]): float(row["chi2/cell"]) for row in rows}
    for source, table in product(("as_described", "shared_marginals"), tables.TABLES):
        assert by_place[source, "Corr-RR copying", table] == pytest.approx(by_place[source, "Corr-RR", table])
    with (run.folder / "agreement-summary.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 3 * 4
