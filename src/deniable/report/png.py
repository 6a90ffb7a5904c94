"""Pages as pictures, by matplotlib and its constrained layout.

A picture is a column of bands, each as high as what it holds. matplotlib lays out what is inside a figure, but it does
not choose how high a figure is, it does not break labels into lines, and it does not page what is too long. So that is
done here, and whole labels of 400 characters fit. matplotlib is an extra, and imported when something is drawn: no
other command waits for it or needs it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from rich.console import Console
from rich.text import Text as Styled

from deniable.core.outputs import atomic_path
from deniable.errors import MissingExtraError
from deniable.report.colours import INK
from deniable.report.fonts import boxes_note, families_for, quiet
from deniable.report.page import Drawing, Floats, MarkKind, Page, Part, Section, balanced_label, visible
from deniable.report.text import print_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MAX_ROWS = 40
"""Rows of one chart that a picture shows."""

MAX_HEIGHT = 24.0
"""Most inches of one picture. Longer pictures are divided into pages."""

# This is Okabe and Ito's palette. Every mark is told apart by its shape as well.
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#5f5f5f"

# All numbers but the last are inches. The first two are the widths of pictures of one column and of two. The others are
# the space at the edges, a chart's row, its axis, a key, and the height of nine points. The last number is how many
# characters of one point an inch has.
_ONE, _TWO, PAD, ROW, AXIS, _KEY, LINE_HEIGHT, _CHARACTERS = 8.0, 11.0, 0.2, 0.27, 0.24, 0.3, 0.175, 125.0
GAP = 0.07
_LABELS, _LABEL_LINE = 5.0, 0.15  # characters of a label in an inch of the column, and inches of one of its lines
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
    """Write the figures of `draw_pages` as PNG files: the first to `path`, others beside it with numbers from 2 on.

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
    >>> from deniable.report.page import Section
    >>> from deniable.report.parts.table import Table
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
    """Return a note that tells readers of the picture which letters are missing, or "" if none is missing.

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
    """Return one figure with the whole page, whatever its height.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from deniable.report.page import Section
    >>> from deniable.report.parts.table import Table
    >>> budgets = Table.of(["attribute", "epsilon"], [["bald", "male"], ["1.25", "0.5"]])
    >>> figure = draw(Page("Budgets", (), (Section("By attribute", (budgets,)),)))
    >>> [text.get_text().split() for axes in figure.axes for text in axes.texts][:3]
    [['Budgets'], ['By', 'attribute'], ['attribute', 'epsilon', '──────────────────', 'bald', '1.25', 'male', '0.5']]
    """
    with _drawing(page) as note:
        return _figure(page, page.sections, note)


def draw_pages(page: Page) -> list[Figure]:
    """Return figures of at most `MAX_HEIGHT` inches each, with the page's head; single parts may be taller.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from deniable.report.page import Section
    >>> from deniable.report.parts.table import Table
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


def words(
    sentences: Sequence[str], width: float, size: float = 9.0, above: float = 0.0, wrap: bool = True, **style: Any
) -> Drawing:
    """Return sentences as wide as the column, from its left edge on, so many inches below its upper edge."""
    console = Console(width=int((width - 2 * PAD) * _CHARACTERS / size / (1.2 if "weight" in style else 1.0)))
    lines = [visible(sentence) for sentence in sentences if sentence]
    if wrap:
        lines = [line.plain.rstrip() for text in lines for line in Styled(text).wrap(console, console.width)]

    def paint(axes: Axes) -> None:
        axes.set_axis_off()
        axes.annotate(
            "\n".join(lines),
            (0.0, 1.0),
            xycoords=(axes.figure.transSubfigure, axes.transAxes),
            xytext=(72 * PAD, -72 * above),
            textcoords="offset points",
            va="top",
            in_layout=False,
            linespacing=1.3,
            **{"color": GREY, "size": size, **style},
        )

    return Drawing(paint, above + LINE_HEIGHT * size / 9 * len(lines) + GAP if lines else 0.0)


def characters(width: float, size: float) -> int:
    """Return how many characters fit into a width in inches, of a size in points."""
    return int(width * _CHARACTERS / size)


def whiskers(axes: Axes, y: Floats, ends: Floats, **style: Any) -> None:
    """Draw a line in every row, from the first to the second of its ends."""
    axes.hlines(y, ends[:, 0], ends[:, 1], **style)


def points(axes: Axes, y: Floats, values: Floats, **style: Any) -> None:
    """Draw a mark in every row."""
    axes.plot(values, y, linestyle="none", **style)


def rows_of(labels: Sequence[str], width: float) -> tuple[list[str], Floats, float]:
    """Return labels in the lines they need, where their rows are from above, and how high all are, in plain rows."""
    lines = [balanced_label(label, int(_LABELS * width)) for label in labels]
    heights = np.array([max(1.0, (_LABEL_LINE * len(one) + 2 * GAP) / ROW) for one in lines])
    return ["\n".join(one) for one in lines], np.cumsum(heights) - heights / 2, float(heights.sum()) or 1.0


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
                bbox_to_anchor=(PAD / width, 1 - GAP / height),
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
        return words([section.heading], width, 10.5, above=2 * GAP, weight="bold", color=INK)

    def drawn(part: Part) -> Drawing:
        return part.drawing(width)

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
        words([card.headline for card in page.marks], width, weight="bold", color=INK),
        words([page.title], width, 14, weight="bold", color=INK),
        words([page.brief], width),
    ]
    last = [page.all_notes(MAX_ROWS), [note], *([card.headline, *card.lines] for card in page.cards)]
    foot = [words(sentences, width, 8, above=GAP) for sentences in last]
    bands = [_Band((head,)), *_body(sections, columns, width / columns), _Band((foot,))]
    widest = max(band.width for band in bands)
    return ([band for band in bands if band.height], width) if widest <= width else _bands(page, sections, note, widest)


def _height(page: Page, sections: Sequence[Section]) -> float:
    return sum(band.height for band in _bands(page, sections)[0])


def _figure(page: Page, sections: Sequence[Section], note: str) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    bands, width = _bands(page, sections, note)
    heights = [PAD, *(band.height for band in bands), PAD]
    engine = ConstrainedLayoutEngine(w_pad=PAD, h_pad=0.03, wspace=0.0, hspace=0.0)
    figure = Figure((width, sum(heights)), facecolor="white", layout=engine)
    places = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)
    for band, place in zip(bands, places[1:-1, 0], strict=True):
        band.paint(place)
    return figure
