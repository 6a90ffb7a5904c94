"""Figure 6, benchmark 1: errors of algorithms that estimate CPL, which depend on the reference.

CBP is left out because its privacy definition is missing from the text. GRF takes each correlated pair; the table also
has the other reading, connected components. ITS is inferred (`deniable.research.adversary.benchmarks.its`), and is
equal to GRR-ANL, as in the paper.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from matplotlib.axes import Axes

from deniable.leakage.prior.empirical_prior import observed
from deniable.research.adversary.attacks import attack_channel
from deniable.research.adversary.benchmarks import MECHANISMS, benchmark_algorithms, leakage_matrix
from experiments.cpl.data import LOADERS
from experiments.cpl.paper import PAPER, Floats
from experiments.cpl.pictures import DATA_COLOURS, DATA_MARKS
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREY, ORANGE, PURPLE, VERMILLION, dress, note, panels

EPSILON = 1.0
REFERENCES = ("Algorithm 2", "GRR, channel", "OUE, channel", "OUE, attack")
SHOWN = {
    "SPL-ANL": ("o", GREY),
    "GRF(0.2)": ("s", PURPLE),
    "GRF(0.4)": ("D", ORANGE),
    "ITS": ("^", BLUE),
    "EXP-ANL": ("v", VERMILLION),
}


@PAPER.experiment("fig6", "Benchmark 1: algorithms that estimate CPL, epsilon 1")
def benchmark(run: Run) -> None:
    """Measure undershoot and overshoot against four references on three data sets."""

    def compute(cell: Cell) -> Cell:
        table = LOADERS[cell["data"]]()
        priors = observed(table.records, table.sizes)
        name, _, kind = cell["reference"].partition(", ")
        reference = None
        if name in MECHANISMS:
            mechanisms = [MECHANISMS[name](k, EPSILON) for k in priors.kept_domains]
            guesses = kind == "attack"
            reference = leakage_matrix(priors, [attack_channel(m) for m in mechanisms] if guesses else mechanisms)
        points = benchmark_algorithms(table.records, table.sizes, EPSILON, reference=reference)
        return {"points": [{**asdict(point), "region": point.region} for point in points]}

    settings = [{"data": data, "reference": reference} for data in LOADERS for reference in REFERENCES]
    cells = run.cells(settings, compute)
    rows = []
    for cell in cells:
        for point in cell["points"]:
            rows.append(
                {
                    "data": cell["data"],
                    "reference": cell["reference"],
                    "algorithm": point["name"],
                    "undershoot": round(point["undershoot"], 12),
                    "overshoot": round(point["overshoot"], 12),
                    "region": point["region"],
                }
            )
    columns = ["data", "algorithm", "undershoot", "overshoot", "region"]
    generic = [row for row in rows if row["reference"] == "Algorithm 2"]
    run.show(generic, columns, "Benchmark 1 against Algorithm 2")
    its = [row for row in rows if row["reference"] != "Algorithm 2" and row["algorithm"] == "ITS"]
    run.show(its, ["data", "reference", "undershoot", "overshoot", "region"], "ITS against other references")
    run.save_table(rows)
    figure, axes = panels(3, 11, 4.2, sharex=True, sharey=True)
    for panel, data in zip(axes, LOADERS, strict=True):
        (cell,) = (c for c in cells if (c["data"], c["reference"]) == (data, "Algorithm 2"))
        _plane(panel, f"{data}, against Algorithm 2", 0.6, 1.0, roots=True)
        for point in [point for point in cell["points"] if point["name"] in SHOWN]:
            mark, colour = SHOWN[point["name"]]
            x, y = point["undershoot"], point["overshoot"]
            panel.plot(x, y, mark, color=colour, markersize=8, zorder=4, clip_on=False)
            name = "ITS = GRR-ANL" if point["name"] == "ITS" else point["name"]
            on_axis = y < 1e-9
            aside = (-6, 10) if point["name"] == "EXP-ANL" else (9, 10)
            note(panel, (x, y), name, colour, aside if on_axis else (9, 0), turn=90 if on_axis else 0)
    axes[0].set_ylabel("overshoot (leakage that is not there)", size=9, color=GREY)
    run.save_figure(figure)
    figure, (panel,) = panels(1, 5.6, 4.2)
    _plane(panel, "ITS, against OUE: its attack or its report", 0.055, 0.15)
    panel.set_ylabel("overshoot (leakage that is not there)", size=9, color=GREY)
    kinds = {"OUE, attack": "attack", "OUE, channel": "report"}
    for data, colour in DATA_COLOURS.items():
        for reference in kinds:
            (cell,) = (c for c in cells if (c["data"], c["reference"]) == (data, reference))
            (point,) = (point for point in cell["points"] if point["name"] == "ITS")
            hollow = reference == "OUE, attack"
            fill = "white" if hollow else colour
            x, y = point["undershoot"], point["overshoot"]
            panel.plot(
                x, y, DATA_MARKS[data], color=colour, markerfacecolor=fill, markersize=8, zorder=4, clip_on=False
            )
            text, offset = f"{data}, {kinds[reference]}", (9, 0) if hollow else (6, 10)
            note(panel, (x, y), text, colour, offset, turn=0 if hollow else 90)
    run.save_figure(figure, "-oue")


def _plane(panel: Axes, title: str, right: float, top: float, *, roots: bool = False) -> None:
    """Draw the plane of benchmark 1 with named regions; with `roots`, square-root axes show small values."""
    dress(panel, title, "undershoot (leakage not seen)" + "; square-root axes" * roots)
    if roots:
        panel.set_xscale("function", functions=(_root, np.square))
        panel.set_yscale("function", functions=(_root, np.square))
        panel.set_xticks([0, 0.05, 0.1, 0.2, 0.4])
        panel.set_yticks([0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8])
    panel.set_xlim(0, right)
    panel.set_ylim(0, top)
    panel.fill_between([0, right], 0, top, color="#f4f4f4", zorder=0)
    panel.plot([0, right], [0, 0], color="#e2a07a", linewidth=4, zorder=1, solid_capstyle="butt")
    panel.plot([0, 0], [0, top], color="#8db8dc", linewidth=4, zorder=1, solid_capstyle="butt")
    places = {
        "R3: both": (0.97, 0.97, "right"),
        "R2: cautious": (0.04, 0.97, "left"),
        "R1: a risk": (1.0, 0.1, "right"),
    }
    for text, (x, y, align) in places.items():
        panel.text(x, y, text, transform=panel.transAxes, size=8, color=GREY, ha=align, va="center", style="italic")


def _root(values: Floats) -> Floats:
    return np.sqrt(np.maximum(values, 0))
