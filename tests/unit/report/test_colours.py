"""Colours of a scale: lightness and text that stays readable."""

from __future__ import annotations

import itertools

from deniable.report.colours import STOPS, shade, text_on


def lightness(colour: str) -> float:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return float(0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2)


def test_the_scale_falls_in_lightness_from_zero_to_epsilon_and_text_stays_readable() -> None:
    levels = [lightness(shade(part / 100)) for part in range(101)]
    assert all(after < before for before, after in itertools.pairwise(levels))
    assert (shade(-1), shade(2)) == (STOPS[0], STOPS[-1])
    for part in range(101):
        ink, paper = sorted((lightness(text_on(part / 100)), levels[part]))
        # 4.17 is the best contrast of black or white on the colour in the middle.
        assert (paper + 0.05) / (ink + 0.05) > 4.0, part
