"""The mechanism that a collection uses when nobody names one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deniable.checks import checked_sizes
from deniable.errors import DeniableError, InvalidParameterError
from deniable.mechanism import Mechanism
from deniable.planning.candidates import build, candidates_for, preferred
from deniable.planning.precision import mean_variance
from deniable.planning.rows import PlanRow, best_row
from deniable.thresholds import EpsilonLike, checked_epsilon

_N = 1_000_000  # Variances fall as 1/n: any number compares them alike.


def recommend(sizes: Sequence[int], epsilon: EpsilonLike) -> Mechanism[Any, Any]:
    """Return the mechanism of least mean variance over attributes, values and a flat prior, among the practical.

    One attribute: GRR, OUE, SubsetSelection, and count-mean sketches (OLH; Spread; the prime family with the m of least
    mean variance). Several: SPL, SMP and RS+FD, each over GRR and OUE. Mean variances within 1% are a tie, which goes
    to fewer bits per report. Practical is what needs at most 2^19 bits per report and 2^27 counters, and compares no
    report with more than 2^19 values. Spread is considered for more than 2^10 values; for more than 2^16 it is
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
    rows, reasons = [], []
    for candidate in candidates_for(len(domains)):
        if candidate.recommendable:
            try:
                mechanism = build(candidate, domains, budget)
            except DeniableError as error:
                reasons.append(f"{candidate.name}: {error}")
                continue
            variance, bits = mean_variance(mechanism, _N), mechanism.report_bits
            rows.append(PlanRow(candidate.name, mechanism, {}, variance, bits_per_report=bits, feasible=True))
    eligible = preferred(domains, [row.name for row in rows])
    best = best_row([row for row in rows if row.name in eligible])
    if best is None or best.mechanism is None:
        raise InvalidParameterError(
            f"sizes must allow a practical mechanism, got sizes={domains}, epsilon={budget}: {'; '.join(reasons)}"
        )
    return best.mechanism
