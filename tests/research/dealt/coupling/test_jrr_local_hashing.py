"""k-ary JRR inside local hashing: its distribution, and that it gains nothing."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable import OLH, Aggregate, SimulationRandomness
from deniable.core.spec import from_spec, to_spec
from deniable.errors import (
    DamagedStateError,
    EmptyAggregateError,
    InvalidInputError,
    InvalidParameterError,
    MismatchError,
)
from deniable.research.dealt.coupling.coupled_oue import CoupledOUE
from deniable.research.dealt.coupling.jrr_local_hashing import JRRLocalHashing
from tests.research.dealt.coupling_laws import signs


def _support(hashed: JRRLocalHashing, v: int, x: int) -> tuple[Fraction, Fraction]:
    """Return P(report supports v | holds x) for truth-tellers and for liars, over all hash functions."""
    parameters, weights = hashed.hashes.members()
    mine, theirs = (hashed.hashes.hash(np.full(len(weights), u), *parameters).tolist() for u in (x, v))
    pairs = list(zip(mine, theirs, weights.tolist(), strict=True))
    true = sum((w for a, b, w in pairs if a == b), start=Fraction(0))
    lie = sum((w for a, b, w in pairs if a != b), start=Fraction(0)) / (hashed.m - 1)
    return true, lie


@pytest.mark.parametrize(("m", "p", "rho"), [(2, 0.75, -0.3125), (3, 0.5, -2.0), (3, 0.625, -0.5)])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_mean_and_variance_are_exact(m: int, p: float, rho: float, n: int) -> None:
    hashed = JRRLocalHashing(3, m, p, rho, n)
    coin = hashed.response.coin
    truth, s = 1 - coin.q, coin.s
    present, absent = hashed.support_probabilities
    held, other = _support(hashed, 0, 0), _support(hashed, 0, 1)
    assert held == (Fraction(1), Fraction(0))
    assert (truth * held[0], truth * other[0] + (1 - truth) * other[1]) == (present, absent)
    for holders in range(n + 1):
        chances = [held] * holders + [other] * (n - holders)
        first: Any = 0
        second: Any = 0
        for dealt, weight in signs(n).items():
            seen = [(truth + r * s) * a + (1 - truth - r * s) * b for r, (a, b) in zip(dealt, chances, strict=True)]
            first += weight * sum(seen)
            second += weight * (sum(seen) + sum(a * b for a, b in itertools.permutations(seen, 2)))
        assert (first - n * absent) / (present - absent) == holders
        expected = float((second - first**2) / (present - absent) ** 2)
        assert hashed.variance(holders / n) * n**2 == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_there_is_no_gain_for_rare_values() -> None:
    n, epsilon = 10_000, 1.0
    plain = OLH(1000, epsilon)
    assert plain.m is not None
    for rho_count in (0, n):
        hashed = JRRLocalHashing.optimal(1000, plain.m, n, epsilon, 5, rho_count)
        assert hashed.rho < -2  # it is coupled as far as possible
        for f in (0.0, 0.01, 0.05):
            assert hashed.variance(f) / plain.variance(f, n) > 0.98
    # For the same pairs and the same epsilon, OUE saves more than a third.
    assert CoupledOUE.optimal(1000, n, epsilon, 5).variance(0.0) / plain.variance(0.0, n) < 0.65
    # This simulates one rare value.
    hashed = JRRLocalHashing.optimal(20, 4, 400, epsilon, 5)
    rng, size = SimulationRandomness(1), 800
    held = np.array([380, 20, *([0] * 18)])
    found = np.array([hashed.frequencies(hashed.simulate_aggregate(held, rng)) for _ in range(size)])
    for v in (0, 1, 2):
        variance = hashed.variance(held[v] / 400)
        assert abs(found[:, v].mean() - held[v] / 400) < 5.5 * math.sqrt(variance / size)
        assert found[:, v].var() == pytest.approx(variance, rel=5.5 * math.sqrt(2 / size))


def test_guarantee_is_that_of_the_response() -> None:
    hashed = JRRLocalHashing.optimal(100, 4, 1000, 1.0, 5)
    rows, inner = hashed.privacy().trust_models, hashed.response.privacy().trust_models
    assert [row.epsilon for row in rows] == [row.epsilon for row in inner]
    assert all(row.status == "upper bound" for row in rows if row.delta)
    assert hashed.implemented_ratio() == hashed.response.implemented_ratio()
    assert hashed.epsilon == hashed.implemented_epsilon() == hashed.response.epsilon


def test_is_data() -> None:
    hashed = JRRLocalHashing(100, 4, 0.5, -1.5, 100, 7, "x")
    again: Any = from_spec(to_spec(hashed))
    assert again == hashed
    assert pickle.loads(pickle.dumps(hashed)) == hashed
    assert hashed.state_size == 100
    assert [field.name for field in hashed.report_fields] == ["a0", "a1", "value"]
    assert hashed.report_bits > 2
    assert hashed.share_fields[0].name == "types"
    rng = SimulationRandomness(1)
    reports = hashed.randomize(np.arange(100), hashed.deal(100, rng), rng)
    assert type(reports) is hashed.report_type
    estimate = hashed.estimate(hashed.aggregate(reports))
    assert (estimate.n, estimate.k) == (100, 100)
    lower, upper = estimate.interval(0.9)
    assert ((lower <= estimate.frequencies.clip(0, 1)) & (estimate.frequencies.clip(0, 1) <= upper)).all()
    assert hashed.report_type is hashed.hashes.report_type


def test_bad_use_is_named() -> None:
    with pytest.raises(InvalidParameterError, match=r"p must be in \(1/4, 1\), got p=0\.2"):
        JRRLocalHashing(100, 4, 0.2, -0.1, 100)
    with pytest.raises(InvalidParameterError, match="rho must be >= -"):
        JRRLocalHashing(100, 4, 0.5, -4, 100)
    hashed = JRRLocalHashing(5, 4, 0.5, -1.5, 10, deal_id="monday")
    rng = SimulationRandomness(1)
    with pytest.raises(MismatchError, match="shares belong to deal “monday”"):
        JRRLocalHashing(5, 4, 0.5, -1.5, 10).randomize([0] * 10, hashed.deal(10, rng), rng)
    with pytest.raises(InvalidInputError, match="counts must sum to n=10, got 9"):
        hashed.simulate_aggregate([9, 0, 0, 0, 0], rng)
    with pytest.raises(DamagedStateError, match="at most as many reports, got 11"):
        hashed.estimate(Aggregate(hashed, np.zeros(5, np.int64), 11))
    with pytest.raises(EmptyAggregateError):
        hashed.estimate(Aggregate.empty(hashed))
