from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import RSFD, Aggregate, SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError
from deniable.records import RSRFD, fake_data, fakes, layout, sampled_attribute
from deniable.records.uniform_draws import uniform_rows
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, rows
from tests.unit.records.fake_laws import FAKES, PRIORS, _biased, _priors, _realistic_law
from tests.unit.records.record_laws import (
    EPSILONS,
    Record,
    aggregates_agree,
    grr,
    largest_ratio,
    log,
    records,
    worst_p_value,
)


@pytest.mark.parametrize("n", [1, 2, 5, 16])
@pytest.mark.parametrize("sizes", [(2, 3), (16,) * 5, (2, 1 << 20, 300)])
def test_few_records_get_the_fakes_and_reports_of_many(sizes: tuple[int, ...], n: int) -> None:
    rsfd = RSFD(sizes, 1.0)
    codes = np.random.default_rng(n).integers(sizes, size=(n, len(sizes)), dtype=np.int64)
    found = rsfd.randomize(codes, SimulationRandomness(n))
    rng = SimulationRandomness(n)
    assert isinstance(rsfd.layout, layout.CodeLayout)
    many = fakes.codes_among(rsfd.layout, codes, rng, partial(uniform_rows, rng, sizes))
    assert found.dtype == many.dtype
    assert found.tolist() == many.tolist()


# -------------------------------------------------------------------- exact distributions


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_whole_record_ratio_is_that_of_the_sampled_attribute(epsilon: float) -> None:
    """Fakes give no protection between records that differ everywhere, for all sizes."""
    for sizes in ((2, 2), (2, 3), (3, 3), (2, 2, 2), (2, 3, 2)):
        ratio = largest_ratio(RSFD(sizes, epsilon).channel(exact=True), sizes)
        assert abs(float(log(ratio)) - epsilon) < 1e-12 * max(1.0, epsilon)


def test_the_amplified_budget_is_a_trap() -> None:
    """Spending eps' = ln(d (e^eps - 1) + 1) for eps = 0.5 costs eps' = 0.832 (d = 2), 1.081 (d = 3) between records."""
    for sizes, spent in (((3, 3), 0.832), ((2, 2, 2), 1.081)):
        amplified = math.log(len(sizes) * (math.exp(0.5) - 1) + 1)
        assert round(amplified, 3) == spent
        rsfd = RSFD(sizes, amplified)
        assert round(float(log(largest_ratio(rsfd.channel(exact=True), sizes))), 3) == spent
        assert round(rsfd.privacy().epsilon, 3) == spent
        # The bound is 0.5 between records that differ in one attribute.
        assert [round(value, 12) for value in rsfd.privacy().per_attribute] == [0.5] * len(sizes)
    # It is not even that if the attributes are not alike, or if fakes are random values.
    amplified = math.log(2 * (math.exp(0.5) - 1) + 1)
    assert [round(value, 3) for value in RSFD((2, 4), amplified).privacy().per_attribute] == [0.456, 0.542]
    assert [round(value, 3) for value in RSFD((3, 3), amplified, "OUE", "random").privacy().per_attribute] == [0.55] * 2
    assert [round(value, 3) for value in RSFD((2, 4), amplified, "OUE").privacy().per_attribute] == [0.5] * 2


def test_a_zero_prior_gives_its_attribute_away() -> None:
    rsrfd = RSRFD((2, 3), 1.0, ((1, 0), (0.2, 0.3, 0.5)))
    assert rsrfd.privacy().per_attribute[0] == 1.0
    assert rsrfd.privacy().per_attribute[1] < 0.9
    assert any("prior is zero" in remark for remark in rsrfd.privacy().remarks)
    assert not any("prior is zero" in remark for remark in RSRFD((2, 2), 1.0, ((0.5, 0.5),) * 2).privacy().remarks)
    # One report cannot have the zero values of both attributes.
    assert rows(RSRFD((2, 2), 1.0, ((1, 0), (0, 1))).outputs()) == [(0, 0), (0, 1), (1, 1)]


# -------------------------------------------------------------------- estimators


def test_estimators_are_the_published_ones() -> None:
    """GRR: (c d k - n (d - 1 + q k))/(n k (p - q)); realistic: (d c/n - q - (d-1) pi)/(p - q)."""
    n, epsilon = 1000, 1.0
    for k, counts in ((2, [700, 300]), (4, [100, 200, 300, 400])):
        p, q = grr(0, 0, k, epsilon), grr(1, 0, k, epsilon)
        rsfd = RSFD((k, k, k), epsilon)
        estimate = rsfd.estimate(Aggregate(rsfd, np.array(counts * 3), n))[1]
        by_hand = [(c * 3 * k - n * (2 + q * k)) / (n * k * (p - q)) for c in counts]
        assert estimate.frequencies == pytest.approx(by_hand, rel=1e-11)
        prior: Any = np.arange(1, k + 1) / (k * (k + 1) / 2)
        rsrfd = RSRFD((k, k, k), epsilon, (prior, prior, prior[::-1]))
        estimate = rsrfd.estimate(Aggregate(rsrfd, np.array(counts * 3), n))[2]
        by_hand = [(3 * c / n - q - 2 * pi) / (p - q) for c, pi in zip(counts, prior[::-1], strict=True)]
        assert estimate.frequencies == pytest.approx(by_hand, rel=1e-11)


def test_variance_of_realistic_fakes_depends_on_the_prior() -> None:
    rsrfd = RSRFD((2, 3), 1.0, _priors((2, 3)))
    p, q = grr(0, 0, 3, 1.0), grr(1, 0, 3, 1.0)
    expected = []
    for pi in PRIORS[3]:
        absent = (q + pi) / 2
        expected.append(absent * (1 - absent) * 4 / (p - q) ** 2 / 500)
    assert [rsrfd.variance(0.0, 500, 1, v) for v in range(3)] == pytest.approx(expected, rel=1e-10)
    assert rsrfd.variance(0.0, 500, 1) == pytest.approx(sum(expected) / 3, rel=1e-10)


# -------------------------------------------------------------------- randomise


@pytest.mark.long
@pytest.mark.parametrize(("sizes", "zeros"), [((2, 3), ()), ((2, 3), (1,)), ((2, 2, 2), (0, 1))])
def test_realistic_reports_follow_the_channel(
    sizes: tuple[int, ...], zeros: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    bound, priors = FAMILY_WISE_ERROR / math.prod(sizes), _priors(sizes, zeros)

    def smallest(n: int, seed: int, drawn_from: Any = priors) -> float:
        def law(x: Record) -> dict[Any, float]:
            return {y: mass for y, mass in _realistic_law(x, sizes, 1.0, priors).items() if mass > 0}

        rsrfd = RSRFD(sizes, 1.0, drawn_from)
        return worst_p_value(rsrfd, rows, law, SimulationRandomness(seed), n)

    assert smallest(20_000, 1) > bound
    with always_interpreted():
        assert smallest(200, 2) > bound
    # Mutants: fakes are uniform; the attribute is biased.
    assert smallest(20_000, 1, [np.full(k, 1 / k) for k in sizes]) < bound
    monkeypatch.setattr(sampled_attribute, "sample_attributes", _biased)
    assert smallest(20_000, 1) < bound


@pytest.mark.parametrize("sizes", [(300, 7, 4), (5, 5)])
def test_over_several_blocks_true_values_stand_in_their_own_rows(sizes: tuple[int, ...]) -> None:
    """At a budget without lies, a column differs from the truth only by fakes: (d-1)/d (1 - 1/k) of its rows."""
    n = 2 * sampled_attribute.SAMPLED_ROWS + 5
    truth = np.stack([np.arange(n) * (j + 3) % k for j, k in enumerate(sizes)], axis=1)
    uniform = tuple((1 / k,) * k for k in sizes)
    for mechanism in (RSFD(sizes, 32), RSRFD(sizes, 32, uniform)):
        reports = mechanism.randomize(truth, SimulationRandomness(7))
        for j, k in enumerate(sizes):
            chance = (len(sizes) - 1) / len(sizes) * (1 - 1 / k)
            wrong = (reports[:, j] != truth[:, j]).sum()
            assert stats.binomtest(int(wrong), n, chance).pvalue > FAMILY_WISE_ERROR


# -------------------------------------------------------------------- simulate


@pytest.mark.long
@pytest.mark.parametrize(("oracle", "kind"), [*FAKES, ("GRR", "realistic")])
def test_simulated_aggregates_follow_the_law(oracle: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (2, 3)
    held = np.array([400, 10, 3, 0, 90, 330])  # these are correlated
    # At a large budget the covariance between attributes is large, too. Random values have the smallest covariance.
    draws = 10_000 if kind == "random" else 4_000
    mechanism: Any = RSRFD(sizes, 4.0, _priors(sizes)) if kind == "realistic" else RSFD(sizes, 4.0, oracle, kind)
    outputs = mechanism.outputs()
    states = np.array([mechanism.aggregate(outputs[o : o + 1]).counts for o in range(len(outputs))], dtype=np.float64)

    def drawn() -> Any:
        rng = SimulationRandomness(4)
        rows = np.array(records(sizes))
        return np.array([mechanism.simulate_aggregate(rows, held, rng).counts for _ in range(draws)])

    assert aggregates_agree(mechanism, held, drawn(), states)
    assert mechanism.simulate_aggregate(records(sizes), held, SimulationRandomness(1)).n == 833

    # Mutant: who samples what is drawn for every attribute separately, as if marginal counts were enough.
    def independent(rows: Any, counts: Any, sizes: Any, rng: Any) -> Any:
        parts = []
        for j, k in enumerate(sizes):
            true_counts = np.bincount(np.array(rows)[:, j], weights=counts, minlength=k).astype(np.int64)
            parts.append(rng.generator.binomial(true_counts, 1 / len(sizes)))
        return parts

    monkeypatch.setattr(fake_data, "simulate_sampling", independent)
    assert not aggregates_agree(mechanism, held, drawn(), states)


# -------------------------------------------------------------------- parameters and reports


def test_fakes_follow_the_oracle() -> None:
    assert RSFD((2, 2), 1.0).fakes == "uniform"
    assert RSFD((2, 2), 1.0, "OUE").fakes == "zero"
    assert RSFD((2, 2), 1.0, "OUE") == RSFD((2, 2), 1.0, "OUE", "zero")
    with pytest.raises(InvalidParameterError, match="fakes must be uniform with the oracle GRR, got fakes=“zero”"):
        RSFD((2, 2), 1.0, "GRR", "zero")
    with pytest.raises(
        InvalidParameterError, match="fakes must be zero or random with the oracle OUE, got fakes=“uniform”"
    ):
        RSFD((2, 2), 1.0, "OUE", "uniform")
    with pytest.raises(InvalidParameterError, match="oracle must be one of GRR, OUE"):
        RSFD((2, 2), 1.0, "SUE")


def test_priors_are_data() -> None:
    """Arrays, fractions and text all become the same exact numbers, also after JSON."""
    mixed: Any = ((Fraction(1, 4), "0.75"), (Fraction(1, 3),) * 3)
    exact = RSRFD((2, 3), 1.0, mixed)
    assert exact.priors == ((0.25, 0.75), (Fraction(1, 3),) * 3)
    assert from_spec(to_spec(exact)) == exact
    arrays: Any = [np.array([0.25, 0.75]), np.full(3, 1 / 3)]
    assert RSRFD((2, 3), 1.0, arrays) == RSRFD((2, 3), 1.0, ((0.25, 0.75), (1 / 3,) * 3))
    implemented = exact.implemented_priors[1]
    assert sum(implemented) == 1
    assert max(abs(value - Fraction(1, 3)) for value in implemented) <= Fraction(1, 2**64)


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        (((0.5, 0.5),), r"one distribution per attribute \(2\)"),
        ("ab", "one distribution per attribute"),
        (((0.5, 0.5), (0.5, 0.5)), r"priors\[1\] must have 3 probabilities, got 0.5, 0.5"),
        (((0.5, 0.5), (0.5, 0.6, -0.1)), r"priors\[1\]\[2\] must be >= 0, got -0.1"),
        (((0.5, 0.5001), (0.2, 0.3, 0.5)), r"priors\[0\] must sum to 1 within 1e-09, got sum=1.0001"),
        (((0.5, float("nan")), (0.2, 0.3, 0.5)), r"priors\[0\]\[1\] must be a finite number"),
        (((0.5, None), (0.2, 0.3, 0.5)), r"priors\[0\]\[1\] must be a finite number"),
        ((0.5, 0.5), r"priors\[0\] must have 2 probabilities"),
        (((0, 0), (0.2, 0.3, 0.5)), r"priors\[0\] must sum to 1"),
    ],
)
def test_refuses_bad_priors(priors: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        RSRFD((2, 3), 1.0, priors)


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf")])
def test_refuses_bad_budgets(epsilon: float) -> None:
    for build in (lambda: RSFD((2, 3), epsilon), lambda: RSRFD((2, 3), epsilon, _priors((2, 3)))):
        with pytest.raises(InvalidParameterError, match="epsilon must be"):
            build()


def test_refuses_bad_input() -> None:
    rng = SimulationRandomness(1)
    for mechanism in (RSFD((2, 3), 1.0), RSFD((2, 3), 1.0, "OUE"), RSRFD((2, 3), 1.0, _priors((2, 3)))):
        with pytest.raises(
            InvalidInputError, match=r"value must be in 0\.\.2, got something else in row 2, attribute 1"
        ):
            mechanism.randomize([[1, 2], [1, -1]], rng)
        with pytest.raises(
            InvalidInputError, match=r"shape \(n, 2\), one column for each attribute, got shape=\(1, 1\)"
        ):
            mechanism.randomize([[1]], rng)
        with pytest.raises(InvalidInputError, match="row 1, attribute 1"):
            mechanism.simulate_aggregate([[0, 3]], [5], rng)
        with pytest.raises(InvalidInputError, match="counts must be >= 0"):
            mechanism.simulate_aggregate([[0, 2]], [-5], rng)
        with pytest.raises(InvalidParameterError, match="attribute must be >= 0, got attribute=-1"):
            mechanism.variance(0.1, 10, -1)
    with pytest.raises(InvalidReportError, match="got report=3 in row 1, attribute 1"):
        RSFD((2, 3), 1.0).aggregate([[0, 3]])
    reports = RSFD((2, 3), 1.0, "OUE").randomize([[0, 2]] * 30, rng)
    reports[20, 1] |= 8
    with pytest.raises(InvalidReportError, match="a 1 in row 21, attribute 1"):
        RSFD((2, 3), 1.0, "OUE").aggregate(reports)
