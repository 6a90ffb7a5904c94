"""Post-processing steps by name, as the command line offers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, overload

from deniable.core.aggregate import Aggregate
from deniable.core.estimate import Estimate, RecordEstimate
from deniable.errors import InvalidParameterError, unknown_name
from deniable.postprocess.consistency import base_cut, clip_normalize, norm_sub, simplex
from deniable.postprocess.em import iterative_bayes
from deniable.postprocess.shared_prior import hierarchical
from deniable.postprocess.smoothing import smooth

POSTPROCESSORS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "norm-sub": norm_sub,
        "simplex": simplex,
        "base-cut": base_cut,
        "clip-normalize": clip_normalize,
        "hierarchical": hierarchical,
    }
)
"""Steps that need only the estimate: Estimate -> Estimate, RecordEstimate -> RecordEstimate."""

DECODERS: Mapping[str, Callable[[Any, Aggregate], Any]] = MappingProxyType({"em": iterative_bayes, "smooth": smooth})
"""Steps that need the reports' likelihood: (mechanism, aggregate) -> Estimate or RecordEstimate."""

POSTPROCESS_NAMES = (*POSTPROCESSORS, *DECODERS)
"""Every name that `postprocess` knows."""


@overload
def postprocess(name: str, estimate: RecordEstimate, aggregate: Aggregate | None = None) -> RecordEstimate: ...
@overload
def postprocess(
    name: str, estimate: Estimate | RecordEstimate, aggregate: Aggregate | None = None
) -> Estimate | RecordEstimate: ...
def postprocess(
    name: str, estimate: Estimate | RecordEstimate, aggregate: Aggregate | None = None
) -> Estimate | RecordEstimate:
    """Post-process an estimate by the named step; names and labels stay the same.

    Parameters
    ----------
    name : str
        One of `POSTPROCESS_NAMES`.
    estimate : Estimate or RecordEstimate
        The estimate. It must be raw for "base-cut", "hierarchical", "em" and "smooth".
    aggregate : Aggregate, optional
        Aggregate behind the estimate; "em" and "smooth" need it.

    Raises
    ------
    InvalidParameterError
        If the name is unknown, or "em" or "smooth" comes without an aggregate.
    MismatchError
        If the step is "em" or "smooth" and the mechanism's aggregates are not histograms of outputs.
    NoIntervalError
        If the step is "base-cut" or "hierarchical" and the estimate is not raw.

    Examples
    --------
    >>> from deniable import GRR
    >>> import numpy as np
    >>> grr = GRR(k=3, epsilon=1.0)
    >>> aggregate = grr.aggregate(np.repeat([0, 1, 2], [60, 30, 10]))
    >>> raw = grr.estimate(aggregate).named("smoker", ["never", "former", "now"])
    >>> result = postprocess("em", raw, aggregate)
    >>> result.attribute, result.labels, result.processing
    ('smoker', ('never', 'former', 'now'), ('em (11 iterations, converged)',))
    """
    if name in POSTPROCESSORS:
        result: Estimate | RecordEstimate = POSTPROCESSORS[name](estimate)
        return result
    if name not in DECODERS:
        raise unknown_name("postprocess", name, POSTPROCESS_NAMES)
    if aggregate is None:
        raise InvalidParameterError(
            f"aggregate must be given for {name}, which decodes the reports; give the aggregate, or choose one of "
            f"{', '.join(POSTPROCESSORS)}"
        )
    likeliest = DECODERS[name](aggregate.mechanism, aggregate)
    # A collection of one attribute returns its estimate by name, even if the mechanism returns a single estimate.
    found = [likeliest] if isinstance(likeliest, Estimate) else list(likeliest.values())
    if isinstance(estimate, RecordEstimate):
        pairs = zip(estimate.items(), found, strict=True)
        return RecordEstimate({key: _named_alike(one, likely) for (key, one), likely in pairs})
    (likely,) = found
    return _named_alike(estimate, likely)


def _named_alike(named: Estimate, found: Estimate) -> Estimate:
    return found.named(named.attribute, named.labels, named.scores, named.unranked).of(named.source)
