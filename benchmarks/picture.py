"""Draw the ratios."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.run import Comparison

COLOURS = {
    "multi-freq-ldpy": "#1f5a8c",
    "pure-ldp": "#c2701c",
    "ldp-toolbox": "#2f7f4f",
    "pure-ldp CMS": "#8c2d04",
    "pure-ldp HCMS": "#d94f70",
    "pure-ldp HR": "#6a51a3",
}


def draw_ratios(comparisons: Sequence[Comparison], path: Path) -> None:
    """Draw each ratio with its range, goal and bound (from random bits or from reading), on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys((one.case, one.verb) for one in comparisons))
    figure, axes = pyplot.subplots(figsize=(8, 0.42 * len(names) + 1.6), layout="constrained")
    for position, (case, verb) in enumerate(names):
        group = [one for one in comparisons if (one.case, one.verb) == (case, verb)]
        for number, one in enumerate(group):
            y = position + (number - (len(group) - 1) / 2) * 0.64 / max(len(group), 2)
            colour = COLOURS[one.peer]
            axes.plot((one.ratio.least, one.ratio.most), (y, y), color=colour, linewidth=1.5)
            axes.plot(one.ratio.median, y, "o", color=colour, markersize=6)
            axes.plot(one.bound.median, y, "o", markerfacecolor="white", markeredgecolor=colour, markersize=5)
        goal = case.goals.get(verb)
        if goal is not None:
            axes.plot((goal, goal), (position - 0.4, position + 0.4), color="black", linewidth=1.5)
    axes.set_yticks(range(len(names)), [f"{case.name} ({case.domain}) {verb}" for case, verb in names])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("times less processor time per report than the peer (logarithmic)")
    axes.grid(axis="x", color="0.88")
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    peers = [peer for peer in COLOURS if any(one.peer == peer for one in comparisons)]
    handles = [Line2D([], [], marker="o", color=COLOURS[peer], label=f"against {peer}") for peer in peers]
    handles.append(
        Line2D(
            [],
            [],
            marker="o",
            linestyle="",
            markerfacecolor="white",
            markeredgecolor="0.3",
            label="random bits, or reading, alone",
        )
    )
    handles.append(Line2D([], [], marker="|", linestyle="", color="black", markersize=10, label="goal"))
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
