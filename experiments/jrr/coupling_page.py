"""Quotations of results in docs/theory/coupling.md (see `experiments.pages`)."""

from __future__ import annotations

import re

from experiments.jrr.couplings import KARY
from experiments.pages import Page, Results, setting, traced

EPSILONS = (0.1, 0.5, 1.0)


def _short(value: float) -> str:
    """Return a ratio as printed on the page: 1 and 0 have no decimals."""
    return re.sub(r"^⟨(?:(1)\.000|\.(0)00)⟩$", r"⟨\1\2⟩", traced(value, ".3f"))


def _kary(results: Results) -> list[str]:
    quotes = []
    for k, epsilon in KARY:
        row = results.rows("couplings", k=k, epsilon=epsilon)[0]
        cells = " | ".join(_short(float(value)) for key, value in row.items() if key not in ("k", "epsilon"))
        quotes.append(f"| {setting(f'{k}, {epsilon:g}')} | {cells} |")
    return quotes


def _worst(results: Results) -> list[str]:
    quotes = []
    for row in results.rows("couplings-worst-data"):
        equal, worst = (traced(float(row[key]), ".3f") for key in ("others all equal", "worst of the data tried"))
        quotes.append(f"| {setting(row['n'])} | {setting(float(row['epsilon']))} | {equal} | {worst} ")
    return quotes


def _binary(results: Results) -> list[str]:
    def line(method: str, share: float, column: str = "of RR") -> str:
        return " | ".join(
            results.number("couplings-binary", column, ".3f", method=method, share=share, epsilon=epsilon)
            for epsilon in EPSILONS
        )

    jrr, coupled, quota = "JRR, optimum", "report coupling", "quota RR"
    return [
        f"| JRR optimum, f = {setting(0.05)} | {line(jrr, 0.05)} |",
        f"| report coupling, f = {setting(0.05)} | {line(coupled, 0.05)} |",
        f"| QuotaRR, designed at 1/2, f = {setting(0.05)} | {line(quota, 0.05)} |",
        f"| report coupling, f = {setting(0.5)} | {line(coupled, 0.5)} |",
        f"| QuotaRR, designed at 1/2, f = {setting(0.5)} | {line(quota, 0.5)} |",
        f"base rate {setting(0.05)} of the others",
        f"| JRR | {line(jrr, 0.05, 'base rate known')} |",
        f"| report coupling | {line(coupled, 0.05, 'base rate known')} |",
    ]


def _others(results: Results) -> list[str]:
    rare = " | ".join(results.number("couplings-oue", "of OUE", ".3f", epsilon=e) for e in (0.1, 0.5, 1.0, 2.0, 4.0))
    quotes = [f"m = 5 colluders and {setting('128')} values", f"| variance / OUE's variance | {rare} |"]
    for own, epsilon in (("False", 0.5), ("False", 1.0), ("False", 2.0), ("True", 1.0)):
        label = "own pairs for every bit" if own == "True" else "one pairing"
        cells = " | ".join(
            results.number("couplings-peers", "found", ".2f", n=n, epsilon=epsilon, own_pairs=own)
            for n in (200, 2000, 5000)
        )
        quotes.append(f"| {label}, epsilon = {setting(epsilon)} | {cells} |")
    for row in results.rows("couplings-olh"):
        cells = " | ".join(traced(float(value), ".3f") for key, value in row.items() if key != "epsilon")
        quotes.append(f"| epsilon = {setting(float(row['epsilon']))} | {cells} |")
    shares, unknown, seconds = (float(row["value"]) for row in results.rows("couplings-facts"))
    return [
        *quotes,
        f"m = 5. With the same p and rho, row b gives {traced(shares, '.5f')}",
        f"it is {traced(unknown, '.3f')} for a stated epsilon of {setting(0.5)}",
        f"With {setting('128')} bits and {setting('100,000')} contributors, dealing takes {traced(seconds, '.1f')} s",
    ]


PAGE = Page(
    "coupling",
    (_kary, _worst, _binary, _others),
    stated={
        "f = 0 | .01 | 1/k | .5 | 1 | epsilon at delta": "settings",
        "for k = 10, n = 10,000": "a setting",
        "variance | epsilon = .1 | .5 | 1": "settings",
        "epsilon at delta = 1e-6 | epsilon = .1 | .5 | 1": "settings",
        "epsilon | .1 | .5 | 1 | 2 | 4": "settings",
        "such as 1e-6": "the default delta",
        "likelihood of all 128 bits": "a setting",
        "n = 200 | 2000 | 5000": "settings",
        "c is larger than 1/m, but smaller than (1 + 1/196)/m": "P >= 7m: at most 1/14^2",
        "f = 0 | .01 | .05 | .5": "settings",
        "With k = 10 or more values, the gain for rare values is below 4%": "the column f = 0 of the table",
    },
    pictures={},
    paper="jrr",
    theory=True,
)
