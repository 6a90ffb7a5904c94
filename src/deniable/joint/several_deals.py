"""One survey, several deals: what the analyst reads when each deal was a collection of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from deniable.aggregate import Aggregate
from deniable.collection import Collection, short_id
from deniable.errors import DeniableError, MismatchError
from deniable.estimate import RecordEstimate
from deniable.joint.dealing import is_dealt
from deniable.joint.dealt_estimate import combine_deals


def estimate_deals(collection: Collection, aggregates: Sequence[Aggregate]) -> RecordEstimate:
    """Analyst: estimate a survey that was dealt several times, each deal with its own coefficients.

    The deals are collections of the same schema, title and version whose mechanisms differ in the deal: its name, its
    number of contributors, its quotas. Their sums are not added; their estimates are, in proportion to their reports.

    Parameters
    ----------
    collection : Collection
        One of them.
    aggregates : sequence of Aggregate
        One per deal, of which one is of `collection`.

    Returns
    -------
    RecordEstimate
        Over all reporters of all deals.

    Raises
    ------
    MismatchError
        If the collection has no dealer, an aggregate is of another survey or another budget, or two are of one deal.

    Examples
    --------
    >>> from deniable import Schema, Attribute, SimulationRandomness
    >>> from deniable.joint.quota import QuotaRR
    >>> schema, rng = Schema((Attribute("smoker", ("yes", "no")),)), SimulationRandomness(1)
    >>> parts = []
    >>> for day, n in ("monday", 1000), ("tuesday", 400):
    ...     survey = Collection(schema, QuotaRR(1.0, n, deal_id=day))
    ...     counted = survey.mechanism.simulate_aggregate([n // 4, 3 * n // 4], rng)
    ...     parts.append(replace(counted, collection=survey.id))
    >>> estimate_deals(survey, parts)["smoker"].n
    1400
    """
    if not is_dealt(collection.mechanism):
        raise MismatchError(f"several deals need a mechanism with a dealer, got {collection.mechanism.name}")
    for aggregate in aggregates:
        _check(collection, aggregate)
    return collection.named(combine_deals(aggregates))


def _check(collection: Collection, aggregate: Aggregate) -> None:
    """Raise MismatchError unless an aggregate is of the same survey, whatever the deal."""
    mechanism: Any = aggregate.mechanism
    mine: Any = collection.mechanism
    # A collection's id is a hash of its content: with the aggregate's mechanism it must be the one reported to.
    try:
        same = replace(collection, mechanism=mechanism).id == aggregate.collection
    except DeniableError:
        same = False
    if not same:
        raise MismatchError(
            f"the aggregate of collection {short_id(aggregate.collection)} is of another survey than "
            f"{short_id(collection.id)}: schema, title and version must be the same"
        )
    budgets = [(m.name, f"{m.privacy().epsilon:.9g}", getattr(m, "epsilon_aux", None)) for m in (mine, mechanism)]
    if budgets[0] != budgets[1]:
        raise MismatchError(f"all deals must have one mechanism and budget, got {mine!r} and {mechanism!r}")
