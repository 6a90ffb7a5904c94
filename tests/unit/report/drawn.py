"""Content of a page and its picture: its charts, and all texts in it."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from rich.console import Console

from deniable.report import print_page, render_html
from deniable.report.page import Page, Part, Section
from deniable.report.parts.interval_chart import IntervalChart


def page_of(part: Part) -> Page:
    """Return a page with one part only."""
    return Page("page", (), (Section("section", (part,)),))


def html_of(part: Part) -> str:
    """The page of a part as HTML."""
    return render_html(page_of(part))


def printed(part: Part, width: int = 80) -> str:
    """The page of a part on a terminal."""
    text = io.StringIO()
    print_page(Console(file=text, width=width, highlight=False), page_of(part))
    return text.getvalue()


def charts(section: Section) -> list[IntervalChart]:
    """The interval charts of a section."""
    return [part for part in section.parts if isinstance(part, IntervalChart)]


def panels(figure: Figure) -> list[Axes]:
    """The axes of charts, from above; the others hold words."""
    return [axes for axes in figure.axes if axes.axison]


def written(figure: Figure) -> list[Text]:
    """Return all visible texts of a picture: words from above, then keys, then numbers, ticks and labels of charts."""
    found = [text for axes in figure.axes if not axes.axison for text in axes.texts]
    found += [text for part in figure.findobj(lambda one: hasattr(one, "legends")) for text in _key(part)]
    for axes in [each for panel in panels(figure) for each in (panel, *panel.child_axes)]:
        found += [*axes.texts, axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]  # type: ignore[attr-defined]
        found += [*axes.get_xticklabels(), *axes.get_yticklabels()]
    return [text for text in found if text.get_text() and text.get_visible()]


def _key(part: object) -> list[Text]:
    return [text for legend in getattr(part, "legends", ()) for text in legend.get_texts()]


def texts(figure: Figure) -> list[str]:
    """Return all texts in a picture."""
    return [text.get_text() for text in written(figure)]


def assert_nothing_overlaps(figure: Figure, least: int) -> None:
    """Assert that there are more than this many texts, all inside the picture and without overlap."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in written(figure)]
    assert len(boxes) > least
    for i, (name, one) in enumerate(boxes):
        assert one.x0 >= 0, name
        assert one.x1 <= figure.bbox.width, name
        assert one.y0 >= 0, name
        assert one.y1 <= figure.bbox.height, name
        for other_name, other in boxes[:i]:
            assert not one.overlaps(other), (name, other_name)
