"""Combination of several rounds of second phases into one estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deniable.core.aggregate import Aggregate
from deniable.core.estimate import RecordEstimate
from deniable.errors import unknown_name
from deniable.records.phases.refinement import checked_rounds
from deniable.records.phases.two_phase import combine

ESTIMATORS = ("estimate", "debiased", "unmixed")


def combine_rounds(aggregates: Sequence[Aggregate], estimator: str = "estimate") -> RecordEstimate:
    """Analyst: combine the estimates of all rounds, with a fixed weight for each round.

    The weight of round i is n_i (p_i - q_i)^2. Here n_i is the number of reports about the attribute in the round, and
    p_i and q_i are the implemented probabilities of the attribute's oracle. The weights depend neither on counts nor on
    learned parameters. So if every part is unbiased, the combination is unbiased, too, and has intervals. For rounds
    with groups, the weights depend on the number of groups, which must then have been fixed in advance.

    Parameters
    ----------
    aggregates : sequence of Aggregate
        One or more aggregates of each round, each with other contributors, from mechanisms with GRR oracles.
    estimator : {"estimate", "debiased", "unmixed"}
        Estimator for the aggregates of mechanisms that have it. `estimate` is used for all others.

    Raises
    ------
    InvalidParameterError
        If there is no aggregate, or no mechanism has such an estimator.
    MismatchError
        If domains differ, or a mechanism has no GRR oracles.
    EmptyAggregateError
        If an aggregate contains no reports.

    Examples
    --------
    >>> from deniable import SPL, SimulationRandomness
    >>> spl, rng = SPL(sizes=(2, 2), epsilon=2.0), SimulationRandomness(1)
    >>> rounds = [spl.aggregate(spl.randomize([[0, 0], [1, 0]] * 50, rng)) for _ in range(2)]
    >>> combined = combine_rounds(rounds)
    >>> combined[0].contributors
    200
    """
    if estimator not in ESTIMATORS:
        raise unknown_name("estimator", estimator, ESTIMATORS)
    first = checked_rounds(aggregates, same_epsilon=False)
    parts, weights = [], []
    for aggregate in aggregates:
        mechanism: Any = aggregate.mechanism
        gains = [_gain(oracle) for oracle in mechanism.oracles]
        parts.append(mechanism.named_estimator(estimator if estimator in mechanism.estimators else None)(aggregate))
        weights.append([part.n * gain**2 for part, gain in zip(parts[-1].values(), gains, strict=True)])
    return RecordEstimate(
        {
            j: combine(*(RecordEstimate({j: part[j]}) for part in parts), weights=[own[j] for own in weights])[j]
            for j in range(len(first.sizes))
        }
    )


def _gain(oracle: Any) -> float:
    p, q = oracle.support_probabilities
    return float(p - q)
