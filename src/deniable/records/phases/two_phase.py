"""Two phases with two mechanisms: learning from the first phase, and combining the estimates of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deniable.core.aggregate import Aggregate
from deniable.core.estimate import FROM_REPORTS, Estimate, Floats, RecordEstimate
from deniable.core.joint import mixed
from deniable.errors import EmptyAggregateError, InvalidParameterError, MismatchError, quoted

WEIGHTS = ("counts", "inverse-variance")
LEARNED = "combination by learned weights (biased: they depend on parameters learned from one of the parts)"


def phase_one_marginals(aggregate: Aggregate) -> tuple[Any, list[Floats]]:
    """Return phase one's mechanism, and every attribute's raw frequencies, from which phase two learns.

    The frequencies are from `unmixed` if `estimate` is biased and the mechanism has both methods. Corr-RR over equal
    domains is an example.

    Parameters
    ----------
    aggregate : Aggregate
        Aggregate of a record mechanism.

    Raises
    ------
    MismatchError
        If the aggregate came from a one-attribute mechanism, or its estimates are not raw.
    EmptyAggregateError
        If the aggregate contains no reports, or no reports of some attribute.
    """
    mechanism: Any = aggregate.mechanism
    estimates = unbiased(aggregate)
    for j, estimate in estimates.items():
        if not estimate.is_raw:
            raise MismatchError(
                "phase one must have unbiased estimates, got estimates that were processed by "
                f"{', '.join(map(quoted, estimate.processing))}; learn from this phase together with the earlier "
                "phases, or from a phase with the mechanism SPL"
            )
        if estimate.n == 0:
            raise EmptyAggregateError(
                f"phase one must have reports about every attribute, but there are no reports about attribute {j}"
            )
    return mechanism, [estimate.frequencies for estimate in estimates.values()]


def unbiased(aggregate: Aggregate) -> RecordEstimate:
    """Return a record mechanism's estimate, from `unmixed` if it has this method and `estimate` is biased."""
    mechanism: Any = aggregate.mechanism
    if not mechanism.records:
        raise MismatchError(f"phase one must use a mechanism for records, such as SPL, got {quoted(mechanism)}")
    found: RecordEstimate = mechanism.estimate(aggregate)
    if all(estimate.is_raw for estimate in found.values()) or "unmixed" not in mechanism.estimators:
        return found
    unmixed: RecordEstimate = mechanism.unmixed(aggregate)
    return unmixed


def clipped(frequencies: Floats) -> Floats:
    """Return frequencies clipped to [0, 1] and divided by their sum, or uniform ones if none is positive."""
    kept = np.clip(frequencies, 0.0, 1.0)
    total = kept.sum()
    return kept / total if total > 0 else np.full(len(kept), 1 / len(kept))


def combine(
    *estimates: RecordEstimate, weights: str | Sequence[float] = "counts", learned: bool = True
) -> RecordEstimate:
    """Analyst: combine the estimates of phases or rounds, which have different contributors.

    The result is f^ = sum_i w_i f^_i, with one weight for each part and attribute:

    * ``"counts"``: w_i = n_i/n, as in the papers.
    * ``"inverse-variance"``: weights proportional to the inverse variance of a part at uniform frequencies, which is
      n_i (p_i - q_i)^2 for GRR. They depend on the mechanisms' parameters and not on the counts.
    * Numbers: these numbers, normalised, are the weights for all attributes.

    The combination is unbiased if every part is unbiased and the weights do not depend on the data. An estimate from
    phase two is unbiased *given* the parameters that were learned in phase one. So weights by counts remain unbiased
    after learning, but weights that depend on learned parameters do not. With such weights, or if a part is biased,
    `processing` says so and there are no intervals.

    Parameters
    ----------
    *estimates : RecordEstimate
        Raw estimates of the same attributes.
    weights : {"counts", "inverse-variance"} or sequence of float
        Weights of the parts.
    learned : bool
        True if parameters of one part were learned from another part, False if all parameters were fixed in advance.

    Returns
    -------
    RecordEstimate
        Estimates for all contributors together, of whom the parts are a random split. Standard errors and intervals are
        for all contributors, too. The `n` of an estimate is the number of reports with equal weights that would have
        the same sampling variance. With weights by counts, it is the number of all reports.

    Raises
    ------
    InvalidParameterError
        If there is no estimate, the weights do not fit, or an estimate is post-processed.
    MismatchError
        If the attributes differ.

    Examples
    --------
    >>> from deniable import SPL, SMP, SimulationRandomness
    >>> from deniable.records.phases.two_phase import combine
    >>> import numpy as np
    >>> rng, records = SimulationRandomness(1), np.array([[0, 1], [1, 1], [0, 0], [0, 1]] * 50)
    >>> parts = []
    >>> for mechanism in (SPL(sizes=(2, 2), epsilon=1.0), SMP(sizes=(2, 2), epsilon=1.0)):
    ...     parts.append(mechanism.estimate(mechanism.aggregate(mechanism.randomize(records, rng))))
    >>> both = combine(*parts, weights="inverse-variance", learned=False)
    >>> both[0].contributors, bool((both[0].standard_errors < parts[0][0].standard_errors).all())
    (400, True)
    """
    if not estimates:
        raise InvalidParameterError("estimates must list at least one estimate, got none")
    keys = list(estimates[0])
    if any(list(other) != keys or any(other[j].k != estimates[0][j].k for j in keys) for other in estimates):
        raise MismatchError(
            "all estimates must describe the same attributes with the same categories, but these estimates differ"
        )
    given = None if isinstance(weights, str) else _checked_weights(weights, len(estimates))
    if given is None and weights not in WEIGHTS:
        raise InvalidParameterError(
            f"weights must be one of {', '.join(WEIGHTS)}, or a list of numbers, got weights={quoted(weights)}"
        )
    return RecordEstimate({j: _combined([part[j] for part in estimates], weights, given, learned) for j in keys})


def _checked_weights(weights: Any, parts: int) -> Floats:
    numbers = np.asarray(weights, dtype=np.float64)
    if numbers.shape != (parts,) or not np.isfinite(numbers).all() or (numbers < 0).any() or numbers.sum() <= 0:
        raise InvalidParameterError(
            f"weights must be {parts} numbers >= 0 with a sum above 0, got weights={quoted(weights)}"
        )
    return numbers


def _combined(parts: list[Estimate], weights: str | Sequence[float], given: Floats | None, learned: bool) -> Estimate:
    for part in parts:
        if part.raw is not None:
            raise InvalidParameterError(
                "all estimates must be raw (not post-processed), got an estimate that was processed by "
                f"{', '.join(map(quoted, part.processing))}"
            )
    reports = np.array([part.n for part in parts], dtype=np.float64)
    if given is not None:
        share = np.where(reports > 0, given, 0.0)
    elif weights == "counts":
        share = reports
    else:
        share = np.array([precision_at_uniform(part) for part in parts])
    contributors = sum(part.contributors for part in parts)
    if share.sum() <= 0:
        return replace(
            parts[0], frequencies=np.full(parts[0].k, np.nan), n=0, contributors=contributors, intervals=FROM_REPORTS
        )
    share = share / share.sum()
    used = [(w, part) for w, part in zip(share.tolist(), parts, strict=True) if w > 0]
    # This many contributors sampled without weights would leave the same sampling variance. They are never more than
    # there are.
    drawn = max(int((1 + 1e-12) / sum(w**2 / part.n for w, part in used)), 1)
    absent = sum(w**2 / part.n * part.noise_absent for w, part in used) * drawn
    present = sum(w**2 / part.n * part.noise_present for w, part in used) * drawn
    joints = [part.joint for _, part in used if part.joint is not None]
    shares = [w**2 / part.n * drawn for w, part in used]
    steps = [step for _, part in used for step in part.processing]
    if learned and given is None and weights != "counts" and len(used) > 1:
        steps.append(LEARNED)
    return replace(
        parts[0],
        frequencies=np.sum([w * part.frequencies for w, part in used], axis=0),
        n=drawn,
        noise_absent=np.asarray(absent),
        noise_present=np.asarray(present),
        contributors=contributors,
        processing=tuple(dict.fromkeys(steps)),
        intervals=FROM_REPORTS,  # a part's own intervals are about the part's frequencies
        support=None,
        joint=mixed(joints, shares) if len(joints) == len(used) else None,
        samples=tuple(replace(one, share=w * one.share) for w, part in used for one in part.samples)
        if all(part.samples for _, part in used)
        else (),
    )


def precision_at_uniform(estimate: Estimate) -> float:
    """Return the inverse variance (noise and sampling, mean over the values) at uniform frequencies; 0 without reports.

    For GRR with n reports it is n (p - q)^2 up to a factor of k, which is what makes weights of it independent of data.
    """
    if estimate.n == 0:
        return 0.0
    noise = estimate.noise_absent + (estimate.noise_present - estimate.noise_absent) / estimate.k
    return float(estimate.n / (noise.mean() + (1 - 1 / estimate.k) / estimate.k))
