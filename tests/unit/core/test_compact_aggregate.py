from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deniable import GRR, Aggregate, CountMeanSketch, SimulationRandomness


def test_large_histograms_are_kept_in_32_bits_while_they_fit(tmp_path: Path) -> None:
    sketch = CountMeanSketch(k=1024, epsilon=1.0, m=2, family="spread")
    counts = np.zeros(sketch.state_size, dtype=np.int64)
    counts[3], counts[5] = 2**31 - 2, 7
    small = Aggregate(sketch, counts, 2**31 + 5)
    assert small.counts.dtype == np.int32
    counts[3] += 2
    large = Aggregate(sketch, counts, 2**31 + 7)
    assert large.counts.dtype == np.int64
    # Adding changes the dtype exactly if a counter no longer fits, whatever the order of adding.
    one, two = (Aggregate(sketch, np.eye(1, sketch.state_size, 3, dtype=np.int64)[0] * c, c) for c in (1, 2))
    assert (small + one).counts.dtype == np.int32
    for total in (small + one + one, small + two, two + small, one + (one + small)):
        assert total == large
        assert hash(total) == hash(large)
        assert total.counts.dtype == np.int64
    assert Aggregate.empty(sketch).counts.dtype == np.int32
    assert (small + Aggregate.empty(sketch)).counts.dtype == np.int32
    for aggregate in (small, large):
        aggregate.save(tmp_path / "a")
        loaded = Aggregate.load(tmp_path / "a")
        assert loaded == aggregate
        assert loaded.counts.dtype == aggregate.counts.dtype


def test_other_states_stay_in_64_bits() -> None:
    assert GRR(3, 1.0).aggregate(np.array([0, 1], dtype=np.uint8)).counts.dtype == np.int64
    assert CountMeanSketch(3, 1.0).simulate_aggregate([3, 4, 5], SimulationRandomness(1)).counts.dtype == np.int64


def test_compact_counters_are_a_copy() -> None:
    sketch = CountMeanSketch(k=1024, epsilon=1.0, m=2, family="spread")
    counts = np.zeros(sketch.state_size, dtype=np.int32)
    aggregate = Aggregate(sketch, counts, 0)
    counts[0] = 5
    assert aggregate.counts[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        aggregate.counts[0] = 1
