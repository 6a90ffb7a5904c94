"""Table 3, figures 1 and 2: the four data sets by their counts, and two of them from real records."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from typing import Any

import numpy as np

from deniable import SimulationRandomness
from experiments.harness import Cell, Run, data_file
from experiments.jrr.methods import METHODS, PERCENTILES, build, comparison, count_variance, errors, setting, z_of
from experiments.jrr.paper import DATASETS, EPSILONS, PAPER, expected
from experiments.jrr.pictures import legend
from experiments.pictures import GREY, dress, panels

KOSARAK_CONTRIBUTORS = 20_000


def dataset_cells(run: Run) -> list[Cell]:
    """Return every data set, epsilon and method with its errors."""
    settings = [
        {**setting(n, count, epsilon), "data": name} for name, (n, count) in DATASETS.items() for epsilon in EPSILONS
    ]
    return run.cells(comparison(settings), errors)


@PAPER.experiment("table-3", "Table 3 and figure 1: MSE on the four data sets, five mechanisms", runs=1000)
def table_3(run: Run) -> None:
    """Measure the MSE on every data set; compare closed forms with a second implementation's."""
    cells = dataset_cells(run)
    rows = [
        {
            "data": cell["data"],
            "epsilon": cell["epsilon"],
            "method": cell["method"],
            "MSE": cell["mse"],
            "closed form": cell["theory"],
            "z": round(z_of(cell), 2),
            "of RR": cell["theory"] / _rr(cells, cell)["theory"],
        }
        for cell in cells
    ]
    run.show(rows, title="MSE of the estimated number of ones")
    run.save_table(rows)
    largest = max(abs(row["z"]) for row in rows)
    run.say(f"largest |z| of {len(rows)} cells between measured and closed form: {largest:.2f}")
    names = {"mse_rr": "RR", "mse_alg1": "JRR, Algorithm 1", "mse_opt_exact": "JRR, optimum"}
    differences = []
    for entry in expected()["second_implementation"]["table3"]:
        for key, method in names.items():
            mechanism = build(method, setting(entry["n"], entry["n1"], entry["eps"], entry["M"]))
            ours = count_variance(mechanism, entry["n"], entry["n1"])
            differences.append(abs(ours / entry[key] - 1))
    run.say(f"closed forms against a second implementation's, {len(differences)} cells: within {max(differences):.1e}")
    figure, axes = panels(len(EPSILONS), 11, 3.6)
    for panel, epsilon in zip(axes, EPSILONS, strict=True):
        for j, (name, style) in enumerate(METHODS.items()):
            chosen = [cell for cell in cells if (cell["epsilon"], cell["method"]) == (epsilon, name)]
            places = [list(DATASETS).index(cell["data"]) + (j - 2) * 0.13 for cell in chosen]
            panel.scatter(places, [cell["mse"] for cell in chosen], s=26, marker=style.mark, color=style.colour)
        panel.set_yscale("log")
        panel.set_xticks(range(len(DATASETS)), list(DATASETS))
        panel.grid(axis="y", color="0.92", linewidth=0.7)
        dress(panel, f"epsilon {epsilon:g}", y="MSE of the count" if panel is axes[0] else "")
    legend(figure)
    run.save_figure(figure)


def _rr(cells: list[Cell], like: Cell) -> Cell:
    same = ("data", "n", "count", "epsilon")
    return next(cell for cell in cells if cell["method"] == "RR" and all(cell.get(k) == like.get(k) for k in same))


@PAPER.experiment("fig-2", "figure 2: percentiles of the relative error on the four data sets", runs=1000)
def fig_2(run: Run) -> None:
    """Measure percentiles of the ARE; the paper states the 80th for Kosarak at epsilon .1."""
    cells = dataset_cells(run)
    at_80 = PERCENTILES.index(80)
    rows = [
        {
            "data": cell["data"],
            "epsilon": cell["epsilon"],
            "method": cell["method"],
            **{f"{level}%": cell["percentiles"][PERCENTILES.index(level)] for level in (20, 50, 80, 95)},
        }
        for cell in cells
    ]
    run.show(rows, title=f"ARE, percentiles over {run.runs} deals")
    run.save_table(rows)
    stated = {"JRR, Algorithm 1": 0.7, "RR": 1.45}
    for cell in cells:
        if (cell["data"], cell["epsilon"]) == ("Kosarak", 0.1) and cell["method"] in stated:
            run.say(
                f"Kosarak, epsilon .1, 80th percentile, {cell['method']}: {cell['percentiles'][at_80]:.3f}; "
                f"the paper reads {stated[cell['method']]}"
            )
    figure, axes = panels(len(DATASETS), 12, 8.4, rows=len(EPSILONS))
    for i, epsilon in enumerate(EPSILONS):
        for j, data in enumerate(DATASETS):
            panel = axes[i * len(DATASETS) + j]
            for name, style in METHODS.items():
                for cell in cells:
                    if (cell["data"], cell["epsilon"], cell["method"]) == (data, epsilon, name):
                        panel.plot(PERCENTILES, cell["percentiles"], color=style.colour, linewidth=1.4)
            panel.set_xlim(0, 100)
            panel.set_ylim(bottom=0)
            panel.grid(color="0.93", linewidth=0.6)
            dress(panel, f"{data}, epsilon {epsilon:g}", "percentile" if i == 2 else "", "ARE" if j == 0 else "")
    legend(figure)
    run.save_figure(figure)


def real_answers() -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
    """Return one binary answer per contributor: recommended (E-commerce), and visits to a page (Kosarak).

    The paper does not say which of Kosarak's pages has 659 visitors among which 20,000; among the first 20,000 no page
    has. Taken is the page with the nearest number.
    """
    with data_file("womens_clothing.csv").open(newline="", encoding="utf-8") as file:
        recommended = np.array([int(row["Recommended IND"]) for row in csv.DictReader(file)])
    with gzip.open(data_file("kosarak_first100k.dat.gz"), "rt", encoding="ascii") as lines:
        baskets = [set(line.split()) for _, line in zip(range(KOSARAK_CONTRIBUTORS), lines, strict=False)]
    visitors = Counter(page for basket in baskets for page in basket)
    page = min(visitors, key=lambda page: (abs(visitors[page] - DATASETS["Kosarak"][1]), page))
    return {"E-commerce": recommended, f"Kosarak, page {page}": np.array([int(page in basket) for basket in baskets])}


def record_errors(mechanism: Any, answers: Any, runs: int, rng: SimulationRandomness) -> np.ndarray[Any, Any]:
    """Return the errors of the count over `runs` deals in which every contributor answers with their own share."""
    n, count = len(answers), int(answers.sum())
    found = []
    for _ in range(runs):
        reports = mechanism.randomize(answers, mechanism.deal(n, rng), rng)
        found.append(mechanism.estimate(mechanism.aggregate(reports)).frequencies[1] * n - count)
    return np.array(found)


@PAPER.experiment("real-records", "E-commerce and Kosarak, record by record through dealer and contributors", runs=200)
def real_records(run: Run) -> None:
    """Deal, randomise and aggregate real answers; the MSE must be the closed form's."""
    answers = real_answers()

    def compute(cell: Cell) -> Cell:
        mechanism = build(cell["method"], cell)
        rng = SimulationRandomness(cell["seed"])
        squares = record_errors(mechanism, answers[cell["data"]], cell["runs"], rng) ** 2
        return {
            "mse": float(squares.mean()),
            "mse_error": float(squares.std(ddof=1) / np.sqrt(len(squares))),
            "theory": count_variance(mechanism, cell["n"], cell["count"]),
        }

    settings = [{**setting(len(one), int(one.sum()), 0.1), "data": name} for name, one in answers.items()]
    cells = run.cells(comparison(settings), compute)
    rows = [
        {
            "data": cell["data"],
            "n": cell["n"],
            "ones": cell["count"],
            "method": cell["method"],
            "MSE": cell["mse"],
            "closed form": cell["theory"],
            "z": round(z_of(cell), 2),
        }
        for cell in cells
    ]
    run.show(rows, title=f"epsilon .1, {run.runs} deals")
    run.save_table(rows)
    figure, axes = panels(len(answers), 9, 3)
    for panel, name in zip(axes, answers, strict=True):
        for j, (method, style) in enumerate(METHODS.items()):
            cell = next(cell for cell in cells if (cell["data"], cell["method"]) == (name, method))
            panel.errorbar(cell["mse"], j, xerr=2 * cell["mse_error"], fmt=style.mark, color=style.colour, markersize=5)
            panel.plot([cell["theory"]] * 2, [j - 0.3, j + 0.3], color=GREY, linewidth=1.2)
        panel.set_xscale("log")
        panel.set_yticks(range(len(METHODS)), list(METHODS) if panel is axes[0] else [""] * len(METHODS))
        panel.invert_yaxis()
        dress(panel, name, "MSE of the count; bars: closed form")
    run.save_figure(figure)
