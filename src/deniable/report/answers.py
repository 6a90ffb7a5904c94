"""Answers as a page with sentences, numbers, distribution functions with their bands, and differences."""

from __future__ import annotations

import math

import numpy as np

from deniable.answers.asked import Curve, shares
from deniable.answers.comparison import AttributeComparison, Comparison
from deniable.answers.summary import Summary
from deniable.errors import quoted
from deniable.report.page import Card, Mark, Page, Part, Section
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text

MOST_POINTS = 33
"""Most categories of a distribution function that are drawn. If there are more, evenly spread ones are drawn."""

_POSTPROCESSED = "Answers are computed from the raw estimates, even if another column is shown next to them."


def answer_sections(summary: Summary) -> tuple[Section, ...]:
    """Return the sections that stand before all frequencies: what was asked, in words, numbers and curves."""
    if not summary.answers:
        return ()
    said = Text(tuple(row.sentence for row in summary.answers), items=True)
    titles = {row.attribute: row.title or row.attribute for row in summary.attributes}
    curves = [(titles.get(curve.attribute, curve.attribute), _curve(curve, summary)) for curve in summary.curves]
    return (
        Section("Answers", (said, _table(summary))),
        *(Section(f"Share up to each category: {name}", (chart,)) for name, chart in curves),
    )


def answer_notes(summary: Summary) -> tuple[str, ...]:
    """Return how to read the answers."""
    notes = []
    if any(np.isfinite(curve.lower).any() for curve in summary.curves):
        notes.append(
            "The band of a distribution function holds at all categories at once, and the intervals of its quantiles "
            "hold together."
        )
    if summary.answers and summary.processing:
        notes.append(_POSTPROCESSED)
    return tuple(notes)


def comparison_page(comparison: Comparison) -> Page:
    """Return the page of a comparison: the changes in words, and a chart for every attribute.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness
    >>> from deniable.answers import compare
    >>> schema, waves = Schema((Attribute("vote", ("A", "B")),)), []
    >>> for title, votes in ("May", [900, 1100]), ("June", [1100, 900]):
    ...     survey = Collection(schema, GRR(k=2, epsilon=2.0), title=title)
    ...     counted = survey.mechanism.simulate_aggregate(votes, SimulationRandomness(1))
    ...     waves.append((survey, replace(counted, collection=survey.id)))
    >>> page = comparison_page(compare(*waves, independent=True))
    >>> page.title, [section.heading for section in page.sections]
    ('From “May” to “June”', ['What changed', 'vote'])
    """
    one, other = (
        quoted(title) if title else f"the {place} collection"
        for title, place in zip(comparison.titles, ("first", "second"), strict=True)
    )
    notes = [
        "Every answer was randomised before it was collected. Changes are differences of raw estimates. They contain "
        "noise, and the interval says how much.",
        comparison.interval_text,
        _said(comparison.same_people),
    ]
    if comparison.together == 1:
        notes.append(
            "Each interval in the tables is for its own change only: among 95% intervals, about one in twenty misses "
            "the truth. The sentences about categories under “What changed” use wider intervals, which all hold "
            "together. So these sentences may name no change although an interval in a table excludes zero."
        )
    if comparison.left_out:
        notes.append(
            "Not compared, because the two collections do not ask it with the same categories: "
            f"{', '.join(map(quoted, comparison.left_out))}."
        )
    names = [row.attribute for row in comparison.attributes]
    cards = tuple(
        Card.promised(guarantee, names, f"n = {n:,} contributors", of=name)
        for guarantee, name, n in zip(comparison.guarantees, (one, other), comparison.n, strict=True)
    )
    return Page(
        title=f"From {one} to {other}",
        cards=cards,
        sections=(
            Section("What changed", (Text(tuple(comparison.sentences), items=True),)),
            *(Section(row.title or row.attribute, _changes(comparison, row)) for row in comparison.attributes),
        ),
        notes=tuple(notes),
        brief="; ".join(
            f"{name}: {guarantee.budget_text}, n = {n:,}"
            for name, guarantee, n in zip((one, other), comparison.guarantees, comparison.n, strict=True)
        ),
    )


def _said(same_people: bool) -> str:
    """Return what the files cannot tell about who answered."""
    if same_people:
        return (
            "Reports were compared row by row, because you confirmed that the same row is the same person. If rows "
            "are in another order, the changes are still right. But if answers persist, the intervals are wider than "
            "necessary."
        )
    return (
        "The person who asked for this comparison confirmed that nobody is in both collections; files cannot show it."
    )


def _changes(comparison: Comparison, row: AttributeComparison) -> tuple[Part, ...]:
    errors = row.standard_error[np.isfinite(row.standard_error) & (row.standard_error > 0)]
    write = shares(float(errors.min()) if len(errors) else 0.01)

    def points(value: float) -> str:
        return f"{'+' if value > 0 else ''}{write(value).removesuffix('%')}"

    def cells(i: int) -> list[str]:
        interval = f"{points(row.lower[i])} to {points(row.upper[i])}" if math.isfinite(row.lower[i]) else "-"
        change = points(row.change[i])
        return [row.categories[i], write(row.first[i]), write(row.second[i]), change, interval]

    if row.is_number and row.mean is not None:
        mean = row.mean
        error = mean.write(mean.standard_error) if math.isfinite(mean.standard_error) else "-"
        cells_of_mean = [["change of the mean"], [mean.value_text], [error], [mean.interval_text]]
        header_of_mean = ("question", "change", "std. error", f"{comparison.options.level} interval")
        return (Table.of(header_of_mean, cells_of_mean),)
    header = ("category", "first", "second", "change", f"{comparison.options.level} interval")
    table = Table(header, len(row.categories), cells)
    if row.note:
        return (Text((f"There are no intervals: {row.note}.",)), table)
    marks = (
        Mark(
            "interval",
            f"{comparison.options.level} interval of the change",
            np.column_stack([row.lower, row.upper]),
        ),
        Mark("estimate", "change in percentage points", row.change),
    )
    chart = IntervalChart(table, marks, _point_axis, rank=np.abs(row.change), rest="categories that changed less")
    return (chart,)


def _point_axis(value: float) -> str:
    return f"{'+' if value > 0 else ''}{100 * value:.10g}"


def _table(summary: Summary) -> Table:
    rows = summary.answers

    def cells(i: int) -> list[str]:
        row = rows[i]
        error = row.write(row.standard_error) if math.isfinite(row.standard_error) else "-"
        return [row.question, row.value_text, error, row.interval_text]

    return Table(("question", "answer", "std. error", f"{summary.level_text} interval"), len(rows), cells)


def _curve(curve: Curve, summary: Summary) -> IntervalChart:
    m = len(curve.categories)
    step = math.ceil(m / MOST_POINTS)
    shown = np.arange(m - 1, -1, -step)[::-1]
    lower, upper, value = curve.lower[shown], curve.upper[shown], curve.value[shown]
    write = shares(float(np.nanmin((upper - lower)[:-1]) / 4) if np.isfinite(lower[:-1]).any() else 0.01)

    def cells(i: int) -> list[str]:
        band = f"{write(lower[i])} to {write(upper[i])}" if math.isfinite(lower[i]) else "-"
        return [f"up to {curve.categories[shown[i]]}", write(value[i]), band]

    marks = (
        Mark("interval", f"{summary.level_text} band", np.column_stack([lower, upper])),
        Mark("estimate", "share up to here", value),
    )
    return IntervalChart(
        Table(("category", "share", f"{summary.level_text} band"), len(shown), cells),
        tuple(mark for mark in marks if np.isfinite(mark.values).any()),
        lambda share: f"{100 * share:.10g}%",
        caption=f"one of every {step} categories" if step > 1 else "",
    )
