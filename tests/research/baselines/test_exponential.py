from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from deniable import GRR, SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.errors import InvalidParameterError, InvalidReportError, MismatchError
from deniable.research.baselines.exponential import Exponential
from tests.unit._goodness import FAMILY_WISE_ERROR, always_interpreted, p_value

DOMAINS = (2, 3, 4, 5, 8)
EPSILONS = (0.01, 0.5, 1.0, 2.0, 5.0)


@pytest.mark.parametrize("k", DOMAINS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_channel_has_the_weights_of_the_exponential_mechanism(k: int, epsilon: float) -> None:
    channel = Exponential(k=k, epsilon=epsilon).channel(exact=True)
    total = math.exp(epsilon / 2) + k - 1
    for x in range(k):
        assert sum(channel[x]) == 1
        for y in range(k):
            weight = math.exp(epsilon / 2) if x == y else 1.0
            assert float(channel[x, y]) == pytest.approx(weight / total, rel=1e-14)


@pytest.mark.parametrize("k", DOMAINS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_tight_epsilon_is_half_of_the_declared_one(k: int, epsilon: float) -> None:
    mechanism = Exponential(k=k, epsilon=epsilon)
    ratio = mechanism.implemented_ratio()
    channel = mechanism.channel(exact=True)
    assert ratio == max(max(column) / min(column) for column in channel.T)
    context = Context(prec=60)
    logarithm = context.ln(context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    half = Decimal(repr(epsilon)) / 2
    assert half - Decimal("1e-15") <= logarithm <= half
    assert mechanism.privacy().epsilon == epsilon / 2
    assert mechanism.privacy().per_attribute == (epsilon / 2,)
    assert mechanism.epsilon == epsilon
    assert "half" in str(mechanism.privacy())


@pytest.mark.parametrize("k", DOMAINS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_estimator_is_unbiased(k: int, epsilon: float) -> None:
    mechanism = Exponential(k=k, epsilon=epsilon)
    estimates = np.array([mechanism.estimate(mechanism.aggregate([y])).frequencies for y in range(k)])
    expected = [[math.fsum(row * estimates[:, v]) for v in range(k)] for row in mechanism.channel()]
    assert np.abs(np.array(expected) - np.eye(k)).max() <= 1e-12 * np.abs(estimates).max()


def test_same_words_same_reports_as_grr_at_half_the_budget() -> None:
    values = np.arange(1000) % 7
    ours = Exponential(k=7, epsilon=0.1).randomize(values, SimulationRandomness(1))
    grr = GRR(k=7, epsilon=Fraction(1, 20)).randomize(values, SimulationRandomness(1))
    assert (ours == grr).all()


@pytest.mark.parametrize("interpreted", [False, True])
def test_reports_follow_the_channel(interpreted: bool) -> None:
    mechanism, whole_budget = Exponential(k=4, epsilon=2.0), GRR(k=4, epsilon=2.0)
    law = dict(enumerate(mechanism.channel()[1]))
    values = np.full(2000 if interpreted else 200_000, 1)

    def fit(reports: np.ndarray) -> float:
        return p_value(reports.tolist(), law)

    if interpreted:
        with always_interpreted():
            assert fit(mechanism.randomize(values, SimulationRandomness(2))) >= FAMILY_WISE_ERROR
    else:
        assert fit(mechanism.randomize(values, SimulationRandomness(2))) >= FAMILY_WISE_ERROR
    # This mutant forgets the factor 1/2.
    assert fit(whole_budget.randomize(values, SimulationRandomness(2))) < FAMILY_WISE_ERROR


def test_simulated_aggregate_is_that_of_grr_with_our_name_on_it() -> None:
    mechanism, grr = Exponential(k=3, epsilon=1.0), GRR(k=3, epsilon=0.5)
    counts = np.array([500_000_000, 300_000_000, 200_000_000])
    ours = mechanism.simulate_aggregate(counts, SimulationRandomness(3))
    assert ours.counts.tolist() == grr.simulate_aggregate(counts, SimulationRandomness(3)).counts.tolist()
    assert ours.mechanism == mechanism
    estimate = mechanism.estimate(ours)
    # A z of 5.4 has a family-wise error of 2e-7 over three values.
    assert (np.abs(estimate.frequencies - counts / 1e9) <= 5.4 * estimate.standard_errors).all()


def test_aggregates_carry_the_mechanism_and_not_the_grr_it_runs() -> None:
    mechanism, grr = Exponential(k=3, epsilon=1.0), GRR(k=3, epsilon=0.5)
    with pytest.raises(MismatchError, match="came from"):
        mechanism.estimate(grr.aggregate([0, 1]))
    with pytest.raises(MismatchError, match="merge"):
        mechanism.aggregate([0]) + grr.aggregate([0])
    assert to_spec(mechanism) == {"mechanism": "Exponential", "k": 3, "epsilon": "1"}
    assert from_spec(to_spec(mechanism)) == mechanism


def test_variance_is_that_of_grr_at_half_the_budget() -> None:
    # The variance at f = 0 is (k - 2 + e^(eps/2))/(e^(eps/2) - 1)^2 = (14 + 1.6487212707001282)/0.6487212707001282^2.
    assert Exponential(k=16, epsilon=1.0).variance(0.0, 1) == pytest.approx(37.18455417997628, rel=1e-13)


def test_budget_bounds() -> None:
    assert Exponential(k=3, epsilon=2e-6).privacy().epsilon == 1e-6
    with pytest.raises(InvalidParameterError, match=r"epsilon must be >= 2e-06 .*, got epsilon=1e-06"):
        Exponential(k=3, epsilon=1e-6)
    with pytest.raises(InvalidParameterError, match=r"epsilon must be > 0, got epsilon=-1"):
        Exponential(k=3, epsilon=-1.0)


def test_a_hostile_report_is_named() -> None:
    with pytest.raises(InvalidReportError, match=r"report must be in 0\.\.2, got report=3 in row 2"):
        Exponential(k=3, epsilon=1.0).aggregate([0, 3])
