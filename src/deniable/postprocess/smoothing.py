"""Smooth decoding of ordered answers, which finds the likeliest distribution if neighbouring values are similar.

Maximum likelihood (`em`) turns noise into peaks. Here log f is penalised by its differences between neighbours, of
order 1 (towards uniform) or 2 (towards exponential curves), with strength lambda. The reports decide the strength. The
fits of both orders and of 9 strengths are averaged with weights by their evidence. The evidence is the probability of
the reports under each prior, in Laplace's approximation:

    l(f) - lambda/2 |D theta|^2 - 1/2 (ln det(H + 11'/k) - (k - order) ln lambda),   H = F + lambda D'D,

where theta = log f at the maximum, l is the log-likelihood and F is its Fisher information. Weights by evidence are
from MacKay, *Bayesian interpolation* (1992). A spike survives, because weak priors have the larger evidence if the
reports show a spike.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, overload

import numpy as np

from deniable.core.aggregate import Aggregate
from deniable.core.estimate import Estimate, Floats, RecordEstimate
from deniable.core.mechanism import Mechanism
from deniable.errors import MismatchError, out_of_range
from deniable.oracles.oracle import FrequencyOracle, is_oracle
from deniable.records.record import is_direct

MAX_VALUES = 64
"""Longest scale that is decoded. Every step solves k equations, so a longer scale takes seconds."""

ORDERS = (1, 2)
STRENGTHS = tuple(float(10.0**exponent) for exponent in range(-2, 7))

MAX_STEPS = 200
"""Most Fisher steps. 25 are enough, except for spikes at small budgets."""

TOLERANCE = 1e-10
"""A fit has converged if a step would raise the penalised log-likelihood by less than this, in nats."""


SUFFICIENT = 1e-4
"""Share of the promised rise that a step must bring."""

LOST = 1e-3
"""Least share of the information at uniform answers. If reports have less information about a slope of log f, the slope
has diverged."""


class _Fit(NamedTuple):
    """Fit of one model: its score (the log evidence except for a constant) and its frequencies."""

    score: float
    frequencies: Floats


@overload
def smooth(mechanism: FrequencyOracle[Any], aggregate: Aggregate) -> Estimate: ...
@overload
def smooth(mechanism: Mechanism[Any], aggregate: Aggregate) -> Estimate | RecordEstimate: ...
def smooth(mechanism: Mechanism[Any], aggregate: Aggregate) -> Estimate | RecordEstimate:
    """Return the smooth frequencies of ordered answers from the histogram of their reports.

    Use it above all for `SquareWave`. On scales with 16 or more values it gives better distribution functions and
    quantiles than `iterative_bayes`. It works for every oracle of ordered answers whose aggregate is the histogram of
    its reports.

    Parameters
    ----------
    mechanism : SquareWave, GRR, another oracle with ``state_is_histogram``, or records over SquareWave
        Mechanism of the aggregate, with at most 64 values in their order. For records (AdaptiveSMP), only attributes
        that are reported through square waves are decoded. The others stay raw.
    aggregate : Aggregate
        Aggregate with at least one report.

    Returns
    -------
    Estimate or RecordEstimate
        Frequencies > 0 that sum to one, with the step "smooth". There are no intervals, because the estimate is biased
        towards smooth shapes. `raw` is the mechanism's raw estimate. An attribute without reports stays NaN.

    Raises
    ------
    MismatchError
        If the mechanism's aggregates are not histograms of its reports, or the aggregate came from another mechanism.
    EmptyAggregateError
        If there are no reports.
    InvalidParameterError
        If the scale has more than 64 values.

    Examples
    --------
    >>> from deniable.oracles import SquareWave
    >>> wave = SquareWave(k=5, epsilon=1.0, window=1)
    >>> aggregate = wave.aggregate([0] * 18 + [1] * 25 + [2] * 36 + [3] * 42 + [4] * 36 + [5] * 25 + [6] * 18)
    >>> smooth(wave, aggregate).frequencies.round(2)
    array([0.18, 0.21, 0.23, 0.21, 0.18])
    """
    if is_oracle(mechanism) and mechanism.state_is_histogram:
        return _smoothed(mechanism, mechanism.estimate(aggregate), aggregate)
    if is_direct(mechanism) and any(oracle.ordered for oracle in mechanism.oracles):
        whole = zip(
            mechanism.oracles, mechanism.estimate(aggregate).items(), mechanism.by_attribute(aggregate), strict=True
        )
        return RecordEstimate(
            {name: _smoothed(oracle, raw, part) if oracle.ordered else raw for oracle, (name, raw), part in whole}
        )
    raise MismatchError(
        f"smooth does not work with an aggregate of {mechanism.name}. If the answers are ordered, smooth works with "
        "SquareWave, with GRR, and with records over SquareWave. Use hierarchical or simplex instead"
    )


def _smoothed(oracle: FrequencyOracle[Any], raw: Estimate, aggregate: Aggregate) -> Estimate:
    """Return the smooth estimate of one attribute."""
    if raw.n == 0:
        return raw.processed(raw.frequencies, "smooth (no reports)")
    if raw.k > MAX_VALUES:
        raise out_of_range("k", f"<= {MAX_VALUES} for smooth", raw.k, "collect on a coarser scale or grid, or use em")
    counts, channel = aggregate.counts.astype(np.float64), oracle.channel()
    orders = ORDERS[: raw.k - 1]  # two values have no second difference
    tried = (_fit(channel, counts, order, strength) for order in orders for strength in STRENGTHS)
    fits = [fit for fit in tried if fit is not None]
    scores = np.array([fit.score for fit in fits])
    weights = np.exp(scores - scores.max())
    frequencies = weights @ np.array([fit.frequencies for fit in fits]) / weights.sum()
    return raw.processed(frequencies, "smooth")


def _fit(channel: Floats, counts: Floats, order: int, strength: float) -> _Fit | None:
    """Return the fit that Fisher steps from the uniform distribution reach, which never lower the objective.

    The steps maximise the penalised log-likelihood. The function returns None if there is no maximum. Differences of
    order 2 do not penalise a slope of log f. If steeper slopes are always likelier, all mass moves to one end of the
    scale, and the evidence means nothing.
    """
    k, n, seen = len(channel), counts.sum(), counts > 0
    penalty = strength * _roughness(k, order)
    slope = np.arange(k) - (k - 1) / 2

    def at(theta: Floats) -> tuple[float, Floats, Floats]:
        grown = np.exp(theta - theta.max())
        frequencies = grown / grown.sum()
        reports = frequencies @ channel
        likelihood = float(counts[seen] @ np.log(reports[seen]))
        # `change` says how reports change with theta.
        change = frequencies[:, None] * (channel - reports)
        return likelihood - float(theta @ penalty @ theta) / 2, frequencies, change / np.sqrt(reports)

    theta = np.zeros(k)
    reached, frequencies, change = at(theta)
    known = float(((slope @ change) ** 2).sum())
    for _ in range(MAX_STEPS):
        if order > 1 and float(((slope @ change) ** 2).sum()) < LOST * known:
            return None
        # theta is determined up to a constant, and 11'/k settles this constant.
        gradient = change @ (counts / np.sqrt(frequencies @ channel)) - penalty @ theta
        step = np.linalg.solve(n * change @ change.T + penalty + 1 / k, gradient)
        rise = float(gradient @ step)
        if rise < TOLERANCE:
            break
        # Fisher's step leads upwards if it is not too long. So it is halved until it does.
        proposed = at(theta + step)
        while proposed[0] < reached + SUFFICIENT * rise and rise > TOLERANCE:
            step, rise = step / 2, rise / 2
            proposed = at(theta + step)
        theta = theta + step
        reached, frequencies, change = proposed
    volume = float(np.linalg.slogdet(n * change @ change.T + penalty + 1 / k)[1])
    return _Fit(reached - (volume - (k - order) * np.log(strength)) / 2, frequencies)


@lru_cache(maxsize=16)
def _roughness(k: int, order: int) -> Floats:
    """Return float64[k, k]: the matrix D'D for differences of this order."""
    differences = np.diff(np.eye(k), n=order, axis=0)
    return differences.T @ differences
