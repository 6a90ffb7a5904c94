"""Plan as a page."""

from __future__ import annotations

import numpy as np

from deniable.planning.coefficient_plan import CoefficientPlan
from deniable.planning.repeated import WavesPlan
from deniable.planning.rows import Plan
from deniable.report.page import Mark, Page, Section
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text


def plan_page(plan: Plan) -> Page:
    """Return the page of a plan: errors and costs of all mechanisms, assumptions, and the recommendation.

    Examples
    --------
    >>> from deniable.planning import plan
    >>> plan_page(plan([4], 1.0, contributors=1000)).sections[0].parts[-1].lines
    ('recommended: GRR',)
    """
    rows = [*plan.rows, *plan.dealt]
    header = ["  mechanism", "std. error", "mean s.e.", f"{100 * plan.confidence:g}% ±", "bits"]
    columns = [
        [("* " if row.recommended else "  ") + row.name for row in rows],
        [_frequency(row.standard_error) for row in rows],
        [_frequency(row.mean_standard_error) for row in rows],
        [_frequency(row.half_width) for row in rows],
        ["-" if row.bits_per_report is None else f"{row.bits_per_report:,.1f}" for row in rows],
    ]
    if plan.target_error is not None:
        header.append("needed")
        columns.append(["-" if row.contributors_needed is None else f"{row.contributors_needed:,}" for row in rows])
    remarks: dict[str, list[str]] = {}
    for row in rows:
        remark = f"cannot be built: {row.reason}" if row.mechanism is None else row.note
        remarks.setdefault(remark, []).append(row.name)
    named = tuple(f"{', '.join(names)}: {remark}" for remark, names in remarks.items() if remark)
    parts = (Table.of(header, columns), Text((plan.assumptions,)), Text(named, items=True), Text((plan.verdict,)))
    sections = [Section("Mechanisms", parts)]
    if plan.bound is not None:
        sections.append(Section("A bound on all frequencies", (Text(_bound(plan), items=True),)))
    sizes = ", ".join(map(str, plan.sizes))
    title = f"epsilon = {float(plan.epsilon):g} for {len(plan.sizes)} attribute{'s' * (len(plan.sizes) > 1)} of {sizes}"
    return Page(f"Plan: {title} categories", (), tuple(sections))


def coefficient_page(plan: CoefficientPlan) -> Page:
    """Return the page of a planned coefficient: the number of people needed with every mechanism.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.planning import plan_coefficient
    >>> coefficient_page(plan_coefficient([GRR(k=2, epsilon=1.0)], 0.1, name="age")).title
    'Plan: a standard error of 0.1 for the slope of age'
    """
    header = ["mechanism", "people needed"]
    columns = [
        [row.mechanism for row in plan.rows],
        ["-" if row.contributors_needed is None else f"{row.contributors_needed:,}" for row in plan.rows],
    ]
    if plan.contributors is not None:
        header.append(f"error with {plan.contributors:,}")
        columns.append([_frequency(row.standard_error) for row in plan.rows])
    notes = tuple(f"{row.mechanism}: {row.note}" for row in plan.rows if row.note)
    said = f"design: {plan.design}; the slope is per standard deviation of {plan.name}"
    parts = (Table.of(header, columns), Text((said,)), Text(notes, items=True))
    title = f"Plan: a standard error of {plan.error:g} for the slope of {plan.name}"
    return Page(title, (), (Section("People needed", parts),))


def waves_page(plan: WavesPlan) -> Page:
    """Return the page of a plan of waves: the error of each way to ask, and the recommended way.

    Examples
    --------
    >>> from deniable.planning import plan_waves
    >>> page = waves_page(plan_waves(k=4, epsilon=2, waves=4, contributors=8000))
    >>> page.title
    'Plan: 4 waves of one question with 4 categories, epsilon = 2 for all of them'
    >>> page.sections[0].parts[-1].lines[0]
    'recommended: rotating panel'
    """
    header = ["  way", "mechanism", "epsilon", "people", "s.e.", f"{100 * plan.confidence:g}% ±"]
    columns = [
        [("* " if row.recommended else "  ") + row.way for row in plan.rows],
        [row.mechanism.name for row in plan.rows],
        [f"{row.epsilon:.3g}" for row in plan.rows],
        [f"{row.people:,}" for row in plan.rows],
        [_frequency(row.standard_error) for row in plan.rows],
        [_frequency(row.half_width) for row in plan.rows],
    ]
    conditions = [f"{row.way}: the total holds if {row.holds}" for row in plan.rows if row.holds]
    conditions += [f"{row.way}: not recommended, because {row.reason}" for row in plan.rows if row.reason]
    said = (
        f"A standard error is for one category's frequency among all {plan.contributors:,} people in one wave: the "
        "root of the variance averaged over categories and a flat prior. It allows for the noise, and for sampling "
        "if only some people are asked. Epsilon and people are those of one wave.",
    )
    verdict = (f"recommended: {plan.best.way}", plan.why)
    title = f"Plan: {plan.waves} waves of one question with {plan.k} categories, epsilon = {float(plan.epsilon):g}"
    errors = np.array([row.standard_error for row in plan.rows])
    chart = IntervalChart(Table.of(header, columns), (Mark("bar", "standard error", errors),), "{:g}".format)
    parts = (chart, Text(said), Text(tuple(conditions), items=True), Text(verdict))
    return Page(f"{title} for all of them", (), (Section("Ways to ask", parts),))


def _bound(plan: Plan) -> tuple[str, ...]:
    assert plan.bound is not None
    if not plan.pilot:
        return plan.bound.sentences
    first = (
        f"a pilot of {plan.pilot:,} contributors bounds all frequencies with {100 * plan.confidence:g}% confidence",
        "the bound below is expected if all values are rare" if plan.expected_bound else "",
        "deniable learn --mechanism OCMS makes the second phase's collection from the pilot's reports",
    )
    return (*filter(None, first), *plan.bound.sentences)


def _frequency(value: float | None) -> str:
    return "-" if value is None else f"{value:.5f}"
