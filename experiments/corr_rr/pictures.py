"""Pictures of errors: the papers' four lines, better methods, and the estimate without reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from experiments.corr_rr.methods import DEFAULT

INK, GREY = "#1a1a1a", "#5f5f5f"


PREPRINT = "Corr-RR preprint"
"""Name of a line that only the preprint's figures have."""


class Style(NamedTuple):
    """Style of one line."""

    label: str
    colour: str
    marker: str
    dashes: Any = "-"


STYLES = {
    "SPL": Style("SPL", "#CC79A7", "v"),
    "RS+FD": Style("RS+FD", "#E69F00", "s"),
    "RS+RFD clipped": Style("RS+RFD (clipped)", "#009E73", "^"),
    "Corr-RR": Style("Corr-RR", "#D55E00", "o"),
    PREPRINT: Style("Corr-RR, preprint's rule", "#D55E00", "x", "--"),
    "SMP": Style("SMP (papers omit it)", "#0072B2", "D", "--"),
    "default": Style("default", "#000000", "P", "--"),
    DEFAULT: Style("default, hierarchical decoder", "#000000", "", "-."),
    "uniform": Style("1/k, nobody asked", "#8a8a8a", "", ":"),
}
"""Okabe and Ito's palette; markers and dashes distinguish the lines without colour."""

HEADINGS = {
    "as_described": "data as described",
    "equal_marginals": "data with equal marginals",
    "shared_marginals": "data with one skewed marginal",
    "": "",
}


def shown(post: str, preprint: bool = False) -> list[str]:
    """Return the lines of a picture; the decoder is only in pictures in which all other lines are projected."""
    return [name for name in STYLES if (post != "raw" or name != DEFAULT) and (preprint or name != PREPRINT)]


def line(name: str, post: str) -> str:
    """Return the line of a method with some post-processing; the default has its own post-processing."""
    return name if name == DEFAULT else f"{name}|{post}"


def panels(rows: int, columns: int, width: float = 10.0, height: float = 3.1) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure and its panels by row; panels of a row share the axis of errors."""
    figure = Figure(figsize=(width, height * rows + 0.5), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, sharey="row")
    return figure, [list(row) for row in axes]


def dress(axes: Axes, title: str, x: str, y: str = "") -> None:
    """Give a panel its title, axis names and a light grid, and take away its frame."""
    axes.set_title(title, loc="left", size=10, color=INK)
    axes.set_xlabel(x, size=9, color=GREY)
    axes.set_ylabel(y, size=9, color=GREY)
    axes.tick_params(labelsize=8.5, labelcolor=INK, color="#b0b0b0")
    axes.grid(color="0.92", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def curves(axes: Axes, x: Sequence[float], lines: Mapping[str, Sequence[float]]) -> None:
    """Draw mean squared errors on a logarithmic axis, one line per name of `STYLES`."""
    for name, values in lines.items():
        style = STYLES[name]
        axes.plot(
            *(x, values, style.dashes),
            color=style.colour,
            marker=style.marker or None,
            markersize=4.5,
            linewidth=1.3,
            zorder=4 if name in ("Corr-RR", "default", DEFAULT) else 3,
        )
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(x)[:: 1 + (len(x) > 6)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def legend(figure: Figure, names: Sequence[str], extra: Sequence[Line2D] = ()) -> None:
    """Put one legend under all panels."""
    handles = [
        Line2D(
            *([], []),
            color=STYLES[name].colour,
            marker=STYLES[name].marker or None,
            linestyle=STYLES[name].dashes,
            markersize=5,
            linewidth=1.3,
            label=STYLES[name].label,
        )
        for name in names
    ]
    figure.legend(
        handles=[*handles, *extra], loc="outside lower center", ncols=4, fontsize=9, frameon=False, handlelength=2.6
    )
