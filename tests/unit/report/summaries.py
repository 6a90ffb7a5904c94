"""Summaries to print, draw and write as pages."""

from __future__ import annotations

import numpy as np

from deniable import GRR, Estimate
from deniable.answers import Summary, summarize
from deniable.report import (
    estimate_page,
)
from deniable.report.parts.interval_chart import IntervalChart
from tests.unit.report import drawn

HOSTILE = (
    "<script>alert(1)</script>",
    "$\\nonsense{1$",
    "[red]b[/red]",
    "line\nbreak \x1b[31m \u202e",
    "漢字" * 40,
    "x" * 300,
)


def estimate(frequencies: list[float], n: int = 1000, labels: tuple[str, ...] = (), attribute: str = "a") -> Estimate:
    """An estimate with noise variance 4 per report, so that its standard error is 2/sqrt(n)."""
    return Estimate(np.array(frequencies), n, np.array(4.0), np.array(4.0), labels=labels, attribute=attribute)


def summary_of(
    *estimates: Estimate, n: int = 1000, truth: dict[str, list[int]] | None = None, **options: object
) -> Summary:
    named = {one.attribute: one for one in estimates}
    return summarize(named, mechanism=GRR(k=2, epsilon=1.0), n=n, truth=truth, **options)  # type: ignore[arg-type]


def charts(summary: Summary) -> list[IntervalChart]:
    """The chart of every attribute."""
    return [chart for section in estimate_page(summary).sections for chart in drawn.charts(section)]


def hostile() -> Summary:
    labels = HOSTILE
    one = estimate([0.5, 0.2, 0.1, 0.1, 0.06, 0.04], labels=labels, attribute=HOSTILE[0])
    two = estimate([0.5, 0.5], labels=("yes", "no"), attribute=HOSTILE[3])
    truth = {HOSTILE[0]: [5, 2, 1, 1, 1, 0], HOSTILE[3]: [4, 6]}
    both = {each.attribute: each.processed(each.frequencies, "norm-sub") for each in (one, two)}
    return summarize(both, mechanism=GRR(k=2, epsilon=1.0), n=1000, title=HOSTILE[0], truth=truth)
