"""Table 3, figures 1 and 2: the four data sets by their counts, and two of them with real records."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from typing import Any

import numpy as np

from deniable import SimulationRandomness
from deniable.core.spec import content_hash
from experiments.harness import Cell, Run, data_file
from experiments.jrr import second
from experiments.jrr.methods import (
    METHODS,
    PERCENTILES,
    build,
    comparison,
    count_variance,
    errors,
    relative_errors,
    setting,
    z_of,
)
from experiments.jrr.paper import COLLUDERS, DATASETS, EPSILONS, PAPER
from experiments.jrr.pictures import STATED, legend
from experiments.pictures import BLUE, GREY, VERMILLION, dress, panels

RATINGS = {1: 183_784, 2: 113_034, 3: 169_791, 4: 307_740, 5: 1_248_721}
"""Stars -> ratings in Amazon's ratings_Beauty.csv (McAuley, UCSD), as two readers print them: 2,023,070 in all."""


def dataset_cells(run: Run) -> list[Cell]:
    """Return the errors of each data set, epsilon and method."""
    settings = [
        {**setting(n, count, epsilon), "data": name} for name, (n, count) in DATASETS.items() for epsilon in EPSILONS
    ]
    return run.cells(comparison(settings), errors)


@PAPER.experiment("table-3", "Table 3 and figure 1: MSE on the four data sets, five mechanisms", runs=1000, quick=5)
def table_3(run: Run) -> None:
    """Measure the MSE on each data set; compare closed forms with brute force."""
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
    differences = [
        abs(count_variance(build(method, setting(n, count, epsilon)), n, count) / value - 1)
        for n, count in DATASETS.values()
        for epsilon in EPSILONS
        for method, value in second.three(n, count, epsilon, COLLUDERS).items()
    ]
    run.say(f"closed forms against brute force without the library, {len(differences)} cells: {max(differences):.1e}")
    run.save_table(
        [{"cells": len(rows), "largest |z|": largest, "by brute force": len(differences),
          "largest difference": max(differences)}],
        "-checks",
    )  # fmt: skip
    figure, axes = panels(len(EPSILONS), 12, 4, sharey=True)
    for panel, epsilon in zip(axes, EPSILONS, strict=True):
        for j, (name, style) in enumerate(METHODS.items()):
            chosen = [cell for cell in cells if (cell["epsilon"], cell["method"]) == (epsilon, name)]
            places = [list(DATASETS).index(cell["data"]) + (j - 2) * 0.15 for cell in chosen]
            panel.scatter(
                places, [cell["mse"] for cell in chosen], s=26, marker=style.mark, color=style.colour, zorder=3
            )
            for place, cell in zip(places, chosen, strict=True):
                panel.plot([place - 0.1, place + 0.1], [cell["theory"]] * 2, color="black", linewidth=0.8, zorder=4)
        for between in range(1, len(DATASETS)):
            panel.axvline(between - 0.5, color="0.9", linewidth=0.8)
        panel.set_yscale("log")
        panel.set_xticks(range(len(DATASETS)), list(DATASETS))
        panel.grid(axis="y", color="0.92", linewidth=0.7)
        panel.set_axisbelow(True)
        dress(panel, f"epsilon {epsilon:g}", y="MSE of the count; thin lines: exact" if panel is axes[0] else "")
    legend(figure, lines=False)
    run.save_figure(figure)


def _rr(cells: list[Cell], like: Cell) -> Cell:
    same = ("data", "n", "count", "epsilon")
    return next(cell for cell in cells if cell["method"] == "RR" and all(cell.get(k) == like.get(k) for k in same))


@PAPER.experiment("fig-2", "Figure 2: percentiles of the relative error on the four data sets", runs=1000)
def fig_2(run: Run) -> None:
    """Measure percentiles of the ARE; the paper gives the 80th for Kosarak at epsilon .1."""
    cells = dataset_cells(run)
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
    over_seeds = _over_seeds(run)
    figure, axes = panels(len(DATASETS), 12, 8.4, rows=len(EPSILONS), sharex=True, sharey="row")
    for i, epsilon in enumerate(EPSILONS):
        for j, data in enumerate(DATASETS):
            panel = axes[i * len(DATASETS) + j]
            for name, style in METHODS.items():
                for cell in cells:
                    if (cell["data"], cell["epsilon"], cell["method"]) == (data, epsilon, name):
                        panel.plot(PERCENTILES, cell["percentiles"], color=style.colour, linewidth=1.4)
            if (data, epsilon) == STATED_AT:
                for name, value in STATED_80.items():
                    panel.plot(80, value, **STATED)
                    row = over_seeds[name]
                    panel.plot([80, 80], [row["5%"], row["95%"]], color=METHODS[name].colour, linewidth=5, alpha=0.4)
            panel.set_xlim(0, 100)
            panel.set_yscale("log")
            panel.grid(color="0.93", linewidth=0.6)
            dress(panel, f"{data}, epsilon {epsilon:g}", "percentile" if i == 2 else "", "ARE" if j == 0 else "")
    legend(figure, marks=False, stated="the paper's 80th percentiles")
    run.save_figure(figure)


STATED_AT = ("Kosarak", 0.1)
STATED_80 = {"JRR, Algorithm 1": 0.7, "RR": 1.45}
"""The 80th percentiles that the paper gives for figure 2(b)."""

SEEDS = 200


def _percentiles(one: Cell) -> Cell:
    """Compute one cell: percentiles of the ARE in each of `SEEDS` repetitions of the figure, from sums of reports."""
    n, count = one["n"], one["count"]
    mechanism = build(one["method"], one)
    rng = SimulationRandomness(int(content_hash(one)[:15], 16))
    reported = mechanism.simulate_counts(np.array([n - count, count]), one["runs"] * SEEDS, rng)[:, 1]
    q = 1 - mechanism.p
    are = relative_errors((reported - n * q) / (mechanism.p - q), n, count).reshape(SEEDS, one["runs"])
    return {"percentiles": np.percentile(are, PERCENTILES, axis=1).T.tolist()}


def _over_seeds(run: Run) -> dict[str, Cell]:
    """Repeat the figure: how often all percentiles of JRR are below RR's, and the spread of the 80th percentiles."""
    settings = [
        {**setting(n, count, epsilon), "data": name, "method": method, "part": "seeds"}
        for name, (n, count) in DATASETS.items()
        for epsilon in EPSILONS
        for method in STATED_80
    ]
    found = {
        (cell["data"], cell["epsilon"], cell["method"]): np.array(cell["percentiles"])
        for cell in run.cells(settings, _percentiles)
    }
    rows, below = [], []
    for data in DATASETS:
        for epsilon in EPSILONS:
            lower = found[data, epsilon, "JRR, Algorithm 1"] < found[data, epsilon, "RR"]
            below.append(lower)
            rows.append({"data": data, "epsilon": epsilon, "percentiles below RR's": float(lower.mean()),
                         "figures with all below": float(lower.all(axis=1).mean())})  # fmt: skip
    rows.append({"data": "all", "epsilon": "", "percentiles below RR's": float(np.mean(below)),
                 "figures with all below": float(np.all(below, axis=(0, 2)).mean())})  # fmt: skip
    run.show(rows, title=f"JRR by Algorithm 1 below RR, {SEEDS} repetitions of {run.runs} deals")
    run.save_table(rows, "-seeds")
    intervals = {}
    for name, stated in STATED_80.items():
        values = found[(*STATED_AT, name)][:, PERCENTILES.index(80)]
        intervals[name] = {
            "method": name,
            "paper": stated,
            **{label: float(np.percentile(values, level)) for label, level in (("5%", 5), ("50%", 50), ("95%", 95))},
            "least": float(values.min()),
            "most": float(values.max()),
        }
    run.show(intervals.values(), title="80th percentile, Kosarak, epsilon .1, over the repetitions")
    run.save_table(intervals.values(), "-80th")
    return intervals


PAGES, CLICKS = 100, 20_000
"""Numbers in appendix J: 100 random pages, 20,000 click events."""


Integers = np.ndarray[Any, np.dtype[np.int64]]


def clicks() -> Integers:
    """Return the number of clicks on each page of Kosarak, by the first 100,000 of its 990,002 users."""
    with gzip.open(data_file("kosarak_first100k.dat.gz"), "rt", encoding="ascii") as lines:
        return np.array(sorted(Counter(page for line in lines for page in line.split()).values()))


def visits() -> tuple[list[Integers], int]:
    """Return the visitors of each page of Kosarak and the number of users, for the other reading of appendix J."""
    with gzip.open(data_file("kosarak_first100k.dat.gz"), "rt", encoding="ascii") as lines:
        pages = [np.unique(np.array(line.split(), dtype=np.int64)) for line in lines]
    user = np.repeat(np.arange(len(pages)), [len(one) for one in pages])
    every = np.concatenate(pages)
    order = np.argsort(every, kind="stable")
    places = np.flatnonzero(np.diff(every[order])) + 1
    return np.split(user[order], places), len(pages)


def drawn_visitors(draws: int, rng: np.random.Generator) -> Integers:
    """Return how many of 20,000 random users visited one of 100 random pages, for `draws` such choices."""
    pages, users = visits()
    held = np.array(
        [len(np.unique(np.concatenate([pages[i] for i in rng.choice(len(pages), PAGES, replace=False)])))
         for _ in range(draws)]
    )  # fmt: skip
    return rng.hypergeometric(held, users - held, CLICKS)


def drawn_ones(draws: int, rng: np.random.Generator) -> Integers:
    """Return how many of 20,000 random click events are on 100 random pages, for `draws` such choices."""
    counts = clicks()
    targets = [int(rng.choice(counts, PAGES, replace=False).sum()) for _ in range(draws)]
    return rng.hypergeometric(targets, int(counts.sum()) - np.array(targets), CLICKS)


@PAPER.experiment(
    "data-counts", "Counts of table 3 against counts in the data sets that appendix J describes", runs=20_000
)
def data_counts(run: Run) -> None:
    """Draw Kosarak's 100 pages and 20,000 contributors `--runs` times; also compare Amazon's and E-commerce's counts.

    A contributor is a click, as in appendix J, or a user, who holds 1 after a visit to any of the pages. Amazon's
    counts are counts of ratings. They do not describe a draw of customers, who may have rated several products.
    """
    readings = {
        "Kosarak": drawn_ones(run.runs, SimulationRandomness(run.seed).generator),
        "Kosarak, users": drawn_visitors(run.runs, SimulationRandomness(run.seed).generator),
    }
    rows: list[Cell] = []
    for name, ones in readings.items():
        chance = float((ones >= DATASETS["Kosarak"][1]).mean())
        rows.append(
            {
                "data": name,
                "printed": DATASETS["Kosarak"][1],
                "expected": float(np.median(ones)),
                "5%": float(np.percentile(ones, 5)),
                "95%": float(np.percentile(ones, 95)),
                "at least the printed": chance,
                "error": float(np.sqrt(chance * (1 - chance) / run.runs)),
            }
        )
    share, (n, printed) = RATINGS[1] / sum(RATINGS.values()), DATASETS["Amazon"]
    rows.append(
        {
            "data": "Amazon",
            "printed": printed,
            "expected": n * share,
            "share": share,
        }
    )
    shop = real_answers()["E-commerce"]
    rows.append({"data": "E-commerce", "printed": DATASETS["E-commerce"][1], "expected": int(shop.sum())})
    run.show(rows, title=f"Ones in the data sets; Kosarak: median of {run.runs:,} draws")
    run.save_table(rows)
    figure, (panel,) = panels(1, 7, 3)
    for (name, ones), colour in zip(readings.items(), (BLUE, VERMILLION), strict=True):
        label = "contributors are users" if "users" in name else "contributors are clicks"
        panel.hist(ones, bins=np.geomspace(8, 8000, 70).tolist(), color=colour, alpha=0.7, label=label)
    panel.legend(frameon=False, fontsize=8.5)
    panel.axvline(DATASETS["Kosarak"][1], color="black", linewidth=2)
    panel.text(DATASETS["Kosarak"][1] * 1.06, panel.get_ylim()[1] * 0.9, "Table 3: 659", size=8.5)
    panel.set_xscale("log")
    dress(panel, f"Kosarak, {run.runs:,} choices of 100 pages", "ones among 20,000 contributors", "choices")
    run.save_figure(figure)


def real_answers() -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
    """Return binary answers of contributors: recommended (E-commerce); clicks on 100 random pages (Kosarak, seed 1).

    For Kosarak, one choice of pages and clicks is drawn as in appendix J. Its number of ones is not the 659 of Table 3,
    which about one choice in a hundred has.
    """
    with data_file("womens_clothing.csv").open(newline="", encoding="utf-8") as file:
        recommended = np.array([int(row["Recommended IND"]) for row in csv.DictReader(file)])
    ones = int(drawn_ones(1, SimulationRandomness(1).generator)[0])
    return {"E-commerce": recommended, "Kosarak": np.repeat([0, 1], [CLICKS - ones, ones])}


def record_errors(mechanism: Any, answers: Any, runs: int, rng: SimulationRandomness) -> np.ndarray[Any, Any]:
    """Return the errors of the count over `runs` deals in which each contributor uses their own share."""
    n, count = len(answers), int(answers.sum())
    found = []
    for _ in range(runs):
        reports = mechanism.randomize(answers, mechanism.deal(n, rng), rng)
        found.append(mechanism.estimate(mechanism.aggregate(reports)).frequencies[1] * n - count)
    return np.array(found)


@PAPER.experiment("real-records", "E-commerce and Kosarak: each record through dealer and contributor", runs=200)
def real_records(run: Run) -> None:
    """Deal, randomise and aggregate real answers; the MSE must fit the closed form."""
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
    figure, axes = panels(len(answers), 9, 3, sharex=True, sharey=True)
    for panel, name in zip(axes, answers, strict=True):
        for j, (method, style) in enumerate(METHODS.items()):
            cell = next(cell for cell in cells if (cell["data"], cell["method"]) == (name, method))
            panel.errorbar(cell["mse"], j, xerr=2 * cell["mse_error"], fmt=style.mark, color=style.colour, markersize=5)
            panel.plot([cell["theory"]] * 2, [j - 0.3, j + 0.3], color=GREY, linewidth=1.2)
        panel.set_xscale("log")
        panel.set_yticks(range(len(METHODS)), list(METHODS))
        panel.set_ylim(len(METHODS) - 0.5, -0.5)
        dress(panel, name, "MSE of the count; upright lines: exact")
    run.save_figure(figure)
