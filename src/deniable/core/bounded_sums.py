"""Intervals of sums of few reports. They hold at any number of reports, and treat no sum as normal.

Every unbiased answer is a sum S of amounts that independent reports add. The amount that a report adds has a known
distribution, given the value x that its contributor holds. Normal intervals (Wald's, score intervals, MOVER, Fieller's)
are taken to hold where the standard error of S is at least `STEPS` times the amount by which one report typically moves
S. That amount is the root of the quotient of the fourth moment of a report's noise over the second. For one frequency,
the square of the quotient of the standard error and that amount is about the expected number of mistaken reports. For
the population, and for reports of a sample of the contributors, the standard error must also be at least `STEPS` times
the amount by which one more holder moves S. In all other cases the bounds of this module are used. This one rule
decides for every question.

Frequencies f are rejected from above if the observed s is improbably small for them. Chernoff's bound decides:

    P_f(S <= s) <= exp(lambda s) E_f exp(-lambda S)   for every lambda > 0,

The upper bound of the answer c'f is the largest c'f over all f that are not rejected. It holds whatever the nuisance
parameters are, even if values that no reporter held are not rare in the population. Let W be the amount that one report
adds, and M_x(lambda) a bound of E exp(-lambda W) if x is held. Then for n reports

    log E exp(-lambda S) <= (n/r) log sum_x f_x M_x^r,

* r = 1 for the population, and for reports of a random part of the contributors. Expectations of convex functions are
  at most as large when sampling without replacement as with it (Hoeffding 1963, theorem 4).
* r -> 0, which gives the mean of log M_x, for exactly these contributors if all of them report.
* r = 2 for these contributors if they are divided at random into several parts that have their own sums. E is then a
  permanent over n!, which is at most the product of the columns' root mean squares (Carlen, Lieb and Loss 2006).

M_x is exact if the distribution of a report is known in full. Otherwise it is that of the two-point variable with the
same mean, variance and end (Bennett 1962). The logarithm of the sum over x is concave, so a tangent only enlarges the
set of f that are not rejected. By duality, every (lambda, mu) gives a valid bound

    max_x [c_x + mu phi_x(lambda)] - mu log(tail),

where phi is the tangent. The code takes the best lambda of a grid, with the best mu for each lambda.

Bennett, *Probability inequalities for the sum of independent random variables* (1962). Hoeffding, *Probability
inequalities for sums of bounded random variables* (1963). Carlen, Lieb, Loss, *An inequality of Hadamard type for
permanents* (2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.core.checks import Target

Floats: TypeAlias = NDArray[np.float64]

STEPS = 5.0
"""Standard errors, in units of what one report moves an answer by, from which on it is taken for normal.

For a Poisson count, Wald's interval of 95% from STEPS^2 = 25 observed events on, and Chernoff's below, cover .9359 or
more at every mean; from 16 events on .9307. Differences of two frequencies by MOVER cover .9363 or more (enumerated:
two values, sixteen, and OUE; epsilon 1 to 8; 10 to 400 contributors).
"""

_NEAR, _FAR, _RELIABLE = 0.05, 0.4, 1e-9
"""Rates (times the step of one report) at which a report's moments are read off, and the least variance (over the
square of the step) that leaves enough digits."""

_RATES = np.geomspace(0.1, 60.0, 32)
"""Values of lambda that are tried, over the step of one report. Bounds of sums `STEPS` wide need the smallest value."""

_HALVINGS = 22

_RATIOS, _REFINED = 9, 3
"""Number of quotients that are tested at a time between two ends, and how often the search is refined between two of
them."""

_ON_LIMITS = 0.2
"""Share of the error probability that is spent on the upper bound of a denominator."""

_PRICES = np.concatenate([[0.0], np.geomspace(0.1, 1.6, 3)])
"""Multipliers of the limit of a denominator that are tried, in units of the answer."""

_CELLS = 1 << 20
"""Most numbers in one temporary array."""

_LARGEST = 300.0
"""Largest exponent."""


class Added(NamedTuple):
    """Contribution of one report to an unbiased answer.

    Parameters
    ----------
    step : float
        Upper bound on the amount by which one mistaken report moves the answer.
    logs : callable
        Function from rates float64[m], of either sign, to float64[m, x]. It returns log E exp(rate W) or an upper bound
        of it, where W is the amount that one report adds, for every value x that the contributor may hold. NaN where it
        is not known.
    """

    step: float
    logs: Callable[[Floats], Floats]


ReportLaw: TypeAlias = Callable[[Floats], Added]
"""Contribution of one report to sum_x weights[x] 1[x is held], for weights float64[k]."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Reports with the same distribution, whose mean is a part of an estimate.

    Parameters
    ----------
    n : float
        Number of reports.
    share : float
        Weight of their mean. The weights of all samples of an estimate sum to 1.
    law : callable
        Function that returns the distribution of the amount that one of these reports adds.
    """

    n: float
    share: float
    law: ReportLaw


class _Part(NamedTuple):
    """Contributions of one sample's reports to several questions, one `Added` for each, all multiplied by `factor`."""

    n: float
    share: float
    added: tuple[Added, ...]
    factor: float = 1.0

    @property
    def steps(self) -> Floats:
        return abs(self.factor) * self.share / self.n * np.array([added.step for added in self.added])

    def grains(self, held: Floats) -> Floats:
        """Return the amount by which a typical mistake moves the answers: root of the fourth moment over the second."""
        found = []
        for added, f in zip(self.added, held, strict=True):
            rates = np.array([_NEAR, _FAR]) / (added.step or 1.0)
            logs = added.logs(np.concatenate([rates, -rates]))
            # The sum log E exp(tW) + log E exp(-tW) is second t^2 + fourth cumulant t^4/12 + ...
            near, far = (logs[:2] + logs[2:]) / rates[:, None] ** 2
            fourth = 12 * (far - near) / (rates[1] ** 2 - rates[0] ** 2)
            second = near - fourth * rates[0] ** 2 / 12
            spread = float(f @ second)
            moment = float(f @ (fourth + 3 * second**2))
            known = spread > _RELIABLE * added.step**2
            found.append(math.sqrt(min(max(moment / spread, 0.0), added.step**2)) if known else added.step)
        return abs(self.factor) * self.share / self.n * np.array(found)


@dataclass(frozen=True, eq=False)
class BoundedSum:
    """Answers c'f + offset to Q questions about the same contributors, as sums of what their reports add.

    Parameters
    ----------
    values, offsets : float64[Q]
        Estimates, and the constants that are not added by any report.
    scores : float64[Q, x]
        Weights c of the values.
    held : float64[Q, x]
        Frequencies that could be true.
    parts : tuple of _Part
        Contributions of the reports, one part for each sample.
    whole : bool
        True if every contributor reported, in one sample.
    """

    values: Floats
    offsets: Floats
    scores: Floats
    held: Floats
    parts: tuple[_Part, ...]
    whole: bool

    @property
    def step(self) -> Floats:
        """Upper bound on the amount by which one mistaken report moves each answer, float64[Q]."""
        steps: Floats = np.max([part.steps for part in self.parts], axis=0)
        return steps

    def grain(self, target: Target) -> Floats:
        """Return the amount by which one report typically moves each answer, float64[Q].

        For the population, and where contributors are sampled, the amount is at least that by which one more holder of
        the value with the largest weight moves the answer. This applies whether or not any reporter holds that value.
        """
        grains: Floats = np.max([part.grains(self.held) for part in self.parts], axis=0)
        if self._order(target):
            grains = np.maximum(grains, np.ptp(self.scores, axis=1) * max(part.share / part.n for part in self.parts))
        return grains

    def scaled(self, factor: float, offset: float = 0.0) -> BoundedSum:
        """Return the sums of the answers, each answer multiplied by a factor, plus an offset."""
        return replace(
            self,
            values=factor * self.values + offset,
            offsets=factor * self.offsets + offset,
            scores=factor * self.scores,
            parts=tuple(part._replace(factor=factor * part.factor) for part in self.parts),
        )

    def of(self, questions: NDArray[np.intp]) -> BoundedSum:
        """Return the sums of the chosen questions."""
        parts = tuple(part._replace(added=tuple(part.added[i] for i in questions)) for part in self.parts)
        values, offsets, scores, held = (getattr(self, name)[questions] for name in _BY_QUESTION)
        return BoundedSum(values, offsets, scores, held, parts, self.whole)

    def curves(self, rates: Floats, target: Target) -> list[_Curve]:
        """Return log E exp(-lambda (S - the estimates)) of every part, for rates lambda float64[Q, rates]."""
        order, centres = self._order(target), self.values - self.offsets
        found = []
        for part in self.parts:
            weights = rates * part.share / part.n
            logs = np.empty((*rates.shape, self.scores.shape[1]))
            for i, added in enumerate(part.added):
                logs[i] = added.logs(-part.factor * weights[i])
            found.append(_Curve(part.n, order, logs + (weights * centres[:, None])[..., None]))
        return found

    def _order(self, target: Target) -> int:
        """Return r of the mean that bounds E exp(-lambda S); see the module's docstring."""
        if target == "population":
            return 1
        return 0 if self.whole else 1 if len(self.parts) == 1 else 2


_BY_QUESTION = ("values", "offsets", "scores", "held")


def bounded_sum(
    samples: Sequence[Sample],
    weights: Floats,
    value: float,
    held: Floats,
    *,
    whole: bool,
    classes: NDArray[np.intp] | None = None,
) -> BoundedSum:
    """Return the sum of reports that the answer weights'f is made of.

    Parameters
    ----------
    samples : sequence of Sample
        Samples that the answer was estimated from.
    weights, held : float64[k]
        Weights of the values, and frequencies that could be true.
    value : float
        The estimate.
    whole : bool
        True if every contributor reported.
    classes : int[k], optional
        Class of each value. Values of one class are treated as one value, and must have the same weight. By default,
        values with the same weight form a class.
    """
    _, first, which = np.unique(weights if classes is None else classes, return_index=True, return_inverse=True)
    grouped = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[grouped], np.arange(len(first)))

    def reduced(logs: Callable[[Floats], Floats], rates: Floats) -> Floats:
        return np.asarray(np.maximum.reduceat(logs(rates)[:, grouped], starts, axis=1))

    found = ((sample, sample.law(weights)) for sample in samples)
    parts = tuple(_Part(one.n, one.share, (Added(own.step, partial(reduced, own.logs)),)) for one, own in found)
    frequencies = np.bincount(which, held)[None].astype(np.float64)
    return BoundedSum(np.array([value]), np.zeros(1), weights[first][None], frequencies, parts, whole)


def side_by_side(sums: Sequence[BoundedSum]) -> BoundedSum:
    """Return one object for all these questions, which are about the same samples and have the same classes."""
    parts = zip(*(one.parts for one in sums), strict=True)
    values, offsets, scores, held = (np.concatenate([getattr(one, name) for one in sums]) for name in _BY_QUESTION)
    joined = tuple(own[0]._replace(added=tuple(part.added[0] for part in own)) for own in parts)
    return BoundedSum(values, offsets, scores, held, joined, sums[0].whole)


def is_few(error: Floats | float, grain: Floats | float) -> NDArray[np.bool_]:
    """Return whether too few reports matter for a sum with this standard error to be treated as normal."""
    return np.asarray(~(np.asarray(error) >= STEPS * np.asarray(grain)))


def bounds(sums: Sequence[BoundedSum], tail: float, target: Target) -> tuple[Floats, Floats]:
    """Return the bounds of the total of independent sums, float64[Q] each. Each bound fails with probability <= tail.

    The bounds lie within the range of the total. Each of the sums has its own frequencies.
    """
    questions = np.arange(len(sums[0].values))
    lower, upper = np.empty((2, len(questions)))
    step = max(1, _CELLS // (len(_RATES) * sum(one.scores.shape[1] for one in sums)))
    for rows in (questions[start : start + step] for start in range(0, len(questions), step)):
        chosen = [one.of(rows) for one in sums]
        lower[rows] = 0.0 - _upper([one.scaled(-1.0) for one in chosen], tail, target)
        upper[rows] = _upper(chosen, tail, target)
    return lower, upper


@dataclass(frozen=True, eq=False)
class Ratio:
    """Quotient a/b of answers about the same contributors. It rejects t if the bounds of a - t b exclude 0.

    Parameters
    ----------
    differences : callable
        Function from float64[Q] of t to the independent sums behind a - t b. It returns no sums if their distribution
        is not known.
    value : float
        Estimate of a/b, or NaN if b is 0.
    variances : mapping of target to (float, float, float)
        Variance of a, covariance of a and b, and variance of b.
    ends : (float, float)
        Smallest and largest possible a/b. b is positive.
    below : BoundedSum, optional
        Sum behind b, if b is one sum. It has the same classes as the differences.
    """

    differences: Callable[[Floats], Sequence[BoundedSum]]
    value: float
    variances: Mapping[Target, tuple[float, float, float]]
    ends: tuple[float, float]
    below: BoundedSum | None = None

    def is_few(self, target: Target) -> bool:
        """Return whether too few reports matter for a - t b to be treated as normal, with t at the estimate."""
        at = min(max(self.value, self.ends[0]), self.ends[1]) if math.isfinite(self.value) else sum(self.ends) / 2
        own, both, other = self.variances[target]
        sums = self.differences(np.array([at]))
        grain = np.max([one.grain(target) for one in sums], initial=0.0)
        return bool(sums) and bool(is_few(math.sqrt(max(own - 2 * at * both + at * at * other, 0.0)), grain))

    def bounds(self, tail: float, target: Target) -> tuple[float, float]:
        """Return the smallest and the largest t that is not rejected. Both are infinite if no t is rejected."""
        limit, own = None, tail
        if (below := self.below) is not None:
            # If b is small, a - t b varies little. The upper bound of b then spends a part of the error probability.
            own = (1 - _ON_LIMITS) * tail
            limit = Limit(below.scores, _upper([below], tail - own, target))
        low, high = (self._first(own, target, limit, rises) for rises in (True, False))
        return (-math.inf, math.inf) if (low, high) == self.ends else (min(low, high), max(low, high))

    def _first(self, tail: float, target: Target, limit: Limit | None, rises: bool) -> float:
        """Return the first t from one end that is not rejected. It is at most one cell of a fine grid too early."""
        start, stop = self.ends if rises else self.ends[::-1]
        for _ in range(_REFINED):
            ts = np.linspace(start, stop, _RATIOS)
            tested = self.differences(ts)
            signed = [one.scaled(-1.0) for one in tested] if rises else tested
            kept = _upper(signed, tail, target, limit) >= 0
            at = int(np.argmax(kept)) if kept.any() else _RATIOS - 1
            if at == 0:
                return float(ts[0])
            start, stop = ts[at - 1], ts[at]
        return float(start)


class _Curve(NamedTuple):
    """The function (n/r) log sum_x f_x exp(r logs_x) of frequencies f, for one part, with logs float64[Q, rates, x]."""

    n: float
    r: int
    logs: Floats

    def _mean(self, f: Floats) -> Floats:
        """Return log sum_x f_x exp(r logs_x). The last axis is kept, with length 1."""
        most = self.r * self.logs.max(axis=-1, keepdims=True)
        found: Floats = most + np.log((f * np.exp(self.r * self.logs - most)).sum(axis=-1, keepdims=True))
        return found

    def at(self, f: Floats) -> Floats:
        """Return the value of the curve at frequencies float64[Q, rates, x], without the last axis."""
        if not self.r:
            return np.asarray(self.n * (f * self.logs).sum(axis=-1))
        return np.asarray(self.n / self.r * self._mean(f)[..., 0])

    def tangent(self, f: Floats) -> Floats:
        """Return the tangent phi at f, float64[Q, rates, x]: sum_x g_x phi_x >= the curve at every g, equal at f."""
        if not self.r:
            return self.n * self.logs
        mean = self._mean(f)
        return np.asarray(self.n / self.r * (np.expm1(np.minimum(self.r * self.logs - mean, _LARGEST)) + mean))


class Limit(NamedTuple):
    """Limit scores'f <= most on the frequencies f, with scores float64[1, x] and most float64[1]."""

    scores: Floats
    most: Floats


def _upper(sums: Sequence[BoundedSum], tail: float, target: Target, limit: Limit | None = None) -> Floats:
    """Return the upper bounds of the total, float64[Q]. A limit is allowed only with one sum."""
    step = np.max([one.step for one in sums], axis=0)
    rates = _RATES / np.where(step > 0, step, 1.0)[:, None]
    cells = len(step) * sum(one.scores.shape[1] for one in sums)
    blocks = np.array_split(np.arange(len(_RATES)), min(len(_RATES), math.ceil(len(_RATES) * cells / _CELLS)))
    best = np.min([_least(sums, rates[:, block], math.log(tail), target, limit) for block in blocks], axis=0)
    lowest, highest = (np.sum([getattr(one.scores, end)(axis=1) for one in sums], axis=0) for end in ("min", "max"))
    return np.asarray(np.sum([one.offsets for one in sums], axis=0) + np.clip(best, lowest, highest))


def _least(sums: Sequence[BoundedSum], rates: Floats, level: float, target: Target, limit: Limit | None) -> Floats:
    """Return the smallest bound among these rates lambda, float64[Q]."""
    curves = [one.curves(rates, target) for one in sums]
    scores = [one.scores[:, None, :] for one in sums]
    span = np.maximum(np.sum([np.ptp(one.scores, axis=1) for one in sums], axis=0), 1e-300)

    def mixed(share: Floats) -> list[Floats]:
        """Return frequencies on the line from those that could be true to those with the largest answer."""
        found = [(1 - share[..., None]) * one.held[:, None, :] for one in sums]
        for one, f in zip(sums, found, strict=True):
            f[np.arange(len(f)), :, one.scores.argmax(axis=1)] += share
        return found

    # The tangent is closest at the point where the line leaves the frequencies that are not rejected.
    near, far = np.zeros_like(rates), np.ones_like(rates)
    for _ in range(_HALVINGS // 2):
        middle = (near + far) / 2
        values = [curve.at(f) for own, f in zip(curves, mixed(middle), strict=True) for curve in own]
        inside = np.sum(values, axis=0) > level
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    phis = [np.sum([curve.tangent(f) for curve in own], axis=0) for own, f in zip(curves, mixed(far), strict=True)]
    if limit is not None:
        prices = (_PRICES * span[:, None])[:, :, None]
        dearer = prices * (limit.scores - limit.most[:, None])[:, None, :]
        scores = [np.repeat(scores[0] - dearer, rates.shape[1], axis=1)]
        phis = [np.tile(phis[0], (1, len(_PRICES), 1))]
    return np.asarray(_dual(scores, phis, level, span).min(axis=1))


def _dual(scores: list[Floats], phis: list[Floats], level: float, span: Floats) -> Floats:
    """Return the minimum over mu of sum max_x [c_x + mu phi_x] - mu level, float64[Q, rates]. Every mu is valid."""
    shape = phis[0].shape[:-1]
    rows, tables = np.arange(math.prod(shape)), [phi.reshape(-1, phi.shape[-1]) for phi in phis]
    sums = [np.empty(phi.shape) for phi in phis]

    def added(mu: Floats) -> list[Floats]:
        for one, score, phi in zip(sums, scores, phis, strict=True):
            np.add(np.multiply(phi, mu[..., None], out=one), score, out=one)
        return sums

    def falls(mu: Floats) -> NDArray[np.bool_]:
        best = [one.argmax(axis=-1).ravel() for one in added(mu)]
        slope = np.sum([table[rows, one] for table, one in zip(tables, best, strict=True)], axis=0)
        return np.asarray(slope < level).reshape(shape)

    def value(mu: Floats) -> Floats:
        return np.asarray(np.sum([one.max(axis=-1) for one in added(mu)], axis=0) - mu * level)

    low, high = (np.repeat(np.log(factor * span)[:, None], shape[1], axis=1) for factor in (1e-9, 1e3))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        down = falls(np.exp(middle))
        low, high = np.where(down, middle, low), np.where(down, high, middle)
    return np.minimum(value(np.exp(low)), value(np.exp(high)))
