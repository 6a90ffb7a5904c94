from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core.randomness import draw
from deniable.core.spec import from_spec, to_spec
from deniable.core.thresholds import exp_bounds
from deniable.errors import InvalidParameterError, InvalidReportError, TooLargeError
from deniable.research.baselines import histogram as histogram_module
from deniable.research.baselines.histogram import (
    SHE,
    half_ratio,
    inverse_table,
    noise_weights,
    randomize_components,
    sum_components,
)
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, p_value, rows

DOMAINS = (2, 3, 4, 5, 8)
EPSILONS = (0.01, 0.5, 1.0, 2.0, 5.0)
GRIDS = [(None, None), (1, 0), (1, 1), (1, 7), (2, 0), (2, 3), (5, 0), (5, 40), (64, 300), (101, 1000)]
MODES = pytest.mark.parametrize("mode", ["compiled", "interpreted"])


def _logarithm(ratio: Fraction) -> Decimal:
    context = Context(prec=60)
    return context.ln(context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))


# ---------------------------------------------------------------- the table


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, *EPSILONS, 12.0, 32.0])
def test_table_is_exactly_private_and_spends_its_budget(epsilon: float, grid: tuple[int | None, int | None]) -> None:
    she = SHE(k=4, epsilon=epsilon, resolution=grid[0], clamp=grid[1])
    absent, present = she.component_channel(exact=True)
    assert sum(absent, Fraction(0)) == sum(present, Fraction(0)) == 1
    up, down = max(present / absent), max(absent / present)
    assert she.implemented_ratio() == up * down
    budget, logarithm = Decimal(repr(epsilon)), _logarithm(up * down)
    assert logarithm <= budget
    assert logarithm >= budget * (1 - Decimal("1e-11"))
    assert she.privacy().epsilon == epsilon
    assert she.implemented_epsilon() <= epsilon * (1 + 1e-15)


@pytest.mark.parametrize(
    ("epsilon", "resolution", "clamp"),
    [(1e-6, 16_383, 16_383), (32.0, 16_383, 16_383), (32.0, 1, 16_383), (1.0, 16_382, 0), (5.0, 1, 2000)],
)
def test_extreme_grids_are_private_too(epsilon: float, resolution: int, clamp: int) -> None:
    """Careless rounding would leak in tails far below 2^-64 and for neighbours closer than 2^-64."""
    weights = noise_weights(Fraction(repr(epsilon)), resolution, clamp)
    assert sum(weights) == 2**64
    assert min(weights) >= 1
    logarithm = _logarithm(half_ratio(weights)) * 2
    assert Decimal(repr(epsilon)) * (1 - Decimal("1e-6")) <= logarithm <= Decimal(repr(epsilon))


@pytest.mark.parametrize(("epsilon", "resolution", "clamp"), [(1.0, 4, 64), (0.01, 1, 3), (5.0, 3, 2), (32.0, 128, 64)])
def test_table_is_clamped_discrete_laplace(epsilon: float, resolution: int, clamp: int) -> None:
    """Against the density summed term by term over the integers."""
    a = math.exp(-epsilon / (2 * resolution))
    reach = math.ceil(45 / (1 - a))
    law: Counter[int] = Counter()
    for z in range(-reach, reach + 1):
        law[min(max(z, -clamp), resolution + clamp)] += (1 - a) / (1 + a) * a ** abs(z)  # type: ignore[assignment]
    absent, present = SHE(k=2, epsilon=epsilon, resolution=resolution, clamp=clamp).component_channel()
    levels = range(-clamp, resolution + clamp + 1)
    assert absent == pytest.approx([law[y] for y in levels], rel=1e-11, abs=1e-16)
    assert present == pytest.approx([law[resolution - y] for y in levels], rel=1e-11, abs=1e-16)


def test_a_table_that_is_too_coarse_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check at construction works: it refuses a table for 1.1 epsilon in place of one for epsilon."""
    monkeypatch.setattr(
        "deniable.research.baselines.histogram.exp_bounds", lambda x: exp_bounds(x * Fraction(11, 10) if x < 0 else x)
    )
    with pytest.raises(InvalidParameterError, match="resolution and clamp must be small enough for 64-bit weights"):
        noise_weights(Fraction(1, 3), 3, 5)


@pytest.mark.parametrize(
    ("epsilon", "resolution", "clamp"),
    [(1e-6, 1, 511), (0.01, 1, 511), (0.1, 1, 160), (0.25, 1, 64), (1.0, 4, 64), (5.0, 20, 64), (32.0, 128, 64)],
)
def test_default_grid(epsilon: float, resolution: int, clamp: int) -> None:
    she = SHE(k=3, epsilon=epsilon)
    assert (she.resolution, she.clamp) == (resolution, clamp)
    assert she == SHE(k=3, epsilon=epsilon, resolution=resolution, clamp=clamp)
    assert she.report_fields[0].width == 3


# ---------------------------------------------------------------- whole reports


def _small(k: int, epsilon: float) -> list[SHE]:
    grids = [(1, 0)] if k > 5 else [(1, 0), (2, 0), (1, 1)] if k > 3 else [(1, 0), (2, 0), (1, 1), (2, 3)]
    return [SHE(k=k, epsilon=epsilon, resolution=g, clamp=c) for g, c in grids]


@pytest.mark.parametrize("k", DOMAINS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_joint_channel_by_enumeration(k: int, epsilon: float) -> None:
    for she in _small(k, epsilon):
        channel, outputs = she.channel(exact=True), she.outputs()
        assert all(sum(row, Fraction(0)) == 1 for row in channel)
        assert np.abs(she.channel().sum(axis=1) - 1).max() <= 1e-12
        assert channel.shape == (k, len(outputs)) == (k, len(set(rows(outputs))))
        if channel.size <= 20_000:
            assert she.implemented_ratio() == max(max(column) / min(column) for column in channel.T)
        component = she.component_channel(exact=True)
        for column in (0, len(outputs) // 3, len(outputs) - 1):
            for x in range(k):
                parts = [component[int(v == x), y - outputs.min()] for v, y in enumerate(outputs[column].tolist())]
                assert channel[x, column] == math.prod(parts)


@pytest.mark.parametrize("k", DOMAINS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_estimator_is_unbiased_by_enumeration(k: int, epsilon: float) -> None:
    for she in _small(k, epsilon):
        outputs = she.outputs()
        # The estimator is affine in the sums. Two points determine it, which are its own estimates here.
        estimates = np.array(
            [she.estimate(she.aggregate(row[None])).frequencies for row in outputs[:: len(outputs) - 1]]
        )
        slope = (estimates[1] - estimates[0]) / (outputs[-1] - outputs[0])
        values = estimates[0] + slope * (outputs - outputs[0])
        assert np.abs(she.channel() @ values - np.eye(k)).max() <= 1e-12 * max(1.0, float(np.abs(values).max()))
        third = she.estimate(she.aggregate(outputs[1:2])).frequencies
        assert third == pytest.approx(values[1], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, *EPSILONS, 32.0])
def test_estimator_is_unbiased_at_the_default_grid(epsilon: float) -> None:
    she = SHE(k=5, epsilon=epsilon)
    levels = np.arange(-she.clamp, she.resolution + she.clamp + 1)  # type: ignore[operator]
    reports = np.repeat(levels[:, None], 5, axis=1)
    values = np.array([she.estimate(she.aggregate(row[None])).frequencies[0] for row in reports])
    for bit, row in enumerate(she.component_channel()):
        mean = math.fsum(row * values)
        assert abs(mean - bit) <= 1e-12 * max(1.0, float(np.abs(values).max()))
        assert she.variance(0.5, 1) == pytest.approx(math.fsum(row * (values - mean) ** 2), rel=1e-9)


def test_estimate_states_the_same_noise_for_every_value() -> None:
    she = SHE(k=3, epsilon=1.0)
    estimate = she.estimate(she.aggregate(np.zeros((50, 3), dtype=np.int16)))
    assert estimate.noise_absent.tolist() == estimate.noise_present.tolist() == [she.variance(0.0, 1)] * 3
    assert estimate.standard_errors == pytest.approx(math.sqrt(she.variance(0.0, 50)), rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "share"),
    [(1e-6, 0.50004), (0.001, 0.5425), (0.01, 0.8511), (0.1, 0.9975), (1.0, 0.9968), (5.0, 0.9973), (32.0, 0.9972)],
)
def test_default_variance_as_a_share_of_the_continuous_one(epsilon: float, share: float) -> None:
    """Share t-clamped, (1 - e^-t (1 + t))/(1 - e^-t)^2 with t = clamp epsilon/(2 resolution), of 8/epsilon^2."""
    she = SHE(k=2, epsilon=epsilon)
    assert she.variance(0.0, 1) * epsilon**2 / 8 == pytest.approx(share, abs=1e-4)
    t = she.clamp * epsilon / (2 * she.resolution)  # type: ignore[operator]
    # The noise is wide: a shift by one is small beside the scale, so clamping acts on both sides alike.
    if epsilon <= 0.01:
        assert share == pytest.approx((1 - math.exp(-t) * (1 + t)) / (1 - math.exp(-t)) ** 2, rel=0.003)


def test_wide_clamp_has_the_discrete_laplace_variance() -> None:
    a = math.exp(-1 / 8)
    expected = 2 * a / (1 - a) ** 2 / 16
    assert SHE(k=2, epsilon=1.0, resolution=4, clamp=400).variance(0.3, 1) == pytest.approx(expected, rel=1e-12)


def test_narrowest_grid_is_symmetric_unary_encoding() -> None:
    she = SHE(k=4, epsilon=1.0, resolution=1, clamp=0)
    p = math.exp(0.5) / (math.exp(0.5) + 1)
    assert she.component_channel() == pytest.approx(np.array([[p, 1 - p], [1 - p, p]]), rel=1e-15)
    # SUE has e^(eps/2)/(e^(eps/2) - 1)^2 = 1.6487212707001282/0.6487212707001282^2.
    assert she.variance(0.0, 1) == pytest.approx(3.917698, rel=1e-6)
    assert she.report_bits == 4


# ---------------------------------------------------------------- the draw


@pytest.mark.parametrize(("epsilon", "grid"), [(1.0, (4, 64)), (0.001, (1, 511)), (5.0, (1, 0)), (2.0, (3000, 9000))])
def test_kernel_at_every_boundary(epsilon: float, grid: tuple[int, int]) -> None:
    resolution, clamp = grid
    weights = noise_weights(Fraction(repr(epsilon)), resolution, clamp)
    last, guide = inverse_table(weights)
    ends = list(itertools.accumulate(weights))
    assert ends[-1] == 2**64
    some = range(0, len(ends), 1 + len(ends) // 200)
    words = sorted(
        {w for i in some for w in (ends[i] - 1, ends[i], ends[i] - weights[i]) if w < 2**64} | {0, 2**64 - 1}
    )
    words = words[: len(words) // 2 * 2]
    array = np.array(words, dtype=np.uint64).reshape(-1, 2)
    codes = np.arange(len(array)) % 2
    levels = np.array([bisect.bisect_right(ends, word) - clamp for word in words]).reshape(-1, 2)
    held = np.arange(2) == codes[:, None]
    expected = np.where(held, resolution - levels, levels)
    for run in (randomize_components.compiled, randomize_components.interpreted, randomize_components.few):
        reports = np.empty(array.shape, dtype=np.int16)
        run(codes, array, last, guide, resolution, clamp, reports)
        assert (reports == expected).all()


@pytest.mark.parametrize("k", [2, 7, 3000])
def test_interpreted_and_compiled_reports_are_the_same(k: int) -> None:
    """The same is tested for blocks of words that hold only a few rows."""
    she = SHE(k=k, epsilon=1.0)
    values = np.arange(24) * 11 % k
    compiled = she.randomize(values, SimulationRandomness(3))
    with always_interpreted():
        interpreted = she.randomize(values, SimulationRandomness(3))
    assert (compiled == interpreted).all()
    assert compiled.shape == (24, k)


def _fit(she: SHE, n: int, x: int) -> float:
    law = dict(zip(rows(she.outputs()), she.channel()[x], strict=True))
    return p_value(rows(she.randomize(np.full(n, x), SimulationRandomness(23 + x))), law)


@pytest.mark.long
@pytest.mark.parametrize(("resolution", "clamp"), [(1, 0), (1, 2), (3, 1)])
@pytest.mark.parametrize("interpreted", [False, True])
def test_reports_follow_the_channel(resolution: int, clamp: int, interpreted: bool) -> None:
    she = SHE(k=3, epsilon=2.0, resolution=resolution, clamp=clamp)
    for x in range(3):
        if interpreted:
            with always_interpreted():
                fit = _fit(she, 2000, x)
        else:
            fit = _fit(she, 60_000, x)
        assert fit >= FAMILY_WISE_ERROR / 18


def test_components_follow_their_channel_at_the_default_grid() -> None:
    she = SHE(k=4, epsilon=1.0)
    reports = she.randomize(np.full(60_000, 2), SimulationRandomness(6))
    levels = range(-64, 69)
    for v in range(4):
        law = dict(zip(levels, she.component_channel()[int(v == 2)], strict=True))
        assert p_value(reports[:, v].tolist(), law) >= FAMILY_WISE_ERROR / 4


def test_mutant_with_a_shifted_table_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: each level takes the interval of the next level, and the last takes the first."""
    honest = inverse_table

    def shifted(weights: tuple[int, ...]) -> Any:
        return honest((*weights[1:], weights[0]))

    monkeypatch.setattr(histogram_module, "inverse_table", shifted)
    assert _fit(SHE(k=3, epsilon=2.0, resolution=1, clamp=2), 60_000, 1) < FAMILY_WISE_ERROR
    she = SHE(k=4, epsilon=1.0)
    reports = she.randomize(np.full(60_000, 2), SimulationRandomness(6))
    law = dict(zip(range(-64, 69), she.component_channel()[0], strict=True))
    assert p_value(reports[:, 0].tolist(), law) < FAMILY_WISE_ERROR


def test_mutant_that_spends_1_1_epsilon_is_killed() -> None:
    declared = SHE(k=3, epsilon=1.0, resolution=1, clamp=1)
    law = dict(zip(rows(declared.outputs()), declared.channel()[0], strict=True))
    mutant = SHE(k=3, epsilon=1.1, resolution=1, clamp=1)
    reports = mutant.randomize(np.zeros(200_000, int), SimulationRandomness(1))
    assert p_value(rows(reports), law) < FAMILY_WISE_ERROR


# ---------------------------------------------------------------- the collector and the analyst


def _many(bad: list[int]) -> NDArray[np.int16]:
    reports = np.zeros((30, 3), dtype=np.int16)
    reports[16] = bad
    return reports


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (_many([0, 0, 6]), r"components must be in -3\.\.5, got 6 in row 17, component 2"),
        (_many([0, -4, 0]), r"components must be in -3\.\.5, got -4 in row 17, component 1"),
        (np.array([[0, 2**40, 0]]), r"got 1099511627776 in row 1, component 1"),
        (np.array([[0, 2**64 - 1, 0]], dtype=np.uint64), r"signed integer dtype, got dtype=uint64"),
        (np.zeros((2, 3)), r"must have an integer dtype, got dtype=float64"),
        (np.zeros((2, 3), dtype=bool), r"must have an integer dtype, got dtype=bool"),
        (np.zeros((2, 4), dtype=int), r"shape \(n, 3\), got shape=\(2, 4\)"),
        (np.zeros(3, dtype=int), r"shape \(n, 3\), got shape=\(3,\)"),
        ([["a", "b", "c"]], r"must have an integer dtype, got dtype=text"),
    ],
)
def test_hostile_reports_are_named(reports: Any, message: str) -> None:
    with pytest.raises(InvalidReportError, match=message):
        SHE(k=3, epsilon=1.0, resolution=2, clamp=3).aggregate(reports)


@MODES
def test_sums(mode: str) -> None:
    reports = draw(SimulationRandomness(1), 150).reshape(50, 3).astype(np.int64) % 9 - 3
    totals = np.zeros(3, dtype=np.int64)
    assert getattr(sum_components, mode)(reports, -3, 5, totals) == -1
    assert totals.tolist() == [sum(row[v] for row in reports.tolist()) for v in range(3)]
    she = SHE(k=3, epsilon=1.0, resolution=2, clamp=3)
    assert she.aggregate(reports.tolist()).counts.tolist() == totals.tolist()
    assert she.aggregate([]).n == she.aggregate(reports[:0]).n == 0


# ---------------------------------------------------------------- simulation


def _law_of_the_aggregate(she: SHE, counts: list[int]) -> dict[Any, float]:
    """Return the distribution of the vector of sums, by convolution of the contributors' channels."""
    outputs, channel = rows(she.outputs()), she.channel()
    law: dict[tuple[int, ...], float] = {(0,) * she.k: 1.0}
    for x in itertools.chain.from_iterable([value] * count for value, count in enumerate(counts)):
        longer: Counter[tuple[int, ...]] = Counter()
        for state, mass in law.items():
            for output, probability in zip(outputs, channel[x], strict=True):
                longer[tuple(map(sum, zip(state, output, strict=True)))] += mass * probability
        law = dict(longer)
    return dict(law)


@pytest.mark.long
@pytest.mark.parametrize(
    ("k", "grid", "counts"), [(2, (1, 1), [2, 1]), (2, (2, 0), [0, 3]), (3, (1, 0), [2, 0, 2]), (3, (1, 1), [1, 0, 1])]
)
def test_simulated_aggregate_has_exactly_the_law_of_reports(k: int, grid: tuple[int, int], counts: list[int]) -> None:
    she = SHE(k=k, epsilon=1.0, resolution=grid[0], clamp=grid[1])
    law = _law_of_the_aggregate(she, counts)
    rng = SimulationRandomness(k)
    drawn = [tuple(she.simulate_aggregate(counts, rng).counts.tolist()) for _ in range(8000)]
    assert p_value(drawn, law) >= FAMILY_WISE_ERROR / 8
    everyone = np.tile(np.repeat(np.arange(k), counts), 8000)
    reports = she.randomize(everyone, SimulationRandomness(3)).reshape(8000, -1, k)
    assert p_value(rows(reports.sum(axis=1)), law) >= FAMILY_WISE_ERROR / 8
    # This mutant ignores what the contributors hold.
    mutant = [tuple(she.simulate_aggregate([*counts[1:], counts[0]], rng).counts.tolist()) for _ in range(8000)]
    assert p_value(mutant, law) < FAMILY_WISE_ERROR


def test_a_billion_simulated_contributors() -> None:
    she = SHE(k=4, epsilon=1.0)
    truth = np.array([700_000_000, 200_000_000, 100_000_000, 0])
    estimate = she.estimate(she.simulate_aggregate(truth, SimulationRandomness(1)))
    assert estimate.n == 10**9
    # A z of 5.5 has a family-wise error of 1.5e-7 over four values.
    assert (np.abs(estimate.frequencies - truth / 1e9) <= 5.5 * estimate.standard_errors).all()


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"resolution": 0}, r"resolution must be >= 1, got resolution=0"),
        ({"resolution": 16_384}, r"resolution must be <= 16383"),
        ({"clamp": -1}, r"clamp must be >= 0, got clamp=-1"),
        ({"clamp": 2.5}, r"clamp must be an integer"),
        ({"clamp": 16_384}, r"clamp must be <= 16383"),
    ],
)
def test_bad_grids_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        SHE(k=3, epsilon=1.0, **parameters)


@pytest.mark.parametrize("k", [4, 10**6])
def test_default_joint_channel_is_too_large_to_list(k: int) -> None:
    with pytest.raises(TooLargeError, match="channel"):
        SHE(k=k, epsilon=1.0).channel()
    with pytest.raises(TooLargeError, match="channel"):
        SHE(k=k, epsilon=1.0).outputs()


def test_specification() -> None:
    she = SHE(k=3, epsilon=0.1)
    assert to_spec(she) == {"mechanism": "SHE", "k": 3, "epsilon": "0.1", "resolution": 1, "clamp": 160}
    assert from_spec(to_spec(she)) == she
