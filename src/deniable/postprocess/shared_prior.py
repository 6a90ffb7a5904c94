"""Hierarchical step, which estimates attributes with a shared domain together (`deniable.core.shared_domain`)."""

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
"""Smallest variance, below the square of what float64 resolves. A certain answer stays certain, and nothing divides by
zero."""


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
    """Estimate attributes with the same domain together: pool and shrink them, and allow for skewed marginals.

    Analysts can use it on the unbiased estimates of any mechanism. Attributes with the same domain form a group, and
    only attributes of the same group inform each other. If no other attribute has an attribute's domain, it is alone in
    its group, and still gains from shrinkage.

    The gain was measured on 149 settings that played no part in the design (100 drawn at random, 49 views of real
    data). In each setting, the mean squared error of this decoder, applied to the default mechanism for records, was
    divided by the error of the *best* of six baselines. A ratio below 1 is a gain. The baselines are SPL, SMP, RS+FD,
    RS+RFD raw and clipped, and Corr-RR, all projected onto the simplex.

    * If a full record must be sent, the median ratio is 0.90, the geometric mean 0.68 and the worst ratio 1.81. The
      ratio 1.81 occurs in a setting where the default mechanism split the budget, although sampling an attribute would
      have been better. The second worst ratio is 1.15.
    * If each attribute has its best oracle, the median ratio is 0.63 and the geometric mean 0.55.
    * At epsilon >= 2 and small k there is no gain.
    * In larger domains, the error was divided by the error of `norm_sub` on the same reports. The geometric means of
      these ratios are 0.83 (k=16), 0.69 (k=64) and 0.50 (k=256), and the worst ratios are 0.99 to 1.08. If one category
      dominates, the geometric means are 0.61, 0.47 and 0.41.
    * The decoder loses for rare values of nearly constant binary attributes (ratio 1.15). It also loses for a dominant
      category of a large domain, if the reports leave in doubt that this category dominates (ratios up to 1.9 at k=256
      with 500 reports per attribute).

    Parameters
    ----------
    estimate : Estimate or RecordEstimate
        A raw estimate, because the decoder weighs unbiased frequencies by their variances.
    groups : iterable of sequences of attribute names, optional
        Groups of attributes to pool, for a RecordEstimate. Attributes outside all groups stay alone. By default,
        attributes with the same `labels` in the same order form a group (`shared_domains`). With the default labels
        "0", "1", ... these are attributes with equal k.
    dominant : bool
        True to use a model of its own for attributes with 16 or more categories, if one of these categories certainly
        has a frequency above one half. False for the first version of this decoder, which treats such attributes like
        all others.

    Returns
    -------
    Estimate or RecordEstimate
        Frequencies >= 0 that sum to one, with the step "hierarchical". There are no intervals; show the intervals of
        the estimate in `raw`. An attribute without reports stays NaN and is not pooled.

    Raises
    ------
    NoIntervalError
        If an estimate was post-processed already, or is biased.
    InvalidParameterError
        If `groups` names an unknown attribute, names an attribute twice, or pools attributes with different k.
    InvalidInputError
        If `estimate` is not an estimate.

    Notes
    -----
    Let f^ be the raw frequencies, and f their projection onto the simplex. The variance of f^(v) is the mechanism's
    noise at f plus f(1-f)/n. For GRR and subset selection it is pi(1-pi)/(n (p-q)^2) with pi = q + (p-q) f. The raw
    frequencies of these two mechanisms always sum to one, so their errors cancel. For oracles whose frequencies need
    not sum to one, errors are treated as independent, and centring changes their variances (`noise_variances`).

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
    """Return the attributes grouped by domain (same labels, same order); `hierarchical` pools these groups.

    Groups have the order of their first attributes. Attributes with equal size but different labels are not pooled,
    because "never" of one attribute and "north" of another have nothing in common.

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
    """Return the variances of one attribute's centred frequencies, float64[k], with the noise of sampling included.

    They include the noise of the mechanism and of sampling, at the nearest distribution. If raw frequencies sum to one
    in every sample (GRR, subset selection, RS+FD over GRR), centring changes nothing. Otherwise errors are independent
    (unary encodings, sketches). Centring subtracts the mean of the k errors, so the variances s2 become s2 (1 - 2/k) +
    mean(s2)/k.

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
    # The sum of all supports is an integer, so frequencies of independent bits sum to one only by rare coincidence.
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
        steps = ", ".join(map(quoted, estimate.processing))
        instead = "; use estimate.raw" if estimate.raw is not None and estimate.raw.is_raw else ""
        raise NoIntervalError(
            f"estimate must be unbiased for hierarchical, got an estimate that was already processed by {steps}"
            f"{instead}"
        )
    return estimate.n > 0 and not np.isnan(estimate.frequencies).any()


def _decode(group: list[Estimate], dominant: bool) -> list[Estimate]:
    k = group[0].k
    if k < 2:  # an open dictionary may have fewer than two values
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
                    f"every attribute must be in at most one group, got {quoted(name)} in two groups"
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
