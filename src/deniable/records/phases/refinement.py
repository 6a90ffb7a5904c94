"""Iterative refinement: rounds of two phases, each learned from everything before it.

Seeam, Zheng, Hu (Corr-RR), 3.3.2. Each round has contributors of its own: some for SPL, which refreshes what is known,
and some for Corr-RR with the P learned so far. An aggregate remembers its mechanism, so the history of a survey is a
sequence of aggregates, and two pure functions say all there is to say about it:

* `refine(aggregates, n2)`: the next version of Corr-RR;
* `combine_rounds(aggregates)`: one estimate of all rounds, by the fixed weights n_i (p_i - q_i)^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.core.estimate import RecordEstimate
from deniable.errors import EmptyAggregateError, InvalidParameterError, MismatchError, quoted, unknown_name
from deniable.records.phases.two_phase import combine, precision_at_uniform, unbiased
from deniable.records.pivot.copy_probabilities import learn_copy_probabilities
from deniable.records.pivot.corr_rr import CorrRR

ESTIMATORS = ("estimate", "debiased", "unmixed")


def refine(
    aggregates: Sequence[Aggregate], n2: int, method: str = "pairwise", *, alignment: Sequence[Any] = ()
) -> CorrRR:
    """Collector: learn the next round's Corr-RR from all rounds so far; a pure function.

    Every attribute's frequencies are the mean of all unbiased estimates of it, by their inverse variances at uniform
    frequencies. Of a Corr-RR round that is `unmixed`; a round that leaves the attribute undetermined is passed over, as
    would be its bias if that were learned from.

    Parameters
    ----------
    aggregates : sequence of Aggregate
        Of record mechanisms over the same domains and with the same epsilon: SPL, Corr-RR of earlier versions, ...
    n2 : int
        Number of contributors who are expected in the next round of Corr-RR, >= 2.
    method : {"pairwise", "joint"}
        How P is found; see `deniable.records.pivot.copy_probabilities`.
    alignment : sequence of (larger, smaller, map)
        Maps between domains that differ.

    Returns
    -------
    CorrRR
        To be published under a new version.

    Raises
    ------
    InvalidParameterError
        If there is no aggregate, or n2, the method or the alignment is out of bounds.
    MismatchError
        If domains or epsilons differ, or no round has an unbiased estimate of some attribute.
    EmptyAggregateError
        If an aggregate contains no reports.
    TooLargeError
        If the attributes of an earlier Corr-RR have more than 4096 values together.

    Examples
    --------
    >>> from deniable import SPL, SimulationRandomness
    >>> from deniable.records.phases.refinement import combine_rounds, refine
    >>> rng, records, counts = SimulationRandomness(1), [[0, 0], [1, 1], [1, 0]], [300, 500, 200]
    >>> spl = SPL(sizes=(2, 2), epsilon=2.0)
    >>> rounds = [spl.simulate_aggregate([[300, 700], [500, 500]], rng)]
    >>> for _ in range(2):
    ...     rounds.append(refine(rounds, n2=1000).simulate_aggregate(records, counts, rng))
    >>> combine_rounds(rounds)[0].contributors
    3000
    """
    first = _checked(aggregates)
    rounds = [unbiased(aggregate) for aggregate in aggregates]
    marginals: list[NDArray[np.float64]] = []
    for j in range(len(first.sizes)):
        usable = [estimates[j] for estimates in rounds if estimates[j].is_raw and estimates[j].n > 0]
        if not usable:
            raise MismatchError(
                f"rounds must have an unbiased estimate of every attribute, got none of attribute {j}; add a round "
                "with the mechanism SPL"
            )
        precision = np.array([precision_at_uniform(one) for one in usable])
        marginals.append(precision @ np.stack([one.frequencies for one in usable]) / precision.sum())
    found = learn_copy_probabilities(marginals, n2, method, alignment=alignment)
    return CorrRR(first.sizes, first.epsilon, tuple(map(tuple, found.tolist())), tuple(alignment))


def combine_rounds(aggregates: Sequence[Aggregate], estimator: str = "estimate") -> RecordEstimate:
    """Analyst: combine the estimates of all rounds by the fixed weights n_i (p_i - q_i)^2.

    With p_i, q_i the implemented probabilities of the round's oracle of the attribute. The weights depend neither on
    counts nor on what was learned; so if every part is unbiased, the combination is, and has intervals. Of grouped
    rounds they depend on the number of groups, which must then have been fixed in advance.

    Parameters
    ----------
    aggregates : sequence of Aggregate
        One or more of each round, of other contributors each; mechanisms with GRR oracles.
    estimator : {"estimate", "debiased", "unmixed"}
        What reads the aggregates of mechanisms that have it; `estimate` reads the others.

    Raises
    ------
    InvalidParameterError
        If there is no aggregate, or no such estimator.
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
    first = _checked(aggregates, same_epsilon=False)
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


def _checked(aggregates: Sequence[Aggregate], same_epsilon: bool = True) -> Any:
    if not aggregates:
        raise InvalidParameterError("aggregates must come from at least one round, got none")
    first: Any = aggregates[0].mechanism
    for aggregate in aggregates:
        mechanism: Any = aggregate.mechanism
        if not mechanism.records or mechanism.dealt or mechanism.domain != first.domain:
            raise MismatchError(f"rounds must use record mechanisms over the same domains, got {quoted(mechanism)}")
        if same_epsilon and mechanism.epsilon != first.epsilon:
            raise MismatchError(
                f"rounds must all have the same epsilon to learn the next one, got {quoted(mechanism)} and "
                f"{quoted(first)}"
            )
        if aggregate.n == 0:
            raise EmptyAggregateError(
                f"a round needs at least one report, got an empty aggregate of {quoted(mechanism)}"
            )
    return first
