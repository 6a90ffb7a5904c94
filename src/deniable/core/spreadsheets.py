"""CSV for spreadsheets: no cell is a formula, whatever a stranger wrote into a label.

A spreadsheet runs a cell that begins with =, +, - or @, and one that begins so after a tab or a line end. Such a text
gets an apostrophe in front, which spreadsheets take as "this is text". Numbers stay numbers, those with a sign as well.

Every CSV that is made to be looked at is written here. Files of answers are not: they are read again, by this program,
and an apostrophe would make another answer of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)

_STARTS = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
"""Characters that a formula begins with, wide forms included."""

_BREAKS, _QUOTED = frozenset("\t\r\n"), frozenset(',"\r\n')


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    r"""Return rows as CSV, every text in a form that a spreadsheet shows and does not run.

    Examples
    --------
    >>> csv_text([("=1+1", "-0.5", -0.5), ("@A1", "- none", "a=b")])
    "'=1+1,-0.5,-0.5\n'@A1,'- none,a=b\n"
    """
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(value: object) -> str:
    text = str(value)
    if text and (text[0] in _BREAKS or text.lstrip()[:1] in _STARTS) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    # Python's writer leaves a carriage return without quotes, and what follows it would be the first cell of a line.
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED & set(text) else text
