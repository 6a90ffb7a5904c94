"""Iterative refinement: rounds of two phases, each learned from everything before it.

The method is from Seeam, Zheng, Hu (Corr-RR), 3.3.2. Each round has its own contributors. Some of them report through
SPL, which refreshes the learned frequencies. The others report through Corr-RR with the P learned so far. An aggregate
stores its mechanism, so the history of a survey is a sequence of aggregates. The pure function `refine(aggregates, n2)`
returns the next version of Corr-RR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.aggregate import Aggregate
from deniable.errors import EmptyAggregateError, InvalidParameterError, MismatchError, quoted
from deniable.records.phases.two_phase import precision_at_uniform, unbiased
from deniable.records.pivot.copy_probabilities import learn_copy_probabilities
from deniable.records.pivot.corr_rr import CorrRR


def refine(
    aggregates: Sequence[Aggregate], n2: int, method: str = "pairwise", *, alignment: Sequence[Any] = ()
) -> CorrRR:
    """Collector: learn the next round's Corr-RR from all rounds so far; a pure function.

    The frequencies of an attribute are the mean of all its unbiased estimates, weighted by their inverse variances at
    uniform frequencies. For a round of Corr-RR, the unbiased estimate is `unmixed`. A round that does not determine the
    attribute is left out, because its bias would be learned.

    Parameters
    ----------
    aggregates : sequence of Aggregate
        Aggregates of record mechanisms with the same domains and the same epsilon, such as SPL and earlier versions of
        Corr-RR.
    n2 : int
        Expected number of contributors in the next round of Corr-RR, >= 2.
    method : {"pairwise", "joint"}
        Method for computing P; see `deniable.records.pivot.copy_probabilities`.
    alignment : sequence of (larger, smaller, map)
        Maps between domains of different size.

    Returns
    -------
    CorrRR
        Mechanism for a new version of the collection.

    Raises
    ------
    InvalidParameterError
        If there is no aggregate, or n2, the method or the alignment is out of bounds.
    MismatchError
        If domains or epsilons differ, or some attribute has no unbiased estimate in any round.
    EmptyAggregateError
        If an aggregate contains no reports.
    TooLargeError
        If the attributes of an earlier Corr-RR have more than 4096 values together.

    Examples
    --------
    >>> from deniable import SPL, SimulationRandomness
    >>> from deniable.records.phases.refinement import refine
    >>> rng, records, counts = SimulationRandomness(1), [[0, 0], [1, 1], [1, 0]], [300, 500, 200]
    >>> spl = SPL(sizes=(2, 2), epsilon=2.0)
    >>> rounds = [spl.simulate_aggregate([[300, 700], [500, 500]], rng)]
    >>> for _ in range(2):
    ...     rounds.append(refine(rounds, n2=1000).simulate_aggregate(records, counts, rng))
    >>> [one.n for one in rounds]
    [1000, 1000, 1000]
    """
    first = checked_rounds(aggregates)
    rounds = [unbiased(aggregate) for aggregate in aggregates]
    marginals: list[NDArray[np.float64]] = []
    for j in range(len(first.sizes)):
        usable = [estimates[j] for estimates in rounds if estimates[j].is_raw and estimates[j].n > 0]
        if not usable:
            raise MismatchError(
                "the rounds must give an unbiased estimate of every attribute, but there is no such estimate of "
                f"attribute {j}; add a round with the mechanism SPL"
            )
        precision = np.array([precision_at_uniform(one) for one in usable])
        marginals.append(precision @ np.stack([one.frequencies for one in usable]) / precision.sum())
    found = learn_copy_probabilities(marginals, n2, method, alignment=alignment)
    return CorrRR(first.sizes, first.epsilon, tuple(map(tuple, found.tolist())), tuple(alignment))


def checked_rounds(aggregates: Sequence[Aggregate], same_epsilon: bool = True) -> Any:
    """Return the first round's mechanism, or raise an error that says why the rounds do not fit together."""
    if not aggregates:
        raise InvalidParameterError("aggregates must contain at least one round, got none")
    first: Any = aggregates[0].mechanism
    for aggregate in aggregates:
        mechanism: Any = aggregate.mechanism
        if not mechanism.records or mechanism.dealt or mechanism.domain != first.domain:
            raise MismatchError(
                "all rounds must use mechanisms for records with the same numbers of categories, got "
                f"{quoted(mechanism)}"
            )
        if same_epsilon and mechanism.epsilon != first.epsilon:
            raise MismatchError(
                f"all rounds must have the same epsilon, got {quoted(mechanism)} and {quoted(first)}: otherwise the "
                "next round cannot be learned"
            )
        if aggregate.n == 0:
            raise EmptyAggregateError(
                f"every round needs at least one report, got an empty aggregate of {quoted(mechanism)}"
            )
    return first
