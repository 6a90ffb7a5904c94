"""Consistency steps, which turn raw estimates into frequencies that could be true.

Raw estimates are unbiased but may be negative and need not sum to one. Each function here returns a *new* Estimate that
names the step, keeps the raw estimate and has no intervals. Clipping causes bias, and no valid interval is known after
it.

The steps have the names of Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li, *Locally differentially private frequency
estimation with consistency* (NDSS 2020).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, overload

import numpy as np
from scipy import special

from deniable.core.checks import checked_probability
from deniable.core.estimate import Estimate, RecordEstimate
from deniable.core.projection import nearest_distribution as nearest_distribution
from deniable.errors import InvalidInputError, NoIntervalError, quoted

Estimates = TypeVar("Estimates", Estimate, RecordEstimate)


def simplex(estimate: Estimates) -> Estimates:
    """Project onto the probability simplex: return the distribution nearest in Euclidean distance.

    The projection is ``max(f + delta, 0)``, with the delta for which the result sums to one (by the KKT conditions).
    Sorting finds delta exactly. The order of the categories stays the same. `norm_sub` is the same computation; the
    literature uses both names.

    Parameters
    ----------
    estimate : Estimate or RecordEstimate
        Any estimate; a RecordEstimate is projected attribute by attribute.

    Returns
    -------
    Estimate or RecordEstimate
        Frequencies >= 0 that sum to one, with the step "simplex". NaN stays NaN, so an attribute without reports has no
        result.

    Raises
    ------
    InvalidParameterError
        If the estimate does not have all categories, for instance because `queries` or `top` chose some of them.

    Examples
    --------
    >>> from deniable import GRR
    >>> import numpy as np
    >>> grr = GRR(k=3, epsilon=1.0)
    >>> raw = grr.estimate(grr.aggregate(np.array([0, 0, 0, 1])))
    >>> raw.frequencies.round(3)
    array([ 1.477,  0.105, -0.582])
    >>> simplex(raw).frequencies, simplex(raw).processing
    (array([1., 0., 0.]), ('simplex',))
    """
    return _per_attribute(estimate, lambda one: one.processed(nearest_distribution(one.frequencies), "simplex"))


def norm_sub(estimate: Estimates) -> Estimates:
    """Norm-Sub: shift all frequencies by a common delta and set negative results to zero, so that they sum to one.

    The result is ``max(f + delta, 0)``, with the delta for which it sums to one. This is the Euclidean projection onto
    the simplex, so the result always equals `simplex`. Some implementations repeat "clip, then shift the positive
    frequencies". These implementations give the same result if the positive estimates sum to at least one. If the sum
    is smaller, some of their frequencies can be zero although the definition gives a positive frequency.

    Parameters
    ----------
    estimate : Estimate or RecordEstimate
        Any estimate; a RecordEstimate is processed attribute by attribute.

    Returns
    -------
    Estimate or RecordEstimate
        Frequencies >= 0 that sum to one, with the step "norm-sub". NaN stays NaN.

    Raises
    ------
    InvalidParameterError
        If the estimate does not have all categories, for instance because `queries` or `top` chose some of them.

    Examples
    --------
    >>> from deniable import GRR
    >>> import numpy as np
    >>> grr = GRR(k=3, epsilon=2.0)
    >>> raw = grr.estimate(grr.aggregate(np.array([0, 0, 0, 0, 1, 1])))
    >>> norm_sub(raw).frequencies.round(3)
    array([0.745, 0.255, 0.   ])
    """
    return _per_attribute(estimate, lambda one: one.processed(nearest_distribution(one.frequencies), "norm-sub"))


def base_cut(estimate: Estimates, *, confidence: float = 0.95) -> Estimates:
    """Base-Cut: keep frequencies that are significantly above zero, and set the others to zero, without normalising.

    The threshold is T = z sd. Here sd is the standard error at true frequency zero, and z is the one-sided normal
    quantile at ``1 - (1 - confidence)/k`` (Bonferroni over the k categories of the attribute). So with probability
    `confidence`, every category that nobody holds is set to zero.

    Parameters
    ----------
    estimate : Estimate or RecordEstimate
        A raw estimate, because the threshold is a test on unbiased frequencies.
    confidence : float
        Probability, in (0, 1), that every category that nobody holds is set to zero.

    Returns
    -------
    Estimate or RecordEstimate
        Frequencies that are zero or above T, with the step "base-cut (95%)". They need not sum to one. NaN stays NaN.

    Raises
    ------
    NoIntervalError
        If the estimate was post-processed already.
    InvalidParameterError
        If confidence is outside (0, 1), or the estimate does not have all categories.

    Examples
    --------
    >>> from deniable import GRR
    >>> import numpy as np
    >>> grr = GRR(k=4, epsilon=3.0)
    >>> raw = grr.estimate(grr.aggregate(np.repeat([0, 1, 2, 3], [70, 20, 5, 5])))
    >>> base_cut(raw).frequencies.round(3), base_cut(raw).processing
    (array([0.794, 0.19 , 0.   , 0.   ]), ('base-cut (95%)',))
    """
    checked_probability("confidence", confidence, open_interval=True)

    def step(one: Estimate) -> Estimate:
        if not one.is_raw:
            steps = ", ".join(map(quoted, one.processing))
            instead = "; use estimate.raw" if one.raw is not None and one.raw.is_raw else ""
            raise NoIntervalError(
                f"estimate must be raw for base_cut, got an estimate that was already processed by {steps}{instead}"
            )
        threshold = -special.ndtri((1 - confidence) / one.k) * np.sqrt(one.noise_absent / max(one.n, 1))
        kept = np.where(one.frequencies < threshold, 0.0, one.frequencies)
        return one.processed(kept, f"base-cut ({100 * confidence:g}%)")

    return _per_attribute(estimate, step)


def clip_normalize(estimate: Estimates) -> Estimates:
    """Clip to [0, 1], then divide by the sum. This is common, but biased towards uniform; `norm_sub` is better.

    Parameters
    ----------
    estimate : Estimate or RecordEstimate
        Any estimate; a RecordEstimate is processed attribute by attribute.

    Returns
    -------
    Estimate or RecordEstimate
        Frequencies >= 0 that sum to one, with the step "clip-normalize". If no frequency is positive, all categories
        get 1/k. NaN stays NaN.

    Raises
    ------
    InvalidParameterError
        If the estimate does not have all categories, for instance because `queries` or `top` chose some of them.

    Examples
    --------
    >>> from deniable import GRR
    >>> import numpy as np
    >>> grr = GRR(k=3, epsilon=1.0)
    >>> raw = grr.estimate(grr.aggregate(np.array([0, 0, 0, 1])))
    >>> clip_normalize(raw).frequencies.round(3)
    array([0.905, 0.095, 0.   ])
    """

    def step(one: Estimate) -> Estimate:
        clipped = np.clip(one.frequencies, 0.0, 1.0)
        total = clipped.sum()
        return one.processed(np.full(one.k, 1 / one.k) if total == 0 else clipped / total, "clip-normalize")

    return _per_attribute(estimate, step)


@overload
def _per_attribute(estimate: Estimate, step: Callable[[Estimate], Estimate]) -> Estimate: ...
@overload
def _per_attribute(estimate: RecordEstimate, step: Callable[[Estimate], Estimate]) -> RecordEstimate: ...
def _per_attribute(
    estimate: Estimate | RecordEstimate, step: Callable[[Estimate], Estimate]
) -> Estimate | RecordEstimate:
    if isinstance(estimate, RecordEstimate):
        return RecordEstimate({name: step(one) for name, one in estimate.items()})
    if isinstance(estimate, Estimate):
        return step(estimate)
    raise InvalidInputError(
        f"estimate must be an Estimate or a RecordEstimate, got an object of the type {type(estimate).__name__}"
    )
