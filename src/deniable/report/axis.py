"""The axis of one attribute, shared by the picture and the page: its range and its round tick marks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deniable.report.summary import AttributeSummary


def axis_limits(rows: Sequence[AttributeSummary]) -> tuple[float, float]:
    """Return the range of frequencies that holds every estimate, interval and truth; it always contains zero.

    Examples
    --------
    >>> axis_limits([])
    (0.0, 1.0)
    """
    columns = [
        column
        for row in rows
        for column in (row.estimate, row.lower, row.upper, row.processed, row.truth)
        if column is not None
    ]
    values = np.concatenate(columns) if columns else np.empty(0)
    values = values[np.isfinite(values)]
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    if high <= low:
        return 0.0, 1.0
    margin = 0.03 * (high - low)
    return low - margin, high + margin


def axis_ticks(limits: tuple[float, float], most: int = 6) -> list[float]:
    """Return at most `most` + 1 round frequencies inside the limits, zero among them.

    Examples
    --------
    >>> axis_ticks((-0.01, 0.52))
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """
    low, high = limits
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power * most >= high - low)
    return [round(i * step, 12) + 0.0 for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def tick_text(frequency: float) -> str:
    """Return a tick's label as a percentage without superfluous digits.

    Examples
    --------
    >>> tick_text(0.025), tick_text(-0.1)
    ('2.5%', '-10%')
    """
    return f"{100 * frequency:.10g}%"
