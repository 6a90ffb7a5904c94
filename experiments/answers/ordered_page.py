"""Quotations of results about ordered answers in docs/papers/answers.md."""

from __future__ import annotations

from experiments.answers.mean_mechanisms import MEANS
from experiments.answers.ordered import EPSILONS, METHODS, SUBSETS
from experiments.pages import Results, number_of, setting, traced

GROUPS = ("k up to 8", "k from 16 on")
PICTURES = {
    "answers-mean.png": "mean-noise.png",
    "answers-decoders.png": "decoders.png",
    "answers-example.png": "example.png",
    "answers-coverage.png": "coverage.png",
}
STATED: dict[str, str] = {
    "shares of 1,000 collections": "runs of `pair-coverage` and `independence`",
    "With only 500 contributors": "results/answers/seeds.csv",
    "every collection cover the truth in .935 to .964 of": "results/answers/seeds.csv",
    "these intervals cover the truth in .926 to .936 of": "results/answers/seeds.csv",
    "cover the truth in .936 to .967 of the runs": "results/answers/seeds.csv",
    "rejects .024 to .058 of": "results/answers/seeds.csv, and the least is the same",
    "in each of the 45": "results/answers/seeds.csv: the number of settings is the same",
    "three epsilons (.7, 1.5 and 3) and three numbers of people (2,000, 20,000 and 200,000)": "settings of `decoders`",
    "500, 20,000 and a million people": "settings of `coverage`",
    "ages in 16 steps": "a scale of `coverage`",
    "Ages of 20,000 reviewers": "setting of `example`",
    "1,000 runs of": "runs of `coverage`",
    "settings 1,000 times": "runs of `coverage`",
    "settings 20 times": "runs of `decoders`",
    "1/4, 1/2 or 3/4": "the quartiles",
    "20 runs each": "runs of `decoders`",
    "W1 is the Wasserstein-1 distance": "a name",
    "W1 over EM's": "a name",
    "the W1 of the decoder divided by the W1 of EM": "a name",
    "the largest ratio of the decoder's W1 to the smallest W1 in": "a name",
    "On long scales (16 values or more)": "a group of scales",
    "On short scales (up to 8 values)": "a group of scales",
    "the same numbers for 16 values": "the scale of the table",
    "| mechanism | epsilon .5 | 1 | 2 | 4 |": "settings of `mean-noise`",
    "interval of 95%": "the level of `coverage`",
    "coverage of exactly 95%": "the level of `coverage`",
    "a probability of at least .99": "the level of the band, FAMILY",
    "the coverage of 95% intervals": "the level of `pair-coverage`",
    "others (2019)": "references",
    "Škoric (2020).": "references",
    "Duchi, Jordan, Wainwright (2018)": "references",
}
"""Numbers of the section that are not results."""


def _means(results: Results) -> list[str]:
    rows = []
    for name in MEANS:
        cells = []
        for epsilon in EPSILONS:
            at = {"mechanism": name, "k": 16, "epsilon": epsilon}
            worst, uniform = (results.number("mean-noise", kind, ".2f", **at) for kind in ("worst", "uniform"))
            cells.append(f"{worst} / {uniform}")
        rows.append(f"| {name} | {' | '.join(cells)} |")
    long = [results.number("mean-noise", "worst", ".2f", mechanism="SquareWave", k=256, epsilon=e) for e in EPSILONS]
    short, wide = (results.rows("mean-hybrid-largest")[i] for i in (0, 1))
    assert len(results.rows("mean-hybrid")) == 52
    return [
        *rows,
        f"On a scale of {setting('256')} values, the largest noise of the square wave is "
        f"{long[0]}, {long[1]}, {long[2]} and {long[3]}",
        f"| square wave over Hybrid, uniform answers | {number_of(short, 'uniform answers', '.2f')} | "
        f"{number_of(wide, 'uniform answers', '.2f')} |",
        f"| square wave over Hybrid, worst answer | {number_of(short, 'at any answer', '.2f')} | "
        f"{number_of(wide, 'at any answer', '.2f')} |",
        f"its error is at most {number_of(short, 'at any answer', '.2f')} times the error of Hybrid",
        f"| subset selection over square wave | {number_of(short, 'subset selection', '.1f')} | "
        f"{number_of(wide, 'subset selection', '.1f')} |",
        f"On scales of {setting('16 to 256')} values, the mean from subset selection has at least "
        f"{number_of(wide, 'subset selection at least', '.1f')} times the square wave's error",
        f"| scales of {setting('4 to 11')} values | scales of {setting('16 to 256')} values |",
    ]


def _decoders(results: Results) -> list[str]:
    found = []
    columns = ("W1 over EM", "worst over EM", "worst over the best", "cells over EM", "quantiles over EM")
    for group in GROUPS:
        for method in METHODS:
            row = results.rows("decoders-summary", scales=group, method=method)[0]
            cells = " | ".join(number_of(row, column, ".2f") for column in columns)
            label = setting(f"{group} ({row['settings']})") if method == METHODS[0] else ""
            found.append(f"| {label} | {method} | {cells} |")
    every = results.rows("decoders")
    best = [float(row[f"cells {SUBSETS}"]) < float(row["cells smooth"]) for row in every]
    assert sum(best) > len(every) / 2, "the page says: in most settings"
    few = [row for row, better in zip(every, best, strict=True) if not better]
    assert sum(int(row["k"]) >= 16 and int(row["n"]) == 2000 for row in few) > len(few) / 2, "the page says: mostly"
    return [*found, f"each of these {traced(len(every), 'd')} settings {setting(every[0]['runs'])} times"]


def _example(results: Results) -> list[str]:
    return [f"{traced(len(results.rows('example')), 'd')} steps of age"]


def _coverage(results: Results) -> list[str]:
    found = []
    for row in sorted(results.rows("coverage-summary"), key=lambda row: row["interval"]):
        cells = " | ".join(number_of(row, column, ".3f") for column in ("least", "mean", "largest"))
        found.append(f"| {row['interval']} | {cells} |")
    low, high = (number_of(results.rows("coverage-summary")[0], end, ".3f") for end in ("from", "to"))
    settings = len(results.rows("coverage"))
    return [*found, f"{traced(settings, 'd')} settings", f"between {low} and {high}"]


def _boxes(results: Results) -> list[str]:
    found = []
    for epsilon in ("0.5", "1", "2"):
        cells = " | ".join(
            results.number("boxes-crossing", "padding is better from", ".0f", epsilon=float(epsilon), ticked_at_most=c)
            for c in (1, 2, 3)
        )
        found.append(f"| {setting(float(epsilon))} | {cells} |")
    twenty = {c: results.number("boxes", "padded over every box", ".2f", epsilon=1, boxes=20, ticked_at_most=c)
              for c in (1, 2, 3)}  # fmt: skip
    return [
        *found,
        f"With {setting('20')} options at epsilon 1, padding to {setting('1, 2 and 3')} ticks has {twenty[1]}, "
        f"{twenty[2]} and {twenty[3]} times the variance",
    ]


PARTS = (_means, _decoders, _example, _coverage, _boxes)
