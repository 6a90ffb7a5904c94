"""RAPPOR: two stages, two budgets, one memoised response."""

from __future__ import annotations

import json
import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.core.thresholds import exact
from deniable.errors import InvalidInputError, InvalidParameterError, InvalidReportError
from deniable.oracles.bits import Bits
from deniable.oracles.oracle import FrequencyOracle
from deniable.oracles.rappor import RAPPOR
from tests.unit.oracles.unary_laws import FAMILY_WISE_ERROR, KERNELS, kernel_path, p_value

EPSILONS = (0.01, 0.5, 1.0, 2.0, 5.0)
DIGITS = Context(prec=60)


def _ln(ratio: Fraction) -> Decimal:
    return DIGITS.ln(DIGITS.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))


# -------------------------------------------------------------------- the two budgets


def test_both_budgets_by_hand() -> None:
    """f = p = 1/2, q = 3/4: a flip has 1/4, so 2 ln 3; q* = 11/16, p* = 9/16, so ln[(11 x 7)/(9 x 5)]."""
    rappor: FrequencyOracle[Bits] = RAPPOR(k=5, f=0.5, p=0.5, q=0.75)
    assert isinstance(rappor, RAPPOR)
    assert rappor.support_probabilities == (Fraction(11, 16), Fraction(9, 16))
    assert rappor.implemented_ratio() == Fraction(77, 45)
    assert rappor.implemented_permanent_ratio() == 9
    assert rappor.epsilon == rappor.implemented_permanent_epsilon() == pytest.approx(2.1972245773362196, rel=1e-15)
    assert rappor.one_report_epsilon == rappor.implemented_epsilon() == pytest.approx(0.537142932083364, rel=1e-14)
    guarantee = rappor.privacy()
    assert guarantee.epsilon == rappor.epsilon
    assert guarantee.implemented_epsilon == rappor.implemented_permanent_epsilon()
    rows = {(row.adversary, row.view): (row.epsilon, row.status) for row in guarantee.trust_models}
    assert rows["collector", "one report"] == (rappor.one_report_epsilon, "exact")
    assert rows["collector", "unlimited reports of one memoised answer"] == (rappor.epsilon, "upper bound")
    assert "memoise" in guarantee.remarks[0]
    assert "r x 0.537143 (upper bound)" in str(guarantee)


@pytest.mark.parametrize("epsilon", [1e-6, *EPSILONS, 32.0, "0.1", Fraction(1, 3)])
def test_from_epsilon_spends_the_budget_and_no_more(epsilon: Any) -> None:
    rappor = RAPPOR.from_epsilon(8, epsilon)
    budget = DIGITS.divide(Decimal(exact(epsilon).numerator), Decimal(exact(epsilon).denominator))
    # The declared f itself keeps the budget, and so does the implemented threshold even more.
    half = exact(rappor.f) / 2
    assert _ln(rappor.implemented_permanent_ratio()) <= _ln(((1 - half) / half) ** 2) <= budget
    assert rappor.epsilon == pytest.approx(float(budget), rel=1e-9)
    assert rappor.implemented_permanent_epsilon() == pytest.approx(float(budget), rel=1e-5)
    assert rappor.one_report_epsilon < rappor.epsilon


def test_from_epsilon_by_hand() -> None:
    # 2/(e + 1) = 0.5378828427399902...
    assert RAPPOR.from_epsilon(4, 2.0).f == pytest.approx(0.53788284273999024, rel=1e-15)
    assert (RAPPOR.from_epsilon(4, 2.0).p, RAPPOR.from_epsilon(4, 2.0).q) == (0.5, 0.75)
    assert RAPPOR.from_epsilon(4, 2.0, p="0.1", q=0.9).p == 0.1


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
def test_exact_ratios(k: int, epsilon: float) -> None:
    for p, q in ((0.5, 0.75), (0.1, 0.9)):
        rappor = RAPPOR.from_epsilon(k, epsilon, p, q)
        for channel, ratio, declared in (
            (rappor.channel(exact=True), rappor.implemented_ratio(), Decimal(rappor.one_report_epsilon)),
            (rappor.permanent_channel(exact=True), rappor.implemented_permanent_ratio(), Decimal(repr(epsilon))),
        ):
            assert all(sum(row) == 1 for row in channel)
            assert max(max(column) / min(column) for column in channel.T) == ratio
            assert _ln(ratio) <= declared
            assert float(_ln(ratio)) == pytest.approx(float(declared), rel=1e-11)


@pytest.mark.parametrize("k", [2, 3])
def test_channel_is_the_two_stages_composed(k: int) -> None:
    rappor = RAPPOR(k, 0.3, 0.2, 0.9)
    one, zero = (Fraction(t, 2**64) for t in rappor.report_thresholds)

    def second_stage(permanent: int, report: int) -> Fraction:
        chances = [one if permanent >> v & 1 else zero for v in range(k)]
        return math.prod((c if report >> v & 1 else 1 - c for v, c in enumerate(chances)), start=Fraction(1))

    second = np.array([[second_stage(b, y) for y in range(2**k)] for b in range(2**k)], dtype=object)
    assert (rappor.permanent_channel(exact=True) @ second == rappor.channel(exact=True)).all()


def test_thresholds_are_rounded_towards_privacy() -> None:
    rappor = RAPPOR(4, 0.3, 0.1, 0.7)
    assert rappor.permanent_thresholds == (
        2**64 - math.ceil(2**64 * Fraction(3, 20)),
        math.ceil(2**64 * Fraction(3, 20)),
    )
    assert rappor.report_thresholds == (math.floor(2**64 * Fraction(7, 10)), math.ceil(2**64 * Fraction(1, 10)))


# -------------------------------------------------------------------- sampled laws and their mutants


@pytest.mark.parametrize("path", KERNELS)
def test_permanent_responses_and_reports_follow_their_channels(path: str) -> None:
    rappor, n = RAPPOR(4, 0.5, 0.25, 0.75), 40_000
    rng, bound = SimulationRandomness(6), FAMILY_WISE_ERROR / 8
    with kernel_path(path):
        for x in range(4):
            codes = np.full(n, x)
            permanent = rappor.permanent(codes, rng)
            assert p_value(permanent, rappor.permanent_channel()[x]) >= bound
            assert p_value(rappor.randomize(codes, rng), rappor.channel()[x]) >= bound
            # Mutants: the second stage is forgotten; the first stage is forgotten.
            assert p_value(permanent, rappor.channel()[x]) < bound
            own = np.packbits(np.eye(4, dtype=np.uint8)[codes], axis=1, bitorder="little")
            assert p_value(rappor.report(own, rng), rappor.channel()[x]) < bound


def _both_set(first: Bits, second: Bits, k: int) -> NDArray[np.float64]:
    """Return how often each bit was set in both of two reports of the same contributors."""
    both: NDArray[np.float64] = np.unpackbits(first & second, axis=1, bitorder="little", count=k).mean(axis=0)
    return both


@pytest.mark.parametrize("path", KERNELS)
def test_two_reports_share_the_memoised_response(path: str) -> None:
    """P(bit v set twice) = P(B'=1) q^2 + P(B'=0) p^2; a client that draws a new response each time fails this."""
    rappor, n, k = RAPPOR(9, 0.5, 0.1, 0.9), 60_000, 9
    codes, rng = np.full(n, 2), SimulationRandomness(8)
    with kernel_path(path):
        memoised = rappor.permanent(codes, rng)
        together = _both_set(rappor.report(memoised, rng), rappor.report(memoised, rng), k)
        mutant = _both_set(rappor.randomize(codes, rng), rappor.randomize(codes, rng), k)
    set_in_permanent = np.where(np.arange(k) == 2, 0.75, 0.25)
    expected = set_in_permanent * 0.9**2 + (1 - set_in_permanent) * 0.1**2
    # The two-sided normal bound at 1e-6 over 18 frequencies is 5.5.
    allowed = 5.5 * np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(together - expected) <= allowed).all()
    assert (np.abs(mutant - expected) > allowed).all()


def test_many_reports_reveal_the_permanent_response_and_no_more() -> None:
    rappor = RAPPOR(70, 0.5, 0.5, 0.75)
    rng = SimulationRandomness(9)
    memoised = rappor.permanent([3], rng)
    kept = memoised.copy()
    reports = rappor.report(np.repeat(memoised, 20_000, axis=0), rng)
    rates = rappor.aggregate(reports).counts / 20_000
    permanent = np.unpackbits(memoised[0], bitorder="little", count=70)
    expected = np.where(permanent, 0.75, 0.5)
    # The two-sided normal bound at 1e-6 over 70 bits is 5.7.
    assert (np.abs(rates - expected) <= 5.7 * np.sqrt(expected * (1 - expected) / 20_000)).all()
    assert (memoised == kept).all()


def test_estimate_meets_the_truth() -> None:
    rappor = RAPPOR.from_epsilon(12, 3.0, p=0.1, q=0.9)
    counts = np.array([40_000, 10_000, *[0] * 10])
    rng = SimulationRandomness(3)
    reports = rappor.randomize(np.repeat(np.arange(12), counts), rng)
    for aggregate in (rappor.aggregate(reports), rappor.simulate_aggregate(counts, rng)):
        estimate = rappor.estimate(aggregate)
        # The two-sided normal bound at 1e-6 over 24 values is 5.5.
        assert np.abs((estimate.frequencies - counts / 50_000) / estimate.standard_errors).max() < 5.5
    assert rappor.variance(0.0, 7) == pytest.approx(float(rappor.estimate(aggregate).noise_absent[0]) / 7, rel=1e-12)


# -------------------------------------------------------------------- data and refusals


def test_is_data() -> None:
    rappor = RAPPOR(4, Fraction(1, 3), "0.5", 0.75)  # type: ignore[arg-type]
    assert to_spec(rappor) == {"mechanism": "RAPPOR", "k": 4, "f": "1/3", "p": 0.5, "q": 0.75}
    for one in (rappor, RAPPOR.from_epsilon(4, 0.1)):
        assert from_spec(json.loads(json.dumps(to_spec(one)))) == one


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"f": 0}, r"f must be in \(0, 1\), got f=0"),
        ({"f": 1.0}, r"f must be in \(0, 1\), got f=1.0"),
        ({"f": 1 - Fraction(1, 2**70)}, "f must be at most 1 - 2"),
        ({"f": float("nan")}, "f must be a finite number"),
        ({"p": 0}, r"p must be in \(0, 1\), got p=0"),
        ({"q": 1}, r"q must be in \(0, 1\), got q=1"),
        ({"p": 0.75, "q": 0.75}, "p must be < q, got p=0.75, q=0.75"),
        ({"p": 0.8, "q": 0.75}, "p must be < q"),
        ({"k": 1}, "k must be >= 2, got k=1"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        RAPPOR(**{"k": 4, "f": 0.5, "p": 0.5, "q": 0.75} | parameters)


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), 33, "much", None, True])
def test_bad_budget(epsilon: Any) -> None:
    with pytest.raises(InvalidParameterError, match="epsilon must be"):
        RAPPOR.from_epsilon(4, epsilon)


def test_bad_permanent_responses_and_reports() -> None:
    rappor, rng = RAPPOR(4, 0.5, 0.5, 0.75), SimulationRandomness(1)
    bad = np.zeros((20, 1), dtype=np.uint8)
    bad[16] = 16
    with pytest.raises(InvalidInputError, match=r"padding bits 4\.\.7 must be zero, got a 1 in row 17"):
        rappor.report(bad, rng)
    with pytest.raises(InvalidReportError, match="row 17"):
        rappor.aggregate(bad)
    with pytest.raises(InvalidInputError, match=r"shape \(n, 1\)"):
        rappor.report(np.zeros((3, 2), dtype=np.uint8), rng)
    with pytest.raises(InvalidInputError, match="got something else in row 1"):
        rappor.permanent([4], rng)
