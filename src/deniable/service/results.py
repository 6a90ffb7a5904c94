"""Results of a survey for the dashboard, as data; the dashboard's page is drawn from the same data.

Results contain only the last release, so two looks are equal or differ by all reports of a release step. While a survey
is open, people look again and again. There are then intervals only if they hold at every look (`anytime=True`, of the
population, with the number of contributors that was planned in advance). The releases are some of these looks. When the
survey is closed, there are the intervals of one look.
"""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Literal

import numpy as np

from deniable.answers import AttributeSummary, Summary, summarize
from deniable.answers.asked import QuestionSet
from deniable.core.estimate import RecordEstimate
from deniable.errors import NoIntervalError
from deniable.report import Page, estimate_page
from deniable.service.arrivals import off_plan
from deniable.service.collector import SurveySnapshot
from deniable.service.findings import Finding, findings, means_of
from deniable.service.stores.store import Store
from deniable.service.survey_page import moment
from deniable.service.surveys import Clock

FORMAT = "deniable results"
FORMAT_VERSION = 2

LEAST_REPORTS, LEAST_DAYS = 30, 2
"""Least numbers of reports, and of days with reports, for the forecast of a pace."""

_NORMAL_95 = 1.959963984540054
_AT_EVERY_LOOK = (
    "While the survey is open, its intervals hold at every look, if people who answer early are like people who "
    "answer late. Where no interval is shown, no such interval is known. When the survey closes, the narrower "
    "intervals of a single look are shown."
)
_NONE_WHILE_OPEN = (
    "While the survey is open there are no intervals, because none is known that holds at every look, or because the "
    "number of contributors was not planned. When the survey closes, the intervals of a single look are shown."
)

Intervals = Literal["one", "any", "none"]
"""Kinds of intervals: for one look at the close, for all looks, or none."""


@dataclass(frozen=True, eq=False)
class Results:
    """Present results of a survey.

    Parameters
    ----------
    data : dict
        Document ``results.json``.
    summary : Summary or None
        Estimates in the document; None before the first batch, or if no sum is kept.
    """

    data: dict[str, Any]
    summary: Summary | None

    def to_json(self) -> bytes:
        """Return the document."""
        return json.dumps(self.data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

    def page(self) -> Page | None:
        """Return the page of the estimates, or None if there are none."""
        if self.summary is None:
            return None
        page = estimate_page(self.summary)
        if self.data["intervals"] == "one":
            return page
        first = _AT_EVERY_LOOK if self.data["intervals"] == "any" else _NONE_WHILE_OPEN
        # Without intervals, the note about what they cover is left out.
        said = {self.summary.interval_text} if self.data["intervals"] == "none" else set()
        return replace(page, notes=(first, *(note for note in page.notes if note not in said)))

    def to_csv(self) -> str:
        """Return the estimates as a table, a line per category."""
        return "" if self.summary is None else self.summary.csv()


def results(held: SurveySnapshot, store: Store, clock: Clock) -> Results:
    """Return the present results of a survey."""
    survey, row = held.survey, held.row
    state = held.staff_state(clock)
    closed = state == "closed"
    release, counts = store.released(row.id)
    n, days = release.n, store.days(row.id, release.batches)
    summary: Summary | None = None
    intervals: Intervals = "none"
    if survey.counted and n:
        estimates = survey.collection.estimate(survey.aggregate(release, counts, row.source))
        intervals, summary = _summary(held, estimates, n, closed)
    planned = survey.page.contributors
    data = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "slug": row.slug,
        "collection": row.id,
        "state": state,
        "n": n,
        "released": release.day or None,
        "days": [{"day": day, "batches": batches, "n": size} for day, batches, size in days],
        "contributors": planned,
        "closes_at": survey.page.closes_at,
        "accepts_until": held.accepts_until,
        "rejections": store.rejections(row.id),
        "off_plan": off_plan(planned, n),
        "progress": _progress(held, summary, n, days, clock()),
        "intervals": intervals,
        "estimate": None if summary is None else summary.to_dict(),
    }
    return Results(data, summary)


def found(held: SurveySnapshot, store: Store, results: Results, language: str | None = None) -> tuple[Finding, ...]:
    """Return the finding about each question, as `findings` does; no finding before the first batch."""
    if results.summary is None:
        return ()
    survey, row = held.survey, held.row
    aggregate = survey.aggregate(*store.released(row.id), row.source)
    estimates = survey.collection.estimate(aggregate)
    intervals, closed = results.data["intervals"], results.data["state"] == "closed"
    together = _summary(held, estimates, aggregate.n, closed, simultaneous=True)[1] if intervals != "none" else None
    return findings(survey.collection, survey.page, aggregate, results.summary, together, language)


def _summary(
    held: SurveySnapshot, estimates: RecordEstimate, n: int, closed: bool, *, simultaneous: bool = False
) -> tuple[Intervals, Summary]:
    """Return the kind of the intervals, and the estimates with these intervals."""
    collection, planned = held.survey.collection, held.survey.page.contributors
    about: dict[str, Any] = {
        "mechanism": collection.mechanism,
        "n": n,
        "title": collection.title,
        "collection": collection.id,
        "several": collection.schema.several,
        "simultaneous": simultaneous,
        "asked": QuestionSet(means=means_of(collection)) if simultaneous else None,
    }
    if closed:
        return "one", summarize(estimates, **about)
    if planned is not None:
        with contextlib.suppress(NoIntervalError):
            return "any", summarize(estimates, **about, target="population", anytime=True, planned=planned)
    summary = summarize(estimates, **about, target="population")
    nothing = [np.full(len(row.categories), np.nan) for row in summary.attributes]
    rows = (replace(row, lower=none, upper=none) for row, none in zip(summary.attributes, nothing, strict=True))
    return "none", replace(summary, attributes=tuple(rows))


def _progress(
    held: SurveySnapshot, summary: Summary | None, n: int, drained: list[tuple[str, int, int]], now: datetime
) -> dict[str, Any] | None:
    """Return the precision in points, now and with all planned reports, and the days until these will be in.

    The precision is about questions with one answer, or about options if there are only options. The days are known
    once there are `LEAST_REPORTS` reports on `LEAST_DAYS` days.
    """
    page = held.survey.page
    planned = page.contributors
    if summary is None or planned is None:
        return None
    errors = [float(row.standard_error.max()) for row in _precise(held, summary) if row.reports]
    if not errors or not math.isfinite(max(errors)):
        return None
    points = 100 * _NORMAL_95 * max(errors)
    progress: dict[str, Any] = {
        "points_now": round(points, 2),
        "points_planned": round(points * math.sqrt(n / max(n, planned)), 2),
        "per_day": None,
        "days_left": None,
        "n_at_close": None,
    }
    if n < LEAST_REPORTS or len({day for day, _, _ in drained}) < LEAST_DAYS:
        return progress
    first, last = (date.fromisoformat(drained[end][0]) for end in (0, -1))
    # A release holds whole days. So yesterday counts, and today counts only if the release contains it.
    days = max(1, (max(last, now.date() - timedelta(days=1)) - first).days + 1)
    pace = n / days
    closes = moment(page.closes_at, "closes_at")
    return progress | {
        "per_day": round(pace, 1),
        "days_left": math.ceil(max(0, planned - n) / pace),
        "n_at_close": None if closes is None else n + round(pace * max(0.0, (closes - now) / timedelta(days=1))),
    }


def _precise(held: SurveySnapshot, summary: Summary) -> tuple[AttributeSummary, ...]:
    """Return the columns that a precision in points is about; single points of a grid are mostly noise."""
    schema = held.survey.collection.schema
    several = {column for columns in schema.several.values() for column in columns}
    rows = [
        (row, j in several)
        for j, (row, column) in enumerate(zip(summary.attributes, schema.columns, strict=True))
        if column.ask != "mean" and not column.question_kind.quartiles_shown
    ]
    single = tuple(row for row, is_option in rows if not is_option)
    return single or tuple(row for row, _ in rows)
