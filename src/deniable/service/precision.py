"""Curve of precision against the number of reports, which a dashboard draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

WIDTH, HEIGHT = 320.0, 120.0
"""Size of the drawing, in pixels."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 8.0, 8.0, 18.0, 22.0
_STEPS = 40
_FEWEST = 0.04
"""Share of the last number of reports at which the curve begins. At 0 the curve has no value."""


@final
@dataclass(frozen=True)
class PrecisionCurve:
    """Curve from few reports to all that are planned, and the present point of the survey on it.

    Parameters
    ----------
    points : str
        Curve, as SVG writes the points of a line.
    x, y : float
        Position of the survey's present point.
    now, last : str
        Texts at the two ends of the axis: reports now, and planned reports.
    before : bool
        True if the text about the present number fits only on the left of its point.
    """

    points: str
    x: float
    y: float
    now: str
    last: str
    before: bool


def precision_curve(points_now: float, n: int, planned: int) -> PrecisionCurve:
    """Return the curve of half-widths, which fall as one over the square root of the number of reports.

    Parameters
    ----------
    points_now : float
        Half-width with `n` reports, in percentage points.
    n, planned : int
        Number of reports now, and planned number.

    Examples
    --------
    >>> curve = precision_curve(8.0, 250, 1000)
    >>> curve.now, curve.last, round(curve.x)
    ('±8 points now', '±4 at 1,000 reports', 84)
    """
    most = max(n, planned)
    first = min(_FEWEST * most, n)

    def half_width(reports: float) -> float:
        return points_now * math.sqrt(n / reports)

    top = half_width(first)

    def place(reports: float) -> tuple[float, float]:
        x = _LEFT + (WIDTH - _LEFT - _RIGHT) * reports / most
        return x, HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * half_width(reports) / top

    steps = [first + (most - first) * i / _STEPS for i in range(_STEPS + 1)]
    x, y = place(n)
    return PrecisionCurve(
        " ".join(f"{left:.1f},{up:.1f}" for left, up in map(place, steps)),
        round(x, 1),
        round(y, 1),
        f"±{points_now:.2g} points now",
        f"±{half_width(most):.2g} at {most:,} reports",
        x > 0.55 * WIDTH,
    )
