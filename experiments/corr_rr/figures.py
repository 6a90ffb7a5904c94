"""Figures of both versions that show errors: one command each, with numbers for all methods and post-processing."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.corr_rr.layouts import LAYOUTS, NAMES, Layout
from experiments.corr_rr.measure import measure, rows_of
from experiments.corr_rr.methods import DEFAULT
from experiments.corr_rr.paper import PAPER
from experiments.corr_rr.pictures import GREY, HEADINGS, PREPRINT, STYLES, curves, dress, legend, line, panels, shown
from experiments.harness import Cell, Run

POSTS = ("raw", "simplex")
SHORT = {"RS+RFD clipped": "RS+RFD", DEFAULT: "default", "uniform": "1/k", PREPRINT: "by its rule"}


def draw_layout(layout: Layout, cells: list[Cell], post: str) -> Figure:
    """Draw one figure, with one row of panels per generator."""
    figure, axes = panels(len(layout.sources), len(layout.panel[1]))
    axis, place, names = layout.axis[0], iter(cells), shown(post, layout.preprint)
    for source, row in zip(layout.sources, axes, strict=True):
        for value, panel in zip(layout.panel[1], row, strict=True):
            own = [next(place) for _ in layout.axis[1]]
            lines = {name: [cell["mse"][line(name, post)][0] for cell in own] for name in names}
            curves(panel, layout.axis[1], lines)
            title = f"{value}" if layout.panel[0] == "data" else f"{layout.panel[0]} = {value}"
            heading = f"{HEADINGS[source]}, {title}" if source else title
            dress(panel, heading, NAMES[axis], "mean squared error" if panel is row[0] else "")
    legend(figure, names)
    what = "raw estimates" if post == "raw" else "estimates projected onto the simplex"
    figure.suptitle(f"{what}; {cells[0]['runs']} runs, seed {cells[0]['seed']}", x=0.01, ha="left", size=9, color=GREY)
    return figure


def perform(layout: Layout, run: Run) -> None:
    """Measure the cells of one figure; save its numbers and two pictures (raw, and projected onto the simplex)."""
    cells = run.cells(layout.all_cells(), measure)
    run.save_table(rows_of(cells))
    for source in layout.sources:
        summarised = [
            {column: cell[column] for column in (layout.panel[0], layout.axis[0])} | short_row(cell, "raw")
            for cell in cells
            if cell.get("source", "") == source
        ]
        run.show(summarised, title=f"{layout.title}; {HEADINGS[source] or 'raw'}; mean squared error, {run.runs} runs")
    for post in POSTS:
        run.save_figure(draw_layout(layout, cells, post), "" if post == "raw" else f"-{post}")
    own = PREPRINT if layout.preprint else "Corr-RR"
    wins = {post: np.mean([corr_rr_wins(cell, post, own) for cell in cells]) for post in POSTS}
    run.say(f"{own} is below SPL, RS+FD and RS+RFD in {wins['raw']:.0%} of the cells, {wins['simplex']:.0%} projected.")
    for sentence in layout.open:
        run.say(sentence)


def short_row(cell: Cell, post: str) -> Cell:
    """Return the errors of the drawn lines, rounded for a terminal."""
    return {
        SHORT.get(name, name): f"{cell['mse'][line(name, post)][0]:.1e}".replace("e-0", "e-")
        for name in STYLES
        if name != PREPRINT or cell.get("known_priors", False)
    }


def corr_rr_wins(cell: Cell, post: str, own: str) -> bool:
    """Return whether Corr-RR with the paper's own rule has the smallest error of the papers' four lines."""
    others = min(cell["mse"][f"{name}|{post}"][0] for name in ("SPL", "RS+FD", "RS+RFD clipped"))
    return bool(cell["mse"][f"{own}|{post}"][0] < others)


QUICK = ("figure-3", "figure-7")
"""Figures for quick runs: one against epsilon, one against rho. Two runs of a figure take three to seven seconds."""

for _name, _layout in LAYOUTS.items():
    PAPER.experiment(_name, _layout.title, _layout.runs, 2 if _name in QUICK else None)(partial(perform, _layout))
