"""What a dealer would buy: rows of a plan that need one more party to be trusted. Shown apart, never recommended."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from deniable.errors import DeniableError
from deniable.joint.quota import QuotaRR
from deniable.joint.quota_records import QuotaRecords
from deniable.joint.quota_unary import QuotaUnary
from deniable.planning.precision import mean_variance, quantile, worst_variance
from deniable.planning.rows import PlanRow
from deniable.spec import to_spec

MAX_DEALT = 1 << 20
"""Most contributors that rows are computed for; a deal may have more."""

MAX_UNARY = 1 << 12
"""Most values that a bit each is dealt for: 4 KiB per share."""

TRUST = "needs a dealer who does not collude with the collector: together they read every truthful answer"


def dealt_rows(
    sizes: tuple[int, ...],
    epsilon: float | Fraction,
    contributors: int,
    target_error: float | None = None,
    confidence: float = 0.95,
    frequency: float = 0.0,
) -> tuple[PlanRow, ...]:
    """Return the rows of mechanisms with a dealer, for exactly this number of contributors.

    Their half-width is z standard errors, as of other rows; their own intervals invert the exact law. None is
    recommended, because a dealer is a decision about trust, not about error.

    Parameters
    ----------
    sizes : tuple of int
        Domain size of each attribute.
    epsilon : float or Fraction
        Budget of the whole contributor.
    contributors : int
        How many are dealt to; no rows for more than 2^20.
    target_error : float, optional
        Wanted half-width.
    confidence : float
        Of the intervals.
    frequency : float
        True frequency that errors are stated at.

    Examples
    --------
    >>> (row,) = dealt_rows((2,), 0.5, 10_000, frequency=0.05)
    >>> row.name, round(row.standard_error, 5), row.recommended
    ('QuotaRR', 0.00527, False)
    """
    if contributors > MAX_DEALT:
        return ()
    made: list[Any] = []
    offered: list[Callable[[], Any]] = [lambda: QuotaRecords(sizes, epsilon, contributors)]
    if len(sizes) == 1:
        offered = [lambda: QuotaRR(epsilon, contributors, k=sizes[0])]
        if 2 < sizes[0] <= MAX_UNARY:
            offered.append(lambda: QuotaUnary(sizes[0], epsilon, contributors))
    for build in offered:
        try:
            made.append(build())
        except DeniableError:
            continue
    rows = [_row(mechanism, contributors, target_error, confidence, frequency) for mechanism in made]
    return tuple(sorted(rows, key=lambda row: row.mean_variance or math.inf))


def _row(mechanism: Any, n: int, target_error: float | None, confidence: float, frequency: float) -> PlanRow:
    average = mean_variance(mechanism, n)
    standard_error = math.sqrt(worst_variance(mechanism, frequency, n))
    half_width = quantile(confidence) * standard_error
    reached = target_error is None or half_width <= target_error
    return PlanRow(
        mechanism.name,
        mechanism,
        {key: value for key, value in to_spec(mechanism).items() if key != "mechanism"},
        mean_variance=average,
        mean_standard_error=math.sqrt(average),
        standard_error=standard_error,
        half_width=half_width,
        bits_per_report=mechanism.report_bits,
        feasible=reached,
        reason="" if reached else f"reaches +-{half_width:.4g} with {n:,} contributors, not +-{target_error:g}",
        note=TRUST,
    )
