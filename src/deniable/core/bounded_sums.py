"""Intervals of sums of few reports: they hold at any number of reports, and no sum is taken to be normal.

Every unbiased answer is a sum S of what independent reports add to it. What a report of a contributor who holds x adds
has a known law. Normal intervals (Wald's, score intervals, MOVER, Fieller's) hold where the standard error of S is at
least `STEPS` times what one report typically moves it by: the root of the fourth moment of its noise over the second.
For one frequency the square of that quotient is about the expected number of mistaken reports. For the population, and
for reports of a sample of the contributors, one more holder must move S by less as well. Elsewhere the bounds of this
module are used. This one rule decides for every question.

Frequencies f are rejected from above if the observed s is improbably small for them, by Chernoff's bound

    P_f(S <= s) <= exp(lambda s) E_f exp(-lambda S)   for every lambda > 0,

and the upper bound of the answer c'f is the largest over all f that are not rejected: whatever the nuisance is, also
where values that nobody among the reporters held are not rare in the population. With M_x(lambda) a bound of the
expected exp(-lambda W) of what one report adds if x is held, n reports have

    log E exp(-lambda S) <= (n/r) log sum_x f_x M_x^r,

* r = 1 for the population, and for reports of a random part of the contributors: sampling without replacement spreads
  convex functions less than sampling with it (Hoeffding 1963, theorem 4);
* r -> 0, the mean of log M_x, for these very contributors if all of them report;
* r = 2 for these contributors if they fall at random into several parts with sums of their own: E is a permanent over
  n!, at most the product of the columns' root mean squares (Carlen, Lieb and Loss 2006).

M_x is exact where the law of a report is known in full, and else that of the two-point variable with the same mean,
variance and end (Bennett 1962). The logarithm of the sum over x is concave, so that a tangent only enlarges the set,
and by duality every (lambda, mu) gives a valid bound

    max_x [c_x + mu phi_x(lambda)] - mu log(tail),

phi the tangent. The best of a grid of lambda is taken, with the best mu of each.

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
"""Rates, over the step of one report, at which its moments are read off, and the least variance, over the square of the
step, that digits are left for."""

_RATES = np.geomspace(0.1, 60.0, 32)
"""Values of lambda that are tried, over the step of one report: bounds of sums `STEPS` wide need the least."""

_HALVINGS = 22

_RATIOS, _REFINED = 9, 3
"""Quotients that are tested at a time, between two ends, and how often between two of them."""

_ON_LIMITS = 0.2
"""Share of what may fail that is spent on the upper bound of a denominator."""

_PRICES = np.concatenate([[0.0], np.geomspace(0.1, 1.6, 3)])
"""Multipliers of such a limit that are tried, in units of the answer."""

_CELLS = 1 << 20
"""Most numbers in one temporary array."""

_LARGEST = 300.0
"""Largest exponent."""


class Added(NamedTuple):
    """Contribution of one report to an unbiased answer.

    Parameters
    ----------
    step : float
        The most by which one mistake moves it, or more.
    logs : callable
        float64[m] of rates, of either sign -> float64[m, x], log E exp(rate W) or more, of the W that one report adds,
        for every value that its contributor may hold; NaN where it is not known.
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
    """Contributions of one sample's reports to several questions, all times `factor`: one `Added` each."""

    n: float
    share: float
    added: tuple[Added, ...]
    factor: float = 1.0

    @property
    def steps(self) -> Floats:
        return abs(self.factor) * self.share / self.n * np.array([added.step for added in self.added])

    def grains(self, held: Floats) -> Floats:
        """Return by how much a typical mistake moves the answers: the root of the fourth moment over the second."""
        found = []
        for added, f in zip(self.added, held, strict=True):
            rates = np.array([_NEAR, _FAR]) / (added.step or 1.0)
            logs = added.logs(np.concatenate([rates, -rates]))
            # log E exp(tW) + log E exp(-tW) = second t^2 + fourth cumulant t^4/12 + ...
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
    """Answers c'f + offset about the same contributors, as sums of what their reports add; Q of them side by side.

    Parameters
    ----------
    values, offsets : float64[Q]
        The estimates, and what no report adds.
    scores : float64[Q, x]
        What each value counts for, c.
    held : float64[Q, x]
        Frequencies that could be true.
    parts : tuple of _Part
        What was reported.
    whole : bool
        Whether every contributor reported, in one sample.
    """

    values: Floats
    offsets: Floats
    scores: Floats
    held: Floats
    parts: tuple[_Part, ...]
    whole: bool

    @property
    def step(self) -> Floats:
        """The most by which one mistake in one report moves the answers, float64[Q]."""
        steps: Floats = np.max([part.steps for part in self.parts], axis=0)
        return steps

    def grain(self, target: Target) -> Floats:
        """Return by how much one report typically moves the answers, float64[Q].

        For the population, and where contributors are sampled, at least by as much as one more holder: of the value
        that counts for most, whether anybody among the reporters holds it or not.
        """
        grains: Floats = np.max([part.grains(self.held) for part in self.parts], axis=0)
        if self._order(target):
            grains = np.maximum(grains, np.ptp(self.scores, axis=1) * max(part.share / part.n for part in self.parts))
        return grains

    def scaled(self, factor: float, offset: float = 0.0) -> BoundedSum:
        """Return the sums of the answers times a factor, plus an offset."""
        return replace(
            self,
            values=factor * self.values + offset,
            offsets=factor * self.offsets + offset,
            scores=factor * self.scores,
            parts=tuple(part._replace(factor=factor * part.factor) for part in self.parts),
        )

    def of(self, questions: NDArray[np.intp]) -> BoundedSum:
        """Return some of the questions."""
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
        """Return r of the mean that bounds E exp(-lambda S), see above."""
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
    """Return the sum behind an answer weights'f.

    Parameters
    ----------
    samples : sequence of Sample
        What it was estimated from.
    weights, held : float64[k]
        What each value counts for, and frequencies that could be true.
    value : float
        The estimate.
    whole : bool
        Whether every contributor reported.
    classes : int[k], optional
        Values that are alike count as one; they count for the same. By default those that count for the same.
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
    """Return one sum of all these questions, which are asked of the same samples and have the same classes."""
    parts = zip(*(one.parts for one in sums), strict=True)
    values, offsets, scores, held = (np.concatenate([getattr(one, name) for one in sums]) for name in _BY_QUESTION)
    joined = tuple(own[0]._replace(added=tuple(part.added[0] for part in own)) for own in parts)
    return BoundedSum(values, offsets, scores, held, joined, sums[0].whole)


def is_few(error: Floats | float, grain: Floats | float) -> NDArray[np.bool_]:
    """Return whether a sum with this standard error is made of too few reports that matter to be taken for normal."""
    return np.asarray(~(np.asarray(error) >= STEPS * np.asarray(grain)))


def bounds(sums: Sequence[BoundedSum], tail: float, target: Target) -> tuple[Floats, Floats]:
    """Return bounds of the total of independent sums, each missed with probability <= tail, float64[Q] each.

    Within what the total can be. Each of the sums has frequencies of its own.
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
    """A quotient a/b of answers about the same contributors: t is rejected where the sum behind a - t b is not 0.

    Parameters
    ----------
    differences : callable
        float64[Q] of t -> the independent sums behind a - t b; none where their law is not known.
    value : float
        The estimate of a/b, NaN if b is 0.
    variances : mapping of target to (float, float, float)
        Variance of a, covariance, variance of b.
    ends : (float, float)
        The least and the largest that a/b can be; b is positive.
    below : BoundedSum, optional
        The sum behind b, with the classes of the differences, where it is one.
    """

    differences: Callable[[Floats], Sequence[BoundedSum]]
    value: float
    variances: Mapping[Target, tuple[float, float, float]]
    ends: tuple[float, float]
    below: BoundedSum | None = None

    def is_few(self, target: Target) -> bool:
        """Return whether a - t b is made of too few reports to be taken for normal, at the estimate."""
        at = min(max(self.value, self.ends[0]), self.ends[1]) if math.isfinite(self.value) else sum(self.ends) / 2
        own, both, other = self.variances[target]
        sums = self.differences(np.array([at]))
        grain = np.max([one.grain(target) for one in sums], initial=0.0)
        return bool(sums) and bool(is_few(math.sqrt(max(own - 2 * at * both + at * at * other, 0.0)), grain))

    def bounds(self, tail: float, target: Target) -> tuple[float, float]:
        """Return the least and the largest t that is not rejected; infinite if none is."""
        limit, own = None, tail
        if (below := self.below) is not None:
            # If b is small, a - t b varies little: the upper bound of b spends a part of what may fail.
            own = (1 - _ON_LIMITS) * tail
            limit = Limit(below.scores, _upper([below], tail - own, target))
        low, high = (self._first(own, target, limit, rises) for rises in (True, False))
        return (-math.inf, math.inf) if (low, high) == self.ends else (min(low, high), max(low, high))

    def _first(self, tail: float, target: Target, limit: Limit | None, rises: bool) -> float:
        """Return the first t that is not rejected, coming from one end, at most one cell of a fine grid too early."""
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
    """(n/r) log sum_x f_x exp(r logs_x), of one part: logs float64[Q, rates, x]."""

    n: float
    r: int
    logs: Floats

    def _mean(self, f: Floats) -> Floats:
        """Return log sum_x f_x exp(r logs_x), with the last axis."""
        most = self.r * self.logs.max(axis=-1, keepdims=True)
        found: Floats = most + np.log((f * np.exp(self.r * self.logs - most)).sum(axis=-1, keepdims=True))
        return found

    def at(self, f: Floats) -> Floats:
        """Return its value at frequencies float64[Q, rates, x], without the last axis."""
        if not self.r:
            return np.asarray(self.n * (f * self.logs).sum(axis=-1))
        return np.asarray(self.n / self.r * self._mean(f)[..., 0])

    def tangent(self, f: Floats) -> Floats:
        """Return phi, float64[Q, rates, x]: sum_x g_x phi_x is at least the value at any g, and equal at f."""
        if not self.r:
            return self.n * self.logs
        mean = self._mean(f)
        return np.asarray(self.n / self.r * (np.expm1(np.minimum(self.r * self.logs - mean, _LARGEST)) + mean))


class Limit(NamedTuple):
    """Limit on frequencies f, scores'f <= most: scores float64[1, x], most float64[1]."""

    scores: Floats
    most: Floats


def _upper(sums: Sequence[BoundedSum], tail: float, target: Target, limit: Limit | None = None) -> Floats:
    """Return upper bounds of the total, float64[Q]; with a limit, of one sum."""
    step = np.max([one.step for one in sums], axis=0)
    rates = _RATES / np.where(step > 0, step, 1.0)[:, None]
    cells = len(step) * sum(one.scores.shape[1] for one in sums)
    blocks = np.array_split(np.arange(len(_RATES)), min(len(_RATES), math.ceil(len(_RATES) * cells / _CELLS)))
    best = np.min([_least(sums, rates[:, block], math.log(tail), target, limit) for block in blocks], axis=0)
    lowest, highest = (np.sum([getattr(one.scores, end)(axis=1) for one in sums], axis=0) for end in ("min", "max"))
    return np.asarray(np.sum([one.offsets for one in sums], axis=0) + np.clip(best, lowest, highest))


def _least(sums: Sequence[BoundedSum], rates: Floats, level: float, target: Target, limit: Limit | None) -> Floats:
    """Return the least bound of these rates lambda, float64[Q]."""
    curves = [one.curves(rates, target) for one in sums]
    scores = [one.scores[:, None, :] for one in sums]
    span = np.maximum(np.sum([np.ptp(one.scores, axis=1) for one in sums], axis=0), 1e-300)

    def mixed(share: Floats) -> list[Floats]:
        """Return frequencies on the way from those that could be true to the largest answer."""
        found = [(1 - share[..., None]) * one.held[:, None, :] for one in sums]
        for one, f in zip(sums, found, strict=True):
            f[np.arange(len(f)), :, one.scores.argmax(axis=1)] += share
        return found

    # Where the way leaves what is not rejected, the tangent is closest.
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
    """Return min over mu of sum max_x [c_x + mu phi_x] - mu level, float64[Q, rates]; any mu is valid."""
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
