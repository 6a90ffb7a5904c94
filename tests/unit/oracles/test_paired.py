"""Pairs of waves: a sum, an unbiased difference, and intervals that cover for people who keep their answer."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from deniable import GRR, OLH, OUE, SimulationRandomness, SubsetSelection
from deniable.errors import DamagedStateError, InvalidParameterError, MismatchError
from deniable.oracles import MemoisedGRR, MemoisedHash, MemoisedOUE, SquareWave
from deniable.oracles.paired import PairCounts, pair_counts
from tests.places import ROOT

MECHANISMS: list[Any] = [
    MemoisedGRR(5, 2.0, 1.0),
    MemoisedOUE(4, 2.0, 1.0),
    MemoisedHash(7, 2.0, 1.5, 2),
    GRR(3, 1.0),
    OLH(6, 1.0),
    SubsetSelection(9, 1.0),
]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, len(MECHANISMS) - 1), st.lists(st.integers(0, 40), min_size=3, max_size=3), st.integers(0, 99))
def test_pairs_are_a_sum(which: int, sizes: list[int], seed: int) -> None:
    """Any split into parts, in any order, gives the whole's counts; an empty part changes nothing."""
    mechanism, rng = MECHANISMS[which], SimulationRandomness(seed)
    truth = np.arange(sum(sizes)) % mechanism.k
    waves = [mechanism.randomize(truth, rng) for _ in range(2)]
    edges = np.cumsum([0, *sizes])
    parts = [
        pair_counts(mechanism, *(_part(mechanism, wave, int(a), int(b)) for wave in waves))
        for a, b in itertools.pairwise(edges)
    ]
    whole = pair_counts(mechanism, *waves)
    a, b, c = parts
    assert a + b + c == whole == c + (b + a) == whole + PairCounts.empty(mechanism)
    assert hash(a + b) == hash(b + a)
    for number, wave in enumerate(waves):
        supported = mechanism.supports(wave, np.arange(mechanism.k)).sum(axis=0)
        assert whole.wave(number).tolist() == supported.tolist()
        if whole.n:
            found = (whole.trend().first, whole.trend().second)[number]
            np.testing.assert_allclose(found, mechanism.estimate(mechanism.aggregate(wave)).frequencies, atol=1e-9)


def _part(mechanism: Any, reports: Any, start: int, stop: int) -> Any:
    columns = reports if isinstance(reports, tuple) else (reports,)
    return mechanism.report_type(*(column[start:stop] for column in columns))


def panel(
    mechanism: Any, truth: NDArray[np.int64], later: NDArray[np.int64], rng: SimulationRandomness
) -> tuple[Any, Any]:
    """Return two waves of people with a memo each: a code (or its cell) that stays keeps its permanent response."""
    kept, new = mechanism.permanent(truth, rng), mechanism.permanent(later, rng)
    same = truth == later
    if isinstance(mechanism, MemoisedHash):
        parameters, cells = mechanism.hashes.split(kept)
        before, after = (mechanism.hashes.hash(codes, *parameters) for codes in (truth, later))
        moved = mechanism.response.permanent(after, rng)
        new = mechanism.hashes.join(parameters, np.where(before == after, cells, moved))
    elif new.ndim == 1:
        new = np.where(same, kept, new)
    else:
        new = np.where(same[:, None], kept, new)
    return mechanism.report(kept, rng), mechanism.report(new, rng)


def coverage(mechanism: Any, u: float, runs: int, n: int, seed: int, *, independent: bool = False) -> dict[str, float]:
    """Return the coverage of intervals for the change of one value, its standard error, and the spread."""
    rng, draw = SimulationRandomness(seed), np.random.default_rng(seed)
    covered, errors, changes = [], [], []
    shares = np.array([0.5, *[0.5 / (mechanism.k - 1)] * (mechanism.k - 1)])
    for _ in range(runs):
        truth = draw.choice(mechanism.k, n, p=shares)
        # A person who changes draws a new answer from uniform shares. So the population's change is known exactly.
        later = np.where(draw.random(n) < u, truth, draw.integers(0, mechanism.k, n))
        pairs = pair_counts(mechanism, *panel(mechanism, truth, later, rng))
        expected = (1 - u) * (1 / mechanism.k - shares)
        found = pairs.trend()
        error = found.standard_error
        if independent:  # the mutant adds up the variances of both waves
            p, q = map(float, mechanism.support_probabilities)
            rates = np.array([pairs.wave(number) / n for number in (0, 1)])
            error = np.sqrt((rates * (1 - rates)).sum(axis=0) / n) / (p - q)
        covered.append(np.abs(found.change - expected) <= 1.959964 * error)
        errors.append(error)
        changes.append(found.change - expected)
    return {
        "coverage": round(float(np.mean(covered)), 6),
        "bias": round(float(np.mean(changes)), 6) + 0.0,
        "standard_error": round(float(np.mean(errors)), 6),
        "spread": round(float(np.sqrt(np.mean(np.square(changes)))), 6),
    }


@pytest.mark.parametrize("u", [0.5, 0.9, 1.0])
def test_intervals_cover_and_waves_are_not_independent(u: float) -> None:
    """300 runs of 4,000 people, two cells at (2, 1.9): the spread is the paired error, not the independent one.

    Coverage of 4 values, dependent, 300 runs: its own error is below sqrt(.05 x .95 / 300) = .0126; bound 4.9 of these.
    """
    mechanism = MemoisedHash(4, 2.0, 1.9, 2)
    found = coverage(mechanism, u, 300, 4000, 20)
    assert abs(found["coverage"] - 0.95) < 4.9 * 0.0126
    # The mean of 1,200 squares of normal numbers is off by less than a fifth. A wave's weight of u rho is far more.
    assert abs(found["standard_error"] / found["spread"] - 1) < 0.2
    mutant = coverage(mechanism, u, 60, 4000, 20, independent=True)
    assert mutant["standard_error"] > 1.2 * found["standard_error"]


@pytest.mark.parametrize("mechanism", MECHANISMS[:3], ids=repr)
def test_the_difference_is_unbiased(mechanism: Any) -> None:
    """One run of 40,000 people: every change within 4.9 standard errors of the truth among them."""
    rng, n = SimulationRandomness(8), 40_000
    truth = np.arange(n) % mechanism.k
    later = np.where(np.arange(n) < n // 4, 0, truth)
    found = pair_counts(mechanism, *panel(mechanism, truth, later, rng)).trend()
    true = np.bincount(later, minlength=mechanism.k) / n - np.bincount(truth, minlength=mechanism.k) / n
    assert (np.abs(found.change - true) < 4.9 * found.standard_error).all()
    assert found.interval(simultaneous=4).shape == (mechanism.k, 2)


def test_few_changes_have_no_interval() -> None:
    mechanism = GRR(2, 32.0)
    truth = np.zeros(1000, dtype=np.int64)
    rng = SimulationRandomness(1)
    same = pair_counts(mechanism, mechanism.randomize(truth, rng), mechanism.randomize(truth, rng))
    assert np.isnan(same.trend().interval()).all()
    truth[:10] = 1
    moved = pair_counts(mechanism, mechanism.randomize(truth * 0, rng), mechanism.randomize(truth, rng))
    assert np.isfinite(moved.trend().interval()).all()
    assert moved.trend().change[1] == pytest.approx(0.01)


def test_refuses() -> None:
    mechanism, rng = MemoisedGRR(3, 2.0, 1.0), SimulationRandomness(1)
    reports = mechanism.randomize([0, 1, 2], rng)
    with pytest.raises(MismatchError, match="one report of every person, got 3 and 2"):
        pair_counts(mechanism, reports, reports[:2])
    with pytest.raises(InvalidParameterError, match="pure frequency oracle"):
        pair_counts(SquareWave(4, 1.0), reports, reports)
    with pytest.raises(InvalidParameterError, match="a trend needs at least one pair of reports"):
        PairCounts.empty(mechanism).trend()
    with pytest.raises(MismatchError, match="cannot merge pairs"):
        PairCounts.empty(mechanism) + PairCounts.empty(GRR(3, 1.0))
    with pytest.raises(DamagedStateError):
        PairCounts(mechanism, np.ones(12, dtype=np.int64), 5)
    with pytest.raises(InvalidParameterError, match="counts must be integers of shape"):
        PairCounts(mechanism, np.ones(9, dtype=np.int64), 5)
    with pytest.raises(InvalidParameterError, match="k must be"):
        PairCounts.empty(MemoisedHash((1 << 20) + 1, 2.0, 1.0))
    assert PairCounts.empty(OUE(3, 1.0)).n == 0


SETTINGS: list[tuple[Any, float]] = [
    (mechanism, u)
    for mechanism in (
        MemoisedGRR(5, 2.0, 1.0),
        MemoisedGRR(5, 2.0, 1.9),
        MemoisedOUE(4, 2.0, 1.0),
        MemoisedHash(16, 2.0, 1.0, 2),
        MemoisedHash(16, 2.0, 1.9, 2),
    )
    for u in (0.5, 0.9, 1.0)
]


@pytest.mark.long
def test_coverage_of_trends_in_a_thousand_runs() -> None:
    """Every setting of docs/results/trends.json is measured again here, and covers within 4.9 errors of its runs."""
    rows: list[dict[str, Any]] = [
        {"mechanism": repr(mechanism), "unchanged": u, "n": 4000, "runs": 1000, **coverage(mechanism, u, 1000, 4000, 7)}
        for mechanism, u in SETTINGS
    ]
    for row in rows:
        # Changes of k values in one run are correlated, so the bound counts runs, not values.
        assert abs(row["coverage"] - 0.95) < 4.9 * 0.0069, row
        assert abs(row["standard_error"] / row["spread"] - 1) < 0.1, row
    path = ROOT / "docs" / "results" / "trends.json"
    text = json.dumps({"settings": rows}, indent=1) + "\n"
    if not path.exists():
        path.write_text(text)
    assert json.loads(path.read_text()) == json.loads(text)
