"""Integer thresholds of the random draws of JRR and k-ary JRR, and the exact probabilities that they stand for.

A contributor draws C, which is 1.5, .5, -.5 or -1.5 with probabilities (p - s, s, s, q - s), where s^2 = -rho p q. The
contributor tells the truth if C + R > 0. Lies are therefore the lowest words u of a 64-bit draw: u < F(R)/2^64, where
F(+1) = q - s, F(0) = q (unpaired) and F(-1) = q + s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Codes
from deniable.core.kernels import kernel
from deniable.core.randomness import Words
from deniable.core.thresholds import SCALE, EpsilonLike, exact, threshold_up
from deniable.errors import InvalidParameterError, out_of_range

_END = Fraction(1, 10**12)
_ROOT_BITS = 256


def checked_number(value: EpsilonLike, name: str) -> float | Fraction:
    """Return a number as a float, or as a Fraction if no float is written the same."""
    number = exact(value, name)
    return float(number) if exact(float(number)) == number else number


@dataclass(frozen=True)
class Coin:
    """Number of lies per 2^64 draws, by the sign dealt.

    `minus` (for R = -1) and `plus` (for R = +1) sum to twice `unpaired`.
    """

    minus: int
    plus: int
    unpaired: int

    @property
    def q(self) -> Fraction:
        """Probability of a lie, averaged over the deal."""
        return Fraction(self.unpaired, SCALE)

    @property
    def s(self) -> Fraction:
        """Return the difference that the sign makes to the probability of a lie.

        The probability is q + s with R = -1, and q - s with R = +1.
        """
        return Fraction(self.minus - self.plus, 2 * SCALE)

    @property
    def lie_plus(self) -> Fraction:
        """Probability q - s of a lie with R = +1."""
        return Fraction(self.plus, SCALE)

    @property
    def lie_minus(self) -> Fraction:
        """Probability q + s of a lie with R = -1."""
        return Fraction(self.minus, SCALE)


@lru_cache(maxsize=256, typed=True)
def coin(p: EpsilonLike, rho: EpsilonLike) -> Coin:
    """Return the thresholds, all rounded up.

    Every closed form of the guarantee is ln((1 - x)/x), where x increases in both probabilities of a lie (the proof is
    on the page about JRR). So rounding both up keeps the implemented numbers within the declared ones. The sum of the
    two thresholds is kept even, so that the unpaired contributor's threshold is their exact mean, because the estimator
    needs one q. The end of the range, 1 - 1/p, is not a decimal in general. So a rho within 1e-12 of it, relatively,
    means the end.

    Raises
    ------
    InvalidParameterError
        If p is not in (1/2, 1), or rho is not in [1 - 1/p, 0]. The error names the nearest value that is.
    """
    truth, correlation = exact(p, "p"), exact(rho, "rho")
    if not Fraction(1, 2) < truth < 1:
        raise out_of_range("p", "in (0.5, 1)", p)
    lie = 1 - truth
    end = -lie / truth
    if correlation > 0:
        raise out_of_range("rho", "<= 0 (the nearest feasible rho is 0)", rho)
    if correlation < end * (1 + _END):
        lowest = 1 / (1 - correlation)
        raise out_of_range(
            "rho",
            f">= 1 - 1/p = {float(end)} for p={p}",
            rho,
            f"the nearest feasible values are rho={float(end)} with this p, or p={float(lowest)} with this rho",
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


def rho_range(k: int, p: float) -> tuple[float, float]:
    """Return the least and the largest rho for which eq. (27) is a distribution, -min(p/q, (k-1)^2 q/p) and k - 1.

    Examples
    --------
    >>> rho_range(2, 0.75), rho_range(3, 0.5)
    ((-0.3333333333333333, 1.0), (-2.0, 2.0))
    """
    wrong = 1 - p
    return -(k - 1) * min(p / wrong, wrong / p), float(k - 1)


@lru_cache(maxsize=256, typed=True)
def kary_coin(k: int, p: EpsilonLike, rho: EpsilonLike) -> Coin:
    """Return the thresholds of a lie, 1 - p -+ s where s^2 = -rho p q, with the mean rounded up and s rounded down.

    Raises
    ------
    InvalidParameterError
        If p is not in (1/k, 1), or rho is not in [-min(p/q, (k-1)^2 q/p), 0].
    """
    truth, coupling = exact(p, "p"), -exact(rho, "rho")
    if not Fraction(1, k) < truth < 1:
        raise out_of_range("p", f"in (1/{k}, 1)", p)
    lie = threshold_up(1 - truth)
    if (k - 1) * (SCALE - lie) <= lie:
        raise InvalidParameterError(f"p must exceed 1/{k} by more than 2^-62, got p={p}")
    end = (k - 1) * min(truth / (1 - truth), (1 - truth) / truth)
    if coupling < 0:
        raise out_of_range("rho", "<= 0 (the nearest feasible rho is 0)", rho)
    if coupling > end * (1 + _END):
        raise InvalidParameterError(f"rho must be >= {-float(end)} for k={k}, p={p}, got rho={rho}")
    tilt = most = min(lie, SCALE - lie)
    if coupling < end * (1 - _END):
        tilt = min(math.isqrt(math.floor(coupling * truth * (1 - truth) / (k - 1) * SCALE**2)), most)
    return Coin(lie + tilt, lie - tilt, lie)


@kernel
def flip_by_share(codes: Codes, types: NDArray[Any], words: Words, limits: Words, reports: Codes) -> None:
    """Write the reports of codes[n], each 0 or 1.

    A report is the code itself, or the other code if the word is below the limit of the share's type.
    """
    for i in range(codes.shape[0]):
        reports[i] = np.int64(codes[i]) ^ np.int64(words[i] < limits[types[i]])


@kernel
def lie_by_share(
    codes: Codes,
    types: NDArray[Any],
    words: Words,
    steps: NDArray[np.int64],
    limits: Words,
    certain: NDArray[np.bool_],
    k: int,
    reports: Codes,
) -> None:
    """Write the reports of codes[n].

    A report is the code itself, or the code steps[n] + 1 further (mod k) if the word is below the limit of the share.
    """
    size = np.int64(k)
    for i in range(codes.shape[0]):
        share = np.int64(types[i])
        value = np.int64(codes[i])
        if certain[share] or words[i] < limits[share]:
            value += np.int64(steps[i]) + np.int64(1)
            value -= size if value >= size else np.int64(0)
        reports[i] = value
