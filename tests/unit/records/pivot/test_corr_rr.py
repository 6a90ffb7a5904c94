from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import RSFD, Aggregate, SimulationRandomness
from deniable.answers import summarize
from deniable.core.randomness import draw
from deniable.core.spec import from_spec, to_spec
from deniable.errors import (
    EmptyAggregateError,
    InvalidInputError,
    InvalidParameterError,
    InvalidReportError,
    MismatchError,
    NoIntervalError,
    TooLargeError,
)
from deniable.records.pivot import copies, pivot_draws
from deniable.records.pivot.corr_rr import CorrRR
from deniable.report.estimates import mechanism_text
from deniable.testing import laws
from tests.contract.cases import SIMULATIONS, Case
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, p_value, rows
from tests.unit.records.pivot.corr_rr_laws import MATRICES, constant, law, pivot_code, some_matrix
from tests.unit.records.record_laws import (
    aggregates_agree,
    largest_ratio,
    log,
    ratios_are_declared,
    records,
    worst_p_value,
)

ALIKE = ((3,), (2, 2), (3, 3), (2, 2, 2), (3, 3, 3))
DIFFERENT = ((2, 3), (3, 2), (2, 4), (5, 2), (2, 3, 2))
CASE = Case("Corr-RR", lambda sizes, e: CorrRR(tuple(sizes), e, some_matrix(len(sizes))), records=True)


def _states(mechanism: Any) -> NDArray[np.float64]:
    outputs = mechanism.outputs()
    return np.array([mechanism.aggregate(outputs[o : o + 1]).counts for o in range(len(outputs))], dtype=np.float64)


# -------------------------------------------------------------------- exact distributions


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("sizes", ALIKE + DIFFERENT)
def test_channel_is_the_definition(sizes: tuple[int, ...], kind: str) -> None:
    for epsilon in (0.01, 1.0, 5.0) if len(sizes) < 3 else (0.5,):
        matrix = MATRICES[kind](len(sizes))
        corr_rr = CorrRR(sizes, epsilon, matrix)
        laws.rows_sum_to_one(corr_rr)
        outputs, channel = rows(corr_rr.outputs()), corr_rr.channel()
        for x, row in zip(records(sizes), channel, strict=True):
            expected = law(x, sizes, epsilon, matrix)
            assert row.tolist() == pytest.approx([expected[y] for y in outputs], rel=1e-12, abs=1e-18)
            assert math.fsum(expected[y] for y in outputs) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("sizes", [(2, 2), (3, 3), (2, 3), (5, 2), (2, 2, 2), (3, 3, 3), (2, 3, 2)])
def test_any_matrix_keeps_the_budget(sizes: tuple[int, ...], kind: str) -> None:
    """By enumeration of whole records: the closed forms are the enumerated ratios, and e^epsilon is attained."""
    if len(sizes) < 3:
        for epsilon in (0.01, 1.0, 5.0):
            ratios_are_declared(CorrRR(sizes, epsilon, MATRICES[kind](len(sizes))), epsilon)
    else:
        corr_rr = CorrRR(sizes, 0.5, MATRICES[kind](len(sizes)))
        ratio = laws.channel_ratio(corr_rr.channel(exact=True))
        assert ratio == corr_rr.implemented_ratio()
        assert abs(float(log(ratio)) - 0.5) < 1e-12
        for j, declared in enumerate(corr_rr.privacy().per_attribute):
            assert math.log(largest_ratio(corr_rr.channel(exact=True), sizes, j)) == pytest.approx(declared, abs=1e-12)


def test_amplification_is_for_one_attribute_only_and_not_even_that() -> None:
    """3.3.1: ln(1 + (e^eps - 1)/d) is for records that differ in one attribute, under P of one constant at d = 2."""
    for d, k, probability in ((2, 3, 0.8), (2, 2, 0.3), (3, 3, 1 / 3), (3, 3, 1.0)):
        corr_rr = CorrRR((k,) * d, 1.0, constant(d, probability))
        reduced = math.log(1 + (math.e - 1) / d)
        assert corr_rr.privacy().per_attribute == pytest.approx([reduced] * d, abs=1e-12)
        assert corr_rr.privacy().epsilon == 1.0
        assert corr_rr.implemented_epsilon() == pytest.approx(1.0, abs=1e-12)
    # With three attributes, even one P for all pairs tells more about the attribute that is unlike two equal others.
    # For k = 2 and P = .3, W = (P (1-P), P (1-P), (1-P)^2), so its share is .7/1.3 and not 1/3.
    odd = CorrRR((2,) * 3, 1.0, constant(3, 0.3))
    assert odd.privacy().per_attribute == pytest.approx([math.log(1 + (math.e - 1) * 0.7 / 1.3)] * 3, abs=1e-12)
    # The pivot code leaves no such protection, because a report shows its pivot.
    assert CorrRR((3, 3), 1.0, pivot_code(2)).privacy().per_attribute == (1.0, 1.0)
    # Spending the "amplified" budget really spends it: .832 and 1.081 for .5, as for RS+FD.
    for d, spent in ((2, 0.832), (3, 1.081)):
        amplified = math.log(d * (math.exp(0.5) - 1) + 1)
        corr_rr = CorrRR((2,) * d, amplified, constant(d, 0.7))
        assert round(float(log(laws.channel_ratio(corr_rr.channel(exact=True)))), 3) == spent


def test_many_attributes_get_an_upper_bound() -> None:
    """Nine attributes over nine codes: Bell(9) = 21147 kinds of reports are too many, Bell(8) = 4140 are not."""
    many = CorrRR((9,) * 9, 1.0, constant(9, 0.5)).privacy()
    assert many.per_attribute == (1.0,) * 9
    few = CorrRR((8,) * 8, 1.0, constant(8, 0.5)).privacy()
    assert max(few.per_attribute) < 1.0
    # Over domains that differ, all reports are listed, up to 8192.
    assert CorrRR((20, 21, 22), 1.0, constant(3, 0.5)).privacy().per_attribute == (1.0,) * 3
    wide = CorrRR((20, 21, 22), 1.0, constant(3, 0.5))
    assert wide.implemented_ratio() == max(oracle.implemented_ratio() for oracle in wide.oracles)
    assert wide.implemented_epsilon() <= 1.0 + 1e-15


def transfer(corr_rr: CorrRR, pivot: int, target: int) -> Any:
    """Implemented law of a target given the pivot's report, over 2^64."""
    given, codes = np.ogrid[: corr_rr.sizes[pivot], : corr_rr.sizes[target]]
    return corr_rr.law.cells(pivot, target, given, codes)


def test_a_probability_of_one_is_exact_and_impossible_reports_are_not_listed() -> None:
    corr_rr = CorrRR((3, 3), 1.0, constant(2, 1.0))
    assert rows(corr_rr.outputs()) == [(0, 0), (1, 1), (2, 2)]
    reports = corr_rr.randomize(np.array([[0, 2]] * 5000), SimulationRandomness(1))
    assert (reports[:, 0] == reports[:, 1]).all()
    assert {0, 2} < {int(code) for code in reports[:, 0]}
    # Zero is implemented as at most k/2^64.
    assert transfer(CorrRR((4, 4), 1.0, constant(2, 0.0)), 0, 1)[0, 0] <= 4
    assert transfer(CorrRR((2, 2), 1.0, constant(2, 0.0)), 1, 0).sum(axis=1).tolist() == [1 << 64] * 2


@pytest.mark.parametrize("sizes", [(3, 3), (2, 5), (3, 2, 3)])
def test_maps_of_ones_own(sizes: tuple[int, ...]) -> None:
    """A given map is used unchanged: copies are distributed as those of relabelled codes."""
    own = {(3, 3): (0, 1, (2, 0, 1)), (2, 5): (1, 0, (1, 0, 0, 0, 0)), (3, 2, 3): (0, 1, (1, 0, 0))}[sizes]
    larger, smaller, codes = own
    corr_rr = CorrRR(sizes, 1.0, constant(len(sizes), 0.75), (own,))
    groups = sizes[smaller]
    inward = transfer(corr_rr, larger, smaller) / 2**64
    outward = transfer(corr_rr, smaller, larger) / 2**64
    for u in range(sizes[larger]):
        for v in range(groups):
            hit = codes[u] == v
            assert float(inward[u, v]) == pytest.approx(0.75 if hit else 0.25 / (groups - 1), rel=1e-12)
            expected = (0.75 if hit else 0.25 / (groups - 1)) / codes.count(codes[u])
            assert float(outward[v, u]) == pytest.approx(expected, rel=1e-12)
    laws.ratio_keeps_the_budget(corr_rr, 1.0)
    assert from_spec(json.loads(json.dumps(to_spec(corr_rr)))) == corr_rr


# -------------------------------------------------------------------- draws


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(3, 3), (2, 2, 2), (5, 2), (2, 3, 2)])
def test_reports_follow_the_channel(sizes: tuple[int, ...]) -> None:
    matrix = some_matrix(len(sizes))
    corr_rr = CorrRR(sizes, 1.0, matrix)
    textbook = lambda x: law(x, sizes, 1.0, matrix)  # noqa: E731
    bound = FAMILY_WISE_ERROR / math.prod(sizes)
    assert worst_p_value(corr_rr, rows, textbook, SimulationRandomness(1), 20_000) > bound
    with always_interpreted():
        assert worst_p_value(corr_rr, rows, textbook, SimulationRandomness(2), 200) > bound
    # Mutants: target and pivot are exchanged; a pivot is reported as it is.
    transposed = CorrRR(sizes, 1.0, tuple(zip(*matrix, strict=True)))
    assert worst_p_value(transposed, rows, textbook, SimulationRandomness(1), 10_000) < bound
    truthful = lambda x: law(x, sizes, 30.0, matrix)  # noqa: E731
    assert worst_p_value(corr_rr, rows, truthful, SimulationRandomness(1), 3000) < bound


def test_copies_of_the_true_code_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: after the pivot's GRR, the loop continues with the true code."""

    def mutant(codes: Any, pivots: Any, lies: Any, rng: Any, k: int) -> Any:
        reports = np.empty(codes.shape, dtype=np.uint8)
        d, every = codes.shape[1], np.arange(len(codes))
        words, truths = draw(rng, codes.size).reshape(codes.shape), lies * np.uint64(k - 1)
        base = codes[every, pivots].astype(np.int64)
        for t in range(d):
            lie, truth, word = lies[pivots, t], truths[pivots, t], words[:, t]
            step = np.where(word >= truth, np.uint64(k - 1), word // np.maximum(lie, np.uint64(1)))
            reports[every, (pivots + t) % d] = (base + 1 + step.astype(np.int64)) % k
        return reports

    matrix = some_matrix(2)
    textbook = lambda x: law(x, (3, 3), 1.0, matrix)  # noqa: E731
    monkeypatch.setattr(copies, "copy_many", mutant)
    bound = FAMILY_WISE_ERROR / 9
    assert worst_p_value(CorrRR((3, 3), 1.0, matrix), rows, textbook, SimulationRandomness(1), 10_000) < bound


@pytest.mark.parametrize("k", [2, 7, 300, 70_000])
@pytest.mark.parametrize("probability", [0.0, 1e-9, 0.5, 1.0])
def test_every_pair_has_its_own_threshold(k: int, probability: float) -> None:
    """Over several blocks, at a budget where the pivot tells the truth: copies in their share, others uniform."""
    d, n = 3, 50_000
    matrix = [[1.0 if j == s else (probability if (j, s) == (2, 0) else 0.9) for s in range(d)] for j in range(d)]
    corr_rr = CorrRR((k,) * d, 32, tuple(map(tuple, matrix)))
    truth = np.stack([np.arange(n) % k, np.zeros(n, np.int64), np.full(n, k - 1)], axis=1)
    reports = corr_rr.randomize(truth, SimulationRandomness(3)).astype(np.int64)
    # Attribute 0 is the pivot. It is recognised by its true code in attribute 0, and by others' codes elsewhere.
    step = (reports[:, 2] - reports[:, 0]) % k
    expected = 0.0
    for s in range(d):
        p_j, p_0 = (matrix[2][s] if s != 2 else 1.0), (matrix[0][s] if s != 0 else 1.0)
        both = p_j * p_0 + (1 - p_j) * (1 - p_0) / (k - 1)
        expected += both / d
    observed = [bool(hit) for hit in step == 0]
    assert p_value(observed, {True: expected, False: 1 - expected}) > FAMILY_WISE_ERROR / 16


def test_pivots_are_uniform_and_independent() -> None:
    for d in (1, 2, 3, 7, 300):
        pivots = pivot_draws.sample_pivots(SimulationRandomness(4), 60_000, d)
        assert pivots.shape == (60_000,)
        assert p_value(pivots.tolist(), dict.fromkeys(range(d), 1 / d)) > FAMILY_WISE_ERROR / 10 or d == 1
        if 1 < d < 10:
            pairs = list(zip(pivots[:-1:2].tolist(), pivots[1::2].tolist(), strict=True))
            both = {(a, b): 1 / d**2 for a in range(d) for b in range(d)}
            assert p_value(pairs, both) > FAMILY_WISE_ERROR / 10


@pytest.mark.long
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("sizes", [(3, 3), (2, 2, 2), (5, 2), (2, 3, 2)])
def test_simulated_aggregates_follow_the_law(sizes: tuple[int, ...], kind: str) -> None:
    matrix = MATRICES[kind](len(sizes))
    corr_rr = CorrRR(sizes, 1.0, matrix)
    every = np.array(records(sizes))
    held = np.arange(len(every)) ** 2 * 7 % 500
    rng = SimulationRandomness(4)
    drawn = np.array([corr_rr.simulate_aggregate(every, held, rng).counts for _ in range(1200)])
    assert corr_rr.simulate_aggregate(every, held, rng).n == held.sum()
    assert aggregates_agree(corr_rr, held, drawn, _states(corr_rr))
    if kind == "some":
        # Mutant: target and pivot are exchanged.
        mutant = CorrRR(sizes, 1.0, tuple(zip(*matrix, strict=True)))
        drawn = np.array([mutant.simulate_aggregate(every, held, rng).counts for _ in range(1200)])
        assert not aggregates_agree(corr_rr, held, drawn, _states(corr_rr))


def test_simulated_and_real_reports_have_the_same_moments() -> None:
    """The law of `simulate_aggregate` against the record-level mechanism itself, as experiments use them (d=4, k=4)."""
    matrix = some_matrix(4)
    corr_rr = CorrRR((4,) * 4, 1.0, matrix)
    every = np.random.default_rng(1).integers(0, 4, (12, 4))
    held = np.arange(20, 140, 10)
    rng, draws = SimulationRandomness(5), 1500
    fast = np.array([corr_rr.simulate_aggregate(every, held, rng).counts for _ in range(draws)], dtype=np.float64)
    truth = np.repeat(every, held, axis=0)
    slow = np.array([corr_rr.aggregate(corr_rr.randomize(truth, rng)).counts for _ in range(draws)], dtype=np.float64)
    z = 6.0  # the two-sided error is 2e-9 for each of 152 comparisons
    spread = np.sqrt(fast.var(axis=0) / draws + slow.var(axis=0) / draws)
    assert (np.abs(fast.mean(axis=0) - slow.mean(axis=0)) < z * spread).all()
    one, two = np.cov(fast.T), np.cov(slow.T)
    error = np.sqrt(2 * (np.outer(np.diag(two), np.diag(two)) + two**2) / draws)
    assert (np.abs(one - two) < z * error).all()


def test_a_large_simulation_needs_no_large_tables() -> None:
    corr_rr = CorrRR((3000,) * 2, 2.0, ((1, 0.5), (0.0, 1)))
    aggregate = corr_rr.simulate_aggregate([[0, 1], [5, 5]], [10**9, 10**9], SimulationRandomness(1))
    assert aggregate.n == 2 * 10**9
    assert aggregate.counts[:3000].sum() == aggregate.counts[3000:].sum() == 2 * 10**9


# -------------------------------------------------------------------- the contract


def test_contract() -> None:
    """The laws of all mechanisms, except those of unbiased estimates, which have their own tests."""
    for sizes in ((3, 2), (3, 3)):
        corr_rr = CASE.build(sizes, 1.0)
        laws.ratio_keeps_the_budget(corr_rr, 1.0)
        laws.reports_follow_the_channel(corr_rr, n=15_000)
        laws.simulated_aggregates_follow_the_law(corr_rr, draws=SIMULATIONS)
        laws.is_data(corr_rr)
        laws.is_data(CASE.build(sizes, 0.1))
        laws.reports_match_their_declaration(corr_rr)
        every = CASE.inputs(sizes)
        reports = corr_rr.randomize(every[np.arange(50) % len(every)], SimulationRandomness(1))
        laws.merging_is_adding(corr_rr, reports, [1])
        laws.merging_is_adding(corr_rr, reports, [7, 20, 20])
    mutant = CASE.build((3, 3), 1.1)
    with pytest.raises(AssertionError):
        laws.ratio_keeps_the_budget(mutant, 1.0)


def test_what_is_published() -> None:
    given: Any = ((1, "0.7"), (Fraction(1, 3), 1))
    corr_rr = CorrRR((4, 4), 0.1, given)
    spec = to_spec(corr_rr)
    assert json.loads(json.dumps(spec)) == {
        "mechanism": "Corr-RR",
        "sizes": [4, 4],
        "epsilon": "0.1",
        "copy_probabilities": [[1.0, 0.7], ["1/3", 1.0]],
        "alignment": [],
    }
    assert from_spec(json.loads(json.dumps(spec))) == corr_rr
    assert corr_rr.state_size == 8
    assert corr_rr.report_bits == 4.0
    assert (corr_rr.report_fields[0].name, corr_rr.report_fields[0].width) == ("values", 2)


def test_estimates_without_domains_alike_have_intervals_and_others_say_why_not() -> None:
    corr_rr = CorrRR((3, 3), 1.0, some_matrix(2))
    estimate = corr_rr.estimate(corr_rr.aggregate([[0, 1], [2, 2]]))[0]
    assert not estimate.is_raw
    assert estimate.raw is None
    with pytest.raises(NoIntervalError, match=r"Corr-RR \(biased: copies pull every attribute towards the others\)"):
        estimate.interval()
    assert np.isnan(estimate.standard_errors).all()
    different = CorrRR((3, 2), 1.0, some_matrix(2))
    assert different.estimate(different.aggregate([[0, 1], [2, 0]]))[0].is_raw
    alone = CorrRR((3,), 1.0, ((1,),))
    assert alone.estimate(alone.aggregate([[0], [2]]))[0].is_raw


def test_a_biased_estimate_is_shown_without_intervals() -> None:
    corr_rr = CorrRR((3, 3), 1.0, some_matrix(2))
    summary = summarize(corr_rr.estimate(corr_rr.aggregate([[0, 1], [2, 2]])), mechanism=corr_rr, n=2)
    assert np.isnan(summary.attributes[0].lower).all()
    assert np.isfinite(summary.attributes[0].estimate).all()
    assert summary.interval_text.startswith("There are no intervals. The estimate is biased: Corr-RR (biased: copies ")
    assert mechanism_text(summary) == "Corr-RR"


# -------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must be > 0, got epsilon=-1.0"),
        ({"sizes": (3, 1)}, r"sizes\[1\] must be >= 2"),
        ({"copy_probabilities": ((1, 0.5),)}, r"must have one row per target \(2\)"),
        ({"copy_probabilities": ((1, 0.5), (1,))}, r"copy_probabilities\[1\] must have one entry per pivot \(2\)"),
        ({"copy_probabilities": ((1, 1.5), (0, 1))}, r"copy_probabilities\[0\]\[1\] must be in \[0, 1\], got 1.5"),
        ({"copy_probabilities": ((1, 0.5), (0.5, 0.9))}, r"copy_probabilities\[1\]\[1\] must be 1, got 0.9"),
        ({"copy_probabilities": ((1, math.nan), (0, 1))}, r"copy_probabilities\[0\]\[1\] must be a finite number"),
        ({"copy_probabilities": 0.5}, "must have one row per target"),
        (
            {"alignment": ((1, 0, (0, 1, 1)),)},
            r"alignment\[0\] must map an attribute to a different attribute with at most as many categories",
        ),
        ({"alignment": ((0, 1, (0, 1)),)}, r"alignment\[0\]\[2\] must have one group per code \(3\)"),
        ({"alignment": ((0, 1, (0, 1, 2)),)}, r"alignment\[0\]\[2\]\[2\] must be <= 1"),
        (
            {"alignment": ((0, 1, (0, 0, 0)),)},
            r"must map at least one code to every group in 0\.\.1, but no code is mapped to group 1",
        ),
        (
            {"alignment": ((0, 1, (0, 1, 1)), (0, 1, (0, 0, 1)))},
            "one map for each pair of attributes, got two maps for attributes 0 and 1",
        ),
        ({"alignment": ((0, 1),)}, r"alignment\[0\] must be \(larger attribute, smaller attribute, map\)"),
        ({"alignment": 7}, "alignment must be a sequence of maps"),
    ],
)
def test_refuses_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        CorrRR(**{"sizes": (3, 2), "epsilon": 1.0, "copy_probabilities": ((1, 0.5), (0.5, 1)), **parameters})


def test_refuses_large_domains_that_differ() -> None:
    with pytest.raises(
        TooLargeError, match="different numbers of categories must have at most 262144 copy probabilities, got 2004000"
    ):
        CorrRR((1000, 1002), 1.0, constant(2, 0.5))
    assert CorrRR((10**6, 10**6), 1.0, constant(2, 0.5)).state_size == 2 * 10**6


def test_refuses_bad_input() -> None:
    corr_rr, other = CASE.build((3, 2), 1.0), CASE.build((3, 2), 2.0)
    rng = SimulationRandomness(1)
    with pytest.raises(InvalidInputError, match=r"value must be in 0\.\.1, got something else in row 2, attribute 1"):
        corr_rr.randomize([[2, 1], [1, 2]], rng)
    with pytest.raises(InvalidReportError, match="got report=3 in row 1, attribute 0"):
        corr_rr.aggregate([[3, 1]])
    with pytest.raises(InvalidInputError, match="counts must be >= 0"):
        corr_rr.simulate_aggregate([[0, 0]], [-1], rng)
    for name in ("estimate", "debiased", "unmixed"):
        with pytest.raises(MismatchError, match="came from"):
            getattr(corr_rr, name)(other.aggregate([[0, 0]]))
        with pytest.raises(EmptyAggregateError):
            getattr(corr_rr, name)(Aggregate.empty(corr_rr))
    with pytest.raises(InvalidParameterError, match="attribute must be <= 1"):
        corr_rr.implemented_attribute_ratio(2)
    # P = 1/k is RS+FD, with the same channel.
    uniform = CorrRR((4, 4), 1.0, constant(2, 0.25)).channel()
    assert np.abs(uniform - RSFD((4, 4), 1.0).channel()).max() < 1e-15


def test_domains_beyond_the_pivots_oracle_are_refused_at_construction() -> None:
    # The limit is 2^32 sqrt(0.25) = 2^31.
    with pytest.raises(InvalidParameterError, match=r"k must be <= 2\^32 sqrt\(epsilon\).*with epsilon=0.25"):
        CorrRR(((1 << 31) + 1,) * 2, 0.25, ((1.0, 0.5), (0.5, 1.0)))
