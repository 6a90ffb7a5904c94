"""Quotations of results in docs/theory/dealt_intervals.md (see `experiments.pages`)."""

from __future__ import annotations

from benchmarks.dealt_intervals import LEAST

from experiments.pages import Page, Results, printed, setting, traced

TABLE = "dealt-intervals"
BEFORE = {
    (0.1, 20): (("contributors", ".98", ".914"), ("population", "46", ".908")),
    (0.1, 100): (("contributors", ".94", ".942"), ("population", "10.3", ".958")),
    (1.0, 100): (("contributors", ".32", ".945"), ("population", ".35", ".949")),
    (6.0, 100): (("contributors", ".020", ".792"), ("population", ".119", ".896")),
    (0.1, 2000): (("contributors", ".57", ".947"), ("population", ".86", ".969")),
}
"""Width and coverage of intervals that the library has no more: not traced."""


def narrow(value: float, spec: str) -> str:
    """Return a number as printed on the page, marked as traced: 1 has no decimals.

    >>> narrow(0.99999, ".3f"), narrow(0.25, ".2f")
    ('⟨1⟩', '⟨.25⟩')
    """
    text = printed(value, spec)
    return setting("1" if float(text) == 1 else text)


def _jrr(results: Results) -> list[str]:
    quotes = []
    for (epsilon, n), rows in BEFORE.items():
        label = f"epsilon = {setting(epsilon)}, n = {n:,}"
        for target, width, least in rows:
            row = results.rows(TABLE, mechanism="JRR", epsilon=epsilon, n=n, target=target)[0]
            widths = f"{setting(width)} | {narrow(float(row['width']), '.3f' if epsilon == 6 else '.2f')}"
            quotes.append(
                f"| {label} | {target} | {widths} | {setting(least)} | {narrow(float(row['coverage']), '.3f')} |"
            )
            label = ""
    return quotes


def _least(results: Results) -> list[str]:
    rows = results.rows(TABLE)
    least = min(float(row["coverage"]) for row in rows)
    return [
        f"and so there are {traced(len(rows), 'd')} settings",
        f"This smallest coverage is at least {traced(least, '.3f')} in every setting",
        f"below {setting(LEAST)} in {setting('63')} of the {traced(len(rows), 'd')} settings",
    ]


PAGE = Page(
    "dealt_intervals",
    (_jrr, _least),
    stated={
        "is below 25*, the": "`FEW` of support_counts.py",
        "is 25 or more*, the": "the same",
        "this minimum variance is 25 or more": "the same",
        "minimum variance is below 25, the combined": "the same",
        "For an interval of 95%, a candidate is *possible* if both probabilities are at\nleast 2.5%": "the definition",
        "If more than 4,096 contributors report": "`_ASSIGNED` of coupling/coupled.py",
        "or 257 frequencies": "twice `_TRIED` of interval.py, and one more",
        "the coverage of 95% intervals": "a setting",
        "f = 0, .003, .1, .5 and 1": "settings",
        "JRR for rare answers, f = .1": "a setting",
        "There are 280 contributors": "a setting of test_several_deals.py",
        "There are 600 newcomers": "the same",
        "intervals of\n95% would have a coverage of only .918": "test_several_deals.py",
        "For a combined interval of 95%, each tail has the probability 2.5%": "the definition",
    },
    pictures={},
    paper="jrr",
    theory=True,
)
