"""Fonts of pictures: which installed ones have the characters of a page that the first font lacks.

matplotlib takes each character from the first font of a list that has it, and from 3.11 on lays out scripts that run
from right to left and letters that join. Its own font has Latin, Greek, Cyrillic, Arabic and Hebrew letters; the others
must be installed, and where none is, a picture shows boxes and says so.
"""

from __future__ import annotations

import contextlib
import logging
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from functools import cache

FIRST = "DejaVu Sans"
"""The font that comes with matplotlib."""

_LAYS_OUT = (3, 11)
"""The first matplotlib that does."""

_BOXES = "Last Resort"
_CJK = ("CJK", "HANGUL", "HIRAGANA", "KATAKANA", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH")


def families_for(texts: Iterable[str]) -> tuple[list[str], str]:
    """Return the fonts to take characters from, the first that has it, and the characters that none has.

    Parameters
    ----------
    texts : iterable of str
        Everything that is drawn.

    Examples
    --------
    >>> families_for(["yes", "no"])
    (['DejaVu Sans'], '')
    """
    missing = {ord(one) for text in texts for one in text if one.isprintable() and not one.isspace()} - _characters(
        FIRST
    )
    found = [FIRST]
    for name in _installed() if missing else ():
        new = missing & _characters(name)
        if new:
            found.append(name)
            missing -= new
        if not missing:
            break
    return found, "".join(map(chr, sorted(missing)))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let matplotlib take a font's nearest weight, or draw a box, without words of its own."""
    log = logging.getLogger("matplotlib.font_manager")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            yield
    finally:
        log.setLevel(level)


def boxes_note(missing: str) -> str:
    """Return a sentence about characters that no installed font has, with what to install; "" if there are none.

    Examples
    --------
    >>> boxes_note("漢字")
    'no installed font has 2 of the characters: the picture shows boxes; install Noto Sans CJK, or read the HTML page'
    """
    if not missing:
        return ""
    fonts = " and ".join(dict.fromkeys(_font_for(one) for one in missing))
    return (
        f"no installed font has {len(missing)} of the characters: the picture shows boxes; install {fonts}, or read "
        "the HTML page"
    )


def order_note(texts: Iterable[str]) -> str:
    """Return a sentence where scripts run from right to left and matplotlib cannot lay them out; "" where it can."""
    import matplotlib

    if matplotlib.__version_info__[:2] >= _LAYS_OUT:
        return ""
    if all(unicodedata.bidirectional(one) not in ("R", "AL") for text in texts for one in text):
        return ""
    return (
        f"matplotlib {matplotlib.__version__} draws letters that run from right to left in the wrong order: take "
        "3.11 or later, or read the HTML page"
    )


def _font_for(character: str) -> str:
    script = unicodedata.name(character, "").partition(" ")[0]
    if script.startswith(_CJK):
        return "Noto Sans CJK"
    return (
        f"Noto Sans {script.title()}" if unicodedata.category(character)[0] in "LM" and script else "a font with them"
    )


@cache
def _installed() -> tuple[str, ...]:
    """Return the other fonts' names, those without serifs first."""
    from matplotlib import font_manager

    names = {name for name in font_manager.get_font_names() if name != FIRST and not name.startswith(_BOXES)}
    return tuple(sorted(names, key=lambda name: ("Sans" not in name, name)))


@cache
def _characters(name: str) -> frozenset[int]:
    from matplotlib import font_manager

    with quiet():
        path = font_manager.findfont(font_manager.FontProperties(family=[name]))
    return frozenset(font_manager.get_font(path).get_charmap())
