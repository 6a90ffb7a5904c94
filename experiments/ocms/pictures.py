"""Pictures of losses: colours for colour-blind readers, one marker per mechanism, labels at the lines."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from experiments.harness import Cell
from experiments.ocms.methods import METHODS

COLOURS = {"ocms": "#0072B2", "mse": "#009E73", "sue": "#CC79A7", "he": "#E69F00", "rhr": "#D55E00"}
"""From the palette of Okabe and Ito."""

LABELS = {"ocms": "OCMS", "mse": "OCMS-MSE", "sue": "SUE", "he": "HE", "rhr": "RHR"}
"""Name of a group's line: the mechanism whose theory the line shows."""

MARKERS = {
    "OCMS": "o",
    "OCMS (prime)": "s",
    "OUE": "v",
    "SS": "D",
    "PGR": "P",
    "OCMS-MSE": "o",
    "OCMS-MSE (prime)": "s",
    "Apple CMS": "X",
    "SUE": "v",
    "HE": "o",
    "CMS+HE": "X",
    "RHR": "o",
}

SPACING = 0.042
"""Distance on the epsilon axis between the mechanisms' markers at one epsilon, so that no marker hides another."""

QUANTITIES = (
    ("worst_mse", "worst_theory", "worst-case MSE"),
    ("l1", "l1_theory", "l1 loss"),
    ("l2", "l2_theory", "l2 loss"),
)


def bare(axes: Axes) -> None:
    """Remove the frame and draw a light grid behind the data."""
    axes.grid(color="0.9", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def label_lines(axes: Axes, labels: Sequence[tuple[float, float, str, str]], apart: float, same: float = 1.04) -> None:
    """Write (x, y, text, colour) labels at the right ends of lines on a logarithmic axis.

    Labels are moved apart to at least the ratio `apart`. Lines that end within the ratio `same` share one label.
    """
    placed, shared = 0.0, list[tuple[float, float, str, str]]()
    for x, y, text, colour in sorted(labels, key=lambda label: label[1]):
        if shared and y <= same * shared[-1][1]:
            shared[-1] = (x, shared[-1][1], f"{shared[-1][2]} ~ {text}", colour)
        else:
            shared.append((x, y, text, colour))
    for x, y, text, colour in shared:
        placed = max(y, placed * apart)
        axes.annotate(
            text, (x, placed), xytext=(12, 0), textcoords="offset points", color=colour, va="center", fontsize=9
        )


def plain_log(axes: Axes, steps: Sequence[int] = (1, 2, 5)) -> None:
    """Make the y axis logarithmic with ticks at these multiples of powers of ten, as plain numbers."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=steps))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_locator(NullLocator())


def _of(cells: Sequence[Cell], method: str) -> list[Cell]:
    return sorted((cell for cell in cells if cell["method"] == method), key=lambda cell: float(cell["epsilon"]))


def draw_losses(cells: Sequence[Cell], title: str) -> Figure:
    """Draw measured losses as markers on the lines of theory, one panel per loss, logarithmic."""
    figure = Figure(figsize=(13, 5.2), layout="constrained")
    panels = figure.subplots(1, 3)
    methods = [name for name in METHODS if _of(cells, name)]
    runs = max(cell["runs"] for cell in cells)
    for axes, (measured, theory, name) in zip(panels, QUANTITIES, strict=True):
        ends = []
        for group, label in LABELS.items():
            line = _of(cells, label)
            if not line:
                continue
            xs = [cell["epsilon"] for cell in line]
            axes.plot(xs, [cell[theory] for cell in line], color=COLOURS[group], linewidth=1.3)
            ends.append((xs[-1] + len(methods) / 2 * SPACING, line[-1][theory], label, COLOURS[group]))
            if measured == "worst_mse" and group == "mse":
                axes.fill_between(
                    xs,
                    [cell[theory] for cell in line],
                    [cell["worst_upper"] for cell in line],
                    color=COLOURS[group],
                    alpha=0.15,
                    linewidth=0,
                )
        for position, method in enumerate(methods):
            points = _of(cells, method)
            if measured == "worst_mse" and points[0]["runs"] < runs:
                continue  # a maximum over fewer runs cannot be compared
            shift = (position - (len(methods) - 1) / 2) * SPACING
            axes.plot(
                [cell["epsilon"] + shift for cell in points],
                [cell[measured] for cell in points],
                MARKERS[method],
                color=COLOURS[METHODS[method].group],
                markersize=5,
                markeredgecolor="white",
                markeredgewidth=0.4,
            )
        wide = measured == "worst_mse" or max(cell[measured] for cell in cells) > 100 * min(
            cell[measured] for cell in cells
        )
        plain_log(axes, (1,) if wide else (1, 2, 5))
        low, high = axes.get_ylim()
        label_lines(axes, ends, (high / low) ** 0.05)
        axes.set_xlim(0.55, 8.1)  # names need room at the ends of lines
        axes.set_xticks(range(1, 6))
        axes.set_xlabel("epsilon")
        axes.set_title(name, loc="left", fontsize=11)
        bare(axes)
    handles = [
        Line2D([], [], marker=MARKERS[name], linestyle="", color=COLOURS[METHODS[name].group], label=name)
        for name in methods
    ]
    handles.append(Line2D([], [], color="0.3", label="theory; shaded for OCMS-MSE: up to the bound of Theorem K.1"))
    figure.legend(handles=handles, loc="outside lower center", ncols=7, frameon=False, fontsize=9)
    figure.suptitle(
        f"{title}. Markers: measured, {runs} runs, side by side at each whole epsilon", x=0.01, ha="left", fontsize=12
    )
    return figure


def draw_ratios(cells: Sequence[Cell], title: str) -> Figure:
    """Draw measured over calculated l2 loss with two standard errors, in one row per mechanism."""
    methods = [name for name in METHODS if _of(cells, name)]
    figure = Figure(figsize=(8, 0.42 * len(methods) + 1.5), layout="constrained")
    axes = figure.subplots()
    for row, method in enumerate(methods):
        points = _of(cells, method)
        for position, cell in enumerate(points):
            y = row + (position - (len(points) - 1) / 2) * 0.15
            axes.errorbar(
                cell["l2"] / cell["l2_theory"],
                y,
                xerr=2 * cell["l2_error"] / cell["l2_theory"],
                fmt="o",
                markersize=3.5,
                linewidth=1,
                color=COLOURS[METHODS[method].group],
            )
    axes.axvline(1, color="0.3", linewidth=1)
    axes.set_yticks(range(len(methods)), methods)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("measured l2 loss over theory, with two standard errors; in each row epsilon = 1 (top) to 5")
    bare(axes)
    axes.set_title(title, loc="left", fontsize=11)
    return figure
