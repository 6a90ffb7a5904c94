"""Pages as pictures, by matplotlib and its constrained layout.

A picture is a column of bands, each as high as what it holds. matplotlib is an extra, and imported when something is
drawn: no other command waits for it.
"""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as Styled

from deniable.core.outputs import atomic_path
from deniable.errors import MissingExtraError
from deniable.report.colours import INK, LINE, MAX_NUMBERS, OWN, STOPS, text_on
from deniable.report.fonts import boxes_note, families_for, quiet
from deniable.report.maps import map_layout
from deniable.report.page import (
    CoefficientChart,
    Floats,
    HeatMap,
    IntervalChart,
    MarkKind,
    Page,
    Part,
    Section,
    Table,
    Text,
    axis_limits,
    axis_ticks,
    balanced_label,
    visible,
    wrap_label,
)
from deniable.report.text import print_page, table_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MAX_ROWS = 40
"""Rows of one chart that a picture shows."""

MAX_HEIGHT = 24.0
"""Inches of one picture; what is longer is paged."""

# Okabe and Ito's palette; every mark is told apart by its shape as well.
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#5f5f5f"

# Inches: pictures of one column and of two, space at their edges, a row of a chart, its axis, a key, and the height of
# nine points; characters of one point in an inch.
_ONE, _TWO, _PAD, _ROW, _AXIS, _KEY, _LINE, _CHARACTERS = 8.0, 11.0, 0.2, 0.27, 0.24, 0.3, 0.175, 125.0
_GAP = 0.07
_BAR = 0.9  # inches of the scale beside a map
_LABELS, _LABEL_LINE = 5.0, 0.15  # characters of a label in an inch of the column, and inches of one of its lines
_EM = 0.6  # width of a letter in units of its height, on the safe side
_DPI = 150
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#b0b0b0",
    "axes.labelcolor": GREY,
    "axes.titlelocation": "left",
    "font.size": 9,
    "grid.color": "#e3e3e3",
    "legend.frameon": False,
    "text.color": INK,
    "text.parse_math": False,
    **{f"axes.spines.{side}": False for side in ("top", "right", "left")},
    **{f"{axis}tick.{key}": value for axis in "xy" for key, value in (("major.size", 0), ("labelcolor", INK))},
}


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
    MissingExtraError
        If matplotlib is not installed.

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
    with _drawing(page):
        figures, first = draw_pages(page), Path(path)
        files = [first, *(first.with_stem(f"{first.stem}-{number}") for number in range(2, len(figures) + 1))]
        for figure, file in zip(figures, files, strict=True):
            with atomic_path(file, private=page.private) as temporary:
                figure.savefig(temporary, format="png", dpi=_DPI)
    return tuple(files)


def picture_note(page: Page) -> str:
    """Return what a reader of the page's picture must know about its letters; "" if nothing.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> picture_note(Page("Shares", (), ()))
    ''
    """
    with _drawing(page) as note:
        return note


def draw(page: Page) -> Figure:
    """Return a figure of the whole page, however tall.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from deniable.report.page import Section
    >>> budgets = Table.of(["attribute", "epsilon"], [["bald", "male"], ["1.25", "0.5"]])
    >>> figure = draw(Page("Budgets", (), (Section("By attribute", (budgets,)),)))
    >>> [text.get_text().split() for axes in figure.axes for text in axes.texts][:3]
    [['Budgets'], ['By', 'attribute'], ['attribute', 'epsilon', '──────────────────', 'bald', '1.25', 'male', '0.5']]
    """
    with _drawing(page) as note:
        return _figure(page, page.sections, note)


def draw_pages(page: Page) -> list[Figure]:
    """Return figures of at most `MAX_HEIGHT` inches, but for a part that is taller alone; each has the page's head.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from deniable.report.page import Section
    >>> numbers = Table.of(["category", "share"], [["a", "b"] * 40, ["1%", "2%"] * 40])
    >>> figures = draw_pages(Page("Shares", (), tuple(Section(name, (numbers,)) for name in "xyz")))
    >>> [figure.axes[0].texts[0].get_text() for figure in figures]
    ['1 of 3: Shares', '2 of 3: Shares', '3 of 3: Shares']
    """
    sheets: list[tuple[Section, ...]] = [()]
    step = _columns(page)
    pieces = (
        page.sections if step > 1 else [Section(one.heading, (part,)) for one in page.sections for part in one.parts]
    )
    for start in range(0, len(pieces), step):
        line = tuple(pieces[start : start + step])
        if sheets[-1] and _height(page, (*sheets[-1], *line)) > MAX_HEIGHT:
            sheets.append(())
        sheets[-1] += line
    titles = [f"{i} of {len(sheets)}: {page.title}" for i in range(1, len(sheets) + 1)]
    pages = [replace(page, title=title) for title in titles] if len(sheets) > 1 else [page]
    with _drawing(page) as note:
        return [_figure(one, sections, note) for one, sections in zip(pages, sheets, strict=True)]


def require_matplotlib() -> None:
    """Raise MissingExtraError if pictures cannot be drawn; older versions lay out right-to-left letters wrongly."""
    with suppress(ImportError):
        import matplotlib

        if matplotlib.__version_info__[:2] >= (3, 11):
            return
    raise MissingExtraError('pictures need matplotlib 3.11 or later: pip install "deniable[pictures]"')


@contextmanager
def _drawing(page: Page) -> Iterator[str]:
    """Let matplotlib draw in our style, with fonts for the page's letters; yield a sentence about missing ones."""
    require_matplotlib()
    from matplotlib import rc_context

    written = io.StringIO()
    print_page(Console(file=written, width=1 << 16), page, MAX_ROWS)
    with quiet():
        families, missing = families_for(written.getvalue())
        with rc_context({**_STYLE, "font.family": families}):
            yield boxes_note(missing)


# ---------------------------------------------------------------- parts


@final
@dataclass(frozen=True)
class Drawing:
    """Drawing of one part of a picture.

    Parameters
    ----------
    paint : callable
        Draws it on axes.
    inside, around : float
        Height of the axes in inches, and about that of what stands above and below them.
    width : float
        Inches that a picture of it has at least.
    """

    paint: Callable[[Axes], None]
    inside: float
    around: float = 0.0
    width: float = 0.0

    @property
    def height(self) -> float:
        """Inches of everything."""
        return self.inside + self.around


def _words(
    sentences: Sequence[str], width: float, size: float = 9.0, above: float = 0.0, wrap: bool = True, **style: Any
) -> Drawing:
    """Return sentences as wide as the column, from its left edge on, so many inches below its upper edge."""
    console = Console(width=int((width - 2 * _PAD) * _CHARACTERS / size / (1.2 if "weight" in style else 1.0)))
    lines = [visible(sentence) for sentence in sentences if sentence]
    if wrap:
        lines = [line.plain.rstrip() for text in lines for line in Styled(text).wrap(console, console.width)]

    def paint(axes: Axes) -> None:
        axes.set_axis_off()
        axes.annotate(
            "\n".join(lines),
            (0.0, 1.0),
            xycoords=(axes.figure.transSubfigure, axes.transAxes),
            xytext=(72 * _PAD, -72 * above),
            textcoords="offset points",
            va="top",
            in_layout=False,
            linespacing=1.3,
            **{"color": GREY, "size": size, **style},
        )

    return Drawing(paint, above + _LINE * size / 9 * len(lines) + _GAP if lines else 0.0)


def _text(part: Text, width: float) -> Drawing:
    return _words(part.lines, width)


def _table(part: Table, width: float) -> Drawing:
    from matplotlib import rcParams

    lines = table_lines(part, int((width - 2 * _PAD) * _CHARACTERS / 9.5))
    family = ["DejaVu Sans Mono", *rcParams["font.family"]]
    return _words(lines, width, size=8.5, wrap=False, family=family, color=INK)


def _whiskers(axes: Axes, y: Floats, ends: Floats, **style: Any) -> None:
    axes.hlines(y, ends[:, 0], ends[:, 1], **style)


def _points(axes: Axes, y: Floats, values: Floats, **style: Any) -> None:
    axes.plot(values, y, linestyle="none", **style)


def _bars(axes: Axes, y: Floats, values: Floats, **style: Any) -> None:
    axes.barh(y, values, height=0.62, **style)


_MARKS: dict[MarkKind, Callable[..., None]] = {
    "interval": partial(_whiskers, color=BLUE, linewidth=1.6),
    "estimate": partial(_points, color=BLUE, marker="o", markersize=5.0),
    "truth": partial(
        _points, color=VERMILLION, marker="D", markersize=6.5, markerfacecolor="none", markeredgewidth=1.4
    ),
    "tick": partial(_points, color=INK, marker="|", markersize=9.0, markeredgewidth=1.4),
    "track": partial(_bars, color="#e9e9e9"),
    "bar": partial(_bars, color=STOPS[4]),
}


def _rows(labels: Sequence[str], width: float) -> tuple[list[str], Floats, float]:
    """Return labels in the lines they need, where their rows are from above, and how high all are, in plain rows."""
    lines = [balanced_label(label, int(_LABELS * width)) for label in labels]
    heights = np.array([max(1.0, (_LABEL_LINE * len(one) + 2 * _GAP) / _ROW) for one in lines])
    return ["\n".join(one) for one in lines], np.cumsum(heights) - heights / 2, float(heights.sum()) or 1.0


def _chart(chart: IntervalChart, width: float) -> Drawing:
    shown, limits, total = chart.shown(MAX_ROWS), axis_limits([chart]), chart.table.rows + chart.hidden
    rows = [chart.table.cells(i) for i in shown]
    flags = [" *" * (chart.flags is not None and bool(chart.flags[i])) for i in shown]
    labels, y, tall = _rows([row[0] for row in rows], width)
    labels = [label + flag for label, flag in zip(labels, flags, strict=True)]
    largest = f"largest {len(shown)} of {total:,}" if len(shown) < total else ""
    caption = "; ".join(filter(None, [chart.caption, largest]))
    # Bars are read as numbers, beside them.
    numbers = list(zip(*rows, strict=True))[1:] if any(mark.kind == "bar" for mark in chart.marks) else []
    headers = [textwrap.fill(name, 15) for name in chart.table.header[1 : len(numbers) + 1]]

    def paint(axes: Axes) -> None:
        axes.axvline(0.0, color="#8a8a8a", linewidth=1.0, zorder=1)
        axes.grid(axis="x")
        for order, mark in enumerate(chart.marks, start=2):
            values = np.clip(mark.values[shown], *limits)
            _MARKS[mark.kind](axes, y, values, label=mark.name or None, zorder=order)
        right, beside = 0.0, partial(axes.annotate, textcoords="offset points", ha="right", size=8.5)
        for header, cells in zip(headers, numbers, strict=True):
            right += 18 + 5.4 * max(cell_len(line) for text in (header, *cells) for line in text.split("\n"))
            beside(header, (1, 1), xycoords="axes fraction", xytext=(right, 2), va="bottom", weight="bold")
            for place, cell in zip(y, cells, strict=True):
                beside(cell, (1, place), xycoords=axes.get_yaxis_transform(), xytext=(right, 0), va="center")
        axes.set_ylim(tall, 0.0)
        axes.set_xlim(*limits)
        axes.set_yticks(y, labels)
        axes.set_xticks(ticks := axis_ticks(limits), [chart.axis(tick) for tick in ticks])
        axes.set_xlabel(caption, loc="left")

    over = _LINE * max((name.count("\n") + 1 for name in headers), default=0)
    return Drawing(paint, _ROW * tall, _AXIS + over + _LINE * bool(caption))


def _heat_map(chart: HeatMap, width: float) -> Drawing:
    count = max(chart.values.shape)
    side = 0.52 if count <= 8 else 0.42 if count <= MAX_NUMBERS else max(0.16, min(0.3, 8 / count))
    layout = map_layout(chart, 96 * (width - 2 * _PAD - _BAR), 96 * side, _EM)
    rows, columns = (["\n".join(lines) for lines in labels] for labels in (layout.rows, layout.columns))
    size = 0.75 * layout.font
    left, over, across, down = (one / 96 for one in (layout.left, layout.top, layout.across, layout.down))
    tall, wide = down * len(rows), across * len(columns)
    scale = f"0: nothing. {chart.number(chart.scale)}: {chart.top}. Grey: {chart.nothing}."
    sentences = (f"↓ {chart.row_name}", f"→ {chart.column_name}", scale)
    above = [line for text in sentences for line in wrap_label(text, int(wide * _CHARACTERS / 9))]

    def paint(axes: Axes) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        colours = LinearSegmentedColormap.from_list("shares", STOPS).with_extremes(bad=OWN)
        values = np.ma.masked_invalid(chart.values)
        mesh = axes.pcolormesh(values, cmap=colours, vmin=0, vmax=chart.scale, edgecolors=LINE, linewidth=0.5)
        axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0), anchor="NW")
        axes.spines[:].set(visible=True, color="#8a8a8a")
        axes.tick_params(labelsize=size, top=True, bottom=False, labeltop=True, labelbottom=False)
        axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=0 if layout.upright else 90)
        axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
        axes.set_title("\n".join(above), size=9, color=GREY)
        for (y, x), value in np.ndenumerate(chart.values):
            if count <= MAX_NUMBERS and np.isfinite(value):
                number = chart.number(float(value))
                number = number if "%" in number else number.removeprefix("0")
                axes.text(
                    x + 0.5, y + 0.5, number, size=8, color=text_on(value / chart.scale), ha="center", va="center"
                )
        scale = min(1.0, 2.6 / tall)
        bar = axes.figure.colorbar(mesh, cax=axes.inset_axes((1 + 0.25 / wide, 1 - scale, 0.16 / wide, scale)))
        ticks = np.linspace(0, chart.scale, 5).tolist()
        bar.set_ticks(ticks, labels=[chart.number(tick) for tick in ticks])
        bar.ax.tick_params(labelsize=8)
        bar.outline.set_visible(False)

    return Drawing(paint, tall, over + _LINE * len(above), 2 * _PAD + left + wide + _BAR)


def _coefficients(chart: CoefficientChart, width: float) -> Drawing:
    limits = chart.limits
    labels, y, tall = _rows([chart.table.cells(i)[0] for i in range(chart.table.rows)], width)

    def paint(axes: Axes) -> None:
        axes.axvline(0.0, color="#8a8a8a", linewidth=1.0, zorder=1)
        axes.grid(axis="x")
        drawn = np.stack([np.clip(end, *limits) for end in (chart.lower, chart.upper)], axis=1)
        _whiskers(axes, y, drawn, color=BLUE, linewidth=1.6)
        _points(axes, y, chart.values, color=BLUE, marker="o", markersize=5.0)
        for ends, infinite, marker in (
            (drawn[:, 0], np.isneginf(chart.lower), "<"),
            (drawn[:, 1], np.isposinf(chart.upper), ">"),
        ):
            _points(axes, y[infinite], ends[infinite], color=BLUE, marker=marker, markersize=6.0)
        axes.set_ylim(tall, 0.0)
        axes.set_xlim(*limits)
        axes.set_yticks(y, labels)
        axes.set_xticks(ticks := axis_ticks(limits), [f"{tick:g}" for tick in ticks])

    return Drawing(paint, _ROW * tall, _AXIS)


RENDERERS: dict[type[Part], Callable[[Any, float], Drawing]] = {
    CoefficientChart: _coefficients,
    Text: _text,
    Table: _table,
    IntervalChart: _chart,
    HeatMap: _heat_map,
}
"""Painters of each kind of part, in a column of a width in inches."""


# ---------------------------------------------------------------- pictures


@final
@dataclass(frozen=True)
class _Band:
    """Columns of drawings beside each other, below a key to the shapes of these names."""

    columns: tuple[Sequence[Drawing], ...]
    key: tuple[str, ...] = ()

    @property
    def height(self) -> float:
        return max(sum(one.height for one in column) for column in self.columns) + _KEY * bool(self.key)

    @property
    def width(self) -> float:
        return max((one.width for column in self.columns for one in column), default=0.0)

    def paint(self, figure: SubFigure) -> None:
        from matplotlib.axes import Axes

        blank, shapes = partial(Drawing, Axes.set_axis_off), dict[str, Any]()
        places = figure.subfigures(1, len(self.columns), squeeze=False)[0]
        for column, place in zip(self.columns, places, strict=True):
            above = _KEY * bool(self.key)
            below = self.height - above - sum(one.height for one in column)
            filled = [one for one in (blank(above), *column, blank(below)) if one.inside > 0.01]
            axes = place.subplots(len(filled), squeeze=False, height_ratios=[one.inside for one in filled])[:, 0]
            for one, where in zip(filled, axes, strict=True):
                one.paint(where)
                shapes |= zip(*reversed(where.get_legend_handles_labels()), strict=True)
        if self.key:
            width, height = np.divide(figure.bbox.size, figure.dpi).tolist()
            figure.legend(
                [shapes[name] for name in self.key],
                self.key,
                loc="upper left",
                bbox_to_anchor=(_PAD / width, 1 - _GAP / height),
                ncols=len(self.key),
                borderpad=0,
                borderaxespad=0,
            )


def _columns(page: Page) -> int:
    """Return the columns of sections: two if each is one narrow part."""
    alike = all(len(section.parts) == 1 and section.parts[0].is_narrow for section in page.sections)
    return 2 if alike and len(page.sections) > 1 else 1


def _body(sections: Sequence[Section], columns: int, width: float) -> list[_Band]:
    """Return the bands of sections: all of them as one band of two columns, or one band for each part."""

    def heading(section: Section) -> Drawing:
        return _words([section.heading], width, 10.5, above=2 * _GAP, weight="bold", color=INK)

    def drawn(part: Part) -> Drawing:
        return RENDERERS[type(part)](part, width)

    def names(key: Sequence[tuple[MarkKind, str]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for _, name in key))

    if columns == 2:
        parts = [(heading(section), drawn(section.parts[0])) for section in sections]
        key = names([entry for section in sections for entry in section.parts[0].key])
        return [_Band(tuple([one for pair in parts[i::2] for one in pair] for i in (0, 1)), key)]
    bands, shown = [], names([])
    last = ""
    for section in sections:
        if section.heading != last:
            bands.append(_Band(([heading(section)],)))
        last = section.heading
        for part in section.parts:
            key = names(part.key)
            bands.append(_Band(([drawn(part)],), key if key != shown else ()))
            shown = key or shown
    return bands


def _bands(page: Page, sections: Sequence[Section], note: str = "", width: float = 0.0) -> tuple[list[_Band], float]:
    """Return the bands of a picture: the page's head, these sections, and the last words; and its width in inches."""
    columns = _columns(page)
    width = width or (_TWO if columns == 2 else _ONE)
    head = [
        _words([card.headline for card in page.marks], width, weight="bold", color=INK),
        _words([page.title], width, 14, weight="bold", color=INK),
        _words([page.brief], width),
    ]
    last = [page.all_notes(MAX_ROWS), [note], *([card.headline, *card.lines] for card in page.cards)]
    foot = [_words(sentences, width, 8, above=_GAP) for sentences in last]
    bands = [_Band((head,)), *_body(sections, columns, width / columns), _Band((foot,))]
    widest = max(band.width for band in bands)
    return ([band for band in bands if band.height], width) if widest <= width else _bands(page, sections, note, widest)


def _height(page: Page, sections: Sequence[Section]) -> float:
    return sum(band.height for band in _bands(page, sections)[0])


def _figure(page: Page, sections: Sequence[Section], note: str) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    bands, width = _bands(page, sections, note)
    heights = [_PAD, *(band.height for band in bands), _PAD]
    engine = ConstrainedLayoutEngine(w_pad=_PAD, h_pad=0.03, wspace=0.0, hspace=0.0)
    figure = Figure((width, sum(heights)), facecolor="white", layout=engine)
    places = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)
    for band, place in zip(bands, places[1:-1, 0], strict=True):
        band.paint(place)
    return figure
