"""Rows of a plan for mechanisms with a dealer, who is one more party to be trusted.

The rows show what a dealer gains. They are shown separately and are never recommended.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from deniable.core.spec import to_spec
from deniable.errors import DeniableError
from deniable.planning.rows import PlanRow
from deniable.research.dealt.coupling.jrr import JRR
from deniable.research.dealt.coupling.kary_jrr import KaryJRR
from deniable.research.dealt.quota.quota_rr import QuotaRR
from deniable.research.dealt.quota.records import QuotaRecords
from deniable.research.dealt.quota.unary import QuotaUnary

MAX_DEALT = 1 << 20
"""Most contributors for which rows are computed. A deal may have more."""

MAX_UNARY = 1 << 12
"""Most values for which a bit each is dealt (4 KiB per share)."""

COLLUDERS = 5
"""Contributors whose revealed shares JRR's parameters allow for, as in the paper's evaluation."""

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

    Their half-width is z standard errors, as in other rows. The mechanisms' own intervals invert the exact
    distribution. No row is recommended, because a dealer is a decision about trust, not about error.

    Examples
    --------
    >>> for row in dealt_rows((2,), 0.5, 10_000, frequency=0.05):
    ...     print(row.name, round(row.standard_error, 5), row.recommended)
    QuotaRR 0.00527 False
    JRR 0.01414 False
    """
    if contributors > MAX_DEALT:
        return ()
    offered: list[Callable[[], Any]] = [lambda: QuotaRecords(sizes, epsilon, contributors)]
    if len(sizes) == 1:
        offered = [
            lambda: QuotaRR(epsilon, contributors, k=sizes[0]),
            lambda: _coupled(sizes[0], epsilon, contributors, frequency),
        ]
        if 2 < sizes[0] <= MAX_UNARY:
            offered.append(lambda: QuotaUnary(sizes[0], epsilon, contributors))
    made: list[Any] = []
    for build in offered:
        with contextlib.suppress(DeniableError):
            made.append(build())
    rows = [
        _row(mechanism, contributors, target_error, confidence, frequency, _note(mechanism, epsilon))
        for mechanism in made
        if mechanism is not None
    ]
    return tuple(sorted(rows, key=lambda row: row.mean_variance or math.inf))


def _coupled(k: int, epsilon: float | Fraction, n: int, frequency: float) -> JRR | KaryJRR | None:
    """Return the JRR of least variance at a frequency, or None if that is plain randomised response."""
    count, colluders = round(frequency * n), min(COLLUDERS, n - 1)
    if k == 2:
        found: JRR | KaryJRR = JRR.optimal(n, epsilon, colluders, count)
    else:
        found = KaryJRR.optimal(k, n, epsilon, colluders, count)
    return found if found.rho else None


def _note(mechanism: Any, epsilon: float | Fraction) -> str:
    """Return whom a mechanism trusts.

    For JRR, the note also says what an adversary has who reads more than one report.
    """
    rows = [row for row in mechanism.privacy().trust_models if row.view == "all reports and everybody else's data"]
    known = min((row.epsilon for row in rows if row.delta), default=None)
    if known is None:
        return TRUST
    return (
        f"epsilon = {float(epsilon):g} only against who reads one report and {mechanism.colluders} colluders' shares, "
        "and ignores all other reports; who reads all of them and knows everybody else's answer has "
        f"{known:.3g} at delta = 1e-06, and no bound at delta = 0; {TRUST}. "
        "QuotaRR keeps its epsilon against all but the dealer"
    )


def _row(mechanism: Any, n: int, target_error: float | None, confidence: float, frequency: float, note: str) -> PlanRow:
    parameters = {key: value for key, value in to_spec(mechanism).items() if key != "mechanism"}
    bits = mechanism.report_bits
    row = PlanRow(mechanism.name, mechanism, parameters, bits_per_report=bits, feasible=True, note=note)
    row = row.expected(n, frequency, confidence)
    if target_error is None or row.half_width is None or row.half_width <= target_error:
        return row
    reason = f"reaches ±{row.half_width:.4g} with {n:,} contributors, not ±{target_error:g}"
    return replace(row, feasible=False, reason=reason)
