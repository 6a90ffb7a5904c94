"""Estimates from several deals and from reports without a deal, added up, each with its own coefficients.

The method follows Zheng and others, section 4.5.2. Contributors who arrive after the deal answer by plain randomised
response. A contributor whose peer does not answer is counted within the deal, as after any drop-out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Floats, Target
from deniable.core.estimate import Estimate, OwnIntervals, RecordEstimate
from deniable.core.mechanism import Mechanism
from deniable.errors import DeniableError, InvalidParameterError, MismatchError, quoted
from deniable.oracles.pure import PureOracle, is_pure
from deniable.research.dealt.dealt import DealtOracle, is_dealt_oracle
from deniable.research.dealt.estimate import quadratic
from deniable.research.dealt.interval import few, wide_score_bounds
from deniable.survey.collection import Collection, short_id

_SPLITS = 1025
"""Points at which the largest variance is computed. Between two points it counts as a straight line."""

Part = DealtOracle[Any] | PureOracle[Any]
"""A deal, or independent reports. Both have (p, q) and an exact variance."""


def combine_deals(aggregates: Sequence[Aggregate]) -> Estimate:
    """Analyst: estimate frequencies among all contributors of several deals, with or without people who have no share.

    Each part is estimated with its own coefficients and weighted by its number of reports. So the estimate is unbiased
    for all reporters together, however they are divided into parts. The parts are independent, so their variances add
    up. Intervals are score intervals with the exact variance. With ``target="contributors"``, this variance is the
    largest that any division of the holders among the parts can give. With ``target="population"``, it is the variance
    if all parts have the same frequency. If too few reports matter for a normal approximation, the ends of the interval
    are sums of the ends of the parts' intervals. Each part's interval then has a higher confidence.

    Newcomers without a share report by `GRR` with a budget of their own. A contributor's report stays in the deal's
    aggregate even if the contributor's partner does not report, because every single report has the deal's p and q.

    Parameters
    ----------
    aggregates : sequence of Aggregate
        One aggregate for each deal, and one for each mechanism without a deal. Add up the parts of one deal first. At
        least one aggregate must belong to a deal.

    Raises
    ------
    InvalidParameterError
        If there is no aggregate.
    MismatchError
        If no aggregate belongs to a deal, domain sizes differ, or two aggregates belong to the same deal or mechanism.
        Also if a mechanism has several attributes or keeps counts for each group (`QuotaBatches`, `QuotaRecords`).
    EmptyAggregateError
        If an aggregate contains no reports. Leave it out.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.dealt import QuotaRR
    >>> rng = SimulationRandomness(3)
    >>> monday = QuotaRR(1.0, 1000, deal_id="monday").simulate_aggregate([900, 100], rng)
    >>> tuesday = QuotaRR(1.0, 4000, deal_id="tuesday").simulate_aggregate([3600, 400], rng)
    >>> combine_deals([monday, tuesday]).n
    5000

    Newcomers on Wednesday, without shares:

    >>> from deniable import GRR
    >>> wednesday = GRR(k=2, epsilon=1.0).simulate_aggregate([450, 50], rng)
    >>> combine_deals([monday, tuesday, wednesday])["1"]
    Estimate: k = 1, n = 5,500
      '1': 0.091588 ± 0.0065668
    """
    if not aggregates:
        raise InvalidParameterError("aggregates must contain at least one deal, got none")
    deals = [aggregate.mechanism for aggregate in aggregates]
    if not any(mechanism.dealt for mechanism in deals):
        raise MismatchError(f"at least one aggregate must come from a mechanism with a dealer, got {quoted(deals[0])}")
    parts: list[Estimate] = []
    mechanisms: list[Part] = []
    for place, (mechanism, aggregate) in enumerate(zip(deals, aggregates, strict=True)):
        if not (is_dealt_oracle(mechanism) or is_pure(mechanism)):
            raise MismatchError(
                "every aggregate must come from a mechanism whose deals can be combined, or from a frequency oracle "
                f"such as GRR, got {quoted(mechanism)}"
            )
        if mechanism.domain != deals[0].domain:
            raise MismatchError(
                f"all deals must have the same number of categories, got k={deals[0].domain[0]} and "
                f"k={mechanism.domain[0]}"
            )
        if mechanism in deals[:place]:
            raise MismatchError(
                f"two aggregates belong to the same deal ({quoted(mechanism)}): add these two aggregates up first"
            )
        mechanisms.append(mechanism)
        parts.append(mechanism.estimate(aggregate))
    if len(parts) == 1:
        return parts[0]
    n = sum(part.n for part in parts)
    frequencies = np.sum([part.frequencies * part.n for part in parts], axis=0) / n
    variances = np.sum([(part.standard_errors * part.n) ** 2 for part in parts], axis=0) / n
    step = max(map(_step, mechanisms)) / n

    def variance(f: float) -> float:
        reported = zip(mechanisms, parts, strict=True)
        return sum(_variance(mechanism, f, part.n) * part.n**2 for mechanism, part in reported) / n**2

    scarce = few(variance, step)

    def bounds(tail: float, target: Target) -> tuple[Floats, Floats]:
        if not scarce and target == "contributors":
            quadratics = [_quadratic(mechanism, part.n, n) for mechanism, part in zip(mechanisms, parts, strict=True)]
            lower, upper = _any_split(frequencies, quadratics, -NormalDist().inv_cdf(tail))
            return lower - step / 2, upper + step / 2
        if not scarce:
            return wide_score_bounds(frequencies, n, variance, step, tail, target)
        # Each part has its own bounds. Together they fail with at most the sum of their tail probabilities.
        ends = [part.interval(1 - 2 * tail / len(parts), target=target) for part in parts]
        weighted = [part.n / n * np.array(end) for part, end in zip(parts, ends, strict=True)]
        lower, upper = np.sum(weighted, axis=0)
        return lower, upper

    return Estimate(frequencies, n, variances, variances, intervals=OwnIntervals(bounds), scarce=scarce)


def _step(mechanism: Part) -> float:
    """Return how much one more support adds to an estimated frequency times the number of reports."""
    p, q = mechanism.support_probabilities
    return 1 / float(p - q)


def _variance(mechanism: Part, f: float, reports: int) -> float:
    """Return the exact variance of a frequency that is estimated from `reports` reports of one part."""
    if is_dealt_oracle(mechanism):
        return mechanism.variance(f, reporters=reports)
    return mechanism.variance(f, reports)


def _quadratic(mechanism: Part, reports: int, n: int) -> tuple[float, float, float, float]:
    """Return a part's weight, and (level, slope, curvature) of the variance that the part adds.

    The variance is that of a frequency among all n.
    """
    weight = reports / n
    level, slope, curvature = quadratic(lambda f: _variance(mechanism, f, reports) * weight**2)
    # A convex variance is below the line between its ends.
    return (weight, level, slope, curvature) if curvature < 0 else (weight, level, slope + curvature, 0.0)


def _largest_variance(parts: Sequence[tuple[float, float, float, float]]) -> tuple[Floats, Floats]:
    """Return frequencies among all reporters, from 0 to 1, and the largest variance over all splits of the holders.

    At the largest variance, one more holder adds the same variance in every part whose frequency is neither 0 nor 1. So
    the splits are those of one multiplier, which falls while the frequency grows.
    """
    weight, level, slope, curvature = np.array(parts).T
    ends = np.concatenate([slope / weight, (slope + 2 * curvature) / weight])
    beyond = (float(np.ptp(ends)) + float(np.abs(ends).max())) * 1e-9 + 1e-300
    # A part without curvature jumps from 0 to 1 where its own slope is passed.
    passed = np.concatenate([ends - beyond, ends + beyond, np.linspace(ends.min(), ends.max(), _SPLITS)])
    multiplier = np.sort(passed)[::-1, None]
    bent = curvature < 0
    held = np.where(multiplier * weight < slope, 1.0, 0.0)
    held[:, bent] = np.clip((multiplier * weight - slope)[:, bent] / (2 * curvature[bent]), 0.0, 1.0)
    return held @ weight, (level + held * (slope + curvature * held)).sum(axis=1)


def _any_split(
    frequencies: Floats, parts: Sequence[tuple[float, float, float, float]], z: float
) -> tuple[Floats, Floats]:
    """Return bounds of all f that a z-test does not reject with the largest possible variance at f.

    The variance is the largest over all splits of the holders.
    """
    among, largest = _largest_variance(parts)
    reach = z * float(np.sqrt(largest.max()))
    found = []
    for estimate in frequencies.tolist():
        near = min(max(estimate, 0.0), 1.0)
        f = np.linspace(max(near - reach, 0.0), min(near + reach, 1.0), _SPLITS)
        deviation = z * np.sqrt(np.interp(f, among, largest))
        kept = np.flatnonzero(np.abs(f - estimate) <= deviation)
        if len(kept) == 0:
            # The estimate is outside of [0, 1], so the variance of the nearest frequency is used.
            at = int(np.abs(f - estimate).argmin())
            found.append((estimate - deviation[at], estimate + deviation[at]))
            continue
        first, last = int(kept[0]), int(kept[-1])
        lower = _root(estimate - deviation - f, first, first - 1, f) if first else estimate - deviation[0]
        upper = _root(estimate + deviation - f, last, last + 1, f) if last < len(f) - 1 else estimate + deviation[-1]
        found.append((lower, upper))
    lower_ends, upper_ends = np.array(found).T
    return lower_ends, upper_ends


def _root(values: Floats, inside: int, outside: int, f: Floats) -> float:
    """Return the point where a line between two neighbours is 0."""
    part = values[inside] / (values[inside] - values[outside])
    return float(f[inside] + part * (f[outside] - f[inside]))


def estimate_deals(collection: Collection, aggregates: Sequence[Aggregate]) -> RecordEstimate:
    """Analyst: return the estimate of a survey with several deals, or with newcomers who have no share.

    The result is that of `combine_deals`. The deals are collections with the same schema, title and version. Their
    mechanisms may differ in the deal's name, number of contributors and quotas. Newcomers report to another collection
    with the same schema, title and version. Its mechanism needs no dealer and has its own epsilon.

    Parameters
    ----------
    collection : Collection
        Collection of one of the deals.
    aggregates : sequence of Aggregate
        One aggregate for each deal, including the deal of `collection`, and perhaps one aggregate of newcomers.

    Raises
    ------
    MismatchError
        If the collection has no dealer, an aggregate belongs to another survey or has another budget, or two aggregates
        belong to the same deal.

    Examples
    --------
    >>> from deniable import Attribute, Schema, SimulationRandomness
    >>> from deniable.research.dealt import QuotaRR
    >>> schema, rng = Schema((Attribute("smoker", ("yes", "no")),)), SimulationRandomness(1)
    >>> parts = []
    >>> for day, n in ("monday", 1000), ("tuesday", 400):
    ...     survey = Collection(schema, QuotaRR(1.0, n, deal_id=day))
    ...     counted = survey.mechanism.simulate_aggregate([n // 4, 3 * n // 4], rng)
    ...     parts.append(replace(counted, collection=survey.id))
    >>> estimate_deals(survey, parts)["smoker"].n
    1400
    """
    if not collection.dealt:
        raise MismatchError(f"several deals need a mechanism with a dealer, got {collection.mechanism.name}")
    for aggregate in aggregates:
        _check(collection, aggregate)
    return collection.named(combine_deals(aggregates))


def _check(collection: Collection, aggregate: Aggregate) -> None:
    """Raise MismatchError unless an aggregate belongs to the same survey, whatever its deal is."""
    mine, theirs = collection.mechanism, aggregate.mechanism
    # A collection's id is a hash of its content. With the aggregate's mechanism, the id must be that of the reports.
    try:
        same = replace(collection, mechanism=theirs).id == aggregate.collection
    except DeniableError:
        same = False
    if not same:
        raise MismatchError(
            f"the aggregate of collection {short_id(aggregate.collection)} must belong to the same survey as "
            f"collection {short_id(collection.id)}: schema, title and version must be equal"
        )
    if theirs.dealt and _budget(mine) != _budget(theirs):
        raise MismatchError(
            f"all deals must have the same mechanism and budget, got {quoted(mine)} and {quoted(theirs)}"
        )


def _budget(mechanism: Mechanism[Any]) -> tuple[str, ...]:
    """Return a mechanism's name, the first epsilon of its guarantee, and the epsilon of a colluding dealer."""
    guarantee = mechanism.privacy()
    dealer = next(row.epsilon for row in guarantee.trust_models if row.adversary == "collector and dealer")
    return mechanism.name, f"{guarantee.epsilon:.9g}", f"{dealer:.9g}"
