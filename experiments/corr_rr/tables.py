"""Tables 2 and 4 to 9 of the PoPETs version: printed cells beside ours, on both kinds of data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from experiments.corr_rr.layouts import SOURCES
from experiments.corr_rr.measure import measure, rows_of
from experiments.corr_rr.paper import PAPER, expected
from experiments.corr_rr.pictures import HEADINGS, STYLES, curves, dress, legend, panels
from experiments.corr_rr.populations import SOURCES as GENERATORS, Synthetic
from experiments.harness import Cell, Run
from experiments.ocms.statistics import Comparison, randomness, rounding_error

LINES = {"RS+RFD": "RS+RFD clipped|raw", "Corr-RR": "Corr-RR|raw"}
"""Our lines that are compared with the printed rows."""

READINGS = LINES | {name: f"{name}|raw" for name in ("Corr-RR preprint", "Corr-RR copying")}
"""Other readings of the printed Corr-RR, by the rule for copies."""

TABLES = ("4", "5", "6", "7", "8", "9")
LIMIT = 3.0
"""Cells beyond this |z| are counted as disagreeing; among 180 correct cells, half a cell is expected to disagree."""


def settings(table: str, source: str) -> list[Cell]:
    """Return the 30 settings of one table, epsilon by epsilon."""
    printed = expected()["tables"][table]
    base = {"data": printed["data"], "source": source, "k": 4, "d": 2, "rho": 0.1, "n": printed["n"]}
    return [
        base | {"share": n1 / printed["n"], "epsilon": float(epsilon)}
        for epsilon in printed["cells"]["Corr-RR"]
        for n1 in printed["n1"]
    ]


def compared(cell: Cell, method: str, printed: str) -> Comparison:
    """Return our cell beside the printed one.

    The paper averages 100 repetitions and prints no error. We assume that its repetitions vary as much as ours. Then
    its cell has the standard error s/sqrt(100), and ours has s/sqrt(runs). The error of rounding to the printed digits
    is added.
    """
    mean, deviation = cell["mse"][READINGS[method]]
    theirs = math.hypot(deviation / math.sqrt(expected()["runs"]), rounding_error(printed))
    return Comparison(mean, deviation / math.sqrt(cell["runs"]), float(printed), theirs)


def comparisons(table: str, cells: Sequence[Cell], methods: Sequence[str] = tuple(LINES)) -> list[Cell]:
    """Return one row per method and printed cell: epsilon, n1, the paper's number, ours with its error, and z."""
    printed = expected()["tables"][table]
    rows = []
    for method in methods:
        numbers = [number for row in printed["cells"][method.split()[0]].values() for number in row]
        for cell, number in zip(cells, numbers, strict=True):
            both = compared(cell, method, number)
            rows.append(
                {
                    "table": table,
                    "data": cell["source"],
                    "method": method,
                    "epsilon": cell["epsilon"],
                    "n1": round(cell["share"] * cell["n"]),
                    "paper": float(number),
                    "ours": both.measured,
                    "error": both.error,
                    "z": both.z,
                }
            )
    return rows


def verdict(rows: Sequence[Cell]) -> dict[str, Any]:
    """Return the number of cells that disagree, chi-squared per cell, and the ratio to the paper's numbers."""
    z = np.array([row["z"] for row in rows])
    ratios = np.array([row["ours"] / row["paper"] for row in rows])
    return {
        "cells": len(rows),
        f"|z| > {LIMIT:g}": int((np.abs(z) > LIMIT).sum()),
        "chi2/cell": float((z**2).mean()),
        "largest |z|": float(np.abs(z).max()),
        "ours/paper": float(np.exp(np.log(ratios).mean())),
        "largest": float(ratios.max()),
    }


def perform(table: str, run: Run) -> None:
    """Measure one table on both kinds of data, and print where it agrees."""
    printed = expected()["tables"][table]
    cells = {source: run.cells(settings(table, source), measure) for source in SOURCES}
    rows = [row for source in SOURCES for row in comparisons(table, cells[source])]
    run.save_table(rows)
    run.save_table([row for source in SOURCES for row in rows_of(cells[source])], "-all")
    title = f"Table {table}: {printed['data']}, n = {printed['n']:,}, rho = .1, d = 2, k = 4; {run.runs} runs"
    run.show(_side_by_side(rows), title=title)
    run.save_figure(_picture(table, cells))
    summarise(run, rows)


def summarise(run: Run, rows: Sequence[Cell]) -> list[Cell]:
    """Print and return the verdict for each method and kind of data."""
    found = [
        {"data": source, "method": method}
        | verdict([row for row in rows if (row["data"], row["method"]) == (source, method)])
        for source in dict.fromkeys(row["data"] for row in rows)
        for method in dict.fromkeys(row["method"] for row in rows)
    ]
    run.show(found, title="agreement with the printed cells")
    return found


def by_table(rows: Sequence[Cell]) -> list[Cell]:
    """Return chi-squared per cell and the largest |z| for each reading of the printed Corr-RR, by table."""
    return [
        {"data": source, "method": method, "in table": table}
        | {name: value for name, value in found.items() if name in ("cells", "|z| > 3", "chi2/cell", "largest |z|")}
        for source in GENERATORS
        for method in list(READINGS)[1:]
        for table in TABLES
        for found in [
            verdict([row for row in rows if (row["data"], row["method"], row["table"]) == (source, method, table)])
        ]
    ]


def _side_by_side(rows: Sequence[Cell]) -> list[Cell]:
    """Return one row per printed cell, with our cells on both kinds of data."""
    half = len(rows) // 2
    return [
        {
            **{name: described[name] for name in ("method", "epsilon", "n1")},
            "paper": f"{described['paper']:.3e}",
            "described": f"{described['ours']:.3e}",
            "z": described["z"],
            "equal": f"{equal['ours']:.3e}",
            "z ": equal["z"],
        }
        for described, equal in zip(rows[:half], rows[half:], strict=True)
    ]


def _picture(table: str, cells: dict[str, list[Cell]]) -> Any:
    printed = expected()["tables"][table]
    figure, axes = panels(len(SOURCES), 3)
    for source, row in zip(SOURCES, axes, strict=True):
        for i, (epsilon, panel) in enumerate(zip(printed["cells"]["Corr-RR"], row, strict=True)):
            own = cells[source][10 * i : 10 * i + 10]
            lines = {name: [cell["mse"][LINES[name.split()[0]]][0] for cell in own] for name in DRAWN}
            curves(panel, printed["n1"], lines)
            for name in DRAWN:
                theirs = [float(number) for number in printed["cells"][name.split()[0]][epsilon]]
                panel.plot(printed["n1"], theirs, "x", color=STYLES[name].colour, markersize=8, markeredgewidth=1.6)
            title = f"{HEADINGS[source]}, epsilon = {epsilon}"
            dress(panel, title, "contributors of phase one", "mean squared error" if i == 0 else "")
    cross = Line2D([], [], color="#5f5f5f", marker="x", linestyle="", markersize=7, label="the paper's cells")
    legend(figure, DRAWN, [cross])
    return figure


DRAWN = ("RS+RFD clipped", "Corr-RR")

for _table in TABLES:
    _printed = expected()["tables"][_table]
    _title = f"Table {_table}: {_printed['data']}, n = {_printed['n']:,}, sizes of phase one"
    PAPER.experiment(f"table-{_table}", _title, 100, 2 if _table == "6" else None)(partial(perform, _table))


@PAPER.experiment(
    "agreement", "Tables 4-9 together: number of the 360 cells that agree, on three kinds of data", runs=250
)
def agreement(run: Run) -> None:
    """Measure only the printed cells of all six tables, and count the cells that disagree."""
    rows = []
    for source in GENERATORS:
        for table in TABLES:
            brief = [cell | {"brief": True} for cell in settings(table, source)]
            rows += comparisons(table, run.cells(brief, measure, version=2), tuple(READINGS))
    run.save_table(rows)
    run.save_table(summarise(run, rows), "-summary")
    run.save_table(by_table(rows), "-readings")
    equal = [row for row in rows if row["data"] == "equal_marginals" and row["method"] in LINES]
    run.save_table([row for row in equal if abs(row["z"]) > LIMIT], "-beyond")
    raw = [_unclipped(cell, row["paper"]) for cell, row in _noisiest(run)]
    ratios = [ratio for ratio, _ in raw]
    run.save_table(
        [{"cells": len(raw), "least": min(ratios), "most": max(ratios), "least z": min(z for _, z in raw)}],
        "-unclipped",
    )
    for source in GENERATORS:
        beyond = [row for row in rows if row["data"] == source and abs(row["z"]) > LIMIT]
        places: dict[str, list[int]] = {}
        for row in beyond:
            places.setdefault(f"table {row['table']}, {row['method']}, epsilon {row['epsilon']}", []).append(row["n1"])
        for place, sizes in places.items():
            run.say(f"{HEADINGS[source]}: {place}: |z| > {LIMIT:g} at n1 = {', '.join(map(str, sizes))}")


def _unclipped(cell: Cell, paper: float) -> tuple[float, float]:
    """Return RS+RFD's raw error over the printed one, and their difference in Monte-Carlo errors of both."""
    mean, spread = cell["mse"]["RS+RFD|raw"]
    return mean / paper, (mean - paper) / (
        spread * math.hypot(1 / math.sqrt(cell["runs"]), 1 / math.sqrt(expected()["runs"]))
    )


def _noisiest(run: Run) -> list[tuple[Cell, Cell]]:
    """Return RS+RFD's cells at n = 200, epsilon .1 and n1 up to 20, with the printed ones."""
    found = []
    for source in SOURCES:
        for table in ("4", "7"):
            cells = run.cells([cell | {"brief": True} for cell in settings(table, source)], measure, version=2)
            rows = comparisons(table, cells)[: len(cells)]  # RS+RFD comes first in the printed tables
            found += [
                (cell, row) for cell, row in zip(cells, rows, strict=True) if row["epsilon"] == 0.1 and row["n1"] <= 20
            ]
    return found


# ---------------------------------------------------------------- Table 2

PARENTS = {"SynA": (0, 0, 0)}


def tree(data: str, rho: str) -> tuple[int, ...]:
    """Return the parents that fit Table 2's correlations; SynB's parents were drawn, and differ between the columns."""
    found: tuple[int, ...] = PARENTS.get(data) or tuple(expected()["table2"]["parents"][rho])
    return found


def correlations(cell: Cell) -> Cell:
    """Return the six correlations of one column: exact, and their standard deviation over data sets of n records."""
    source = Synthetic(cell["source"], 4, 4, cell["rho"], tuple(cell["parents"]))
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    drawn = []
    for run in range(cell["runs"]):
        group = source.draw(cell["n"], randomness(cell, run).generator)
        covariance = np.cov(group.records.T, fweights=group.counts)
        scale = np.sqrt(np.diag(covariance))
        drawn.append([covariance[i, j] / (scale[i] * scale[j]) for i, j in pairs])
    spread = np.array(drawn).std(axis=0, ddof=1)
    return {"exact": [source.correlation(i, j) for i, j in pairs], "deviation": spread.tolist()}


@PAPER.experiment("table-2", "Table 2: correlations of SynA and SynB, by generator", runs=200, quick=4)
def table_2(run: Run) -> None:
    """Compare the printed correlations with those of each generator, at n = 20,000 as in the paper."""
    printed = expected()["table2"]
    cells = run.cells(
        [
            {"data": data, "source": source, "rho": float(rho), "n": 20_000, "parents": list(tree(data, rho))}
            for source in GENERATORS
            for data in ("SynA", "SynB")
            for rho in printed["columns"]
        ],
        correlations,
    )
    rows = []
    for cell in cells:
        numbers = printed["columns"][f"{cell['rho']}"][cell["data"]]
        for pair, number, exact, deviation in zip(
            printed["pairs"], numbers, cell["exact"], cell["deviation"], strict=True
        ):
            both = Comparison(exact, 0.0, float(number), math.hypot(deviation, rounding_error(number)))
            rows.append(
                {
                    **{name: cell[name] for name in ("source", "data", "rho")},
                    "pair": pair,
                    "paper": float(number),
                    "exact": exact,
                    "deviation": deviation,
                    "z": both.z,
                }
            )
    run.save_table(rows)
    for source in GENERATORS:
        own = [row for row in rows if row["source"] == source]
        run.show([{name: row[name] for name in list(row)[1:]} for row in own], title=f"Table 2 beside {source}")
        z = np.array([row["z"] for row in own])
        run.say(f"{source}: {int((np.abs(z) > LIMIT).sum())} of {len(own)} disagree, largest |z| {np.abs(z).max():.3g}")
    figure, axes = panels(1, len(GENERATORS), height=3.4)
    for source, panel in zip(GENERATORS, axes[0], strict=True):
        for data, marker, colour in (("SynA", "o", "#0072B2"), ("SynB", "s", "#D55E00")):
            own = [row for row in rows if (row["source"], row["data"]) == (source, data)]
            exact, paper = [row["exact"] for row in own], [row["paper"] for row in own]
            panel.plot(exact, paper, marker, markersize=7, color=colour, markerfacecolor="none", label=data)
        panel.plot([-0.25, 1], [-0.25, 1], color="#8a8a8a", linewidth=0.8, zorder=1)
        heading = source.replace("_", " ")
        dress(panel, heading, "correlation by the generator", "printed" if panel is axes[0][0] else "")
    axes[0][0].legend(frameon=False, fontsize=9)
    run.save_figure(figure)
