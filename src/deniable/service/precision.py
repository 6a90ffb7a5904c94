"""Curve of precision against the number of reports, which a dashboard draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

WIDTH, HEIGHT = 320.0, 120.0
"""Size of the drawing, in pixels."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 8.0, 8.0, 18.0, 22.0
LETTER = 7.0
"""Width of a letter of the texts, which have 12 pixels; a little more than it usually is."""

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
    text_x, text_y : float
        Beginning of the text about the present number. The curve does not cross the text.
    """

    points: str
    x: float
    y: float
    now: str
    last: str
    text_x: float
    text_y: float


def precision_curve(points_now: float, n: int, planned: int, *, closed: bool = False) -> PrecisionCurve:
    """Return the curve of half-widths, which fall as one over the square root of the number of reports.

    Parameters
    ----------
    points_now : float
        Half-width with `n` reports, in percentage points.
    n, planned : int
        Number of reports now, and planned number.
    closed : bool
        True if the survey is closed, so that the number of reports stays.

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
    now = f"±{points_now:.2g} points {'at the end' if closed else 'now'}"
    # On the right of the point, the curve is below the point. If the text is too long for this place, it moves to the
    # left, and up by as much as the curve rises there.
    text_x = min(x + 9, WIDTH - _RIGHT - LETTER * len(now))
    reports = (text_x - _LEFT) / (WIDTH - _LEFT - _RIGHT) * most
    text_y = min(y - 9, place(max(reports, first))[1] - 6)
    return PrecisionCurve(
        " ".join(f"{left:.1f},{up:.1f}" for left, up in map(place, steps)),
        round(x, 1),
        round(y, 1),
        now,
        f"±{half_width(most):.2g} at {most:,} reports",
        round(text_x, 1),
        round(text_y, 1),
    )
