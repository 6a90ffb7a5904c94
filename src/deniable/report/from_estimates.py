"""From estimates to a `Summary`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from deniable.checks import checked_integer
from deniable.errors import InvalidInputError
from deniable.estimate import Estimate, RecordEstimate, Target
from deniable.joint.dealing import DealtMechanism
from deniable.joint.dealt_estimate import DealtEstimate
from deniable.mechanism import Mechanism
from deniable.report.summary import AttributeSummary, Selection, Summary


def summarize(
    estimates: Estimate | RecordEstimate | DealtEstimate | Mapping[str, Estimate],
    *,
    mechanism: Mechanism[Any, Any] | DealtMechanism,
    n: int,
    title: str = "",
    confidence: float = 0.95,
    target: Target = "contributors",
    simultaneous: bool = False,
    truth: Mapping[str, ArrayLike] | None = None,
    truth_n: int | None = None,
    collection: str = "",
    top: int | None = None,
    queries: Mapping[str, ArrayLike] | None = None,
    looked_at: int = 0,
) -> Summary:
    """Analyst: collect what tables, pictures and pages show about an estimate.

    Post-processed estimates are shown beside the raw ones they were made from: the raw ones come first and carry
    the intervals.

    Parameters
    ----------
    estimates : Estimate, RecordEstimate, DealtEstimate or mapping attribute -> Estimate
        What ``mechanism.estimate`` or ``collection.estimate`` returned, or a post-processed version of it.
    mechanism : Mechanism or DealtMechanism
        Where the reports came from; its ``privacy()`` is shown first.
    n : int
        Number of contributors.
    title : str
        Heading.
    confidence : float
        Coverage of the intervals, in (0, 1).
    target : {"contributors", "population"}
        What the intervals cover.
    simultaneous : bool
        All intervals of all attributes hold together.
    truth : mapping attribute -> int[k], optional
        True counts, for demonstrations and rehearsals.
    truth_n : int, optional
        Number of contributors behind the truth, where not all of what they hold is a category: the sum of the counts by
        default.
    collection : str
        Id of the collection.
    top : int, optional
        List only so many categories per attribute, those of the largest estimates, the largest first. Because that is a
        selection, the intervals then hold for all categories together, listed or not.
    queries : mapping attribute -> int[q], optional
        List only these categories (codes) of each attribute, in this order. They must have been chosen without a look
        at the estimates.
    looked_at : int
        For estimates that a search found: how many candidates it looked at; the intervals then hold for all of them.

    Raises
    ------
    InvalidInputError
        If the truth of an attribute has another number of categories.
    InvalidParameterError
        If confidence or target is out of bounds.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.report import summarize
    >>> import numpy as np
    >>> grr = GRR(k=2, epsilon=3.0)
    >>> estimate = grr.estimate(grr.aggregate(np.array([0, 0, 0, 1]))).named("smokes", ["no", "yes"])
    >>> summary = summarize(estimate, mechanism=grr, n=4, truth={"smokes": [3, 1]})
    >>> summary.coverage_text
    '2 of 2 intervals contain the truth (about 1.9 expected).'
    """
    if top is not None:
        checked_integer("top", top, 1)
    named = _named(estimates)
    asked = None if queries is None else {name: np.asarray(queries[name], dtype=np.intp) for name in named}
    comparisons = sum(
        estimate.k if asked is None else len(asked[name]) for name, estimate in named.items() if estimate.n
    )
    comparisons = looked_at or comparisons
    simultaneous = simultaneous or top is not None or looked_at > 0
    together: bool | int = comparisons if simultaneous and comparisons else False
    attributes = tuple(
        _attribute(name, estimate, confidence, target, together, None if truth is None else truth.get(name), truth_n)
        for name, estimate in named.items()
    )
    processing = next((_steps(estimate) for estimate in named.values() if estimate.raw is not None), ())
    biased = [step for estimate in named.values() for step in (estimate.raw or estimate).processing]
    records = None
    if truth is not None:
        records = truth_n or max((int(np.sum(np.asarray(counts))) for counts in truth.values()), default=0)
    selection: Selection = "found" if looked_at else "all"
    if asked is not None:
        selection = "queries"
        attributes = tuple(row.select(asked[row.attribute]) for row in attributes)
    elif top is not None:
        selection = "found" if looked_at else "top"
        attributes = tuple(
            row.select(row.order()[:top]) if looked_at == 0 or len(row.categories) > top else row for row in attributes
        )
    # Everything but the contributor's verb is every mechanism's.
    source = cast("Mechanism[Any, Any]", mechanism)
    return Summary(
        title=title,
        mechanism=source,
        guarantee=source.privacy(),
        n=n,
        attributes=attributes,
        confidence=confidence,
        target=target,
        simultaneous=simultaneous,
        processing=processing,
        biased=tuple(dict.fromkeys(biased)),
        truth_n=records,
        collection=collection,
        selection=selection,
        together=comparisons if simultaneous else 0,
    )


def _named(estimates: Estimate | RecordEstimate | DealtEstimate | Mapping[str, Estimate]) -> dict[str, Estimate]:
    if isinstance(estimates, DealtEstimate):
        estimates = estimates.to_estimate()
    if isinstance(estimates, Estimate):
        return {estimates.attribute or "value": estimates}
    return {estimate.attribute or str(key): estimate for key, estimate in estimates.items()}


def _steps(estimate: Estimate) -> tuple[str, ...]:
    """Return the post-processing alone, without what made the mechanism's own estimate biased."""
    return estimate.processing[len(estimate.raw.processing) :] if estimate.raw is not None else ()


def _attribute(
    name: str,
    estimate: Estimate,
    confidence: float,
    target: Target,
    together: bool | int,
    counts: ArrayLike | None,
    truth_n: int | None,
) -> AttributeSummary:
    raw = estimate if estimate.raw is None else estimate.raw
    # A mechanism's own estimate may be biased, with nothing raw behind it.
    nothing = np.full(raw.k, np.nan)
    lower, upper = raw.interval(confidence, target=target, simultaneous=together) if raw.is_raw else (nothing, nothing)
    truth = None
    if counts is not None:
        known = np.asarray(counts, dtype=np.float64)
        if known.shape != (raw.k,):
            raise InvalidInputError(f"truth of {name!r} must have {raw.k} counts, got shape={known.shape}")
        total = truth_n or known.sum()
        truth = known / total if total > 0 else np.full(raw.k, np.nan)
    errors = raw.standard_errors_for(target)
    return AttributeSummary(
        attribute=name,
        categories=raw.labels,
        reports=raw.n,
        estimate=raw.frequencies,
        standard_error=np.where(np.isfinite(errors), errors, np.nan),
        lower=lower,
        upper=upper,
        processed=None if estimate.raw is None else estimate.frequencies,
        truth=truth,
    )
