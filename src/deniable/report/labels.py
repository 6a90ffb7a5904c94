"""Labels from strangers, safe and short enough to show."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

_JOINERS = "\u200c\u200d"


def visible(label: str) -> str:
    r"""Return a label on one line, control characters and direction marks written as escapes.

    Categories come from files that strangers wrote: a terminal must not obey them.

    Examples
    --------
    >>> visible("yes\n\x1b[31mno")
    'yes\\n\\x1b[31mno'
    """
    return "".join(
        character if character.isprintable() or character in _JOINERS else ascii(character)[1:-1] for character in label
    )


def shorten(label: str, width: int) -> str:
    """Return a visible label in at most `width` terminal cells, with an ellipsis where it was cut.

    Examples
    --------
    >>> shorten("managerial, administrative", 12)
    'managerial,…'
    """
    label = visible(label)
    if cell_len(label) <= width:
        return label
    return set_cell_size(label, max(width - 1, 0)).rstrip() + "…"
