"""Public grid of a numeric attribute, and exact random rounding of answers to it, without floats.

An answer x between two neighbouring points of the grid becomes the upper point with a probability equal to its distance
from the lower point, in steps of the grid. So the *expected* point is x, and a mean has no rounding bias. The rule is a
frozen format, which clients in other languages copy.

1. x and the ends of the range are exactly the numbers in their decimal texts, without rounding.
2. t = (x - low) (m - 1)/(high - low), exactly; i = floor(t); the threshold is T = floor((t - i) 2^64).
3. With one uniform 64-bit word u the code is i + 1 if u < T, and i otherwise.

So the upper point is taken with probability T/2^64, which is t - i or less than 2^-64 below it. The expected point is
never above x, and is less than 2^-64 steps of the grid below x. If x is a point of the grid, T = 0 and the answer stays
at this point.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from deniable.errors import InvalidParameterError, quoted

MAX_POINTS = 1024
"""Most points of a grid. The noise of a report would hide anything that more points could say."""

MAX_BOUND = 1e15
"""Largest absolute value of an end of a range."""

MAX_DIGITS = 400
"""Longest text of a number that is read, and its largest exponent. Both exceed those of all floats."""

_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?", re.ASCII)


class Number(NamedTuple):
    """The decimal mantissa * 10^exponent. Each value has one form, because the mantissa does not end in a zero."""

    mantissa: int
    exponent: int

    def __str__(self) -> str:
        return f"{self.mantissa}e{self.exponent}"

    @classmethod
    def read(cls, text: str) -> Number | None:
        """Return the number in a decimal text, with or without an exponent, or None if it has none or is too long.

        Examples
        --------
        >>> Number.read("+1200.50"), Number.read("-0"), Number.read("1e999")
        (Number(mantissa=12005, exponent=-1), Number(mantissa=0, exponent=0), None)
        """
        parts = _NUMBER.fullmatch(text) if len(text) <= MAX_DIGITS else None
        if parts is None:
            return None
        sign, whole, fraction, power = parts.groups(default="")
        if not whole + fraction:
            return None
        digits = (whole + fraction).rstrip("0")
        exponent = len(whole) - len(digits) + (int(power) if power else 0)
        mantissa = int(digits or "0")
        if mantissa == 0:
            return cls(0, 0)
        return None if abs(exponent) > MAX_DIGITS else cls(-mantissa if sign == "-" else mantissa, exponent)


class Cell(NamedTuple):
    """Place of an answer: code of the point at or below it, and threshold T of the random draw."""

    code: int
    threshold: int


@dataclass(frozen=True)
class Grid:
    """Equally spaced public points, including the ends of the range.

    Parameters
    ----------
    ends : (float, float)
        Ends of the range. A float is read as the decimal that Python prints for it.
    size : int
        Number of points.

    Examples
    --------
    >>> grid = Grid((0.0, 1.0), 3)
    >>> grid.labels, grid.points[1]
    (('0', '0.5', '1'), Fraction(1, 2))
    >>> cell = grid.cell(Number.read("0.125"))
    >>> cell.code, cell.threshold == 2**64 // 4
    (0, True)
    """

    ends: tuple[float, float]
    size: int

    @classmethod
    def checked(cls, ends: Any, size: Any, where: str) -> Grid:
        """Return the grid of an attribute, or raise an InvalidParameterError that names key, bound and remedy."""
        if ends is None or size is None:
            key, example = ("range", "range=(0, 100)") if ends is None else ("grid", "grid=101")
            raise InvalidParameterError(
                f"{key} of {where} must be given, because this question is numeric; for example, write {example}"
            )
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or not 2 <= size <= MAX_POINTS:
            raise InvalidParameterError(
                f"grid of {where} must be an integer in [2, {MAX_POINTS}], got grid={quoted(size)}"
            )
        pair = isinstance(ends, Sequence) and not isinstance(ends, str) and len(ends) == 2
        if not pair or any(isinstance(end, bool) or not isinstance(end, (int, float, np.integer)) for end in ends):
            raise InvalidParameterError(f"range of {where} must be two numbers, got range={quoted(ends)}")
        low, high = ends
        # The comparison is also false for NaN. Integers are compared before they become floats.
        if not -MAX_BOUND <= low < high <= MAX_BOUND:
            raise InvalidParameterError(
                f"range of {where} must go from a smaller to a larger number within [-1e15, 1e15], got "
                f"range={quoted([low, high])}"
            )
        grid = cls((float(low) + 0.0, float(high) + 0.0), int(size))
        if len(set(grid.labels)) < size:
            raise InvalidParameterError(
                f"grid of {where} must have points that differ in their first 15 digits, got grid={size} on "
                f"range={quoted(grid.ends)}: take fewer points"
            )
        return grid

    @cached_property
    def _scaled(self) -> tuple[int, int, int]:
        """Low and high end as integers over one power of ten, and the exponent of the power."""
        low, high = (Decimal(repr(end)).as_tuple() for end in self.ends)
        places = max(0, -int(low.exponent), -int(high.exponent))
        scaled = [int(Decimal(repr(end)).scaleb(places)) for end in self.ends]
        return scaled[0], scaled[1], places

    @cached_property
    def points(self) -> tuple[Fraction, ...]:
        """Points of the grid as exact numbers."""
        low, high, places = self._scaled
        step = Fraction(high - low, (self.size - 1) * 10**places)
        return tuple(Fraction(low, 10**places) + i * step for i in range(self.size))

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """Floats that are nearest to the points."""
        return tuple(float(point) for point in self.points)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Texts of the points: exact if they are short decimals, else with just enough digits to distinguish them."""
        longest = self._spelled(15)
        exact = tuple(map(Fraction, longest)) == self.points
        for digits in (6, 9, 12):
            labels = self._spelled(digits)
            if len(set(labels)) == self.size and (not exact or tuple(map(Fraction, labels)) == self.points):
                return labels
        return longest

    def _spelled(self, digits: int) -> tuple[str, ...]:
        return tuple(_decimal_text(score, digits) for score in self.scores)

    def cell(self, number: Number, clip: bool = False) -> Cell | None:
        """Return the place of an answer, or None outside the range. If asked for, it is clipped to the nearer end."""
        low, high, places = self._scaled
        scale = max(places, -number.exponent)
        answer = number.mantissa * 10 ** (number.exponent + scale)
        if scale > places:
            low, high = low * 10 ** (scale - places), high * 10 ** (scale - places)
        if not low <= answer <= high:
            if not clip:
                return None
            answer = low if answer < low else high
        width = high - low
        code, rest = divmod((answer - low) * (self.size - 1), width)
        return Cell(code, (rest << 64) // width)


def _decimal_text(value: float, digits: int) -> str:
    text = format(Decimal(f"{value:.{digits}g}"), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
