"""Quotations of results in docs/theory/quota_rr.md (see `experiments.pages`)."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.jrr.dealt_intervals_page import narrow
from experiments.jrr.quotas import SHARES, SIZES
from experiments.pages import DOCS, Page, Results, number_of, setting, traced

FACT, VALUE = "quotas-facts", "value"
COVERAGE = Results(DOCS / "theory" / "results" / "dealt_intervals")
"""Tables of docs/theory/dealt_intervals.md."""
BEFORE = {
    ("QuotaRR", 0.1, 20): ("4.2", "1"),
    ("QuotaRR", 0.1, 100): ("1.48", ".934"),
    ("QuotaRR", 1.0, 100): (".270", ".946"),
    ("QuotaRR", 6.0, 20): (".266", ".896"),
    ("QuotaRR", 6.0, 100): (".119", ".896"),
    ("QuotaUnary", 6.0, 100): (".180", ".883"),
    ("QuotaUnary", 6.0, 2000): (".038", ".917"),
    ("QuotaRecords", 6.0, 100): (".169", ".884"),
}
"""Width and coverage of intervals that the library has no more: not traced."""


def _cells(cells: Iterable[str]) -> str:
    return " | ".join(cells)


def _designs(results: Results) -> list[str]:
    rows = [("1/2", 0.5, 0.05), (setting(0.05), 0.05, 0.05), ("1/2", 0.5, 0.5)]
    return [
        f"| designed at {label}, f = {setting(f)} | "
        + _cells(number_of(row, "of GRR", ".3f") for row in results.rows("quotas-designs", design=design, f=f))
        + " |"
        for label, design, f in rows
    ]


def _facts(results: Results) -> list[str]:
    def fact(name: str, spec: str) -> str:
        return results.number(FACT, VALUE, spec, fact=name)

    likely = results.number("quotas-acceptance", "accepted", ".2f", n=500, k=2, epsilon=1.0)
    unlikely = results.number("quotas-acceptance", "accepted", ".2f", n=20, k=10, epsilon=0.1)
    return [
        f"a draw is accepted with probability {likely} at n = 500, k = 2 and epsilon = 1. The probability is "
        f"{unlikely} at n = 20, k = 10 and epsilon = .1",
        f"epsilon = 1, the ratio is {fact('designed at 0, f = 1/2', '.3f')} at f = 1/2",
        f"a0 would be {fact('a0 of k = 100 at 1/2', '.0f')} and the worst ratio "
        f"{fact('worst ratio of k = 100 at 1/2', '.2f')}. With a0 = {fact('a0 of k = 100', '.0f')} the ratio is below "
        f"{setting(1) if results.value(FACT, VALUE, fact='worst ratio of k = 100') < 1 else 'no number'}",
        f"has a coverage of {fact('normal interval', '.2f')} and not {setting(0.95)}",
        f"epsilon = .5, a0 = {setting(400)} and f = {setting(0.15)}. If {setting('30%')} of the contributors drop out, "
        f"the variance of the estimated number of holders is {fact('drop-outs', '.1f')} times as large",
        f"the smallest size is {fact('smallest batch of k = 20', '.0f')}",
        *(
            f"| standard error, attribute of {k} values | {fact(f'SMP, k = {k}', '.4f')} | "
            f"{fact(f'QuotaRecords, k = {k}', '.4f')} |"
            for k in (2, 5)
        ),
    ]


def _unary(results: Results) -> list[str]:
    return [
        f"| {setting(float(row['epsilon']))} | {traced(int(row['a0']), 'd')}, {traced(int(row['c0']), 'd')} | "
        f"{_cells(number_of(row, f'f = {f:g}', '.3f') for f in SHARES)} |"
        for row in results.rows("quotas-unary")
    ]


def _batches(results: Results) -> list[str]:
    rows = results.rows("quotas-batches")
    smallest = [f"{number_of(row, 'smallest', '.0f')} for epsilon = {setting(float(row['epsilon']))}" for row in rows]
    return [
        f"At k = 2 the smallest size is {', '.join(smallest[:-1])} and {smallest[-1]}",
        *(
            f"{setting(float(row['epsilon']))} | " + _cells(narrow(float(row[f"m = {m}"]), ".2f") for m in SIZES) + " |"
            for row in rows
        ),
    ]


def _intervals(_: Results) -> list[str]:
    quotes = []
    for (name, epsilon, n), (width, least) in BEFORE.items():
        mechanism = f"{name} k=2" if name == "QuotaRR" else name
        row = COVERAGE.rows("dealt-intervals", mechanism=mechanism, epsilon=epsilon, n=n, target="population")[0]
        quotes.append(
            f"| `{name}`, epsilon = {setting(epsilon)}, n = {n:,} | {setting(width)} | "
            f"{narrow(float(row['width']), '.2f' if epsilon < 1 else '.3f')} | {setting(least)} | "
            f"{narrow(float(row['coverage']), '.3f')} |"
        )
    return quotes


PAGE = Page(
    "quota_rr",
    (_designs, _facts, _unary, _batches, _intervals),
    stated={
        "as small as 10^-1000": "an order of magnitude",
        "The number R is rounded down to a multiple of 2^-128": "`_WEIGHT_SCALE` of quota/oracle.py",
        "near 2^192": "`_TOP_BITS` of quota/tables.py",
        "weight is below 2^32": "`_FLOOR` of quota/tables.py",
        "(T + n 2^-64) 2^-96/P_n": "a formula",
        "below 2^-50 for n up to 10^9 and k up to 100": "the formula",
        "it is below 2^-90 (checked": "tests/research/dealt/quota/test_tables.py",
        "draws a 64-bit word. The 2^64 possible": "`integer_below` and `deal_types` of quota/tables.py",
        "k = 2 | epsilon = .1 | .5 | 1": "settings",
        "f = .05 and the design frequency .05. Then a normal interval of 95%": "settings",
        "f = .1, population": "a setting",
        "rounded down to multiples of 2^-128": "`_WEIGHT_SCALE` of quota/oracle.py",
        "minimises the variance at f = .1 over": "`default_minima` of quota/unary.py",
        "f = 0 | .01 | .05 | .1 | .5 | 1": "settings",
        "epsilon = .5, f = .05 | SMP": "settings",
        "take 1000 contributors": "a setting",
        "a variance below 25": "`FEW` of support_counts.py",
        "the coverage of an interval of 95% is at least .935": "an enumeration that the library does not keep",
        "f = .05 | m = 5 | 10 | 20 | 50 | 100 | 200 | 1000 | 10,000": "settings",
    },
    pictures={},
    paper="jrr",
    theory=True,
)
