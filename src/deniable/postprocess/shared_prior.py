"""The hierarchical step: attributes that share a domain are estimated together, by `deniable.core.shared_domain`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import overload

import numpy as np

from deniable.core.checks import listed
from deniable.core.estimate import Estimate, Floats, RecordEstimate
from deniable.core.projection import nearest_distribution
from deniable.core.shared_domain import decode_group
from deniable.errors import InvalidInputError, InvalidParameterError, NoIntervalError, quoted

Name = int | str
Group = tuple[Name, ...]

STEP = "hierarchical"

_SMALLEST_VARIANCE = 1e-24
"""Below the square of what float64 resolves: a certain answer stays one, and nothing divides by zero."""


@overload
def hierarchical(estimate: Estimate, *, dominant: bool = ...) -> Estimate: ...
@overload
def hierarchical(
    estimate: RecordEstimate, *, groups: Iterable[Sequence[Name]] | None = ..., dominant: bool = ...
) -> RecordEstimate: ...
def hierarchical(
    estimate: Estimate | RecordEstimate,
    *,
    groups: Iterable[Sequence[Name]] | None = None,
    dominant: bool = True,
) -> Estimate | RecordEstimate:
    """Estimate the attributes that share a domain together: pool, shrink, and allow for skewed marginals.

    For analysts, on the unbiased estimates of any mechanism. Strength is borrowed inside a group only; an attribute
    whose domain no other has is a group of one, and still gains from shrinkage.

    What to expect: on 149 held-out settings, which chose nothing (100 drawn at random, 49 views of real data), the mean
    squared error of the default for records is, relative to the *best* of six baselines in each setting (SPL, SMP,
    RS+FD, RS+RFD raw and clipped, Corr-RR, all projected onto the simplex): median 0.90, geometric mean 0.68, worst
    1.81 where a full record must be sent (that one for splitting the budget where sampling would have been right; the
    next is 1.15); median 0.63, geometric mean 0.55 where each attribute has its best oracle. At epsilon >= 2 and small
    k there is nothing to gain. Over larger domains, relative to `norm_sub` on the same reports, geometric means are
    0.83 (k=16), 0.69 (k=64) and 0.50 (k=256), 0.99 to 1.08 at worst, and 0.61, 0.47 and 0.41 where one category
    dominates. What still loses: rare values of nearly constant binary attributes (1.15), and a dominant category of a
    large domain that the reports do not show for certain (up to 1.9 at k=256 with 500 reports per attribute).

    Parameters
    ----------
    estimate : Estimate or RecordEstimate
        Raw: the decoder weighs unbiased frequencies by their variances.
    groups : iterable of sequences of attribute names, optional
        Which attributes to pool, for a RecordEstimate; attributes of no group stay alone. By default, those with equal
        `labels`, in the same order (`shared_domains`): with the default labels "0", "1", ... that is equal k.
    dominant : bool
        Whether attributes of 16 or more categories, one of which certainly holds more than half, are also modelled as
        such. False gives the first version of this decoder, which is the same wherever there is no such attribute.

    Returns
    -------
    Estimate or RecordEstimate
        Frequencies >= 0 that sum to one, step "hierarchical", `raw` kept. There are no intervals: show those of the raw
        estimate beside it. An attribute without reports stays NaN, and is not pooled.

    Raises
    ------
    NoIntervalError
        If an estimate was post-processed already, or is biased.
    InvalidParameterError
        If `groups` names an unknown attribute or one twice, or pools attributes of different k.
    InvalidInputError
        If it is not an estimate.

    Notes
    -----
    With f^ the raw frequencies and f their projection onto the simplex, the variance of f^(v) is the mechanism's noise
    at f plus f(1-f)/n; for GRR and subset selection this is pi(1-pi)/(n (p-q)^2) with pi = q + (p-q) f. Their raw
    frequencies always sum to one, and so their errors cancel; errors of oracles whose frequencies do not are taken as
    independent, and centring changes their variances (`noise_variances`).

    Examples
    --------
    >>> from deniable import SMP, SimulationRandomness
    >>> from deniable.postprocess import norm_sub
    >>> import numpy as np
    >>> rng = SimulationRandomness(1)
    >>> answers = rng.generator.choice(4, (3000, 5), p=[0.6, 0.2, 0.15, 0.05])
    >>> smp = SMP(sizes=(4, 4, 4, 4, 4), epsilon=1.0)
    >>> raw = smp.estimate(smp.aggregate(smp.randomize(answers, rng)))
    >>> norm_sub(raw)[0].frequencies.round(2)
    array([0.51, 0.27, 0.15, 0.06])
    >>> decoded = hierarchical(raw)
    >>> decoded[0].frequencies.round(2), decoded[0].processing
    (array([0.57, 0.21, 0.15, 0.07]), ('hierarchical',))
    """
    if isinstance(estimate, Estimate):
        if groups is not None:
            raise InvalidParameterError("groups must be left out, because the estimate has only one attribute")
        return _decoded({0: estimate}, [(0,)], dominant)[0]
    if not isinstance(estimate, RecordEstimate):
        raise InvalidInputError(
            f"estimate must be an Estimate or a RecordEstimate, got an object of the type {type(estimate).__name__}"
        )
    pools = shared_domains(estimate) if groups is None else _checked_groups(estimate, groups)
    decoded = _decoded(estimate, pools, dominant)
    return RecordEstimate({name: decoded[name] for name in estimate})


def shared_domains(estimates: Mapping[Name, Estimate]) -> list[Group]:
    """Return the attributes grouped by domain: the same labels in the same order. What `hierarchical` pools.

    Groups come in the order of their first attribute. Attributes of equal size but different labels are not pooled:
    that "never" of one is like "north" of another would be an accident.

    Examples
    --------
    >>> from deniable import SMP, SimulationRandomness
    >>> import numpy as np
    >>> smp = SMP(sizes=(2, 3, 2), epsilon=1.0)
    >>> raw = smp.estimate(smp.aggregate(smp.randomize(np.zeros((9, 3), dtype=int), SimulationRandomness(1))))
    >>> shared_domains(raw)
    [(0, 2), (1,)]
    """
    found: dict[tuple[str, ...], list[Name]] = {}
    for name, one in estimates.items():
        found.setdefault(one.labels, []).append(name)
    return [tuple(group) for group in found.values()]


def noise_variances(estimate: Estimate) -> Floats:
    """Return the variances of one attribute's centred frequencies around those of the population, float64[k].

    Noise of the mechanism and of sampling, at the nearest distribution. Where the raw frequencies sum to one they do so
    for every sample (GRR, subset selection, RS+FD over GRR): centring changes nothing. Otherwise errors are independent
    (unary encodings, sketches), and less the mean of k of them: s2 (1 - 2/k) + mean(s2)/k.

    Examples
    --------
    >>> from deniable import GRR
    >>> grr = GRR(k=2, epsilon=2.0)
    >>> estimate = grr.estimate(grr.aggregate([0] * 600 + [1] * 400))
    >>> noise_variances(estimate).shape
    (2,)
    """
    f, k = nearest_distribution(estimate.frequencies), estimate.k
    noise = estimate.noise_absent + (estimate.noise_present - estimate.noise_absent) * f
    s2: Floats = (noise + f * (1 - f)) / estimate.n
    # The sum of all supports is an integer: frequencies of independent bits sum to one by rare coincidence only.
    rounding = 1e-9 * (1 + np.abs(estimate.frequencies).sum())
    if abs(estimate.frequencies.sum() - 1) > rounding:
        s2 = s2 * (1 - 2 / k) + s2.mean() / k
    return np.maximum(s2, _SMALLEST_VARIANCE)


def _decoded(estimates: Mapping[Name, Estimate], pools: Iterable[Group], dominant: bool) -> dict[Name, Estimate]:
    results: dict[Name, Estimate] = {}
    for pool in pools:
        known = [name for name in pool if _is_known(estimates[name])]
        if known:
            results |= dict(zip(known, _decode([estimates[name] for name in known], dominant), strict=True))
        for name in set(pool) - set(known):
            results[name] = estimates[name].processed(np.full(estimates[name].k, np.nan), STEP)
    return results


def _is_known(estimate: Estimate) -> bool:
    if not estimate.is_raw:
        steps = ", ".join(estimate.processing)
        instead = "; use estimate.raw" if estimate.raw is not None and estimate.raw.is_raw else ""
        raise NoIntervalError(
            f"hierarchical needs unbiased frequencies, got an estimate that was already processed by {steps}{instead}"
        )
    return estimate.n > 0 and not np.isnan(estimate.frequencies).any()


def _decode(group: list[Estimate], dominant: bool) -> list[Estimate]:
    k = group[0].k
    if k < 2:  # as many as were found of an open dictionary
        return [one.processed(np.ones(k), STEP) for one in group]
    frequencies = np.stack([one.frequencies for one in group])
    g = frequencies - frequencies.mean(axis=1, keepdims=True)
    decoded = decode_group(g, np.stack([noise_variances(one) for one in group]), dominant=dominant)
    return [one.processed(row, STEP) for one, row in zip(group, decoded, strict=True)]


def _checked_groups(estimates: RecordEstimate, groups: Iterable[Sequence[Name]]) -> list[Group]:
    pools: list[Group] = []
    seen: set[Name] = set()
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Sequence):
            raise InvalidParameterError(f"groups must be sequences of attribute names, got {quoted(group)}")
        for name in group:
            if name not in estimates:
                raise InvalidParameterError(
                    f"groups must name attributes of the estimate, but the estimate has no attribute {quoted(name)}"
                )
            if name in seen:
                raise InvalidParameterError(
                    f"every attribute must be in one group at most, got {quoted(name)} in two groups"
                )
            seen.add(name)
        sizes = {estimates[name].k for name in group}
        if len(sizes) > 1:
            raise InvalidParameterError(
                f"all attributes of a group must have the same number of categories, got {quoted(list(group))} with "
                f"{listed(list(map(str, sorted(sizes))))} categories"
            )
        pools.append(tuple(group))
    return pools + [(name,) for name in estimates if name not in seen]
