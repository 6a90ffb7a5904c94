"""Shared parts of the figures: colours of the data sets, and heat maps with names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from deniable.report.colours import LINE, OWN, STOPS, text_on
from experiments.cpl.paper import Floats
from experiments.pictures import BLUE, GREEN, GREY, INK, VERMILLION

DATA_COLOURS = {"CelebA": BLUE, "Adult": VERMILLION, "Cardio": GREEN}
DATA_MARKS = {"CelebA": "o", "Adult": "s", "Cardio": "^"}


def heat_map(
    axes: Axes, matrix: Floats, names: Sequence[str], top: float, *, size: float = 8.5, digits: int = 2
) -> None:
    """Draw CPL between all pairs: a row is a target attribute, a column is a released attribute.

    Parameters
    ----------
    matrix : float64[d, d]
        Leakage about i by the release of j; the diagonal is not used.
    top : float
        Value of the darkest colour.
    digits : int
        Digits of the numbers in the cells; 0 for no numbers.
    """
    d = len(names)
    colours = LinearSegmentedColormap.from_list("leakage", STOPS)
    mesh = axes.pcolormesh(matrix, cmap=colours, vmin=0, vmax=top, edgecolors=LINE, linewidth=0.4)
    for i in range(d):
        axes.add_patch(Rectangle((i, i), 1, 1, facecolor=OWN, edgecolor=LINE, linewidth=0.4))
        for j in [j for j in range(d) if digits and j != i]:
            text = f"{matrix[i, j]:.{digits}f}".removeprefix("0")
            colour = text_on(float(matrix[i, j]) / top)
            axes.text(j + 0.5, i + 0.5, text, size=8, color=colour, ha="center", va="center")
    shown = [name.replace("_", " ") for name in names]
    axes.set_xlim(0, d)
    axes.set_ylim(d, 0)
    axes.set_aspect("equal")
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.set_xticks(np.arange(d) + 0.5, shown, rotation=90)
    axes.set_yticks(np.arange(d) + 0.5, shown)
    axes.tick_params(length=0, labelsize=size, labelcolor=INK)
    axes.set_xlabel("released", size=size + 1, color=GREY)
    axes.set_ylabel("about", size=size + 1, color=GREY)
    for spine in axes.spines.values():
        spine.set_visible(False)
    figure = axes.get_figure()
    if isinstance(figure, Figure):
        bar = figure.colorbar(mesh, ax=axes, shrink=0.5, aspect=22, pad=0.02)
        bar.ax.tick_params(length=0, labelsize=8, labelcolor=INK)
        bar.ax.set_title("nats", size=8, color=GREY, loc="left")
        bar.outline.set_visible(False)
