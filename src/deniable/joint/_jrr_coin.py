"""The contributor's coin of JRR as integers: thresholds, and the exact probabilities they stand for.

A contributor draws C, one of 1.5, .5, -.5, -1.5 with probabilities (p - s, s, s, q - s), s^2 = -rho p q, and tells the
truth if C + R > 0. Lies are therefore the lowest words u of a 64-bit draw: u < F(R)/2^64, where F(+1) = q - s,
F(0) = q (unpaired) and F(-1) = q + s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from deniable.errors import InvalidParameterError
from deniable.thresholds import SCALE, EpsilonLike, exact, threshold_up

_END = Fraction(1, 10**12)
_ROOT_BITS = 256


@dataclass(frozen=True)
class Coin:
    """Lies per 2^64 draws, by the sign dealt: `minus` (R = -1) + `plus` (R = +1) is twice `unpaired`."""

    minus: int
    plus: int
    unpaired: int

    @property
    def q(self) -> Fraction:
        """Probability of a lie, over the deal."""
        return Fraction(self.unpaired, SCALE)

    @property
    def s(self) -> Fraction:
        """How much likelier than q a lie is with R = -1, and less likely with R = +1."""
        return Fraction(self.minus - self.plus, 2 * SCALE)

    @property
    def lie_plus(self) -> Fraction:
        """Probability of a lie with R = +1, q - s."""
        return Fraction(self.plus, SCALE)

    @property
    def lie_minus(self) -> Fraction:
        """Probability of a lie with R = -1, q + s."""
        return Fraction(self.minus, SCALE)

    @property
    def gain(self) -> Fraction:
        """P - q of the implemented probabilities."""
        return 1 - 2 * self.q


@lru_cache(maxsize=256, typed=True)
def coin(p: EpsilonLike, rho: EpsilonLike) -> Coin:
    """Return the thresholds, all rounded up.

    Every closed form of the guarantee is ln((1 - x)/x) with x increasing in both lie probabilities (proof in the page
    on JRR), so rounding them up keeps the implemented numbers within the declared ones. The sum is kept even so that
    the unpaired contributor's threshold is the exact mean: the estimator needs one q. The end of the range, 1 - 1/p,
    is no decimal in general: a rho within 1e-12 of it, relatively, means the end.

    Raises
    ------
    InvalidParameterError
        If p is not in (1/2, 1), or rho not in [1 - 1/p, 0]; naming the nearest value that is.
    """
    truth, correlation = exact(p, "p"), exact(rho, "rho")
    if not Fraction(1, 2) < truth < 1:
        raise InvalidParameterError(f"p must be in (0.5, 1), got p={p}")
    lie = 1 - truth
    end = -lie / truth
    if correlation > 0:
        raise InvalidParameterError(f"rho must be <= 0 (the nearest feasible rho is 0), got rho={rho}")
    if correlation < end * (1 + _END):
        lowest = 1 / (1 - correlation)
        raise InvalidParameterError(
            f"rho must be >= 1 - 1/p = {float(end)} for p={p}, got rho={rho}: the nearest feasible values are "
            f"rho={float(end)} with this p, or p={float(lowest)} with this rho"
        )
    if correlation <= end * (1 - _END):
        down = up = lie
    else:
        square = -correlation * truth * lie
        root = math.isqrt(square.numerator * (1 << 2 * _ROOT_BITS) // square.denominator)
        down, up = Fraction(root, 1 << _ROOT_BITS), Fraction(root + (square > 0), 1 << _ROOT_BITS)
    plus, minus = threshold_up(lie - down), threshold_up(lie + up)
    minus += (plus + minus) % 2
    if plus + minus >= SCALE:
        raise InvalidParameterError(f"p must exceed 0.5 by more than 2^-63, got p={p}")
    return Coin(minus, plus, (plus + minus) // 2)
