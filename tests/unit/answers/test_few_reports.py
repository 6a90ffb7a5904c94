"""95% intervals when few reports are randomised or few contributors hold a value: they keep their coverage."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.few_reports import LEAST, RUNS, TARGETS, Draws, rows

from deniable import SimulationRandomness, answers
from deniable.core.aggregate import Aggregate
from deniable.core.checks import Target
from deniable.errors import NoIntervalError
from deniable.oracles import SquareWave
from deniable.records.pair_sample import PairSample

ROOT = Path(__file__).parents[3]

SLOW = (
    "group",
    "n = 100 + 20, population",
    "SquareWave(16)",
    "PairSample(4, 3, 5)",
    "frequencies, f = .3, epsilon 6, n = 100",
)
"""Rows with few equal collections, so that many intervals must be computed."""

NAMES = [row.name for row in rows(runs=1)]


@pytest.mark.parametrize(
    "place", [pytest.param(i, id=name, marks=[pytest.mark.long] if i % 4 else []) for i, name in enumerate(NAMES)]
)
def test_every_setting_of_few_reports(place: int) -> None:
    """1,500 collections of each setting, 150 for slow settings. If there is no interval, all collections have none."""
    runs = 150 if any(slow in NAMES[place] for slow in SLOW) else 1_500
    measured = next(itertools.islice(rows(runs), place, None)).measure()
    assert measured["none"] == 1 or measured["coverage"] >= LEAST


def test_the_published_results_are_of_these_settings_and_are_quoted() -> None:
    """All settings of docs/results/intervals.json are measured here, cover, and are in the table of docs/answers.md."""
    found = json.loads((ROOT / "docs" / "results" / "intervals.json").read_text())
    page = (ROOT / "docs" / "answers.md").read_text()
    assert [row["setting"] for row in found["settings"]] == NAMES
    for row in found["settings"]:
        assert row["none"] == 1 or row["coverage"] >= LEAST
        shown = "no interval" if row["none"] == 1 else f"{row['coverage']:.3f}"
        (line,) = [one for one in page.splitlines() if one.startswith(f"| {row['setting'].rpartition(', ')[0]} |")][:1]
        assert shown in line


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_frequencies_of_a_long_scale_that_all_values_hold(target: Target) -> None:
    wave, n, runs = SquareWave(16, 6.0), 20, 300
    held = np.array([2, 2, 2, 2, *[1] * 12])
    draws = Draws(runs, 5)
    inside = np.zeros(16)
    for counts in draws.codes(wave, draws.holders(held, target)):
        lower, upper = wave.estimate(Aggregate(wave, counts, n)).interval(target=target)
        inside += (lower <= held / n) & (held / n <= upper)
    assert (inside / runs).min() >= LEAST


@pytest.mark.long
def test_every_setting_of_few_reports_at_length() -> None:
    for row in rows(RUNS):
        measured = row.measure()
        assert measured["none"] == 1 or measured["coverage"] >= LEAST, row.name


def test_few_reports_of_a_pair_do_not_tell_how_strong_a_dependence_is() -> None:
    pairs, rng = PairSample((3, 4), 0.5), SimulationRandomness(1)
    records = np.indices((3, 4)).reshape(2, -1).T
    few, many = (
        answers.crosstabs(pairs, pairs.simulate_aggregate(records, np.full(12, n // 12), rng))[0, 1]
        for n in (120, 24_000)
    )
    assert not few.cramers_v().has_interval
    with pytest.raises(NoIntervalError, match="from 120 reports of this pair: it needs 1,"):
        few.cramers_v().interval()
    assert not few.independence().determined
    assert few.cramers_v().value >= 0
    assert many.cramers_v().interval()[0] == 0.0


def test_a_shown_cell_is_within_its_interval() -> None:
    """Bounds use the pair's own reports; the estimate also uses other tables, and may be outside."""
    pairs, rng = PairSample((3, 4, 2), 6.0), SimulationRandomness(4)
    records = np.indices((3, 4, 2)).reshape(3, -1).T
    outside = 0
    for _ in range(20):
        table = answers.crosstabs(pairs, pairs.simulate_aggregate(records, np.full(24, 1), rng))[0, 1]
        lower, upper = table.interval()
        shown = np.clip(table.consistent, 0, 1)
        assert ((lower <= shown) & (shown <= upper)).all()
        assert lower.min() >= 0
        assert upper.max() <= 1
        own = pairs.parts[0].oracle.from_support(table._own.reported.estimate.support.counts, table.n, 24)
        low, high = own.interval()
        # Exact bounds of the same counts lie within, up to the fineness of the rates.
        assert (lower.ravel() <= low + 1e-3).all()
        assert (upper.ravel() >= high - 1e-3).all()
        outside += int(((shown.ravel() < low) | (shown.ravel() > high)).sum())
    assert outside < 20


def test_the_value_of_an_odds_ratio_is_of_its_target() -> None:
    """Products of cells are corrected for the covariance of their errors, which for the population counts sampling too.

    Without noise both are the same: of multinomial counts E[T_a T_b] = f_a f_b (1 - 1/n), for either product.
    """
    pairs, n = PairSample((2, 2), 20.0), 1_000
    counts = np.array([400, 100, 200, 300])
    aggregate = Aggregate(pairs, pairs.column.joined([Aggregate(pairs.parts[0].oracle, counts, n)]), n)
    table = answers.crosstabs(pairs, aggregate)[0, 1]
    among, beyond = (table.odds_ratio(target=target).value for target in ("contributors", "population"))
    assert among == pytest.approx(6.0, rel=1e-6)
    assert beyond == pytest.approx(6.0, rel=1e-6)
    noisy = PairSample((2, 2), 1.0)
    aggregate = Aggregate(noisy, noisy.column.joined([Aggregate(noisy.parts[0].oracle, counts, n)]), n)
    table = answers.crosstabs(noisy, aggregate)[0, 1]
    values = {target: table.odds_ratio(target=target).value for target in ("contributors", "population")}
    joint, cells = table._joint, np.eye(4).reshape(4, 2, 2)
    x = table.consistent.ravel()
    for target, value in values.items():
        v = joint.covariance(cells, target)
        assert value == pytest.approx((x[0] * x[3] - v[0, 3]) / (x[1] * x[2] - v[1, 2]), rel=1e-12)
    assert not math.isclose(values["contributors"], values["population"], rel_tol=1e-6)
