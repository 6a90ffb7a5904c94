"""Dependence of Table I on the encodings of Adult and Cardio, which the paper does not give."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from experiments.cpl.attacks import EPSILONS, SYMMETRIC, attack_nmse
from experiments.cpl.data import Table, adult, cardio, equal_widths, quantiles
from experiments.cpl.paper import PAPER, expected
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREY, dress, note, panels

ENCODINGS: dict[str, dict[str, Callable[[], Table]]] = {
    "Adult": {
        "quartiles": adult,
        "halves": lambda: adult(partial(quantiles, bins=2)),
        "tenths": lambda: adult(partial(quantiles, bins=10)),
        "5 equal widths": lambda: adult(partial(equal_widths, bins=5)),
        "10 equal widths": lambda: adult(partial(equal_widths, bins=10)),
        "quartiles, complete rows": lambda: adult(complete=True),
        "quartiles, no fnlwgt, education-num": lambda: adult(without=("fnlwgt", "education-num")),
        "quartiles, no native-country": lambda: adult(without=("native-country",)),
        "quartiles, categories below 1% merged": lambda: merged(adult(), 0.01),
        "quartiles, categories below 5% merged": lambda: merged(adult(), 0.05),
    },
    "Cardio": {
        "quartiles": cardio,
        "fifths": lambda: cardio(partial(quantiles, bins=5)),
        "tenths": lambda: cardio(partial(quantiles, bins=10)),
        "5 equal widths": lambda: cardio(partial(equal_widths, bins=5)),
        "10 equal widths": lambda: cardio(partial(equal_widths, bins=10)),
    },
}
OURS = "quartiles"


def merged(table: Table, share: float) -> Table:
    """Merge the categories of an attribute that are rarer than a share, if there are several."""
    columns = []
    for column in table.records.T:
        rare = np.bincount(column) < share * len(column)
        joined = np.where(rare[column], len(rare), column) if rare.sum() > 1 else column
        columns.append(np.unique(joined, return_inverse=True)[1].astype(np.uint8))
    sizes = tuple(int(column.max()) + 1 for column in columns)
    return Table(np.column_stack(columns), sizes, table.names)


@PAPER.experiment("encodings", "Table I under other encodings of Adult and Cardio")
def encodings(run: Run) -> None:
    """Scan encodings without fitting: their spread shows how much agreement with the paper's numbers can mean."""

    def compute(cell: Cell) -> Cell:
        table = ENCODINGS[cell["data"]][cell["encoding"]]()
        return {"nmse": {f"{epsilon:g}": attack_nmse(table, epsilon) for epsilon in EPSILONS}}

    settings = [{"data": data, "encoding": name} for data, choices in ENCODINGS.items() for name in choices]
    cells = run.cells(settings, compute)
    rows = []
    for data in ENCODINGS:
        for epsilon in EPSILONS:
            key = f"{epsilon:g}"
            paper = expected()["table1"][data][key]
            rows.append({"data": data, "epsilon": epsilon, "encoding": "the paper", **paper, "largest difference": ""})
            for cell in [cell for cell in cells if cell["data"] == data]:
                nmse = cell["nmse"][key]
                worst = max(abs(nmse[name] - paper[name]) for name in SYMMETRIC)
                rows.append(
                    {
                        "data": data,
                        "epsilon": epsilon,
                        "encoding": cell["encoding"],
                        **{name: nmse[name] for name in paper},
                        "largest difference": worst,
                    }
                )
    shown = [
        {
            "data": row["data"],
            "eps": f"{row['epsilon']:g}",
            "encoding": row["encoding"],
            "largest difference": row["largest difference"],
        }
        for row in rows
        if row["encoding"] != "the paper"
    ]
    run.show(shown, title="Table I, six mechanisms: largest difference from the paper")
    run.save_table(rows)
    figure, axes = panels(2, 10.5, 5.4, rows=2)
    for place, panel in enumerate(axes):
        data, epsilon = list(ENCODINGS)[place // 2], EPSILONS[place % 2]
        key = f"{epsilon:g}"
        paper = expected()["table1"][data][key]
        for y, name in enumerate(SYMMETRIC):
            own = [cell for cell in cells if cell["data"] == data]
            values = [cell["nmse"][key][name] for cell in own]
            panel.plot(values, [y] * len(values), "o", color="#b5b5b5", markersize=5, zorder=2)
            panel.plot(values[0], y, "o", color=BLUE, markersize=7, zorder=3)
            panel.plot(paper[name], y, "|", color="black", markersize=15, markeredgewidth=1.8, zorder=4)
        dress(panel, f"{data}, epsilon {epsilon:g}", "NMSE against Algorithm 2" if place > 1 else "")
        panel.set_xlim(0.15, 0.67)
        panel.set_ylim(len(SYMMETRIC) - 0.5, -0.7)
        panel.set_yticks(range(len(SYMMETRIC)), SYMMETRIC)
        panel.grid(axis="x", color="0.93")
        panel.set_axisbelow(True)
    note(axes[0], (0.47, 0.0), "bar: the paper", "black", (0, 0))
    note(axes[0], (0.47, 0.7), "blue: quartiles, as elsewhere", BLUE, (0, 0))
    note(axes[0], (0.47, 1.4), "grey: other encodings", GREY, (0, 0))
    run.save_figure(figure)
