"""Leakage if the prior is wrong: the largest leakage over all distributions near the stated one.

The paper leaves the consequences of a wrong distribution to future work (VII-A). "Near" has the following meaning here.
Among the people with any one answer to X_i, the distribution of their other answers is within a total variation
distance, the *radius*. That is, at most this share of them have other answers than the prior says. The distance is that
of each conditional distribution, so the rows can be moved one by one. For each report, the worst rows are found
greedily. Mass moves from the values that make the report least likely to the value that makes it most likely, and the
reverse for the other row. How common the answers to X_i itself are does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.core.checks import checked_integer, checked_probability
from deniable.core.estimate import Estimate
from deniable.core.projection import nearest_distribution
from deniable.core.randomness import SimulationRandomness
from deniable.errors import InvalidInputError, NoIntervalError, quoted
from deniable.leakage.prior.correlation import Leakage, Release, any_mechanism_channel, is_budget
from deniable.leakage.prior.distributions import (
    Floats,
    checked_conditional,
    checked_joint,
    conditional_from_joint,
    marginals,
    merged_channel,
)
from deniable.leakage.prior.uncertain_prior import LeakageRange, check_cells, plausible_range
from deniable.leakage.totals.total import check_states, targets, worst_log_ratios
from deniable.oracles.grr import GRR
from deniable.oracles.oracle import FrequencyOracle, is_oracle
from deniable.research.leakage.calibration.calibration import STATED, Calibration, calibrate, finished
from deniable.research.leakage.calibration.criteria import Criterion, MechanismFactory, figure_of
from deniable.research.leakage.joint_totals import check_no_empty_category, checked_channels

MAX_GREEDY_CELLS = 1 << 22
"""Largest number of records of the other attributes times their outputs for which totals are exact."""


def cpl_within(release: Release, conditional: ArrayLike, radius: float) -> float:
    """Return the exact largest CPL over all conditional distributions near the stated one, in nats.

    Parameters
    ----------
    release : mechanism, channel or float
        Mechanism, channel or budget of the release of X_j. A budget stands for the mechanism that leaks most within it;
        it is allowed for at most 8 values.
    conditional : float[|X_i|, |X_j|]
        P(X_j = u | X_i = x) of the prior. Rows sum to one.
    radius : float
        Largest total variation distance between a row and the same row of the stated prior, in [0, 1].

    Raises
    ------
    InvalidInputError
        If a matrix is not row-stochastic, or the shapes do not fit.
    InvalidParameterError
        If `radius` is out of range, or a budget is given for more than 8 values.

    Examples
    --------
    >>> from deniable import GRR
    >>> grr = GRR(k=2, epsilon=1.0)
    >>> [round(cpl_within(grr, [[0.8, 0.2], [0.2, 0.8]], radius), 4) for radius in (0, 0.1, 0.2)]
    [0.5694, 0.7761, 1.0]
    """
    rows, share = checked_conditional(conditional), checked_probability("radius", radius)
    if is_budget(release):
        channel = any_mechanism_channel(rows.shape[1], float(release))
    else:
        channel = merged_channel(release.channel() if is_oracle(release) else release)
    if len(channel) != rows.shape[1]:
        raise InvalidInputError(
            f"conditional must have {len(channel)} columns (one for each input of the channel), got {rows.shape[1]}"
        )
    return float(_worst_ratios(*_extremes(rows, channel, share)).max())


def totals_within(
    joint: ArrayLike, mechanisms: Sequence[FrequencyOracle[Any] | ArrayLike], radius: float
) -> tuple[Leakage, ...]:
    """Return the largest total leakage about each attribute over all priors near the stated one.

    Parameters
    ----------
    joint : float[k_1, ..., k_d]
        Stated prior.
    mechanisms : sequence of d mechanisms or channels
        Mechanism or channel of each attribute's release.
    radius : float
        Largest total variation distance between P(other answers | X_i = x) and its value in the stated prior, for every
        x; in [0, 1].

    Returns
    -------
    tuple of d Leakage
        Total leakage about each attribute. It is exact if the channel of all other attributes together has at most
        MAX_GREEDY_CELLS cells. Otherwise it is an upper bound, which adds the radius times the difference between the
        largest and the smallest probability of each report.

    Raises
    ------
    InvalidInputError
        If a shape does not fit, or a category has probability zero.
    InvalidParameterError
        If `radius` is out of range.
    TooLargeError
        If the outputs have too many combinations.

    Examples
    --------
    >>> from deniable import GRR
    >>> for total in totals_within([[0.4, 0.1], [0.1, 0.4]], [GRR(k=2, epsilon=1.0)] * 2, 0.1):
    ...     print(total)
    1.7761 (exact; for every prior within 0.1)
    1.7761 (exact; for every prior within 0.1)
    """
    table, share = checked_joint(joint), checked_probability("radius", radius)
    check_no_empty_category(table)
    channels = checked_channels(table.shape, mechanisms)
    check_states([max(channel.shape) for channel in channels])
    note = f"for every prior within {share:g}"
    found: list[Leakage | None] = [None] * table.ndim
    masses = marginals(table)
    for target, contracted in targets(table, channels):
        others = [channels[j] for j in range(table.ndim) if j != target]
        cells = np.prod([float(channel.size) for channel in others])
        if cells <= MAX_GREEDY_CELLS:
            together: Floats = np.ones((1, 1))
            for channel in others:
                together = np.asarray(np.kron(together, channel), dtype=np.float64)
            extremes = _extremes(conditional_from_joint(table, target), together, share)
        else:
            rows = np.moveaxis(contracted, target, 0).reshape(table.shape[target], -1) / masses[target][:, None]
            extremes = _span_bounds(rows, others, share)
        own = worst_log_ratios(channels[target])
        total = float((_worst_ratios(*extremes) + own).max())
        found[target] = Leakage(total, "exact" if cells <= MAX_GREEDY_CELLS else "upper bound", note)
    return tuple(total for total in found if total is not None)


def _extremes(rows: Floats, channel: Floats, radius: float) -> tuple[Floats, Floats]:
    """Return the largest and the smallest P(y | x) over rows within the radius, each float64[rows, outputs]."""
    high, low = np.empty((len(rows), channel.shape[1])), np.empty((len(rows), channel.shape[1]))
    for y, likelihoods in enumerate(channel.T):
        order = np.argsort(likelihoods, kind="stable")
        upwards = likelihoods[order]
        middle = rows @ likelihoods
        high[:, y] = middle + _taken(rows[:, order], radius) @ (upwards[-1] - upwards)
        low[:, y] = middle - _taken(rows[:, order[::-1]], radius) @ (upwards[::-1] - upwards[0])
    return high, np.maximum(low, 0)


def _taken(rows: Floats, radius: float) -> Floats:
    """Return how much of each entry is removed if a mass of `radius` is taken from the left of every row."""
    before = np.cumsum(rows, axis=1) - rows
    return np.clip(radius - before, 0, rows)


def _span_bounds(rows: Floats, channels: Sequence[Floats], radius: float) -> tuple[Floats, Floats]:
    """Return bounds of P(y | x) over the ball.

    Mass that moves changes P(y | x) by at most the moved mass times the span of y's column.
    """
    most, least = np.ones(1), np.ones(1)
    for channel in channels:
        most, least = np.kron(most, channel.max(axis=0)), np.kron(least, channel.min(axis=0))
    span = radius * (most - least)
    return np.minimum(rows + span, most), np.maximum(rows - span, least)


def _worst_ratios(high: Floats, low: Floats) -> Floats:
    """Return W[x, x'] = max over outputs of ln high[x]/low[x'].

    It is 0 on the diagonal, because one row is one distribution.
    """
    k = len(high)
    worst = np.zeros((k, k))
    for x in range(k):
        for other in range(k):
            if x != other:
                possible = high[x] > 0
                with np.errstate(divide="ignore"):
                    worst[x, other] = max(0.0, float(np.log(high[x][possible] / low[other][possible]).max()))
    return worst


ATTEMPTS = 100


def range_from_estimate(
    estimate: Estimate,
    shape: Sequence[int],
    figure: Callable[[Floats], ArrayLike],
    rng: SimulationRandomness,
    *,
    level: float = 0.9,
    draws: int = 400,
) -> LeakageRange:
    """Return the range of a figure over joint distributions around an estimate from randomised reports.

    Every draw adds independent normal noise to the raw frequencies, with the estimate's standard errors, and projects
    the result onto the probability simplex. The point is the projection of the estimate itself. If a category vanishes
    in a draw, the draw is repeated, because it says nothing about this category.

    Parameters
    ----------
    estimate : Estimate
        Raw estimate of the cells of a joint table, in which the last attribute changes fastest.
    shape : sequence of int
        Domain sizes (k_1, ..., k_d), whose product is the estimate's k.
    figure, rng, level, draws
        See `range_from_counts`.

    Raises
    ------
    InvalidInputError
        If the shape does not fit, or a category vanishes in most draws. Merge it with another category.
    NoIntervalError
        If the estimate has no standard errors, because it was post-processed or has no reports.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR, SimulationRandomness
    >>> from deniable.leakage.prior.correlation import mechanism_cpl
    >>> from deniable.leakage.prior.distributions import conditional_from_joint
    >>> pairs, rng = GRR(k=4, epsilon=2.0), SimulationRandomness(1)  # two binary attributes reported as one
    >>> codes = rng.generator.choice(4, size=20_000, p=[0.4, 0.1, 0.1, 0.4])
    >>> estimate = pairs.estimate(pairs.aggregate(pairs.randomize(codes, rng)))
    >>> later = GRR(k=2, epsilon=1.0)
    >>> found = range_from_estimate(
    ...     estimate, (2, 2), lambda joint: mechanism_cpl(later, conditional_from_joint(joint)).epsilon, rng
    ... )
    >>> bool(found.low < 0.5694 < found.high)  # the figure under the true joint
    True
    """
    joint = joint_from_estimate(estimate, shape)
    if not estimate.is_raw or estimate.n == 0:
        raise NoIntervalError("the range needs a raw estimate with standard errors: pass estimate.raw")
    errors = estimate.standard_errors_for("population")

    def drawn() -> Floats:
        for _ in range(ATTEMPTS):
            noisy = estimate.frequencies + rng.generator.normal(size=estimate.k) * errors
            candidate = nearest_distribution(noisy).reshape(joint.shape)
            if all(mass.min() > 0 for mass in marginals(candidate)):
                return candidate
        raise InvalidInputError(
            f"in each of {ATTEMPTS} draws around the estimate, some category got the probability 0: merge rare "
            "categories"
        )

    method = f"independent normal errors of an estimate from {estimate.n} reports"
    return plausible_range(figure, joint, drawn, level, draws, int((estimate.frequencies < 2 * errors).sum()), method)


def joint_from_estimate(estimate: Estimate, shape: Sequence[int]) -> Floats:
    """Return the joint distribution nearest to an estimate of its cells, float64 of the given shape.

    Negative frequencies become zero. An empty cell can make a leakage look larger than it is; see
    `range_from_estimate`.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR
    >>> grr = GRR(k=4, epsilon=3.0)
    >>> estimate = grr.estimate(grr.aggregate(np.repeat([0, 1, 2, 3], [40, 15, 5, 40])))
    >>> joint_from_estimate(estimate, (2, 2)).round(3)
    array([[0.431, 0.129],
           [0.008, 0.431]])
    """
    sizes = tuple(checked_integer(f"shape[{j}]", size, 1) for j, size in enumerate(shape))
    if prod(sizes) != estimate.k:
        raise InvalidInputError(
            f"shape must have {estimate.k} cells (one for each category of the estimate), got shape={sizes}"
        )
    check_cells(estimate.k)
    return nearest_distribution(estimate.frequencies).reshape(sizes)


def calibrate_worst(
    joints: Sequence[ArrayLike],
    epsilon_total: float,
    criterion: Criterion = "exact",
    mechanism: MechanismFactory | None = GRR,
) -> Calibration:
    """Return the largest common budget that meets the cap for every one of several priors.

    Parameters
    ----------
    joints : sequence of float[k_1, ..., k_d]
        Priors, all with the same shape.
    epsilon_total, criterion, mechanism
        See `calibrate`.

    Returns
    -------
    Calibration
        Calibration whose figures and totals are the largest over the priors.

    Raises
    ------
    InvalidInputError
        If there is no prior, or priors have different shapes.

    Examples
    --------
    >>> public, other = [[0.4, 0.1], [0.1, 0.4]], [[0.45, 0.05], [0.05, 0.45]]
    >>> [round(float(calibrate(joint, 1.0).epsilons[0]), 4) for joint in (public, other)]
    [0.6299, 0.5579]
    >>> round(float(calibrate_worst([public, other], 1.0).epsilons[0]), 4)
    0.5579
    """
    shapes = {np.shape(joint) for joint in joints}
    if len(shapes) != 1:
        raise InvalidInputError(
            f"joints must list one or more priors of the same shape, got shapes={quoted(sorted(shapes))}"
        )
    found = [calibrate(joint, epsilon_total, criterion, mechanism) for joint in joints]
    least = min(found, key=lambda one: float(one.epsilons[0]))
    at_least = [
        finished(
            checked_joint(joint), least.epsilons, least.caps, criterion, mechanism,
            figure_of(checked_joint(joint), criterion, mechanism),
        )
        for joint in joints
    ]  # fmt: skip
    known = [one.exact for one in at_least if one.exact is not None]
    totals = zip(*(one.totals for one in at_least), strict=True)
    relative = f"{STATED}: any of {len(joints)} stated priors"
    return replace(
        least,
        figures=np.max([one.figures for one in at_least], axis=0),
        exact=np.max(known, axis=0) if len(known) == len(at_least) else None,
        totals=tuple(max(each, key=lambda one: one.epsilon) for each in totals),
        caveat=least.caveat if criterion in ("additive", "prior-free") else relative,
    )
