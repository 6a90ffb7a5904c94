"""Fonts of pictures, in which matplotlib looks for letters that its own font does not have.

matplotlib takes each letter from the first font of a list that has it, and lays out scripts that run from right to
left. It does not search for fonts that have a letter, so the list is made here. Its own font has Latin, Greek,
Cyrillic, Arabic and Hebrew letters. Fonts for other letters must be installed. If there is none, a picture shows boxes
and says so.
"""

from __future__ import annotations

import contextlib
import logging
import unicodedata
import warnings
from collections.abc import Iterator

FIRST = "DejaVu Sans"
"""The font that comes with matplotlib."""

_WIDE = (
    *("Arial Unicode", "Hiragino Sans", "Malgun Gothic", "Microsoft YaHei", "Nirmala UI", "Noto Sans Symbols"),
    *("PingFang", "Segoe UI Symbol", "Source Han Sans", "Unifont", "WenQuanYi"),
)
_CJK = ("CJK", "HANGUL", "HIRAGANA", "KATAKANA", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH")


def families_for(text: str) -> tuple[list[str], str]:
    """Return the fonts that matplotlib takes letters from, and the letters that none of them has.

    Examples
    --------
    >>> families_for("yes, no")
    (['DejaVu Sans'], '')
    """
    from matplotlib import font_manager

    missing = {one for one in text if one.isprintable() and not one.isspace()} - _letters(FIRST)
    wanted = (*_WIDE, *map(_font_for, missing))
    found = [name for name in font_manager.get_font_names() if name.startswith(wanted)] if missing else []
    return [FIRST, *sorted(found)], "".join(sorted(missing.difference(*map(_letters, found))))


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
    """Return a sentence about letters that no installed font has, with what to install; "" if there are none.

    Examples
    --------
    >>> boxes_note("漢字")
    'no installed font has 2 of the characters: the picture shows boxes; install Noto Sans CJK, or read the HTML page'
    """
    if not missing:
        return ""
    fonts = " and ".join(dict.fromkeys(map(_font_for, missing)))
    return (
        f"no installed font has {len(missing)} of the characters: the picture shows boxes; install {fonts}, or read "
        "the HTML page"
    )


def _font_for(letter: str) -> str:
    script = unicodedata.name(letter, "").partition(" ")[0]
    if script.startswith(_CJK):
        return "Noto Sans CJK"
    return f"Noto Sans {script.title()}" if unicodedata.category(letter)[0] in "LM" and script else "a font with them"


def _letters(family: str) -> set[str]:
    from matplotlib import font_manager

    path = font_manager.findfont(font_manager.FontProperties(family=[family]))
    return set(map(chr, font_manager.get_font(path).get_charmap()))
