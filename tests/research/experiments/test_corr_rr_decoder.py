"""The decoder's experiments: held-out settings, populations, known errors, and intervals that cover."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import correlated
from experiments.corr_rr import coverage, decoder, decoder_settings
from experiments.corr_rr.decoder_data import DISTINCT, population
from experiments.corr_rr.decoder_runs import (
    BASELINES,
    Choice,
    collect,
    measure,
    paired_ratio,
    repetitions,
    squared_errors,
)
from experiments.corr_rr.methods import simulated
from experiments.corr_rr.paper import PAPER
from experiments.corr_rr.populations import People
from experiments.harness import Cell, Run
from scipy import stats

from deniable import SPL, RecordEstimate, SimulationRandomness
from deniable.records import combine
from deniable.records.pivot.pivot_coded import PivotCoded


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


# ---------------------------------------------------------------- settings


def test_held_out_settings_chose_nothing() -> None:
    held_out = decoder_settings.held_out()
    assert len(held_out) == 149
    chosen = decoder_settings.choosing() + decoder_settings.development()
    assert not {cell["file"] for cell in held_out if "file" in cell} & {c["file"] for c in chosen if "file" in c}
    # Synthetic people depend on everything in a setting except for its budget, and on the seed of the draw.
    assert {cell["sample"] for cell in held_out if "source" in cell} == {31_337}
    assert 31_337 not in {cell["sample"] for cell in chosen}


def test_large_domains_that_chose_nothing() -> None:
    held_out, chosen = decoder_settings.large(), decoder_settings.large_development()
    assert (len(held_out), len(chosen)) == (297, 198)
    assert not {cell["sample"] for cell in held_out} & {cell["sample"] for cell in chosen}
    shares = [{cell["share"] for cell in cells if "share" in cell} for cells in (held_out, chosen)]
    assert not shares[0] & shares[1]


def test_drawn_settings_span_what_they_say() -> None:
    cells = decoder_settings.drawn(400, seed=3)
    sizes = [k for cell in cells for k in cell["sizes"]]
    assert (min(sizes), max(sizes)) == (2, 20)
    assert {len(cell["sizes"]) for cell in cells} == set(range(2, 9))
    assert 500 <= min(cell["n"] for cell in cells) < 600
    assert 8e5 < max(cell["n"] for cell in cells) <= 1e6
    assert 0.1 <= min(cell["epsilon"] for cell in cells) < 0.11
    assert 4.5 < max(cell["epsilon"] for cell in cells) <= 5
    assert {cell["source"] for cell in cells} == {"independent", "alike", "classes", "copies"}
    assert sum(len(set(cell["sizes"])) == 1 for cell in cells) >= 200
    assert cells == decoder_settings.drawn(400, seed=3)


def test_the_choosing_grid_has_the_tables_and_figures() -> None:
    cells = decoder_settings.choosing()
    assert {cell["n"] for cell in cells if "n" in cell} == {200, 2000, 10_000, 20_000}
    assert len({repr(cell) for cell in cells}) == len(cells) == 326
    assert {cell["family"] for cell in cells} == {"first version", "second version", "real data"}


# ---------------------------------------------------------------- contributors

KINDS: list[Cell] = [
    {"source": "independent", "alpha": 0.1},
    {"source": "alike", "alpha": 1.0, "closeness": 5.0},
    {"source": "classes", "alpha": 0.3, "classes": 3},
    {"source": "copies", "alpha": 1.0, "rho": 0.8},
    {"source": "spike", "alpha": 0.3, "share": 0.9},
    {"source": "zipf", "power": 1.5},
    {"data": "SynB", "source": "as_described", "rho": 0.5},
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.get("data", kind["source"]))
def test_a_setting_fixes_its_contributors(kind: Cell) -> None:
    sizes = [4, 4, 4] if "data" in kind else [4, 7, 4]
    cell = kind | {"sizes": sizes, "n": 6000, "epsilon": 1.0, "sample": 5}
    people, groups = population(cell)
    assert people.n == 6000
    assert len(people.records) <= DISTINCT
    assert (people.records >= 0).all()
    assert (people.records < sizes).all()
    assert groups == (((0, 1, 2),) if "data" in kind else ((0, 2), (1,)))
    again = population(cell | {"epsilon": 3.0, "runs": 7}).people
    np.testing.assert_array_equal(again.records, people.records)
    np.testing.assert_array_equal(again.counts, people.counts)
    other = population(cell | {"sample": 6}).people
    assert any((a != b).any() for a, b in zip(other.frequencies, people.frequencies, strict=True))


def test_views_of_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.csv").write_text("a,b,c,d\n10,x,2,p\n9,y,9,q\n10,x,2,r\n9,x,10,s\n")
    monkeypatch.setenv("DENIABLE_DATA", str(tmp_path))
    cell = {"file": "people.csv", "columns": [["a", "c"], ["b"]], "epsilon": 1.0, "sample": 0}
    people, groups = population(cell)
    # The union of the values of a and c in the order of numbers is 2, 9, 10.
    assert (people.sizes, groups) == ((3, 3, 2), ((0, 1), (2,)))
    assert people.records.tolist() == [[1, 1, 1], [1, 2, 0], [2, 0, 0]]
    assert people.counts.tolist() == [1, 1, 2]
    merged = population(cell | {"columns": [["d"]], "merge": 2}).people
    assert (merged.sizes, merged.counts.tolist()) == ((2,), [2, 2])
    assert population(cell | {"n": 3}).people.n == 3


# ---------------------------------------------------------------- runs


def test_ratio_of_means_and_its_error_by_the_jackknife() -> None:
    rng = np.random.default_rng(1)
    b = rng.gamma(3, 1, 500)
    a = 0.8 * b + rng.gamma(1, 0.1, 500)
    left_out = (a.sum() - a) / (b.sum() - b)
    ratio, error = paired_ratio(a, b)
    assert ratio == pytest.approx(a.sum() / b.sum())
    assert error == pytest.approx(math.sqrt(499 / 500 * np.sum((left_out - left_out.mean()) ** 2)), rel=0.01)
    assert paired_ratio(a, b[:7])[0] == pytest.approx(a[:7].sum() / b[:7].sum())


def test_repetitions() -> None:
    assert repetitions((2, 2), 2000) == 1000
    assert repetitions((20, 20, 20), 2000) == 40


def test_errors_measured_independently() -> None:
    # Projected, with d = 2, rho = .1, n = 20000, epsilon = .5, the errors are 9.0e-4, 2.55e-3 and 8.9e-4 to two or
    # three digits. Three means at z = 5.1 have a family-wise error of 1e-6.
    cell: Cell = {"data": "SynA", "source": "as_described", "rho": 0.1, "sizes": [4, 4], "n": 20_000, "sample": 0}
    given, rng, choice = population(cell), SimulationRandomness(1), Choice((4, 4), 0.5)
    assert choice.protocol.startswith("PivotCoded")
    found: dict[str, list[float]] = {}
    for _ in range(100):
        answers = collect(given, 0.5, choice, rng)
        for name, error in zip(answers, squared_errors(answers, given.people.frequencies), strict=True):
            found.setdefault(name, []).append(error)
    assert list(found) == [*BASELINES, "default", "any report"]
    for name, expected, rounding in (("SMP", 9.0e-4, 5e-6), ("Corr-RR", 2.55e-3, 5e-6), ("default", 8.9e-4, 5e-6)):
        errors = np.array(found[name])
        assert abs(errors.mean() - expected) < 5.1 * errors.std(ddof=1) / math.sqrt(100) + rounding, name


def test_corr_rr_over_unequal_domains_is_measured_in_fewer_runs() -> None:
    cell: Cell = {"source": "classes", "alpha": 1.0, "classes": 2, "sizes": [2, 3], "n": 500, "sample": 1}
    values = measure(cell | {"epsilon": 1.0, "runs": 1, "seed": 1})
    assert values["repetitions"] == 40
    assert values["best"] in BASELINES
    assert values["ratio"] == pytest.approx(values["default"] / values[values["best"]])
    assert values["k"] == "2/3"


SMALL: list[Cell] = [
    {"source": "independent", "alpha": 1.0, "sizes": [3, 3], "n": 1000, "epsilon": 1.0, "sample": 1, "family": "x"},
    {"source": "independent", "alpha": 1.0, "sizes": [2, 3], "n": 1000, "epsilon": 4.0, "sample": 1, "family": "y"},
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "settings"), [("decoder", "choosing"), ("held-out", "held_out")])
def test_experiments_write_tables_and_pictures(
    name: str, settings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(decoder_settings, settings, lambda: SMALL)
    files = {"source": "independent", "file": "f.csv"}
    monkeypatch.setattr(decoder, "measure", lambda cell: measure(cell) | (files if cell["sizes"] == [2, 3] else {}))
    PAPER.run(name, tmp_path, runs=1)
    folder = tmp_path / "corr_rr"
    rows = table(folder / f"{name}.csv")
    assert len(rows) == 2
    summary = table(folder / f"{name}-summary.csv")
    assert [row["settings"] for row in summary] == ["1", "1", "2"] * 2
    assert float(summary[2]["worst"]) == max(float(row["ratio"]) for row in rows)
    assert (folder / f"{name}.png").stat().st_size > 10_000
    assert "settings are above 1 by more than two standard errors" in capsys.readouterr().out


def test_large_domains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [cell for cell in decoder_settings.large() if (cell["n"], cell["epsilon"]) == (10_000, 4.0)]
    kinds = [cell for cell in few if cell.get("share", 0.985) == 0.985 and cell.get("alpha") == 1.0]
    monkeypatch.setattr(decoder_settings, "large", lambda: kinds)
    PAPER.run("large-k", tmp_path, runs=2)
    rows = table(tmp_path / "corr_rr" / "large-k.csv")
    assert {row["k"] for row in rows} == {"16", "64", "256"}
    for row in rows:
        if row["source"] == "spike" and row["k"] == "256":
            assert float(row["ratio"]) < 1 < float(row["first ratio"])
    assert (tmp_path / "corr_rr" / "large-k.png").stat().st_size > 10_000


# ---------------------------------------------------------------- coverage


def test_coverage_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = coverage.settings()
    assert len(cells) == 24
    monkeypatch.setattr(coverage, "settings", lambda: [cells[0], cells[1], cells[-1]])
    PAPER.run("coverage", tmp_path, runs=5)
    rows = table(tmp_path / "corr_rr" / "coverage.csv")
    assert [row["phase one"] for row in rows] == ["0%", "20%", "20%"]
    assert (tmp_path / "corr_rr" / "coverage.png").stat().st_size > 10_000


RUNS = 1000
LAW = population(
    {"source": "classes", "classes": 3, "alpha": 1.0, "sizes": [4, 4, 4, 4], "n": 10_000, "sample": 3}
).people


def covering(epsilon: float, phase_one: float, mutate: Any = None) -> tuple[int, int]:
    """Return how often the interval of one frequency contains it, and the population's, in `RUNS` collections."""
    rng, hits = SimulationRandomness(41), np.zeros(2, dtype=int)
    coded, spl = PivotCoded((4,) * 4, epsilon), SPL((4,) * 4, epsilon)
    for _ in range(RUNS):
        people = People(LAW.records, rng.generator.multinomial(20_000, LAW.counts / LAW.n), LAW.sizes)
        first, second = people.split(round(phase_one * people.n), rng.generator)
        estimate = coded.estimate(simulated(coded, second, rng))
        if phase_one:
            one = spl.estimate(simulated(spl, first, rng))
            estimate = combine(one, estimate, weights="inverse-variance", learned=False)
        if mutate is not None:
            estimate = RecordEstimate({j: mutate(part) for j, part in estimate.items()})
        for i, (target, truth) in enumerate(zip(coverage.TARGETS, (people, LAW), strict=True)):
            lower, upper = estimate[1].interval(0.95, target=target)
            hits[i] += lower[2] <= truth.frequencies[1][2] <= upper[2]
    return int(hits[0]), int(hits[1])


def bounds(tests: int) -> tuple[float, float]:
    """Return the counts outside of which 95% is refuted, with half a percent for the normal approximation.

    Six tests, family-wise error 1e-6.
    """
    tail = 1e-6 / tests / 2
    return float(stats.binom.ppf(tail, RUNS, 0.945)), float(stats.binom.isf(tail, RUNS, 0.955))


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "phase_one"), [(0.5, 0.0), (4.0, 0.0), (1.0, 0.2)])
def test_intervals_cover(epsilon: float, phase_one: float) -> None:
    low, high = bounds(6)
    for hits in covering(epsilon, phase_one):
        assert low <= hits <= high


MUTANTS = {
    "every contributor a report of every attribute": lambda one: replace(one, n=one.contributors),
    "attributes not sampled": lambda one: replace(one, contributors=one.n),
    "noise of another budget": lambda one: replace(
        one, noise_absent=0.6 * one.noise_absent, noise_present=0.6 * one.noise_present
    ),
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("mutant", "epsilon", "killed_by"),
    [
        ("every contributor a report of every attribute", 0.5, (True, True)),
        ("attributes not sampled", 4.0, (True, False)),
        ("noise of another budget", 0.5, (True, True)),
    ],
)
def test_mutants_do_not_cover(mutant: str, epsilon: float, killed_by: tuple[bool, bool]) -> None:
    low, high = bounds(6)
    for hits, killed in zip(covering(epsilon, 0.0, MUTANTS[mutant]), killed_by, strict=True):
        assert (low <= hits <= high) is not killed


def test_a_row_of_the_coverage_table() -> None:
    run = Run("corr_rr", "coverage", Path("unused"), 2, 1)
    cell = coverage.settings()[18] | {"runs": run.runs, "seed": run.seed}
    assert cell["sizes"] == [2, 3, 7, 12]
    row = coverage.row(cell | coverage.measure(cell | {"n": 2000}))
    assert (row["k"], row["d"], row["phase one"]) == ("2/3/7/12", 4, "0%")
    assert 0.5 < row["contributors"] <= 1


# ---------------------------------------------------------------- speed


@pytest.mark.long
def test_the_benchmark_prints_its_tables(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(correlated, "DECODED", ((2, 3), (1, 20)))
    monkeypatch.setattr(correlated, "LEARNED_ATTRIBUTES", 3)
    correlated.records_table(500, 2, 0.0)
    correlated.learning_table(1)
    correlated.decoder_table(1, 0.0)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[0] for line in lines] == [
        *("| mechanism", "| SPL", "| SPL", "| Corr-RR", "| Corr-RR", "| PivotCoded", "| PivotCoded"),
        *("| learning P, d=3, k=16", "| pairwise", "| joint", "| decoder", "| d=2, k=3", "| d=1, k=20"),
    ]
    assert "| SPL | randomize |" in lines[1]
    assert " | 1.00 | 1.00-1.00 |" in lines[1]
