"""Pages as self-contained HTML with embedded SVG and escaped labels, without scripts or network, also for phones."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from deniable.core.outputs import write_text
from deniable.report.colours import OWN, STOPS
from deniable.report.page import Axis, Limits, Page, Section, axis_limits, axis_ticks, visible

if TYPE_CHECKING:
    import jinja2

MAX_ROWS = 200
"""Rows of one chart that a page lists."""


def render_html(page: Page) -> str:
    """Return the page as HTML.

    Examples
    --------
    >>> from deniable.report.page import Section
    >>> from deniable.report.parts.table import Table
    >>> budgets = Table.of(["attribute", "epsilon"], [["<b>bald", "male"], ["1.25", "0.5"]])
    >>> html = render_html(Page("Budgets", (), (Section("By attribute", (budgets,)),)))
    >>> "&lt;b&gt;bald" in html, "<b>bald" in html, "<script" in html, "http://" in html
    (True, False, False, False)
    """
    return _environment().get_template("page.html").render(**_shown(page))


def render_fragment(page: Page) -> str:
    """Return the content of a page as HTML, to place on another page that has a heading and the style sheet (`sheet`).

    It has no scripts, and style attributes only in heat maps, so the strictest content policy allows it.

    Examples
    --------
    >>> from deniable.report.page import Section
    >>> from deniable.report.parts.table import Table
    >>> html = render_fragment(Page("Shares", (), (Section("One", (Table.of(["a"], [["1%"]]),)),)))
    >>> "<table" in html, "<html" in html, "<style" in html
    (True, False, False)
    """
    return _environment().get_template("fragment.html").render(**_shown(page))


def sheet() -> str:
    """Return the style sheet that every page contains.

    Examples
    --------
    >>> "prefers-color-scheme: dark" in sheet()
    True
    """
    return _environment().get_template("page.css").render()


def _shown(page: Page) -> dict[str, Any]:
    """Return what templates read: the page, its notes, and its sections with their axes and new keys."""
    keys = [tuple(dict.fromkeys(entry for part in section.parts for entry in part.key)) for section in page.sections]
    sections = [
        (section, _axis(section), () if i and keys[i] == keys[i - 1] else keys[i])
        for i, section in enumerate(page.sections)
    ]
    return {"page": page, "notes": page.all_notes(MAX_ROWS), "sections": sections}


def save_html(page: Page, path: str | os.PathLike[str]) -> None:
    """Write the result of `render_html` to a file atomically.

    Raises
    ------
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save_html(Page("Shares", (), ()), f"{folder}/page.html")
    ...     "Shares" in Path(folder, "page.html").read_text()
    True
    """
    write_text(path, render_html(page), private=page.private)


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deniable.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Templates add markup themselves, which is of a subclass of str and stays as it is.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.globals |= {"stops": STOPS, "own": OWN}
    return environment


def filled(name: str, **values: object) -> str:
    """Return what a template of `parts` writes: markup, which is not escaped again."""
    return _environment().get_template(f"parts/{name}.html").make_module(values).__html__()


def position(value: float, limits: Limits) -> str:
    """Return where a value lies on the axis; what is beyond its ends, at the end."""
    low, high = limits
    return f"{100 * (min(max(value, low), high) - low) / (high - low):.2f}%"


def column_widths(columns: Sequence[Sequence[str]]) -> list[float]:
    """Return the widths of columns of numbers, each with its header first, in units of the font's height."""
    return [1 + max(0.55 * max(map(cell_len, cells)), min(0.6 * len(name), 8)) for name, *cells in columns]


def _axis(section: Section) -> Axis:
    """Return the common axis of a section's charts."""
    scales = [scale for part in section.parts if (scale := part.on_axis(MAX_ROWS)) is not None]
    limits = axis_limits([mark for scale in scales for mark in scale.marks])
    ticks = tuple((position(tick, limits), scales[0].tick(tick)) for tick in axis_ticks(limits)) if scales else ()
    widths = [column_widths(scale.columns) for scale in scales]
    alike = len(set(map(len, widths))) == 1
    columns = tuple(max(column) for column in zip(*widths, strict=True)) if alike else ()
    return Axis(limits, ticks, position(0.0, limits), columns)
