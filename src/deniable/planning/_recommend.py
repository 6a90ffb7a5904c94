"""The mechanism that a collection uses when nobody names one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deniable.core.checks import checked_sizes
from deniable.core.mechanism import Mechanism
from deniable.core.thresholds import EpsilonLike, checked_epsilon
from deniable.planning.candidates import candidates_for, preferred
from deniable.planning.records import check_practical, practical_rows, records_default
from deniable.planning.rows import best_row


def recommend(sizes: Sequence[int], epsilon: EpsilonLike) -> Mechanism[Any]:
    """Return the mechanism of least mean variance over attributes, values and a flat prior, among the practical.

    One attribute: GRR, OUE, SubsetSelection, and count-mean sketches (OLH; Spread; the prime family with the m of least
    mean variance). Several: SPL over GRR or OUE, SMP over GRR or over the best oracle of every attribute;
    `records_default` says why, and knows other wishes. Mean variances within 1% are a tie, which goes to fewer bits per
    report. Practical is what needs at most 2^19 bits per report and 2^27 counters, and compares no report with more
    than 2^19 values. Spread is considered for more than 2^10 values of a single attribute; for more than 2^16 it is
    preferred to all but GRR: others save at most 8% of variance, and cost collectors hours or contributors kilobytes.

    Parameters
    ----------
    sizes : sequence of int
        Domain size of each attribute, each >= 2.
    epsilon : float, Fraction, Decimal or str
        Budget of the whole contributor in nats, in [1e-6, 32].

    Returns
    -------
    Mechanism
        For one size a one-attribute mechanism (codes int[n]), for several a record mechanism (int[n, d]).

    Raises
    ------
    InvalidParameterError
        If a parameter is out of bounds, or no mechanism is practical.

    Examples
    --------
    >>> recommend([4], 1.0)
    GRR(k=4, epsilon=1.0)
    >>> recommend([1_000_000], 2.0)
    CountMeanSketch(k=1000000, epsilon=2.0, m=8, family='spread')
    >>> recommend([5, 4, 6], 1.0)
    SMP(sizes=(5, 4, 6), epsilon=1.0, oracle='GRR')
    """
    domains = checked_sizes(sizes)
    budget = checked_epsilon(epsilon)
    if len(domains) > 1:
        return records_default(domains, budget).mechanism
    offered = [candidate for candidate in candidates_for(1) if candidate.recommendable]
    rows = practical_rows(offered, domains, budget)
    eligible = preferred(domains, [row.name for row in rows if row.feasible])
    best = check_practical(best_row([row for row in rows if row.name in eligible]), rows, domains, budget)
    assert best.mechanism is not None
    return best.mechanism
