"""Estimate as a page with the guarantee, a chart per attribute, and explanations beside the charts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from deniable.answers.asked import shares
from deniable.answers.summary import AttributeSummary, Summary
from deniable.core.spec import to_spec
from deniable.errors import InvalidParameterError, quoted
from deniable.report.answers import answer_notes, answer_sections
from deniable.report.page import Card, Mark, Page, Part, Section
from deniable.report.parts.interval_chart import IntervalChart
from deniable.report.parts.table import Table
from deniable.report.parts.text import Text

NOTHING_FOUND = "nothing found: no answer stands out from the noise"

_SHORT = 40
"""Longest parameter that is named beside a mechanism. Learned tables are in the collection's file."""

_RANDOMISED = (
    "Every answer was randomised before it was collected. The estimates remove the effect of randomisation on "
    "average. They contain noise, and the interval says how much."
)
_RAW = (
    "Estimates are raw: they may lie below 0% or above 100%, and need not add up to 100%. If you corrected that by "
    "hand, they would be biased."
)
_RANDOMISED_BIASED = (
    "Every answer was randomised before it was collected. The estimates contain noise. Some or all of them are also "
    "biased: they may differ from the true frequencies even on average."
)
_RAW_BIASED = "Estimates need not add up to 100%."
_SELECTED = {
    "top": "The categories were selected by their estimates, and noise raised some of these. Use the intervals, which "
    "are wide enough to hold for all categories, listed or not.",
    "found": "The same reports were used to find the strings and to count them. So estimates close to the threshold "
    "are a little too high, and a string that is not listed may be as frequent. The longest strings may be beginnings "
    "of longer ones. The intervals allow for all strings that the search compared. They do not hold for a string that "
    "shares a folded prefix with a frequent string.",
}
_CUT = (
    "Only the largest estimates of a long list are shown, and noise raised some of them. Every interval holds for its "
    "own category, and does not allow for this selection. With --top, the intervals allow for it."
)


def estimate_page(
    *summaries: Summary,
    title: str = "",
    lead: Sequence[str] = (),
    method: Sequence[str] = (),
    budgets: bool = False,
    folded: Collection[str] = (),
) -> Page:
    """Return the page of one estimate, or of several estimates of the same attributes, to compare budgets.

    Parameters
    ----------
    *summaries : Summary
        At least one summary.
    title : str
        Heading. The default is the title of the summary, in quotation marks.
    lead, method : sequence of str
        Paragraphs below the heading and after the charts, see `Page`.
    budgets : bool
        True to name the epsilon at every table. With several summaries every table names it anyway.
    folded : collection of str
        Attributes whose tables are folded. Use this if single categories say little, as for the points of a grid.

    Raises
    ------
    InvalidParameterError
        If there is no summary, or summaries have different attributes.

    Examples
    --------
    >>> from deniable import GRR
    >>> from deniable.answers import summarize
    >>> import numpy as np
    >>> grr = GRR(k=2, epsilon=3.0)
    >>> estimate = grr.estimate(grr.aggregate(np.array([0, 0, 0, 1]))).named("smokes", ["no", "yes"])
    >>> page = estimate_page(summarize(estimate, mechanism=grr, n=4))
    >>> page.cards[0].headline, [section.heading for section in page.sections]
    ('epsilon = 3 for the whole contributor (implemented: 3.000000000000)', ['smokes'])
    """
    if not summaries:
        raise InvalidParameterError("there must be at least one summary to show, got none")
    names = [row.attribute for row in summaries[0].attributes]
    if any([row.attribute for row in summary.attributes] != names for summary in summaries):
        raise InvalidParameterError(
            "all summaries must describe the same attributes in the same order, but these summaries differ: show each "
            "summary separately"
        )
    several = len(summaries) > 1
    biased = any(summary.biased for summary in summaries)
    notes = [
        _RANDOMISED_BIASED if biased else _RANDOMISED,
        *(summary.interval_text for summary in summaries),
        _RAW_BIASED if biased else _RAW,
    ]
    notes += [_SELECTED.get(summary.selection, "") for summary in summaries]
    notes += [_processing_text(summary) for summary in summaries]
    notes += [note for summary in summaries for note in answer_notes(summary)]
    notes += [f"{row.title or row.attribute}: {row.note}." for one in summaries for row in one.attributes if row.note]
    for summary in summaries:
        hits, total = summary.coverage or (0, 0)
        marked = " An asterisk marks the others." if hits < total else ""
        notes.append(f"{_which(summary, several)}{summary.coverage_text}{marked}" if summary.coverage_text else "")
    known = any(summary.truth_n is not None for summary in summaries)
    return Page(
        title=title or (quoted(summaries[0].title) if summaries[0].title else "Estimated frequencies"),
        cards=tuple(Card.promised(one.guarantee, names, *_facts(one), several=one.several) for one in summaries),
        sections=(
            *(section for summary in summaries for section in answer_sections(summary)),
            *(
                Section(
                    name,
                    tuple(_part(summary, summary.attributes[j], several or budgets, folded) for summary in summaries),
                )
                for j, name in enumerate(map(_heading, summaries[0].attributes))
            ),
        ),
        notes=tuple(text for text in dict.fromkeys(notes) if text),
        lead=tuple(lead),
        method=tuple(method),
        brief="; ".join(f"{one.guarantee.budget_text}, n = {one.n:,}, {mechanism_text(one)}" for one in summaries),
        footer="Made by deniable."
        + (" The truth is shown because it is known here. A collector never knows it." if known else ""),
        private=known,
    )


def _heading(row: AttributeSummary) -> str:
    """Return the question as people read it, with the name that commands and methods take."""
    return f"{row.title} ({row.attribute})" if row.title else row.attribute


def mechanism_text(summary: Summary) -> str:
    """Return the mechanism in a few words: its name, its oracle, and its short parameters other than sizes and budget.

    Mechanisms of earlier phases come first, by their names.
    """
    mechanism: Any = summary.mechanism
    shown = {"k", "sizes", "epsilon", "oracle", "oracles", "priors", "copy_probabilities", "alignment"}
    values = {
        field.name: str(getattr(mechanism, field.name))
        for field in dataclasses.fields(mechanism)
        if field.init and field.name not in shown and getattr(mechanism, field.name) not in (None, "", ())
    }
    extra = [f"{name}={value}" for name, value in values.items() if len(value) <= _SHORT]
    spec = to_spec(mechanism)
    over = f" over {spec['oracle']}" if "oracle" in spec else ""
    if "oracles" in spec:
        over = f" over {', '.join(dict.fromkeys(oracle['mechanism'] for oracle in spec['oracles']))}"
    here = f"{mechanism.name}{over}" + (f" ({', '.join(extra)})" if extra else "")
    return ", then ".join([*summary.earlier, here])


def percent(summary: Summary) -> Callable[[float], str]:
    """Return the function that writes a frequency as a percentage, "-" if it does not exist.

    The percentage has two digits of the smallest standard error: 1 to 4 decimals.
    """
    errors = [row.standard_error for row in summary.attributes]
    known = [float(values[values > 0].min()) for values in errors if (values > 0).any()]
    write = shares(min(known, default=0.01))
    return lambda value: write(value) if math.isfinite(value) else "-"


def _facts(summary: Summary) -> list[str]:
    about = [f"n = {summary.n:,} contributors, mechanism {mechanism_text(summary)}"]
    return about + ([f"collection {summary.collection}"] if summary.collection else [])


def _processing_text(summary: Summary) -> str:
    if not summary.processing:
        return ""
    return f"The {', '.join(summary.processing)} column is post-processed: it is biased and has no interval."


def _which(summary: Summary, several: bool) -> str:
    return f"epsilon = {summary.guarantee.epsilon:g}: " if several else ""


def _part(summary: Summary, row: AttributeSummary, several: bool, folded: Collection[str]) -> Part:
    which = _which(summary, several)
    if row.reports == 0:
        return Text((f"{which}no reports: nothing is known about this attribute",))
    if not row.categories:
        return Text((which + NOTHING_FOUND,))
    processing = ", ".join(summary.processing)
    marks = [
        Mark("interval", f"{summary.level_text} interval", np.column_stack([row.lower, row.upper])),
        Mark("estimate", "estimate", row.estimate),
    ]
    if row.processed is not None:
        marks.append(Mark("tick", f"{processing} (no interval)", row.processed))
    if row.truth is not None:
        marks.append(Mark("truth", "truth", row.truth))
    asked = summary.selection == "queries"
    caption = [f"{row.reports:,} reports"] if row.reports != summary.n or several else []
    caption += ["no intervals, see below"] if row.note else []
    caption += [f"these {len(row.categories)} of {row.total:,} were asked for"] if asked else []
    return IntervalChart(
        _table(summary, row),
        tuple(mark for mark in marks if np.isfinite(mark.values).any()),
        lambda frequency: f"{100 * frequency:.10g}%",
        caption=which + ", ".join(caption),
        flags=None if row.truth is None else row.missed,
        rank=row.estimate,
        hidden=max(row.total - len(row.categories), 0) if not asked else 0,
        rest="categories with smaller estimates",
        fold=f"{len(row.categories)} points of the grid, each with its own noise" if row.attribute in folded else "",
        cut=_CUT if summary.selection == "all" and not summary.simultaneous and summary.has_intervals else "",
    )


def _table(summary: Summary, row: AttributeSummary) -> Table:
    text = percent(summary)
    # The longest text of an end sets the width, so that the words between two ends are aligned.
    low, high = (
        max((len(text(float(end))) for end in (np.nanmin(side), np.nanmax(side))), default=0)
        if np.isfinite(side).any()
        else 0
        for side in (row.lower, row.upper)
    )

    def cells(i: int) -> list[str]:
        interval = f"{text(row.lower[i]):>{low}} to {text(row.upper[i]):>{high}}"
        found = [row.categories[i], text(row.estimate[i]), text(row.standard_error[i])]
        found.append(interval if math.isfinite(row.lower[i]) else "-")
        if row.truth is not None:
            # An asterisk is added, and a space of equal width elsewhere, so that the numbers stay aligned.
            found.append(text(row.truth[i]) + ("*" if row.missed[i] else " "))
        if row.processed is not None:
            found.append(text(row.processed[i]))
        return found

    header = ["category", "estimate", "std. error", f"{summary.level_text} interval"]
    header += ["truth "] * (row.truth is not None) + [", ".join(summary.processing)] * (row.processed is not None)
    return Table(tuple(header), len(row.categories), cells)
