"""Inference rules against literal candidates; their closed-form success against vectors and full enumeration."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate

from deniable import GRR, OLH, OUE, RAPPOR, SPL, SUE, CountMeanSketch, SimulationRandomness, SubsetSelection
from deniable.errors import InvalidParameterError, InvalidReportError
from deniable.leakage.prior.correlation import cpl, worst_case_cpl
from deniable.oracles import BLH
from deniable.oracles.oracle import FrequencyOracle
from deniable.oracles.sketch.families.prime import HashedReports
from deniable.research.adversary import attacks as rules
from deniable.research.adversary.attacks import (
    attack,
    attack_channel,
    attack_cpl,
    attack_success,
    candidates,
    continuous_she_success,
    effective_epsilon,
    enumerated_attack_channel,
)
from deniable.research.baselines import SHE, THE, Exponential
from tests.unit._goodness import FAMILY_WISE_ERROR, p_value

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "cpl.json").read_text())["attack_q"]

MAKERS: dict[str, Callable[[int, float], FrequencyOracle[Any]]] = {
    "grr": GRR,
    "exp": Exponential,
    "rappor": SUE,
    "oue": OUE,
    "blh": BLH,
    "olh": OLH,
    "ss": SubsetSelection,
}

SYMMETRIC = [
    GRR(5, 1.0),
    Exponential(4, 3.0),
    SUE(4, 1.0),
    OUE(6, 2.0),
    THE(5, 1.0),
    RAPPOR(4, f=0.5, p=0.25, q=0.75),
    SubsetSelection(7, 1.0),
    SubsetSelection(5, 0.5, omega=3),
    SHE(3, 1.0, resolution=2, clamp=3),
    SHE(2, 8.0, resolution=4, clamp=60),
]
SPREAD = [CountMeanSketch(5, 1.0, family="spread"), CountMeanSketch(8, 2.0, m=8, family="spread")]
PRIME = [BLH(3, 1.0), BLH(7, 2.0), OLH(5, 1.0), OLH(8, 2.0), CountMeanSketch(6, 0.5, m=5)]


# -------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['mech']}-{v['k']}-{v['eps']}")
def test_known_answers(vector: dict[str, Any]) -> None:
    k, epsilon = vector["k"], vector["eps"]
    if vector["mech"] == "she":
        # The vectors' own quadrature is off by up to 3e-9. For k = 2 the integral is elementary (see below).
        assert continuous_she_success(k, epsilon) == pytest.approx(vector["Q"], abs=5e-9)
        return
    mechanism = MAKERS[vector["mech"]](k, epsilon)
    assert attack_success(mechanism) == pytest.approx(vector["Q"], abs=1e-12)
    assert effective_epsilon(mechanism) == pytest.approx(vector["eps_eff"], abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 9.0])
def test_real_valued_she(epsilon: float) -> None:
    exact = 1 - (1 + epsilon / 4) * math.exp(-epsilon / 2) / 2  # P(difference of two Laplace variables < 1)
    assert continuous_she_success(2, epsilon) == pytest.approx(exact, abs=1e-13)
    b = 2 / epsilon

    def density(t: float) -> float:
        below = math.exp(t / b) / 2 if t < 0 else 1 - math.exp(-t / b) / 2
        return math.exp(-abs(t - 1) / b) / (2 * b) * below**6

    pieces = [(-60 * b, 0.0), (0.0, 1.0), (1.0, 1 + 60 * b)]
    total = sum(integrate.quad(density, *piece, epsabs=1e-12)[0] for piece in pieces)
    assert continuous_she_success(7, epsilon) == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize("k", [2, 5, 12])
def test_fine_grids_approach_real_valued_she(k: int) -> None:
    real = continuous_she_success(k, 1.0)
    gaps = [abs(attack_success(SHE(k, 1.0, resolution=r, clamp=20 * r)) - real) for r in (4, 16, 64)]
    assert gaps[0] > 4 * gaps[1] > 16 * gaps[2] > 0
    assert gaps[2] < 1e-5


@pytest.mark.parametrize("mechanism", SYMMETRIC, ids=repr)
def test_closed_forms_are_the_enumerated_channels(mechanism: FrequencyOracle[Any]) -> None:
    np.testing.assert_allclose(enumerated_attack_channel(mechanism), attack_channel(mechanism), rtol=0, atol=1e-13)


@pytest.mark.parametrize(("k", "m"), [(2, 2), (3, 2), (4, 3), (5, 2)])
def test_local_hashing_over_all_functions(k: int, m: int) -> None:
    """Every one of the m^k hash functions, every cell: the closed form is exact for the full family."""
    p = math.exp(1.0) / (math.exp(1.0) + m - 1)
    q, total = (1 - p) / (m - 1), 0.0
    for function in itertools.product(range(m), repeat=k):
        for cell in range(m):
            supported = [v for v in range(k) if function[v] == cell]
            guessed = (1 / len(supported) if 0 in supported else 0.0) if supported else 1 / k
            total += (p if function[0] == cell else q) * guessed
    assert attack_success(CountMeanSketch(k, 1.0, m=m)) == pytest.approx(total / m**k, abs=1e-12)


@pytest.mark.parametrize("mechanism", PRIME, ids=repr)
def test_the_prime_family_is_near_the_full_one(mechanism: CountMeanSketch) -> None:
    exact = np.diagonal(enumerated_attack_channel(mechanism))
    np.testing.assert_allclose(exact, attack_success(mechanism), rtol=0.1)


@pytest.mark.parametrize("mechanism", SPREAD, ids=repr)
def test_spread_lies_above_the_full_family(mechanism: CountMeanSketch) -> None:
    exact = np.diagonal(enumerated_attack_channel(mechanism))
    assert np.ptp(exact) < 1e-12
    assert attack_success(mechanism) < exact[0] < 1.5 * attack_success(mechanism)


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(sorted(MAKERS)), st.integers(2, 200), st.floats(0.01, 10))
def test_an_attack_never_extracts_more_than_epsilon(name: str, k: int, epsilon: float) -> None:
    mechanism = MAKERS[name](k, epsilon)
    assert 0 < effective_epsilon(mechanism) <= epsilon * (1 + 1e-9)
    assert 1 / k < attack_success(mechanism) < 1


def test_extreme_budgets() -> None:
    assert effective_epsilon(GRR(5, 32.0)) == pytest.approx(GRR(5, 32.0).implemented_epsilon(), abs=1e-13)
    assert effective_epsilon(OUE(5, 1e-6)) == pytest.approx(0, abs=1e-6)
    # OUE keeps its own bit only half of the time. If every other bit is clear, Q = 1/2 + (1/2)/k.
    assert attack_success(OUE(5, 32.0)) == pytest.approx(0.6, abs=1e-12)


def test_attack_cpl_is_that_of_grr_at_the_effective_epsilon() -> None:
    prior = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    for mechanism in (OUE(3, 1.0), SUE(3, 2.0), OLH(3, 1.0), SHE(3, 1.0), SubsetSelection(3, 1.0)):
        expected = cpl(GRR(3, effective_epsilon(mechanism)).channel(), prior)
        assert attack_cpl(mechanism, prior) == pytest.approx(expected, abs=1e-12)
        assert attack_cpl(mechanism, prior) <= worst_case_cpl(prior, 2.0).epsilon


def test_unary_encoding_leaks_more_than_its_attack_and_than_grr() -> None:
    """The paper ranks attacks: OUE's reports can reach every set of values, GRR's only single values."""
    prior = [[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.3, 0.5]]
    grr, oue = GRR(4, 1.0), OUE(4, 1.0)
    assert attack_cpl(oue, prior) < cpl(grr.channel(), prior) < cpl(oue.channel(), prior)


# -------------------------------------------------------------------- the rules


def test_candidates_are_literal() -> None:
    def listed(mechanism: FrequencyOracle[Any], reports: Any) -> list[list[int]]:
        return [np.flatnonzero(row).tolist() for row in candidates(mechanism, reports)]

    bits = np.array([[0b00000101, 0b10], [0, 0]], dtype=np.uint8)
    for mechanism in (OUE(10, 1.0), SUE(10, 1.0), THE(10, 1.0), RAPPOR(10, f=0.5, p=0.25, q=0.75)):
        assert listed(mechanism, bits) == [[0, 2, 9], []]
    assert listed(GRR(4, 1.0), np.array([3, 0])) == [[3], [0]]
    assert listed(Exponential(4, 1.0), np.array([3, 0])) == [[3], [0]]
    assert listed(SubsetSelection(6, 1.0, omega=2), np.array([[1, 5], [0, 2]])) == [[1, 5], [0, 2]]
    assert listed(SHE(4, 1.0), np.array([[0, 7, 7, -1], [9, 8, 0, 0]])) == [[1, 2], [0]]
    sketch = CountMeanSketch(5, 1.0, m=2)
    reports = HashedReports(np.array([3, 1]), np.array([4, 0]), np.array([0, 0]))
    assert listed(sketch, reports) == [[v for v in range(5) if (3 + 4 * v) % 17 % 2 == 0], []]  # P = 17


@pytest.mark.parametrize("mechanism", [*SYMMETRIC, *PRIME, *SPREAD], ids=repr)
def test_guesses_follow_the_exact_channel(mechanism: FrequencyOracle[Any]) -> None:
    rng = SimulationRandomness(5)
    value = mechanism.k - 1
    guesses = attack(mechanism, mechanism.randomize(np.full(20_000, value), rng), rng)
    law = dict(enumerate(enumerated_attack_channel(mechanism)[value]))
    assert p_value(guesses.tolist(), law) > FAMILY_WISE_ERROR


def test_a_rule_that_guesses_zero_without_candidates_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = OUE(4, 1.0)
    law = dict(enumerate(enumerated_attack_channel(mechanism)[3]))
    monkeypatch.setattr(rules, "_filled", lambda allowed: allowed)
    rng = SimulationRandomness(5)
    guesses = attack(mechanism, mechanism.randomize(np.full(20_000, 3), rng), rng)
    assert p_value(guesses.tolist(), law) < FAMILY_WISE_ERROR


@pytest.mark.parametrize("mechanism", [OUE(9, 1.0), OLH(9, 1.0), SHE(9, 1.0), SubsetSelection(9, 1.0)], ids=repr)
def test_blocks_change_nothing(mechanism: FrequencyOracle[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    reports = mechanism.randomize(np.arange(9).repeat(5), SimulationRandomness(1))
    whole = attack(mechanism, reports, SimulationRandomness(2))
    assert whole.dtype == np.int64
    monkeypatch.setattr(rules, "BLOCK_CELLS", 9 * 7)
    allowed = candidates(mechanism, reports)
    blocked = attack(mechanism, reports, SimulationRandomness(3))
    rows = np.arange(45)
    empty = ~allowed.any(axis=1)
    assert (allowed[rows, whole] | empty).all()
    assert (allowed[rows, blocked] | empty).all()


def test_no_reports_give_no_guesses() -> None:
    for mechanism in (GRR(3, 1.0), OUE(3, 1.0), OLH(3, 1.0), SHE(3, 1.0), SubsetSelection(3, 1.0)):
        rng = SimulationRandomness(1)
        empty = mechanism.randomize(np.zeros(0, dtype=np.int64), rng)
        assert attack(mechanism, empty, rng).shape == (0,)


@pytest.mark.parametrize(
    ("mechanism", "reports", "message"),
    [
        (GRR(3, 1.0), np.array([3]), "0..2"),
        (OUE(3, 1.0), np.array([[8]], dtype=np.uint8), "padding"),
        (OUE(3, 1.0), np.array([[1, 1]], dtype=np.uint8), "shape"),
        (SubsetSelection(4, 1.0, omega=2), np.array([[0, 4]]), "0..3"),
        (SHE(3, 1.0), np.array([[0.5, 0, 0]]), "integer dtype"),
        (BLH(3, 1.0), np.array([[1, 1]]), "HashedReports"),
    ],
)
def test_reports_of_another_mechanism_are_refused(mechanism: FrequencyOracle[Any], reports: Any, message: str) -> None:
    with pytest.raises(InvalidReportError, match=message):
        attack(mechanism, reports, SimulationRandomness(1))


def test_mechanisms_without_a_rule_are_named() -> None:
    record_mechanism: Any = SPL((2, 2), 1.0)
    for function in (attack_success, effective_epsilon, enumerated_attack_channel):
        with pytest.raises(InvalidParameterError, match="must be for a single attribute, got SPL"):
            function(record_mechanism)
    with pytest.raises(InvalidParameterError, match="got SPL"):
        attack(record_mechanism, np.zeros((1, 2), dtype=int), SimulationRandomness(1))
    with pytest.raises(InvalidParameterError, match="epsilon must be > 0"):
        continuous_she_success(3, 0.0)
