"""Support counts of a survey as a JSON document, from which another program can compute its own estimates.

For every column of the schema, a document has the numbers from which the estimate is made. They are the number of
reports that support each category, the probabilities p and q, and the correlation of the supports of two categories.
The R package in ``r/`` reads it. It holds sums of randomised reports, which are as public as an estimate.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.estimate import Estimate
from deniable.core.joint import JointNoise, exchangeable
from deniable.survey.collection import Collection

FORMAT = "deniable counts"
FORMAT_VERSION = 1

_TRIALS, _CLOSE = 3, 1e-9
"""Points at which two polynomials are compared, and the relative difference up to which they are equal."""


def counts_document(collection: Collection, aggregate: Aggregate) -> str:
    """Return the support counts of an aggregate as a JSON document.

    Parameters
    ----------
    collection : Collection
        The collection.
    aggregate : Aggregate
        Aggregate of this collection, with at least one report.

    Returns
    -------
    str
        For every column the document has ``attribute``, ``title``, ``labels``, ``scores``, ``n`` and ``contributors``.
        In addition:

        * If the aggregate counts which values reports support, it has ``counts``, ``p``, ``q``, ``supported`` (the
          smallest and largest number of values that one report supports) and ``pairs``. ``pairs`` has two covariances
          between a report's support of one value and its support of another value. ``own`` is the covariance if the
          contributor holds one of the two values, ``other`` if the contributor holds neither. ``pairs`` is null if not
          all pairs of values have the same covariances, or if the covariances are not known.
        * Otherwise it has ``frequencies``, ``noise_absent`` and ``noise_present`` (see `Estimate`).

    Raises
    ------
    InvalidParameterError
        If the collection asks for open text, because strings that a search found are not counts of listed categories.
    MismatchError
        If the aggregate is of another collection.
    EmptyAggregateError
        If the aggregate contains no reports.

    Examples
    --------
    >>> from deniable import GRR, Attribute, Schema
    >>> survey = Collection(Schema((Attribute("smoker", ("yes", "no")),)), GRR(k=2, epsilon="1"))
    >>> found = json.loads(counts_document(survey, survey.aggregate(np.array([0, 1, 1]))))
    >>> found["attributes"][0]["counts"], found["attributes"][0]["supported"]
    ([1, 2], [1, 1])
    """
    collection.schema.check_listed(
        "the counts of strings that a search found do not say how many strings the search compared"
    )
    estimates = collection.estimate(aggregate)
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "collection": collection.id,
        "title": collection.title,
        "mechanism": collection.mechanism.name,
        "epsilon": float(collection.privacy().epsilon),
        "contributors": aggregate.n,
        "attributes": [_column(estimate) for estimate in estimates.values()],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _column(estimate: Estimate) -> dict[str, Any]:
    about = {
        "attribute": estimate.attribute,
        "title": estimate.title,
        "labels": list(estimate.labels),
        "scores": None if estimate.scores is None else _numbers(estimate.scores),
        "n": estimate.n,
        "contributors": estimate.contributors,
    }
    support = estimate.support
    if support is None or support.p.ndim or support.q.ndim:
        return {
            **about,
            "frequencies": _numbers(estimate.frequencies),
            "noise_absent": _numbers(estimate.noise_absent),
            "noise_present": _numbers(estimate.noise_present),
        }
    p, q = float(support.p), float(support.q)
    assert support.sizes is not None
    return {
        **about,
        "counts": support.counts.tolist(),
        "p": p,
        "q": q,
        "supported": list(support.sizes),
        "pairs": None if estimate.joint is None else exchangeable_pairs(estimate.joint, estimate.k, p, q),
    }


def exchangeable_pairs(joint: JointNoise, k: int, p: float, q: float) -> dict[str, float] | None:
    """Return the covariances of one report's supports of two values if all pairs have the same, otherwise None.

    The variance of a weighted sum is a polynomial in the weights and the frequencies. Two polynomials that agree at
    points drawn at random are equal but for chance 0.

    Examples
    --------
    >>> from deniable import GRR
    >>> grr = GRR(k=3, epsilon=1.0)
    >>> p, q = map(float, grr.support_probabilities)
    >>> estimate = grr.estimate(grr.aggregate([0, 1, 2]))
    >>> pairs = exchangeable_pairs(estimate.joint, 3, p, q)
    >>> round(pairs["own"] + p * q, 12), round(pairs["other"] + q * q, 12)
    (0.0, 0.0)
    """
    held = np.eye(k)
    gain2 = (p - q) ** 2
    own = _covariance(joint, held[0], held[1], held[0]) * gain2
    other = _covariance(joint, held[0], held[1], held[2]) * gain2 if k > 2 else 0.0
    if math.isnan(own + other):
        return None
    alike, rng = exchangeable(p, q, own, other), np.random.default_rng(1)
    for _ in range(_TRIALS):
        weights, f = rng.normal(size=k), rng.dirichlet(np.ones(k))
        expected = alike(weights, f)
        if not math.isclose(joint(weights, f), expected, rel_tol=_CLOSE):
            return None
    return {"own": own, "other": other}


def _covariance(joint: JointNoise, v: NDArray[Any], w: NDArray[Any], f: NDArray[Any]) -> float:
    return (joint(v + w, f) - joint(v - w, f)) / 4


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    """Return numbers for JSON, with null for numbers that do not exist."""
    return [value if math.isfinite(value) else None for value in values.tolist()]
