"""Dealt random bits: thresholds are rounded towards privacy."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from deniable.core.thresholds import SCALE
from deniable.research.dealt.coupling.coins import coin

TINY = Fraction(1, SCALE)


@pytest.mark.parametrize("units", [Fraction(5, 2), Fraction(701, 2), Fraction(10**7 + 1, 3)])
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 9), Fraction(1, 4), Fraction(9, 10)])
def test_thresholds_round_towards_privacy(units: Fraction, share: Fraction) -> None:
    """With q of a few units of 2^-64, each closed form at the implemented numbers is within the declared one."""
    q = units * TINY
    p = 1 - q
    root = q * share  # this is the declared s
    coins = coin(p, -root * root / (p * q))
    assert coins.lie_plus >= q - root
    assert coins.lie_minus >= q + root
    assert coins.lie_plus + coins.lie_minus == 2 * coins.q
    assert coins.q - q < 2 * TINY
    for mu in (Fraction(0), Fraction(1, 3), Fraction(1)):
        assert coins.q - mu * coins.s >= q - mu * root
        assert coins.q - mu * coins.s**2 / coins.q >= q - mu * root**2 / q
    # Mutant: s is rounded to nearest, or down.
    assert any(math.floor((q + sign * root) * SCALE) * TINY < q + sign * root for sign in (1, -1))
