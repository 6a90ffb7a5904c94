"""Quotations of claims in docs/papers/corr_rr.md: table rows whose "yes", "no" and "undecided" are read from CSV."""

from __future__ import annotations

import re
from typing import NamedTuple

from experiments.pages import Results, number_of, setting, traced

EQUAL, DESCRIBED, REAL = "with equal marginals", "as described", "real"
POPETS, PREPRINT = "PoPETs", "preprint"
COLUMNS = ((EQUAL, POPETS), (EQUAL, PREPRINT), (DESCRIBED, POPETS), (DESCRIBED, PREPRINT))


class Row(NamedTuple):
    """A row of the page: a place in the paper, and the claims of `claims.csv` that check it.

    Parameters
    ----------
    where, words : str
        Text of the page; its numbers are the paper's.
    figures : str
        Names of figures in `claims.csv`.
    claim : str
        Text of the claim in `claims.csv`.
    """

    where: str
    words: str
    figures: str
    claim: str


EVERY = "figure-3 figure-4 figure-5 figure-6 figure-9 figure-10 figure-13 figure-14"
BEST = "Corr-RR best everywhere"

ROWS = (
    Row("Figures 3 to 6, 9, 10, 13, 14", "the smallest error of the four mechanisms", EVERY, BEST),
    Row("Figures 3, 4", "more than 70% below SPL at rho .9, epsilon .1", "figure-3 figure-4", "70% below SPL"),
    Row("Figures 5, 6", "less than half of RS+RFD's error at d = 6, epsilon .1", "figure-5 figure-6", "half of RS+RFD"),
    Row(
        "Figures 5, 6",
        "less than a quarter of SPL's error at d = 6, epsilon .1",
        "figure-5 figure-6",
        "a quarter of SPL",
    ),
    Row(
        "Figures 7, 8",
        "60% below the best of the others at d = 4, rho .9",
        "figure-7 figure-8",
        "60% below the best baseline",
    ),
    Row(
        "Figures 7, 8",
        "about half of the best of the others at d = 4, rho .1 (.4 to .6)",
        "figure-7 figure-8",
        "about half of it",
    ),
    Row("Figures 7, 8", "above RS+RFD at d = 2, rho .1", "figure-7 figure-8", "worse than RS+RFD"),
    *(
        Row(
            "Figures 7, 8",
            f"below all others from rho .3 on, d = {d}",
            "figure-7 figure-8",
            f"below all from rho .3 on, d = {d}",
        )
        for d in (2, 3, 4)
    ),
    *(
        Row("Figures 7, 8", f"error falls from rho .1 to .9, d = {d}", "figure-7 figure-8", f"falls with rho, d = {d}")
        for d in (2, 3, 4)
    ),
    Row("Figures 9, 10", "more than 40% below RS+RFD at epsilon .1", "figure-9 figure-10", "40% below RS+RFD"),
    Row("Figures 9, 10", "less than a third of SPL's error at epsilon .1", "figure-9 figure-10", "a third of SPL"),
    Row(
        "Figures 9, 10",
        "smaller error with 5% in phase one than with 50%",
        "figure-9 figure-10",
        "5% beats 50% in phase one",
    ),
    Row(
        "4.5",
        "up to 80% below all others (our reading; the text names no baseline)",
        EVERY.replace("figure-9 figure-10", "figure-7 figure-8"),
        "up to 80% below all",
    ),
)

PREPRINT_ROWS = (
    Row(
        "preprint 4 to 7",
        "the smallest error of the four mechanisms",
        "v1-figure-4 v1-figure-5 v1-figure-6 v1-figure-7",
        BEST,
    ),
    Row("preprint 8 to 10", "the smallest error of the four mechanisms", "v1-figure-8 v1-figure-9 v1-figure-10", BEST),
    Row("preprint 4", "about 60% below SPL at rho .9, epsilon 1 (.3 to .5)", "v1-figure-4", "60% below SPL"),
    Row("preprint 7", "more than 90% below SPL at rho .9, epsilon 1", "v1-figure-7", "90% below SPL"),
    Row("preprint 8", "a third of SPL's error or less at epsilon 1", "v1-figure-8", "a third of SPL or less"),
    Row("preprint 9", "over 60% below SPL at d = 6, epsilon 1", "v1-figure-9", "60% below SPL"),
    Row("preprint 9", "up to 5 times below RS+FD at epsilon 1", "v1-figure-9", "a fifth of RS+FD at best"),
    Row("preprint 10", "more than 80% below SPL at d = 6, epsilon 1", "v1-figure-10", "80% below SPL"),
    Row("preprint 11", "nearly 60% below RS+RFD at epsilon 1 (.5)", "v1-figure-11", "nearly 60% below RS+RFD"),
    Row("preprint 11", "a third of SPL's error at epsilon 1", "v1-figure-11", "a third of SPL"),
    Row("preprint 11", "half of SPL's error at epsilon 5", "v1-figure-11", "half of SPL at epsilon 5"),
    Row(
        "preprint 11, 12",
        "the smallest error at 10 and 20% in phase one",
        "v1-figure-11 v1-figure-12",
        "best at 10 to 20%",
    ),
    Row(
        "preprint 13",
        "error falls by nearly 40% from rho .5 to .9, epsilon 1 (.7)",
        "v1-figure-13",
        "falls by nearly 40% from rho .5 to .9, epsilon 1",
    ),
    Row(
        "preprint 13",
        "error falls by half from rho .1 to .9, epsilon 3",
        "v1-figure-13",
        "falls by half from rho .1 to .9, epsilon 3",
    ),
    Row(
        "preprint 13",
        "error falls nearly by half from rho .1 to .9, epsilon 5 (.6)",
        "v1-figure-13",
        "falls nearly by half from rho .1 to .9, epsilon 5",
    ),
)

REAL_ROWS = (
    Row("Figure 11, Clave", "the smallest error of the four mechanisms", "figure-11", "best on Clave"),
    Row("Figure 11, Adult", "the smallest error of the four mechanisms", "figure-11", "best on Adult"),
    Row("Figure 11, Mushroom", "above RS+RFD", "figure-11", "Mushroom: behind RS+RFD"),
    Row(
        "Figure 11, Mushroom",
        "below SPL and RS+FD at epsilon .1 and .2",
        "figure-11",
        "Mushroom: ahead of SPL and RS+FD",
    ),
    Row("preprint 14, Clave", "up to 5 times below SPL at epsilon 1 (.25)", "v1-figure-14", "Clave: a fifth of SPL"),
    Row("preprint 14, Clave", "the smallest error of the four mechanisms", "v1-figure-14", "best on Clave"),
    Row("preprint 14, Nursery", "the smallest error of the four mechanisms", "v1-figure-14", "best on Nursery"),
    Row("preprint 14, Nursery", "over 70% below RS+FD at epsilon 1", "v1-figure-14", "Nursery: 70% below RS+FD"),
    Row("preprint 14, Nursery", "over 70% below RS+RFD at epsilon 1", "v1-figure-14", "Nursery: 70% below RS+RFD"),
    Row("preprint 14, Mushroom", "more than 80% below SPL at epsilon 1", "v1-figure-14", "Mushroom: 80% below SPL"),
    Row("preprint 14, Mushroom", "over 60% below RS+FD at epsilon 1", "v1-figure-14", "Mushroom: 60% below RS+FD"),
)

BASELINE_ROWS = (
    Row("Figures 3, 4", "RS+FD below SPL", "figure-3 figure-4", "RS+FD below SPL"),
    Row(
        "Figures 3, 4", "RS+FD hardly below SPL at rho .9, epsilon .1 (.8)", "figure-3 figure-4", "RS+FD almost as SPL"
    ),
    Row("Figures 3, 4", "RS+RFD below RS+FD", "figure-3 figure-4", "RS+RFD below RS+FD"),
    *(
        Row("Figures 7, 8", f"{name} flat from rho .1 to .9 (.8 to 1.25)", "figure-7 figure-8", f"{line} flat in rho")
        for name, line in (("SPL", "SPL"), ("RS+FD", "RS+FD"), ("RS+RFD", "RS+RFD clipped"))
    ),
)


def cell(r: Results, row: Row, data: str, rule: str) -> str:
    """Return one cell: the verdict, with each figure's ratio and standard error, or with the range of many ratios."""
    found = [r.rows("claims", figure=figure, claim=row.claim, data=data, rule=rule) for figure in row.figures.split()]
    every = [one for (one,) in found]
    verdicts = [one["verdict"] for one in every]
    counts = {word: sum(int(one[word]) for one in every) for word in ("yes", "no", "undecided")}
    some = row.claim.startswith(("up to", "a fifth"))
    if sum(counts.values()) == len(every) and not some:
        ratios = [f"{_short(one, 'largest')} ({_error(one, 'largest error')})" for one in every]
        if len(set(verdicts)) == 1:
            return f"{', '.join(ratios)}: {verdicts[0]}"
        return ", ".join(f"{ratio} {verdict}" for ratio, verdict in zip(ratios, verdicts, strict=True))
    low, high = (pick(every, key=lambda one: float(one[end])) for end, pick in (("smallest", min), ("largest", max)))
    if some:
        word = "yes" if "yes" in verdicts else "undecided" if "undecided" in verdicts else "no"
        return f"{_short(low, 'smallest')} ({_error(low, 'smallest error')}) at best: {word}"
    word = "no" if "no" in verdicts else "undecided" if "undecided" in verdicts else "yes"
    shown = "/".join(traced(count, "d") for count in counts.values())
    return f"{shown}, {_short(low, 'smallest')} to {_short(high, 'largest')}: {word}"


def _short(one: dict[str, str], column: str) -> str:
    return number_of(one, column, ".2f" if float(one[column]) < 10 else ".1f")


def _error(one: dict[str, str], column: str) -> str:
    return number_of(one, column, ".2f" if float(one[column]) >= 0.005 else ".3f")


def counted(r: Results, row: Row, data: str, rule: str) -> list[int]:
    """Return the number of cells with "yes", "no" and "undecided", over all figures of a claim."""
    figures = [r.rows("claims", figure=one, claim=row.claim, data=data, rule=rule)[0] for one in row.figures.split()]
    return [sum(int(one[word]) for one in figures) for word in ("yes", "no", "undecided")]


def contradicted(r: Results, rows: tuple[Row, ...]) -> str:
    """Return cells: the number of rows, and for each column the number of rows with "no"."""
    counts = [sum(bool(re.search(r"\bno\b", cell(r, row, *column))) for row in rows) for column in COLUMNS]
    return " | ".join(traced(count, "d") for count in (len(rows), *counts))


def claim_rows(r: Results) -> list[str]:
    """Return all rows of the page's tables of claims."""
    rows = [_line(r, row, COLUMNS) for row in (*ROWS, *PREPRINT_ROWS)]
    rows += [_line(r, row, ((REAL, POPETS), (REAL, PREPRINT))) for row in REAL_ROWS]
    rows += [_line(r, row, ((EQUAL, ""), (DESCRIBED, ""))) for row in BASELINE_ROWS]
    at_two = r.rows("claims", claim="below all from rho .3 on, d = 2", data=DESCRIBED, rule=PREPRINT)
    failed, every = (
        sum(int(one[word]) for one in at_two for word in words) for words in (("no",), ("yes", "no", "undecided"))
    )
    half = [float(one["largest"]) for one in r.rows("claims", claim="half of RS+RFD")]
    yes, no, undecided = (traced(count, "d") for count in counted(r, ROWS[0], DESCRIBED, POPETS))
    everywhere = traced(sum(counted(r, ROWS[0], EQUAL, POPETS)), "d")
    return [
        *rows,
        f"On the described data Corr-RR has the smallest error in {yes} of {everywhere} cells of the figures. "
        f"In {no} cells another mechanism has the smallest error, and {undecided} cells are undecided",
        f"On equal marginals Corr-RR has the smallest error in all {everywhere} cells of the figures",
        f"holds in none of our cells: the ratio is {traced(min(half), '.2f')} to {traced(max(half), '.2f')}",
        f"| the paper | {contradicted(r, ROWS)} |",
        f"| the preprint | {contradicted(r, PREPRINT_ROWS)} |",
        f"It fails at d = 2 in {traced(failed, 'd')} of {traced(every, 'd')} cells",
    ]


def _line(r: Results, row: Row, columns: tuple[tuple[str, str], ...]) -> str:
    cells = " | ".join(cell(r, row, data, rule) for data, rule in columns)
    return f"| {setting(row.where)} | {setting(row.words)} | {cells} |"


def share_rows(r: Results) -> list[str]:
    """Return the rows about the size of phase one: where the error is smallest, and which sizes are not worse."""
    quotes = []
    for epsilon in (0.1, 0.3, 0.5):
        cells = []
        for data, rule in COLUMNS:
            parts = []
            for figure in ("figure-9", "figure-10"):
                (one,) = r.rows("claims-shares", figure=figure, data=data, rule=rule, epsilon=epsilon)
                best, start, end = (number_of(one, column, ".0%") for column in ("best", "from", "to"))
                parts.append(f"{best} ({start} to {end})")
            cells.append(", ".join(parts))
        quotes.append(f"| {setting(epsilon)} | {' | '.join(cells)} |")
    falls = [
        r.number(
            "claims",
            "largest",
            ".2f",
            figure="figure-7",
            claim=f"falls with rho, d = {d}",
            data=DESCRIBED,
            rule=PREPRINT,
        )
        for d in (2, 3, 4)
    ]
    quotes.append(
        f"error at the largest rho is {falls[0]}, {falls[1]} and {falls[2]} times the error at the smallest rho at d"
    )
    printed = [float(row["best"]) for row in r.rows("claims-printed-shares")]
    least = sum(value == 0.05 for value in printed)
    assert set(printed) == {0.05, 0.1}, "the page says: at 5% or at 10%"
    quotes.append(
        f"smallest at {setting('5%')} in {traced(least, 'd')} of their {traced(len(printed), 'd')} rows and at "
        f"{setting('10%')} in the other {traced(len(printed) - least, 'd')}"
    )
    return quotes
