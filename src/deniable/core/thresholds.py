"""Exact thresholds: probabilities as integers over 2^64, rounded towards privacy.

A decision compares one uniform 64-bit word with an integer threshold. All numbers of the guarantee are computed from
those integers in rational arithmetic. So the guarantee and the random draws use the same exact numbers, and no floats.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Rational, Real

from deniable.errors import InvalidParameterError, out_of_range, quoted

SCALE = 1 << 64
EPSILON_MIN = Fraction(1, 10**6)
EPSILON_MAX = Fraction(32)

EpsilonLike = float | Fraction | Decimal | str
"""Types in which a caller may write epsilon. A float is read as Python prints it, so ``0.1`` is exactly 1/10."""


class BudgetShare(Fraction):
    """Part of a budget that `spent` has already rounded. A mechanism gives it to one of its parts unchanged."""


MAX_DIGITS = 4096
"""Longest text of a number, and largest power of ten in one."""

_DIGITS = 60
_SHOWN = 60


def exact(value: EpsilonLike, name: str = "value") -> Fraction:
    """Return the number as written. A float of any precision means its shortest decimal (``0.1`` is 1/10).

    Raises
    ------
    InvalidParameterError
        If the value is not a number in the range of a double, or has more than `MAX_DIGITS` digits.
    """
    try:
        if isinstance(value, Rational) and not isinstance(value, bool):
            number = Fraction(value)
        elif isinstance(value, (Decimal, str)) or (isinstance(value, Real) and not isinstance(value, bool)):
            # A float is read in its own precision, so numpy.float32(0.1) is 1/10, too.
            number = _parsed(str(value))
        else:
            raise ValueError
        if abs(number.numerator) < number.denominator << 1023:
            return number
    except (ValueError, OverflowError, ZeroDivisionError):
        pass
    shown = quoted(value) if isinstance(value, (float, str)) else str(type(value).__name__)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    # A decimal comma is another mistake than a number that is too large.
    large = isinstance(value, Rational) or (any(map(str.isdigit, str(value)[:_SHOWN])) and "," not in str(value))
    bound = f" below 2^1023 in size and of at most {MAX_DIGITS} digits" if large else ""
    raise InvalidParameterError(f"{name} must be a finite number{bound}, got {name}={shown}", parameters=(name,))


@lru_cache(maxsize=1 << 16)
def _parsed(text: str) -> Fraction:
    # These checks come before any power of ten is computed, because "1e999999999" takes hours and gigabytes. Python
    # also reads "1_0" and the digits of every script, but people who type them as a budget mean something else.
    exponent = text.lower().partition("e")[2].strip().lstrip("+-").lstrip("0")
    if (
        not text.isascii()
        or "_" in text
        or len(text) > MAX_DIGITS
        or len(exponent) > 4
        or int(exponent or 0) > MAX_DIGITS
    ):
        raise ValueError
    return Fraction(text)


def exact_text(value: EpsilonLike) -> str:
    """Return the exact decimal of a number, or ``"numerator/denominator"`` if it has no exact decimal."""
    number = exact(value)
    decimal = Context(prec=400).divide(Decimal(number.numerator), Decimal(number.denominator))
    if Fraction(decimal) != number:
        return f"{number.numerator}/{number.denominator}"
    text = format(decimal, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def checked_epsilon(epsilon: EpsilonLike, name: str = "epsilon") -> float | Fraction:
    """Return a checked privacy budget as a float, or as a Fraction if no float is written the same.

    Raises
    ------
    InvalidParameterError
        If epsilon is not a finite number in [1e-6, 32].
    """
    number = epsilon if isinstance(epsilon, BudgetShare) else exact(epsilon, name)
    shown = epsilon if isinstance(epsilon, (float, int, str)) else str(epsilon)
    if number <= 0:
        raise out_of_range(name, "> 0", shown)
    # Floats are compared. Half of 2e-6, as it is spent, is below a millionth by less than a float can tell.
    if number > EPSILON_MAX or float(number) < float(EPSILON_MIN):
        raise out_of_range(name, "in [1e-06, 32]", shown)
    return number if isinstance(number, BudgetShare) or exact(float(number)) != number else float(number)


def spent(epsilon: EpsilonLike, name: str = "epsilon") -> Fraction:
    """Return t, from which thresholds are made: the declared decimal or its nearest float, whichever is less.

    The float nearest to .35 is less than .35. Thresholds made from .35 itself would implement an epsilon that every
    program which compares floats finds one unit too large. Thresholds made from t implement at most ``float(epsilon)``.
    The rounding is done once, for the whole budget, so every share of the budget is an exact fraction of t
    (`BudgetShare`).

    Examples
    --------
    >>> spent(0.25), float(spent("0.35")) == 0.35, spent("0.35") < Fraction("0.35")
    (Fraction(1, 4), True, True)
    """
    declared = exact(epsilon, name)
    return epsilon if isinstance(epsilon, BudgetShare) else min(declared, Fraction(float(declared)))


def exp_bounds(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return rational (lower, upper) bounds of e^exponent, with a relative width below 1e-55."""
    down, up = Context(prec=_DIGITS, rounding=ROUND_FLOOR), Context(prec=_DIGITS, rounding=ROUND_CEILING)
    numerator, denominator = Decimal(exponent.numerator), Decimal(exponent.denominator)
    # Decimal.exp is correctly rounded, half-even whatever the context says. One more unit on each side therefore gives
    # a bound.
    lower = down.next_minus(down.exp(down.divide(numerator, denominator)))
    upper = up.next_plus(up.exp(up.divide(numerator, denominator)))
    return Fraction(lower), Fraction(upper)


def threshold_down(probability: Fraction) -> int:
    """Return floor(probability 2^64)."""
    return math.floor(probability * SCALE)


def threshold_up(probability: Fraction) -> int:
    """Return ceil(probability 2^64)."""
    return math.ceil(probability * SCALE)


def log_up(ratio: Fraction | float) -> float:
    """Return ln(ratio) rounded up to a float: the smallest double that is surely not below it, or the next one.

    The ratio is exact. The only float that it may be is infinity.
    """
    if not isinstance(ratio, Fraction):
        return math.inf
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    quotient = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    value = context.next_plus(context.ln(quotient))
    result = float(value)
    return result if Decimal(result) >= value else math.nextafter(result, math.inf)
