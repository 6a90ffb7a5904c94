"""The smooth decoder: values of independent code, all numbers of reports, and its advantage over EM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import GRR, OUE, AdaptiveSMP, Estimate, RecordEstimate, SimulationRandomness
from deniable.core.aggregate import Aggregate
from deniable.errors import EmptyAggregateError, InvalidParameterError, MismatchError, NoIntervalError
from deniable.oracles import SquareWave
from deniable.postprocess import postprocess, smooth
from deniable.records.oracle_choice import oracles_for

CASES = json.loads((Path(__file__).parents[2] / "vectors" / "ordered.json").read_text())["cases"]
"""Counts of reports, and their results by independent code."""


def state(wave: SquareWave, counts: list[int]) -> Aggregate:
    return Aggregate(wave, np.array(counts), sum(counts))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"k={case['k']}")
def test_it_agrees_with_independent_code(case: dict[str, Any]) -> None:
    wave, counts = SquareWave(case["k"], case["epsilon"], case["b"]), case["counts"]
    found = smooth(wave, state(wave, counts))
    assert np.abs(found.frequencies - case["evidence_frequencies"]).max() < 1e-6
    assert found.processing == ("smooth",)
    assert found.raw is not None
    assert np.array_equal(found.raw.frequencies, wave.estimate(state(wave, counts)).frequencies)
    with pytest.raises(NoIntervalError, match="smooth"):
        found.interval()


def test_means_and_quantiles_of_what_was_decoded_have_no_intervals() -> None:
    wave, counts = SquareWave(5, 1.0, 1), CASES[0]["counts"]
    found = smooth(wave, state(wave, counts)).named("stars", ["1", "2", "3", "4", "5"], [1, 2, 3, 4, 5])
    assert found.mean().value == pytest.approx(3, abs=1e-6)
    assert found.cdf().values == pytest.approx(np.cumsum(CASES[0]["evidence_frequencies"]), abs=1e-5)
    median = found.quantiles([0.5])[0]
    assert median.label == "3"
    for read in (found.mean().interval, found.cdf().band, median.interval):
        with pytest.raises(NoIntervalError, match="smooth"):
            read()


def distances(wave: SquareWave, truth: NDArray[np.int64], runs: int) -> tuple[float, float]:
    """Return the mean Wasserstein-1 distance, in steps, of the smooth decoder and of EM."""
    rng, found = SimulationRandomness(7), np.zeros((runs, 2))
    for run in range(runs):
        aggregate = wave.simulate_aggregate(truth, rng)
        for i, name in enumerate(("smooth", "em")):
            decoded = postprocess(name, wave.estimate(aggregate), aggregate)
            assert isinstance(decoded, Estimate)
            found[run, i] = np.abs(np.cumsum(decoded.frequencies - truth / truth.sum())).sum()
    ours, em = found.mean(axis=0)
    return float(ours), float(em)


def test_it_is_nearer_than_em_to_a_smooth_truth() -> None:
    x = np.arange(32)
    truth = np.round(20_000 * np.exp(-((x - 12) ** 2) / 60) / np.exp(-((x - 12) ** 2) / 60).sum()).astype(np.int64)
    ours, em = distances(SquareWave(32, 1.0), truth, 20)
    assert ours < 0.9 * em


def test_a_spike_survives() -> None:
    truth = np.zeros(16, dtype=np.int64)
    truth[[0, 11]] = 90_000, 10_000
    wave = SquareWave(16, 2.0)
    found = smooth(wave, wave.simulate_aggregate(truth, SimulationRandomness(1)))
    assert found.frequencies[0] == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("k", [2, 5, 64])
@pytest.mark.parametrize("n", [1, 10, 200, 100_000])
def test_steps_never_run_away(k: int, n: int) -> None:
    """Undamped Fisher steps diverge here, or meet a singular matrix: an end of the scale, both ends, all alike."""
    for place in ("end", "ends", "alike"):
        truth = np.zeros(k, dtype=np.int64)
        if place == "alike":
            truth += n // k
            truth[0] += n - truth.sum()
        else:
            truth[0] = n if place == "end" else n // 2
            truth[-1] += n - truth.sum()
        wave = SquareWave(k, 0.5)
        aggregate = wave.simulate_aggregate(truth, SimulationRandomness(3))
        found = smooth(wave, aggregate).frequencies
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1, abs=1e-9)
        # The result is never much less likely than uniform answers. So no diverging step ended there.
        counts, channel = aggregate.counts, wave.channel()
        assert counts @ np.log(found @ channel) > counts @ np.log(channel.mean(axis=0)) - 3


def test_records_are_decoded_where_their_mean_is_asked() -> None:
    sizes = (2, 9, 30)
    mechanism = AdaptiveSMP(sizes, 2.0, oracles_for(sizes, 2.0, means=[1]))
    records = np.stack([np.arange(3000) % k for k in sizes], axis=1)
    aggregate = mechanism.aggregate(mechanism.randomize(records, SimulationRandomness(1)))
    raw = mechanism.estimate(aggregate)
    named = RecordEstimate({name: raw[j].named(name, list(map(str, range(k)))) for j, (name, k) in NAMED})
    found = postprocess("smooth", named, aggregate)
    assert isinstance(found, RecordEstimate)
    assert [one.processing for one in found.values()] == [(), ("smooth",), ()]
    assert list(found) == ["sex", "score", "town"]
    part = mechanism.by_attribute(aggregate)[1]
    assert isinstance(part.mechanism, SquareWave)
    assert np.array_equal(found["score"].frequencies, smooth(part.mechanism, part).frequencies)


NAMED = list(enumerate([("sex", 2), ("score", 9), ("town", 30)]))


def test_an_attribute_without_reports_stays_unknown() -> None:
    mechanism = AdaptiveSMP((2, 9), 2.0, oracles_for((2, 9), 2.0, means=[1]))
    lonely = mechanism.aggregate(mechanism.report_type(np.zeros(3, np.uint8), np.ones((3, 1), np.uint8)))
    found = smooth(mechanism, lonely)
    assert isinstance(found, RecordEstimate)
    assert found[1].processing == ("smooth (no reports)",)
    assert np.isnan(found[1].frequencies).all()


def test_what_it_does_not_decode() -> None:
    oue = OUE(4, 1.0)
    with pytest.raises(MismatchError, match="smooth does not work with an aggregate of OUE"):
        smooth(oue, oue.aggregate(oue.randomize([1], SimulationRandomness(1))))
    wave = SquareWave(65, 1.0, 3)
    with pytest.raises(InvalidParameterError, match="k must be <= 64 for smooth, got k=65"):
        smooth(wave, wave.aggregate([3]))
    with pytest.raises(EmptyAggregateError):
        smooth(GRR(4, 1.0), Aggregate.empty(GRR(4, 1.0)))
    with pytest.raises(
        InvalidParameterError,
        match="aggregate must be given for smooth, which decodes the reports; give the",
    ):
        postprocess("smooth", wave.estimate(wave.aggregate([3])))
