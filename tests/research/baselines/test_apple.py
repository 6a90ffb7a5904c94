from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable import SimulationRandomness
from deniable.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    NoIntervalError,
)
from deniable.postprocess import norm_sub
from deniable.research.baselines.apple import AppleCMS, IndexedBits
from deniable.research.baselines.apple_hadamard import AppleHCMS
from deniable.research.baselines.fixed_sketch import FixedHashes
from deniable.testing import laws
from tests.contract.cases import Case
from tests.research.baselines.baseline_laws import moments
from tests.unit._goodness import always_interpreted

BOTH = pytest.mark.parametrize("sketch", [AppleCMS, AppleHCMS])


SKETCHES = [
    pytest.param(Case("AppleCMS", lambda sizes, e: AppleCMS(sizes[0], e, m=3, hashes=4, seed=1)), id="AppleCMS"),
    pytest.param(Case("AppleHCMS", lambda sizes, e: AppleHCMS(sizes[0], e, m=4, hashes=3, seed=1)), id="AppleHCMS"),
]


# -------------------------------------------------------------------- the contract, except for unbiasedness


@pytest.mark.parametrize("case", SKETCHES)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("k", [2, 3, 8])
def test_channel_is_exactly_private(case: Case, k: int, epsilon: float) -> None:
    mechanism = case.build((k,), epsilon)
    laws.rows_sum_to_one(mechanism)
    laws.ratio_keeps_the_budget(mechanism, epsilon, case.one_report_epsilon(mechanism))


@pytest.mark.parametrize("case", SKETCHES)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_expectation_is_the_truth_and_the_conditional_bias(case: Case, epsilon: float) -> None:
    """Exact, by the channel; the estimator is not unbiased."""
    mechanism = case.build((8,), epsilon)
    mean, _ = moments(mechanism)
    bias = np.array([mechanism.conditional_bias(held) for held in np.eye(8)])
    assert mean == pytest.approx(np.eye(8) + bias, abs=1e-12 * np.abs(mean).max() + 1e-10)
    assert np.abs(bias).max() > 0.1
    with pytest.raises(AssertionError):
        laws.unbiased(mechanism)
    # The estimates are linear in the frequencies.
    f = np.arange(8) / 28
    assert mechanism.conditional_bias(f) == pytest.approx(f @ bias, abs=1e-12)


@pytest.mark.parametrize("case", SKETCHES)
def test_reports_follow_the_channel(case: Case) -> None:
    laws.reports_follow_the_channel(case.build((3,), 1.0))


@pytest.mark.parametrize("case", SKETCHES)
def test_is_data(case: Case) -> None:
    laws.is_data(case.build((3,), 1.0))
    laws.reports_match_their_declaration(case.build((3,), 1.0))


@pytest.mark.parametrize("case", SKETCHES)
def test_merging_is_adding(case: Case) -> None:
    mechanism = case.build((3,), 1.0)
    reports = mechanism.randomize(np.arange(60) % 3, SimulationRandomness(4))
    laws.merging_is_adding(mechanism, reports, [1, 17, 40])


@pytest.mark.parametrize("case", SKETCHES)
def test_interpreted_and_compiled_reports_are_the_same(case: Case) -> None:
    mechanism = case.build((100,), 1.0)
    values = np.arange(64)
    compiled = mechanism.randomize(values, SimulationRandomness(9))
    with always_interpreted():
        interpreted = mechanism.randomize(values, SimulationRandomness(9))
        again = mechanism.aggregate(interpreted)
    assert laws.keys(compiled) == laws.keys(interpreted)
    assert again == mechanism.aggregate(compiled)


@pytest.mark.long
@pytest.mark.parametrize("hashes", [4, 25, 50])
def test_simulated_aggregates_follow_the_law(hashes: int) -> None:
    """21, 28 and 35 contributors: all values by multinomials, by single contributors, and both ways."""
    case = Case("AppleCMS", lambda sizes, epsilon: AppleCMS(sizes[0], epsilon, m=2, hashes=hashes, seed=1))
    laws.simulated_aggregates_follow_the_law(case.build((3,), 1.0))


def test_a_simulation_of_many_blocks_has_everybody_once() -> None:
    """At epsilon 32 a bit flips once in 10^7 times, so that n contributors set n bits."""
    sketch = AppleCMS(k=3001, epsilon=32.0, m=2, hashes=64)
    counts = np.resize([0, 25, 64, 1000], sketch.k)
    aggregate = sketch.simulate_aggregate(counts, SimulationRandomness(1))
    assert int(aggregate.counts.sum()) == aggregate.n == int(counts.sum())


# -------------------------------------------------------------------- bias


@BOTH
def test_squared_bias_over_seeds_is_equation_18(sketch: Any) -> None:
    """Over seeds: mean of bias^2 against sum f(x')^2/((m-1) hashes), mean bias against 0; z of 5 each."""
    k, seeds = 40, 600
    f = np.arange(1, k + 1) ** -1.0
    f /= f.sum()
    bias = np.array([sketch(k, 1.0, m=8, hashes=3, seed=seed).conditional_bias(f) for seed in range(seeds)])
    # By hand over x' != x: the sum of f^2 less f(x)^2, divided by 7 * 3.
    expected = np.array([sum(f[y] ** 2 for y in range(k) if y != x) / 21 for x in range(k)])
    assert sketch(k, 1.0, m=8, hashes=3).expected_squared_bias(f) == pytest.approx(expected, rel=1e-12)
    ratios = (bias**2 / expected).mean(axis=1)
    assert abs(ratios.mean() - 1) <= 5 * ratios.std() / np.sqrt(seeds)
    assert ratios.std() / np.sqrt(seeds) < 0.03  # a factor of two would be seen
    scaled = (bias / np.sqrt(expected)).mean(axis=1)
    assert abs(scaled.mean()) <= 5 * scaled.std() / np.sqrt(seeds)


def test_mutant_whose_functions_are_all_the_same_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = FixedHashes.of_all
    monkeypatch.setattr(FixedHashes, "of_all", lambda self, _j, *span: honest(self, 0, *span))
    with pytest.raises(AssertionError):
        test_squared_bias_over_seeds_is_equation_18(AppleCMS)


@BOTH
def test_estimate_refuses_intervals(sketch: Any) -> None:
    mechanism = sketch(5, 1.0, m=4, hashes=2)
    estimate = mechanism.estimate(mechanism.aggregate(mechanism.randomize(np.arange(5), SimulationRandomness(1))))
    name = {AppleCMS: "Apple CMS", AppleHCMS: "Apple HCMS"}[sketch]
    sentence = rf"^no valid interval is known after the step “{name} \(biased: collisions are fixed\)”$"
    with pytest.raises(NoIntervalError, match=sentence):
        estimate.interval(0.95)
    assert not estimate.is_raw
    assert estimate.raw is None
    assert np.isnan(estimate.standard_errors).all()
    assert estimate.to_arrow()["lower"].null_count == 5
    with pytest.raises(NoIntervalError, match=r"collisions are fixed\)”, then “norm-sub”$"):
        norm_sub(estimate).interval(0.95)


def test_frequencies_of_the_bias_are_checked() -> None:
    mechanism = AppleCMS(3, 1.0, m=4, hashes=2)
    with pytest.raises(
        InvalidInputError, match=r"frequencies must be 3 finite numbers \(one for each value\), got shape=\(2,\)"
    ):
        mechanism.conditional_bias([0.5, 0.5])
    with pytest.raises(InvalidInputError, match="must sum to 1, got a sum of 3"):
        mechanism.expected_squared_bias([1, 1, 1])
    with pytest.raises(InvalidInputError, match="finite"):
        mechanism.conditional_bias([1.0, np.nan, 0.0])


# -------------------------------------------------------------------- hash functions and decoding


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 30), st.integers(2, 20), st.integers(1, 5), st.integers(0, 99))
def test_decode_is_the_brute_force_count(k: int, m: int, hashes: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    apple = AppleCMS(k, 1.0, m=m, hashes=hashes, seed=seed)
    index = generator.integers(hashes, size=40).astype(np.uint8)
    bits = generator.integers(2, size=(40, m)).astype(np.uint8)
    reports = IndexedBits(index, np.packbits(bits, axis=1, bitorder="little"))
    table = apple.functions.table()
    by_hand = [sum(int(bits[i, table[index[i], v]]) for i in range(40)) for v in range(k)]
    assert apple.support_counts(apple.aggregate(reports)).tolist() == by_hand

    hadamard = AppleHCMS(k, 1.0, m=8, hashes=hashes, seed=seed)
    codes = generator.integers(2 * hadamard.state_size, size=40)
    table = hadamard.functions.table()
    agree = [
        sum((r >> 1 & 7 & int(table[r >> 4, v])).bit_count() % 2 == r & 1 for r in codes.tolist()) for v in range(k)
    ]
    assert hadamard.support_counts(hadamard.aggregate(codes)).tolist() == agree


# -------------------------------------------------------------------- refusals


@BOTH
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 1}, "k must be >= 2"),
        ({"k": 2**31}, "k must be <= 2147483647"),
        ({"m": 1}, "m must be >= 2"),
        ({"m": 4.0}, "m must be an integer"),
        ({"hashes": 0}, "hashes must be >= 1"),
        ({"seed": -1}, "seed must be >= 0"),
        ({"m": 2**20, "hashes": 2**12}, r"hashes \* m must be <= 2147483648, got 4096 \* 1048576"),
        ({"epsilon": 0}, "epsilon must be > 0"),
    ],
)
def test_bad_parameters(sketch: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        sketch(**{"k": 5, "epsilon": 1.0, "m": 4, "hashes": 2, "seed": 0} | parameters)


def test_hostile_reports_are_named() -> None:
    apple = AppleCMS(5, 1.0, m=4, hashes=2)
    good = apple.randomize(np.arange(3), SimulationRandomness(1))
    bits = good.bits.copy()
    bits[2] |= 1 << 6
    with pytest.raises(InvalidReportError, match=r"padding bits 4\.\.7 must be zero, got a 1 in row 3"):
        apple.aggregate(IndexedBits(good.hash_index, bits))
    with pytest.raises(InvalidReportError, match=r"hash_index must be in 0\.\.1, got hash_index=2 in row 2"):
        apple.aggregate(IndexedBits(np.array([0, 2, 0]), good.bits))
    with pytest.raises(InvalidReportError, match="the same length, got the lengths 2 and 3"):
        apple.aggregate(IndexedBits(good.hash_index[:2], good.bits))
    with pytest.raises(
        InvalidReportError, match=r"must be IndexedBits\(hash_index, bits\), got an object of the type ndarray"
    ):
        apple.aggregate(good.bits)
    hadamard = AppleHCMS(5, 1.0, m=4, hashes=2)
    with pytest.raises(InvalidReportError, match=r"report must be in 0\.\.15, got report=16 in row 1"):
        hadamard.aggregate(np.array([16]))
