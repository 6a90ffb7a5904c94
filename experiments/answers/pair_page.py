"""Quotations of results about crosstabs in docs/papers/answers.md (see `experiments.pages`)."""

from __future__ import annotations

from experiments.answers.pair_methods import METHODS, REFERENCE, SPL_RAW, WEIGHTED
from experiments.pages import Results, number_of, setting, traced

TABLES, COVERAGE, TESTS = "pair-tables", "pair-coverage", "independence"


def _tables(results: Results) -> list[str]:
    rows = []
    for name in METHODS:
        cells = " | ".join(
            results.number(TABLES, column, spec, method=name)
            for column, spec in (("geometric mean", ".2f"), ("median", ".2f"), ("worst", ".1f"))
        )
        rows.append(f"| {setting(name)} | {cells} |")
    settings = results.rows(f"{TABLES}-settings")
    worse = sum(float(row[WEIGHTED]) > float(row[REFERENCE]) for row in settings)
    ours, most = (results.number(TABLES, column, ".2f", method=WEIGHTED) for column in ("geometric mean", "worst"))
    spl = results.number(TABLES, "geometric mean", ".0f", method=SPL_RAW)
    every = traced(len(settings), "d")
    rows.append(f"Over all {every} settings, this method has {ours} times the error of the reference method")
    assert worse == 0, "the page says: better in every setting"
    rows.append(f"The worst ratio is {most}")
    rows.append(f"The error of SPL (the first row) is {spl} times the error of the reference method")
    return rows


def _coverage(results: Results) -> list[str]:
    found = []
    for row in results.rows(COVERAGE):
        about = f"{row['data']}, {row['pair']}"
        columns = ("contributors, covered", "population, covered", "population, determined")
        cells = " | ".join(number_of(row, column, ".3f") for column in columns)
        at = f"{float(row['epsilon']):g}, {int(row['n']):,}"
        bounded = float(row["population, determined"])
        cells += " | " + (number_of(row, "population, covered where determined", ".3f") if bounded else "-")
        found.append(f"| {setting(about)} | {setting(at)} | {setting(row['question'])} | {cells} |")
    return found


def _tests(results: Results) -> list[str]:
    rows = results.rows(TESTS)
    given = [float(row["Wald level"]) for row in rows if row["refused"] == "False"]
    refused = [float(row["Wald level"]) for row in rows if row["refused"] == "True"]
    spl = [float(row["SPL level"]) for row in rows]
    ends = [traced(one, ".3f") for one in (min(given), max(given), min(spl), max(spl))]
    found = [
        f"In the {traced(len(given), 'd')} settings with a p-value, the Wald test rejected between {ends[0]} and "
        f"{ends[1]} of independent",
        f"This test rejected between {ends[2]} and {ends[3]}",
    ]
    if refused:
        found.append(
            f"In the settings without a p-value, the Wald test would have rejected up to {traced(max(refused), '.2f')}"
        )
    return found


STATED = {
    "intervals in 1,000 collections. Each collection": "the default of --runs",
    "chance allows around .95 in 1,000 collections": "the level, and the default of --runs",
    "We tested 1,000 collections of independent answers": "the default of --runs",
    "in each setting, at level .05": "the level",
    "independent answers at .05": "the level",
    "weighted shrinkage with beta 0": "a name",
    "Each mark is the share of 1,000 collections": "the default of --runs",
}
"""Texts with numbers that are not results."""

PICTURES = {
    "answers-pair-tables.png": "pair-tables.png",
    "answers-pair-coverage.png": "pair-coverage.png",
    "answers-independence.png": "independence.png",
}
"""Picture of the page -> picture among the results."""


PARTS = (_tables, _coverage, _tests)
