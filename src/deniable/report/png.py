"""Pages as pictures, laid out in inches: text has one size and nothing overlaps, however much there is to show.

matplotlib is imported when something is drawn: no other command waits for it.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from unicodedata import bidirectional

import numpy as np
from rich.cells import cell_len

from deniable.core.outputs import atomic_path
from deniable.report.colours import INK, LINE, MAX_NUMBERS, OWN, STOPS, text_on
from deniable.report.fonts import boxes_note, families_for, order_note, quiet
from deniable.report.page import (
    HeatMap,
    IntervalChart,
    MarkKind,
    Page,
    Section,
    Table,
    Text,
    axis_limits,
    axis_ticks,
    shorten,
    visible,
)
from deniable.report.text import table_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_ROWS = 40
"""Rows of one chart that a picture shows."""

MAX_HEIGHT = 24.0
"""Inches of one picture; what is longer is paged."""

# Okabe and Ito's palette; every mark is told apart by its shape as well.
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#5f5f5f"
_MARKS: dict[MarkKind, dict[str, Any]] = {
    "interval": {"color": BLUE, "linewidth": 1.6},
    "estimate": {"color": BLUE, "marker": "o", "markersize": 5.0},
    "truth": {"color": VERMILLION, "marker": "D", "markersize": 6.5, "markerfacecolor": "none", "markeredgewidth": 1.4},
    "tick": {"color": INK, "marker": "|", "markersize": 9.0, "markeredgewidth": 1.4},
    "track": {"color": "#e9e9e9"},
    "bar": {"color": STOPS[4]},
}

_Key: TypeAlias = tuple[tuple[MarkKind, str], ...]

# Inches.
_ROW, _AXIS, _MARGIN, _LINE, _HEADING, _GAP = 0.27, 0.45, 0.3, 0.17, 0.4, 0.12
_PANEL, _ONLY_PANEL, _LEAST_WIDTH = 4.0, 6.0, 7.2
# Characters for the longest label; characters of nine, of eight and of bold ten points, and fixed ones, per inch.
_LABELS, _NINE, _EIGHT, _BOLD, _FIXED = 28, 14.5, 16, 10.5, 12.5
_DPI = 150


def save_png(page: Page, path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write `draw_pages` as PNG files, each atomically: the first to `path`, the others beside it, numbered from 2 on.

    Returns
    -------
    tuple of Path
        The files.

    Raises
    ------
    OutputError
        If a file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from deniable.report.page import Section, Table
    >>> page = Page("Shares", (), (Section("One", (Table.of(["a"], [["1%"]]),)),))
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in save_png(page, Path(folder) / "shares.png")]
    ['shares.png']
    """
    from matplotlib import rc_context

    figures, (families, _) = draw_pages(page), families_for(_texts(page))
    first = Path(path)
    files = [first, *(first.with_stem(f"{first.stem}-{number}") for number in range(2, len(figures) + 1))]
    for figure, file in zip(figures, files, strict=True):
        with atomic_path(file, private=page.private) as temporary, quiet(), rc_context({"font.family": families}):
            figure.savefig(temporary, format="png", dpi=_DPI)
    return tuple(files)


def picture_note(page: Page) -> str:
    """Return what a reader of the page's picture must know about its letters; "" if nothing.

    Examples
    --------
    >>> picture_note(Page("Shares", (), ()))
    ''
    """
    notes = boxes_note(families_for(_texts(page))[1]), order_note(_texts(page))
    return "; ".join(filter(None, notes))


@dataclass
class _Sheet:
    """A figure of a known width that grows downwards: blocks are placed once its height is known."""

    width: float
    height: float = _MARGIN
    blocks: list[tuple[float, Callable[[Figure, float, float], None]]] = field(default_factory=list)

    def add(self, height: float, paint: Callable[[Figure, float, float], None]) -> None:
        """Add a block of so many inches; `paint` gets the figure, its height, and the block's upper edge."""
        self.blocks.append((self.height, paint))
        self.height += height

    def write(self, sentences: Sequence[str], per_inch: float, left: float = _MARGIN, **style: Any) -> None:
        """Add text in lines as wide as the sheet."""
        characters = int((self.width - left - _MARGIN) * per_inch)
        lines = [line for sentence in sentences for line in textwrap.wrap(visible(sentence), characters)]
        self.write_lines(lines, left, **style)

    def write_lines(self, lines: Sequence[str], left: float = _MARGIN, **style: Any) -> None:
        """Add lines of text."""
        style = {"size": 9, "color": GREY, "va": "top", "parse_math": False, **style}
        step = _LINE * style["size"] / 9

        def paint(figure: Figure, height: float, top: float) -> None:
            for number, line in enumerate(lines):
                figure.text(left / self.width, 1 - (top + step * number) / height, line, **style)

        self.add(step * len(lines), paint)

    def space(self, height: float) -> None:
        """Add nothing."""
        self.height += height

    def drawn(self) -> Figure:
        """Return the figure."""
        height = self.height + _MARGIN
        figure = _figure(self.width, height)
        for top, paint in self.blocks:
            paint(figure, height, top)
        return figure


def draw(page: Page) -> Figure:
    """Return a figure of the whole page, however tall.

    Examples
    --------
    >>> from deniable.report.page import Section
    >>> budgets = Table.of(["attribute", "epsilon"], [["bald", "male"], ["1.25", "0.5"]])
    >>> figure = draw(Page("Budgets", (), (Section("By attribute", (budgets,)),)))
    >>> [text.get_text().split() for text in figure.texts][:3]
    [['Budgets'], ['By', 'attribute'], ['attribute', 'epsilon']]
    """
    return _drawn([page], [_lines(page.sections)])[0]


def draw_pages(page: Page) -> list[Figure]:
    """Return figures of at most `MAX_HEIGHT` inches, but for a section that is taller alone; each has the page's head.

    Examples
    --------
    >>> from deniable.report.page import Section
    >>> numbers = Table.of(["category", "share"], [["a", "b"] * 40, ["1%", "2%"] * 40])
    >>> figures = draw_pages(Page("Shares", (), tuple(Section(name, (numbers,)) for name in "xyz")))
    >>> [figure.texts[0].get_text() for figure in figures]
    ['1 of 3: Shares', '2 of 3: Shares', '3 of 3: Shares']
    """
    lines = _lines(page.sections)
    bare = _sheet(page, []).height
    parts: list[list[tuple[Section, ...]]] = [[]]
    tall = bare
    for line in lines:
        height = _sheet(page, [line]).height - bare
        if parts[-1] and tall + height > MAX_HEIGHT:
            parts.append([])
            tall = bare
        parts[-1].append(line)
        tall += height
    if len(parts) == 1:
        return _drawn([page], parts)
    # First, because long titles are cut.
    titles = [f"{i} of {len(parts)}: {page.title}" for i in range(1, len(parts) + 1)]
    return _drawn([replace(page, title=title) for title in titles], parts)


def _drawn(pages: Sequence[Page], parts: Sequence[list[tuple[Section, ...]]]) -> list[Figure]:
    from matplotlib import rc_context

    families, _ = families_for(_texts(pages[0]))
    with rc_context({"font.family": families}):
        sheets = [_sheet(page, lines, picture_note(pages[0])) for page, lines in zip(pages, parts, strict=True)]
        return [sheet.drawn() for sheet in sheets]


def _texts(page: Page) -> Iterator[str]:
    """Yield everything on a picture that somebody wrote."""
    yield from (page.title, page.brief, *page.all_notes(MAX_ROWS))
    for card in page.cards:
        yield from (card.headline, *card.lines)
    for section in page.sections:
        yield section.heading
        for part in section.parts:
            match part:
                case Text():
                    yield from part.lines
                case Table():
                    yield from (*part.header, *(cell for i in range(part.rows) for cell in part.cells(i)))
                case IntervalChart():
                    yield part.caption
                    yield from (*part.table.header, *(name for _, name in part.key))
                    yield from (cell for i in part.shown(MAX_ROWS) for cell in part.table.cells(i))
                case HeatMap():
                    yield from (*part.rows, *part.columns, part.row_name, part.column_name)


def _sheet(page: Page, lines: Sequence[tuple[Section, ...]], letters: str = "") -> _Sheet:
    """Return the sheet of these lines of sections below the page's head, with a last word about letters."""
    parts = [part for line in lines for section in line for part in section.parts]
    columns = [
        [section for line in lines for section in line[i : i + 1]] for i in range(max(map(len, lines), default=0))
    ]
    labels = [_label_width([chart for section in column for chart in section.charts]) for column in columns]
    least = _PANEL if len(columns) > 1 else _ONLY_PANEL
    maps = [_map_width(part) for part in parts if isinstance(part, HeatMap)]
    sheet = _Sheet(max([_LEAST_WIDTH, _MARGIN + sum(label + least + _MARGIN for label in labels), *maps]))
    panel = least if len(columns) > 1 else sheet.width - 2 * _MARGIN - sum(labels)
    # As elsewhere, before a title in which a stranger may have put another promise.
    sheet.write([card.headline for card in page.cards if card.promise], _FIXED, weight="bold", color=INK)
    sheet.write_lines([shorten(page.title, int(7.2 * sheet.width))], size=14, weight="bold", color=INK)
    sheet.space(0.06)
    sheet.write([page.brief], _NINE)
    shown: _Key = ()
    for line in lines:
        key = tuple(dict.fromkeys(entry for section in line for chart in section.charts for entry in chart.key))
        wanted = key if key != shown else ()
        shown = key or shown
        if wanted and len(line) > 1:
            sheet.space(_GAP)
            _key(sheet, wanted)
            wanted = ()
        top, left, bottoms = sheet.height, _MARGIN, []
        for section, label in zip(line, labels, strict=False):
            sheet.height = top
            _section(sheet, section, left, left + label, panel, wanted)
            bottoms.append(sheet.height)
            left += label + panel + _MARGIN
        sheet.height = max(bottoms)
    sheet.space(_GAP)
    last_words = [letters] if letters else []
    for sentences in (page.all_notes(MAX_ROWS), last_words, *([card.headline, *card.lines] for card in page.cards)):
        sheet.write(sentences, _EIGHT, size=8)
        sheet.space(_LINE / 2 if sentences else 0)
    return sheet


def _lines(sections: Sequence[Section]) -> list[tuple[Section, ...]]:
    """Return the sections by lines: two beside each other if each is one chart, or a word that there is none."""
    single = all(len(one.parts) == 1 and isinstance(one.parts[0], IntervalChart | Text) for one in sections)
    step = 2 if single and len(sections) > 1 else 1
    return [tuple(sections[start : start + step]) for start in range(0, len(sections), step)]


def _section(sheet: _Sheet, section: Section, left: float, start: float, panel: float, key: _Key) -> None:
    """Add a heading at `left`, a key and everything below it; charts are `panel` inches wide from `start`."""
    first = section.parts[0]
    caption = _caption(first) if isinstance(first, IntervalChart) else []
    sheet.space(0.14)
    lines = _heading(section.heading, caption, int((start - left + panel) * _BOLD))
    sheet.write_lines(lines, left, size=10.5, weight="bold", color=INK)
    sheet.space(0.06)
    if key:
        _key(sheet, key)
        sheet.space(0.06)
    for part in section.parts:
        match part:
            case Text():
                sheet.write(part.lines, _NINE, left)
                sheet.space(_GAP)
            case Table():
                lines = table_lines(part, int((sheet.width - 2 * _MARGIN) * _FIXED))
                sheet.write_lines(lines, left, family=["DejaVu Sans Mono", *_families()], color=INK, size=8.5)
                sheet.space(_GAP)
            case IntervalChart():
                _panel(sheet, part, start, panel)
            case HeatMap():
                _heat_map(sheet, part)


def _heading(heading: str, caption: Sequence[str], most: int) -> list[str]:
    """Return the lines of a heading, at most so many terminal cells each, with its caption behind the last or below."""
    lines = textwrap.wrap(visible(heading), most) if cell_len(visible(heading)) > most else [visible(heading)]
    fits = cell_len("  ".join([lines[-1], *caption])) <= most
    lines = [_isolated(shorten(line, most)) for line in lines]
    return [*lines[:-1], "  ".join([lines[-1], *caption])] if fits else [*lines, "  ".join(caption)]


def _caption(chart: IntervalChart) -> list[str]:
    shown, total = min(chart.table.rows, MAX_ROWS), chart.table.rows + chart.hidden
    largest = [f"largest {shown} of {total:,}"] if shown < total else []
    return [f"({chart.caption})"] * bool(chart.caption) + largest


def _map_width(chart: HeatMap) -> float:
    """Inches that a heat map needs with its labels and its scale."""
    cell, size = _cell(chart)
    labels = [shorten(name, _LABELS) for name in chart.rows]
    return _text_width(labels, size) + cell * len(chart.columns) + 1.3 + 2 * _MARGIN + _GAP


# ---------------------------------------------------------------- interval charts


def _panel(sheet: _Sheet, chart: IntervalChart, left: float, room: float) -> None:
    shown = chart.shown(MAX_ROWS)
    own = _ROW * max(len(shown), 1)
    limits = axis_limits([chart])
    rows = [chart.table.cells(i) for i in shown]
    labels = [
        shorten(row[0], _LABELS) + " *" * (chart.flags is not None and bool(chart.flags[i]))
        for i, row in zip(shown, rows, strict=True)
    ]
    # Bars are read as numbers, beside them.
    numbers = list(zip(*rows, strict=True))[1:] if any(mark.kind == "bar" for mark in chart.marks) else []
    headers = [textwrap.fill(name, 15) for name in chart.table.header[1 : len(numbers) + 1]]
    widths = [_text_width([name, *cells], 8.5) + 0.25 for name, cells in zip(headers, numbers, strict=True)]
    width = room - sum(widths)
    over = _LINE * max((name.count("\n") + 1 for name in headers), default=0)

    def paint(figure: Figure, height: float, top: float) -> None:
        axes = figure.add_axes((left / sheet.width, 1 - (top + over + own) / height, width / sheet.width, own / height))
        _bare(axes, 9)
        y = np.arange(len(shown))
        axes.axvline(0.0, color="#8a8a8a", linewidth=1.0, zorder=1)
        axes.grid(axis="x", color="#e3e3e3", linewidth=0.8)
        axes.set_axisbelow(True)
        for order, mark in enumerate(chart.marks, start=2):
            values = np.clip(mark.values[shown], *limits)
            if mark.kind == "interval":
                axes.hlines(y, values[:, 0], values[:, 1], zorder=order, **_MARKS[mark.kind])
            elif mark.kind in ("track", "bar"):
                axes.barh(y, values, height=0.62, zorder=order, **_MARKS[mark.kind])
            else:
                axes.plot(values, y, linestyle="none", zorder=order, **_MARKS[mark.kind])
        right = left + width
        for header, cells, column in zip(headers, numbers, widths, strict=True):
            right += column
            style: dict[str, Any] = {"size": 8.5, "color": INK, "ha": "right"}
            figure.text(
                right / sheet.width, 1 - (top + over - 0.04) / height, header, va="bottom", weight="bold", **style
            )
            for place, cell in enumerate(cells):
                at = 1 - (top + over + _ROW * (place + 0.5)) / height
                figure.text(right / sheet.width, at, cell, va="center", **style)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_yticks(y, labels)
        for label in axes.get_yticklabels():
            label.set_parse_math(False)
        ticks = axis_ticks(limits)
        axes.set_xticks(ticks, [chart.axis(tick) for tick in ticks])
        axes.set_xlim(*limits)

    sheet.add(over + own + _AXIS, paint)


def _key(sheet: _Sheet, key: _Key) -> None:
    def paint(figure: Figure, height: float, top: float) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        handles = [
            Patch(label=name, **_MARKS[kind])
            if kind in ("track", "bar")
            else Line2D([], [], label=name, **{"linestyle": "none" if kind != "interval" else "-", **_MARKS[kind]})
            for kind, name in key
        ]
        figure.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(_MARGIN / sheet.width, 1 - top / height),
            ncols=len(handles),
            frameon=False,
            fontsize=9,
            borderpad=0,
            borderaxespad=0,
            handletextpad=0.5,
            columnspacing=1.8,
        )

    sheet.add(_LINE + 0.03, paint)


def _label_width(charts: Sequence[IntervalChart]) -> float:
    """Inches that the longest row label takes at 9 points, with its asterisk."""
    labels = [f"{shorten(chart.table.cells(i)[0], _LABELS)} *" for chart in charts for i in chart.shown(MAX_ROWS)]
    return max(0.6, _text_width(labels, 9)) + _GAP


# ---------------------------------------------------------------- heat maps


def _cell(chart: HeatMap) -> tuple[float, float]:
    """Return the size of a cell in inches and of labels in points."""
    count = max(chart.values.shape)
    if count <= 8:
        return 0.52, 9.5
    return (0.4, 8.5) if count <= MAX_NUMBERS else (max(0.16, min(0.3, 8.0 / count)), 7.5)


def _heat_map(sheet: _Sheet, chart: HeatMap) -> None:
    sheet.write([f"0: nothing. {chart.number(chart.scale)}: {chart.top}. Grey: {chart.nothing}."], _NINE)
    cell, size = _cell(chart)
    rows, columns = ([shorten(name, _LABELS) for name in names] for names in (chart.rows, chart.columns))
    left = _MARGIN + 0.25 + _text_width(rows, size) + _GAP
    over = _text_width(columns, size) + 0.45
    width, tall = cell * len(columns), cell * len(rows)

    def paint(figure: Figure, height: float, top: float) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        axes = figure.add_axes(
            (left / sheet.width, 1 - (top + over + tall) / height, width / sheet.width, tall / height)
        )
        colours = LinearSegmentedColormap.from_list("leakage", STOPS).with_extremes(bad=OWN)
        values = np.ma.masked_invalid(chart.values)
        mesh = axes.pcolormesh(values, cmap=colours, vmin=0, vmax=chart.scale, edgecolors=LINE, linewidth=0.5)
        axes.set_xlim(0, len(columns))
        axes.set_ylim(len(rows), 0)
        axes.tick_params(axis="both", length=0, labelsize=size, labelcolor=INK, pad=3)
        axes.xaxis.set_ticks_position("top")
        axes.xaxis.set_label_position("top")
        axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=90)
        axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
        for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
            label.set_parse_math(False)
        axes.set_xlabel(chart.column_name, size=size + 1, color=GREY)
        axes.set_ylabel(chart.row_name, size=size + 1, color=GREY)
        for spine in axes.spines.values():
            spine.set_color("#8a8a8a")
        if max(chart.values.shape) <= MAX_NUMBERS:
            for (y, x), value in np.ndenumerate(chart.values):
                if np.isfinite(value):
                    style: dict[str, Any] = {
                        "size": 8,
                        "color": text_on(value / chart.scale),
                        "ha": "center",
                        "va": "center",
                    }
                    number = chart.number(float(value))
                    axes.text(x + 0.5, y + 0.5, number if "%" in number else number.removeprefix("0"), **style)
        scale = min(tall, 2.6)
        box = (
            (left + width + 0.25) / sheet.width,
            1 - (top + over + scale) / height,
            0.16 / sheet.width,
            scale / height,
        )
        bar = figure.colorbar(mesh, cax=figure.add_axes(box))
        ticks = np.linspace(0, chart.scale, 5)
        bar.set_ticks(ticks.tolist(), labels=[chart.number(float(tick)) for tick in ticks])
        bar.ax.tick_params(length=0, labelsize=8, labelcolor=INK)
        bar.outline.set_visible(False)

    sheet.add(over + tall + _GAP, paint)


# ---------------------------------------------------------------- parts


def _isolated(label: str) -> str:
    """Return a label that keeps its direction to itself, so that a number beside it stays on its side."""
    right_to_left = any(bidirectional(character) in ("R", "AL") for character in label)
    return f"\u200e\u2068{label}\u2069" if right_to_left else label


def _families() -> list[str]:
    """Return the fonts that `_drawn` has set."""
    from matplotlib import rcParams

    return list(rcParams["font.family"])


def _bare(axes: Axes, size: float) -> None:
    """Leave only the lower edge."""
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#b0b0b0")
    axes.tick_params(axis="both", length=0, labelsize=size, labelcolor=INK)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def _text_width(labels: Sequence[str], size: float) -> float:
    """Inches that the longest label takes, measured."""
    return max((_inches(label, size, tuple(_families())) for label in labels), default=0.0)


@lru_cache(maxsize=1 << 12)
def _inches(label: str, size: float, families: tuple[str, ...]) -> float:
    figure = _figure(1, 1)
    with quiet():
        text = figure.text(0, 0, label, size=size, family=list(families), parse_math=False)
        return float(text.get_window_extent().width / figure.dpi)
