"""Fitted model as a page with the privacy statement, coefficients and their plot, predictions, and their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deniable.errors import quoted
from deniable.models.summary import FitSummary, number
from deniable.report.page import Card, Mark, Page, Part, Section
from deniable.report.parts.coefficient_chart import CoefficientChart
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text

if TYPE_CHECKING:
    import pandas

_READING = '"Not determined" does not mean "no effect": the reports are too few to tell.'


def fit_page(
    summary: FitSummary, effects: pandas.DataFrame | None = None, predictions: pandas.DataFrame | None = None
) -> Page:
    """Return the page of a fitted model.

    Parameters
    ----------
    summary : FitSummary
        Summary from `Fit.summarize`.
    effects : pandas.DataFrame, optional
        Effects from `Fit.marginal_effects`.
    predictions : pandas.DataFrame, optional
        Predictions from `Fit.predict` with an interval, and with a column "label" that names the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import GRR, Attribute, Collection, Schema, SimulationRandomness, models
    >>> survey = Collection(Schema((Attribute("smoker", ("no", "yes")),)), GRR(k=2, epsilon=3.0))
    >>> age = np.linspace(-1, 1, 2000)
    >>> reports = survey.randomize((age > 0.2).astype(int)[:, None], SimulationRandomness(1))
    >>> page = fit_page(models.fit("smoker ~ age", survey, reports, {"age": age}).summarize())
    >>> [section.heading for section in page.sections]
    ['What it says', 'Coefficients']
    """
    ends = [
        np.array([np.copysign(np.inf, sign) if infinite else end for end, infinite in pairs])
        for sign, pairs in (
            (-1.0, [(one.lower, one.lower_infinite) for one in summary.coefficients]),
            (1.0, [(one.upper, one.upper_infinite) for one in summary.coefficients]),
        )
    ]
    values = np.array([one.value if one.determined else np.nan for one in summary.coefficients])
    chart = CoefficientChart(Table.of(summary.header, summary.cells()), values, *ends)
    sections = [Section("What it says", (Text(summary.sentences, items=True),)), Section("Coefficients", (chart,))]
    if effects is not None:
        labels = [f"{row.variable}, {row.outcome}" for row in effects.itertuples()]
        sections.append(Section("Average effects", (_chart(labels, effects, "effect", summary),)))
    if predictions is not None:
        labels = [f"{row.label}, {row.outcome}" for row in predictions.itertuples()]
        sections.append(Section("Predictions", (_chart(labels, predictions, "value", summary),)))
    title = f"{quoted(summary.title)}: {summary.formula}" if summary.title else summary.formula
    return Page(
        title=title,
        cards=(
            Card(summary.privacy_statement),
            Card.promised(summary.guarantee, (), f"collection {summary.collection}"),
        ),
        sections=tuple(sections),
        notes=(summary.facts, *summary.warnings, "" if summary.determined else _READING),
        brief=f"{summary.privacy_statement} {summary.guarantee.budget_text}",
    )


def _chart(labels: Sequence[str], frame: pandas.DataFrame, column: str, summary: FitSummary) -> Part:
    if frame.empty:
        return Text(("There are none, because the formula has no predictors.",))
    value, low, high = (frame[name].to_numpy(dtype=np.float64) for name in (column, "lower", "upper"))
    if np.isnan(low).all():
        return Text(("Not determined, because the search found no maximum.",))
    ends = [f"{number(a)} to {number(b)}" for a, b in zip(low, high, strict=True)]
    table = Table.of(["", column, f"{summary.level_text} interval"], [labels, list(map(number, value)), ends])
    marks = (
        Mark("interval", f"{summary.level_text} interval", np.stack([low, high], axis=1)),
        Mark("estimate", column, value),
    )
    return IntervalChart(table, marks, lambda tick: f"{tick:g}", rest="rows")
