"""The recommended mechanism, by size and budget."""

from __future__ import annotations

import math

import pytest

from deniable import GRR
from deniable.errors import InvalidParameterError
from deniable.oracles.sketch.count_mean_sketch import CountMeanSketch
from deniable.oracles.subset import SubsetSelection
from deniable.planning import plan, recommend
from deniable.records.sample import SMP, AdaptiveSMP


def test_where_grr_is_better_even_large_dictionaries_use_it() -> None:
    assert recommend([70_000], 24.0) == GRR(70_000, 24.0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5, 8.0])
@pytest.mark.parametrize("sizes", [(2,), (7,), (100,), (5000,), (3, 3), (2, 40), (5, 4, 6, 2, 3), (200,) * 4])
def test_recommend_is_the_plans_recommendation(sizes: tuple[int, ...], epsilon: float) -> None:
    best = plan(sizes, epsilon, contributors=1000).recommended
    assert best is not None
    assert recommend(sizes, epsilon) == best.mechanism


def test_recommend_by_size_and_budget() -> None:
    assert recommend([3], 1.0) == GRR(3, 1.0)
    assert recommend([100], 1.0) == SubsetSelection(100, 1.0)
    assert recommend([100_000], 1.0) == CountMeanSketch(100_000, 1.0, 4, "spread")
    assert recommend([5, 4, 6], 1.0) == SMP((5, 4, 6), 1.0, "GRR")
    assert recommend([64] * 5, 1.0) == AdaptiveSMP((64,) * 5, 1.0)


def test_recommend_refuses_what_is_impractical() -> None:
    with pytest.raises(InvalidParameterError, match=r"no mechanism is practical for sizes=.*counters must"):
        recommend([1 << 30], 1.0)


@pytest.mark.parametrize(("sizes", "epsilon"), [([4], 0), ([4], math.nan), ([1], 1.0), ([], 1.0), ([4, 4], -2)])
def test_recommend_checks_its_parameters(sizes: list[int], epsilon: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"epsilon must|sizes"):
        recommend(sizes, epsilon)
