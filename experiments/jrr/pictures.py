"""Pictures of this paper: errors against a setting, one line or mark per mechanism."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.harness import Cell
from experiments.jrr.methods import METHODS
from experiments.pictures import INK


def curves(axes: Axes, cells: Sequence[Cell], x: str, y: str, methods: Sequence[str] = tuple(METHODS)) -> None:
    """Draw the closed form as a line and what was drawn as marks, for each method."""
    for name in methods:
        chosen = sorted((cell for cell in cells if cell["method"] == name), key=lambda cell: cell[x])
        style = METHODS[name]
        points = [cell[x] for cell in chosen]
        if y == "mse":
            axes.plot(points, [cell["theory"] for cell in chosen], color=style.colour, linewidth=1.1)
            line = "none"
        else:
            line = "-"
        axes.plot(
            points,
            [cell[y] for cell in chosen],
            linestyle=line,
            linewidth=1.1,
            marker=style.mark,
            markersize=4,
            color=style.colour,
            markerfacecolor="white",
            markeredgewidth=1.1,
        )


def legend(figure: Figure, methods: Sequence[str] = tuple(METHODS)) -> None:
    """Name the methods in one line above all panels."""
    handles = [
        Line2D(
            [],
            [],
            color=METHODS[name].colour,
            marker=METHODS[name].mark,
            markersize=5,
            markerfacecolor="white",
            label=name,
        )
        for name in methods
    ]
    figure.legend(
        handles=handles, loc="outside upper left", ncols=len(handles), frameon=False, fontsize=9, labelcolor=INK
    )
