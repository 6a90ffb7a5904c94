"""Pictures of this paper: errors against a setting, one line or mark per mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.harness import Cell
from experiments.jrr.methods import METHODS, equivalent
from experiments.pictures import INK

STATED: dict[str, Any] = {
    "marker": "_",
    "markersize": 17,
    "markeredgewidth": 2,
    "color": "black",
    "linestyle": "none",
    "zorder": 6,
}
"""Style for a value that the paper states."""


def curves(axes: Axes, cells: Sequence[Cell], x: str, y: str, methods: Sequence[str] = tuple(METHODS)) -> None:
    """Draw each method's MSE over RR's, or its ARE: lines for closed forms of the MSE, marks for drawn values.

    Parameters
    ----------
    axes : Axes
        The panel.
    cells : sequence of dict
        Results of `errors`.
    x : str
        The setting on the horizontal axis.
    y : "mse" or "are"
        Quantity to draw.
    methods : sequence of str
        Names of the methods.
    """
    for name in methods:
        chosen = sorted((cell for cell in cells if cell["method"] == name), key=lambda cell: cell[x])
        style = METHODS[name]
        points = [cell[x] for cell in chosen]
        scale = [equivalent(cell["epsilon"], cell["n"]) if y == "mse" else 1.0 for cell in chosen]
        if y == "mse":
            lines = [cell["theory"] / unit for cell, unit in zip(chosen, scale, strict=True)]
            axes.plot(points, lines, color=style.colour, linewidth=1.1)
        axes.plot(
            points,
            [cell[y] / unit for cell, unit in zip(chosen, scale, strict=True)],
            linestyle="none" if y == "mse" else "-",
            linewidth=1.1,
            marker=style.mark,
            markersize=4,
            color=style.colour,
            markerfacecolor="white",
            markeredgewidth=1.1,
        )
    axes.grid(axis="y", color="0.93", linewidth=0.6)


def legend(
    figure: Figure, methods: Sequence[str] = tuple(METHODS), *, lines: bool = True, marks: bool = True, stated: str = ""
) -> None:
    """Name the methods in one line above all panels, with their styles: hollow marks on lines, or filled marks."""
    handles = [
        Line2D(
            [],
            [],
            color=METHODS[name].colour,
            marker=METHODS[name].mark if marks else "none",
            markersize=5,
            linestyle="-" if lines else "none",
            markerfacecolor="white" if lines else METHODS[name].colour,
            label=name,
        )
        for name in methods
    ]
    if stated:
        handles.append(Line2D([], [], **STATED, label=stated))
    figure.legend(
        handles=handles, loc="outside upper left", ncols=len(handles), frameon=False, fontsize=9, labelcolor=INK
    )
