"""Sampling in a rehearsal: drawn record by record, or contributor by contributor if that is cheaper."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import SimulationRandomness
from deniable.errors import BrokenLawError
from deniable.records import pair_sample, sampled_attribute
from deniable.records.fake_data import RSFD
from deniable.records.pair_sample import PairSample
from deniable.testing import laws

MECHANISMS: dict[str, Callable[[], Any]] = {
    "PairSample": lambda: PairSample((2, 3, 2), 1.0),
    "PairSample with singles": lambda: PairSample((2, 2, 3), 1.0, singles="0.4"),
    "SMP": lambda: dn.SMP((2, 3, 2), 1.0),
    "RS+FD": lambda: RSFD((2, 3), 1.0),
}


class OneByOne:
    """A mechanism whose rehearsals have one row per contributor: fewer than there are choices.

    Parameters
    ----------
    mechanism : RecordMechanism
        Mechanism to compare with.
    """

    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism

    def __getattr__(self, name: str) -> Any:
        return getattr(self.mechanism, name)

    def simulate_aggregate(self, records: Any, counts: Any, rng: SimulationRandomness) -> dn.Aggregate:
        rows = np.repeat(records, counts, axis=0)
        aggregate: dn.Aggregate = self.mechanism.simulate_aggregate(rows, np.ones(len(rows), dtype=int), rng)
        return aggregate


@pytest.mark.long
@pytest.mark.parametrize("name", MECHANISMS)
def test_contributors_one_by_one_follow_the_law(name: str) -> None:
    laws.simulated_aggregates_follow_the_law(OneByOne(MECHANISMS[name]()), draws=1000)


@pytest.mark.parametrize("module", [pair_sample, sampled_attribute])
def test_mutant_that_asks_half_of_them_twice_is_killed(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = module.holders_in_blocks
    monkeypatch.setattr(module, "holders_in_blocks", lambda counts, step: (rows >> 1 for rows in honest(counts, step)))
    mechanism = MECHANISMS["PairSample" if module is pair_sample else "SMP"]()
    with pytest.raises(BrokenLawError):
        laws.simulated_aggregates_follow_the_law(OneByOne(mechanism), draws=1000)


def test_mutant_whose_choices_are_not_uniform_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PairSample._drawn_choices
    monkeypatch.setattr(PairSample, "_drawn_choices", lambda self, n, rng: honest(self, n, rng) // 2)
    with pytest.raises(BrokenLawError):
        laws.simulated_aggregates_follow_the_law(OneByOne(MECHANISMS["PairSample"]()), draws=500)


@pytest.mark.long
def test_blocks_of_contributors_are_all_contributors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few records at a time, few contributors at a time: the same law, and everybody is counted once."""
    monkeypatch.setattr(pair_sample, "_SIMULATED_CELLS", 4)
    monkeypatch.setattr(pair_sample, "CHOSEN_ROWS", 5)
    pairs = PairSample((2, 2, 3), 1.0, singles="0.4")
    laws.simulated_aggregates_follow_the_law(pairs, draws=300)
    laws.simulated_aggregates_follow_the_law(OneByOne(pairs), draws=300)


def test_200_attributes_need_little_memory() -> None:
    """19,900 pairs and 10,000 different records: their choices in one matrix took more than a gigabyte."""
    pairs = PairSample((4,) * 200, 1.0)
    records = np.random.default_rng(1).integers(0, 4, (10_000, 200)).astype(np.uint8)
    pairs.parts, pairs.choice_probabilities  # noqa: B018  what construction would have made
    tracemalloc.start()
    aggregate = pairs.simulate_aggregate(records, np.full(10_000, 10), SimulationRandomness(1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert aggregate.n == 100_000
    assert peak <= 96 << 20


def test_1000_attributes_need_little_memory() -> None:
    smp = dn.SMP((3,) * 1000, 1.0)
    records = np.random.default_rng(1).integers(0, 3, (10_000, 1000)).astype(np.uint8)
    tracemalloc.start()
    aggregate = smp.simulate_aggregate(records, np.full(10_000, 10), SimulationRandomness(1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert aggregate.n == 100_000
    assert peak <= 24 << 20
