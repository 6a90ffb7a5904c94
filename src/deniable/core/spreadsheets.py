"""CSV for spreadsheets. No cell is a formula, whatever text a label contains.

A spreadsheet runs a cell that begins with =, +, - or @, also after a tab or a line end. Such a text gets an apostrophe
in front, which tells spreadsheets that the cell is text. Numbers stay numbers, also numbers with a sign.

This module writes every CSV that is made for people to look at. It does not write files of answers. This program reads
those files again, and an apostrophe would change the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)

_STARTS = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
"""Characters with which a formula begins, including wide forms."""

_BREAKS, _QUOTED = frozenset("\t\r\n"), frozenset(',"\r\n')


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    r"""Return rows as CSV, with every text in a form that a spreadsheet shows and does not run.

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
    # Python's writer does not quote a carriage return. The text after it would become the first cell of a line.
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED & set(text) else text
