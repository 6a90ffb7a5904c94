"""Crosstabs: coverage of intervals and level of tests; reports are drawn from their exact distribution.

Contributors are drawn anew in each run. An interval for the population must cover the number in the data set. An
interval for the contributors must cover the number among those who were drawn. A number that the reports do not
determine has the interval of all numbers, which covers it; the tables also count these intervals.
"""

from __future__ import annotations

import importlib
import json
import math
from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from deniable import SimulationRandomness
from deniable.answers.crosstab import crosstabs
from deniable.core.checks import TARGETS
from deniable.core.outputs import atomic_path
from deniable.records.pair_sample import PairSample
from deniable.records.split import SPLPairs
from experiments.answers.paper import PAPER
from experiments.answers.populations import population
from experiments.harness import Cell, Run
from experiments.pictures import BLUE, GREEN, GREY, INK, PURPLE, VERMILLION, dress, panels

ADULT = ["sex", "income", "education", "marital-status", "race", "age"]
BRFSS = ["GenHlth", "Income", "HighBP", "Diabetes_binary", "Education", "Smoker"]
CARDIO = ["age", "cardio", "cholesterol", "gluc", "smoke", "gender"]
SETTINGS: list[Cell] = [
    {"data": data, "columns": columns, "pair": pair, "epsilon": epsilon, "n": n}
    for data, columns, pair, epsilon, n in (
        ("adult", ADULT, ["sex", "income"], 4.0, 20_000),
        ("brfss", BRFSS, ["HighBP", "Diabetes_binary"], 1.0, 20_000),
        ("cardio", CARDIO, ["cholesterol", "cardio"], 2.0, 30_000),
        ("adult", ADULT, ["sex", "income"], 4.0, 500),
        ("brfss", BRFSS, ["GenHlth", "HighBP"], 1.5, 50_000),
        ("adult", ADULT, ["sex", "income"], 4.0, 5_000),
        ("adult", ADULT, ["race", "marital-status"], 1.0, 1_000_000),
    )
]
PUBLIC: list[Cell] = [
    {"data": "public", "columns": ["group", "answer", "reason", "coin", "die"], "pair": pair, "epsilon": 2.0, "n": n}
    for pair, n in ((["group", "answer"], 20_000), (["answer", "reason"], 100_000))
]
MADE = 50_000
"""Largest number of contributors for which reports are made; beyond, their sum is drawn, which is faster."""

QUESTIONS = ("cell", "share", "difference", "odds ratio", "difference, rho dropped")

ASKED: Any = importlib.import_module("deniable.answers.crosstab")


def answers(table: NDArray[np.float64]) -> dict[str, float]:
    """Return the questions for a true table: its first cells, first two rows and first two columns."""
    shares = table[:2, 0] / table[:2].sum(axis=1)
    odds = table[0, 0] * table[1, 1], table[0, 1] * table[1, 0]
    return {
        "cell": float(table[0, 0]),
        "share": float(shares[0]),
        "difference": float(shares[0] - shares[1]),
        "odds ratio": odds[0] / odds[1] if odds[1] else math.inf,
        "difference, rho dropped": float(shares[0] - shares[1]),
    }


def coverage(cell: Cell) -> Cell:
    """Return how often each 95% interval covered the truth, and how often its number was not determined."""
    people = population(cell["data"]).of(tuple(cell["columns"]))
    mechanism = PairSample(people.sizes, cell["epsilon"])
    i, j = (people.names.index(name) for name in cell["pair"])
    law = {"population": answers(people.table(people.shares, i, j))}
    covered: Counter[tuple[str, str]] = Counter()
    determined: Counter[tuple[str, str]] = Counter()
    for run in range(cell["runs"]):
        seed = cell["seed"] * 100_000 + run
        held = people.draw(cell["n"], np.random.default_rng([seed, 2]))
        some = held > 0
        rng = SimulationRandomness(seed)
        if cell["n"] <= MADE:
            reports = mechanism.randomize(np.repeat(people.records[some], held[some], axis=0), rng)
            aggregate = mechanism.aggregate(reports)
        else:
            aggregate = mechanism.simulate_aggregate(people.records[some], held[some], rng)
        table = crosstabs(mechanism, aggregate)[i, j]
        law["contributors"] = answers(people.table(held, i, j))
        for target in TARGETS:
            lower, upper = table.interval(target=target)
            found = {
                "cell": (float(lower[0, 0]), float(upper[0, 0])),
                "share": table.conditional(0, given=0).interval(target=target),
                "difference": table.difference(0, groups=(0, 1)).interval(target=target),
                "odds ratio": table.odds_ratio().interval(target=target),
            }
            with mock.patch.object(ASKED, "_correlation", return_value=0.0):
                found[QUESTIONS[-1]] = table.difference(0, groups=(0, 1)).interval(target=target)
            for name, ends in found.items():
                if all(map(math.isfinite, ends)):
                    determined[target, name] += 1
                    covered[target, name] += ends[0] <= law[target][name] <= ends[1]
    return {
        f"{target}: {name}, {what}": count[target, name] / total
        for target in TARGETS
        for name in QUESTIONS
        for what, count, total in (
            ("covered", covered, max(determined[target, name], 1)),
            ("determined", determined, cell["runs"]),
        )
    }


def report(run: Run, settings: list[Cell]) -> None:
    """Compute and tabulate one row for each setting and question."""
    rows = []
    for cell in run.cells(settings, coverage):
        about = {"data": cell["data"], "pair": " x ".join(cell["pair"]), "epsilon": cell["epsilon"], "n": cell["n"]}
        for name in QUESTIONS:
            row = {**about, "question": name}
            for target in TARGETS:
                bounded, hits = (cell[f"{target}: {name}, {what}"] for what in ("determined", "covered"))
                row |= {
                    f"{target}, covered": 1 - bounded * (1 - hits),
                    f"{target}, determined": bounded,
                    f"{target}, covered where determined": hits if bounded else math.nan,
                }
            rows.append(row)
    run.show(rows, title=f"coverage of 95% intervals in {run.runs} runs")
    run.save_table(rows)
    _save(run, rows)
    run.save_figure(picture(rows, run.runs))


def _save(run: Run, rows: list[Cell]) -> None:
    with atomic_path(run.folder / f"{run.name}.json") as temporary:
        temporary.write_text(
            json.dumps({"runs": run.runs, "seed": run.seed, "rows": rows}, indent=1) + "\n", encoding="utf-8"
        )


def picture(rows: list[Cell], runs: int) -> Figure:
    """Draw the coverage of each question in each setting, with the range that chance allows around .95."""
    figure, (axes,) = panels(1, 8, 4.4)
    styles = zip((BLUE, GREEN, VERMILLION, PURPLE, GREY), "osD^x", strict=True)
    settings = list(dict.fromkeys((row["data"], row["pair"], row["epsilon"], row["n"]) for row in rows))
    for q, (name, (colour, mark)) in enumerate(zip(QUESTIONS, styles, strict=True)):
        own = [row for row in rows if row["question"] == name]
        at = [settings.index((row["data"], row["pair"], row["epsilon"], row["n"])) + (q - 2) * 0.14 for row in own]
        axes.plot(at, [row["population, covered"] for row in own], mark, color=colour, markersize=5, label=name)
    spread = 2 * math.sqrt(0.95 * 0.05 / runs)
    axes.axhspan(0.95 - spread, 0.95 + spread, color="#ececec", zorder=0)
    axes.axhline(0.95, color=INK, linewidth=0.8, zorder=1)
    dress(axes, y="share of 95% intervals that cover")
    axes.set_xticks(
        range(len(settings)),
        [f"{data}, {pair}\nepsilon {e:g}, n = {n:,}" for data, pair, e, n in settings],
        rotation=35,
        ha="right",
        fontsize=8,
    )
    axes.legend(fontsize=8.5, ncols=5, loc="lower left", bbox_to_anchor=(0, 1), frameon=False, handletextpad=0.3)
    return figure


@PAPER.experiment("pair-coverage", "Coverage of crosstabs' intervals on real data", runs=1000)
def pair_coverage(run: Run) -> None:
    """Draw contributors from real data."""
    report(run, SETTINGS)


@PAPER.experiment(
    "pair-coverage-public", "Coverage of crosstabs' intervals on a built-in distribution (no data)", runs=1000, quick=20
)
def pair_coverage_public(run: Run) -> None:
    """Draw contributors from a built-in distribution."""
    report(run, PUBLIC)


# ---------------------------------------------------------------- tests of independence

TABLES: list[Cell] = [
    {"sizes": sizes, "epsilon": epsilon, "n": n}
    for sizes in ([2, 2], [3, 4], [5, 8], [10, 6])
    for epsilon in (0.7, 2.0)
    for n in (500, 2_000, 10_000)
]


def level(cell: Cell) -> Cell:
    """Return how often the tests at level .05 rejected independence: of independent and of dependent attributes."""
    sizes = tuple(cell["sizes"])
    margins = [np.linspace(1, 2, k) / np.linspace(1, 2, k).sum() for k in sizes]
    independent = np.outer(*margins)
    tilt = np.outer(np.linspace(-1, 1, sizes[0]), np.linspace(-1, 1, sizes[1]))
    dependent = independent * (1 + 0.5 * (tilt - (independent * tilt).sum()))
    records = np.stack(np.unravel_index(np.arange(independent.size), sizes), axis=1)
    found: Counter[str] = Counter()
    crowding = 0.0
    for run in range(cell["runs"]):
        seed = cell["seed"] * 100_000 + run
        generator = np.random.default_rng([seed, 3])
        for what, law in (("level", independent), ("power", dependent)):
            held = generator.multinomial(cell["n"], law.ravel() / law.sum())
            for name, mechanism in (
                ("Wald", PairSample(sizes, cell["epsilon"])),
                ("SPL", SPLPairs(sizes, cell["epsilon"])),
            ):
                aggregate = mechanism.simulate_aggregate(records, held, SimulationRandomness(seed))
                tested = mechanism.tables(aggregate)[0, 1].independence()
                crowding = max(crowding, tested.crowding)
                p_value = stats.chi2.sf(tested.statistic, tested.degrees)
                found[f"{name} {what}"] += bool(p_value < 0.05)
    rates = {name: count / cell["runs"] for name, count in sorted(found.items())}
    refused = crowding > ASKED.MOST_CROWDED
    names = [f"{name} {what}" for name in ("Wald", "SPL") for what in ("level", "power")]
    return {"crowding": crowding, "refused": bool(refused), **{name: rates.get(name, 0.0) for name in names}}


@PAPER.experiment("independence", "Level and power of the tests of independence", runs=1000, quick=2)
def independence(run: Run) -> None:
    """Measure the tests, also where the library refuses the Wald test, to show the reason for the refusal."""
    tables = TABLES if run.runs > 20 else TABLES[:4]
    rows = [{**row, "sizes": " x ".join(map(str, row["sizes"]))} for row in run.cells(tables, level)]
    run.show(
        rows, ["sizes", "epsilon", "n", "crowding", "refused", "Wald level", "Wald power", "SPL level", "SPL power"]
    )
    run.save_table(rows)
    _save(run, rows)
    run.save_figure(levels(rows))


def levels(rows: list[Cell]) -> Figure:
    """Draw how often the Wald test rejected independent attributes, and where the library gives no p-value."""
    figure, (axes,) = panels(1, 7, 3.6)
    for refused, colour, mark, label in ((False, BLUE, "o", "p-value given"), (True, VERMILLION, "s", "refused")):
        own = [row for row in rows if row["refused"] == refused]
        axes.plot(
            [row["crowding"] for row in own],
            [row["Wald level"] for row in own],
            mark,
            color=colour,
            markersize=5,
            label=label,
        )
    axes.axhline(0.05, color=INK, linewidth=0.8)
    axes.axvline(ASKED.MOST_CROWDED, color=INK, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    dress(axes, x="$(k_i + k_j)\\, v/N$", y="share of independent answers rejected at .05")
    axes.legend(fontsize=8.5, frameon=False, handletextpad=0.3)
    return figure
