"""Weighted sums, differences, ratios and odds ratios of answers from independent collections.

Zou and Donner, *Construction of confidence limits about effect measures: a general approach* (2008), "MOVER". The ends
of single intervals give the possible error of each answer on either side, and independent errors add in squares. Unlike
Wald's interval, the result is as asymmetric as the single intervals. The single intervals are score intervals, also
beyond [0, 1]. Exact intervals end at 0 and 1, so they would say that a raw estimate outside has no error. MOVER of two
exact intervals of 95% covers as little as .09. If the reports that matter are few (`Answer.is_few`), the bounds of
their sum are used instead, or the sums of the ends of single intervals that hold together. The result is wider, and it
holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from deniable.core.answer import Answer, Bounds, ComputedIntervals, refusal_of
from deniable.core.checks import TARGETS, Target
from deniable.core.estimate import Estimate
from deniable.errors import InvalidParameterError, MismatchError, quoted

_SLACK = 1e-9


def difference(a: Answer | Estimate, b: Answer | Estimate, *, independent: bool) -> Answer:
    """Analyst: return a - b for two collections with different contributors, such as two waves of a poll.

    Parameters
    ----------
    a, b : Answer, or Estimate of one category
        For instance the later and the earlier answer: `estimate.total(...)`, `estimate.mean()` or `estimate["yes"]`.
    independent : bool
        True if no person is in both collections, and neither collection was learned from the other. You must state
        this, because files cannot show whether the same people were asked twice.

    Raises
    ------
    InvalidParameterError
        If `independent` is not True, because no interval is known for answers that depend on each other.
    MismatchError
        If the answers share a collection, a batch of reports, or a phase from which parameters were learned.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> rng, grr = SimulationRandomness(1), GRR(k=2, epsilon=2.0)
    >>> may, june = (grr.estimate(grr.simulate_aggregate([yes, 2000 - yes], rng)) for yes in (900, 1100))
    >>> rise = difference(june["0"], may["0"], independent=True)
    >>> round(rise.value, 3), [round(end, 3) for end in rise.interval()]
    (0.105, [0.079, 0.131])
    """
    one, other = _checked_pair(a, b, independent)
    return weighted_sum([(1.0, one), (-1.0, other)], f"difference: {one.question} - {other.question}")


def differences(a: Estimate, b: Estimate, *, independent: bool) -> dict[str, Answer]:
    """Analyst: return the `difference` of every category, by label, between two estimates of one attribute.

    Raises
    ------
    MismatchError
        If the categories differ; also see `difference`.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> grr, rng = GRR(k=2, epsilon=2.0), SimulationRandomness(1)
    >>> men = grr.estimate(grr.aggregate(grr.randomize([0] * 600 + [1] * 400, rng))).named("smoker", ["yes", "no"])
    >>> women = grr.estimate(grr.aggregate(grr.randomize([0] * 300 + [1] * 700, rng))).named("smoker", ["yes", "no"])
    >>> found = differences(men, women, independent=True)
    >>> list(found), found["yes"].value == men.frequencies[0].item() - women.frequencies[0].item()
    (['yes', 'no'], True)
    """
    if a.labels != b.labels:
        raise MismatchError(
            f"estimates must have the same categories to be compared, but a has {quoted(a.labels)}, and b has "
            f"{quoted(b.labels)}"
        )
    return {label: difference(a.total(label), b.total(label), independent=independent) for label in a.labels}


def ratio(a: Answer | Estimate, b: Answer | Estimate, *, independent: bool) -> Answer:
    """Analyst: return a / b for two answers >= 0 from collections with different contributors; see `difference`.

    The interval contains all t >= 0 for which the interval of a - t b contains 0. Its upper end is infinite if the
    interval of b contains 0.

    Raises
    ------
    InvalidParameterError, MismatchError
        See `difference`.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> grr, rng = GRR(k=2, epsilon=2.0), SimulationRandomness(1)
    >>> men = grr.estimate(grr.aggregate(grr.randomize([0] * 600 + [1] * 400, rng))).named("smoker", ["yes", "no"])
    >>> women = grr.estimate(grr.aggregate(grr.randomize([0] * 300 + [1] * 700, rng))).named("smoker", ["yes", "no"])
    >>> twice = ratio(men.total("yes"), women.total("yes"), independent=True)
    >>> lower, upper = twice.interval()
    >>> 1 < lower < 2 < upper
    True
    """
    one, other = _checked_pair(a, b, independent)
    value = one.value / other.value if other.value else math.nan

    def bounds(tail: float, target: Target) -> Bounds:
        if one.is_few(target) or other.is_few(target):
            (low, high), (below, above) = (answer.at_tail(tail / 2, target) for answer in (one, other))
            least = max(low, 0.0) / above if above > 0 else 0.0
            return least, max(high, 0.0) / below if below > 0 else math.inf
        (x, low, high), (y, below, above) = (_with_ends(answer, tail, target) for answer in (one, other))
        lower = _first_root(x, x - low, y, above - y)
        # a/b is at most t if b/a is at least 1/t.
        inverse = _first_root(y, y - below, x, high - x)
        return lower, math.inf if inverse <= 0 else 1 / inverse

    question = f"ratio: {one.question} / {other.question}"
    return _together([one, other], value, question, _ratio_errors(one, other), bounds)


def odds(a: Answer | Estimate, b: Answer | Estimate, *, independent: bool) -> Answer:
    """Analyst: return the odds ratio a (1 - b)/((1 - a) b) for two collections with different contributors.

    The interval is computed from the difference of the log odds. An end of the interval is 0 or infinite if a frequency
    may be 0 or 1.

    Raises
    ------
    InvalidParameterError, MismatchError
        See `difference`. Also if an answer is not a frequency, because only frequencies have odds.

    Examples
    --------
    >>> from deniable import GRR, SimulationRandomness
    >>> grr, rng = GRR(k=2, epsilon=2.0), SimulationRandomness(1)
    >>> men = grr.estimate(grr.aggregate(grr.randomize([0] * 600 + [1] * 400, rng))).named("smoker", ["yes", "no"])
    >>> women = grr.estimate(grr.aggregate(grr.randomize([0] * 300 + [1] * 700, rng))).named("smoker", ["yes", "no"])
    >>> lower, upper = odds(men.total("yes"), women.total("yes"), independent=True).interval()
    >>> lower < (600 / 400) / (300 / 700) < upper
    True
    """
    one, other = _checked_pair(a, b, independent)
    for name, answer in (("a", one), ("b", other)):
        if answer.extent and not -_SLACK <= answer.extent[0] <= answer.extent[1] <= 1 + _SLACK:
            raise InvalidParameterError(
                f"{name} must be a frequency, got {name}={quoted(answer.question)}, which may be from "
                f"{answer.extent[0]:g} to {answer.extent[1]:g}; use difference or ratio for other answers"
            )
    x, y = one.value, other.value
    proper = 0 < x < 1 and 0 < y < 1
    value = x * (1 - y) / ((1 - x) * y) if proper else math.nan
    slopes = [abs(1 / (f * (1 - f))) if 0 < f < 1 else math.nan for f in (x, y)]
    errors = {
        target: abs(value) * math.hypot(slopes[0] * one.errors[target], slopes[1] * other.errors[target])
        for target in TARGETS
    }

    def bounds(tail: float, target: Target) -> Bounds:
        if one.is_few(target) or other.is_few(target):
            (low, high), (below, above) = (answer.at_tail(tail / 2, target) for answer in (one, other))
            ends = _log_odds(low) - _log_odds(above), _log_odds(high) - _log_odds(below)
            # Infinity less infinity means that nothing is known.
            return _power(ends[0], 0.0), _power(ends[1], math.inf)
        (p, low, high), (q, below, above) = (_with_ends(answer, tail, target) for answer in (one, other))
        middle = _log_odds(p) - _log_odds(q)
        if not math.isfinite(middle):
            return 0.0, math.inf
        down = math.hypot(_log_odds(p) - _log_odds(low), _log_odds(above) - _log_odds(q))
        up = math.hypot(_log_odds(high) - _log_odds(p), _log_odds(q) - _log_odds(below))
        return _power(middle - down, 0.0), _power(middle + up, math.inf)

    return _together([one, other], value, f"odds ratio: {one.question} to {other.question}", errors, bounds)


def weighted_sum(parts: Sequence[tuple[float, Answer]], question: str) -> Answer:
    """Return the sum of weight times answer, for answers that are independent of each other."""
    answers = [answer for _, answer in parts]
    value = sum(weight * answer.value for weight, answer in parts)
    errors = {target: math.hypot(*(weight * answer.errors[target] for weight, answer in parts)) for target in TARGETS}

    known = all(answer.sums for answer in answers)
    sums = tuple(one.scaled(weight) for weight, answer in parts for one in answer.sums if weight) if known else ()
    together = Answer(value, errors, sums=sums)
    few = together.is_few if known else _any_few(answers)

    def added(tail: float, target: Target) -> Bounds:
        """Return the sums of the ends of single intervals that hold together."""
        own = tail / len(parts)
        ends = [sorted(weight * end for end in answer.at_tail(own, target)) for weight, answer in parts]
        return sum(low for low, _ in ends), sum(high for _, high in ends)

    def bounds(tail: float, target: Target) -> Bounds:
        if few(target) and known:
            # `together` is narrower where single answers are far from their largest possible values. `added` is
            # narrower where they are at these ends.
            (low, high), (least, most) = (ends(tail / 2, target) for ends in (together.at_tail, added))
            return max(low, least), min(high, most)
        if few(target):
            return added(tail, target)
        down, up = [0.0], [0.0]
        for weight, answer in parts:
            at, lower, upper = _with_ends(answer, tail, target)
            below, above = (at - lower, upper - at) if weight >= 0 else (upper - at, at - lower)
            down.append(abs(weight) * below)
            up.append(abs(weight) * above)
        return value - math.hypot(*down), value + math.hypot(*up)

    intervals = ComputedIntervals(bounds, few)
    ends = [sorted(weight * end for end in answer.extent) for weight, answer in parts if answer.extent]
    extent = (sum(low for low, _ in ends), sum(high for _, high in ends)) if len(ends) == len(parts) else None
    found = _together(answers, value, question, errors, bounds)
    return replace(found, sums=sums, intervals=intervals, extent=extent)


def check_apart(answers: Sequence[Answer | Estimate]) -> None:
    """Raise MismatchError if two answers share a collection, a batch of reports, or a phase that was learned from."""
    for one, other in combinations(answers, 2):
        common = sorted(one.source & other.source)
        if common:
            kind, identifier = common[0].split(" ", 1)
            raise MismatchError(
                f"answers must come from different contributors, but these two answers share {kind} {identifier[:12]}: "
                "no interval is known for results that depend on each other"
            )


def _checked_pair(a: Answer | Estimate, b: Answer | Estimate, independent: bool) -> tuple[Answer, Answer]:
    if independent is not True:
        raise InvalidParameterError(
            "independent=True must be given to confirm that nobody contributed to both results, got "
            f"independent={quoted(independent)}. No interval is known for results that depend on each other; within "
            "one collection, use estimate.difference or cross tables"
        )
    check_apart([a, b])
    return _answer("a", a), _answer("b", b)


def _answer(name: str, given: Answer | Estimate) -> Answer:
    if isinstance(given, Answer):
        return given
    if given.k != 1:
        raise InvalidParameterError(
            f"{name} must be an Answer, or an estimate of a single category, got an estimate of {given.k} categories"
        )
    return given.total(given.labels[0])


def _together(
    answers: Sequence[Answer], value: float, question: str, errors: Any, bounds: Callable[[float, Target], Bounds]
) -> Answer:
    source = frozenset().union(*(answer.source for answer in answers))
    n = sum(answer.n for answer in answers)
    return Answer(
        value,
        errors,
        question,
        n,
        ComputedIntervals(bounds, _any_few(answers)),
        refusal=refusal_of(answers),
        source=source,
    )


def _any_few(answers: Sequence[Answer]) -> Callable[[Target], bool]:
    return lambda target: any(answer.is_few(target) for answer in answers)


def _with_ends(answer: Answer, tail: float, target: Target) -> tuple[float, float, float]:
    return answer.value, *answer.ends(tail, target)


def _first_root(x: float, down: float, y: float, up: float) -> float:
    """Return the least t >= 0 for which x - t y <= the combined distance of x down and of t y up."""
    # The root solves (x - t y)^2 = down^2 + t^2 up^2 on the side where x >= t y.
    if x <= down or x <= 0:
        return 0.0
    lead, rest = y * y - up * up, x * x - down * down
    root = math.sqrt(max(x * x * y * y - lead * rest, 0.0))
    # This is the smaller root of lead t^2 - 2 x y t + rest, in a form that is also valid at lead = 0.
    return rest / (x * y + root) if x * y + root > 0 else math.inf


def _ratio_errors(one: Answer, other: Answer) -> dict[Target, float]:
    if not other.value:
        return dict.fromkeys(TARGETS, math.nan)
    share = one.value / other.value
    return {
        target: math.hypot(one.errors[target], share * other.errors[target]) / abs(other.value) for target in TARGETS
    }


def _power(exponent: float, otherwise: float) -> float:
    return otherwise if math.isnan(exponent) else math.exp(exponent) if exponent < math.inf else math.inf


def _log_odds(f: float) -> float:
    if f <= 0:
        return -math.inf
    return math.inf if f >= 1 else math.log(f) - math.log1p(-f)
