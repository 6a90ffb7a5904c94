"""Crosstab as a page with sentences first, then the table as a heat map, and the shares within each group."""

from __future__ import annotations

import numpy as np

from deniable.answers.crosstab_summary import CrosstabSummary
from deniable.errors import quoted
from deniable.report.page import Card, Floats, Mark, Page, Part, Section
from deniable.report.parts.heat_map import HeatMap
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text

MAX_COLUMNS = 12
"""Columns that get a chart of their own."""

MOST_GROUPS = 5
"""Groups that a note names."""

_RAW = (
    "Tables are raw and unbiased: they agree with each other about every single frequency, and a cell may be below 0%. "
    "If you corrected that by hand, the tables would be biased."
)
_DECODED = (
    "The decoded table (the step “dependence”) moves whatever the reports do not show towards independence. It is "
    "often nearer to the truth, but has no intervals."
)


def crosstab_page(summary: CrosstabSummary) -> Page:
    """Return the page of a crosstab.

    Examples
    --------
    >>> from deniable import SimulationRandomness
    >>> from deniable.answers import crosstabs
    >>> from deniable.answers.crosstab_summary import summarize_crosstab
    >>> from deniable.records.pair_sample import PairSample
    >>> pairs = PairSample(sizes=(2, 3), epsilon=2.0)
    >>> aggregate = pairs.simulate_aggregate([[0, 0], [1, 1], [1, 2]], [400, 300, 300], SimulationRandomness(1))
    >>> page = crosstab_page(summarize_crosstab(crosstabs(pairs, aggregate)[0, 1], pairs.privacy()))
    >>> [section.heading for section in page.sections]
    ['What it says', 'All answers: shares of everybody', 'Shares of “1” within each group of “0”', 'Decoded']
    """
    facts = f"collection {summary.collection}" if summary.collection else ""
    title = f"{quoted(summary.rows)} and {quoted(summary.columns)}"
    return Page(
        title=f"{quoted(summary.title)}: {title}" if summary.title else title,
        cards=(Card.promised(summary.guarantee, (), *filter(None, (facts, _numbers(summary)))),),
        sections=(
            Section("What it says", (Text(summary.sentences, items=True),)),
            Section("All answers: shares of everybody", (*_everybody(summary),)),
            Section(
                f"Shares of {quoted(summary.columns)} within each group of {quoted(summary.rows)}",
                tuple(_groups(summary)),
            ),
            *(
                (Section("Decoded", (_map(summary, summary.decoded, spoken=False), Text((_DECODED,)))),)
                if summary.reports
                else ()
            ),
        ),
        notes=(_interval_text(summary), _RAW, _not_determined(summary)),
        introduction=(f"{_numbers(summary)}.",),
        brief=f"{summary.guarantee.budget_text}; {_numbers(summary)}",
    )


def _numbers(summary: CrosstabSummary) -> str:
    return f"{summary.reports:,} of {summary.contributors:,} contributors reported these two answers together"


def _interval_text(summary: CrosstabSummary) -> str:
    who = f"these {summary.contributors:,} contributors"
    of = f"{who}: noise only" if summary.target == "contributors" else f"the population that {who} were drawn from"
    return f"The {summary.level_text} intervals are about {of}. Each holds for itself."


def _not_determined(summary: CrosstabSummary) -> str:
    """Return which groups have shares without an interval."""
    missing = np.isnan(summary.share_lower)
    groups = [quoted(label) for i, label in enumerate(summary.row_labels) if missing[i].any()]
    if not groups:
        return ""
    shown = ", ".join(groups[:MOST_GROUPS]) + (f" and {len(groups) - MOST_GROUPS} more" * (len(groups) > MOST_GROUPS))
    return (
        f"Shares within {shown} of {quoted(summary.rows)} are not determined: too few reports of "
        f"{'this group' if len(groups) == 1 else 'these groups'}. Join groups, or ask more people."
    )


def percent(value: float) -> str:
    """Return a share as a percentage with one digit."""
    return f"{100 * value:.1f}%"


def _cell(summary: CrosstabSummary, row: int, column: int) -> str:
    value, low, high = (one[row, column] for one in (summary.consistent, summary.lower, summary.upper))
    which = f"{summary.row_labels[row]} and {summary.column_labels[column]}"
    return f"{which}: {percent(value)} ({percent(low)} to {percent(high)})"


def _map(summary: CrosstabSummary, values: Floats, spoken: bool) -> HeatMap:
    scale = float(np.nanmax(values, initial=0.0)) or 1.0

    def said(row: int, column: int) -> str:
        if spoken:
            return _cell(summary, row, column)
        which = f"{summary.row_labels[row]} and {summary.column_labels[column]}"
        return f"{which}: {percent(float(values[row, column]))}"

    return HeatMap(
        summary.row_labels,
        summary.column_labels,
        summary.rows,
        summary.columns,
        values,
        scale,
        percent,
        said,
        nothing="no reports",
        top="the largest cell",
    )


def _everybody(summary: CrosstabSummary) -> tuple[Part, ...]:
    if not summary.reports:
        return (Text(("No report of this pair: there is no table.",)),)
    rows, columns = summary.consistent.shape
    cells = [(row, column) for row in range(rows) for column in range(columns)]
    value, low, high = (one.ravel() for one in (summary.consistent, summary.lower, summary.upper))
    ends = [f"{percent(summary.lower[at])} to {percent(summary.upper[at])}" for at in cells]
    table = Table.of(
        [f"{summary.rows}, {summary.columns}", "estimate", f"{summary.level_text} interval", "decoded"],
        [
            [f"{summary.row_labels[row]}, {summary.column_labels[column]}" for row, column in cells],
            [percent(summary.consistent[at]) for at in cells],
            ends,
            [percent(summary.decoded[at]) for at in cells],
        ],
    )
    chart = IntervalChart(
        table,
        (
            Mark("interval", f"{summary.level_text} interval", np.stack([low, high], axis=1)),
            Mark("estimate", "estimate", value),
        ),
        lambda share: f"{100 * share:g}%",
        rank=value,
        rest="cells",
    )
    return (_map(summary, summary.consistent, spoken=True), chart)


def _groups(summary: CrosstabSummary) -> list[Part]:
    """Return a chart of every column's share in every group, groups below each other; of two columns one is enough."""
    rows, columns = summary.shares.shape
    shown = 1 if columns == 2 else min(columns, MAX_COLUMNS)
    cells = [(row, column) for column in range(shown) for row in range(rows)]
    value, low, high = (
        np.array([one[at] for at in cells]) for one in (summary.shares, summary.share_lower, summary.share_upper)
    )
    table = Table.of(
        [f"{summary.columns}: {summary.rows}", "share", f"{summary.level_text} interval"],
        [
            [f"{summary.column_labels[column]}: {summary.row_labels[row]}" for row, column in cells],
            ["-" if np.isnan(one) else percent(one) for one in value],
            [
                "not determined" if np.isnan(a) else f"{percent(a)} to {percent(b)}"
                for a, b in zip(low, high, strict=True)
            ],
        ],
    )
    chart = IntervalChart(
        table,
        (
            Mark("interval", f"{summary.level_text} interval", np.stack([low, high], axis=1)),
            Mark("estimate", "share within the group", np.where(np.isnan(low), np.nan, value)),
        ),
        lambda share: f"{100 * share:g}%",
        rest="shares",
    )
    rest = f"The shares of {quoted(summary.column_labels[1])} are what is left to 100%." if columns == 2 else ""
    if columns > MAX_COLUMNS:
        rest = f"{columns - MAX_COLUMNS} more columns are in the data of the result."
    return [chart, *([Text((rest,))] if rest else [])]
