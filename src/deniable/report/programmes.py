"""Programme of surveys as a page, with the largest total of a contributor and the leakage of everything together."""

from __future__ import annotations

import math

import numpy as np

from deniable.core.privacy import bound_text
from deniable.planning.programme import Programme
from deniable.report.page import Card, Mark, Page, Section
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text


def programme_page(programme: Programme) -> Page:
    """Return the page of a programme: first the total, then the surveys, then the leakage.

    Examples
    --------
    >>> from deniable import GRR, Attribute, Collection, Schema
    >>> from deniable.planning import PlannedSurvey, programme
    >>> mood = Collection(Schema((Attribute("mood", ("good", "bad")),)), GRR(k=2, epsilon="0.5"))
    >>> page = programme_page(programme([PlannedSurvey("mood", mood, waves=3)], title="Panel"))
    >>> page.title, page.cards[0].headline
    ('Programme: Panel', 'One contributor spends at most epsilon = 1.5.')
    """
    totals = [row.epsilon for row in programme.surveys]
    columns = [
        [row.name for row in programme.surveys],
        [_number(row.epsilon) for row in programme.surveys],
        [f"{row.waves:,}" for row in programme.surveys],
        [_number(row.each) for row in programme.surveys],
        [row.people for row in programme.surveys],
        [row.mechanism for row in programme.surveys],
    ]
    table = Table.of(["survey", "total", "reports", "epsilon", "people", "mechanism"], columns)
    chart = IntervalChart(table, (Mark("bar", "total of one contributor", np.array(totals)),), "{:g}".format)
    groups = tuple(f"{name}: {_bound(total)}" for name, total in programme.groups.items())
    sections = [Section("Surveys", (chart, *([Text(groups, items=True)] if len(groups) > 1 else [])))]
    if programme.leakage:
        sections.append(Section("What everything together says", (_leakage(programme),)))
    notes = [
        "Epsilons of different surveys add up. A total is for one contributor who answers every survey.",
        *(f"{note[:1].upper()}{note[1:]}." for note in programme.notes),
    ]
    if programme.leakage:
        notes.append(
            "A leakage is in nats, like epsilon. It holds for an adversary who knows how often every combination of "
            f"answers occurs in {programme.prior}, and nothing else about a person."
        )
    lines = tuple(f"Only if {condition}." for condition in programme.conditions)
    title = f"Programme: {programme.title}" if programme.title else "Programme"
    return Page(title, (Card(programme.statement, lines, promise=True),), tuple(sections), tuple(notes))


def _leakage(programme: Programme) -> IntervalChart:
    rows = programme.leakage
    columns = [
        [row.about for row in rows],
        [_number(row.total) for row in rows],
        [_number(row.own_epsilon) for row in rows],
        [row.status for row in rows],
    ]
    marks = (
        Mark("bar", "all reports together", np.array([row.total for row in rows])),
        Mark("tick", "own reports", np.array([row.own_epsilon for row in rows])),
    )
    return IntervalChart(Table.of(["about", "leakage", "own", "status"], columns), marks, "{:g}".format)


def _number(value: float) -> str:
    return bound_text(value) if math.isfinite(value) else "no bound"


def _bound(value: float) -> str:
    return f"epsilon = {bound_text(value)}" if math.isfinite(value) else "no bound"
