"""Several deals: their sums are not added but their estimates, each deal with its own coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deniable.core.aggregate import Aggregate
from deniable.core.checks import Floats, Target
from deniable.core.estimate import Estimate, RecordEstimate
from deniable.core.mechanism import Mechanism
from deniable.errors import DeniableError, InvalidParameterError, MismatchError
from deniable.research.dealt.dealt import DealtOracle, is_dealt_oracle
from deniable.research.dealt.interval import few, wide_score_bounds
from deniable.survey.collection import Collection, short_id


def combine_deals(aggregates: Sequence[Aggregate]) -> Estimate:
    """Analyst: estimate the frequencies among the reporters of several deals, each with its own coefficients.

    The deals are independent: their variances add. Intervals are score intervals with the exact variance; where few
    reports are expected to be mistaken, the ends of the deals' own intervals are added up, each of a smaller tail.

    Parameters
    ----------
    aggregates : sequence of Aggregate
        One per deal; add the parts of one deal up first.

    Raises
    ------
    InvalidParameterError
        If there is no aggregate.
    MismatchError
        If an aggregate is not of dealt coins or of a mechanism that keeps sums per group (`QuotaBatches`,
        `QuotaRecords`), domain sizes differ, or two aggregates belong to one deal.
    EmptyAggregateError
        If an aggregate contains no reports: leave that deal out.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.research.dealt import QuotaRR
    >>> rng = SimulationRandomness(3)
    >>> monday = QuotaRR(1.0, 1000, deal_id="monday").simulate_aggregate([900, 100], rng)
    >>> tuesday = QuotaRR(1.0, 4000, deal_id="tuesday").simulate_aggregate([3600, 400], rng)
    >>> combine_deals([monday, tuesday]).n
    5000
    """
    if not aggregates:
        raise InvalidParameterError("aggregates must hold at least one deal, got none")
    deals = [aggregate.mechanism for aggregate in aggregates]
    parts: list[Estimate] = []
    mechanisms: list[DealtOracle[Any]] = []
    for place, (mechanism, aggregate) in enumerate(zip(deals, aggregates, strict=True)):
        if not is_dealt_oracle(mechanism):
            raise MismatchError(
                f"aggregates must come from a mechanism with dealt shares whose deals can be combined, "
                f"got one from {mechanism!r}"
            )
        if mechanism.state_size != deals[0].state_size:
            raise MismatchError(
                f"deals must share one domain size, got k={deals[0].state_size} and k={mechanism.state_size}"
            )
        if mechanism in deals[:place]:
            raise MismatchError(f"two aggregates belong to one deal, {mechanism!r}: add them up first")
        mechanisms.append(mechanism)
        parts.append(mechanism.estimate(aggregate))
    if len(parts) == 1:
        return parts[0]
    n = sum(part.n for part in parts)
    frequencies = np.sum([part.frequencies * part.n for part in parts], axis=0) / n
    variances = np.sum([(part.standard_errors * part.n) ** 2 for part in parts], axis=0) / n
    step = max(mechanism.support_step for mechanism in mechanisms) / n

    def variance(f: float) -> float:
        reported = zip(mechanisms, parts, strict=True)
        return sum(mechanism.variance(f, reporters=part.n) * part.n**2 for mechanism, part in reported) / n**2

    scarce = few(variance, step)

    def bounds(tail: float, target: Target) -> tuple[Floats, Floats]:
        if not scarce:
            return wide_score_bounds(frequencies, n, variance, step, tail, target)
        # Each deal's own bounds, which together fail no likelier than the sum of their tails.
        ends = [part.interval(1 - 2 * tail / len(parts), target=target) for part in parts]
        weighted = [part.n / n * np.array(end) for part, end in zip(parts, ends, strict=True)]
        lower, upper = np.sum(weighted, axis=0)
        return lower, upper

    return Estimate(frequencies, n, variances, variances, bounds=bounds, scarce=scarce)


def estimate_deals(collection: Collection, aggregates: Sequence[Aggregate]) -> RecordEstimate:
    """Analyst: estimate a survey that was dealt several times (`combine_deals`).

    The deals are collections of the same schema, title and version whose mechanisms differ in the deal: its name, its
    number of contributors, its quotas.

    Parameters
    ----------
    collection : Collection
        One of them.
    aggregates : sequence of Aggregate
        One per deal, of which one is of `collection`.

    Raises
    ------
    MismatchError
        If the collection has no dealer, an aggregate is of another survey or another budget, or two are of one deal.

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
    """Raise MismatchError unless an aggregate is of the same survey, whatever the deal."""
    mine, theirs = collection.mechanism, aggregate.mechanism
    # A collection's id is a hash of its content: with the aggregate's mechanism it must be the one reported to.
    try:
        same = replace(collection, mechanism=theirs).id == aggregate.collection
    except DeniableError:
        same = False
    if not same:
        raise MismatchError(
            f"the aggregate of collection {short_id(aggregate.collection)} is of another survey than "
            f"{short_id(collection.id)}: schema, title and version must be the same"
        )
    if _budget(mine) != _budget(theirs):
        raise MismatchError(f"all deals must have one mechanism and budget, got {mine!r} and {theirs!r}")


def _budget(mechanism: Mechanism[Any]) -> tuple[str, ...]:
    """Return a mechanism's name, and the epsilon that its guarantee states first and of a colluding dealer."""
    guarantee = mechanism.privacy()
    dealer = next(row.epsilon for row in guarantee.trust_models if row.adversary == "collector and dealer")
    return mechanism.name, f"{guarantee.epsilon:.9g}", f"{dealer:.9g}"
