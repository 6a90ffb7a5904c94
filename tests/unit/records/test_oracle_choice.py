"""The oracle with the least error for each attribute."""

from __future__ import annotations

import pytest

from deniable import (
    GRR,
    OUE,
    CountMeanSketch,
    SubsetSelection,
)
from deniable.core.spec import from_spec, to_spec
from deniable.errors import InvalidParameterError
from deniable.records.oracle_choice import Oracle, best_oracle, oracles_for
from deniable.records.sample import AdaptiveSMP


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("k", [2, 3, 5, 8, 16, 40, 64, 100, 256, 1000])
def test_the_best_oracle_has_the_least_error_or_nearly(k: int, epsilon: float) -> None:
    offered: list[Oracle] = [
        GRR(k, epsilon), OUE(k, epsilon), SubsetSelection(k, epsilon), CountMeanSketch(k, epsilon, family="spread"),
    ]  # fmt: skip
    best = best_oracle(k, epsilon)
    assert best.variance(1 / k, 1) <= 1.02 * min(oracle.variance(1 / k, 1) for oracle in offered)
    as_good = [oracle for oracle in offered if oracle.variance(1 / k, 1) <= best.variance(1 / k, 1)]
    assert best.report_bits <= min(oracle.report_bits for oracle in as_good) + 1e-6


def test_the_best_oracle_by_size_and_budget() -> None:
    assert best_oracle(4, 1.0) == GRR(4, 1.0)
    assert best_oracle(64, 4.0) == GRR(64, 4.0)
    assert best_oracle(40, 1.0) == SubsetSelection(40, 1.0)
    assert best_oracle(100_000, 1.0) == CountMeanSketch(100_000, 1.0, 4, "spread")
    assert best_oracle(1 << 32, 1e-3).name == "CMS"  # this size is beyond GRR's thresholds
    for k, epsilon in ((1, 1.0), (4, 0.0)):
        with pytest.raises(InvalidParameterError):
            best_oracle(k, epsilon)


def test_what_is_asked_chooses_the_oracle_and_nothing_else_changes() -> None:
    sizes = (4, 21, 40)
    assert AdaptiveSMP(sizes, 1.0, oracles_for(sizes, 1.0)) == AdaptiveSMP(sizes, 1.0)
    waves = AdaptiveSMP(sizes, 1.0, oracles_for(sizes, 1.0, means=(1,)))
    assert [oracle.name for oracle in waves.oracles] == ["GRR", "SquareWave", "SubsetSelection"]
    assert from_spec(to_spec(waves)) == waves
    with pytest.raises(InvalidParameterError, match="means must be <= 2, got means=3"):
        oracles_for(sizes, 1.0, means=[3])
    with pytest.raises(InvalidParameterError, match="coarsen"):
        oracles_for((5000,), 1.0, means=[0])
