from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from deniable import GRR, RSFD, SMP, SPL, CountMeanSketch, SimulationRandomness
from deniable.errors import InvalidParameterError, InvalidReportError, TooLargeError
from deniable.oracles.grr import count_codes, lie_threshold, randomize_codes
from deniable.research.baselines import Exponential


def _by_hand(code: int, word: int, lie: int, k: int) -> int:
    return code if word >= (k - 1) * lie else (code + 1 + word // lie) % k


@pytest.mark.parametrize("k", [2, 3, 7, 16, 1000, 10**6])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 5.0, 32.0])
def test_kernel_at_every_kind_of_boundary(k: int, epsilon: float) -> None:
    lie = lie_threshold(k, epsilon)
    steps = [*range(min(k - 1, 40)), k - 2]
    words = [step * lie + offset for step in steps for offset in (0, 1, lie - 1)]
    words += [(k - 1) * lie - 1, (k - 1) * lie, (k - 1) * lie + 1, 2**64 - 1]
    codes = np.arange(len(words)) % k
    expected = [_by_hand(int(code), word, lie, k) for code, word in zip(codes, words, strict=True)]
    array = np.array(words, dtype=np.uint64)
    for run in (randomize_codes.compiled, randomize_codes.interpreted, randomize_codes.few):
        reports = np.empty(len(words), dtype=np.uint32)
        with np.errstate(over="ignore"):
            run(codes, array, np.uint64(lie), k, reports)
        assert reports.tolist() == expected


@pytest.mark.parametrize(
    ("k", "epsilon"),
    [*itertools.product([2, 3, 1000, 10**6], [1e-6, 0.01, 1.0, 8.0, 32.0]), *((2**32, e) for e in (1.0, 8.0, 32.0))],
)
def test_threshold_is_the_smallest_private_one(k: int, epsilon: float) -> None:
    """(2^64 - (k-1)Q)/Q <= e^epsilon < the same with Q-1, by 80-digit arithmetic."""
    from decimal import Context, Decimal

    context = Context(prec=80)
    bound = context.exp(Decimal(repr(epsilon)))
    lie = lie_threshold(k, epsilon)
    assert context.divide(Decimal(2**64 - (k - 1) * lie), Decimal(lie)) <= bound
    assert context.divide(Decimal(2**64 - (k - 1) * (lie - 1)), Decimal(lie - 1)) > bound


@pytest.mark.parametrize("epsilon", ["1e-6", "3e-5", "0.01", "0.3", "0.9999"])
def test_the_truth_is_never_the_rarer_answer(epsilon: str) -> None:
    """Without the bound on k, k = 3 * 2^30 at 1e-6 has q/p = 1.6: rounding Q up by a third takes k/3 from the truth."""
    largest = math.isqrt(math.floor(Fraction(epsilon) * 2**64))
    assert largest <= 2**32 * math.sqrt(float(epsilon)) < largest + 2
    for k in (largest, largest - 1, largest * 3 // 4, largest // 2 + 1):
        p, q = GRR(k, epsilon).support_probabilities  # type: ignore[arg-type]
        assert 0 < q < p
    for k in (largest + 1, 2**32):
        with pytest.raises(InvalidParameterError, match=r"k must be <= 2\^32 sqrt\(epsilon\), got k="):
            GRR(k, epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Exponential(3 * 2**30, 1.0),
        lambda: SMP((2, 3 * 2**30), 0.5),
        lambda: SPL((2, 3 * 2**30), 1.0),
        lambda: RSFD((2, 3 * 2**30), 0.5),
        lambda: CountMeanSketch(100, 0.5, 3 * 2**30),
    ],
)
def test_mechanisms_over_it_refuse_the_same(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidParameterError, match=r"k must be <= 2\^32 sqrt\(epsilon\).*with epsilon=0.5"):
        make()


@given(st.lists(st.integers(0, 6), max_size=100))
def test_counts(codes: list[int]) -> None:
    assert count_codes(np.array(codes, dtype=np.uint8), 7).tolist() == [codes.count(v) for v in range(7)]


def test_large_histograms_are_counted_in_one_table() -> None:
    k = (1 << 20) + 3
    counts = count_codes(np.array([0, k - 1, 7, 7], dtype=np.uint32), k)
    assert counts.dtype == np.int32  # an aggregate keeps counts in this dtype
    assert counts[[0, 7, k - 1]].tolist() == [1, 2, 1]
    assert counts.sum() == 4


def test_a_histogram_that_no_collector_sets_up() -> None:
    with pytest.raises(TooLargeError, match=r"at most 268,435,456 counters to add up its reports, got 4,294,967,296"):
        GRR(k=2**32, epsilon=1.0).aggregate(np.array([5], dtype=np.uint32))


def test_variance_is_the_textbook_one() -> None:
    # The variance is (k - 2 + e^eps)/(n (e^eps - 1)^2) at f = 0. With e^1 = 2.718281828459045 it is
    # 16.718281828459045/1.718281828459045^2.
    assert GRR(k=16, epsilon=1.0).variance(0.0, 1) == pytest.approx(5.662430016946315, rel=1e-13)


def test_a_hostile_report_is_named() -> None:
    with pytest.raises(InvalidReportError, match=r"report must be in 0\.\.2, got report=200 in row 2"):
        GRR(k=3, epsilon=1.0).aggregate(np.array([0, 200], dtype=np.uint8))


def test_a_billion_simulated_contributors() -> None:
    grr = GRR(k=4, epsilon=1.0)
    truth = np.array([700_000_000, 200_000_000, 100_000_000, 0])
    estimate = grr.estimate(grr.simulate_aggregate(truth, SimulationRandomness(1)))
    assert estimate.n == 10**9
    # A z of 5.5 has a family-wise error of 1.5e-7 over four values.
    assert (np.abs(estimate.frequencies - truth / 1e9) <= 5.5 * estimate.standard_errors).all()
