"""Load times by true confidence as a page: what browsers promise, the share of low confidence, the times."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deniable.models.load_times import LoadTimes, TrueNumber
from deniable.report.page import Card, IntervalChart, Mark, Page, Section, Table, Text


def load_times_page(found: LoadTimes) -> Page:
    """Return the page of loads by their true confidence.

    Parameters
    ----------
    found : LoadTimes
        What `deniable.models.load_times` returns.

    Examples
    --------
    >>> from deniable import models
    >>> entry = {"duration": 900.0, "confidence": {"value": "high", "randomizedTriggerRate": 0.5}}
    >>> page = load_times_page(models.load_times([entry, entry, {"duration": 800.0}]))
    >>> print(*page.notes[:2], sep=chr(10))
    2 loads of 3 rows; left out: no confidence 1
    The shown values say 0.0% low, which is not the share of loads of truly low confidence.
    """
    level = f"{100 * found.level:g}%"
    names = [f"{one.quantity}, {one.confidence}" for one in found.times]
    low, high = (100 * end for end in (found.share.lower, found.share.upper))
    left = ", ".join(f"{reason} {count:,}" for reason, count in found.left_out.items())
    promise = (
        f"epsilon {found.epsilon:.4g} for each load" if math.isfinite(found.epsilon) else "No epsilon: a rate of 0"
    )
    rates = sorted({f"{found.lowest_rate:.7g}", f"{found.highest_rate:.7g}"})
    sentence = (
        f"{100 * found.share.value:.1f}% of loads like these have a truly low confidence "
        f"({level} interval {low:.1f}% to {high:.1f}%)."
    )
    share = _chart(["low"], [found.share], level, "share", 100.0, "{:.1f}%")
    return Page(
        title=f"Load times by true confidence: {found.outcome}",
        cards=(Card(promise, (found.privacy_statement, f"randomizedTriggerRate {' to '.join(rates)}"), promise=True),),
        sections=(
            Section("What it says", (Text((sentence,), items=True),)),
            Section("Share of low confidence", (share,)),
            Section(found.outcome, (_chart(names, found.times, level, found.outcome, 1.0, "{:,.5g}"),)),
        ),
        notes=(
            f"{found.used:,} loads of {found.rows:,} rows" + (f"; left out: {left}" if left else ""),
            f"The shown values say {100 * found.shown_low:.1f}% low, "
            "which is not the share of loads of truly low confidence.",
            "Intervals are about loads like these, drawn independently. Several loads of one person make them short.",
            "" if all(one.determined for one in found.times) else '"Not determined": the loads are too few to tell.',
        ),
        brief=f"{promise}; {found.used:,} loads",
    )


def _chart(
    labels: Sequence[str], numbers: Sequence[TrueNumber], level: str, name: str, scale: float, form: str
) -> IntervalChart:
    values = scale * np.array([one.value for one in numbers])
    ends = scale * np.array([(one.lower, one.upper) for one in numbers])
    known = np.array([one.determined for one in numbers])
    cells = [form.format(one) if there else "" for one, there in zip(values, known, strict=True)]
    intervals = [
        f"{form.format(a)} to {form.format(b)}" if there else "not determined"
        for (a, b), there in zip(ends, known, strict=True)
    ]
    marks = (
        Mark("interval", f"{level} interval", np.where(known[:, None], ends, np.nan)),
        Mark("estimate", name, np.where(known, values, np.nan)),
    )
    table = Table.of(["", name, f"{level} interval"], [list(labels), cells, intervals])
    return IntervalChart(table, marks, lambda tick: form.format(tick), rest="rows")
