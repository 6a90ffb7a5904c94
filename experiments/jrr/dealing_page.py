"""Quotations of results in docs/theory/dealing.md (see `experiments.pages`)."""

from __future__ import annotations

import re

from benchmarks.dealing import Measured, law

from experiments.pages import Page, Results, setting, traced

CLOCK = {
    (3, "network"): ".129 | .042",
    (3, "resharing"): ".031 | .008",
    (5, "network"): ".596 | .085",
    (5, "resharing"): ".288 | .029",
}
"""Clock and processor seconds of a shuffle for n = 500, which are not stored: not traced."""
PROCESSOR = {
    (3, "network"): "7 + .0082 L (5 %)",
    (3, "resharing"): "1.7 + .012 n (11 %)",
    (5, "network"): "13 + .017 L (5 %)",
    (5, "resharing"): "6 + .043 n (7 %)",
}
"""Formulas for processor milliseconds: not traced."""
TIMES = (
    "| 3 helpers, shuffle only, mpyc's own shuffle | 24.8 | 9.43 | 788 |",
    "| 3 helpers, deal of quotas, network | .595 | .156 | 95.2 |",
    "| 3 helpers, deal of quotas, resharing | .618 | .122 | 79.6 |",
    "| 5 helpers, shuffle only, mpyc's own shuffle | 63.2 | 11.8 | 1800 |",
    "| 5 helpers, deal of quotas, network | 1.61 | .268 | 210 |",
    "| 5 helpers, deal of quotas, resharing | 1.63 | .209 | 186",
    "shuffle | 40 + .037 n^2 (9 %) | .34 n + .0026 n^2 (5 %) | 8 + .91 n + .046 n^2 (3 %) | 1.0 n + .0055 n^2 (6 %)",
    "deal of quotas, network | 84 + .017 L (6 %) | 50 + .011 L (6 %) | 150 + .030 L (9 %) | 110 + .024 L (5 %)",
    "deal of quotas, resharing | 78 + .085 n (3 %) | 46 + .064 n (5 %) | 136 + .16 n (9 %) | 105 + .17 n (3 %)",
)
UNKEPT = "`python -m benchmarks.dealing`, whose results are not kept"


def _measured(results: Results, helpers: int, shuffle: str) -> list[Measured]:
    return [
        Measured(f"shuffle, {shuffle}", helpers, int(row["n"]), 0, 0, int(row["bytes"]))
        for row in results.rows("dealing", shuffle=shuffle, helpers=helpers)
    ]


def _sent(results: Results) -> list[str]:
    return [
        f"| {helpers} helpers, shuffle only, {shuffle} | {setting(seconds)} | "
        f"{traced(_measured(results, helpers, shuffle)[-1].bytes_sent / 1000, '.1f')} |"
        for (helpers, shuffle), seconds in CLOCK.items()
    ]


def _formulas(results: Results) -> list[str]:
    def formula(helpers: int, shuffle: str) -> str:
        text = law(_measured(results, helpers, shuffle), "kB", lambda row: row.bytes_sent / 1000)
        *coefficients, within = (float(number) for number in re.findall(r"(?<!log)\d[\d.]*", text))
        digits = " + ".join(traced(coefficient, ".2g") for coefficient in coefficients)
        return f"{digits} {'n' if shuffle == 'resharing' else 'L'} ({traced(within, '.0f')} %)"

    return [
        f"| shuffle only, {shuffle} | "
        + " | ".join(f"{setting(PROCESSOR[helpers, shuffle])} | {formula(helpers, shuffle)}" for helpers in (3, 5))
        + " |"
        for shuffle in ("network", "resharing")
    ]


def _protocol(results: Results) -> list[str]:
    def fact(name: str) -> str:
        return results.number("quotas-facts", "value", ".0f", fact=name)

    def accepted(k: int) -> str:
        found = [float(row["accepted"]) for row in results.rows("quotas-acceptance", k=k)]
        return f"between {traced(min(found), '.2f')} and {traced(max(found), '.3f')} for k = {k}"

    return [
        f"The number of groups is {fact('groups of 3 helpers')} for 3 helpers, {fact('groups of 4 helpers')} for 4 "
        f"helpers and {fact('groups of 5 helpers')} for 5 helpers",
        f"the network for n = 4 has {fact('switches of n = 4')} switches",
        f"which is {fact('switches of n = 500')} at n = 500",
        f"n = {setting('20, 500 and 2,000')} and epsilon = .1, 1 and 3, the probability that a "
        f"trial is accepted is {accepted(2)}, and {accepted(10)}",
    ]


PAGE = Page(
    "dealing",
    (_sent, _formulas, _protocol),
    stated={
        "have about 194 bits": "`_TOP_BITS` of quota/tables.py",
        "ISC 2011": "the reference",
        "so 32 settings, and 32 settings cannot give each of the 24 permutations": "2^5 and 4!",
        "(load 8 to 12)": UNKEPT,
        **dict.fromkeys(TIMES, UNKEPT),
        "took 12 seconds and 1.6 MB": UNKEPT,
        "The formula would give 3.9 MB": "the formula 46 + .064 n at n = 60,000",
    },
    pictures={},
    paper="jrr",
    theory=True,
)
