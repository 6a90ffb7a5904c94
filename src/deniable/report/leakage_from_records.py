"""From records and a release to a `LeakageSummary`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deniable.checks import checked_records
from deniable.collection import Collection
from deniable.errors import InvalidParameterError
from deniable.leakage._any_mechanism import MAX_DOMAIN, any_mechanism_channel
from deniable.leakage.collections import guarantee_under_prior, sampled_leakage
from deniable.leakage.distributions import Floats
from deniable.leakage.figures import Leakage
from deniable.leakage.mechanism_leakage import Release
from deniable.leakage.observed import Observed
from deniable.leakage.records import DEFAULT_STATES, record_leakage
from deniable.multi._about import Visible
from deniable.multi.split import SPL
from deniable.report.leakage_caveats import left_out, listed, varying, warnings_of, with_ranges
from deniable.report.leakage_summary import LeakageSummary, PairSummary
from deniable.schema import Schema
from deniable.thresholds import EpsilonLike, checked_epsilon

_GROUP_STATES = 1 << 20


def summarize_leakage(
    records: ArrayLike,
    schema: Schema,
    releases: EpsilonLike | Sequence[Release],
    *,
    source: str,
    release: str,
    released: Sequence[str] | None = None,
    target: str | None = None,
    strongest: int = 10,
    notes: Sequence[str] = (),
) -> LeakageSummary:
    """Data-protection officer: collect what tables, pictures and pages show about a release attribute by attribute.

    Parameters
    ----------
    records : int[n, d]
        Codes of the schema's attributes; their empirical distribution is the adversary's prior.
    schema : Schema
        Names and labels.
    releases : epsilon, or sequence of d mechanisms
        How each attribute is released. One epsilon: each attribute by any mechanism with this budget; figures are then
        the largest over all such mechanisms.
    source : str
        Where the records come from, for instance a file's name.
    release : str
        How attributes are released, in words.
    released : sequence of str, optional
        The attributes that are released, all by default; the others are only asked about.
    target : str, optional
        The only attribute that is asked about.
    strongest : int
        Number of pairs that are put into words.
    notes : sequence of str
        What a reader must know about the records.

    Raises
    ------
    InvalidInputError
        If fewer than two attributes vary, the target or a released attribute is unknown or constant.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable.schema import Attribute
    >>> schema = Schema((Attribute("bald", ("no", "yes")), Attribute("male", ("no", "yes"))))
    >>> records = np.repeat([[0, 0], [0, 1], [1, 1]], [500, 400, 100], axis=0)
    >>> summary = summarize_leakage(records, schema, 1.0, source="faces.csv", release="by any mechanism, epsilon = 1")
    >>> for pair in summary.pairs:
    ...     print(summary.pair_text(pair))
    releasing male reveals up to 0.67 of a possible 1.00 about bald (few records: 0.62 to 0.69 is plausible)
    releasing bald reveals up to 0.30 of a possible 1.00 about male (few records: 0.25 to 0.34 is plausible)
    """
    codes = checked_records(records, schema.sizes)
    data = varying(codes, schema, target)
    chosen = _chosen(schema, releases, released)
    # Where the whole joint does not fit, groups stay as small as can be contracted in a second.
    limit = DEFAULT_STATES if _cells(data) <= DEFAULT_STATES else _GROUP_STATES
    found = record_leakage(data, releases=chosen, max_states=limit)
    pairs = _strongest(found.pairwise.matrix, found.pairwise.direct, data, target, strongest)
    worst = isinstance(releases, str) or not isinstance(releases, Sequence)
    return LeakageSummary(
        source=source,
        records=len(codes),
        release=release,
        names=data.names,
        released=np.array([released is None or name in released for name in data.names]),
        direct=found.pairwise.direct,
        matrix=found.pairwise.matrix,
        pairs=with_ranges(pairs, data, chosen),
        totals=tuple(map(_attained, found.totals)) if worst else found.totals,
        tree=found.tree,
        prior_free=found.prior_free,
        additive_figure_not_a_bound=found.additive_figure_not_a_bound,
        worst_case=worst,
        target=target,
        notes=(*notes, *left_out(data, schema)),
        warnings=warnings_of(data, schema, exact=not found.tree),
    )


def summarize_collection_leakage(
    records: ArrayLike, collection: Collection, *, source: str, target: str | None = None, strongest: int = 10
) -> LeakageSummary:
    """Data-protection officer: what one report of a collection says about each attribute, for a prior given by records.

    The collection and its id stay as they are; its guarantee is returned with a section about this prior.

    Parameters
    ----------
    records : int[n, d]
        Codes of the collection's attributes; their empirical distribution is the adversary's prior.
    collection : Collection
        With SPL, SMP (adaptive or pivot-coded too), RS+FD or RS+RFD as its mechanism.
    source, target, strongest
        As for `summarize_leakage`.

    Raises
    ------
    InvalidParameterError
        If the mechanism is of another kind.
    """
    schema = collection.schema
    mechanism: Any = collection.mechanism
    if len(schema.sizes) < 2:
        raise InvalidParameterError(
            "leakage through correlation needs at least two attributes, and the collection has one: what a report says "
            f"about it is epsilon = {collection.privacy().epsilon:g}, whatever the prior"
        )
    over = f" over {mechanism.oracle}" if isinstance(getattr(mechanism, "oracle", None), str) else ""
    release = f"by {mechanism.name}{over} with epsilon = {float(mechanism.epsilon):g} for the whole contributor"
    if isinstance(mechanism, SPL):
        summary = summarize_leakage(
            records, schema, mechanism.oracles, source=source, release=release, target=target, strongest=strongest
        )
    else:
        summary = _summarize_sampling(records, collection, source, release, target, strongest)
    prior = f"the joint distribution of {source}"
    return replace(
        summary,
        guarantee=guarantee_under_prior(collection.privacy(), summary.totals, summary.names, prior),
        collection=collection.id,
        title=collection.title,
    )


def _summarize_sampling(
    records: ArrayLike, collection: Collection, source: str, release: str, target: str | None, strongest: int
) -> LeakageSummary:
    schema = collection.schema
    mechanism: Any = collection.mechanism
    codes = checked_records(records, schema.sizes)
    data = varying(codes, schema, target)
    found = sampled_leakage(codes, mechanism)
    pairs = _strongest(found.matrix, found.direct, data, target, strongest)
    return LeakageSummary(
        source=source,
        records=len(codes),
        release=release,
        names=data.names,
        released=np.ones(len(data.names), dtype=np.bool_),
        direct=found.direct,
        matrix=found.matrix,
        pairs=with_ranges(pairs, data, mechanism.oracles) if isinstance(mechanism, Visible) else pairs,
        totals=found.totals,
        tree=(),
        prior_free=mechanism.privacy().epsilon,
        additive_figure_not_a_bound=None,
        worst_case=False,
        target=target,
        notes=left_out(data, schema),
        warnings=warnings_of(data, schema, exact=False),
    )


def _chosen(schema: Schema, releases: EpsilonLike | Sequence[Release], released: Sequence[str] | None) -> list[Release]:
    """Return one release per attribute of the schema."""
    unknown = [name for name in released or () if name not in schema.names]
    if unknown:
        raise InvalidParameterError(f"attributes must be among {listed(schema.names)}, got {unknown[0]!r}")
    if isinstance(releases, Sequence) and not isinstance(releases, str):
        chosen = list(releases)
    else:
        epsilon = float(checked_epsilon(releases))
        made = {k: any_mechanism_channel(k, epsilon) for k in set(schema.sizes) if k <= MAX_DOMAIN}
        chosen = [made.get(k, epsilon) for k in schema.sizes]
    # What is not released has one output, which says nothing.
    return [
        release if released is None or name in released else np.ones((k, 1))
        for name, k, release in zip(schema.names, schema.sizes, chosen, strict=True)
    ]


def _cells(data: Observed) -> int:
    return math.prod(data.sizes)


def _attained(total: Leakage) -> Leakage:
    """Return an exact total for the worst mechanism as what it is for any other."""
    if total.status != "exact":
        return total
    return Leakage(total.epsilon, "upper bound", f"{total.note}; attained by some mechanism with these epsilons")


def _strongest(
    matrix: Floats, direct: Floats, data: Observed, target: str | None, count: int
) -> tuple[PairSummary, ...]:
    order = (divmod(int(place), len(matrix)) for place in np.argsort(-matrix, axis=None, kind="stable"))
    pairs = (
        PairSummary(data.names[i], data.names[j], float(matrix[i, j]), float(direct[j]))
        for i, j in order
        if i != j and matrix[i, j] > 0 and target in (None, data.names[i])
    )
    return tuple(itertools.islice(pairs, count))
