"""Write tables between the markers of a page, from measured results."""

from __future__ import annotations

from collections.abc import Mapping


def with_tables(text: str, tables: Mapping[str, str]) -> str:
    """Return the page with each table between its markers.

    Parameters
    ----------
    text : str
        The page, with ``<!-- name: begin -->`` and ``<!-- name: end -->`` for every name.
    tables : mapping of str to str
        Name -> text to put between the markers.

    Raises
    ------
    ValueError
        If the page lacks the markers of a table.

    Examples
    --------
    >>> with_tables("a <!-- costs: begin -->old<!-- costs: end --> z", {"costs": "new"})
    'a <!-- costs: begin -->\\nnew\\n<!-- costs: end --> z'
    """
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not (found and ended):
            raise ValueError(f"the page must have a place for {name!r}: {begin} and {end}")
        text = f"{before}{begin}\n{table}\n{end}{after}"
    return text
