from __future__ import annotations

import itertools
import math
import tracemalloc
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import GRR, SimulationRandomness
from deniable.core.randomness import Randomness, draw
from deniable.core.spec import from_spec, to_spec
from deniable.errors import InvalidParameterError, InvalidReportError, TooLargeError
from deniable.oracles import subset as module
from deniable.oracles.subset import SubsetSelection, best_subset_size
from deniable.oracles.subset_bulk import fill_many
from deniable.oracles.subset_draws import draw_subsets
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, p_value, rows
from tests.unit.oracles.subset_laws import Scripted

DOMAINS = (2, 3, 4, 5, 8)
EPSILONS = (0.01, 0.5, 1.0, 2.0, 5.0)
GRID = [
    pytest.param(k, epsilon, omega, id=f"{k}-{epsilon:g}-{omega}")
    for k in DOMAINS
    for epsilon in EPSILONS
    for omega in sorted({best_subset_size(k, epsilon), 1, k // 2, k - 1})
]


# ---------------------------------------------------------------- the exact distribution


@pytest.mark.parametrize(("k", "epsilon", "omega"), GRID)
def test_channel_is_the_subset_mechanism(k: int, epsilon: float, omega: int) -> None:
    mechanism = SubsetSelection(k=k, epsilon=epsilon, omega=omega)
    channel, outputs = mechanism.channel(exact=True), rows(mechanism.outputs())
    assert outputs == list(itertools.combinations(range(k), omega))
    odds = math.exp(epsilon)
    with_x = odds / (math.comb(k - 1, omega - 1) * odds + math.comb(k - 1, omega))
    for x in range(k):
        assert sum(channel[x], Fraction(0)) == 1
        for column, subset in enumerate(outputs):
            ideal = with_x if x in subset else with_x / odds
            assert float(channel[x, column]) == pytest.approx(ideal, rel=1e-14)
    assert np.abs(mechanism.channel().sum(axis=1) - 1).max() <= 1e-12


@pytest.mark.parametrize(("k", "epsilon", "omega"), GRID)
def test_ratio_is_at_most_the_budget_and_nearly_all_of_it(k: int, epsilon: float, omega: int) -> None:
    mechanism = SubsetSelection(k=k, epsilon=epsilon, omega=omega)
    ratio = mechanism.implemented_ratio()
    assert ratio == max(max(column) / min(column) for column in mechanism.channel(exact=True).T)
    context = Context(prec=60)
    logarithm = context.ln(context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    assert Decimal(repr(epsilon)) - Decimal("1e-15") <= logarithm <= Decimal(repr(epsilon))
    assert mechanism.privacy().epsilon == epsilon


@pytest.mark.parametrize("k", [2, 3, 1000, 10**6, 2**32])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 8.0, 32.0])
def test_threshold_is_the_largest_private_one(k: int, epsilon: float) -> None:
    """T/(2^64 - T) (k - omega)/omega <= e^epsilon < the same with T + 1, by 80-digit arithmetic."""
    mechanism = SubsetSelection(k=k, epsilon=epsilon)
    threshold, omega = mechanism._inclusion, mechanism.omega
    assert omega is not None
    context = Context(prec=80)
    bound = context.exp(Decimal(repr(epsilon)))

    def ratio(t: int) -> Decimal:
        return context.divide(Decimal(t * (k - omega)), Decimal((2**64 - t) * omega))

    assert ratio(threshold) <= bound < ratio(threshold + 1)
    assert ratio(threshold) >= 1


@pytest.mark.parametrize(("k", "epsilon", "omega"), GRID)
def test_estimator_is_unbiased_by_enumeration(k: int, epsilon: float, omega: int) -> None:
    mechanism = SubsetSelection(k=k, epsilon=epsilon, omega=omega)
    channel, outputs = mechanism.channel(exact=True), mechanism.outputs()
    contains = np.array([[v in subset for v in range(k)] for subset in outputs.tolist()])
    p, q = mechanism.support_probabilities
    for x, v in itertools.product(range(k), repeat=2):
        assert sum(channel[x, contains[:, v]], Fraction(0)) == (p if x == v else q)
    estimates = np.array([mechanism.estimate(mechanism.aggregate(row[None])).frequencies for row in outputs])
    expected = mechanism.channel() @ estimates
    assert np.abs(expected - np.eye(k)).max() <= 1e-12 * max(1.0, float(np.abs(estimates).max()))


# ---------------------------------------------------------------- the draw


def test_inclusion_is_one_comparison() -> None:
    threshold = SubsetSelection(k=16, epsilon=1.0)._inclusion
    words = np.full((3, 3), 2**63 + 2**31, dtype=np.uint64)  # these words are not rejected
    words[:, 0] = threshold - 1, threshold, threshold + 1
    subsets = draw_subsets([9] * 3, threshold, 16, 4, Scripted(words))
    assert [9 in subset for subset in subsets] == [True, False, False]


@pytest.mark.parametrize(("k", "epsilon"), [(8, 1.0), (64, 1.0), (300, 2.0), (5000, 6.0)])
def test_interpreted_and_compiled_reports_are_the_same(k: int, epsilon: float) -> None:
    mechanism = SubsetSelection(k=k, epsilon=epsilon)
    values = np.arange(40) * 7 % k
    compiled = mechanism.randomize(values, SimulationRandomness(9))
    with always_interpreted():
        interpreted = mechanism.randomize(values, SimulationRandomness(9))
    assert (compiled == interpreted).all()
    assert (np.diff(compiled.astype(np.int64), axis=1) > 0).all()


def _fit(mechanism: SubsetSelection, n: int, x: int) -> float:
    law = dict(zip(rows(mechanism.outputs()), mechanism.channel()[x], strict=True))
    return p_value(rows(mechanism.randomize(np.full(n, x), SimulationRandomness(17 + x))), law)


@pytest.mark.long
@pytest.mark.parametrize(("k", "omega"), [(4, 1), (5, 2), (6, 3), (5, 4)])
@pytest.mark.parametrize("interpreted", [False, True])
def test_reports_follow_the_channel(k: int, omega: int, interpreted: bool) -> None:
    mechanism = SubsetSelection(k=k, epsilon=1.0, omega=omega)
    for x in (0, 2, k - 1):
        if interpreted:
            with always_interpreted():
                fit = _fit(mechanism, 1500, x)
        else:
            fit = _fit(mechanism, 60_000, x)
        assert fit >= FAMILY_WISE_ERROR / 24


@pytest.mark.parametrize(("k", "omega"), [(4, 1), (5, 2), (6, 3)])
def test_mutant_whose_not_x_branch_may_pick_x_is_killed(k: int, omega: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: x is not left out, so that its other values are 0..k-2, as if the contributor held k-1."""

    def mutant(codes: Any, threshold: np.uint64, k: int, rng: Randomness, reports: NDArray[Any]) -> None:
        with_x, without = np.empty_like(reports), np.empty_like(reports)
        fill_many(codes, np.uint64(2**64 - 1), k, rng, with_x)
        fill_many(np.full_like(codes, k - 1), np.uint64(0), k, rng, without)
        reports[:] = np.where((draw(rng, len(codes)) < threshold)[:, None], with_x, without)

    monkeypatch.setattr(module, "fill_many", mutant)
    assert _fit(SubsetSelection(k=k, epsilon=1.0, omega=omega), 60_000, 1) < FAMILY_WISE_ERROR


def test_mutant_that_spends_1_1_epsilon_is_killed() -> None:
    declared = SubsetSelection(k=5, epsilon=1.0, omega=2)
    law = dict(zip(rows(declared.outputs()), declared.channel()[0], strict=True))
    reports = SubsetSelection(k=5, epsilon=1.1, omega=2).randomize(np.zeros(200_000, int), SimulationRandomness(1))
    assert p_value(rows(reports), law) < FAMILY_WISE_ERROR


def test_large_domain_needs_no_more_memory_than_its_reports() -> None:
    mechanism = SubsetSelection(k=100_000, epsilon=1.0)
    assert mechanism.omega == 26_894
    values = np.arange(400) * 249
    mechanism.randomize(values[:17], SimulationRandomness(1))
    tracemalloc.start()
    reports = mechanism.randomize(values, SimulationRandomness(1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reports.dtype == np.uint32
    assert peak <= reports.nbytes + (4 << 20)
    aggregate = mechanism.aggregate(reports)
    assert aggregate.counts.sum() == 400 * 26_894
    # The mean is 400 q*. It is bounded over 10^5 values by a z of 6.7, at a family-wise error of 1e-6.
    q = float(mechanism.support_probabilities[1])
    held = np.isin(np.arange(100_000), values)
    assert (np.abs(aggregate.counts[~held] - 400 * q) <= 6.7 * math.sqrt(400 * q * (1 - q))).all()


# ---------------------------------------------------------------- parameters and variance


@pytest.mark.parametrize("k", [2, 3, 5, 16, 64, 200])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.7, 1.0, 2.5, 5.0, 32.0])
def test_default_size_has_the_least_variance_of_all(k: int, epsilon: float) -> None:
    odds = Decimal(repr(epsilon)).exp(Context(prec=60))

    def noise(omega: int) -> Decimal:
        total = omega * odds + k - omega
        p = omega * odds / total
        q = (omega - p) / (k - 1)
        return q * (1 - q) / (p - q) ** 2

    omega = SubsetSelection(k=k, epsilon=epsilon).omega
    assert omega is not None
    assert noise(omega) <= min(noise(other) for other in range(1, k)) * (1 + Decimal("1e-20"))


@pytest.mark.parametrize(
    ("k", "epsilon", "noise"),
    [(16, 1.0, 3.19), (64, 2.0, 0.69), (64, 4.0, 0.059), (256, 1.0, 3.65)],
)
def test_variance_at_the_uniform_frequency(k: int, epsilon: float, noise: float) -> None:
    assert SubsetSelection(k=k, epsilon=epsilon).variance(1 / k, 1) == pytest.approx(noise, rel=0.01)


def test_estimate_states_the_variance_of_its_own_channel() -> None:
    mechanism = SubsetSelection(k=5, epsilon=1.0, omega=2)
    states = np.array([mechanism.aggregate(row[None]).counts for row in mechanism.outputs()])
    p, q = map(float, mechanism.support_probabilities)
    estimate = mechanism.estimate(mechanism.aggregate(mechanism.outputs()))
    for x, noise in ((0, estimate.noise_present[0]), (1, estimate.noise_absent[0])):
        law = mechanism.channel()[x]
        values = (states[:, 0] - q) / (p - q)
        exact = law @ values**2 - (law @ values) ** 2
        assert noise == pytest.approx(exact, rel=1e-12)
        assert mechanism.variance(float(x == 0), 7) == pytest.approx(exact / 7, rel=1e-12)


def test_size_one_is_grr() -> None:
    subset, grr = SubsetSelection(k=7, epsilon=1.5, omega=1), GRR(k=7, epsilon=1.5)
    assert np.abs(subset.channel() - grr.channel()).max() <= 1e-16
    assert subset.report_bits == pytest.approx(grr.report_bits, rel=1e-15)


def test_report_bits() -> None:
    assert SubsetSelection(k=8, epsilon=1.0, omega=3).report_bits == pytest.approx(math.log2(56), rel=1e-14)
    assert SubsetSelection(k=2000, epsilon=1.0).report_bits == pytest.approx(math.log2(math.comb(2000, 538)), rel=1e-12)


def test_default_and_explicit_size_are_the_same_mechanism() -> None:
    mechanism = SubsetSelection(k=64, epsilon=1.0)
    assert mechanism == SubsetSelection(k=64, epsilon=1.0, omega=17)
    assert to_spec(mechanism) == {"mechanism": "SubsetSelection", "k": 64, "epsilon": "1", "omega": 17}
    assert from_spec(to_spec(mechanism)) == mechanism
    assert mechanism.report_fields[0].width == 17


@pytest.mark.parametrize("omega", [0, -1, 5, 2.0, True])
def test_bad_sizes_are_refused(omega: Any) -> None:
    with pytest.raises(InvalidParameterError, match="omega must be"):
        SubsetSelection(k=5, epsilon=1.0, omega=omega)


@pytest.mark.parametrize("k", [100, 2**20])
def test_channel_too_large_to_list(k: int) -> None:
    with pytest.raises(TooLargeError, match="channel"):
        SubsetSelection(k=k, epsilon=1.0).channel()
    with pytest.raises(TooLargeError, match="channel"):
        SubsetSelection(k=k, epsilon=1.0).outputs()


# ---------------------------------------------------------------- the collector


def _many(bad: list[int]) -> NDArray[np.int64]:
    reports = np.tile(np.array([0, 2, 4]), (30, 1))
    reports[16] = bad
    return reports


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (_many([0, 2, 5]), r"report must be in 0\.\.4, got report=5 in row 17"),
        (_many([-1, 2, 4]), r"report must be in 0\.\.4, got report=-1 in row 17"),
        (_many([0, 2, 2]), r"strictly increasing, got 2 after 2 in row 17"),
        (_many([4, 2, 0]), r"strictly increasing, got 2 after 4 in row 17"),
        (np.array([[0, 1, 2**63]], dtype=np.uint64), r"got report=9223372036854775808 in row 1"),
        (np.array([[2**64 - 1, 1, 2]], dtype=np.uint64), r"got report=18446744073709551615 in row 1"),
        (np.array([[0, 1]]), r"shape \(n, 3\), got shape=\(1, 2\)"),
        (np.array([0, 1, 2]), r"shape \(n, 3\), got shape=\(3,\)"),
        (np.array([[0.0, 1.0, 2.0]]), r"integer dtype, got dtype=float64"),
        (np.array([[True, False, True]]), r"integer dtype, got dtype=bool"),
        ([["a", "b", "c"]], r"integer dtype, got dtype=text"),
    ],
)
def test_hostile_reports_are_named(reports: Any, message: str) -> None:
    with pytest.raises(InvalidReportError, match=message):
        SubsetSelection(k=5, epsilon=1.0, omega=3).aggregate(reports)


def test_counts() -> None:
    mechanism = SubsetSelection(k=5, epsilon=1.0, omega=3)
    reports = mechanism.randomize(np.arange(200) % 5, SimulationRandomness(5))
    expected = Counter(reports.reshape(-1).tolist())
    assert mechanism.aggregate(reports).counts.tolist() == [expected[v] for v in range(5)]
    assert mechanism.aggregate(reports[:5].tolist()).n == 5
    assert mechanism.aggregate([]).n == mechanism.aggregate(reports[:0]).n == 0


# ---------------------------------------------------------------- simulation


def _law_of_the_aggregate(mechanism: SubsetSelection, counts: list[int]) -> dict[Any, float]:
    """Return the distribution of the counts vector, by convolution of the contributors' channels."""
    outputs = rows(mechanism.outputs())
    law: dict[tuple[int, ...], float] = {(0,) * mechanism.k: 1.0}
    for x in itertools.chain.from_iterable([value] * count for value, count in enumerate(counts)):
        longer: Counter[tuple[int, ...]] = Counter()
        for state, mass in law.items():
            for subset, probability in zip(outputs, mechanism.channel()[x], strict=True):
                longer[tuple(s + (v in subset) for v, s in enumerate(state))] += mass * probability
        law = dict(longer)
    return dict(law)


@pytest.mark.long
@pytest.mark.parametrize(
    ("k", "omega", "counts"),
    [(3, 1, [2, 0, 2]), (3, 2, [1, 2, 1]), (4, 2, [2, 0, 1, 1]), (5, 3, [1, 0, 0, 1, 1]), (4, 3, [0, 3, 0, 1])],
)
def test_simulated_aggregate_has_exactly_the_law_of_reports(k: int, omega: int, counts: list[int]) -> None:
    mechanism = SubsetSelection(k=k, epsilon=1.0, omega=omega)
    law = _law_of_the_aggregate(mechanism, counts)
    rng = SimulationRandomness(k * omega)
    drawn = [tuple(mechanism.simulate_aggregate(counts, rng).counts.tolist()) for _ in range(4000)]
    assert p_value(drawn, law) >= FAMILY_WISE_ERROR / 15
    everyone = np.tile(np.repeat(np.arange(k), counts), 4000)
    reports = mechanism.randomize(everyone, SimulationRandomness(3)).reshape(4000, -1)
    sums = [tuple(np.bincount(row, minlength=k).tolist()) for row in reports]
    assert p_value(sums, law) >= FAMILY_WISE_ERROR / 15
    # This mutant draws the counts of the values independently of each other.
    p, q = map(float, mechanism.support_probabilities)
    held = np.array(counts)
    mutant = rng.generator.binomial(held, p, (4000, k)) + rng.generator.binomial(held.sum() - held, q, (4000, k))
    assert p_value(rows(mutant), law) < FAMILY_WISE_ERROR


def test_two_billion_simulated_contributors() -> None:
    mechanism = SubsetSelection(k=20, epsilon=1.0)
    truth = np.arange(20) * 10_000_000 + 5_000_000
    aggregate = mechanism.simulate_aggregate(truth, SimulationRandomness(1))
    assert aggregate.n == 2_000_000_000
    assert mechanism.omega is not None
    assert aggregate.counts.sum() == 2_000_000_000 * mechanism.omega
    estimate = mechanism.estimate(aggregate)
    # A z of 5.8 has a family-wise error of 1.4e-7 over twenty values.
    assert (np.abs(estimate.frequencies - truth / 2e9) <= 5.8 * estimate.standard_errors).all()


def test_simulated_aggregate_of_nobody() -> None:
    aggregate = SubsetSelection(k=6, epsilon=1.0).simulate_aggregate(np.zeros(6, dtype=int), SimulationRandomness(1))
    assert aggregate.n == 0
    assert not aggregate.counts.any()
