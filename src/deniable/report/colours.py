"""Colours of a heat map, one hue from white to dark that can be told apart without colour vision and in print."""

from __future__ import annotations

STOPS = ("#ffffff", "#d6e6f4", "#a3cbe6", "#5ba3d0", "#2171b5", "#08306b")
"""Colours that are equally spaced along the scale. Their lightness falls from first to last."""

MAX_NUMBERS = 15
"""Rows and columns up to which cells carry their numbers."""

INK, PAPER, OWN, LINE = "#1a1a1a", "#ffffff", "#c9c9c9", "#dcdcdc"
"""Text on light cells, text on dark cells, an attribute's own cell, and the lines between cells."""


def shade(fraction: float) -> str:
    """Return the colour of a fraction of the scale, in [0, 1]; beyond the ends, that of the end.

    Examples
    --------
    >>> shade(0.0), shade(0.1), shade(1.0)
    ('#ffffff', '#eaf2fa', '#08306b')
    """
    place = min(max(fraction, 0.0), 1.0) * (len(STOPS) - 1)
    index = min(int(place), len(STOPS) - 2)
    low, high = (_channels(stop) for stop in STOPS[index : index + 2])
    mixed = [round(a + (place - index) * (b - a)) for a, b in zip(low, high, strict=True)]
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def text_on(fraction: float) -> str:
    """Return the colour of text that is readable on `shade` of a fraction."""
    return PAPER if fraction > _DARK else INK


_DARK = 0.735  # black and white are equally readable here


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
