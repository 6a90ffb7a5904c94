"""Thresholds of THE: tails of Laplace, and the threshold of least variance."""

from __future__ import annotations

import json
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import pytest
from scipy import optimize

from deniable.core.spec import from_spec, to_spec
from deniable.errors import InvalidParameterError
from deniable.research.baselines.histogram_threshold import THE, optimal_theta

DIGITS = Context(prec=80)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 8.0, 32.0])
@pytest.mark.parametrize("theta", [0.5001, 0.67, 0.99])
def test_thresholds_of_the_are_tails_of_laplace(epsilon: float, theta: float) -> None:
    half = Decimal(repr(epsilon)) / 2
    q = DIGITS.multiply(DIGITS.exp(DIGITS.multiply(-half, Decimal(repr(theta)))), Decimal(2**63))
    missed = DIGITS.multiply(DIGITS.exp(DIGITS.multiply(half, Decimal(repr(theta)) - 1)), Decimal(2**63))
    assert THE(4, epsilon, theta).thresholds == (
        int((2**64 - missed).to_integral_value(ROUND_FLOOR)),
        int(q.to_integral_value(ROUND_CEILING)),
    )


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 3.0, 8.0, 32.0])
def test_default_theta_has_the_least_variance(epsilon: float) -> None:
    def noise(theta: float) -> float:
        q, p = math.exp(-theta * epsilon / 2) / 2, 1 - math.exp((theta - 1) * epsilon / 2) / 2
        return q * (1 - q) / (p - q) ** 2

    best = float(optimize.minimize_scalar(noise, bounds=(0.5, 1.0), method="bounded", options={"xatol": 1e-10}).x)
    assert optimal_theta(epsilon) == pytest.approx(best, abs=6e-5)
    assert THE(5, epsilon).theta == optimal_theta(epsilon)


def test_default_theta_of_a_tiny_budget_stays_in_bounds() -> None:
    assert optimal_theta(1e-6) == 0.5001


def test_theta_travels_in_the_specification() -> None:
    assert to_spec(THE(4, 1.0)) == {"mechanism": "THE", "k": 4, "epsilon": "1", "theta": 0.6186}
    for theta in (None, 0.75, 1, "0.6", Fraction(2, 3), Decimal("0.625")):
        the = THE(4, 1.0, theta)  # type: ignore[arg-type]
        assert from_spec(json.loads(json.dumps(to_spec(the)))) == the
    assert THE(4, 1.0, "0.6") == THE(4, 1.0, 0.6)  # type: ignore[arg-type]
    # p = 1/2 is rounded down once more, because e^0 is bounded from above like any other power.
    assert THE(4, 1.0, 1).thresholds[0] == 2**63 - 1


@pytest.mark.parametrize("theta", [0.5, 0, -1.0, 1.0000001, float("nan"), "high", True])
def test_bad_theta(theta: Any) -> None:
    with pytest.raises(InvalidParameterError, match="theta must be"):
        THE(4, 1.0, theta)
