"""Table of designs by name: parameters, bounds of the parameters, and the channel in exact fractions.

One row of `KINDS` is one design. The channel P(report | truth) has a row for each truth and a column for each report.
If there are two truths, truth 0 is "not a carrier" and truth 1 is "carrier".


Sources: Warner (1965), Greenberg et al. (1969), Devore (1977), Boruch (1971), Kuk (1990), Mangat and Singh (1990),
Mangat (1994), Singh and Joarder (1997), Christofides (2003), Yu, Tian and Tang (2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from deniable.core.thresholds import exact
from deniable.errors import InvalidParameterError, out_of_range, quoted, unknown_name

Rows = tuple[tuple[Fraction, ...], ...]
Number = Fraction | int | str | Decimal
"""Type of a parameter: a fraction, a whole number, or text such as "2/12" or "0.7". Floats are refused."""

HALF = Fraction(1, 2)

MAX_VALUES = 64
"""Largest number of truths or reports in one design."""

MAX_DENOMINATOR = 1 << 62
"""Largest common denominator of a channel: one random integer below it makes one report."""


@dataclass(frozen=True)
class Kind:
    """One design of the literature.

    Parameters
    ----------
    parameters : tuple of str
        Names of the parameters. The last parameter is a list if `many` is True.
    rows : callable
        Function from the parameters to the channel. It refuses parameters that are out of bounds.
    reports : tuple of str
        Names of the reports in their order. Empty if reports are numbers.
    many : bool
        True if the only parameter is a list of probabilities.
    whole : tuple of str
        Parameters that are whole numbers, at least 1.
    fact : str
        Fact about the respondent that the device uses. Nobody who sees the report may learn this fact. "" if the
        device is an object.
    """

    parameters: tuple[str, ...]
    rows: Callable[..., Rows]
    reports: tuple[str, ...] = ("no", "yes")
    many: bool = False
    whole: tuple[str, ...] = ()
    fact: str = ""


def checked_number(name: str, value: object) -> Fraction:
    """Return a parameter as an exact fraction.

    Raises
    ------
    InvalidParameterError
        If the parameter is a float or not a number.
    """
    if isinstance(value, bool) or not isinstance(value, (Fraction, int, Decimal, str)):
        raise InvalidParameterError(
            f'{name} must be an exact number, got {name}={quoted(value)}; write a Fraction, or text such as "2/12". '
            "The guarantee is computed from this number"
        )
    return exact(value, name)


def checked_parameters(design: str, values: object) -> tuple[Fraction, ...]:
    """Return the parameters of a design as fractions, after a check of their number, kind and range.

    Raises
    ------
    InvalidParameterError
        If the design is unknown, or a parameter is missing or out of range, or a parameter that must be a whole number
        is not one.
    """
    if not isinstance(design, str) or design not in KINDS:
        raise unknown_name("design", design, KINDS)
    kind = KINDS[design]
    if not isinstance(values, (tuple, list)):
        raise InvalidParameterError(f"parameters must be a tuple of exact numbers, got parameters={quoted(values)}")
    if kind.many:
        (name,) = kind.parameters
        if not 2 <= len(values) <= MAX_VALUES:
            raise InvalidParameterError(f"{name} must have 2 to {MAX_VALUES} probabilities, got {len(values)}")
        names: Sequence[str] = [f"{name}[{i}]" for i in range(len(values))]
    else:
        names = kind.parameters
        if len(values) != len(names):
            raise InvalidParameterError(f"{design} needs the parameters {', '.join(names)}, got {len(values)} values")
    found = tuple(checked_number(name, value) for name, value in zip(names, values, strict=True))
    for name, number in zip(names, found, strict=True):
        if name in kind.whole:
            if number.denominator != 1 or not 1 <= number < MAX_VALUES:
                raise InvalidParameterError(
                    f"{name} must be a whole number in 1..{MAX_VALUES - 1}, got {name}={number}"
                )
        elif not 0 <= number <= 1:
            raise out_of_range(name, "in [0, 1]", number)
    return found


def checked_rows(design: str, parameters: tuple[Fraction, ...]) -> Rows:
    """Return the channel of a design, after a check that its rows differ and its reports can be drawn exactly.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, a report is impossible, or the common denominator is too large.
    """
    kind = KINDS[design]
    rows = kind.rows(parameters) if kind.many else kind.rows(*parameters)
    for report, column in enumerate(zip(*rows, strict=True)):
        if not any(column):
            raise InvalidParameterError(
                f"every report must be possible, but with these parameters nobody can make the report {report} of "
                f"{design}; choose other parameters"
            )
    if denominator(rows) > MAX_DENOMINATOR:
        raise InvalidParameterError(
            f"the probabilities of {design} must have a common denominator of at most 2^62, got {denominator(rows)}; "
            "use fractions with smaller denominators, or fewer draws"
        )
    return rows


def denominator(rows: Rows) -> int:
    """Return the common denominator of a channel."""
    return math.lcm(*(cell.denominator for row in rows for cell in row))


def binary(no: Fraction, yes: Fraction) -> Rows:
    """Return the channel of two answers, P(yes | not a carrier) and P(yes | carrier)."""
    return (1 - no, no), (1 - yes, yes)


def _must(condition: bool, rule: str, got: str, then: str) -> None:
    if not condition:
        raise InvalidParameterError(f"{rule}, got {got}; {then}")


_SAME_CHANCE = "a report would be equally likely for every truth"


def _warner(p: Fraction, name: str = "p") -> Rows:
    _must(p != HALF, f"{name} must differ from 1/2", f"{name}={p}", _SAME_CHANCE)
    return binary(1 - p, p)


def _forced(yes: Fraction, no: Fraction) -> Rows:
    _must(yes + no < 1, "yes + no must be less than 1", f"yes={yes}, no={no}", "nobody would answer the question")
    return binary(yes, 1 - no)


def _unrelated(p: Fraction, alpha: Fraction, name: str = "p") -> Rows:
    _must(p > 0, f"{name} must be > 0", f"{name}={p}", "nobody would answer the question")
    return binary((1 - p) * alpha, p + (1 - p) * alpha)


def _kuk(p1: Fraction, p2: Fraction, draws: Fraction) -> Rows:
    _must(p1 != p2, "p1 must differ from p2", f"p1={p1}, p2={p2}", _SAME_CHANCE)
    return _binomial(p2, int(draws)), _binomial(p1, int(draws))


def _binomial(p: Fraction, draws: int) -> tuple[Fraction, ...]:
    return tuple(math.comb(draws, red) * p**red * (1 - p) ** (draws - red) for red in range(draws + 1))


def _crosswise(p: Fraction) -> Rows:
    return _warner(p)[::-1]


def _garbling(q: Fraction, rule: str = "q must be < 1", got: str = "q=1") -> Rows:
    _must(q < 1, rule, got, "everybody would say yes")
    return binary(q, Fraction(1))


def _triangular(p: Fraction) -> Rows:
    return _garbling(p, "p must be < 1", "p=1")


def _mangat(p: Fraction) -> Rows:
    return _garbling(1 - p, "p must be > 0", "p=0")


def _two_stage(t: Fraction, p: Fraction) -> Rows:
    return _warner(t + (1 - t) * p, "t + (1 - t) p")


def _two_stage_unrelated(t: Fraction, p: Fraction, alpha: Fraction) -> Rows:
    return _unrelated(t + (1 - t) * p, alpha, "t + (1 - t) p")


def _improved_unrelated(p: Fraction, alpha: Fraction) -> Rows:
    return _garbling((1 - p) * alpha, "(1 - p) alpha must be < 1", f"p={p}, alpha={alpha}")


def _singh_joarder(p: Fraction) -> Rows:
    # The channel is singular only at (3 - sqrt 5)/2, which is not a fraction.
    return binary(1 - p, p + p * (1 - p))


def _two_trial(p: Fraction, trials: Fraction) -> Rows:
    _must(p != HALF, "p must differ from 1/2", f"p={p}", _SAME_CHANCE)
    return _kuk(p, 1 - p, trials)


def _check_sum(weights: tuple[Fraction, ...]) -> None:
    _must(sum(weights) == 1, "weights must sum to 1", f"a sum of {sum(weights)}", "they are probabilities")


def _christofides(weights: tuple[Fraction, ...]) -> Rows:
    _check_sum(weights)
    mirrored = weights[::-1]
    told = mean(mirrored) != mean(weights)
    _must(told, "weights must have another mean in reverse order", "the same mean", _SAME_CHANCE)
    return weights, mirrored


def mean(weights: Sequence[Fraction]) -> Fraction:
    """Return the mean of the report's number, where each report has the given probability."""
    return sum((i * weight for i, weight in enumerate(weights)), Fraction(0))


def _forced_k(probs: tuple[Fraction, ...]) -> Rows:
    truthful = 1 - sum(probs)
    _must(truthful > 0, "probs must sum to less than 1", f"a sum of {sum(probs)}", "nobody would answer the question")
    return tuple(tuple(prob + truthful * (x == y) for y, prob in enumerate(probs)) for x in range(len(probs)))


def _modular(weights: tuple[Fraction, ...]) -> Rows:
    _check_sum(weights)
    k = len(weights)
    rows = tuple(tuple(weights[(y - x) % k] for y in range(k)) for x in range(k))
    _must(inverse(rows) is not None, "weights must tell the answers apart", f"weights={_text(weights)}", _SAME_CHANCE)
    return rows


def _text(weights: tuple[Fraction, ...]) -> str:
    return ", ".join(map(str, weights))


def inverse(rows: Rows) -> Rows | None:
    """Return the inverse of a square matrix of fractions by Gauss-Jordan elimination, or None if there is no inverse.

    Examples
    --------
    >>> third = Fraction(1, 3)
    >>> [[str(cell) for cell in row] for row in inverse(((2 * third, third), (third, 2 * third)))]
    [['2', '-1'], ['-1', '2']]
    """
    k = len(rows)
    table = [[*row, *(Fraction(x == y) for y in range(k))] for x, row in enumerate(rows)]
    for x in range(k):
        pivot = next((row for row in range(x, k) if table[row][x]), None)
        if pivot is None:
            return None
        table[x], table[pivot] = table[pivot], table[x]
        table[x] = [cell / table[x][x] for cell in table[x]]
        for row in range(k):
            if row != x and table[row][x]:
                factor = table[row][x]
                table[row] = [cell - factor * own for cell, own in zip(table[row], table[x], strict=True)]
    return tuple(tuple(row[k:]) for row in table)


_BIRTHDAY = "the birthday"

KINDS: dict[str, Kind] = {
    "warner": Kind(("p",), _warner),
    "forced": Kind(("yes", "no"), _forced),
    "unrelated": Kind(("p", "alpha"), _unrelated, fact=_BIRTHDAY),
    "kuk": Kind(("p1", "p2", "draws"), _kuk, reports=(), whole=("draws",)),
    "crosswise": Kind(("p",), _crosswise, reports=("same", "different"), fact=_BIRTHDAY),
    "triangular": Kind(("p",), _triangular, reports=("none", "at least one"), fact=_BIRTHDAY),
    "mangat": Kind(("p",), _mangat),
    "garbling": Kind(("q",), _garbling),
    "two_stage": Kind(("t", "p"), _two_stage),
    "two_stage_unrelated": Kind(("t", "p", "alpha"), _two_stage_unrelated, fact=_BIRTHDAY),
    "improved_unrelated": Kind(("p", "alpha"), _improved_unrelated, fact=_BIRTHDAY),
    "singh_joarder": Kind(("p",), _singh_joarder),
    "two_trial": Kind(("p", "trials"), _two_trial, reports=(), whole=("trials",)),
    "christofides": Kind(("weights",), _christofides, reports=(), many=True),
    "forced_k": Kind(("probs",), _forced_k, reports=(), many=True),
    "modular": Kind(("weights",), _modular, reports=(), many=True),
}
"""Every design. Names, command line, cards and documentation are made from this table."""
