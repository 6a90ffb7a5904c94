"""The curve of a dashboard: it falls like a square root, and the survey is on it."""

from __future__ import annotations

import itertools
import math

import pytest

from deniable.service.precision import HEIGHT, LETTER, WIDTH, precision_curve


@pytest.mark.parametrize(("n", "planned"), [(30, 1000), (500, 1000), (1000, 1000), (1500, 1000), (1, 20)])
def test_the_survey_stands_on_the_curve(n: int, planned: int) -> None:
    curve = precision_curve(9.0, n, planned)
    places = [tuple(map(float, point.split(","))) for point in curve.points.split()]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    assert all(a < b for (a, _), (b, _) in itertools.pairwise(places))
    heights = [98 - y for _, y in places]  # heights are above the axis, which is 22 pixels from the lower edge
    assert all(a >= b for a, b in itertools.pairwise(heights))
    # A quarter of the reports has twice the half-width.
    most = max(n, planned)
    first, last = ((x - 8) / (WIDTH - 16) * most for x, _ in (places[0], places[-1]))
    assert heights[0] / heights[-1] == pytest.approx(math.sqrt(last / first), rel=0.02)
    near = min(places, key=lambda place: abs(place[0] - curve.x))
    assert abs(near[0] - curve.x) <= (WIDTH - 16) / 80 + 0.1
    assert curve.last == f"±{9 * math.sqrt(n / most):.2g} at {most:,} reports"


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("n", [1, 20, 40, 120, 300, 500, 550, 600, 650, 800, 1000, 1500])
def test_the_curve_does_not_cross_its_text(n: int, closed: bool) -> None:
    curve = precision_curve(19.0, n, 1000, closed=closed)
    assert curve.now == ("±19 points at the end" if closed else "±19 points now")
    left, right = curve.text_x, curve.text_x + LETTER * len(curve.now)
    assert left >= 0
    assert right <= WIDTH
    # The letters of 12 pixels are above their line, without the lower part of a "p", which has 3 pixels.
    assert curve.text_y >= 9
    for x, y in (tuple(map(float, point.split(","))) for point in curve.points.split()):
        if left <= x <= right:
            assert y >= curve.text_y + 4
    assert curve.text_y <= curve.y - 9
