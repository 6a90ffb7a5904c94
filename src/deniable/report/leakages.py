"""Leakage and audits as pages."""

from __future__ import annotations

import numpy as np

from deniable.errors import quoted
from deniable.leakage.adversary.collection_audit import AuditSummary
from deniable.leakage.summary import LeakageSummary
from deniable.leakage.totals.total import ADDITIVE_DELTA, ADDITIVE_LABEL
from deniable.report.page import Card, Mark, Page, Section
from deniable.report.parts.heat_map import HeatMap
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text

HOW_TO_READ = (
    "Each cell shows the leakage about the attribute of its row, if only the attribute of its column is released."
)

_FEW = 3
PRIVATE = "deniable made this page from the records themselves. If the records are private, so is this page."


def leakage_page(summary: LeakageSummary) -> Page:
    """Return the page of a release: the adversary, the leakage between attributes, and the totals.

    Examples
    --------
    >>> import numpy as np
    >>> from deniable import Attribute, Schema
    >>> from deniable.leakage import summarize
    >>> schema = Schema((Attribute("bald", ("no", "yes")), Attribute("male", ("no", "yes"))))
    >>> records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [500, 400, 10, 90], axis=0)
    >>> page = leakage_page(summarize(records, schema, 1.0, source="faces.csv", release="by GRR with epsilon = 1"))
    >>> [section.heading for section in page.sections]
    ['One attribute released alone', 'Strongest pairs', 'Everything released together']
    """
    what = "what this release leaks" + (f" about {summary.target}" if summary.target else "")
    alone = (
        "What a report says about one attribute, read alone" if summary.collection else "One attribute released alone"
    )
    together = "One whole report" if summary.collection else "Everything released together"
    promise = summary.promise
    cards = [
        Card(summary.release.text, (summary.unit, *summary.notes)),
        Card("Relative to whom", (summary.prior.text, summary.any_prior["text"])),
        *few_records(summary.warnings),
    ]
    if promise is not None:
        cards.insert(0, Card.promised(promise, summary.names, f"collection {summary.collection}"))
    # With a target, all pairs about it are listed anyway.
    spoken = [
        pair for rank, pair in enumerate(summary.strongest) if not summary.target or rank < _FEW or pair.plausible
    ]
    pairs = tuple(pair.text for pair in spoken) or ("no attribute says anything about another one",)
    return Page(
        title=f"{quoted(summary.title)}: {what}" if summary.title else f"W{what[1:]}",
        cards=tuple(cards),
        sections=(
            Section(alone, (_sources(summary),) if summary.target else (Text((HOW_TO_READ,)), _matrix(summary))),
            Section("Strongest pairs", (Text(pairs, items=True),)),
            Section(together, (_totals(summary), Text(tuple(summary.remarks)))),
        ),
        brief=summary.release.text,
        footer=PRIVATE,
        private=True,
    )


def audit_page(summary: AuditSummary) -> Page:
    """Return the page of an audit: claims, bounds, numbers of reports, and what they mean.

    Examples
    --------
    >>> from deniable.leakage import AuditResult, AuditSummary
    >>> result = AuditResult(1.21, 0.01, 1.0, (0, 2), "the label of the report is 0", 4, 18176)
    >>> [part.rows for part in audit_page(AuditSummary(0.01, (("smoker", result),))).sections[0].parts[:1]]
    [1]
    """
    found = summary.found
    table = Table.of(
        ["client", "claimed", "at least", "reports per input"],
        [
            [name for name, _ in found],
            [f"{result.claimed_epsilon:g}" for _, result in found],
            [f"{result.epsilon_lower:.4f}" for _, result in found],
            [f"{result.samples:,}" for _, result in found],
        ],
    )
    confidence = f"confidence {100 * (1 - summary.alpha):.6g}%" + (
        f" for all {len(found)} together" if len(found) > 1 else ""
    )
    verdicts = [
        f"{name} {result.verdict}: epsilon is at least {result.epsilon_lower:.4f}, with {confidence}. This event tells "
        f"input {result.pair[0]} from input {result.pair[1]}: {result.event}"
        for name, result in found
        if result.exceeds_claim
    ]
    others = [result.verdict for _, result in found if not result.exceeds_claim][:1]
    verdicts += [f"others: {verdict}" if verdicts else verdict for verdict in others]
    return Page("Audit", (), (Section("Epsilon of each client", (table, Text(tuple(verdicts)))),))


def few_records(warnings: tuple[str, ...]) -> list[Card]:
    """Return a card with warnings about small counts; none without warnings."""
    lines = tuple(f"{warning}." for warning in warnings)
    return [Card("Few records behind some figures", lines, warning=True)] if lines else []


def _matrix(summary: LeakageSummary) -> HeatMap:
    rows, columns = summary.about, summary.columns
    values = summary.matrix[np.ix_(rows, columns)].copy()
    values[np.array(rows)[:, None] == np.array(columns)] = np.nan

    told = {(pair.target, pair.source): pair.text for pair in summary.strongest}

    def spoken(y: int, x: int) -> str:
        i, j = rows[y], columns[x]
        if i == j:
            return f"{summary.names[i]}: its own release"
        if (summary.names[i], summary.names[j]) in told:
            return told[summary.names[i], summary.names[j]]
        leaked, possible = summary.number(summary.matrix[i, j]), summary.number(summary.direct[j])
        return f"releasing {summary.names[j]} reveals up to {leaked} of a possible {possible} about {summary.names[i]}"

    return HeatMap(
        tuple(summary.names[i] for i in rows),
        tuple(summary.names[j] for j in columns),
        "about",
        "released",
        values,
        summary.scale,
        summary.number,
        spoken,
        nothing="an attribute's own release",
        top="all that its release may say",
    )


def _sources(summary: LeakageSummary) -> IntervalChart:
    (i,) = summary.about
    sources = summary.sources(i)
    leaked, possible = summary.matrix[i, sources], summary.direct[sources]
    columns = [
        [summary.names[j] for j in sources],
        list(map(summary.number, leaked)),
        list(map(summary.number, possible)),
    ]
    return IntervalChart(
        Table.of(["released", "leakage", "of possible"], columns),
        (Mark("track", "what is possible", possible), Mark("bar", "leakage by releasing it alone", leaked)),
        "{:g}".format,
        rest="that reveal less",
    )


def _totals(summary: LeakageSummary) -> IntervalChart:
    totals = summary.totals
    total_name = "total" if summary.exact else "at most"
    columns = {
        total_name: [total.total.epsilon for total in totals],
        "own": [total.own_epsilon for total in totals],
        "tree (assumed)": [total.along_a_tree.epsilon for total in totals if total.along_a_tree],
        ADDITIVE_LABEL: [figure for total in totals if (figure := total.additive_figure_not_a_bound) is not None],
    }
    known = {name: list(map(summary.number, column)) for name, column in columns.items() if column}
    if summary.release.delta:
        deltas = {"its delta": [f"{total.total.delta:.3g}" for total in totals]}
        known = {total_name: known.pop(total_name)} | deltas | known
        known[ADDITIVE_DELTA] = [f"{total.additive_delta_not_a_bound:.3g}" for total in totals]
    return IntervalChart(
        Table.of(["about", *known], [[total.about for total in totals], *known.values()]),
        (
            Mark("track", "up to the bound for any prior", np.full(len(totals), summary.prior_free)),
            Mark("bar", total_name, np.array(columns[total_name])),
            Mark("tick", "own epsilon", np.array(columns["own"])),
        ),
        "{:g}".format,
        rest="attributes",
    )
