"""Class `Page`, the content about a result, independent of its output as text, HTML or a picture.

Builders (`estimate_page`, `leakage_page`, ...) turn results into pages and draw nothing; outputs (`text`, `html`,
`png`) draw pages and know no results. A page is made of parts. Each kind of part is one final class in a file of
`deniable.report.parts`, which has a renderer for each output; outputs know no kind of part. Labels come from strangers:
renderers make them visible, and escape them.
"""

from __future__ import annotations

import bisect
import dataclasses
import io
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text as Styled

from deniable.core.privacy import Guarantee, odds_text
from deniable.errors import visible as visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats: TypeAlias = NDArray[np.float64]
Limits: TypeAlias = tuple[float, float]

MarkKind = Literal["interval", "estimate", "truth", "tick", "track", "bar"]
"""Shapes: a whisker, a dot, a diamond, a short line across, a pale bar, a bar. They differ without colours."""


@final
@dataclass(frozen=True, eq=False)
class Mark:
    """Series of values that is drawn in every row; values that are not finite are not drawn.

    Parameters
    ----------
    kind : str
        Shape of the mark.
    name : str
        Name in the key to the chart; an empty name is left out.
    values : float64[rows], or float64[rows, 2] for "interval"
        Where.
    """

    kind: MarkKind
    name: str
    values: Floats


class Scale(NamedTuple):
    """Axis that a part has in common with other parts of its section.

    Parameters
    ----------
    marks : tuple of Mark
        What is drawn.
    tick : callable
        Function from a value to the text of its tick.
    columns : tuple of tuple of str
        Columns of text beside the drawing, each with its header first.
    """

    marks: tuple[Mark, ...]
    tick: Callable[[float], str]
    columns: tuple[tuple[str, ...], ...]


class Hints(NamedTuple):
    """Hints how to see what a terminal has no room for, in the words of the caller; none by default.

    Attributes
    ----------
    folded, rows, map, promise : str
        Where a folded chart, other rows, a matrix that is too wide, and the whole guarantee are shown in full.
    """

    folded: str = ""
    rows: str = ""
    map: str = ""
    promise: str = ""


NO_HINTS = Hints()


class Room(NamedTuple):
    """Room of a part on a terminal: the width that labels share, the most rows of a chart, and the hints."""

    label_width: int
    most: int
    hints: Hints


@final
@dataclass(frozen=True)
class Axis:
    """The common axis of a section's charts in HTML: positions are percentages of the width.

    The columns of numbers beside it are as wide in all of them, so that the same percentage lies below itself.
    """

    limits: Limits
    ticks: tuple[tuple[str, str], ...]
    zero: str
    columns: tuple[float, ...] = ()


@final
@dataclass(frozen=True)
class Drawing:
    """Drawing of one part of a picture.

    Parameters
    ----------
    paint : callable
        Function that draws the part on axes.
    inside, around : float
        Height of the axes in inches, and about that of what stands above and below them.
    width : float
        Minimum width of a picture of the part in inches.
    """

    paint: Callable[[Axes], None]
    inside: float
    around: float = 0.0
    width: float = 0.0

    @property
    def height(self) -> float:
        """Inches of everything."""
        return self.inside + self.around


class Part(ABC):
    """One thing that a section shows, with one renderer for each output."""

    @property
    @abstractmethod
    def is_narrow(self) -> bool:
        """Half of a picture's width is enough."""

    @abstractmethod
    def print_on(self, console: Console, room: Room) -> None:
        """Print it on a terminal, in lines that are not longer than it is wide."""

    @abstractmethod
    def markup(self, axis: Axis) -> str:
        """Return it as HTML, on the axis of its section: what `deniable.report.html.filled` makes of a template."""

    @abstractmethod
    def drawing(self, width: float) -> Drawing:
        """Return it as a drawing for a picture, in a column of a width in inches."""

    @property
    def key(self) -> tuple[tuple[MarkKind, str], ...]:
        """The shapes that need a word, with it."""
        return ()

    def on_axis(self, most: int) -> Scale | None:  # noqa: ARG002
        """Return the axis that it shares with its section, for at most `most` rows; None if it has no axis."""
        return None

    def label_width(self, most: int) -> int:  # noqa: ARG002
        """Return the terminal cells that the labels of at most `most` rows take; labels of a page line up."""
        return 0

    def note(self, most: int, *, spaced: bool = False) -> str:  # noqa: ARG002
        """Return what a renderer of at most `most` rows must add to the page's notes, if anything.

        `spaced` is True for a renderer that lists evenly spaced rows of a folded chart.
        """
        return ""


HOLDER_ONLY = "For the holder of the answers only, not for publication"


@final
@dataclass(frozen=True)
class Section:
    """A heading and what is below it."""

    heading: str
    parts: tuple[Part, ...]


@final
@dataclass(frozen=True)
class Card:
    """Headline with a few lines: a warning before the numbers, or a guarantee after them.

    Parameters
    ----------
    headline : str
        What comes first.
    lines : tuple of str
        More about it.
    warning : bool
        True if the card is a warning, which stands out.
    promise : bool
        True if the card states the promise to contributors.
    brief : str
        Of a promise: all of it that a terminal prints unless it is asked for more.
    """

    headline: str
    lines: tuple[str, ...] = ()
    warning: bool = False
    promise: bool = False
    brief: str = ""

    @classmethod
    def promised(
        cls,
        guarantee: Guarantee,
        attributes: Sequence[str],
        *about: str,
        several: Mapping[str, Sequence[int]] = MappingProxyType({}),
        of: str = "",
    ) -> Card:
        """Return what was promised: the whole contributor first, then who may attack, then other facts.

        `of` names the collection, on a page about several.
        """
        brief = f"Guarantee{f' of {of}' if of else ''}: {guarantee.budget_text}"
        _, *lines = guarantee.lines(attributes, several)
        if math.isfinite(guarantee.epsilon) and not any(row.delta for row in guarantee.trust_models):
            factor = odds_text(guarantee.epsilon)
            brief += f"; odds change at most {factor}-fold"
            lines.insert(
                0, f"Seeing a report changes the odds between any two possible answers by a factor of at most {factor}."
            )
        headline = f"{f'{of}: ' if of else ''}{guarantee.budget_text} (implemented: {guarantee.implemented_text})"
        return cls(headline, tuple(line.strip() for line in (*lines, *about)), promise=True, brief=brief)


@final
@dataclass(frozen=True)
class Page:
    """A page with a title, cards, numbers and notes, which can be drawn as text, HTML or a picture.

    Parameters
    ----------
    title : str
        Heading.
    cards : tuple of Card
        Promises to contributors, each with the adversary against whom it holds; also warnings.
    sections : tuple of Section
        Sections with the numbers.
    notes : tuple of str
        Notes on reading the numbers. They stand before the numbers on an HTML page, and after them in a terminal.
    introduction : tuple of str
        Paragraphs below the heading.
    lead : tuple of str
        Main results, shown first on HTML pages. They never contain texts that the author of the survey wrote.
    method : tuple of str
        Paragraphs after the charts that say how the numbers were computed.
    brief : str
        The most important facts in one line, for the head of a picture.
    footer : str
        Last line of the page.
    private : bool
        True if the page reveals true answers. Only the owner can then read files of the page.
    """

    title: str
    cards: tuple[Card, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()
    introduction: tuple[str, ...] = ()
    lead: tuple[str, ...] = ()
    method: tuple[str, ...] = ()
    brief: str = ""
    footer: str = "Made by deniable."
    private: bool = False

    @property
    def marks(self) -> tuple[Card, ...]:
        """Cards before the title, which say for whom the page is."""
        return tuple(card for card in self.cards if card.promise and card.warning)

    @property
    def promises(self) -> tuple[Card, ...]:
        """Cards after the numbers, with promises to contributors that have a form in one line."""
        return tuple(card for card in self.cards if card.brief)

    @property
    def remarks(self) -> tuple[Card, ...]:
        """Cards below the title: warnings, and statements of what is not protected."""
        return tuple(card for card in self.cards if card not in self.marks and card not in self.promises)

    def for_holder(self, reason: str) -> Page:
        """Return the page with a card at the top that says that it is only for the holder of the answers."""
        card = Card(HOLDER_ONLY, (f"It is {reason}.",), warning=True, promise=True)
        brief = "; ".join(filter(None, [HOLDER_ONLY, self.brief]))
        return dataclasses.replace(self, cards=(card, *self.cards), brief=brief, private=True)

    def all_notes(self, most: int, *, spaced: bool = False) -> list[str]:
        """Return all notes, also the notes that are needed if charts show at most `most` rows (see `Part.note`)."""
        added = [part.note(most, spaced=spaced) for section in self.sections for part in section.parts]
        return [text for text in dict.fromkeys([*self.notes, *added]) if text]


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


LONGEST_LABEL = 400
"""Most terminal cells of a label that are shown. No question or option of a survey is longer."""

_CONSOLE = Console(file=io.StringIO(), width=80)


def wrap_label(label: str, width: int) -> list[str]:
    """Return a visible label in lines of at most `width` terminal cells, broken between words where they fit.

    Only labels longer than `LONGEST_LABEL` are cut, and end with an ellipsis.

    Examples
    --------
    >>> wrap_label("managerial, administrative", 12)
    ['managerial,', 'administrati', 've']
    """
    label = shorten(label, LONGEST_LABEL)
    if cell_len(label) <= width:
        return [label]
    return [line.plain.rstrip() for line in Styled(label).wrap(_CONSOLE, max(width, 2))]


def balanced_label(label: str, width: int) -> list[str]:
    """Return as many lines as `wrap_label`, but about equally long.

    Examples
    --------
    >>> balanced_label("not in the last twelve months or so", 32)
    ['not in the last', 'twelve months or so']
    """
    most = len(wrap_label(label, width))
    words = max(map(cell_len, visible(label).split()), default=0)
    sizes = range(min(words, width), width)
    at = bisect.bisect_left(sizes, True, key=lambda size: len(wrap_label(label, size)) <= most)
    return wrap_label(label, [*sizes, width][at])


def axis_limits(marks: Sequence[Mark]) -> Limits:
    """Return the range that holds every mark and zero, where bars begin.

    Examples
    --------
    >>> axis_limits([])
    (0.0, 1.0)
    """
    values = np.concatenate([mark.values.ravel() for mark in marks]) if marks else np.empty(0)
    values = values[np.isfinite(values)]
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    if high <= low:
        return 0.0, 1.0
    margin = 0.03 * (high - low)
    return (low, high) if any(mark.kind == "bar" for mark in marks) else (low - margin, high + margin)


def axis_ticks(limits: Limits, most: int = 6) -> list[float]:
    """Return at most `most` + 1 round numbers inside the limits, zero among them.

    Examples
    --------
    >>> axis_ticks((-0.01, 0.52))
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """
    low, high = limits
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power * most >= high - low)
    return [round(i * step, 12) + 0.0 for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
