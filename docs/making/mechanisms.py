"""Pages of the mechanisms: purpose, use, error, code with its output, and source of each.

The pages are made from the classes' cards and docstrings; errors are computed. `docs/mechanisms.md` lists them.
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from deniable import designs
from deniable.answers import crosstab_error
from deniable.core.card import Card, Group
from deniable.core.names import cards, mechanism_class
from deniable.planning import plan

DOCS = Path(__file__).parents[1]

EPSILON = 1.0
CONTRIBUTORS = (1_000, 10_000, 100_000)
ATTRIBUTES = 4
RECORDS = ("records", "two phases")

DECODING = {
    "counts": "counters",
    "compares": "one comparison for every report and every value",
    "transform": "one transform, all values",
}
"""Cost of decoding, as the text of a table cell."""

DECODES = {
    "counts": "The collector keeps counters and computes the estimates directly from the counters",
    "compares": "The collector compares every report with every value whose frequency it estimates",
    "transform": "The collector keeps counters, and one transform turns them into the estimates of all frequencies",
    "varies": "The hash family decides how the collector decodes reports. The parameter `family` explains each family",
}
"""Cost of decoding, as a sentence."""

ONE_QUESTION = (
    "The question has k possible answers, numbered from 0 to k-1. The number of an answer is its *code*. The number of "
    "contributors is n."
)
SEVERAL_QUESTIONS = (
    "A *record* holds one contributor's answers to d questions, which are also called attributes. Attribute j has "
    "k_j possible answers, numbered from 0. The number of an answer is its *code*. The number of contributors is n. "
    "An *oracle*, for example [`GRR`](grr.md) or [`OUE`](oue.md), is a mechanism for one attribute."
)
DEALER = "A *dealer* hands out one secret *share* to every contributor before the answers are collected."
COLLUDER = "A *colluder* is a contributor who reveals its share to the collector."

GROUPS = {
    "one attribute": "These mechanisms ask one question that has a list of possible answers.",
    "dictionaries": "These mechanisms ask one question whose answer is a word of a long list.",
    "open text": "This mechanism asks one question whose possible answers nobody can list.",
    "records": "These mechanisms ask several questions at once.",
    "two phases": (
        "These mechanisms ask several questions in two phases. The second phase uses what the first phase showed."
    ),
    "dealt": (
        "These mechanisms need a dealer. The dealer hands out secret shares and must not collude with the collector."
    ),
    "baselines": ("These mechanisms are here for comparison. The page of each one names the mechanism to use instead."),
}

WAVE_POINTS = (5, 11, 101)


class Errors(NamedTuple):
    """A table of errors: its description, its first columns, and one number per number of contributors."""

    said: str
    head: tuple[str, ...]
    rows: Sequence[tuple[tuple[str, ...], Sequence[float]]]
    contributors: tuple[int, ...] = CONTRIBUTORS


HALF_WIDTH = (
    "The table shows the half-width of the 95% interval for one frequency, in percentage points. The half-width is "
    "computed at epsilon 1, for an answer that almost nobody gives. Here k is the number of possible answers, and n is "
    "the number of contributors."
)


def half_width(variance: float) -> float:
    """Return the half-width of a 95% interval in percentage points."""
    return 100 * 1.959964 * math.sqrt(variance)


def _planned(names: Sequence[str], sizes: Sequence[int], count: int = 1, said: str = HALF_WIDTH) -> Errors:
    """Return the errors that a plan gives, for each name and size."""
    rows = []
    for name in names:
        for k in sizes:
            (row,) = plan([k] * count, EPSILON, contributors=CONTRIBUTORS[0], mechanisms=[name]).rows
            error = row.half_width if row.mean_standard_error is None or row.half_width else row.mean_standard_error
            if error is None:
                continue
            scaled = [100 * error * math.sqrt(CONTRIBUTORS[0] / n) for n in CONTRIBUTORS]
            if row.half_width is None:  # a biased error does not fall with the square root of n
                scaled = [
                    100 * float(one.mean_standard_error or math.nan)
                    for n in CONTRIBUTORS
                    for one in plan([k] * count, EPSILON, contributors=n, mechanisms=[name]).rows
                ]
            rows.append(((f"`{name}`", f"{k:,}"), scaled))
    return Errors(said, ("name", "k"), rows)


def _built(name: str, sizes: Sequence[int], contributors: tuple[int, ...], **given: Any) -> Errors:
    """Return errors from the variance of mechanisms built for k values and n contributors."""
    cls: Any = mechanism_class(name)
    accepted = inspect.signature(cls).parameters
    rows = []
    for k in sizes:
        found = []
        for n in contributors:
            sized = {"n": n, "deal_id": "page"} if "deal_id" in accepted else {}
            domain = {"sizes": (k,) * ATTRIBUTES} if "sizes" in accepted else {"k": k}
            one = cls(epsilon=EPSILON, **domain, **sized, **given)
            found.append(half_width(one.variance(0.0, n)))
        rows.append(((f"{k:,}",), found))
    return Errors(HALF_WIDTH, ("k",), rows, contributors)


def _coupled(name: str, sizes: Sequence[int], **given: Any) -> Errors:
    """Return errors of the optimum for five colluders."""
    cls: Any = mechanism_class(name)
    rows, contributors = [], CONTRIBUTORS[:2]
    for k in sizes:
        domain = {"k": k} if "k" in inspect.signature(cls.optimal).parameters else {}
        built = [cls.optimal(n=n, epsilon=EPSILON, colluders=5, **domain, **given) for n in contributors]
        rows.append(
            ((f"{k:,}",), [half_width(one.variance(0.0, n)) for one, n in zip(built, contributors, strict=True)])
        )
    said = (
        f"{HALF_WIDTH} This epsilon of 1 is nominal. It bounds what an adversary learns from one report and from the "
        "dealt shares of five other contributors. It is not a bound for an adversary who sees all reports. The method "
        "`optimal` chose the parameters for this epsilon."
    )
    return Errors(said, ("k",), rows, contributors)


def _batches() -> Errors:
    cls: Any = mechanism_class("QuotaBatches")
    rows = []
    for k in (2, 16):
        built = [cls(epsilon=EPSILON, size=500, batches=n // 500, k=k, deal_id="page") for n in CONTRIBUTORS[:2]]
        found = [half_width(one.variance(0.0, n)) for one, n in zip(built, CONTRIBUTORS, strict=False)]
        rows.append(((f"{k:,}",), found))
    return Errors(f"{HALF_WIDTH} A batch has 500 contributors.", ("k",), rows, CONTRIBUTORS[:2])


def _means() -> Errors:
    cls: Any = mechanism_class("SquareWave")
    rows = []
    for k in WAVE_POINTS:
        wave, scores, flat = cls(k=k, epsilon=EPSILON), np.linspace(0, 1, k), np.full(k, 1 / k)
        rows.append(((f"{k:,}",), [half_width(wave.linear_variance(scores, flat, n)) for n in CONTRIBUTORS]))
    said = (
        "The table shows the half-width of the 95% interval for the mean, in percent of the scale's range. The "
        "half-width is computed at epsilon 1, for answers that are all equally frequent. Here k is the number of "
        "points of the scale, and n is the number of contributors."
    )
    return Errors(said, ("k",), rows)


def _tables() -> Errors:
    cls: Any = mechanism_class("PairSample")
    rows = []
    for k in (2, 4):
        sampled = cls((k,) * ATTRIBUTES, EPSILON)
        rows.append(((f"{k:,}",), [100 * crosstab_error(sampled, n, (0, 1)).cell for n in CONTRIBUTORS]))
    said = (
        "The table shows the half-width of the 95% interval for one cell of a table of two questions, in percentage "
        "points. The half-width is computed at epsilon 1, for four questions with k possible answers each. All answers "
        "are equally frequent. Here n is the number of contributors."
    )
    return Errors(said, ("k",), rows)


def _classical() -> Errors:
    rows = []
    built = {
        "Warner, 3/4": designs.warner("3/4"),
        "forced answers, two dice": designs.forced(yes="1/6", no="1/12"),
        "crosswise, a birthday in three months": designs.crosswise("1/4"),
    }
    for said, design in built.items():
        found = [half_width(design.variance(0.1, n)) for n in CONTRIBUTORS]
        rows.append(((said, f"{float(max(design.odds)):.3g}"), found))
    said = (
        "The table shows the half-width of the 95% interval for the share of people who carry a trait, in percentage "
        "points. The half-width is computed for a true share of 10%. The column *odds at most* bounds what a report "
        "reveals. It is the largest factor by which a report can raise the odds that a contributor carries the trait. "
        "Here n is the number of contributors."
    )
    return Errors(said, ("design", "odds at most"), rows)


SINGLE = (2, 16, 1_000)
FOUR = (2, 4, 16)
FOUR_SAID = HALF_WIDTH.replace(
    "Here k is the number of possible answers,", "There are four questions with k possible answers each,"
)
BIASED_SAID = (
    "The table shows the root of the mean squared error in percentage points, with the bias included. The error is "
    "computed at epsilon 1, for answers that are all equally frequent. There are four questions with k possible "
    "answers each, and n is the number of contributors."
)
NOISE_SAID = (
    "The table shows how much chance changes the estimate of one frequency, in percentage points: 1.96 standard "
    "deviations of the estimate. The numbers are computed at epsilon 1, for an answer that almost nobody gives. Here k "
    "is the number of possible answers, and n is the number of contributors. The numbers do not include the bias, so "
    "they are not half-widths of intervals. The bias adds to the error, and more contributors do not lower the bias."
)
MEMOISED_SAID = (
    f"{HALF_WIDTH} Epsilon 1 is the budget of all reports from one permanent response together. The parameter p "
    "is 0.5, and q is 0.75. The parameter f follows from epsilon."
)

SPECIAL: dict[str, Callable[[], Errors]] = {
    "SquareWave": _means,
    "PairSample": _tables,
    "RAPPOR": lambda: _planned(["RAPPOR"], SINGLE)._replace(said=MEMOISED_SAID),
    "Design": _classical,
    "QuotaBatches": _batches,
    "CMS": lambda: _planned(["OLH", "BLH", "CMS[spread]", "CMS[prime]"], SINGLE[1:]),
    "CMS-queries": lambda: _planned(["CMS[prime]", "CMS[binary]"], SINGLE),
    "SPL pairs": lambda: _planned(["SPL[GRR]"], FOUR, ATTRIBUTES, FOUR_SAID),
    "RS+RFD": lambda: _planned(["RS+FD[GRR]"], FOUR, ATTRIBUTES, FOUR_SAID),
    "Corr-RR": lambda: _planned(["Corr-RR"], FOUR, ATTRIBUTES, BIASED_SAID),
    "HE": lambda: _built("HE", SINGLE, CONTRIBUTORS),
    "RHR": lambda: _built("RHR", SINGLE, CONTRIBUTORS),
    "PGR": lambda: _built("PGR", SINGLE, CONTRIBUTORS),
    "AppleCMS": lambda: _built("AppleCMS", SINGLE, CONTRIBUTORS)._replace(said=NOISE_SAID),
    "AppleHCMS": lambda: _built("AppleHCMS", SINGLE, CONTRIBUTORS)._replace(said=NOISE_SAID),
    "QuotaRR": lambda: _built("QuotaRR", (2, 16), CONTRIBUTORS[:2]),
    "QuotaUnary": lambda: _built("QuotaUnary", (16,), CONTRIBUTORS[:1]),
    "QuotaRecords": lambda: _built("QuotaRecords", FOUR, CONTRIBUTORS[:2])._replace(said=FOUR_SAID),
    "JRR": lambda: _coupled("JRR", (2,)),
    "KaryJRR": lambda: _coupled("KaryJRR", (4, 16)),
    "JRRLocalHashing": lambda: _coupled("JRRLocalHashing", (100, 1_000), m=4),
    "CoupledOUE": lambda: _coupled("CoupledOUE", (16, 1_000)),
    "ReportCoupledRR": lambda: _coupled("ReportCoupledRR", (2,)),
}
"""Mechanisms whose error is not the planned error of one frequency."""

SLOW = ("PairSample", "QuotaUnary", "Corr-RR")
"""Mechanisms whose errors take seconds to compute."""


@cache
def errors(name: str) -> Errors | None:
    """Return a mechanism's table of errors, or None if it has no error in closed form."""
    card = mechanism_class(name).card
    if name in SPECIAL:
        return SPECIAL[name]()
    if not card.planned:
        return None
    names = [variant.name for variant in card.variants] or [name]
    if card.group in RECORDS:
        return _planned(names, FOUR, ATTRIBUTES, FOUR_SAID)
    return _planned(names, SINGLE)


def _points(value: float) -> str:
    return f"±{value:.1f}" if value < 100 else "over ±100"


def _error_lines(name: str, card: Card) -> list[str]:
    found = errors(name)
    if found is None:
        return [f"There is no table of errors here. {sentences(card.instead)}"]
    biased = found.said is BIASED_SAID
    head = [*found.head, *(f"n = {n:,}" for n in found.contributors)]
    lines = [found.said, "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for begin, values in found.rows:
        shown = [f"{value:.1f}" if biased else _points(value) for value in values]
        lines.append(f"| {' | '.join([*begin, *shown])} |")
    if not card.planned and card.instead and card.group != "dealt":
        lines += ["", f"The command `deniable plan` does not list `{name}`. {sentences(card.instead)}"]
    return lines


# ------------------------------------------------------------------ pages


def slug(name: str) -> str:
    """Return the file name of a mechanism's page, without its suffix."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


def link(name: str, folder: str = "mechanisms/") -> str:
    """Return a link to a mechanism's page in Markdown."""
    return f"[`{name}`]({folder}{slug(name)}.md)"


def _sections(docstring: str) -> dict[str, str]:
    """Return the sections of a NumPy docstring by heading; the text before the first heading is under ""."""
    begin, *rest = re.split(r"(?m)^([A-Z][a-z]+)\n-{3,}\n", docstring)
    return {"": begin.strip(), **dict(zip(rest[::2], (part.strip("\n") for part in rest[1::2]), strict=True))}


def sentences(text: str) -> str:
    """Return the semicolon-separated clauses of a card as sentences."""
    return " ".join(f"{clause[0].upper()}{clause[1:]}." for clause in text.split("; "))


def _parameters(text: str) -> Iterator[str]:
    for said in re.split(r"\n(?=\S)", text):
        first, _, rest = said.partition("\n")
        names, _, kind = first.partition(" : ")
        spelled = ", ".join(f"`{one}`" for one in names.split(", "))
        begin, *items = re.split(r"(?m)^\* ", inspect.cleandoc(rest))
        yield f"* {spelled} ({kind}): {' '.join(begin.split())}"
        yield from (f"    * {' '.join(item.split())}" for item in items)


def _listed(names: Sequence[str]) -> str:
    *others, last = (f"`{name}`" for name in names)
    return f"{', '.join(others)} and {last}" if others else last


def _title(page: str) -> str:
    """Return the title of a page below `docs`."""
    first, _, _ = (DOCS / page).read_text(encoding="utf-8").partition("\n")
    return first.removeprefix("# ")


def _namespace(cls: type) -> str:
    """Return the page of names that lists the class."""
    parts = cls.__module__.split(".")
    known = {"oracles", "records", "designs"}
    return parts[1] if parts[1] in known else {"dealt": "dealt"}.get(parts[2], "")


def _symbols(cls: Any, card: Card) -> list[str]:
    """Return sentences that explain the words and symbols of a page."""
    given = inspect.signature(cls).parameters
    said = [SEVERAL_QUESTIONS] if "sizes" in given else [ONE_QUESTION] if {"k", "sketch"} & given.keys() else []
    said += [DEALER] if card.group == "dealt" else []
    said += [COLLUDER] if "colluders" in given else []
    return [" ".join(said), ""] if said else []


def page(name: str, card: Card) -> str:
    """Return the page of a mechanism in Markdown."""
    cls = mechanism_class(name)
    head, _, module = (inspect.getdoc(importlib.import_module(cls.__module__)) or "").partition("\n\n")
    parts = _sections(inspect.getdoc(cls) or "")
    said = f"{card.when} {parts['']}".lower()
    note = "; ".join(clause for clause in card.note.split("; ") if clause.lower() not in said)
    decoding = "varies" if len({one.decoding for one in card.variants}) > 1 else card.decoding
    names = [f"`{name}` is also called {_listed(card.aliases)}."] if card.aliases else []
    variants = (
        [f"`deniable plan` lists the variants {_listed([one.name for one in card.variants])}."] if card.variants else []
    )
    lines = [
        f"# {name}",
        "",
        f"This page helps you decide whether `{name}` fits your question. It also shows"
        f"{' how large the error is and' if errors(name) else ''} how to run the code.",
        "The [glossary](../glossary.md) explains terms such as *epsilon*, *oracle* and *attribute*.",
        "",
        "## What it does",
        "",
        *_symbols(cls, card),
        parts[""],
        "",
        "## When to use it",
        "",
        f"Use `{name}` {sentences(card.when).replace(card.when[0].upper(), card.when[0], 1)}",
        "",
        f"* **Report:** One report is {card.wire}.",
        f"* **Decoding:** {DECODES[decoding]}.",
        *([f"* **Note:** {sentences(note)}"] if note else []),
        *([f"* **Names:** {' '.join([*names, *variants])}"] if names or variants else []),
        "",
        f"The page [{_title(card.page).partition(':')[0]}](../{card.page}) compares `{name}` with other mechanisms.",
        "",
        "## Error",
        "",
        *_error_lines(name, card),
        "",
        "## Run it",
        "",
        "```pycon",
        parts["Examples"],
        "```",
        "",
        "## Parameters",
        "",
        *_parameters(parts["Parameters"]),
        "",
        "## Source",
        "",
        module or head,
        "",
        f"The class is `{cls.__name__}` in `src/{cls.__module__.replace('.', '/')}.py`.",
    ]
    if _namespace(cls):
        lines[-1] += f" It is listed on the page [{_title(f'api/{_namespace(cls)}.md')}](../api/{_namespace(cls)}.md)."
    return "\n".join(lines) + "\n"


def pages(without: Sequence[str] = ()) -> dict[str, str]:
    """Return the list of mechanisms and a page for each (with some exceptions), by their paths below `docs`."""
    lines = [
        "# Mechanisms, one page each",
        "",
        "Find a mechanism here by the kind of your question. Each mechanism has a page. The page says what the",
        "mechanism does, when to use it and how large its error is. It also has code to copy. The default mechanism is",
        "right for most surveys. If you do not know which mechanism you need, read",
        "[how the library chooses one](choosing.md).",
        "",
        "Here k is the number of possible answers, n is the number of contributors, and epsilon is the privacy budget.",
        "The [glossary](glossary.md) explains terms such as *attribute* and *pivot*.",
    ]
    made = {}
    for group in get_args(Group):
        lines += ["", f"## {group.capitalize()}", "", GROUPS[group], ""]
        for name, card in cards():
            if card.group == group:
                lines.append(
                    f"* Use {link(name)} {sentences(card.when).replace(card.when[0].upper(), card.when[0], 1)}"
                )
                if name not in without:
                    made[f"mechanisms/{slug(name)}.md"] = page(name, card)
    return {"mechanisms.md": "\n".join(lines) + "\n", **made}
