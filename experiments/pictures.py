"""Shared parts of all figures: colours for colour-blind readers, panels, direct labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from deniable.report.colours import INK as INK

# This is Okabe and Ito's palette. Groups that share a panel differ in shape, too.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, GREY = "#0072B2", "#D55E00", "#009E73", "#AA4499", "#B87700", "#5f5f5f"


def panels(columns: int, width: float, height: float, rows: int = 1, **options: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, row by row."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)  # type: ignore[union-attr, call-arg]
    return figure, list(axes.ravel())


def dress(axes: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Give a panel its title and axis names, and remove parts that show no data."""
    axes.set_title(title, loc="left", size=10.5, color=INK, pad=9)
    axes.set_xlabel(x, size=9, color=GREY)
    axes.set_ylabel(y, size=9, color=GREY)
    axes.tick_params(labelsize=8.5, labelcolor=INK, color="#b0b0b0")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#b0b0b0")


def note(
    axes: Axes,
    place: tuple[float, float],
    text: str,
    colour: str = INK,
    offset: tuple[float, float] = (6, 0),
    size: float = 8.5,
    align: str = "left",
    turn: float = 0,
) -> None:
    """Write a text beside a point; `offset` is in points, `turn` in degrees."""
    axes.annotate(
        text,
        place,
        offset,
        textcoords="offset points",
        color=colour,
        size=size,
        ha=align,
        va="center",
        rotation=turn,
        rotation_mode="anchor",
        annotation_clip=False,
        zorder=5,
    )


def apart(values: Sequence[float], gap: float) -> list[float]:
    """Return positions near `values`, in the same order, with gaps of at least `gap`.

    >>> apart([1.0, 0.0, 1.1], 0.5)
    [0.8, 0.0, 1.3]
    """
    order = np.argsort(values, kind="stable")
    groups: list[list[float]] = []  # each entry has the sum of the members' (value - offset), and their number
    for value in np.asarray(values, dtype=np.float64)[order]:
        groups.append([float(value), 1.0])
        while len(groups) > 1 and _start(groups[-1], gap) < _start(groups[-2], gap) + gap * groups[-2][1] - 1e-12:
            total, count = groups.pop()
            groups[-1] = [groups[-1][0] + total, groups[-1][1] + count]
    places = [_start(group, gap) + gap * i for group in groups for i in range(int(group[1]))]
    result = [0.0] * len(places)
    for position, place in zip(order, places, strict=True):
        result[position] = round(place, 12)
    return result


def _start(group: list[float], gap: float) -> float:
    total, count = group
    return total / count - gap * (count - 1) / 2
